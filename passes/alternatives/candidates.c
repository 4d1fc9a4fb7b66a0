/* Which values of a kernel may be worth storing, as far as the graph tells. The loops of the two kernels that
 * come of it are made and compared afterwards: this only says what to try first, and how long the kernel
 * would take at the least. Costs are in operations of one instruction for each vector, as in
 * fuse/recomputed.c. */
#include "alternatives.h"

#include "passes/cost/cost.h"
#include "passes/fuse/recomputed.h"
#include "passes/fuse/stored.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <stdlib.h>

/* What an access costs more below a view, for each element, beside COST_GATHERING and COST_MASKING. */
enum {
  TRANSPOSED = 8,     /* loads of single elements, or shuffles */
  DIVIDED = 2,        /* quotients of indices, or short rows */
  LANES_LOST = 2,     /* times what else is computed, where one access leaves few lanes */
  MOST_GROWTH = 4,    /* times the bytes that the kernel moves: a value that takes more is not stored */
  VECTORS_EACH_NS = 5 /* operations: two in each cycle of 2.5 GHz */
};
/* Bytes for each nanosecond, of one core of a server: L2_RATE from its L2 cache, L3_RATE from the last one,
 * MEMORY_RATE from memory. */
static const double L2_RATE = 80, L3_RATE = 35, MEMORY_RATE = 10;

static bool is_view(const ir_node *n) { return ir_ops[n->op].cls == IR_CLASS_VIEW; }

static int64_t most(ir_graph *g, ir_ref tensor, uint32_t axis) {
  return ir_bounds_of(g, ir_dim(g, tensor, axis)).hi;
}

/* The innermost axis of more than one element; the rank: there is none. */
static uint32_t innermost(ir_graph *g, ir_ref tensor) {
  uint32_t rank = ir_rank(g, tensor), a = rank;
  while (a > 0 && most(g, tensor, a - 1) == 1) a--;
  return a ? a - 1 : rank;
}

/* Do only axes of one element come or go? */
static bool keeps_sizes(ir_graph *g, ir_ref view) {
  ir_ref below = ir_src(g, view, 0);
  uint32_t i = 0, k = 0, rank = ir_rank(g, view), from = ir_rank(g, below);
  for (;; i++, k++) {
    while (i < rank && most(g, view, i) == 1) i++;
    while (k < from && most(g, below, k) == 1) k++;
    if (i == rank || k == from) return i == rank && k == from;
    if (ir_dim(g, view, i) != ir_dim(g, below, k)) return false;
  }
}

/* Are rows of the view, of elements in sequence or of one element, so short that they fill no half of a
 * vector of f32? */
static bool has_short_runs(ir_graph *g, ir_ref expand) {
  ir_ref below = ir_src(g, expand, 0);
  uint32_t rank = ir_rank(g, expand), lead = rank - ir_rank(g, below);
  int64_t run = 1;
  bool repeats = false;
  for (uint32_t a = rank; a-- > 0;) {
    int64_t size = most(g, expand, a);
    if (size == 1) continue;
    bool here = a < lead || most(g, below, a - lead) == 1;
    if (run > 1 && here != repeats) return run < PASS_HALF_VECTOR;
    repeats = here, run *= size < PASS_HALF_VECTOR ? size : PASS_HALF_VECTOR;
    if (run >= PASS_HALF_VECTOR) return false;
  }
  return false;
}

