/* Values that would be computed again and again where they are read: each is stored once instead, before
 * packing looks at what products read.
 *
 *   evaluations   how many elements of a value the kernels that read it compute, where it is fused into them
 *   cost          of one of these, in operations of one instruction for each vector
 *   masks         what its joins, pads and gathers add to that inside reductions, whose loops are not split
 *                 where conditions change, as those of a value's own kernel are (passes/domain/peel.c)
 *
 * Both are sums over the graph: an elementwise operation evaluates each operand once for each evaluation of
 * its own, a view as well, a reduction once for each of its terms; users at the points of one value share
 * what they evaluate (passes/patterns/recompute.h). What is stored is evaluated once for each element. A
 * value is stored where
 *
 *   evaluations * (cost + masks)  >  MIN_GAIN * (elements * (cost + writing) + evaluations * reading)
 *
 * by at least what a kernel costs. The cost of a value depends on what is stored below it, and that on the
 * evaluations above: so the choice is made twice, from users to operands, the second time with the costs that
 * follow from the first one.
 *
 * Values are also stored for the sake of products (separate_products.c), registers (chains.c) and lanes
 * (short_rows.c, row_results.c, reduced_functions.c), and kept where they are whatever they cost
 * (kept_values.c).
 *
 * Sizes and the graph decide, not the machine at hand: whether an operand is stored has a part in whether a
 * sum of products is recognised as one (passes/patterns/contraction.h), and so in the order of additions. */
#include "recomputed.h"

#include "passes/fuse/values.h"
#include "passes/pack/pack.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"
#include "passes/patterns/recompute.h"

#include <string.h>

/* Costs, in operations on an element of 4 bytes. An AVX-512 processor starts two operations on 16 elements in
 * each cycle, and takes two vectors from its L1 cache, or one of half the size from L2; from memory it takes
 * 2 to 4 bytes for each core and cycle. */
enum {
  READING = 1,      /* from a cache */
  FAR_WRITING = 24, /* where the values do not stay in the L2 cache */
  MAX_LOOPED = 2    /* one and several are told apart */
};
/* Elements that a register tile makes of one that it loads: it has 4 rows at least (docs/contractions.md). */
static const double TILE_REUSE = 4;
/* Costs are estimates. Of the workloads and 120 random graphs of 20 to 200 operations 1.0 in its place
 * changes 44, 1.6 51; of 24 of them that were measured (Zen 4, one thread) 16 take as long within 3 %, and
 * neither number is better for the others. */
static const double MIN_GAIN = 1.25;
/* Evaluations of each element from which on a value is stored here, if it is no epilogue of a reduction.
 * Where two kernels read it, scheduling decides: they may become one (passes/fuse/stored.c, row_group.c). */
static const double MIN_TIMES = 3;

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
  case IR_CLASS_INDIRECT: return n->op == IR_OP_ASSIGN;
  default: return true;
  }
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
  case IR_CLASS_REDUCE: return pass_may_reuse(g, r) ? all / TILE_REUSE : all;
  case IR_CLASS_INDIRECT: return k > 0 && all < 1 ? all : 1;
  default: return n->op == IR_OP_STORED || pass_is_elementwise(n) ? 1 : all;
  }
}

static bool in_memory(fuse_values *v, ir_ref r) {
  return v->stored[r] || has_memory(ir_get(v->g, r)) || pass_is_constant_value(&v->constants, v->g, r);
}

/* What one element of a view or a gather costs: the elements that a vector takes one by one, with a mask for
 * each, where the axis that is gathered along is the innermost one. */
static int cost_of_reading(const fuse_values *v, ir_ref r) {
  const ir_node *n = ir_get(v->g, r);
  if (n->op != IR_OP_GATHER) return 0;
  for (uint32_t a = (uint32_t)ir_arg_int(n) + 1; a < ir_rank(v->g, n->src[0]); a++)
    if (ir_bounds_of(v->g, ir_dim(v->g, n->src[0], a)).hi > 1) return 0;
  return COST_GATHERING;
}

/* Is it the pad with which windows are cut out of a repeated axis (passes/ops/compose/window.c)? No index of
 * a window reaches it. */
static bool cuts_windows(const ir_graph *g, const ir_node *pad) {
  ir_ref below = pad->src[0];
  if (ir_op_of(g, below) == IR_OP_RESHAPE) below = ir_src(g, below, 0);
  return ir_op_of(g, below) == IR_OP_EXPAND;
}

/* What one element of a view or a gather costs inside a reduction's loop beyond that: a test for each operand
 * of a join, and for each side of a pad that is no constant. A constant pad alone is masked at its ends,
 * which costs next to nothing. */
