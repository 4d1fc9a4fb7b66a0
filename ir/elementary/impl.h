/* Declarations that the files of elementary functions share: short builders, and the constants of the two
 * formats in which everything is computed. */
#ifndef VIEWFOLD_IR_ELEMENTARY_IMPL_H
#define VIEWFOLD_IR_ELEMENTARY_IMPL_H

#include "ir/ir.h"

#include <math.h>

/* What an expression is built with: the graph, the float format and the unsigned integer type of its bits. */
typedef struct ir_format {
  ir_graph *g;
  ir_dtype type, bits;
  int fraction;  /* bits of the stored significand: 23 or 52 */
  int64_t one;   /* bits of 1.0 */
  double magic;  /* 1.5 * 2^fraction: adding it rounds |x| <= 2^(fraction-2) to an integer, left in the low
                    bits */
  double lowest; /* least normal number */
} ir_format;
ir_format ir_format_of(ir_graph *g, ir_dtype type); /* f32 or f64 */

/* A constant of m->type, rounded to it, and one of m->bits, both of rank 0. These functions and those below
 * make nodes in m->g. Operands that are tensors have equal shapes. A failed operand (0) or a lack of memory
 * gives 0; the graph's error says why. */
static inline ir_ref ir_el_const(const ir_format *m, double v) { return ir_float(m->g, m->type, v); }
static inline ir_ref ir_el_int(const ir_format *m, int64_t v) { return ir_int(m->g, m->bits, v); }
/* a OP b for two operands of one dtype, m->type or m->bits, which is also that of the result; of lt and eq it
 * is bool. and, or and xor take m->bits or bool. */
#define IR_EL_BINARY(name, op)                                                                               \
  static inline ir_ref ir_el_##name(const ir_format *m, ir_ref a, ir_ref b) {                                \
    return ir_binary(m->g, IR_OP_##op, a, b);                                                                \
  }
IR_EL_BINARY(add, ADD)
IR_EL_BINARY(sub, SUB)
IR_EL_BINARY(mul, MUL)
IR_EL_BINARY(div, DIV)
IR_EL_BINARY(and, AND)
IR_EL_BINARY(or, OR)
IR_EL_BINARY(xor, XOR)
IR_EL_BINARY(lt, LT)
IR_EL_BINARY(eq, EQ)
#undef IR_EL_BINARY
/* -a and |a|, of the dtype of a. */
static inline ir_ref ir_el_neg(const ir_format *m, ir_ref a) { return ir_unary(m->g, IR_OP_NEG, a); }
static inline ir_ref ir_el_abs(const ir_format *m, ir_ref a) { return ir_unary(m->g, IR_OP_ABS, a); }
/* a * 2^n, and a / 2^n rounded down, for a of m->bits, which is unsigned: bits are shifted out and zeros in.
 * n >= 0. */
static inline ir_ref ir_el_shl(const ir_format *m, ir_ref a, int n) {
  return ir_binary(m->g, IR_OP_SHL, a, ir_el_int(m, n));
}
static inline ir_ref ir_el_shr(const ir_format *m, ir_ref a, int n) {
  return ir_binary(m->g, IR_OP_SHR, a, ir_el_int(m, n));
}
/* a where the bool c holds, else b; a and b are of one dtype. ir_el_rare is for a c that is expected to be
 * false: code for a runs only where c holds in some vector lane. */
