/* The work-items of a group: barriers between them, and values combined over them.
 *
 * Locals. For each local the emitter tracks whether some work-item may have stored to it, or read it, since
 * the last barrier. An effect that reads a local that was stored to, or stores to a local that was read, has
 * a barrier before it. After an iteration comes the next one: an iteration ends with a barrier if it stores
 * to a local that it has read since the last barrier, or if it has stored since then to a local that is kept,
 * which the next iteration may read first. Effects stand in uniform control flow, and values read locals only
 * on behalf of effects, after the barriers of these.
 *
 * Exchange. Reductions over lanes, here trees, go through local memory that all trees of a kernel share. It
 * has two areas, and a tree uses one that nobody reads any more, so that most trees do not wait for the tree
 * before. An iteration ends with a barrier if the next one may begin with an area that is still being
 * read. */
#include "codegen/opencl/opencl.h"

#include <string.h>

uint32_t oc_group_size(const cg_nest *nest) {
  uint32_t most = 1;
  for (uint32_t l = 0; l < nest->loop_count; l++)
    if (nest->loops[l].binding == IR_VECTOR && nest->loops[l].extent > most)
      most = (uint32_t)nest->loops[l].extent;
  return most;
}

/* Is there a store to a parameter, of a number of lanes that is not the group's number of work-items, whose
 * value loads something? */
static bool has_partial_store(const cg_nest *nest, uint32_t group) {
  for (ir_ref ref = 0; ref < nest->count; ref++) {
    const ir_node *n = ir_get(&nest->graph, ref);
    if (n->op == IR_OP_STORE && ir_op_of(&nest->graph, n->src[0]) == IR_OP_PARAM &&
        nest->reads_memory_or_fails[n->src[2]] && nest->width[ref] != group)
      return true;
  }
  return false;
}

void oc_limit_in_place(cg_nest *nest, uint32_t group) {
  if (group == 1 || !nest->in_place || !has_partial_store(nest, group)) return;
  const ir_node *kernel = ir_get(&nest->graph, nest->kernel);
  for (uint32_t i = 1; i < kernel->nsrc; i++) {
    const ir_node *n = ir_get(&nest->graph, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 32 && nest->in_place >> slot & 1) nest->stored[kernel->src[i]] = false;
  }
  nest->in_place = 0;
}

const char *oc_guard(tx_emitter *e, uint32_t lanes) {
  if (!oc_are_items(e) || lanes == oc_of(e)->group) return "";
  return lanes == 1 ? "if (lane == 0) " : tx_text(e, "if (lane < %u) ", lanes);
}

static bool has_several_items(const tx_emitter *e) { return oc_are_items(e) && oc_of(e)->group > 1; }

static void barrier(tx_emitter *e) {
  tx_line(e, "barrier(CLK_LOCAL_MEM_FENCE)");
  oc_of(e)->waits = (oc_barriers){0};
}

/* locals */

/* The local that the effect stores to, as a set; empty if it is private, or if the effect stores to a
 * parameter. */
static uint64_t stored_to(const tx_emitter *e, ir_ref effect) {
  int64_t local = cg_local_of(e->g, effect);
  return local >= 0 ? (uint64_t)1 << local & ~oc_of(e)->private_locals : 0;
}

void oc_before_effect(void *emitter, ir_ref effect) {
  tx_emitter *e = emitter;
  if (!has_several_items(e)) return;
  uint64_t reads = e->nest->reads[effect] & ~oc_of(e)->private_locals;
  uint64_t stores = ir_op_of(e->g, effect) == IR_OP_STORE ? stored_to(e, effect) : 0;
  if (reads & oc_of(e)->waits.dirty || stores & oc_of(e)->waits.read) barrier(e);
}

void oc_after_effect(tx_emitter *e, ir_ref effect) {
  if (!has_several_items(e)) return;
  oc_of(e)->waits.read |= e->nest->reads[effect] & ~oc_of(e)->private_locals;
  oc_of(e)->waits.dirty |= stored_to(e, effect);
}

bool oc_is_ahead(const tx_emitter *e, ir_ref store) {
  return cg_local_of(e->g, store) >= 0 && ir_arg_mode(ir_get(e->g, ir_src(e->g, store, 0))) == IR_LOCAL_AHEAD;
}

