/* The inverse of the error function.
 *
 * With w = -log(1 - x^2), erfinv(x) / x is smooth: nearly linear in w where w is small, and in sqrt(w) where
 * w is large (M. B. Giles, "Approximating the erfinv function", 2012). So erfinv(x) = x p(w - c) below w = 5,
 * and above x p(sqrt(w) - c) on one interval (f32, to w = 17) or two (f64, to w = 36.1). 1 - x^2 is rounded
 * once, by fma, which moves w by at most half a unit of 1. The polynomials are minimax (Remez); each center c
 * is such that p(0) is all but exact in the format. */
#include "impl.h"

typedef struct interval {
  double center;
  const double *p;
  int count;
} interval;
#define INTERVAL(center, name)                                                                               \
  { center, name, sizeof name / sizeof *name }

/* relative errors 2^-26.3, 2^-25.6 */
static const double central32[] = {0x1.90229ep+0,  0x1.f45e4p-3,    -0x1.4a3da2p-8,  -0x1.1006dcp-10,
                                   0x1.b687ccp-13, -0x1.4045e6p-17, -0x1.5ee6c4p-19, 0x1.089d36p-21,
                                   0x1.cff188p-29, -0x1.2e0e7cp-27};
static const double tail32[] = {0x1.5fbcb8p+1,   0x1.fff18ap-1,  0x1.7e1c3cp-7,  -0x1.42b31p-7,
                                0x1.e3985ap-8,   -0x1.1d307cp-8, 0x1.79d30cp-10, 0x1.8747ecp-13,
                                -0x1.984d98p-12, 0x1.cfc8dap-14};
/* relative errors 2^-54.5, 2^-55.6, 2^-56.5 */
static const double central64[] = {
    0x1.694c68992f828p+0,   0x1.fe3ba99f07d5ep-3,   -0x1.59bdf5bfd4a75p-9,  -0x1.9c528c3f67de6p-10,
    0x1.cceb7fcfa9eacp-13,  0x1.f2d8537ce6135p-19,  -0x1.30867f3eaa47dp-18, 0x1.9c0e1595ca4dbp-22,
    0x1.c81c972dfb5b8p-25,  -0x1.bd356aafe9b61p-27, 0x1.5869775c836edp-33,  0x1.16cbb125af9cdp-32,
    -0x1.e36f3473f0d48p-36, -0x1.7d2a94f413b91p-39, 0x1.d7280817cb64cp-41,  -0x1.85291bfeef21ap-46,
    -0x1.18479dbf7561fp-46, 0x1.0771b2179d3e4p-49,  0x1.49bf783727985p-53,  -0x1.78b96c10683d7p-55,
    0x1.17e74fff7f1fbp-60,  0x1.efba5657c1270p-63};
static const double middle64[] = {0x1.5ebcc4fbab99dp+1,  0x1.ffd96fb54f677p-1,   0x1.85d416e081057p-7,
                                  -0x1.4a6d14da6f72dp-7, 0x1.ed7d5e70dc64bp-8,   -0x1.2028d0f4d0c84p-8,
                                  0x1.88a267e392224p-10, 0x1.0ddc449f2d7a0p-13,  -0x1.eba0208f7f85fp-12,
                                  0x1.ea01c5b8ad6f2p-13, -0x1.3dba2074beef6p-17, -0x1.a857e0d31e7e6p-15,
                                  0x1.c5407bf7a9680p-16, -0x1.d075ad768abc2p-20, -0x1.528ac668ffbdfp-18,
                                  0x1.704911aa7e3fbp-19, -0x1.ab63d0b173d37p-23, -0x1.fc59ca8ff0f1ap-22,
                                  0x1.cd20d40afbf4dp-23, 0x1.df45703d46887p-29,  -0x1.2c75c33c0f32ep-26};
static const double far64[] = {0x1.334cc93e2886fp+2,   0x1.02a3d281ba3dbp+0,   -0x1.bfe33d9671857p-14,
                               -0x1.e26c19a4dd077p-13, 0x1.532aad5cbe32ep-14,  -0x1.60d5131c606d8p-16,
                               0x1.4716fd1789f08p-18,  -0x1.23b4aaff1d837p-20, 0x1.18b9251f03fdbp-22,
                               -0x1.66f9d5ee15875p-24, 0x1.4921b514a97fdp-25,  -0x1.5e2d22b3a031fp-26,
                               0x1.63172012bae6ep-27,  -0x1.36dae9bcd9482p-28, 0x1.b2dfc43f3ece6p-30,
                               -0x1.ca691e9384644p-32, 0x1.29e550a67bf49p-34,  0x1.03930a14a294bp-35,
                               -0x1.2038d48d2ca7dp-35, 0x1.e73202c6cb8a3p-38,  0x1.429fbed86daa5p-40};

static ir_ref value(const ir_format *m, const interval *s, ir_ref at) {
  return ir_el_poly(m, ir_el_sub(m, at, ir_el_const(m, s->center)), s->p, s->count);
}

ir_ref ir_el_erfinv(const ir_format *m, ir_ref x) {
  static const interval central[] = {INTERVAL(0x1.602p+1, central32), INTERVAL(0x1.118p+1, central64)};
  static const interval tail[] = {INTERVAL(0x1.752p+1, tail32), INTERVAL(0x1.742p+1, middle64)};
  static const interval far = INTERVAL(0x1.3cfp+2, far64);
  bool wide = m->type == IR_F64;
  ir_ref one = ir_el_const(m, 1), w = ir_el_neg(m, ir_el_log(m, ir_el_fma(m, ir_el_neg(m, x), x, one)));
  ir_ref root = ir_unary(m->g, IR_OP_SQRT, w), outer = value(m, &tail[wide], root);
  if (wide) outer = ir_el_where(m, ir_el_lt(m, root, ir_el_const(m, 3.75)), outer, value(m, &far, root));
  ir_ref slope = ir_el_where(m, ir_el_lt(m, w, ir_el_const(m, 5)), value(m, &central[wide], w), outer);
  ir_ref end = ir_el_eq(m, ir_el_abs(m, x), one);
  return ir_el_mul(m, x, ir_el_where(m, end, ir_el_const(m, INFINITY), slope));
}
