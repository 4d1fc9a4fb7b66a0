/* Products of bf16, two at a time, in graphs that say that their precision is relaxed.
 *
 * Where both operands of a contraction hold bf16, two consecutive terms fit in a word of 32 bits, and FMA2 of
 * two words adds both products to a sum, each with a rounding of its own, the first term first: the order and
 * the roundings of the sum of fma(a, b, 0) of f32, whose products are exact. What the instructions do
 * otherwise is to take subnormal operands and sums as zeros; that is why the graph has to allow it. */
#include "pack.h"

enum {
  MIN_TERMS = 8, /* of the summed axis: making the pairs costs about as much as multiplying shorter ones */
  MAX_DEPTH = 32 /* views between an operand and the values that are converted [12 in the tests]; what is
                    below more is multiplied as f32 */
};

/* Are all elements those of a bf16? */
static bool holds_bf16(const ir_graph *g, ir_ref value, int depth) {
  const ir_node *n = ir_get(g, value);
  if (n->op == IR_OP_CAST) return ir_dtype_of(g, n->src[0]) == IR_BF16;
  if (depth == MAX_DEPTH) return false;
  if (n->op != IR_OP_STORED && ir_ops[n->op].cls != IR_CLASS_VIEW) return false;
  if (n->op == IR_OP_PAD && ir_const_value(g, n->src[1]).f != 0) return false;
  for (uint32_t i = 0; i < ir_operand_count(n); i++)
    if (!holds_bf16(g, n->src[i], depth + 1)) return false;
  return true;
}

ir_ref pack_bf16_bits(ir_graph *g, ir_ref x) {
  return ir_binary(g, IR_OP_SHR, ir_bitcast(g, x, IR_U32), ir_int(g, IR_U32, 16));
}

ir_ref pack_bf16_pairs(const pass_contraction *c) {
  ir_graph *g = c->g;
  uint32_t axis;
  if (c->dtype != IR_F32 || c->term != IR_OP_FMA || c->rank == IR_MAX_RANK ||
      !holds_bf16(g, c->operand[0].value, 0) || !holds_bf16(g, c->operand[1].value, 0) ||
      !pack_longest_axis(c, MIN_TERMS, &axis) || pass_contraction_size(c, c->reduced) != c->size[axis])
    return c->sum;
  pass_contraction pairs = *c;
  pairs.term = IR_OP_FMA2;
  ir_ref a = pack_words(c, &c->operand[0], axis, 2), b = pack_words(c, &c->operand[1], axis, 2);
  return a && b ? pack_sum(c, pack_product(&pairs, a, b), c->reduced) : 0;
}
