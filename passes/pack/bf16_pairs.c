/* Products of bf16, two at a time, in graphs that say that their precision is relaxed.
 *
 * Where both operands of a contraction hold bf16, two consecutive terms fit in a word of 32 bits, and FMA2 of
 * two words adds both products to a sum, each with a rounding of its own, the first term first: the order and
 * the roundings of the sum of fma(a, b, 0) of f32, whose products are exact. What the instructions do
 * otherwise is to take subnormal operands and sums as zeros; that is why the graph has to allow it.
 *
 * Over one axis the sum is the same, so that it has pairs where there is the instruction. Over several, as in
 * a convolution, two terms of the axis with the words stand together that were apart: there every CPU has
 * pairs, so that they all add in one order. GPUs, whose products are not packed, never have any. */
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

ir_ref pack_bf16_pairs(const pass_contraction *c, bool one_instruction) {
  ir_graph *g = c->g;
  uint32_t axis;
  if (c->dtype != IR_F32 || (c->term != IR_OP_FMA && c->term != IR_OP_MUL) || c->rank == IR_MAX_RANK ||
      !pack_longest_axis(c, MIN_TERMS, &axis))
    return c->sum;
  if (!one_instruction && pass_contraction_size(c, c->reduced) == c->size[axis]) return c->sum;
  bool window[2];
  for (int i = 0; i < 2; i++) {
    const pass_operand *o = &c->operand[i];
    window[i] = pack_is_window(c, o);
    if (!holds_bf16(g, o->value, 0) || (window[i] && !pack_has_window_words(c, o->value, axis, 2)))
      return c->sum;
  }
  pass_contraction pairs = *c;
  pairs.term = IR_OP_FMA2;
  ir_ref words[2];
  for (int i = 0; i < 2; i++)
    words[i] = window[i] ? pack_window_words(c, c->operand[i].value, 0, axis, 2)
                         : pack_words(c, &c->operand[i], axis, 2);
  return words[0] && words[1] ? pack_sum(c, pack_product(&pairs, words[0], words[1]), c->reduced) : 0;
}