/* The set of locals to which an effect stores; *kept: those that are kept over iterations; *ahead: those that
 * only later iterations read. */
static uint64_t stored_by(tx_emitter *e, ir_ref effect, uint64_t *kept, uint64_t *ahead) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  uint64_t stored = 0;
  if (ir_reachable(e->g, &effect, 1, &live, &count, &cap) != IR_OK)
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  *kept = *ahead = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t local = ir_op_of(e->g, live[i]) == IR_OP_STORE ? stored_to(e, live[i]) : 0;
    if (!local) continue;
    stored |= local;
    if (ir_arg_mode(ir_get(e->g, ir_src(e->g, live[i], 0)))) *kept |= local;
    if (oc_is_ahead(e, live[i])) *ahead |= local;
  }
  ir_free(e->nest->mem, live, cap * sizeof *live);
  return stored;
}

void oc_before_values(tx_emitter *e, const cg_loop *loop) {
  uint64_t kept, ahead, stored = stored_by(e, loop->effect, &kept, &ahead);
  if (!has_several_items(e) || !stored) return;
  if (stored & ~ahead & oc_of(e)->waits.dirty) barrier(e);
  oc_of(e)->waits.read |= stored;
}

oc_first_areas oc_begin_iteration(tx_emitter *e) {
  oc_first_areas outer = oc_of(e)->first;
  oc_of(e)->first = (oc_first_areas){.depth = e->depth};
  return outer;
}

/* The enclosing iteration may begin with the areas of this loop, but also with later ones, since this loop
 * may run zero times. */
void oc_end_iteration(tx_emitter *e, const cg_loop *loop, oc_first_areas outer) {
  oc_first_areas own = oc_of(e)->first;
  oc_of(e)->first = outer;
  if (!outer.complete) oc_of(e)->first.areas |= own.areas;
  if (!has_several_items(e)) return;
  uint64_t kept = 0, ahead, stored = 0;
  if (oc_of(e)->waits.read | oc_of(e)->waits.dirty) stored = stored_by(e, loop->node, &kept, &ahead);
  bool stores = (stored & oc_of(e)->waits.read) || (kept & oc_of(e)->waits.dirty);
  if (stores || oc_of(e)->waits.areas_read & own.areas) barrier(e);
}

void oc_end_conditional(tx_emitter *e, oc_barriers before) {
  oc_of(e)->waits.dirty |= before.dirty;
  oc_of(e)->waits.read |= before.read;
  oc_of(e)->waits.areas_read |= before.areas_read;
}

/* reductions over lanes */

/* Does computing ref still need a loop that combines the lanes of a vector, or one whose iterations have
 * barriers? */
bool oc_needs_barrier(tx_emitter *e, ir_ref ref) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool joins = false;
  if (!has_several_items(e)) return false;
  uint8_t *wanted = ir_alloc(e->nest->mem, (size_t)ref + 1);
  if (!wanted || ir_reachable(e->g, &ref, 1, &live, &count, &cap) != IR_OK)
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  if (wanted) memset(wanted, 0, (size_t)ref + 1);
  for (size_t i = e->order.failed ? 0 : count; i-- > 0;) {
    const ir_node *n = ir_get(e->g, live[i]);
    if ((live[i] != ref && !wanted[live[i]]) || e->order.values[live[i]]) continue;
    const cg_loop *loop = n->op == IR_OP_LOOP ? &e->nest->loops[e->nest->loop_of[live[i]] - 1] : NULL;
    joins |= loop && (loop->binding == IR_VECTOR || loop->effect);
    for (uint32_t s = 0; s < n->nsrc; s++) wanted[n->src[s]] = 1;
  }
  ir_free(e->nest->mem, live, cap * sizeof *live);
  ir_free(e->nest->mem, wanted, (size_t)ref + 1);
  return joins;
}

tx_value oc_group_any(tx_emitter *e, tx_value condition) {
  oc_of(e)->has_flag = true;
  barrier(e);
  tx_line(e, "if (lane == 0) some = 0");
  barrier(e);
  tx_line(e, "if (%s) atomic_or(&some, 1)", condition.text);
  barrier(e);
  return tx_make(e, TX_BOOL, 1, TX_LOOSE, "some != 0");
}

