/* Gathers whose indices are literals in steps are views: index i is first + step * (i / times). So is an
 * image of which each row is repeated, as `floor(i / 2)` tells that doubles its height, and one of which
 * every other row is left. A view takes no kernel of its own, and images on both sides of it have one layout
 * (passes/layout/). */
#include "lower.h"

#include "ir/eval/eval.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "passes/ops/ops.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

enum {
  MAX_INDICES = 1 << 13, /* that are evaluated: the height of an image */
  MAX_NODES = 64 /* that are looked at, one again from each use: a place, rounded and clamped, has 12 */
};

/* Is it computed of literals alone, by few operations on few elements? */
static bool is_literal(ir_graph *g, ir_ref x, int *left) {
  const ir_node *n = ir_get(g, x);
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  if (--*left < 0 || pass_elements(g, x) > MAX_INDICES) return false;
  if (n->op == IR_OP_CONST || n->op == IR_OP_IOTA) return true;
  if (n->op == IR_OP_CONCAT || n->op == IR_OP_STACK || (cls != IR_CLASS_VIEW && !pass_is_elementwise(n)))
    return false;
  bool literal = true;
  for (uint32_t k = 0; k < ir_operand_count(n) && literal; k++) literal = is_literal(g, n->src[k], left);
  return literal;
}

typedef struct steps {
  int64_t first, step, times, count; /* of all indices */
} steps;

/* Are the values in steps that do not go back, inside of an axis of `size` elements? */
static bool in_steps(const ir_eval_result *r, int64_t size, steps *s) {
  size_t bytes = ir_dtypes[r->dtype].bytes;
  int64_t times = 0;
  *s = (steps){.first = ir_value_load(r->data, r->dtype).i, .step = 1, .times = r->count, .count = r->count};
  for (int64_t i = 0; i < r->count; i++) {
    int64_t value = ir_value_load((const char *)r->data + (size_t)i * bytes, r->dtype).i;
    if (value < 0 || value >= size) return false;
    if (!times && value != s->first) times = s->times = i, s->step = value - s->first;
    if (value != s->first + s->step * (i / s->times)) return false;
  }
  return s->step > 0;
}

/* Elements first, first + step, ... of the axis, each of them so many times. */
static ir_ref view_in_steps(ir_graph *g, ir_ref x, uint32_t axis, const steps *s) {
  ir_ref bounds[2 * IR_MAX_RANK], by[IR_MAX_RANK], dims[IR_MAX_RANK + 1];
  uint32_t rank = ir_rank(g, x);
  int64_t taken = (s->count + s->times - 1) / s->times;
  for (uint32_t i = 0; i < rank; i++) {
    bounds[2 * i] = ir_index(g, i == axis ? s->first : 0);
    bounds[2 * i + 1] = i == axis ? ir_index(g, s->first + s->step * (taken - 1) + 1) : ir_dim(g, x, i);
    by[i] = ir_index(g, i == axis ? s->step : 1);
  }
  ir_ref y = op_shrink_known(g, x, bounds);
  if (y && s->step > 1) y = op_stride(g, y, by, rank);
  if (!y || s->times == 1) return y;
  for (uint32_t i = 0, at = 0; i < rank; i++) {
    dims[at++] = ir_dim(g, y, i);
    if (i == axis) dims[at++] = ir_index(g, 1);
  }
  y = op_reshape_known(g, y, dims, rank + 1);
  dims[axis + 1] = ir_index(g, s->times);
  y = y ? op_expand(g, y, dims, rank + 1) : 0;
  for (uint32_t i = 0; i < rank && y; i++)
    dims[i] = i == axis ? ir_index(g, taken * s->times) : ir_dim(g, x, i);
  y = y ? op_reshape_known(g, y, dims, rank) : 0;
  for (uint32_t i = 0; i < rank && y; i++)
    bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = i == axis ? ir_index(g, s->count) : dims[i];
  return y ? op_shrink_known(g, y, bounds) : 0;
}

/* Are they positions, of which an assignment asks whether gathers take each once (op_target_repeats)? */
static bool are_positions(const ir_graph *g, ir_ref x) {
  while (ir_op_of(g, x) == IR_OP_GATHER || ir_ops[ir_op_of(g, x)].cls == IR_CLASS_VIEW) x = ir_src(g, x, 0);
  return ir_op_of(g, x) == IR_OP_IOTA;
}

ir_ref pass_lower_known_gather(ir_graph *g, ir_ref gather, ir_ref x) {
  const ir_node *n = ir_get(g, gather);
  ir_ref index = n->src[1];
  uint32_t axis = (uint32_t)ir_arg_int(n);
  int64_t size, count;
  int left = MAX_NODES;
  steps s;
  ir_eval_result r;
  ir_error ignored = {0};
  if (ir_arg_small(n) || ir_rank(g, index) != 1 || ir_rank(g, x) == IR_MAX_RANK || are_positions(g, x) ||
      !ir_is_const(g, ir_dim(g, index, 0), &count) || count < 1 ||
      !ir_is_const(g, ir_dim(g, x, axis), &size) || !is_literal(g, index, &left) ||
      ir_eval(g, &index, 1, NULL, 0, NULL, 0, &r, &ignored) != IR_OK)
    return 0;
  bool found = in_steps(&r, size, &s);
  ir_eval_free(g, &r, 1);
  return found ? view_in_steps(g, x, axis, &s) : 0;
}
