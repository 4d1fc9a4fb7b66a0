/* Axes of a kernel: finding them, and collapsing those that every access traverses as one. */
#include "loops.h"

#include "ir/arith.h"
#include "passes/index/index.h"

#include <string.h>

/* Cost of one division; values of quotients and rounded conditions count less than one, so that costs compare
 * the number of divisions first. It is also the number of values from which on a quotient has many. */
enum { DIVISION_COST = 1024 };

bool loop_is_ordered(loop_nest *n, uint32_t axis) {
  const ir_node *store = ir_get(n->g, n->store);
  for (uint32_t i = 4; i < store->nsrc && store->op == IR_OP_UPDATE; i++)
    if (affine_depends(n->g, store->src[i], n->axes[axis].range)) return true;
  return false;
}

/* Along such an axis each update stores another element, next to the one before. All axes further out either
 * are ordered or read and replace no elements of one another (passes/fold/order.c). */
bool loop_replaces_in_order(loop_nest *n, uint32_t axis) {
  int64_t stride;
  return axis + 1 == n->axis_count && loop_is_ordered(n, axis) &&
         affine_stride(n->g, ir_src(n->g, n->store, 1), n->axes[axis].range, &stride) &&
         (stride == 1 || stride == -1);
}

ir_ref loop_fresh_range(loop_nest *n, ir_ref extent) {
  return ir_make(n->g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(n->next_range++, 0), &extent, 1);
}

bool loop_find_axes(loop_nest *n) {
  ir_ref found[LOOP_MAX_NODES], reduces[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_RANGE, found, LOOP_MAX_NODES);
  uint32_t reduce_count = affine_find_range(n->g, n->store, IR_OP_REDUCE, reduces, LOOP_MAX_NODES);
  if (count == LOOP_MAX_NODES || reduce_count == LOOP_MAX_NODES) {
    ir_fail(n->g->error, IR_ERR_UNSUPPORTED, "a kernel has %d or more axes and reductions", LOOP_MAX_NODES);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool excluded = false;
    for (uint32_t k = 0; k < reduce_count; k++) {
      const ir_node *r = ir_get(n->g, reduces[k]);
      for (uint32_t s = 1; s < r->nsrc; s++) excluded |= r->src[s] == found[i];
    }
    int64_t number = ir_arg_int(ir_get(n->g, found[i]));
    if (number >= n->next_range) n->next_range = number + 1;
    for (uint32_t k = 0; k < n->bound_count; k++) excluded |= n->bound[k] == found[i];
    if (excluded) continue;
    if (n->axis_count == MAX_NEST) {
      ir_fail(n->g->error, IR_ERR_INTERNAL, "a kernel has more than %d axes", MAX_NEST);
      return false;
    }
    uint32_t at = n->axis_count++;
    for (; at > 0 && ir_arg_int(ir_get(n->g, n->axes[at - 1].range)) > number; at--)
      n->axes[at] = n->axes[at - 1];
    n->axes[at] =
        (loop_axis){.range = found[i], .extent = ir_src(n->g, found[i], 0), .unroll = 1, .lanes = 1};
  }
  return true;
}

/* merging */

bool loop_breakpoint_rounds(ir_graph *g, ir_ref e, ir_ref range) {
  ir_ref ranges[LOOP_MAX_NODES];
  int64_t step, other;
  if (!affine_stride(g, e, range, &step) || step == 0) return false;
  uint32_t count = affine_find_range(g, e, IR_OP_RANGE, ranges, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++)
    if (affine_stride(g, e, ranges[i], &other) && other % step != 0) return true;
  return false;
}

static bool compares_indices(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return ir_ops[n->op].cls == IR_CLASS_COMPARE && ir_dtype_of(g, n->src[0]) == IR_INDEX;
}

/* Is this a condition whose breakpoint, along the innermost axis that it depends on, lies between indices? */
static bool rounds_breakpoint(ir_graph *g, ir_ref node) {
  ir_ref ranges[LOOP_MAX_NODES], innermost = 0;
  if (!compares_indices(g, node)) return false;
  ir_ref e = pass_sub(g, ir_src(g, node, 0), ir_src(g, node, 1));
  uint32_t count = affine_find_range(g, e, IR_OP_RANGE, ranges, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++)
    if (!innermost || ir_get(g, ranges[i])->arg > ir_get(g, innermost)->arg) innermost = ranges[i];
  return innermost && loop_breakpoint_rounds(g, e, innermost);
}

static bool divides(ir_graph *g, ir_ref r) {
  ir_op op = ir_op_of(g, r);
  return (op == IR_OP_FLOORDIV || op == IR_OP_MOD) && ir_dtype_of(g, r) == IR_INDEX;
}

static int64_t one_division(ir_graph *g, ir_ref r) { return divides(g, r); }

