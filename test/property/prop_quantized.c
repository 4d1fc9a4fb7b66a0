/* Sums of products of dequantized bytes, compiled for several machines, against the evaluator, which computes
 * them in floats as the graph says. Scales are powers of two and sums have 24 bits at most, so all bits
 * agree.
 *
 *   prop_quantized --seed S --count N
 *   prop_quantized --case SEED         one case again, by the seed in its report
 *
 * A case is a convolution or a product of bytes, signed or not, with zero points; mostly with a bias, and
 * quantized again; then perhaps another one, of the quantized result. */
#include "passes/ops/compose/compose.h"
#include "passes/ops/ops.h"
#include "test/lib/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MACHINES = 5, WIDE_TERMS = 250 /* products of full bytes have 16 bits */ };

static const case_machine machines[MACHINES] = {
    {1, NULL},
    {2, "vector_bytes=32 registers=16"},
    {1, "features=+avx2,+fma vector_bytes=32 registers=16 dot4=0"},
    {2, "vector_bytes=16 registers=16 dot2=0 dot4=0"},
    {1, "features=+avx512f,+avx512bw,+avx512vl vector_bytes=64 dot4=0"}};
static int64_t compared;

typedef struct problem {
  trial t;
  int64_t most; /* of a byte's magnitude */
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }
static bool one_in(problem *p, int64_t n) { return pick(p, 1, n) == 1; }

static ir_ref number(problem *p, double value) { return ir_const(&p->t.g, IR_F32, (ir_value){.f = value}); }

