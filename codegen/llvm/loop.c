/* Loops.
 *
 * A loop tests at its bottom whether its counter is its end. For that LLVM counts towards zero, or compares
 * an address; for `<` it keeps a counter beside. An end that is computed is frozen: LLVM would compute it
 * once more, step by step, for each value that it counts instead. A loop that may run zero times is guarded,
 * and loads hoisted out of it stay behind the guard. One that runs once at most is that guard alone: LLVM
 * would keep registers for a next iteration.
 *
 * A serial loop inside lane loops is emitted once, with one carried value per combination of the lanes along
 * which the carried value lies. Loops whose iterations are lanes emit no loop; those that yield values
 * combine their lanes pairwise, lane i with lane i + n/2, halving n. */
#include "codegen/llvm/llvm.h"

#include <inttypes.h>
#include <stdio.h>

/* loops that run */

typedef struct running {
  LLVMBasicBlockRef before, entry, body; /* `before` is NULL unless guarded */
  LLVMBasicBlockRef after;
  LLVMValueRef first, end, counter;
  bool once; /* there is no second iteration, and no counter */
} running;

/* Vectors of conditions in phis. Where no register holds a bit for each lane, LLVM takes those apart that are
 * longer than a register has bytes, into one register for each lane; so lanes are integers there, all ones or
 * zero, as wide as fills a register. `any` of rows of 1024 took 16 times as long with AVX2. */

static bool is_widened(const cg_emitter *e, ir_dtype dtype, uint32_t width) {
  return dtype == IR_BOOL && width > 1 && !e->holds_masks;
}

static LLVMTypeRef phi_type(cg_emitter *e, ir_dtype dtype, uint32_t width) {
  unsigned bits = 8 * (unsigned)e->target->vector_bytes / width;
  if (!is_widened(e, dtype, width)) return cg_type(e, dtype, width);
  return cg_int(e, bits < 8 ? 8 : bits > 64 ? 64 : bits, width);
}

/* Frozen: else LLVM would find the conditions themselves to be what is used behind the loop. */
static LLVMValueRef to_phi(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef v) {
  if (!is_widened(e, dtype, width)) return v;
  return LLVMBuildFreeze(e->b, LLVMBuildSExt(e->b, v, phi_type(e, dtype, width), ""), "");
}

static LLVMValueRef from_phi(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef v) {
  return is_widened(e, dtype, width) ? cg_is_negative(e, v) : v;
}

/* The value that a node has at the end of a finished block, splatted there: splats must not come between
 * phis. */
static LLVMValueRef fetch_from(cg_emitter *e, LLVMBasicBlockRef block, ir_ref ref, uint32_t width) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
  LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(block));
  LLVMValueRef value = to_phi(e, ir_dtype_of(e->g, ref), width, cg_fetch(e, ref, width));
  LLVMPositionBuilderAtEnd(e->b, here);
  return value;
}

/* One of the unrolled values of a carried value. */
static LLVMValueRef *unrolled_value(void **carried, uint32_t slot, size_t copy) {
  LLVMValueRef *unrolled = carried[slot];
  return &unrolled[copy];
}

/* What phis stand for, by carry and unrolled value. */
static void values_of(cg_emitter *e, const cg_loop *loop, void **phis, void **values) {
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    uint32_t width = cg_width_of(&e->order, lanes);
    ir_dtype dtype = ir_dtype_of(e->g, ir_src(e->g, loop->node, 1 + i));
    cg_first_lane(&e->order, lanes);
    do {
      size_t copy = cg_unroll_index(&e->order, lanes);
      *unrolled_value(values, i, copy) = from_phi(e, dtype, width, *unrolled_value(phis, i, copy));
    } while (cg_next_lane(&e->order, lanes));
  }
}

