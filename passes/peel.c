/* Peeled masks: the iteration space in pieces, inside which no condition on positions is left to test and no
 * quotient to compute.
 *
 * Axes are settled from the outermost inwards. A condition is decided at the innermost axis that it depends
 * on, where its faces are positions that depend on axes further out only (cut.c): the axis is cut there, and
 * on each side the condition is what it is there. So the interior of a box runs without a test, and its
 * borders are fills; a slanted face gives pieces whose sizes depend on outer axes. A quotient of few values
 * is cut between its values. One of many values becomes two loops, over its values and over the positions
 * that have each:
 *
 *   digits   aligned runs of one length, after a head and before a tail that are cut off
 *   runs     where alignment depends on outer axes: position start(v) + i for i in 0..start(v+1)-start(v),
 *            both clamped to the axis
 *
 * The number of pieces is bounded: beyond it the conditions stay, and quotients become runs, which make no
 * pieces. Axes further out may use only what leaves the innermost axis, along which the vectors run, its
 * share. Positions that depend on positions that depend on others grow fast, so the number of such steps on
 * the way to a piece is bounded, too, and so is the size of the whole: where it is passed, the next effort
 * does with less. */
#include "peel.h"

#include "index.h"
#include "ir/arith.h"

#include <string.h>

enum { MAX_PIECES = 48, INNER_SHARE = 2, MAX_AXES = 16, MOST_NODES = 512, GROWTH = 2 };

typedef struct effort {
  uint32_t pieces, slanted;
  bool boxes; /* cut only where a comparison of one axis with a number says */
  bool again; /* what cuts further in leave of outer axes is cut, too */
} effort;
static const effort box_efforts[] = {{24, 0, true, false}, {12, 0, true, false}},
                    all_efforts[] = {{MAX_PIECES, 5, false, true},
                                     {MAX_PIECES, 5, false, false},
                                     {32, 3, false, false},
                                     {20, 2, false, false},
                                     {12, 0, false, false}};

typedef struct peeler {
  ir_graph *g;
  effort most;
  ir_ref done[MAX_PIECES];
  uint32_t done_count;
  peel_piece late[MAX_PIECES]; /* to be seen again, after all others: nobody shares their loops */
  uint32_t late_count;
  peel_piece pending[MAX_PIECES]; /* a stack; the next piece in order on top */
  uint32_t pending_count;
  int64_t next_range;
} peeler;

static ir_ref fresh(peeler *s, ir_ref extent) {
  int64_t size;
  if (ir_is_const(s->g, extent, &size) && size == 1) return ir_index(s->g, 0);
  return ir_make(s->g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(s->next_range++, 0), &extent, 1);
}

/* In the store and in the sizes of axes that are not settled. */
static bool replace(ir_graph *g, peel_piece *p, ir_ref from, ir_ref to) {
  p->store = pass_substitute(g, p->store, &from, &to, 1);
  bool ok = p->store != 0;
  for (uint32_t i = p->level; i < p->axis_count && ok; i++)
    ok = (p->axes[i] = pass_substitute(g, p->axes[i], &from, &to, 1)) != 0;
  return ok;
}

/* The axis at the piece's level walks `axes` instead, at `position` in terms of these; constants are no axes.
 */
static bool replace_axis(peeler *s, peel_piece *p, ir_ref position, const ir_ref *axes, uint32_t count) {
  ir_ref old = p->axes[p->level], now[MAX_NEST];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < p->level; i++) now[kept++] = p->axes[i];
  for (uint32_t i = 0; i < count; i++)
    if (ir_op_of(s->g, axes[i]) == IR_OP_RANGE) now[kept++] = axes[i];
  for (uint32_t i = p->level + 1; i < p->axis_count && kept < MAX_NEST; i++)
    now[kept++] = pass_substitute(s->g, p->axes[i], &old, &position, 1); /* its size may depend on the axis */
  p->store = pass_substitute(s->g, p->store, &old, &position, 1);
  memcpy(p->axes, now, kept * sizeof *now);
  p->axis_count = kept;
  for (uint32_t i = 0; i < kept; i++)
    if (!now[i]) return false;
  return p->store != 0;
}

