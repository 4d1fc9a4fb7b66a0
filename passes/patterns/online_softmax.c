/* Finding sums that can be rescaled.
 *
 * A term is traced from the sum down to its weight: through products, quotients with the weight in the
 * numerator, negation, selects between it and zero, copies and views, all of which are linear in the weight.
 * The weight's exponent is a difference whose second operand is the same for all terms and is computed from
 * the maximum of the first. Refs of nodes ascend from operands to users, so that a node before the maximum
 * does not depend on it. */
#include "online_softmax.h"

#include "passes/view/axis_map.h"

enum {
  /* of scores: rows up to this length are as fast as a whole in the cache (64 rows are PASS_GROUP_BYTES), and
   * need no rescaling; longer ones are rescaled */
  MAX_ROW_BYTES = 1 << 13,
  /* nodes visited to prove one value invariant [7 in the workloads]: of more, nothing is proved */
  MAX_VISITS = 64
};

/* A node, and its axis that is the sum's axis; SAME or UNKNOWN below 0. */
typedef struct place {
  ir_ref node;
  int axis;
} place;

typedef struct walk {
  place todo[MAX_VISITS];
  uint32_t count, met;
  bool failed; /* the walk is too long, or memory is short */
} walk;

static void visit_node(walk *w, ir_ref node, int axis) {
  if (w->met == MAX_VISITS) w->failed = true;
  else w->met++, w->todo[w->count++] = (place){node, axis};
}

enum { SAME = -1, UNKNOWN = -2 }; /* in place of an axis. SAME: no variation along it; UNKNOWN: not known */

/* The axis of the operand that corresponds to the axis of the node. */
static int axis_below(walk *w, ir_graph *g, ir_ref node, uint32_t operand, int axis) {
  const ir_node *n = ir_get(g, node);
  view_axes above = view_no_axes, below;
  uint32_t rank = ir_rank(g, n->src[operand]);
  if (axis < 0 || rank == 0) return SAME;
  above.loop[axis] = 0;
  if (!view_axes_below(g, node, operand, &above, &below)) w->failed = true;
  for (uint32_t a = 0; a < rank && !w->failed; a++)
    if (below.loop[a] == 0) return (int)a;
  int64_t size;
  bool repeats = n->op == IR_OP_EXPAND && rank == ir_rank(g, node) &&
                 ir_is_const(g, ir_dim(g, n->src[operand], (uint32_t)axis), &size) && size == 1;
  return repeats ? SAME : UNKNOWN;
}

static bool is_elementwise(const ir_node *n) {
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  return cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE ||
         cls == IR_CLASS_TERNARY;
}

static bool is_view(const ir_node *n) {
  return ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK;
}

/* Is the value proven to be the same all along the axis? *greatest, if not NULL: the first maximum of x along
 * the axis that it is computed from. */
static bool is_invariant(ir_graph *g, ir_ref root, int axis, ir_ref x, ir_ref *greatest) {
  walk w = {.count = 0};
  visit_node(&w, root, axis);
  while (w.count && !w.failed) {
    place at = w.todo[--w.count];
    const ir_node *n = ir_get(g, at.node);
    if (greatest && n->op == IR_OP_REDUCE_MAX && n->nsrc == 2 && n->src[0] == x &&
        ir_get(g, n->src[1])->arg == axis) {
      *greatest = at.node;
      continue;
    }
    if (n->op == IR_OP_CONST) continue;
    if (!is_elementwise(n) && !is_view(n)) {
      if (at.axis >= 0) return false;
      continue;
    }
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      if (ir_rank(g, n->src[k]) == 0) continue;
      int below = axis_below(&w, g, at.node, k, at.axis);
      if (below == UNKNOWN) return false;
      if (below >= 0 || greatest) visit_node(&w, n->src[k], below);
    }
  }
  return !w.failed;
}

static bool is_zero(const ir_graph *g, ir_ref r) {
  return ir_op_of(g, r) == IR_OP_CONST && ir_const_value(g, r).f == 0;
}

