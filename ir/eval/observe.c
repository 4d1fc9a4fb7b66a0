/* Showing values to an observer as they are computed. */
#include "impl.h"

static ir_eval_array array_of(const ir_slot *slot) {
  return (ir_eval_array){slot->dtype, slot->rank, slot->shape, slot->count, slot->data};
}

ir_status ir_eval_show(ir_eval_run *run, ir_ref ref, uint32_t count, bool result) {
  const ir_node *n = ir_get(run->g, ref);
  const ir_slot *slot = &run->slots[run->slot_number[ref]];
  ir_eval_array operands[IR_EVAL_SEEN];
  ir_eval_seen seen = {.node = ref, .result = result, .operands = operands};
  ir_status status = IR_OK;
  for (uint32_t i = 0; i < count && i < IR_EVAL_SEEN && n->op != IR_OP_RESULT; i++)
    operands[seen.operand_count++] = array_of(&run->slots[run->slot_number[n->src[i]]]);
  if (slot->data) {
    seen.value = array_of(slot);
    return run->observer->see(run->observer->user, &seen, run->error);
  }
  bool custom = n->op == IR_OP_CUSTOM; /* the results of functions are seen inside of them */
  for (uint32_t i = 0; custom && i < slot->result_count && !status; i++) {
    seen.value = array_of(&slot->results[i]);
    status = run->observer->see(run->observer->user, &seen, run->error);
  }
  return status;
}

ir_status ir_eval_observed(const ir_graph *g, const ir_ref *roots, size_t n, const ir_binding_input *inputs,
                           size_t input_count, const ir_var_value *vars, size_t var_count,
                           const ir_eval_observer *observer, ir_error *error) {
  ir_error unused = {0};
  ir_eval_run run = {.g = g,
                     .mem = g->mem,
                     .error = error ? error : &unused,
                     .inputs = inputs,
                     .vars = vars,
                     .input_count = input_count,
                     .var_count = var_count,
                     .observer = observer};
  ir_status status = ir_eval_prepare(&run, roots, n);
  if (!status) status = ir_eval_nodes(&run, roots, n);
  ir_eval_run_free(&run);
  return status;
}
