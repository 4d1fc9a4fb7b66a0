/* Workloads of products: matrices, convolutions, attention, and steps of models. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "frontend/cli/bench/oracle.h"

/* out[n] += a * b[n] */
static void add_scaled(double *out, double a, const float *b, size_t n) {
  for (size_t j = 0; j < n; j++) out[j] += a * (double)b[j];
}
static void fill_value(double *out, size_t n, double value) {
  for (size_t j = 0; j < n; j++) out[j] = value;
}

/* Row r of A B, where A[r,k] is a[k * step]. */
static void row_times(const float *a, size_t step, const float *b, size_t inner, size_t length, double *out) {
  fill_value(out, length, 0);
  for (size_t k = 0; k < inner; k++) add_scaled(out, a[k * step], b + k * length, length);
}

static void matrix_product(const bench_given *in, size_t r, size_t length, double *out) {
  size_t inner = (size_t)in[0].shape[1];
  row_times(bench_floats(in, 0) + r * inner, 1, bench_floats(in, 1), inner, length, out);
}
static void batched_product(const bench_given *in, size_t r, size_t length, double *out) {
  size_t batch = r / 128;
  row_times(bench_floats(in, 0) + r * 128, 1, bench_floats(in, 1) + batch * 128 * length, 128, length, out);
}
static void transposed(const bench_given *in, size_t r, size_t length, double *out) {
  row_times(bench_floats(in, 0) + r, 1024, bench_floats(in, 1), 1024, length, out);
}
static void bias_relu(const bench_given *in, size_t r, size_t length, double *out) {
  matrix_product(in, r, length, out);
  for (size_t j = 0; j < length; j++) out[j] = fmax(out[j] + (double)bench_floats(in, 2)[j], 0);
}

/* out[y] += the window around (row, y) of one image of 56x56, padded by 1, times a kernel of 3x3. */
static void add_window(const float *image, const float *kernel, size_t row, double *out) {
  for (size_t i = 0; i < 3; i++)
    for (size_t y = 0; y < 56 && row + i >= 1 && row + i <= 56; y++)
      for (size_t j = 0; j < 3; j++)
        if (y + j >= 1 && y + j <= 56)
          out[y] += (double)kernel[i * 3 + j] * (double)image[(row + i - 1) * 56 + y + j - 1];
}

static void convolution(const bench_given *in, size_t r, size_t length, double *out) {
  size_t n = r / (64 * 56), o = r / 56 % 64;
  fill_value(out, length, 0);
  for (size_t c = 0; c < 64; c++)
    add_window(bench_floats(in, 0) + (n * 64 + c) * 3136, bench_floats(in, 1) + (o * 64 + c) * 9, r % 56,
               out);
}
static void depthwise(const bench_given *in, size_t r, size_t length, double *out) {
  fill_value(out, length, 0);
  add_window(bench_floats(in, 0) + r / 56 * 3136, bench_floats(in, 1) + r / 56 % 128 * 9, r % 56, out);
}

/* One query: softmax of its products with `count` keys, times their values. */
static void attend(const float *q, const float *k, const float *v, size_t count, size_t length, double *out) {
  double *score = calloc(count, sizeof *score);
  fill_value(out, length, score ? 0 : NAN);
  for (size_t t = 0; score && t < count; t++) {
    for (size_t d = 0; d < length; d++) score[t] += (double)q[d] * (double)k[t * length + d];
    score[t] /= sqrt((double)length);
  }
  if (score) bench_softmax(score, count);
  for (size_t t = 0; score && t < count; t++) add_scaled(out, score[t], v + t * length, length);
  free(score);
}
static void attend_to(const bench_given *in, size_t r, size_t length, bool causal, double *out) {
  size_t keys = (size_t)in[0].shape[2], head = r / keys * keys * length;
  attend(bench_floats(in, 0) + r * length, bench_floats(in, 1) + head, bench_floats(in, 2) + head,
         causal ? r % keys + 1 : keys, length, out);
}
static void attention(const bench_given *in, size_t r, size_t length, double *out) {
  attend_to(in, r, length, false, out);
}
static void causal(const bench_given *in, size_t r, size_t length, double *out) {
  attend_to(in, r, length, true, out);
}

