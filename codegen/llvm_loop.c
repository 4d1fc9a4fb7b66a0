/* Loops, scopes, and the order of emission.
 *
 * Before a loop opens, whatever its body needs and the loops already open suffice for is emitted: code is hoisted as far
 * out as it can go by the way it is placed, and never moved. A loop tests at its bottom; one that may run not at all is
 * guarded, and then what reads memory stays behind the guard. When a loop closes, the values made inside are forgotten.
 *
 * A loop between lanes is emitted once, with carried values per combination of the lanes that they lie along. Loops whose
 * iterations are lanes emit no loop at all; as values, they combine their lanes pairwise, lane i with lane i + n/2.
 *
 * Only the nesting of loops recurses, and that is bounded. */
#include "codegen/llvm.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 64, BLOCK_VALUES = 1024 };

struct cg_block {
  struct cg_block *next;
  size_t used, size;
  LLVMValueRef values[];
};

LLVMValueRef *cg_array(cg_emitter *e, size_t count) {
  struct cg_block *b = e->blocks;
  if (!b || b->size - b->used < count) {
    size_t size = count > BLOCK_VALUES ? count : BLOCK_VALUES;
    b = ir_alloc(e->nest->mem, sizeof *b + size * sizeof b->values[0]);
    if (!b) {
      cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
      return NULL;
    }
    *b = (struct cg_block){e->blocks, 0, size};
    e->blocks = b;
  }
  b->used += count;
  return b->values + b->used - count;
}

void cg_arrays_free(cg_emitter *e) {
  for (struct cg_block *b = e->blocks, *next; b; b = next) {
    next = b->next;
    ir_free(e->nest->mem, b, sizeof *b + b->size * sizeof b->values[0]);
  }
}

/* combinations of unroll lanes, the last loop fastest */

static bool is_unroll(const cg_emitter *e, int64_t loop) { return e->nest->loops[loop].binding == IR_UNROLL; }

size_t cg_copies(const cg_emitter *e, const uint64_t *lanes) {
  size_t copies = 1;
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;)
    if (is_unroll(e, l)) copies *= (size_t)e->nest->loops[l].extent;
  return copies;
}

static size_t copy_at(const cg_emitter *e, const uint64_t *lanes) {
  size_t copy = 0;
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;)
    if (is_unroll(e, l)) copy = copy * (size_t)e->nest->loops[l].extent + (size_t)e->digit[l];
  return copy;
}

void cg_first_lane(cg_emitter *e, const uint64_t *lanes) {
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) e->digit[l] = 0;
}

bool cg_next_lane(cg_emitter *e, const uint64_t *lanes) {
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
    if (!is_unroll(e, l)) continue;
    if (++e->digit[l] < e->nest->loops[l].extent) return true;
    e->digit[l] = 0;
  }
  return false;
}

static uint32_t width_of(const cg_emitter *e, const uint64_t *lanes) {
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;)
    if (e->nest->loops[l].binding == IR_VECTOR) return (uint32_t)e->nest->loops[l].extent;
  return 1;
}

/* values */

LLVMValueRef cg_value(cg_emitter *e, ir_ref ref) {
  LLVMValueRef *copies = e->values[ref];
  if (copies) return copies[copy_at(e, cg_lanes(e->nest, ref))];
  return cg_fail(e, IR_ERR_INTERNAL, cg_type(e, ir_dtype_of(e->g, ref), e->nest->width[ref]),
                 "compile: node %u (%s) is used outside the loops that define it", ref, ir_ops[ir_op_of(e->g, ref)].text);
}

LLVMValueRef cg_fetch(cg_emitter *e, ir_ref ref, uint32_t width) {
  if (ir_dtype_of(e->g, ref) == IR_INDEX) return cg_fetch_index(e, ref, width, 64);
  return cg_splat(e, cg_value(e, ref), width);
}

LLVMValueRef cg_fetch_index(cg_emitter *e, ir_ref ref, uint32_t width, unsigned bits) {
  return cg_splat(e, cg_resize(e, cg_value(e, ref), bits, e->nest->width[ref], true), width);
}

