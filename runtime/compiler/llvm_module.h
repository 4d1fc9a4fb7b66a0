/* The code generator: its module, viewfold-llvm.so, found and opened at the first compilation, in this
 * process or in the compiler process (runtime/compiler/compiler.h). */
#ifndef VIEWFOLD_RUNTIME_COMPILER_LLVM_MODULE_H
#define VIEWFOLD_RUNTIME_COMPILER_LLVM_MODULE_H

#include <pthread.h>

#include "codegen/program.h"
#include "runtime/compiler/compiler.h"

enum { RT_IDLE_MACHINES = 4, RT_LEVEL = 2, RT_QUICK_LEVEL = 0 };

/* LLVM's level of optimisation for code of this target. */
static inline int rt_level_for(const ir_target *target) { return target->quick ? RT_QUICK_LEVEL : RT_LEVEL; }

#define RT_MODULE_FILE "viewfold-llvm.so"

typedef struct rt_module {
  rt_compiler *compiler; /* &own; NULL: this process compiles, with the fields below */
  rt_compiler own;
  pthread_mutex_t lock;
  const cg_entry *entry; /* NULL until the first compilation */
  void *handle;
  cg_machine idle[RT_IDLE_MACHINES]; /* kept for the next compilation */
} rt_module;
/* how NULL, or how->process false: compile in this process. how->program is not copied. Loads and starts
 * nothing. */
ir_status rt_module_init(rt_module *module, const rt_compiling *how, ir_error *error);
void rt_module_free(rt_module *module);

/* Finds a file of this name, the module or the compiler program, without loading it: beside the library (or
 * the program that it is linked into), in `viewfold/` there, or in `../lib/viewfold/`. False when there is
 * none; path then holds the first place searched. */
bool rt_module_find(const char *name, char *path, size_t size);
ir_status rt_module_missing(const char *path, ir_error *error); /* IR_ERR_COMPILE: the module is missing */
/* Opens the module if it is not open yet, so that the first compilation need not. */
ir_status rt_module_load(rt_module *module, ir_error *error);

/* Compile graph's KERNEL at level 2, from any thread; graphs are not shared between threads. IR_ERR_COMPILE
 * when the module is missing; other failures are those of cg_entry's compile, or where a compiler process
 * compiles, those of rt_compiler_await. */
ir_status rt_module_compile(rt_module *module, const ir_graph *graph, ir_ref kernel, const char *symbol,
                            const ir_target *target, cg_output want, cg_blob *out, ir_error *error);
/* A program as one object (codegen/program.h), in memory of `mem`: by this process, also where a compiler
 * process compiles kernels. */
ir_status rt_module_build(rt_module *module, const cg_program_request *request, const ir_mem *mem,
                          cg_blob *out, ir_error *error);
ir_status rt_module_request(rt_module *module, const cg_request *request, cg_blob *out, ir_error *error);

#endif
