/* Refined iteration spaces. The axes of a kernel can be chosen freely, since its store fills the output in
 * row-major order whatever the axes are. Any factorisation of the flat output index will do; the one is
 * chosen whose digits the quotients in the kernel's indices and masks ask for:
 *
 *   merge   two neighbouring axes become one where that leaves no more divisions
 *   split   an axis of size s becomes two, of sizes s/m and m, where a quotient N//w holds it with
 *           coefficient c and m = w/gcd(w, c): then c*m is a multiple of w, and the outer digit leaves the
 *           division
 *
 * If a common refinement of everything that is asked for exists, it leaves no division at all. Where the axes
 * as they are have none, splitting starts again from neighbours merged by force, last of all from the flat
 * index. The search is greedy, deterministic, and bounded by the number of axes. In kernels with reductions
 * of more than PASS_FEW_TERMS, axes are only merged: their tiles want whole rows. */
#include "domain.h"

#include "ir/arith.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"
#include "passes/index/index.h"
#include "passes/loops/loops.h"

#include <string.h>

enum {
  MAX_CANDIDATES = 16, /* splits that are tried [2 in the workloads]: the first ones that quotients ask for */
  /* of merging and splitting again, each with fewer divisions [0 in the workloads, 1 in tests] */
  MAX_ITERATIONS = 3,
  MAX_REDUCTIONS = 16 /* of one kernel [2 in the workloads]: one of more is taken to have many terms */
};

/* A split that some quotient asks for: the size of the inner axis, which may hold variables. */
typedef struct split_candidate {
  uint32_t axis;
  ir_ref size;
} split_candidate;

static void add_candidate(loop_nest *n, split_candidate *out, uint32_t *count, uint32_t axis,
                          ir_ref candidate) {
  ir_ref extent = n->axes[axis].extent;
  int64_t size;
  if (*count == MAX_CANDIDATES || !candidate || candidate == extent || ir_bounds_of(n->g, candidate).lo < 1 ||
      (ir_is_const(n->g, candidate, &size) && size == 1) || !pass_divides(n->g, candidate, extent))
    return;
  for (uint32_t k = 0; k < *count; k++)
    if (out[k].axis == axis && out[k].size == candidate) return;
  out[(*count)++] = (split_candidate){axis, candidate};
}

/* Adds the splits of each axis in e that make its coefficient a multiple of the divisor. */
static void candidates_for(loop_nest *n, ir_ref e, ir_ref divisor, split_candidate *out, uint32_t *count) {
  int64_t coefficient, d;
  bool fixed = ir_is_const(n->g, divisor, &d);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (affine_stride(n->g, e, n->axes[a].range, &coefficient) && coefficient != 0)
      add_candidate(n, out, count, a, fixed ? ir_index(n->g, d / ir_gcd(d, coefficient)) : divisor);
}

/* The splits that quotients ask for, and comparisons that would need a rounded quotient, where they divide
 * their axes evenly; users before what they use. */
