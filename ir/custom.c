/* Calls of custom operations: as nodes, and run. */
#include "custom.h"

#include <string.h>

ir_ref ir_custom_make(ir_graph *g, const ir_custom_call *call, const ir_ref *operands, const ir_ref *dims,
                      uint32_t dim_count) {
  ir_ref src[IR_CUSTOM_MAX + 1];
  int64_t bytes = ir_name(g, (const char *)call, sizeof *call);
  if (bytes < 0) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", call->name);
    return 0;
  }
  if (call->operands) memcpy(src, operands, call->operands * sizeof *src);
  src[call->operands] = ir_tuple(g, dims, dim_count);
  return ir_make(g, IR_OP_CUSTOM, IR_NONE, bytes, src, call->operands + 1);
}

const ir_custom_call *ir_custom_of(const ir_graph *g, ir_ref custom, ir_custom_call *room) {
  memcpy(room, ir_name_text(g, ir_get(g, custom)->arg), sizeof *room);
  return room;
}

const ir_ref *ir_custom_dims(const ir_graph *g, ir_ref custom, const ir_custom_call *call, uint32_t number) {
  const ir_ref *dims = ir_get(g, ir_src(g, custom, call->operands))->src;
  for (uint32_t i = 0; i < number; i++) dims += call->ranks[i];
  return dims;
}

ir_ref ir_custom_result(ir_graph *g, ir_ref custom, const ir_custom_call *call, uint32_t number) {
  ir_ref shape = ir_tuple(g, ir_custom_dims(g, custom, call, number), call->ranks[number]);
  return ir_result(g, custom, number, (ir_dtype)call->dtypes[number], shape);
}

bool ir_custom_has_effect(const ir_graph *g, ir_ref node) {
  ir_custom_call call;
  if (ir_op_of(g, node) == IR_OP_RESULT) node = ir_src(g, node, 0);
  if (ir_op_of(g, node) != IR_OP_CUSTOM || !g->customs) return false;
  ir_custom_of(g, node, &call);
  const ir_custom *custom = g->customs->find(g->customs, call.name, strlen(call.name));
  return custom && custom->effect;
}

const char *ir_custom_text(const ir_custom_call *call, uint32_t at) {
  return (const char *)&call->values[at];
}

bool ir_custom_is_call(const void *bytes, size_t size, uint32_t operands) {
  ir_custom_call call;
  if (size != sizeof call) return false;
  memcpy(&call, bytes, sizeof call);
  bool good = memchr(call.name, '\0', sizeof call.name) != NULL && call.operands == operands &&
              call.operands <= IR_CUSTOM_MAX && call.results >= 1 && call.results <= IR_CUSTOM_MAX &&
              call.attributes <= IR_CUSTOM_MAX;
  for (uint32_t i = 0; good && i < call.results; i++)
    good = call.dtypes[i] > IR_NONE && call.dtypes[i] < IR_INDEX && call.ranks[i] >= call.batch &&
           call.ranks[i] <= IR_MAX_RANK;
  return good;
}

/* running: once for each element of the batch, or once for all */

static const ir_custom *find_custom(const ir_customs *customs, const ir_custom_call *call, ir_error *error) {
  const ir_custom *c = customs ? customs->find(customs, call->name, strlen(call->name)) : NULL;
  if (c && c->run && c->operands == call->operands && c->results == call->results &&
      c->attribute_count == call->attributes)
    return c;
  if (c)
    ir_fail(error, IR_ERR_INTERNAL,
            "%s: the graph was recorded with an operation of %u operands, %u results and %u attributes; the "
            "one that "
            "is registered has %u, %u and %u%s",
            call->name, call->operands, call->results, call->attributes, c->operands, c->results,
            c->attribute_count, c->run ? "" : ", and is composed of others");
  else
    ir_fail(error, IR_ERR_INTERNAL,
            "%s: no custom operation of that name is registered in this context; register it "
            "with vf_register_op first",
            call->name);
  return NULL;
}

/* The array of the first batch element in *out; returns the bytes of one element. */
static size_t batch_element(const ir_custom_array *whole, uint32_t batch, ir_custom_array *out) {
  size_t bytes = ir_dtypes[whole->dtype].bytes;
  *out = *whole;
  out->rank = whole->rank - batch;
  for (uint32_t k = 0; k < out->rank; k++) bytes *= (size_t)(out->shape[k] = whole->shape[k + batch]);
  return bytes;
}

ir_status ir_custom_run(const ir_customs *customs, const ir_custom_call *call,
                        const ir_custom_array *operands, const ir_custom_array *results, ir_error *error) {
  const ir_custom *custom = find_custom(customs, call, error);
  ir_custom_array in[IR_CUSTOM_MAX], out[IR_CUSTOM_MAX];
  size_t in_bytes[IR_CUSTOM_MAX], out_bytes[IR_CUSTOM_MAX];
  int64_t count = 1;
  if (!custom) return error->status;
  if (custom->whole) return custom->run(custom, call, operands, results, error);
  for (uint32_t i = 0; i < call->operands; i++)
    in_bytes[i] = batch_element(&operands[i], call->batch, &in[i]);
  for (uint32_t i = 0; i < call->results; i++)
    out_bytes[i] = batch_element(&results[i], call->batch, &out[i]);
  for (uint32_t k = 0; k < call->batch; k++) count *= results[0].shape[k];
  for (int64_t at = 0; at < count; at++) {
    ir_status status = custom->run(custom, call, in, out, error);
    if (status) return status;
    for (uint32_t i = 0; i < call->operands; i++) in[i].data = (char *)in[i].data + in_bytes[i];
    for (uint32_t i = 0; i < call->results; i++) out[i].data = (char *)out[i].data + out_bytes[i];
  }
  return IR_OK;
}
