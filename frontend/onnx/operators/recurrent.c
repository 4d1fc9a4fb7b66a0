/* Recurrent operators, as scans over time. Gates lie one after another in W, R and B. */
#include <string.h>

#include "frontend/onnx/import.h"

enum { RNN, GRU, LSTM };
static const struct { int gates, states; } kinds[] = {{1, 1}, {3, 1}, {4, 2}};

/* One direction of an operator. */
typedef struct direction {
  onnx_node *n;
  int number, gates, states;
  bool reverse;
  ir_ref size;            /* of the hidden state */
  ir_ref r, bias_r, peep; /* [size, gates * size], [gates * size], [3 * size]; the last two may be 0 */
  ir_ref lengths;         /* i64 [batch, 1], or 0 */
  const struct activation *activations[3];
  double alpha[3], beta[3];
} direction;

/* A function that a gate may have, of so many parameters: none, alpha, or alpha and beta. */
typedef struct activation {
  const char *name;
  ir_ref (*apply)(direction *d, int number, ir_ref x);
  int parameters;
  double alpha, beta;
  ir_op op; /* of those that are one operation */
} activation;

static ir_ref bin(direction *d, ir_op op, ir_ref a, ir_ref b) { return op_binary(d->n->g, op, a, b); }
static ir_ref un(direction *d, ir_op op, ir_ref a) { return op_unary(d->n->g, op, a); }

/* activations */

static ir_ref plain(direction *d, int number, ir_ref x) { return un(d, d->activations[number]->op, x); }
static ir_ref line(direction *d, int number, ir_ref x) {
  return onnx_with(d->n, IR_OP_ADD, onnx_with(d->n, IR_OP_MUL, x, d->alpha[number]), d->beta[number]);
}
static ir_ref bent(direction *d, int number, ir_ref x) {
  return onnx_with(d->n, IR_OP_MIN, onnx_with(d->n, IR_OP_MAX, line(d, number, x), 0), 1);
}
static ir_ref leaking(direction *d, int number, ir_ref x) {
  return op_leaky_relu(d->n->g, x, d->alpha[number]);
}
static ir_ref elu(direction *d, int number, ir_ref x) { return op_elu(d->n->g, x, d->alpha[number]); }
static ir_ref scaled_tanh(direction *d, int number, ir_ref x) {
  ir_ref y = un(d, IR_OP_TANH, onnx_with(d->n, IR_OP_MUL, x, d->beta[number]));
  return onnx_with(d->n, IR_OP_MUL, y, d->alpha[number]);
}
static ir_ref thresholded(direction *d, int number, ir_ref x) {
  return op_where(d->n->g, onnx_with(d->n, IR_OP_GE, x, d->alpha[number]), x, onnx_full(d->n, x, 0));
}
static ir_ref softsign(direction *d, int number, ir_ref x) {
  (void)number;
  return bin(d, IR_OP_DIV, x, onnx_with(d->n, IR_OP_ADD, un(d, IR_OP_ABS, x), 1));
}
static ir_ref softplus(direction *d, int number, ir_ref x) {
  (void)number;
  return op_softplus(d->n->g, x);
}

/* Defaults are those of the operators of these names. */
static const activation known_activations[] = {{"Sigmoid", plain, .op = IR_OP_SIGMOID},
                                               {"Tanh", plain, .op = IR_OP_TANH},
                                               {"Relu", plain, .op = IR_OP_RELU},
                                               {"Affine", line, 2, 1, 0, 0},
                                               {"LeakyRelu", leaking, 1, (double)0.01f, 0, 0},
                                               {"ThresholdedRelu", thresholded, 1, 1, 0, 0},
                                               {"ScaledTanh", scaled_tanh, 2, 1, 1, 0},
                                               {"HardSigmoid", bent, 2, (double)0.2f, 0.5, 0},
                                               {"Elu", elu, 1, 1, 0, 0},
                                               {"Softsign", softsign, .parameters = 0},
                                               {"Softplus", softplus, .parameters = 0}};

