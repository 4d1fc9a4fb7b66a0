/* The order of emission: values and their copies, what is emitted when, effects, the kernel itself.
 *
 * Whatever an effect or a loop is about to need is visited, and of that is emitted, in ascending order of
 * refs, what the loops already open suffice for. Nothing is inserted into finished code. Nothing here
 * recurses but through the nesting of loops and of rare values. */
#include "codegen/llvm.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_VALUES = 1024 };

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

size_t cg_copy_at(const cg_emitter *e, const uint64_t *lanes) {
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

uint32_t cg_width_of(const cg_emitter *e, const uint64_t *lanes) {
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;)
    if (e->nest->loops[l].binding == IR_VECTOR) return (uint32_t)e->nest->loops[l].extent;
  return 1;
}

/* values */

LLVMValueRef cg_value(cg_emitter *e, ir_ref ref) {
  LLVMValueRef *copies = e->values[ref];
  if (copies) return copies[cg_copy_at(e, cg_lanes(e->nest, ref))];
  return cg_fail(e, IR_ERR_INTERNAL, cg_type(e, ir_dtype_of(e->g, ref), e->nest->width[ref]),
                 "compile: node %u (%s) is used outside the loops that define it", ref,
                 ir_ops[ir_op_of(e->g, ref)].text);
}

LLVMValueRef cg_fetch(cg_emitter *e, ir_ref ref, uint32_t width) {
  if (ir_dtype_of(e->g, ref) == IR_INDEX) return cg_fetch_index(e, ref, width, 64);
  return cg_splat(e, cg_value(e, ref), width);
}

LLVMValueRef cg_fetch_index(cg_emitter *e, ir_ref ref, uint32_t width, unsigned bits) {
  bool is_signed = ir_bounds_of(e->g, ref).lo < 0;
  return cg_splat(e, cg_resize(e, cg_value(e, ref), bits, e->nest->width[ref], is_signed), width);
}

void cg_define(cg_emitter *e, ir_ref ref, LLVMValueRef *copies) {
  if (!IR_RESERVE(e->nest->mem, e->log, e->log_cap, e->log_count + 1)) {
    cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
    return;
  }
  e->log[e->log_count++] = ref;
  e->values[ref] = copies;
}

void cg_forget_since(cg_emitter *e, size_t mark) {
  while (e->log_count > mark) e->values[e->log[--e->log_count]] = NULL;
}

/* what to emit now */

static bool is_ready(const cg_emitter *e, ir_ref ref) {
  if (ir_dtype_of(e->g, ref) == IR_NONE) return false; /* effects happen where they stand */
  if (e->nest->reads[ref] & ~e->written) return false; /* not ahead of what it reads */
  const uint64_t *deps = cg_deps(e->nest, ref);
  for (int64_t l = -1; (l = cg_set_next(e->nest, deps, l)) >= 0;)
    if (!e->open[l]) return false;
  return true;
}

void cg_visit(void *user, ir_ref ref) {
  cg_emitter *e = user;
  if (e->mark[ref] == e->stamp || e->values[ref] || e->failed) return;
  e->mark[ref] = e->stamp;
  if (IR_RESERVE(e->nest->mem, e->stack, e->stack_cap, e->stack_count + 1)) e->stack[e->stack_count++] = ref;
  else cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
}

static int ascending(const void *a, const void *b) {
  ir_ref x = *(const ir_ref *)a, y = *(const ir_ref *)b;
  return x < y ? -1 : x > y;
}

static void emit_node(cg_emitter *e, ir_ref ref);

bool cg_surely_runs(cg_emitter *e, const cg_loop *loop) {
  return loop->binding != IR_THREAD && ir_bounds_of(e->g, ir_src(e->g, loop->range, 0)).lo >= 1;
}

/* A loop whose body may never be run, so that nothing may be read on its behalf. */
static bool may_not_run(cg_emitter *e, ir_ref ref) {
  if (ir_op_of(e->g, ref) != IR_OP_LOOP) return false;
  const cg_loop *loop = &e->nest->loops[e->nest->loop_of[ref] - 1];
  return !cg_is_lane(loop) && !cg_surely_runs(e, loop);
}

