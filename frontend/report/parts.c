#include "frontend/report/parts.h"

#include <string.h>

#include "frontend/report/repeats.h"

enum {
  NONE = UINT32_MAX,
  LEAST_SAVED = 4, /* tokens that a repeat must make fewer, for a class to be worth a name */
  DEEPEST = 8      /* parts in parts; a list of 60^8 operations is longer than any */
};

typedef struct finder {
  const ir_mem *mem;
  const fe_list *list;
  uint32_t *crossing; /* by operation, and at the end: values made before it that are used from it on */
  fe_parts *out;
  uint32_t classes;
  bool failed;
} finder;

/* Values that cross each border, from the last use of each. */
static bool find_crossing(finder *f) {
  const fe_list *l = f->list;
  uint32_t *last = ir_alloc(f->mem, (l->count + 1) * sizeof *last);
  f->crossing = ir_alloc(f->mem, (l->count + 1) * sizeof *f->crossing);
  if (last && f->crossing) {
    memset(f->crossing, 0, (l->count + 1) * sizeof *f->crossing);
    for (uint32_t i = 0; i < l->count; i++) last[i] = i;
    for (uint32_t i = 0; i < l->count; i++)
      for (uint32_t k = l->first[i]; k < l->first[i + 1]; k++)
        if (l->operands[k] != NONE) last[l->operands[k]] = i;
    for (uint32_t i = 0; i < l->count; i++) { /* differences first */
      if (last[i] == i) continue;
      f->crossing[i + 1]++;
      f->crossing[last[i] + 1]--;
    }
    for (size_t i = 1; i <= l->count; i++) f->crossing[i] += f->crossing[i - 1];
  }
  ir_free(f->mem, last, (l->count + 1) * sizeof *last);
  return last && f->crossing;
}

static uint32_t add_part(finder *f, fe_part part) {
  if (!IR_RESERVE(f->mem, f->out->list, f->out->cap, f->out->count + 1)) f->failed = true;
  if (f->failed) return NONE;
  f->out->list[f->out->count++] = part;
  return (uint32_t)f->out->count - 1;
}

/* tokens */

typedef struct tokens {
  fe_token *list;
  size_t count, cap;
} tokens;

static tokens tokens_of(finder *f, uint32_t from, uint32_t end) {
  tokens t = {0};
  if (!IR_RESERVE(f->mem, t.list, t.cap, end - from + 1)) f->failed = true;
  for (uint32_t i = from; i < end && !f->failed; i++)
    t.list[t.count++] = (fe_token){f->list->tokens[i], i, i + 1};
  return t;
}

static void free_tokens(const finder *f, tokens *t) { ir_free(f->mem, t->list, t->cap * sizeof *t->list); }

/* A token of a class is no token of an operation. */
static uint64_t class_token(uint32_t class) { return ~(uint64_t) class; }

static bool is_layer(const fe_token *t, uint32_t classes) { return ~t->what < classes; }

/* Puts one token in the place of each repeat. */
static void fold_tokens(tokens *t, const fe_repeat *r, uint32_t class) {
  size_t kept = 0, at = 0;
  for (size_t i = 0; i < t->count; kept++) {
    bool here = at < r->count && r->starts[at] == i;
    t->list[kept] = t->list[i];
    if (here) t->list[kept] = (fe_token){class_token(class), t->list[i].from, t->list[i + r->length - 1].end};
    i += here ? r->length : 1;
    at += here;
  }
  t->count = kept;
}

/* Classes of repeats, until none is worth it. Repeats of repeats are looked for while the list is too long.
 */
static void fold_repeats(finder *f, tokens *t) {
  fe_repeat found = {0};
  while (!f->failed) {
    if (!fe_repeat_find(f->mem, f->list, f->crossing, t->list, t->count, &found)) f->failed = true;
    if (f->failed || !found.length || (found.length - 1) * (found.count - 1) < LEAST_SAVED) break;
    bool nested = false;
    for (uint32_t i = 0; i < found.length; i++) nested |= is_layer(&t->list[found.starts[0] + i], f->classes);
    if (nested && t->count <= FE_PARTS_SHOWN) break;
    fold_tokens(t, &found, f->classes++);
  }
  ir_free(f->mem, found.starts, found.cap * sizeof *found.starts);
}