static const activation *activation_called(onnx_node *n, wire_bytes name) {
  for (size_t i = 0; i < sizeof known_activations / sizeof *known_activations; i++)
    if (wire_is(name, known_activations[i].name)) return &known_activations[i];
  onnx_lacks(n,
             "the activation '%.*s'; takes Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, "
             "ScaledTanh, HardSigmoid, Elu, Softsign and Softplus",
             WIRE_TEXT(name));
  return NULL;
}

static ir_ref activated(direction *d, int number, ir_ref x) {
  return d->activations[number]->apply(d, number, x);
}

static ir_ref clipped(direction *d, ir_ref x) {
  double most = onnx_real(d->n, "clip", 0);
  return most > 0 ? onnx_with(d->n, IR_OP_MIN, onnx_with(d->n, IR_OP_MAX, x, -most), most) : x;
}

static ir_ref gate(direction *d, ir_ref all, int number) {
  ir_ref begin = pass_mul_int(d->n->g, d->size, number);
  return onnx_cut(d->n, all, onnx_rank(d->n, all) - 1, begin, pass_add(d->n->g, begin, d->size));
}

static ir_ref with_bias(direction *d, ir_ref x, ir_ref bias) { return bias ? bin(d, IR_OP_ADD, x, bias) : x; }

/* steps: x is W x_t + bias for all gates, [batch, gates * size]; the state is [batch, size] */

static void rnn_step(direction *d, ir_ref x, const ir_ref *state, ir_ref *next) {
  ir_ref y = bin(d, IR_OP_ADD, x, with_bias(d, op_matmul(d->n->g, state[0], d->r), d->bias_r));
  next[0] = activated(d, 0, clipped(d, y));
}

static void gru_step(direction *d, ir_ref x, const ir_ref *state, ir_ref *next) {
  onnx_node *n = d->n;
  ir_ref h = state[0], of_h = with_bias(d, op_matmul(n->g, h, d->r), d->bias_r), inner;
  ir_ref update = activated(d, 0, clipped(d, bin(d, IR_OP_ADD, gate(d, x, 0), gate(d, of_h, 0))));
  ir_ref reset = activated(d, 0, clipped(d, bin(d, IR_OP_ADD, gate(d, x, 1), gate(d, of_h, 1))));
  if (onnx_int(n, "linear_before_reset", 0)) inner = bin(d, IR_OP_MUL, reset, gate(d, of_h, 2));
  else {
    inner = op_matmul(n->g, bin(d, IR_OP_MUL, reset, h), gate(d, d->r, 2));
    if (d->bias_r) inner = bin(d, IR_OP_ADD, inner, gate(d, d->bias_r, 2));
  }
  ir_ref new = activated(d, 1, clipped(d, bin(d, IR_OP_ADD, gate(d, x, 2), inner)));
  ir_ref renewed = onnx_with(n, IR_OP_ADD, un(d, IR_OP_NEG, update), 1);
  next[0] = bin(d, IR_OP_ADD, bin(d, IR_OP_MUL, renewed, new), bin(d, IR_OP_MUL, update, h));
}

static ir_ref peeped(direction *d, ir_ref x, int number, ir_ref c) {
  return d->peep ? bin(d, IR_OP_ADD, x, bin(d, IR_OP_MUL, gate(d, d->peep, number), c)) : x;
}

