/* Values that would be computed again and again where they are read: each is stored once instead, before
 * packing looks at what products read.
 *
 *   evaluations   how many elements of a value the kernels that read it compute, where it is fused into them
 *   cost          of one of these, in operations of one instruction for each vector
 *
 * Both are sums over the graph: an elementwise operation evaluates each operand once for each evaluation of
 * its own, a view as well, a reduction once for each of its terms; users at the points of one value share
 * what they evaluate (passes/patterns/recompute.h). What is stored is evaluated once for each element. A
 * value is stored where
 *
 *   evaluations * cost  >  MIN_GAIN * (elements * (cost + writing) + evaluations * reading)
 *
 * by at least what a kernel costs. The cost of a value depends on what is stored below it, and that on the
 * evaluations above: so the choice is made twice, from users to operands, the second time with the costs that
 * follow from the first one.
 *
 * Sizes and the graph decide, not the machine at hand: whether an operand is stored has a part in whether a
 * sum of products is recognised as one (passes/patterns/contraction.h), and so in the order of additions. */
#include "recomputed.h"

#include "passes/cost/cost.h"
#include "passes/fuse/stored.h"
#include "passes/pack/pack.h"
#include "passes/patterns/constant_values.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"
#include "passes/patterns/online_softmax.h"
#include "passes/patterns/recompute.h"

#include <string.h>

/* Costs, in operations on an element of 4 bytes. An AVX-512 processor starts two operations on 16 elements in
 * each cycle, and takes two vectors from its L1 cache, or one of half the size from L2; from memory it takes
 * 2 to 4 bytes for each core and cycle. */
enum {
  READING = 1,         /* from a cache */
  GATHERING = 16,      /* an index, a mask and a load for each element */
  WRITING = 2,         /* and what the reader waits for it */
  FAR_WRITING = 24,    /* where the values do not stay in the L2 cache */
  FAR_BYTES = 1 << 20, /* of such values: an L2 cache of 1 MiB */
  MAX_COST = 1 << 10,  /* of one element: where values are shared, sums along all paths grow without limit */
  MANY_TERMS = 16, /* of a product, from which on an elementary function of its result is the lesser part */
  MIN_RUN = 8,     /* elements of a row: half a vector of f32 */
  ROW_COST = 16,   /* what an elementary function loses for each element of rows of two to seven */
  KERNEL = 1 << 14 /* a launch of 0.2 us */
};
/* Elements that a register tile makes of one that it loads: it has 4 rows at least (docs/contractions.md). */
static const double TILE_REUSE = 4;
static const double MIN_GAIN = 1.25; /* costs are estimates */
/* Evaluations of each element from which on a value is stored here, if it is no epilogue of a reduction.
 * Where two kernels read it, scheduling decides: they may become one (passes/fuse/stored.c, row_group.c). */
static const double MIN_TIMES = 3;

/* What is fused into a value: a PRODUCT that tiles compute, or a SHORT one, of few terms; SEPARATE: it is
 * stored. A byte of each value, 0 for others. */
enum { PRODUCT = 1, SHORT, SEPARATE };
/* Why a value is not stored: by the functions that set it, is_of_indices to keep_weights. A byte of each
 * value, 0 for others. */
enum { OF_INDICES = 1, WIDENED, BELOW_MASK, KEPT };
typedef struct values {
  ir_graph *g;
  ir_ref *live;
  size_t count, cap;
  /* by node */
  double *evaluations;
  uint16_t *cost;
  ir_ref *place;       /* as in pass_sharing */
  uint8_t *recomputed; /* needed at several places */
  uint8_t *epilogue;   /* as pass_epilogues leaves it */
  uint8_t *kept;       /* why it is not stored here; 0: it may be */
  uint8_t *product; /* PRODUCT, SHORT: one is fused into it; SEPARATE: it is stored for the sake of lanes */
  uint8_t *hard;    /* an elementary function of it is in the same kernel */
  uint8_t *stored;  /* PACK_STORED */
  pass_constant_values constants;
} values;

