/* Boxes of an array that is distributed over devices. */
#include "passes/ops/check.h"

/* Appends the indices; false after failing. */
static bool put_indices(ir_graph *g, const char *name, const ir_ref *indices, size_t n, ir_ref *src) {
  for (size_t i = 0; i < n; i++) {
    if (!indices[i]) return false;
    if (ir_dtype_of(g, indices[i]) != IR_INDEX)
      return op_refuse(g, "exchange: entry %zu of %s is %s; an index expression is made of sizes and numbers",
                       i, name, OP_TYPE(indices[i])) != 0;
    if (!(src[i] = op_canonical(g, indices[i]))) return false;
  }
  return true;
}

ir_ref op_exchange(ir_graph *g, ir_ref x, const ir_ref *shape, const ir_ref *start, const ir_ref *at,
                   size_t n, const char *kind, size_t length) {
  ir_ref src[1 + 3 * IR_MAX_RANK], *dims = src + 1;
  if (!op_tensors(g, "exchange", &x, 1)) return 0;
  src[0] = op_default_dtype(g, x);
  if (n != ir_rank(g, src[0]))
    return op_refuse(g, "exchange: %zu sizes are given; x has shape %s; each axis takes one", n,
                     OP_TYPE(src[0]));
  if (!op_sizes(g, "exchange", shape, n, dims) || !put_indices(g, "start", start, n, dims + n) ||
      !put_indices(g, "at", at, n, dims + 2 * n))
    return 0;
  int64_t name = ir_name(g, kind, length);
  if (name < 0) return ir_fail(g->error, IR_ERR_MEMORY, "exchange: out of memory"), 0;
  return op_make(g, IR_OP_EXCHANGE, ir_dtype_of(g, src[0]), dims, n, name, src, 1 + 3 * n);
}
