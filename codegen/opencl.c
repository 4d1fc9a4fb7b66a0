/* KERNEL nodes as OpenCL C. */
#include "codegen/codegen.h"

ir_status cg_opencl_prelude(const ir_target *target, ir_text *out) {
  (void)target;
  ir_text_str(out, "");
  return IR_OK;
}

ir_status cg_opencl(const ir_graph *graph, ir_ref kernel, const char *symbol, const ir_target *target,
                    cg_blob *out, ir_error *error) {
  (void)graph, (void)kernel, (void)target, (void)out;
  return ir_fail(error, IR_ERR_UNSUPPORTED, "compile: %s cannot be written as OpenCL C yet", symbol);
}
