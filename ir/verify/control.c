/* The verifier's rules for functions and for the nodes that call them. */
#include "ir/verify/verify.h"

static bool one_size(const ir_graph *g, ir_ref a, ir_ref b) {
  int64_t x, y;
  return a == b || !ir_is_const(g, a, &x) || !ir_is_const(g, b, &y) || x == y;
}

/* Equal dtypes, and equal shapes from axis `skip` of a and axis `behind` of b on, as far as the sizes are
 * numbers. */
static bool one_type(const ir_graph *g, ir_ref a, uint32_t skip, ir_ref b, uint32_t behind) {
  uint32_t rank = ir_rank(g, a);
  if (!ir_shape(g, a) || !ir_shape(g, b) || ir_dtype_of(g, a) != ir_dtype_of(g, b) || rank < skip ||
      ir_rank(g, b) < behind || rank - skip != ir_rank(g, b) - behind)
    return false;
  for (uint32_t k = skip; k < rank; k++)
    if (!one_size(g, ir_dim(g, a, k), ir_dim(g, b, k - skip + behind))) return false;
  return true;
}

static bool is_truth(const ir_graph *g, ir_ref ref) {
  return ir_shape(g, ref) && ir_rank(g, ref) == 0 && ir_dtype_of(g, ref) == IR_BOOL;
}

/* Parameters of function `number` have the types of the operands from `from` on; an operand in [carries,
 * carries + sliced) has one more axis in front, along which it is sliced. */
static bool check_parameters(ir_verifier *v, ir_ref ref, uint32_t number, uint32_t from, ir_scan_state s) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  ir_function f = ir_function_of(g, ir_called(g, ref, number));
  uint32_t count = ir_operand_count(n) - from;
  if (f.param_count != count)
    return ir_verify_fail(v, ref, "function %u has %u parameters for %u operands", number + 1, f.param_count,
                          count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t skip = i >= s.carries && i < s.carries + s.sliced;
    if (!one_type(g, n->src[from + i], skip, f.params[i], 0))
      return ir_verify_fail(v, ref, "parameter %u of function %u must have the type of its operand", i + 1,
                            number + 1);
  }
  return true;
}

/* The first results of function `number` have the types of the nodes like[0..count). */
static bool returns(ir_verifier *v, ir_ref ref, uint32_t number, const ir_ref *like, uint32_t count) {
  ir_function f = ir_function_of(v->graph, ir_called(v->graph, ref, number));
  if (f.result_count < count)
    return ir_verify_fail(v, ref, "function %u has %u results where %u are needed", number + 1,
                          f.result_count, count);
  for (uint32_t i = 0; i < count; i++)
    if (!one_type(v->graph, like[i], 0, f.results[i], 0))
      return ir_verify_fail(v, ref,
                            "result %u of function %u must have the type of the value that it stands for",
                            i + 1, number + 1);
  return true;
}

static bool verify_call(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  ir_scan_state none = {0}, s = ir_scan_of(n);
  uint32_t operands = ir_operand_count(n);
  if (n->op == IR_OP_COND) {
    ir_function then = ir_function_of(g, ir_called(g, ref, 0));
    if (operands == 0 || !is_truth(g, n->src[0]))
      return ir_verify_fail(v, ref, "its condition must be one bool");
    if (ir_function_of(g, ir_called(g, ref, 1)).result_count != then.result_count)
      return ir_verify_fail(v, ref, "both branches must have the same number of results");
    return check_parameters(v, ref, 0, 1, none) && check_parameters(v, ref, 1, 1, none) &&
           returns(v, ref, 1, then.results, then.result_count);
  }
  if (n->op == IR_OP_WHILE) {
    ir_function condition = ir_function_of(g, ir_called(g, ref, 0));
    int64_t carries = ir_arg_int(n);
    if (carries < 1 || carries > operands)
      return ir_verify_fail(v, ref,
                            "its state must be at least one of its operands, and at most all of them");
    if (condition.result_count != 1 || !is_truth(g, condition.results[0]))
      return ir_verify_fail(v, ref, "its condition must be one bool");
    if (ir_function_of(g, ir_called(g, ref, 1)).result_count != carries)
      return ir_verify_fail(v, ref, "its body must have one result for each value of the state");
    return check_parameters(v, ref, 0, 0, none) && check_parameters(v, ref, 1, 0, none) &&
           returns(v, ref, 1, n->src, (uint32_t)carries);
  }
  if ((uint64_t)s.carries + s.sliced > operands)
    return ir_verify_fail(v, ref, "the state and the slices together must be at most all operands");
  for (uint32_t i = s.carries; i < s.carries + s.sliced; i++)
    if (!ir_rank(g, n->src[i]) || !one_size(g, ir_dim(g, n->src[i], 0), n->src[operands + 1]))
      return ir_verify_fail(v, ref, "the first axis of a sliced operand must have the scan's length");
  return check_parameters(v, ref, 0, 0, s) && returns(v, ref, 0, n->src, s.carries);
}

static bool verify_result(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  int64_t number = ir_arg_int(n);
  bool stacked;
  if (ir_ops[ir_op_of(g, n->src[0])].cls != IR_CLASS_CONTROL)
    return ir_verify_fail(v, ref, "its source must be a call of functions");
  if (number < 0 || number >= ir_result_count(g, n->src[0]))
    return ir_verify_fail(v, ref, "its number must be below %u, the number of results of its source",
                          ir_result_count(g, n->src[0]));
  ir_ref like = ir_result_like(g, n->src[0], (uint32_t)number, &stacked);
  return one_type(g, ref, stacked, like, 0) ||
         ir_verify_fail(v, ref, "its type must be that of the result that it selects");
}

bool ir_verify_control(ir_verifier *v, ir_ref ref) {
  return ir_op_of(v->graph, ref) == IR_OP_RESULT ? verify_result(v, ref) : verify_call(v, ref);
}

bool ir_verify_function(ir_verifier *v, ir_ref func, const ir_ref *nodes, size_t count) {
  const ir_graph *g = v->graph;
  ir_function f = ir_function_of(g, func);
  if (ir_func_depth(g, func) > IR_MAX_DEPTH)
    return ir_verify_fail(v, func, "functions must not nest more than %d deep", IR_MAX_DEPTH);
  for (uint32_t i = 0; i < f.param_count; i++)
    if (ir_op_of(g, f.params[i]) != IR_OP_BUFFER)
      return ir_verify_fail(v, func, "parameters must be buffers");
  for (uint32_t i = 0; i < f.result_count + f.param_count; i++)
    if (ir_batch(g, ir_src(g, func, i)))
      return ir_verify_fail(v, func, "parameters and results of a function must not have batch axes");
  for (size_t i = 0; i < count; i++) {
    ir_op op = ir_op_of(g, nodes[i]);
    uint32_t k = 0;
    while (k < f.param_count && f.params[k] != nodes[i]) k++;
    if (op == IR_OP_INPUT || op == IR_OP_RESOURCE || (op == IR_OP_BUFFER && k == f.param_count))
      return ir_verify_fail(v, nodes[i], "a function must depend on its parameters and on constants alone");
  }
  return true;
}
