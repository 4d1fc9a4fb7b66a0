/* A program in several forms: local functions for each, and functions of the callers' that run the one whose
 * features the processor has.
 *
 * The processor is asked by CPUID and XGETBV, once: in a virtual machine each CPUID takes microseconds. The
 * answer, the number of the form and one more, is kept in a byte. Threads that ask at the same time write the
 * same. */
#include "codegen/llvm/program.h"

#include <stdio.h>
#include <string.h>

#include "ir/x86.h"

/* What a processor must say to have all features of a form. */
typedef struct demand {
  uint32_t bits[IR_X86_LEAVES][IR_X86_REGISTERS];
  uint32_t state;
} demand;

typedef struct chooser {
  const cg_program_request *request;
  ir_error *error;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef i8, i32, i64, pointer, cpuid_type;
  LLVMValueRef cpuid; /* inline assembler */
  LLVMValueRef words[IR_X86_LEAVES][IR_X86_REGISTERS];
  LLVMValueRef function;
} chooser;

static bool demand_of(const ir_target *target, demand *out, ir_error *error) {
  *out = (demand){0};
  if (!cg_target_is_x86(target)) {
    ir_fail(error, IR_ERR_UNSUPPORTED,
            "build: %s among several targets: only processors of x86-64 are told apart where the object runs",
            target->triple);
    return false;
  }
  for (const char *at = target->features; *at;) {
    size_t length = strcspn(at, ",");
    const ir_x86_feature *f = *at == '+' ? ir_x86_find(at + 1, length - 1) : NULL;
    if (*at == '+' && !f) {
      ir_fail(error, IR_ERR_UNSUPPORTED,
              "build: %.*s among the features of several targets: how a processor says that it has it is not "
              "known",
              (int)(length < 80 ? length : 80), at);
      return false;
    }
    if (f) {
      out->bits[f->leaf][f->reg] |= UINT32_C(1) << f->bit;
      out->state |= f->state;
    }
    at += length + (at[length] == ',');
  }
  return true;
}

/* the functions of one form */

static void set_features(LLVMContextRef context, LLVMValueRef function, const char *text) {
  static const char name[] = "target-features";
  LLVMAddAttributeAtIndex(
      function, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(context, name, sizeof name - 1, text, (unsigned)strlen(text)));
}

static bool is_kept(LLVMValueRef function) {
  static const char name[] = "target-features";
  return LLVMIsDeclaration(function) ||
         LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, name, sizeof name - 1);
}

void cg_keep_form(const cg_program_request *request, LLVMModuleRef module, size_t number) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (is_kept(f)) continue;
    char name[320];
    size_t length;
    const char *old = LLVMGetValueName2(f, &length);
    int n = snprintf(name, sizeof name, "%s.%zu", old, number);
    set_features(context, f, request->forms[number].target->features);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMSetValueName2(f, name, (size_t)n);
  }
}

/* asking the processor */

static LLVMValueRef number32(const chooser *c, uint32_t number) { return LLVMConstInt(c->i32, number, 0); }

static void start_function(chooser *c, LLVMValueRef function) {
  unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  c->function = function;
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(c->context, nounwind, 0));
  set_features(c->context, function, "");
  LLVMPositionBuilderAtEnd(c->b, LLVMAppendBasicBlockInContext(c->context, function, ""));
}

static LLVMValueRef assembler(LLVMTypeRef type, const char *text, const char *constraints) {
  char *written[] = {(char *)(uintptr_t)text,
                     (char *)(uintptr_t)constraints}; /* LLVM 17 does not say const */
  return LLVMGetInlineAsm(type, written[0], strlen(text), written[1], strlen(constraints), 0, 0,
                          LLVMInlineAsmDialectATT, 0);
}

static void ask(chooser *c, uint32_t leaf, uint32_t sub, LLVMValueRef out[IR_X86_REGISTERS]) {
  LLVMValueRef args[] = {number32(c, leaf), number32(c, sub)};
  LLVMValueRef all = LLVMBuildCall2(c->b, c->cpuid_type, c->cpuid, args, 2, "");
  for (unsigned i = 0; i < IR_X86_REGISTERS; i++) out[i] = LLVMBuildExtractValue(c->b, all, i, "");
}

/* All words of a leaf that the processor does not have are 0. */
static void keep_where(chooser *c, LLVMValueRef last, uint32_t least, LLVMValueRef words[IR_X86_REGISTERS]) {
  LLVMValueRef is_there = LLVMBuildICmp(c->b, LLVMIntUGE, last, number32(c, least), "");
  for (unsigned i = 0; i < IR_X86_REGISTERS; i++)
    words[i] = LLVMBuildSelect(c->b, is_there, words[i], number32(c, 0), "");
}

