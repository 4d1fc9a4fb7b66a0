/* Joins tensors along an existing axis, or along a new one. */
#include "passes/ops/check.h"

/* The operands converted to their common dtype, in a new array that the caller frees; NULL after failing. */
static ir_ref *converted(ir_graph *g, const char *who, const ir_ref *x, size_t n) {
  if (n == 0 || n > UINT32_MAX) {
    op_refuse(g, "%s: %s tensors given; takes at least one", who, n ? "too many" : "no");
    return NULL;
  }
  if (!op_tensors(g, who, x, n)) return NULL;
  ir_dtype dtype = op_common(g, who, x, n);
  ir_ref *out = dtype == IR_NONE ? NULL : ir_alloc(g->mem, n * sizeof *out);
  if (dtype != IR_NONE && !out)
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory for %zu operands", who, n);
  bool good = out != NULL;
  for (size_t i = 0; i < n && good; i++) good = (out[i] = op_convert(g, who, x[i], dtype)) != 0;
  if (out && !good) {
    ir_free(g->mem, out, n * sizeof *out);
    return NULL;
  }
  return out;
}

/* Operand i must have the first operand's sizes, except for the axis `except`; false after failing. */
static bool have_same_sizes(ir_graph *g, const char *who, const ir_ref *x, size_t i, int64_t except) {
  uint32_t rank = ir_rank(g, x[0]);
  if (ir_shape(g, x[i]) == ir_shape(g, x[0])) return true;
  if (ir_rank(g, x[i]) != rank) {
    op_refuse(g, "%s: operand %zu has shape %s, the first %s; all operands must have the same rank", who,
              i + 1, OP_TYPE(x[i]), OP_TYPE(x[0]));
    return false;
  }
  for (uint32_t k = 0; k < rank; k++) {
    ir_ref a = ir_dim(g, x[0], k), b = ir_dim(g, x[i], k);
    if (k == except || op_decided(g, IR_OP_EQ, a, b)) continue;
    op_refuse(
        g, "%s: operand %zu has shape %s, the first %s: size %s meets %s at axis %u; sizes %smust be equal%s",
        who, i + 1, OP_TYPE(x[i]), OP_TYPE(x[0]), OP_EXPR(a), OP_EXPR(b), k,
        except < 0 ? "" : "of the other axes ", OP_FACT(IR_OP_EQ, a, b));
    return false;
  }
  return true;
}

static ir_ref concat(ir_graph *g, const ir_ref *x, size_t n, int64_t axis) {
  uint32_t rank = ir_rank(g, x[0]);
  if (rank == 0)
    return op_refuse(g, "concat: the first operand has shape %s, which has no axis to join along; use stack",
                     OP_TYPE(x[0]));
  int64_t at = op_axis(g, "concat", x[0], axis, rank);
  if (at < 0) return 0;
  ir_ref dims[IR_MAX_RANK], total = ir_index(g, 0);
  for (size_t i = 0; i < n; i++) {
    if (!have_same_sizes(g, "concat", x, i, at)) return 0;
    int64_t a, b;
    ir_ref size = ir_dim(g, x[i], (uint32_t)at);
    if (total && ir_is_const(g, total, &a) && ir_is_const(g, size, &b) && !ir_add_ok(a, b, &a))
      return op_refuse(g, "concat: the sizes of axis %lld add up to 2^63 or more", (long long)at);
    total = pass_add(g, total, size);
  }
  for (uint32_t i = 0; i < rank; i++) dims[i] = i == at ? total : ir_dim(g, x[0], i);
  return n == 1 ? x[0] : op_make(g, IR_OP_CONCAT, ir_dtype_of(g, x[0]), dims, rank, ir_pack_arg(at, 0), x, n);
}

static ir_ref stack(ir_graph *g, const ir_ref *x, size_t n, int64_t axis) {
  uint32_t rank = ir_rank(g, x[0]);
  int64_t at = op_axis(g, "stack", x[0], axis, (int64_t)rank + 1);
  if (at < 0) return 0;
  for (size_t i = 0; i < n; i++)
    if (!have_same_sizes(g, "stack", x, i, -1)) return 0;
  ir_ref dims[IR_MAX_RANK + 1];
  for (uint32_t i = 0; i <= rank; i++)
    dims[i] = i == at ? ir_index(g, (int64_t)n) : ir_dim(g, x[0], i > at ? i - 1 : i);
  return op_make(g, IR_OP_STACK, ir_dtype_of(g, x[0]), dims, rank + 1, ir_pack_arg(at, 0), x, n);
}

ir_ref op_concat(ir_graph *g, const ir_ref *x, size_t n, int64_t axis) {
  ir_ref *own = converted(g, "concat", x, n), joined = own ? concat(g, own, n, axis) : 0;
  if (own) ir_free(g->mem, own, n * sizeof *own);
  return joined;
}

ir_ref op_stack(ir_graph *g, const ir_ref *x, size_t n, int64_t axis) {
  ir_ref *own = converted(g, "stack", x, n), joined = own ? stack(g, own, n, axis) : 0;
  if (own) ir_free(g->mem, own, n * sizeof *own);
  return joined;
}
