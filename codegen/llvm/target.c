/* From ir_target to LLVM: the target machine, the attributes of functions, and the intrinsics that only some
 * processors have. Nothing here looks at the machine that this process runs on. */
#include "codegen/llvm/llvm.h"

#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <string.h>

/* LLVM's table of targets is global to the process, and has no lock; the loader fills it once, whichever
 * context opens the module first. All of them take half a millisecond (Xeon, Sapphire Rapids). */
__attribute__((constructor)) static void register_targets(void) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMInitializeAllAsmParsers(); /* of program_choice.c, which asks the processor by its own instructions */
}

static bool has_feature(const ir_target *target, const char *name) {
  size_t length = strlen(name);
  for (const char *at = target->features; (at = strstr(at, name)); at += length)
    if (at > target->features && at[-1] == '+' && (at[length] == ',' || at[length] == '\0')) return true;
  return false;
}

bool cg_target_is_x86(const ir_target *target) { return !strncmp(target->triple, "x86_64-", 7); }

bool cg_target_rounds(const ir_target *target) {
  static const char *const enough[] = {"sse4.1", "sse4.2", "avx", "avx2", "avx512f"};
  for (size_t i = 0; i < sizeof enough / sizeof *enough; i++)
    if (has_feature(target, enough[i])) return true;
  return !cg_target_is_x86(target);
}

static bool is_aarch64(const ir_target *target) { return !strncmp(target->triple, "aarch64-", 8); }

/* BFCVT of AArch64. VCVTNEPS2BF16 of AVX-512 gives zeros for subnormal results, which no integer has. */
bool cg_target_rounds_bf16(const ir_target *target, bool whole) {
  if (whole && has_feature(target, "avx512bf16")) return has_feature(target, "avx512vl");
  return is_aarch64(target) && has_feature(target, "bf16");
}

bool cg_target_rounds_64_twice(const ir_target *target) { return is_aarch64(target); }

bool cg_target_separates_lanes(const ir_target *target) {
  return LLVM_VERSION_MAJOR < 20 && is_aarch64(target);
}

bool cg_target_masks_loads(const ir_target *target) {
  return has_feature(target, "avx512f") && has_feature(target, "avx512vl");
}

bool cg_target_holds_masks(const ir_target *target) {
  return cg_target_is_x86(target) ? has_feature(target, "avx512bw") : has_feature(target, "v");
}

bool cg_target_looks_up_bytes(const ir_target *target) {
  return cg_target_is_x86(target) && has_feature(target, "avx512vbmi") && target->vector_bytes >= 64;
}

bool cg_target_halves_64(const ir_target *target) {
  return cg_target_is_x86(target) && !has_feature(target, "avx512dq") && target->vector_bytes > 16 &&
         cg_target_rounds(target);
}

bool cg_target_picks_bytes(const ir_target *target) { return has_feature(target, "avx512vl"); }

const char *cg_target_dot4(const ir_target *target, uint32_t width) {
  static const struct {
    uint32_t width;
    const char *feature, *other, *intrinsic;
  } table[] = {{4, "avx512vl", "avxvnni", "llvm.x86.avx512.vpdpbusd.128"},
               {8, "avx512vl", "avxvnni", "llvm.x86.avx512.vpdpbusd.256"},
               {16, "avx512f", NULL, "llvm.x86.avx512.vpdpbusd.512"}};
  for (size_t i = 0; cg_target_is_x86(target) && i < sizeof table / sizeof *table; i++)
    if (table[i].width == width && 4 * width <= (uint32_t)target->vector_bytes &&
        ((has_feature(target, "avx512vnni") && has_feature(target, table[i].feature)) ||
         (table[i].other && has_feature(target, table[i].other))))
      return table[i].intrinsic;
  return NULL;
}

const char *cg_target_dot2(const ir_target *target, uint32_t width) {
  static const struct {
    uint32_t width;
    const char *feature, *intrinsic;
  } table[] = {{4, NULL, "llvm.x86.sse2.pmadd.wd"},
               {8, "avx2", "llvm.x86.avx2.pmadd.wd"},
               {16, "avx512bw", "llvm.x86.avx512.pmaddw.d.512"}};
  for (size_t i = 0; cg_target_is_x86(target) && i < sizeof table / sizeof *table; i++)
    if (table[i].width == width && 4 * width <= (uint32_t)target->vector_bytes &&
        (!table[i].feature || has_feature(target, table[i].feature)))
      return table[i].intrinsic;
  return NULL;
}

