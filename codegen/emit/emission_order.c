/* The order of emission (emission_order.h). */
#include "codegen/emit/emission_order.h"

#include "codegen/emit/listed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pointers allocated at a time: 8 KiB, one block for most kernels; of larger ones a block more for each
 * 1,024. */
enum { BLOCK_POINTERS = 1024 };

struct cg_block {
  struct cg_block *next;
  size_t used, size;
  void *pointers[];
};

void cg_order_fail(cg_order *o, ir_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_vfail(o->error, status, format, args);
  va_end(args);
  o->failed = true;
}

static void short_of_memory(cg_order *o) {
  cg_order_fail(o, IR_ERR_MEMORY, "out of memory emitting a kernel");
}

static void *zeroed(const ir_mem *mem, size_t size) {
  void *made = ir_alloc(mem, size);
  if (made) memset(made, 0, size);
  return made;
}

bool cg_order_open(cg_order *o, cg_nest *nest, const cg_emits *emits, void *emitter, ir_error *error) {
  const ir_mem *mem = nest->mem;
  *o = (cg_order){.nest = nest,
                  .g = &nest->graph,
                  .error = error,
                  .emits = emits,
                  .emitter = emitter,
                  .values = zeroed(mem, nest->count * sizeof *o->values),
                  .mark = zeroed(mem, nest->count * sizeof *o->mark),
                  .finals = zeroed(mem, nest->loop_count * sizeof *o->finals),
                  .open = zeroed(mem, nest->loop_count * sizeof *o->open),
                  .lane = zeroed(mem, nest->loop_count * sizeof *o->lane)};
  if (!o->values || !o->mark || !o->finals || !o->open || !o->lane) short_of_memory(o);
  return !o->failed;
}

void cg_order_close(cg_order *o) {
  const ir_mem *mem = o->nest->mem;
  for (struct cg_block *b = o->blocks, *next; b; b = next) {
    next = b->next;
    ir_free(mem, b, sizeof *b + b->size * sizeof b->pointers[0]);
  }
  ir_free(mem, o->values, o->nest->count * sizeof *o->values);
  ir_free(mem, o->mark, o->nest->count * sizeof *o->mark);
  ir_free(mem, o->finals, o->nest->loop_count * sizeof *o->finals);
  ir_free(mem, o->open, o->nest->loop_count * sizeof *o->open);
  ir_free(mem, o->lane, o->nest->loop_count * sizeof *o->lane);
  ir_free(mem, o->log, o->log_cap * sizeof *o->log);
  ir_free(mem, o->stack, o->stack_cap * sizeof *o->stack);
  ir_free(mem, o->list, o->list_cap * sizeof *o->list);
}

void *cg_array(cg_order *o, size_t count) {
  struct cg_block *b = o->blocks;
  if (!b || b->size - b->used < count) {
    size_t size = count > BLOCK_POINTERS ? count : BLOCK_POINTERS;
    b = ir_alloc(o->nest->mem, sizeof *b + size * sizeof b->pointers[0]);
    if (!b) {
      short_of_memory(o);
      return NULL;
    }
    *b = (struct cg_block){o->blocks, 0, size};
    memset(b->pointers, 0, size * sizeof b->pointers[0]);
    o->blocks = b;
  }
  b->used += count;
  return b->pointers + b->used - count;
}

void **cg_carried_arrays(cg_order *o, const cg_loop *loop) {
  void **arrays = cg_array(o, loop->carries);
  for (uint32_t i = 0; i < loop->carries && !o->failed; i++)
    arrays[i] = cg_array(o, cg_unroll_count(o, cg_carry_lanes(o, loop, i)));
  return arrays;
}

/* unrolled values */

bool cg_is_unroll(const cg_order *o, int64_t loop) { return o->nest->loops[loop].binding == IR_UNROLL; }

size_t cg_unroll_count(const cg_order *o, const uint64_t *lanes) {
  size_t unrolled = 1;
  for (int64_t l = -1; (l = cg_set_next(o->nest, lanes, l)) >= 0;)
    if (cg_is_unroll(o, l)) unrolled *= (size_t)o->nest->loops[l].extent;
  return unrolled;
}

