/* Work-items of a group that wait for each other.
 *
 * Locals. Of each it is known whether some work-item may have stored to it, or read it, since the last
 * barrier. An effect that reads what was stored, or stores to what was read, has a barrier before it; and
 * since the round after this one comes behind what stands at the end of a loop, there is a barrier at the end
 * of each round where the round both stores to a local and has read it since, or has stored to one that is
 * kept, which the next round may read first. Effects stand in uniform
 * control flow, and values read locals only on behalf of effects, after their barriers.
 *
 * Exchange. Values of lanes are combined through local memory that all such trees of a kernel share, in two
 * areas: a tree takes the one that nobody reads any more, so that mostly none waits for the one before. At
 * the end of a round work-items wait where the next one may begin with an area that is still read. */
#include "codegen/opencl.h"

#include <string.h>

uint32_t oc_group_size(const cg_nest *nest) {
  uint32_t most = 1;
  for (uint32_t l = 0; l < nest->loop_count; l++)
    if (nest->loops[l].binding == IR_VECTOR && nest->loops[l].extent > most)
      most = (uint32_t)nest->loops[l].extent;
  return most;
}

/* Is something loaded for a store of fewer lanes to p0 than a group has work-items? */
static bool stores_in_part(const cg_nest *nest, uint32_t group) {
  for (ir_ref ref = 0; ref < nest->count; ref++) {
    const ir_node *n = ir_get(&nest->graph, ref);
    if (n->op == IR_OP_STORE && ir_op_of(&nest->graph, n->src[0]) == IR_OP_PARAM &&
        nest->touches[n->src[2]] && nest->width[ref] != group)
      return true;
  }
  return false;
}

void oc_part_in_place(cg_nest *nest, uint32_t group) {
  if (group == 1 || !nest->in_place || !stores_in_part(nest, group)) return;
  const ir_node *kernel = ir_get(&nest->graph, nest->kernel);
  for (uint32_t i = 1; i < kernel->nsrc; i++) {
    const ir_node *n = ir_get(&nest->graph, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 32 && nest->in_place >> slot & 1) nest->stored[kernel->src[i]] = false;
  }
  nest->in_place = 0;
}

const char *oc_guard(oc_emitter *e, uint32_t lanes) {
  if (!e->by_lanes || lanes == e->group) return "";
  return lanes == 1 ? "if (lane == 0) " : oc_text(e, "if (lane < %u) ", lanes);
}

static bool is_shared(const oc_emitter *e) { return e->by_lanes && e->group > 1; }

static void barrier(oc_emitter *e) {
  oc_line(e, "barrier(CLK_LOCAL_MEM_FENCE)");
  e->waits = (oc_waits){0};
}

/* locals */

/* The local, as a set, that the effect stores to and others read. */
static uint64_t stored_to(const oc_emitter *e, ir_ref effect) {
  int64_t local = cg_local_of(e->g, effect);
  return local >= 0 ? (uint64_t)1 << local & ~e->own : 0;
}

void oc_before_effect(void *emitter, ir_ref effect) {
  oc_emitter *e = emitter;
  if (!is_shared(e)) return;
  uint64_t reads = e->nest->reads[effect] & ~e->own;
  uint64_t stores = ir_op_of(e->g, effect) == IR_OP_STORE ? stored_to(e, effect) : 0;
  if (reads & e->waits.dirty || stores & e->waits.read) barrier(e);
}

void oc_after_effect(oc_emitter *e, ir_ref effect) {
  if (!is_shared(e)) return;
  e->waits.read |= e->nest->reads[effect] & ~e->own;
  e->waits.dirty |= stored_to(e, effect);
}

bool oc_is_ahead(const oc_emitter *e, ir_ref store) {
  return cg_local_of(e->g, store) >= 0 && ir_arg_mode(ir_get(e->g, ir_src(e->g, store, 0))) == IR_LOCAL_AHEAD;
}

/* The locals to which an effect stores; those of them that are kept for the next round; and those that only
 * that one reads. */
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
  if (!is_shared(e) || !stored) return;
  if (stored & ~ahead & e->waits.dirty) barrier(e);
  e->waits.read |= stored;
}

oc_first oc_begin_round(oc_emitter *e) {
  oc_first outer = e->first;
  e->first = (oc_first){.depth = e->depth};
  return outer;
}

