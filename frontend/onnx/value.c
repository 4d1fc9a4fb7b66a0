/* Tensors of a model as nodes of the graph, and what most operators are built from. */
#include <string.h>

#include "frontend/onnx/import.h"

int onnx_rank(const onnx_node *n, ir_ref x) { return (int)ir_rank(n->g, x); }

int onnx_dims(const onnx_node *n, ir_ref x, ir_ref dims[IR_MAX_RANK]) {
  int rank = onnx_rank(n, x);
  for (int i = 0; i < rank; i++) dims[i] = ir_dim(n->g, x, (uint32_t)i);
  return rank;
}

bool onnx_fixed_dims(onnx_node *n, ir_ref x, int64_t dims[IR_MAX_RANK]) {
  int rank = onnx_rank(n, x);
  for (int i = 0; i < rank; i++)
    if (!ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)i), &dims[i]))
      return onnx_lacks(n, "axis %d of an input has a symbolic size; takes a number there", i);
  return true;
}

ir_ref onnx_number(onnx_node *n, ir_dtype dtype, double value) {
  return op_const(n->g, dtype, ir_is_float(dtype) ? (ir_value){.f = value} : (ir_value){.i = (int64_t)value});
}

ir_ref onnx_like(onnx_node *n, ir_ref x, ir_dtype dtype) {
  return x && ir_dtype_of(n->g, x) != dtype ? op_cast(n->g, x, dtype) : x;
}

ir_ref onnx_binary(onnx_node *n, ir_op op, ir_ref a, ir_ref b) { return op_binary(n->g, op, a, b); }

ir_ref onnx_with(onnx_node *n, ir_op op, ir_ref a, double b) {
  return a ? op_binary(n->g, op, a, onnx_number(n, ir_dtype_of(n->g, a), b)) : 0;
}

ir_ref onnx_zeros(onnx_node *n, ir_dtype dtype, const ir_ref *shape, int rank) {
  return op_full(n->g, onnx_number(n, dtype, 0), shape, (size_t)rank);
}

ir_ref onnx_full(onnx_node *n, ir_ref like, double value) {
  ir_ref dims[IR_MAX_RANK];
  if (!like) return 0;
  int rank = onnx_dims(n, like, dims);
  return op_full(n->g, onnx_number(n, ir_dtype_of(n->g, like), value), dims, (size_t)rank);
}

ir_ref onnx_reshape(onnx_node *n, ir_ref x, const ir_ref *shape, int rank) {
  return op_reshape(n->g, x, shape, (size_t)rank);
}

ir_ref onnx_cut(onnx_node *n, ir_ref x, int axis, ir_ref begin, ir_ref end) {
  ir_ref bounds[2 * IR_MAX_RANK], dims[IR_MAX_RANK];
  if (!x) return 0;
  int rank = onnx_dims(n, x, dims);
  for (int i = 0; i < rank; i++) {
    bounds[2 * i] = i == axis ? begin : ir_index(n->g, 0);
    bounds[2 * i + 1] = i == axis ? end : dims[i];
  }
  return op_shrink(n->g, x, bounds, (size_t)rank);
}

ir_ref onnx_pads(onnx_node *n, ir_ref x, int axis, ir_ref before, ir_ref after) {
  ir_ref pads[2 * IR_MAX_RANK], none = ir_index(n->g, 0);
  if (!x) return 0;
  int rank = onnx_rank(n, x);
  for (int i = 0; i < rank; i++) {
    pads[2 * i] = i == axis ? before : none;
    pads[2 * i + 1] = i == axis ? after : none;
  }
  return op_pad(n->g, x, pads, (size_t)rank, 0, IR_PAD_CONSTANT);
}

ir_ref onnx_reduce(onnx_node *n, ir_op op, ir_ref x, const int *axes, int count, bool keepdims) {
  ir_ref list[IR_MAX_RANK];
  if (!x) return 0;
  for (int i = 0; i < count; i++) list[i] = ir_index(n->g, axes[i]);
  return op_reduce(n->g, op, x, list, (size_t)count, keepdims);
}

ir_ref onnx_product(const onnx_node *n, const ir_ref *dims, int first, int end) {
  ir_ref product = ir_index(n->g, 1);
  for (int i = first; i < end; i++) product = pass_mul(n->g, product, dims[i]);
  return product;
}