static double irregularity(ir_graph *g, ir_ref r) {
  const ir_node *n = ir_get(g, r);
  uint32_t last = innermost(g, r), rank = ir_rank(g, r);
  if (last == rank || (!is_view(n) && ir_ops[n->op].cls != IR_CLASS_INDIRECT)) return 0;
  switch ((int)n->op) {
  case IR_OP_GATHER: return (uint32_t)ir_arg_int(n) < innermost(g, n->src[0]) ? DIVIDED : COST_GATHERING;
  case IR_OP_PAD:
  case IR_OP_CONCAT:
  case IR_OP_STACK: return COST_MASKING;
  case IR_OP_PERMUTE:
    return (uint32_t)ir_get(g, n->src[1 + last])->arg != innermost(g, n->src[0]) ? TRANSPOSED : 0;
  case IR_OP_EXPAND: return has_short_runs(g, r) ? DIVIDED : 0;
  case IR_OP_STRIDE: return ir_dim(g, r, last) != ir_dim(g, n->src[0], last) ? TRANSPOSED : 0;
  case IR_OP_SHRINK: return 0;
  case IR_OP_FLIP: return 1;
  default: return keeps_sizes(g, r) ? 0 : DIVIDED;
  }
}

/* Has a reduction rows of neighbours, all of them terms of one result or all of different results, that fill
 * no vector? What is computed for them fills as few lanes. */
static bool has_short_rows(ir_graph *g, ir_ref r) {
  const ir_node *n = ir_get(g, r);
  if (ir_ops[n->op].cls != IR_CLASS_REDUCE) return false;
  ir_ref below = n->src[0];
  int64_t row = 1, lanes = IR_CACHE_LINE_BYTES / ir_dtypes[ir_dtype_of(g, below)].bytes;
  uint32_t axis = innermost(g, below);
  if (axis == ir_rank(g, below)) return false;
  bool reduced = ir_reduces_axis(g, n, axis);
  for (axis++; axis-- > 0 && row < lanes; row *= most(g, below, axis))
    if (most(g, below, axis) > 1 && ir_reduces_axis(g, n, axis) != reduced) return true;
  return false;
}

/* Is it a sum of products? One that takes much longer than it has to has no register tile, in which an
 * operand would be computed once for several results. */
static bool sums_products(const ir_graph *g, ir_ref r) {
  ir_op term = ir_op_of(g, r) == IR_OP_SUM ? ir_op_of(g, ir_src(g, r, 0)) : IR_OP_SUM;
  return term == IR_OP_MUL || term == IR_OP_FMA;
}

/* the nodes that are fused */

static int users_first(const void *a, const void *b) {
  const alternatives_node *x = a, *y = b;
  return x->node < y->node ? 1 : x->node > y->node ? -1 : 0;
}

static bool add(pass_alternatives *a, ir_ref node, bool root) {
  alternatives_fused *f = &a->fused;
  if (a->mark[node]) {
    f->nodes[a->mark[node] - 1].root |= root;
    return true;
  }
  if (f->count == ALTERNATIVES_FUSED) return false;
  bool leaf = !root && (a->slot_of[node] || schedule_is_leaf(ir_op_of(a->g, node)));
  f->nodes[f->count] = (alternatives_node){.node = node, .root = root, .leaf = leaf};
  f->nodes[f->count++].elements = pass_elements(a->g, node);
  a->mark[node] = f->count;
  return true;
}

static bool list_nodes(pass_alternatives *a, const ir_step *step) {
  alternatives_fused *f = &a->fused;
  bool fits = true;
  for (uint32_t i = 0; i < step->row_group.count && fits; i++)
    if (!step->row_group.values[i].copied) fits = add(a, step->row_group.values[i].value, true);
  if (!step->row_group.count) fits = add(a, step->kernel, true);
  for (uint32_t i = 0; i < f->count && fits; i++) {
    const ir_node *n = ir_get(a->g, f->nodes[i].node);
    for (uint32_t k = 0; k < ir_operand_count(n) && !f->nodes[i].leaf && fits; k++)
      if (ir_shape(a->g, n->src[k])) fits = add(a, n->src[k], false);
  }
  for (uint32_t i = 0; i < f->count; i++) a->mark[f->nodes[i].node] = 0;
  return fits;
}

static alternatives_node *find(pass_alternatives *a, ir_ref node) {
  return a->mark[node] ? &a->fused.nodes[a->mark[node] - 1] : NULL;
}

