/* Indexing along an axis, as take_along_axis does, and replacing windows. */
#include "impl.h"

ir_ref op_take(ir_graph *g, ir_ref x, ir_ref indices, const int64_t *axis, int mode) {
  ir_ref flat = axis ? x : op_flatten(g, x, 0, -1);
  return op_compose_end(g, "take", op_gather(g, flat, indices, axis ? *axis : 0, mode));
}

/* x and the indices have equal ranks and, except for the axis, sizes that broadcast. Both are expanded to
 * these, x only where `grows`, and the axis is moved last; dims are the sizes of the indices before the move.
 * False after failing. */
static bool align(ir_graph *g, const char *who, ir_ref *x, ir_ref *indices, int64_t *axis, bool grows,
                  ir_ref *dims) {
  uint32_t rank = ir_rank(g, *x);
  ir_ref whole[IR_MAX_RANK];
  if ((*axis = op_axis(g, who, *x, *axis, rank)) < 0) return false;
  if (ir_rank(g, *indices) != rank) {
    op_refuse(g, "%s: the indices have shape %s; x has shape %s; the indices must have %u axes, as x has",
              who, OP_TYPE(*indices), OP_TYPE(*x), rank);
    return false;
  }
  for (uint32_t i = 0; i < rank; i++) {
    ir_ref a = ir_dim(g, *x, i), b = ir_dim(g, *indices, i);
    bool one = op_is_one(g, b), spread = grows && op_is_one(g, a);
    whole[i] = i == *axis || !spread ? a : b;
    dims[i] = i == *axis ? b : whole[i];
    if (i == *axis || one || spread || op_decided(g, IR_OP_EQ, a, b)) continue;
    op_refuse(
        g,
        "%s: axis %u has size %s in x and %s in the indices, of shapes %s and %s; sizes of all axes but axis "
        "%lld must be equal, or 1 in %s%s",
        who, i, OP_EXPR(a), OP_EXPR(b), OP_TYPE(*x), OP_TYPE(*indices), (long long)*axis,
        grows ? "one of them" : "the indices", OP_FACT(IR_OP_EQ, a, b));
    return false;
  }
  *x = op_move_axis(g, op_grow(g, *x, whole, rank), *axis, -1);
  *indices = op_move_axis(g, op_grow(g, *indices, dims, rank), *axis, -1);
  return *x && *indices;
}

ir_ref op_take_along_axis(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode) {
  ir_ref src[2] = {x, indices}, dims[IR_MAX_RANK];
  if (!op_compose_begin(g, "take_along_axis", src, 2) ||
      !align(g, "take_along_axis", &src[0], &src[1], &axis, true, dims))
    return 0;
  int64_t last = ir_rank(g, src[0]) - 1;
  ir_ref made = op_gather_batched(g, src[0], src[1], last, mode, last);
  return op_compose_end(g, "take_along_axis", op_move_axis(g, made, -1, axis));
}

ir_ref op_scatter_along_axis(ir_graph *g, ir_op op, ir_ref x, ir_ref indices, ir_ref updates, int64_t axis,
                             int mode) {
  const char *who = op == IR_OP_SCATTER_ADD ? "scatter_add_along_axis" : "scatter_along_axis";
  ir_ref src[2] = {x, indices}, dims[IR_MAX_RANK];
  if (!op_compose_begin(g, who, src, 2) || !op_tensors(g, who, &updates, 1)) return 0;
  x = src[0];
  if (!align(g, who, &src[0], &src[1], &axis, false, dims)) return 0;
  updates = op_fit_update(g, who, x, updates, dims, ir_rank(g, x));
  if (!updates) return 0;
  int64_t last = ir_rank(g, x) - 1;
  ir_ref made = op_scatter(g, op, src[0], src[1], op_move_axis(g, updates, axis, -1), last, mode, last);
  return op_compose_end(g, who, op_move_axis(g, made, -1, axis));
}

/* The write of the update to the slice of x: old values in the window have no effect, not even NaN. */
ir_ref op_slice_update(ir_graph *g, ir_ref x, ir_ref update, const ir_ref *start, const ir_ref *size,
                       size_t n) {
  if (!op_compose_begin(g, "slice_update", &x, 1) || !op_tensors(g, "slice_update", &update, 1)) return 0;
  if (!size && ir_rank(g, update) != n)
    return op_refuse(g,
                     "slice_update: the update has shape %s; start has %zu entries; it must have one for "
                     "each axis, or size must be given",
                     OP_TYPE(update), n);
  ir_ref window = op_slice(g, "slice_update", x, start, size ? size : op_dims(g, update), n);
  if (!window) return op_compose_end(g, "slice_update", 0);
  update = op_fit_update(g, "slice_update", x, update, op_dims(g, window), ir_rank(g, x));
  ir_ref at = update ? op_slice(g, "slice_update", op_address(g, op_dims(g, x), ir_rank(g, x)), start,
                                size ? size : op_dims(g, window), n)
                     : 0;
  return op_compose_end(g, "slice_update", at ? op_assign(g, x, at, update, OP_WRITE_SET) : 0);
}
