/* Custom operations in the evaluator: it calls the same function as compiled programs do. */
#include "impl.h"

#include "ir/custom.h"

#include <inttypes.h>
#include <string.h>

static ir_custom_array array_of(const ir_slot *s) {
  ir_custom_array a = {.dtype = s->dtype, .rank = s->rank, .data = s->data};
  memcpy(a.shape, s->shape, s->rank * sizeof *s->shape);
  return a;
}

/* The taint of all results: that of the first tainted element of any operand, or 0. */
static uint32_t taint_of(ir_eval_run *run, ir_ref ref, uint32_t operands) {
  for (uint32_t i = 0; i < operands; i++) {
    const ir_slot *s = ir_eval_operand(run, ref, i);
    for (int64_t k = 0; s->taint && k < s->count; k++)
      if (s->taint[k]) return s->taint[k];
  }
  return 0;
}

/* The merged batch of the operands, whose slots have batch sizes in front of their shapes. */
typedef struct merged_batch {
  int64_t sizes[IR_MAX_RANK];
  uint32_t rank, operand_rank[IR_CUSTOM_MAX]; /* of the merged batch; of each operand */
} merged_batch;

static ir_status find_merged_batch(ir_eval_run *run, ir_ref ref, const ir_custom_call *call,
                                   merged_batch *out) {
  *out = (merged_batch){0};
  for (uint32_t i = 0; i < call->operands; i++) {
    out->operand_rank[i] = ir_eval_operand(run, ref, i)->rank - ir_rank(run->g, ir_src(run->g, ref, i));
    if (out->operand_rank[i] > out->rank) out->rank = out->operand_rank[i];
  }
  for (uint32_t k = 0; k < out->rank; k++) out->sizes[k] = 1;
  for (uint32_t i = 0; i < call->operands; i++)
    for (uint32_t k = 0; k < out->operand_rank[i]; k++) {
      int64_t size = ir_eval_operand(run, ref, i)->shape[k],
              *all = &out->sizes[out->rank - out->operand_rank[i] + k];
      if (*all == 1) *all = size;
      else if (size != 1 && size != *all)
        return ir_fail(run->error, IR_ERR_INTERNAL,
                       "%s: batches of its operands have sizes %" PRId64 " and %" PRId64, call->name, *all,
                       size);
    }
  return IR_OK;
}

/* The array of batch element `at` (coordinates); the array has the last `batch_rank` axes of the batch. */
static ir_custom_array element_of(const ir_custom_array *whole, uint32_t batch_rank,
                                  const merged_batch *batch, const int64_t *at) {
  ir_custom_array one = *whole;
  int64_t place = 0, bytes = ir_dtypes[whole->dtype].bytes;
  one.rank = whole->rank - batch_rank;
  for (uint32_t k = 0; k < batch_rank; k++)
    place = place * whole->shape[k] + (whole->shape[k] == 1 ? 0 : at[batch->rank - batch_rank + k]);
  for (uint32_t k = 0; k < one.rank; k++) bytes *= one.shape[k] = whole->shape[batch_rank + k];
  one.data = (char *)whole->data + place * bytes;
  return one;
}

static ir_status make_result(ir_eval_run *run, ir_ref ref, const ir_custom_call *call,
                             const merged_batch *batch, uint32_t number, uint32_t taint, ir_slot *out) {
  const ir_ref *dims = ir_custom_dims(run->g, ref, call, number);
  char shape[IR_SHAPE_TEXT];
  *out = (ir_slot){.dtype = (ir_dtype)call->dtypes[number], .rank = batch->rank + call->ranks[number]};
  if (out->rank > IR_MAX_RANK)
    return ir_fail(run->error, IR_ERR_INTERNAL, "%s: result %u has too many axes in its batch", call->name,
                   number + 1);
  memcpy(out->shape, batch->sizes, batch->rank * sizeof *out->shape);
  for (uint32_t k = 0; k < call->ranks[number]; k++) {
    out->shape[batch->rank + k] = run->index[dims[k]];
    if (!run->index_known[dims[k]] || run->index[dims[k]] < 0)
      return ir_fail(run->error, IR_ERR_INTERNAL, "%s: axis %u of result %u has no size, or a negative one",
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
  merged_batch batch;
  status = find_merged_batch(run, ref, &call, &batch);
  for (uint32_t i = 0; i < call.results && !status; i++) {
    status = make_result(run, ref, &call, &batch, i, taint, &out->results[i]);
    if (!status) results[i] = array_of(&out->results[i]);
  }
  for (uint32_t i = 0; i < call.operands; i++) in[i] = array_of(ir_eval_operand(run, ref, i));
  int64_t at[IR_MAX_RANK] = {0}, count = 1;
  for (uint32_t k = 0; k < batch.rank; k++) count *= batch.sizes[k];
  const ir_customs *all = run->observer ? run->observer->customs : run->g->customs;
  const ir_custom *custom = all ? all->find(all, call.name, strlen(call.name)) : NULL;
  if (custom && custom->whole && !status) {
    call.batch += batch.rank;
    return ir_custom_run(all, &call, in, results, run->error);
  }
  for (int64_t n = 0; n < count && !status; n++, ir_eval_next(at, batch.sizes, batch.rank)) {
    ir_custom_array element_in[IR_CUSTOM_MAX], element_out[IR_CUSTOM_MAX];
    for (uint32_t i = 0; i < call.operands; i++)
      element_in[i] = element_of(&in[i], batch.operand_rank[i], &batch, at);
    for (uint32_t i = 0; i < call.results; i++)
      element_out[i] = element_of(&results[i], batch.rank, &batch, at);
    status = ir_custom_run(all, &call, element_in, element_out, run->error);
  }
  return status;
}
