/* One kernel to machine code: the entry point of the LLVM code generator's module.
 *
 * A kernel already fixes all loops, vector lanes and tiles, so LLVM is given vector code, and of its middle
 * end only instsimplify is run. The module is verified first, since LLVM's code generation ends the process
 * on a broken one. */
#include "codegen/llvm/llvm.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

static unsigned metadata_kind(LLVMContextRef context, const char *name) {
  return LLVMGetMDKindIDInContext(context, name, (unsigned)strlen(name));
}

static void start_function(cg_emitter *e, const char *symbol) {
  LLVMTypeRef args[] = {e->pointer, e->pointer, e->i64, e->i64, e->pointer};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), args, 5, 0);
  e->function = LLVMAddFunction(e->module, symbol, type);
  cg_target_attributes(e->context, e->function, e->target);
  e->buffers = LLVMGetParam(e->function, 0);
  e->begin = LLVMGetParam(e->function, 2);
  e->end = LLVMGetParam(e->function, 3);
  e->scratch = LLVMGetParam(e->function, 4);
  LLVMPositionBuilderAtEnd(e->b, cg_block(e));
}

static const cg_emits emits = {.unrolled = cg_emit_unrolled,
                               .serial_loop = cg_emit_running,
                               .lane_loop = cg_emit_lanes,
                               .store = cg_emit_store,
                               .update = cg_emit_update,
                               .visit_operands = cg_visit_scaled,
                               .is_by_lane = cg_is_by_lane,
                               .end_lane = cg_end_lane,
                               .after_lanes = cg_after_lanes,
                               .lane = cg_emit_lane,
                               .store_lane = cg_emit_store_lane,
                               .ahead = cg_emit_prefetches,
                               .registers = cg_registers};

static void start_emitter(cg_emitter *e, const cg_request *request, cg_nest *nest, LLVMModuleRef module,
                          ir_error *error) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  *e = (cg_emitter){.nest = nest,
                    .g = &nest->graph,
                    .target = request->target,
                    .error = error,
                    .rounds = cg_target_rounds(request->target),
                    .gathers = request->target->gathers && cg_target_masks_loads(request->target),
                    .names_loops = request->want == CG_LISTING,
                    .halves_64 = cg_target_halves_64(request->target),
                    .holds_masks = cg_target_holds_masks(request->target),
                    .picks_bytes = cg_target_picks_bytes(request->target),
                    .context = context,
                    .module = module,
                    .b = LLVMCreateBuilderInContext(context),
                    .i1 = LLVMInt1TypeInContext(context),
                    .i64 = LLVMInt64TypeInContext(context),
                    .f32 = LLVMFloatTypeInContext(context),
                    .f64 = LLVMDoubleTypeInContext(context),
                    .pointer = LLVMPointerTypeInContext(context, 0),
                    .invariant = metadata_kind(context, "invariant.load"),
                    .weights = metadata_kind(context, "prof"),
                    .nontemporal = metadata_kind(context, "nontemporal")};
  if (cg_order_open(&e->order, nest, &emits, e, error)) start_function(e, request->symbol);
}

ir_status cg_emit_function(LLVMModuleRef module, const cg_request *request, cg_nest *nest, cg_blob *terms,
                           ir_error *error) {
  cg_emitter e;
  int64_t begin = ir_timer_start(request->timer);
  start_emitter(&e, request, nest, module, error);
  ir_timer_lap(request->timer, &begin, "open", -1, request->symbol);
  if (!e.order.failed) cg_emit_kernel(&e);
  ir_timer_lap(request->timer, &begin, "emit", -1, request->symbol);
  bool failed = e.order.failed;
  cg_order_close(&e.order);
  LLVMDisposeBuilder(e.b);
  terms->mem = nest->mem;
  terms->scratch = nest->scratch;
  terms->in_place = nest->in_place;
  terms->uses = nest->uses;
  terms->checks = !failed && LLVMGetFirstUse(e.status);
  return failed ? error->status : IR_OK;
}

static ir_status verify_module(LLVMModuleRef module, ir_error *error) {
  char *message = NULL;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
    ir_fail(error, IR_ERR_INTERNAL, "compile: LLVM refuses the code made for a kernel: %s", message);
  LLVMDisposeMessage(message);
  return error->status;
}

/* The terms in `out` stay as they are. */
static ir_status copy_out(const char *bytes, size_t size, cg_blob *out, ir_error *error) {
  char *copy = ir_alloc(out->mem, size + 1);
  if (!copy) return ir_fail(error, IR_ERR_MEMORY, "out of memory keeping %zu bytes of code", size);
  memcpy(copy, bytes, size);
  copy[size] = '\0';
  out->bytes = copy;
  out->size = size;
  return IR_OK;
}

/* Receives LLVM's diagnostics: the first error becomes the error of the call. */
static void diagnose(LLVMDiagnosticInfoRef info, void *user) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  ir_fail(user, IR_ERR_INTERNAL, "compile: LLVM: %s", text);
  LLVMDisposeMessage(text);
}

/* Folds expressions that turn out to be constant, such as x - x, before instruction selection: selection of
 * LLVM 19 treats 0.0/0.0 in an arm of a select on such a constant as a value that does not matter. */
static void fold_constants(LLVMModuleRef module, LLVMTargetMachineRef machine, ir_error *error) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef failure = LLVMRunPasses(module, "function(instsimplify)", machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!failure) return;
  char *text = LLVMGetErrorMessage(failure);
  ir_fail(error, IR_ERR_INTERNAL, "compile: LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
}

