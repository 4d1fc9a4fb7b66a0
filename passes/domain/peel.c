/* Peeled masks: the iteration space in pieces, inside which no condition on positions is left to test and no
 * quotient to compute.
 *
 * Axes are settled from the outermost inwards. A condition is decided at the innermost axis that it depends
 * on, where its faces are positions that depend on axes further out only (breakpoints.c): the axis is cut
 * there, and on each side the condition is what it is there. So the interior of a box runs without a test,
 * and its borders are fills; a slanted face gives pieces whose sizes depend on outer axes. A quotient of few
 * values is cut between its values. One of many values becomes two loops, over its values and over the
 * positions that have each:
 *
 *   digits   aligned runs of one length, after a head and before a tail that are cut off
 *   runs     where alignment depends on outer axes: position start(v) + i for i in 0..start(v+1)-start(v),
 *            both clamped to the axis
 *
 * The number of pieces is bounded: beyond it the conditions stay, and quotients become runs, which make no
 * pieces. Axes further out may use only what leaves the innermost axis, along which the vectors run, its
 * share. Positions that depend on positions that depend on others grow fast, so the number of such steps on
 * the way to a piece is bounded, too, and so is the size of the whole.
 *
 * Where these bounds are passed, or something is left to decide inside, there are further attempts: with
 * axes of few positions further out taken apart, and other innermost ones, along which conditions change at
 * sums of positions further out rather than at quotients (passes/loops/innermost.c); then with fewer pieces.
 * Reasoning about indices is bounded for all of them together, and positions on which none is spent stay
 * tests and quotients: so an attempt that passes a bound, or its share of the reasoning, is given up at once.
 */
#include "peel.h"

#include "domain.h"
#include "passes/fold/fold.h"

#include <string.h>

enum { MOST_NODES = 512, GROWTH = 2, AS_IS = -1 };

/* A way to peel. */
typedef struct attempt {
  int order; /* of the axes: AS_IS, or the choice of another innermost one (loop_turn) */
  peel_effort most;
  uint32_t share; /* at most this part of the reasoning that is left; 0: as much as it takes */
} attempt;

/* Each in the order of trying. Turned axes do not begin again from the outermost: that makes more pieces than
 * it saves divisions. */
static const attempt box_attempts[] = {{AS_IS, {.pieces = 24, .boxes = true}, 0},
                                       {AS_IS, {.pieces = 12, .boxes = true}, 0}},
                     all_attempts[] = {{AS_IS, {.pieces = MAX_PIECES, .slanted = 5, .again = true}, 4},
                                       {0, {.pieces = MAX_PIECES, .slanted = 5, .apart = true}, 4},
                                       {1, {.pieces = MAX_PIECES, .slanted = 5, .apart = true}, 4},
                                       {2, {.pieces = MAX_PIECES, .slanted = 5, .apart = true}, 4},
                                       {AS_IS, {.pieces = MAX_PIECES, .slanted = 5, .apart = true}, 0},
                                       {AS_IS, {.pieces = 20, .slanted = 2}, 0},
                                       {AS_IS, {.pieces = 12}, 0}};

/* Is nothing left of conditions and quotients? */
static bool is_decided(ir_graph *g, ir_ref effect) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool decided = ir_reachable(g, &effect, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && decided; i++) {
    const ir_node *n = ir_get(g, live[i]);
    bool position = n->nsrc == 2 && ir_dtype_of(g, n->src[0]) == IR_INDEX;
    decided = !position || (n->op != IR_OP_FLOORDIV && ir_ops[n->op].cls != IR_CLASS_COMPARE);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return decided;
}

/* Nothing is left to decide at this level: its range gets the next number, so that numbers ascend inwards. */
static bool settle(peeler *s, peel_piece *p) {
  ir_ref range = peel_fresh(s, ir_src(s->g, p->axes[p->level], 0));
  if (!peel_replace_axis(s, p, range, &range, 1)) return false;
  p->level += ir_op_of(s->g, range) == IR_OP_RANGE;
  s->pending[s->pending_count++] = *p;
  return true;
}

/* An axis inside a cut may turn out to have no positions there. */
static bool is_empty(ir_graph *g, const peel_piece *p) {
  for (uint32_t a = p->level; a < p->axis_count; a++)
    if (ir_bounds_of(g, ir_src(g, p->axes[a], 0)).hi <= 0) return true;
  return false;
}

/* Has the store lost sight of an axis that may have no positions, and one at most? It would be in no loop
 * over it, and stored where there is nothing. */
