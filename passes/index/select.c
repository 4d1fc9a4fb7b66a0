/* Selection: min, max and where. */
#include "impl.h"

ir_ref pass_make_minmax(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  pass_linear apart, right;
  if (!x || !y) return 0;
  if (x == y) return x;
  bool constant = ir_is_const(b->g, x, NULL); /* constants last */
  ir_ref src[] = {x, y};
  if (constant || (ir_compare(b->g, x, y) > 0 && !ir_is_const(b->g, y, NULL))) src[0] = y, src[1] = x;
  if (!pass_enter(b)) return ir_make(b->g, op, IR_INDEX, 0, src, 2);
  pass_linear_read(b->g, src[0], &apart);
  pass_linear_read(b->g, src[1], &right);
  ir_ref r = 0;
  if (pass_linear_add(b->g, &apart, &right, -1)) {
    if (pass_linear_at_least(b, &apart)) r = op == IR_OP_MAX ? src[0] : src[1];
    else if (pass_linear_scale(&apart, -1) && pass_linear_at_least(b, &apart))
      r = op == IR_OP_MAX ? src[1] : src[0];
  }
  if (r && !pass_allowed(b, ir_ops[op].text, op, src, 2, r)) r = 0;
  if (!r) r = pass_index_rules(b, op, src, 2);
  pass_leave(b);
  return r ? r : ir_make(b->g, op, IR_INDEX, 0, src, 2);
}

ir_ref pass_make_where(pass_build *b, ir_ref condition, ir_ref x, ir_ref y) {
  if (!condition || !x || !y) return 0;
  ir_ref src[] = {condition, x, y};
  ir_ref r = 0;
  if (pass_enter(b)) {
    r = pass_index_rules(b, IR_OP_WHERE, src, 3);
    pass_leave(b);
  }
  return r ? r : ir_where(b->g, condition, x, y);
}