static int cost_of_masks(const fuse_values *v, ir_ref r) {
  const ir_node *n = ir_get(v->g, r);
  switch ((int)n->op) {
  case IR_OP_CONCAT:
  case IR_OP_STACK: return COST_MASKING * (int)ir_operand_count(n);
  case IR_OP_PAD:
    return cuts_windows(v->g, n) ? 0 : ir_arg_mode(n) == IR_PAD_CONSTANT ? COST_MASKING : 3 * COST_MASKING;
  case IR_OP_GATHER: return COST_MASKING;
  default: return 0;
  }
}

static uint16_t limited(uint32_t cost) { return (uint16_t)(cost < COST_MOST ? cost : (uint32_t)COST_MOST); }

/* Costs of one element, where it is computed from what is in memory. */
static void find_costs(fuse_values *v) {
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(v->g, r);
    uint32_t cost = (uint32_t)(pass_element_cost(n) + cost_of_reading(v, r)),
             masks = (uint32_t)cost_of_masks(v, r), inside = 0;
    bool joins = n->op == IR_OP_CONCAT || n->op == IR_OP_STACK; /* each element comes from one operand */
    bool reduces = ir_ops[n->op].cls == IR_CLASS_REDUCE;        /* in memory where it is needed again */
    if (!ir_shape(v->g, r)) continue;
    if (reduces || has_memory(n)) cost = READING;
    for (uint32_t k = 0; k < ir_operand_count(n) && !reduces && !has_memory(n); k++) {
      bool again = k > 0 && n->src[k] == n->src[0];
      if (again) continue;
      bool memory = in_memory(v, n->src[k]);
      cost += memory ? (uint32_t)READING : v->cost[n->src[k]];
      uint32_t below = memory ? 0 : v->masks[n->src[k]];
      inside = joins ? (below > inside ? below : inside) : inside + below;
    }
    v->cost[r] = limited(cost);
    v->masks[r] = reduces || has_memory(n) ? 0 : limited(masks + inside);
  }
}

/* Is it a join, more than half of whose elements are computed? Where those are read several times, the join
 * is stored, by one kernel: each of them by one of its own would be copied by another besides. Parts of one
 * value, as of one that is rolled, are in one kernel anyway. */
static bool joins_computed(const fuse_values *v, ir_ref r) {
  const ir_node *n = ir_get(v->g, r);
  double computed = 0;
  if (n->op != IR_OP_CONCAT && n->op != IR_OP_STACK) return false;
  for (uint32_t k = 0; k < ir_operand_count(n); k++)
    if (v->cost[n->src[k]] > READING &&
        (!k || pass_below_views(v->g, n->src[k]) != pass_below_views(v->g, n->src[k - 1])))
      computed += pass_elements(v->g, n->src[k]);
  return 2 * computed > pass_elements(v->g, r);
}

/* How often each element has to be evaluated at least, for the value to be stored here; 0: it never is. */
static double least_times(const fuse_values *v, ir_ref r) {
  const ir_node *n = ir_get(v->g, r);
  bool elementwise = pass_is_elementwise(n), gathers = cost_of_reading(v, r) > 0,
       masked =
           v->looped[r] && v->masks[r] > COST_MASKING && !v->term[r] && (elementwise || cost_of_masks(v, r));
  /* an index costs more than a mask saves */
  bool kept = v->kept[r] && !(gathers && v->kept[r] == FUSE_BELOW_MASK);
  if (kept || !ir_rank(v->g, r)) return 0;
  if (masked || v->epilogue[r] & PASS_EPILOGUE) return 1;
  /* two reductions are two kernels, or read it from memory in one */
  bool costly = fuse_is_elementary(n) && v->looped[r] > 1 &&
                pass_elements(v->g, r) * ir_dtypes[n->dtype].bytes <= FUSE_FAR_BYTES;
  return gathers || costly ? 2 : elementwise || joins_computed(v, r) ? MIN_TIMES : 0;
}

static bool is_chosen(const fuse_values *v, ir_ref r) {
  ir_graph *g = v->g;
  double elements = pass_elements(g, r), evaluations = v->evaluations[r], cost = v->cost[r],
         masks = v->looped[r] ? v->masks[r] : 0, times = least_times(v, r);
  bool epilogue = v->epilogue[r] & PASS_EPILOGUE;
  if (times == 0 || evaluations < times * elements || (evaluations <= elements && (masks == 0 || epilogue)))
    return false;
  bool far = elements * ir_dtypes[ir_dtype_of(g, r)].bytes > FUSE_FAR_BYTES;
  double writing = epilogue ? 0
                   : far    ? FAR_WRITING
                            : COST_WRITING, /* the sum is in memory otherwise */
      stored = elements * (cost + writing) + evaluations * READING;
  return evaluations * (cost + masks) > MIN_GAIN * stored + FUSE_KERNEL_COST;
}

