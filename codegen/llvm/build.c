/* LLVM's types, constants and instructions, for any number of vector elements. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <string.h>

LLVMValueRef cg_fail(cg_emitter *e, ir_status status, LLVMTypeRef type, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_vfail(e->error, status, format, args);
  va_end(args);
  e->order.failed = true;
  return type ? LLVMGetPoison(type) : NULL;
}

LLVMTypeRef cg_vector(LLVMTypeRef element, uint32_t width) {
  return width == 1 ? element : LLVMVectorType(element, width);
}

LLVMTypeRef cg_int(cg_emitter *e, unsigned bits, uint32_t width) {
  return cg_vector(LLVMIntTypeInContext(e->context, bits), width);
}

LLVMTypeRef cg_type(cg_emitter *e, ir_dtype dtype, uint32_t width) {
  if (dtype == IR_INDEX) return cg_vector(e->i64, width);
  if (dtype == IR_F64) return cg_vector(e->f64, width);
  if (ir_is_float(dtype)) return cg_vector(e->f32, width);
  return cg_int(e, cg_dtype_bits(dtype), width);
}

LLVMValueRef cg_splat(cg_emitter *e, LLVMValueRef scalar, uint32_t width) {
  if (width == 1 || LLVMGetTypeKind(LLVMTypeOf(scalar)) == LLVMVectorTypeKind) return scalar;
  LLVMValueRef none = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(scalar), width));
  LLVMValueRef first = LLVMBuildInsertElement(e->b, none, scalar, LLVMConstInt(e->i64, 0, 0), "");
  return LLVMBuildShuffleVector(e->b, first, none, LLVMConstNull(cg_int(e, 32, width)), "");
}

LLVMValueRef cg_int_const(cg_emitter *e, unsigned bits, uint32_t width, int64_t value) {
  return cg_splat(e, LLVMConstInt(LLVMIntTypeInContext(e->context, bits), (unsigned long long)value, 1),
                  width);
}

LLVMValueRef cg_real_const(LLVMTypeRef type, uint32_t width, double value) {
  LLVMValueRef scalar = LLVMConstReal(type, value), many[CG_MAX_LANES];
  if (width == 1) return scalar;
  for (uint32_t i = 0; i < width; i++) many[i] = scalar;
  return LLVMConstVector(many, width);
}

LLVMValueRef cg_lanes_const(cg_emitter *e, unsigned bits, uint32_t width, int64_t stride) {
  LLVMTypeRef type = LLVMIntTypeInContext(e->context, bits);
  LLVMValueRef many[CG_MAX_LANES];
  for (uint32_t i = 0; i < width; i++) many[i] = LLVMConstInt(type, (unsigned long long)stride * i, 1);
  return width == 1 ? many[0] : LLVMConstVector(many, width);
}

LLVMValueRef cg_intrinsic(cg_emitter *e, const char *name, LLVMTypeRef *types, unsigned ntypes,
                          LLVMValueRef *args, unsigned nargs) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, id, types, ntypes);
  return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, types, ntypes), function, args, nargs, "");
}

LLVMValueRef cg_call(cg_emitter *e, const char *name, unsigned nargs, LLVMValueRef a, LLVMValueRef b,
                     LLVMValueRef c) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return cg_intrinsic(e, name, &type, 1, (LLVMValueRef[]){a, b, c}, nargs);
}

static bool is_constant_splat(LLVMValueRef value, bool ones) {
  if (!LLVMIsConstant(value)) return false;
  return ones ? value == LLVMConstAllOnes(LLVMTypeOf(value)) : LLVMIsNull(value);
}

bool cg_is_true(LLVMValueRef condition) { return is_constant_splat(condition, true); }

LLVMValueRef cg_select(cg_emitter *e, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
  if (a == b || cg_is_true(condition)) return a;
  if (is_constant_splat(condition, false)) return b;
  return LLVMBuildSelect(e->b, condition, a, b, "");
}

/* The `width` elements first, first + step, ... of a. */
LLVMValueRef cg_shuffle(cg_emitter *e, LLVMValueRef a, int first, int step, uint32_t width) {
  LLVMValueRef order[CG_MAX_LANES];
  for (uint32_t i = 0; i < width; i++)
    order[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context), (unsigned)(first + step * (int)i), 0);
  if (width == 1) return LLVMBuildExtractElement(e->b, a, order[0], "");
  return LLVMBuildShuffleVector(e->b, a, LLVMGetPoison(LLVMTypeOf(a)), LLVMConstVector(order, width), "");
}

