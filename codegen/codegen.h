/* Code generation: a KERNEL node (docs/ir.md, loop level) becomes machine code for a target.
 *
 * The code generator proper lives in a module of its own, viewfold-llvm.so, which is opened at the first
 * compilation: a process that finds all its kernels in the cache never loads LLVM. Compilation is thread-safe
 * as long as each thread brings its own graph; everything made for LLVM belongs to the call. */
#ifndef VIEWFOLD_CODEGEN_CODEGEN_H
#define VIEWFOLD_CODEGEN_CODEGEN_H

#include <pthread.h>

#include "ir/ir.h"
#include "ir/target.h"

/* The generated function. buffers[slot] is the memory of the PARAM of that slot and buffers[number of params]
 * the launch's status word, to which a failed CHECK stores 1; vars are the values of the kernel's VARs in
 * order; a loop bound to threads runs begin <= i < end. Touches no element that the kernel does not load or
 * store. */
typedef void (*cg_kernel)(void *const *buffers, const int64_t *vars, int64_t begin, int64_t end);

typedef enum cg_output {
  CG_OBJECT, /* a relocatable object: position independent, refers to nothing outside itself, no unwind tables
              */
  CG_ASM,    /* the same as assembler text */
  CG_LLVM    /* LLVM IR as text, as handed to code generation */
} cg_output;

typedef struct cg_request {
  const ir_graph *graph;
  ir_ref kernel;      /* a KERNEL */
  const char *symbol; /* name of the function */
  const ir_target *target;
  cg_output want;
  int level; /* LLVM's code generation level, 0 to 3; 2 is its default */
} cg_request;

/* Bytes from mem, `size` of them; texts are followed by a NUL that is not counted. */
typedef struct cg_blob {
  const ir_mem *mem;
  char *bytes;
  size_t size;
} cg_blob;
void cg_blob_free(cg_blob *blob);

/* LLVM's description of a target takes a third of a millisecond to make, so idle ones are kept. */
enum { CG_IDLE_MACHINES = 4 };
typedef struct cg_machine {
  void *machine; /* NULL: none yet */
  int level;
  ir_target target;
} cg_machine;

/* The code generator as loaded on demand. */
typedef struct cg_module {
  pthread_mutex_t lock;
  const struct cg_entry *entry; /* NULL until the first compilation */
  void *handle;
  cg_machine idle[CG_IDLE_MACHINES];
} cg_module;
ir_status cg_module_init(cg_module *module, ir_error *error);
void cg_module_free(cg_module *module);

/* Path of the code generator's file, found without loading it: beside the library (or the program it is
 * linked into), in `viewfold/` there, or in `../lib/viewfold/`. False when there is none; path then holds the
 * first place looked at. */
bool cg_module_find(char *path, size_t size);

/* Compile graph's KERNEL at level 2. IR_ERR_COMPILE when the code generator is missing or LLVM refuses;
 * IR_ERR_UNSUPPORTED when the target cannot do an operation (f64 fma without hardware fma); IR_ERR_INTERNAL
 * when the kernel breaks the rules of the loop level. */
ir_status cg_compile(cg_module *module, const ir_graph *graph, ir_ref kernel, const char *symbol,
                     const ir_target *target, cg_output want, cg_blob *out, ir_error *error);
ir_status cg_compile_request(cg_module *module, const cg_request *request, cg_blob *out, ir_error *error);

/* What the module exports, under the one name it exports. The numbers tell a module built from other sources.
 * A machine serves one compilation at a time; compile makes it where `machine` holds none, for the request's
 * target and level. */
typedef struct cg_entry {
  uint32_t abi, ops, node_size, target_size;
  ir_status (*compile)(const cg_request *request, cg_machine *machine, cg_blob *out, ir_error *error);
  void (*dispose)(cg_machine *machine);
} cg_entry;
#define CG_ENTRY_ABI  1u
#define CG_ENTRY_NAME "vf_codegen_llvm"
extern const cg_entry vf_codegen_llvm;

#endif