/* Has the kernel a reduction? Then it is one domain: operands of joins and pads are evaluated at all points,
 * and selected (passes/domain/peel.c). */
static bool is_one_domain(const pass_alternatives *a) {
  bool reduces = false;
  for (uint32_t i = 0; i < a->fused.count && !reduces; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    reduces = !f->leaf && ir_ops[ir_op_of(a->g, f->node)].cls == IR_CLASS_REDUCE;
  }
  return reduces;
}

/* Sets evaluations and `above` of the operands of f. */
static void pass_down(pass_alternatives *a, const alternatives_node *f, bool one_domain) {
  const ir_node *n = ir_get(a->g, f->node);
  double each = f->root ? f->elements : f->evaluations,
         above = (f->root ? 0 : f->above) + irregularity(a->g, f->node) +
                 (has_short_rows(a->g, f->node) || sums_products(a->g, f->node) ? DIVIDED : 0);
  bool elementwise = pass_is_elementwise(n);
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    alternatives_node *below = ir_shape(a->g, n->src[k]) ? find(a, n->src[k]) : NULL;
    if (!below) continue;
    bool joins = n->op == IR_OP_CONCAT || n->op == IR_OP_STACK || n->op == IR_OP_PAD;
    double some = joins && one_domain ? each : each * pass_evaluated_each(a->g, f->node, k);
    /* elementwise users at the points of one value share what they evaluate */
    if (!elementwise) below->evaluations += some;
    else if (some > below->evaluations) below->evaluations = some;
    if (above > below->above) below->above = above;
  }
}

static double bounded(double cost) { return cost < COST_MOST ? cost : (double)COST_MOST; }

/* Sums up what is fused into f. */
static void sum_up(pass_alternatives *a, alternatives_node *f) {
  const ir_node *n = ir_get(a->g, f->node);
  if (f->leaf) {
    f->accesses = 1;
    return;
  }
  bool reduces = ir_ops[n->op].cls == IR_CLASS_REDUCE;
  double terms = reduces ? pass_elements(a->g, n->src[0]) / f->elements : 1;
  f->below = reduces ? terms : pass_element_cost(n);
  f->irregular = irregularity(a->g, f->node);
  f->computed = !is_view(n);
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    const alternatives_node *below = ir_shape(a->g, n->src[k]) ? find(a, n->src[k]) : NULL;
    if (!below) continue;
    double times = k == 0 ? terms : 1;
    f->after |= below->root || below->after;
    f->computed |= below->computed;
    f->below += below->root ? 0 : times * below->below;
    f->accesses += below->root ? 1 : times * below->accesses;
    f->irregular += below->root ? 0 : times * below->irregular;
  }
  f->below = reduces ? f->below : bounded(f->below);
  f->accesses = reduces ? f->accesses : bounded(f->accesses);
  f->irregular = reduces ? f->irregular : bounded(f->irregular);
}

static double bytes_of(const ir_graph *g, const alternatives_node *f) {
  return f->elements * ir_dtypes[ir_dtype_of(g, f->node)].bytes;
}

static double operations_of(pass_alternatives *a, const alternatives_node *f) {
  const ir_node *n = ir_get(a->g, f->node);
  if (f->leaf || pass_is_product(a->g, f->node)) return 0; /* a product is added up in one instruction */
  return ir_ops[n->op].cls == IR_CLASS_REDUCE ? pass_elements(a->g, n->src[0])
                                              : f->elements * pass_element_cost(n);
}

static double moved_bytes(const pass_alternatives *a) {
  double bytes = 0;
  for (uint32_t i = 0; i < a->fused.count; i++)
    if (a->fused.nodes[i].leaf || a->fused.nodes[i].root) bytes += bytes_of(a->g, &a->fused.nodes[i]);
  return bytes;
}