/* Is it in memory whatever is chosen here? */
static bool has_memory(const ir_node *n) {
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_LEAF: return n->op != IR_OP_CONST && n->op != IR_OP_IOTA;
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY: return n->op == IR_OP_STORED;
  case IR_CLASS_VIEW:
  case IR_CLASS_REDUCE: return false;
  case IR_CLASS_INDIRECT: return ir_is_scatter((ir_op)n->op);
  default: return true;
  }
}

/* Is it the product of two values, as the terms of a contraction are? */
static bool is_product(const ir_graph *g, ir_ref term) {
  const ir_node *n = ir_get(g, term);
  return pass_is_product(g, term) || (n->op == IR_OP_MUL && n->src[0] != n->src[1]);
}

/* The indices for which an expanded operand is read without being evaluated again: those of axes behind all
 * axes that it varies along, over which loops run that it is hoisted out of. */
static double hoisted_from(ir_graph *g, ir_ref expand) {
  ir_ref operand = ir_src(g, expand, 0);
  uint32_t rank = ir_rank(g, expand), first = ir_rank(g, operand), lead = rank - first;
  while (first > 0 && ir_bounds_of(g, ir_dim(g, operand, first - 1)).hi == 1) first--;
  double steps = 1;
  for (uint32_t a = first + lead; a < rank; a++) {
    ir_bounds size = ir_bounds_of(g, ir_dim(g, expand, a));
    steps *= size.hi < 1 ? 1 : (double)size.hi;
  }
  return steps;
}

double pass_evaluated_each(ir_graph *g, ir_ref r, uint32_t k) {
  const ir_node *n = ir_get(g, r);
  double all = pass_elements(g, n->src[k]) / pass_elements(g, r);
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_VIEW:
    if (n->op == IR_OP_EXPAND) return 1 / hoisted_from(g, r);
    if (n->op == IR_OP_CONCAT || n->op == IR_OP_STACK || n->op == IR_OP_PAD) return all < 1 ? all : 1;
    return 1;
  case IR_CLASS_REDUCE: return n->op == IR_OP_SUM && is_product(g, n->src[0]) ? all / TILE_REUSE : all;
  case IR_CLASS_INDIRECT: return k > 0 && all < 1 ? all : 1;
  default: return n->op == IR_OP_STORED || pass_is_elementwise(n) ? 1 : all;
  }
}

static bool in_memory(values *v, ir_ref r) {
  return v->stored[r] || has_memory(ir_get(v->g, r)) || pass_is_constant_value(&v->constants, v->g, r);
}

/* What one element of a view or a gather costs: the elements that a vector takes one by one, with a mask for
 * each, where the axis that is gathered along is the innermost one. */
static int cost_of_reading(const values *v, ir_ref r) {
  const ir_node *n = ir_get(v->g, r);
  if (n->op != IR_OP_GATHER) return 0;
  for (uint32_t a = (uint32_t)ir_arg_int(n) + 1; a < ir_rank(v->g, n->src[0]); a++)
    if (ir_bounds_of(v->g, ir_dim(v->g, n->src[0], a)).hi > 1) return 0;
  return GATHERING;
}

/* Costs of one element, where it is computed from what is in memory. */
static void find_costs(values *v) {
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(v->g, r);
    uint32_t cost = (uint32_t)(pass_element_cost(n) + cost_of_reading(v, r));
    bool reduces = ir_ops[n->op].cls == IR_CLASS_REDUCE; /* in memory where it is needed again */
    if (!ir_shape(v->g, r)) continue;
    if (reduces || has_memory(n)) cost = READING;
    for (uint32_t k = 0; k < ir_operand_count(n) && !reduces && !has_memory(n); k++) {
      bool again = k > 0 && n->src[k] == n->src[0];
      if (!again) cost += in_memory(v, n->src[k]) ? (uint32_t)READING : v->cost[n->src[k]];
    }
    v->cost[r] = (uint16_t)(cost < MAX_COST ? cost : (uint32_t)MAX_COST);
  }
}

/* The value before it was converted to more bytes. */
static ir_ref narrowest(const values *v, ir_ref r) {
  while (v->kept[r] == WIDENED && ir_op_of(v->g, r) == IR_OP_CAST) r = ir_src(v->g, r, 0);
  return r;
}

static bool is_elementary(const ir_node *n) { return pass_element_cost(n) >= SCHEDULE_MIN_STORED_COST; }