static void **open_carried(cg_emitter *e, const cg_loop *loop, LLVMBasicBlockRef from) {
  const ir_node *n = ir_get(e->g, loop->node);
  void **phis = cg_carried_arrays(&e->order, loop), **values = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    uint32_t width = cg_width_of(&e->order, lanes);
    LLVMTypeRef type = phi_type(e, ir_dtype_of(e->g, n->src[1 + i]), width);
    cg_first_lane(&e->order, lanes);
    do
      *unrolled_value(phis, i, cg_unroll_index(&e->order, lanes)) =
          cg_phi(e, type, fetch_from(e, from, n->src[1 + i], width), from);
    while (cg_next_lane(&e->order, lanes));
  }
  values_of(e, loop, phis, values);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++)
    if (loop->carry[i]) cg_define(&e->order, loop->carry[i], values[i]);
  return phis;
}

/* The next values in the form of phis, by carry and unrolled value; each is added to its phi for the back
 * edge, if there is one. */
static void **close_carried(cg_emitter *e, const cg_loop *loop, void **phis, bool once) {
  const ir_node *n = ir_get(e->g, loop->node);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
  void **nexts = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    cg_first_lane(&e->order, lanes);
    do {
      size_t copy = cg_unroll_index(&e->order, lanes);
      ir_ref of = n->src[1 + loop->carries + i];
      uint32_t width = cg_width_of(&e->order, lanes);
      LLVMValueRef next = to_phi(e, ir_dtype_of(e->g, of), width, cg_fetch(e, of, width));
      *unrolled_value(nexts, i, copy) = next;
      if (!once) cg_phi_add(*unrolled_value(phis, i, copy), next, from);
    } while (cg_next_lane(&e->order, lanes));
  }
  return nexts;
}

/* The first block of the loop's body. Its name says how often that runs; LLVM appends a number where the
 * function has the name already. */
static LLVMBasicBlockRef body_of(cg_emitter *e, const cg_loop *loop) {
  char name[32];
  int64_t count = 0;
  bool thread = loop->binding == IR_THREAD, known = ir_is_const(e->g, ir_src(e->g, loop->range, 0), &count);
  if (!e->names_loops) return cg_block(e);
  snprintf(name, sizeof name, thread ? "share_" : known ? "runs_%" PRId64 "_" : "runs_n_", count);
  return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

/* loops that are written out */

/* A short loop that only copies is emitted once for each iteration. */
enum { MOST_WRITTEN_OUT = 4 }; /* because with MOST_STORES that is 8 lines, 16 instructions of code */
enum { MOST_STORES = 2 };      /* because the counter's 2 instructions are a third of 2 lines' 6 */

static bool is_moved(const cg_emitter *e, ir_ref value) {
  const ir_node *n = ir_get(e->g, value);
  return cg_is_leaf((ir_op)n->op) || n->op == IR_OP_LOAD;
}

/* Does the loop only copy or fill, a few times? */
static bool is_written_out(const cg_emitter *e, const cg_loop *loop) {
  ir_ref todo[2 * MOST_STORES] = {loop->effect};
  uint32_t count = 1, stores = 0;
  int64_t iterations;
  if (loop->binding == IR_THREAD || loop->carries || !loop->effect ||
      !ir_is_const(e->g, ir_src(e->g, loop->range, 0), &iterations) || iterations < 1 ||
      iterations > MOST_WRITTEN_OUT)
    return false;
  while (count) {
    ir_ref ref = todo[--count];
    const ir_node *n = ir_get(e->g, ref);
    const cg_loop *lanes = n->op == IR_OP_LOOP ? &e->nest->loops[e->nest->loop_of[ref] - 1] : NULL;
    bool store = n->op == IR_OP_STORE && is_moved(e, n->src[2]);
    uint32_t first = lanes ? 1 : 0, more = lanes && cg_is_lane(lanes) ? n->nsrc : 0;
    if (n->op == IR_OP_SEQ) more = n->nsrc;
    stores += store ? (uint32_t)cg_unroll_count(&e->order, cg_lanes(e->nest, ref)) : 0;
    if ((!store && !more) || stores > MOST_STORES || count + more > 2 * MOST_STORES) return false;
    for (uint32_t i = first; i < more; i++) todo[count++] = n->src[i];
  }
  return true;
}

static void write_out(cg_emitter *e, uint32_t number) {
  const cg_loop *loop = &e->nest->loops[number];
  int64_t iterations = ir_bounds_of(e->g, ir_src(e->g, loop->range, 0)).lo;
  e->order.open[number] = true;
  for (int64_t i = 0; i < iterations && !e->order.failed; i++) {
    size_t scope = e->order.log_count;
    LLVMValueRef *at = cg_array(&e->order, 1);
    if (!at) return;
    *at = LLVMConstInt(e->i64, (unsigned long long)i, 0);
    cg_define(&e->order, loop->range, at);
    cg_emit_effect(&e->order, loop->effect);
    cg_forget_since(&e->order, scope);
  }
  e->order.open[number] = false;
}

/* loops that stay */

/* Opens the loop. What is emitted from here on runs only if the loop runs at least once. */
static void enter_loop(cg_emitter *e, uint32_t number, running *r) {
  const cg_loop *loop = &e->nest->loops[number];
  bool thread = loop->binding == IR_THREAD;
  r->once = !thread && ir_bounds_of(e->g, ir_src(e->g, loop->range, 0)).hi == 1;
  r->first = thread ? e->begin : LLVMConstInt(e->i64, 0, 0);
  r->end = thread ? e->end : cg_fetch_index(e, ir_src(e->g, loop->range, 0), 1, 64);
  r->after = cg_block(e);
  if (!cg_surely_runs(&e->order, loop)) {
    r->before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef inside = cg_block(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, r->first, r->end, ""), inside, r->after);
    LLVMPositionBuilderAtEnd(e->b, inside);
    cg_hoist(&e->order, loop, true);
  }
  if (!LLVMIsConstant(r->end) && !thread) r->end = LLVMBuildFreeze(e->b, r->end, "");
  cg_open_aligned(e, number, &r->end);
  r->entry = LLVMGetInsertBlock(e->b);
  r->body = body_of(e, loop);
  LLVMBuildBr(e->b, r->body);
  LLVMPositionBuilderAtEnd(e->b, r->body);
  r->counter = r->once ? r->first : cg_phi(e, e->i64, r->first, r->entry);
}

