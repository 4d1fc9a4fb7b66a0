/* What other folders use of the importer, beside vf_import_onnx. */
#ifndef VIEWFOLD_FRONTEND_ONNX_ONNX_H
#define VIEWFOLD_FRONTEND_ONNX_ONNX_H

#include "frontend/files/npy.h"
#include "frontend/viewfold.h"

/* An input whose elements the importer must know, such as a shape. */
typedef struct onnx_asked {
  char name[256]; /* "": none */
  ir_dtype dtype;
} onnx_asked;

/* As vf_import_onnx. After a failure, *asked is the input whose value would have been needed, if any.
 * weights_file: the text of the graph says that its constants are in that file, under the names of the
 * initialisers; or NULL. */
vf_graph *onnx_import_asking(vf_context *context, const char *path, const vf_import_options *options,
                             const char *weights_file, onnx_asked *asked, ir_error *error);

/* As vf_import_onnx, of a model in memory, which `name` stands for: weights are copied. */
vf_graph *onnx_import_memory(vf_context *context, const char *name, const void *bytes, size_t size,
                             const vf_import_options *options, ir_error *error);

/* The tensor in a file of test data (input_0.pb, output_0.pb: a TensorProto); `name` receives its name. The
 * array is the caller's to free. */
ir_status onnx_read_tensor(const char *path, const ir_mem *mem, char name[256], fe_array *out,
                           ir_error *error);

#endif
