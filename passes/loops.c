/* Loop shaping: the store of one element becomes a nest with an explicit order.
 *
 *   thread   blocks of the outermost axis, each worth about MIN_BLOCK elements
 *   serial   steps of unroll * lanes elements of each axis, and what is left over, which fills no step
 *   unroll   copies side by side: the rows and columns of a contraction's register tile
 *   vector   lanes along the axis that is contiguous on most traffic
 *
 * Lanes stand innermost, around the store, so that a reduction's serial loops run once for all of them. A
 * kernel in pieces has a nest for each; pieces that share outer ranges stand side by side in the loops over
 * these. An axis along which updates may meet has neither lanes nor copies nor threads. Blocks for threads
 * are then counted through the pieces of the outermost axis, one after the other.
 */
#include "loops.h"

#include "index.h"

enum { MIN_BLOCK = 4096 };

/* The nest under construction: what stands for each axis's range, and the lanes to put around each store. */
typedef struct nest_state {
  loop_nest *n;
  ir_ref at[MAX_NEST];
  ir_ref lanes[2 * MAX_NEST];
  int bindings[2 * MAX_NEST];
  uint32_t lane_count;
} nest_state;

static ir_ref nest_from(nest_state *s, uint32_t axis);

/* The store itself, inside lanes of its own: each range belongs to one loop, and there is a store for every
 * combination of whole steps and rests. */
