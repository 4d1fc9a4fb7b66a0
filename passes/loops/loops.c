/* Loop shaping: the stores of a kernel become loop nests with an explicit order, inside one loop over thread
 * blocks.
 *
 *   thread   blocks: combinations of steps of the outermost levels
 *   serial   steps of each axis, and the remainder that fills no step
 *   unroll   unrolled values: the rows and columns of a contraction's register tile
 *   vector   lanes along the axis along which most accesses are contiguous
 *
 * A kernel split into sub-domains has a nest for each; stores that share outer ranges stand inside common
 * loops over these. An axis along which updates may meet has no lanes, is not unrolled and not divided among
 * threads. */
#include "loops.h"

#include "passes/index/index.h"

static void keep_fresh(loop_nest *base, const loop_nest *used) {
  if (base->next_range < used->next_range) base->next_range = used->next_range;
}

static uint32_t shared_axes(const loop_nest *a, const loop_nest *b) {
  uint32_t shared = 0;
  while (shared < a->axis_count && shared < b->axis_count && a->axes[shared].range == b->axes[shared].range)
    shared++;
  return shared;
}

bool loop_read_group(loop_nest *base, const ir_ref *stores, uint32_t count, loop_group *out) {
  loop_nest *nest = &out->nest;
  *out = (loop_group){.stores = stores, .count = 1, .nest = *base};
  nest->store = stores[0];
  if (!loop_find_axes(nest)) return false;
  keep_fresh(base, nest);
  uint32_t shared = nest->axis_count;
  for (; out->count < count && shared; out->count++) {
    loop_nest other = *base;
    other.store = stores[out->count];
    if (!loop_find_axes(&other)) return false;
    keep_fresh(base, &other);
    uint32_t both = shared_axes(nest, &other);
    if (!both) break;
    if (both < shared) shared = both;
  }
  nest->next_range = base->next_range;
  if (out->count > 1) nest->axis_count = shared;
  for (uint32_t i = 0; i < out->count && out->count > 1; i++)
    nest->has_locals |= ir_op_of(nest->g, ir_src(nest->g, stores[i], 0)) == IR_OP_LOCAL;
  return true;
}

/* *work: the work of the group's stores at one iteration point of the axes that they share. */
static bool work_of_group(loop_nest *base, const loop_group *group, int64_t *work) {
  *work = 0;
  for (uint32_t i = 0; i < group->count && group->count > 1; i++) {
    loop_nest other = *base;
    other.store = group->stores[i];
    if (!loop_find_axes(&other)) return false;
    *work += loop_work_inside(&other, group->nest.axis_count);
  }
  return true;
}

/* Applies moves that the caller gives, and reports the chosen moves and their neighbours. */
static bool shape_from_outside(loop_nest *n, bool threads) {
  const pass_shaping *s = n->shaping;
  uint32_t nest = (*n->nests)++;
  const char *given = s->given ? s->given(s->user, s->kernel, nest) : NULL;
  if (given && !loop_moves_apply(n, nest, given)) return false;
  if (s->chosen) loop_moves_tell(n, s->chosen, nest);
  if (s->neighbour) loop_neighbours(n, nest, threads);
  return true;
}

/* Chooses the levels of the group's axes. */
static bool shape_group(loop_nest *base, loop_group *group, bool threads) {
  loop_nest *nest = &group->nest;
  int64_t work;
  if (!work_of_group(base, group, &work)) return false;
  for (uint32_t a = 0; a < nest->axis_count; a++) nest->order[a] = a;
  nest->shares = group->count > 1;
  if (!nest->shares) {
    loop_merge_axes(nest, false);
    nest->strategy->choose_lanes(nest);
    work = loop_work_inside(nest, nest->axis_count);
  }
  for (uint32_t i = 0; i < group->count && threads; i++)
    loop_find_repeated(nest, nest->shares ? group->stores[i] : nest->store);
  loop_choose_levels(nest, threads, work);
  keep_fresh(base, nest);
  if (base->shaping && !shape_from_outside(nest, threads)) return false;
  while (group->threads < nest->level_count && nest->levels[group->threads].binding == IR_THREAD)
    group->threads++;
  return true;
}

static ir_ref place_all_stores(loop_nest *base, const ir_ref *stores, uint32_t count);

