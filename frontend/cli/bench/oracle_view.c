/* Workloads that move elements. */
#include <math.h>

#include "frontend/cli/bench/oracle.h"

static void transpose(const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) out[j] = bench_floats(in, 0)[j * 4096 + r];
}

static void channels_first(const bench_given *in, size_t r, size_t length, double *out) {
  size_t n = r / 64, c = r % 64;
  for (size_t p = 0; p < length; p++) out[p] = bench_floats(in, 0)[(n * length + p) * 64 + c];
}

/* (6144,4096) permuted is (4096,6144), whose elements in order make rows of 4096. */
static void permute_reshape(const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) {
    size_t i = r * length + j;
    out[j] = bench_floats(in, 0)[i % 6144 * 4096 + i / 6144];
  }
}

/* Padded by 1 and flipped, row i is row 4096 - i of the original, and row 0 is padding. */
static void pad_flip_add(const bench_given *in, size_t r, size_t length, double *out) {
  const float *x = bench_floats(in, 0);
  for (size_t j = 0; j < length; j++)
    out[j] = (r && j ? (double)x[(4096 - r) * 4096 + 4096 - j] : 0.0) + (double)x[r * 4096 + j];
}

static void concat(const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) out[j] = bench_floats(in, (int)(j / 512))[r * 512 + j % 512];
}

static void gather_rows(const bench_given *in, size_t r, size_t length, double *out) {
  size_t row = (size_t)((const int *)in[1].data)[r];
  for (size_t j = 0; j < length; j++) out[j] = bench_floats(in, 0)[row * length + j];
}

static void bias_gelu(const bench_given *in, size_t r, size_t length, double *out) {
  const double root = 0.79788456080286535588; /* of 2/pi */
  for (size_t j = 0; j < length; j++) {
    double v = (double)bench_floats(in, 0)[r * length + j] + (double)bench_floats(in, 1)[j];
    out[j] = 0.5 * v * (1.0 + tanh(root * (v + 0.044715 * v * v * v)));
  }
}

/* A row of the result: an image, a channel, and a place in the window. */
static void im2col(const bench_given *in, size_t r, size_t length, double *out) {
  size_t n = r / 576, c = r % 576 / 9, i = r % 9 / 3, j = r % 3;
  const float *x = bench_floats(in, 0) + (n * 64 + c) * length;
  for (size_t p = 0; p < length; p++) {
    size_t y = p / 56 + i, z = p % 56 + j; /* of the padded image */
    out[p] = y >= 1 && y <= 56 && z >= 1 && z <= 56 ? x[(y - 1) * 56 + z - 1] : 0.0F;
  }
}

static void backwards(const bench_given *in, size_t r, size_t length, double *out) {
  for (size_t j = 0; j < length; j++) out[j] = bench_floats(in, 0)[2 * r * length + length - 1 - j];
}

static void pixel_shuffle(const bench_given *in, size_t r, size_t length, double *out) {
  size_t plane = r / 128, y = r % 128; /* plane: image and channel of the result */
  for (size_t z = 0; z < length; z++)
    out[z] = bench_floats(in, 0)[((plane * 4 + y % 2 * 2 + z % 2) * 64 + y / 2) * 64 + z / 2];
}

static void heads(const bench_given *in, size_t r, size_t length, double *out) {
  size_t b = r / (12 * 512), h = r / 512 % 12, s = r % 512;
  for (size_t d = 0; d < length; d++) out[d] = bench_floats(in, 0)[((b * 512 + s) * 12 + h) * length + d];
}

const bench_oracle bench_view_oracles[] = {
    {"V1", 4096, transpose},       {"V2", 32 * 64, channels_first},
    {"V3", 6144, permute_reshape}, {"V4", 4096, pad_flip_add},
    {"V5", 4096, concat},          {"V6", 4096, gather_rows},
    {"V7", 4096, bias_gelu},       {"V8", 8 * 576, im2col},
    {"V9", 4096, backwards},       {"V10", 8 * 64 * 128, pixel_shuffle},
    {"V11", 8 * 12 * 512, heads},  {NULL, 0, NULL}};
