/* The folder codegen. Code generation.
 *
 *   in      a KERNEL and a target
 *   out     machine code, assembler, LLVM IR or OpenCL C
 *   holds   the text of a kernel depends on the kernel and the target alone */

/* Code generation: a KERNEL node (docs/ir.md, loop level) becomes machine code for a target.
 *
 * The LLVM code generator is a module of its own, viewfold-llvm.so, which the runtime opens at the first
 * compilation (runtime/compiler/llvm_module.h): a process that finds all its kernels in the cache never loads
 * LLVM. Compilation is thread-safe as long as each thread brings its own graph and cg_machine; every other
 * LLVM object belongs to one call. */
#ifndef VIEWFOLD_CODEGEN_CODEGEN_H
#define VIEWFOLD_CODEGEN_CODEGEN_H

#include "codegen/emit/blocks.h"
#include "ir/ir.h"
#include "ir/target.h"
#include "ir/timer.h"

/* The generated function. buffers[slot] is the memory of the PARAM of that slot; buffers[number of params] is
 * the launch's status word, to which a failed CHECK stores 1. vars are the values of the kernel's VARs in
 * order. A loop bound to threads runs begin <= i < end. scratch is memory for this call alone, of as many
 * bytes as cg_blob states, at a multiple of CG_SCRATCH_ALIGN, with any contents (NULL where cg_blob states
 * 0). The function touches no element that the kernel does not load or store. */
enum { CG_SCRATCH_ALIGN = 64 }; /* bytes: a cache line, and the widest vector */
typedef void (*cg_kernel)(void *const *buffers, const int64_t *vars, int64_t begin, int64_t end,
                          void *scratch);

typedef enum cg_output {
  CG_OBJECT, /* a relocatable object: position independent, refers to nothing outside itself, no unwind tables
              */
  CG_ASM,    /* the same as assembler text */
  CG_LISTING, /* the same with comments: LLVM's about loops and spills; where a loop begins, %runs_N_ or
                 %runs_n_ before these: its trip count, which is a number or is not, %share_ that it is the
                 threads' loop */
  CG_LLVM,    /* LLVM IR as text, before instsimplify and instruction selection */
  CG_C        /* C, by no cg_entry (cg_c, cg_c_program) */
} cg_output;

typedef struct cg_request {
  const ir_graph *graph;
  ir_ref kernel;      /* a KERNEL */
  const char *symbol; /* name of the function */
  const ir_target *target;
  cg_output want;
  int level;             /* LLVM's code generation level, 0 to 3; 2 is its default */
  const ir_timer *timer; /* may be NULL */
} cg_request;

/* `size` bytes allocated from mem. A NUL follows, which is not counted. */
typedef struct cg_blob {
  const ir_mem *mem;
  char *bytes;
  size_t size;
  uint64_t scratch;  /* bytes of scratch memory that a call needs; OpenCL: of local memory, per group */
  uint32_t in_place; /* bit s: buffers[s] may be buffers[0] (ir/in_place.h) */
  cg_uses uses;      /* what calls with some begin and end store and load */
  bool checks;       /* the function may store to its status word; not known of OpenCL's */
} cg_blob;
void cg_blob_free(cg_blob *blob);

/* LLVM's description of a target. It takes a third of a millisecond to make, and serves one compilation at a
 * time. */
typedef struct cg_machine {
  void *machine; /* NULL: none yet */
  int level;
  ir_target target;
} cg_machine;

struct cg_program_request; /* codegen/program.h */

/* The module's only exported symbol, CG_ENTRY_NAME. abi, ops, node_size and target_size reveal a module that
 * was built from other sources. compile makes the machine where `machine` holds none, for the request's
 * target and level. It fails with IR_ERR_COMPILE when LLVM refuses the code, with IR_ERR_UNSUPPORTED when the
 * target cannot do an operation (f64 fma without hardware fma), and with IR_ERR_INTERNAL when the kernel
 * breaks a rule of the loop level. */
typedef struct cg_entry {
  uint32_t abi, ops, node_size, target_size;
  ir_status (*compile)(const cg_request *request, cg_machine *machine, cg_blob *out, ir_error *error);
  void (*dispose)(cg_machine *machine);
  /* A program as one object, in memory of `mem`; fails as compile does. */
  ir_status (*build)(const struct cg_program_request *request, const ir_mem *mem, cg_machine *machine,
                     cg_blob *out, ir_error *error);
} cg_entry;
/* The version of cg_entry, which grows where its members change. */
#define CG_ENTRY_ABI  6u
#define CG_ENTRY_NAME "vf_codegen_llvm"
extern const cg_entry vf_codegen_llvm;

/* codegen/opencl/opencl.c: OpenCL C 1.2. A program's text is the prelude and then the kernels' texts, each
 * the function
 *
 *   kernel void SYMBOL(global T *b0, long o0, ..., global int *status, long v0, ..., long count, long grain)
 *
 * b and o: the buffer of the PARAM of that slot, and the element of the buffer at which the parameter begins;
 * status: the launch's status word; v: the values of the kernel's VARs in order. Work-group k does the
 * iterations k*grain <= i < min((k+1)*grain, count) of the loop bound to threads, and every group has at
 * least one: (number of groups - 1)*grain < count. A kernel without such a loop runs in one group of count 1.
 * The function's reqd_work_group_size is the size of its groups: 1 where target->group_items is 0. out->bytes
 * is text; out->scratch is the bytes of local memory that a group uses; out->in_place is as above. Fails as
 * compile does. */
ir_status cg_opencl_prelude(const ir_target *target, ir_text *out);
ir_status cg_opencl(const ir_graph *graph, ir_ref kernel, const char *symbol, const ir_target *target,
                    cg_blob *out, ir_error *error);

/* codegen/c/emit.c: kernels as a C file, in memory of `mem`, each a cg_kernel called `symbol`: C11, by the
 * vector extensions of GCC and Clang where it is compiled with these. It has to be compiled without
 * contraction (-ffp-contract=off). What *out says beside the text is said of the last one. Fails as compile
 * does. */
ir_status cg_c(const cg_request *requests, size_t count, const ir_mem *mem, cg_blob *out, ir_error *error);

#endif
