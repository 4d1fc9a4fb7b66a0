/* Loops.
 *
 * Before a loop opens, whatever its body needs and the loops already open suffice for is emitted: code is
 * hoisted as far out as it can go by the way it is placed, and never moved. A loop tests at its bottom; one
 * that may run not at all is guarded, and then what reads memory stays behind the guard. When a loop closes,
 * the values made inside are forgotten.
 *
 * A loop between lanes is emitted once, with carried values per combination of the lanes that they lie along.
 * Loops whose iterations are lanes emit no loop at all; as values, they combine their lanes pairwise, lane i
 * with lane i + n/2. */
#include "codegen/llvm.h"

/* loops that run */

/* For a loop about to open: everything of its body that does not need it. */
static void hoist(cg_emitter *e, const cg_loop *loop, bool reads) {
  cg_begin_visit(e);
  cg_operands(e->nest, loop->node, true, cg_visit, e);
  cg_emit_visited(e, reads);
}

typedef struct running {
  LLVMBasicBlockRef before, entry, body; /* `before` is NULL unless guarded */
  LLVMBasicBlockRef after;
  LLVMValueRef first, end, counter;
} running;

/* A value as it is at the end of a finished block: splatting must not come between phis. */
static LLVMValueRef fetch_from(cg_emitter *e, LLVMBasicBlockRef block, ir_ref ref, uint32_t width) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
  LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(block));
  LLVMValueRef value = cg_fetch(e, ref, width);
  LLVMPositionBuilderAtEnd(e->b, here);
  return value;
}

static const uint64_t *carry_lanes(const cg_emitter *e, const cg_loop *loop, uint32_t slot) {
  return loop->carry_lanes + (size_t)slot * e->nest->words;
}

/* For each carried value an array of its copies. */
static LLVMValueRef **carried_arrays(cg_emitter *e, const cg_loop *loop) {
  LLVMValueRef **arrays = (LLVMValueRef **)(void *)cg_array(e, loop->carries);
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++)
    arrays[i] = cg_array(e, cg_copies(e, carry_lanes(e, loop, i)));
  return arrays;
}

static LLVMValueRef **open_carried(cg_emitter *e, const cg_loop *loop, LLVMBasicBlockRef from) {
  const ir_node *n = ir_get(e->g, loop->node);
  LLVMValueRef **phis = carried_arrays(e, loop);
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++) {
    const uint64_t *lanes = carry_lanes(e, loop, i);
    uint32_t width = cg_width_of(e, lanes);
    LLVMTypeRef type = cg_type(e, ir_dtype_of(e->g, n->src[1 + i]), width);
    cg_first_lane(e, lanes);
    do phis[i][cg_copy_at(e, lanes)] = cg_phi(e, type, fetch_from(e, from, n->src[1 + i], width), from);
    while (cg_next_lane(e, lanes));
    if (loop->carry[i]) cg_define(e, loop->carry[i], phis[i]);
  }
  return phis;
}

/* The next values, by carry and copy; they flow back into the phis. */
static LLVMValueRef **close_carried(cg_emitter *e, const cg_loop *loop, LLVMValueRef **phis) {
  const ir_node *n = ir_get(e->g, loop->node);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
  LLVMValueRef **nexts = carried_arrays(e, loop);
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++) {
    const uint64_t *lanes = carry_lanes(e, loop, i);
    cg_first_lane(e, lanes);
    do {
      size_t copy = cg_copy_at(e, lanes);
      nexts[i][copy] = cg_fetch(e, n->src[1 + loop->carries + i], cg_width_of(e, lanes));
      cg_phi_add(phis[i][copy], nexts[i][copy], from);
    } while (cg_next_lane(e, lanes));
  }
  return nexts;
}

/* From here on, code runs only if the loop runs at least once. */
static void enter(cg_emitter *e, const cg_loop *loop, running *r) {
  bool thread = loop->binding == IR_THREAD;
  r->first = thread ? e->begin : LLVMConstInt(e->i64, 0, 0);
  r->end = thread ? e->end : cg_fetch_index(e, ir_src(e->g, loop->range, 0), 1, 64);
  r->after = cg_block(e);
  if (!cg_surely_runs(e, loop)) {
    r->before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef inside = cg_block(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, r->first, r->end, ""), inside, r->after);
    LLVMPositionBuilderAtEnd(e->b, inside);
    hoist(e, loop, true);
  }
  r->entry = LLVMGetInsertBlock(e->b);
  r->body = cg_block(e);
  LLVMBuildBr(e->b, r->body);
  LLVMPositionBuilderAtEnd(e->b, r->body);
  r->counter = cg_phi(e, e->i64, r->first, r->entry);
}

static void leave(cg_emitter *e, running *r) {
  LLVMValueRef next = LLVMBuildNSWAdd(e->b, r->counter, LLVMConstInt(e->i64, 1, 0), "");
  LLVMSetNUW(next, 1);
  cg_phi_add(r->counter, next, LLVMGetInsertBlock(e->b));
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, r->end, ""), r->body, r->after);
  LLVMMoveBasicBlockAfter(r->after, LLVMGetInsertBlock(e->b));
}