static int64_t division_cost(ir_graph *g, ir_ref r) {
  if (!divides(g, r)) return rounds_breakpoint(g, r);
  ir_bounds in = ir_bounds_of(g, r);
  bool few = in.lo > INT64_MIN / 2 && in.hi < INT64_MAX / 2 && in.hi - in.lo < DIVISION_COST;
  return DIVISION_COST + (few ? in.hi - in.lo : DIVISION_COST - 1);
}

/* Over all that the root is made of. */
static int64_t sum_over(ir_graph *g, ir_ref root, int64_t (*of)(ir_graph *, ir_ref)) {
  enum { COSTLY = IR_HOLDS_DIVISION | IR_HOLDS_COMPARE };
  ir_ref *live = NULL, some[LOOP_MAX_NODES];
  size_t count = 0, cap = 0;
  int64_t sum = 0;
  if (!(ir_get(g, root)->holds & COSTLY)) return 0;
  count = ir_find_below(g, root, COSTLY, IR_OP_COUNT, some, LOOP_MAX_NODES);
  for (size_t i = 0; i < count; i++) sum += of(g, some[i]);
  if (count < LOOP_MAX_NODES) return sum;
  sum = 0;
  if (ir_reachable(g, &root, 1, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count; i++) sum += of(g, live[i]);
  ir_free(g->mem, live, cap * sizeof *live);
  return sum;
}

int64_t loop_division_cost(ir_graph *g, ir_ref root) { return sum_over(g, root, division_cost); }

/* Collapses outer and inner into one range, *merged. Returns what root becomes; 0: inner may be empty. */
static ir_ref merged_root(ir_graph *g, ir_ref root, ir_ref outer, ir_ref inner, ir_ref *merged) {
  ir_ref size = ir_src(g, inner, 0), extent = pass_mul(g, ir_src(g, outer, 0), size);
  if (ir_bounds_of(g, size).lo < 1) return 0;
  *merged = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_get(g, outer)->arg, &extent, 1);
  ir_ref now[] = {pass_div(g, *merged, size), pass_mod(g, *merged, size)};
  return *merged && now[0] && now[1] ? pass_substitute_alone(g, root, (ir_ref[]){outer, inner}, now, 2) : 0;
}

/* Does no division below root depend on the two ranges, so that all are left when these are merged? */
static bool keeps_divisions(ir_graph *g, ir_ref root, ir_ref outer, ir_ref inner) {
  ir_ref found[LOOP_MAX_NODES];
  uint32_t count = ir_find_below(g, root, IR_HOLDS_DIVISION, IR_OP_COUNT, found, LOOP_MAX_NODES);
  bool keeps = count < LOOP_MAX_NODES;
  for (uint32_t i = 0; i < count && keeps; i++)
    keeps = !affine_depends(g, found[i], outer) && !affine_depends(g, found[i], inner);
  return keeps;
}

/* Is a quotient of the merged range left in an index that moves by a along outer and by b along inner, of
 * `size` elements? Along range r it moves by b*r + (a - b*size)*(r//size). */
static bool divides_index(ir_graph *g, ir_ref index, ir_ref outer, ir_ref inner, int64_t size) {
  int64_t a, b, row;
  return affine_stride(g, index, outer, &a) && affine_stride(g, index, inner, &b) &&
         ir_mul_ok(b, size, &row) && a != row;
}

/* The same of a comparison: one that moves along outer alone is multiplied by `size`, which leaves none. */
static bool divides_comparison(ir_graph *g, ir_ref node, ir_ref outer, ir_ref inner, int64_t size) {
  int64_t b;
  if (!compares_indices(g, node)) return false;
  for (int i = 0; i < 2; i++) {
    ir_ref side = ir_src(g, node, i);
    if (!ir_is_const(g, ir_src(g, node, 1 - i), NULL)) continue;
    if (affine_stride(g, side, inner, &b) && b != 0 && divides_index(g, side, outer, inner, size))
      return true;
  }
  return false;
}

/* Is it certain, before the two ranges are merged, that divisions cost more afterwards? A quotient that is
 * left costs more than all conditions that might be rounded less. */
static bool costs_more_merged(ir_graph *g, ir_ref root, ir_ref outer, ir_ref inner) {
  ir_ref found[LOOP_MAX_NODES];
  int64_t rows, size;
  if (!ir_is_const(g, ir_src(g, outer, 0), &rows) || !ir_is_const(g, ir_src(g, inner, 0), &size) ||
      rows < 2 || size < 2 || !keeps_divisions(g, root, outer, inner))
    return false;
  uint32_t count = ir_find_below(g, root, IR_HOLDS_COMPARE, IR_OP_COUNT, found, LOOP_MAX_NODES);
  if (count == LOOP_MAX_NODES) return false;
  for (uint32_t i = 0; i < count; i++)
    if (divides_comparison(g, found[i], outer, inner, size)) return true;
  if (ir_op_of(g, root) == IR_OP_STORE && divides_index(g, ir_src(g, root, 1), outer, inner, size))
    return true;
  count = affine_find_range(g, root, IR_OP_LOAD, found, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++)
    if (divides_index(g, ir_src(g, found[i], 1), outer, inner, size)) return true;
  return false;
}

