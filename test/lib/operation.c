#include "test/lib/operation.h"

#include "test/lib/unit.h"

#include "ir/elementary/elementary.h"

static void end(void *of) {
  operation *o = of;
  ir_graph_free(&o->g);
  free(o);
}

operation *operation_start(ir_op op, ir_dtype type, int64_t count, bool expanded) {
  operation *o = calloc(1, sizeof *o);
  assert_non_null(o);
  o->type = type;
  assert_int_equal(ir_graph_init(&o->g, &ir_mem_libc, &o->error), IR_OK);
  ir_ref size = ir_index(&o->g, count), shape = ir_tuple(&o->g, &size, 1);
  for (int i = 0; i < 2; i++)
    o->input[i] = ir_make_tensor(&o->g, IR_OP_INPUT, type, shape, ir_name(&o->g, i ? "y" : "x", 1), &size, 1);
  o->root = ir_ops[op].operands == 1 ? ir_unary(&o->g, op, o->input[0])
                                     : ir_binary(&o->g, op, o->input[0], o->input[1]);
  if (expanded) o->root = ir_elementary(&o->g, o->root);
  return unit_keep(o, end);
}

void operation_run(operation *o, const void *x, const void *y, void *out) {
  ir_eval_result result;
  ir_binding_input inputs[] = {{o->input[0], x}, {o->input[1], y}};
  ir_status status = ir_eval(&o->g, &o->root, 1, inputs, 2, NULL, 0, &result, &o->error);
  if (status) fail_msg("%s", o->error.text);
  memcpy(out, result.data, result.bytes);
  ir_eval_free(&o->g, &result, 1);
}