size_t cg_unroll_index(const cg_order *o, const uint64_t *lanes) {
  size_t copy = 0;
  for (int64_t l = -1; (l = cg_set_next(o->nest, lanes, l)) >= 0;)
    if (cg_is_unroll(o, l)) copy = copy * (size_t)o->nest->loops[l].extent + (size_t)o->lane[l];
  return copy;
}

void cg_first_lane(cg_order *o, const uint64_t *lanes) {
  for (int64_t l = -1; (l = cg_set_next(o->nest, lanes, l)) >= 0;) o->lane[l] = 0;
}

bool cg_next_lane(cg_order *o, const uint64_t *lanes) {
  for (int64_t l = -1; (l = cg_set_next(o->nest, lanes, l)) >= 0;) {
    if (!cg_is_unroll(o, l)) continue;
    if (++o->lane[l] < o->nest->loops[l].extent) return true;
    o->lane[l] = 0;
  }
  return false;
}

uint32_t cg_width_of(const cg_order *o, const uint64_t *lanes) {
  for (int64_t l = -1; (l = cg_set_next(o->nest, lanes, l)) >= 0;)
    if (o->nest->loops[l].binding == IR_VECTOR) return (uint32_t)o->nest->loops[l].extent;
  return 1;
}

bool cg_in_sequence(const cg_order *o, ir_ref store) {
  const cg_nest *nest = o->nest;
  int64_t step, inner = -1;
  for (uint32_t l = 0; l < nest->loop_count; l++)
    if (o->open[l] && (inner < 0 || nest->loops[l].depth > nest->loops[inner].depth)) inner = l;
  return inner >= 0 && cg_clamped_stride(nest, ir_src(o->g, store, 1), (uint32_t)inner, &step) &&
         step == (int64_t)nest->width[store];
}

/* values */

void cg_define(cg_order *o, ir_ref ref, void *unrolled) {
  if (!IR_RESERVE(o->nest->mem, o->log, o->log_cap, o->log_count + 1)) {
    short_of_memory(o);
    return;
  }
  o->log[o->log_count++] = ref;
  o->values[ref] = unrolled;
}

void cg_forget_since(cg_order *o, size_t mark) {
  while (o->log_count > mark) o->values[o->log[--o->log_count]] = NULL;
}

/* what to emit now */

static bool is_ready(const cg_order *o, ir_ref ref) {
  if (ir_dtype_of(o->g, ref) == IR_NONE) return false; /* effects are emitted in their own order */
  if (o->nest->reads[ref] & ~o->written) return false; /* it reads a local that holds nothing yet */
  const uint64_t *deps = cg_deps(o->nest, ref);
  for (int64_t l = -1; (l = cg_set_next(o->nest, deps, l)) >= 0;)
    if (!o->open[l]) return false;
  return true;
}

void cg_visit(void *order, ir_ref ref) {
  cg_order *o = order;
  if (o->mark[ref] == o->stamp || o->values[ref] || o->failed) return;
  o->mark[ref] = o->stamp;
  if (IR_RESERVE(o->nest->mem, o->stack, o->stack_cap, o->stack_count + 1)) o->stack[o->stack_count++] = ref;
  else short_of_memory(o);
}

static int ascending(const void *a, const void *b) {
  ir_ref x = *(const ir_ref *)a, y = *(const ir_ref *)b;
  return x < y ? -1 : x > y;
}

bool cg_surely_runs(const cg_order *o, const cg_loop *loop) {
  if (loop->binding == IR_THREAD) return o->emits->threads_run;
  return ir_bounds_of(o->g, ir_src(o->g, loop->range, 0)).lo >= 1;
}

/* Is it a loop that may run zero times, so that nothing may be read for its body alone? */
static bool may_not_run(const cg_order *o, ir_ref ref) {
  if (ir_op_of(o->g, ref) != IR_OP_LOOP) return false;
  const cg_loop *loop = &o->nest->loops[o->nest->loop_of[ref] - 1];
  return !cg_is_lane(loop) && !cg_surely_runs(o, loop);
}