static void ask_all(chooser *c) {
  LLVMTypeRef members[IR_X86_REGISTERS] = {c->i32, c->i32, c->i32, c->i32}, args[] = {c->i32, c->i32};
  c->cpuid_type =
      LLVMFunctionType(LLVMStructTypeInContext(c->context, members, IR_X86_REGISTERS, 0), args, 2, 0);
  c->cpuid = assembler(c->cpuid_type, "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}");
  for (unsigned i = 0; i < IR_X86_LEAVES; i++) {
    const ir_x86_leaf *l = &ir_x86_leaves[i];
    ask(c, l->leaf, l->sub, c->words[i]);
    if (l->counter != i) keep_where(c, c->words[l->counter][IR_X86_EAX], l->least, c->words[i]);
  }
}

static LLVMBasicBlockRef new_block(const chooser *c) {
  return LLVMAppendBasicBlockInContext(c->context, c->function, "");
}

/* XCR0: the registers that the operating system saves; 0 where that cannot be asked. */
static LLVMValueRef saved_registers(chooser *c) {
  LLVMTypeRef members[] = {c->i32, c->i32};
  LLVMTypeRef type = LLVMFunctionType(LLVMStructTypeInContext(c->context, members, 2, 0), &c->i32, 1, 0);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(c->b), there = new_block(c), after = new_block(c);
  LLVMValueRef bit = LLVMBuildAnd(c->b, c->words[IR_X86_LEAF_1][IR_X86_ECX],
                                  number32(c, 1u << IR_X86_OSXSAVE_BIT), ""),
               zero = number32(c, 0);
  LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntNE, bit, zero, ""), there, after);
  LLVMPositionBuilderAtEnd(c->b, there);
  LLVMValueRef both = LLVMBuildCall2(c->b, type, assembler(type, "xgetbv", "={ax},={dx},{cx}"), &zero, 1, "");
  LLVMValueRef low = LLVMBuildExtractValue(c->b, both, 0, "");
  LLVMBuildBr(c->b, after);
  LLVMPositionBuilderAtEnd(c->b, after);
  LLVMValueRef saved = LLVMBuildPhi(c->b, c->i32, "");
  LLVMAddIncoming(saved, &zero, &before, 1);
  LLVMAddIncoming(saved, &low, &there, 1);
  return saved;
}

/* `ok`, and all bits of the mask are set. */
static LLVMValueRef and_has(chooser *c, LLVMValueRef ok, LLVMValueRef word, uint32_t mask) {
  if (!mask) return ok;
  LLVMValueRef bits = LLVMBuildAnd(c->b, word, number32(c, mask), "");
  LLVMValueRef all = LLVMBuildICmp(c->b, LLVMIntEQ, bits, number32(c, mask), "");
  return ok ? LLVMBuildAnd(c->b, ok, all, "") : all;
}

/* The number of the first form that the processor has the features of; how many forms there are, where none.
 */
static LLVMValueRef choose(chooser *c) {
  LLVMValueRef saved = saved_registers(c), chosen = number32(c, (uint32_t)c->request->form_count);
  for (size_t i = c->request->form_count; i-- > 0;) {
    demand d;
    LLVMValueRef ok = NULL;
    if (!demand_of(c->request->forms[i].target, &d, c->error)) return chosen;
    for (int leaf = 0; leaf < IR_X86_LEAVES; leaf++)
      for (int reg = 0; reg < IR_X86_REGISTERS; reg++)
        ok = and_has(c, ok, c->words[leaf][reg], d.bits[leaf][reg]);
    ok = and_has(c, ok, saved, d.state);
    LLVMValueRef number = number32(c, (uint32_t)i);
    chosen = ok ? LLVMBuildSelect(c->b, ok, number, chosen, "") : number;
  }
  return chosen;
}

