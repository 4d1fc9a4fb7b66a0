/* The result of code generation. */
#include "codegen/codegen.h"

void cg_blob_free(cg_blob *blob) {
  if (blob->bytes) ir_free(blob->mem, blob->bytes, blob->size + 1);
  *blob = (cg_blob){0};
}
