/* What peeling does to one sub-domain: splitting its axis, and turning a quotient of many values into two
 * loops. */
#include "peel.h"

#include "ir/arith.h"
#include "passes/index/index.h"

#include <string.h>

enum {
  INNER_SHARE = 2, /* outer axes use one sub-domain in so many, and leave as many to axes further inside */
  MAX_AXES = 16    /* of a sub-domain: each split quotient adds one; with more, quotients stay */
};

ir_ref peel_fresh(peeler *s, ir_ref extent) {
  int64_t size;
  if (ir_is_const(s->g, extent, &size) && size == 1) return ir_index(s->g, 0);
  return ir_make(s->g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(s->next_range++, 0), &extent, 1);
}

/* Replaces nodes in the store and in the sizes of the axes from p->level on. Outer axes stay the same nodes:
 * other sub-domains are in the loops over them, too. */
static bool replace_all(ir_graph *g, peel_domain *p, const ir_ref *from, const ir_ref *to, uint32_t count) {
  ir_ref old[LOOP_MAX_LOADS + MAX_NEST], now[LOOP_MAX_LOADS + MAX_NEST];
  uint32_t known = count;
  memcpy(old, from, count * sizeof *old);
  memcpy(now, to, count * sizeof *now);
  for (uint32_t i = 0; i < p->axis_count; i++) {
    ir_ref axis = p->axes[i];
    bool given = false;
    for (uint32_t k = 0; k < count; k++) given |= from[k] == axis;
    if (given) continue;
    if (i >= p->level && !(p->axes[i] = pass_substitute(g, axis, old, now, known))) return false;
    old[known] = axis, now[known++] = p->axes[i];
  }
  p->store = pass_substitute(g, p->store, old, now, known);
  return p->store != 0;
}

static bool replace_axis_in(ir_graph *g, peel_domain *p, ir_ref from, ir_ref to) {
  return replace_all(g, p, &from, &to, 1);
}

bool peel_replace_axis(peeler *s, peel_domain *p, ir_ref position, const ir_ref *axes, uint32_t count) {
  enum { MAX_REPLACED = 3 }; /* the axis, and the two at most that it becomes */
  ir_ref from[MAX_REPLACED] = {p->axes[p->level]}, to[MAX_REPLACED] = {position}, now[MAX_NEST];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    from[i + 1] = to[i + 1] = axes[i]; /* the store may hold them already */
  if (!position || !replace_all(s->g, p, from, to, count + 1)) return false;
  for (uint32_t i = 0; i < p->level; i++) now[kept++] = p->axes[i];
  for (uint32_t i = 0; i < count; i++)
    if (ir_op_of(s->g, axes[i]) == IR_OP_RANGE) now[kept++] = axes[i];
  for (uint32_t i = p->level + 1; i < p->axis_count && kept < MAX_NEST; i++) now[kept++] = p->axes[i];
  memcpy(p->axes, now, kept * sizeof *now);
  p->axis_count = kept;
  return true;
}

/* splits */

static ir_ref clamped(ir_graph *g, ir_ref at, ir_ref low, ir_ref high) {
  return pass_max(g, low, pass_min(g, at, high));
}