/* Models. Matrices are of doubles, row-major. */

enum { LAYER_TOKENS = 128, LAYER_WIDTH = 384, LAYER_HEADS = 12, LAYER_HIDDEN = 1536, LAYER_HEAD = 32 };

/* out[o] = x . w[o] + b[o] */
static void linear(const double *x, size_t inner, const float *w, const float *b, size_t outer, double *out) {
  for (size_t o = 0; o < outer; o++) {
    out[o] = b[o];
    for (size_t i = 0; i < inner; i++) out[o] += x[i] * (double)w[o * inner + i];
  }
}

/* Attention of one token in one head. A row of qkv holds the query, key and value of one token, in this
 * order. */
static void attend_head(const double *qkv, size_t token, size_t head, double *out) {
  enum { ROW = 3 * LAYER_WIDTH };
  double score[LAYER_TOKENS] = {0};
  const double *q = qkv + token * ROW + head * LAYER_HEAD;
  for (size_t t = 0; t < LAYER_TOKENS; t++) {
    for (size_t d = 0; d < LAYER_HEAD; d++)
      score[t] += q[d] * qkv[t * ROW + LAYER_WIDTH + head * LAYER_HEAD + d];
    score[t] /= sqrt(LAYER_HEAD);
  }
  bench_softmax(score, LAYER_TOKENS);
  fill_value(out, LAYER_HEAD, 0);
  for (size_t t = 0; t < LAYER_TOKENS; t++)
    for (size_t d = 0; d < LAYER_HEAD; d++)
      out[d] += score[t] * qkv[t * ROW + 2 * LAYER_WIDTH + head * LAYER_HEAD + d];
}

/* x, wi, bi, wo, bo, g1, c1, w1, b1, w2, b2, g2, c2; a row is one sequence. */
static void layer_token(const bench_given *in, const float *x, const double *qkv, size_t token, double *out) {
  double mixed[LAYER_WIDTH], first[LAYER_WIDTH], hidden[LAYER_HIDDEN];
  for (size_t h = 0; h < LAYER_HEADS; h++) attend_head(qkv, token, h, mixed + h * LAYER_HEAD);
  linear(mixed, LAYER_WIDTH, bench_floats(in, 3), bench_floats(in, 4), LAYER_WIDTH, first);
  for (size_t j = 0; j < LAYER_WIDTH; j++) first[j] += (double)x[j];
  bench_layer_norm(first, LAYER_WIDTH, bench_floats(in, 5), bench_floats(in, 6));
  linear(first, LAYER_WIDTH, bench_floats(in, 7), bench_floats(in, 8), LAYER_HIDDEN, hidden);
  for (size_t j = 0; j < LAYER_HIDDEN; j++) hidden[j] = fmax(hidden[j], 0);
  linear(hidden, LAYER_HIDDEN, bench_floats(in, 9), bench_floats(in, 10), LAYER_WIDTH, out);
  for (size_t j = 0; j < LAYER_WIDTH; j++) out[j] += first[j];
  bench_layer_norm(out, LAYER_WIDTH, bench_floats(in, 11), bench_floats(in, 12));
}
static void transformer(const bench_given *in, size_t r, size_t length, double *out) {
  double *qkv = malloc(sizeof *qkv * LAYER_TOKENS * 3 * LAYER_WIDTH), token[LAYER_WIDTH];
  const float *x = bench_floats(in, 0) + r * length;
  if (!qkv) fill_value(out, length, NAN);
  for (size_t t = 0; qkv && t < LAYER_TOKENS; t++) {
    for (size_t j = 0; j < LAYER_WIDTH; j++) token[j] = x[t * LAYER_WIDTH + j];
    linear(token, LAYER_WIDTH, bench_floats(in, 1), bench_floats(in, 2), 3 * LAYER_WIDTH,
           qkv + t * 3 * LAYER_WIDTH);
  }
  for (size_t t = 0; qkv && t < LAYER_TOKENS; t++)
    layer_token(in, x + t * LAYER_WIDTH, qkv, t, out + t * LAYER_WIDTH);
  free(qkv);
}

