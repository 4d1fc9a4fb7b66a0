/* Sorting where the target has no sorting steps: by a bitonic network (Batcher 1968) of views, minima and
 * maxima; and the first elements of a sort where it has.
 *
 * What is sorted is one array of 64-bit keys, all different: an integer in the order of the elements in the
 * high half, the element's index in the low half. So the sort is stable, and the low halves are the
 * permutation that sorts, through which everything else is gathered. Elements of 64 bits have keys twice as
 * long, so they are sorted twice: by the low half of the key, then, stably, by the high one.
 *
 * The network. To merge two sorted halves of a block of 2^k, element i is compared with its mirror image,
 * then with its neighbours at distance 2^(k-2), ..., 2, 1; the lesser one always goes first. So a stage is:
 * the axis as [blocks, 2, half], its flip (of the halves, or in the first stage of the whole block), and the
 * minimum of both in the first half, the maximum in the second. Stages of one distance are one kernel,
 * whatever k is: 2 k - 1 different kernels in k (k + 1) / 2 launches for 2^k elements.
 *
 * Where the size is a constant, the axis is padded to 2^k with a key that is greater than all others. Where
 * it is known only at run time, memory and stages are those of its size n: element i is compared with element
 * i ^ mask, which is its mirror image for mask 2^k - 1 and its neighbour at that distance for a power of two,
 * and stays as it is where there are no more than i ^ mask elements, as it would if compared with a greatest
 * key. A scan runs the stages, k (k + 1) / 2 of them for the least 2^k >= n, whose masks are a literal
 * array. */
#include "lower.h"

#include "passes/ops/build/control.h"
#include "passes/ops/compose/impl.h"

#include <string.h>

static ir_ref i64_constant(ir_graph *g, int64_t value) { return ir_int(g, IR_I64, value); }
static ir_ref binary_with(ir_graph *g, ir_op op, ir_ref x, int64_t y) {
  return op_binary(g, op, x, i64_constant(g, y));
}

/* Float bits as signed integers are in the order of the floats, once all bits of negative ones but the sign
 * are flipped. -0 and +0 become one, and NaNs the greatest. */
static ir_ref float_order(ir_graph *g, ir_ref x) {
  ir_dtype dtype = ir_dtype_of(g, x), bits = dtype == IR_F64 ? IR_I64 : IR_I32;
  if (dtype != IR_F64) x = op_cast(g, x, dtype = IR_F32);
  ir_ref zero = ir_float(g, dtype, 0), nan = op_binary(g, IR_OP_NE, x, x);
  int width = ir_dtypes[dtype].bytes * 8;
  ir_ref order = op_bitcast(g, op_where(g, op_binary(g, IR_OP_EQ, x, zero), zero, x), bits);
  ir_ref most = ir_int(g, bits, INT64_MAX >> (64 - width)), negative = ir_int(g, bits, width - 1);
  ir_ref flipped_bits = op_binary(g, IR_OP_AND, op_binary(g, IR_OP_SHR, order, negative), most);
  return op_cast(g, op_where(g, nan, most, op_binary(g, IR_OP_XOR, order, flipped_bits)), IR_I64);
}

/* An i64 in the order of the elements, of 32 bits for elements of up to 32 bits. NOT reverses the order. */
static ir_ref order_of(ir_graph *g, ir_ref x, bool descending) {
  ir_dtype dtype = ir_dtype_of(g, x);
  ir_ref order = ir_is_float(dtype) ? float_order(g, x) : op_cast(g, x, IR_I64);
  if (dtype == IR_U32) order = binary_with(g, IR_OP_SUB, order, (int64_t)1 << 31);
  if (dtype == IR_U64) order = binary_with(g, IR_OP_XOR, order, INT64_MIN);
  return descending ? op_unary(g, IR_OP_NOT, order) : order;
}

/* One stage for blocks of the given size: `mirrored` compares an element with its mirror image, else with the
 * element half a block away. */
static ir_ref stage(ir_graph *g, ir_ref keys, int64_t block, bool mirrored) {
  ir_ref dims[] = {ir_dim(g, keys, 0), pass_div_int(g, ir_dim(g, keys, 1), block), ir_index(g, 2),
                   ir_index(g, block / 2), ir_dim(g, keys, 2)};
  ir_ref one = ir_index(g, 1), axes[] = {ir_index(g, 2), ir_index(g, 3)};
  ir_ref x = op_reshape_known(g, keys, dims, 5), other = x ? op_flip(g, x, axes, 1 + mirrored) : 0;
  ir_ref half = op_iota(g, IR_I32, (ir_ref[]){one, one, ir_index(g, 2), one, one}, 5, 2);
  ir_ref is_first = op_binary(g, IR_OP_EQ, half, ir_int(g, IR_I32, 0));
  ir_ref y = op_where(g, is_first, op_binary(g, IR_OP_MIN, x, other), op_binary(g, IR_OP_MAX, x, other));
  return y ? op_reshape_known(g, ir_unary(g, IR_OP_STORED, y), op_dims(g, keys), 3) : 0;
}

