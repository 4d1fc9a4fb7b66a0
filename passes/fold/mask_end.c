/* Where the rows of a fused row group end: from which index on a mask makes scores -inf. */
#include "mask_end.h"

#include "passes/index/affine.h"
#include "passes/index/index.h"

#include <math.h>

enum { MAX_RANGES = 64 }; /* ranges in one index [2 in the workloads]: of more, no end is known */

/* From index *start of the range on, the condition is `*beyond`; false: that is not known. */
static bool half_space_of(ir_graph *g, ir_ref condition, ir_ref range, ir_ref *start, bool *beyond) {
  const ir_node *n = ir_get(g, condition);
  ir_ref e, zero = ir_index(g, 0);
  int64_t stride;
  if (ir_ops[n->op].cls != IR_CLASS_COMPARE || ir_dtype_of(g, n->src[0]) != IR_INDEX) return false;
  if (n->op == IR_OP_LT || n->op == IR_OP_LE) e = pass_sub(g, n->src[0], n->src[1]); /* e < 0, e <= 0 */
  else if (n->op == IR_OP_GT || n->op == IR_OP_GE) e = pass_sub(g, n->src[1], n->src[0]);
  else return false;
  bool strict = n->op == IR_OP_LT || n->op == IR_OP_GT;
  if (!e || !affine_stride(g, e, range, &stride) || (stride != 1 && stride != -1)) return false;
  ir_ref rest = pass_substitute(g, e, &range, &zero, 1);
  *beyond =
      stride < 0; /* stride < 0: rest - r < 0 holds from rest + 1 on; else rest + r < 0 fails from -rest on */
  *start = *beyond ? pass_add_int(g, rest, strict) : pass_add_int(g, pass_mul_int(g, rest, -1), !strict);
  return *start != 0;
}

bool fold_is_infinite(const ir_graph *g, ir_ref value) {
  return ir_op_of(g, value) == IR_OP_CONST && ir_is_float(ir_dtype_of(g, value)) &&
         ir_const_value(g, value).f == -INFINITY;
}

bool fold_masked_from(ir_graph *g, ir_ref value, ir_ref range, ir_ref *start) {
  const ir_node *n = ir_get(g, value);
  if (n->op != IR_OP_WHERE) return false;
  bool when = fold_is_infinite(g, n->src[1]);
  if (!when && !fold_is_infinite(g, n->src[2])) return false;
  const ir_node *all = ir_get(g, n->src[0]);
  bool several = all->op == (when ? IR_OP_OR : IR_OP_AND);
  for (uint32_t i = 0; i < (several ? all->nsrc : 1); i++) {
    bool beyond;
    if (half_space_of(g, several ? all->src[i] : n->src[0], range, start, &beyond) && beyond == when)
      return true;
  }
  return false;
}

ir_ref fold_last_unmasked(ir_graph *g, ir_ref start, ir_ref iteration, int64_t most) {
  ir_ref ranges[MAX_RANGES], size = ir_index(g, most), tile = ir_index(g, FOLD_MASK_TILE);
  uint32_t count = affine_find_range(g, start, IR_OP_RANGE, ranges, MAX_RANGES);
  for (uint32_t i = 0; i < count && count < MAX_RANGES; i++) {
    int64_t stride, extent;
    if (ranges[i] == iteration) continue;
    if (!affine_stride(g, start, ranges[i], &stride) || !ir_is_const(g, ir_src(g, ranges[i], 0), &extent))
      return 0;
    ir_ref at = ir_index(g, stride > 0 ? extent - 1 : 0);
    start = pass_substitute(g, start, &ranges[i], &at, 1);
  }
  ir_ref end = pass_mul_int(g, pass_div_int(g, pass_add_int(g, start, FOLD_MASK_TILE - 1), FOLD_MASK_TILE),
                            FOLD_MASK_TILE);
  if (!pass_proves(g, IR_OP_LE, end, size)) end = pass_min(g, end, size);
  return pass_proves(g, IR_OP_GE, end, tile) ? end : pass_max(g, end, tile);
}
