/* Repeats are found by a suffix array (Manber & Myers 1990) with the lengths of common prefixes (Kasai et al.
 * 2001): each interval of suffixes that share a prefix is a range with its places. */
#include "frontend/report/repeats.h"

#include <stdlib.h>
#include <string.h>

enum {
  LEAST_OPERATIONS = 4,    /* of a part: below, a box hides less than it takes */
  MOST_LOOKED_AT = 1 << 24 /* places of intervals: about a second; reached by lists of thousands that repeat
                              everywhere alone, of which the first intervals are good */
};

typedef struct suffix {
  uint32_t at, rank, next; /* next: the rank of what follows the prefix that `rank` is of */
} suffix;

typedef struct finder {
  const ir_mem *mem;
  const fe_list *list;
  const uint32_t *crossing;
  const fe_token *tokens;
  size_t count;
  suffix *sorted;
  uint32_t *rank, *common; /* common[i]: length of the prefix that sorted[i] shares with sorted[i - 1] */
  uint32_t *places;        /* of an interval */
  uint64_t *joined;        /* of each place: how its operations are joined */
  uint64_t looked_at;
  double best;
  fe_repeat *out;
} finder;

/* sorting */

static int by_ranks(const void *a, const void *b) {
  const suffix *x = a, *y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->next != y->next) return x->next < y->next ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static int ascending64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The first ranks: the tokens, numbered in the order of their values. */
static void rank_tokens(finder *f) {
  uint64_t *values = f->joined;
  size_t kept = 0;
  for (size_t i = 0; i < f->count; i++) values[i] = f->tokens[i].what;
  qsort(values, f->count, sizeof *values, ascending64);
  for (size_t i = 0; i < f->count; i++)
    if (i == 0 || values[i] != values[kept - 1]) values[kept++] = values[i];
  for (size_t i = 0; i < f->count; i++) {
    const uint64_t *at = bsearch(&f->tokens[i].what, values, kept, sizeof *values, ascending64);
    f->rank[i] = (uint32_t)(at - values) + 1;
  }
}

static void sort_suffixes(finder *f) {
  size_t n = f->count;
  rank_tokens(f);
  for (size_t length = 1;; length *= 2) {
    for (size_t i = 0; i < n; i++)
      f->sorted[i] = (suffix){(uint32_t)i, f->rank[i], i + length < n ? f->rank[i + length] : 0};
    qsort(f->sorted, n, sizeof *f->sorted, by_ranks);
    uint32_t ranks = 0;
    for (size_t i = 0; i < n; i++) {
      const suffix *s = &f->sorted[i];
      ranks += i == 0 || s->rank != s[-1].rank || s->next != s[-1].next;
      f->rank[s->at] = ranks;
    }
    if (ranks == n || length >= n) break;
  }
}

static void find_common(finder *f) {
  uint32_t same = 0;
  for (uint32_t i = 0; i < f->count; i++) {
    uint32_t place = f->rank[i] - 1;
    f->common[place] = 0;
    if (place == 0) {
      same = 0;
      continue;
    }
    for (uint32_t k = f->sorted[place - 1].at;
         i + same < f->count && k + same < f->count && f->tokens[i + same].what == f->tokens[k + same].what;)
      same++;
    f->common[place] = same;
    if (same) same--;
  }
}

/* intervals */

static int ascending(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

uint64_t fe_range_digest(const fe_list *l, uint32_t from, uint32_t end) {
  uint64_t sum = 0x9e3779b97f4a7c15u;
  for (uint32_t i = from; i < end; i++) {
    sum = (sum ^ l->tokens[i]) * 0x100000001b3u;
    for (uint32_t k = l->first[i]; k < l->first[i + 1]; k++) {
      bool inside = l->operands[k] >= from && l->operands[k] < end;
      sum = (sum ^ (inside ? l->operands[k] - from + 1 : 0)) * 0x100000001b3u;
      sum ^= sum >> 29;
    }
  }
  return sum;
}

/* Keeps of the places those that do not overlap and are joined as the most are. Returns how many. */
static size_t keep_alike(finder *f, uint32_t *places, size_t count, uint32_t length) {
  size_t kept = 0, most = 0;
  uint64_t chosen = 0;
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || places[i] >= places[kept - 1] + length) places[kept++] = places[i];
  count = kept, kept = 0;
  for (size_t i = 0; i < count; i++)
    f->joined[i] = fe_range_digest(f->list, f->tokens[places[i]].from, f->tokens[places[i] + length - 1].end);
  for (size_t i = 0; i < count && most < count - i; i++) {
    size_t same = 0;
    for (size_t k = i; k < count; k++) same += f->joined[k] == f->joined[i];
    if (same > most) most = same, chosen = f->joined[i];
  }
  for (size_t i = 0; i < count; i++)
    if (f->joined[i] == chosen) places[kept++] = places[i];
  return kept;
}