/* Divides a list that is too long into pieces of about equal length, at the narrowest borders near. */
static void divide(finder *f, tokens *t) {
  size_t pieces = (t->count + FE_PARTS_SHOWN / 2 - 1) / (FE_PARTS_SHOWN / 2), kept = 0;
  if (pieces > FE_PARTS_SHOWN) pieces = FE_PARTS_SHOWN;
  for (size_t p = 0, from = 0; p < pieces; p++) {
    size_t end = (p + 1) * t->count / pieces, slack = t->count / pieces / 4, best = end;
    for (size_t at = end - slack; at < end + slack && p + 1 < pieces; at++)
      if (f->crossing[t->list[at].from] < f->crossing[t->list[best].from]) best = at;
    if (best <= from) continue;
    t->list[kept++] = (fe_token){0, t->list[from].from, t->list[best - 1].end};
    from = best;
  }
  t->count = kept;
}

/* Finds the parts of a range. Recursive, at most DEEPEST deep. */
static void find_inside(finder *f, uint32_t parent, uint32_t from, uint32_t end, int depth) {
  if (end - from <= FE_PARTS_SHOWN && depth) return; /* at the top, repeats are worth knowing in any case */
  if (depth == DEEPEST) return;
  tokens t = tokens_of(f, from, end);
  fold_repeats(f, &t);
  bool pieces = t.count > FE_PARTS_SHOWN;
  uint32_t classes = f->classes;
  if (pieces && !f->failed) divide(f, &t);
  for (size_t i = 0; i < t.count && !f->failed; i++) {
    const fe_token *token = &t.list[i];
    bool layer = !pieces && is_layer(token, classes);
    if (token->end - token->from < 2) continue;
    fe_part part = {layer ? FE_PART_LAYER : FE_PART_PIECE, parent, token->from, token->end,
                    layer ? (uint32_t)~token->what : 0};
    uint32_t made = add_part(f, part);
    if (!f->failed) find_inside(f, made, token->from, token->end, depth + 1);
  }
  free_tokens(f, &t);
}

/* Numbers classes in the order in which they appear; what is alike is of one, in whatever part it is. */
static void number_classes(finder *f) {
  fe_part *list = f->out->list;
  uint32_t classes = 0;
  uint64_t *digests = ir_alloc(f->mem, (f->out->count + 1) * sizeof *digests); /* by class */
  if (!digests) f->failed = true;
  for (size_t i = 0; i < f->out->count && digests; i++) {
    if (list[i].kind != FE_PART_LAYER) continue;
    uint64_t digest = fe_range_digest(f->list, list[i].from, list[i].end);
    uint32_t class = 0;
    while (class < classes && digests[class] != digest) class ++;
    if (class == classes) digests[classes++] = digest;
    list[i].class = class;
  }
  ir_free(f->mem, digests, (f->out->count + 1) * sizeof *digests);
}

bool fe_parts_find(const ir_mem *mem, const fe_list *list, fe_parts *out) {
  finder f = {.mem = mem, .list = list, .out = out};
  *out = (fe_parts){0};
  if (!list->count) return true;
  if (!find_crossing(&f)) f.failed = true;
  if (!f.failed) find_inside(&f, NONE, 0, (uint32_t)list->count, 0);
  if (!f.failed) number_classes(&f);
  ir_free(mem, f.crossing, (list->count + 1) * sizeof *f.crossing);
  return !f.failed;
}

void fe_parts_free(const ir_mem *mem, fe_parts *parts) {
  ir_free(mem, parts->list, parts->cap * sizeof *parts->list);
  *parts = (fe_parts){0};
}
