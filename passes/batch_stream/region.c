/* What an iteration computes: from the end of a region down, as far as there is something to compute for one
 * batch element. The batch axis is followed through each operation; it has to stay one axis of every value
 * that varies along it. */
#include "batch_stream.h"

#include "ir/elementary/elementary.h"
#include "passes/index/affine.h"
#include "passes/patterns/epilogue.h"
#include "passes/view/axis_map.h"
#include "passes/view/index_map.h"

#include <string.h>

/* A node that a node of the region uses, not yet handled. */
typedef struct reached {
  ir_ref node;
  int8_t axis;
  bool summed;    /* it is below a reduction */
  view_axes axes; /* by axis of it: the axis of the end that walks it */
} reached;

typedef struct tracer {
  batch_stream_search *s;
  reached wait[BATCH_STREAM_NODES]; /* ascending: no waiting node uses the last one */
  uint32_t waiting, met;
} tracer;

static bool reach_node(tracer *t, ir_ref node, int8_t axis, bool summed, const view_axes *axes) {
  uint32_t at = t->waiting;
  int64_t size;
  while (at > 0 && t->wait[at - 1].node > node) at--;
  if (at > 0 && t->wait[at - 1].node == node) {
    reached *same = &t->wait[at - 1];
    same->summed |= summed;
    view_axes_intersect(&same->axes, axes);
    return same->axis == axis;
  }
  if (axis >= 0 &&
      (!ir_is_const(t->s->g, ir_dim(t->s->g, node, (uint32_t)axis), &size) || size != t->s->count))
    return false;
  if (t->met++ == BATCH_STREAM_NODES) return false;
  memmove(t->wait + at + 1, t->wait + at, (t->waiting++ - at) * sizeof *t->wait);
  t->wait[at] = (reached){node, axis, summed, *axes};
  return true;
}

/* *below: the axis of the view's operand that the view's axis is, unchanged, or BATCH_STREAM_NO_AXIS where
 * the operand does not vary along it. False where it does in another way. */
static bool below_view(ir_graph *g, ir_ref view, int8_t axis, int8_t *below) {
  pass_point p = {.rank = ir_rank(g, view)};
  ir_ref operand = ir_src(g, view, 0), range = 0;
  for (uint32_t i = 0; i < p.rank; i++) {
    ir_ref size = ir_dim(g, view, i);
    p.at[i] = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(i, 0), &size, 1);
    if (i == (uint32_t)axis) range = p.at[i];
  }
  ir_ref valid = pass_view_index(g, &pass_canonical, view, &p);
  if (!valid || affine_depends(g, valid, range)) return false;
  *below = BATCH_STREAM_NO_AXIS;
  for (uint32_t a = 0; a < p.rank; a++) {
    bool same = p.at[a] == range && *below < 0 && ir_dim(g, operand, a) == ir_dim(g, view, (uint32_t)axis);
    if (same) *below = (int8_t)a;
    else if (affine_depends(g, p.at[a], range)) return false;
  }
  return true;
}

static bool below_join(const ir_node *n, int8_t axis, int8_t *below) {
  int64_t joined = ir_arg_int(n);
  *below = (int8_t)(n->op == IR_OP_STACK && axis > joined ? axis - 1 : axis);
  return axis != joined;
}

static bool below_reduction(ir_graph *g, const ir_node *n, int8_t axis, int8_t *below) {
  bool gone[IR_MAX_RANK] = {false}, position = n->op == IR_OP_ARGMAX || n->op == IR_OP_ARGMIN;
  int8_t kept = -1;
  if (ir_arg_mode(n)) return false; /* keepdims: lowering leaves none */
  if (position) gone[ir_arg_int(n)] = true;
  for (uint32_t i = 1; i < n->nsrc; i++) gone[ir_get(g, n->src[i])->arg] = true;
  for (uint32_t i = 0; i < ir_rank(g, n->src[0]); i++)
    if (!gone[i] && ++kept == axis) *below = (int8_t)i;
  return kept >= axis;
}

/* *below: the batch axis of operand k, given that of the node, or BATCH_STREAM_NO_AXIS; false where the batch
 * does not stay one axis of the operand. */
static bool axis_below(ir_graph *g, ir_ref node, uint32_t k, int8_t axis, int8_t *below) {
  const ir_node *n = ir_get(g, node);
  *below = BATCH_STREAM_NO_AXIS;
  if (axis < 0) return true;
  switch ((int)ir_ops[n->op].cls) {
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY:
    if (ir_rank(g, n->src[k]) > 0) *below = axis;
    return true;
  case IR_CLASS_VIEW:
    if (n->op == IR_OP_CONCAT || n->op == IR_OP_STACK) return below_join(n, axis, below);
    return below_view(g, node, axis, below);
  case IR_CLASS_REDUCE: return below_reduction(g, n, axis, below);
  default: return false;
  }
}