/* The operands in which the node is linear, a set of bits. */
static uint32_t linear_in(const ir_graph *g, const ir_node *n) {
  switch ((int)n->op) {
  case IR_OP_MUL: return 3;
  case IR_OP_FMA: return is_zero(g, n->src[2]) ? 3 : 0;
  case IR_OP_DIV:
  case IR_OP_NEG:
  case IR_OP_STORED: return 1;
  case IR_OP_WHERE: return is_zero(g, n->src[2]) ? 2 : is_zero(g, n->src[1]) ? 4 : 0;
  default: return is_view(n) && !(n->op == IR_OP_PAD && ir_arg_mode(n) != IR_PAD_CONSTANT);
  }
}

/* Is the node exp(x - s), where s is the same along the axis and computed from the maximum of x? */
static bool is_weight(ir_graph *g, const place *at, pass_rescaled *out) {
  const ir_node *n = ir_get(g, at->node), *d = ir_get(g, n->src[0]);
  if (n->op != IR_OP_EXP || d->op != IR_OP_SUB || at->axis < 0) return false;
  out->greatest = 0;
  if (!is_invariant(g, d->src[1], at->axis, d->src[0], &out->greatest) || !out->greatest) return false;
  out->weight = at->node;
  out->axis = (uint32_t)at->axis;
  return true;
}

static bool find_weight(ir_graph *g, ir_ref term, int axis, pass_rescaled *out) {
  walk w = {.count = 0};
  visit_node(&w, term, axis);
  while (w.count && !w.failed) {
    place at = w.todo[--w.count];
    const ir_node *n = ir_get(g, at.node);
    if (is_weight(g, &at, out)) return true;
    uint32_t operands = linear_in(g, n);
    for (uint32_t k = 0; k < ir_operand_count(n); k++)
      if (operands >> k & 1 && ir_rank(g, n->src[k]) > 0)
        visit_node(&w, n->src[k], axis_below(&w, g, at.node, k, at.axis)); /* is_weight needs an axis */
  }
  return false;
}

static bool depends_on(const ir_graph *g, ir_ref root, ir_ref on, bool *failed) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool found = false;
  if (root >= on && ir_reachable(g, &root, 1, &live, &count, &cap) != IR_OK) *failed = true;
  for (size_t i = 0; i < count && !found; i++) found = live[i] == on;
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

/* Does the term contain the weight once, and is each other factor independent of the maximum, or the same for
 * all terms? Fills in the path. */
static bool is_linear(ir_graph *g, ir_ref term, int axis, pass_rescaled *out) {
  walk w = {.count = 0};
  bool failed = false;
  visit_node(&w, term, axis);
  while (w.count && !w.failed && !failed) {
    place at = w.todo[--w.count];
    const ir_node *n = ir_get(g, at.node);
    if (at.node == out->weight) return at.axis == (int)out->axis;
    uint32_t operands = linear_in(g, n);
    if (out->depth == RESCALE_DEPTH) return false;
    pass_rescaled_step *step = &out->path[out->depth++];
    *step = (pass_rescaled_step){at.node, RESCALE_NONE, RESCALE_NONE};
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      int below = axis_below(&w, g, at.node, k, at.axis);
      if (!depends_on(g, n->src[k], out->greatest, &failed)) continue;
      if (below >= 0 && is_elementwise(n) && is_invariant(g, n->src[k], below, 0, NULL)) {
        if (step->late != RESCALE_NONE) return false;
        step->late = (uint8_t)k, out->late = true;
      } else {
        if (below < 0 || step->through != RESCALE_NONE || !(operands >> k & 1)) return false;
        step->through = (uint8_t)k;
        visit_node(&w, n->src[k], below);
      }
    }
  }
  return false;
}

bool pass_rescaled_of(ir_graph *g, ir_ref sum, pass_rescaled *out) {
  const ir_node *n = ir_get(g, sum);
  *out = (pass_rescaled){.sum = sum};
  if (n->op != IR_OP_SUM || n->nsrc != 2 || (n->dtype != IR_F32 && n->dtype != IR_F64)) return false;
  int axis = (int)ir_get(g, n->src[1])->arg;
  if (!ir_is_const(g, ir_dim(g, n->src[0], (uint32_t)axis), &out->terms)) return false;
  if (out->terms <= MAX_ROW_BYTES / ir_dtypes[n->dtype].bytes) return false;
  return find_weight(g, n->src[0], axis, out) && ir_dtype_of(g, out->weight) == (ir_dtype)n->dtype &&
         is_linear(g, n->src[0], axis, out);
}
