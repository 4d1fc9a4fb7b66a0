/* The code of a kernel as text. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_CODE_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_CODE_H

#include "frontend/report/dump.h"
#include "runtime/cache/kernel_key.h"

/* Append the code of the kernel of this key as the runtime compiles it: under its symbol, from a graph read
 * from the key. The stage is FE_STAGE_LLVM, FE_STAGE_ASM, FE_STAGE_OPENCL or, for a CG_LISTING,
 * FE_STAGE_KERNELS. */
ir_status fe_put_code(const rt_kernel_key *key, const ir_mem *mem, fe_stage stage, const ir_target *target,
                      rt_module *module, ir_text *out, ir_error *error);
/* The same of several kernels, each once, as one C file. */
ir_status fe_put_c(const rt_kernel_key *keys, size_t count, const ir_mem *mem, const ir_target *target,
                   ir_text *out, ir_error *error);

#endif
