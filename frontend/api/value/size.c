/* Arithmetic on sizes: expressions of variables and integers, of dtype index. */
#include "frontend/api/api.h"
#include "passes/index/index.h"

bool fe_size_unary(ir_graph *g, ir_op op, ir_ref x, ir_ref *made) {
  if (op != IR_OP_NEG || ir_dtype_of(g, x) != IR_INDEX) return false;
  *made = pass_mul_int(g, x, -1);
  return true;
}

bool fe_size_binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b, ir_ref *made) {
  static ir_ref (*const builders[IR_OP_COUNT])(ir_graph *, ir_ref, ir_ref) = {
      [IR_OP_ADD] = pass_add, [IR_OP_SUB] = pass_sub, [IR_OP_MUL] = pass_mul, [IR_OP_FLOORDIV] = pass_div,
      [IR_OP_MOD] = pass_mod, [IR_OP_MIN] = pass_min, [IR_OP_MAX] = pass_max,
  };
  if (!builders[op] || (ir_dtype_of(g, a) != IR_INDEX && ir_dtype_of(g, b) != IR_INDEX)) return false;
  if (!(a = fe_as_size(g, a)) || !(b = fe_as_size(g, b))) return false;
  *made = builders[op](g, a, b);
  return true;
}
