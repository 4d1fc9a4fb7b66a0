#include "extent.h"

reshard_interval reshard_chunk(int64_t size, int64_t parts, int64_t position) {
  int64_t c = ir_part_size(size, parts), lo = position * c;
  if (lo > size) lo = size;
  return (reshard_interval){lo, size - lo < c ? size : lo + c};
}

int64_t reshard_length(reshard_interval i) { return i.hi > i.lo ? i.hi - i.lo : 0; }

reshard_interval reshard_meet(reshard_interval a, reshard_interval b) {
  return (reshard_interval){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

reshard_interval reshard_part_along(const reshard_problem *p, const reshard_layout *l, uint32_t dim,
                                    const uint32_t *at, int64_t *parts) {
  int64_t position = 0;
  *parts = 1;
  for (uint32_t i = reshard_first(l, dim); i < l->ends[dim]; i++) {
    int64_t k = p->digits[l->order[i]].size;
    position = position * k + at[l->order[i]], *parts *= k;
  }
  return reshard_chunk(p->shape[dim], *parts, position);
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

reshard_extent reshard_look_along(const reshard_problem *p, const reshard_layout *from,
                                  const reshard_layout *to, uint32_t dim, const uint32_t *at, int64_t *first,
                                  int64_t *last) {
  int64_t old_parts, new_parts;
  reshard_interval have = reshard_part_along(p, from, dim, at, &old_parts),
                   need = reshard_part_along(p, to, dim, at, &new_parts);
  reshard_extent out = {(uint64_t)reshard_length(have), (uint64_t)reshard_length(need),
                        (uint64_t)reshard_length(reshard_meet(have, need)), 0};
  int64_t c = ir_part_size(p->shape[dim], old_parts);
  if (!out.after) return out;
  *first = need.lo / c, *last = (need.hi - 1) / c;
  out.sources = (uint64_t)(*last - *first + 1);
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
