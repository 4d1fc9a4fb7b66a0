/* Leaves: inputs, buffers, constants, literal arrays, iota, filled tensors. */
#include "passes/ops/check.h"

/* The sources of a leaf are its sizes, followed by the TUPLE of its batch sizes, if it has any. */
static ir_ref leaf(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *batch, size_t batch_rank,
                   const ir_ref *dims, size_t rank, int64_t arg) {
  ir_ref src[IR_MAX_RANK + 1];
  for (size_t i = 0; i < rank; i++) src[i] = dims[i];
  if (batch_rank) src[rank] = ir_tuple(g, batch, (uint32_t)batch_rank);
  return op_make(g, op, dtype, dims, rank, arg, src, rank + (batch_rank > 0));
}

ir_ref op_input(ir_graph *g, const char *name, size_t length, ir_dtype dtype, const ir_ref *shape,
                size_t rank) {
  return op_input_batched(g, name, length, dtype, NULL, 0, shape, rank);
}

ir_ref op_input_batched(ir_graph *g, const char *name, size_t length, ir_dtype dtype, const ir_ref *batch,
                        size_t batch_rank, const ir_ref *shape, size_t rank) {
  ir_ref dims[IR_MAX_RANK], lead[IR_MAX_RANK];
  if (dtype <= IR_NONE || dtype >= IR_INDEX)
    return op_refuse(g, "input: %%%.*s has no dtype of a tensor; use bool, an integer or a float dtype",
                     (int)length, name);
  if (!op_sizes(g, "input", shape, rank, dims) || !op_sizes(g, "input", batch, batch_rank, lead)) return 0;
  int64_t id = ir_name(g, name, length);
  return id < 0 ? 0 : leaf(g, IR_OP_INPUT, dtype, lead, batch_rank, dims, rank, id);
}

ir_ref op_buffer(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank) {
  ir_ref dims[IR_MAX_RANK];
  if (dtype <= IR_NONE || dtype >= IR_INDEX)
    return op_refuse(g, "buffer: no dtype of a tensor; use bool, an integer or a float dtype");
  if (!op_sizes(g, "buffer", shape, rank, dims)) return 0;
  return op_make(g, IR_OP_BUFFER, dtype, dims, rank, g->next_serial++, dims, rank);
}

ir_ref op_buffer_like(ir_graph *g, ir_ref x) {
  if (!x || !op_tensors(g, "buffer", &x, 1)) return 0;
  ir_ref batch = ir_batch(g, x);
  return leaf(g, IR_OP_BUFFER, ir_dtype_of(g, x), batch ? ir_get(g, batch)->src : NULL, ir_batch_rank(g, x),
              op_dims(g, x), ir_rank(g, x), g->next_serial++);
}

ir_ref op_const(ir_graph *g, ir_dtype dtype, ir_value value) {
  if (dtype <= IR_NONE || dtype >= IR_INDEX)
    return op_refuse(g, "const: no dtype of a tensor; use bool, an integer or a float dtype");
  return ir_const(g, dtype, dtype == IR_BOOL ? (ir_value){.i = value.i != 0} : value);
}

ir_ref op_literal_int(ir_graph *g, int64_t value) { return ir_make_weak(g, IR_I64, (ir_value){.i = value}); }
ir_ref op_literal_float(ir_graph *g, double value) { return ir_make_weak(g, IR_F64, (ir_value){.f = value}); }

/* The sizes of an array of `bytes` bytes, whose shape must be constant and of so many. */
static bool fixed_bytes(ir_graph *g, const char *who, ir_dtype dtype, const ir_ref *shape, size_t rank,
                        size_t bytes, ir_ref *dims) {
  if (dtype <= IR_NONE || dtype >= IR_INDEX)
    return op_refuse(g, "%s: no dtype of a tensor; use bool, an integer or a float dtype", who);
  if (!op_sizes(g, who, shape, rank, dims)) return false;
  int64_t need = ir_dtypes[dtype].bytes, size;
  for (size_t i = 0; i < rank; i++) {
    if (!ir_is_const(g, dims[i], &size))
      return op_refuse(
          g, "%s: size %s of axis %zu in shape %s is not constant; literal elements have a constant shape",
          who, OP_EXPR(dims[i]), i, OP_LIST(dims, rank));
    if (!ir_mul_ok(need, size, &need))
      return op_refuse(g, "%s: shape %s is too large; its bytes must number less than 2^63", who,
                       OP_LIST(dims, rank));
  }
  if ((uint64_t)need != bytes)
    return op_refuse(g, "%s: shape %s%s takes %lld element%s; values has %zu", who, ir_dtypes[dtype].name,
                     OP_LIST(dims, rank), (long long)need / ir_dtypes[dtype].bytes,
                     need == ir_dtypes[dtype].bytes ? "" : "s", bytes / ir_dtypes[dtype].bytes);
  return true;
}

ir_ref op_data(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, const void *elements,
               size_t bytes) {
  ir_ref dims[IR_MAX_RANK];
  if (!fixed_bytes(g, "data", dtype, shape, rank, bytes, dims)) return 0;
  int64_t id = ir_name(g, elements ? elements : "", bytes);
  return id < 0 ? 0 : op_make(g, IR_OP_DATA, dtype, dims, rank, id, dims, rank);
}

ir_ref op_resource(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, const char *constant,
                   size_t bytes) {
  return op_resource_from(g, dtype, shape, rank, constant, NULL, bytes);
}

ir_ref op_resource_from(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, const char *constant,
                        const ir_origin *origin, size_t bytes) {
  ir_ref dims[IR_MAX_RANK];
  if (!fixed_bytes(g, "constant", dtype, shape, rank, bytes, dims)) return 0;
  int64_t id = ir_resource_name(g, constant, origin);
  return id < 0 ? 0 : op_make(g, IR_OP_RESOURCE, dtype, dims, rank, id, dims, rank);
}

ir_ref op_iota(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, int64_t axis) {
  ir_ref dims[IR_MAX_RANK];
  if (dtype <= IR_BOOL || dtype >= IR_INDEX)
    return op_refuse(g, "iota: dtype %s cannot count; use an integer or a float dtype",
                     ir_dtypes[dtype].name);
  if (!op_sizes(g, "iota", shape, rank, dims)) return 0;
  int64_t count = (int64_t)rank;
  if (axis < -count || axis >= count)
    return op_refuse(g, "iota: axis %lld is out of range; shape %s has %lld ax%s", (long long)axis,
                     OP_LIST(dims, rank), (long long)count, count == 1 ? "is" : "es");
  return op_make(g, IR_OP_IOTA, dtype, dims, rank, ir_pack_arg(axis < 0 ? axis + count : axis, 0), dims,
                 rank);
}

ir_ref op_full(ir_graph *g, ir_ref value, const ir_ref *shape, size_t rank) {
  ir_ref dims[IR_MAX_RANK];
  value = op_default_dtype(g, value);
  if (!op_tensors(g, "full", &value, 1)) return 0;
  if (ir_rank(g, value) > 0)
    return op_refuse(g, "full: the value has shape %s; a fill value has rank 0", OP_TYPE(value));
  return op_sizes(g, "full", shape, rank, dims) ? op_grow(g, value, dims, rank) : 0;
}