/* The nests of the group's stores, inside the loops that they share. */
static ir_ref shared_body(loop_place *p) {
  loop_nest *n = p->n;
  const loop_group *group = p->user;
  ir_ref moved[MAX_STORES], from[MAX_NEST], bound[MAX_FOUND_RANGES];
  for (uint32_t a = 0; a < n->axis_count; a++) from[a] = n->axes[a].range;
  for (uint32_t i = 0; i < group->count; i++) {
    if (!(moved[i] = pass_substitute(n->g, group->stores[i], from, p->start, n->axis_count))) return 0;
  }
  loop_nest inner = {.g = n->g,
                     .target = n->target,
                     .strategy = n->strategy,
                     .shaping = n->shaping,
                     .nests = n->nests,
                     .locals = n->locals,
                     .items = n->items,
                     .next_range = n->next_range,
                     .bound = bound};
  for (uint32_t i = 0; i < n->bound_count; i++) bound[inner.bound_count++] = n->bound[i];
  for (uint32_t a = 0; a < n->axis_count; a++)
    inner.bound_count += affine_find_range(n->g, p->start[a], IR_OP_RANGE, bound + inner.bound_count,
                                           MAX_FOUND_RANGES - inner.bound_count);
  /* After a failure there are no ranges to put in place of the shared ones: the stores would be the same
   * group again. */
  ir_ref effect = n->g->error->status ? 0 : place_all_stores(&inner, moved, group->count);
  n->next_range = inner.next_range;
  return effect;
}

ir_ref loop_place_group(loop_nest *base, loop_group *group, loop_place *p, uint32_t first) {
  p->n = &group->nest;
  p->body = group->count > 1 ? shared_body : loop_store_body;
  p->user = group;
  group->nest.bound = base->bound, group->nest.bound_count = base->bound_count;
  group->nest.next_range = base->next_range;
  ir_ref effect = loop_place_from(p, first);
  keep_fresh(base, &group->nest);
  return effect;
}

static ir_ref place_all_stores(loop_nest *base, const ir_ref *stores, uint32_t count) {
  ir_ref effects[MAX_STORES];
  uint32_t part_count = 0;
  loop_group group;
  for (uint32_t i = 0; i < count; i += group.count) {
    if (!loop_read_group(base, stores + i, count - i, &group) || !shape_group(base, &group, false)) return 0;
    effects[part_count++] = loop_place_group(base, &group, &(loop_place){0}, 0);
  }
  return loop_jam(base->g, effects, part_count) ? loop_sequence(base->g, effects, part_count) : 0;
}

ir_ref loop_inside_group(loop_nest *n, ir_ref store, const ir_ref *bound, uint32_t count, int items) {
  ir_ref ranges[MAX_FOUND_RANGES];
  if (n->bound_count + count > MAX_FOUND_RANGES) return 0;
  loop_nest inner = {.g = n->g,
                     .target = n->target,
                     .strategy = n->strategy,
                     .nests = n->nests,
                     .locals = n->locals,
                     .items = items,
                     .next_range = n->next_range,
                     .bound = ranges};
  for (uint32_t i = 0; i < n->bound_count; i++) ranges[inner.bound_count++] = n->bound[i];
  for (uint32_t i = 0; i < count; i++) ranges[inner.bound_count++] = bound[i];
  ir_ref effect = place_all_stores(&inner, &store, 1);
  n->next_range = inner.next_range;
  return effect;
}

/* The thread loop over a group for each sequence of stores that share axes. when: by store, the condition
 * under which it runs, which none shares; 0: always. */
static ir_ref shaped(loop_nest *base, const ir_ref *stores, const ir_ref *when, uint32_t count) {
  loop_group *groups = ir_alloc(base->g->mem, count * sizeof *groups);
  uint32_t group_count = 0;
  ir_ref root = 0;
  bool ok = groups != NULL;
  if (!ok) ir_fail(base->g->error, IR_ERR_MEMORY, "out of memory shaping a kernel's loops");
  for (uint32_t i = 0; i < count && ok; i += groups[group_count++].count) {
    ok = loop_read_group(base, stores + i, when[i] ? 1 : count - i, &groups[group_count]) &&
         shape_group(base, &groups[group_count], true);
    groups[group_count].when = when[i];
  }
  if (ok) root = loop_thread_blocks(base, groups, group_count);
  ir_free(base->g->mem, groups, count * sizeof *groups);
  return root;
}

/* Does every local belong to one loop? Moves from the caller that split the loop of a local would make
 * several locals of the same number. */
