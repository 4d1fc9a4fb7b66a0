/* Stores aligned to vectors when a kernel runs.
 *
 * A user's array begins anywhere: NumPy's large arrays begin 16 bytes behind a page. A vector store across
 * two cache lines takes twice as long as one within a line. So a loop that stores one vector after another
 * does its first and its last iteration before it, where it is not aligned, and the others, of which there is
 * one less, ahead of their place, from the first aligned address on.
 *
 * Elements that two of these compute have the same bits in both, and are stored twice, unless what they are
 * computed of may lie in the memory that is stored: then the first and the last iteration store only the
 * elements that the others do not.
 *
 *   16 KiB in the first cache, from 4 bytes behind a line (Sapphire Rapids): copied in 202 ns as it is and in
 *   125 so, added to in 234 and 153, the sum of two in 257 and 191, aligned in 112, 146 and 172. Of code
 * whose compilation takes 2.7 ms it takes 0.4 ms more. */
#include "codegen/llvm/llvm.h"

/* That the loop stores: of fewer, the further iterations cost as much as they save. */
enum { LEAST_BYTES = 4 << 10 /* takes 0.83 to 0.87 of the time so, 64 KiB 0.80 (Sapphire Rapids) */ };
/* That a vector is computed of: of 10, a tenth is gained where a fourth is of 3, and there is twice the code.
 */
enum { MOST_NODES = CG_MOST_ALIGNED - 1 };

/* The loop, and the one over the lanes of its store. */
typedef struct aligning {
  uint32_t loop, lanes;
  uint32_t width;
  ir_ref store;
  ir_ref nodes[MOST_NODES]; /* those that change along either */
  uint32_t count;
  bool overwrites; /* what is loaded may lie in the memory that is stored */
} aligning;

static bool changes(const cg_emitter *e, const aligning *a, ir_ref ref) {
  return cg_set_has(cg_lanes(e->nest, ref), a->lanes) || cg_set_has(cg_deps(e->nest, ref), a->loop);
}

static bool add_node(const cg_emitter *e, aligning *a, ir_ref ref) {
  if (!changes(e, a, ref)) return true;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->nodes[i] == ref) return true;
  if (a->count == MOST_NODES) return false;
  a->nodes[a->count++] = ref;
  return true;
}

/* Are the elements of consecutive vectors consecutive, up or down, so that lanes may be moved along them? */
static bool is_contiguous(const cg_emitter *e, const aligning *a, ir_ref index, int64_t *stride) {
  int64_t step, along;
  cg_access how = cg_access_of(e->nest, index);
  *stride = how.stride;
  return how.affine && (how.stride == 1 || how.stride == -1) && cg_stride(e->nest, index, a->loop, &step) &&
         cg_stride(e->nest, index, a->lanes, &along) && along == how.stride &&
         step == along * (int64_t)a->width;
}

static bool add_operands(const cg_emitter *e, aligning *a, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  int64_t stride;
  if (n->op == IR_OP_LOAD) {
    if (cg_local_of(e->g, ref) >= 0 || !ir_is_true(e->g, n->src[2])) return false;
    bool may_be_stored = e->nest->stored[n->src[0]];
    a->overwrites |= may_be_stored;
    return is_contiguous(e, a, n->src[1], &stride) &&
           (!may_be_stored || n->src[1] == ir_src(e->g, a->store, 1));
  }
  ir_class kind = ir_ops[n->op].cls;
  bool elementwise = kind == IR_CLASS_UNARY || kind == IR_CLASS_BINARY || kind == IR_CLASS_COMPARE ||
                     (kind == IR_CLASS_TERNARY && n->op != IR_OP_RARE);
  for (uint32_t i = 0; i < n->nsrc && elementwise; i++) elementwise = add_node(e, a, n->src[i]);
  return elementwise && n->dtype != IR_INDEX;
}

/* Is the loop one of contiguous vectors, each stored to the output? */
static bool is_alignable(const cg_emitter *e, uint32_t number, aligning *a) {
  const cg_loop *loop = &e->nest->loops[number], *lanes;
  int64_t inner = -1, stride;
  ir_ref effect = loop->effect;
  while (effect && ir_op_of(e->g, effect) == IR_OP_LOOP) {
    lanes = &e->nest->loops[e->nest->loop_of[effect] - 1];
    effect = cg_is_lane(lanes) ? ir_src(e->g, effect, 1) : 0;
  }
  if (loop->binding == IR_THREAD || loop->carries || !effect || ir_op_of(e->g, effect) != IR_OP_STORE ||
      ir_op_of(e->g, ir_src(e->g, effect, 0)) != IR_OP_PARAM)
    return false;
  inner = cg_set_next(e->nest, cg_lanes(e->nest, effect), -1);
  if (inner < 0 || cg_set_next(e->nest, cg_lanes(e->nest, effect), inner) >= 0) return false;
  *a = (aligning){number, (uint32_t)inner, e->nest->width[effect], .store = effect};
  unsigned bytes = (unsigned)ir_dtypes[ir_dtype_of(e->g, ir_src(e->g, effect, 0))].bytes;
  if (e->nest->loops[inner].binding != IR_VECTOR || a->width * bytes != (unsigned)e->target->vector_bytes ||
      ir_bounds_of(e->g, ir_src(e->g, loop->range, 0)).lo < LEAST_BYTES / (int64_t)e->target->vector_bytes ||
      !is_contiguous(e, a, ir_src(e->g, effect, 1), &stride) || stride != 1 ||
      !add_node(e, a, ir_src(e->g, effect, 2)))
    return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!add_operands(e, a, a->nodes[i])) return false;
  return !a->overwrites || cg_target_masks_stores(e->target, bytes);
}

