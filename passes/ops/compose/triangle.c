/* Matrices defined by diagonals: diagonal k consists of the elements with column - row = k. */
#include "impl.h"

/* A diagonal is at most 2^FURTHEST_BITS away, an integer that fits in a double; further ones are refused. */
enum { FURTHEST_BITS = 53 };

/* column CMP row + diagonal, for every element; 0 after failing. */
static ir_ref compare_diagonal(ir_graph *g, const char *who, ir_op cmp, ir_ref rows, ir_ref columns,
                               int64_t diagonal) {
  int64_t furthest = (int64_t)1 << FURTHEST_BITS;
  if (diagonal < -furthest || diagonal > furthest)
    return op_refuse(g, "%s: there is no diagonal %lld; takes -2^%d to 2^%d", who, (long long)diagonal,
                     FURTHEST_BITS, FURTHEST_BITS);
  ir_ref shape[] = {rows, columns};
  ir_ref row = op_iota(g, IR_I64, shape, 2, 0), column = row ? op_iota(g, IR_I64, shape, 2, 1) : 0;
  return op_binary(g, cmp, column, diagonal ? op_add(g, row, ir_int(g, IR_I64, diagonal)) : row);
}

ir_ref op_eye(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, int64_t diagonal) {
  if (g->error->status) return 0;
  if (rank < 1 || rank > 2)
    return op_refuse(g, "eye: shape %s has rank %zu; takes rows and columns, or one number for both",
                     OP_LIST(shape, rank), rank);
  ir_ref ones = compare_diagonal(g, "eye", IR_OP_EQ, shape[0], shape[rank - 1], diagonal);
  return op_compose_end(g, "eye", op_cast(g, ones, dtype));
}

static ir_ref triangle(ir_graph *g, const char *who, ir_op cmp, ir_ref x, int64_t diagonal) {
  if (!op_compose_begin(g, who, &x, 1)) return 0;
  uint32_t rank = ir_rank(g, x);
  if (rank < 2)
    return op_refuse(g, "%s: x has shape %s; a triangle is one of the last two axes: takes rank 2 or more",
                     who, OP_TYPE(x));
  ir_ref inside = compare_diagonal(g, who, cmp, ir_dim(g, x, rank - 2), ir_dim(g, x, rank - 1), diagonal);
  ir_ref zero = ir_const(g, ir_dtype_of(g, x), (ir_value){.i = 0});
  return op_compose_end(g, who, op_where(g, inside, x, zero));
}

ir_ref op_tril(ir_graph *g, ir_ref x, int64_t diagonal) { return triangle(g, "tril", IR_OP_LE, x, diagonal); }
ir_ref op_triu(ir_graph *g, ir_ref x, int64_t diagonal) { return triangle(g, "triu", IR_OP_GE, x, diagonal); }
