/* Writes through a view: the elements of an array at the positions that a tensor holds. */
#include "impl.h"

#include <string.h>

/* Stores or adds the updates in row-major order to `values`, a copy of the data. An index that was out of
 * range when the positions were made taints the whole result, and its update is left out. */
static void apply_updates(const ir_slot *at, const ir_slot *updates, bool adds, ir_slot *out,
                          ir_value *values) {
  size_t bytes = ir_dtypes[out->dtype].bytes, position_bytes = ir_dtypes[at->dtype].bytes;
  uint32_t wrong = 0;
  for (int64_t i = 0; i < updates->count; i++) {
    int64_t position = ir_value_load(at->data + (size_t)i * position_bytes, at->dtype).i;
    uint32_t taint = updates->taint ? updates->taint[i] : 0;
    if (!wrong && at->taint) wrong = at->taint[i];
    if (position < 0 || position >= out->count || (at->taint && at->taint[i])) continue;
    ir_value update = ir_value_load(updates->data + (size_t)i * bytes, out->dtype);
    values[position] = adds ? ir_eval_add(values[position], update, out->dtype) : update;
    if (out->taint && (!adds || taint)) out->taint[position] = taint;
  }
  for (int64_t i = 0; wrong && i < out->count; i++) out->taint[i] = wrong;
}

ir_status ir_eval_assign(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_slot *data = ir_eval_operand(run, ref, 0), *at = ir_eval_operand(run, ref, 1),
                *updates = ir_eval_operand(run, ref, 2);
  char want[IR_SHAPE_TEXT], have[IR_SHAPE_TEXT];
  if (at->rank != updates->rank || memcmp(at->shape, updates->shape, at->rank * sizeof *at->shape) != 0)
    return ir_fail(run->error, IR_ERR_INVALID, "assign: the value has shape %s, but the target has %s",
                   ir_eval_shape_text(updates->shape, updates->rank, have),
                   ir_eval_shape_text(at->shape, at->rank, want));
  out->rank = data->rank;
  memcpy(out->shape, data->shape, sizeof out->shape);
  ir_status status = ir_eval_alloc(run, ref, out, data->taint || at->taint || updates->taint);
  if (status) return status;
  size_t count = (size_t)out->count, bytes = ir_dtypes[out->dtype].bytes;
  ir_value *values = ir_alloc(run->mem, count * sizeof *values);
  if (!values) return ir_eval_no_memory(run, ref);
  for (size_t i = 0; i < count; i++) {
    values[i] = ir_value_load(data->data + i * bytes, out->dtype);
    if (data->taint) out->taint[i] = data->taint[i];
  }
  apply_updates(at, updates, ir_arg_mode(ir_get(run->g, ref)) == IR_WRITE_ADD, out, values);
  for (size_t i = 0; i < count; i++) ir_value_store(out->data + i * bytes, out->dtype, values[i]);
  ir_free(run->mem, values, count * sizeof *values);
  return IR_OK;
}