static ir_ref along(ir_graph *g, ir_ref x, int axis, int rank) {
  ir_ref dims[IR_MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = ir_index(g, i == axis ? -1 : 1);
  return op_reshape(g, x, dims, (size_t)rank);
}

/* scale * (x - zero), the scale an input with an element for each index of the axis, or a number: axis < 0.
 */
static ir_ref dequantized(problem *p, ir_ref x, int axis) {
  ir_graph *g = &p->t.g;
  bool is_signed = ir_dtype_of(g, x) == IR_I8;
  int64_t zero = one_in(p, 2) ? 0 : pick(p, is_signed ? -p->most : 0, p->most), rank = ir_rank(g, x);
  bool integer = one_in(p, 4);
  if (integer) {
    x = op_cast(g, x, IR_I32);
    if (zero) x = op_binary(g, IR_OP_SUB, x, ir_const(g, IR_I32, (ir_value){.i = zero}));
    x = op_cast(g, x, IR_F32);
  } else {
    x = op_cast(g, x, IR_F32);
    if (zero || one_in(p, 2)) x = op_binary(g, IR_OP_SUB, x, number(p, (double)zero));
  }
  if (axis < 0)
    return one_in(p, 8) ? x : op_binary(g, IR_OP_MUL, x, number(p, ldexp(1, (int)pick(p, -3, 1))));
  ir_ref size = ir_dim(g, x, (uint32_t)axis), scale = trial_input(&p->t, IR_F32, &size, 1);
  return op_binary(g, IR_OP_MUL, x, along(g, scale, axis, (int)rank));
}

static ir_dtype bytes(problem *p) { return one_in(p, 2) ? IR_U8 : IR_I8; }

/* A convolution of x [1, channels, height, width], or, of rank 2, a product. */
static ir_ref layer(problem *p, ir_ref x, int64_t most_terms) {
  ir_graph *g = &p->t.g;
  int64_t channels, taps[2] = {1, 1}, out = one_in(p, 3) ? 16 * pick(p, 1, 4) : pick(p, 1, 40), groups = 1;
  ir_is_const(g, ir_dim(g, x, 1), &channels);
  if (ir_rank(g, x) == 2) {
    ir_ref w = trial_input(&p->t, bytes(p), (ir_ref[]){ir_index(g, channels), ir_index(g, out)}, 2);
    int axis = one_in(p, 3) ? -1 : 1;
    return op_matmul(g, dequantized(p, x, -1), dequantized(p, w, axis));
  }
  if (one_in(p, 4)) groups = channels;
  else if (one_in(p, 4) && channels % 4 == 0) groups = 4;
  out = out > groups ? out / groups * groups : groups;
  int64_t each = channels / groups, size = one_in(p, 2) ? 3 : pick(p, 1, 3);
  if (each * size * size <= most_terms) taps[0] = taps[1] = size;
  op_window w[2];
  for (int i = 0; i < 2; i++) {
    int64_t image;
    ir_is_const(g, ir_dim(g, x, (uint32_t)i + 2), &image);
    w[i] = (op_window){taps[i], pick(p, 1, 2), one_in(p, 5) ? 2 : 1, pick(p, 0, 2), pick(p, 0, 2), 0};
    if ((taps[i] - 1) * w[i].dilation >= image) w[i].before = w[i].after = w[i].dilation * taps[i];
  }
  ir_ref weight = trial_input(
      &p->t, bytes(p),
      (ir_ref[]){ir_index(g, out), ir_index(g, each), ir_index(g, taps[0]), ir_index(g, taps[1])}, 4);
  int axis = one_in(p, 3) ? -1 : 0;
  return op_conv(g, (ir_ref[]){dequantized(p, x, -1), dequantized(p, weight, axis)}, 2, w, 2, groups);
}

static ir_ref quantized(problem *p, ir_ref y) {
  ir_graph *g = &p->t.g;
  bool is_signed = one_in(p, 3);
  int64_t most = p->most > INT8_MAX && is_signed ? INT8_MAX : p->most;
  y = op_binary(g, IR_OP_DIV, y, number(p, ldexp(1, (int)pick(p, 0, 6))));
  y = op_binary(g, IR_OP_ADD, op_unary(g, IR_OP_ROUND, y), number(p, (double)pick(p, 0, most)));
  y = op_binary(g, IR_OP_MAX, y, number(p, is_signed ? (double)-most : 0));
  return op_cast(g, op_binary(g, IR_OP_MIN, y, number(p, (double)most)), is_signed ? IR_I8 : IR_U8);
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  ir_graph *g = &t->g;
  bool image = !one_in(p, 3), wide = one_in(p, 3);
  p->most = wide ? UINT8_MAX : 15;
  int64_t most_terms = wide ? WIDE_TERMS : 4096,
          channels = one_in(p, 2) ? 16 * pick(p, 1, wide ? 8 : 9) : pick(p, 1, wide ? 60 : 150);
  ir_ref dims[4] = {ir_index(g, image ? pick(p, 1, 2) : pick(p, 1, 70)), ir_index(g, channels),
                    ir_index(g, pick(p, 3, 20)), ir_index(g, pick(p, 3, 20))};
  ir_ref y = layer(p, trial_input(t, bytes(p), dims, image ? 4 : 2), most_terms);
  if (!y) return false;
  if (one_in(p, 2)) {
    ir_ref bias = trial_input(t, IR_F32, (ir_ref[]){ir_dim(g, y, 1)}, 1);
    y = op_binary(g, IR_OP_ADD, y, along(g, bias, 1, (int)ir_rank(g, y)));
  }
  if (!one_in(p, 3)) y = quantized(p, y);
  if (!ir_is_float(ir_dtype_of(g, y)) && one_in(p, 2)) {
    int64_t terms;
    ir_is_const(g, ir_dim(g, y, 1), &terms);
    ir_ref x = y;
    y = terms <= most_terms ? layer(p, y, most_terms) : y;
    if (y && one_in(p, 3) && y != x && ir_shape(g, x) == ir_shape(g, y))
      y = op_binary(g, IR_OP_ADD, y, op_cast(g, x, IR_F32));
  }
  t->result[0] = y, t->result_count = 1;
  return y != 0;
}

static ir_value element(trial *t, ir_dtype dtype) {
  problem *p = (problem *)t;
  switch (dtype) {
  case IR_F32: return (ir_value){.f = ldexp(1, (int)pick(p, -4, 1))}; /* a scale or a bias */
  case IR_I8:
    return (ir_value){
        .i = pick(p, p->most > INT8_MAX ? INT8_MIN : -p->most, p->most > INT8_MAX ? INT8_MAX : p->most)};
  default: return (ir_value){.i = pick(p, 0, p->most)};
  }
}

static void run(trial *t) { compared += trial_evaluate(t, &(trial_check){.runs = 1, .element = element}); }

static void report(const cases *c) { printf("%ld cases, %" PRId64 " elements", c->done, compared); }

TRIAL_MAIN("quantized", 60, machines, MACHINES, sizeof(problem), record, run, report, NULL)
