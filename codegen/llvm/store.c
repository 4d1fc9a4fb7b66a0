/* Stores: each with all its unrolled values.
 *
 * Unrolled values that fill the gaps between each other's elements (lane i of value k goes to element count*i
 * + k) are interleaved in registers and stored as whole vectors.
 *
 * A streaming store bypasses the caches (LLVM's nontemporal) where its vectors are aligned and the output
 * shares no memory with an input: its memory is written once and read much later, and need not be fetched
 * first. Both conditions are tested at run time, since users' buffers begin anywhere: where the kernel begins
 * if vectors lie whole vectors behind the output's first element, otherwise once for all unrolled values.
 * Vectors smaller than a register, which are ends of rows, never stream; nor do unrolled ones that cannot all
 * be aligned. Nontemporal stores are ordered with other stores only by a fence, which stands at the kernel's
 * end. Where most of an output streams (IR_STREAM_MOST), every fourth block of 128 KiB of memory does not.
 */
#include "codegen/llvm/llvm.h"

/* Values to be written, and their addresses. */
typedef struct writes {
  cg_place place;
  LLVMValueRef *value, *to;
  size_t count;
} writes;

static LLVMValueRef write_vector(cg_emitter *e, const cg_place *a, LLVMValueRef stored, LLVMValueRef to) {
  LLVMValueRef store = LLVMBuildStore(e->b, stored, to);
  LLVMSetAlignment(store, a->bytes);
  return store;
}

void cg_write(cg_emitter *e, const cg_place *a, LLVMValueRef stored, LLVMValueRef to) {
  write_vector(e, a, stored, to);
}

static LLVMValueRef stored_value(cg_emitter *e, ir_ref ref, ir_dtype dtype, uint32_t width) {
  return cg_to_storage(e, dtype, width, cg_fetch(e, ir_src(e->g, ref, 2), width));
}

/* The store at the current lanes: a contiguous vector, or a scalar, is appended to `w`; other elements are
 * written at once. */
static void store_one(cg_emitter *e, ir_ref ref, writes *w) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  cg_place a = cg_place_of(e, n->src[0], n->src[1], width);
  if (e->nest->width[n->src[1]] == 1) a.stride = 0; /* the last lane's value remains */
  LLVMValueRef stored = stored_value(e, ref, a.dtype, width);
  bool whole = a.affine && (width == 1 || a.stride == 1 || a.stride == -1);
  w->place = a;
  if (whole) {
    w->value[w->count] = width == 1 ? stored : cg_memory_order(e, &a, stored);
    w->to[w->count++] = width == 1 ? cg_address(e, &a, a.base) : cg_low_address(e, &a);
    return;
  }
  for (uint32_t i = a.affine && a.stride == 0 ? width - 1 : 0; i < width; i++)
    write_vector(e, &a, LLVMBuildExtractElement(e->b, stored, LLVMConstInt(e->i64, i, 0), ""),
                 cg_lane_address(e, &a, i));
}

/* All unrolled values along `loop`, whose elements alternate. */
static void store_alternating(cg_emitter *e, ir_ref ref, uint32_t loop, writes *w) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref], count = (uint32_t)e->nest->loops[loop].extent;
  LLVMValueRef from[IR_MAX_INTERLEAVED];
  cg_place a = cg_place_of(e, n->src[0], n->src[1], width);
  for (uint32_t k = 0; k < count; k++) {
    e->order.lane[loop] = k;
    from[k] = stored_value(e, ref, a.dtype, width);
  }
  e->order.lane[loop] = 0;
  w->place = a;
  cg_interleave(e, from, count, width, w->value + w->count);
  for (uint32_t k = 0; k < count; k++) {
    LLVMValueRef offset = LLVMConstInt(e->i64, (unsigned long long)k * width, 0);
    w->to[w->count++] = cg_address(e, &a, LLVMBuildAdd(e->b, a.base, offset, ""));
  }
}

/* The address with its distance from one that is frozen (cg_address) taken from what that was: blocks behind
 * a branch then add their operands themselves, as part of each store. */
static LLVMValueRef address_for_branches(cg_emitter *e, LLVMValueRef to) {
  LLVMValueRef anchor = LLVMIsAGetElementPtrInst(to) ? LLVMGetOperand(to, 0) : to;
  if (!LLVMIsAFreezeInst(anchor)) return to;
  LLVMValueRef plain = LLVMGetOperand(anchor, 0), far = anchor == to ? NULL : LLVMGetOperand(to, 1);
  return far ? LLVMBuildGEP2(e->b, LLVMGetGEPSourceElementType(to), plain, &far, 1, "") : plain;
}

static void write_all(cg_emitter *e, const writes *w, unsigned streaming) {
  LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(e->context), 1, 0));
  for (size_t i = 0; i < w->count; i++) {
    LLVMValueRef store = write_vector(e, &w->place, w->value[i], w->to[i]);
    if (!streaming) continue;
    LLVMSetAlignment(store, streaming);
    LLVMSetMetadata(store, e->nontemporal,
                    LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &one, 1)));
  }
}

