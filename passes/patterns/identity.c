/* Neutral elements of the operations that reductions combine by. */
#include "identity.h"

#include <math.h>

ir_ref pass_identity(ir_graph *g, ir_op op, ir_dtype t) {
  bool is_float = ir_is_float(t), is_signed = ir_dtypes[t].kind == IR_KIND_SIGNED;
  int bits = ir_dtypes[t].bytes * 8;
  uint64_t all = ~(uint64_t)0 >> (bits ? 64 - bits : 0);
  switch ((int)op) {
  case IR_OP_ADD: return is_float ? ir_float(g, t, 0) : ir_int(g, t, 0);
  case IR_OP_MUL: return is_float ? ir_float(g, t, 1) : ir_int(g, t, 1);
  case IR_OP_AND: return ir_bool(g, true);
  case IR_OP_OR: return ir_bool(g, false);
  case IR_OP_MAX:
  case IR_OP_ARGMAX:
    if (is_float) return ir_float(g, t, -INFINITY);
    return ir_int(g, t, is_signed ? -(int64_t)(all >> 1) - 1 : 0);
  default:
    if (is_float) return ir_float(g, t, INFINITY);
    return ir_int(g, t, t == IR_BOOL ? 1 : (int64_t)(is_signed ? all >> 1 : all));
  }
}
