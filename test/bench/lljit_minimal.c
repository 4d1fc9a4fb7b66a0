/* The least work of a program that uses LLVM's own JIT for one kernel: out[i] = a[i] * b[i] + c[i] over 4096
 * floats, explicit 16-lane vector IR, no middle end, LLJIT with the host's processor, one run. The reference
 * for a cold start. */
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>

enum { N = 4096, LANES = 16 };
typedef void (*kernel)(float *, const float *, const float *, const float *);

static LLVMOrcThreadSafeModuleRef build(void) {
  LLVMOrcThreadSafeContextRef shared = LLVMOrcCreateNewThreadSafeContext();
  LLVMContextRef c = LLVMOrcThreadSafeContextGetContext(shared);
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("m", c);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
  LLVMTypeRef f32 = LLVMFloatTypeInContext(c), i64 = LLVMInt64TypeInContext(c),
              pointer = LLVMPointerTypeInContext(c, 0);
  LLVMTypeRef vector = LLVMVectorType(f32, LANES), params[] = {pointer, pointer, pointer, pointer};
  LLVMValueRef f =
      LLVMAddFunction(module, "fma_kernel", LLVMFunctionType(LLVMVoidTypeInContext(c), params, 4, 0));
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, f, ""),
                    body = LLVMAppendBasicBlockInContext(c, f, ""),
                    done = LLVMAppendBasicBlockInContext(c, f, "");
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMBuildBr(b, body);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef i = LLVMBuildPhi(b, i64, ""), loaded[4], zero = LLVMConstInt(i64, 0, 0);
  for (unsigned k = 1; k < 4; k++) {
    LLVMValueRef at = LLVMGetParam(f, k);
    loaded[k] = LLVMBuildLoad2(b, vector, LLVMBuildGEP2(b, f32, at, &i, 1, ""), "");
    LLVMSetAlignment(loaded[k], 4);
  }
  LLVMValueRef value = LLVMBuildFAdd(b, LLVMBuildFMul(b, loaded[1], loaded[2], ""), loaded[3], "");
  LLVMSetAlignment(LLVMBuildStore(b, value, LLVMBuildGEP2(b, f32, LLVMGetParam(f, 0), &i, 1, "")), 4);
  LLVMValueRef next = LLVMBuildAdd(b, i, LLVMConstInt(i64, LANES, 0), "");
  LLVMAddIncoming(i, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){entry, body}, 2);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, LLVMConstInt(i64, N, 0), ""), body, done);
  LLVMPositionBuilderAtEnd(b, done);
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  LLVMOrcThreadSafeModuleRef made = LLVMOrcCreateNewThreadSafeModule(module, shared);
  LLVMOrcDisposeThreadSafeContext(shared);
  return made;
}

int main(void) {
  static float out[N], a[N], b[N], c[N];
  for (int i = 0; i < N; i++) a[i] = (float)i, b[i] = 2, c[i] = 1;
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMOrcLLJITRef jit;
  LLVMOrcExecutorAddress address;
  if (LLVMOrcCreateLLJIT(&jit, LLVMOrcCreateLLJITBuilder())) return 1;
  if (LLVMOrcLLJITAddLLVMIRModule(jit, LLVMOrcLLJITGetMainJITDylib(jit), build())) return 1;
  if (LLVMOrcLLJITLookup(jit, &address, "fma_kernel")) return 1;
  ((kernel)address)(out, a, b, c);
  printf("%g\n", out[N - 1]);
  return 0;
}