/* i1: is every vector aligned? */
static LLVMValueRef are_aligned(cg_emitter *e, const writes *w, bool together, unsigned bytes) {
  LLVMValueRef bits = LLVMBuildPtrToInt(e->b, w->to[0], e->i64, "");
  for (size_t i = 1; i < w->count && !together; i++)
    bits = LLVMBuildOr(e->b, bits, LLVMBuildPtrToInt(e->b, w->to[i], e->i64, ""), "");
  bits = LLVMBuildAnd(e->b, bits, LLVMConstInt(e->i64, bytes - 1, 0), "");
  return LLVMBuildICmp(e->b, LLVMIntEQ, bits, LLVMConstNull(e->i64), "");
}

/* i1: is the first vector in a block of memory that streams? */
static LLVMValueRef is_streamed(cg_emitter *e, const writes *w) {
  LLVMValueRef at = LLVMBuildPtrToInt(e->b, w->to[0], e->i64, "");
  LLVMValueRef block_bits = LLVMBuildAnd(e->b, at, LLVMConstInt(e->i64, CG_CACHED_BLOCK_BITS, 0), "");
  return LLVMBuildICmp(e->b, LLVMIntNE, block_bits, LLVMConstNull(e->i64), "");
}

/* i1: does the output share no memory with an input? Cache lines that were just read are written faster
 * through the caches. NULL: it never shares any. */
static LLVMValueRef has_memory_to_itself(cg_emitter *e, const writes *w) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  LLVMValueRef all = NULL;
  for (uint32_t i = 1; i < kernel->nsrc && e->nest->in_place; i++) {
    const ir_node *n = ir_get(e->g, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 1 || slot > 31 || !(e->nest->in_place >> slot & 1)) continue;
    LLVMValueRef other = LLVMBuildICmp(e->b, LLVMIntNE, w->place.memory, cg_value(e, kernel->src[i]), "");
    all = all ? LLVMBuildAnd(e->b, all, other, "") : other;
  }
  return all;
}

/* The unrolled loop whose vectors follow one another in memory and fill cache lines together, if there is
 * one, and the others begin whole lines apart; else -1. */
static int64_t loop_of_lines(const cg_emitter *e, ir_ref store, const writes *w, unsigned bytes) {
  const uint64_t *lanes = cg_lanes(e->nest, store);
  int64_t step;
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;)
    if (e->nest->loops[l].binding == IR_UNROLL &&
        e->nest->loops[l].extent * bytes % IR_CACHE_LINE_BYTES == 0 &&
        cg_stride(e->nest, ir_src(e->g, store, 1), (uint32_t)l, &step) && step * w->place.bytes == bytes)
      return cg_aligned_together(e->nest, store, l, w->place.bytes, IR_CACHE_LINE_BYTES) ? l : -1;
  return -1;
}

/* Puts the vectors of each line one behind the other. */
static bool order_by_lines(cg_emitter *e, uint32_t along, ir_ref store, writes *w) {
  LLVMValueRef *value = cg_array(&e->order, w->count), *to = cg_array(&e->order, w->count);
  const uint64_t *lanes = cg_lanes(e->nest, store);
  size_t apart = 1, extent = (size_t)e->nest->loops[along].extent, made = 0; /* as cg_next_lane counts */
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0 && l != along;)
    if (e->nest->loops[l].binding == IR_UNROLL) apart *= (size_t)e->nest->loops[l].extent;
  if (!value || !to) return false;
  for (size_t i = 0; i < w->count; i++)
    for (size_t k = 0; i / apart % extent == 0 && k < extent; k++)
      value[made] = w->value[i + k * apart], to[made++] = w->to[i + k * apart];
  w->value = value, w->to = to;
  return true;
}

/* To how many bytes the first store must be aligned so that all fill cache lines; 0: they do not. Stores to
 * parts of a line are combined only if they follow one another: vectors of 32 bytes to panels of 8 columns,
 * 61 MB, took 21.9 ms past the caches and 6.5 through them, those of 16 columns 3.7 in place of 7.6 (Zen 4).
 */
static unsigned line_alignment(cg_emitter *e, ir_ref store, writes *w, unsigned bytes, int64_t alternating) {
  if (bytes % IR_CACHE_LINE_BYTES == 0) return bytes;
  if (alternating >= 0) return w->count * bytes % IR_CACHE_LINE_BYTES == 0 ? bytes : 0;
  int64_t along = loop_of_lines(e, store, w, bytes);
  if (along >= 0) return order_by_lines(e, (uint32_t)along, store, w) ? IR_CACHE_LINE_BYTES : 0;
  return w->count == 1 && cg_in_sequence(&e->order, store) ? bytes : 0;
}

