/* Which values of a kernel may be worth storing, as far as the graph tells. The loops of the two kernels that
 * come of it are made and compared afterwards: this only says what to try first, and how long the kernel
 * would take at the least. Costs are in operations of one instruction for each vector, as in
 * fuse/recomputed.c. */
#include "alternatives.h"

#include "passes/cost/cost.h"
#include "passes/cost/kernel_time.h"
#include "passes/fuse/recomputed.h"
#include "passes/fuse/stored.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <math.h>
#include <stdlib.h>

/* What an access costs more below a view, for each element, beside COST_GATHERING and COST_MASKING. */
enum {
  TRANSPOSED = 8, /* loads of single elements, or shuffles */
  DIVIDED = 2,    /* quotients of indices, or short rows */
  LANES_LOST = 2, /* times what else is computed, where one access leaves few lanes */
  /* times the bytes that the kernel moves: a value that takes more is not stored. Of the workloads and 120
   * random graphs 2 in its place changes four, to 0.99 to 1.06 times the time, 16 one, to 1.14 */
  MOST_GROWTH = 8,
  MOST_REPEATS = 2,   /* times the elements below views: of more, the same is stored without these views */
  VECTORS_EACH_NS = 5 /* operations: two in each cycle of 2.5 GHz */
};
/* Bytes for each nanosecond, of one core of a server: L2_RATE from its L2 cache, L3_RATE from the last one,
 * MEMORY_RATE from memory. */
static const double L2_RATE = 80, L3_RATE = 35, MEMORY_RATE = 10;

static const double NEARLY = 0.95; /* of the operations of a kernel: what remains is not worth a kernel */

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

enum { VECTOR = 2 * PASS_HALF_VECTOR }; /* elements of f32 */

/* Do rows of so many elements leave lanes of a vector of f32 empty? They fill no half of it, or are done in
 * parts of 8, 4, 2 and 1: 14 take three instructions, as 48 would. */
static bool is_short(int64_t run) {
  return run < PASS_HALF_VECTOR || (run < VECTOR && (run & (run - 1)) != 0);
}

/* Are rows of the view, of elements in sequence or of one element, short? */
static bool has_short_runs(ir_graph *g, ir_ref expand) {
  ir_ref below = ir_src(g, expand, 0);
  uint32_t rank = ir_rank(g, expand), lead = rank - ir_rank(g, below);
  int64_t run = 1;
  bool repeats = false;
  for (uint32_t a = rank; a-- > 0;) {
    int64_t size = most(g, expand, a);
    if (size == 1) continue;
    bool here = a < lead || most(g, below, a - lead) == 1;
    if (run > 1 && here != repeats) return is_short(run);
    repeats = here, run *= size < VECTOR ? size : VECTOR;
    if (run >= VECTOR) return false;
  }
  return false;
}

