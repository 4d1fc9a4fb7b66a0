/* Indices of which is known that they name each element once: one position, or positions a fixed step apart
 * from one.
 *
 * A checked position is a gather of an iota along its axis: it is below the size of the iota, or the run
 * fails. */
#include "passes/ops/check.h"

ir_ref op_position_extent(const ir_graph *g, ir_ref x) {
  for (;; x = ir_src(g, x, 0)) {
    const ir_node *n = ir_get(g, x);
    if (n->op == IR_OP_RESHAPE || n->op == IR_OP_EXPAND || n->op == IR_OP_UNSQUEEZE ||
        n->op == IR_OP_SQUEEZE || n->op == IR_OP_PERMUTE)
      continue;
    if (n->op != IR_OP_GATHER || ir_arg_mode(n) != IR_GATHER_CHECK || n->dtype != IR_I64) return 0;
    const ir_node *counted = ir_get(g, n->src[0]);
    bool along = counted->op == IR_OP_IOTA && ir_arg_int(counted) == ir_arg_int(n);
    return along ? ir_dim(g, n->src[0], (uint32_t)ir_arg_int(n)) : 0;
  }
}

static bool is_single(const ir_graph *g, ir_ref size) {
  int64_t value;
  return ir_is_const(g, size, &value) && value == 1;
}

/* Are all elements along the last axis equal? */
static bool is_level(const ir_graph *g, ir_ref x) {
  uint32_t rank = ir_rank(g, x);
  if (rank == 0 || is_single(g, ir_dim(g, x, rank - 1))) return true;
  return ir_op_of(g, x) == IR_OP_EXPAND && is_single(g, ir_dim(g, ir_src(g, x, 0), rank - 1));
}

/* By how much the elements grow from one to the next along the last axis, whatever the other indices; 0: they
 * do not, or it is not known. */
static int64_t step_of(const ir_graph *g, ir_ref x) {
  int64_t step = 1, factor;
  for (;; x = ir_src(g, x, 0)) {
    const ir_node *n = ir_get(g, x);
    uint32_t rank = ir_rank(g, x), below;
    if (rank == 0) return 0;
    if (n->op == IR_OP_IOTA) return ir_arg_int(n) == rank - 1 ? step : 0;
    if (n->op == IR_OP_MUL && ir_is_const(g, n->src[1], &factor)) {
      if (!ir_mul_ok(step, factor, &step)) return 0;
    } else if (n->op == IR_OP_EXPAND || n->op == IR_OP_RESHAPE) {
      below = ir_rank(g, n->src[0]); /* axes of 1 are added in front, and grow */
      if (below == 0 || below > rank || ir_dim(g, x, rank - 1) != ir_dim(g, n->src[0], below - 1)) return 0;
      for (uint32_t i = 0; n->op == IR_OP_RESHAPE && i + 1 < rank; i++)
        if (!is_single(g, ir_dim(g, x, i))) return 0;
    } else {
      return 0;
    }
  }
}

/* Is no element of the tensor 0? */
static bool is_nonzero(const ir_graph *g, ir_ref x) {
  enum { MOST_BRANCHES = 4 /* of one where in another [2 in the tests] */ };
  ir_ref pending[MOST_BRANCHES] = {x};
  uint32_t count = 1;
  while (count > 0) {
    ir_ref at = pending[--count];
    const ir_node *n = ir_get(g, at);
    int64_t value;
    while (n->op == IR_OP_EXPAND || n->op == IR_OP_RESHAPE || n->op == IR_OP_NEG) n = ir_get(g, n->src[0]);
    if (n->op == IR_OP_WHERE && count + 2 <= MOST_BRANCHES) {
      pending[count++] = n->src[1], pending[count++] = n->src[2];
      continue;
    }
    bool at_least = n->op == IR_OP_MAX && ir_is_const(g, n->src[1], &value) && value >= 1;
    if (!at_least && !(n->op == IR_OP_CONST && n->arg != 0)) return false;
  }
  return true;
}

/* k times something that may vary, k along the last axis. */
static bool is_varying_step(const ir_graph *g, ir_ref x) {
  const ir_node *n = ir_get(g, x);
  while (n->op == IR_OP_RESHAPE || n->op == IR_OP_EXPAND) n = ir_get(g, n->src[0]);
  if (n->op != IR_OP_MUL) return false;
  return step_of(g, n->src[0]) == 1 && is_level(g, n->src[1]) && is_nonzero(g, n->src[1]);
}

bool op_window_of(ir_graph *g, ir_ref gather, op_window_indices *out) {
  const ir_node *n = ir_get(g, gather);
  ir_ref indices = n->src[1];
  uint32_t rank = ir_rank(g, indices), taken = rank - (uint32_t)ir_arg_small(n);
  *out = (op_window_indices){.base = indices, .step = 1};
  if (taken > 1 || ir_arg_mode(n) != IR_GATHER_CLIP) return false;
  ir_ref length = ir_index(g, 1), size = ir_dim(g, n->src[0], (uint32_t)ir_arg_int(n));
  if (taken == 1) {
    const ir_node *sum = ir_get(g, indices);
    if (sum->op != IR_OP_ADD || sum->nsrc != 2 || !is_level(g, sum->src[0])) return false;
    length = ir_dim(g, indices, rank - 1);
    out->base = sum->src[0];
    out->step = step_of(g, sum->src[1]);
    if (out->step == 0 && !is_varying_step(g, sum->src[1])) return false;
  }
  out->extent = op_position_extent(g, out->base);
  if (!out->extent || out->step < 1) return out->extent && out->step == 0;
  ir_ref end = pass_add(g, out->extent, pass_mul_int(g, pass_add_int(g, length, -1), out->step));
  return end && op_decided(g, IR_OP_LE, end, size);
}

bool op_gathers_once(ir_graph *g, ir_ref gather) {
  op_window_indices unused;
  const ir_node *n = ir_get(g, gather);
  return ir_rank(g, n->src[1]) == (uint32_t)ir_arg_small(n) || op_window_of(g, gather, &unused);
}
