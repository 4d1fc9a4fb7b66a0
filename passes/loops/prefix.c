/* Reductions over a triangle of a few terms, those from the first one to one that varies: the prefixes of
 * blocks, of which cumulative operations are made (passes/lower/cumulative.c).
 *
 * They are combined as Sklansky (1960) does: in step k every prefix whose index has bit k is combined with
 * what the 2^k terms before its own 2^k make, the others with the identity. If the lanes of a vector are the
 * prefixes of one block, a step is a shuffle and an operation for all of them (IR_OP_PREFIX): four steps for
 * 16 terms, in place of 15 masked operations on terms that all lanes share. Elsewhere what whole runs of 2^k
 * terms make does not depend on the prefix, and each prefix selects what it is combined with. So the order
 * depends on the number of terms alone, not on what the lanes of a machine run along. */
#include "reduce.h"

#include "passes/index/index.h"

/* Let a comparison of indices say e >= 0: e; 0 if it is none. negated: its opposite says so. */
static ir_ref not_below_zero(ir_graph *g, ir_ref condition, bool negated) {
  const ir_node *n = ir_get(g, condition);
  if (ir_ops[n->op].cls != IR_CLASS_COMPARE || ir_dtype_of(g, n->src[0]) != IR_INDEX) return 0;
  bool less = n->op == IR_OP_LT || n->op == IR_OP_LE, strict = n->op == IR_OP_LT || n->op == IR_OP_GT;
  if (!less && n->op != IR_OP_GT && n->op != IR_OP_GE) return 0;
  if (negated) less = !less, strict = !strict;
  return pass_add_int(g, pass_sub(g, n->src[less], n->src[!less]), strict ? -1 : 0);
}

bool reduce_read_prefix(const reduction *r, ir_ref range, reduce_prefix *out) {
  ir_graph *g = r->n->g;
  const ir_node *n = ir_get(g, r->body);
  ir_ref zero = ir_index(g, 0);
  int64_t stride;
  if (n->op != IR_OP_WHERE || !ir_is_const(g, ir_src(g, range, 0), &out->terms)) return false;
  bool negated = n->src[1] == r->identity;
  if (negated == (n->src[2] == r->identity)) return false;
  ir_ref left = not_below_zero(g, n->src[0], negated);
  if (!left || !affine_stride(g, left, range, &stride) || stride != -1) return false;
  out->last = pass_substitute(g, left, &range, &zero, 1);
  out->term = n->src[negated ? 2 : 1];
  out->range = range;
  if (!out->last || affine_depends(g, out->last, range)) return false;
  ir_bounds bounds = ir_bounds_of(g, out->last);
  return bounds.lo >= 0 && bounds.hi < out->terms;
}

/* How `last` runs along the lanes of the vector, between which the term does not change by itself. */
enum { NOT_LANES, LANES, LANES_BACKWARDS };
enum { MOST_LANES = 16 /* those of the widest vector of OpenCL */ };
static int lanes_of(const loop_nest *n, const reduce_prefix *p) {
  int64_t lanes;
  if (!n->vector || affine_depends(n->g, p->term, n->vector)) return NOT_LANES;
  if (!ir_is_const(n->g, ir_src(n->g, n->vector, 0), &lanes) || lanes > MOST_LANES) return NOT_LANES;
  if (p->last == n->vector) return LANES;
  return p->last == pass_sub(n->g, ir_index(n->g, lanes - 1), n->vector) ? LANES_BACKWARDS : NOT_LANES;
}

static ir_ref combined(const reduction *r, ir_ref a, ir_ref b) {
  return a && b ? ir_make(r->n->g, r->op, r->dtype, 0, (ir_ref[]){a, b}, 2) : 0;
}

/* What prefix `last` is combined with in the step of runs of `size` terms: if it is in an odd run, the run
 * before, else the identity. runs: what they make, where all of their terms exist. */
static ir_ref run_before(const reduction *r, const reduce_prefix *p, const ir_ref *runs, int64_t size) {
  ir_graph *g = r->n->g;
  ir_ref before = r->identity;
  for (int64_t k = 1; k * size < p->terms && before; k++)
    before = pass_where(g, pass_compare(g, IR_OP_LT, p->last, ir_index(g, k * size)), before,
                        k % 2 ? runs[k - 1] : r->identity);
  return before;
}

ir_ref reduce_over_prefix(const reduction *r, const reduce_prefix *p, ir_ref plain) {
  ir_graph *g = r->n->g;
  ir_ref runs[PASS_FEW_TERMS], value = pass_substitute(g, p->term, &p->range, &p->last, 1);
  int lanes = lanes_of(r->n, p);
  if (lanes != NOT_LANES && value)
    return ir_make(g, IR_OP_PREFIX, r->dtype, ir_pack_arg(r->op, lanes == LANES_BACKWARDS),
                   (ir_ref[]){value, r->identity, r->n->vector}, 3);
  for (int64_t i = 0; i < p->terms; i++) {
    ir_ref at = ir_index(g, i);
    if (!at || !(runs[i] = pass_substitute(g, plain, &p->range, &at, 1))) return 0;
  }
  for (int64_t size = 1; size < p->terms && value; size *= 2) {
    value = combined(r, value, run_before(r, p, runs, size));
    for (int64_t k = 0; (2 * k + 2) * size <= p->terms; k++)
      if (!(runs[k] = combined(r, runs[2 * k + 1], runs[2 * k]))) return 0;
  }
  return value;
}