static void define(cg_emitter *e, ir_ref ref, LLVMValueRef *copies) {
  if (!IR_RESERVE(e->nest->mem, e->log, e->log_cap, e->log_count + 1)) {
    cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
    return;
  }
  e->log[e->log_count++] = ref;
  e->values[ref] = copies;
}

static void forget_since(cg_emitter *e, size_t mark) {
  while (e->log_count > mark) e->values[e->log[--e->log_count]] = NULL;
}

/* what to emit now */

static bool is_ready(const cg_emitter *e, ir_ref ref) {
  if (ir_dtype_of(e->g, ref) == IR_NONE) return false; /* effects happen where they stand */
  const uint64_t *deps = cg_deps(e->nest, ref);
  for (int64_t l = -1; (l = cg_set_next(e->nest, deps, l)) >= 0;)
    if (!e->open[l]) return false;
  return true;
}

static void visit(void *user, ir_ref ref) {
  cg_emitter *e = user;
  if (e->mark[ref] == e->stamp || e->values[ref] || e->failed) return;
  e->mark[ref] = e->stamp;
  if (IR_RESERVE(e->nest->mem, e->stack, e->stack_cap, e->stack_count + 1))
    e->stack[e->stack_count++] = ref;
  else
    cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
}

static int ascending(const void *a, const void *b) {
  ir_ref x = *(const ir_ref *)a, y = *(const ir_ref *)b;
  return x < y ? -1 : x > y;
}

static void emit_node(cg_emitter *e, ir_ref ref);

/* Emits, sources first, what the visited nodes need and the open loops suffice for. Nodes that read memory count only if
 * `reads`. */
static void emit_visited(cg_emitter *e, bool reads) {
  size_t first = e->list_count;
  while (e->stack_count && !e->failed) {
    ir_ref ref = e->stack[--e->stack_count];
    bool now = is_ready(e, ref) && (reads || !e->nest->touches[ref]);
    if (now && !IR_RESERVE(e->nest->mem, e->list, e->list_cap, e->list_count + 1))
      cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
    else if (now)
      e->list[e->list_count++] = ref;
    cg_operands(e->nest, ref, !now, visit, e);
  }
  size_t end = e->list_count;
  if (end > first) qsort(e->list + first, end - first, sizeof *e->list, ascending);
  for (size_t i = first; i < end && !e->failed; i++)
    if (!e->values[e->list[i]]) emit_node(e, e->list[i]);
  e->list_count = first;
  e->stack_count = 0;
}

static void begin_visit(cg_emitter *e) {
  if (++e->stamp) return;
  memset(e->mark, 0, e->nest->count * sizeof *e->mark);
  e->stamp = 1;
}

/* For a loop about to open: everything of its body that does not need it. */
static void hoist(cg_emitter *e, const cg_loop *loop, bool reads) {
  begin_visit(e);
  cg_operands(e->nest, loop->node, true, visit, e);
  emit_visited(e, reads);
}

/* loops that run */

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
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++) arrays[i] = cg_array(e, cg_copies(e, carry_lanes(e, loop, i)));
  return arrays;
}

static LLVMValueRef **open_carried(cg_emitter *e, const cg_loop *loop, LLVMBasicBlockRef from) {
  const ir_node *n = ir_get(e->g, loop->node);
  LLVMValueRef **phis = carried_arrays(e, loop);
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++) {
    const uint64_t *lanes = carry_lanes(e, loop, i);
    uint32_t width = width_of(e, lanes);
    LLVMTypeRef type = cg_type(e, ir_dtype_of(e->g, n->src[1 + i]), width);
    cg_first_lane(e, lanes);
    do phis[i][copy_at(e, lanes)] = cg_phi(e, type, fetch_from(e, from, n->src[1 + i], width), from);
    while (cg_next_lane(e, lanes));
    if (loop->carry[i]) define(e, loop->carry[i], phis[i]);
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
      size_t copy = copy_at(e, lanes);
      nexts[i][copy] = cg_fetch(e, n->src[1 + loop->carries + i], width_of(e, lanes));
      cg_phi_add(phis[i][copy], nexts[i][copy], from);
    } while (cg_next_lane(e, lanes));
  }
  return nexts;
}