ir_ref onnx_along(onnx_node *n, ir_ref x, int axis, int rank) {
  ir_ref shape[IR_MAX_RANK];
  int64_t size;
  if (!x || onnx_rank(n, x) == 0) return x;
  if (onnx_rank(n, x) == 1 && ir_is_const(n->g, ir_dim(n->g, x, 0), &size) && size == 1)
    return onnx_reshape(n, x, NULL, 0);
  for (int i = 0; i < rank; i++) shape[i] = ir_index(n->g, i == axis ? -1 : 1);
  return onnx_reshape(n, x, shape, rank);
}

/* known values as tensors */

static ir_ref size_tensor(onnx_import *m, ir_ref size, ir_dtype dtype) {
  ir_graph *g = m->g;
  int64_t number;
  if (ir_is_const(g, size, &number)) return op_const(g, dtype, (ir_value){.i = number});
  int64_t low = ir_bounds_of(g, size).lo;
  if (low > 0) low = 0;
  if (low < -((int64_t)1 << 40)) {
    onnx_fail(m, IR_ERR_UNSUPPORTED,
              "a tensor is to have the value of an expression of sizes that may be below -2^40; takes one "
              "with a greater lower bound");
    return 0;
  }
  /* element `size - low` of low, low + 1, ... */
  ir_ref at = pass_add_int(g, size, -low), count = pass_add_int(g, at, 1);
  ir_ref all = op_iota(g, IR_I64, &count, 1, 0);
  ir_ref value = op_point(g, all, at, 0);
  if (low) value = op_binary(g, IR_OP_ADD, value, op_const(g, IR_I64, (ir_value){.i = low}));
  return dtype == IR_I64 ? value : op_cast(g, value, dtype);
}

ir_ref onnx_size_tensor(onnx_node *n, ir_ref size, ir_dtype dtype) {
  return size ? size_tensor(n->m, size, dtype) : 0;
}

static bool is_numeric(const onnx_import *m, const onnx_known *k) {
  int64_t number;
  for (size_t i = 0; i < k->count && !ir_is_float(k->dtype); i++)
    if (!onnx_known_int(m, k, i, &number)) return false;
  return true;
}

static ir_ref literal(onnx_import *m, const onnx_known *k) {
  size_t bytes = ir_dtypes[k->dtype].bytes;
  char *elements = wire_alloc(&m->arena, k->count * bytes + 1);
  if (!elements) return 0;
  for (size_t i = 0; i < k->count; i++) {
    ir_value value = {.f = k->elements[i].real};
    if (!ir_is_float(k->dtype)) onnx_known_int(m, k, i, &value.i);
    ir_value_store(elements + i * bytes, k->dtype, value);
  }
  return onnx_elements_ref(m, (wire_bytes){0}, k->dtype, k->rank, k->shape, elements, k->count * bytes, NULL);
}

ir_ref onnx_known_ref(onnx_import *m, const onnx_known *k) {
  ir_graph *g = m->g;
  if (is_numeric(m, k)) return literal(m, k);
  ir_ref *parts = wire_alloc(&m->arena, k->count * sizeof *parts), shape[IR_MAX_RANK];
  if (!parts) return 0;
  for (size_t i = 0; i < k->count; i++) parts[i] = size_tensor(m, k->elements[i].size, k->dtype);
  for (int i = 0; i < k->rank; i++) shape[i] = ir_index(g, k->shape[i]);
  return op_reshape(g, op_stack(g, parts, k->count, 0), shape, (size_t)k->rank);
}

ir_ref onnx_value_ref(onnx_import *m, onnx_value *v) {
  if (v->ref) return v->ref;
  if (v->tensor) v->ref = onnx_tensor_ref(m, v->tensor);
  else if (v->known) v->ref = onnx_known_ref(m, v->known);
  else if (v->sequence || v->absent)
    onnx_fail(m, IR_ERR_INVALID, "the value '%.*s' is %s; takes a tensor", WIRE_TEXT(v->base.name),
              v->sequence ? "a sequence" : "an optional value without an element");
  else
    onnx_fail(
        m, IR_ERR_INVALID,
        "the value '%.*s' is an output of a node that viewfold does not compute; takes models without it",
        WIRE_TEXT(v->base.name));
  return v->ref;
}

const onnx_known *onnx_value_known(onnx_import *m, onnx_value *v) {
  if (!v->known && v->tensor && !v->narrow) v->known = onnx_tensor_known(m, v->tensor);
  return v->known;
}