/* A kernel has tiles for one product. Where an elementwise operation combines several, as a gate and what it
 * lets through, all but the last are stored. So is one of few terms before an elementary function: that takes
 * most of the time, and its registers are the tile's. */
static void separate_products(values *v) {
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i], last = 0;
    const ir_node *n = ir_get(v->g, r);
    if (n->op == IR_OP_SUM && pass_may_reuse(v->g, r))
      v->product[r] = pass_elements(v->g, n->src[0]) < MANY_TERMS * pass_elements(v->g, r) ? SHORT : PRODUCT;
    bool view = ir_ops[n->op].cls == IR_CLASS_VIEW;
    for (uint32_t k = 0; k < ir_operand_count(n) && (view || pass_is_elementwise(n)); k++) {
      ir_ref below = n->src[k];
      if (!v->product[below]) continue;
      while (ir_ops[ir_op_of(v->g, below)].cls == IR_CLASS_VIEW) below = ir_src(v->g, below, 0);
      if (v->product[below] == SEPARATE) continue;
      if (last && last != below) v->product[last] = SEPARATE;
      if (v->product[below] == SHORT && is_elementary(n)) {
        v->product[narrowest(v, below)] = SEPARATE;
        continue;
      }
      last = below;
      v->product[r] = v->product[below];
    }
  }
}

/* lanes behind views */

static double size_of(const values *v, ir_ref r, uint32_t axis) {
  ir_bounds size = ir_bounds_of(v->g, ir_dim(v->g, r, axis));
  return size.hi < 1 ? 1 : (double)size.hi;
}

/* How many elements of the view follow one another in its operand as well, at most. */
static double run_of(const values *v, ir_ref view) {
  ir_graph *g = v->g;
  const ir_node *n = ir_get(g, view);
  double run = 1;
  bool resizes =
      n->op == IR_OP_SHRINK || n->op == IR_OP_PAD || n->op == IR_OP_STRIDE || n->op == IR_OP_CONCAT;
  for (uint32_t a = ir_rank(g, view); a-- > 0;) {
    double here = size_of(v, view, a), below = resizes ? size_of(v, n->src[0], a) : here;
    if (n->op == IR_OP_PERMUTE && (uint32_t)ir_get(g, n->src[1 + a])->arg != a && here > 1)
      return run > 1 ? run : MIN_RUN; /* a transposition has tiles, and lanes along the other axis */
    run *= here < below ? here : below;
    if (here != below) return run;
    if (n->op == IR_OP_FLIP) return run; /* rows are reversed one by one */
  }
  return run;
}

/* Elementary functions have as many lanes as elements follow one another in all that a kernel reads. Where
 * rows that a view moves are too short for them, the view is stored, and what it is made of before. */
static void separate_short_rows(values *v) {
  ir_graph *g = v->g;
  for (size_t i = v->count; i-- > 0;) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(g, r);
    bool elementwise = pass_is_elementwise(n), view = ir_ops[n->op].cls == IR_CLASS_VIEW;
    for (uint32_t k = 0; k < ir_operand_count(n) && (elementwise || view); k++) {
      ir_ref top = n->src[k], below = top;
      double run = MIN_RUN;
      v->hard[top] |= v->hard[r] || (elementwise && is_elementary(n));
      while (elementwise && ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW &&
             ir_op_of(g, below) != IR_OP_STACK) {
        double here = run_of(v, below);
        if (ir_op_of(g, below) != IR_OP_EXPAND && here < run) run = here;
        below = ir_src(g, below, 0);
      }
      if (run >= MIN_RUN || !v->hard[top] || pass_elements(g, top) * ROW_COST < KERNEL) continue;
      v->product[top] = SEPARATE;
      if (pass_is_elementwise(ir_get(g, below)) && v->cost[below] >= SCHEDULE_MIN_STORED_COST)
        v->product[below] = SEPARATE;
    }
  }
}

