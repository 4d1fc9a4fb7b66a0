/* Folding gathers, whose index tensors are read at run time. */
#include "fold.h"

#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/ops/ops.h"

ir_ref fold_in_axis(folder *f, ir_ref index, ir_ref size) {
  ir_graph *g = f->g;
  ir_dtype wide = ir_dtype_of(g, index) == IR_U64 ? IR_U64 : IR_I64;
  ir_ref at = ir_cast(g, index, wide), end = ir_cast(g, size, wide), below = ir_binary(g, IR_OP_LT, at, end);
  if (wide == IR_U64) return below;
  return ir_binary(g, IR_OP_AND, ir_binary(g, IR_OP_GE, at, ir_unary(g, IR_OP_NEG, end)), below);
}

/* The point at which the index tensor is read for point p of the gather's result.
 * Data and index tensor share their first `batch` axes. */
static pass_point index_point(const folder *f, const ir_node *n, const pass_point *p) {
  uint32_t axis = (uint32_t)ir_arg_int(n), batch = (uint32_t)ir_arg_small(n);
  pass_point where = {.rank = ir_rank(f->g, n->src[1])};
  for (uint32_t i = 0; i < where.rank; i++) where.at[i] = p->at[i < batch ? i : axis + i - batch];
  return where;
}

/* The point of the data for point p, with index `at` along the axis. */
static pass_point data_point(const folder *f, const ir_node *n, const pass_point *p, ir_ref at) {
  uint32_t axis = (uint32_t)ir_arg_int(n), taken = ir_rank(f->g, n->src[1]) - (uint32_t)ir_arg_small(n);
  pass_point from = {.rank = ir_rank(f->g, n->src[0])};
  for (uint32_t i = 0; i < from.rank; i++) from.at[i] = i == axis ? at : p->at[i < axis ? i : i + taken - 1];
  return from;
}

static ir_ref bound(folder *f, const ir_node *n, ir_ref index, ir_ref size, ir_ref valid) {
  return ir_make(f->g, IR_OP_BOUND, IR_INDEX, ir_pack_arg(0, ir_arg_mode(n)), (ir_ref[]){index, size, valid},
                 3);
}

/* Is the index in the axis? No index is in an axis without elements. */
static ir_ref has_place(folder *f, const ir_node *n, ir_ref index, ir_ref size) {
  ir_ref inside = ir_arg_mode(n) == IR_GATHER_FILL ? fold_in_axis(f, index, size) : ir_bool(f->g, true);
  if (ir_bounds_of(f->g, size).lo >= 1) return inside;
  return pass_and(f->g, inside, pass_compare(f->g, IR_OP_GT, size, ir_index(f->g, 0)));
}

/* A position of `extent`, of which the run makes sure that it is one. */
static ir_ref position(folder *f, ir_ref value, ir_ref extent, ir_ref valid) {
  ir_graph *g = f->g;
  if (ir_op_of(g, value) == IR_OP_CAST && ir_dtype_of(g, ir_src(g, value, 0)) == IR_INDEX) {
    ir_ref index = ir_src(g, value, 0);
    if (pass_proves(g, IR_OP_GE, index, ir_index(g, 0)) && pass_proves(g, IR_OP_LT, index, extent))
      return index;
  }
  return ir_make(g, IR_OP_BOUND, IR_INDEX, ir_pack_arg(0, IR_GATHER_CLIP), (ir_ref[]){value, extent, valid},
                 3);
}

/* The index along the axis of a gather, and whether there is one. `value`: what the index tensor holds, of a
 * window its base. */
static ir_ref gathered_index(folder *f, const ir_node *n, const op_window_indices *w, const pass_point *p,
                             ir_ref value, ir_ref valid, ir_ref *inside) {
  ir_graph *g = f->g;
  ir_ref size = w ? w->extent : ir_dim(g, n->src[0], (uint32_t)ir_arg_int(n));
  *inside = has_place(f, n, value, size);
  if (!w) return bound(f, n, value, size, valid);
  ir_ref first = position(f, value, size, valid);
  if (ir_rank(g, n->src[1]) == (uint32_t)ir_arg_small(n)) return first;
  return pass_add(g, first, pass_mul_int(g, p->at[ir_arg_int(n)], w->step));
}

/* The value of a gather whose data is the same at all indices, as that of a broadcast is: nothing that it
 * reads depends on the index, but one out of range is an error all the same. The select keeps the check,
 * since its condition compares the index with the position that was checked; it holds for each index in
 * range: a position is the index or, of a negative one, index + size. */
static ir_ref checked(folder *f, ir_ref value, ir_ref index) {
  ir_graph *g = f->g;
  if (ir_op_of(g, index) != IR_OP_BOUND || ir_arg_mode(ir_get(g, index)) != IR_GATHER_CHECK) return value;
  if (!value || affine_depends(f->g, value, index)) return value;
  ir_ref given = ir_src(g, index, 0), size = ir_src(g, index, 1);
  ir_dtype wide = ir_dtype_of(g, given) == IR_U64 ? IR_U64 : IR_I64;
  ir_ref at = ir_cast(g, given, wide), place = ir_cast(g, index, wide);
  ir_ref holds = ir_binary(g, IR_OP_EQ, at, place);
  if (wide == IR_I64)
    holds = ir_binary(g, IR_OP_OR, holds,
                      ir_binary(g, IR_OP_EQ, at, ir_binary(g, IR_OP_SUB, place, ir_cast(g, size, wide))));
  return pass_where(g, holds, value, fold_zero(f, ir_dtype_of(g, value)));
}

ir_ref fold_gather(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p) {
  ir_graph *g = f->g;
  const ir_node *n = ir_get(g, node);
  op_window_indices window;
  bool is_window = op_window_of(g, node, &window) && window.step > 0;
  if (fr->state == 0) {
    pass_point where = index_point(f, n, p);
    if (is_window && where.rank > (uint32_t)ir_arg_small(n)) where.at[where.rank - 1] = ir_index(g, 0);
    fr->state = 1;
    fold_ask(f, fr, is_window ? window.base : n->src[1], valid, &where);
    return 0;
  }
  ir_ref inside,
      index = gathered_index(f, n, is_window ? &window : NULL, p, fold_reply(f, fr, 0), valid, &inside);
  if (fr->state == 1) {
    pass_point from = data_point(f, n, p, index);
    fr->state = 2;
    fold_ask(f, fr, n->src[0], pass_and(g, valid, inside), &from);
    return 0;
  }
  ir_ref value = checked(f, fold_reply(f, fr, 1), index);
  return !ir_is_true(g, inside) ? fold_filled(f, inside, value, fold_zero(f, (ir_dtype)n->dtype)) : value;
}
