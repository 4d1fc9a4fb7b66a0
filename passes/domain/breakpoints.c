/* Breakpoints: the indices along an axis at which a condition or a quotient changes. For E = c*r + rest,
 * where rest does not depend on r, E >= 0 holds from r = ceil(-rest/c) on where c > 0, and up to r =
 * floor(rest/-c) where c < 0. An equality is two such half-spaces; a quotient E//w reaches the value v where
 * E - w*v >= 0 does. */
#include "peel.h"

#include "passes/index/index.h"

enum {
  MAX_RANGES = 256, /* ranges of one condition [1 in the workloads]: one of more is left to be tested */
  MAX_VALUES = 4, /* of a quotient that is split between its values, and not by runs: with PEEL_INTERVALS one
                     less than there are intervals */
  /* the part between holds one index, or at most one in so many: what is left is worth two more sub-domains
   */
  MIXED_SHARE = 4
};

/* c*r + rest; falls: it is not rising along r, else not falling */
typedef struct line {
  int64_t c;
  ir_ref rest;
  bool falls;
} line;

/* Does the node depend on this axis and outer ones only, and on nothing that is read from memory? A node of
 * outer axes alone, which splits further in have left, is decided at the last axis, as a whole. */
static bool decided_here(ir_graph *g, const peel_domain *p, ir_ref node) {
  ir_ref ranges[MAX_RANGES], load;
  uint32_t count = affine_find_range(g, node, IR_OP_RANGE, ranges, MAX_RANGES);
  bool here = p->level + 1 == p->axis_count && count > 0 && !p->boxes;
  for (uint32_t i = 0; i < count; i++) {
    here |= ranges[i] == p->axes[p->level];
    for (uint32_t a = p->level + 1; a < p->axis_count; a++)
      if (ranges[i] == p->axes[a]) return false;
  }
  return here && count < MAX_RANGES && affine_find_range(g, node, IR_OP_LOAD, &load, 1) == 0;
}

/* e with 0 for the range. Other ranges stay the same nodes: their extents are not rebuilt. */
static ir_ref at_zero(ir_graph *g, ir_ref e, ir_ref range) {
  ir_ref from[MAX_RANGES], to[MAX_RANGES];
  uint32_t count = affine_find_range(g, e, IR_OP_RANGE, from, MAX_RANGES);
  for (uint32_t i = 0; i < count; i++) to[i] = from[i] == range ? ir_index(g, 0) : from[i];
  return count < MAX_RANGES ? pass_substitute(g, e, from, to, count) : 0;
}

static bool read_line(ir_graph *g, ir_ref e, ir_ref range, line *out) {
  if (!e || !affine_stride(g, e, range, &out->c)) return false;
  out->rest = out->c ? at_zero(g, e, range) : e;
  out->falls = out->c < 0;
  return out->rest != 0;
}

static line negate_line(ir_graph *g, line l) { return (line){-l.c, pass_mul_int(g, l.rest, -1), !l.falls}; }

/* The first r from which on l >= 0 holds or, where l falls, no longer holds. Where c is 0 that is an index at
 * or outside an end of the axis, which the caller clamps. */
static ir_ref breakpoint_of(ir_graph *g, ir_ref range, line l) {
  if (l.c == 0) {
    ir_ref size = ir_src(g, range, 0);
    return l.falls ? pass_mul(g, pass_add_int(g, l.rest, 1), size)
                   : pass_mul_int(g, pass_mul(g, l.rest, size), -1);
  }
  if (!l.falls) return pass_mul_int(g, pass_div_int(g, l.rest, l.c), -1);
  return pass_add_int(g, pass_div_int(g, l.rest, -l.c), 1);
}

static void add_interval(peel_breakpoints *breakpoints, ir_ref start, ir_ref value) {
  breakpoints->start[breakpoints->count] = start;
  breakpoints->value[breakpoints->count++] = value;
}

