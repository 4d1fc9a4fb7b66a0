/* Cross-lane reductions. P work-items of a group compute each result: item p reduces the terms p, p + P, ...
 * and stores its partial result in a local. One work-item for each result then reduces the P partial results.
 * So a store becomes two, which share a loop over the groups.
 *
 *   rows      contiguous terms, too few for a group for each result: neighbours read neighbouring terms,
 *             and a group has several rows
 *   columns   contiguous results, too few for a work-item for each: neighbours read neighbouring results,
 *             and several such rows of work-items divide the terms among them
 *
 * A sum of P partial results of n terms makes no more roundings than one of n * P terms, in runs as in
 * passes/loops/reduce.c. */
#include "gpu.h"

#include "passes/index/index.h"
#include "passes/patterns/identity.h"

enum {
  ITEMS_EACH = 16,    /* work-items of a row: 64 bytes of f32 at once, two sectors of a cache line */
  FEW_ITEMS_EACH = 8, /* work-items of a short row: one sector */
  SHORT_TERMS = 64,   /* rows of fewer terms have FEW_ITEMS_EACH work-items: at most eight terms each */
  MIN_TERMS = 32,     /* terms of a row: four for each of the fewest work-items */
  MAX_TERMS = 1024,   /* terms of a row: four for each work-item of a group; longer rows have a group each */
  /* terms from which on a product of few tiles is taken as rows: 16 K blocks, one after the other */
  LONG_TERMS = 512,
  MIN_GROUPS = IR_BUSY_GROUPS / 2, /* groups that occupy a device well enough to share no columns */
  ROW_PAD = 1 /* element between rows of the local, so that work-items of several rows use different banks */
};

typedef struct item_reduction {
  loop_nest n;
  ir_ref reduce, range; /* a REDUCE, and the range that it reduces over */
  bool columns;
  int64_t terms, items_each, results; /* of the reduction; work-items for each result; results of the group */
  uint32_t axis;                      /* of the results */
  ir_ref iteration, start[MAX_NEST];
} item_reduction;

/* Finds the only reduction, over one range. No load below it may give the index of another one. */
static bool find_reduction(item_reduction *s) {
  loop_nest *n = &s->n;
  ir_ref found[2], loads[LOOP_MAX_LOADS], inner[2];
  if (ir_op_of(n->g, n->store) != IR_OP_STORE ||
      affine_find_range(n->g, n->store, IR_OP_REDUCE, found, 2) != 1)
    return false;
  const ir_node *r = ir_get(n->g, s->reduce = found[0]);
  int64_t op = ir_arg_int(r);
  if (op == IR_OP_ARGMAX || op == IR_OP_ARGMIN || r->nsrc != 2 ||
      !ir_is_const(n->g, ir_src(n->g, r->src[1], 0), &s->terms))
    return false;
  s->range = r->src[1];
  uint32_t count = affine_find_range(n->g, r->src[0], IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count; i++)
    if (affine_find_range(n->g, loads[i], IR_OP_LOAD, inner, 2) > 1) return false;
  return count > 0 && count < LOOP_MAX_LOADS && !affine_find_range(n->g, r->src[0], IR_OP_BOUND, inner, 1);
}

/* Are there enough groups? Columns are divided among work-items only where there are not, rows only where
 * there are. */
static bool has_groups(const item_reduction *s, int64_t size) {
  const loop_nest *n = &s->n;
  int64_t groups = 1, each = s->columns ? (int64_t)s->results * s->items_each : s->results;
  for (uint32_t a = 0; a < n->axis_count && groups < LOOP_MAX_WORK; a++)
    groups *= a == s->axis ? (size + each - 1) / each : ir_bounds_of(n->g, n->axes[a].extent).hi;
  return groups >= MIN_GROUPS;
}

