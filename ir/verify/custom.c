/* The verifier's rules for calls of custom operations. */
#include "ir/custom.h"
#include "ir/verify/verify.h"

static bool one_size(const ir_graph *g, ir_ref a, ir_ref b) {
  int64_t x, y;
  return a == b || !ir_is_const(g, a, &x) || !ir_is_const(g, b, &y) || x == y;
}

static bool verify_call(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  ir_custom_call call;
  uint32_t sizes = 0, operands = ir_operand_count(n);
  if (!ir_custom_is_call(ir_name_text(g, n->arg), ir_name_length(g, n->arg), operands))
    return ir_verify_fail(v, ref, "its attributes must describe a call with %u operands", operands);
  ir_custom_of(g, ref, &call);
  for (uint32_t i = 0; i < operands; i++)
    if (!ir_shape(g, n->src[i]) || ir_rank(g, n->src[i]) < call.batch)
      return ir_verify_fail(v, ref, "operand %u must be a tensor of %u axes or more", i + 1, call.batch);
  for (uint32_t i = 0; i < call.results; i++) sizes += call.ranks[i];
  const ir_node *dims = ir_get(g, n->src[operands]);
  if (dims->op != IR_OP_TUPLE || dims->nsrc != sizes)
    return ir_verify_fail(v, ref, "its operands must be followed by the %u sizes of its results", sizes);
  for (uint32_t i = 0; i < sizes; i++)
    if (ir_dtype_of(g, dims->src[i]) != IR_INDEX)
      return ir_verify_fail(v, ref, "sizes must be index expressions");
  return true;
}

static bool verify_result(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  ir_custom_call call;
  int64_t number = ir_arg_int(n);
  ir_custom_of(g, n->src[0], &call);
  if (number < 0 || number >= call.results)
    return ir_verify_fail(v, ref, "its number must be below %u, the number of results of its source",
                          call.results);
  bool alike = n->dtype == call.dtypes[number] && ir_rank(g, ref) == call.ranks[number];
  for (uint32_t k = 0; alike && k < call.ranks[number]; k++)
    alike = one_size(g, ir_dim(g, ref, k), ir_custom_dims(g, n->src[0], &call, (uint32_t)number)[k]);
  return alike || ir_verify_fail(v, ref, "its type must be that of the result that it selects");
}

bool ir_verify_custom(ir_verifier *v, ir_ref ref) {
  return ir_op_of(v->graph, ref) == IR_OP_RESULT ? verify_result(v, ref) : verify_call(v, ref);
}