/* Combines the `count` elements first, first + step, ... of the exchange, in pairs i and i + count/2. */
static tx_value tree(tx_emitter *e, ir_op op, ir_dtype dtype, const char *first, uint32_t step,
                     uint32_t count, unsigned kind, const char *exchange) {
  tx_value partial[32];
  for (uint32_t i = 0; i < count; i++) {
    const char *at = i ? tx_text(e, "%s%s%u", first, *first ? " + " : "", i * step) : *first ? first : "0";
    partial[i] = tx_make(e, kind, 1, TX_ATOM, "%s[%s]", exchange, at);
    if (dtype == IR_BOOL) partial[i] = tx_make(e, TX_BOOL, 1, TX_LOOSE, "%s != 0", partial[i].text);
  }
  for (uint32_t half = count / 2; half; half /= 2)
    for (uint32_t i = 0; i < half; i++) partial[i] = tx_combine(e, op, dtype, partial[i], partial[i + half]);
  return partial[0];
}

/* The number of an area that nobody reads any more; it gets at least `bytes`. */
static uint32_t area_for(tx_emitter *e, uint64_t bytes) {
  if (oc_of(e)->waits.areas_read == 3) barrier(e);
  uint32_t area = oc_of(e)->waits.areas_read & 1;
  if (bytes > oc_of(e)->exchange[area]) oc_of(e)->exchange[area] = bytes;
  if (!oc_of(e)->first.complete) oc_of(e)->first.areas |= 1U << area;
  if (oc_of(e)->first.depth == e->depth) oc_of(e)->first.complete = true;
  return area;
}

/* Can work-items pass each other values of this kind in registers? */
static bool passes_in_registers(unsigned kind) {
  return kind == TX_I32 || kind == TX_U32 || kind == TX_I64 || kind == TX_U64 || kind == TX_F32 ||
         kind == TX_F64;
}

/* The number of neighbouring work-items that combine values among themselves, in registers where the device
 * can (VF_SHUFFLE_XOR). 0: none do; all of them must take part, so it divides both `lanes` and the group's
 * size. */
static uint32_t subgroup_items(const tx_emitter *e, uint32_t lanes, unsigned kind) {
  uint32_t items = (uint32_t)e->target->together;
  return items > 1 && lanes % items == 0 && oc_of(e)->group % items == 0 && passes_in_registers(kind) ? items
                                                                                                      : 0;
}

/* Butterfly reduction over `items` work-items: combines the value of each with that of the work-item at each
 * distance items/2, ..., 1. All have the same result then, combined in pairs i and i + distance as
 * everywhere. */
static tx_value butterfly(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value value, uint32_t items,
                          unsigned kind, const char *exchange) {
  for (uint32_t distance = items / 2; distance; distance /= 2) {
    value = tx_temporary(e, dtype == IR_BOOL ? tx_convert(e, value, TX_I32) : value);
    const char *name = tx_text(e, "v%u", e->last_number++);
    tx_line(e, "VF_SHUFFLE_XOR(%s, %s, %s, %u, %u, %s)", tx_type(e, kind, 1), name, value.text, distance,
            items, exchange);
    tx_value other = tx_make(e, kind, 1, TX_ATOM, "%s", name);
    if (dtype == IR_BOOL) other = tx_make(e, TX_BOOL, 1, TX_LOOSE, "%s != 0", name);
    if (dtype == IR_BOOL) value = tx_make(e, TX_BOOL, 1, TX_LOOSE, "%s != 0", value.text);
    value = tx_combine(e, op, dtype, value, other);
  }
  return tx_temporary(e, value);
}

/* Values that go through the exchange at once; each uses `lanes` elements of it. */
typedef struct combining {
  ir_op op;
  ir_dtype dtype;
  unsigned kind;
  uint32_t lanes, count;
  tx_value *values;
  const char *exchange;
} combining;

static void put_all(tx_emitter *e, const combining *c) {
  const char *guard = oc_guard(e, c->lanes);
  for (uint32_t k = 0; k < c->count; k++)
    tx_line(e, "%s%s[%slane] = %s", guard, c->exchange, k ? tx_text(e, "%u + ", k * c->lanes) : "",
            c->values[k].text);
  barrier(e);
}

