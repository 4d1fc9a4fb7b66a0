/* Gather and scatter: elements along one axis at the indices that a tensor holds. */
#include "impl.h"

#include "ir/arith.h"

#include <inttypes.h>
#include <string.h>

/* One gather or scatter. The region that it accesses has the shape of a gather's result and of a scatter's
 * updates. */
typedef struct indirection {
  const ir_slot *data, *indices;
  int64_t axis, mode, batch, size;
  uint32_t rank, index_rank; /* rank of the region; number of its axes that replace the indexed axis */
  int64_t shape[IR_MAX_RANK], strides[IR_MAX_RANK], index_strides[IR_MAX_RANK];
  bool checked; /* are out-of-range indices range errors? CLIP on an axis of size 0 has no nearest index, so
                   it is checked, too */
} indirection;

static ir_status read_indirection(ir_eval_run *run, ir_ref ref, indirection *in) {
  const ir_node *n = ir_get(run->g, ref);
  const ir_slot *data = ir_eval_operand(run, ref, 0), *indices = ir_eval_operand(run, ref, 1);
  *in = (indirection){.data = data, .indices = indices, .axis = ir_arg_int(n), .mode = ir_arg_mode(n)};
  in->batch = ir_arg_small(n);
  bool fits = in->axis >= 0 && in->axis < data->rank && in->batch <= in->axis && in->batch <= indices->rank &&
              data->rank - 1 + indices->rank - (uint32_t)in->batch <= IR_MAX_RANK &&
              ir_is_data_int(indices->dtype);
  for (uint32_t k = 0; fits && k < in->batch; k++) fits = data->shape[k] == indices->shape[k];
  if (!fits)
    return ir_fail(run->error, IR_ERR_INVALID,
                   "%s: axis %" PRId64 " of data of rank %u with indices of %s and rank %u, of which %" PRId64
                   " axes are shared",
                   ir_ops[n->op].text, in->axis, data->rank, ir_dtypes[indices->dtype].name, indices->rank,
                   in->batch);
  in->size = data->shape[in->axis];
  in->index_rank = indices->rank - (uint32_t)in->batch;
  in->rank = data->rank - 1 + in->index_rank;
  for (uint32_t k = 0; k < in->rank; k++)
    in->shape[k] = k < in->axis                    ? data->shape[k]
                   : k < in->axis + in->index_rank ? indices->shape[in->batch + k - in->axis]
                                                   : data->shape[k - in->index_rank + 1];
  ir_eval_strides(data->shape, data->rank, in->strides);
  ir_eval_strides(indices->shape, indices->rank, in->index_strides);
  in->checked = in->mode == IR_GATHER_CHECK || (in->mode == IR_GATHER_CLIP && in->size == 0);
  return IR_OK;
}

/* The element at a coordinate of the region: which element of the indices it uses, and which of the data. */
typedef struct access {
  int64_t index, data_index; /* element of the indices; element of the data, if readable */
  bool inside, readable;
} access;

static access locate_element(const indirection *in, const int64_t *coord) {
  access p = {0};
  for (uint32_t k = 0; k < in->indices->rank; k++)
    p.index += in->index_strides[k] * coord[k < in->batch ? k : k - in->batch + in->axis];
  const ir_slot *indices = in->indices;
  int64_t given =
      ir_value_load(indices->data + (size_t)p.index * ir_dtypes[indices->dtype].bytes, indices->dtype).i;
  bool huge = ir_dtypes[indices->dtype].kind == IR_KIND_UNSIGNED && given < 0; /* 2^63 and more */
  int64_t from_start = given < 0 && !huge ? given + in->size : given;
  p.inside = !huge && from_start >= 0 && from_start < in->size;
  p.readable = p.inside || (in->size > 0 && in->mode != IR_GATHER_FILL);
  int64_t nearest = p.inside ? from_start : huge || from_start >= in->size ? in->size - 1 : 0;
  for (uint32_t k = 0; k < in->data->rank; k++)
    p.data_index +=
        in->strides[k] * (k == in->axis ? nearest : coord[k < in->axis ? k : k + in->index_rank - 1]);
  return p;
}

static ir_status add_range_error(ir_eval_run *run, ir_ref ref, const indirection *in, int64_t at,
                                 uint32_t *taint) {
  const ir_slot *indices = in->indices;
  if (run->range_error_count >= UINT32_MAX - 1 ||
      !IR_RESERVE(run->mem, run->range_errors, run->range_error_cap, run->range_error_count + 1))
    return ir_eval_no_memory(run, ref);
  ir_value given =
      ir_value_load(indices->data + (size_t)at * ir_dtypes[indices->dtype].bytes, indices->dtype);
  ir_eval_fault *made = &run->range_errors[run->range_error_count];
  *made = (ir_eval_fault){.node = ref,
                          .index = given.i,
                          .size = in->size,
                          .axis = (uint32_t)in->axis,
                          .is_unsigned = indices->dtype == IR_U64,
                          .rank = indices->rank};
  for (uint32_t k = indices->rank; k-- > 0; at /= indices->shape[k]) made->at[k] = at % indices->shape[k];
  *taint = (uint32_t)++run->range_error_count;
  return run->at_once ? ir_eval_range_fails(run, made) : IR_OK;
}

