/* Operations with several results: a tensor split into parts along an axis, and both extrema. */
#include "impl.h"

/* The slice [begin, end) of one axis. */
static ir_ref window(ir_graph *g, ir_ref x, int64_t axis, ir_ref begin, ir_ref end) {
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    bounds[2 * i] = i == axis ? begin : ir_index(g, 0);
    bounds[2 * i + 1] = i == axis ? end : ir_dim(g, x, i);
  }
  return op_shrink(g, x, bounds, ir_rank(g, x));
}

/* Checks shared by split and chunk, and conversion of x if it is a weak constant; returns the axis, or -1
 * after failing. */
static int64_t start_split(ir_graph *g, const char *who, ir_ref *x, int64_t parts, int64_t axis) {
  if (!op_compose_begin(g, who, x, 1)) return -1;
  if (parts < 1 || parts > OP_PARTS_MAX) {
    op_refuse(g, "%s: %lld parts asked for; x has shape %s; takes 1 to %d", who, (long long)parts,
              OP_TYPE(*x), OP_PARTS_MAX);
    return -1;
  }
  return op_axis(g, who, *x, axis, ir_rank(g, *x));
}

static ir_ref equal_parts(ir_graph *g, const char *who, ir_ref x, int64_t parts, int64_t at) {
  ir_ref out[OP_PARTS_MAX], size = pass_div_int(g, ir_dim(g, x, (uint32_t)at), parts), begin = ir_index(g, 0);
  for (int64_t i = 0; i < parts; i++) {
    ir_ref end = pass_mul_int(g, size, i + 1);
    if (!(out[i] = window(g, x, at, begin, end))) return op_compose_end(g, who, 0);
    begin = end;
  }
  return ir_tuple(g, out, (uint32_t)parts);
}

ir_ref op_split(ir_graph *g, ir_ref x, int64_t parts, int64_t axis) {
  int64_t at = start_split(g, "split", &x, parts, axis);
  if (at < 0) return 0;
  ir_ref size = ir_dim(g, x, (uint32_t)at), count = ir_index(g, parts);
  if (!count) return 0;
  if (!pass_divides(g, count, size))
    return op_refuse(
        g,
        "split: size %s of axis %lld does not %sdivide by %lld; x has shape %s; parts must be equal: chunk "
        "takes any number%s",
        OP_EXPR(size), (long long)at, ir_is_const(g, size, NULL) ? "" : "provably ", (long long)parts,
        OP_TYPE(x), OP_FACT(IR_OP_MOD, size, count));
  return equal_parts(g, "split", x, parts, at);
}

ir_ref op_chunk(ir_graph *g, ir_ref x, int64_t chunks, int64_t axis) {
  int64_t at = start_split(g, "chunk", &x, chunks, axis), n;
  if (at < 0) return 0;
  ir_ref size = ir_dim(g, x, (uint32_t)at), one = ir_index(g, 1), count = ir_index(g, chunks);
  if (!one || !count) return 0;
  if (!op_decided(g, IR_OP_GE, size, one))
    return op_refuse(g,
                     "chunk: axis %lld has size %s; x has shape %s; parts must not be empty, so the size "
                     "must be at least 1%s",
                     (long long)at, OP_EXPR(size), OP_TYPE(x), OP_FACT(IR_OP_GE, size, one));
  if (!ir_is_const(g, size, &n)) {
    if (pass_divides(g, count, size)) return equal_parts(g, "chunk", x, chunks, at);
    return op_refuse(g,
                     "chunk: size %s of axis %lld does not provably divide by %lld; x has shape %s; parts of "
                     "a variable size must be equal%s",
                     OP_EXPR(size), (long long)at, (long long)chunks, OP_TYPE(x),
                     OP_FACT(IR_OP_MOD, size, count));
  }
  ir_ref out[OP_PARTS_MAX];
  int64_t made = 0;
  for (int64_t i = 0, begin = 0; i < chunks && begin < n; i++) {
    int64_t end = begin + n / chunks + (i < n % chunks);
    if (!(out[made++] = window(g, x, at, ir_index(g, begin), ir_index(g, end))))
      return op_compose_end(g, "chunk", 0);
    begin = end;
  }
  return ir_tuple(g, out, (uint32_t)made);
}

ir_ref op_unbind(ir_graph *g, ir_ref x, int64_t axis) {
  if (!op_compose_begin(g, "unbind", &x, 1)) return 0;
  int64_t at = op_axis(g, "unbind", x, axis, ir_rank(g, x)), n;
  if (at < 0) return 0;
  ir_ref size = ir_dim(g, x, (uint32_t)at), out[OP_PARTS_MAX];
  if (!ir_is_const(g, size, &n) || n < 1 || n > OP_PARTS_MAX)
    return op_refuse(
        g, "unbind: axis %lld has size %s; x has shape %s; it gives as many results: a number from 1 to %d",
        (long long)at, OP_EXPR(size), OP_TYPE(x), OP_PARTS_MAX);
  for (int64_t i = 0; i < n; i++)
    if (!(out[i] = op_point(g, x, ir_index(g, i), at))) return op_compose_end(g, "unbind", 0);
  return ir_tuple(g, out, (uint32_t)n);
}

ir_ref op_minmax(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims) {
  if (!op_compose_begin(g, "minmax", &x, 1)) return 0;
  ir_ref both[] = {op_reduce(g, IR_OP_REDUCE_MIN, x, axes, n, keepdims), 0};
  if (both[0]) both[1] = op_reduce(g, IR_OP_REDUCE_MAX, x, axes, n, keepdims);
  return both[1] ? ir_tuple(g, both, 2) : op_compose_end(g, "minmax", 0);
}
