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

const char *oc_guard(oc_emitter *e, uint32_t lanes) {
  if (!e->lanes_are_items || lanes == e->group) return "";
  return lanes == 1 ? "if (lane == 0) " : oc_text(e, "if (lane < %u) ", lanes);
}

static bool has_several_items(const oc_emitter *e) { return e->lanes_are_items && e->group > 1; }

static void barrier(oc_emitter *e) {
  oc_line(e, "barrier(CLK_LOCAL_MEM_FENCE)");
  e->waits = (oc_barriers){0};
}

/* locals */

/* The local that the effect stores to, as a set; empty if it is private, or if the effect stores to a
 * parameter. */
static uint64_t stored_to(const oc_emitter *e, ir_ref effect) {
  int64_t local = cg_local_of(e->g, effect);
  return local >= 0 ? (uint64_t)1 << local & ~e->private_locals : 0;
}

void oc_before_effect(void *emitter, ir_ref effect) {
  oc_emitter *e = emitter;
  if (!has_several_items(e)) return;
  uint64_t reads = e->nest->reads[effect] & ~e->private_locals;
  uint64_t stores = ir_op_of(e->g, effect) == IR_OP_STORE ? stored_to(e, effect) : 0;
  if (reads & e->waits.dirty || stores & e->waits.read) barrier(e);
}

void oc_after_effect(oc_emitter *e, ir_ref effect) {
  if (!has_several_items(e)) return;
  e->waits.read |= e->nest->reads[effect] & ~e->private_locals;
  e->waits.dirty |= stored_to(e, effect);
}

bool oc_is_ahead(const oc_emitter *e, ir_ref store) {
  return cg_local_of(e->g, store) >= 0 && ir_arg_mode(ir_get(e->g, ir_src(e->g, store, 0))) == IR_LOCAL_AHEAD;
}

/* The set of locals to which an effect stores; *kept: those that are kept over iterations; *ahead: those that
 * only later iterations read. */
