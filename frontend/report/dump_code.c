#include "frontend/report/dump_code.h"

#include <string.h>

static ir_status make_code(const ir_graph *g, ir_ref kernel, const char *symbol, fe_stage stage,
                           const ir_target *target, rt_module *module, cg_blob *text, ir_error *error) {
  if (stage == FE_STAGE_OPENCL) return cg_opencl(g, kernel, symbol, target, text, error);
  cg_output want = stage == FE_STAGE_ASM ? CG_ASM : stage == FE_STAGE_KERNELS ? CG_LISTING : CG_LLVM;
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

static bool is_earlier(const rt_kernel_key *keys, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (!strcmp(keys[i].symbol, keys[at].symbol)) return true;
  return false;
}

ir_status fe_put_c(const rt_kernel_key *keys, size_t count, const ir_mem *mem, const ir_target *target,
                   ir_text *out, ir_error *error) {
  ir_graph *all = ir_alloc(mem, (count + 1) * sizeof *all);
  cg_request *requests = ir_alloc(mem, (count + 1) * sizeof *requests);
  cg_blob text = {0};
  size_t made = 0;
  if (!all || !requests)
    ir_fail(error, IR_ERR_MEMORY, "dump: out of memory for the code of %zu kernels", count);
  for (size_t i = 0; i < count && !error->status; i++) {
    ir_ref kernel = 0;
    if (is_earlier(keys, i) || ir_graph_init(&all[made], mem, error) != IR_OK) continue;
    rt_kernel_key_read(&keys[i], &all[made], &kernel, error);
    requests[made] =
        (cg_request){.graph = &all[made], .kernel = kernel, .symbol = keys[i].symbol, .target = target};
    made++;
  }
  if (!error->status && cg_c(requests, made, mem, &text, error) == IR_OK) {
    ir_text_add(out, text.bytes, text.size);
    cg_blob_free(&text);
  }
  for (size_t i = 0; i < made; i++) ir_graph_free(&all[i]);
  if (requests) ir_free(mem, requests, (count + 1) * sizeof *requests);
  if (all) ir_free(mem, all, (count + 1) * sizeof *all);
  return error->status;
}
