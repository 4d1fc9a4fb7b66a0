/* erf.
 *
 * f32: below 0.9, x + x S(x^2); above, 1 - 2^-L(|x|), where L = -log2(1 - erf), up to where the result is 1.
 * S and L have the same degree, so that one evaluation serves both.
 *
 * f64: erf|x| = 1 - exp(-P) with P = -log(1 - erf|x|) = |x| (c + |x| Q(|x|)), where c = 2 / sqrt(pi) is a sum
 * of two floats. Q is a minimax polynomial on [0, 5.95], weighted by dP/derf, so that erf is accurate
 * relatively everywhere, to 2^-56.9. */
#include "impl.h"

/* S and L: relative errors of erf 2^-30 and 2^-29; 2^-r on [-1/2, 1/2]: 2^-23, of which a fifth reaches the
 * result */
enum { TERMS32 = 7 };
static const double near_far32[TERMS32][2] = {
    {0x1.06eba8p-3, 0x1.0c852ep-12},  {-0x1.81274p-2, 0x1.a082fcp+0},  {0x1.ce2d6p-4, 0x1.d6920cp-1},
    {-0x1.b80062p-6, 0x1.336490p-3},  {0x1.543f2cp-8, -0x1.074872p-5}, {-0x1.a583fp-11, 0x1.20e72ep-8},
    {0x1.4d29acp-14, -0x1.2a4abep-12}};
static const double exp2_32[] = {0x1.000002p+0, -0x1.62e438p-1, 0x1.ebf80ap-3,
                                 -0x1.c6a2ep-5, 0x1.3d5994p-7,  -0x1.6551dcp-10};
static const double q64[] = {
    0x1.45f306dc9c890p-1,   0x1.a4f4e2a1b296bp-4,   -0x1.39668594010fap-6,  -0x1.b6b68b15eb0bcp-13,
    0x1.bca67b1c1dad8p-10,  -0x1.35654922a5c0ap-11, 0x1.b229190da2175p-16,  0x1.0e813d5fc2ee7p-14,
    -0x1.f2bc08b0d7604p-16, 0x1.c9df7e68d6d70p-19,  0x1.7be22e64984fdp-19,  -0x1.d24fc9b775740p-20,
    0x1.65adf3b17bdb9p-22,  0x1.2ac03d578f005p-23,  -0x1.326d8222ae3a7p-23, 0x1.1bde5df1954b1p-24,
    -0x1.6a0d90b9ea884p-26, 0x1.5953ecfef034fp-28,  -0x1.f6356ba55acd1p-31, 0x1.143d2f5394777p-33,
    -0x1.bead13f103041p-37, 0x1.f58713371537ep-41,  -0x1.5d7a2cf3701eep-45, 0x1.c748e51a62333p-51};

static ir_ref erf32(const ir_format *m, ir_ref x) {
  ir_ref size = ir_el_abs(m, x), near = ir_el_lt(m, size, ir_el_const(m, 0.9)), bits, q = 0;
  ir_ref clamped = ir_binary(m->g, IR_OP_MIN, size, ir_el_const(m, 0x1.f8p1));
  ir_ref at = ir_el_where(m, near, ir_el_mul(m, x, x), clamped);
  ir_ref terms[TERMS32], square = ir_el_mul(m, at, at);
  for (int i = 0; i < TERMS32; i++)
    terms[i] = ir_el_where(m, near, ir_el_const(m, near_far32[i][0]), ir_el_const(m, near_far32[i][1]));
  for (int i = TERMS32 - 1; i >= 0; i -= 2) { /* in pairs of terms, as ir_el_poly_pairs does */
    ir_ref pair = i + 1 < TERMS32 ? ir_el_fma(m, terms[i + 1], at, terms[i]) : terms[i];
    q = q ? ir_el_fma(m, q, square, pair) : pair;
  }
  ir_ref n = ir_el_round(m, q, ir_el_const(m, -1), 127, &bits), r = ir_el_add(m, q, n);
  ir_ref p = ir_el_poly_pairs(m, r, ir_el_mul(m, r, r), exp2_32, sizeof exp2_32 / sizeof *exp2_32);
  ir_ref power = ir_el_float(m, ir_el_shl(m, bits, m->fraction));
  ir_ref far = ir_el_fma(m, ir_el_neg(m, p), power, ir_el_const(m, 1));
  return ir_el_copy_sign(m, ir_el_where(m, near, ir_el_fma(m, size, q, size), far), x);
}

static ir_ref erf64(const ir_format *m, ir_ref x) {
  ir_ref size = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, x), ir_el_const(m, 5.95)), p, low;
  ir_ref rest = ir_el_fma(m, ir_el_poly(m, size, q64, sizeof q64 / sizeof *q64), size,
                          ir_el_const(m, 0x1.1ae3a914fed80p-56));
  ir_ref minus = ir_el_neg(m, size), lead = ir_el_const(m, 0x1.20dd750429b6dp+0);
  ir_el_fast_two_sum(m, ir_el_mul(m, minus, lead), ir_el_mul(m, minus, rest), &p, &low);
  return ir_el_copy_sign(m, ir_el_abs(m, ir_el_exp_less_one(m, p, low)), x);
}

ir_ref ir_el_erf(const ir_format *m, ir_ref x) { return m->type == IR_F64 ? erf64(m, x) : erf32(m, x); }