/* If the group has more than `items` work-items, each first combines the elements (lane mod items) + k*items
 * of the exchange; then `items` neighbours combine their results among themselves. */
static void combine_in_subgroups(tx_emitter *e, const combining *c, uint32_t items) {
  bool all = items == oc_of(e)->group;
  if (!all) put_all(e, c);
  for (uint32_t k = 0; k < c->count; k++) {
    const char *at = tx_text(e, "%s(lane & %u)", k ? tx_text(e, "%u + ", k * c->lanes) : "", items - 1);
    tx_value own =
        all ? c->values[k] : tree(e, c->op, c->dtype, at, items, c->lanes / items, c->kind, c->exchange);
    c->values[k] = butterfly(e, c->op, c->dtype, own, items, c->kind,
                             k ? tx_text(e, "%s + %u", c->exchange, k * c->lanes) : c->exchange);
  }
}

/* Each of the first work-items combines some elements at equal distances, until at most LAST are left; every
 * work-item combines these. */
static void combine_by_tree(tx_emitter *e, const combining *c) {
  enum {
    /* elements that a work-item combines at most: 256 become 16 in one step, and these one value */
    LAST = 16,
    SECOND = 256,  /* elements of that step; there is a barrier after each */
    FIRST_STEP = 8 /* elements that become one of more than SECOND, of which CG_MAX_LANES are 1024 */
  };
  put_all(e, c);
  uint32_t left = c->lanes;
  while (left > LAST) {
    uint32_t step = left > SECOND ? FIRST_STEP : left / LAST, next = left / step;
    for (uint32_t k = 0; k < c->count; k++) {
      const char *at = k ? tx_text(e, "%u + lane", k * c->lanes) : "lane";
      tx_line(e, "if (lane < %u) %s[%s] = %s", next, c->exchange, at,
              tree(e, c->op, c->dtype, at, next, step, c->kind, c->exchange).text);
    }
    barrier(e);
    left = next;
  }
  for (uint32_t k = 0; k < c->count; k++)
    c->values[k] = tx_temporary(
        e, tree(e, c->op, c->dtype, k ? tx_text(e, "%u", k * c->lanes) : "", 1, left, c->kind, c->exchange));
}

static void combine_some(tx_emitter *e, combining c) {
  c.kind = c.dtype == IR_BOOL ? TX_I32 : c.values[0].kind;
  uint32_t area = area_for(e, (uint64_t)c.count * c.lanes * tx_bytes(c.kind));
  uint32_t items = subgroup_items(e, c.lanes, c.kind);
  const char *type = tx_type(e, c.kind, 1);
  c.exchange = tx_text(e, "x%u", e->last_number++);
  tx_line(e, "local %s *%s = (local %s *)exchange%u", type, c.exchange, type, area);
  if (items) combine_in_subgroups(e, &c, items);
  else combine_by_tree(e, &c);
  oc_of(e)->waits.areas_read |= 1U << area;
}

/* How many values of each work-item are combined at once: as many as both areas have room for in the local
 * memory that the locals leave, at most MAX_VALUES. */
static size_t batch_size(const tx_emitter *e, uint32_t lanes) {
  enum { MAX_VALUES = 8 }; /* which share each barrier: 8 of f64 for 256 work-items are 16 KiB of each area */
  int64_t room = e->target->local_bytes - (int64_t)e->nest->scratch;
  int64_t values = room / ((int64_t)IR_EXCHANGE_AREAS * lanes * IR_EXCHANGE_BYTES);
  if (!e->target->local_bytes || values > MAX_VALUES) return MAX_VALUES;
  return values < 1 ? 1 : (size_t)values;
}

void oc_group_combine(tx_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, tx_value *values,
                      size_t count) {
  size_t step = batch_size(e, lanes);
  if (lanes == 1) return;
  for (size_t k = 0; k < count && !e->order.failed; k += step)
    combine_some(e, (combining){.op = op,
                                .dtype = dtype,
                                .lanes = lanes,
                                .count = (uint32_t)(count - k < step ? count - k : step),
                                .values = values + k});
}