/* Has every load below root that moves along a or b a smaller stride along `a` than along `b`, and not 0? */
static bool steps_less(ir_graph *g, ir_ref root, ir_ref a, ir_ref b) {
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(g, root, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  bool any = false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t x, y;
    ir_ref index = ir_src(g, loads[i], 1);
    if (!affine_stride(g, index, a, &x) || !affine_stride(g, index, b, &y)) return false;
    if (x == 0 && y == 0) continue;
    if (x < 0) x = -x;
    if (y < 0) y = -y;
    if (x == 0 || x >= y) return false;
    any = true;
  }
  return any;
}

/* The order in which `count` ranges `now` are, of those that were there before: its number among all orders,
 * in which 0 is the same order; LOOP_ANY_ORDER where there are too many. */
static int order_number(const ir_ref *before, const ir_ref *now, uint32_t count) {
  enum { MOST = 5 }; /* 5! = 120 orders have numbers below LOOP_ANY_ORDER, 255; 6! = 720 do not */
  int number = 0;
  if (count > MOST) return LOOP_ANY_ORDER;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = 0, passed = 0; /* of those before it, what comes later now */
    while (before[at] != now[i]) at++;
    for (uint32_t k = i + 1; k < count; k++) {
      uint32_t other = 0;
      while (before[other] != now[k]) other++;
      passed += other < at;
    }
    number = number * (int)(count - i) + (int)passed;
  }
  return number;
}

/* Applies `change` to the sources of each reduction that may combine terms in any order: src[0] is the term,
 * the ranges follow. `change` returns whether it has changed any. */
