/* Operations along one axis in its order: cumulative operations and sorting. */
#include "impl.h"

/* elements of an axis that is sorted: those that PASS_INDEX_BITS can number; longer ones are refused */
static const int64_t most_sorted = (int64_t)1 << 32;

/* lines */

ir_ref op_lines(ir_graph *g, ir_ref x, int64_t axis) {
  if (!x) return 0;
  const ir_ref *dims = op_dims(g, x);
  uint32_t rank = ir_rank(g, x), at = (uint32_t)axis;
  ir_ref lines[] = {op_numel(g, dims, at), dims[at], op_numel(g, dims + at + 1, rank - at - 1)};
  return lines[0] && lines[2] ? op_reshape_known(g, x, lines, 3) : 0;
}

ir_ref op_unlines(ir_graph *g, ir_ref lines, ir_ref like) {
  return lines ? op_reshape_known(g, lines, op_dims(g, like), ir_rank(g, like)) : 0;
}

/* Gathers from the flattened lines, where element [i, j, k] is at (i * size + j) * behind + k. */
ir_ref op_take_lines(ir_graph *g, ir_ref lines, ir_ref at) {
  if (!lines || !at) return 0;
  const ir_ref *dims = op_dims(g, at);
  ir_ref size = op_size_value(g, IR_I64, ir_dim(g, lines, 1)),
         behind = op_size_value(g, IR_I64, ir_dim(g, lines, 2));
  ir_ref all = op_numel(g, op_dims(g, lines), 3), flat = all ? op_reshape_known(g, lines, &all, 1) : 0;
  ir_ref start = op_mul(g, op_iota(g, IR_I64, dims, 3, 0), size);
  ir_ref index = op_mul(g, op_add(g, start, at), behind);
  return op_gather(g, flat, op_add(g, index, op_iota(g, IR_I64, dims, 3, 2)), 0, IR_GATHER_CLIP);
}

/* The node itself, for an axis >= 0. */
static ir_ref order_along_axis(ir_graph *g, ir_op op, ir_ref x, ir_dtype dtype, int64_t axis, int mode) {
  return op_make(g, op, dtype, op_dims(g, x), ir_rank(g, x), ir_pack_arg(axis, mode), &x, 1);
}

/* cumulative */

static bool is_cumulative(ir_op op) {
  return op < IR_OP_COUNT && ir_ops[op].cls == IR_CLASS_ORDERED && op != IR_OP_SORT && op != IR_OP_ARGSORT;
}

/* Shifts each element by one; the first becomes `first`, the result for no elements. */
static ir_ref shifted(ir_graph *g, ir_ref x, int64_t axis, ir_ref first) {
  if (!x) return 0;
  ir_ref pads[2 * IR_MAX_RANK], bounds[2 * IR_MAX_RANK];
  for (uint32_t k = 0; k < ir_rank(g, x); k++) {
    pads[2 * k] = ir_index(g, k == axis);
    pads[2 * k + 1] = bounds[2 * k] = ir_index(g, 0);
    bounds[2 * k + 1] = ir_dim(g, x, k);
  }
  x = op_pad_known(g, x, pads, first);
  return x ? op_shrink_known(g, x, bounds) : 0;
}