static bool break_at_comparison(ir_graph *g, const peel_domain *p, ir_ref node, peel_breakpoints *out) {
  const ir_node *n = ir_get(g, node);
  ir_ref range = p->axes[p->level], zero = ir_index(g, 0), yes = ir_bool(g, true), no = ir_bool(g, false);
  bool equality = n->op == IR_OP_EQ || n->op == IR_OP_NE, negative = n->op == IR_OP_LT || n->op == IR_OP_NE;
  line l;
  if (!read_line(g, pass_sub(g, n->src[0], n->src[1]), range, &l)) return false;
  ir_ref inside = negative ? no : yes, outside = negative ? yes : no; /* of E >= 0, or of E == 0 */
  *out = (peel_breakpoints){.node = node};
  if (equality) {
    if (l.falls) l = negate_line(g, l);
    add_interval(out, zero, outside);
    add_interval(out, breakpoint_of(g, range, l), inside);
    add_interval(out, breakpoint_of(g, range, negate_line(g, l)), outside);
  } else {
    add_interval(out, zero, l.falls ? inside : outside);
    add_interval(out, breakpoint_of(g, range, l), l.falls ? outside : inside);
  }
  return true;
}

/* A minimum or maximum of two indices, such as one that is kept inside an axis, is one of them on each of two
 * intervals. Only along the innermost axis, where lanes would load element by element. */
static bool break_at_extremum(ir_graph *g, const peel_domain *p, ir_ref node, peel_breakpoints *out) {
  const ir_node *n = ir_get(g, node);
  ir_ref range = p->axes[p->level], first = n->src[0], second = n->src[1];
  line l;
  if (p->level + 1 != p->axis_count || !affine_depends(g, node, range) || !decided_here(g, p, node) ||
      !read_line(g, pass_sub(g, first, second), range, &l) || l.c == 0)
    return false;
  bool first_first =
      l.falls == (n->op == IR_OP_MAX); /* first >= second holds at the beginning where l falls */
  *out = (peel_breakpoints){.node = node};
  add_interval(out, ir_index(g, 0), first_first ? first : second);
  add_interval(out, breakpoint_of(g, range, l), first_first ? second : first);
  return true;
}

static bool read_quotient(ir_graph *g, const peel_domain *p, ir_ref node, peel_quotient *out) {
  line l;
  const ir_node *n = ir_get(g, node);
  *out = (peel_quotient){.node = node};
  if (!ir_is_const(g, n->src[1], &out->divisor) || !read_line(g, n->src[0], p->axes[p->level], &l) ||
      l.c == 0)
    return false;
  out->offset = l.rest;
  out->coefficient = l.c;
  return true;
}

ir_ref peel_quotient_start(ir_graph *g, const peel_quotient *q, ir_ref value) {
  if (q->coefficient < 0) value = pass_add_int(g, value, 1); /* values fall along the axis */
  line above = {q->coefficient, pass_sub(g, q->offset, pass_mul_int(g, value, q->divisor)),
                q->coefficient < 0};
  return breakpoint_of(g, 0, above);
}

static bool break_at_quotient(ir_graph *g, const peel_quotient *q, peel_breakpoints *out) {
  ir_bounds in = ir_bounds_of(g, q->node);
  if (in.lo == INT64_MIN || in.hi == INT64_MAX || in.lo < INT64_MIN / 2 || in.hi > INT64_MAX / 2 ||
      in.hi - in.lo >= MAX_VALUES)
    return false;
  *out = (peel_breakpoints){.node = q->node};
  for (int64_t i = 0; i <= in.hi - in.lo; i++) {
    ir_ref value = ir_index(g, q->coefficient > 0 ? in.lo + i : in.hi - i);
    add_interval(out, i ? peel_quotient_start(g, q, value) : ir_index(g, 0), value);
  }
  return true;
}

/* For E = c*r + rest, where rest depends on axes further in only: the axis is split into the indices at which
 * the condition holds for all points of those axes, those at which it holds for none, and those between, if
 * these are few. Between, the condition stays. */