/* A product with rows: groups compute tiles of it, unless these are few and each has very many terms. */
static bool is_tiled(item_reduction *s) {
  enum {
    TILE_SIDE = 32, /* rows, and columns, of the smallest tile */
    /* that are worth a product's loops even where each has many terms: for every other compute unit */
    MIN_TILES = 64
  };
  loop_nest *n = &s->n;
  int64_t results = 1;
  if (!loop_multiplies(n->g, s->reduce)) return false;
  const loop_axis *row = loop_row_axis(n, &n->axes[s->axis], s->reduce);
  if (!row || ir_bounds_of(n->g, row->extent).hi < FEW_ITEMS_EACH) return false;
  for (uint32_t a = 0; a < n->axis_count && results < LOOP_MAX_WORK; a++)
    results *= ir_bounds_of(n->g, n->axes[a].extent).hi;
  return s->terms < LONG_TERMS || results >= MIN_TILES * TILE_SIDE * TILE_SIDE;
}

static bool plan_reduction(item_reduction *s) {
  loop_nest *n = &s->n;
  int64_t size = 0, items = loop_group_size(n);
  if (n->axis_count == 0 || !find_reduction(s)) return false;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (loop_bounds_another(n, a)) return false;
  s->axis = n->axis_count - 1;
  ir_ref body = ir_src(n->g, s->reduce, 0);
  int term_score = loop_lane_score(n, body, s->range, 1),
      across = loop_lane_score(n, body, n->axes[s->axis].range, 1);
  s->columns = across > 0 && across >= term_score;
  if (!ir_is_const(n->g, n->axes[s->axis].extent, &size) || (!s->columns && term_score <= 0)) return false;
  s->items_each = s->columns               ? items / IR_LOCKSTEP_ITEMS
                  : s->terms < SHORT_TERMS ? FEW_ITEMS_EACH
                                           : ITEMS_EACH;
  s->results = s->items_each ? items / s->items_each : 0;
  if (s->items_each < 2 || s->results < 2 || size < s->results || s->terms < MIN_TERMS) return false;
  if (s->columns ? s->terms < s->items_each * FEW_ITEMS_EACH : s->terms > MAX_TERMS) return false;
  return has_groups(s, size) != s->columns && !is_tiled(s) &&
         (size % s->results == 0 || loop_is_repeatable(n));
}

/* An iteration for each group. The last one along the axis begins further back, to end with the axis. */
static void start_iterations(item_reduction *s) {
  loop_nest *n = &s->n;
  ir_graph *g = n->g;
  ir_ref steps[MAX_NEST], total = ir_index(g, 1);
  for (uint32_t a = 0; a < n->axis_count; a++) {
    steps[a] =
        a == s->axis ? pass_ceil_div(g, n->axes[a].extent, ir_index(g, s->results)) : n->axes[a].extent;
    total = pass_mul(g, total, steps[a]);
  }
  s->iteration = loop_fresh_range(n, total);
  ir_ref left = s->iteration;
  for (uint32_t a = n->axis_count; a-- > 0;) {
    s->start[a] = a ? pass_mod(g, left, steps[a]) : left;
    if (a) left = pass_div(g, left, steps[a]);
  }
  ir_ref last = pass_add_int(g, n->axes[s->axis].extent, -s->results);
  s->start[s->axis] = pass_min(g, pass_mul_int(g, s->start[s->axis], s->results), last);
}

static ir_ref at_result(item_reduction *s, ir_ref root, ir_ref result) {
  ir_ref from[MAX_NEST], to[MAX_NEST];
  for (uint32_t a = 0; a < s->n.axis_count; a++) {
    from[a] = s->n.axes[a].range;
    to[a] = a == s->axis ? pass_add(s->n.g, s->start[a], result) : s->start[a];
  }
  return pass_substitute(s->n.g, root, from, to, s->n.axis_count);
}

static ir_ref reduction(const item_reduction *s, ir_ref value, ir_ref range) {
  const ir_node *r = ir_get(s->n.g, s->reduce);
  return value && range
             ? ir_make(s->n.g, IR_OP_REDUCE, (ir_dtype)r->dtype, r->arg, (ir_ref[]){value, range}, 2)
             : 0;
}