static uint32_t find_candidates(loop_nest *n, split_candidate *out) {
  ir_graph *g = n->g;
  ir_ref *live = NULL;
  size_t live_count = 0, cap = 0;
  uint32_t count = 0;
  bool ok = ir_reachable_in_order(g, &n->store, 1, &live, &live_count, &cap) == IR_OK;
  for (size_t i = live_count; i-- > 0 && ok;) {
    const ir_node *node = ir_get(g, live[i]);
    int64_t divisor;
    if (node->nsrc != 2 || ir_dtype_of(g, node->src[0]) != IR_INDEX) continue;
    if (node->op == IR_OP_FLOORDIV || node->op == IR_OP_MOD) {
      candidates_for(n, node->src[0], node->src[1], out, &count);
    } else if (ir_ops[node->op].cls == IR_CLASS_COMPARE) {
      ir_ref e = pass_sub(g, node->src[0], node->src[1]);
      for (uint32_t a = n->axis_count; a-- > 0;)
        if (affine_stride(g, e, n->axes[a].range, &divisor) && divisor != 0) {
          candidates_for(n, e, ir_index(g, divisor < 0 ? -divisor : divisor), out, &count);
          break;
        }
    }
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return count;
}

static bool split_axis(loop_nest *n, split_candidate w) {
  if (n->axis_count == MAX_NEST) return false;
  ir_ref whole = n->axes[w.axis].range, low = loop_fresh_range(n, w.size),
         high = loop_fresh_range(n, pass_div(n->g, n->axes[w.axis].extent, w.size));
  ir_ref position = pass_add(n->g, pass_mul(n->g, high, w.size), low);
  ir_ref store = pass_substitute(n->g, n->store, &whole, &position, 1);
  if (!store || !high || !low) return false;
  n->store = store;
  memmove(n->axes + w.axis + 1, n->axes + w.axis, (n->axis_count++ - w.axis) * sizeof *n->axes);
  n->axes[w.axis] = (loop_axis){.range = high, .extent = ir_src(n->g, high, 0), .unroll = 1, .lanes = 1};
  n->axes[w.axis + 1] = (loop_axis){.range = low, .extent = ir_src(n->g, low, 0), .unroll = 1, .lanes = 1};
  return true;
}

/* Gives all accesses their canonical form: a split may leave two quotients that are one where the access is
 * valid. Returns the cost of the divisions that are then left. */
static int64_t unite_quotients(loop_nest *n) {
  ir_ref store = pass_canonical_kernel(n->g, n->store, NULL);
  if (store) n->store = store;
  return loop_division_cost(n->g, n->store);
}

/* Splits where that leaves fewest divisions, also where it leaves as many as before: the next split may need
 * it. */
static void split_all(loop_nest *n) {
  int64_t left = loop_division_cost(n->g, n->store);
  while (left > 0) {
    split_candidate wanted[MAX_CANDIDATES];
    uint32_t count = find_candidates(n, wanted);
    int64_t least = left + 1;
    loop_nest best = *n;
    for (uint32_t i = 0; i < count; i++) {
      loop_nest tried = *n;
      tried.next_range = best.next_range > n->next_range ? best.next_range : n->next_range;
      if (!split_axis(&tried, wanted[i])) continue;
      int64_t divisions = loop_division_cost(n->g, tried.store);
      if (divisions > 0) divisions = unite_quotients(&tried);
      if (divisions < least) least = divisions, best = tried;
    }
    if (least > left) return;
    *n = best;
    left = least;
  }
}

static bool is_better_nest(const loop_nest *a, const loop_nest *b) {
  int64_t x = loop_division_cost(a->g, a->store), y = loop_division_cost(b->g, b->store);
  return x < y || (x == y && a->axis_count < b->axis_count);
}

static loop_nest refined_from(loop_nest n) {
  split_all(&n);
  loop_merge_axes(&n, false);
  return n;
}

/* Are all sizes known, so that any axes may be merged and split again? */
static bool is_static(const loop_nest *n) {
  int64_t size;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (!ir_is_const(n->g, n->axes[a].extent, &size) || size < 1) return false;
  return true;
}

/* The best nest refined from this one with a pair of neighbours merged, or with all axes merged into the flat
 * index. */
static loop_nest regrouped(const loop_nest *n) {
  loop_nest best = *n;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    loop_nest start = *n;
    start.next_range = best.next_range;
    bool pair = a + 1 < n->axis_count;
    bool merged = pair && loop_merge_pair(&start, a);
    while (!pair && start.axis_count > 1 && loop_merge_pair(&start, 0)) merged = true;
    if (!merged) continue;
    loop_nest tried = refined_from(start);
    if (is_better_nest(&tried, &best)) best = tried;
  }
  return best;
}

/* The store with ranges numbered from the outermost inwards. */
static ir_ref renumbered(loop_nest *n) {
  ir_ref from[MAX_NEST], to[MAX_NEST];
  for (uint32_t a = 0; a < n->axis_count; a++) {
    from[a] = n->axes[a].range;
    to[a] = loop_fresh_range(n, n->axes[a].extent);
  }
  return pass_substitute(n->g, n->store, from, to, n->axis_count);
}

