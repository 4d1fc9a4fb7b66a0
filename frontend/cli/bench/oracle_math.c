/* Workloads that compute element by element, or reduce. */
#include <math.h>

#include "frontend/cli/bench/oracle.h"

static void chain(const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) {
    double x = bench_floats(in, 0)[r * length + j], y = bench_floats(in, 1)[r * length + j];
    out[j] = sqrt(fabs(fmax(x * y + x, 0.0) * 0.5 - y)) + 1.0;
  }
}

static void apply_each(double (*f)(double), const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) out[j] = f(bench_floats(in, 0)[r * length + j]);
}
static void exps(const bench_given *in, size_t r, size_t n, double *out) { apply_each(exp, in, r, n, out); }
static void logs(const bench_given *in, size_t r, size_t n, double *out) { apply_each(log, in, r, n, out); }
static void tanhs(const bench_given *in, size_t r, size_t n, double *out) { apply_each(tanh, in, r, n, out); }
static void erfs(const bench_given *in, size_t r, size_t n, double *out) { apply_each(erf, in, r, n, out); }
static void sins(const bench_given *in, size_t r, size_t n, double *out) { apply_each(sin, in, r, n, out); }

static double sum_of_floats(const float *x, size_t count) {
  double total = 0;
  for (size_t i = 0; i < count; i++) total += (double)x[i];
  return total;
}

static void sum_all(const bench_given *in, size_t r, size_t length, double *out) {
  (void)r, (void)length;
  out[0] = sum_of_floats(bench_floats(in, 0), (size_t)in[0].shape[0]);
}

static void row_sum(const bench_given *in, size_t r, size_t length, double *out) {
  size_t width = (size_t)in[0].shape[1];
  (void)length;
  out[0] = sum_of_floats(bench_floats(in, 0) + r * width, width);
}

/* A row is `length` neighbouring columns. */
static void column_sums(const bench_given *in, size_t r, size_t length, double *out) {
  size_t height = (size_t)in[0].shape[0], width = (size_t)in[0].shape[1];
  for (size_t j = 0; j < length; j++) out[j] = 0;
  for (size_t i = 0; i < height; i++)
    for (size_t j = 0; j < length; j++) out[j] += (double)bench_floats(in, 0)[i * width + r * length + j];
}

void bench_softmax(double *row, size_t length) {
  double most = row[0], total = 0;
  for (size_t j = 1; j < length; j++) most = fmax(most, row[j]);
  for (size_t j = 0; j < length; j++) total += row[j] = exp(row[j] - most);
  for (size_t j = 0; j < length; j++) row[j] /= total;
}

static void softmax(const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) out[j] = bench_floats(in, 0)[r * length + j];
  bench_softmax(out, length);
}

void bench_layer_norm(double *row, size_t length, const float *weight, const float *bias) {
  double mean = 0, square = 0;
  for (size_t j = 0; j < length; j++) mean += row[j] / (double)length;
  for (size_t j = 0; j < length; j++) square += (row[j] - mean) * (row[j] - mean) / (double)length;
  for (size_t j = 0; j < length; j++)
    row[j] = (row[j] - mean) / sqrt(square + 1e-5) * (double)weight[j] + (double)bias[j];
}

static void layer_norm(const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) out[j] = bench_floats(in, 0)[r * length + j];
  bench_layer_norm(out, length, bench_floats(in, 1), bench_floats(in, 2));
}

static void argmax(const bench_given *in, size_t r, size_t length, double *out) {
  size_t width = (size_t)in[0].shape[1], best = 0;
  const float *x = bench_floats(in, 0) + r * width;
  (void)length;
  for (size_t j = 1; j < width; j++)
    if (x[j] > x[best]) best = j;
  out[0] = (double)best;
}

static void cumsum(const bench_given *in, size_t r, size_t length, double *out) {
  double total = 0;
  for (size_t j = 0; j < length; j++) out[j] = total += (double)bench_floats(in, 0)[r * length + j];
}

/* Rows of one element: 64 means, then 64 variances. */
static void moments(const bench_given *in, size_t r, size_t length, double *out) {
  size_t images = 32, channels = 64, plane = 56 * 56, c = r % channels;
  double mean = 0, square = 0, count = (double)(images * plane);
  (void)length;
  for (size_t n = 0; n < images; n++)
    mean += sum_of_floats(bench_floats(in, 0) + (n * channels + c) * plane, plane) / count;
  for (size_t n = 0; n < images; n++)
    for (size_t p = 0; p < plane; p++) {
      double apart = (double)bench_floats(in, 0)[(n * channels + c) * plane + p] - mean;
      square += apart * apart / count;
    }
  out[0] = r < channels ? mean : square;
}

const bench_oracle bench_math_oracles[] = {
    {"E1", 4096, chain},      {"L2chain", 16, chain},  {"E2exp", 4096, exps}, {"E2log", 4096, logs},
    {"E2tanh", 4096, tanhs},  {"E2erf", 4096, erfs},   {"E2sin", 4096, sins}, {"R1", 1, sum_all},
    {"R2", 8192, row_sum},    {"R3", 64, column_sums}, {"R4", 8192, softmax}, {"L2softmax", 256, softmax},
    {"R5", 8192, layer_norm}, {"R6", 8192, argmax},    {"R7", 4096, cumsum},  {"R8", 128, moments},
    {NULL, 0, NULL}};