/* Where a guard jumped past the loop, results are the initial values. */
static void merge_results(cg_emitter *e, const cg_loop *loop, const running *r, LLVMBasicBlockRef latch,
                          LLVMValueRef **results) {
  const ir_node *n = ir_get(e->g, loop->node);
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++) {
    const uint64_t *lanes = carry_lanes(e, loop, i);
    cg_first_lane(e, lanes);
    do {
      LLVMValueRef *result = &results[i][cg_copy_at(e, lanes)];
      *result = cg_phi(e, LLVMTypeOf(*result), *result, latch);
      cg_phi_add(*result, fetch_from(e, r->before, n->src[1 + i], cg_width_of(e, lanes)), r->before);
    } while (cg_next_lane(e, lanes));
  }
}

void cg_emit_running(cg_emitter *e, uint32_t number) {
  cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  if (++e->nesting > CG_MAX_NESTING) {
    cg_fail(e, IR_ERR_UNSUPPORTED, NULL, "compile: loops are nested more than %d deep", CG_MAX_NESTING);
    return;
  }
  cg_begin_visit(e);
  cg_operands(e->nest, loop->node, false, cg_visit, e);
  cg_emit_visited(e, true);
  if (cg_surely_runs(e, loop)) hoist(e, loop, true);
  hoist(e, loop, false);
  size_t scope = e->log_count;
  running r = {0};
  enter(e, loop, &r);
  LLVMValueRef **phis = open_carried(e, loop, r.entry), *counter = cg_array(e, 1);
  if (e->failed) return;
  *counter = r.counter;
  cg_define(e, loop->range, counter);
  e->open[number] = true;
  if (n->dtype == IR_NONE) {
    cg_emit_effect(e, n->src[1]);
  } else {
    cg_begin_visit(e);
    for (uint32_t i = 0; i < loop->carries; i++) cg_visit(e, n->src[1 + loop->carries + i]);
    cg_emit_visited(e, true);
  }
  if (e->failed) return;
  LLVMValueRef **results = close_carried(e, loop, phis);
  if (e->failed) return;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
  leave(e, &r);
  e->open[number] = false;
  cg_forget_since(e, scope);
  LLVMPositionBuilderAtEnd(e->b, r.after);
  if (r.before) merge_results(e, loop, &r, latch, results);
  e->finals[number] = results;
  e->nesting--;
}

/* loops that are lanes */

/* Element i with element i + half, again and again, in the one form that LLVM's own vectoriser writes: LLVM
 * 19 does not come back from narrowing parts of masks, and adds up wrongly where the forms are mixed. */
static LLVMValueRef tree_of_elements(cg_emitter *e, ir_op op, ir_dtype dtype, LLVMValueRef v,
                                     uint32_t width) {
  if (width == 1) return v;
  for (uint32_t half = width / 2; half; half /= 2)
    v = cg_combine(e, op, dtype, width, v, cg_shuffle_down(e, v, half, width));
  return LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i64, 0, 0), "");
}

static LLVMValueRef tree_of_copies(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, uint32_t number,
                                   ir_ref body) {
  size_t count = (size_t)e->nest->loops[number].extent;
  LLVMValueRef part[CG_MAX_LANES];
  for (size_t i = 0; i < count; i++) {
    e->digit[number] = (int64_t)i;
    part[i] = cg_fetch(e, body, width);
  }
  for (size_t half = count / 2; half; half /= 2)
    for (size_t i = 0; i < half; i++) part[i] = cg_combine(e, op, dtype, width, part[i], part[i + half]);
  return part[0];
}

void cg_emit_lanes(cg_emitter *e, uint32_t number) {
  cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  LLVMValueRef **results = carried_arrays(e, loop);
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++) {
    ir_ref next = n->src[1 + loop->carries + i], body = cg_lane_body(e->nest, loop, i);
    if (!body) {
      cg_fail(e, IR_ERR_INTERNAL, NULL,
              "compile: a reduction over lanes is not of the form op(carried, body)");
      return;
    }
    ir_op op = ir_op_of(e->g, next);
    ir_dtype dtype = ir_dtype_of(e->g, next);
    const uint64_t *lanes = carry_lanes(e, loop, i);
    uint32_t width = cg_width_of(e, lanes);
    cg_first_lane(e, lanes);
    do {
      LLVMValueRef tree;
      if (loop->binding == IR_UNROLL) tree = tree_of_copies(e, op, dtype, width, number, body);
      else
        tree =
            tree_of_elements(e, op, dtype, cg_fetch(e, body, (uint32_t)loop->extent), (uint32_t)loop->extent);
      results[i][cg_copy_at(e, lanes)] =
          cg_combine(e, op, dtype, width, cg_fetch(e, n->src[1 + i], width), tree);
    } while (cg_next_lane(e, lanes));
  }
  e->finals[number] = results;
}