/* Does the permutation move rows as they are that are short? */
static bool moves_short_rows(ir_graph *g, const ir_node *permute) {
  int64_t run = 1;
  uint32_t before = permute->nsrc; /* the axis of the operand that the next one goes along */
  for (uint32_t a = permute->nsrc - 1; a-- > 0;) {
    uint32_t along = (uint32_t)ir_get(g, permute->src[1 + a])->arg;
    int64_t size = most(g, permute->src[0], along);
    if (size == 1) continue;
    if (along > before) return is_short(run);
    bool neighbours = true;
    for (uint32_t b = along + 1; b < before && before < permute->nsrc; b++)
      neighbours &= most(g, permute->src[0], b) == 1;
    if (!neighbours) return is_short(run);
    run *= size, before = along;
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
    if ((uint32_t)ir_get(g, n->src[1 + last])->arg != innermost(g, n->src[0])) return TRANSPOSED;
    return moves_short_rows(g, n) ? DIVIDED : 0;
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

static bool add(pass_alternatives *a, ir_ref node, bool root, bool local) {
  alternatives_fused *f = &a->fused;
  if (a->mark[node]) return true;
  if (f->count == ALTERNATIVES_FUSED) return false;
  bool leaf = !root && (a->slot_of[node] || schedule_is_leaf(ir_op_of(a->g, node)));
  f->nodes[f->count] = (alternatives_node){
      .node = node, .base = node, .points = node, .root = root, .local = local, .leaf = leaf};
  f->nodes[f->count++].elements = pass_elements(a->g, node);
  a->mark[node] = f->count;
  return true;
}

static bool list_nodes(pass_alternatives *a, const ir_step *step) {
  alternatives_fused *f = &a->fused;
  bool fits = true;
  for (uint32_t i = 0; i < step->row_group.count && fits; i++) {
    const ir_fused_value *v = &step->row_group.values[i];
    if (!v->copied) fits = add(a, v->value, true, v->slot == UINT32_MAX);
  }
  if (!step->row_group.count) fits = add(a, step->kernel, true, false);
  for (uint32_t i = 0; i < f->count && fits; i++) {
    const ir_node *n = ir_get(a->g, f->nodes[i].node);
    for (uint32_t k = 0; k < ir_operand_count(n) && !f->nodes[i].leaf && fits; k++)
      if (ir_shape(a->g, n->src[k])) fits = add(a, n->src[k], false, false);
  }
  for (uint32_t i = 0; i < f->count; i++) a->mark[f->nodes[i].node] = 0;
  return fits;
}

static alternatives_node *find(pass_alternatives *a, ir_ref node) {
  return a->mark[node] ? &a->fused.nodes[a->mark[node] - 1] : NULL;
}

/* Has the kernel an operation of the class, for any of the values that it computes for itself? */
static bool has(const pass_alternatives *a, ir_class cls) {
  bool found = false;
  for (uint32_t i = 0; i < a->fused.count && !found; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    found = !f->leaf && ir_ops[ir_op_of(a->g, f->node)].cls == cls;
  }
  return found;
}

/* With a reduction the kernel is one domain: operands of joins and pads are evaluated at all points, and
 * selected (passes/domain/peel.c). */
static bool has_reduction(const pass_alternatives *a) { return has(a, IR_CLASS_REDUCE); }

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
    bool joins = n->op == IR_OP_CONCAT || n->op == IR_OP_STACK || n->op == IR_OP_PAD,
         reduces = ir_ops[n->op].cls == IR_CLASS_REDUCE; /* without a tile, in which terms share elements */
    double some = joins && one_domain ? each
                  : reduces           ? each * below->elements / f->elements
                                      : each * pass_evaluated_each(a->g, f->node, k);
    /* elementwise users at the points of one value share what they evaluate: not those below two operands of
     * a join, each of which has loops of its own */
    ir_ref points = elementwise ? f->points : below->node;
    if (!elementwise || points != below->points) below->evaluations += some;
    else if (some > below->evaluations) below->evaluations = some;
    below->points = points;
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
  f->reduces = reduces, f->computed = !is_view(n);
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    const alternatives_node *below = ir_shape(a->g, n->src[k]) ? find(a, n->src[k]) : NULL;
    if (!below) continue;
    double times = k == 0 ? terms : 1;
    if (k == 0 && is_view(n) && ir_operand_count(n) == 1 && n->op != IR_OP_PAD && !below->root)
      f->base = below->base;
    f->after |= below->after || (below->root && !(below->local && !below->reduces));
    f->of_local |= below->of_local || below->root;
    f->reduces |= below->reduces, f->computed |= below->computed;
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

/* A comparison of indices alone, perhaps below views: of unrolled loops it is known. */
static bool compares_indices(const ir_graph *g, ir_ref r) {
  while (is_view(ir_get(g, r))) r = ir_src(g, r, 0);
  const ir_node *n = ir_get(g, r);
  bool indices = ir_ops[n->op].cls == IR_CLASS_COMPARE;
  for (uint32_t k = 0; k < n->nsrc && indices; k++) {
    ir_ref below = n->src[k];
    while (is_view(ir_get(g, below))) below = ir_src(g, below, 0);
    indices = ir_op_of(g, below) == IR_OP_IOTA;
  }
  return indices;
}

/* Is it what cumulative operations are lowered to: reductions of a block's terms up to an index, which share
 * partial results (passes/lower/cumulative.c)? */
static bool is_prefix(const ir_graph *g, const ir_node *reduce) {
  const ir_node *terms = ir_get(g, reduce->src[0]);
  return terms->op == IR_OP_WHERE && compares_indices(g, terms->src[0]);
}

static double operations_of(pass_alternatives *a, const alternatives_node *f) {
  const ir_node *n = ir_get(a->g, f->node);
  if (f->leaf || pass_is_product(a->g, f->node)) return 0; /* a product is added up in one instruction */
  if (compares_indices(a->g, f->node) || (n->op == IR_OP_WHERE && compares_indices(a->g, n->src[0])))
    return 0;
  if (ir_ops[n->op].cls == IR_CLASS_REDUCE && is_prefix(a->g, n))
    return f->elements * log2(1 + pass_elements(a->g, n->src[0]) / f->elements);
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

double alternatives_least_stored(const pass_alternatives *a, ir_ref value) {
  enum {
    HELD = 2 /* times the L2 cache: of more, none of what a kernel touches stays in it (kernel_memory.c) */
  };
  const pass_rates rates = pass_rates_of(a->target);
  const alternatives_node *f = a->fused.nodes;
  while (f->node != value) f++;
  double each = ir_dtypes[ir_dtype_of(a->g, value)].bytes, written = bytes_of(a->g, f),
         read = each * (f->evaluations < f->elements ? f->evaluations : f->elements);
  if (written < HELD * (double)a->target->l2_bytes) return 0;
  for (uint32_t i = 0; i < a->fused.count; i++)
    if (a->fused.nodes[i].root && !a->fused.nodes[i].local) written += bytes_of(a->g, &a->fused.nodes[i]);
  return written / rates.write[PASS_LEVEL_L3] + read / rates.read[PASS_LEVEL_L3];
}

bool alternatives_find_fused(pass_alternatives *a, const ir_step *step) {
  alternatives_fused *f = &a->fused;
  f->count = 0;
  bool copies = !step->row_group.count && a->slot_of[step->kernel] != step->slots[0] + 1;
  if (copies || ir_op_of(a->g, step->kernel) == IR_OP_ASSIGN || !list_nodes(a, step)) return false;
  qsort(f->nodes, f->count, sizeof *f->nodes, users_first);
  for (uint32_t i = 0; i < f->count; i++) a->mark[f->nodes[i].node] = i + 1;
  bool one_domain = has_reduction(a);
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

/* Times that each element is evaluated: rows of a gather with a stride of 3, of a tensor of a few KB that it
 * reads 64 times, take 5 us from a copy in place of 58. */
enum { READ_AGAIN = 4 };
enum { LEAST_BESIDE = 4 }; /* because to copy an element takes a store and a load, of a cycle or two each */

/* Are there so many operations for each element that a view's lost lanes may cost more than its copy? */
static bool computes_enough(pass_alternatives *a) {
  double operations = 0, elements = 0;
  for (uint32_t i = 0; i < a->fused.count; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    if (!is_view(ir_get(a->g, f->node))) operations += operations_of(a, f);
    if (f->root) elements += f->elements;
  }
  return operations >= LEAST_BESIDE * elements;
}

static bool may_be_stored(pass_alternatives *a, const alternatives_node *f, bool reduces, bool enough,
                          double bytes) {
  const ir_node *n = ir_get(a->g, f->node);
  bool repeats = f->elements > MOST_REPEATS * pass_elements(a->g, f->base);
  bool renames = is_view(n) && irregularity(a->g, f->node) == 0;
  /* views are index arithmetic: a copy is made only where there is a reduction, whose loops read it again and
   * again, where gathers do, or where lanes of what is computed beside it are lost */
  bool gains = f->irregular > 0 && f->promise > 0,
       again = f->evaluations >= READ_AGAIN * f->elements && has(a, IR_CLASS_INDIRECT),
       idle = !f->computed && !reduces && !(gains && (enough || again));
  return !f->root && !f->leaf && !f->after && !idle && !(f->of_local && f->reduces) && !renames && !repeats &&
         !is_term(a->g, f->node) && f->accesses > 0 && ir_rank(a->g, f->node) &&
         bytes_of(a->g, f) <= MOST_GROWTH * bytes;
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

/* Is it nearly all that the kernel computes, each element once? What is left above it gains nothing. */
static bool is_whole(const alternatives_node *f, double all) {
  return f->above == 0 && f->evaluations <= f->elements && f->elements * f->below > NEARLY * all;
}

/* Views of one value cost about the same: one of them is tried, and the value itself. */
static bool is_like(const alternatives_fused *fused, const alternatives_node *f, const ir_ref *values,
                    uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const alternatives_node *known = fused->nodes;
    while (known->node != values[i]) known++;
    if (known->base == f->base && known->base != known->node && f->base != f->node) return true;
  }
  return false;
}

static bool is_listed(ir_ref node, const ir_ref *values, uint32_t count) {
  uint32_t i = 0;
  while (i < count && values[i] != node) i++;
  return i < count;
}

/* The value that promises most beside those listed; 0: none promises anything. */
static ir_ref best_beside(const pass_alternatives *a, const ir_ref *values, uint32_t count) {
  double most = 0;
  ir_ref best = 0;
  for (uint32_t i = 0; i < a->fused.count; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    if (!f->tried || (best && f->promise <= most) || is_listed(f->node, values, count) ||
        is_like(&a->fused, f, values, count))
      continue;
    best = f->node, most = f->promise;
  }
  return best;
}

uint32_t alternatives_candidates(pass_alternatives *a, ir_ref *values, uint32_t room, bool *promise) {
  double all = 0, bytes = moved_bytes(a);
  uint32_t count = 0;
  bool reduces = has_reduction(a), enough = computes_enough(a), irregular = false,
       any = false; /* irregular: below the kernel's values, or beside them */
  for (uint32_t i = 0; i < a->fused.count; i++) {
    const alternatives_node *f = &a->fused.nodes[i];
    if (f->root) all += f->elements * f->below;
    irregular |= f->irregular > 0 || f->above > 0;
  }
  for (uint32_t i = 0; i < a->fused.count; i++) {
    alternatives_node *f = &a->fused.nodes[i];
    f->promise = promise_of(f, all, irregular); /* may_be_stored reads it */
    f->tried = may_be_stored(a, f, reduces, enough, bytes) && !is_whole(f, all);
    any |= f->tried && f->promise > 0;
  }
  for (uint32_t i = 0; i < a->fused.count; i++)
    a->fused.nodes[i].tried &= a->always || !any || a->fused.nodes[i].promise > 0;
  *promise = any;
  for (ir_ref best; count < room && (best = best_beside(a, values, count)) != 0;) values[count++] = best;
  return count;
}