static bool loses_axis(ir_graph *g, const peel_piece *p) {
  for (uint32_t a = 0; a < p->axis_count; a++)
    if (ir_bounds_of(g, ir_src(g, p->axes[a], 0)).lo < 1 && !loop_depends(g, p->store, p->axes[a]))
      return true;
  return false;
}

static bool peel_step(peeler *s) {
  peel_piece p = s->pending[--s->pending_count];
  peel_cut cut;
  peel_quotient q;
  bool taken = false;
  if (is_empty(s->g, &p)) return true;
  if (p.level == p.axis_count) {
    s->unfit |= loses_axis(s->g, &p);
    bool last = !s->most.again || p.again || is_decided(s->g, p.store);
    if (last) s->done[s->done_count++] = p.store;
    else s->late[s->late_count++] = p;
    return true;
  }
  if (s->most.apart && peel_has_room(s, &p) && peel_find_positions(s->g, &p, &cut))
    return peel_take_cut(s, &p, &cut);
  if (peel_has_room(s, &p) && peel_find_cut(s->g, &p, &cut)) return peel_take_cut(s, &p, &cut);
  if (!p.boxes && peel_find_quotient(s->g, &p, &q) && !peel_take_quotient(s, &p, &q, &taken)) return false;
  return taken || settle(s, &p);
}

/* Does the store read along one axis what it writes along another? Copies side by side along both want a nest
 * of its own. */
static bool transposes(ir_graph *g, ir_ref store) {
  enum { ROOM = 64 };
  loop_nest n = {.g = g, .store = store};
  ir_ref loads[ROOM];
  uint32_t count = loop_find(g, store, IR_OP_LOAD, loads, ROOM);
  if (!loop_find_axes(&n) || n.axis_count < 2) return false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t along, across;
    ir_ref index = ir_src(g, loads[i], 1);
    if (loop_stride(g, index, n.axes[n.axis_count - 1].range, &along) && along >= -1 && along <= 1) continue;
    for (uint32_t a = 0; a + 1 < n.axis_count; a++)
      if (loop_stride(g, index, n.axes[a].range, &across) && (across == 1 || across == -1)) return true;
  }
  return false;
}

static size_t size_of(ir_graph *g, const ir_ref *root, uint32_t roots) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool ok = ir_reachable(g, root, roots, &live, &count, &cap) == IR_OK;
  ir_free(g->mem, live, cap * sizeof *live);
  return ok ? count : SIZE_MAX;
}

static bool set_axes(peel_piece *p, ir_graph *g) {
  loop_nest n = {.g = g, .store = p->store};
  if (!loop_find_axes(&n)) return false;
  p->level = 0;
  p->axis_count = n.axis_count;
  for (uint32_t a = 0; a < n.axis_count; a++) p->axes[a] = n.axes[a].range;
  return true;
}

/* A piece in which cuts further in have left conditions and quotients of outer axes begins again from the
 * outermost, in loops of its own. */
static bool take_late(peeler *s) {
  peel_piece *p = &s->pending[s->pending_count++];
  *p = s->late[--s->late_count];
  loop_stores own = {.count = 1, .store = {p->store}, .next_range = s->next_range};
  if (!loop_part(s->g, &own)) return false;
  p->store = own.store[0];
  p->again = true;
  s->next_range = own.next_range;
  return set_axes(p, s->g);
}

/* Pieces that are done stay as they are: what is too large already remains so. */
static bool is_unfit(const peeler *s) {
  return s->unfit || s->g->effort > s->effort_most || size_of(s->g, s->done, s->done_count) > s->largest;
}

/* The pieces of the stores; 0 on failure, and where s->unfit. */
static ir_ref peeled(peeler *s, const loop_stores *stores) {
  ir_graph *g = s->g;
  const peel_effort most = s->most;
  for (uint32_t i = stores->count; i-- > 0;) {
    peel_piece *whole = &s->pending[s->pending_count++];
    *whole = (peel_piece){.store = stores->store[i], .slanted_left = most.slanted, .boxes = most.boxes};
    if (!set_axes(whole, g) || !peel_drop_loads(s, whole)) return 0;
  }
  while (s->pending_count || s->late_count) {
    if (!s->pending_count && !take_late(s)) return 0;
    if (!peel_step(s)) return 0;
    if ((s->unfit = is_unfit(s))) return 0;
  }
  if (s->done_count == 0)
    return loop_sequence(g, stores->store, stores->count); /* an output without elements */
  loop_stores made = {.count = s->done_count, .next_range = s->next_range};
  memcpy(made.store, s->done, s->done_count * sizeof *s->done);
  bool apart = false;
  for (uint32_t i = 0; i < made.count && !apart && !most.boxes; i++) apart = transposes(g, made.store[i]);
  return apart && !loop_part(g, &made) ? 0 : loop_sequence(g, made.store, made.count);
}