static void change_reduced(loop_nest *n, bool (*change)(ir_graph *g, ir_ref *src, uint32_t *count)) {
  ir_graph *g = n->g;
  ir_ref reduces[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(g, n->store, IR_OP_REDUCE, reduces, LOOP_MAX_NODES);
  for (uint32_t k = 0; k < count; k++) {
    ir_node r = *ir_get(g, reduces[k]);
    ir_ref src[IR_MAX_RANK + 2];
    bool is_index_reduction = ir_arg_int(&r) == IR_OP_ARGMAX || ir_arg_int(&r) == IR_OP_ARGMIN;
    uint32_t sources = r.nsrc;
    memcpy(src, r.src, sources * sizeof *src);
    if (is_index_reduction || !change(g, src, &sources)) continue;
    int order = ir_arg_mode(&r); /* merged ranges keep the order of the terms */
    if (sources == r.nsrc) order = order ? LOOP_ANY_ORDER : order_number(r.src + 1, src + 1, sources - 1);
    int64_t arg = ir_pack_arg(ir_arg_int(&r), order);
    ir_ref made = ir_make(g, IR_OP_REDUCE, (ir_dtype)r.dtype, arg, src, sources);
    ir_ref root = made ? pass_substitute_alone(g, n->store, &reduces[k], &made, 1) : 0;
    if (root) n->store = root;
  }
}

static bool order_ranges(ir_graph *g, ir_ref *src, uint32_t *count) {
  bool changed = false;
  for (uint32_t i = 2; i < *count; i++)
    for (uint32_t at = i; at > 1 && steps_less(g, src[0], src[at - 1], src[at]); at--) {
      ir_ref swap = src[at];
      src[at] = src[at - 1], src[at - 1] = swap;
      changed = true;
    }
  return changed;
}

static bool merge_ranges(ir_graph *g, ir_ref *src, uint32_t *count) {
  uint32_t before = *count;
  int64_t least = loop_division_cost(g, src[0]), cost;
  for (uint32_t i = 1; i + 1 < *count;) {
    bool apart = costs_more_merged(g, src[0], src[i], src[i + 1]);
    ir_ref merged, body = apart ? 0 : merged_root(g, src[0], src[i], src[i + 1], &merged);
    if (!body || (cost = loop_division_cost(g, body)) > least) {
      i++;
      continue;
    }
    src[0] = body, src[i] = merged, least = cost;
    memmove(src + i + 1, src + i + 2, (--*count - i - 1) * sizeof *src);
  }
  return *count != before;
}

void loop_order_reduced(loop_nest *n) { change_reduced(n, order_ranges); }

void loop_merge_reduced(loop_nest *n) { change_reduced(n, merge_ranges); }

bool loop_bounds_another(loop_nest *n, uint32_t axis) {
  for (uint32_t i = axis + 1; i < n->axis_count; i++)
    if (affine_depends(n->g, n->axes[i].extent, n->axes[axis].range)) return true;
  return false;
}

bool loop_merge_pair(loop_nest *n, uint32_t axis) {
  ir_ref merged = 0, root = 0;
  if (!loop_bounds_another(n, axis) && !loop_bounds_another(n, axis + 1))
    root = merged_root(n->g, n->store, n->axes[axis].range, n->axes[axis + 1].range, &merged);
  if (!root || !merged) return false;
  n->store = root;
  n->axes[axis] = (loop_axis){.range = merged, .extent = ir_src(n->g, merged, 0), .unroll = 1, .lanes = 1};
  memmove(n->axes + axis + 1, n->axes + axis + 2, (--n->axis_count - axis - 1) * sizeof *n->axes);
  return true;
}

void loop_merge_axes(loop_nest *n, bool tiled) {
  int64_t (*cost)(ir_graph *, ir_ref) = tiled ? one_division : division_cost;
  int64_t least = n->axis_count > 1 ? sum_over(n->g, n->store, cost) : 0, merged;
  for (uint32_t i = 0; i + 1 < n->axis_count;) {
    if (loop_is_ordered(n, i) != loop_is_ordered(n, i + 1) ||
        costs_more_merged(n->g, n->store, n->axes[i].range, n->axes[i + 1].range)) {
      i++;
      continue;
    }
    loop_nest before = *n;
    if (loop_merge_pair(n, i) && (merged = sum_over(n->g, n->store, cost)) <= least) {
      least = merged;
      continue;
    }
    *n = before;
    i++;
  }
}

/* stores */

bool loop_list_stores(ir_graph *g, ir_ref effect, loop_stores *out) {
  const ir_node *n = ir_get(g, effect);
  bool several = n->op == IR_OP_SEQ;
  *out = (loop_stores){.count = several ? n->nsrc : 1};
  if (out->count > MAX_STORES) {
    ir_fail(g->error, IR_ERR_INTERNAL, "a kernel has more than %d stores", MAX_STORES);
    return false;
  }
  for (uint32_t i = 0; i < out->count; i++) out->store[i] = several ? n->src[i] : effect;
  return true;
}

bool loop_read_stores(ir_graph *g, ir_ref effect, loop_stores *out) {
  if (!loop_list_stores(g, effect, out)) return false;
  for (uint32_t i = 0; i < out->count; i++) {
    loop_nest nest = {.g = g, .store = out->store[i]};
    if (!loop_find_axes(&nest)) return false;
    if (out->next_range < nest.next_range) out->next_range = nest.next_range;
  }
  return true;
}

bool loop_separate(ir_graph *g, loop_stores *stores) {
  for (uint32_t i = 0; i < stores->count; i++) {
    loop_nest n = {.g = g, .store = stores->store[i]};
    ir_ref from[MAX_NEST], to[MAX_NEST];
    if (!loop_find_axes(&n)) return false;
    n.next_range = stores->next_range;
    for (uint32_t a = 0; a < n.axis_count; a++) {
      from[a] = n.axes[a].range;
      to[a] = loop_fresh_range(&n, pass_substitute_alone(g, n.axes[a].extent, from, to, a));
    }
    stores->next_range = n.next_range;
    if (!(stores->store[i] = pass_substitute_alone(g, n.store, from, to, n.axis_count))) return false;
  }
  return true;
}

static bool is_nothing(const ir_graph *g, ir_ref effect) {
  const ir_node *n = ir_get(g, effect);
  while (n->op == IR_OP_LOOP && n->src[1] && ir_arg_mode(n) != IR_THREAD) n = ir_get(g, n->src[1]);
  return n->op == IR_OP_SEQ && n->nsrc == 0;
}

/* A SEQ of the effects, or the only one of them. Up to MAX_STORES effects are searched for those that occur
 * twice or do nothing, which are left out: nodes are shared, but an effect may run only once. */
ir_ref loop_sequence(ir_graph *g, const ir_ref *effects, uint32_t count) {
  ir_ref kept[MAX_STORES];
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool duplicate = !effects[i] || count > MAX_STORES ? false : is_nothing(g, effects[i]);
    for (uint32_t k = 0; k < used && !duplicate; k++) duplicate = kept[k] == effects[i];
    if (!duplicate && used < MAX_STORES) kept[used++] = effects[i];
  }
  if (count > MAX_STORES) return ir_make(g, IR_OP_SEQ, IR_NONE, 0, effects, count);
  return used == 1 ? kept[0] : ir_make(g, IR_OP_SEQ, IR_NONE, 0, kept, used);
}
