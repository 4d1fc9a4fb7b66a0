/* Elements of a table of 256 bytes. AVX-512 with VBMI picks 64 bytes of 128 in one instruction, by indices of
 * seven bits: the table is four registers, of which two pairs are looked up, and the eighth bit of an index
 * says which of them is meant. Loads go element by element elsewhere: 16 of them take 26 cycles, this takes 6
 * (Zen 4).
 */
#include "codegen/llvm/llvm.h"

enum {
  ENTRIES = 256,     /* because an index is one byte */
  REGISTER = 64,     /* bytes: those of a register of AVX-512, which is what it picks from */
  MIN_LOOKED_UP = 16 /* because fewer lanes are read one by one in as many instructions */
};

bool cg_is_byte_table(const cg_emitter *e, ir_ref load, const cg_place *a) {
  ir_graph *g = e->g;
  const ir_node *n = ir_get(g, load), *param = ir_get(g, n->src[0]);
  int64_t size;
  if (a->bytes != 1 || a->dtype == IR_BOOL || a->affine || !a->invariant || a->step || !LLVMIsNull(a->base) ||
      a->width < MIN_LOOKED_UP || a->width > REGISTER || !cg_target_looks_up_bytes(e->target) || !param->nsrc)
    return false;
  ir_bounds at = ir_bounds_of(g, n->src[1]);
  return ir_is_const(g, param->src[0], &size) && size == ENTRIES && at.lo >= 0 && at.hi < ENTRIES;
}

static LLVMValueRef looked_up(cg_emitter *e, LLVMValueRef low, LLVMValueRef index, LLVMValueRef high) {
  return cg_intrinsic(e, "llvm.x86.avx512.vpermi2var.qi.512", NULL, 0, (LLVMValueRef[]){low, index, high}, 3);
}

LLVMValueRef cg_read_byte_table(cg_emitter *e, const cg_place *a) {
  LLVMTypeRef i8 = LLVMInt8TypeInContext(e->context), i32 = LLVMInt32TypeInContext(e->context),
              whole = cg_vector(i8, REGISTER);
  LLVMValueRef part[ENTRIES / REGISTER], order[REGISTER];
  for (unsigned i = 0; i < ENTRIES / REGISTER; i++) {
    LLVMValueRef at = LLVMConstInt(e->i64, i * REGISTER, 0);
    part[i] = cg_read(e, a, whole, LLVMBuildGEP2(e->b, i8, a->memory, &at, 1, ""));
  }
  LLVMValueRef index = LLVMBuildTrunc(e->b, a->index, cg_vector(i8, a->width), "");
  for (unsigned i = 0; i < REGISTER; i++)
    order[i] = i < a->width ? LLVMConstInt(i32, i, 0) : LLVMGetPoison(i32);
  if (a->width < REGISTER)
    index = LLVMBuildShuffleVector(e->b, index, LLVMGetPoison(LLVMTypeOf(index)),
                                   LLVMConstVector(order, REGISTER), "");
  LLVMValueRef upper = LLVMBuildICmp(e->b, LLVMIntSLT, index, LLVMConstNull(whole), "");
  LLVMValueRef all = LLVMBuildSelect(e->b, upper, looked_up(e, part[2], index, part[3]),
                                     looked_up(e, part[0], index, part[1]), "");
  return a->width < REGISTER ? cg_shuffle(e, all, 0, 1, a->width) : all;
}
