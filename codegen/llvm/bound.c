/* Run-time bounds: indices that a tensor holds, as positions along an axis. */
#include "codegen/llvm/llvm.h"

/* What follows runs only where no index is out of range. */
static void report_range(cg_emitter *e, LLVMValueRef bad) {
  LLVMBasicBlockRef usual = cg_block(e);
  if (!e->failed) e->failed = cg_block(e);
  cg_branch_unlikely(e, bad, e->failed, usual);
  LLVMPositionBuilderAtEnd(e->b, usual);
}

void cg_finish_failed(cg_emitter *e) {
  if (!e->failed) return;
  LLVMPositionBuilderAtEnd(e->b, e->failed);
  LLVMSetAlignment(LLVMBuildStore(e->b, LLVMConstInt(e->i64, 1, 0), e->status), 8);
  cg_finish_stores(e);
  LLVMBuildRetVoid(e->b);
}

/* Narrowed lanes that are read one by one. A minimum that changes nothing keeps LLVM from taking them out of
 * the wide vector and narrowing each. */
static LLVMValueRef narrow_lanes(cg_emitter *e, LLVMValueRef value, LLVMValueRef extent, unsigned bits,
                                 uint32_t width) {
  LLVMValueRef narrow = cg_resize(e, value, bits, width, true), end = cg_resize(e, extent, bits, width, true);
  return cg_call(e, "llvm.umin", 2, narrow, end, NULL);
}

/* The index, counted from the end where negative; tested by one unsigned comparison; clamped, unless the test
 * is one of all lanes, which ends the kernel. */
LLVMValueRef cg_emit_bound(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  bool is_signed = cg_is_signed(dtype);
  uint32_t width = e->nest->width[ref];
  unsigned wanted = cg_index_bits(e, ref), bits = cg_dtype_bits(dtype) > 32 ? 64 : wanted;
  LLVMValueRef value = cg_resize(e, cg_fetch(e, n->src[0], width), bits, width, is_signed);
  LLVMValueRef extent = cg_fetch_index(e, n->src[1], width, bits), zero = LLVMConstNull(LLVMTypeOf(value));
  if (is_signed) {
    LLVMValueRef below = LLVMBuildICmp(e->b, LLVMIntSLT, value, zero, "");
    value = cg_select(e, below, LLVMBuildAdd(e->b, value, extent, ""), value);
  }
  bool clips = ir_arg_mode(n) == IR_GATHER_CLIP && ir_bounds_of(e->g, n->src[1]).lo < 1; /* may be empty */
  if ((clips || ir_arg_mode(n) == IR_GATHER_CHECK) && !ir_is_false(e->g, n->src[2])) {
    LLVMValueRef bad = LLVMBuildICmp(e->b, LLVMIntUGE, clips ? zero : value, extent, ""),
                 valid = cg_fetch(e, n->src[2], width);
    if (!cg_is_true(valid)) bad = LLVMBuildAnd(e->b, bad, valid, "");
    report_range(e, cg_any(e, bad, width));
    if (!clips && cg_is_true(valid))
      return width > 1 && wanted < bits && !e->gathers ? narrow_lanes(e, value, extent, wanted, width)
                                                       : cg_resize(e, value, wanted, width, true);
  }
  LLVMValueRef last = LLVMBuildSub(e->b, extent, cg_int_const(e, bits, width, 1), "");
  if (ir_bounds_of(e->g, n->src[1]).lo < 1) last = cg_call(e, "llvm.smax", 2, last, zero, NULL);
  LLVMValueRef clamped =
      is_signed ? cg_call(e, "llvm.smax", 2, cg_call(e, "llvm.smin", 2, value, last, NULL), zero, NULL)
                : cg_call(e, "llvm.umin", 2, value, last, NULL);
  return cg_resize(e, clamped, wanted, width, true);
}

enum { CHECKED = 32 }; /* because an index has few terms: of more, the condition is tested once more */

static bool is_cast_of(const ir_graph *g, ir_ref ref, ir_ref value) {
  return ref == value || (ir_op_of(g, ref) == IR_OP_CAST && ir_src(g, ref, 0) == value);
}

/* Is the clause `value < extent` or `value >= -extent`? Both hold of each value that a check lets pass. */
static bool says_in_axis(const ir_graph *g, ir_ref clause, ir_ref value, ir_ref extent) {
  const ir_node *n = ir_get(g, clause);
  if ((n->op != IR_OP_LT && n->op != IR_OP_GE) || !is_cast_of(g, n->src[0], value)) return false;
  if (n->op == IR_OP_LT) return is_cast_of(g, n->src[1], extent);
  return ir_op_of(g, n->src[1]) == IR_OP_NEG && is_cast_of(g, ir_src(g, n->src[1], 0), extent);
}

/* Does a check of a position in the index end the kernel where the clause does not hold? */
static bool is_checked(const cg_emitter *e, ir_ref index, ir_ref clause) {
  ir_ref todo[CHECKED] = {index};
  for (uint32_t count = 1; count > 0;) {
    const ir_node *n = ir_get(e->g, todo[--count]);
    bool sure = n->op == IR_OP_BOUND && ir_arg_mode(n) == IR_GATHER_CHECK && ir_is_true(e->g, n->src[2]);
    if (sure && says_in_axis(e->g, clause, n->src[0], n->src[1])) return true;
    if (n->op == IR_OP_BOUND || n->op == IR_OP_LOAD) continue;
    for (uint32_t k = 0; k < n->nsrc; k++) {
      if (count == CHECKED) return false;
      todo[count++] = n->src[k];
    }
  }
  return false;
}

LLVMValueRef cg_unchecked_condition(cg_emitter *e, ir_ref index, ir_ref valid) {
  const ir_node *n = ir_get(e->g, valid);
  uint32_t width = e->nest->width[valid];
  LLVMValueRef all = LLVMConstAllOnes(cg_vector(e->i1, width));
  if (n->op != IR_OP_AND) return is_checked(e, index, valid) ? all : cg_value(e, valid);
  for (uint32_t k = 0; k < n->nsrc; k++) {
    if (is_checked(e, index, n->src[k])) continue;
    LLVMValueRef one = cg_fetch(e, n->src[k], width);
    all = cg_is_true(all) ? one : LLVMBuildAnd(e->b, all, one, "");
  }
  return all;
}
