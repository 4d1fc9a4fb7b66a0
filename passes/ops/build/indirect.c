/* Indexing by tensors: elements of x along one axis are read, or written, at the indices in a tensor of
 * integers. */
#include "passes/ops/check.h"

/* A checked call. */
typedef struct indirection {
  uint32_t axis, batch, taken; /* taken: number of index axes that replace the axis */
  uint32_t rank;               /* of the indexed data */
  ir_ref dims[IR_MAX_RANK];    /* its sizes */
} indirection;

/* The leading axes that x and the indices share; false after failing. */
static bool share_axes(ir_graph *g, const char *who, ir_ref x, ir_ref indices, int64_t axis, int64_t batch) {
  if (batch < 0 || batch > axis || batch > ir_rank(g, indices)) {
    op_refuse(g,
              "%s: %lld axes of x and the indices cannot be shared; they have shapes %s and %s; shared axes "
              "must be the first of both and come before axis %lld",
              who, (long long)batch, OP_TYPE(x), OP_TYPE(indices), (long long)axis);
    return false;
  }
  for (uint32_t i = 0; i < batch; i++) {
    ir_ref a = ir_dim(g, x, i), b = ir_dim(g, indices, i);
    if (op_decided(g, IR_OP_EQ, a, b)) continue;
    op_refuse(
        g,
        "%s: axis %u is shared, but has size %s in x and %s in the indices, of shapes %s and %s; equal sizes "
        "are shared%s",
        who, i, OP_EXPR(a), OP_EXPR(b), OP_TYPE(x), OP_TYPE(indices), OP_FACT(IR_OP_EQ, a, b));
    return false;
  }
  return true;
}

static bool describe_indirection(ir_graph *g, const char *who, ir_ref x, ir_ref indices, int64_t axis,
                                 int64_t batch, indirection *out) {
  if (!ir_is_data_int(ir_dtype_of(g, indices))) {
    op_refuse(g,
              "%s: the indices have shape %s; x has shape %s; indices must be integers: cast them, "
              "dtype=i32",
              who, OP_TYPE(indices), OP_TYPE(x));
    return false;
  }
  uint32_t rank = ir_rank(g, x);
  int64_t at = op_axis(g, who, x, axis, rank);
  if (at < 0 || !share_axes(g, who, x, indices, at, batch)) return false;
  *out = (indirection){.axis = (uint32_t)at, .batch = (uint32_t)batch};
  out->taken = ir_rank(g, indices) - out->batch;
  out->rank = rank - 1 + out->taken;
  if (out->rank > IR_MAX_RANK) {
    op_refuse(g, "%s: the result has rank %u; a tensor has at most %d axes", who, out->rank, IR_MAX_RANK);
    return false;
  }
  for (uint32_t i = 0; i < out->rank; i++)
    out->dims[i] = i < out->axis                ? ir_dim(g, x, i)
                   : i < out->axis + out->taken ? ir_dim(g, indices, out->batch + i - out->axis)
                                                : ir_dim(g, x, i - out->taken + 1);
  return true;
}

ir_ref op_gather(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode) {
  return op_gather_batched(g, x, indices, axis, mode, 0);
}

ir_ref op_gather_batched(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode, int64_t batch) {
  ir_ref src[2] = {op_default_dtype(g, x), op_default_dtype(g, indices)};
  indirection in;
  int64_t size, some;
  if (!op_tensors(g, "gather", src, 2) ||
      !describe_indirection(g, "gather", src[0], src[1], axis, batch, &in))
    return 0;
  bool known = ir_is_const(g, op_numel(g, in.dims, in.rank), &some);
  if (mode != IR_GATHER_FILL && known && some > 0 && ir_is_const(g, ir_dim(g, src[0], in.axis), &size) &&
      size == 0)
    return op_refuse(
        g,
        "gather: axis %u has size 0; x has shape %s, the indices %s; every index is out of range: use "
        "mode=fill",
        in.axis, OP_TYPE(src[0]), OP_TYPE(src[1]));
  return op_make(g, IR_OP_GATHER, ir_dtype_of(g, src[0]), in.dims, in.rank,
                 ir_pack_args(in.axis, mode, (int)in.batch), src, 2);
}

ir_ref op_fit_update(ir_graph *g, const char *who, ir_ref x, ir_ref update, const ir_ref *dims, size_t rank) {
  ir_dtype dtype = op_common(g, who, (ir_ref[]){x, update}, 2), own = ir_dtype_of(g, x);
  if (dtype == IR_NONE) return 0;
  if (dtype != own)
    return op_refuse(
        g, "%s: the update has shape %s; x has shape %s, and keeps its dtype; cast the update to %s", who,
        OP_TYPE(update), OP_TYPE(x), ir_dtypes[own].name);
  ir_ref made = op_convert(g, who, update, own);
  if (!made) return 0;
  uint32_t given = ir_rank(g, made);
  bool fits = given <= rank;
  for (uint32_t i = 0; fits && i < given; i++) {
    ir_ref size = ir_dim(g, made, i), want = dims[rank - given + i];
    if (op_is_one(g, size) || op_decided(g, IR_OP_EQ, size, want)) continue;
    return op_refuse(
        g,
        "%s: the update has shape %s; x has shape %s, of which %s is replaced; an update broadcasts to "
        "that%s",
        who, OP_TYPE(made), OP_TYPE(x), OP_LIST(dims, rank), OP_FACT(IR_OP_EQ, size, want));
  }
  if (!fits)
    return op_refuse(
        g,
        "%s: the update has shape %s; x has shape %s, of which %s is replaced; an update broadcasts to "
        "that",
        who, OP_TYPE(made), OP_TYPE(x), OP_LIST(dims, rank));
  return op_grow(g, made, dims, rank);
}

ir_ref op_scatter(ir_graph *g, ir_op op, ir_ref x, ir_ref indices, ir_ref updates, int64_t axis, int mode,
                  int64_t batch) {
  const char *who = ir_ops[op].text;
  ir_ref src[3] = {op_default_dtype(g, x), op_default_dtype(g, indices), updates};
  indirection in;
  if (!op_tensors(g, who, src, 3) || !describe_indirection(g, who, src[0], src[1], axis, batch, &in))
    return 0;
  x = src[0];
  if (op == IR_OP_SCATTER_ADD && ir_dtype_of(g, x) == IR_BOOL)
    return op_refuse(g, "%s: x has shape %s; truth values do not add up; cast x to an integer", who,
                     OP_TYPE(x));
  if (!(src[2] = op_fit_update(g, who, x, updates, in.dims, in.rank))) return 0;
  return op_make(g, op, ir_dtype_of(g, x), op_dims(g, x), ir_rank(g, x),
                 ir_pack_args(in.axis, mode, (int)in.batch), src, 3);
}
