/* Elements that change places between LLVM's vectors. */
#include "codegen/emit/transpose.h"
#include "codegen/llvm/llvm.h"

enum { SEGMENT = 16 };

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

/* As many short rows as make a segment, put together as integers. */
static void *segment_of(void *emitter, void *const *rows, uint32_t count, uint32_t width, uint32_t bytes) {
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

/* The same value, through which LLVM does not look. Instruction selection seeks better shuffles along chains
 * of them, where there are none: that would take half of a tile's compile time. */
static void *settled(void *emitter, void *value) {
  cg_emitter *e = emitter;
  LLVMValueRef v = value;
  LLVMTypeRef type = LLVMTypeOf(v);
  unsigned bits = cg_bits_of(v) * LLVMGetVectorSize(type);
  if (bits < 8 * SEGMENT) return v;
  LLVMValueRef floats = LLVMBuildBitCast(e->b, v, cg_vector(e->f32, bits / 32), "");
  return LLVMBuildBitCast(e->b, cg_call(e, "llvm.arithmetic.fence", 1, floats, NULL, NULL), type, "");
}

cg_shuffles cg_llvm_shuffles(cg_emitter *e) { return (cg_shuffles){e, shuffled, segment_of, settled}; }

void cg_interleave(cg_emitter *e, const LLVMValueRef *from, uint32_t count, uint32_t width,
                   LLVMValueRef *out) {
  uint32_t order[CG_MAX_LANES];
  for (uint32_t o = 0; o < count; o++) {
    out[o] = from[0];
    for (uint32_t k = 1; k < count; k++) { /* elements of from[0] .. from[k] are in their places */
      for (uint32_t p = 0; p < width; p++) {
        uint32_t flat = o * width + p, source = flat % count, lane = flat / count;
        order[p] = source == k ? width + lane : k > 1 ? p : lane;
      }
      out[o] = two_input(e, out[o], from[k], order, width);
    }
  }
}
