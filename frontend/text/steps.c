/* Where the operands of a statement are, as seen from its result. */
#include "frontend/text/statement_bits.h"

/* Is the constant what became of that number, which had no dtype of its own? */
static bool is_converted(const ir_graph *g, ir_ref constant, ir_ref number) {
  const ir_node *a = ir_get(g, constant), *b = ir_get(g, number);
  if (a->op != IR_OP_CONST || b->op != IR_OP_CONST || !b->weak) return false;
  ir_dtype from = ir_is_float((ir_dtype)b->dtype) ? IR_F64 : IR_I64;
  return ir_value_cast((ir_value){.i = b->arg}, from, (ir_dtype)a->dtype).i == a->arg;
}

/* Are these of the operands constants that the last sources on their way became of? */
__attribute__((noinline)) static bool are_converted(const ir_graph *g, const ir_ref *src, const ir_ref *given,
                                                    uint32_t count, uint32_t which) {
  for (uint32_t i = 0; i < count; i++) {
    ir_ref at = src[i];
    while (which >> i & 1 && ir_get(g, at)->nsrc) at = ir_src(g, at, 0);
    if (which >> i & 1 && !is_converted(g, at, given[i])) return false;
  }
  return true;
}

__attribute__((noinline)) static uint32_t steps_of_all(const ir_graph *g, const ir_node *made,
                                                       const ir_ref *given, uint32_t count) {
  if (count > made->nsrc || count > FE_FEW_GIVEN || made->op == IR_OP_TUPLE) return 0;
  bool shifted = made->op == IR_OP_ASSIGN && count == 2; /* of a write through a reference */
  const ir_ref *src = made->src + shifted, *end = given + count;
  uint32_t all = (shifted ? (uint32_t)SHIFTED : count) << SITE_BITS, converted = 0;
  for (uint32_t unit = 1u << (SITE_BITS + COUNT_BITS); given != end; given++, src++, unit <<= STEP_BITS) {
    uint32_t most = all + STEPS_MOST * unit;
    for (ir_ref at = *src; at != *given; all += unit) {
      const ir_node *source = ir_get(g, at);
      if (!source->nsrc) {
        converted |= 1u << (given + count - end);
        break;
      }
      if (all == most) return 0;
      at = source->src[0];
    }
  }
  return converted && !are_converted(g, src - count, given - count, count, converted) ? 0 : all;
}

/* Most often one operand alone is not a source of its own, the last one: of these the steps are counted here,
 * which saves no registers. */
uint32_t fe_statements_steps(const ir_graph *g, const ir_node *made, const ir_ref *given, uint32_t count) {
  uint32_t last = count - 1, steps = 0;
  if (last > 1 || count > made->nsrc || (last && made->src[0] != given[0]) || made->op == IR_OP_TUPLE) {
    bool shifted =
        count == 2 && made->op == IR_OP_ASSIGN && made->src[1] == given[0] && made->src[2] == given[1];
    return shifted ? (uint32_t)SHIFTED << SITE_BITS : steps_of_all(g, made, given, count);
  }
  for (ir_ref at = made->src[last]; at != given[last]; steps++) {
    const ir_node *source = ir_get(g, at);
    if (steps == STEPS_MOST || !source->nsrc) return steps_of_all(g, made, given, count);
    at = source->src[0];
  }
  return count << SITE_BITS | steps << (SITE_BITS + COUNT_BITS + STEP_BITS * last);
}
