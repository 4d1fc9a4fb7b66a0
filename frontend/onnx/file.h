/* Files of a model in memory, mapped for reading, as long as somebody uses them. */
#ifndef VIEWFOLD_FRONTEND_ONNX_FILE_H
#define VIEWFOLD_FRONTEND_ONNX_FILE_H

#include "frontend/onnx/wire.h"

typedef struct fe_model_file fe_model_file;

/* Gives the caller a use of the file. Messages begin with its name. */
ir_status fe_model_open(const ir_mem *mem, const char *path, fe_model_file **out, ir_error *error);
void fe_model_retain(fe_model_file *file);
void fe_model_release(fe_model_file *file); /* accepts NULL */
wire_bytes fe_model_bytes(const fe_model_file *file);

#endif
