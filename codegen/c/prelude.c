/* What stands before the kernels of a C file: the files prelude.inc, vectors.inc, memory.inc, arithmetic.inc
 * and hardware.inc. */
#include "codegen/c/c.h"

#include "c_prelude.h" /* the files as arrays */

void cc_put_prelude(ir_text *out) {
  ir_text_add(out, c_prelude, sizeof c_prelude - 1);
  ir_text_add(out, c_vectors, sizeof c_vectors - 1);
  ir_text_add(out, c_memory, sizeof c_memory - 1);
  ir_text_add(out, c_arithmetic, sizeof c_arithmetic - 1);
  ir_text_add(out, c_hardware, sizeof c_hardware - 1);
}