/* cuts */

static ir_ref clamped(ir_graph *g, ir_ref at, ir_ref low, ir_ref high) {
  return pass_max(g, low, pass_min(g, at, high));
}

/* What the value of the cut node decides beside: `fact` holds on the piece. */
static bool decide_others(peeler *s, peel_piece *p, ir_ref fact) {
  ir_graph *g = s->g;
  ir_ref *live = NULL, range = p->axes[p->level];
  size_t count = 0, cap = 0;
  bool ok = ir_reachable(g, &p->store, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (ir_ops[n->op].cls != IR_CLASS_COMPARE || ir_dtype_of(g, n->src[0]) != IR_INDEX ||
        !loop_depends(g, live[i], range))
      continue;
    ir_ref known = pass_simplify_given(g, live[i], fact);
    ok = known != 0;
    if (ok && ir_op_of(g, known) == IR_OP_CONST) {
      ok = replace(g, p, live[i], known);
    }
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return ok;
}

/* Loads that are valid nowhere are what they are where not valid. */
static bool drop_loads(peeler *s, peel_piece *p) {
  enum { ROOM = 64 };
  ir_ref loads[ROOM], never[ROOM], other[ROOM];
  uint32_t count = loop_find(s->g, p->store, IR_OP_LOAD, loads, ROOM), dropped = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(s->g, loads[i]);
    if (!ir_is_false(s->g, n->src[2])) continue;
    never[dropped] = loads[i];
    other[dropped++] = n->src[3];
  }
  if (dropped) p->store = pass_substitute(s->g, p->store, never, other, dropped);
  return p->store != 0;
}

/* Segment i of the piece; false on failure. *empty: it has no positions. */
static bool segment(peeler *s, const peel_piece *whole, const peel_cut *cut, uint32_t i, ir_ref start,
                    ir_ref end, peel_piece *out, bool *empty) {
  ir_graph *g = s->g;
  ir_ref size = pass_sub(g, end, start);
  int64_t fixed;
  *out = *whole;
  *empty = size && ir_bounds_of(g, size).hi <= 0;
  if (!size || *empty) return size != 0;
  if (cut->node && cut->value[i]) {
    ir_ref value = cut->value[i], node = cut->node;
    if (!replace(g, out, node, value)) return false;
    if (cut->count > 1 && !ir_is_const(g, size, &fixed)) { /* constant sizes decide by bounds */
      bool boolean = ir_dtype_of(g, value) == IR_BOOL;
      ir_ref fact = !boolean               ? pass_compare(g, IR_OP_EQ, node, value)
                    : ir_is_true(g, value) ? node
                                           : pass_not(g, node);
      if (!fact || !decide_others(s, out, fact)) return false;
    }
  }
  ir_ref range = fresh(s, size);
  return replace_axis(s, out, pass_add(g, start, range), &range, 1) && drop_loads(s, out);
}

static uint32_t room(const peeler *s, const peel_piece *p) {
  uint32_t most = p->level + 1 < p->axis_count ? s->most.pieces / INNER_SHARE : s->most.pieces;
  uint32_t used = s->done_count + s->pending_count + s->late_count;
  return used < most ? most - used : 0;
}

/* The segments take the piece's place on the stack, the first one on top. */
static bool cut_axis(peeler *s, peel_piece *p, const peel_cut *cut) {
  ir_graph *g = s->g;
  p->slanted_left -= peel_is_slanted(g, cut);
  ir_ref extent = ir_src(g, p->axes[p->level], 0), zero = ir_index(g, 0), end = extent;
  for (uint32_t i = cut->count; i-- > 0;) {
    ir_ref start = i ? clamped(g, cut->start[i], zero, end) : zero;
    bool empty;
    if (!start || !segment(s, p, cut, i, start, end, &s->pending[s->pending_count], &empty)) return false;
    s->pending_count += !empty;
    end = start;
  }
  return true;
}

/* quotients of many values */

static bool has_room_for_axis(const peel_piece *p) { return p->axis_count + 1 < MAX_AXES; }