static ir_ref innermost(nest_state *s) {
  loop_nest *n = s->n;
  ir_ref from[MAX_NEST], to[MAX_NEST], lanes[2 * MAX_NEST];
  for (uint32_t i = 0; i < s->lane_count; i++) {
    if (!s->lanes[i]) return 0;
    lanes[i] = loop_fresh_range(n, ir_src(n->g, s->lanes[i], 0));
  }
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

/* `left` elements of an axis from `start` on: as many full steps as fit, then single vectors, then, where the
 * number is known, halves of vectors, then single elements. */
static ir_ref elements(nest_state *s, uint32_t axis, ir_ref start, ir_ref left) {
  enum { TIERS = 12 };
  ir_graph *g = s->n->g;
  const loop_axis *a = &s->n->axes[axis];
  ir_ref parts[TIERS];
  uint32_t count = 0;
  int unroll = a->unroll, lanes = a->lanes;
  for (;;) {
    int64_t step = (int64_t)unroll * lanes;
    ir_ref whole = pass_div_int(g, left, step);
    if (!is_zero(g, whole) && count < TIERS) {
      parts[count++] = steps(s, axis, whole, start, unroll, lanes);
      start = pass_add(g, start, pass_mul_int(g, whole, step));
      left = pass_mod_int(g, left, step);
    }
    if (step == 1) break;
    if (unroll > 1) unroll = 1;
    else lanes = ir_is_const(g, left, NULL) ? lanes / 2 : 1;
  }
  return loop_sequence(g, parts, count);
}

static ir_ref nest_from(nest_state *s, uint32_t axis) {
  loop_nest *n = s->n;
  ir_ref ranges[MAX_NEST], extent;
  if (axis == n->axis_count) return innermost(s);
  for (uint32_t i = 0; i < axis; i++) ranges[i] = n->axes[i].range;
  extent = pass_substitute(n->g, n->axes[axis].extent, ranges, s->at, axis);
  return elements(s, axis, ir_index(n->g, 0), extent);
}

/* pieces */

/* The stores that begin with the same range, and the nest of a store that is alone. */
typedef struct piece_group {
  const ir_ref *stores;
  uint32_t count;
  loop_nest nest; /* of the first store */
  ir_ref extent;
  int64_t block; /* steps of the outermost axis that are worth a thread's while */
  ir_ref blocks;
} piece_group;

static bool read_group(loop_nest *base, const ir_ref *stores, uint32_t count, piece_group *out) {
  *out = (piece_group){.stores = stores, .count = 1, .nest = *base};
  out->nest.store = stores[0];
  if (!loop_find_axes(&out->nest)) return false;
  if (base->next_range < out->nest.next_range) base->next_range = out->nest.next_range;
  for (; out->count < count && out->nest.axis_count; out->count++) {
    loop_nest other = *base;
    other.store = stores[out->count];
    if (!loop_find_axes(&other)) return false;
    if (base->next_range < other.next_range) base->next_range = other.next_range;
    if (!other.axis_count || other.axes[0].range != out->nest.axes[0].range) break;
  }
  out->nest.next_range = base->next_range;
  if (out->count == 1) {
    loop_merge_axes(&out->nest);
    loop_choose_lanes(&out->nest);
    base->next_range = out->nest.next_range;
  }
  out->extent = out->nest.axis_count ? out->nest.axes[0].extent : ir_index(base->g, 1);
  return true;
}

static ir_ref all_pieces(loop_nest *base, const ir_ref *stores, uint32_t count);

/* A store without axes: its one element, in the one block that has it left. */
static ir_ref single_element(nest_state *s, ir_ref left) {
  int64_t known;
  ir_ref effect = innermost(s);
  if (ir_is_const(s->n->g, left, &known) && known == 1) return effect;
  return loop_wrap(s->n->g, loop_fresh_range(s->n, left), IR_SERIAL, effect);
}

/* The group's stores, `left` steps of its outermost axis from `start` on. */
static ir_ref group_effect(loop_nest *base, piece_group *group, ir_ref start, ir_ref left) {
  ir_graph *g = base->g;
  ir_ref moved[MAX_STORES], outer[MAX_NEST + 2];
  if (group->count == 1) {
    nest_state s = {.n = &group->nest};
    group->nest.next_range = base->next_range;
    ir_ref effect = group->nest.axis_count ? elements(&s, 0, start, left) : single_element(&s, left);
    base->next_range = group->nest.next_range;
    return effect;
  }
  int64_t known;
  bool single = ir_is_const(g, left, &known) && known == 1;
  ir_ref range = single ? ir_index(g, 0) : loop_fresh_range(base, left), old = group->nest.axes[0].range,
         at = pass_add(g, start, range);
  for (uint32_t i = 0; i < group->count; i++)
    if (!(moved[i] = pass_substitute(g, group->stores[i], &old, &at, 1))) return 0;
  loop_nest inner = *base;
  for (uint32_t i = 0; i < base->bound_count; i++) outer[i] = base->bound[i];
  if (!single) outer[inner.bound_count++] = range;
  inner.bound = outer;
  ir_ref effect = all_pieces(&inner, moved, group->count);
  base->next_range = inner.next_range;
  return single ? effect : loop_wrap(g, range, IR_SERIAL, effect);
}

static ir_ref all_pieces(loop_nest *base, const ir_ref *stores, uint32_t count) {
  ir_ref parts[MAX_STORES];
  uint32_t part_count = 0;
  piece_group group;
  for (uint32_t i = 0; i < count; i += group.count) {
    if (!read_group(base, stores + i, count - i, &group)) return 0;
    parts[part_count++] = group_effect(base, &group, ir_index(base->g, 0), group.extent);
  }
  return loop_sequence(base->g, parts, part_count);
}

/* threads */

static int64_t times(int64_t elements, ir_graph *g, ir_ref extent) {
  int64_t size = ir_bounds_of(g, extent).hi;
  return size < MIN_BLOCK && elements < MIN_BLOCK ? elements * (size > 1 ? size : 1) : MIN_BLOCK;
}

/* Elements of one step of the axes inside the outermost, and terms of their reductions. */
static int64_t elements_inside(loop_nest *n) {
  int64_t inside = 1;
  for (uint32_t i = 1; i < n->axis_count; i++) inside = times(inside, n->g, n->axes[i].extent);
  ir_ref reduces[8];
  for (uint32_t k = loop_find(n->g, n->store, IR_OP_REDUCE, reduces, 8); k-- > 0;) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    inside = times(inside, n->g, ir_src(n->g, r->src[r->nsrc - 1], 0));
  }
  return inside;
}