/* result[.., i.., ..] = data[.., indices[i..], ..] */
ir_status ir_eval_gather(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  indirection in;
  ir_status status = read_indirection(run, ref, &in);
  if (status) return status;
  out->rank = in.rank;
  memcpy(out->shape, in.shape, sizeof in.shape);
  status = ir_eval_alloc(run, ref, out, in.checked || in.data->taint || in.indices->taint);
  size_t bytes = ir_dtypes[out->dtype].bytes;
  int64_t coord[IR_MAX_RANK] = {0};
  for (int64_t i = 0; !status && i < out->count; i++, ir_eval_next(coord, out->shape, out->rank)) {
    access p = locate_element(&in, coord);
    if (p.readable)
      memcpy(out->data + (size_t)i * bytes, in.data->data + (size_t)p.data_index * bytes, bytes);
    else memset(out->data + (size_t)i * bytes, 0, bytes);
    if (in.indices->taint && in.indices->taint[p.index]) out->taint[i] = in.indices->taint[p.index];
    else if (!p.inside && in.checked) status = add_range_error(run, ref, &in, p.index, &out->taint[i]);
    else if (p.readable && in.data->taint) out->taint[i] = in.data->taint[p.data_index];
  }
  return status;
}

ir_value ir_eval_add(ir_value a, ir_value b, ir_dtype dtype) {
  if (!ir_is_float(dtype))
    return ir_value_cast((ir_value){.i = (int64_t)((uint64_t)a.i + (uint64_t)b.i)}, IR_I64, dtype);
  double exact = a.f + b.f;
  return (ir_value){.f = dtype == IR_F64 ? exact : (double)(float)exact};
}

/* Applies the updates in order to `values`, a copy of the data. An out-of-range index taints the whole
 * result. */
static ir_status apply_updates(ir_eval_run *run, ir_ref ref, const indirection *in, ir_slot *out,
                               ir_value *values) {
  const ir_slot *updates = ir_eval_operand(run, ref, 2);
  bool adds = ir_op_of(run->g, ref) == IR_OP_SCATTER_ADD;
  size_t bytes = ir_dtypes[out->dtype].bytes;
  int64_t coord[IR_MAX_RANK] = {0};
  uint32_t wrong = 0;
  for (int64_t i = 0; i < updates->count; i++, ir_eval_next(coord, in->shape, in->rank)) {
    access p = locate_element(in, coord);
    if (!wrong && in->indices->taint) wrong = in->indices->taint[p.index];
    if (!wrong && !p.inside && in->checked) {
      ir_status status = add_range_error(run, ref, in, p.index, &wrong);
      if (status) return status;
    }
    if (!p.readable) continue;
    ir_value update = ir_value_load(updates->data + (size_t)i * bytes, out->dtype);
    values[p.data_index] = adds ? ir_eval_add(values[p.data_index], update, out->dtype) : update;
    if (!out->taint) continue;
    uint32_t taint = updates->taint ? updates->taint[i] : 0;
    if (!adds || taint) out->taint[p.data_index] = taint;
  }
  for (int64_t i = 0; wrong && i < out->count; i++) out->taint[i] = wrong;
  return IR_OK;
}

ir_status ir_eval_scatter(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  indirection in;
  const ir_slot *updates = ir_eval_operand(run, ref, 2);
  char want[IR_SHAPE_TEXT], have[IR_SHAPE_TEXT];
  ir_status status = read_indirection(run, ref, &in);
  if (status) return status;
  if (updates->rank != in.rank || memcmp(updates->shape, in.shape, in.rank * sizeof *in.shape) != 0)
    return ir_fail(run->error, IR_ERR_INVALID, "%s: the updates have shape %s, but %s is at the indices",
                   ir_ops[ir_op_of(run->g, ref)].text,
                   ir_eval_shape_text(updates->shape, updates->rank, have),
                   ir_eval_shape_text(in.shape, in.rank, want));
  out->rank = in.data->rank;
  memcpy(out->shape, in.data->shape, sizeof out->shape);
  status = ir_eval_alloc(run, ref, out, in.checked || in.data->taint || in.indices->taint || updates->taint);
  if (status) return status;
  size_t count = (size_t)out->count, bytes = ir_dtypes[out->dtype].bytes;
  ir_value *values = ir_alloc(run->mem, count * sizeof *values);
  if (!values) return ir_eval_no_memory(run, ref);
  for (size_t i = 0; i < count; i++) {
    values[i] = ir_value_load(in.data->data + i * bytes, out->dtype);
    if (in.data->taint) out->taint[i] = in.data->taint[i];
  }
  status = apply_updates(run, ref, &in, out, values);
  for (size_t i = 0; i < count; i++) ir_value_store(out->data + i * bytes, out->dtype, values[i]);
  ir_free(run->mem, values, count * sizeof *values);
  return status;
}