static void emit_node(cg_order *o, ir_ref ref) {
  const ir_node *n = ir_get(o->g, ref);
  uint32_t number = o->nest->loop_of[ref] - 1;
  if (n->op == IR_OP_LOOP) {
    bool lanes = cg_is_lane(&o->nest->loops[number]);
    (lanes ? o->emits->lane_loop : o->emits->serial_loop)(o->emitter, number);
    if (!o->failed) cg_define(o, ref, o->finals[number][0]);
    return;
  }
  if (n->op == IR_OP_GET) {
    cg_define(o, ref, o->finals[number][ir_arg_int(n)]);
    return;
  }
  void *unrolled = cg_array(o, cg_unroll_count(o, cg_lanes(o->nest, ref)));
  if (!unrolled) return;
  o->emits->unrolled(o->emitter, ref, unrolled);
  cg_define(o, ref, unrolled);
}

/* The unroll lanes of the listed node, or of the store, that has most; NULL: none has any. */
static const uint64_t *most_lanes(const cg_order *o, const ir_ref *list, size_t count, ir_ref store) {
  const uint64_t *lanes = store ? cg_lanes(o->nest, store) : NULL;
  for (size_t i = 0; i < count && !store; i++) {
    const uint64_t *own = cg_lanes(o->nest, list[i]);
    if (cg_unroll_count(o, own) > (lanes ? cg_unroll_count(o, lanes) : 1)) lanes = own;
  }
  return lanes;
}

/* Are the unroll lanes of a node among these? Those of sibling loops are not, however many there are. */
static bool are_lanes_among(const cg_order *o, ir_ref ref, const uint64_t *lanes) {
  const uint64_t *own = cg_lanes(o->nest, ref);
  for (int64_t l = -1; (l = cg_set_next(o->nest, own, l)) >= 0;)
    if (cg_is_unroll(o, l) && !cg_set_has(lanes, (uint32_t)l)) return false;
  return true;
}

/* Is it something that products read: an element or a vector, or where it is? */
static bool is_operand(const cg_order *o, ir_ref ref) {
  return ir_op_of(o->g, ref) == IR_OP_LOAD || ir_dtype_of(o->g, ref) == IR_INDEX;
}

/* Is a listed node emitted at the current one of these lanes? A vector that not all of them tell apart is
 * emitted once for the others; a single element each time, next to the product that reads it from memory. */
static bool is_due(const cg_order *o, ir_ref ref, const uint64_t *lanes) {
  const uint64_t *own = cg_lanes(o->nest, ref);
  if (cg_unroll_count(o, own) == 1) return false;
  if (o->nest->width[ref] == 1) return true;
  for (int64_t l = -1; (l = cg_set_next(o->nest, lanes, l)) >= 0;)
    if (cg_is_unroll(o, l) && !cg_set_has(own, (uint32_t)l) && o->lane[l]) return false;
  return true;
}

/* Is it a product that is added to a sum, or one of the two where no instruction does both? */
static bool is_of_sum(ir_op op) { return op == IR_OP_FMA || op == IR_OP_MUL || op == IR_OP_ADD; }

/* Can the nodes be emitted lane by lane, of these lanes? Those of fewer are what products of all read. */
static bool are_by_lane(const cg_order *o, const ir_ref *list, size_t count, const uint64_t *lanes,
                        ir_ref store) {
  size_t unrolled = cg_unroll_count(o, lanes);
  bool operands = false, products = true;
  for (size_t i = 0; i < count; i++) {
    size_t own = cg_unroll_count(o, cg_lanes(o->nest, list[i]));
    if (o->values[list[i]] || ir_op_of(o->g, list[i]) == IR_OP_LOOP || ir_op_of(o->g, list[i]) == IR_OP_GET)
      return false;
    if (own == 1) continue;
    if (!o->emits->lane || !o->emits->is_by_lane(o->emitter, list[i], unrolled, store)) return false;
    if (!are_lanes_among(o, list[i], lanes)) return false;
    if (own == unrolled) products &= is_of_sum(ir_op_of(o->g, list[i]));
    else if (store || !is_operand(o, list[i])) return false;
    else operands = true;
  }
  return products || !operands;
}

/* Emits the nodes, and a store if `store` is not 0, lane by lane: all for one combination of the unroll lanes
 * before those for the next one. False where some of them want to be emitted for all lanes at a time, or run
 * over other lanes than the others; nothing is emitted then. Nodes without unroll lanes come first. */
