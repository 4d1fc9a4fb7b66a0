/* Products with a power of two whose result may be subnormal or overflow, as exp.c writes them: in two steps,
 * each with a normal power.
 *
 *   s = ... + (1.5 2^f + 2 bias)     n = s - (1.5 2^f + 2 bias), an integer
 *   u = bits of s, h = u >> 1        the lowest bits of u are n + 2 bias
 *   (p * float of h << f) * float of (u - h) << f
 *
 * or, where what rounds to 0 is to be 0 without an underflow, with the last factor `where zero, 0, ...`. */
#include "elementary.h"

#include <math.h>

static bool is_int(const ir_graph *g, ir_ref ref, int64_t value) {
  int64_t found;
  return ir_is_const(g, ref, &found) && found == value;
}

/* The integer v where ref is the float whose bits are v << fraction; else 0. */
static ir_ref exponent_of(const ir_graph *g, ir_ref ref, int fraction) {
  const ir_node *n = ir_get(g, ref);
  if (n->op != IR_OP_BITCAST) return 0;
  n = ir_get(g, n->src[0]);
  return n->op == IR_OP_SHL && is_int(g, n->src[1], fraction) ? n->src[0] : 0;
}

/* Is ref the product of *other and the float of an exponent? */
static bool read_product(const ir_graph *g, ir_ref ref, int fraction, ir_ref *other, ir_ref *exponent) {
  const ir_node *n = ir_get(g, ref);
  for (uint32_t i = 0; i < 2 && n->op == IR_OP_MUL; i++) {
    *other = n->src[1 - i];
    if ((*exponent = exponent_of(g, n->src[i], fraction)) != 0) return true;
  }
  return false;
}

/* Is ref such a product whose float may be 0 in some lanes, those of *zero? */
static bool read_masked_product(const ir_graph *g, ir_ref ref, int fraction, ir_ref *other, ir_ref *exponent,
                                ir_ref *zero) {
  const ir_node *n = ir_get(g, ref);
  *zero = 0;
  if (read_product(g, ref, fraction, other, exponent)) return true;
  for (uint32_t i = 0; i < 2 && n->op == IR_OP_MUL; i++) {
    const ir_node *chosen = ir_get(g, n->src[i]);
    if (chosen->op != IR_OP_WHERE || ir_op_of(g, chosen->src[1]) != IR_OP_CONST ||
        ir_const_value(g, chosen->src[1]).f != 0 || signbit(ir_const_value(g, chosen->src[1]).f))
      continue;
    *other = n->src[1 - i], *zero = chosen->src[0];
    if ((*exponent = exponent_of(g, chosen->src[2], fraction)) != 0) return true;
  }
  return false;
}

bool ir_read_scaled(const ir_graph *g, ir_ref ref, ir_scaled *out) {
  bool wide = ir_dtype_of(g, ref) == IR_F64;
  int fraction = wide ? 52 : 23, bias = wide ? 1023 : 127;
  ir_ref first, half, further;
  if (!read_masked_product(g, ref, fraction, &first, &further, &out->zero) ||
      !read_product(g, first, fraction, &out->p, &half))
    return false;
  const ir_node *h = ir_get(g, half), *r = ir_get(g, further);
  if (h->op != IR_OP_SHR || !is_int(g, h->src[1], 1) || r->op != IR_OP_SUB || r->src[0] != h->src[0] ||
      r->src[1] != half)
    return false;
  const ir_node *bits = ir_get(g, h->src[0]);
  if (bits->op != IR_OP_BITCAST || ir_dtype_of(g, bits->src[0]) != ir_dtype_of(g, ref)) return false;
  out->s = bits->src[0];
  out->magic = ldexp(1.5, fraction) + 2 * bias;
  const ir_node *sum = ir_get(g, out->s);
  if (sum->op != IR_OP_FMA && sum->op != IR_OP_ADD) return false;
  ir_ref added = sum->src[sum->nsrc - 1];
  return ir_op_of(g, added) == IR_OP_CONST && ir_const_value(g, added).f == out->magic;
}