static bool break_outside(ir_graph *g, const peel_domain *p, ir_ref node, peel_breakpoints *out) {
  const ir_node *n = ir_get(g, node);
  ir_ref range = p->axes[p->level], ranges[MAX_RANGES], load;
  uint32_t count = affine_find_range(g, node, IR_OP_RANGE, ranges, MAX_RANGES);
  int64_t size, from, to;
  line l;
  for (uint32_t a = 0; a < p->level; a++)
    for (uint32_t i = 0; i < count; i++)
      if (ranges[i] == p->axes[a]) return false;
  if ((n->op != IR_OP_LT && n->op != IR_OP_GE) || affine_find_range(g, node, IR_OP_LOAD, &load, 1) ||
      !ir_is_const(g, ir_src(g, range, 0), &size) ||
      !read_line(g, pass_sub(g, n->src[0], n->src[1]), range, &l) || l.c == 0)
    return false;
  ir_bounds rest = ir_bounds_of(g, l.rest);
  if (rest.lo == INT64_MIN || rest.hi == INT64_MAX) return false;
  line all = {l.c, ir_index(g, rest.lo), l.falls}, any = {l.c, ir_index(g, rest.hi), l.falls};
  ir_ref first = breakpoint_of(g, range, l.falls ? all : any),
         last = breakpoint_of(g, range, l.falls ? any : all);
  if (!ir_is_const(g, first, &from) || !ir_is_const(g, last, &to)) return false;
  from = from < 0 ? 0 : from, to = to > size ? size : to;
  if (to - from > size / MIXED_SHARE && to - from > 1) return false;
  ir_ref inside = ir_bool(g, n->op == IR_OP_GE), outside = ir_bool(g, n->op == IR_OP_LT);
  *out = (peel_breakpoints){.node = node};
  add_interval(out, ir_index(g, 0), l.falls ? inside : outside);
  add_interval(out, first, 0);
  add_interval(out, last, l.falls ? outside : inside);
  return true;
}

/* Is the node a comparison of indices, in canonical form? */
static bool is_comparison(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  bool canonical = n->op == IR_OP_LT || n->op == IR_OP_GE || n->op == IR_OP_EQ || n->op == IR_OP_NE;
  return canonical && ir_dtype_of(g, n->src[0]) == IR_INDEX;
}

bool peel_is_extremum(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return (n->op == IR_OP_MIN || n->op == IR_OP_MAX) && n->nsrc == 2 && n->dtype == IR_INDEX;
}

static bool break_at_node(ir_graph *g, const peel_domain *p, ir_ref node, peel_breakpoints *out) {
  peel_quotient q;
  if (is_comparison(g, node)) return decided_here(g, p, node) && break_at_comparison(g, p, node, out);
  if (peel_is_extremum(g, node)) return !p->boxes && break_at_extremum(g, p, node, out);
  return !p->boxes && ir_op_of(g, node) == IR_OP_FLOORDIV && ir_dtype_of(g, node) == IR_INDEX &&
         decided_here(g, p, node) && read_quotient(g, p, node, &q) && break_at_quotient(g, &q, out);
}

bool peel_is_slanted(ir_graph *g, const peel_breakpoints *breakpoints) {
  ir_ref range;
  bool slanted = false;
  for (uint32_t i = 1; i < breakpoints->count; i++)
    slanted |= affine_find_range(g, breakpoints->start[i], IR_OP_RANGE, &range, 1) > 0;
  return slanted;
}

static bool is_outer_range(const peel_domain *p, ir_ref node) {
  for (uint32_t a = 0; a < p->level; a++)
    if (p->axes[a] == node) return true;
  return false;
}

/* Lists the nodes that the store is made of, sources first, without two kinds that no split further in
 * changes: those in the sizes of outer axes only, and those that depend on no range. Of operands the last
 * comes first: the first breakpoint is then one of a later clause, which leaves fewer divisions
 * (prop_loops.chains) than the opposite order. */