static bool surely_runs(cg_emitter *e, const cg_loop *loop) {
  return loop->binding != IR_THREAD && ir_bounds_of(e->g, ir_src(e->g, loop->range, 0)).lo >= 1;
}

/* From here on, code runs only if the loop runs at least once. */
static void enter(cg_emitter *e, const cg_loop *loop, running *r) {
  bool thread = loop->binding == IR_THREAD;
  r->first = thread ? e->begin : LLVMConstInt(e->i64, 0, 0);
  r->end = thread ? e->end : cg_fetch_index(e, ir_src(e->g, loop->range, 0), 1, 64);
  r->after = cg_block(e);
  if (!surely_runs(e, loop)) {
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
      LLVMValueRef *result = &results[i][copy_at(e, lanes)];
      *result = cg_phi(e, LLVMTypeOf(*result), *result, latch);
      cg_phi_add(*result, fetch_from(e, r->before, n->src[1 + i], width_of(e, lanes)), r->before);
    } while (cg_next_lane(e, lanes));
  }
}

static void emit_effect(cg_emitter *e, ir_ref effect);

static void emit_running(cg_emitter *e, uint32_t number) {
  cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  if (++e->nesting > MAX_NESTING) {
    cg_fail(e, IR_ERR_UNSUPPORTED, NULL, "compile: loops are nested more than %d deep", MAX_NESTING);
    return;
  }
  begin_visit(e);
  cg_operands(e->nest, loop->node, false, visit, e);
  emit_visited(e, true);
  hoist(e, loop, surely_runs(e, loop));
  size_t scope = e->log_count;
  running r = {0};
  enter(e, loop, &r);
  LLVMValueRef **phis = open_carried(e, loop, r.entry), *counter = cg_array(e, 1);
  if (e->failed) return;
  *counter = r.counter;
  define(e, loop->range, counter);
  e->open[number] = true;
  if (n->dtype == IR_NONE) {
    emit_effect(e, n->src[1]);
  } else {
    begin_visit(e);
    for (uint32_t i = 0; i < loop->carries; i++) visit(e, n->src[1 + loop->carries + i]);
    emit_visited(e, true);
  }
  if (e->failed) return;
  LLVMValueRef **results = close_carried(e, loop, phis);
  if (e->failed) return;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
  leave(e, &r);
  e->open[number] = false;
  forget_since(e, scope);
  LLVMPositionBuilderAtEnd(e->b, r.after);
  if (r.before) merge_results(e, loop, &r, latch, results);
  e->finals[number] = results;
  e->nesting--;
}

/* loops that are lanes */

static LLVMValueRef tree_of_elements(cg_emitter *e, ir_op op, ir_dtype dtype, LLVMValueRef v, uint32_t width) {
  while (width > 1) {
    uint32_t half = width / 2;
    v = cg_combine(e, op, dtype, half, cg_shuffle(e, v, 0, 1, half), cg_shuffle(e, v, (int)half, 1, half));
    width = half;
  }
  return v;
}

static LLVMValueRef tree_of_copies(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, uint32_t number, ir_ref body) {
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

static void emit_lanes(cg_emitter *e, uint32_t number) {
  cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  LLVMValueRef **results = carried_arrays(e, loop);
  for (uint32_t i = 0; i < loop->carries && !e->failed; i++) {
    ir_ref next = n->src[1 + loop->carries + i], body = cg_lane_body(e->nest, loop, i);
    if (!body) {
      cg_fail(e, IR_ERR_INTERNAL, NULL, "compile: a reduction over lanes is not of the form op(carried, body)");
      return;
    }
    ir_op op = ir_op_of(e->g, next);
    ir_dtype dtype = ir_dtype_of(e->g, next);
    const uint64_t *lanes = carry_lanes(e, loop, i);
    uint32_t width = width_of(e, lanes);
    cg_first_lane(e, lanes);
    do {
      LLVMValueRef tree;
      if (loop->binding == IR_UNROLL)
        tree = tree_of_copies(e, op, dtype, width, number, body);
      else
        tree = tree_of_elements(e, op, dtype, cg_fetch(e, body, (uint32_t)loop->extent), (uint32_t)loop->extent);
      results[i][copy_at(e, lanes)] = cg_combine(e, op, dtype, width, cg_fetch(e, n->src[1 + i], width), tree);
    } while (cg_next_lane(e, lanes));
  }
  e->finals[number] = results;
}

/* nodes and effects */

static void emit_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t number = e->nest->loop_of[ref] - 1;
  if (n->op == IR_OP_LOOP) {
    if (cg_is_lane(&e->nest->loops[number]))
      emit_lanes(e, number);
    else
      emit_running(e, number);
    if (!e->failed) define(e, ref, e->finals[number][0]);
    return;
  }
  if (n->op == IR_OP_GET) {
    define(e, ref, e->finals[number][ir_arg_int(n)]);
    return;
  }
  LLVMValueRef *copies = cg_array(e, cg_copies(e, lanes));
  if (!copies) return;
  cg_first_lane(e, lanes);
  do copies[copy_at(e, lanes)] = cg_emit_value(e, ref);
  while (cg_next_lane(e, lanes));
  define(e, ref, copies);
}

