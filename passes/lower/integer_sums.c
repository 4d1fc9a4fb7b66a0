/* Sums of products of dequantized values, in integers.
 *
 * With a = s n and b = t m, where n and m are bytes minus their zero points, and the scales s and t do not
 * vary along the terms,
 *
 *   sum a b  =  s t sum n m
 *
 * where the sum on the right is exact, as long as it fits in 32 bits: of k terms, k max|n| max|m| < 2^31.
 * What the graph says is a sum of a' = s n (1 + e) and b' = t m (1 + e), each rounded once, |e| <= u. So the
 * exact sum of n m, rounded to f32 once, and multiplied by s and by t, which rounds twice, differs from the
 * exact sum of a' b' by at most
 *
 *   (2u + u^2 + 3u + ...) sum |a' b'|  <=  6 u sum |a' b'|
 *
 * which is no more than the k u sum |a b| that contractions may be off by (docs/decisions.md) from k = 6 on.
 * A sum in f32 may be off by k u. The bits depend on the graph alone: machines differ in how they add up the
 * same integers.
 *
 * One of the scales is a literal between 2^-60 and 2^60, and is multiplied by first: the sum is an integer
 * below 2^31, so that nothing overflows or underflows that the result does not. The other one may be any
 * value: an infinite or NaN one makes the results not finite, as in the sum of floats. If both are literals,
 * their product is, which is rounded once.
 *
 * The zero padding of an image is that of its bytes with their zero point. What is stored dequantized is
 * stored as bytes. */
#include "dequantized.h"
#include "lower.h"

#include "passes/ops/check.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <math.h>

enum {
  MIN_TERMS = 6,     /* from which on the bound of contractions, k u, is no less than the error */
  MAX_EXPONENT = 60, /* of a literal scale, on both sides: the product of two is normal */
};

static bool is_literal(const ir_graph *g, ir_ref scale) {
  return !scale || ir_op_of(g, scale) == IR_OP_CONST;
}

static double literal(const ir_graph *g, ir_ref scale) { return scale ? ir_const_value(g, scale).f : 1; }

static bool is_moderate(double scale) {
  return scale >= ldexp(1, -MAX_EXPONENT) && scale <= ldexp(1, MAX_EXPONENT);
}

/* The largest sum that the terms can have, at least the number of terms; INT64_MAX where that is not known.
 */
static int64_t largest_sum(const pass_contraction *c, const lower_dequantized d[2]) {
  int64_t largest = 1, size, terms = 1;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!(c->reduced >> i & 1)) continue;
    if (!ir_is_const(c->g, ir_dim(c->g, c->operand[0].value, i), &size) || terms > INT32_MAX)
      return INT64_MAX;
    terms *= size;
  }
  if (terms < MIN_TERMS || terms > INT32_MAX) return INT64_MAX;
  for (int i = 0; i < 2; i++) {
    int64_t magnitude = d[i].high > -d[i].low ? d[i].high : -d[i].low;
    largest *= magnitude < 1 ? 1 : magnitude;
  }
  return largest * terms;
}

/* The node nearest to the operand's base from which on only views follow whose elements are all in the base,
 * or in the padding of that node: the base itself, or the first padding above it, if any of that is read. */
static ir_ref below_window(const pass_contraction *c, const pass_operand *o) {
  ir_ref pad = o->base;
  if (ir_is_true(c->g, o->valid)) return pad;
  for (ir_ref r = o->value; r != o->base; r = ir_src(c->g, r, 0))
    if (ir_op_of(c->g, r) == IR_OP_PAD) pad = r;
  return pad;
}

/* The views from `value` down to `below`, of `made` in its place. */
static ir_ref views_on(ir_graph *g, ir_ref value, ir_ref below, ir_ref made) {
  ir_ref views[LOWER_MAX_VIEWS];
  uint32_t count = 0;
  for (ir_ref r = value; r != below && count < LOWER_MAX_VIEWS; r = ir_src(g, r, 0)) views[count++] = r;
  while (count > 0 && made) made = lower_view_on(g, views[--count], made);
  return made;
}

/* The operand's bytes minus their zero point in 32 bits, computed below the views of windows. */
static ir_ref centred_operand(const pass_contraction *c, const pass_operand *o) {
  ir_ref below = below_window(c, o);
  lower_dequantized d;
  if (!lower_dequantized_of(c->g, below, &d)) return 0;
  ir_ref made = lower_centred_bytes(c->g, &d, IR_I32);
  return made ? views_on(c->g, o->value, below, made) : 0;
}

