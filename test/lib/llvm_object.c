/* Object files that LLVM makes. */
#include "test/lib/llvm_object.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "test/lib/unit.h"

static const struct {
  const char *triple, *features;
} rows[OBJECT_MACHINES] = {[OBJECT_X86_64] = {"x86_64-unknown-linux-gnu", ""},
                           [OBJECT_AARCH64] = {"aarch64-unknown-linux-gnu", "+neon"},
                           [OBJECT_RISCV64] = {"riscv64-unknown-linux-gnu", "+m,+a,+f,+d,+c"}};
static LLVMTargetMachineRef machines[OBJECT_MACHINES];

int object_start(void **state) {
  (void)state;
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMInitializeAllAsmParsers();
  for (int i = 0; i < OBJECT_MACHINES; i++) {
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(rows[i].triple, &target, &message)) return 1;
    machines[i] = LLVMCreateTargetMachine(target, rows[i].triple, "generic", rows[i].features,
                                          LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
  }
  return 0;
}

int object_stop(void **state) {
  (void)state;
  for (int i = 0; i < OBJECT_MACHINES; i++)
    if (machines[i]) LLVMDisposeTargetMachine(machines[i]);
  LLVMShutdown();
  return 0;
}

object object_compile(object_machine which, const char *ir) {
  if (which >= OBJECT_MACHINES) skip();
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "test");
  LLVMModuleRef module;
  char *message = NULL;
  if (LLVMParseIRInContext(context, text, &module, &message)) fail_msg("%s", message);
  LLVMSetTarget(module, rows[which].triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machines[which]);
  LLVMSetModuleDataLayout(module, layout);
  LLVMDisposeTargetData(layout);
  LLVMMemoryBufferRef made;
  if (LLVMTargetMachineEmitToMemoryBuffer(machines[which], module, LLVMObjectFile, &message, &made))
    fail_msg("%s", message);
  object o = {malloc(LLVMGetBufferSize(made)), LLVMGetBufferSize(made)};
  memcpy(o.bytes, LLVMGetBufferStart(made), o.size);
  LLVMDisposeMemoryBuffer(made);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return o;
}

const char object_of_all_kinds[] =
    "@table = private unnamed_addr constant [4 x i32] [i32 11, i32 22, i32 33, i32 44], align 16\n"
    "define i32 @look(i64 %i) {\n"
    "  %p = getelementptr [4 x i32], ptr @table, i64 0, i64 %i\n"
    "  %v = load i32, ptr %p\n  ret i32 %v\n}\n"
    "define internal i32 @hidden(i32 %x) noinline {\n  %y = mul i32 %x, 7\n  ret i32 %y\n}\n"
    "define i32 @choose(i32 %k, i32 %x) {\n"
    "  switch i32 %k, label %d [i32 0, label %a\n i32 1, label %b\n i32 2, label %c\n i32 3, label %e\n"
    "    i32 4, label %f\n i32 5, label %g]\n"
    "a: %ra = add i32 %x, 100\n ret i32 %ra\n"
    "b: %rb = xor i32 %x, 255\n ret i32 %rb\n"
    "c: %rc = call i32 @hidden(i32 %x)\n ret i32 %rc\n"
    "e: %re = call i32 @look(i64 2)\n ret i32 %re\n"
    "f: %rf = mul i32 %x, %x\n ret i32 %rf\n"
    "g: %rg = sdiv i32 %x, 3\n ret i32 %rg\n"
    "d: ret i32 -1\n}\n"
    "define void @scale(ptr %p) {\n"
    "  %v = load <4 x float>, ptr %p, align 4\n"
    "  %w = fmul <4 x float> %v, <float 1.5, float 2.5, float 3.5, float 4.5>\n"
    "  %x = fadd <4 x float> %w, <float 0.25, float 0.5, float 0.75, float 1.0>\n"
    "  store <4 x float> %x, ptr %p, align 4\n  ret void\n}\n"
    "define double @wide(double %x) {\n  %y = fmul double %x, 3.14159\n  ret double %y\n}\n";
