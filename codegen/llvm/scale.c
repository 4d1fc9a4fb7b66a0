/* Products with a power of two (ir/elementary/scaled.c) in AVX-512's instruction for them (scalef): since p
 * is near 1, the first product of the two is exact and the second one is rounded once, just as p 2^n is.
 * Lanes that are 0 whatever the product are masked. */
#include "codegen/llvm/llvm.h"

#include "ir/elementary/elementary.h"

enum {
  ZMM_BYTES = 64, /* of a zmm register: only AVX-512 intrinsics of that width take a rounding mode */
  MASK_BITS = 8   /* of the smallest mask of an intrinsic */
};

/* The intrinsic for ref if that is a product with a power of two; NULL if it is none, or the target has
 * none. */
static const char *find_scaled(const cg_emitter *e, ir_ref ref, ir_scaled *out) {
  ir_dtype dtype = ir_dtype_of(e->g, ref);
  if (ir_op_of(e->g, ref) != IR_OP_MUL || (dtype != IR_F32 && dtype != IR_F64)) return NULL;
  const char *name = cg_target_scale(e->target, (unsigned)ir_dtypes[dtype].bytes, e->nest->width[ref]);
  if (!name || !ir_read_scaled(e->g, ref, out)) return NULL;
  return out->zero && e->nest->width[ref] < MASK_BITS ? NULL : name;
}

bool cg_visit_scaled(void *emitter, ir_ref ref, void (*visit)(void *, ir_ref), void *user) {
  ir_scaled found;
  if (!find_scaled(emitter, ref, &found)) return false;
  visit(user, found.p);
  visit(user, found.s);
  if (found.zero) visit(user, found.zero);
  return true;
}

LLVMValueRef cg_emit_scaled(cg_emitter *e, ir_ref ref) {
  ir_dtype dtype = ir_dtype_of(e->g, ref);
  uint32_t width = e->nest->width[ref];
  ir_scaled found;
  const char *name = find_scaled(e, ref, &found);
  if (!name) return NULL;
  LLVMTypeRef type = cg_type(e, dtype, 1), mask = LLVMIntTypeInContext(e->context, width < 8 ? 8 : width);
  LLVMValueRef p = cg_fetch(e, found.p, width), magic = cg_real_const(type, width, found.magic);
  LLVMValueRef n = LLVMBuildFSub(e->b, cg_fetch(e, found.s, width), magic, "");
  LLVMValueRef nearest = LLVMConstInt(LLVMInt32TypeInContext(e->context), 4, 0); /* in the current mode */
  bool whole = width * (unsigned)ir_dtypes[dtype].bytes == ZMM_BYTES;
  LLVMValueRef lanes = LLVMConstAllOnes(mask), other = p;
  if (found.zero) {
    LLVMValueRef kept = LLVMBuildNot(e->b, cg_fetch(e, found.zero, width), "");
    lanes = LLVMBuildBitCast(e->b, kept, mask, "");
    other = LLVMConstNull(LLVMTypeOf(p));
  }
  LLVMValueRef args[] = {p, n, other, lanes, nearest};
  return cg_intrinsic(e, name, NULL, 0, args, whole ? 5 : 4);
}
