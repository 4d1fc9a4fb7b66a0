/* A program as a module: kernels as local functions, and the functions that callers see. */
#include "codegen/llvm/program.h"

#include <stdio.h>

/* kernels */

static bool emit_kernel(cg_runner *r, const cg_program_request *request, size_t number) {
  const cg_source *k = &r->p->kernels[number];
  cg_request one = {k->graph, k->kernel, k->symbol, r->target, CG_OBJECT, request->level, request->timer};
  cg_nest nest;
  ir_status status = cg_nest_make(&nest, k->graph, k->kernel, false, r->error);
  if (status == IR_OK) status = cg_emit_function(r->module, &one, &nest, &r->terms[number], r->error);
  cg_nest_free(&nest);
  if (status != IR_OK) return false;
  r->kernels[number] = LLVMGetNamedFunction(r->module, k->symbol);
  LLVMSetLinkage(r->kernels[number], LLVMInternalLinkage);
  return true;
}

static bool emit_kernels(cg_runner *r, const cg_program_request *request) {
  for (size_t i = 0; i < r->p->kernel_count; i++)
    if (!emit_kernel(r, request, i)) return false;
  return true;
}

/* functions */

static void start_function(cg_runner *r, const char *what, LLVMTypeRef type) {
  char name[256];
  snprintf(name, sizeof name, "%s_%s", r->p->name, what);
  r->function = LLVMAddFunction(r->module, name, type);
  cg_target_attributes(r->context, r->function, r->target);
  LLVMPositionBuilderAtEnd(r->b, cg_new_block(r));
}

static void return_status(cg_runner *r, ir_status status) {
  LLVMBuildRet(r->b, LLVMConstInt(r->i32, (unsigned long long)status, 0));
}

/* Emits the sizes, and returns `otherwise` where they are refused. */
static void emit_checked_sizes(cg_runner *r, LLVMValueRef otherwise) {
  cg_emit_sizes(r);
  LLVMValueRef bad = cg_sizes_refused(r);
  if (LLVMIsAConstantInt(bad) && !LLVMConstIntGetZExtValue(bad)) return;
  LLVMBasicBlockRef refuse = cg_new_block(r), good = cg_new_block(r);
  LLVMBuildCondBr(r->b, bad, refuse, good);
  LLVMPositionBuilderAtEnd(r->b, refuse);
  LLVMBuildRet(r->b, otherwise);
  LLVMPositionBuilderAtEnd(r->b, good);
}

static LLVMValueRef invalid(const cg_runner *r) { return LLVMConstInt(r->i32, IR_ERR_INVALID, 0); }

/* Tables on the stack, which all steps use one after the other. */
static void make_tables(cg_runner *r) {
  const cg_program *p = r->p;
  uint32_t most = 0, most_variables = 0, most_arrays = 0;
  for (size_t i = 0; i < p->step_count; i++) {
    const cg_step *s = &p->steps[i];
    if (s->kind == IR_STEP_KERNEL && s->buffer_count > most) most = s->buffer_count;
    if (s->variable_count > most_variables) most_variables = s->variable_count;
    if (s->kind == IR_STEP_CALL && s->buffer_count > most_arrays) most_arrays = s->buffer_count;
  }
  if (most_arrays) {
    LLVMTypeRef row = LLVMArrayType2(r->i8, sizeof(cg_call_array) * most_arrays);
    r->call_arrays = LLVMBuildAlloca(r->b, row, "arrays");
    LLVMSetAlignment(r->call_arrays, sizeof(int64_t));
    r->call_dims = LLVMBuildAlloca(r->b, LLVMArrayType2(r->i64, IR_MAX_RANK * most_arrays), "dims");
  }
  r->buffers = LLVMBuildAlloca(r->b, LLVMArrayType2(r->pointer, most + 1), "buffers");
  r->variables = LLVMBuildAlloca(r->b, LLVMArrayType2(r->i64, most_variables + 1), "variables");
  r->status = LLVMBuildAlloca(r->b, r->i64, "status");
  for (size_t i = 0; i < p->moving_count; i++) r->moving[i] = LLVMBuildAlloca(r->b, r->pointer, "moving");
  for (size_t i = 0; i < p->kernel_count; i++)
    if (r->terms[i].checks) {
      LLVMBuildStore(r->b, cg_number(r, 0), r->status);
      break;
    }
}

/* The arena begins at the first multiple of its alignment. */
static LLVMValueRef aligned(cg_runner *r, LLVMValueRef address) {
  LLVMValueRef below =
      LLVMBuildAnd(r->b, LLVMBuildNeg(r->b, LLVMBuildPtrToInt(r->b, address, r->i64, ""), ""),
                   cg_number(r, CG_ARENA_ALIGN - 1), "");
  return cg_behind(r, address, below);
}

