/* Evaluation of values with batches: a node is evaluated once per element of its batch, on the corresponding
 * slices of its operands. Also the views that move axes into a batch and out of it. */
#include "impl.h"

#include <string.h>

/* The batch sizes of a node. The slot of a batched value has them in front of its shape. */
static ir_status batch_sizes(ir_eval_run *run, ir_ref ref, int64_t *sizes, uint32_t *rank) {
  ir_ref tuple = ir_batch(run->g, ref);
  const ir_node *batch = tuple ? ir_get(run->g, tuple) : NULL;
  const char *text = ir_ops[ir_op_of(run->g, ref)].text;
  *rank = batch ? batch->nsrc : 0;
  if (*rank + ir_rank(run->g, ref) > IR_MAX_RANK)
    return ir_fail(run->error, IR_ERR_INTERNAL, "%s: node %u has too many axes", text, ref);
  for (uint32_t k = 0; k < *rank; k++) {
    if (!run->index_known[batch->src[k]])
      return ir_fail(run->error, IR_ERR_INTERNAL, "%s: batch axis %u of node %u has no known size", text, k,
                     ref);
    sizes[k] = run->index[batch->src[k]];
    if (sizes[k] < 0)
      return ir_fail(run->error, IR_ERR_INVALID,
                     "%s: batch axis %u has the negative size %lld; sizes are at least 0", text, k,
                     (long long)sizes[k]);
  }
  return IR_OK;
}

ir_status ir_eval_physical(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  int64_t sizes[IR_MAX_RANK];
  uint32_t batch_rank;
  ir_status status = batch_sizes(run, ref, sizes, &batch_rank);
  if (status) return status;
  memmove(out->shape + batch_rank, out->shape, out->rank * sizeof *out->shape);
  memcpy(out->shape, sizes, batch_rank * sizeof *sizes);
  out->rank += batch_rank;
  return IR_OK;
}

static ir_status allocate_slot(ir_eval_run *run, ir_ref ref, ir_slot *out, bool tainted) {
  char shape[IR_SHAPE_TEXT];
  size_t element = ir_dtypes[out->dtype].bytes;
  if (ir_eval_count(out->shape, out->rank, element > 4 ? element : 4, &out->count))
    return ir_fail(run->error, IR_ERR_INVALID,
                   "%s: a result of type %s%s is larger than memory can be addressed",
                   ir_ops[ir_op_of(run->g, ref)].text, ir_dtypes[out->dtype].name,
                   ir_eval_shape_text(out->shape, out->rank, shape));
  size_t bytes = (size_t)out->count * element, taints = (size_t)out->count * sizeof *out->taint;
  if (!(out->data = ir_alloc(run->mem, bytes))) return ir_eval_no_memory(run, ref);
  out->bytes = bytes;
  if (!tainted) return IR_OK;
  if (!(out->taint = ir_alloc(run->mem, taints))) return ir_eval_no_memory(run, ref);
  memset(out->taint, 0, taints);
  return IR_OK;
}

static void copy_element(const ir_slot *from, int64_t at, ir_slot *to, int64_t place) {
  size_t element = ir_dtypes[to->dtype].bytes;
  memcpy(to->data + (size_t)place * element, from->data + (size_t)at * element, element);
  if (to->taint && from->taint) to->taint[place] = from->taint[at];
}

/* views of batches */

/* The operand's coordinates, from those of the result. `at` includes the batch axes of size 1 that the result
 * may lack. */
static void source_of(const ir_node *n, const int64_t *at, uint32_t rank, uint32_t operand_lead,
                      int64_t *from) {
  uint32_t axis = (uint32_t)ir_arg_int(n), level = (uint32_t)ir_arg_mode(n), k = 0;
  if (n->op == IR_OP_BATCH) { /* at: `level` batch axes, 0 where the operand lacks them; then the others */
    for (uint32_t i = level - operand_lead; i < level; i++) from[k++] = at[i];
    for (uint32_t i = level; i < level + axis; i++) from[k++] = at[i];
    from[k++] = at[0];
    for (uint32_t i = level + axis; i < rank; i++) from[k++] = at[i];
    return;
  }
  /* at: level - 1 batch axes, or as many as the operand has; then the other axes */
  bool varies = operand_lead == level;
  uint32_t batch_rank = varies ? level - 1 : operand_lead;
  if (varies) from[k++] = at[batch_rank + axis];
  for (uint32_t i = 0; i < rank; i++)
    if (i != batch_rank + axis) from[k++] = at[i];
}

