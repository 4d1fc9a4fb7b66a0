/* Views that permute, reshape, expand, add and drop axes. */
#include "passes/ops/check.h"

/* A view node: the operand, then its list of attributes. */
static ir_ref view(ir_graph *g, ir_op op, ir_ref x, const ir_ref *dims, size_t rank, int64_t arg,
                   const ir_ref *list, size_t n) {
  ir_ref src[1 + IR_MAX_RANK] = {x};
  for (size_t i = 0; i < n; i++) src[1 + i] = list[i];
  return op_make(g, op, ir_dtype_of(g, x), dims, rank, arg, src, 1 + n);
}

static ir_ref permute(ir_graph *g, ir_ref x, const uint32_t *order) {
  ir_ref dims[IR_MAX_RANK], list[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x);
  bool identity = true;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = ir_dim(g, x, order[i]);
    list[i] = ir_index(g, order[i]);
    identity &= order[i] == i;
  }
  return identity ? x : view(g, IR_OP_PERMUTE, x, dims, rank, 0, list, rank);
}

ir_ref op_permute(ir_graph *g, ir_ref x, const ir_ref *order, size_t n) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "permute", &x, 1)) return 0;
  uint32_t rank = ir_rank(g, x), places[IR_MAX_RANK], seen = 0;
  for (size_t i = 0; i < n; i++)
    if (order[i] == 0) return 0;
  if (n != rank)
    return op_refuse(
        g,
        "permute: order %s has %zu entr%s; x has shape %s; an order lists each of its %u axes exactly once",
        OP_LIST(order, n), n, n == 1 ? "y" : "ies", OP_TYPE(x), rank);
  for (uint32_t i = 0; i < rank; i++) {
    int64_t axis;
    if (!ir_is_const(g, order[i], &axis) || axis < -(int64_t)rank || axis >= (int64_t)rank)
      return op_refuse(g,
                       "permute: order %s has %s, which is no axis; x has shape %s; an order lists each of "
                       "the axes 0..%u exactly once",
                       OP_LIST(order, n), OP_EXPR(order[i]), OP_TYPE(x), rank - 1);
    places[i] = (uint32_t)(axis < 0 ? axis + rank : axis);
    if (seen >> places[i] & 1)
      return op_refuse(g,
                       "permute: order %s repeats axis %u; x has shape %s; an order lists each of the axes "
                       "0..%u exactly once",
                       OP_LIST(order, n), places[i], OP_TYPE(x), rank - 1);
    seen |= 1u << places[i];
  }
  return permute(g, x, places);
}

/* Two axes of x, made a tensor, counted from the front; false after failing. */
static bool two_axes(ir_graph *g, const char *who, ir_ref *x, int64_t *a, int64_t *b) {
  *x = op_default_dtype(g, *x);
  if (!op_tensors(g, who, x, 1)) return false;
  uint32_t rank = ir_rank(g, *x);
  return (*a = op_axis(g, who, *x, *a, rank)) >= 0 && (*b = op_axis(g, who, *x, *b, rank)) >= 0;
}

ir_ref op_swap_axes(ir_graph *g, ir_ref x, int64_t a, int64_t b) {
  uint32_t order[IR_MAX_RANK];
  if (!two_axes(g, "swap_axes", &x, &a, &b)) return 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++) order[i] = i == a ? (uint32_t)b : i == b ? (uint32_t)a : i;
  return permute(g, x, order);
}

ir_ref op_transpose(ir_graph *g, ir_ref x) {
  uint32_t order[IR_MAX_RANK];
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "transpose", &x, 1)) return 0;
  for (uint32_t i = 0, rank = ir_rank(g, x); i < rank; i++) order[i] = rank - 1 - i;
  return permute(g, x, order);
}

ir_ref op_move_axis(ir_graph *g, ir_ref x, int64_t from, int64_t to) {
  uint32_t order[IR_MAX_RANK];
  if (!two_axes(g, "moveaxis", &x, &from, &to)) return 0;
  for (int64_t i = 0, next = 0; i < ir_rank(g, x); i++) {
    if (next == from) next++;
    order[i] = i == to ? (uint32_t)from : (uint32_t)next++;
  }
  return permute(g, x, order);
}