/* Are all vectors aligned if the output is? */
static bool aligned_as_output(const cg_emitter *e, ir_ref store, const writes *w, unsigned bytes) {
  cg_access how = cg_access_of(e->nest, ir_src(e->g, store, 1));
  int64_t elements = bytes / w->place.bytes;
  return how.affine && how.stride == 1 && (!how.base || cg_is_multiple(e->g, how.base, 0, elements)) &&
         LLVMIsAInstruction(w->place.memory);
}

/* i1: what does not depend on where in the output a vector lies, computed where the output's address is: LLVM
 * moves nothing out of loops. */
static LLVMValueRef output_gains(cg_emitter *e, ir_ref store, const writes *w, unsigned bytes) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), there = LLVMGetInstructionParent(w->place.memory);
  writes output = {.place = w->place, .to = &output.place.memory, .count = 1};
  if (there != here) LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(there));
  LLVMValueRef gains = has_memory_to_itself(e, w);
  if (aligned_as_output(e, store, w, bytes)) {
    LLVMValueRef aligned = are_aligned(e, &output, true, bytes);
    gains = gains ? LLVMBuildAnd(e->b, gains, aligned, "") : aligned;
  }
  LLVMPositionBuilderAtEnd(e->b, here);
  return gains;
}

/* bytes: of a vector; align: to which the first one is to be aligned. */
static void stream(cg_emitter *e, ir_ref store, const writes *w, int64_t alternating, unsigned bytes,
                   unsigned align) {
  LLVMBasicBlockRef nontemporal = cg_block(e), cached = cg_block(e), after = cg_block(e);
  for (size_t i = 0; i < w->count; i++) w->to[i] = address_for_branches(e, w->to[i]);
  LLVMValueRef gains = output_gains(e, store, w, align);
  if (!aligned_as_output(e, store, w, align)) {
    bool together = align > bytes || cg_aligned_together(e->nest, store, alternating, w->place.bytes, bytes);
    LLVMValueRef aligned = are_aligned(e, w, together, align);
    gains = gains ? LLVMBuildAnd(e->b, aligned, gains, "") : aligned;
  }
  if (ir_arg_mode(ir_get(e->g, store)) == IR_STREAM_MOST)
    gains = LLVMBuildAnd(e->b, gains, is_streamed(e, w), "");
  LLVMBuildCondBr(e->b, gains, nontemporal, cached);
  LLVMPositionBuilderAtEnd(e->b, nontemporal);
  write_all(e, w, bytes);
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, cached);
  write_all(e, w, 0);
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, after);
  e->streams = true;
}

void cg_emit_store(void *emitter, ir_ref ref) {
  cg_emitter *e = emitter;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  size_t unrolled = cg_unroll_count(&e->order, lanes);
  int64_t alternating = cg_alternating_loop(e->nest, ref, IR_MAX_INTERLEAVED);
  writes w = {.value = cg_array(&e->order, unrolled), .to = cg_array(&e->order, unrolled)};
  if (!w.value || !w.to) return;
  cg_first_lane(&e->order, lanes);
  do
    if (alternating < 0) store_one(e, ref, &w);
    else if (e->order.lane[alternating] == 0) store_alternating(e, ref, (uint32_t)alternating, &w);
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  if (!w.count || e->order.failed) return;
  unsigned bytes = w.place.bytes * e->nest->width[ref];
  int mode = ir_arg_mode(ir_get(e->g, ref));
  bool streams = !cg_never_aligned_together(e->nest, ref, alternating, w.place.bytes, bytes) &&
                 ir_streams(mode) && bytes == (unsigned)e->target->vector_bytes && w.count == unrolled;
  unsigned align = streams ? line_alignment(e, ref, &w, bytes, alternating) : 0;
  if (e->aligned.masked && e->aligned.end) cg_write_end(e, &w.place, w.value[0], w.to[0]);
  else if (align) stream(e, ref, &w, alternating, bytes, align);
  else write_all(e, &w, 0);
}

bool cg_stores_by_lane(const cg_emitter *e, ir_ref store) {
  return !e->nest->in_place && !ir_streams(ir_arg_mode(ir_get(e->g, store))) &&
         !(e->aligned.masked && e->aligned.end) &&
         cg_alternating_loop(e->nest, store, IR_MAX_INTERLEAVED) < 0;
}

void cg_emit_store_lane(void *emitter, ir_ref ref) {
  cg_emitter *e = emitter;
  LLVMValueRef value, to;
  writes w = {.value = &value, .to = &to};
  store_one(e, ref, &w);
  write_all(e, &w, 0);
}

void cg_finish_stores(cg_emitter *e) {
  const char *fence = cg_target_store_fence(e->target);
  if (!e->streams) return;
  if (fence) cg_intrinsic(e, fence, NULL, 0, NULL, 0);
  else LLVMBuildFence(e->b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
}