ir_ref op_cumulative(ir_graph *g, ir_op op, ir_ref x, int64_t axis, bool exclusive, bool reverse) {
  const char *who = op < IR_OP_COUNT ? ir_ops[op].text : "?";
  bool sums = op == IR_OP_CUMSUM || op == IR_OP_CUMPROD;
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1)) return 0;
  if (!is_cumulative(op)) {
    ir_fail(g->error, IR_ERR_INTERNAL, "%s is no cumulative operation", who);
    return 0;
  }
  if (exclusive && !sums)
    return op_refuse(g,
                     "%s: exclusive is set; x has shape %s; the minimum or maximum of no elements is "
                     "undefined: leave it out",
                     who, OP_TYPE(x));
  int64_t at = op_axis(g, who, x, axis, ir_rank(g, x));
  if (at < 0) return 0;
  ir_ref axes = ir_index(g, at);
  if (sums) x = op_convert(g, who, x, op_accumulator(ir_dtype_of(g, x)));
  if (x && reverse) x = op_flip(g, x, &axes, 1);
  ir_ref y = x ? order_along_axis(g, op, x, ir_dtype_of(g, x), at, 0) : 0;
  if (y && exclusive) {
    ir_dtype dtype = ir_dtype_of(g, x);
    ir_value first = ir_value_cast((ir_value){.i = op == IR_OP_CUMPROD}, IR_I64, dtype);
    y = shifted(g, y, at, ir_const(g, dtype, first));
  }
  if (y && reverse) y = op_flip(g, y, &axes, 1);
  return y ? y : op_compose_end(g, who, 0);
}

/* sorting */

/* Converts x if it is a weak constant, and checks the axis; returns the axis, or -1 after failing. */
static int64_t sorted_axis(ir_graph *g, const char *who, ir_ref *x, int64_t axis) {
  *x = op_default_dtype(g, *x);
  if (!op_tensors(g, who, x, 1)) return -1;
  int64_t at = op_axis(g, who, *x, axis, ir_rank(g, *x));
  if (at < 0) return -1;
  ir_ref size = ir_dim(g, *x, (uint32_t)at), most = ir_index(g, most_sorted);
  if (most && op_decided(g, IR_OP_LE, size, most)) return at;
  if (most)
    op_refuse(g, "%s: axis %lld has size %s; x has shape %s; at most 2^32 elements are sorted%s", who,
              (long long)at, OP_EXPR(size), OP_TYPE(*x), OP_FACT(IR_OP_LE, size, most));
  return -1;
}

ir_ref op_sort(ir_graph *g, ir_op op, ir_ref x, int64_t axis, bool descending) {
  if (op != IR_OP_SORT && op != IR_OP_ARGSORT) {
    ir_fail(g->error, IR_ERR_INTERNAL, "%s does not sort", op < IR_OP_COUNT ? ir_ops[op].text : "?");
    return 0;
  }
  int64_t at = sorted_axis(g, ir_ops[op].text, &x, axis);
  if (at < 0) return 0;
  return order_along_axis(g, op, x, op == IR_OP_SORT ? ir_dtype_of(g, x) : IR_I64, at, descending);
}

/* The first k elements of an axis. */
static ir_ref first_of(ir_graph *g, ir_ref x, int64_t axis, ir_ref k) {
  if (!x) return 0;
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    bounds[2 * i] = ir_index(g, 0);
    bounds[2 * i + 1] = i == axis ? k : ir_dim(g, x, i);
  }
  return op_shrink_known(g, x, bounds);
}

ir_ref op_topk(ir_graph *g, ir_ref x, int64_t k, int64_t axis, bool largest) {
  if (!op_compose_begin(g, "topk", &x, 1)) return 0;
  int64_t at = sorted_axis(g, "topk", &x, axis);
  if (at < 0) return 0;
  ir_ref size = ir_dim(g, x, (uint32_t)at), count = ir_index(g, k);
  if (!count) return 0;
  if (k < 0 || !op_decided(g, IR_OP_GE, size, count))
    return op_refuse(
        g, "topk: k is %lld; axis %lld of x, of shape %s, has size %s; k is from 0 to the size%s",
        (long long)k, (long long)at, OP_TYPE(x), OP_EXPR(size), k < 0 ? "" : OP_FACT(IR_OP_GE, size, count));
  ir_ref both[] = {first_of(g, op_sort(g, IR_OP_SORT, x, at, largest), at, count),
                   first_of(g, op_sort(g, IR_OP_ARGSORT, x, at, largest), at, count)};
  return both[0] && both[1] ? ir_tuple(g, both, 2) : op_compose_end(g, "topk", 0);
}