static uint32_t undecided(ir_graph *g, const peel_domain *p, ir_ref **live, size_t *cap) {
  enum {
    USED = 1, /* bit: the store needs it */
    MOVES = 2 /* bit: it depends on some range */
  };
  size_t count = 0, kept = 0, size = (size_t)p->store + 1;
  uint8_t *used = ir_alloc(g->mem, size);
  bool ok = used && ir_reachable_last_first(g, &p->store, 1, live, &count, cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) used[(*live)[i]] = 0;
  if (ok) used[p->store] = USED;
  for (size_t i = count; i-- > 0 && ok;) {
    const ir_node *n = ir_get(g, (*live)[i]);
    if (!used[(*live)[i]] || is_outer_range(p, (*live)[i])) continue;
    for (uint32_t k = 0; k < n->nsrc; k++) used[n->src[k]] = USED;
  }
  for (size_t i = 0; i < count && ok; i++) {
    const ir_node *n = ir_get(g, (*live)[i]);
    uint8_t *flags = &used[(*live)[i]];
    if (n->op == IR_OP_RANGE) *flags |= MOVES;
    for (uint32_t k = 0; k < n->nsrc; k++) *flags |= used[n->src[k]] & MOVES;
    if (*flags == (USED | MOVES)) (*live)[kept++] = (*live)[i];
  }
  ir_free(g->mem, used, size);
  return (uint32_t)kept;
}

bool peel_find_breakpoints(ir_graph *g, const peel_domain *p, peel_breakpoints *out) {
  ir_ref *live = NULL;
  size_t cap = 0;
  uint32_t count = undecided(g, p, &live, &cap);
  bool found = false;
  for (uint32_t i = 0; i < count && !found; i++)
    found = break_at_node(g, p, live[i], out) && (p->slanted_left > 0 || !peel_is_slanted(g, out));
  for (uint32_t i = 0; i < count && !found && !p->boxes; i++)
    found = is_comparison(g, live[i]) && break_outside(g, p, live[i], out);
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

bool peel_find_end(ir_graph *g, const peel_domain *p, peel_breakpoints *out) {
  ir_ref *live = NULL;
  size_t cap = 0;
  uint32_t count = undecided(g, p, &live, &cap), masks = 0;
  bool found = false;
  for (uint32_t i = 0; i < count && masks < 2; i++) {
    if (!is_comparison(g, live[i])) continue;
    found = !masks++ && break_outside(g, p, live[i], out);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return found && masks == 1;
}

bool peel_find_points(ir_graph *g, const peel_domain *p, peel_breakpoints *out) {
  ir_ref *live = NULL, range = p->axes[p->level];
  size_t cap = 0;
  int64_t size;
  bool found = false;
  if (p->level + 1 == p->axis_count || !ir_is_const(g, ir_src(g, range, 0), &size) || size < 2 ||
      size > PEEL_INTERVALS)
    return false;
  uint32_t count = undecided(g, p, &live, &cap);
  for (uint32_t i = 0; i < count && !found; i++) {
    bool quotient = ir_op_of(g, live[i]) == IR_OP_FLOORDIV && ir_dtype_of(g, live[i]) == IR_INDEX;
    found = (quotient || is_comparison(g, live[i])) && affine_depends(g, live[i], range);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  *out = (peel_breakpoints){0};
  for (int64_t i = 0; i < size && found; i++) add_interval(out, ir_index(g, i), 0);
  return found;
}

/* The quotient with the longest runs of one value: runs of the others lie inside them. */
bool peel_find_quotient(ir_graph *g, const peel_domain *p, peel_quotient *out) {
  ir_ref *live = NULL;
  size_t cap = 0;
  uint32_t count = undecided(g, p, &live, &cap);
  double longest = 0;
  for (uint32_t i = 0; i < count; i++) {
    peel_quotient q;
    if (ir_op_of(g, live[i]) != IR_OP_FLOORDIV || ir_dtype_of(g, live[i]) != IR_INDEX ||
        !decided_here(g, p, live[i]) || !read_quotient(g, p, live[i], &q))
      continue;
    double run = (double)q.divisor / (double)(q.coefficient < 0 ? -q.coefficient : q.coefficient);
    if (run > longest) longest = run, *out = q;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return longest > 0;
}