/* Elements count .. 2 * count - 1 of a, moved down to 0; the remaining elements may be anything. */
LLVMValueRef cg_shuffle_down(cg_emitter *e, LLVMValueRef a, uint32_t count, uint32_t width) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  LLVMValueRef order[CG_MAX_LANES];
  for (uint32_t i = 0; i < width; i++)
    order[i] = i < count ? LLVMConstInt(i32, count + i, 0) : LLVMGetPoison(i32);
  return LLVMBuildShuffleVector(e->b, a, LLVMGetPoison(LLVMTypeOf(a)), LLVMConstVector(order, width), "");
}

/* In the odd ones of the runs of `size` elements of a, the last element of the run before; in the others that
 * of b. backwards: elements are counted from the last one. */
LLVMValueRef cg_run_ends(cg_emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t size, uint32_t width,
                         bool backwards) {
  LLVMValueRef order[CG_MAX_LANES];
  for (uint32_t i = 0; i < width; i++) {
    uint32_t at = backwards ? width - 1 - i : i, end = at / size * size - 1;
    uint32_t from = at / size % 2 ? (backwards ? width - 1 - end : end) : width + i;
    order[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context), from, 0);
  }
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(order, width), "");
}

LLVMValueRef cg_any(cg_emitter *e, LLVMValueRef mask, uint32_t width) {
  if (width == 1) return mask;
  LLVMValueRef bits = LLVMBuildBitCast(e->b, mask, LLVMIntTypeInContext(e->context, width), "");
  return LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
}

unsigned cg_bits_of(LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  switch (LLVMGetTypeKind(type)) {
  case LLVMFloatTypeKind: return 32;
  case LLVMDoubleTypeKind: return 64;
  default: return LLVMGetIntTypeWidth(type);
  }
}

/* Four lanes as bytes, by a shuffle rather than a truncation. LLVM 15 to 19 compile the truncation wrongly
 * (AVX-512) where lanes 2 and 3 are known to be 0 and four lanes of 64 bits were stored as bytes: they store
 * what these lanes were. */
static LLVMValueRef low_bytes(cg_emitter *e, LLVMValueRef a) {
  if (cg_bits_of(a) == 64) a = LLVMBuildTrunc(e->b, a, cg_int(e, 32, 4), "");
  unsigned bytes = cg_bits_of(a) / 8;
  return cg_shuffle(e, LLVMBuildBitCast(e->b, a, cg_int(e, 8, 4 * bytes), ""), 0, (int)bytes, 4);
}

LLVMValueRef cg_resize(cg_emitter *e, LLVMValueRef a, unsigned bits, uint32_t width, bool is_signed) {
  unsigned has = cg_bits_of(a);
  if (has == bits) return a;
  LLVMTypeRef type = cg_int(e, bits, width);
  if (bits == 8 && width == 4 && has > 8 && e->picks_bytes) return low_bytes(e, a);
  if (has > bits) return LLVMBuildTrunc(e->b, a, type, "");
  return is_signed ? LLVMBuildSExt(e->b, a, type, "") : LLVMBuildZExt(e->b, a, type, "");
}

LLVMBasicBlockRef cg_block(cg_emitter *e) {
  return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

LLVMValueRef cg_phi(cg_emitter *e, LLVMTypeRef type, LLVMValueRef a, LLVMBasicBlockRef from_a) {
  LLVMValueRef phi = LLVMBuildPhi(e->b, type, "");
  LLVMAddIncoming(phi, &a, &from_a, 1);
  return phi;
}

void cg_phi_add(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from) {
  LLVMAddIncoming(phi, &value, &from, 1);
}

void cg_branch_unlikely(cg_emitter *e, LLVMValueRef condition, LLVMBasicBlockRef rare,
                        LLVMBasicBlockRef usual) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  LLVMMetadataRef parts[] = {LLVMMDStringInContext2(e->context, "branch_weights", 14),
                             LLVMValueAsMetadata(LLVMConstInt(i32, 1, 0)),
                             LLVMValueAsMetadata(LLVMConstInt(i32, 4000, 0))};
  LLVMValueRef branch = LLVMBuildCondBr(e->b, condition, rare, usual);
  LLVMSetMetadata(branch, e->weights,
                  LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, parts, 3)));
}