static bool is_chosen(const values *v, ir_ref r) {
  ir_graph *g = v->g;
  const ir_node *n = ir_get(g, r);
  bool gathers = cost_of_reading(v, r) > 0;
  if ((!pass_is_elementwise(n) && !gathers) || v->kept[r] || !ir_rank(g, r)) return false;
  double elements = pass_elements(g, r), evaluations = v->evaluations[r], cost = v->cost[r];
  if (evaluations <= elements ||
      (!(v->epilogue[r] & PASS_EPILOGUE) && evaluations < (gathers ? 2 : MIN_TIMES) * elements))
    return false;
  bool far = elements * ir_dtypes[n->dtype].bytes > FAR_BYTES;
  double writing = v->epilogue[r] & PASS_EPILOGUE ? 0
                   : far                          ? FAR_WRITING
                                                  : WRITING, /* the sum is in memory otherwise */
      stored = elements * (cost + writing) + evaluations * READING;
  return evaluations * cost > MIN_GAIN * stored + KERNEL;
}

/* Adds what node r evaluates of its operands. All its users have been visited. */
static void evaluate_operands(values *v, ir_ref r) {
  ir_graph *g = v->g;
  const ir_node *n = ir_get(g, r);
  bool later = v->kept[r] == KEPT && pass_is_elementwise(n) && v->cost[r] >= SCHEDULE_MIN_STORED_COST &&
               v->evaluations[r] > pass_elements(g, r); /* scheduling stores it */
  bool memory = in_memory(v, r) || later, tensor = ir_shape(g, r) != 0,
       repeated = ir_ops[n->op].cls == IR_CLASS_REDUCE && v->evaluations[r] > pass_elements(g, r);
  bool own = memory || repeated || !pass_is_elementwise(n) || v->recomputed[r] || !v->place[r];
  double each = !tensor ? 0 : memory || repeated ? pass_elements(g, r) : v->evaluations[r];
  for (uint32_t k = 0; k < (tensor ? ir_operand_count(n) : n->nsrc); k++) {
    ir_ref operand = n->src[k], place = own ? r : v->place[r];
    if (!ir_shape(g, operand)) continue;
    double some = tensor ? each * pass_evaluated_each(g, r, k) : pass_elements(g, operand);
    bool shared = v->place[operand] && v->place[operand] == place;
    if (shared) v->evaluations[operand] = some > v->evaluations[operand] ? some : v->evaluations[operand];
    else v->evaluations[operand] += some;
    if (v->place[operand] && !shared) v->recomputed[operand] = 1;
    v->place[operand] = place;
  }
}

static bool choose(values *v) {
  bool any = false;
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    v->evaluations[r] = 0, v->place[r] = 0, v->recomputed[r] = 0;
  }
  for (size_t i = v->count; i-- > 0;) {
    ir_ref r = v->live[i];
    bool separate = v->product[r] == SEPARATE && !v->kept[r];
    v->stored[r] = ir_shape(v->g, r) && (separate || is_chosen(v, r)) ? PACK_STORED : 0;
    any |= v->stored[r];
    evaluate_operands(v, r);
  }
  return any;
}

/* Is the value computed from indices alone? */
static bool is_of_indices(const values *v, ir_ref r) {
  ir_op op = ir_op_of(v->g, r);
  return op == IR_OP_IOTA || op == IR_OP_CONST || v->kept[r] == OF_INDICES;
}

/* Does it select by indices alone? */
static bool is_mask(const values *v, const ir_node *n) {
  return n->op == IR_OP_WHERE && v->kept[n->src[0]] == OF_INDICES;
}

/* Is it narrow integers, converted and perhaps moved by a zero point? Products read them in pairs, matrix
 * instructions as they are. */
static bool is_widened(const values *v, const ir_node *n) {
  ir_graph *g = v->g;
  if (n->op == IR_OP_CAST) return ir_dtypes[n->dtype].bytes > ir_dtypes[ir_dtype_of(g, n->src[0])].bytes;
  bool widened = pass_is_elementwise(n) && !ir_is_float((ir_dtype)n->dtype);
  for (uint32_t k = 0; k < ir_operand_count(n) && widened; k++) {
    ir_ref below = n->src[k];
    while (ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW) below = ir_src(g, below, 0);
    widened = !ir_rank(g, below) || v->kept[below] == WIDENED;
  }
  return widened;
}

/* Loops end where masks that depend on indices alone begin (passes/fold/causal_end.c), if the kernel that
 * reads a value sees its mask. */
