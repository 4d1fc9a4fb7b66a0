/* Checks that the code generator disposes of the LLVM objects that it creates: linked into the compiler
 * module, where each of these functions is wrapped (heap.h). */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "heap.h"

#define MAKES(type, name, params, args)                                                                      \
  type __real_##name params;                                                                                 \
  type __wrap_##name params;                                                                                 \
  type __wrap_##name params {                                                                                \
    type made = __real_##name args;                                                                          \
    heap_hold(made, sizeof(void *));                                                                         \
    return made;                                                                                             \
  }
#define DISPOSES(type, name)                                                                                 \
  void __real_##name(type what);                                                                             \
  void __wrap_##name(type what);                                                                             \
  void __wrap_##name(type what) {                                                                            \
    heap_forget(what);                                                                                       \
    __real_##name(what);                                                                                     \
  }

MAKES(LLVMContextRef, LLVMContextCreate, (void), ())
DISPOSES(LLVMContextRef, LLVMContextDispose)
MAKES(LLVMModuleRef, LLVMModuleCreateWithNameInContext, (const char *id, LLVMContextRef c), (id, c))
DISPOSES(LLVMModuleRef, LLVMDisposeModule)
MAKES(LLVMBuilderRef, LLVMCreateBuilderInContext, (LLVMContextRef c), (c))
DISPOSES(LLVMBuilderRef, LLVMDisposeBuilder)
MAKES(LLVMPassBuilderOptionsRef, LLVMCreatePassBuilderOptions, (void), ())
DISPOSES(LLVMPassBuilderOptionsRef, LLVMDisposePassBuilderOptions)
MAKES(LLVMTargetDataRef, LLVMCreateTargetDataLayout, (LLVMTargetMachineRef t), (t))
DISPOSES(LLVMTargetDataRef, LLVMDisposeTargetData)
MAKES(LLVMTargetMachineRef, LLVMCreateTargetMachine,
      (LLVMTargetRef t, const char *triple, const char *cpu, const char *features, LLVMCodeGenOptLevel level,
       LLVMRelocMode reloc, LLVMCodeModel model),
      (t, triple, cpu, features, level, reloc, model))
DISPOSES(LLVMTargetMachineRef, LLVMDisposeTargetMachine)
MAKES(char *, LLVMPrintModuleToString, (LLVMModuleRef m), (m))
DISPOSES(char *, LLVMDisposeMessage)
MAKES(char *, LLVMGetErrorMessage, (LLVMErrorRef e), (e))
DISPOSES(char *, LLVMDisposeErrorMessage)
DISPOSES(LLVMMemoryBufferRef, LLVMDisposeMemoryBuffer)

/* These return what they create through a pointer. */
LLVMBool __real_LLVMVerifyModule(LLVMModuleRef m, LLVMVerifierFailureAction action, char **message);
LLVMBool __wrap_LLVMVerifyModule(LLVMModuleRef m, LLVMVerifierFailureAction action, char **message);
LLVMBool __wrap_LLVMVerifyModule(LLVMModuleRef m, LLVMVerifierFailureAction action, char **message) {
  LLVMBool wrong = __real_LLVMVerifyModule(m, action, message);
  if (message) heap_hold(*message, sizeof(void *));
  return wrong;
}

LLVMBool __real_LLVMTargetMachineEmitToMemoryBuffer(LLVMTargetMachineRef t, LLVMModuleRef m,
                                                    LLVMCodeGenFileType kind, char **message,
                                                    LLVMMemoryBufferRef *out);
LLVMBool __wrap_LLVMTargetMachineEmitToMemoryBuffer(LLVMTargetMachineRef t, LLVMModuleRef m,
                                                    LLVMCodeGenFileType kind, char **message,
                                                    LLVMMemoryBufferRef *out);
LLVMBool __wrap_LLVMTargetMachineEmitToMemoryBuffer(LLVMTargetMachineRef t, LLVMModuleRef m,
                                                    LLVMCodeGenFileType kind, char **message,
                                                    LLVMMemoryBufferRef *out) {
  LLVMBool wrong = __real_LLVMTargetMachineEmitToMemoryBuffer(t, m, kind, message, out);
  heap_hold(wrong ? (void *)*message : (void *)*out, sizeof(void *));
  return wrong;
}

LLVMBool __real_LLVMGetTargetFromTriple(const char *triple, LLVMTargetRef *out, char **message);
LLVMBool __wrap_LLVMGetTargetFromTriple(const char *triple, LLVMTargetRef *out, char **message);
LLVMBool __wrap_LLVMGetTargetFromTriple(const char *triple, LLVMTargetRef *out, char **message) {
  LLVMBool wrong = __real_LLVMGetTargetFromTriple(triple, out, message);
  if (wrong && message) heap_hold(*message, sizeof(void *));
  return wrong;
}
