/* Private to codegen/llvm/: the state of emitting a program (codegen/program.h), and the functions that its
 * files share. */
#ifndef VIEWFOLD_CODEGEN_LLVM_PROGRAM_H
#define VIEWFOLD_CODEGEN_LLVM_PROGRAM_H

#include "codegen/llvm/llvm.h"
#include "codegen/program.h"

/* A size in the function that is being emitted. */
typedef struct cg_sized {
  LLVMValueRef value;   /* i64 */
  LLVMValueRef refused; /* i1: it has no value */
} cg_sized;

typedef struct cg_runner {
  const cg_program *p;
  const ir_target *target;
  ir_error *error;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef i1, i8, i32, i64, pointer, kernel_type, copy_type, share_type;
  LLVMValueRef *kernels; /* functions, by number */
  cg_blob *terms;        /* what their callers have to know; no bytes */
  LLVMValueRef *data;    /* arrays, by number; NULL: not used yet */
  LLVMValueRef copy;     /* function; NULL: not used yet */
  LLVMValueRef share;    /* the same */

  /* the function that is being emitted */
  LLVMValueRef function, arrays, given_sizes, arena, weights, host;
  cg_sized *sizes;
  LLVMValueRef *moving; /* where the address of each moving buffer is */
  LLVMValueRef buffers, variables, status, call_arrays, call_dims;
  LLVMBasicBlockRef out_of_range; /* returns IR_ERR_RANGE; NULL: not used yet */
  LLVMBasicBlockRef failed;       /* returns IR_ERR_DEVICE; the same */
} cg_runner;

/* program_choice.c: makes the functions that were emitted last, of form `number`, local to the module, for
 * the features of the form; then, when all forms are there, the functions that callers see. */
void cg_keep_form(const cg_program_request *request, LLVMModuleRef module, size_t number);
void cg_emit_choice(const cg_program_request *request, LLVMModuleRef module, ir_error *error);

/* program_sizes.c: the values of all sizes, for the variables at r->given_sizes; and whether there is a size
 * that the program has to refuse, as an i1. */
void cg_emit_sizes(cg_runner *r);
LLVMValueRef cg_sizes_refused(cg_runner *r);

/* program_share.c: calls the kernel with these arguments by the threads of the host, if it has any. */
void cg_emit_shared(cg_runner *r, LLVMValueRef kernel, LLVMValueRef variables, LLVMValueRef count,
                    LLVMValueRef grain, LLVMValueRef scratch);

/* program_call.c: calls a custom operation; returns where it fails. */
void cg_emit_call(cg_runner *r, const cg_step *step);

/* program_steps.c: the address of a buffer; these bytes in read-only memory. */
LLVMValueRef cg_address_of(cg_runner *r, const cg_buffer *buffer);
LLVMValueRef cg_constant(cg_runner *r, const cg_bytes *bytes);

/* program_steps.c: the steps, then the copies, from the builder's place on. */
void cg_emit_steps(cg_runner *r);

/* A constant, as an i64. */
static inline LLVMValueRef cg_number(const cg_runner *r, int64_t number) {
  return LLVMConstInt(r->i64, (unsigned long long)number, 1);
}
/* An empty block at the end of the function. */
static inline LLVMBasicBlockRef cg_new_block(const cg_runner *r) {
  return LLVMAppendBasicBlockInContext(r->context, r->function, "");
}
/* The address `bytes` behind another. */
static inline LLVMValueRef cg_behind(const cg_runner *r, LLVMValueRef address, LLVMValueRef bytes) {
  return LLVMBuildGEP2(r->b, r->i8, address, &bytes, 1, "");
}

#endif
