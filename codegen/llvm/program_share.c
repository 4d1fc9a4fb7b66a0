/* Loops of kernels shared by the threads of the host. */
#include "codegen/llvm/program.h"

enum { KERNEL, BUFFERS, VARIABLES, SCRATCH, ARGUMENTS }; /* what the body gets, in a table of its caller's */
enum { USER, PARALLEL_FOR };                             /* members of a cg_host */

/* Member `number` of a struct of pointers. */
static LLVMValueRef place(const cg_runner *r, LLVMValueRef table, int number) {
  return cg_behind(r, table, cg_number(r, 8 * (int64_t)number));
}

static LLVMValueRef get(const cg_runner *r, LLVMValueRef table, int number) {
  return LLVMBuildLoad2(r->b, r->pointer, place(r, table, number), "");
}

static void start_local(cg_runner *r, const char *name, LLVMTypeRef type) {
  r->function = LLVMAddFunction(r->module, name, type);
  LLVMSetLinkage(r->function, LLVMInternalLinkage);
  cg_target_attributes(r->context, r->function, r->target);
  LLVMPositionBuilderAtEnd(r->b, cg_new_block(r));
}

static LLVMTypeRef body_type(const cg_runner *r) {
  LLVMTypeRef args[] = {r->pointer, r->i64, r->i64, r->i64};
  return LLVMFunctionType(LLVMVoidTypeInContext(r->context), args, 4, 0);
}

/* body(argument, worker, begin, end): a part of the loop, with the worker's own scratch memory. */
static LLVMValueRef make_body(cg_runner *r) {
  start_local(r, "body", body_type(r));
  LLVMValueRef argument = LLVMGetParam(r->function, 0), worker = LLVMGetParam(r->function, 1);
  LLVMValueRef mine = LLVMBuildMul(r->b, worker, cg_number(r, r->p->scratch_each), "");
  LLVMValueRef args[] = {get(r, argument, BUFFERS), get(r, argument, VARIABLES), LLVMGetParam(r->function, 2),
                         LLVMGetParam(r->function, 3), cg_behind(r, get(r, argument, SCRATCH), mine)};
  LLVMBuildCall2(r->b, r->kernel_type, get(r, argument, KERNEL), args, 5, "");
  LLVMBuildRetVoid(r->b);
  return r->function;
}

/* Has the host no threads, or is the loop one part? Goes to `alone` where that is so without looking at the
 * host. */
static LLVMValueRef is_alone(const cg_runner *r, LLVMValueRef host, LLVMValueRef count, LLVMValueRef grain,
                             LLVMBasicBlockRef alone) {
  LLVMBasicBlockRef given = cg_new_block(r);
  LLVMValueRef none = LLVMConstNull(r->pointer);
  LLVMValueRef absent = LLVMBuildOr(r->b, LLVMBuildICmp(r->b, LLVMIntEQ, host, none, ""),
                                    LLVMBuildICmp(r->b, LLVMIntSGE, grain, count, ""), "");
  LLVMBuildCondBr(r->b, absent, alone, given);
  LLVMPositionBuilderAtEnd(r->b, given);
  return LLVMBuildICmp(r->b, LLVMIntEQ, get(r, host, PARALLEL_FOR), none, "");
}

/* share(host, kernel, buffers, variables, scratch, count, grain) */
static void make_share(cg_runner *r) {
  LLVMTypeRef args[] = {r->pointer, r->pointer, r->pointer, r->pointer, r->pointer, r->i64, r->i64};
  LLVMTypeRef for_args[] = {r->pointer, r->pointer, r->pointer, r->i64, r->i64};
  LLVMTypeRef nothing = LLVMVoidTypeInContext(r->context);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(r->b);
  LLVMValueRef caller = r->function, body = make_body(r), given[7];
  r->share_type = LLVMFunctionType(nothing, args, 7, 0);
  start_local(r, "share", r->share_type);
  r->share = r->function;
  for (unsigned i = 0; i < 7; i++) given[i] = LLVMGetParam(r->share, i);
  LLVMValueRef host = given[0], scratch = given[4], count = given[5], grain = given[6];
  LLVMValueRef table = LLVMBuildAlloca(r->b, LLVMArrayType2(r->pointer, ARGUMENTS), "argument");
  LLVMBasicBlockRef alone = cg_new_block(r), together = cg_new_block(r);
  LLVMBuildCondBr(r->b, is_alone(r, host, count, grain, alone), alone, together);
  LLVMPositionBuilderAtEnd(r->b, alone);
  LLVMValueRef whole[] = {given[2], given[3], cg_number(r, 0), count, scratch};
  LLVMBuildCall2(r->b, r->kernel_type, given[1], whole, 5, "");
  LLVMBuildRetVoid(r->b);
  LLVMPositionBuilderAtEnd(r->b, together);
  for (int i = 0; i < ARGUMENTS; i++) LLVMBuildStore(r->b, given[1 + i], place(r, table, i));
  LLVMValueRef parts[] = {get(r, host, USER), body, table, count, grain};
  LLVMBuildCall2(r->b, LLVMFunctionType(nothing, for_args, 5, 0), get(r, host, PARALLEL_FOR), parts, 5, "");
  LLVMBuildRetVoid(r->b);
  r->function = caller;
  LLVMPositionBuilderAtEnd(r->b, here);
}

void cg_emit_shared(cg_runner *r, LLVMValueRef kernel, LLVMValueRef variables, LLVMValueRef count,
                    LLVMValueRef grain, LLVMValueRef scratch) {
  if (!r->share) make_share(r);
  LLVMValueRef args[] = {r->host, kernel, r->buffers, variables, scratch, count, grain};
  LLVMBuildCall2(r->b, r->share_type, r->share, args, 7, "");
}