static ir_status eval_view(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_node *n = ir_get(run->g, ref);
  const ir_slot *x = ir_eval_operand(run, ref, 0);
  ir_status status = ir_eval_physical(run, ref, out);
  if (!status) status = allocate_slot(run, ref, out, x->taint != NULL);
  if (status) return status;
  if (n->op == IR_OP_REBATCH || out->count == 0) {
    for (int64_t i = 0; i < out->count && i < x->count; i++) copy_element(x, i, out, i);
    return IR_OK;
  }
  uint32_t batch_rank = ir_batch_rank(run->g, n->src[0]), level = (uint32_t)ir_arg_mode(n), rank;
  int64_t full[IR_MAX_RANK + 1], at[IR_MAX_RANK + 1] = {0}, from[IR_MAX_RANK + 1], strides[IR_MAX_RANK];
  ir_eval_strides(x->shape, x->rank, strides);
  if (n->op == IR_OP_BATCH) {
    memcpy(full, out->shape, (rank = out->rank) * sizeof *full);
  } else { /* restore the batch sizes of 1 that the result lacks */
    uint32_t padded_rank = batch_rank == level ? level - 1 : batch_rank,
             missing = padded_rank - ir_batch_rank(run->g, ref);
    for (uint32_t i = 0; i < missing; i++) full[i] = 1;
    memcpy(full + missing, out->shape, out->rank * sizeof *full);
    rank = out->rank + missing;
  }
  for (int64_t i = 0; i < out->count; i++, ir_eval_next(at, full, rank)) {
    int64_t offset = 0;
    source_of(n, at, rank, batch_rank, from);
    for (uint32_t k = 0; k < x->rank; k++) offset += x->shape[k] == 1 ? 0 : from[k] * strides[k];
    copy_element(x, offset, out, i);
  }
  return IR_OK;
}

/* other nodes */

typedef struct slicing {
  ir_slot *saved; /* whole values of the operands */
  uint32_t count;
  int64_t sizes[IR_MAX_RANK];
  uint32_t rank;
} slicing;

/* The slice of an operand for one element of the node's batch. Batches align at the last axis. */
static ir_slot slice_of(const ir_eval_run *run, const slicing *s, const ir_slot *whole, ir_ref x,
                        const int64_t *at) {
  ir_slot slice = *whole;
  uint32_t batch_rank = ir_batch_rank(run->g, x);
  int64_t number = 0;
  for (uint32_t k = 0; k < batch_rank; k++)
    number = number * whole->shape[k] + (whole->shape[k] == 1 ? 0 : at[s->rank - batch_rank + k]);
  memmove(slice.shape, whole->shape + batch_rank, (whole->rank - batch_rank) * sizeof *slice.shape);
  slice.rank = whole->rank - batch_rank;
  slice.count = 1;
  for (uint32_t k = 0; k < slice.rank; k++) slice.count *= slice.shape[k];
  slice.bytes = (size_t)slice.count * ir_dtypes[slice.dtype].bytes;
  if (batch_rank && slice.data) slice.data += (size_t)number * slice.bytes;
  if (batch_rank && slice.taint) slice.taint += number * slice.count;
  return slice;
}

static void put_slices(ir_eval_run *run, const slicing *s, ir_ref ref, const int64_t *at) {
  for (uint32_t i = 0; i < s->count; i++) {
    ir_ref x = ir_src(run->g, ref, i);
    run->slots[run->slot_number[x]] = at ? slice_of(run, s, &s->saved[i], x, at) : s->saved[i];
  }
}

/* Copies the result for one element of the batch into the whole result. */
static ir_status put_element(ir_eval_run *run, ir_ref ref, const ir_slot *element_slot, int64_t number,
                             ir_slot *out) {
  if (element_slot->taint && !out->taint) {
    size_t bytes = (size_t)out->count * sizeof *out->taint;
    if (!(out->taint = ir_alloc(run->mem, bytes))) return ir_eval_no_memory(run, ref);
    memset(out->taint, 0, bytes);
  }
  if (element_slot->bytes)
    memcpy(out->data + (size_t)number * element_slot->bytes, element_slot->data, element_slot->bytes);
  for (int64_t i = 0; element_slot->taint && i < element_slot->count; i++)
    out->taint[number * element_slot->count + i] = element_slot->taint[i];
  return IR_OK;
}

static ir_status eval_element(ir_eval_run *run, ir_ref ref, ir_eval_one one, int64_t number, ir_slot *out) {
  ir_slot element_slot = {.dtype = out->dtype};
  ir_status status = one(run, ref, &element_slot);
  if (!status) status = put_element(run, ref, &element_slot, number, out);
  ir_free(run->mem, element_slot.data, element_slot.bytes);
  ir_free(run->mem, element_slot.taint, (size_t)element_slot.count * sizeof *element_slot.taint);
  return status;
}

static ir_status eval_elements(ir_eval_run *run, ir_ref ref, ir_eval_one one, ir_slot *out) {
  slicing s = {.count = ir_operand_count(ir_get(run->g, ref))};
  ir_status status = batch_sizes(run, ref, s.sizes, &s.rank);
  if (!status) status = ir_eval_physical(run, ref, out);
  if (!status) status = allocate_slot(run, ref, out, false);
  if (status || out->count == 0) return status;
  if (!(s.saved = ir_alloc(run->mem, s.count * sizeof *s.saved))) return ir_eval_no_memory(run, ref);
  for (uint32_t i = 0; i < s.count; i++) s.saved[i] = *ir_eval_operand(run, ref, i);
  int64_t at[IR_MAX_RANK] = {0}, number = 0;
  bool more = true;
  for (; more && !status; more = ir_eval_next(at, s.sizes, s.rank)) {
    put_slices(run, &s, ref, at);
    status = eval_element(run, ref, one, number++, out);
  }
  put_slices(run, &s, ref, NULL);
  ir_free(run->mem, s.saved, s.count * sizeof *s.saved);
  return status;
}

