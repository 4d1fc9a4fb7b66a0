/* Axes of which the last index repeats what the one before it does.
 *
 * An iteration of a fused row group goes over several rows. Where these do not divide the number of rows, the
 * last iteration begins further back (passes/fold/fused.c): its first row is min(k*i, c), with k rows of an
 * iteration and k*i > c for the last index i alone. With several shared loops i is a digit of the iteration's
 * number, range % period. */
#include "loops.h"

#include "passes/index/index.h"

/* Is x k*(range % period), with k >= 2? *period is the extent where it is k*range. */
static bool read_digit(ir_graph *g, ir_ref x, ir_ref range, int64_t *k, int64_t *period) {
  ir_ref one = ir_index(g, 1), quotient;
  if (!ir_is_const(g, ir_src(g, range, 0), period) ||
      !ir_is_const(g, pass_substitute(g, x, &range, &one, 1), k))
    return false;
  if (affine_find_range(g, x, IR_OP_FLOORDIV, &quotient, 1) &&
      (ir_src(g, quotient, 0) != range || !ir_is_const(g, ir_src(g, quotient, 1), period)))
    return false;
  return *k >= 2 && *period >= 2 && x == pass_mul_int(g, pass_mod_int(g, range, *period), *k);
}

void loop_find_repeated(loop_nest *n, ir_ref store) {
  ir_graph *g = n->g;
  ir_ref found[LOOP_MAX_NODES];
  for (uint32_t i = affine_find_range(g, store, IR_OP_MIN, found, LOOP_MAX_NODES); i-- > 0;)
    for (uint32_t a = 0; a < n->axis_count; a++) {
      const ir_node *least = ir_get(g, found[i]);
      if (least->dtype != IR_INDEX) break;
      int64_t k, period, c;
      bool second = ir_is_const(g, least->src[0], &c);
      if (!second && !ir_is_const(g, least->src[1], &c)) break;
      if (read_digit(g, ir_src(g, found[i], second), n->axes[a].range, &k, &period) && k * (period - 1) > c &&
          k * (period - 2) <= c)
        n->axes[a].repeats = period;
    }
}