/* The outer loop's first areas may be those of a loop inside, which may have no round. */
void oc_end_round(oc_emitter *e, const cg_loop *loop, oc_first outer) {
  oc_first own = e->first;
  e->first = outer;
  if (!outer.known) e->first.areas |= own.areas;
  if (!is_shared(e)) return;
  uint64_t kept = 0, ahead, stored = 0;
  if (e->waits.read | e->waits.dirty) stored = stored_by(e, loop->node, &kept, &ahead);
  bool stores = (stored & e->waits.read) || (kept & e->waits.dirty);
  if (stores || e->waits.exchanging & own.areas) barrier(e);
}

void oc_end_maybe(oc_emitter *e, oc_waits before) {
  e->waits.dirty |= before.dirty;
  e->waits.read |= before.read;
  e->waits.exchanging |= before.exchanging;
}

/* values of lanes */

/* Is a loop that joins the lanes of a vector, or in whose rounds work-items wait, among what is still to be
 * computed for ref? */
bool oc_joins_lanes(oc_emitter *e, ir_ref ref) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool joins = false;
  if (!is_shared(e)) return false;
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

/* Elements first, first + step, ... of the exchange, combined in pairs i and i + count/2. */
static oc_value tree(oc_emitter *e, ir_op op, ir_dtype dtype, const char *first, uint32_t step,
                     uint32_t count, unsigned kind, const char *exchange) {
  oc_value part[32];
  for (uint32_t i = 0; i < count; i++) {
    const char *at = i ? oc_text(e, "%s%s%u", first, *first ? " + " : "", i * step) : *first ? first : "0";
    part[i] = oc_make(e, kind, 1, OC_ATOM, "%s[%s]", exchange, at);
    if (dtype == IR_BOOL) part[i] = oc_make(e, OC_BOOL, 1, OC_LOOSE, "%s != 0", part[i].text);
  }
  for (uint32_t half = count / 2; half; half /= 2)
    for (uint32_t i = 0; i < half; i++) part[i] = oc_combine(e, op, dtype, part[i], part[i + half]);
  return part[0];
}

/* An area that nobody reads any more. */
static uint32_t area_for(oc_emitter *e, uint64_t bytes) {
  if (e->waits.exchanging == 3) barrier(e);
  uint32_t area = e->waits.exchanging & 1;
  if (bytes > e->exchange[area]) e->exchange[area] = bytes;
  if (!e->first.known) e->first.areas |= 1U << area;
  if (e->first.depth == e->depth) e->first.known = true;
  return area;
}

/* Values that go through the exchange at once: each has `lanes` elements of it. */
static void combine_some(oc_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, oc_value *values,
                         uint32_t count) {
  enum { FEW = 16, MOST = 256, STEP = 8 };
  unsigned kind = dtype == IR_BOOL ? OC_INT : values[0].kind;
  uint64_t bytes = (uint64_t)count * lanes * oc_bytes(kind);
  uint32_t area = area_for(e, bytes);
  const char *name = oc_text(e, "x%u", e->last_number++), *guard = oc_guard(e, lanes);
  oc_line(e, "local %s *%s = (local %s *)exchange%u", oc_type(kind, 1).text, name, oc_type(kind, 1).text,
          area);
  for (uint32_t k = 0; k < count; k++)
    oc_line(e, "%s%s[%s%s] = %s", guard, name, k ? oc_text(e, "%u + ", k * lanes) : "", "lane",
            values[k].text);
  barrier(e);
  uint32_t left = lanes;
  while (left > FEW) { /* each of the first work-items combines some elements at equal distances */
    uint32_t together = left > MOST ? STEP : left / FEW, next = left / together;
    for (uint32_t k = 0; k < count; k++) {
      const char *at = k ? oc_text(e, "%u + lane", k * lanes) : "lane";
      oc_line(e, "if (lane < %u) %s[%s] = %s", next, name, at,
              tree(e, op, dtype, at, next, together, kind, name).text);
    }
    barrier(e);
    left = next;
  }
  for (uint32_t k = 0; k < count; k++)
    values[k] =
        oc_temporary(e, tree(e, op, dtype, k ? oc_text(e, "%u", k * lanes) : "", 1, left, kind, name));
  e->waits.exchanging |= 1U << area;
}

void oc_group_combine(oc_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, oc_value *values,
                      size_t count) {
  enum { TOGETHER = 8 };
  if (lanes == 1) return;
  for (size_t k = 0; k < count && !e->order.failed; k += TOGETHER)
    combine_some(e, op, dtype, lanes, values + k, (uint32_t)(count - k < TOGETHER ? count - k : TOGETHER));
}