static void emit_store(cg_emitter *e, ir_ref ref) {
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  begin_visit(e);
  cg_operands(e->nest, ref, true, visit, e);
  emit_visited(e, true);
  cg_first_lane(e, lanes);
  do
    if (!e->failed) cg_emit_store(e, ref);
  while (cg_next_lane(e, lanes));
}

/* Effects within effects that open no loop are kept on a list rather than on the C stack. */
static void emit_effect(cg_emitter *e, ir_ref effect) {
  ir_ref *todo = NULL;
  size_t count = 0, cap = 0;
  const ir_mem *mem = e->nest->mem;
  bool room = IR_RESERVE(mem, todo, cap, 1);
  if (room) todo[count++] = effect;
  while (room && count && !e->failed) {
    ir_ref ref = todo[--count];
    const ir_node *n = ir_get(e->g, ref);
    uint32_t number = e->nest->loop_of[ref] - 1;
    bool lanes = n->op == IR_OP_LOOP && cg_is_lane(&e->nest->loops[number]);
    if (n->op == IR_OP_STORE) {
      emit_store(e, ref);
    } else if (n->op == IR_OP_SEQ || lanes) {
      room = IR_RESERVE(mem, todo, cap, count + n->nsrc);
      for (uint32_t i = n->nsrc; room && i-- > (lanes ? 1u : 0u);) todo[count++] = n->src[i];
    } else if (n->op == IR_OP_LOOP && n->dtype == IR_NONE) {
      emit_running(e, number);
    } else {
      cg_fail(e, IR_ERR_INTERNAL, NULL, "compile: %s is no effect", ir_ops[n->op].text);
    }
  }
  if (!room) cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
  ir_free(mem, todo, cap * sizeof *todo);
}

static LLVMValueRef entry_load(cg_emitter *e, LLVMTypeRef type, LLVMValueRef table, int64_t slot) {
  LLVMValueRef index = LLVMConstInt(e->i64, (unsigned long long)slot, 0);
  LLVMValueRef load = LLVMBuildLoad2(e->b, type, LLVMBuildGEP2(e->b, type, table, &index, 1, ""), "");
  LLVMSetAlignment(load, 8);
  LLVMSetMetadata(load, e->invariant, LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0)));
  return load;
}

void cg_emit_kernel(cg_emitter *e) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  LLVMValueRef vars = LLVMGetParam(e->function, 1);
  for (uint32_t i = 1; i < kernel->nsrc && !e->failed; i++) {
    const ir_node *n = ir_get(e->g, kernel->src[i]);
    LLVMValueRef *value = cg_array(e, 1);
    if (!value) return;
    if (i <= params)
      *value = entry_load(e, e->pointer, e->buffers, ir_arg_int(n));
    else
      *value = entry_load(e, e->i64, vars, i - params - 1);
    define(e, kernel->src[i], value);
  }
  e->status = entry_load(e, e->pointer, e->buffers, params);
  if (!e->failed) emit_effect(e, kernel->src[0]);
  LLVMBuildRetVoid(e->b);
}
