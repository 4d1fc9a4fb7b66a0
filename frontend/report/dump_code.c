#include "frontend/report/dump_code.h"

static ir_status make_code(const ir_graph *g, ir_ref kernel, const char *symbol, fe_stage stage,
                           const ir_target *target, rt_module *module, cg_blob *text, ir_error *error) {
  if (stage == FE_STAGE_OPENCL) return cg_opencl(g, kernel, symbol, target, text, error);
  cg_output want = stage == FE_STAGE_ASM ? CG_ASM : CG_LLVM;
  return rt_module_compile(module, g, kernel, symbol, target, want, text, error);
}

ir_status fe_put_code(const rt_kernel_key *key, const ir_mem *mem, fe_stage stage, const ir_target *target,
                      rt_module *module, ir_text *out, ir_error *error) {
  ir_graph g;
  ir_ref copy = 0;
  cg_blob text = {0};
  if (ir_graph_init(&g, mem, error) != IR_OK) return error->status;
  if (rt_kernel_key_read(key, &g, &copy, error) == IR_OK &&
      make_code(&g, copy, key->symbol, stage, target, module, &text, error) == IR_OK) {
    ir_text_add(out, text.bytes, text.size);
    cg_blob_free(&text);
  }
  ir_graph_free(&g);
  return error->status;
}
