/* Loop shaping: the store of one element becomes a nest with an explicit order.
 *
 *   thread   blocks of the outermost axis, each worth about MIN_BLOCK elements
 *   serial   steps of unroll * lanes elements of each axis, and what is left over, which fills no step
 *   unroll   copies side by side: the rows and columns of a contraction's register tile
 *   vector   lanes along the axis that is contiguous on most traffic
 *
 * Lanes stand innermost, around the store, so that a reduction's serial loops run once for all of them. */
#include "loops.h"

#include "index.h"

enum { MIN_BLOCK = 4096 };

/* The nest under construction: what stands for each axis's range, and the lanes to put around each store. */
typedef struct nest_state {
  loop_nest *n;
  ir_ref at[IR_MAX_RANK];
  ir_ref lanes[2 * IR_MAX_RANK];
  int bindings[2 * IR_MAX_RANK];
  uint32_t lane_count;
} nest_state;

static ir_ref nest_from(nest_state *s, uint32_t axis);

/* The store itself, inside lanes of its own: each range belongs to one loop, and there is a store for every
 * combination of whole steps and rests. */
static ir_ref innermost(nest_state *s) {
  loop_nest *n = s->n;
  ir_ref from[IR_MAX_RANK], to[IR_MAX_RANK], lanes[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < s->lane_count; i++) lanes[i] = loop_fresh_range(n, ir_src(n->g, s->lanes[i], 0));
  for (uint32_t i = 0; i < n->axis_count; i++) {
    from[i] = n->axes[i].range;
    to[i] = pass_substitute(n->g, s->at[i], s->lanes, lanes, s->lane_count);
  }
  ir_ref effect = loop_reductions(n, pass_substitute(n->g, n->store, from, to, n->axis_count));
  for (uint32_t i = s->lane_count; i-- > 0;) effect = loop_wrap(n->g, lanes[i], s->bindings[i], effect);
  return effect;
}

static ir_ref lane_range(nest_state *s, int64_t extent, int binding) {
  if (extent == 1) return ir_index(s->n->g, 0);
  ir_ref range = loop_fresh_range(s->n, ir_index(s->n->g, extent));
  s->lanes[s->lane_count] = range;
  s->bindings[s->lane_count++] = binding;
  return range;
}

/* count repetitions of unroll * lanes elements of an axis, from element `start` on; NULL effect (0 count) is
 * 0. */
static ir_ref steps(nest_state *s, uint32_t axis, ir_ref count, ir_ref start, int unroll, int lanes) {
  ir_graph *g = s->n->g;
  int64_t known;
  bool single = ir_is_const(g, count, &known) && known == 1;
  ir_ref range = single ? ir_index(g, 0) : loop_fresh_range(s->n, count);
  uint32_t lane_count = s->lane_count;
  ir_ref block = lane_range(s, unroll, IR_UNROLL), lane = lane_range(s, lanes, IR_VECTOR);
  ir_ref at = pass_add(g, pass_mul_int(g, range, (int64_t)unroll * lanes),
                       pass_add(g, pass_mul_int(g, block, lanes), lane));
  s->at[axis] = pass_add(g, start, at);
  ir_ref effect = nest_from(s, axis + 1);
  s->lane_count = lane_count;
  return single ? effect : loop_wrap(g, range, IR_SERIAL, effect);
}

static bool is_zero(ir_graph *g, ir_ref size) {
  int64_t value;
  return ir_is_const(g, size, &value) && value == 0;
}

/* `left` elements of an axis from `start` on: as many full steps as fit, then single vectors, then single
 * elements. */
static ir_ref elements(nest_state *s, uint32_t axis, ir_ref start, ir_ref left) {
  ir_graph *g = s->n->g;
  const loop_axis *a = &s->n->axes[axis];
  const int tiers[][2] = {{a->unroll, a->lanes}, {1, a->lanes}, {1, 1}};
  ir_ref parts[3];
  uint32_t count = 0;
  for (int t = 0; t < 3; t++) {
    int64_t step = (int64_t)tiers[t][0] * tiers[t][1];
    ir_ref whole = pass_div_int(g, left, step);
    if (is_zero(g, whole)) continue;
    parts[count++] = steps(s, axis, whole, start, tiers[t][0], tiers[t][1]);
    start = pass_add(g, start, pass_mul_int(g, whole, step));
    left = pass_mod_int(g, left, step);
  }
  return count == 1 ? parts[0] : ir_make(g, IR_OP_SEQ, IR_NONE, 0, parts, count);
}