/* Sets least_ns. */
static void find_least(pass_alternatives *a) {
  double computing = 0, bytes = moved_bytes(a);
  for (uint32_t i = 0; i < a->fused.count; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    int width = ir_dtypes[ir_dtype_of(a->g, f->node)].bytes;
    double lanes = (double)a->target->vector_bytes / (width < 4 ? 4 : width);
    computing += operations_of(a, f) / (lanes * VECTORS_EACH_NS);
  }
  double moving = bytes / (bytes <= (double)a->target->l2_bytes   ? L2_RATE
                           : bytes <= (double)a->target->l3_bytes ? L3_RATE
                                                                  : MEMORY_RATE);
  a->fused.least_ns = computing > moving ? computing : moving;
}

bool alternatives_find_fused(pass_alternatives *a, const ir_step *step) {
  alternatives_fused *f = &a->fused;
  f->count = 0;
  bool copies = !step->row_group.count && a->slot_of[step->kernel] != step->slots[0] + 1;
  if (copies || ir_op_of(a->g, step->kernel) == IR_OP_ASSIGN || !list_nodes(a, step)) return false;
  qsort(f->nodes, f->count, sizeof *f->nodes, users_first);
  for (uint32_t i = 0; i < f->count; i++) a->mark[f->nodes[i].node] = i + 1;
  bool one_domain = is_one_domain(a);
  for (uint32_t i = 0; i < f->count; i++)
    if (!f->nodes[i].leaf) pass_down(a, &f->nodes[i], one_domain);
  for (uint32_t i = f->count; i-- > 0;) sum_up(a, &f->nodes[i]);
  for (uint32_t i = 0; i < f->count; i++) a->mark[f->nodes[i].node] = 0;
  find_least(a);
  return true;
}

/* what to try */

/* A product is rounded once with the sum that it is a term of. */
static bool is_term(const ir_graph *g, ir_ref value) {
  while (is_view(ir_get(g, value))) value = ir_src(g, value, 0);
  return pass_is_product(g, value);
}

static bool may_be_stored(pass_alternatives *a, const alternatives_node *f, double bytes) {
  const ir_node *n = ir_get(a->g, f->node);
  bool renames = is_view(n) && irregularity(a->g, f->node) == 0;
  return f->computed && !f->root && !f->after && !renames && !is_term(a->g, f->node) && f->accesses > 0 &&
         ir_rank(a->g, f->node) && bytes_of(a->g, f) <= MOST_GROWTH * bytes;
}

/* Operations that it saves to store the value. */
static double promise_of(const alternatives_node *f, double all, bool irregular) {
  double fused = f->evaluations * (f->below + f->accesses * (1 + f->above) + f->irregular),
         stored = f->elements * (f->below + f->accesses + f->irregular + COST_WRITING) +
                  f->evaluations * (1 + f->above),
         own = f->evaluations * f->below, lanes = 0;
  if (f->irregular > 0 && f->above == 0) lanes = all - own;
  if (f->irregular == 0 && irregular) lanes = own;
  return fused - stored + LANES_LOST * lanes;
}

uint32_t alternatives_candidates(pass_alternatives *a, ir_ref *values, uint32_t room) {
  double promises[ALTERNATIVES_TRIED], all = 0, bytes = moved_bytes(a);
  uint32_t count = 0;
  bool irregular = false; /* below the kernel's values, or beside them */
  for (uint32_t i = 0; i < a->fused.count; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    if (f->root) all += f->elements * f->below;
    irregular |= f->irregular > 0 || f->above > 0;
  }
  for (uint32_t i = 0; i < a->fused.count; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    if (!may_be_stored(a, f, bytes)) continue;
    double promise = promise_of(f, all, irregular);
    uint32_t at = count;
    while (at > 0 && promises[at - 1] < promise) at--;
    if ((promise <= 0 && !a->always) || at == room) continue;
    if (count < room) count++;
    for (uint32_t k = count - 1; k > at; k--) promises[k] = promises[k - 1], values[k] = values[k - 1];
    promises[at] = promise, values[at] = f->node;
  }
  return count;
}
