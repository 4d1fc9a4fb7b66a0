/* Custom operations in the evaluator: called, as compiled programs call them. */
#include "eval_impl.h"

#include "custom.h"

#include <inttypes.h>
#include <string.h>

static ir_custom_array array_of(const ir_slot *s) {
  ir_custom_array a = {.dtype = s->dtype, .rank = s->rank, .data = s->data};
  memcpy(a.shape, s->shape, s->rank * sizeof *s->shape);
  return a;
}

/* The taint of everything that went in: 0, or that of the first element that has one. */
static uint32_t taint_of(ir_eval_run *run, ir_ref ref, uint32_t operands) {
  for (uint32_t i = 0; i < operands; i++) {
    const ir_slot *s = ir_eval_operand(run, ref, i);
    for (int64_t k = 0; s->taint && k < s->count; k++)
      if (s->taint[k]) return s->taint[k];
  }
  return 0;
}

static ir_status make_result(ir_eval_run *run, ir_ref ref, const ir_custom_call *call, uint32_t number,
                             uint32_t taint, ir_slot *out) {
  const ir_ref *dims = ir_custom_dims(run->g, ref, call, number);
  char shape[IR_SHAPE_TEXT];
  *out = (ir_slot){.dtype = (ir_dtype)call->dtypes[number], .rank = call->ranks[number]};
  for (uint32_t k = 0; k < out->rank; k++) {
    out->shape[k] = run->index[dims[k]];
    if (!run->index_known[dims[k]] || out->shape[k] < 0)
      return ir_fail(run->error, IR_ERR_INVALID, "%s: axis %u of result %u has no size, or a negative one",
                     call->name, k, number + 1);
  }
  size_t element = ir_dtypes[out->dtype].bytes;
  if (ir_eval_count(out->shape, out->rank, element > 4 ? element : 4, &out->count))
    return ir_fail(run->error, IR_ERR_INVALID,
                   "%s: a result of type %s%s is larger than memory can be addressed", call->name,
                   ir_dtypes[out->dtype].name, ir_eval_shape_text(out->shape, out->rank, shape));
  out->bytes = (size_t)out->count * element;
  if (!(out->data = ir_alloc(run->mem, out->bytes))) return ir_eval_no_memory(run, ref);
  memset(out->data, 0, out->bytes);
  if (!taint) return IR_OK;
  if (!(out->taint = ir_alloc(run->mem, (size_t)out->count * sizeof *out->taint)))
    return ir_eval_no_memory(run, ref);
  for (int64_t k = 0; k < out->count; k++) out->taint[k] = taint;
  return IR_OK;
}

ir_status ir_eval_custom(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  ir_custom_call call;
  ir_custom_array in[IR_CUSTOM_MAX], results[IR_CUSTOM_MAX];
  ir_custom_of(run->g, ref, &call);
  uint32_t taint = taint_of(run, ref, call.operands);
  ir_status status = IR_OK;
  if (!(out->results = ir_alloc(run->mem, call.results * sizeof *out->results)))
    return ir_eval_no_memory(run, ref);
  out->result_count = call.results;
  memset(out->results, 0, call.results * sizeof *out->results);
  for (uint32_t i = 0; i < call.results && !status; i++) {
    status = make_result(run, ref, &call, i, taint, &out->results[i]);
    if (!status) results[i] = array_of(&out->results[i]);
  }
  for (uint32_t i = 0; i < call.operands; i++) in[i] = array_of(ir_eval_operand(run, ref, i));
  return status ? status : ir_custom_run(run->g->customs, &call, in, results, run->error);
}