static ir_ref sum_of_centred(const pass_contraction *c) {
  ir_graph *g = c->g;
  const ir_node *n = ir_get(g, c->sum);
  ir_ref a = centred_operand(c, &c->operand[0]), b = centred_operand(c, &c->operand[1]), src[1 + IR_MAX_RANK];
  if (!a || !b) return 0;
  for (uint32_t i = 1; i < n->nsrc; i++) src[i] = n->src[i];
  src[0] = ir_binary(g, IR_OP_MUL, a, b);
  return src[0] ? ir_make_tensor(g, IR_OP_SUM, IR_I32, ir_shape(g, c->sum), n->arg, src, n->nsrc) : 0;
}

static ir_ref times(ir_graph *g, ir_ref x, ir_ref scale) {
  return x && scale ? ir_binary(g, IR_OP_MUL, x, scale) : 0;
}

static ir_ref scaled_sum(const pass_contraction *c, const lower_dequantized d[2]) {
  ir_graph *g = c->g;
  bool known[2] = {is_literal(g, d[0].scale), is_literal(g, d[1].scale)};
  ir_ref sum = sum_of_centred(c);
  sum = sum ? ir_cast(g, sum, IR_F32) : 0;
  double factor = (known[0] ? literal(g, d[0].scale) : 1) * (known[1] ? literal(g, d[1].scale) : 1);
  if (factor != 1) sum = times(g, sum, ir_float(g, IR_F32, factor));
  for (int i = 0; i < 2; i++)
    if (!known[i]) sum = times(g, sum, pass_contraction_kept(c, d[i].scale));
  return sum;
}

static ir_ref integer_sum(ir_graph *g, ir_ref sum) {
  pass_contraction c;
  lower_dequantized d[2];
  ir_dtype dtype = ir_dtype_of(g, sum);
  ir_op term = ir_op_of(g, ir_src(g, sum, 0));
  if ((dtype != IR_F32 && dtype != IR_I32) || (term != IR_OP_MUL && term != IR_OP_FMA) ||
      !lower_dequantized_of(g, ir_src(g, ir_src(g, sum, 0), 0), &d[0]) ||
      !lower_dequantized_of(g, ir_src(g, ir_src(g, sum, 0), 1), &d[1]) || !pass_contraction_of(g, sum, &c))
    return sum;
  if (dtype == IR_I32)
    return d[0].padded || d[1].padded || d[0].stored || d[1].stored ? sum_of_centred(&c) : sum;
  bool moderate = false;
  for (int i = 0; i < 2; i++) {
    bool known = is_literal(g, d[i].scale);
    if (known ? !is_moderate(literal(g, d[i].scale)) : !pass_contraction_is_fixed(&c, d[i].scale)) return sum;
    moderate |= known;
  }
  return moderate && largest_sum(&c, d) <= INT32_MAX ? scaled_sum(&c, d) : sum;
}

/* What is stored as s (q - z), of bytes that are computed, is computed of these, which are stored. */
static ir_ref stored_bytes(ir_graph *g, ir_ref stored) {
  lower_dequantized d;
  ir_dtype dtype = ir_dtype_of(g, stored);
  if (!lower_dequantized_of(g, stored, &d) || d.padded ||
      !pass_is_elementwise(ir_get(g, pass_below_views(g, d.bytes))))
    return stored;
  d.bytes = ir_unary(g, IR_OP_STORED, d.bytes);
  ir_ref made = d.bytes ? lower_centred_bytes(g, &d, dtype) : 0;
  return made && d.scale ? ir_binary(g, IR_OP_MUL, made, d.scale) : made;
}

ir_ref pass_integer_sums(ir_graph *g, ir_ref results) {
  ir_ref *live = NULL, *map = ir_alloc(g->mem, ((size_t)results + 1) * sizeof *map), root = 0;
  size_t count = 0, cap = 0;
  bool good = map && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++) {
    ir_cause before = ir_cause_enter(g, live[i]);
    ir_ref made = ir_remake_mapped(g, live[i], map);
    if (made && ir_op_of(g, live[i]) == IR_OP_SUM) made = integer_sum(g, made);
    else if (made && ir_op_of(g, live[i]) == IR_OP_STORED) made = stored_bytes(g, made);
    if (ir_gives_up(g->error->status)) made = 0;
    good = (map[live[i]] = ir_cause_leave(g, before, live[i], made)) != 0;
  }
  if (good) root = map[results];
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory adding up dequantized values in integers");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map ? ((size_t)results + 1) * sizeof *map : 0);
  return root;
}