static void lstm_step(direction *d, ir_ref x, const ir_ref *state, ir_ref *next) {
  onnx_node *n = d->n;
  ir_ref c = state[1], all = bin(d, IR_OP_ADD, x, with_bias(d, op_matmul(n->g, state[0], d->r), d->bias_r));
  ir_ref in = activated(d, 0, clipped(d, peeped(d, gate(d, all, 0), 0, c)));
  ir_ref forget = activated(d, 0, clipped(d, peeped(d, gate(d, all, 2), 2, c)));
  if (onnx_int(n, "input_forget", 0)) forget = onnx_with(n, IR_OP_ADD, un(d, IR_OP_NEG, in), 1);
  ir_ref new = activated(d, 1, clipped(d, gate(d, all, 3)));
  c = bin(d, IR_OP_ADD, bin(d, IR_OP_MUL, forget, c), bin(d, IR_OP_MUL, in, new));
  ir_ref out = activated(d, 0, clipped(d, peeped(d, gate(d, all, 1), 1, c)));
  next[0] = bin(d, IR_OP_MUL, out, activated(d, 2, c));
  next[1] = c;
}

/* The body of the scan: arguments are the state, W x of a time step, and its number where lengths are given.
 */
static void body(void *user, const vf_value *arguments, vf_value *results) {
  static void (*const steps[])(direction *, ir_ref, const ir_ref *, ir_ref *) = {rnn_step, gru_step,
                                                                                 lstm_step};
  direction *d = user;
  onnx_node *n = d->n;
  ir_ref state[2] = {0}, next[2] = {0}, y;
  for (int i = 0; i < d->states; i++) state[i] = arguments[i].id;
  steps[n->row->argument](d, arguments[d->states].id, state, next);
  y = next[0];
  if (d->lengths) { /* beyond its length a sequence keeps its state, and its results are 0 */
    ir_ref runs = bin(d, IR_OP_GT, d->lengths, arguments[d->states + 1].id);
    y = op_where(n->g, runs, next[0], onnx_full(n, next[0], 0));
    for (int i = 0; i < d->states; i++) next[i] = op_where(n->g, runs, next[i], state[i]);
  }
  for (int i = 0; i < d->states; i++) results[i] = (vf_value){n->m->graph, next[i], n->m->graph->epoch};
  results[d->states] = (vf_value){n->m->graph, y, n->m->graph->epoch};
}

/* operands */

static ir_ref of_direction(direction *d, int input, int axis) {
  ir_ref x = onnx_optional(d->n, input);
  return x ? op_point(d->n->g, x, ir_index(d->n->g, d->number), axis) : 0;
}

/* Activations follow one another, those of the forward direction first; a list of parameters has those of the
 * activations that take some, in order. */
static bool read_activations(direction *d) {
  static const struct {
    int count;
    const char *usual[3];
  } gates[] = {{1, {"Tanh"}}, {2, {"Sigmoid", "Tanh"}}, {3, {"Sigmoid", "Tanh", "Tanh"}}};
  const onnx_attribute *names = onnx_attribute_of(d->n, "activations"),
                       *alpha = onnx_attribute_of(d->n, "activation_alpha"),
                       *beta = onnx_attribute_of(d->n, "activation_beta");
  size_t count = (size_t)gates[d->n->row->argument].count, first = (size_t)d->number * count, alphas = 0,
         betas = 0;
  for (size_t i = 0; i < first + count; i++) {
    const char *usual = gates[d->n->row->argument].usual[i % count];
    wire_bytes name = {(const uint8_t *)usual, strlen(usual)};
    if (names && i < names->strings.count) name = ((wire_bytes *)names->strings.items)[i];
    const activation *a = activation_called(d->n, name);
    if (!a) return false;
    double own[2] = {a->alpha, a->beta};
    if (a->parameters > 0 && alpha && alphas < alpha->floats.count)
      own[0] = (double)((float *)alpha->floats.items)[alphas++];
    if (a->parameters > 1 && beta && betas < beta->floats.count)
      own[1] = (double)((float *)beta->floats.items)[betas++];
    if (i < first) continue;
    d->activations[i - first] = a;
    d->alpha[i - first] = own[0], d->beta[i - first] = own[1];
  }
  return true;
}