static int64_t local_size(const item_reduction *s) {
  return s->columns ? s->items_each * s->results : s->results * (s->items_each + ROW_PAD);
}

/* Fresh ranges over results and over the work-items of each, the contiguous one numbered last, and the index
 * in the local. */
static ir_ref index_in_local(item_reduction *s, ir_ref *result, ir_ref *item) {
  loop_nest *n = &s->n;
  ir_graph *g = n->g;
  ir_ref results = ir_index(g, s->results), items_each = ir_index(g, s->items_each);
  if (s->columns) *item = loop_fresh_range(n, items_each);
  *result = loop_fresh_range(n, results);
  if (!s->columns) *item = loop_fresh_range(n, items_each);
  return s->columns ? pass_add(g, pass_mul_int(g, *item, s->results), *result)
                    : pass_add(g, pass_mul_int(g, *result, s->items_each + ROW_PAD), *item);
}

/* Stores the partial results in the local. */
static ir_ref partial_results(item_reduction *s, ir_ref local) {
  loop_nest *n = &s->n;
  ir_graph *g = n->g;
  ir_ref result, item, at = index_in_local(s, &result, &item);
  ir_ref range = loop_fresh_range(n, ir_index(g, (s->terms + s->items_each - 1) / s->items_each));
  ir_ref term = pass_add(g, pass_mul_int(g, range, s->items_each), item);
  ir_ref value = at_result(s, ir_src(g, s->reduce, 0), result);
  value = value ? pass_substitute(g, value, &s->range, &term, 1) : 0;
  ir_ref inside = pass_compare(g, IR_OP_LT, term, ir_index(g, s->terms)),
         none = pass_identity(g, (ir_op)ir_arg_int(ir_get(g, s->reduce)), ir_dtype_of(g, s->reduce));
  value = reduction(s, loop_masked_value(g, value, inside, none), range);
  return value ? ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){local, at, value}, 3) : 0;
}

/* The store, with each result reduced from its partial results. */
static ir_ref results_of(item_reduction *s, ir_ref local) {
  loop_nest *n = &s->n;
  ir_graph *g = n->g;
  ir_dtype t = ir_dtype_of(g, local);
  ir_ref result, item, at = index_in_local(s, &result, &item),
                       zero = ir_is_float(t) ? ir_float(g, t, 0)
                              : t == IR_BOOL ? ir_bool(g, false)
                                             : ir_int(g, t, 0);
  ir_ref load = ir_make(g, IR_OP_LOAD, t, 0, (ir_ref[]){local, at, ir_bool(g, true), zero}, 4),
         all = reduction(s, load, item), reduce = at_result(s, s->reduce, result),
         store = at_result(s, n->store, result);
  return all && reduce && store ? pass_substitute(g, store, &reduce, &all, 1) : 0;
}

ir_ref loop_reduce_across_items(ir_graph *g, ir_ref effect, const ir_target *target) {
  loop_stores stores;
  if (!loop_list_stores(g, effect, &stores)) return 0;
  if (!target->local_bytes || stores.count != 1) return effect;
  item_reduction s = {.n = {.g = g, .target = target, .strategy = &pass_on_gpu, .store = stores.store[0]}};
  if (!loop_find_axes(&s.n)) return 0;
  loop_merge_axes(&s.n, false);
  if (!plan_reduction(&s)) return effect;
  start_iterations(&s);
  ir_ref local = ir_make(g, IR_OP_LOCAL, ir_dtype_of(g, s.reduce), ir_pack_arg(0, 0),
                         (ir_ref[]){ir_index(g, local_size(&s)), s.iteration}, 2);
  if (!local || !(stores.store[0] = partial_results(&s, local)) || !(stores.store[1] = results_of(&s, local)))
    return 0;
  return loop_sequence(g, stores.store, 2);
}
