/* What an operation computes, and reads and writes. */
#include "impl.h"
#include "ir/eval/eval.h"
#include "passes/cost/kernel_time.h"

#include <math.h>

/* About a core of a server processor: two multiply-adds of 16 floats at 3 GHz, and its share of the memory.
 */
const autoshard_rates autoshard_default_rates = {.flops = 1.92e11, .bytes = 15e9};

autoshard_rates autoshard_rates_of(const ir_target *target) {
  if (target->vector_bytes <= 0) return autoshard_default_rates;
  pass_rates rates = pass_rates_of(target);
  double floats = target->vector_bytes / 4, units = 2; /* vectors of f32 that are multiplied at a time */
  return (autoshard_rates){.flops = rates.ghz * 1e9 * floats * units * (target->has_fma ? 2 : 1),
                           .bytes = rates.read[PASS_LEVEL_MEMORY] * 1e9};
}

/* The value of an index expression whose variables have usual values; those that are too many make it 0. */
static double operations_of(auto_model *m, ir_ref node) {
  ir_graph *g = m->g;
  int64_t count = 0;
  ir_ref flops = op_flops(g, node), *live = NULL;
  size_t live_count = 0, cap = 0, known = 0;
  ir_var_value vars[IR_MAX_RANK * 4];
  if (!flops) return 0;
  if (ir_is_const(g, flops, &count)) return (double)count;
  if (ir_reachable(g, &flops, 1, &live, &live_count, &cap) != IR_OK) return 0;
  for (size_t i = 0; i < live_count && known < sizeof vars / sizeof *vars; i++)
    if (ir_op_of(g, live[i]) == IR_OP_VAR) vars[known++] = (ir_var_value){live[i], auto_size(m, live[i])};
  ir_free(g->mem, live, cap * sizeof *live);
  ir_error ignored = {0};
  return ir_eval_index(g, flops, vars, known, NULL, 0, &count, &ignored) == IR_OK ? (double)count : 0;
}

/* Bytes that the largest part reads and writes. Of what is looked up, as much is read as the result has. */
static double traffic_of(auto_model *m, ir_ref node, const op_sharding *rule, const ir_spec *terms) {
  const ir_node *n = ir_get(m->g, node);
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  if (cls == IR_CLASS_VIEW || ir_only_divides((ir_op)n->op) || !rule) return 0;
  double result = auto_part_bytes(m, node, &terms[rule->operands]), bytes = result;
  for (uint32_t i = 0; i < rule->operands; i++) {
    double part = auto_part_bytes(m, n->src[i], &terms[i]);
    if (cls == IR_CLASS_INDIRECT && i == 0 && part > result) part = result;
    bytes += part;
  }
  return bytes;
}

double auto_work(auto_model *m, ir_ref node, const op_sharding *rule, const ir_shares *shares,
                 const ir_spec *terms) {
  double operations = operations_of(m, node);
  for (uint32_t i = 0; rule && i < rule->factor_count; i++) {
    int64_t size = shares[i].total > 1 ? auto_size(m, rule->factors[i].size) : 0;
    if (size > 0) operations *= (double)ir_most_of(&shares[i], size) / (double)size;
  }
  return fmax(operations / m->rates.flops, traffic_of(m, node, rule, terms) / m->rates.bytes);
}
