/* Tensors in files of their own, as test data of models has them. */
#include "frontend/onnx/onnx.h"

#include <stdio.h>
#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/onnx/import.h"

/* Copies the elements, in `count` elements of the dtype. */
static void copy_elements(onnx_import *m, const onnx_tensor *t, const ir_mem *mem, fe_array *out) {
  int64_t count;
  const void *elements;
  onnx_file *keeper;
  if (onnx_dtype(t->dtype) == IR_NONE) {
    onnx_fail(m, IR_ERR_UNSUPPORTED, "the tensor is of dtype %s; takes dtypes that viewfold has",
              onnx_dtype_name(t->dtype));
    return;
  }
  if (!onnx_tensor_elements(m, t, &count, &elements, &keeper)) return;
  *out = (fe_array){.dtype = onnx_dtype(t->dtype), .rank = (int)t->dims.count};
  for (int i = 0; i < out->rank; i++) out->shape[i] = ((const int64_t *)t->dims.items)[i];
  out->bytes = (size_t)count * ir_dtypes[out->dtype].bytes;
  out->data = ir_alloc(mem, out->bytes);
  if (!out->data) ir_fail(m->error, IR_ERR_MEMORY, "out of memory");
  else if (out->bytes) memcpy(out->data, elements, out->bytes);
}

ir_status onnx_read_tensor(const char *path, const ir_mem *mem, char name[256], fe_array *out,
                           ir_error *error) {
  ir_error failure = {0};
  rt_mapped_file *file;
  onnx_tensor t;
  *out = (fe_array){0};
  if (rt_mapped_open(&ir_mem_libc, path, &file, error) != IR_OK) return error->status;
  onnx_import m = {.path = path, .error = &failure};
  m.whole = (wire_bytes){rt_mapped_bytes(file), rt_mapped_identity(file)->size};
  m.arena = (wire_arena){.mem = &ir_mem_libc, .error = &failure, .limit = (1 << 20) + 64 * m.whole.size};
  if (onnx_tensor_read(&m, m.whole, &t)) copy_elements(&m, &t, mem, out);
  snprintf(name, 256, "%.*s", WIRE_TEXT(t.name));
  if (failure.status) {
    fe_array_free(mem, out);
    fe_file_fail(error, failure.status, path, "%s", failure.text);
  }
  wire_free(&m.arena);
  rt_mapped_release(file);
  return error->status;
}
