/* Specs: what they consist of, and when two are the same. */
#include "spec.h"

#include <string.h>

void ir_spec_init(ir_spec *spec, uint32_t rank) {
  memset(spec, 0, sizeof *spec);
  spec->rank = (uint8_t)rank;
  spec->joined_by = IR_OP_ADD;
}

const ir_subaxis *ir_spec_axes(const ir_spec *spec, uint32_t place, uint32_t *count) {
  uint32_t from = place ? spec->ends[place - 1] : 0;
  *count = spec->ends[place] - from;
  return spec->axes + from;
}

uint32_t ir_spec_count(const ir_spec *spec, uint32_t place) {
  uint32_t count;
  ir_spec_axes(spec, place, &count);
  return count;
}

int64_t ir_spec_parts(const ir_spec *spec, uint32_t place) {
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, place, &count);
  int64_t parts = 1;
  for (uint32_t i = 0; i < count; i++) parts *= axes[i].size;
  return parts;
}

bool ir_spec_push(ir_spec *spec, uint32_t place, ir_subaxis s) {
  uint32_t total = spec->ends[IR_PLACES - 1], count;
  if (total == IR_SUBAXES) return false;
  uint32_t at = (uint32_t)(ir_spec_axes(spec, place, &count) - spec->axes) + count;
  if (place >= IR_MAX_RANK)
    for (; count && ir_subaxes_compare(s, spec->axes[at - 1]) < 0; count--) at--;
  memmove(spec->axes + at + 1, spec->axes + at, (total - at) * sizeof *spec->axes);
  spec->axes[at] = s;
  for (uint32_t p = place; p < IR_PLACES; p++) spec->ends[p]++;
  return true;
}

static void remove_at(ir_spec *spec, uint32_t place, uint32_t at, uint32_t count) {
  memmove(spec->axes + at, spec->axes + at + count,
          (spec->ends[IR_PLACES - 1] - at - count) * sizeof *spec->axes);
  for (uint32_t p = place; p < IR_PLACES; p++) spec->ends[p] = (uint8_t)(spec->ends[p] - count);
}

void ir_spec_clear(ir_spec *spec, uint32_t place) {
  uint32_t count;
  uint32_t at = (uint32_t)(ir_spec_axes(spec, place, &count) - spec->axes);
  remove_at(spec, place, at, count);
}

/* Joins neighbours in a place. */
static void join_place(ir_spec *spec, uint32_t place) {
  uint32_t count;
  uint32_t at = (uint32_t)(ir_spec_axes(spec, place, &count) - spec->axes);
  while (count > 1) {
    if (ir_subaxes_join(spec->axes[at], spec->axes[at + 1], &spec->axes[at]))
      remove_at(spec, place, at + 1, 1);
    else at++;
    count--;
  }
}

bool ir_spec_add(ir_spec *spec, uint32_t place, ir_subaxis s) {
  if (!ir_spec_push(spec, place, s)) return false;
  join_place(spec, place);
  return true;
}

/* Everything but the axes. */
static void copy_frame(const ir_spec *spec, ir_spec *out) {
  *out = *spec;
  memset(out->ends, 0, sizeof out->ends);
  memset(out->axes, 0, sizeof out->axes);
}

bool ir_spec_to_primes(const ir_spec *spec, ir_spec *out) {
  copy_frame(spec, out);
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, p, &count);
    for (uint32_t i = 0; i < count; i++) {
      ir_subaxis primes[20];
      uint32_t n = ir_subaxis_primes(axes[i], primes);
      for (uint32_t k = 0; k < n; k++)
        if (!ir_spec_push(out, p, primes[k])) return false;
    }
  }
  return true;
}

void ir_spec_canonical(const ir_spec *spec, ir_spec *out) {
  copy_frame(spec, out);
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, p, &count);
    for (uint32_t i = 0; i < count; i++)
      if (axes[i].size > 1) ir_spec_push(out, p, axes[i]);
    join_place(out, p);
  }
  if (!ir_spec_count(out, IR_PLACE_PENDING)) out->joined_by = IR_OP_ADD;
}

static bool refuse(const ir_mesh *mesh, ir_error *error, ir_subaxis s, const ir_subaxis *other,
                   const char *rule) {
  ir_text text;
  ir_text_init(&text, mesh->mem);
  ir_subaxis_print(mesh, s, &text);
  if (other) ir_text_str(&text, " and "), ir_subaxis_print(mesh, *other, &text);
  ir_fail(error, IR_ERR_INVALID, "sharding: %s %s", ir_text_get(&text), rule);
  ir_text_free(&text);
  return false;
}

bool ir_spec_check(const ir_mesh *mesh, const ir_spec *spec, ir_error *error) {
  uint32_t total = spec->ends[IR_PLACES - 1];
  for (uint32_t i = 0; i < total; i++) {
    if (spec->axes[i].axis >= mesh->axis_count || !ir_subaxis_fits(mesh, spec->axes[i]))
      return refuse(mesh, error, spec->axes[i], NULL,
                    "is no digit of its axis: (m)k of an axis of size n requires that m k divides n");
    for (uint32_t k = 0; k < i; k++)
      if (ir_subaxes_overlap(spec->axes[k], spec->axes[i]))
        return refuse(mesh, error, spec->axes[k], &spec->axes[i],
                      "overlap: an axis stands once in all of a spec");
  }
  for (uint32_t d = 0; d < spec->rank; d++)
    if (spec->priority[d] && !spec->open[d] && !ir_spec_count(spec, d)) {
      ir_fail(error, IR_ERR_INVALID,
              "sharding: dimension %u has priority %u, but it is closed and has no axis", (unsigned)d,
              (unsigned)spec->priority[d]);
      return false;
    }
  return true;
}

static bool same_axes(const ir_spec *a, const ir_spec *b, uint32_t place) {
  uint32_t n, m;
  const ir_subaxis *x = ir_spec_axes(a, place, &n), *y = ir_spec_axes(b, place, &m);
  bool same = n == m;
  for (uint32_t i = 0; i < n && same; i++) same = ir_subaxes_equal(x[i], y[i]);
  return same;
}

bool ir_spec_same_parts(const ir_spec *a, const ir_spec *b) {
  ir_spec x, y;
  ir_spec_canonical(a, &x), ir_spec_canonical(b, &y);
  bool same = x.rank == y.rank && x.joined_by == y.joined_by && same_axes(&x, &y, IR_PLACE_PENDING);
  for (uint32_t d = 0; d < x.rank && same; d++) same = same_axes(&x, &y, d);
  return same;
}

bool ir_spec_equal(const ir_spec *a, const ir_spec *b) {
  bool same = a->rank == b->rank && a->joined_by == b->joined_by;
  for (uint32_t p = 0; p < IR_PLACES && same; p++) same = same_axes(a, b, p);
  for (uint32_t d = 0; d < a->rank && same; d++)
    same = a->open[d] == b->open[d] && a->priority[d] == b->priority[d];
  return same;
}

bool ir_spec_is_whole(const ir_spec *spec) {
  bool whole = ir_spec_parts(spec, IR_PLACE_PENDING) == 1;
  for (uint32_t d = 0; d < spec->rank && whole; d++) whole = ir_spec_parts(spec, d) == 1;
  return whole;
}