/* The size for -1: the number of elements of x divided by the product of the other sizes. */
static ir_ref inferred(ir_graph *g, ir_ref x, const ir_ref *shape, const ir_ref *dims, size_t rank,
                       size_t at) {
  ir_ref others[IR_MAX_RANK];
  for (size_t i = 0; i < rank; i++) others[i] = i == at ? ir_index(g, 1) : dims[i];
  ir_ref rest = op_numel(g, others, rank), all = op_numel(g, op_dims(g, x), ir_rank(g, x));
  if (!rest || !all) return 0;
  ir_ref one = ir_index(g, 1);
  if (!op_decided(g, IR_OP_GE, rest, one))
    return op_refuse(g,
                     "reshape: the -1 of shape %s cannot be inferred, as the other sizes multiply to %s; x "
                     "has shape %s; give the size%s",
                     OP_LIST(shape, rank), OP_EXPR(rest), OP_TYPE(x), OP_FACT(IR_OP_GE, rest, one));
  int64_t a, b;
  if (ir_is_const(g, all, &a) && ir_is_const(g, rest, &b)) {
    if (a % b == 0) return ir_index(g, a / b);
  } else if (pass_divides(g, rest, all)) {
    return pass_div(g, all, rest);
  }
  return op_refuse(g,
                   "reshape: the -1 of shape %s cannot be inferred: %s elements of x do not %sdivide by %s; "
                   "x has shape %s; the other sizes must divide the number of elements%s",
                   OP_LIST(shape, rank), OP_EXPR(all),
                   ir_is_const(g, all, NULL) && ir_is_const(g, rest, NULL) ? "" : "provably ", OP_EXPR(rest),
                   OP_TYPE(x), OP_FACT(IR_OP_MOD, all, rest));
}

ir_ref op_reshape(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "reshape", &x, 1)) return 0;
  ir_ref dims[IR_MAX_RANK], sizes[IR_MAX_RANK];
  size_t at = rank;
  for (size_t i = 0; i < rank && i < IR_MAX_RANK; i++) {
    int64_t value;
    bool infer = shape[i] && ir_is_const(g, shape[i], &value) && value == -1;
    if (infer && at < rank)
      return op_refuse(
          g, "reshape: shape %s has more than one -1; x has shape %s; at most one size can be inferred",
          OP_LIST(shape, rank), OP_TYPE(x));
    if (infer) at = i;
    sizes[i] = infer ? ir_index(g, 1) : shape[i];
  }
  if (!op_sizes_like(g, "reshape", x, rank > IR_MAX_RANK ? shape : sizes, rank, dims)) return 0;
  if (at < rank && !(dims[at] = inferred(g, x, shape, dims, rank, at))) return 0;
  bool same = rank == ir_rank(g, x);
  for (size_t i = 0; i < rank && same; i++) same = dims[i] == ir_dim(g, x, (uint32_t)i);
  if (same) return x;
  ir_ref now = op_numel(g, dims, rank), before = op_numel(g, op_dims(g, x), ir_rank(g, x));
  if (!now || !before) return 0;
  if (!op_decided(g, IR_OP_EQ, now, before))
    return op_refuse(
        g, "reshape: shape %s has %s elements; x has shape %s, %s elements; a reshape keeps their number%s",
        OP_LIST(shape, rank), OP_EXPR(now), OP_TYPE(x), OP_EXPR(before), OP_FACT(IR_OP_EQ, now, before));
  return view(g, IR_OP_RESHAPE, x, dims, rank, 0, dims, rank);
}

ir_ref op_reshape_known(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank) {
  if (!x) return 0;
  ir_ref now = op_numel(g, shape, rank), before = op_numel(g, op_dims(g, x), ir_rank(g, x));
  bool same = rank == ir_rank(g, x);
  for (size_t i = 0; i < rank && same; i++) same = shape[i] == ir_dim(g, x, (uint32_t)i);
  if (same || !now || !before) return now && before ? x : 0;
  if (!op_decided(g, IR_OP_NE, now, before)) return view(g, IR_OP_RESHAPE, x, shape, rank, 0, shape, rank);
  ir_fail(g->error, IR_ERR_INTERNAL, "reshape: %s elements as %s", OP_EXPR(before), OP_EXPR(now));
  return 0;
}