static uint64_t stored_by(oc_emitter *e, ir_ref effect, uint64_t *kept, uint64_t *ahead) {
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

void oc_before_values(oc_emitter *e, const cg_loop *loop) {
  uint64_t kept, ahead, stored = stored_by(e, loop->effect, &kept, &ahead);
  if (!has_several_items(e) || !stored) return;
  if (stored & ~ahead & e->waits.dirty) barrier(e);
  e->waits.read |= stored;
}

oc_first_areas oc_begin_iteration(oc_emitter *e) {
  oc_first_areas outer = e->first;
  e->first = (oc_first_areas){.depth = e->depth};
  return outer;
}

/* The enclosing iteration may begin with the areas of this loop, but also with later ones, since this loop
 * may run zero times. */
void oc_end_iteration(oc_emitter *e, const cg_loop *loop, oc_first_areas outer) {
  oc_first_areas own = e->first;
  e->first = outer;
  if (!outer.complete) e->first.areas |= own.areas;
  if (!has_several_items(e)) return;
  uint64_t kept = 0, ahead, stored = 0;
  if (e->waits.read | e->waits.dirty) stored = stored_by(e, loop->node, &kept, &ahead);
  bool stores = (stored & e->waits.read) || (kept & e->waits.dirty);
  if (stores || e->waits.areas_read & own.areas) barrier(e);
}

void oc_end_conditional(oc_emitter *e, oc_barriers before) {
  e->waits.dirty |= before.dirty;
  e->waits.read |= before.read;
  e->waits.areas_read |= before.areas_read;
}

/* reductions over lanes */

/* Does computing ref still need a loop that combines the lanes of a vector, or one whose iterations have
 * barriers? */
bool oc_needs_barrier(oc_emitter *e, ir_ref ref) {
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

oc_value oc_group_any(oc_emitter *e, oc_value condition) {
  e->has_flag = true;
  barrier(e);
  oc_line(e, "if (lane == 0) some = 0");
  barrier(e);
  oc_line(e, "if (%s) atomic_or(&some, 1)", condition.text);
  barrier(e);
  return oc_make(e, OC_BOOL, 1, OC_LOOSE, "some != 0");
}

/* Combines the `count` elements first, first + step, ... of the exchange, in pairs i and i + count/2. */
static oc_value tree(oc_emitter *e, ir_op op, ir_dtype dtype, const char *first, uint32_t step,
                     uint32_t count, unsigned kind, const char *exchange) {
  oc_value partial[32];
  for (uint32_t i = 0; i < count; i++) {
    const char *at = i ? oc_text(e, "%s%s%u", first, *first ? " + " : "", i * step) : *first ? first : "0";
    partial[i] = oc_make(e, kind, 1, OC_ATOM, "%s[%s]", exchange, at);
    if (dtype == IR_BOOL) partial[i] = oc_make(e, OC_BOOL, 1, OC_LOOSE, "%s != 0", partial[i].text);
  }
  for (uint32_t half = count / 2; half; half /= 2)
    for (uint32_t i = 0; i < half; i++) partial[i] = oc_combine(e, op, dtype, partial[i], partial[i + half]);
  return partial[0];
}

/* The number of an area that nobody reads any more; it gets at least `bytes`. */
static uint32_t area_for(oc_emitter *e, uint64_t bytes) {
  if (e->waits.areas_read == 3) barrier(e);
  uint32_t area = e->waits.areas_read & 1;
  if (bytes > e->exchange[area]) e->exchange[area] = bytes;
  if (!e->first.complete) e->first.areas |= 1U << area;
  if (e->first.depth == e->depth) e->first.complete = true;
  return area;
}

/* Can work-items pass each other values of this kind in registers? */
static bool passes_in_registers(unsigned kind) {
  return kind == OC_INT || kind == OC_UINT || kind == OC_LONG || kind == OC_ULONG || kind == OC_FLOAT ||
         kind == OC_DOUBLE;
}

/* The number of neighbouring work-items that combine values among themselves, in registers where the device
 * can (VF_SHUFFLE_XOR). 0: none do; all of them must take part, so it divides both `lanes` and the group's
 * size. */
static uint32_t subgroup_items(const oc_emitter *e, uint32_t lanes, unsigned kind) {
  uint32_t items = (uint32_t)e->target->together;
  return items > 1 && lanes % items == 0 && e->group % items == 0 && passes_in_registers(kind) ? items : 0;
}

/* Butterfly reduction over `items` work-items: combines the value of each with that of the work-item at each
 * distance items/2, ..., 1. All have the same result then, combined in pairs i and i + distance as
 * everywhere. */
static oc_value butterfly(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value value, uint32_t items,
                          unsigned kind, const char *exchange) {
  for (uint32_t distance = items / 2; distance; distance /= 2) {
    value = oc_temporary(e, dtype == IR_BOOL ? oc_convert(e, value, OC_INT) : value);
    const char *name = oc_text(e, "v%u", e->last_number++);
    oc_line(e, "VF_SHUFFLE_XOR(%s, %s, %s, %u, %u, %s)", oc_type(kind, 1).text, name, value.text, distance,
            items, exchange);
    oc_value other = oc_make(e, kind, 1, OC_ATOM, "%s", name);
    if (dtype == IR_BOOL) other = oc_make(e, OC_BOOL, 1, OC_LOOSE, "%s != 0", name);
    if (dtype == IR_BOOL) value = oc_make(e, OC_BOOL, 1, OC_LOOSE, "%s != 0", value.text);
    value = oc_combine(e, op, dtype, value, other);
  }
  return oc_temporary(e, value);
}

/* Values that go through the exchange at once; each uses `lanes` elements of it. */
typedef struct combining {
  ir_op op;
  ir_dtype dtype;
  unsigned kind;
  uint32_t lanes, count;
  oc_value *values;
  const char *exchange;
} combining;

static void put_all(oc_emitter *e, const combining *c) {
  const char *guard = oc_guard(e, c->lanes);
  for (uint32_t k = 0; k < c->count; k++)
    oc_line(e, "%s%s[%slane] = %s", guard, c->exchange, k ? oc_text(e, "%u + ", k * c->lanes) : "",
            c->values[k].text);
  barrier(e);
}

/* If the group has more than `items` work-items, each first combines the elements (lane mod items) + k*items
 * of the exchange; then `items` neighbours combine their results among themselves. */
static void combine_in_subgroups(oc_emitter *e, const combining *c, uint32_t items) {
  bool all = items == e->group;
  if (!all) put_all(e, c);
  for (uint32_t k = 0; k < c->count; k++) {
    const char *at = oc_text(e, "%s(lane & %u)", k ? oc_text(e, "%u + ", k * c->lanes) : "", items - 1);
    oc_value own =
        all ? c->values[k] : tree(e, c->op, c->dtype, at, items, c->lanes / items, c->kind, c->exchange);
    c->values[k] = butterfly(e, c->op, c->dtype, own, items, c->kind,
                             k ? oc_text(e, "%s + %u", c->exchange, k * c->lanes) : c->exchange);
  }
}

/* Each of the first work-items combines some elements at equal distances, until at most LAST are left; every
 * work-item combines these. */
static void combine_by_tree(oc_emitter *e, const combining *c) {
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
      const char *at = k ? oc_text(e, "%u + lane", k * c->lanes) : "lane";
      oc_line(e, "if (lane < %u) %s[%s] = %s", next, c->exchange, at,
              tree(e, c->op, c->dtype, at, next, step, c->kind, c->exchange).text);
    }
    barrier(e);
    left = next;
  }
  for (uint32_t k = 0; k < c->count; k++)
    c->values[k] = oc_temporary(
        e, tree(e, c->op, c->dtype, k ? oc_text(e, "%u", k * c->lanes) : "", 1, left, c->kind, c->exchange));
}

static void combine_some(oc_emitter *e, combining c) {
  c.kind = c.dtype == IR_BOOL ? OC_INT : c.values[0].kind;
  uint32_t area = area_for(e, (uint64_t)c.count * c.lanes * oc_bytes(c.kind));
  uint32_t items = subgroup_items(e, c.lanes, c.kind);
  const char *type = oc_type(c.kind, 1).text;
  c.exchange = oc_text(e, "x%u", e->last_number++);
  oc_line(e, "local %s *%s = (local %s *)exchange%u", type, c.exchange, type, area);
  if (items) combine_in_subgroups(e, &c, items);
  else combine_by_tree(e, &c);
  e->waits.areas_read |= 1U << area;
}

/* How many values of each work-item are combined at once: as many as both areas have room for in the local
 * memory that the locals leave, at most MAX_VALUES. */
static size_t batch_size(const oc_emitter *e, uint32_t lanes) {
  enum { MAX_VALUES = 8 }; /* which share each barrier: 8 of f64 for 256 work-items are 16 KiB of each area */
  int64_t room = e->target->local_bytes - (int64_t)e->nest->scratch;
  int64_t values = room / ((int64_t)IR_EXCHANGE_AREAS * lanes * IR_EXCHANGE_BYTES);
  if (!e->target->local_bytes || values > MAX_VALUES) return MAX_VALUES;
  return values < 1 ? 1 : (size_t)values;
}

void oc_group_combine(oc_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, oc_value *values,
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
