/* Mutated ONNX models: no bytes make the importer read or write outside of what is theirs, take more memory
 * than the file's size times a constant, leave memory, or fail without a message (test/lib/onnx_models.h).
 *
 *   prop_onnx --seed S --count N     N mutations of each sample
 *
 * A mutation changes bits and bytes, removes, repeats and moves ranges, exchanges names and operators, and
 * puts numbers at the edges of their types. A trap or a sanitizer's report is the failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/cases.h"
#include "test/lib/onnx_models.h"
#include "test/lib/random_graph.h"

static model_bytes samples[MODEL_SAMPLES], tried;
static long accepted[MODEL_SAMPLES];

static size_t below(uint64_t *state, size_t limit) {
  return limit ? (size_t)(random_next(state) % limit) : 0;
}

static void insert(model_bytes *f, size_t at, const void *bytes, size_t count) {
  if (count > MODEL_ROOM - f->size) count = MODEL_ROOM - f->size;
  memmove(f->bytes + at + count, f->bytes + at, f->size - at);
  memmove(f->bytes + at, bytes, count);
  f->size += count;
}

/* Overwrites the operator of a node by another of as many letters at most: lengths stay right. */
static void exchange_operator(uint64_t *state, model_bytes *f) {
  static const char *const names[] = {
      "Shape",   "Slice",     "Pad",     "Tile",   "Split",      "Range",   "TopK",      "Expand", "Squeeze",
      "Reshape", "Transpose", "Flatten", "Resize", "Concat",     "Conv",    "DFT",       "STFT",   "LRN",
      "OneHot",  "Trilu",     "Cast",    "Loop",   "Scan",       "If",      "Attention", "GRU",    "RNN",
      "Det",     "Einsum",    "MaxPool", "LpPool", "HannWindow", "EyeLike", "Hardmax"};
  const char *name = names[below(state, sizeof names / sizeof *names)];
  size_t length = strlen(name), start = below(state, f->size);
  for (size_t i = start; i + 2 + length < f->size; i++)
    if (f->bytes[i] == (4 << 3 | 2) && f->bytes[i + 1] == length) { /* op_type of that length */
      memcpy(f->bytes + i + 2, name, length);
      return;
    }
}

static void mutate(uint64_t *state, model_bytes *f) {
  static const uint64_t edges[] = {
      0, 1, 2, 7, 31, 127, 255, 65536, INT32_MAX, UINT32_MAX, 1ull << 40, INT64_MAX, 1ull << 63, UINT64_MAX};
  static uint8_t copy[MODEL_ROOM];
  size_t at = below(state, f->size + 1), count = 1 + below(state, f->size / 8 + 8);
  if (count > f->size - at) count = f->size - at;
  switch (below(state, 8)) {
  case 0:
    if (at < f->size) f->bytes[at] ^= (uint8_t)(1u << below(state, 8));
    break;
  case 1:
    if (at < f->size) f->bytes[at] = (uint8_t)random_next(state);
    break;
  case 2:
    memmove(f->bytes + at, f->bytes + at + count, f->size - at - count);
    f->size -= count;
    break;
  case 3:
    memcpy(copy, f->bytes + at, count);
    insert(f, below(state, f->size + 1), copy, count);
    break;
  case 4: { /* a varint at the edge of its type */
    uint64_t value = edges[below(state, sizeof edges / sizeof *edges)];
    uint8_t varint[10];
    size_t size = 0;
    do varint[size++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    while (value >>= 7);
    if (size <= f->size - at) memcpy(f->bytes + at, varint, size);
    break;
  }
  case 5:
  case 6: exchange_operator(state, f); break;
  default: /* a small number a little larger or smaller: lengths, sizes, letters of names */
    if (at < f->size) f->bytes[at] = (uint8_t)(f->bytes[at] + (below(state, 2) ? 1 : 255));
  }
}

static bool check(uint64_t seed) {
  for (int i = 0; i < MODEL_SAMPLES; i++) {
    uint64_t state = seed * MODEL_SAMPLES + (uint64_t)i;
    for (int k = 0; k < 4; k++) random_next(&state);
    tried = samples[i];
    for (size_t changes = 1 + below(&state, 4); changes; changes--) mutate(&state, &tried);
    uint8_t *exact = malloc(tried.size ? tried.size : 1); /* so that a sanitizer sees a read past its end */
    if (!exact) return false;
    memcpy(exact, tried.bytes, tried.size);
    accepted[i] += model_check(exact, tried.size);
    free(exact);
  }
  return true;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 1000);
  for (int i = 0; i < MODEL_SAMPLES; i++) {
    model_sample(&samples[i], i);
    if (!model_check(samples[i].bytes, samples[i].size)) {
      printf("onnx: sample %d is refused\n", i);
      return 1;
    }
  }
  cases_run(&c, check);
  printf("onnx: %ld mutations of each of %d models, accepted", c.done, MODEL_SAMPLES);
  for (int i = 0; i < MODEL_SAMPLES; i++) printf(" %ld", accepted[i]);
  printf(", seed %llu, %ld failed\n", (unsigned long long)c.seed, c.failed);
  return c.failed != 0;
}
