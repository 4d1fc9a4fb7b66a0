/* Files of a model, mapped, and constants in them. */
#include <stdio.h>
#include <string.h>

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

/* A name in the file of weights that no other constant has. */
static const char *weight_name(onnx_import *m, wire_bytes name) {
  char *text = wire_alloc(&m->arena, name.size + 24);
  onnx_named *item = wire_alloc(&m->arena, sizeof *item);
  if (!text || !item) return NULL;
  size_t used = name.size;
  if (used) memcpy(text, name.at, used);
  else used = (size_t)snprintf(text, 10, "constant");
  size_t whole = used;
  for (unsigned k = 2; onnx_scope_find(&m->weights, (wire_bytes){(uint8_t *)text, whole}); k++)
    whole = used + (size_t)snprintf(text + used, 12, ".%u", k);
  return onnx_scope_add(&m->arena, &m->weights, (wire_bytes){(uint8_t *)text, whole}, item) ? text : NULL;
}

/* Where the text of the graph says that a constant is: in the file of weights, or, of elements that are
 * mapped, at an offset of `f`. False where they are in memory alone. */
static bool find_origin(const onnx_import *m, const onnx_file *f, const void *elements, ir_origin *origin) {
  const char *slash = strrchr(m->path, '/');
  size_t folder = slash ? (size_t)(slash - m->path) + 1 : 0;
  *origin = (ir_origin){.base = "", .file = m->weights_file};
  if (!m->weights_file && f) {
    origin->base = m->path;
    origin->base_length = folder;
    origin->file = rt_mapped_name(f->file) + folder; /* files of weights are in the model's folder */
    origin->bytes = true;
    origin->offset = (const uint8_t *)elements - f->bytes.at;
  }
  if (!origin->file) return false;
  origin->file_length = strlen(origin->file);
  return true;
}

/* A node for the constant, whose use is given away. */
static ir_ref refer(onnx_import *m, wire_bytes name, ir_dtype dtype, int rank, const int64_t *shape,
                    const onnx_file *f, const void *elements, rt_constant *constant) {
  ir_origin origin;
  bool found = find_origin(m, f, elements, &origin);
  const char *given = found ? weight_name(m, name) : NULL;
  if (found && !given) {
    rt_constant_release(constant);
    return 0;
  }
  origin.name = given;
  origin.name_length = given ? strlen(given) : 0;
  ir_cause before = m->g->causes ? m->g->causes->current : 0;
  ir_ref made =
      fe_graph_constant(m->graph, (vf_dtype)dtype, rank, shape, constant, found ? &origin : NULL).id;
  ir_cause_resume(m->g, before);
  return made;
}

/* Of elements that are in the file: mapped. */
static bool map_constant(onnx_import *m, onnx_file *f, const void *elements, size_t bytes,
                         rt_constant **out) {
  rt_context *context = m->graph->context->runtime;
  size_t offset = (size_t)((const uint8_t *)elements - f->bytes.at);
  ir_error ignored = {0};
  rt_digest digest;
  if (!f->digesting)
    rt_range_digests_open(&f->digests, rt_context_mem(context), rt_context_disk(context, &ignored), f->file);
  f->digesting = true;
  return rt_range_digest_of(&f->digests, offset, bytes, &digest, m->error) == IR_OK &&
         rt_constant_map(context, f->file, offset, bytes, digest, out, m->error) == IR_OK;
}

/* Smaller arrays are literals of the graph, of bytes as many elements as of f32: weights channel by channel
 * are copied once into the order in which they are read, which literals are not. */
enum { LITERAL_BYTES = 1024, LITERAL_ELEMENTS = LITERAL_BYTES / 4 };

ir_ref onnx_data(onnx_import *m, ir_dtype dtype, int rank, const int64_t *shape, const void *elements) {
  ir_cause before = m->g->causes ? m->g->causes->current : 0;
  ir_ref made = vf_data(m->graph, (vf_dtype)dtype, rank, shape, elements).id;
  ir_cause_resume(m->g, before);
  return made;
}

ir_ref onnx_elements_ref(onnx_import *m, wire_bytes name, ir_dtype dtype, int rank, const int64_t *shape,
                         const void *elements, size_t bytes, onnx_file *keeper) {
  rt_constant *constant;
  if (bytes <= LITERAL_BYTES && bytes / (size_t)ir_dtypes[dtype].bytes <= LITERAL_ELEMENTS) {
    if (rank == 0) return op_const(m->g, dtype, ir_value_load(elements, dtype)); /* needs no expanding */
    return onnx_data(m, dtype, rank, shape, elements);
  }
  bool good =
      keeper ? map_constant(m, keeper, elements, bytes, &constant)
             : rt_constant_copy(m->graph->context->runtime, elements, bytes, &constant, m->error) == IR_OK;
  return good ? refer(m, name, dtype, rank, shape, keeper, elements, constant) : 0;
}