/* Aligned runs of `length`, the first of which begins at `head`. */
static bool take_digits(peeler *s, peel_piece *p, int64_t size, int64_t length, int64_t head) {
  ir_graph *g = s->g;
  int64_t runs = (size - head) / length;
  if (head == 0 && runs * length == size) {
    ir_ref axes[] = {fresh(s, ir_index(g, runs)), fresh(s, ir_index(g, length))};
    ir_ref position = pass_add(g, pass_mul_int(g, axes[0], length), axes[1]);
    if (!replace_axis(s, p, position, axes, 2)) return false;
    s->pending[s->pending_count++] = *p;
    return true;
  }
  peel_cut cut = {.count = 3};
  cut.start[0] = ir_index(g, 0), cut.start[1] = ir_index(g, head);
  cut.start[2] = ir_index(g, head + runs * length);
  return cut_axis(s, p, &cut);
}

/* Do all runs of the quotient have one length and begin at constant positions? */
static bool aligned(ir_graph *g, const peel_quotient *q, int64_t size, int64_t *length, int64_t *head) {
  int64_t c = q->coefficient < 0 ? -q->coefficient : q->coefficient, start;
  if (q->divisor % c != 0 || !ir_is_const(g, peel_quotient_start(g, q, ir_index(g, 0)), &start)) return false;
  *length = q->divisor / c;
  *head = (start % *length + *length) % *length;
  return size >= *head + *length;
}

/* The quotient at a position of the axis. */
static ir_ref quotient_at(ir_graph *g, const peel_quotient *q, ir_ref at) {
  return pass_div_int(g, pass_add(g, q->rest, pass_mul_int(g, at, q->coefficient)), q->divisor);
}

static int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

static bool has_bounded_runs(ir_graph *g, const peel_piece *p, const peel_quotient *q) {
  int64_t reach, most = ir_bounds_of(g, ir_src(g, p->axes[p->level], 0)).hi;
  return most >= 0 && most != INT64_MAX && ir_mul_ok(most, magnitude(q->coefficient), &reach);
}

static bool take_runs(peeler *s, peel_piece *p, const peel_quotient *q) {
  ir_graph *g = s->g;
  ir_ref zero = ir_index(g, 0), extent = ir_src(g, p->axes[p->level], 0);
  int64_t step = q->coefficient < 0 ? -1 : 1, c = magnitude(q->coefficient),
          most = ir_bounds_of(g, extent).hi;
  ir_ref first = quotient_at(g, q, zero), last = quotient_at(g, q, pass_add_int(g, extent, -1));
  ir_ref count = pass_add_int(g, pass_mul_int(g, pass_sub(g, last, first), step), 1);
  ir_ref runs = fresh(s, pass_min(g, count, ir_index(g, most * c / q->divisor + 2)));
  ir_ref value = pass_add(g, first, pass_mul_int(g, runs, step));
  ir_ref start = clamped(g, peel_quotient_start(g, q, value), zero, extent);
  ir_ref end = clamped(g, peel_quotient_start(g, q, pass_add_int(g, value, step)), zero, extent);
  ir_ref inside = fresh(s, pass_min(g, pass_sub(g, end, start), ir_index(g, q->divisor / c + 1)));
  if (!start || !inside || !value) return false;
  p->slanted_left--;
  return replace(g, p, q->node, value) &&
         replace_axis(s, p, pass_add(g, start, inside), (ir_ref[]){runs, inside}, 2);
}

/* pieces */

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
  ir_ref range = fresh(s, ir_src(s->g, p->axes[p->level], 0));
  if (!replace_axis(s, p, range, &range, 1)) return false;
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

