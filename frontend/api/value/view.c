/* Builders of views. */
#include "frontend/api/api.h"
#include "passes/ops/ops.h"

/* A builder with one list of entries: `read` is fe_list or fe_list_sized. */
#define LISTED(name, who, build, read, what, type)                                                           \
  FE_BUILDER(name, (vf_value x, int count, const type *list),                                                \
             fe_begin(&c, who, &x, 1) && read(&c, what, count, list, refs),                                  \
             build(c.ir, x.id, refs, (size_t)count))

LISTED(permute, "permute", op_permute, fe_list, "the order", int64_t)
LISTED(reshape, "reshape", op_reshape, fe_list, "the shape", int64_t)
LISTED(reshape_sized, "reshape", op_reshape, fe_list_sized, "the shape", vf_value)
LISTED(expand, "expand", op_expand, fe_list, "the shape", int64_t)
LISTED(expand_sized, "expand", op_expand, fe_list_sized, "the shape", vf_value)
LISTED(stride, "stride", op_stride, fe_list, "the list of steps", int64_t)
LISTED(flip, "flip", op_flip, fe_list, "the list of axes", int64_t)

/* NULL stands for every axis */
FE_BUILDER(squeeze, (vf_value x, int count, const int64_t *axes),
           fe_begin(&c, "squeeze", &x, 1) && fe_list(&c, "the list of axes", count, axes, refs),
           op_squeeze(c.ir, x.id, axes ? refs : NULL, (size_t)count))
FE_BUILDER_OF_X(transpose, (vf_value x), op_transpose(c.ir, x.id))
FE_BUILDER_OF_X(swap_axes, (vf_value x, int axis1, int axis2), op_swap_axes(c.ir, x.id, axis1, axis2))

FE_BUILDER(move_axis, (vf_value x, int source, int destination), fe_begin(&c, "moveaxis", &x, 1),
           op_move_axis(c.ir, x.id, source, destination))

FE_BUILDER_OF_X(flatten, (vf_value x, int first, int last), op_flatten(c.ir, x.id, first, last))

FE_BUILDER_OF_X(unsqueeze, (vf_value x, int axis), op_unsqueeze(c.ir, x.id, axis))

FE_BUILDER_OF_X(point, (vf_value x, int64_t index, int axis),
                op_point(c.ir, x.id, ir_index(c.ir, index), axis))

/* lists of pairs */

static bool pairs(fe_call *c, const char *what, int count) {
  return count % 2 == 0 || fe_refuse(c, "%s has %d numbers; each axis takes two", what, count);
}

#define PAIRS(name, who, build, read, what, type)                                                            \
  FE_BUILDER(name, (vf_value x, int count, const type *list),                                                \
             fe_begin(&c, who, &x, 1) && pairs(&c, what, count) && read(&c, what, count, list, refs), build)
#define SHRUNK op_shrink(c.ir, x.id, refs, (size_t)count / 2)
#define PADDED op_pad(c.ir, x.id, refs, (size_t)count / 2, 0, IR_PAD_CONSTANT)

PAIRS(shrink, "shrink", SHRUNK, fe_list, "the list of bounds", int64_t)
PAIRS(shrink_sized, "shrink", SHRUNK, fe_list_sized, "the list of bounds", vf_value)
PAIRS(pad, "pad", PADDED, fe_list, "the list of pads", int64_t)
PAIRS(pad_sized, "pad", PADDED, fe_list_sized, "the list of pads", vf_value)

vf_value vf_pad_with(vf_value x, int count, const int64_t *pads, vf_pad_mode mode, vf_value value) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, "pad", &x, 1) && pairs(&c, "the list of pads", count) &&
              fe_list(&c, "the list of pads", count, pads, refs);
  if (good && (unsigned)mode > VF_PAD_WRAP)
    good = fe_refuse(&c, "there is no mode %d; takes VF_PAD_CONSTANT, _EDGE, _REFLECT or _WRAP", (int)mode);
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
  return fe_end(&c, good ? op_slice(c.ir, "slice", x.id, starts, sizes, (size_t)rank) : 0);
}

/* joins */

static vf_value join_values(const char *who, ir_ref (*build)(ir_graph *, const ir_ref *, size_t, int64_t),
                            const vf_value *x, int count, int axis) {
  fe_call c;
  size_t n = x && count > 0 ? (size_t)count : 0;
  if (!n) return (vf_value){NULL, 0, FE_GIVEN_NOTHING};
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
