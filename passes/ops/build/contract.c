/* Matrix products. */
#include "passes/ops/check.h"

/* One operand as [batch..., rows, columns], its batch axes expanded to those of the result. */
static ir_ref expand_batch(ir_graph *g, ir_ref x, ir_ref rows, ir_ref columns, const ir_ref *batch,
                           size_t n) {
  ir_ref dims[IR_MAX_RANK];
  for (size_t i = 0; i < n; i++) dims[i] = batch[i];
  dims[n] = rows;
  dims[n + 1] = columns;
  return op_grow(g, x, dims, n + 2);
}

/* The batch axes of the result: NumPy's broadcasting of all but the last two; false after failing. */
static bool batch_axes(ir_graph *g, const ir_ref *x, const ir_ref *given, ir_ref *batch, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!(batch[i] = ir_index(g, 1))) return false;
    for (int k = 0; k < 2; k++) {
      size_t lead = n + 2 - ir_rank(g, x[k]);
      ir_ref size = i < lead ? 0 : ir_dim(g, x[k], (uint32_t)(i - lead));
      if (!size || op_is_one(g, size) || op_decided(g, IR_OP_EQ, size, batch[i])) continue;
      if (k == 1 && !op_is_one(g, batch[i])) {
        op_refuse(g,
                  "matmul: batch sizes %s and %s do not broadcast; operands have shapes %s and %s; axes "
                  "before the last two must be equal or 1%s",
                  OP_EXPR(batch[i]), OP_EXPR(size), OP_TYPE(given[0]), OP_TYPE(given[1]),
                  OP_FACT(IR_OP_EQ, batch[i], size));
        return false;
      }
      batch[i] = size;
    }
  }
  return true;
}

ir_ref op_matmul(ir_graph *g, ir_ref a, ir_ref b) {
  ir_ref given[2] = {op_default_dtype(g, a), op_default_dtype(g, b)}, x[2];
  if (!op_tensors(g, "matmul", given, 2)) return 0;
  uint32_t ranks[2] = {ir_rank(g, given[0]), ir_rank(g, given[1])};
  for (int k = 0; k < 2; k++)
    if (ranks[k] == 0)
      return op_refuse(g,
                       "matmul: operand %d has shape %s; the other has %s; a factor has at least one axis: "
                       "use mul for scalars",
                       k + 1, OP_TYPE(given[k]), OP_TYPE(given[1 - k]));
  ir_ref inner = ir_dim(g, given[0], ranks[0] - 1),
         other = ir_dim(g, given[1], ranks[1] > 1 ? ranks[1] - 2 : 0);
  if (!op_decided(g, IR_OP_EQ, inner, other))
    return op_refuse(g,
                     "matmul: the last axis of %s has size %s, the %s axis of %s has %s; the contracted "
                     "sizes must be equal%s",
                     OP_TYPE(given[0]), OP_EXPR(inner), ranks[1] > 1 ? "last but one" : "only",
                     OP_TYPE(given[1]), OP_EXPR(other), OP_FACT(IR_OP_EQ, inner, other));
  ir_dtype dtype = op_common(g, "matmul", given, 2);
  if (dtype == IR_NONE) return 0;
  for (int k = 0; k < 2; k++) {
    x[k] = op_convert(g, "matmul", given[k], op_accumulator(dtype));
    if (x[k] && ranks[k] == 1) x[k] = op_unsqueeze(g, x[k], k); /* a row on the left, a column on the right */
    if (!x[k]) return 0;
  }
  size_t n = (ir_rank(g, x[0]) > ir_rank(g, x[1]) ? ir_rank(g, x[0]) : ir_rank(g, x[1])) - 2;
  ir_ref dims[IR_MAX_RANK];
  if (!batch_axes(g, x, given, dims, n)) return 0;
  ir_ref rows = ir_dim(g, x[0], ir_rank(g, x[0]) - 2), columns = ir_dim(g, x[1], ir_rank(g, x[1]) - 1);
  x[0] = expand_batch(g, x[0], rows, inner, dims, n);
  x[1] = expand_batch(g, x[1], inner, columns, dims, n);
  dims[n] = rows;
  dims[n + 1] = columns;
  ir_ref y = op_make(g, IR_OP_MATMUL, op_accumulator(dtype), dims, n + 2, 0, x, 2), at;
  if (y && ranks[1] == 1) y = op_squeeze(g, y, (at = ir_index(g, (int64_t)n + 1), &at), 1);
  if (y && ranks[0] == 1) y = op_squeeze(g, y, (at = ir_index(g, (int64_t)n), &at), 1);
  return y;
}