/* Is the node given to the region, or computed in it? Computed are nodes that depend on the product,
 * constants, views, and elementwise nodes that are not in memory; elementary functions only if they vary
 * along the batch. */
static bool is_given(const tracer *t, const reached *r) {
  const ir_node *n = ir_get(t->s->g, r->node);
  if (t->s->uses.walk[r->node] == t->s->walk || n->op == IR_OP_CONST || n->op == IR_OP_IOTA ||
      ir_ops[n->op].cls == IR_CLASS_VIEW)
    return false;
  return !pass_is_elementwise(n) || (r->axis < 0 && ir_is_elementary((ir_op)n->op, (ir_dtype)n->dtype)) ||
         batch_stream_in_memory(t->s, r->node, r->summed || r->axis < 0);
}

/* May the node be given to the region? Costly elementwise operations that all iterations would repeat are
 * stored for it. */
static bool is_operand(tracer *t, const reached *r) {
  bool repeated = r->axis < 0;
  return ir_shape(t->s->g, r->node) && r->axis <= 0 &&
         (batch_stream_in_memory(t->s, r->node, r->summed || repeated) ||
          (repeated && pass_is_elementwise(ir_get(t->s->g, r->node))));
}

static bool is_sliced(tracer *t, const reached *r) {
  ir_graph *g = t->s->g;
  const ir_node *n = ir_get(g, r->node);
  bool made = t->s->uses.walk[r->node] == t->s->walk, shared = t->s->uses.count[r->node] > 1;
  if (r->axis < 0 && made) return false;
  if (!made && shared && ir_is_elementary((ir_op)n->op, (ir_dtype)n->dtype))
    return false; /* others may need it in memory */
  if (r->axis >= 0 && ir_ops[n->op].cls == IR_CLASS_LEAF && n->op != IR_OP_CONST) return false;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    view_axes axes = view_no_axes;
    int8_t below;
    if (!axis_below(g, r->node, k, r->axis, &below)) return false;
    if (r->axis >= 0 && !view_axes_below(g, r->node, k, &r->axes, &axes)) return false;
    if (!reach_node(t, n->src[k], below, r->summed || ir_ops[n->op].cls == IR_CLASS_REDUCE, &axes))
      return false;
  }
  return true;
}

/* Does an axis of the end besides the batch walk an axis of the node? Then a loop over rows serves both
 * (passes/fuse/row_group.c). */
static bool has_rows(const ir_graph *g, const reached *r) {
  for (uint32_t a = 0; a < ir_rank(g, r->node); a++) {
    int64_t size = 0;
    ir_is_const(g, ir_dim(g, r->node, a), &size);
    if ((int8_t)a != r->axis && size != 1 && r->axes.loop[a] >= 0) return true;
  }
  return false;
}

static bool trace_region(tracer *t) {
  batch_stream_search *s = t->s;
  view_axes axes = view_no_axes;
  bool met = false;
  for (uint32_t a = 0; a < ir_rank(s->g, s->end); a++) axes.loop[a] = (int8_t)a;
  if (!reach_node(t, s->end, 0, false, &axes)) return false;
  while (t->waiting) {
    reached r = t->wait[--t->waiting];
    bool given = is_given(t, &r);
    if (r.node == s->begin && has_rows(s->g, &r)) return false;
    met |= r.node == s->begin;
    if (!(given ? is_operand(t, &r) : is_sliced(t, &r))) return false;
    if (!IR_RESERVE(s->g->mem, s->nodes, s->node_cap, s->node_count + 1)) {
      ir_fail(s->g->error, IR_ERR_MEMORY, "out of memory streaming a product over its batch");
      return false;
    }
    s->nodes[s->node_count++] = (batch_stream_node){r.node, r.axis, given};
  }
  return met;
}

bool batch_stream_trace(batch_stream_search *s) {
  tracer t = {.s = s};
  size_t first = s->node_count, last;
  if (!trace_region(&t) || s->g->error->status) {
    s->node_count = first;
    return false;
  }
  for (last = s->node_count; first + 1 < last; first++) { /* the list becomes ascending */
    batch_stream_node swap = s->nodes[first];
    s->nodes[first] = s->nodes[--last], s->nodes[last] = swap;
  }
  return true;
}
