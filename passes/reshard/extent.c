#include "extent.h"

static int64_t parts_of(const reshard_problem *p, const reshard_layout *l, uint32_t dim) {
  int64_t parts = 1;
  for (uint32_t i = reshard_first(l, dim); i < l->ends[dim]; i++) parts *= p->digits[l->order[i]].size;
  return parts;
}

static reshard_interval chunk(int64_t size, int64_t parts, int64_t position) {
  int64_t c = ir_part_size(size, parts), lo = position * c;
  if (lo > size) lo = size;
  return (reshard_interval){lo, size - lo < c ? size : lo + c};
}

static bool is_weighted(const reshard_problem *p, const reshard_layout *l, uint32_t dim) {
  bool some = false;
  for (uint32_t i = reshard_first(l, dim); i < l->ends[dim] && p->weighted; i++)
    some |= p->digits[l->order[i]].weighted;
  return some;
}

reshard_interval reshard_part_at(const reshard_problem *p, const reshard_layout *l, uint32_t dim,
                                 int64_t position) {
  ir_subaxis axes[RESHARD_DIGITS];
  uint32_t first = reshard_first(l, dim), count = l->ends[dim] - first;
  reshard_interval out;
  if (!is_weighted(p, l, dim)) return chunk(p->shape[dim], parts_of(p, l, dim), position);
  for (uint32_t i = 0; i < count; i++) axes[i] = p->digits[l->order[first + i]];
  ir_part_of(p->mesh, axes, count, p->shape[dim], position, &out.lo, &out.hi);
  return out;
}

int64_t reshard_length(reshard_interval i) { return i.hi > i.lo ? i.hi - i.lo : 0; }

reshard_interval reshard_meet(reshard_interval a, reshard_interval b) {
  return (reshard_interval){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

reshard_interval reshard_part_along(const reshard_problem *p, const reshard_layout *l, uint32_t dim,
                                    const uint32_t *at) {
  int64_t position = 0;
  for (uint32_t i = reshard_first(l, dim); i < l->ends[dim]; i++)
    position = position * p->digits[l->order[i]].size + at[l->order[i]];
  return reshard_part_at(p, l, dim, position);
}

void reshard_each_device(const reshard_problem *p, uint32_t digits, reshard_visit *visit, void *user) {
  uint32_t at[RESHARD_DIGITS] = {0}, k;
  do {
    visit(user, at);
    for (k = 0; k < p->digit_count; k++) {
      if (!(digits >> k & 1)) continue;
      if (++at[k] < (uint32_t)p->digits[k].size) break;
      at[k] = 0;
    }
  } while (k < p->digit_count);
}

/* Which old parts, from *first to *last, have an element of `need`, which has some; returns how many, as
 * shares of weights between them may be empty. */
static uint64_t sources_of(const reshard_problem *p, const reshard_layout *from, uint32_t dim,
                           reshard_interval need, int64_t *first, int64_t *last) {
  int64_t parts = parts_of(p, from, dim), c = ir_part_size(p->shape[dim], parts), lo = 0, hi = parts - 1;
  if (!is_weighted(p, from, dim)) {
    *first = need.lo / c, *last = (need.hi - 1) / c;
    return (uint64_t)(*last - *first + 1);
  }
  while (lo < hi) { /* the first part that ends behind need.lo */
    int64_t middle = (lo + hi) / 2;
    if (reshard_part_at(p, from, dim, middle).hi > need.lo) hi = middle;
    else lo = middle + 1;
  }
  uint64_t count = 0;
  *first = lo;
  for (int64_t i = lo; i < parts; i++) {
    reshard_interval have = reshard_part_at(p, from, dim, i);
    if (have.lo >= need.hi) break;
    *last = i, count += have.hi > have.lo;
  }
  return count;
}

reshard_extent reshard_look_along(const reshard_problem *p, const reshard_layout *from,
                                  const reshard_layout *to, uint32_t dim, const uint32_t *at, int64_t *first,
                                  int64_t *last) {
  reshard_interval have = reshard_part_along(p, from, dim, at), need = reshard_part_along(p, to, dim, at);
  reshard_extent out = {(uint64_t)reshard_length(have), (uint64_t)reshard_length(need),
                        (uint64_t)reshard_length(reshard_meet(have, need)), 0};
  if (out.after) out.sources = sources_of(p, from, dim, need, first, last);
  return out;
}

void reshard_multiply(reshard_extent *a, const reshard_extent *b) {
  a->before *= b->before, a->after *= b->after, a->kept *= b->kept, a->sources *= b->sources;
}

reshard_view reshard_look(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          const uint32_t *at) {
  reshard_view v = {.all = {1, 1, 1, 1}};
  for (uint32_t d = 0; d < p->rank; d++) {
    reshard_extent along = reshard_look_along(p, from, to, d, at, &v.first[d], &v.last[d]);
    reshard_multiply(&v.all, &along);
  }
  return v;
}