/* x, label, then weights and biases of three layers; the result is all of them after a step of 0.1. */
enum { STEP_LAYERS = 3, STEP_WIDEST = 784 };
static const size_t step_width[STEP_LAYERS + 1] = {784, 512, 256, 10};

/* Subtract from the results the gradient of one example times 0.1. h: activations of all layers; d:
 * gradients. */
static void step_example(const bench_given *in, size_t example, double *out) {
  double h[STEP_LAYERS + 1][STEP_WIDEST], d[STEP_LAYERS + 1][STEP_WIDEST];
  for (size_t i = 0; i < step_width[0]; i++) h[0][i] = bench_floats(in, 0)[example * step_width[0] + i];
  for (int l = 0; l < STEP_LAYERS; l++) {
    size_t from = step_width[l], to = step_width[l + 1];
    for (size_t o = 0; o < to; o++) h[l + 1][o] = bench_floats(in, 3 + 2 * l)[o];
    for (size_t i = 0; i < from; i++) add_scaled(h[l + 1], h[l][i], bench_floats(in, 2 + 2 * l) + i * to, to);
    for (size_t o = 0; o < to && l + 1 < STEP_LAYERS; o++) h[l + 1][o] = fmax(h[l + 1][o], 0);
  }
  bench_softmax(h[STEP_LAYERS], 10);
  for (size_t o = 0; o < 10; o++)
    d[STEP_LAYERS][o] = (h[STEP_LAYERS][o] - (o == (size_t)((const int *)in[1].data)[example])) / 128;
  double *end = out + 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10;
  for (int l = STEP_LAYERS - 1; l >= 0; l--) {
    size_t from = step_width[l], to = step_width[l + 1];
    double *weight = end - to - from * to, *bias = end - to;
    for (size_t o = 0; o < to; o++) bias[o] -= 0.1 * d[l + 1][o];
    for (size_t i = 0; i < from; i++) {
      double back = 0;
      for (size_t o = 0; o < to; o++) {
        weight[i * to + o] -= 0.1 * h[l][i] * d[l + 1][o];
        back += d[l + 1][o] * (double)bench_floats(in, 2 + 2 * l)[i * to + o];
      }
      d[l][i] = h[l][i] > 0 ? back : 0;
    }
    end = weight;
  }
}
static void training_step(const bench_given *in, size_t r, size_t length, double *out) {
  size_t at = 0;
  (void)r, (void)length;
  for (int k = 2; k < 2 + 2 * STEP_LAYERS; k++) {
    size_t from = k % 2 ? 1 : step_width[k / 2 - 1], to = step_width[(k - 2) / 2 + 1];
    for (size_t i = 0; i < from * to; i++) out[at++] = bench_floats(in, k)[i];
  }
  for (size_t example = 0; example < 128; example++) step_example(in, example, out);
}

const bench_oracle bench_product_oracles[] = {
    {"M1_512", 512, matrix_product},   {"M1_1024", 1024, matrix_product},
    {"M1_2048", 2048, matrix_product}, {"M2", 4096, matrix_product},
    {"M3", 64 * 128, batched_product}, {"M4", 1024, transposed},
    {"M5", 1024, bias_relu},           {"C1", 8 * 64 * 56, convolution},
    {"C2", 8 * 128 * 56, depthwise},   {"A1", 12 * 512, attention},
    {"A1c", 12 * 512, causal},         {"A2", 12 * 2048, attention},
    {"A2c", 12 * 2048, causal},        {"T1", 8, transformer},
    {"T2", 1, training_step},          {NULL, 0, NULL}};
