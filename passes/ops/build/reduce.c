/* Reductions: over a set of axes, or to the index of an extremum along one axis. */
#include "passes/ops/check.h"

static ir_ref refuse_kind(ir_graph *g, ir_op op) {
  ir_fail(g->error, IR_ERR_INTERNAL, "%s is no reduction of this form",
          op < IR_OP_COUNT ? ir_ops[op].text : "?");
  return 0;
}

static bool has_no_identity(ir_op op) {
  return op == IR_OP_REDUCE_MAX || op == IR_OP_REDUCE_MIN || op == IR_OP_ARGMAX || op == IR_OP_ARGMIN;
}

/* The extremum of no elements is undefined; false after failing. */
static bool not_empty(ir_graph *g, ir_op op, ir_ref x, uint32_t set) {
  ir_ref one = ir_index(g, 1);
  for (uint32_t i = 0; i < ir_rank(g, x) && has_no_identity(op); i++) {
    ir_ref size = ir_dim(g, x, i);
    if (!(set >> i & 1) || op_decided(g, IR_OP_GE, size, one)) continue;
    op_refuse(g,
              "%s: axis %u has size %s; x has shape %s; the minimum or maximum of no elements is undefined: "
              "each reduced "
              "size must be at least 1%s",
              ir_ops[op].text, i, OP_EXPR(size), OP_TYPE(x), OP_FACT(IR_OP_GE, size, one));
    return false;
  }
  return true;
}

/* The sizes left when the axes of the set are removed, or become 1; returns their number. */
static uint32_t left_over(ir_graph *g, ir_ref x, uint32_t set, bool keepdims, ir_ref *dims) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    if (!(set >> i & 1)) dims[n++] = ir_dim(g, x, i);
    else if (keepdims) dims[n++] = ir_index(g, 1);
  return n;
}

static ir_dtype reduced_dtype(ir_op op, ir_dtype dtype) {
  switch ((op_dtype_rule)op_registry[op].dtype) {
  case OP_DTYPE_SUM: return op_accumulator(dtype);
  case OP_DTYPE_FLOAT: return op_float_result(dtype);
  case OP_DTYPE_BOOL: return IR_BOOL;
  default: return dtype;
  }
}

ir_ref op_reduce(ir_graph *g, ir_op op, ir_ref x, const ir_ref *axes, size_t n, bool keepdims) {
  if (op >= IR_OP_COUNT || op_registry[op].kind != OP_KIND_REDUCE || op_registry[op].shape != OP_SHAPE_REDUCE)
    return refuse_kind(g, op);
  const char *who = ir_ops[op].text;
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1)) return 0;
  uint32_t set = (1u << ir_rank(g, x)) - 1;
  if ((axes && !op_axes(g, who, x, axes, n, &set)) || !not_empty(g, op, x, set)) return 0;
  x = op_convert(g, who, x, reduced_dtype(op, ir_dtype_of(g, x)));
  if (set == 0 || !x) return x;
  ir_ref src[1 + IR_MAX_RANK] = {x}, dims[IR_MAX_RANK];
  uint32_t count = 0, rank = left_over(g, x, set, keepdims, dims);
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    if (set >> i & 1) src[1 + count++] = ir_index(g, i);
  return op_make(g, op, ir_dtype_of(g, x), dims, rank, ir_pack_arg(0, keepdims), src, 1 + count);
}

ir_ref op_argreduce(ir_graph *g, ir_op op, ir_ref x, const int64_t *axis, bool keepdims) {
  if (op != IR_OP_ARGMAX && op != IR_OP_ARGMIN) return refuse_kind(g, op);
  const char *who = ir_ops[op].text;
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1)) return 0;
  ir_ref dims[IR_MAX_RANK], whole = x;
  uint32_t all = (1u << ir_rank(g, x)) - 1;
  if (!axis) {
    if (!not_empty(g, op, x, all)) return 0;
    x = op_reshape(g, x, (ir_ref[]){op_numel(g, op_dims(g, x), ir_rank(g, x))}, 1);
  }
  int64_t at = !x ? -1 : axis ? op_axis(g, who, x, *axis, ir_rank(g, x)) : 0;
  if (at < 0 || !not_empty(g, op, x, 1u << at)) return 0;
  bool keeps = keepdims && axis;
  uint32_t rank = left_over(g, x, 1u << at, keeps, dims);
  ir_ref y = op_make(g, op, IR_I64, dims, rank, ir_pack_arg(at, keeps), &x, 1);
  if (!y || axis || !keepdims) return y;
  return op_reshape(g, y, dims, left_over(g, whole, all, true, dims));
}