static bool is_view_of_batches(ir_op op) {
  return op == IR_OP_REBATCH || op == IR_OP_BATCH || op == IR_OP_UNBATCH;
}

/* nodes with several results: one call per element */

/* The merged batch sizes of the operands; false if no operand has a batch. */
static bool sizes_of_operands(const ir_eval_run *run, ir_ref ref, slicing *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t batch_rank = ir_batch_rank(run->g, ir_src(run->g, ref, i));
    if (batch_rank > s->rank) s->rank = batch_rank;
  }
  for (uint32_t k = 0; k < s->rank; k++) s->sizes[k] = 1;
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t batch_rank = ir_batch_rank(run->g, ir_src(run->g, ref, i));
    for (uint32_t k = 0; k < batch_rank; k++) {
      int64_t size = ir_eval_operand(run, ref, i)->shape[k], *all = &s->sizes[s->rank - batch_rank + k];
      if (*all == 1) *all = size;
    }
  }
  return s->rank > 0;
}

/* Allocates a result for the whole batch; `element_slot` is the result for one element. */
static ir_status start_result(ir_eval_run *run, ir_ref ref, const slicing *s, const ir_slot *element_slot,
                              ir_slot *out) {
  if (s->rank + element_slot->rank > IR_MAX_RANK)
    return ir_fail(run->error, IR_ERR_INTERNAL, "%s: node %u has too many axes",
                   ir_ops[ir_op_of(run->g, ref)].text, ref);
  *out = (ir_slot){.dtype = element_slot->dtype, .rank = s->rank + element_slot->rank};
  memcpy(out->shape, s->sizes, s->rank * sizeof *out->shape);
  memcpy(out->shape + s->rank, element_slot->shape, element_slot->rank * sizeof *out->shape);
  return allocate_slot(run, ref, out, false);
}

static ir_status call_element(ir_eval_run *run, ir_ref ref, const slicing *s, ir_eval_one one, int64_t number,
                              ir_slot *out) {
  ir_slot stacked = {0};
  ir_status status = one(run, ref, &stacked);
  for (uint32_t i = 0; i < out->result_count && !status; i++) {
    ir_slot *element_slot = &stacked.results[i], *whole = &out->results[i];
    if (number == 0) status = start_result(run, ref, s, element_slot, whole);
    if (!status) status = put_element(run, ref, element_slot, number, whole);
  }
  ir_eval_release(run, &stacked);
  return status;
}

/* Nothing is called for a batch without elements: the RESULT nodes make empty results of their shapes. */
static ir_status call_elements(ir_eval_run *run, ir_ref ref, slicing *s, ir_eval_one one, ir_slot *out) {
  int64_t at[IR_MAX_RANK] = {0}, number = 0, count = 1;
  ir_status status = IR_OK;
  for (uint32_t k = 0; k < s->rank; k++) count *= s->sizes[k];
  bool more = count > 0;
  for (uint32_t i = 0; i < s->count; i++) s->saved[i] = *ir_eval_operand(run, ref, i);
  for (; more && !status; more = ir_eval_next(at, s->sizes, s->rank)) {
    put_slices(run, s, ref, at);
    status = call_element(run, ref, s, one, number++, out);
  }
  put_slices(run, s, ref, NULL);
  return status;
}

ir_status ir_eval_call(ir_eval_run *run, ir_ref ref, ir_eval_one one, ir_slot *out) {
  slicing s = {.count = ir_operand_count(ir_get(run->g, ref))};
  if (!sizes_of_operands(run, ref, &s)) return one(run, ref, out);
  uint32_t results = ir_result_count(run->g, ref);
  s.saved = ir_alloc(run->mem, s.count * sizeof *s.saved);
  out->results = ir_alloc(run->mem, results * sizeof *out->results);
  if (out->results) {
    memset(out->results, 0, results * sizeof *out->results);
    out->result_count = results;
  }
  ir_status status =
      s.saved && out->results ? call_elements(run, ref, &s, one, out) : ir_eval_no_memory(run, ref);
  ir_free(run->mem, s.saved, s.count * sizeof *s.saved);
  return status;
}

bool ir_eval_is_batched(const ir_eval_run *run, ir_ref ref) {
  ir_op op = ir_op_of(run->g, ref);
  return is_view_of_batches(op) ||
         (ir_batch(run->g, ref) && ir_ops[op].cls != IR_CLASS_LEAF && op != IR_OP_RESULT);
}

ir_status ir_eval_batched(ir_eval_run *run, ir_ref ref, ir_eval_one one, ir_slot *out) {
  return is_view_of_batches(ir_op_of(run->g, ref)) ? eval_view(run, ref, out)
                                                   : eval_elements(run, ref, one, out);
}