ir_ref op_flatten(ir_graph *g, ir_ref x, int64_t first, int64_t last) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "flatten", &x, 1)) return 0;
  int64_t rank = ir_rank(g, x);
  if (rank == 0) return op_reshape(g, x, (ir_ref[]){ir_index(g, 1)}, 1);
  int64_t begin = op_axis(g, "flatten", x, first, rank),
          end = begin < 0 ? -1 : op_axis(g, "flatten", x, last, rank);
  if (end < 0) return 0;
  if (begin > end)
    return op_refuse(g,
                     "flatten: the first axis, %lld, is behind the last, %lld; x has shape %s; exchange them",
                     (long long)first, (long long)last, OP_TYPE(x));
  if (begin == end) return x;
  ir_ref dims[IR_MAX_RANK];
  size_t n = 0;
  for (int64_t i = 0; i < rank; i++)
    if (i <= begin || i > end) dims[n++] = ir_dim(g, x, (uint32_t)i);
  dims[begin] = op_numel(g, op_dims(g, x) + begin, (size_t)(end - begin + 1));
  return op_reshape(g, x, dims, n);
}

ir_ref op_expand(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank) {
  ir_ref dims[IR_MAX_RANK];
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "expand", &x, 1) || !op_sizes_like(g, "expand", x, shape, rank, dims)) return 0;
  size_t own = ir_rank(g, x);
  if (own > rank)
    return op_refuse(
        g, "expand: shape %s has rank %zu; x has shape %s, rank %zu; broadcasting never lowers the rank",
        OP_LIST(shape, rank), rank, OP_TYPE(x), own);
  for (size_t i = rank - own; i < rank; i++) {
    ir_ref size = ir_dim(g, x, (uint32_t)(i - (rank - own)));
    if (op_is_one(g, size) || op_decided(g, IR_OP_EQ, size, dims[i])) continue;
    return op_refuse(g,
                     "expand: shape %s asks for %s at axis %zu; x has shape %s, %s there; only sizes of 1 "
                     "can be expanded, others must be equal%s",
                     OP_LIST(shape, rank), OP_EXPR(dims[i]), i, OP_TYPE(x), OP_EXPR(size),
                     OP_FACT(IR_OP_EQ, size, dims[i]));
  }
  return op_grow(g, x, dims, rank);
}

ir_ref op_unsqueeze(ir_graph *g, ir_ref x, int64_t axis) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "unsqueeze", &x, 1)) return 0;
  uint32_t rank = ir_rank(g, x);
  int64_t at = op_axis(g, "unsqueeze", x, axis, (int64_t)rank + 1);
  if (at < 0) return 0;
  ir_ref dims[IR_MAX_RANK + 1];
  for (uint32_t i = 0; i <= rank; i++) dims[i] = i == at ? ir_index(g, 1) : ir_dim(g, x, i > at ? i - 1 : i);
  return view(g, IR_OP_UNSQUEEZE, x, dims, rank + 1, ir_pack_arg(at, 0), NULL, 0);
}

static ir_ref drop_axis(ir_graph *g, ir_ref x, uint32_t axis) {
  ir_ref dims[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x), n = 0;
  for (uint32_t i = 0; i < rank; i++)
    if (i != axis) dims[n++] = ir_dim(g, x, i);
  return view(g, IR_OP_SQUEEZE, x, dims, n, ir_pack_arg(axis, 0), NULL, 0);
}

ir_ref op_squeeze(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n) {
  x = op_default_dtype(g, x);
  uint32_t set = 0;
  if (!op_tensors(g, "squeeze", &x, 1) || (axes && !op_axes(g, "squeeze", x, axes, n, &set))) return 0;
  ir_ref one = ir_index(g, 1);
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++) {
    ir_ref size = ir_dim(g, x, i);
    bool is_one = op_is_one(g, size), undecided = !is_one && !op_decided(g, IR_OP_NE, size, one);
    if (!axes && is_one) set |= 1u << i;
    if (is_one || !(axes ? set >> i & 1 : undecided)) continue;
    return op_refuse(g,
                     "squeeze: axis %u has size %s; x has shape %s; only an axis of size 1 can be removed%s",
                     i, OP_EXPR(size), OP_TYPE(x), OP_FACT(IR_OP_EQ, size, one));
  }
  for (uint32_t i = rank; i-- > 0 && x;)
    if (set >> i & 1) x = drop_axis(g, x, i);
  return x;
}