void cg_emit_visited(cg_emitter *e, bool reads) {
  size_t first = e->list_count;
  while (e->stack_count && !e->failed) {
    ir_ref ref = e->stack[--e->stack_count];
    bool now = is_ready(e, ref) && (reads || !e->nest->touches[ref]);
    if (now && !IR_RESERVE(e->nest->mem, e->list, e->list_cap, e->list_count + 1))
      cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
    else if (now) e->list[e->list_count++] = ref;
    cg_operands(e->nest, ref, !now && !(reads && may_not_run(e, ref)), cg_visit, e);
  }
  size_t end = e->list_count;
  if (end > first) qsort(e->list + first, end - first, sizeof *e->list, ascending);
  for (size_t i = first; i < end && !e->failed; i++)
    if (!e->values[e->list[i]]) emit_node(e, e->list[i]);
  e->list_count = first;
  e->stack_count = 0;
}

void cg_begin_visit(cg_emitter *e) {
  if (++e->stamp) return;
  memset(e->mark, 0, e->nest->count * sizeof *e->mark);
  e->stamp = 1;
}

/* nodes and effects */

/* The conditions of all copies, and whether any lane of any of them holds. */
static LLVMValueRef conditions(cg_emitter *e, ir_ref ref, LLVMValueRef *masks) {
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t width = e->nest->width[ref];
  LLVMValueRef some = NULL;
  cg_first_lane(e, lanes);
  do {
    LLVMValueRef mask = cg_fetch(e, ir_src(e->g, ref, 0), width);
    masks[cg_copy_at(e, lanes)] = mask;
    some = some ? LLVMBuildOr(e->b, some, mask, "") : mask;
  } while (cg_next_lane(e, lanes));
  return cg_any(e, some, width);
}

/* One branch for all copies. What the first value needs, and nothing before it needed, is emitted behind that
 * branch and known only there. */
static void emit_rare(cg_emitter *e, ir_ref ref, LLVMValueRef *copies) {
  const ir_node *n = ir_get(e->g, ref);
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t width = e->nest->width[ref];
  size_t count = cg_copies(e, lanes), log_count = e->log_count;
  LLVMValueRef *masks = cg_array(e, count), *picked = cg_array(e, count);
  if (++e->nesting > CG_MAX_NESTING)
    cg_fail(e, IR_ERR_UNSUPPORTED, NULL, "compile: rare values nest deeper than %d", CG_MAX_NESTING);
  if (e->failed) return;
  LLVMValueRef some = conditions(e, ref, masks);
  cg_first_lane(e, lanes);
  do copies[cg_copy_at(e, lanes)] = cg_fetch(e, n->src[2], width);
  while (cg_next_lane(e, lanes));
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), rare = cg_block(e), after = cg_block(e);
  cg_branch_unlikely(e, some, rare, after);
  LLVMPositionBuilderAtEnd(e->b, rare);
  cg_begin_visit(e);
  cg_visit(e, n->src[1]);
  cg_emit_visited(e, true);
  cg_first_lane(e, lanes);
  do {
    size_t copy = cg_copy_at(e, lanes);
    picked[copy] = cg_select(e, masks[copy], cg_fetch(e, n->src[1], width), copies[copy]);
  } while (cg_next_lane(e, lanes));
  cg_forget_since(e, log_count);
  e->nesting--;
  LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b);
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, after);
  for (size_t i = 0; i < count; i++) {
    LLVMValueRef phi = cg_phi(e, LLVMTypeOf(picked[i]), picked[i], end);
    cg_phi_add(phi, copies[i], before);
    copies[i] = phi;
  }
}

/* The same value, which LLVM takes as given: in loops further in it is no induction variable any more (see
 * cg_address). */
static LLVMValueRef anchored(cg_emitter *e, LLVMValueRef v) {
  return LLVMIsConstant(v) ? v : LLVMBuildFreeze(e->b, v, "");
}

