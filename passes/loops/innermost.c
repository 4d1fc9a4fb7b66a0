/* Loop interchange: which axis of a kernel is the innermost. A store may fill its output in any order.
 *
 * Let s be terms of other axes. A condition c*r + s >= 0 changes along the axis r at its breakpoint
 * ceil(-s/c), a quotient (c*r + s)//w where it reaches a value. Where c divides the coefficients of all other
 * axes, breakpoints are sums of their indices; where it does not, breakpoints are quotients again, at which
 * axes further out have to be split. */
#include "loops.h"

#include "passes/index/index.h"

static bool is_condition(const ir_graph *g, ir_ref node) {
  return ir_ops[ir_op_of(g, node)].cls == IR_CLASS_COMPARE;
}

/* E of a condition E >= 0 or of a quotient E//w of indices; 0 for other nodes. */
static ir_ref decided_by(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  if (n->nsrc != 2 || ir_dtype_of(g, n->src[0]) != IR_INDEX) return 0;
  if (is_condition(g, node)) return pass_sub(g, n->src[0], n->src[1]);
  return n->op == IR_OP_FLOORDIV ? n->src[0] : 0;
}

typedef bool question(ir_graph *g, ir_ref node, ir_ref e, ir_ref range);

static bool is_left(ir_graph *g, ir_ref node, ir_ref e, ir_ref range) {
  return is_condition(g, node) || affine_depends(g, e, range);
}

static bool is_condition_along(ir_graph *g, ir_ref node, ir_ref e, ir_ref range) {
  return is_condition(g, node) && affine_depends(g, e, range);
}

static bool changes_between(ir_graph *g, ir_ref node, ir_ref e, ir_ref range) {
  (void)node;
  return loop_breakpoint_rounds(g, e, range);
}

/* How many conditions and quotients of the store `asked` holds for. */
static uint32_t count_of(ir_graph *g, ir_ref store, ir_ref range, question *asked) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t found = 0;
  bool ok = ir_reachable(g, &store, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) {
    ir_ref e = decided_by(g, live[i]);
    found += e && asked(g, live[i], e, range);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

uint32_t loop_conditions_left(ir_graph *g, ir_ref store) {
  loop_nest n = {.g = g, .store = store};
  if (!loop_find_axes(&n) || n.axis_count == 0) return 0;
  return count_of(g, store, n.axes[n.axis_count - 1].range, is_left);
}

bool loop_tests_innermost(ir_graph *g, ir_ref store) {
  loop_nest n = {.g = g, .store = store};
  if (!loop_find_axes(&n) || n.axis_count == 0) return false;
  return count_of(g, store, n.axes[n.axis_count - 1].range, is_condition_along) > 0;
}

/* The store with fresh ranges: the other axes from the outermost inwards, then `axis`, the innermost. */
static ir_ref with_innermost(loop_nest *n, uint32_t axis) {
  ir_ref from[MAX_NEST], to[MAX_NEST];
  for (uint32_t i = 0; i < n->axis_count; i++) {
    uint32_t a = i + 1 == n->axis_count ? axis : i + (i >= axis);
    from[i] = n->axes[a].range;
    to[i] = loop_fresh_range(n, n->axes[a].extent);
  }
  return pass_substitute(n->g, n->store, from, to, n->axis_count);
}

/* Number `choice` of the axes when these are sorted by rounded breakpoints, fewest first; of equal ones the
 * innermost comes first. */
static uint32_t axis_of_choice(loop_nest *n, uint32_t choice) {
  uint32_t rounded_breakpoints[MAX_NEST], best = n->axis_count - 1;
  for (uint32_t a = 0; a < n->axis_count; a++)
    rounded_breakpoints[a] = count_of(n->g, n->store, n->axes[a].range, changes_between);
  for (;; choice--) {
    for (uint32_t a = n->axis_count; a-- > 0;)
      if (rounded_breakpoints[a] < rounded_breakpoints[best]) best = a;
    if (choice == 0) return best;
    rounded_breakpoints[best] = UINT32_MAX;
  }
}

bool loop_interchange(ir_graph *g, loop_stores *stores, uint32_t choice, bool *interchanged) {
  *interchanged = false;
  for (uint32_t i = 0; i < stores->count; i++) {
    loop_nest n = {.g = g, .store = stores->store[i]};
    bool box = true;
    if (!loop_find_axes(&n)) return false;
    for (uint32_t a = 0; a < n.axis_count; a++) box &= !loop_bounds_another(&n, a);
    if (!box || choice >= n.axis_count) continue;
    uint32_t axis = axis_of_choice(&n, choice);
    if (axis + 1 == n.axis_count) continue;
    n.next_range = stores->next_range;
    if (!(stores->store[i] = with_innermost(&n, axis))) return false;
    stores->next_range = n.next_range;
    *interchanged = true;
  }
  return true;
}
