/* Custom operations that were registered with a sharding rule, on the parts of their operands. Factors that
 * no result has are contracted: results are summands then. Calls without a rule are made on whole operands.
 */
#include "impl.h"
#include "ir/custom.h"

/* Sizes of the parts of all results, one behind the other; false after failing. */
static bool local_dims(shard_state *s, ir_ref node, const ir_custom_call *call, const ir_spec *specs,
                       ir_ref *dims, uint32_t *count) {
  *count = 0;
  for (uint32_t i = 0; i < call->results; i++) {
    if (!shard_local_shape(s, ir_custom_dims(s->g, node, call, i), &specs[i], dims + *count)) return false;
    *count += call->ranks[i];
  }
  return true;
}

ir_ref shard_custom(shard_state *s, ir_ref node) {
  ir_graph *g = s->g;
  ir_custom_call call;
  op_sharding rule;
  ir_spec specs[IR_CUSTOM_MAX], terms[2 * IR_CUSTOM_MAX];
  const ir_spec *at[IR_CUSTOM_MAX];
  ir_ref operands[IR_CUSTOM_MAX], dims[IR_CUSTOM_MAX * IR_MAX_RANK];
  uint32_t count;
  ir_custom_of(g, node, &call);
  for (uint32_t i = 0; i < call.operands; i++)
    specs[i] = shard_spec_of(s, ir_src(g, node, i)), at[i] = &specs[i];
  if (!op_sharding_of(g, node, &rule)) return 0;
  bool good = shard_choose_terms(s, node, &rule, at, terms);
  op_sharding_free(&rule);
  for (uint32_t i = 0; i < call.operands && good; i++) {
    operands[i] = shard_take(s, ir_src(g, node, i), &terms[i], node, (int)i, SHARD_OTHERS);
    good = operands[i] != 0;
  }
  const ir_spec *results = terms + call.operands;
  for (uint32_t i = 0; i < call.results && good; i++) good = shard_keep_result(s, node, i, &results[i]);
  if (!good || !local_dims(s, node, &call, results, dims, &count)) return 0;
  return ir_custom_make(g, &call, operands, dims, count);
}