static void keep_masked(values *v) {
  for (size_t i = 0; i < v->count; i++) {
    const ir_node *n = ir_get(v->g, v->live[i]);
    bool elementwise = pass_is_elementwise(n), indices = true, masked = false;
    if ((!elementwise && ir_ops[n->op].cls != IR_CLASS_VIEW) || !ir_shape(v->g, v->live[i])) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      indices &= is_of_indices(v, n->src[k]);
      masked |= v->kept[n->src[k]] == KEPT;
    }
    masked |= is_mask(v, n);
    if (is_widened(v, n)) v->kept[v->live[i]] = WIDENED;
    if (indices) v->kept[v->live[i]] = OF_INDICES;
    else if (masked) v->kept[v->live[i]] = KEPT;
  }
  /* what is masked, down to the reduction that need not compute all of it */
  for (size_t i = v->count; i-- > 0;) {
    const ir_node *n = ir_get(v->g, v->live[i]);
    bool elementwise = pass_is_elementwise(n), mask = is_mask(v, n);
    if ((!elementwise && ir_ops[n->op].cls != IR_CLASS_VIEW) || !(mask || v->kept[v->live[i]] == BELOW_MASK))
      continue;
    for (uint32_t k = mask; k < ir_operand_count(n); k++)
      if (!v->kept[n->src[k]]) v->kept[n->src[k]] = BELOW_MASK;
  }
}

/* Softmax over long rows is computed in blocks of terms, in which its weights are computed where they are
 * used (passes/patterns/online_softmax.h). */
static void keep_weights(values *v) {
  pass_rescaled rescaled;
  for (size_t i = 0; i < v->count; i++) {
    if (ir_op_of(v->g, v->live[i]) != IR_OP_SUM || !pass_rescaled_of(v->g, v->live[i], &rescaled)) continue;
    for (uint32_t k = 0; k < rescaled.depth; k++) v->kept[rescaled.path[k].node] = KEPT;
    v->kept[rescaled.weight] = v->kept[ir_src(v->g, rescaled.weight, 0)] = KEPT;
  }
}

ir_ref pass_store_recomputed(ir_graph *g, ir_ref results) {
  values v = {.g = g};
  size_t nodes = (size_t)results + 1;
  ir_ref root = 0, *map = ir_alloc(g->mem, nodes * sizeof *map);
  enum { TABLES = 9 }; /* arrays by node: those whose sizes follow */
  void *table[TABLES] = {NULL};
  static const size_t sizes[TABLES] = {sizeof *v.evaluations, sizeof *v.cost,     sizeof *v.place,
                                       sizeof *v.recomputed,  sizeof *v.epilogue, sizeof *v.kept,
                                       sizeof *v.product,     sizeof *v.hard,     sizeof *v.stored};
  bool good = map != NULL;
  for (int i = 0; i < TABLES && good; i++) {
    good = (table[i] = ir_alloc(g->mem, nodes * sizes[i])) != NULL;
    if (good) memset(table[i], 0, nodes * sizes[i]);
  }
  v.evaluations = table[0], v.cost = table[1], v.place = table[2], v.recomputed = table[3];
  v.epilogue = table[4], v.kept = table[5], v.product = table[6], v.stored = table[7], v.hard = table[8];
  if (good && ir_reachable_inside(g, &results, 1, &v.live, &v.count, &v.cap) == IR_OK) {
    pass_epilogues(g, v.live, v.count, NULL, 0, v.epilogue);
    keep_masked(&v);
    keep_weights(&v);
    separate_products(&v);
    find_costs(&v);
    separate_short_rows(&v);
    bool any = choose(&v);
    if (any) find_costs(&v), any = choose(&v);
    if (!any) root = results;
    else if (pack_store_values(g, v.live, v.count, v.stored, map)) root = map[results];
  }
  if (!root)
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory storing values that are computed again and again");
  for (int i = 0; i < TABLES; i++) ir_free(g->mem, table[i], table[i] ? nodes * sizes[i] : 0);
  ir_free(g->mem, map, map ? nodes * sizeof *map : 0);
  ir_free(g->mem, v.live, v.cap * sizeof *v.live);
  pass_constant_values_free(&v.constants, g);
  return root;
}
