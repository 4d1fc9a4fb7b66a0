/* Sliced operands of a scan that are the same in each iteration, such as the derivative of a sum of what a
 * scan stacks. As one operand for all iterations they need no array with a slice for each. */
#include "lower.h"

#include <string.h>

#include "passes/patterns/epilogue.h"

/* Nodes of an operand that are looked at, each as often as it is used: sums and means of what is stacked take
 * less than ten. An operand of more stays sliced, which costs its array, as it would without this file. */
enum { LOOKED_AT = 32 }; /* nodes [derivatives of sums and means have less than 10] */

/* A view of x with these sizes, x itself if it has them. */
static ir_ref sized(ir_graph *g, ir_op view, ir_ref x, ir_ref shape) {
  const ir_node *dims = ir_get(g, shape);
  ir_ref src[IR_MAX_RANK + 1] = {x};
  if (!x || ir_shape(g, x) == shape) return x;
  for (uint32_t i = 0; i < dims->nsrc; i++) src[i + 1] = dims->src[i];
  return ir_make_tensor(g, view, ir_dtype_of(g, x), shape, 0, src, dims->nsrc + 1);
}

static ir_ref without_first_axis(ir_graph *g, ir_ref x) {
  const ir_node *dims = ir_get(g, ir_shape(g, x));
  return ir_tuple(g, dims->src + 1, dims->nsrc - 1);
}

/* Do all slices of x along its first axis have the same elements? *looked: nodes that were looked at. */
static bool slices_are_equal(const ir_graph *g, ir_ref x, int *looked) {
  const ir_node *n = ir_get(g, x);
  if (++*looked > LOOKED_AT) return false;
  if (ir_rank(g, x) == 0) return true; /* a constant beside arrays */
  if (n->op == IR_OP_EXPAND) {
    int64_t size;
    return ir_is_const(g, ir_dim(g, n->src[0], 0), &size) && size == 1;
  }
  if (!pass_is_elementwise(n)) return false;
  for (uint32_t i = 0; i < ir_operand_count(n); i++)
    if (!slices_are_equal(g, n->src[i], looked)) return false;
  return true;
}

static ir_ref slice_of(ir_graph *g, ir_ref x);

static ir_ref make_slice(ir_graph *g, ir_ref x) {
  ir_node n = *ir_get(g, x);
  ir_ref shape = without_first_axis(g, x), src[3];
  if (n.op == IR_OP_EXPAND) {
    ir_ref base = sized(g, IR_OP_RESHAPE, n.src[0], without_first_axis(g, n.src[0]));
    return sized(g, IR_OP_EXPAND, base, shape);
  }
  for (uint32_t i = 0; i < n.nsrc; i++)
    if (!(src[i] = slice_of(g, n.src[i]))) return 0;
  return ir_make_tensor(g, (ir_op)n.op, (ir_dtype)n.dtype, shape, n.arg, src, n.nsrc);
}

/* One of them; 0 on failure. It is for the statements of x. */
static ir_ref slice_of(ir_graph *g, ir_ref x) {
  if (ir_rank(g, x) == 0) return x;
  ir_cause before = ir_cause_enter(g, x);
  ir_ref made = make_slice(g, x);
  ir_cause_leave(g, before, x, 0); /* a part of the value, not the value */
  return made;
}

/* How a scan uses an operand; they are listed in this order. */
typedef enum role { STATE, SLICED, SAME } role;

static role role_of(const ir_graph *g, ir_ref scan, uint32_t operand) {
  const ir_node *n = ir_get(g, scan);
  ir_scan_state s = ir_scan_of(n);
  int looked = 0;
  if (operand < s.carries) return STATE;
  if (operand >= s.carries + s.sliced) return SAME;
  return slices_are_equal(g, n->src[operand], &looked) ? SAME : SLICED;
}

/* The scan with its operands sorted by their roles. src has room for those of the node, params for those of
 * its function. */
static ir_ref sort_operands(ir_graph *g, ir_ref scan, ir_ref *src, ir_ref *params) {
  uint32_t operands = ir_operand_count(ir_get(g, scan)), count = 0, listed[] = {[STATE] = 0, 0, 0};
  ir_function f = ir_function_of(g, ir_called(g, scan, 0));
  ir_scan_state state = ir_scan_of(ir_get(g, scan));
  for (role wanted = STATE; wanted <= SAME; wanted++)
    for (uint32_t i = 0; i < operands; i++) {
      if (role_of(g, scan, i) != wanted) continue;
      bool was_sliced = i >= state.carries && i < state.carries + state.sliced;
      src[count] = wanted == SAME && was_sliced ? slice_of(g, ir_src(g, scan, i)) : ir_src(g, scan, i);
      params[count] = f.params[i];
      if (!src[count++]) return 0;
      listed[wanted]++;
    }
  if (listed[SLICED] == state.sliced) return scan;
  state.sliced = listed[SLICED];
  src[operands] = ir_func(g, f.results, f.result_count, params, operands);
  src[operands + 1] = ir_src(g, scan, operands + 1);
  return src[operands] ? ir_make(g, IR_OP_SCAN, IR_NONE, ir_pack_scan(state), src, operands + 2) : 0;
}

ir_ref pass_lower_scan(ir_graph *g, ir_ref scan) {
  size_t count = ir_get(g, scan)->nsrc;
  ir_ref *src = ir_alloc(g->mem, 2 * count * sizeof *src);
  if (!src) return ir_fail(g->error, IR_ERR_MEMORY, "out of memory lowering a graph"), 0;
  ir_ref made = sort_operands(g, scan, src, src + count);
  ir_free(g->mem, src, 2 * count * sizeof *src);
  return made;
}