/* The stores of an effect, where asked for with loops of their own; false on failure. */
static bool read_stores(ir_graph *g, ir_ref effect, bool part, loop_stores *out) {
  if (!loop_read_stores(g, effect, out) || out->count > MAX_PIECES / 2) return false;
  return !part || out->count == 1 || loop_part(g, out);
}

static uint32_t left_inside(ir_graph *g, ir_ref effect) {
  loop_stores stores;
  uint32_t left = 0;
  if (!loop_read_stores(g, effect, &stores)) return UINT32_MAX;
  for (uint32_t i = 0; i < stores.count; i++) left += loop_left_inside(g, stores.store[i]);
  return left;
}

/* What the attempt makes of the effect; 0 on failure, where the order is none anew, and past its bounds. */
static ir_ref attempted(peeler *s, ir_graph *g, ir_ref effect, const attempt *way, bool part, bool *failed) {
  loop_stores stores;
  bool turned = true;
  *failed = !read_stores(g, effect, part, &stores) ||
            (way->order != AS_IS && !loop_turn(g, &stores, (uint32_t)way->order, &turned));
  if (*failed || !turned) return 0;
  uint64_t left = g->effort < g->effort_most ? g->effort_most - g->effort : 0;
  *s = (peeler){.g = g,
                .most = way->most,
                .next_range = stores.next_range,
                .largest = MOST_NODES + GROWTH * size_of(g, &effect, 1),
                .effort_most = way->share ? g->effort + left / way->share : UINT64_MAX};
  ir_ref root = peeled(s, &stores);
  *failed = !root && !s->unfit;
  return root && size_of(g, &root, 1) <= s->largest ? root : 0;
}

/* As the attempt has it that leaves least inside, the first of equal ones; as it was where none keeps within
 * its bounds. `all`: stores in loops of their own; otherwise any attempt does. */
static ir_ref peel(ir_graph *g, ir_ref effect, const attempt *way, size_t count, bool all) {
  ir_ref best = effect;
  uint32_t least = UINT32_MAX;
  bool failed = false;
  peeler *s = ir_alloc(g->mem, sizeof *s);
  if (!s) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory peeling a kernel");
    return 0;
  }
  for (size_t i = 0; i < count && !failed && least > 0; i++) {
    ir_ref root = attempted(s, g, effect, &way[i], all, &failed);
    uint32_t left = root && all ? left_inside(g, root) : 0;
    if (root && left < least) best = root, least = left;
  }
  ir_free(g->mem, s, sizeof *s);
  return failed ? 0 : best;
}

static bool has_reductions(ir_graph *g, ir_ref effect) {
  ir_ref reduction;
  return loop_find(g, effect, IR_OP_REDUCE, &reduction, 1) > 0;
}

/* Pieces over axes that leave no division in the whole store, if nothing is left to decide in them; 0
 * otherwise, and on failure. They share more loops than boxes do that have axes of their own. */
static ir_ref refined_pieces(ir_graph *g, ir_ref store) {
  uint64_t effort = g->effort;
  ir_ref refined = pass_refine(g, store), pieces = 0;
  if (refined && loop_division_cost(g, refined) == 0) pieces = peel(g, refined, all_attempts, 1, true);
  if (pieces && is_decided(g, pieces)) return pieces;
  g->effort = effort; /* boxes have as much to spend */
  return 0;
}

ir_ref pass_crop(ir_graph *g, ir_ref store) {
  if (loop_is_update(g, store) || has_reductions(g, store) || pass_slab_range(g, store)) return store;
  ir_ref pieces = loop_division_cost(g, store) > 0 ? refined_pieces(g, store) : 0;
  if (pieces) return pieces;
  return peel(g, store, box_attempts, sizeof box_attempts / sizeof *box_attempts, false);
}

ir_ref pass_peel(ir_graph *g, ir_ref effect) {
  loop_stores stores;
  if (loop_is_update(g, effect) || has_reductions(g, effect) || pass_slab_range(g, effect)) return effect;
  if (!is_decided(g, effect))
    return peel(g, effect, all_attempts, sizeof all_attempts / sizeof *all_attempts, true);
  bool apart = false;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  for (uint32_t i = 0; i < stores.count && !apart && stores.count > 1; i++)
    apart = transposes(g, stores.store[i]);
  if (!apart) return effect;
  return loop_part(g, &stores) ? loop_sequence(g, stores.store, stores.count) : 0;
}
