/* Functions, and the nodes that call them. */
#include "custom.h"

#include <string.h>

/* One more than the depth of the deepest function inside; 0 on failure. ir_func keeps the depth in the upper
 * half of arg. */
static uint32_t depth_of(const ir_graph *g, const ir_ref *results, uint32_t count) {
  ir_ref *nodes = NULL;
  size_t n = 0, cap = 0;
  uint32_t deepest = 0;
  bool done = ir_reachable(g, results, count, &nodes, &n, &cap) == IR_OK;
  for (size_t i = 0; i < n && done; i++) {
    uint32_t depth = ir_op_of(g, nodes[i]) == IR_OP_FUNC ? ir_func_depth(g, nodes[i]) : 0;
    if (depth > deepest) deepest = depth;
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return done ? deepest + 1 : 0;
}

ir_ref ir_func(ir_graph *g, const ir_ref *results, uint32_t result_count, const ir_ref *params,
               uint32_t param_count) {
  uint32_t count = result_count + param_count, depth = 0;
  for (uint32_t i = 0; i < result_count; i++)
    if (!results[i]) return 0;
  if (!(depth = depth_of(g, results, result_count))) return 0;
  ir_ref *src = ir_alloc(g->mem, count * sizeof *src), made = 0;
  if (src || count == 0) {
    if (result_count) memcpy(src, results, result_count * sizeof *src);
    if (param_count) memcpy(src + result_count, params, param_count * sizeof *src);
    made = ir_make(g, IR_OP_FUNC, IR_NONE, (int64_t)depth << 32 | result_count, src, count);
  } else {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory making a function");
  }
  ir_free(g->mem, src, count * sizeof *src);
  return made;
}

ir_function ir_function_of(const ir_graph *g, ir_ref func) {
  const ir_node *n = ir_get(g, func);
  uint32_t results = (uint32_t)n->arg;
  return (ir_function){n->src, n->src + results, results, n->nsrc - results};
}

uint32_t ir_func_depth(const ir_graph *g, ir_ref func) { return (uint32_t)(ir_get(g, func)->arg >> 32); }

uint32_t ir_called_count(const ir_node *control) { return control->op == IR_OP_SCAN ? 1 : 2; }

ir_ref ir_called(const ir_graph *g, ir_ref control, uint32_t number) {
  const ir_node *n = ir_get(g, control);
  return n->src[ir_operand_count(n) + number];
}

uint32_t ir_result_count(const ir_graph *g, ir_ref control) {
  const ir_node *n = ir_get(g, control);
  ir_custom_call call;
  if (n->op == IR_OP_CUSTOM) return ir_custom_of(g, control, &call)->results;
  if (n->op == IR_OP_WHILE) return (uint32_t)ir_arg_int(n);
  return ir_function_of(g, ir_called(g, control, 0)).result_count;
}

ir_ref ir_result(ir_graph *g, ir_ref control, uint32_t number, ir_dtype dtype, ir_ref shape) {
  return ir_make_tensor(g, IR_OP_RESULT, dtype, shape, ir_pack_arg(number, 0), &control, 1);
}

ir_ref ir_result_like(const ir_graph *g, ir_ref control, uint32_t number, bool *stacked) {
  const ir_node *n = ir_get(g, control);
  *stacked = n->op == IR_OP_SCAN && number >= ir_scan_of(n).carries;
  if (n->op == IR_OP_COND || *stacked) return ir_function_of(g, ir_called(g, control, 0)).results[number];
  return n->src[number];
}

int64_t ir_pack_scan(ir_scan_state s) {
  return (int64_t)s.reverse << 32 | (int64_t)s.sliced << 16 | (int64_t)s.carries;
}

ir_scan_state ir_scan_of(const ir_node *n) {
  return (ir_scan_state){(uint32_t)(n->arg & 0xffff), (uint32_t)(n->arg >> 16 & 0xffff),
                         (n->arg >> 32 & 1) != 0};
}