/* Is there a reduction of more than PASS_FEW_TERMS terms? */
static bool sums_up_much(ir_graph *g, ir_ref store) {
  ir_ref reductions[MAX_REDUCTIONS];
  uint32_t count = affine_find_range(g, store, IR_OP_REDUCE, reductions, MAX_REDUCTIONS);
  for (uint32_t k = 0; k < count; k++) {
    const ir_node *r = ir_get(g, reductions[k]);
    int64_t terms = 1, size;
    for (uint32_t i = 1; i < r->nsrc; i++) {
      if (ir_op_of(g, r->src[i]) != IR_OP_RANGE) continue; /* the index of an ARGMAX or ARGMIN */
      if (!ir_is_const(g, ir_src(g, r->src[i], 0), &size) || size > PASS_FEW_TERMS) return true;
      if ((terms *= size) > PASS_FEW_TERMS) return true;
    }
  }
  return count == MAX_REDUCTIONS;
}

/* Is there a product whose elements are read again for each row, of lanes along the innermost axis? */
static bool has_tile(loop_nest *n) {
  ir_ref reductions[MAX_REDUCTIONS];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_REDUCE, reductions, MAX_REDUCTIONS);
  bool rows = false;
  for (uint32_t k = 0; k < count && n->axis_count > 1; k++)
    rows |= loop_multiplies(n->g, reductions[k]) &&
            loop_row_axis(n, &n->axes[n->axis_count - 1], reductions[k]) != NULL;
  return rows;
}

/* Is a quotient of the nest's own axes left? */
static bool divides_axes(loop_nest *n) {
  ir_ref quotients[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_FLOORDIV, quotients, LOOP_MAX_NODES);
  bool divides = false;
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t a = 0; a < n->axis_count; a++)
      divides |= affine_depends(n->g, quotients[k], n->axes[a].range);
  return divides;
}

/* The nest with its axes merged, and its reduced ranges in order and merged; split: and refined. */
static loop_nest merged(loop_nest n, bool split) {
  loop_merge_axes(&n, !split);
  loop_order_reduced(&n);
  loop_merge_reduced(&n);
  if (!split) return n;
  if (loop_division_cost(n.g, n.store)) n = refined_from(n);
  for (int iteration = 0; iteration < MAX_ITERATIONS && loop_division_cost(n.g, n.store) && is_static(&n);
       iteration++) {
    loop_nest next = regrouped(&n);
    if (!is_better_nest(&next, &n)) break;
    n = next;
  }
  return n;
}

/* Chooses the axes of one store. around: ranges of loops around it, which stay. False on failure. */
static bool refine(ir_graph *g, ir_ref *store, const ir_ref *around, uint32_t count, int64_t *next_range) {
  loop_nest n = {.g = g, .store = *store, .bound = around, .bound_count = count};
  if (!loop_find_axes(&n)) return false;
  for (uint32_t a = 0; a < n.axis_count; a++)
    if (loop_bounds_another(&n, a)) return true; /* slanted sub-domains: their axes are chosen already */
  n.next_range = *next_range;
  bool much = sums_up_much(g, n.store);
  loop_nest axes = merged(n, !much);
  if (!much && has_tile(&n) && divides_axes(&axes)) {
    n.next_range = axes.next_range;
    axes = merged(n, false);
  }
  n = axes;
  *store = renumbered(&n);
  *next_range = n.next_range;
  return *store != 0;
}

ir_ref pass_refine(ir_graph *g, ir_ref effect) {
  loop_stores stores;
  bool divides = false;
  ir_ref around[PASS_ROW_GROUP_RANGES];
  uint32_t shared = pass_row_group_ranges(g, effect, around);
  if (loop_is_update(g, effect)) return effect;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  for (uint32_t i = 0; i < stores.count; i++) divides |= loop_division_cost(g, stores.store[i]) > 0;
  if (!shared && stores.count > 1 && !divides) return effect; /* its stores share loops */
  if (!shared && stores.count > 1 && !loop_separate(g, &stores)) return 0;
  for (uint32_t i = 0; i < stores.count; i++)
    if (!refine(g, &stores.store[i], around, shared, &stores.next_range)) return 0;
  return loop_sequence(g, stores.store, stores.count);
}
