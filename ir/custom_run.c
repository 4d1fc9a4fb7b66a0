/* Runs a call of a custom operation, once for each element of its batch, or once for all. */
#include "custom.h"

#include <string.h>

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