/* Decides other comparisons that follow from `fact`, which holds on the sub-domain. */
static bool decide_others(peeler *s, peel_domain *p, ir_ref fact) {
  ir_graph *g = s->g;
  ir_ref *live = NULL, range = p->axes[p->level];
  size_t count = 0, cap = 0;
  bool ok = ir_reachable_in_order(g, &p->store, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (ir_ops[n->op].cls != IR_CLASS_COMPARE || ir_dtype_of(g, n->src[0]) != IR_INDEX ||
        !affine_depends(g, live[i], range))
      continue;
    ir_ref known = pass_simplify_given(g, live[i], fact);
    ok = known != 0;
    if (ok && ir_op_of(g, known) == IR_OP_CONST) {
      ok = replace_axis_in(g, p, live[i], known);
    }
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return ok;
}

bool peel_drop_loads(peeler *s, peel_domain *p) {
  ir_ref loads[LOOP_MAX_LOADS], never[LOOP_MAX_LOADS], other[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(s->g, p->store, IR_OP_LOAD, loads, LOOP_MAX_LOADS), dropped = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(s->g, loads[i]);
    if (!ir_is_false(s->g, n->src[2])) continue;
    never[dropped] = loads[i];
    other[dropped++] = n->src[3];
  }
  return dropped == 0 || replace_all(s->g, p, never, other, dropped);
}

/* Interval i of the sub-domain; false on failure. *empty: it has no indices. */
static bool domain_between(peeler *s, const peel_domain *whole, const peel_breakpoints *breakpoints,
                           uint32_t i, ir_ref start, ir_ref end, peel_domain *out, bool *empty) {
  ir_graph *g = s->g;
  ir_ref size = pass_sub(g, end, start);
  int64_t fixed;
  *out = *whole;
  *empty = size && ir_bounds_of(g, size).hi <= 0;
  if (!size || *empty) return size != 0;
  if (breakpoints->node && breakpoints->value[i]) {
    ir_ref value = breakpoints->value[i], node = breakpoints->node;
    if (!replace_axis_in(g, out, node, value)) return false;
    if (breakpoints->count > 1 && !peel_is_extremum(g, node) &&
        !ir_is_const(g, size, &fixed)) { /* where sizes are constant, bounds decide */
      bool boolean = ir_dtype_of(g, value) == IR_BOOL;
      ir_ref fact = !boolean               ? pass_compare(g, IR_OP_EQ, node, value)
                    : ir_is_true(g, value) ? node
                                           : pass_not(g, node);
      if (!fact || !decide_others(s, out, fact)) return false;
    }
  }
  ir_ref range = peel_fresh(s, size);
  return peel_replace_axis(s, out, pass_add(g, start, range), &range, 1) && peel_drop_loads(s, out);
}

/* Do conditions or quotients depend on axes behind that of the level? */
static bool decides_inside(ir_graph *g, const peel_domain *p) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool inside = ir_reachable(g, &p->store, 1, &live, &count, &cap) != IR_OK;
  for (size_t i = 0; i < count && !inside; i++) {
    const ir_node *n = ir_get(g, live[i]);
    bool position = n->nsrc == 2 && ir_dtype_of(g, n->src[0]) == IR_INDEX;
    if (!position || (n->op != IR_OP_FLOORDIV && ir_ops[n->op].cls != IR_CLASS_COMPARE)) continue;
    for (uint32_t a = p->level + 1; a < p->axis_count; a++) inside |= affine_depends(g, live[i], p->axes[a]);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return inside;
}

bool peel_has_room(const peeler *s, const peel_domain *p) {
  uint32_t most = s->bounds.domains;
  bool outer = p->level + 1 < p->axis_count;
  if (outer && (!s->joins || decides_inside(s->g, p))) most /= INNER_SHARE;
  return s->done_count + s->pending_count + s->revisit_count + PEEL_INTERVALS <= most;
}

/* The intervals take the sub-domain's place on the stack, the first one on top. */
bool peel_split_at(peeler *s, peel_domain *p, const peel_breakpoints *breakpoints) {
  ir_graph *g = s->g;
  p->slanted_left -= peel_is_slanted(g, breakpoints);
  ir_ref extent = ir_src(g, p->axes[p->level], 0), zero = ir_index(g, 0), end = extent;
  for (uint32_t i = breakpoints->count; i-- > 0;) {
    ir_ref start = i ? clamped(g, breakpoints->start[i], zero, end) : zero;
    bool empty;
    if (!start || !domain_between(s, p, breakpoints, i, start, end, &s->pending[s->pending_count], &empty))
      return false;
    s->pending_count += !empty;
    end = start;
  }
  return true;
}

/* quotients of many values */

/* Splits the axis into aligned runs of `length`, the first of which begins at `head`. */
static bool split_aligned(peeler *s, peel_domain *p, int64_t size, int64_t length, int64_t head) {
  ir_graph *g = s->g;
  int64_t runs = (size - head) / length;
  if (head == 0 && runs * length == size) {
    ir_ref axes[] = {peel_fresh(s, ir_index(g, runs)), peel_fresh(s, ir_index(g, length))};
    ir_ref position = pass_add(g, pass_mul_int(g, axes[0], length), axes[1]);
    if (!peel_replace_axis(s, p, position, axes, 2)) return false;
    s->pending[s->pending_count++] = *p;
    return true;
  }
  peel_breakpoints breakpoints = {.count = 3};
  breakpoints.start[0] = ir_index(g, 0), breakpoints.start[1] = ir_index(g, head);
  breakpoints.start[2] = ir_index(g, head + runs * length);
  return peel_split_at(s, p, &breakpoints);
}

/* Have all runs of the quotient one length, and constant starts? */
static bool has_aligned_steps(ir_graph *g, const peel_quotient *q, int64_t size, int64_t *length,
                              int64_t *head) {
  int64_t c = q->coefficient < 0 ? -q->coefficient : q->coefficient, start;
  if (q->divisor % c != 0 || !ir_is_const(g, peel_quotient_start(g, q, ir_index(g, 0)), &start)) return false;
  *length = q->divisor / c;
  *head = (start % *length + *length) % *length;
  return size >= *head + *length;
}

/* The quotient at an index of the axis. */
static ir_ref quotient_at(ir_graph *g, const peel_quotient *q, ir_ref at) {
  return pass_div_int(g, pass_add(g, q->offset, pass_mul_int(g, at, q->coefficient)), q->divisor);
}

static int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

static bool has_bounded_runs(ir_graph *g, const peel_domain *p, const peel_quotient *q) {
  int64_t reach, most = ir_bounds_of(g, ir_src(g, p->axes[p->level], 0)).hi;
  return most >= 0 && most != INT64_MAX && ir_mul_ok(most, magnitude(q->coefficient), &reach);
}

static bool split_at_steps(peeler *s, peel_domain *p, const peel_quotient *q) {
  ir_graph *g = s->g;
  ir_ref zero = ir_index(g, 0), extent = ir_src(g, p->axes[p->level], 0);
  int64_t step = q->coefficient < 0 ? -1 : 1, c = magnitude(q->coefficient),
          most = ir_bounds_of(g, extent).hi;
  ir_ref first = quotient_at(g, q, zero), last = quotient_at(g, q, pass_add_int(g, extent, -1));
  ir_ref count = pass_add_int(g, pass_mul_int(g, pass_sub(g, last, first), step), 1);
  ir_ref runs = peel_fresh(s, pass_min(g, count, ir_index(g, most * c / q->divisor + 2)));
  ir_ref value = pass_add(g, first, pass_mul_int(g, runs, step));
  ir_ref start = clamped(g, peel_quotient_start(g, q, value), zero, extent);
  ir_ref end = clamped(g, peel_quotient_start(g, q, pass_add_int(g, value, step)), zero, extent);
  ir_ref inside = peel_fresh(s, pass_min(g, pass_sub(g, end, start), ir_index(g, q->divisor / c + 1)));
  if (!start || !inside || !value) return false;
  p->slanted_left--;
  return replace_axis_in(g, p, q->node, value) &&
         peel_replace_axis(s, p, pass_add(g, start, inside), (ir_ref[]){runs, inside}, 2);
}

bool peel_split_quotient(peeler *s, peel_domain *p, const peel_quotient *q, bool *taken) {
  int64_t size, length, head;
  *taken = p->axis_count + 1 < MAX_AXES;
  if (*taken && peel_has_room(s, p) && ir_is_const(s->g, ir_src(s->g, p->axes[p->level], 0), &size) &&
      has_aligned_steps(s->g, q, size, &length, &head))
    return split_aligned(s, p, size, length, head);
  *taken = *taken && p->slanted_left > 0 && has_bounded_runs(s->g, p, q);
  if (!*taken) return true;
  if (!split_at_steps(s, p, q)) return false;
  s->pending[s->pending_count++] = *p;
  return true;
}