/* choice(): the number of the form to run. */
static LLVMValueRef make_choice(chooser *c) {
  LLVMValueRef kept = LLVMAddGlobal(c->module, c->i8, "chosen");
  LLVMSetInitializer(kept, LLVMConstNull(c->i8));
  LLVMSetLinkage(kept, LLVMInternalLinkage);
  LLVMValueRef function = LLVMAddFunction(c->module, "choice", LLVMFunctionType(c->i32, NULL, 0, 0));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  start_function(c, function);
  LLVMValueRef known = LLVMBuildLoad2(c->b, c->i8, kept, "");
  LLVMSetOrdering(known, LLVMAtomicOrderingMonotonic);
  LLVMBasicBlockRef unknown = new_block(c), done = new_block(c);
  LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntEQ, known, LLVMConstNull(c->i8), ""), unknown, done);
  LLVMPositionBuilderAtEnd(c->b, done);
  LLVMValueRef wide = LLVMBuildZExt(c->b, known, c->i32, "");
  LLVMBuildRet(c->b, LLVMBuildSub(c->b, wide, number32(c, 1), ""));
  LLVMPositionBuilderAtEnd(c->b, unknown);
  ask_all(c);
  LLVMValueRef chosen = choose(c), next = LLVMBuildAdd(c->b, chosen, number32(c, 1), "");
  LLVMSetOrdering(LLVMBuildStore(c->b, LLVMBuildTrunc(c->b, next, c->i8, ""), kept),
                  LLVMAtomicOrderingMonotonic);
  LLVMBuildRet(c->b, chosen);
  return function;
}

/* the functions that callers see */

static LLVMValueRef form_function(const chooser *c, const char *what, size_t number) {
  char name[320];
  snprintf(name, sizeof name, "%s_%s.%zu", c->request->forms->program->name, what, number);
  return LLVMGetNamedFunction(c->module, name);
}

/* Calls the form's function with the same arguments, but with the address of the form's own weights. */
static void call_form(chooser *c, LLVMValueRef target, size_t number, int weights) {
  LLVMValueRef args[8];
  unsigned count = LLVMCountParams(c->function);
  LLVMGetParams(c->function, args);
  if (weights >= 0) {
    LLVMValueRef before = LLVMConstInt(c->i64, (unsigned long long)c->request->forms[number].weights, 0);
    args[weights] = LLVMBuildGEP2(c->b, c->i8, args[weights], &before, 1, "");
  }
  LLVMValueRef result = LLVMBuildCall2(c->b, LLVMGlobalGetValueType(target), target, args, count, "");
  LLVMSetTailCall(result, 1);
  LLVMBuildRet(c->b, result);
}

/* NAME_what: that of the form chosen, or `otherwise`. `weights` is the number of that parameter; -1: none. */
static void make_entry(chooser *c, const char *what, LLVMValueRef choice, int64_t otherwise, int weights) {
  char name[256];
  LLVMValueRef first = form_function(c, what, 0);
  if (!first) return;
  LLVMTypeRef type = LLVMGlobalGetValueType(first);
  snprintf(name, sizeof name, "%s_%s", c->request->forms->program->name, what);
  start_function(c, LLVMAddFunction(c->module, name, type));
  LLVMBasicBlockRef none = new_block(c);
  LLVMValueRef number = LLVMBuildCall2(c->b, LLVMGlobalGetValueType(choice), choice, NULL, 0, "");
  LLVMValueRef pick = LLVMBuildSwitch(c->b, number, none, (unsigned)c->request->form_count);
  LLVMPositionBuilderAtEnd(c->b, none);
  LLVMBuildRet(c->b, LLVMConstInt(LLVMGetReturnType(type), (unsigned long long)otherwise, 1));
  for (size_t i = 0; i < c->request->form_count; i++) {
    LLVMBasicBlockRef block = new_block(c);
    LLVMAddCase(pick, number32(c, (uint32_t)i), block);
    LLVMPositionBuilderAtEnd(c->b, block);
    call_form(c, form_function(c, what, i), i, weights);
  }
}

void cg_emit_choice(const cg_program_request *request, LLVMModuleRef module, ir_error *error) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  const cg_program *p = request->forms->program;
  chooser c = {.request = request,
               .error = error,
               .context = context,
               .module = module,
               .b = LLVMCreateBuilderInContext(context),
               .i8 = LLVMInt8TypeInContext(context),
               .i32 = LLVMInt32TypeInContext(context),
               .i64 = LLVMInt64TypeInContext(context),
               .pointer = LLVMPointerTypeInContext(context, 0)};
  LLVMValueRef choice = make_choice(&c);
  if (error->status == IR_OK) {
    make_entry(&c, "run", choice, IR_ERR_UNSUPPORTED, p->weights ? 2 + (p->variable_count != 0) : -1);
    make_entry(&c, "shapes", choice, IR_ERR_UNSUPPORTED, -1);
    make_entry(&c, "arena_bytes", choice, -1, -1);
  }
  LLVMDisposeBuilder(c.b);
}
