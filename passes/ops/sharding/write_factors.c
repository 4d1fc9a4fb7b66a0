/* Which axes of the updates of a write are divided along with those of the array.
 *
 * The positions of a write are a chain of views and gathers of an iota, which names the elements of the
 * array. An axis of the positions that is an axis of the array, index for index, has the factor of that axis:
 * the rule of each view says which of its axes are those of what it is a view of. Along the others each
 * device has all updates, and drops what lies in other parts. */
#include "sharding.h"

#include <string.h>

/* The axis that has this factor alone, or -1. */
static int axis_of_factor(const op_term *term, uint8_t factor) {
  for (uint32_t d = 0; d < term->rank; d++)
    if (term->axes[d].count == 1 && term->axes[d].factors[0] == factor) return (int)d;
  return -1;
}

/* axes[]: by axis of the term `from`, the axis of the array that it is, or -1; becomes that of `to`. */
static void pass_on(const op_term *from, const op_term *to, int *axes) {
  int below[IR_MAX_RANK];
  memcpy(below, axes, sizeof below);
  for (uint32_t d = 0; d < to->rank; d++) {
    int at = to->axes[d].count == 1 ? axis_of_factor(from, to->axes[d].factors[0]) : -1;
    axes[d] = at < 0 ? -1 : below[at];
  }
}

/* The rule of a link of the chain. The last one is a view of the iota, or the iota: its operand is the array.
 */
static bool rule_of(ir_graph *g, ir_ref array, ir_ref at, bool last, op_sharding *out) {
  if (!last) return op_sharding_of(g, at, out);
  op_sharding_ask ask = {.who = "assign",
                         .rule = op_registry[IR_OP_RESHAPE].sharding,
                         .shapes = (ir_ref[]){array, ir_shape(g, at)},
                         .operands = 1,
                         .results = 1};
  return op_sharding_make(g, &ask, out);
}

/* The axes of the array that those of the positions are; false after failing. Beyond MOST_LINKS nothing is
 * followed, which is right as well. */
enum { MOST_LINKS = 64 };
static bool follow(ir_graph *g, ir_ref array, ir_ref at, uint32_t links, int *axes) {
  op_sharding rule;
  ir_op op = ir_op_of(g, at);
  bool last = op == IR_OP_IOTA || (op == IR_OP_RESHAPE && ir_op_of(g, ir_src(g, at, 0)) == IR_OP_IOTA);
  bool known = last || (op_sharding_known(g, at) && links < MOST_LINKS);
  for (int d = 0; d < IR_MAX_RANK; d++) axes[d] = known ? d : -1;
  if (!known) return true;
  if (!last && !follow(g, array, ir_src(g, at, 0), links + 1, axes)) return false;
  if (!rule_of(g, array, at, last, &rule)) return false;
  pass_on(&rule.terms[0], &rule.terms[rule.operands], axes);
  op_sharding_free(&rule);
  return true;
}

bool op_sharding_write(ir_graph *g, ir_ref node, op_sharding *rule) {
  int axes[IR_MAX_RANK];
  ir_ref at = ir_src(g, node, 1);
  if (!follow(g, ir_shape(g, node), at, 0, axes)) return false;
  for (uint32_t d = 0; d < ir_rank(g, at); d++)
    if (axes[d] >= 0) rule->terms[2].axes[d] = rule->terms[0].axes[axes[d]];
  return true;
}
