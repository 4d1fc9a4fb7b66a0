/* Optimisers, of ai.onnx.preview.training: inputs are the rate, the number of the step, then for each tensor
 * its parts: itself, its gradient, its moments. */
#include <math.h>

#include "frontend/onnx/import.h"

typedef struct state {
  onnx_node *n;
  ir_ref rate;
  double step;
} state;

static ir_ref bin(const state *s, ir_op op, ir_ref a, ir_ref b) { return op_binary(s->n->g, op, a, b); }
/* a * factor + b */
static ir_ref weighed(const state *s, ir_ref a, double factor, ir_ref b) {
  return bin(s, IR_OP_ADD, onnx_with(s->n, IR_OP_MUL, a, factor), b);
}
static double real(const state *s, const char *name, double otherwise) {
  return onnx_real(s->n, name, otherwise);
}
static ir_ref root(const state *s, ir_ref x) {
  return onnx_with(s->n, IR_OP_ADD, op_unary(s->n->g, IR_OP_SQRT, x), real(s, "epsilon", (double)1e-6f));
}

/* x: the parts of a tensor, of which the gradient is replaced; out: the new ones. */
static void adagrad(const state *s, const ir_ref *x, ir_ref *out) {
  ir_ref rate = onnx_with(s->n, IR_OP_DIV, s->rate, 1 + s->step * real(s, "decay_factor", 0));
  ir_ref gradient = weighed(s, x[0], real(s, "norm_coefficient", 0), x[1]);
  out[1] = bin(s, IR_OP_ADD, x[2], bin(s, IR_OP_MUL, gradient, gradient));
  out[0] = bin(s, IR_OP_SUB, x[0], bin(s, IR_OP_DIV, bin(s, IR_OP_MUL, rate, gradient), root(s, out[1])));
}

static void adam(const state *s, const ir_ref *x, ir_ref *out) {
  double alpha = real(s, "alpha", (double)0.9f), beta = real(s, "beta", (double)0.999f);
  ir_ref gradient = weighed(s, x[0], real(s, "norm_coefficient", 0), x[1]);
  out[1] = weighed(s, x[2], alpha, onnx_with(s->n, IR_OP_MUL, gradient, 1 - alpha));
  out[2] =
      weighed(s, x[3], beta, onnx_with(s->n, IR_OP_MUL, bin(s, IR_OP_MUL, gradient, gradient), 1 - beta));
  double unbiased = s->step > 0 ? sqrt(1 - pow(beta, s->step)) / (1 - pow(alpha, s->step)) : 1;
  ir_ref rate = onnx_with(s->n, IR_OP_MUL, s->rate, unbiased);
  ir_ref new = bin(s, IR_OP_SUB, x[0], bin(s, IR_OP_DIV, bin(s, IR_OP_MUL, rate, out[1]), root(s, out[2])));
  out[0] = onnx_with(s->n, IR_OP_MUL, new, 1 - real(s, "norm_coefficient_post", 0));
}

static void momentum(const state *s, const ir_ref *x, ir_ref *out) {
  double alpha = real(s, "alpha", 0), beta = s->step > 0 ? real(s, "beta", 0) : 1;
  ir_ref gradient = weighed(s, x[0], real(s, "norm_coefficient", 0), x[1]);
  out[1] = weighed(s, x[2], alpha, onnx_with(s->n, IR_OP_MUL, gradient, beta));
  ir_ref step = onnx_text_is(s->n, "mode", "standard", "") ? out[1] : weighed(s, out[1], alpha, gradient);
  out[0] = bin(s, IR_OP_SUB, x[0], bin(s, IR_OP_MUL, s->rate, step));
}

static bool optimise(onnx_node *n) {
  static const struct {
    int parts;
    void (*update)(const state *s, const ir_ref *x, ir_ref *out);
  } kinds[] = {{3, adagrad}, {4, adam}, {3, momentum}};
  int parts = kinds[n->row->argument].parts, count = (n->input_count - 2) / parts;
  const onnx_known *step = onnx_need(n, 1, "the number of the step");
  state s = {.n = n, .rate = onnx_in(n, 0)};
  int64_t number = 0;
  if (!step || !s.rate) return false;
  if ((n->input_count - 2) % parts || step->count != 1)
    return onnx_refuse(n, "%d inputs; takes two and %d for each tensor", n->input_count, parts);
  onnx_known_int(n->m, step, 0, &number);
  s.step = ir_is_float(step->dtype) ? step->elements[0].real : (double)number;
  for (int k = 0; k < count; k++) {
    ir_ref x[4], out[4] = {0};
    for (int p = 0; p < parts; p++)
      if (!(x[p] = onnx_in(n, 2 + k + p * count))) return false;
    kinds[n->row->argument].update(&s, x, out);
    for (int p = 0; p < parts - 1; p++)
      if (!onnx_put(n, k + p * count, out[p])) return false;
  }
  return true;
}

const onnx_operator onnx_training[] = {{"Adagrad", optimise, NULL, 0, 2, 255},
                                       {"Adam", optimise, NULL, 1, 2, 255},
                                       {"Momentum", optimise, NULL, 2, 2, 255},
                                       {0}};