/* Elements of one step of the axes inside, so that blocks of the outermost axis are worth a thread's while.
 */
static int64_t elements_inside(const loop_nest *n) {
  int64_t inside = 1;
  for (uint32_t i = 1; i < n->axis_count; i++) {
    int64_t size = ir_bounds_of(n->g, n->axes[i].extent).hi;
    inside = size < MIN_BLOCK && inside < MIN_BLOCK ? inside * (size > 1 ? size : 1) : MIN_BLOCK;
  }
  ir_ref reduces[8];
  for (uint32_t k = loop_find(n->g, n->store, IR_OP_REDUCE, reduces, 8); k-- > 0;) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    int64_t size = ir_bounds_of(n->g, ir_src(n->g, r->src[r->nsrc - 1], 0)).hi;
    inside = size < MIN_BLOCK && inside < MIN_BLOCK ? inside * (size > 1 ? size : 1) : MIN_BLOCK;
  }
  return inside;
}

static ir_ref thread_axis(nest_state *s) {
  ir_graph *g = s->n->g;
  const loop_axis *a = &s->n->axes[0];
  int64_t step = (int64_t)a->unroll * a->lanes, inside = elements_inside(s->n), per_block = 1;
  while (per_block * step * inside < MIN_BLOCK) per_block *= 2;
  int64_t size = step * per_block, single;
  ir_ref blocks = pass_ceil_div(g, a->extent, ir_index(g, size)), range = loop_fresh_range(s->n, blocks);
  ir_ref block = ir_is_const(g, blocks, &single) && single == 1 ? ir_index(g, 0) : range;
  ir_ref start = pass_mul_int(g, block, size),
         left = pass_min(g, pass_sub(g, a->extent, start), ir_index(g, size));
  return loop_wrap(g, range, IR_THREAD, elements(s, 0, start, left));
}

static ir_ref nest_from(nest_state *s, uint32_t axis) {
  loop_nest *n = s->n;
  return axis == n->axis_count ? innermost(s) : elements(s, axis, ir_index(n->g, 0), n->axes[axis].extent);
}

/* KERNEL(effect, params by slot, variables) */
static ir_ref kernel(ir_graph *g, ir_ref effect) {
  enum { ROOM = 1024 };
  ir_ref src[1 + 2 * ROOM] = {effect};
  uint32_t params = loop_find(g, effect, IR_OP_PARAM, src + 1, ROOM), slots = 0;
  for (uint32_t i = 1; i < params; i++) /* by slot */
    for (uint32_t k = i; k > 0 && ir_arg_int(ir_get(g, src[k + 1])) < ir_arg_int(ir_get(g, src[k])); k--) {
      ir_ref swap = src[k + 1];
      src[k + 1] = src[k], src[k] = swap;
    }
  if (params) slots = (uint32_t)ir_arg_int(ir_get(g, src[params])) + 1;
  uint32_t vars = loop_find(g, effect, IR_OP_VAR, src + 1 + params, ROOM);
  return ir_make(g, IR_OP_KERNEL, IR_NONE, ir_pack_arg(slots, 0), src, 1 + params + vars);
}

/* Index arithmetic is done in 64 bits at most: refuse what is not proven to fit, rather than compute it
 * wrong. */
static bool index_fits(ir_graph *g, ir_ref root) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool fits = ir_reachable(g, &root, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && fits; i++) {
    if (ir_dtype_of(g, live[i]) != IR_INDEX) continue;
    ir_bounds x = ir_bounds_of(g, live[i]);
    fits = x.lo != INT64_MIN && x.hi != INT64_MAX;
    if (!fits)
      ir_fail(g->error, IR_ERR_UNSUPPORTED,
              "a kernel's index arithmetic may need more than 64 bits; store a value in between");
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return fits;
}

ir_ref pass_loops(ir_graph *g, ir_ref store, const ir_target *target) {
  loop_nest n = {.g = g, .target = target, .store = store};
  if (!loop_find_axes(&n)) return 0;
  loop_merge_axes(&n);
  loop_choose_lanes(&n);
  nest_state s = {.n = &n};
  ir_ref effect;
  if (n.axis_count == 0)
    effect = loop_wrap(g, loop_fresh_range(&n, ir_index(g, 1)), IR_THREAD, innermost(&s));
  else effect = thread_axis(&s);
  return effect && index_fits(g, effect) ? kernel(g, effect) : 0;
}
