/* Kernels by a C compiler: `cc`, or what the environment calls CC. They are emitted as C (codegen/c) and
 * become object files, as LLVM's do. */
#ifndef VIEWFOLD_RUNTIME_COMPILER_CC_H
#define VIEWFOLD_RUNTIME_COMPILER_CC_H

#include "codegen/codegen.h"

/* Compiles the request's kernel; fails as rt_tool_run and cg_c do. */
ir_status rt_cc_compile(const cg_request *request, const ir_mem *mem, cg_blob *out, ir_error *error);

/* Compiles C text, as cg_c and cg_c_program make it, for a target; *out has no terms. */
ir_status rt_cc_object(const char *text, size_t size, const ir_target *target, const ir_mem *mem,
                       cg_blob *out, ir_error *error);

/* What the code depends on besides its source: the compiler and its version, and the options. Fails as
 * rt_tool_says does, where there is no compiler. */
ir_status rt_cc_identity(ir_text *out, ir_error *error);

#endif