/* The network for a constant size. */
static ir_ref network(ir_graph *g, ir_ref keys, int64_t size) {
  const ir_ref *dims = op_dims(g, keys);
  ir_ref zero = ir_index(g, 0), bounds[] = {zero, dims[0], zero, dims[1], zero, dims[2]};
  int64_t padded = 1;
  while (padded < size) padded *= 2;
  ir_ref pads[] = {zero, zero, zero, ir_index(g, padded - size), zero, zero};
  keys = pads[3] ? op_pad_known(g, keys, pads, i64_constant(g, INT64_MAX)) : 0;
  for (int64_t block = 2; block <= padded && keys; block *= 2)
    for (int64_t span = block; span >= 2 && keys; span /= 2) keys = stage(g, keys, span, span == block);
  return keys ? op_shrink_known(g, keys, bounds) : 0;
}

/* One stage for a size known at run time: a function of keys, the stage's number and the table of masks. */
static ir_ref stage_by_mask(ir_graph *g, ir_ref keys, ir_ref table) {
  ir_ref param[] = {op_buffer_like(g, keys), op_buffer(g, IR_I64, NULL, 0), op_buffer_like(g, table)};
  if (!param[0] || !param[1] || !param[2]) return 0;
  ir_ref x = param[0], size = ir_dim(g, keys, 1), lines[] = {ir_index(g, 1), size, ir_index(g, 1)};
  ir_ref at = op_iota(g, IR_I64, &size, 1, 0), mask = op_gather(g, param[2], param[1], 0, IR_GATHER_CLIP);
  ir_ref with = op_binary(g, IR_OP_XOR, at, mask);
  ir_ref here = op_binary(g, IR_OP_LT, with, op_size_value(g, IR_I64, size)),
         is_first = op_binary(g, IR_OP_LT, at, with);
  ir_ref other = with ? op_gather(g, x, with, 1, IR_GATHER_CLIP) : 0;
  if (!other || !here || !is_first) return 0;
  here = op_reshape_known(g, here, lines, 3), is_first = op_reshape_known(g, is_first, lines, 3);
  ir_ref y = op_where(g, is_first, op_binary(g, IR_OP_MIN, x, other), op_binary(g, IR_OP_MAX, x, other));
  ir_ref next[] = {op_where(g, here, y, x), binary_with(g, IR_OP_ADD, param[1], 1)};
  return ir_func(g, next, 2, param, 3);
}

/* The network for a size known at run time, which is at most `most`. */
static ir_ref network_of_run(ir_graph *g, ir_ref keys, int64_t most) {
  int64_t masks[PASS_INDEX_BITS * (PASS_INDEX_BITS + 1) / 2];
  uint32_t count = 0;
  ir_ref size = ir_dim(g, keys, 1), stages = ir_index(g, 0), zero = stages;
  for (int64_t half = 1, k = 1; half < most; half *= 2, k++) {
    masks[count++] = 2 * half - 1;
    for (int64_t distance = half / 2; distance >= 1; distance /= 2) masks[count++] = distance;
    ir_ref more = pass_compare(g, IR_OP_GT, size, ir_index(g, half));
    stages = pass_add(g, stages, pass_where(g, more, ir_index(g, k), zero));
  }
  if (!count || !stages) return stages ? keys : 0;
  ir_ref all = ir_index(g, count), table = op_data(g, IR_I64, &all, 1, masks, count * sizeof *masks);
  ir_ref x[] = {keys, i64_constant(g, 0), table}, body = table ? stage_by_mask(g, keys, table) : 0;
  ir_ref made = body ? op_scan(g, x, 3, (ir_scan_state){.carries = 2}, body, stages) : 0;
  return made ? ir_src(g, made, 0) : 0;
}

/* The indices, as i64, that sort lines by i64 orders of 32 bits. */
static ir_ref permutation(ir_graph *g, ir_ref order) {
  if (!order) return 0;
  ir_ref size = ir_dim(g, order, 1);
  int64_t known, most = ir_bounds_of(g, size).hi;
  if (most > (int64_t)1 << PASS_INDEX_BITS) {
    ir_fail(g->error, IR_ERR_INTERNAL, "sort: size %s is not known to be at most 2^%d", OP_EXPR(size),
            PASS_INDEX_BITS); /* recording refuses it */
    return 0;
  }
  ir_ref keys = op_binary(g, IR_OP_OR, binary_with(g, IR_OP_SHL, order, PASS_INDEX_BITS),
                          op_iota(g, IR_I64, op_dims(g, order), 3, 1));
  if (!keys) return 0;
  keys = ir_is_const(g, size, &known) ? network(g, keys, known) : network_of_run(g, keys, most);
  return keys ? binary_with(g, IR_OP_AND, keys, ((int64_t)1 << PASS_INDEX_BITS) - 1) : 0;
}

