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
 * Values are also stored for the sake of products (separate_products.c) and lanes (short_rows.c), and kept
 * where they are whatever they cost (kept_values.c).
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
  READING = 1,         /* from a cache */
  GATHERING = 16,      /* an index, a mask and a load for each element */
  WRITING = 2,         /* and what the reader waits for it */
  FAR_WRITING = 24,    /* where the values do not stay in the L2 cache */
  FAR_BYTES = 1 << 20, /* of such values: an L2 cache of 1 MiB */
  MAX_COST = 1 << 10   /* of one element: where values are shared, sums along all paths grow without limit */
};
/* Elements that a register tile makes of one that it loads: it has 4 rows at least (docs/contractions.md). */
static const double TILE_REUSE = 4;
static const double MIN_GAIN = 1.25; /* costs are estimates */
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
static double hoisted_from(const fuse_values *v, ir_ref expand) {
  ir_graph *g = v->g;
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

/* How many elements of operand k are evaluated for one of the node. */
static double evaluated_each(const fuse_values *v, ir_ref r, uint32_t k) {
  ir_graph *g = v->g;
  const ir_node *n = ir_get(g, r);
  double all = pass_elements(g, n->src[k]) / pass_elements(g, r);
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_VIEW:
    if (n->op == IR_OP_EXPAND) return 1 / hoisted_from(v, r);
    if (n->op == IR_OP_CONCAT || n->op == IR_OP_STACK || n->op == IR_OP_PAD) return all < 1 ? all : 1;
    return 1;
  case IR_CLASS_REDUCE: return n->op == IR_OP_SUM && is_product(g, n->src[0]) ? all / TILE_REUSE : all;
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
  return GATHERING;
}

/* Costs of one element, where it is computed from what is in memory. */
static void find_costs(fuse_values *v) {
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

static bool is_chosen(const fuse_values *v, ir_ref r) {
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
  return evaluations * cost > MIN_GAIN * stored + FUSE_KERNEL_COST;
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
  for (uint32_t k = 0; k < (tensor ? ir_operand_count(n) : n->nsrc); k++) {
    ir_ref operand = n->src[k], place = own ? r : v->place[r];
    if (!ir_shape(g, operand)) continue;
    double some = tensor ? each * evaluated_each(v, r, k) : pass_elements(g, operand);
    bool shared = v->place[operand] && v->place[operand] == place;
    if (shared) v->evaluations[operand] = some > v->evaluations[operand] ? some : v->evaluations[operand];
    else v->evaluations[operand] += some;
    if (v->place[operand] && !shared) v->recomputed[operand] = 1;
    v->place[operand] = place;
  }
}

static bool choose(fuse_values *v) {
  bool any = false;
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    v->evaluations[r] = 0, v->place[r] = 0, v->recomputed[r] = 0;
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

ir_ref pass_store_recomputed(ir_graph *g, ir_ref results) {
  fuse_values v = {.g = g};
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
    fuse_keep_masked(&v);
    fuse_keep_weights(&v);
    fuse_separate_products(&v);
    find_costs(&v);
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
