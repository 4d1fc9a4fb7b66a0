#include "test/lib/view_search.h"

#include <stdlib.h>

static int shape_number(const search_table *t, const model_shape *s) {
  int first = 0, code = 0, count = 1;
  if (s->rank > SEARCH_RANK) return -1;
  for (int i = 0; i < s->rank; i++) {
    if (s->size[i] > t->largest) return -1;
    first += count, count *= t->largest + 1;
    code = code * (t->largest + 1) + s->size[i];
  }
  return first + code;
}

static void add(search_table *t, int from, const model_step *step) {
  static model_array plain, moved;
  model_shape to;
  search_moves *m = &t->moves[from];
  if (!model_shape_after(&t->shapes[from], step, &to) || shape_number(t, &to) < 0) return;
  if (m->count == m->cap) {
    m->cap = m->cap ? 2 * m->cap : 64;
    m->list = realloc(m->list, m->cap * sizeof *m->list);
    if (!m->list) exit(77);
  }
  search_move *made = &m->list[m->count++];
  *made = (search_move){.step = *step, .to = shape_number(t, &to)};
  model_base(&t->shapes[from], &plain);
  if (!model_apply(&plain, step, &moved)) exit(77);
  for (int i = 0; i < moved.count; i++) made->source[i] = (int8_t)moved.at[i];
}

/* Advances to the next assignment of values in lo..hi to n parameters; false after the last. */
static bool odometer(int *digits, int n, int lo, int hi) {
  for (int i = n; i-- > 0;) {
    if (digits[i]++ < hi) return true;
    digits[i] = lo;
  }
  return false;
}

static void each(search_table *t, int from, model_step s, int n, int lo, int hi) {
  for (int i = 0; i < n; i++) s.a[i] = lo;
  do add(t, from, &s);
  while (odometer(s.a, n, lo, hi));
}

/* Enumerates both lists. On each axis a and b are at least 0, and a + b is at most the axis size (shrink) or
 * what is missing to the largest size (pad). */
static void each_pair(search_table *t, int from, model_step s) {
  const model_shape *shape = &t->shapes[from];
  int axis = 0;
  do {
    bool some = false;
    for (int i = 0; i < shape->rank; i++) some |= s.a[i] || s.b[i];
    if (some || s.mode == MODEL_CONSTANT) add(t, from, &s);
    for (axis = 0; axis < shape->rank; axis++) {
      int most = s.kind == MODEL_SHRINK ? shape->size[axis] : t->largest - shape->size[axis];
      if (++s.b[axis] + s.a[axis] <= most) break;
      s.b[axis] = 0;
      if (++s.a[axis] <= most) break;
      s.a[axis] = 0;
    }
  } while (axis < shape->rank);
}

/* Strides greater than the length of an axis have the same effect as its length, so they are left out. */
static void strides(search_table *t, int from) {
  const model_shape *shape = &t->shapes[from];
  model_step s = {.kind = MODEL_STRIDE};
  int axis = 0;
  for (int i = 0; i < shape->rank; i++) s.a[i] = shape->size[i] ? -shape->size[i] : -1;
  do {
    add(t, from, &s);
    for (axis = 0; axis < shape->rank; axis++) {
      int most = shape->size[axis] ? shape->size[axis] : 1;
      s.a[axis] += s.a[axis] == -1 ? 2 : 1;
      if (s.a[axis] <= most) break;
      s.a[axis] = -most;
    }
  } while (axis < shape->rank);
}

static void list_moves(search_table *t, int from) {
  int rank = t->shapes[from].rank, largest = t->largest;
  each(t, from, (model_step){.kind = MODEL_PERMUTE}, rank, 0, rank - 1);
  for (int n = 0; n <= SEARCH_RANK; n++)
    each(t, from, (model_step){.kind = MODEL_RESHAPE, .n = n}, n, 0, largest);
  each(t, from, (model_step){.kind = MODEL_EXPAND}, rank, 0, largest);
  each_pair(t, from, (model_step){.kind = MODEL_SHRINK});
  for (int mode = MODEL_CONSTANT; mode <= MODEL_WRAP; mode++)
    each_pair(t, from, (model_step){.kind = MODEL_PAD, .mode = mode});
  for (int set = 0; set < 1 << rank; set++) {
    model_step s = {.kind = MODEL_FLIP};
    for (int i = 0; i < rank; i++)
      if (set >> i & 1) s.a[s.n++] = i;
    add(t, from, &s);
  }
  strides(t, from);
  for (int axis = 0; axis <= rank; axis++) {
    add(t, from, &(model_step){.kind = MODEL_UNSQUEEZE, .a = {axis}});
    if (axis == rank) break;
    add(t, from, &(model_step){.kind = MODEL_SQUEEZE, .a = {axis}});
    for (int at = -largest; at < largest; at++)
      add(t, from, &(model_step){.kind = MODEL_POINT, .a = {axis}, .b = {at}});
  }
}

void search_make(search_table *t, int largest) {
  *t = (search_table){.largest = largest};
  for (int rank = 0; rank <= SEARCH_RANK; rank++) {
    model_shape s = {.rank = rank};
    do t->shapes[t->shape_count++] = s;
    while (odometer(s.size, rank, 0, largest));
  }
  for (int i = 0; i < t->shape_count; i++) list_moves(t, i), t->moves[i].chains[0] = 1;
  for (int length = 1; length <= SEARCH_STEPS; length++)
    for (int i = 0; i < t->shape_count; i++)
      for (size_t k = 0; k < t->moves[i].count; k++) {
        search_move *m = &t->moves[i].list[k];
        m->before[length - 1] = t->moves[i].chains[length];
        t->moves[i].chains[length] += t->moves[m->to].chains[length - 1];
      }
}

void search_free(search_table *t) {
  for (int i = 0; i < t->shape_count; i++) free(t->moves[i].list);
}

uint64_t search_count(const search_table *t, int length) {
  uint64_t total = 0;
  for (int i = 0; i < t->shape_count; i++) total += t->moves[i].chains[length];
  return total;
}

int search_path(const search_table *t, int length, uint64_t number, const search_move **path) {
  int base = 0;
  while (number >= t->moves[base].chains[length]) number -= t->moves[base++].chains[length];
  for (int depth = 0, from = base; depth < length; depth++, from = path[depth - 1]->to) {
    const search_move *list = t->moves[from].list;
    size_t lo = 0, hi = t->moves[from].count;
    int rest = length - 1 - depth;
    while (hi - lo > 1) { /* binary search for the last move whose chains begin at or before the number */
      size_t middle = lo + (hi - lo) / 2;
      if (list[middle].before[rest] <= number) lo = middle;
      else hi = middle;
    }
    path[depth] = &list[lo];
    number -= list[lo].before[rest];
  }
  return base;
}