/* Values that cross the borders of the ranges, on average, and one. */
static double crossing_of(const finder *f, const uint32_t *places, size_t count, uint32_t length) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += f->crossing[f->tokens[places[i]].from] + f->crossing[f->tokens[places[i] + length - 1].end];
  return 1 + sum / (2 * (double)count);
}

static bool try_range(finder *f, size_t from, size_t end, uint32_t length) {
  size_t count = end - from;
  if (length < 2 || (double)(length - 1) * (double)(count - 1) <= f->best) return true;
  for (size_t i = 0; i < count; i++) f->places[i] = f->sorted[from + i].at;
  qsort(f->places, count, sizeof *f->places, ascending);
  uint32_t gap = UINT32_MAX; /* ranges that overlap everywhere: of a period */
  for (size_t i = 1; i < count; i++)
    if (f->places[i] - f->places[i - 1] < gap) gap = f->places[i] - f->places[i - 1];
  if (gap < length) length = gap;
  if (length < 2 ||
      f->tokens[f->places[0] + length - 1].end - f->tokens[f->places[0]].from < LEAST_OPERATIONS)
    return true;
  count = keep_alike(f, f->places, count, length);
  if (count < 2) return true;
  double worth = (double)(length - 1) * (double)(count - 1) / crossing_of(f, f->places, count, length);
  if (worth <= f->best) return true;
  if (!IR_RESERVE(f->mem, f->out->starts, f->out->cap, count)) return false;
  memcpy(f->out->starts, f->places, count * sizeof *f->places);
  f->out->count = count;
  f->out->length = length;
  f->best = worth;
  return true;
}

/* Every maximal interval of suffixes with a common prefix: `open` is a stack of those that have begun. */
static bool try_intervals(finder *f) {
  struct {
    uint32_t from, common;
  } *open = ir_alloc(f->mem, (f->count + 1) * sizeof *open);
  size_t depth = 0;
  bool good = open != NULL;
  for (uint32_t i = 1; i <= f->count && good; i++) {
    uint32_t common = i < f->count ? f->common[i] : 0, from = i - 1;
    while (depth && open[depth - 1].common > common && good) {
      depth--;
      from = open[depth].from;
      f->looked_at += i - from;
      if (f->looked_at <= MOST_LOOKED_AT) good = try_range(f, from, i, open[depth].common);
    }
    if (good && common && (!depth || open[depth - 1].common < common)) {
      open[depth].from = from;
      open[depth++].common = common;
    }
  }
  ir_free(f->mem, open, (f->count + 1) * sizeof *open);
  return good;
}

bool fe_repeat_find(const ir_mem *mem, const fe_list *list, const uint32_t *crossing, const fe_token *tokens,
                    size_t count, fe_repeat *out) {
  finder f = {.mem = mem, .list = list, .crossing = crossing, .tokens = tokens, .count = count, .out = out};
  out->count = out->length = 0;
  if (count < 2) return true;
  f.sorted = ir_alloc(mem, count * sizeof *f.sorted);
  f.rank = ir_alloc(mem, count * sizeof *f.rank);
  f.common = ir_alloc(mem, count * sizeof *f.common);
  f.places = ir_alloc(mem, count * sizeof *f.places);
  f.joined = ir_alloc(mem, count * sizeof *f.joined);
  bool good = f.sorted && f.rank && f.common && f.places && f.joined;
  if (good) {
    sort_suffixes(&f);
    find_common(&f);
    good = try_intervals(&f);
  }
  ir_free(mem, f.sorted, count * sizeof *f.sorted);
  ir_free(mem, f.rank, count * sizeof *f.rank);
  ir_free(mem, f.common, count * sizeof *f.common);
  ir_free(mem, f.places, count * sizeof *f.places);
  ir_free(mem, f.joined, count * sizeof *f.joined);
  return good;
}