static void emit_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t number = e->nest->loop_of[ref] - 1;
  if (n->op == IR_OP_LOOP) {
    if (cg_is_lane(&e->nest->loops[number])) cg_emit_lanes(e, number);
    else cg_emit_running(e, number);
    if (!e->failed) cg_define(e, ref, e->finals[number][0]);
    return;
  }
  if (n->op == IR_OP_GET) {
    cg_define(e, ref, e->finals[number][ir_arg_int(n)]);
    return;
  }
  LLVMValueRef *copies = cg_array(e, cg_copies(e, lanes));
  if (!copies) return;
  if (n->op == IR_OP_RARE) {
    emit_rare(e, ref, copies);
  } else if (n->op != IR_OP_LOAD || !cg_emit_tile(e, ref, copies)) {
    cg_first_lane(e, lanes);
    do copies[cg_copy_at(e, lanes)] = cg_emit_value(e, ref);
    while (cg_next_lane(e, lanes));
  }
  if (e->nest->anchor[ref]) copies[0] = anchored(e, copies[0]);
  cg_define(e, ref, copies);
}

static void emit_store(cg_emitter *e, ir_ref ref) {
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  cg_begin_visit(e);
  cg_operands(e->nest, ref, true, cg_visit, e);
  cg_emit_visited(e, true);
  if (ir_op_of(e->g, ref) == IR_OP_STORE) {
    if (!e->failed) cg_emit_store(e, ref);
    if (cg_local_of(e->g, ref) >= 0) e->written |= (uint64_t)1 << cg_local_of(e->g, ref);
    return;
  }
  cg_first_lane(e, lanes);
  do
    if (!e->failed) cg_emit_update(e, ref);
  while (cg_next_lane(e, lanes));
}

/* Effects within effects that open no loop are kept on a list rather than on the C stack. */
void cg_emit_effect(cg_emitter *e, ir_ref effect) {
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
    if (n->op == IR_OP_STORE || n->op == IR_OP_UPDATE) {
      emit_store(e, ref);
    } else if (n->op == IR_OP_SEQ || lanes) {
      room = IR_RESERVE(mem, todo, cap, count + n->nsrc);
      for (uint32_t i = n->nsrc; room && i-- > (lanes ? 1u : 0u);) todo[count++] = n->src[i];
    } else if (n->op == IR_OP_LOOP && n->dtype == IR_NONE) {
      cg_emit_running(e, number);
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
  LLVMSetMetadata(load, e->invariant,
                  LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0)));
  return load;
}

/* Where each local lies in scratch memory. */
static void place_locals(cg_emitter *e) {
  enum { ALIGN = CG_SCRATCH_ALIGN };
  ir_graph *g = e->g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  if (ir_reachable(g, &e->nest->kernel, 1, &live, &count, &cap) != IR_OK)
    cg_fail(e, IR_ERR_MEMORY, NULL, "out of memory emitting a kernel");
  for (size_t i = 0; i < count && !e->failed; i++) {
    const ir_node *n = ir_get(g, live[i]);
    LLVMValueRef *value = n->op == IR_OP_LOCAL ? cg_array(e, 1) : NULL;
    int64_t size;
    if (!value || !ir_is_const(g, n->src[0], &size)) continue;
    LLVMValueRef offset = LLVMConstInt(e->i64, e->nest->scratch, 0);
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->context);
    *value = LLVMBuildGEP2(e->b, byte, e->scratch, &offset, 1, "");
    cg_define(e, live[i], value);
    uint64_t bytes = (uint64_t)size * (uint64_t)ir_dtypes[n->dtype].bytes;
    e->nest->scratch += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  }
  ir_free(g->mem, live, cap * sizeof *live);
}

void cg_emit_kernel(cg_emitter *e) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  LLVMValueRef vars = LLVMGetParam(e->function, 1);
  for (uint32_t i = 1; i < kernel->nsrc && !e->failed; i++) {
    const ir_node *n = ir_get(e->g, kernel->src[i]);
    LLVMValueRef *value = cg_array(e, 1);
    if (!value) return;
    if (i <= params) *value = entry_load(e, e->pointer, e->buffers, ir_arg_int(n));
    else *value = entry_load(e, e->i64, vars, i - params - 1);
    cg_define(e, kernel->src[i], value);
  }
  e->status = entry_load(e, e->pointer, e->buffers, params);
  place_locals(e);
  if (!e->failed) cg_emit_effect(e, kernel->src[0]);
  cg_finish_stores(e);
  LLVMBuildRetVoid(e->b);
}