static bool peel_step(peeler *s) {
  ir_graph *g = s->g;
  peel_piece p = s->pending[--s->pending_count];
  peel_cut cut;
  peel_quotient q;
  int64_t size, length, head;
  if (is_empty(g, &p)) return true;
  if (p.level == p.axis_count) {
    bool last = !s->most.again || p.again || is_decided(g, p.store);
    if (last) s->done[s->done_count++] = p.store;
    else s->late[s->late_count++] = p;
    return true;
  }
  if (room(s, &p) >= CUT_SEGMENTS && peel_find_cut(g, &p, &cut)) return cut_axis(s, &p, &cut);
  if (p.boxes || !has_room_for_axis(&p) || !peel_find_quotient(g, &p, &q)) return settle(s, &p);
  if (room(s, &p) >= CUT_SEGMENTS && ir_is_const(g, ir_src(g, p.axes[p.level], 0), &size) &&
      aligned(g, &q, size, &length, &head))
    return take_digits(s, &p, size, length, head);
  if (p.slanted_left == 0 || !has_bounded_runs(g, &p, &q)) return settle(s, &p);
  if (!take_runs(s, &p, &q)) return false;
  s->pending[s->pending_count++] = p;
  return true;
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

static size_t size_of(ir_graph *g, ir_ref root) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool ok = ir_reachable(g, &root, 1, &live, &count, &cap) == IR_OK;
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

/* The pieces of the stores; 0 on failure. */
static ir_ref peeled(peeler *s, ir_graph *g, const loop_stores *stores, effort most) {
  *s = (peeler){.g = g, .most = most, .next_range = stores->next_range};
  for (uint32_t i = stores->count; i-- > 0;) {
    peel_piece *whole = &s->pending[s->pending_count++];
    *whole = (peel_piece){.store = stores->store[i], .slanted_left = most.slanted, .boxes = most.boxes};
    if (!set_axes(whole, g) || !drop_loads(s, whole)) return 0;
  }
  while (s->pending_count || s->late_count) {
    if (!s->pending_count && !take_late(s)) return 0;
    if (!peel_step(s)) return 0;
  }
  if (s->done_count == 0)
    return loop_sequence(g, stores->store, stores->count); /* an output without elements */
  loop_stores made = {.count = s->done_count, .next_range = s->next_range};
  memcpy(made.store, s->done, s->done_count * sizeof *s->done);
  bool apart = false;
  for (uint32_t i = 0; i < made.count && !apart && !most.boxes; i++) apart = transposes(g, made.store[i]);
  return apart && !loop_part(g, &made) ? 0 : loop_sequence(g, made.store, made.count);
}

/* With the first effort whose result is not too large; as it was where there is none. */
static ir_ref peel(ir_graph *g, ir_ref effect, const effort *most, size_t count, bool part) {
  loop_stores stores;
  ir_ref root = effect;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  if (stores.count > MAX_PIECES / 2 || (part && stores.count > 1 && !loop_part(g, &stores))) return 0;
  peeler *s = ir_alloc(g->mem, sizeof *s);
  if (!s) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory peeling a kernel");
    return 0;
  }
  size_t largest = MOST_NODES + GROWTH * size_of(g, effect);
  bool fits = false;
  for (size_t i = 0; i < count && root && !fits; i++)
    fits = (root = peeled(s, g, &stores, most[i])) && size_of(g, root) <= largest;
  ir_free(g->mem, s, sizeof *s);
  return fits || !root ? root : effect;
}

static bool has_reductions(ir_graph *g, ir_ref effect) {
  ir_ref reduction;
  return loop_find(g, effect, IR_OP_REDUCE, &reduction, 1) > 0;
}

ir_ref pass_crop(ir_graph *g, ir_ref store) {
  if (has_reductions(g, store)) return store;
  return peel(g, store, box_efforts, sizeof box_efforts / sizeof *box_efforts, false);
}

ir_ref pass_peel(ir_graph *g, ir_ref effect) {
  loop_stores stores;
  if (has_reductions(g, effect)) return effect;
  if (!is_decided(g, effect))
    return peel(g, effect, all_efforts, sizeof all_efforts / sizeof *all_efforts, true);
  bool apart = false;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  for (uint32_t i = 0; i < stores.count && !apart && stores.count > 1; i++)
    apart = transposes(g, stores.store[i]);
  if (!apart) return effect;
  return loop_part(g, &stores) ? loop_sequence(g, stores.store, stores.count) : 0;
}