static bool locals_are_whole(ir_graph *g, ir_ref effect) {
  ir_ref locals[IR_MAX_LOCALS + 1];
  uint32_t count = affine_find_range(g, effect, IR_OP_LOCAL, locals, IR_MAX_LOCALS + 1);
  bool whole = count <= IR_MAX_LOCALS;
  for (uint32_t i = 0; i < count && whole; i++)
    for (uint32_t k = 0; k < i && whole; k++)
      whole = ir_arg_int(ir_get(g, locals[i])) != ir_arg_int(ir_get(g, locals[k]));
  if (!whole)
    ir_fail(g->error, IR_ERR_INVALID,
            "moves: a kernel with locals keeps its first axis in one piece, as they hold the values of one "
            "iteration: split it by a step that divides its size");
  return whole;
}

/* KERNEL(effect, params by slot, variables) */
static ir_ref kernel(ir_graph *g, ir_ref effect) {
  ir_ref *live = NULL, *src = NULL, made = 0;
  size_t count = 0, cap = 0;
  uint32_t params = 0, slots = 0;
  if (ir_reachable(g, &effect, 1, &live, &count, &cap) == IR_OK) src = ir_alloc(g->mem, count * sizeof *src);
  if (!src) ir_fail(g->error, IR_ERR_MEMORY, "out of memory shaping a kernel's loops");
  for (size_t i = 0; i < count && src; i++) { /* params by slot, behind the effect */
    if (ir_op_of(g, live[i]) != IR_OP_PARAM) continue;
    uint32_t at = ++params;
    for (; at > 1 && ir_arg_int(ir_get(g, live[i])) < ir_arg_int(ir_get(g, src[at - 1])); at--)
      src[at] = src[at - 1];
    src[at] = live[i];
  }
  if (src) {
    uint32_t used = 1 + params;
    src[0] = effect;
    if (params) slots = (uint32_t)ir_arg_int(ir_get(g, src[params])) + 1;
    for (size_t i = 0; i < count; i++) { /* then variables by name */
      if (ir_op_of(g, live[i]) != IR_OP_VAR) continue;
      uint32_t at = used++;
      for (; at > 1 + params && ir_compare(g, live[i], src[at - 1]) < 0; at--) src[at] = src[at - 1];
      src[at] = live[i];
    }
    made = ir_make(g, IR_OP_KERNEL, IR_NONE, ir_pack_arg(slots, 0), src, used);
  }
  ir_free(g->mem, src, src ? count * sizeof *src : 0);
  ir_free(g->mem, live, cap * sizeof *live);
  return made;
}

/* The locals that the stores use already, and, where there are several stores, the bytes reserved for the
 * exchange between lanes that reductions may need. */
static loop_locals find_locals(const loop_nest *base, const loop_stores *stores) {
  ir_graph *g = base->g;
  loop_locals all = {.bytes = stores->count > 1 ? base->strategy->exchange_bytes(base->target) : 0};
  uint64_t met = 0;
  for (uint32_t i = 0; i < stores->count; i++) {
    ir_ref found[IR_MAX_LOCALS];
    for (uint32_t k = affine_find_range(g, stores->store[i], IR_OP_LOCAL, found, IR_MAX_LOCALS); k-- > 0;) {
      const ir_node *local = ir_get(g, found[k]);
      uint32_t number = (uint32_t)ir_arg_int(local);
      int64_t size = 0;
      if (met >> number & 1) continue;
      met |= (uint64_t)1 << number;
      if (ir_is_const(g, local->src[0], &size)) all.bytes += size * ir_dtypes[local->dtype].bytes;
      if (number >= all.count) all.count = number + 1;
    }
  }
  return all;
}

ir_ref pass_loops(ir_graph *g, ir_ref effect, const ir_target *target, const pass_strategy *strategy,
                  const pass_shaping *shaping) {
  uint32_t nests = 0;
  loop_locals locals = {0};
  loop_nest base = {
      .g = g, .target = target, .strategy = strategy, .shaping = shaping, .nests = &nests, .locals = &locals};
  loop_stores stores;
  ir_ref when[MAX_STORES] = {0};
  if (!loop_list_stores(g, effect, &stores) || !loop_versions(g, strategy, &stores, when)) return 0;
  locals = find_locals(&base, &stores);
  ir_ref root = shaped(&base, stores.store, when, stores.count);
  return root && locals_are_whole(g, root) ? kernel(g, root) : 0;
}