static bool emit_by_lane(cg_order *o, const ir_ref *list, size_t count, ir_ref store) {
  const uint64_t *lanes = most_lanes(o, list, count, store);
  if (!lanes || !are_by_lane(o, list, count, lanes, store)) return false;
  for (size_t i = 0; i < count && !o->failed; i++) {
    size_t own = cg_unroll_count(o, cg_lanes(o->nest, list[i]));
    void *values = own > 1 ? cg_array(o, own) : NULL;
    if (values) cg_define(o, list[i], values);
    else emit_node(o, list[i]);
  }
  cg_first_lane(o, lanes);
  do {
    for (size_t i = 0; i < count && !o->failed; i++)
      if (is_due(o, list[i], lanes)) o->emits->lane(o->emitter, list[i]);
    if (store && !o->failed) o->emits->store_lane(o->emitter, store);
    if (!store && !o->failed) o->emits->end_lane(o->emitter);
  } while (cg_next_lane(o, lanes) && !o->failed);
  for (size_t i = 0; i < count && !o->failed; i++)
    if (cg_unroll_count(o, cg_lanes(o->nest, list[i])) > 1) o->emits->after_lanes(o->emitter, list[i]);
  return true;
}

void cg_visit_operands(cg_order *o, ir_ref ref, bool body) {
  if (!o->emits->visit_operands || !o->emits->visit_operands(o->emitter, ref, cg_visit, o))
    cg_operands(o->nest, ref, body, cg_visit, o);
}

void cg_list_visited(cg_order *o, bool reads) {
  size_t first = o->list_count;
  while (o->stack_count && !o->failed) {
    ir_ref ref = o->stack[--o->stack_count];
    bool now = is_ready(o, ref) && (reads || !o->nest->reads_memory_or_fails[ref]);
    if (now && !IR_RESERVE(o->nest->mem, o->list, o->list_cap, o->list_count + 1)) short_of_memory(o);
    else if (now) o->list[o->list_count++] = ref;
    cg_visit_operands(o, ref, !now && !(reads && may_not_run(o, ref)));
  }
  if (o->list_count > first) qsort(o->list + first, o->list_count - first, sizeof *o->list, ascending);
  o->stack_count = 0;
}

void cg_emit_listed(cg_order *o, size_t first) {
  size_t end = first;
  for (size_t i = first; i < o->list_count; i++)
    if (!o->values[o->list[i]]) o->list[end++] = o->list[i];
  if (!emit_by_lane(o, o->list + first, end - first, 0))
    for (size_t i = first; i < end && !o->failed; i++)
      if (!o->values[o->list[i]]) emit_node(o, o->list[i]);
  o->list_count = first;
}

void cg_emit_visited(cg_order *o, bool reads) {
  size_t first = o->list_count;
  cg_list_visited(o, reads);
  cg_emit_in_order(o, first, reads);
}

void cg_begin_visit(cg_order *o) {
  if (++o->stamp) return;
  memset(o->mark, 0, o->nest->count * sizeof *o->mark);
  o->stamp = 1;
}

void cg_hoist(cg_order *o, const cg_loop *loop, bool reads) {
  cg_begin_visit(o);
  cg_operands(o->nest, loop->node, true, cg_visit, o);
  cg_emit_visited(o, reads);
}

void cg_need_next(cg_order *o, const cg_loop *loop) {
  cg_begin_visit(o);
  for (uint32_t i = 0; i < loop->carries; i++) cg_visit(o, ir_src(o->g, loop->node, 1 + loop->carries + i));
  cg_emit_visited(o, true);
}

bool cg_before_loop(cg_order *o, const cg_loop *loop) {
  if (++o->nesting > CG_MAX_NESTING) {
    cg_order_fail(o, IR_ERR_UNSUPPORTED, "compile: loops are nested more than %d deep", CG_MAX_NESTING);
    return false;
  }
  cg_begin_visit(o);
  cg_operands(o->nest, loop->node, false, cg_visit, o);
  cg_emit_visited(o, true);
  if (cg_surely_runs(o, loop)) cg_hoist(o, loop, true);
  cg_hoist(o, loop, false);
  return !o->failed;
}

/* effects */

