/* Files of a model, mapped, and constants in them. */
#include "frontend/onnx/import.h"

ir_status onnx_file_open(onnx_import *m, const char *path, onnx_file *out, ir_error *error) {
  ir_status status = rt_mapped_open(&m->graph->context->mem, path, &out->file, error);
  if (status) return status;
  out->bytes = (wire_bytes){rt_mapped_bytes(out->file), rt_mapped_identity(out->file)->size};
  return IR_OK;
}

void onnx_file_close(onnx_file *f) {
  if (f->digesting) rt_range_digests_close(&f->digests);
  rt_mapped_release(f->file);
  f->file = NULL;
  f->digesting = false;
}

ir_ref onnx_file_constant(onnx_import *m, onnx_file *f, ir_dtype dtype, int rank, const int64_t *shape,
                          const void *elements, size_t bytes) {
  rt_context *context = m->graph->context->runtime;
  size_t offset = (size_t)((const uint8_t *)elements - f->bytes.at);
  ir_error ignored = {0};
  rt_digest digest;
  rt_constant *constant;
  if (!f->digesting)
    rt_range_digests_open(&f->digests, rt_context_mem(context), rt_context_disk(context, &ignored), f->file);
  f->digesting = true;
  if (rt_range_digest_of(&f->digests, offset, bytes, &digest, m->error) != IR_OK ||
      rt_constant_map(context, f->file, offset, bytes, digest, &constant, m->error) != IR_OK)
    return 0;
  return fe_graph_constant(m->graph, (vf_dtype)dtype, rank, shape, constant).id;
}
