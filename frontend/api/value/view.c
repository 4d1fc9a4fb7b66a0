/* Builders of views. */
#include "frontend/api/api.h"
#include "passes/ops/ops.h"

/* A builder with one list of entries, integers or sizes. */
typedef ir_ref (*list_builder)(ir_graph *g, ir_ref x, const ir_ref *list, size_t count);

static vf_value with_list(const char *who, list_builder build, vf_value x, const char *what, int count,
                          const int64_t *list) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, who, &x, 1) && fe_list(&c, what, count, list, refs);
  return fe_end(&c, good ? build(c.ir, x.id, refs, (size_t)count) : 0);
}

static vf_value with_sizes(const char *who, list_builder build, vf_value x, const char *what, int count,
                           const vf_value *list) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, who, &x, 1) && fe_list_sized(&c, what, count, list, refs);
  return fe_end(&c, good ? build(c.ir, x.id, refs, (size_t)count) : 0);
}

vf_value vf_permute(vf_value x, int count, const int64_t *order) {
  return with_list("permute", op_permute, x, "the order", count, order);
}
vf_value vf_reshape(vf_value x, int rank, const int64_t *shape) {
  return with_list("reshape", op_reshape, x, "the shape", rank, shape);
}
vf_value vf_reshape_sized(vf_value x, int rank, const vf_value *shape) {
  return with_sizes("reshape", op_reshape, x, "the shape", rank, shape);
}
vf_value vf_expand(vf_value x, int rank, const int64_t *shape) {
  return with_list("expand", op_expand, x, "the shape", rank, shape);
}
vf_value vf_expand_sized(vf_value x, int rank, const vf_value *shape) {
  return with_sizes("expand", op_expand, x, "the shape", rank, shape);
}
vf_value vf_stride(vf_value x, int count, const int64_t *steps) {
  return with_list("stride", op_stride, x, "the list of steps", count, steps);
}
vf_value vf_flip(vf_value x, int count, const int64_t *axes) {
  return with_list("flip", op_flip, x, "the list of axes", count, axes);
}

/* an empty list stands for every axis */
static ir_ref squeeze_axes(ir_graph *g, ir_ref x, const ir_ref *axes, size_t count) {
  return op_squeeze(g, x, count ? axes : NULL, count);
}
vf_value vf_squeeze(vf_value x, int count, const int64_t *axes) {
  return axes ? with_list("squeeze", op_squeeze, x, "the list of axes", count, axes)
              : with_list("squeeze", squeeze_axes, x, "the list of axes", count, axes);
}

vf_value vf_swap_axes(vf_value x, int axis1, int axis2) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "swap_axes", &x, 1) ? op_swap_axes(c.ir, x.id, axis1, axis2) : 0);
}

vf_value vf_move_axis(vf_value x, int source, int destination) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "moveaxis", &x, 1) ? op_move_axis(c.ir, x.id, source, destination) : 0);
}

vf_value vf_flatten(vf_value x, int first, int last) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "flatten", &x, 1) ? op_flatten(c.ir, x.id, first, last) : 0);
}

vf_value vf_unsqueeze(vf_value x, int axis) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "unsqueeze", &x, 1) ? op_unsqueeze(c.ir, x.id, axis) : 0);
}

vf_value vf_point(vf_value x, int64_t index, int axis) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "point", &x, 1) ? op_point(c.ir, x.id, ir_index(c.ir, index), axis) : 0);
}

/* lists of pairs */

static bool pairs(fe_call *c, const char *what, int count) {
  return count % 2 == 0 || fe_refuse(c, "%s has %d numbers; each axis takes two", what, count);
}

static ir_ref pad(ir_graph *g, ir_ref x, const ir_ref *pads, size_t count) {
  return op_pad(g, x, pads, count / 2, 0, IR_PAD_CONSTANT);
}
static ir_ref shrink_axes(ir_graph *g, ir_ref x, const ir_ref *bounds, size_t count) {
  return op_shrink(g, x, bounds, count / 2);
}

static vf_value with_pairs(const char *who, list_builder build, vf_value x, const char *what, int count,
                           const int64_t *list) {
  fe_call c;
  bool good = fe_begin(&c, who, &x, 1) && pairs(&c, what, count);
  return good ? with_list(who, build, x, what, count, list) : fe_end(&c, 0);
}

static vf_value with_sized_pairs(const char *who, list_builder build, vf_value x, const char *what, int count,
                                 const vf_value *list) {
  fe_call c;
  bool good = fe_begin(&c, who, &x, 1) && pairs(&c, what, count);
  return good ? with_sizes(who, build, x, what, count, list) : fe_end(&c, 0);
}

vf_value vf_shrink(vf_value x, int count, const int64_t *bounds) {
  return with_pairs("shrink", shrink_axes, x, "the list of bounds", count, bounds);
}
vf_value vf_shrink_sized(vf_value x, int count, const vf_value *bounds) {
  return with_sized_pairs("shrink", shrink_axes, x, "the list of bounds", count, bounds);
}
vf_value vf_pad(vf_value x, int count, const int64_t *pads) {
  return with_pairs("pad", pad, x, "the list of pads", count, pads);
}
vf_value vf_pad_sized(vf_value x, int count, const vf_value *pads) {
  return with_sized_pairs("pad", pad, x, "the list of pads", count, pads);
}

vf_value vf_pad_with(vf_value x, int count, const int64_t *pads, vf_pad_mode mode, vf_value value) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, "pad", &x, 1) && pairs(&c, "the list of pads", count) &&
              fe_list(&c, "the list of pads", count, pads, refs);
  if (good && (unsigned)mode > VF_PAD_WRAP) good = fe_refuse(&c, "there is no mode %d", (int)mode);
  if (good && mode != VF_PAD_CONSTANT && value.id)
    good = fe_refuse(&c, "mode=%s fills with elements of x, so a value has no use; give the error value",
                     ir_pad_modes[mode]);
  if (good && mode == VF_PAD_CONSTANT) good = fe_operands(&c, &value, 1);
  return fe_end(&c, good ? op_pad(c.ir, x.id, refs, (size_t)count / 2, value.id, (int)mode) : 0);
}

vf_value vf_slice(vf_value x, int rank, const int64_t *start, const int64_t *size) {
  fe_call c;
  ir_ref starts[FE_LIST_MAX], sizes[FE_LIST_MAX];
  bool good = fe_begin(&c, "slice", &x, 1) && fe_list(&c, "the list of starts", rank, start, starts) &&
              fe_list(&c, "the list of sizes", rank, size, sizes);
  return fe_end(&c, good ? op_slice(c.ir, x.id, starts, sizes, (size_t)rank) : 0);
}

/* joins */

static vf_value join_values(const char *who, ir_ref (*build)(ir_graph *, const ir_ref *, size_t, int64_t),
                            const vf_value *x, int count, int axis) {
  fe_call c;
  size_t n = x && count > 0 ? (size_t)count : 0;
  bool good = fe_begin(&c, who, x, n);
  ir_ref *refs = good ? ir_alloc(c.ir->mem, n * sizeof *refs) : NULL, made = 0;
  if (refs) {
    for (size_t i = 0; i < n; i++) refs[i] = x[i].id;
    made = build(c.ir, refs, n, axis);
    ir_free(c.ir->mem, refs, n * sizeof *refs);
  }
  return fe_end(&c, made);
}

vf_value vf_concat(const vf_value *x, int count, int axis) {
  return join_values("concat", op_concat, x, count, axis);
}
vf_value vf_stack(const vf_value *x, int count, int axis) {
  return join_values("stack", op_stack, x, count, axis);
}