/* Blocks of the outermost axis, each worth about MIN_BLOCK elements of all the group's stores. */
static bool count_blocks(loop_nest *base, piece_group *group) {
  int64_t inside = 0, per_block = 1;
  for (uint32_t i = 0; i < group->count; i++) {
    loop_nest n = *base;
    n.store = group->stores[i];
    if (!loop_find_axes(&n)) return false;
    inside += elements_inside(group->count == 1 ? &group->nest : &n);
  }
  const loop_axis *a = group->nest.axes;
  int64_t step = group->nest.axis_count ? (int64_t)a->unroll * a->lanes : 1;
  if (group->nest.axis_count && loop_is_ordered(&group->nest, 0)) { /* by one thread */
    group->block = 1;
    group->blocks = ir_index(base->g, 1);
    return true;
  }
  while (per_block * step * inside < MIN_BLOCK) per_block *= 2;
  group->block = step * per_block;
  group->blocks = pass_ceil_div(base->g, group->extent, ir_index(base->g, group->block));
  return group->blocks != 0;
}

static bool is_one_block(ir_graph *g, ir_ref blocks) { return ir_bounds_of(g, blocks).hi <= 1; }

/* One group after the other has its blocks; what is one block runs in the first. `block` counts from this
 * group's first one and may lie outside it, where nothing is left to do. */
static ir_ref block_of(loop_nest *base, piece_group *group, ir_ref block, bool alone) {
  ir_graph *g = base->g;
  ir_ref zero = ir_index(g, 0), size = ir_index(g, group->block),
         start = pass_mul_int(g, block, group->block);
  if (is_one_block(g, group->blocks)) /* all of it, then less than nothing */
    return group_effect(base, group, zero,
                        pass_max(g, zero, pass_sub(g, group->extent, pass_mul(g, block, group->extent))));
  if (alone && group->block == 1) return group_effect(base, group, start, size);
  if (alone) return group_effect(base, group, start, pass_min(g, pass_sub(g, group->extent, start), size));
  ir_ref from = pass_min(g, pass_max(g, start, zero), group->extent);
  ir_ref to = pass_min(g, pass_max(g, pass_add(g, start, size), zero), group->extent);
  return group_effect(base, group, from, pass_min(g, pass_sub(g, to, from), size));
}

static ir_ref thread_loop(loop_nest *base, const ir_ref *stores, uint32_t count) {
  ir_graph *g = base->g;
  piece_group groups[MAX_STORES];
  ir_ref parts[MAX_STORES], total = ir_index(g, 0), first = total;
  uint32_t group_count = 0;
  for (uint32_t i = 0; i < count; i += groups[group_count++].count) {
    piece_group *group = &groups[group_count];
    if (!read_group(base, stores + i, count - i, group) || !count_blocks(base, group)) return 0;
    if (!is_one_block(g, group->blocks)) total = pass_add(g, total, group->blocks);
  }
  total = pass_max(g, total, ir_index(g, 1));
  ir_ref range = loop_fresh_range(base, total), block = is_one_block(g, total) ? first : range;
  base->bound = &range, base->bound_count = 1;
  for (uint32_t i = 0; i < group_count; i++) {
    bool single = is_one_block(g, groups[i].blocks);
    parts[i] = block_of(base, &groups[i], single ? block : pass_sub(g, block, first), group_count == 1);
    if (!single) first = pass_add(g, first, groups[i].blocks);
  }
  return loop_wrap(g, range, IR_THREAD, loop_sequence(g, parts, group_count));
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

ir_ref pass_loops(ir_graph *g, ir_ref effect, const ir_target *target) {
  loop_nest base = {.g = g, .target = target};
  loop_stores stores;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  ir_ref root = thread_loop(&base, stores.store, stores.count);
  return root && index_fits(g, root) ? kernel(g, root) : 0;
}