static inline ir_ref ir_el_where(const ir_format *m, ir_ref c, ir_ref a, ir_ref b) {
  return ir_where(m->g, c, a, b);
}
static inline ir_ref ir_el_rare(const ir_format *m, ir_ref c, ir_ref a, ir_ref b) {
  return ir_rare(m->g, c, a, b);
}
/* The bits of a float of m->type as an integer of m->bits, and back. */
static inline ir_ref ir_el_bits(const ir_format *m, ir_ref a) { return ir_bitcast(m->g, a, m->bits); }
static inline ir_ref ir_el_float(const ir_format *m, ir_ref a) { return ir_bitcast(m->g, a, m->type); }
/* a * b + c, rounded once, of m->type. */
ir_ref ir_el_fma(const ir_format *m, ir_ref a, ir_ref b, ir_ref c);
ir_ref ir_el_clamp(const ir_format *m, ir_ref x, double lo, double hi); /* keeps NaN */
/* c[0] + c[1] x + ... by Horner's rule with fma */
ir_ref ir_el_poly(const ir_format *m, ir_ref x, const double *c, int count);
/* s + s z q(z), with the coefficients of q in name##32 and name##64 */
#define IR_EL_ODD(m, s, z, name)                                                                             \
  ir_el_fma(m, ir_el_mul(m, s, z),                                                                           \
            (m)->type == IR_F64 ? ir_el_poly(m, z, name##64, sizeof name##64 / sizeof *name##64)             \
                                : ir_el_poly(m, z, name##32, sizeof name##32 / sizeof *name##32),            \
            s)
/* Horner's rule on pairs of terms, with square = x x: half the depth, where the latency of dependent
 * operations dominates */
ir_ref ir_el_poly_pairs(const ir_format *m, ir_ref x, ir_ref square, const double *c, int count);
/* a + b = *sum + *error exactly, if |a| >= |b| or a = 0 */
void ir_el_fast_two_sum(const ir_format *m, ir_ref a, ir_ref b, ir_ref *sum, ir_ref *error);
/* a * b = *product + *error exactly */
void ir_el_two_product(const ir_format *m, ir_ref a, ir_ref b, ir_ref *product, ir_ref *error);
/* x * factor rounded to an integer n by the format's magic number; the low bits of *bits are n + bias, in
 * two's complement. factor 0 stands for 1. */
ir_ref ir_el_round(const ir_format *m, ir_ref x, ir_ref factor, int bias, ir_ref *bits);
ir_ref ir_el_sign_bit(const ir_format *m); /* the sign bit, as an integer */
ir_ref ir_el_copy_sign(const ir_format *m, ir_ref size,
                       ir_ref sign); /* size >= 0 or NaN, with the sign of `sign` */

/* exp.c */
ir_ref ir_el_exp2_sum(const ir_format *m, ir_ref hi,
                      ir_ref lo);                      /* 2^(hi+lo), |lo| <= ulp(hi), |hi| <= 2^11 */
ir_ref ir_el_exp_normal(const ir_format *m, ir_ref x); /* a normal number, or NaN */
/* 1 - exp(x), accurate near 0, and 1 + exp(x); -45 <= x <= 0 or NaN */
void ir_el_one_and_exp(const ir_format *m, ir_ref x, ir_ref *less, ir_ref *more);
/* exp(x + low) - 1, accurate near 0; |x| <= 45 or NaN, |low| <= ulp(x) */
ir_ref ir_el_exp_less_one(const ir_format *m, ir_ref x, ir_ref low);
ir_ref ir_el_half_exp_less_one(const ir_format *m, ir_ref x); /* (exp(x) - 1)/2, x >= 0 or NaN */

/* pow.c: 2^r in f64, |r| <= 1/2, relative error 2^-34.3 */
ir_ref ir_el_exp2_narrow(const ir_format *m, ir_ref r);

/* log.c. Splits x > 0 as 2^e * s with s in [base, 2*base), where base_bits are the bits of base, and f = s -
 * 1. ir_el_split_normal takes fewer steps but needs a normal x. */
void ir_el_split(const ir_format *m, ir_ref x, int64_t base_bits, ir_ref *e, ir_ref *f);
void ir_el_split_normal(const ir_format *m, ir_ref x, int64_t base_bits, ir_ref *e, ir_ref *f);

/* The functions that the rows of ir/ops.def name: an operation in primitive ones, of f32 or f64 (m), or of
 * the dtype that the operands have (TYPED). */
#define EXPANDED(op, name, api, cls, ...) OF_FORMAT_##cls(ir_el_##name)
#define MIXED                             EXPANDED
#define TYPED(op, name, api, cls, ...)    OF_DTYPE_##cls(ir_el_##name)
#define OF_FORMAT_UNARY(function)         ir_ref function(const ir_format *m, ir_ref x);
#define OF_FORMAT_BINARY(function)        ir_ref function(const ir_format *m, ir_ref a, ir_ref b);
#define OF_DTYPE_UNARY(function)          ir_ref function(ir_graph *g, ir_ref x);
#define OF_DTYPE_BINARY(function)         ir_ref function(ir_graph *g, ir_ref a, ir_ref b);
#include "ir/ops.def"
#undef OF_FORMAT_UNARY
#undef OF_FORMAT_BINARY
#undef OF_DTYPE_UNARY
#undef OF_DTYPE_BINARY

#endif