const char *cg_target_fma2(const ir_target *target, uint32_t width) {
  static const struct {
    uint32_t width;
    const char *feature, *intrinsic;
  } table[] = {{4, "avx512vl", "llvm.x86.avx512bf16.dpbf16ps.128"},
               {8, "avx512vl", "llvm.x86.avx512bf16.dpbf16ps.256"},
               {16, "avx512f", "llvm.x86.avx512bf16.dpbf16ps.512"}};
  for (size_t i = 0; cg_target_is_x86(target) && i < sizeof table / sizeof *table; i++)
    if (table[i].width == width && 4 * width <= (uint32_t)target->vector_bytes &&
        has_feature(target, "avx512bf16") && has_feature(target, table[i].feature))
      return table[i].intrinsic;
  return NULL;
}

bool cg_target_masks_stores(const ir_target *target, unsigned bytes) {
  return has_feature(target, "avx512bw") || (bytes >= 4 && has_feature(target, "avx2"));
}

const char *cg_target_scale(const ir_target *target, unsigned bytes, uint32_t width) {
  static const struct {
    unsigned bytes, width;
    const char *feature, *intrinsic;
  } table[] = {{4, 16, "avx512f", "llvm.x86.avx512.mask.scalef.ps.512"},
               {8, 8, "avx512f", "llvm.x86.avx512.mask.scalef.pd.512"},
               {4, 8, "avx512vl", "llvm.x86.avx512.mask.scalef.ps.256"},
               {8, 4, "avx512vl", "llvm.x86.avx512.mask.scalef.pd.256"},
               {4, 4, "avx512vl", "llvm.x86.avx512.mask.scalef.ps.128"}};
  for (size_t i = 0; cg_target_is_x86(target) && i < sizeof table / sizeof *table; i++)
    if (table[i].bytes == bytes && table[i].width == width &&
        bytes * width <= (unsigned)target->vector_bytes && has_feature(target, table[i].feature))
      return table[i].intrinsic;
  return NULL;
}

const char *cg_target_store_fence(const ir_target *target) {
  return cg_target_is_x86(target) ? "llvm.x86.sse.sfence" : NULL;
}

ir_status cg_target_machine(const ir_target *target, int level, LLVMTargetMachineRef *out, ir_error *error) {
  LLVMTargetRef kind = NULL;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(target->triple, &kind, &message)) {
    ir_status status =
        ir_fail(error, IR_ERR_COMPILE,
                "compile: LLVM cannot make code for %s: %s; a triple is like aarch64-linux-gnu",
                target->triple, message);
    LLVMDisposeMessage(message);
    return status;
  }
  LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                  LLVMCodeGenLevelAggressive};
  LLVMCodeGenOptLevel chosen = level < 0 || level > 3 ? LLVMCodeGenLevelDefault : levels[level];
  *out = LLVMCreateTargetMachine(kind, target->triple, "generic", target->features, chosen, LLVMRelocPIC,
                                 LLVMCodeModelSmall);
  return *out ? IR_OK
              : ir_fail(error, IR_ERR_INTERNAL, "compile: LLVM has no machine for %s", target->triple);
}

static void attribute(LLVMContextRef context, LLVMValueRef function, const char *name, const char *value) {
  LLVMAddAttributeAtIndex(
      function, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void cg_target_attributes(LLVMContextRef context, LLVMValueRef function, const ir_target *target) {
  unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(context, nounwind, 0));
  if (!cg_target_is_x86(target)) return;
  char bits[16];
  snprintf(bits, sizeof bits, "%d", target->vector_bytes * 8);
  attribute(context, function, "prefer-vector-width", bits);
  attribute(context, function, "min-legal-vector-width", bits);
}

/* Costs a register and a few instructions; without it vectors on the stack lie across two lines each. */
void cg_target_align_stack(LLVMContextRef context, LLVMValueRef function, const ir_target *target) {
  if (cg_target_is_x86(target)) attribute(context, function, "stackrealign", "");
}