/* Does a store replace elements by values computed of them: is what the nodes listed from `first` on read of
 * its memory, if anything, what it stores to? */
static bool updates_elements(const cg_order *o, ir_ref store, size_t first) {
  const ir_node *to = ir_get(o->g, store);
  bool updates = false;
  for (size_t i = first; i < o->list_count; i++) {
    const ir_node *n = ir_get(o->g, o->list[i]);
    if (n->op != IR_OP_LOAD || n->src[0] != to->src[0]) continue;
    if (n->src[1] != to->src[1]) return false;
    updates = true;
  }
  return updates;
}

/* Emits a store that updates elements, with all that it needs, vector by vector: each is stored before the
 * next one is loaded. Processors compare loads with earlier stores by the last 12 bits of their addresses; in
 * rows a power of two apart all these are the same, and where a row is loaded as a whole its stores are the
 * last before the loads of the next row. 64 columns of 16384 f32[16384] += values: 318 us, so 251 (Sapphire
 * Rapids). False where it cannot; nothing is emitted then. What it needs is listed from `first`
 * on. */
static bool emit_update(cg_order *o, ir_ref store, size_t first) {
  size_t unrolled = cg_unroll_count(o, cg_lanes(o->nest, store));
  bool apart = cg_unroll_count(o, cg_lanes(o->nest, ir_src(o->g, store, 1))) == unrolled;
  if (o->failed || !o->emits->store_lane || cg_local_of(o->g, store) >= 0 || unrolled == 1 || !apart ||
      !o->emits->is_by_lane(o->emitter, store, unrolled, store) || !updates_elements(o, store, first) ||
      !emit_by_lane(o, o->list + first, o->list_count - first, store))
    return false;
  o->list_count = first;
  return true;
}

static void emit_access(cg_order *o, ir_ref ref) {
  const uint64_t *lanes = cg_lanes(o->nest, ref);
  if (o->emits->before) o->emits->before(o->emitter, ref);
  size_t first = o->list_count;
  o->prefetched = false;
  cg_begin_visit(o);
  cg_operands(o->nest, ref, true, cg_visit, o);
  cg_list_visited(o, true);
  if (ir_op_of(o->g, ref) == IR_OP_STORE && emit_update(o, ref, first)) return;
  cg_emit_in_order(o, first, true);
  if (ir_op_of(o->g, ref) == IR_OP_STORE) {
    if (!o->failed) o->emits->store(o->emitter, ref);
  } else {
    cg_first_lane(o, lanes);
    do
      if (!o->failed) o->emits->update(o->emitter, ref);
    while (cg_next_lane(o, lanes));
  }
  if (cg_local_of(o->g, ref) >= 0) o->written |= (uint64_t)1 << cg_local_of(o->g, ref);
}

/* Nested effects that open no loop are kept on a worklist rather than on the C stack. */
void cg_emit_effect(cg_order *o, ir_ref effect) {
  ir_ref *todo = NULL;
  size_t count = 0, cap = 0;
  const ir_mem *mem = o->nest->mem;
  bool room = IR_RESERVE(mem, todo, cap, 1);
  if (room) todo[count++] = effect;
  while (room && count && !o->failed) {
    ir_ref ref = todo[--count];
    const ir_node *n = ir_get(o->g, ref);
    uint32_t number = o->nest->loop_of[ref] - 1;
    bool lanes = n->op == IR_OP_LOOP && cg_is_lane(&o->nest->loops[number]);
    if (n->op == IR_OP_STORE || n->op == IR_OP_UPDATE) {
      emit_access(o, ref);
    } else if (n->op == IR_OP_SEQ || lanes) {
      room = IR_RESERVE(mem, todo, cap, count + n->nsrc);
      for (uint32_t i = n->nsrc; room && i-- > (lanes ? 1u : 0u);) todo[count++] = n->src[i];
    } else if (n->op == IR_OP_LOOP && n->dtype == IR_NONE) {
      o->emits->serial_loop(o->emitter, number);
    } else {
      cg_order_fail(o, IR_ERR_INTERNAL, "compile: %s is no effect", ir_ops[n->op].text);
    }
  }
  if (!room) short_of_memory(o);
  ir_free(mem, todo, cap * sizeof *todo);
}
