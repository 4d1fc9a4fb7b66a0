/* Sizes, axes and broadcasting: the checks that all builders share. */
#include "check.h"

#include <string.h>

bool op_decided(ir_graph *g, ir_op cmp, ir_ref a, ir_ref b) {
  if (a == b) return cmp == IR_OP_EQ || cmp == IR_OP_LE || cmp == IR_OP_GE;
  int64_t x, y;
  if (!a || !b) return false;
  if (!ir_is_const(g, a, &x) || !ir_is_const(g, b, &y)) return pass_proves(g, cmp, a, b);
  switch (cmp) {
  case IR_OP_EQ: return x == y;
  case IR_OP_NE: return x != y;
  case IR_OP_LT: return x < y;
  case IR_OP_LE: return x <= y;
  case IR_OP_GT: return x > y;
  case IR_OP_GE: return x >= y;
  default: return false;
  }
}

bool op_is_one(ir_graph *g, ir_ref size) {
  int64_t value;
  return ir_is_const(g, size, &value) ? value == 1 : op_decided(g, IR_OP_EQ, size, ir_index(g, 1));
}

ir_ref op_canonical(ir_graph *g, ir_ref expr) {
  if (!expr || ir_op_of(g, expr) == IR_OP_CONST || ir_op_of(g, expr) == IR_OP_VAR) return expr;
  return pass_simplify(g, expr);
}

const ir_ref *op_dims(const ir_graph *g, ir_ref x) { return ir_get(g, ir_shape(g, x))->src; }

static bool rank_fits(ir_graph *g, const char *who, size_t rank) {
  if (rank > IR_MAX_RANK)
    op_refuse(g, "%s: the result has rank %zu; a tensor has at most %d axes", who, rank, IR_MAX_RANK);
  return rank <= IR_MAX_RANK;
}

static bool is_size_of(ir_graph *g, ir_ref like, ir_ref size) {
  const ir_node *dims = ir_get(g, ir_shape(g, like));
  ir_ref numel = ir_index(g, 1);
  for (uint32_t i = 0; i < dims->nsrc; i++) {
    if (dims->src[i] == size) return true;
    numel = pass_mul(g, numel, dims->src[i]);
  }
  return numel == size;
}

bool op_sizes(ir_graph *g, const char *who, const ir_ref *shape, size_t rank, ir_ref *out) {
  return op_sizes_like(g, who, 0, shape, rank, out);
}

bool op_sizes_like(ir_graph *g, const char *who, ir_ref like, const ir_ref *shape, size_t rank, ir_ref *out) {
  if (!rank_fits(g, who, rank)) return false;
  ir_ref zero = ir_index(g, 0);
  for (size_t i = 0; i < rank; i++)
    if (shape[i] == 0 || zero == 0) return false;
  for (size_t i = 0; i < rank; i++) {
    if (ir_dtype_of(g, shape[i]) != IR_INDEX) {
      op_refuse(g, "%s: size %zu of the shape is %s; a size is an integer or an expression of size variables",
                who, i, OP_TYPE(shape[i]));
      return false;
    }
    if (!(out[i] = op_canonical(g, shape[i]))) return false;
    if (op_decided(g, IR_OP_GE, out[i], zero) || (like && is_size_of(g, like, out[i]))) continue;
    op_refuse(g, "%s: size %s of axis %zu in shape %s is%s negative; every size must be >= 0%s", who,
              OP_EXPR(out[i]), i, OP_LIST(shape, rank),
              ir_is_const(g, out[i], NULL) ? "" : " not known not to be", OP_FACT(IR_OP_GE, out[i], zero));
    return false;
  }
  return true;
}

/* Strides are computed with sizes of zero taken as one, so that product must fit. A size that depends on
 * variables counts with its least value: not all sizes need be large at once, and their values are known when
 * the program runs. */
bool op_bytes_fit(ir_graph *g, ir_dtype dtype, const ir_ref *dims, size_t rank) {
  int64_t bytes = ir_dtypes[dtype].bytes;
  for (size_t i = 0; i < rank; i++) {
    int64_t least;
    if (!ir_is_const(g, dims[i], &least)) least = ir_bounds_of(g, dims[i]).lo;
    if (least > 1 && !ir_mul_ok(bytes, least, &bytes)) return false;
  }
  return true;
}

ir_ref op_make(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *dims, size_t rank, int64_t arg,
               const ir_ref *src, size_t nsrc) {
  for (size_t i = 0; i < rank; i++)
    if (dims[i] == 0) return 0;
  const char *who = ir_ops[op].text;
  if (!rank_fits(g, who, rank)) return 0;
  if (!op_bytes_fit(g, dtype, dims, rank))
    return op_refuse(g, "%s: a result of shape %s%s is too large; its bytes must number less than 2^63", who,
                     ir_dtypes[dtype].name, OP_LIST(dims, rank));
  if (!op_batches_fit(g, op, dtype, dims, rank, arg, src, nsrc)) return 0;
  ir_ref shape = ir_tuple(g, dims, (uint32_t)rank);
  ir_ref made = ir_make_tensor(g, op, dtype, shape, arg, src, (uint32_t)nsrc);
  return g->letters_cap ? op_letters_agree(g, who, made) : made;
}

ir_ref op_numel(ir_graph *g, const ir_ref *dims, size_t rank) {
  ir_ref all = ir_index(g, 1);
  for (size_t i = 0; i < rank; i++) {
    int64_t a, b;
    bool plain = all && ir_is_const(g, all, &a) && ir_is_const(g, dims[i], &b);
    all = plain && ir_mul_ok(a, b, &a) ? ir_index(g, a) : pass_mul(g, all, dims[i]);
  }
  return all;
}