static void emit_run(cg_runner *r) {
  bool sized = r->p->variable_count != 0;
  LLVMTypeRef args[] = {r->pointer, r->pointer, r->pointer, r->pointer, r->pointer};
  unsigned count = 2u + sized + r->p->weights + r->p->shares;
  start_function(r, "run", LLVMFunctionType(r->i32, args, count, 0));
  r->host = r->p->shares ? LLVMGetParam(r->function, count - 1) : NULL;
  r->weights = r->p->weights ? LLVMGetParam(r->function, 2u + sized) : NULL;
  r->arrays = LLVMGetParam(r->function, 0);
  r->given_sizes = sized ? LLVMGetParam(r->function, 1) : NULL;
  make_tables(r);
  emit_checked_sizes(r, invalid(r));
  r->arena = aligned(r, LLVMGetParam(r->function, sized ? 2 : 1));
  cg_emit_steps(r);
  return_status(r, IR_OK);
  const struct {
    LLVMBasicBlockRef block;
    ir_status status;
  } exits[] = {{r->out_of_range, IR_ERR_RANGE}, {r->failed, IR_ERR_DEVICE}};
  for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
    if (!exits[i].block) continue;
    LLVMPositionBuilderAtEnd(r->b, exits[i].block);
    return_status(r, exits[i].status);
  }
}

static void emit_shapes(cg_runner *r) {
  LLVMTypeRef args[] = {r->pointer, r->pointer};
  start_function(r, "shapes", LLVMFunctionType(r->i32, args, 2, 0));
  r->given_sizes = LLVMGetParam(r->function, 0);
  emit_checked_sizes(r, invalid(r));
  for (size_t i = 0; i < r->p->dim_count; i++)
    LLVMBuildStore(r->b, r->sizes[r->p->dims[i]].value,
                   cg_behind(r, LLVMGetParam(r->function, 1), cg_number(r, 8 * (int64_t)i)));
  return_status(r, IR_OK);
}

static void emit_arena_bytes(cg_runner *r) {
  start_function(r, "arena_bytes", LLVMFunctionType(r->i64, &r->pointer, 1, 0));
  r->given_sizes = LLVMGetParam(r->function, 0);
  emit_checked_sizes(r, cg_number(r, -1));
  LLVMBuildRet(r->b, r->sizes[r->p->arena].value);
}

/* memory: one block for all tables */

static size_t lay_out(cg_runner *r, char *memory) {
  const cg_program *p = r->p;
  const struct {
    void *table;
    size_t bytes;
  } parts[] = {{&r->kernels, p->kernel_count * sizeof *r->kernels},
               {&r->terms, p->kernel_count * sizeof *r->terms},
               {&r->data, p->data_count * sizeof *r->data},
               {&r->sizes, p->size_count * sizeof *r->sizes},
               {&r->moving, p->moving_count * sizeof *r->moving}};
  size_t at = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (memory) *(void **)parts[i].table = memory + at;
    at += parts[i].bytes;
  }
  return at;
}

static void start_runner(cg_runner *r, const cg_form *form, LLVMModuleRef module, ir_error *error) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  *r = (cg_runner){.p = form->program,
                   .target = form->target,
                   .error = error,
                   .context = context,
                   .module = module,
                   .b = LLVMCreateBuilderInContext(context),
                   .i1 = LLVMInt1TypeInContext(context),
                   .i8 = LLVMInt8TypeInContext(context),
                   .i32 = LLVMInt32TypeInContext(context),
                   .i64 = LLVMInt64TypeInContext(context),
                   .pointer = LLVMPointerTypeInContext(context, 0)};
  LLVMTypeRef args[] = {r->pointer, r->pointer, r->i64, r->i64, r->pointer};
  r->kernel_type = LLVMFunctionType(LLVMVoidTypeInContext(context), args, 5, 0);
}

static void emit_form(const cg_program_request *request, const cg_form *form, LLVMModuleRef module,
                      const ir_mem *mem, ir_error *error) {
  cg_runner r;
  start_runner(&r, form, module, error);
  size_t size = lay_out(&r, NULL) + 1;
  char *memory = ir_alloc(mem, size);
  if (memory) {
    for (size_t i = 0; i < size; i++) memory[i] = 0;
    lay_out(&r, memory);
    if (emit_kernels(&r, request)) {
      emit_run(&r);
      if (r.p->variable_count) emit_shapes(&r), emit_arena_bytes(&r);
    }
    ir_free(mem, memory, size);
  } else {
    ir_fail(error, IR_ERR_MEMORY, "build: out of memory for the code of @%s", r.p->name);
  }
  LLVMDisposeBuilder(r.b);
}

static void emit_program(const cg_program_request *request, LLVMModuleRef module, const ir_mem *mem,
                         ir_error *error) {
  for (size_t i = 0; i < request->form_count && error->status == IR_OK; i++) {
    emit_form(request, &request->forms[i], module, mem, error);
    if (request->form_count > 1) cg_keep_form(request, module, i);
  }
  if (request->form_count > 1 && error->status == IR_OK) cg_emit_choice(request, module, error);
}

ir_status cg_build_program(const cg_program_request *request, const ir_mem *mem, cg_machine *machine,
                           cg_blob *out, ir_error *error) {
  ir_error own = {0};
  cg_request whole = {.symbol = request->forms->program->name,
                      .target = request->forms->target,
                      .want = request->want,
                      .level = request->level,
                      .timer = request->timer};
  *out = (cg_blob){.mem = mem};
  LLVMModuleRef module = cg_open_module(&whole, machine, &own);
  if (module) {
    emit_program(request, module, mem, &own);
    if (own.status == IR_OK) cg_finish_module(module, &whole, machine, out, &own);
    cg_close_module(module);
  }
  return own.status == IR_OK ? IR_OK : ir_fail(error, own.status, "%s", own.text);
}