static void leave_loop(cg_emitter *e, running *r) {
  if (r->once) {
    LLVMBuildBr(e->b, r->after);
    LLVMMoveBasicBlockAfter(r->after, LLVMGetInsertBlock(e->b));
    return;
  }
  LLVMValueRef next = LLVMBuildNSWAdd(e->b, r->counter, LLVMConstInt(e->i64, 1, 0), "");
  LLVMSetNUW(next, 1);
  cg_phi_add(r->counter, next, LLVMGetInsertBlock(e->b));
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, next, r->end, ""), r->body, r->after);
  LLVMMoveBasicBlockAfter(r->after, LLVMGetInsertBlock(e->b));
}

/* Phis behind a guarded loop: where the guard skipped the loop, results are the initial values. */
static void merge_results(cg_emitter *e, const cg_loop *loop, const running *r, LLVMBasicBlockRef latch,
                          void **results) {
  const ir_node *n = ir_get(e->g, loop->node);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    cg_first_lane(&e->order, lanes);
    do {
      LLVMValueRef *result = unrolled_value(results, i, cg_unroll_index(&e->order, lanes));
      *result = cg_phi(e, LLVMTypeOf(*result), *result, latch);
      cg_phi_add(*result, fetch_from(e, r->before, n->src[1 + i], cg_width_of(&e->order, lanes)), r->before);
    } while (cg_next_lane(&e->order, lanes));
  }
}

void cg_emit_running(void *emitter, uint32_t number) {
  cg_emitter *e = emitter;
  cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  if (!cg_before_loop(&e->order, loop)) return;
  if (is_written_out(e, loop)) {
    write_out(e, number);
    e->order.nesting--;
    return;
  }
  bool fetches = cg_open_fetched(e, loop);
  size_t scope = e->order.log_count;
  running r = {0};
  enter_loop(e, number, &r);
  void **phis = open_carried(e, loop, r.entry);
  LLVMValueRef *counter = cg_array(&e->order, 1);
  if (e->order.failed) return;
  *counter = r.counter;
  cg_define(&e->order, loop->range, counter);
  e->order.open[number] = true;
  if (fetches) cg_emit_fetched(e, loop, r.counter);
  if (loop->effect) cg_emit_effect(&e->order, loop->effect);
  if (n->dtype != IR_NONE) cg_need_next(&e->order, loop);
  if (e->order.failed) return;
  void **results = close_carried(e, loop, phis, r.once);
  if (e->order.failed) return;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
  leave_loop(e, &r);
  if (fetches) e->fetched_count = 0;
  e->aligned.count = 0;
  e->order.open[number] = false;
  cg_forget_since(&e->order, scope);
  LLVMPositionBuilderAtEnd(e->b, r.after);
  if (r.before) merge_results(e, loop, &r, latch, results);
  values_of(e, loop, results, results);
  e->order.finals[number] = results;
  e->order.nesting--;
}

