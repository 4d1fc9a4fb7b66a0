/* Are the outputs what the model declares? Another dtype is an error. Shapes are often left as they were
 * where a model was changed, so another one is said, and that which is computed holds. */
#include "frontend/api/api.h"
#include "frontend/onnx/import.h"

/* A size that the model declares as a number, and that is known, must be that. */
static bool sizes_fit(onnx_import *m, const onnx_shape *declared, ir_ref ref) {
  uint32_t rank = ir_rank(m->g, ref);
  bool fits = declared->dims.count == rank;
  for (size_t i = 0; fits && i < rank; i++) {
    onnx_dim dim = {.value = -1};
    int64_t size;
    if (!wire_read(&m->arena, &onnx_dim_message, m->whole, ((wire_bytes *)declared->dims.items)[i], &dim))
      return false;
    fits = dim.param.size || dim.value < 0 || !ir_is_const(m->g, ir_dim(m->g, ref, (uint32_t)i), &size) ||
           size == dim.value;
  }
  return fits;
}

/* `f32[2,n]`, as the model declares it. */
static void put_declared(onnx_import *m, const onnx_tensor_type *type, const onnx_shape *shape,
                         ir_text *out) {
  ir_dtype dtype = onnx_dtype(type->dtype);
  ir_text_str(out, dtype == IR_NONE ? onnx_dtype_name(type->dtype) : ir_dtypes[dtype].name);
  if (type->shape.at) ir_text_str(out, "[");
  for (size_t i = 0; i < shape->dims.count; i++) {
    onnx_dim dim = {.value = -1};
    if (!wire_read(&m->arena, &onnx_dim_message, m->whole, ((wire_bytes *)shape->dims.items)[i], &dim))
      return;
    if (i) ir_text_str(out, ",");
    if (dim.param.size) ir_textf(out, "%.*s", WIRE_TEXT(dim.param));
    else if (dim.value >= 0) ir_textf(out, "%lld", (long long)dim.value);
    else ir_text_str(out, "?");
  }
  if (type->shape.at) ir_text_str(out, "]");
}

bool onnx_check_output(onnx_import *m, const onnx_value_info *info, const onnx_value *value) {
  onnx_type type = {0};
  onnx_tensor_type tensor = {0};
  onnx_shape shape = {0};
  if (!value->ref || !info->type.at) return true;
  if (!wire_read(&m->arena, &onnx_type_message, m->whole, info->type, &type)) return false;
  if (!type.tensor.at) return true;
  if (!wire_read(&m->arena, &onnx_tensor_type_message, m->whole, type.tensor, &tensor) ||
      (tensor.shape.at && !wire_read(&m->arena, &onnx_shape_message, m->whole, tensor.shape, &shape)))
    return false;
  ir_dtype dtype = ir_dtype_of(m->g, value->ref);
  bool same = value->narrow ? tensor.dtype == value->narrow : onnx_dtype(tensor.dtype) == dtype;
  /* exporters write a shape without sizes where they know none */
  same |= !tensor.dtype;
  if (same && (!shape.dims.count || sizes_fit(m, &shape, value->ref))) return true;
  if (m->error->status) return false;
  ir_text declared, computed;
  ir_text_init(&declared, m->g->mem);
  ir_text_init(&computed, m->g->mem);
  put_declared(m, &tensor, &shape, &declared);
  ir_print_type(m->g, value->ref, &computed);
  if (same)
    ir_say(&m->graph->context->log, IR_LOG_WARNING,
           "import: the output '%.*s' is declared as %s, and what is computed is %s", WIRE_TEXT(info->name),
           ir_text_get(&declared), ir_text_get(&computed));
  else
    onnx_fail(
        m, IR_ERR_INVALID,
        "the output '%.*s' is declared as %s, and what is computed is %s; takes a declaration that fits",
        WIRE_TEXT(info->name), ir_text_get(&declared), ir_text_get(&computed));
  ir_text_free(&declared);
  ir_text_free(&computed);
  return same;
}
