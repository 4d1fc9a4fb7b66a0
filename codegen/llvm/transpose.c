/* Shuffles of LLVM vectors: those that cg_transpose needs, and interleaving. */
#include "codegen/emit/transpose.h"
#include "codegen/llvm/llvm.h"

static LLVMValueRef two_input(cg_emitter *e, LLVMValueRef a, LLVMValueRef b, const uint32_t *order,
                              uint32_t width) {
  LLVMValueRef mask[CG_MAX_LANES];
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  for (uint32_t i = 0; i < width; i++) mask[i] = LLVMConstInt(i32, order[i], 0);
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(mask, width), "");
}

static void *shuffled(void *emitter, void *a, void *b, const uint32_t *order, uint32_t width) {
  return two_input(emitter, a, b, order, width);
}

/* Concatenates short rows, each inserted as one integer. */
static void *concat_rows(void *emitter, void *const *rows, uint32_t count, uint32_t width, uint32_t bytes) {
  cg_emitter *e = emitter;
  LLVMTypeRef whole = LLVMIntTypeInContext(e->context, 8 * bytes * width);
  LLVMTypeRef element =
      width > 1 ? LLVMGetElementType(LLVMTypeOf((LLVMValueRef)rows[0])) : LLVMTypeOf((LLVMValueRef)rows[0]);
  LLVMValueRef all = LLVMGetPoison(LLVMVectorType(whole, count));
  for (uint32_t i = 0; i < count; i++)
    all = LLVMBuildInsertElement(e->b, all, LLVMBuildBitCast(e->b, (LLVMValueRef)rows[i], whole, ""),
                                 LLVMConstInt(e->i64, i, 0), "");
  return LLVMBuildBitCast(e->b, all, LLVMVectorType(element, count * width), "");
}

/* The same value behind a fence, through which LLVM does not look. Instruction selection would search chains
 * of shuffles for better ones, of which there are none; that takes half of a tile's compile time. */
static void *opaque(void *emitter, void *value) {
  cg_emitter *e = emitter;
  LLVMValueRef v = value;
  LLVMTypeRef type = LLVMTypeOf(v);
  unsigned bits = cg_bits_of(v) * LLVMGetVectorSize(type);
  if (bits < 8 * CG_SHUFFLE_LANE_BYTES) return v;
  LLVMValueRef floats = LLVMBuildBitCast(e->b, v, cg_vector(e->f32, bits / 32), "");
  return LLVMBuildBitCast(e->b, cg_call(e, "llvm.arithmetic.fence", 1, floats, NULL, NULL), type, "");
}

cg_shuffles cg_llvm_shuffles(cg_emitter *e) { return (cg_shuffles){e, shuffled, concat_rows, opaque}; }

void cg_interleave(cg_emitter *e, const LLVMValueRef *from, uint32_t count, uint32_t width,
                   LLVMValueRef *out) {
  uint32_t order[CG_MAX_LANES];
  for (uint32_t o = 0; o < count; o++) {
    out[o] = from[0];
    for (uint32_t k = 1; k < count; k++) { /* inserts the elements of from[k] */
      for (uint32_t p = 0; p < width; p++) {
        uint32_t flat = o * width + p, source = flat % count, lane = flat / count;
        order[p] = source == k ? width + lane : k > 1 ? p : lane;
      }
      out[o] = two_input(e, out[o], from[k], order, width);
    }
  }
}