/* loops that are lanes */

/* Combines element i with element i + half, and halves until one is left; conditions all at once. The
 * shuffles have the one form that LLVM's own vectoriser writes: with others LLVM 19 does not terminate where
 * it narrows parts of masks, and adds up wrongly where the forms are mixed. */
static LLVMValueRef tree_of_elements(cg_emitter *e, ir_op op, ir_dtype dtype, LLVMValueRef v,
                                     uint32_t width) {
  if (width == 1) return v;
  if (dtype == IR_BOOL && op == IR_OP_OR) return cg_any(e, v, width);
  if (dtype == IR_BOOL && op == IR_OP_AND)
    return LLVMBuildNot(e->b, cg_any(e, LLVMBuildNot(e->b, v, ""), width), "");
  for (uint32_t half = width / 2; half; half /= 2)
    v = cg_combine(e, op, dtype, width, v, cg_shuffle_down(e, v, half, width));
  return LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i64, 0, 0), "");
}

/* Step k combines lanes whose number has bit k with the last lane of the 2^k before their own (Sklansky
 * 1960), the others with the identity. Suffixes count lanes from the last one. */
LLVMValueRef cg_emit_prefix(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  uint32_t width = e->nest->width[ref];
  LLVMValueRef v = cg_fetch(e, n->src[0], width), identity = cg_fetch(e, n->src[1], width);
  for (uint32_t size = 1; size < width; size *= 2)
    v = cg_combine(e, (ir_op)ir_arg_int(n), dtype, width, v,
                   cg_run_ends(e, v, identity, size, width, ir_arg_mode(n) == 1));
  return v;
}

static LLVMValueRef combine_unrolled(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, uint32_t number,
                                     ir_ref body) {
  size_t count = (size_t)e->nest->loops[number].extent;
  LLVMValueRef partial[CG_MAX_LANES];
  for (size_t i = 0; i < count; i++) {
    e->order.lane[number] = (int64_t)i;
    partial[i] = cg_fetch(e, body, width);
  }
  for (size_t half = count / 2; half; half /= 2)
    for (size_t i = 0; i < half; i++)
      partial[i] = cg_combine(e, op, dtype, width, partial[i], partial[i + half]);
  return partial[0];
}

void cg_emit_lanes(void *emitter, uint32_t number) {
  cg_emitter *e = emitter;
  cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  void **results = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    ir_ref next = n->src[1 + loop->carries + i], body = cg_lane_body(e->nest, loop, i);
    if (!body) {
      cg_fail(e, IR_ERR_INTERNAL, NULL,
              "compile: a reduction over lanes is not of the form op(carried, body)");
      return;
    }
    ir_op op = ir_op_of(e->g, next);
    ir_dtype dtype = ir_dtype_of(e->g, next);
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    uint32_t width = cg_width_of(&e->order, lanes);
    cg_first_lane(&e->order, lanes);
    do {
      LLVMValueRef tree;
      if (loop->binding == IR_UNROLL) tree = combine_unrolled(e, op, dtype, width, number, body);
      else
        tree =
            tree_of_elements(e, op, dtype, cg_fetch(e, body, (uint32_t)loop->extent), (uint32_t)loop->extent);
      *unrolled_value(results, i, cg_unroll_index(&e->order, lanes)) =
          cg_combine(e, op, dtype, width, cg_fetch(e, n->src[1 + i], width), tree);
    } while (cg_next_lane(&e->order, lanes));
  }
  e->order.finals[number] = results;
}