static ir_ref sorted(ir_graph *g, ir_ref lines, bool descending) {
  ir_ref order = lines ? order_of(g, lines, descending) : 0;
  if (!order || ir_dtypes[ir_dtype_of(g, lines)].bytes < 8) return permutation(g, order);
  int64_t low = ((int64_t)1 << PASS_INDEX_BITS) - 1, offset = -((int64_t)1 << (PASS_INDEX_BITS - 1));
  ir_ref by_low = permutation(g, binary_with(g, IR_OP_ADD, binary_with(g, IR_OP_AND, order, low), offset));
  ir_ref high = op_take_lines(g, binary_with(g, IR_OP_SHR, order, PASS_INDEX_BITS), by_low);
  return op_take_lines(g, by_low, permutation(g, high));
}

ir_ref pass_lower_sort(ir_graph *g, ir_ref node, ir_ref x) {
  const ir_node *n = ir_get(g, node);
  ir_ref lines = op_lines(g, x, ir_arg_int(n)), made = sorted(g, lines, ir_arg_mode(n) != 0);
  if (n->op == IR_OP_SORT) made = op_take_lines(g, lines, made);
  return op_unlines(g, made, node);
}

/* Of so many elements the first one is few: a sort of all indices takes 2.4 times as long as one of all
 * elements (10^6 of f32, Sapphire Rapids), one that leaves most of them out less. */
enum { FEW = 4 };

/* The index of the element that a sort puts first, of lines; 0: argmax and argmin do not find it. Both find
 * the first of equals, zeros of either sign among them, and the first NaN, which is last in ascending order.
 * 79 rows of 290 take 2.4 us in place of 52. */
static ir_ref first_index(ir_graph *g, ir_ref lines, bool descending) {
  ir_ref dims[3];
  int64_t axis = 1;
  if (!lines || (!descending && ir_is_float(ir_dtype_of(g, lines)))) return 0;
  ir_ref at = op_argreduce(g, descending ? IR_OP_ARGMAX : IR_OP_ARGMIN, lines, &axis, false);
  dims[0] = ir_dim(g, lines, 0), dims[1] = ir_index(g, 1), dims[2] = ir_dim(g, lines, 2);
  return at ? op_reshape_known(g, at, dims, 3) : 0;
}

ir_ref pass_lower_first_sorted(ir_graph *g, ir_ref shrink, ir_ref x) {
  const ir_node *n = ir_get(g, shrink), *sort = ir_get(g, n->src[0]);
  uint32_t axis = (uint32_t)ir_arg_int(sort), rank = ir_rank(g, shrink);
  ir_ref src[1 + 2 * IR_MAX_RANK];
  int64_t from, to, size;
  for (uint32_t k = 0; k < rank; k++) {
    bool all = n->src[1 + 2 * k] == ir_index(g, 0) && n->src[2 + 2 * k] == ir_dim(g, n->src[0], k);
    if (k != axis && !all) return 0;
  }
  if (!ir_is_const(g, n->src[1 + 2 * axis], &from) || !ir_is_const(g, n->src[2 + 2 * axis], &to) || from)
    return 0;
  if (to == 1) {
    ir_ref lines = op_lines(g, x, axis), at = first_index(g, lines, ir_arg_mode(sort) != 0);
    sort = ir_get(g, ir_src(g, shrink, 0));
    if (at && sort->op == IR_OP_SORT) at = op_take_lines(g, lines, at);
    if (at) return op_unlines(g, at, shrink);
  }
  if (ir_op_of(g, ir_src(g, shrink, 0)) != IR_OP_SORT) return 0;
  if (ir_is_const(g, ir_dim(g, x, axis), &size) && size < FEW * to) return 0;
  n = ir_get(g, shrink), sort = ir_get(g, n->src[0]);
  ir_ref at = ir_make_tensor(g, IR_OP_ARGSORT, IR_I64, ir_shape(g, n->src[0]), sort->arg, &x, 1);
  n = ir_get(g, shrink);
  memcpy(src, n->src, n->nsrc * sizeof *src);
  src[0] = at;
  if (at) at = ir_make_tensor(g, IR_OP_SHRINK, IR_I64, ir_shape(g, shrink), n->arg, src, n->nsrc);
  ir_ref lines = at ? op_lines(g, x, axis) : 0,
         made = lines ? op_take_lines(g, lines, op_lines(g, at, axis)) : 0;
  return op_unlines(g, made, shrink);
}