/* x: [time, batch, input]. Results: all time steps and the last states, without an axis of directions. */
static bool run(direction *d, ir_ref x, bool batch_first, ir_ref *every, ir_ref *last) {
  onnx_node *n = d->n;
  ir_ref w = of_direction(d, 1, 0), bias = of_direction(d, 3, 0),
         half = pass_mul_int(n->g, d->size, d->gates);
  ir_ref r = of_direction(d, 2, 0), dims[2] = {ir_dim(n->g, x, 1), d->size};
  if (!w || !r || n->m->error->status) return false;
  d->r = op_swap_axes(n->g, r, 0, 1);
  ir_ref xw = op_matmul(n->g, x, op_swap_axes(n->g, w, 0, 1));
  if (bias) {
    xw = bin(d, IR_OP_ADD, xw, onnx_cut(n, bias, 0, ir_index(n->g, 0), half));
    d->bias_r = onnx_cut(n, bias, 0, half, pass_mul_int(n->g, half, 2));
  }
  d->peep = n->row->argument == LSTM ? of_direction(d, 7, 0) : 0;
  vf_graph *graph = n->m->graph;
  vf_value init[2], xs[2] = {{graph, xw, graph->epoch}}, carries[2], ys;
  for (int i = 0; i < d->states; i++) {
    ir_ref state = of_direction(d, 5 + i, batch_first ? 1 : 0);
    if (!state) state = onnx_zeros(n, ir_dtype_of(n->g, x), dims, 2);
    init[i] = (vf_value){graph, state, graph->epoch};
  }
  if (d->lengths) {
    ir_ref time = ir_dim(n->g, x, 0);
    xs[1] = (vf_value){graph, op_iota(n->g, IR_I64, &time, 1, 0), graph->epoch};
  }
  if (n->m->error->status) return false;
  vf_scan(body, d, d->states, init, d->lengths ? 2 : 1, xs, 1, -1, d->reverse, carries, &ys);
  *every = ys.id;
  for (int i = 0; i < d->states; i++) last[i] = carries[i].id;
  return ys.id != 0;
}

static bool recurrent(onnx_node *n) {
  bool both = onnx_text_is(n, "direction", "bidirectional", "forward"),
       batch_first = onnx_int(n, "layout", 0) != 0;
  bool reverse = onnx_text_is(n, "direction", "reverse", "forward");
  int kind = n->row->argument, count = both ? 2 : 1;
  ir_ref x = onnx_in(n, 0), r = onnx_in(n, 2), lengths = onnx_optional(n, 4), every[2], last[2][2];
  if (!x || !r || n->m->error->status) return false;
  if (onnx_rank(n, x) != 3 || onnx_rank(n, r) != 3) return onnx_refuse(n, "takes inputs of 3 axes");
  if (batch_first) x = op_swap_axes(n->g, x, 0, 1);
  for (int i = 0; i < count; i++) {
    direction d = {.n = n,
                   .number = i,
                   .gates = kinds[kind].gates,
                   .states = kinds[kind].states,
                   .reverse = reverse || i == 1,
                   .size = ir_dim(n->g, r, 2)};
    if (lengths) d.lengths = op_unsqueeze(n->g, onnx_like(n, lengths, IR_I64), 1);
    if (!read_activations(&d) || !run(&d, x, batch_first, &every[i], last[i])) return false;
  }
  ir_ref whole = op_stack(n->g, every, (size_t)count, 1); /* [time, directions, batch, size] */
  if (batch_first) whole = op_move_axis(n->g, whole, 2, 0);
  if (!onnx_put(n, 0, whole)) return false;
  for (int k = 0; k < kinds[kind].states; k++) {
    ir_ref states[2] = {last[0][k], both ? last[1][k] : 0};
    if (!onnx_put(n, 1 + k, op_stack(n->g, states, (size_t)count, batch_first ? 1 : 0))) return false;
  }
  return true;
}

const onnx_operator onnx_recurrent[] = {{"RNN", recurrent, NULL, RNN, 3, 6},
                                        {"GRU", recurrent, NULL, GRU, 3, 6},
                                        {"LSTM", recurrent, NULL, LSTM, 3, 8},
                                        {0}};