/* Adds what node r evaluates of its operands. All its users have been visited. */
static void evaluate_operands(fuse_values *v, ir_ref r) {
  ir_graph *g = v->g;
  const ir_node *n = ir_get(g, r);
  bool later = v->kept[r] == FUSE_KEPT && pass_is_elementwise(n) && v->cost[r] >= SCHEDULE_MIN_STORED_COST &&
               v->evaluations[r] > pass_elements(g, r); /* scheduling stores it */
  bool memory = in_memory(v, r) || later, tensor = ir_shape(g, r) != 0,
       repeated = ir_ops[n->op].cls == IR_CLASS_REDUCE && v->evaluations[r] > pass_elements(g, r);
  bool own = memory || repeated || !pass_is_elementwise(n) || v->recomputed[r] || !v->place[r];
  double each = !tensor ? 0 : memory || repeated ? pass_elements(g, r) : v->evaluations[r];
  bool tiled = n->op == IR_OP_SUM && pass_may_reuse(g, r); /* packing decides */
  bool passes_on = pass_is_elementwise(n) || ir_ops[n->op].cls == IR_CLASS_VIEW;
  uint8_t looped = memory ? 0 : ir_ops[n->op].cls == IR_CLASS_REDUCE ? !tiled : passes_on ? v->looped[r] : 0;
  for (uint32_t k = 0; k < (tensor ? ir_operand_count(n) : n->nsrc); k++) {
    ir_ref operand = n->src[k], place = own ? r : v->place[r];
    if (!ir_shape(g, operand)) continue;
    double some = tensor ? each * pass_evaluated_each(g, r, k) : pass_elements(g, operand);
    bool shared = v->place[operand] && v->place[operand] == place;
    if (shared) v->evaluations[operand] = some > v->evaluations[operand] ? some : v->evaluations[operand];
    else v->evaluations[operand] += some;
    if (v->place[operand] && !shared) v->recomputed[operand] = 1;
    v->place[operand] = place;
    int count = looped + (shared ? 0 : v->looped[operand]);
    if (count > v->looped[operand]) v->looped[operand] = (uint8_t)(count < MAX_LOOPED ? count : MAX_LOOPED);
  }
}

static bool choose(fuse_values *v) {
  bool any = false;
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    v->evaluations[r] = 0, v->place[r] = 0, v->recomputed[r] = 0, v->looped[r] = 0;
  }
  for (size_t i = v->count; i-- > 0;) {
    ir_ref r = v->live[i];
    bool separate = v->product[r] == FUSE_SEPARATE && !v->kept[r];
    v->stored[r] = ir_shape(v->g, r) && (separate || is_chosen(v, r)) ? PACK_STORED : 0;
    any |= v->stored[r];
    evaluate_operands(v, r);
  }
  return any;
}

ir_ref pass_store_recomputed(ir_graph *g, ir_ref results, const pass_strategy *strategy) {
  fuse_values v = {.g = g};
  size_t nodes = (size_t)results + 1;
  ir_ref root = 0, *map = ir_alloc(g->mem, nodes * sizeof *map);
  enum { TABLES = 15 }; /* arrays by node: those whose sizes follow */
  void *table[TABLES] = {NULL};
  static const size_t sizes[TABLES] = {
      sizeof *v.evaluations, sizeof *v.cost,    sizeof *v.place, sizeof *v.recomputed, sizeof *v.epilogue,
      sizeof *v.kept,        sizeof *v.product, sizeof *v.hard,  sizeof *v.stored,     sizeof *v.masks,
      sizeof *v.looped,      sizeof *v.chained, sizeof *v.sum,   sizeof *v.term,       sizeof(uint8_t)};
  bool good = map != NULL;
  for (int i = 0; i < TABLES && good; i++) {
    good = (table[i] = ir_alloc(g->mem, nodes * sizes[i])) != NULL;
    if (good) memset(table[i], 0, nodes * sizes[i]);
  }
  v.evaluations = table[0], v.cost = table[1], v.place = table[2], v.recomputed = table[3];
  v.epilogue = table[4], v.kept = table[5], v.product = table[6], v.hard = table[7], v.stored = table[8];
  v.masks = table[9], v.looped = table[10], v.chained = table[11], v.sum = table[12], v.term = table[13];
  if (good && ir_reachable_inside(g, &results, 1, &v.live, &v.count, &v.cap) == IR_OK) {
    pass_epilogues(g, v.live, v.count, NULL, 0, v.epilogue);
    fuse_keep_masked(&v);
    fuse_keep_weights(&v);
    fuse_separate_products(&v);
    find_costs(&v);
    fuse_separate_chains(&v, strategy->separates_functions);
    if (strategy->separates_functions) fuse_separate_row_results(&v, table[14]);
    if (strategy->separates_functions) fuse_separate_reduced_functions(&v);
    fuse_separate_short_rows(&v);
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