int64_t op_axis(ir_graph *g, const char *who, ir_ref x, int64_t axis, int64_t count) {
  if (axis >= -count && axis < count) return axis < 0 ? axis + count : axis;
  if (count == 0)
    op_refuse(g, "%s: axis %lld is out of range; x has shape %s, which has no axes", who, (long long)axis,
              OP_TYPE(x));
  else
    op_refuse(g, "%s: axis %lld is out of range; x has shape %s; the axis must lie in %lld..%lld%s", who,
              (long long)axis, OP_TYPE(x), (long long)-count, (long long)count - 1,
              ir_batch_rank(g, x) ? ": axes of the batch, before |, are not counted" : "");
  return -1;
}

bool op_axes(ir_graph *g, const char *who, ir_ref x, const ir_ref *axes, size_t n, uint32_t *set) {
  *set = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t value;
    if (axes[i] == 0) return false;
    if (!ir_is_const(g, axes[i], &value)) {
      op_refuse(g, "%s: axis %s is not a constant; x has shape %s; an axis is an integer", who,
                OP_EXPR(axes[i]), OP_TYPE(x));
      return false;
    }
    int64_t axis = op_axis(g, who, x, value, ir_rank(g, x));
    if (axis < 0) return false;
    if (*set >> axis & 1) {
      op_refuse(g, "%s: axes %s repeat axis %lld; x has shape %s; each axis may be listed at most once", who,
                OP_LIST(axes, n), (long long)axis, OP_TYPE(x));
      return false;
    }
    *set |= 1u << axis;
  }
  return true;
}

/* RESHAPE adds leading axes and changes sizes that are only proven equal; then EXPAND grows sizes of 1. */
ir_ref op_grow(ir_graph *g, ir_ref x, const ir_ref *dims, size_t rank) {
  ir_ref middle[IR_MAX_RANK], one = ir_index(g, 1);
  size_t own = ir_rank(g, x), lead = rank - own;
  const ir_ref *from = op_dims(g, x);
  bool same = own == rank, grows = false;
  for (size_t i = 0; i < rank; i++) {
    bool expands = (i < lead || op_is_one(g, from[i - lead])) && !op_is_one(g, dims[i]);
    middle[i] = expands ? one : dims[i];
    if (i >= lead && middle[i] != from[i - lead]) same = false;
    grows |= expands;
  }
  if (!same) {
    ir_ref src[1 + IR_MAX_RANK] = {x};
    memcpy(src + 1, middle, rank * sizeof *middle);
    x = op_make(g, IR_OP_RESHAPE, ir_dtype_of(g, x), middle, rank, 0, src, 1 + rank);
  }
  if (!grows || !x) return x;
  ir_ref src[1 + IR_MAX_RANK] = {x};
  memcpy(src + 1, dims, rank * sizeof *dims);
  return op_make(g, IR_OP_EXPAND, ir_dtype_of(g, x), dims, rank, 0, src, 1 + rank);
}

/* Broadcasts dims with one operand's shape, right-aligned; false after failing. */
static bool broadcast_one(ir_graph *g, const char *who, const ir_ref *x, size_t at, ir_ref *dims,
                          size_t rank) {
  const ir_ref *own = op_dims(g, x[at]);
  size_t lead = rank - ir_rank(g, x[at]);
  for (size_t i = lead; i < rank; i++) {
    ir_ref size = own[i - lead];
    if (size == dims[i]) continue;
    /* A variable whose only value is 1 as well: it names the size. */
    if (op_is_one(g, dims[i])) dims[i] = size;
    if (op_is_one(g, size)) continue;
    if (op_decided(g, IR_OP_EQ, size, dims[i])) continue;
    ir_ref earlier = x[0];
    for (size_t k = 0; k < at; k++) { /* the operand that set this size */
      size_t off = rank - ir_rank(g, x[k]);
      if (i >= off && op_dims(g, x[k])[i - off] == dims[i]) earlier = x[k];
    }
    op_refuse(g,
              "%s: shapes %s and %s do not broadcast: size %s meets %s at axis %lld; sizes must "
              "be equal or 1%s",
              who, OP_TYPE(earlier), OP_TYPE(x[at]), OP_EXPR(dims[i]), OP_EXPR(size),
              (long long)i - (long long)rank, OP_FACT(IR_OP_EQ, dims[i], size));
    return false;
  }
  return true;
}

bool op_broadcast(ir_graph *g, const char *who, ir_ref *x, size_t n, ir_ref *dims, size_t *rank) {
  *rank = 0;
  bool alike = true; /* the common case: nothing to insert */
  for (size_t i = 0; i < n; i++) {
    if (ir_rank(g, x[i]) > *rank) *rank = ir_rank(g, x[i]);
    alike &= ir_shape(g, x[i]) == ir_shape(g, x[0]);
  }
  if (alike) {
    for (size_t i = 0; i < *rank; i++) dims[i] = op_dims(g, x[0])[i];
    return true;
  }
  for (size_t i = 0; i < *rank; i++)
    if (!(dims[i] = ir_index(g, 1))) return false;
  for (size_t i = 0; i < n; i++)
    if (!broadcast_one(g, who, x, i, dims, *rank)) return false;
  for (size_t i = 0; i < n; i++) {
    if (op_is_const(g, x[i])) continue;
    if (!(x[i] = op_grow(g, x[i], dims, *rank))) return false;
  }
  return true;
}
