/* What stands before the kernels of a C file: the files prelude.inc and vectors.inc. */
#include "codegen/c/c.h"

#include "c_prelude.h" /* both as arrays */

void cc_put_prelude(ir_text *out) {
  ir_text_add(out, c_prelude, sizeof c_prelude - 1);
  ir_text_add(out, c_vectors, sizeof c_vectors - 1);
}