/* Elements in front of the first aligned address, as an i64. */
static LLVMValueRef elements_ahead(cg_emitter *e, const aligning *a) {
  const cg_loop *loop = &e->nest->loops[a->loop];
  const ir_node *n = ir_get(e->g, a->store);
  size_t scope = e->order.log_count;
  LLVMValueRef *zero = cg_array(&e->order, 1);
  if (!zero) return NULL;
  *zero = LLVMConstNull(e->i64);
  cg_define(&e->order, loop->range, zero);
  e->order.open[a->loop] = true;
  cg_begin_visit(&e->order);
  if (cg_access_of(e->nest, n->src[1]).base) cg_visit(&e->order, cg_access_of(e->nest, n->src[1]).base);
  cg_emit_visited(&e->order, true);
  e->order.open[a->loop] = false;
  if (e->order.failed) return NULL;
  cg_place place = cg_place_of(e, n->src[0], n->src[1], a->width);
  LLVMValueRef address = LLVMBuildPtrToInt(e->b, cg_address(e, &place, place.base), e->i64, "");
  cg_forget_since(&e->order, scope);
  LLVMValueRef to_aligned =
      LLVMBuildAnd(e->b, LLVMBuildNeg(e->b, address, ""),
                   LLVMConstInt(e->i64, (unsigned long long)e->target->vector_bytes - 1, 0), "");
  return LLVMBuildExactSDiv(e->b, to_aligned, LLVMConstInt(e->i64, place.bytes, 0), "");
}

/* The first and the last iteration, one after the other. */
static void emit_ends(cg_emitter *e, const aligning *a, LLVMValueRef last, LLVMBasicBlockRef after) {
  const cg_loop *loop = &e->nest->loops[a->loop];
  LLVMValueRef zero = LLVMConstNull(e->i64);
  LLVMBasicBlockRef body = cg_block(e);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, e->aligned.ahead, zero, ""), after, body);
  LLVMPositionBuilderAtEnd(e->b, body);
  e->order.open[a->loop] = true;
  for (int k = 0; k < 2; k++) {
    LLVMValueRef *at = cg_array(&e->order, 1);
    if (!at) return;
    size_t scope = e->order.log_count;
    e->aligned.end = *at = k ? last : zero;
    cg_define(&e->order, loop->range, at);
    cg_emit_effect(&e->order, loop->effect);
    cg_forget_since(&e->order, scope);
  }
  e->order.open[a->loop] = false;
  LLVMBuildBr(e->b, after);
  e->aligned.end = NULL;
}

/* From here on accesses find their memory moved. */
static void move_accesses(cg_emitter *e, const aligning *a) {
  cg_aligned *out = &e->aligned;
  for (uint32_t i = 0; i <= a->count; i++) {
    ir_ref access = i < a->count ? a->nodes[i] : a->store;
    int64_t stride;
    if (i < a->count && ir_op_of(e->g, access) != IR_OP_LOAD) continue;
    ir_ref param = ir_src(e->g, access, 0), index = ir_src(e->g, access, 1);
    is_contiguous(e, a, index, &stride);
    LLVMTypeRef element = cg_storage_type(e, ir_dtype_of(e->g, param), 1);
    LLVMValueRef by = stride < 0 ? LLVMBuildNeg(e->b, out->ahead, "") : out->ahead;
    LLVMValueRef moved = LLVMBuildGEP2(e->b, element, cg_value(e, param), &by, 1, "");
    out->index[out->count] = index, out->param[out->count] = param;
    out->memory[out->count++] = LLVMBuildFreeze(e->b, moved, "");
  }
}

void cg_open_aligned(cg_emitter *e, uint32_t loop, LLVMValueRef *end) {
  aligning a;
  if (!is_alignable(e, loop, &a)) return;
  LLVMValueRef ahead = elements_ahead(e, &a);
  if (!ahead) return;
  LLVMBasicBlockRef after = cg_block(e);
  e->aligned = (cg_aligned){.ahead = ahead, .masked = a.overwrites};
  emit_ends(e, &a, LLVMBuildSub(e->b, *end, LLVMConstInt(e->i64, 1, 0), ""), after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->b));
  LLVMPositionBuilderAtEnd(e->b, after);
  LLVMValueRef some = LLVMBuildICmp(e->b, LLVMIntNE, ahead, LLVMConstNull(e->i64), "");
  *end = LLVMBuildSub(e->b, *end, LLVMBuildZExt(e->b, some, e->i64, ""), "");
  move_accesses(e, &a);
}

LLVMValueRef cg_aligned_memory(cg_emitter *e, ir_ref param, ir_ref index) {
  const cg_aligned *a = &e->aligned;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->param[i] == param && a->index[i] == index) return a->memory[i];
  return cg_value(e, param);
}

void cg_write_end(cg_emitter *e, const cg_place *place, LLVMValueRef stored, LLVMValueRef to) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context), types[] = {LLVMTypeOf(stored), e->pointer};
  LLVMValueRef ahead = cg_splat(e, LLVMBuildTrunc(e->b, e->aligned.ahead, i32, ""), place->width),
               front = LLVMBuildICmp(e->b, LLVMIntULT, cg_lanes_const(e, 32, place->width, 1), ahead, ""),
               last = LLVMBuildICmp(e->b, LLVMIntNE, e->aligned.end, LLVMConstNull(e->i64), "");
  LLVMValueRef args[] = {stored, to, LLVMConstInt(i32, place->bytes, 0),
                         LLVMBuildXor(e->b, front, cg_splat(e, last, place->width), "")};
  cg_intrinsic(e, "llvm.masked.store", types, 2, args, 4);
}