static ir_status generate_code(LLVMModuleRef module, const cg_request *request, LLVMTargetMachineRef machine,
                               cg_blob *out, ir_error *error) {
  LLVMMemoryBufferRef buffer = NULL;
  char *message = NULL;
  bool listing = request->want == CG_LISTING;
  LLVMCodeGenFileType kind = listing || request->want == CG_ASM ? LLVMAssemblyFile : LLVMObjectFile;
  LLVMContextSetDiagnosticHandler(LLVMGetModuleContext(module), diagnose, error);
  int64_t start = ir_timer_start(request->timer);
  fold_constants(module, machine, error);
  if (error->status != IR_OK) return error->status;
  ir_timer_lap(request->timer, &start, "simplify", -1, request->symbol);
  LLVMSetTargetMachineAsmVerbosity(machine, listing);
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &message, &buffer)) {
    ir_fail(error, IR_ERR_INTERNAL, "compile: LLVM makes no code: %s", message);
    LLVMDisposeMessage(message);
    return error->status;
  }
  ir_status status = error->status;
  if (status == IR_OK) status = copy_out(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), out, error);
  LLVMDisposeMemoryBuffer(buffer);
  ir_timer_lap(request->timer, &start, "select", -1, request->symbol);
  return status;
}

/* LLVM ends the process where it cannot make code for an architecture without hardware floats, or for a GPU:
 * others than these were not tried. */
static ir_status refuse_architecture(const ir_target *target, ir_error *error) {
  static const char *const tried[] = {"x86_64",      "aarch64",     "riscv64",
                                      "powerpc64le", "loongarch64", "mips64el"};
  size_t length = strcspn(target->triple, "-");
  for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
    if (strlen(tried[i]) == length && !memcmp(tried[i], target->triple, length)) return IR_OK;
  return ir_fail(
      error, IR_ERR_UNSUPPORTED,
      "compile: no code is made for %s: the architectures are x86_64, aarch64, riscv64, powerpc64le, "
      "loongarch64 and mips64el",
      target->triple);
}

/* Tables of addresses have 8 bytes for each, and elements of several dtypes share bytes. */
static ir_status refuse_layout(LLVMTargetMachineRef machine, const ir_target *target, ir_error *error) {
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  bool wide = LLVMPointerSize(layout) == 8, little = LLVMByteOrder(layout) == LLVMLittleEndian;
  LLVMDisposeTargetData(layout);
  if (wide && little) return refuse_architecture(target, error);
  return ir_fail(error, IR_ERR_UNSUPPORTED,
                 "compile: %s %s; code is made for little-endian machines with pointers of 64 bits",
                 target->triple, wide ? "is big-endian" : "has pointers of 32 bits");
}

LLVMModuleRef cg_open_module(const cg_request *request, cg_machine *machine, ir_error *error) {
  LLVMTargetMachineRef llvm = machine->machine;
  if (!llvm && cg_target_machine(request->target, request->level, &llvm, error)) return NULL;
  machine->machine = llvm;
  if (refuse_layout(llvm, request->target, error) != IR_OK) return NULL;
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext(request->symbol, LLVMContextCreate());
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(llvm);
  LLVMSetModuleDataLayout(module, layout);
  LLVMDisposeTargetData(layout);
  LLVMSetTarget(module, request->target->triple);
  return module;
}

ir_status cg_finish_module(LLVMModuleRef module, const cg_request *request, const cg_machine *machine,
                           cg_blob *out, ir_error *error) {
  int64_t start = ir_timer_start(request->timer);
  ir_status status = verify_module(module, error);
  ir_timer_lap(request->timer, &start, "verify", -1, request->symbol);
  if (status == IR_OK && request->want != CG_LLVM)
    return generate_code(module, request, machine->machine, out, error);
  if (status != IR_OK) return status;
  char *text = LLVMPrintModuleToString(module);
  status = copy_out(text, strlen(text), out, error);
  LLVMDisposeMessage(text);
  return status;
}

void cg_close_module(LLVMModuleRef module) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
}

static ir_status compile_module(const cg_request *request, cg_machine *machine, cg_blob *out,
                                ir_error *error) {
  ir_error own = {0};
  cg_nest nest;
  LLVMModuleRef module = NULL;
  *out = (cg_blob){0};
  int64_t start = ir_timer_start(request->timer);
  ir_status status = cg_nest_make(&nest, request->graph, request->kernel, false, &own);
  ir_timer_lap(request->timer, &start, "nest", -1, request->symbol);
  if (status == IR_OK) module = cg_open_module(request, machine, &own);
  if (module) {
    status = cg_emit_function(module, request, &nest, out, &own);
    if (status == IR_OK) status = cg_finish_module(module, request, machine, out, &own);
    start = ir_timer_start(request->timer);
    cg_close_module(module);
    ir_timer_lap(request->timer, &start, "close", -1, request->symbol);
  } else if (status == IR_OK) {
    status = own.status;
  }
  cg_nest_free(&nest);
  return status == IR_OK ? IR_OK : ir_fail(error, status, "%s", own.text);
}

static void dispose_machine(cg_machine *machine) {
  LLVMDisposeTargetMachine(machine->machine);
  machine->machine = NULL;
}

__attribute__((visibility("default")))
const cg_entry vf_codegen_llvm = {CG_ENTRY_ABI,   IR_OP_COUNT,     sizeof(ir_node), sizeof(ir_target),
                                  compile_module, dispose_machine, cg_build_program};
