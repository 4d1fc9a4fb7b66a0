/* Mutated ONNX models: no bytes make the importer read or write outside of what is theirs, take more memory
 * than the file's size times a constant, leave memory, or fail without a message (test/lib/onnx_models.h).
 *
 *   prop_onnx --seed S --count N     N mutations of each sample
 *
 * A mutation changes bits and bytes, removes, repeats and moves ranges, exchanges names and operators, and
 * puts numbers at the edges of their types. A trap or a sanitizer's report is the failure. */
#include <string.h>

#include "test/lib/onnx_models.h"

/* Overwrites the operator of a node by another of as many letters at most: lengths stay right. */
static void exchange_operator(uint64_t *state, mutated *f) {
  static const char *const names[] = {
      "Shape",     "Slice",    "Pad",       "Tile",    "Split",   "Range",      "TopK",         "Expand",
      "Squeeze",   "Reshape",  "Transpose", "Flatten", "Resize",  "Concat",     "Conv",         "DFT",
      "STFT",      "LRN",      "OneHot",    "Trilu",   "Cast",    "Loop",       "Scan",         "If",
      "Attention", "GRU",      "RNN",       "Det",     "Einsum",  "MaxPool",    "LpPool",       "HannWindow",
      "EyeLike",   "Hardmax",  "Col2Im",    "NonZero", "Dropout", "SequenceAt", "RandomNormal", "Bernoulli",
      "RoiAlign",  "Optional", "Unique"};
  const char *name = names[mutation_below(state, sizeof names / sizeof *names)];
  size_t length = strlen(name), start = mutation_below(state, f->size);
  for (size_t i = start; i + 2 + length < f->size; i++)
    if (f->bytes[i] == (4 << 3 | 2) && f->bytes[i + 1] == length) { /* op_type of that length */
      memcpy(f->bytes + i + 2, name, length);
      return;
    }
}

/* A varint at the edge of its type. */
static void put_edge(uint64_t *state, mutated *f, size_t at) {
  static const uint64_t edges[] = {
      0, 1, 2, 7, 31, 127, 255, 65536, INT32_MAX, UINT32_MAX, 1ull << 40, INT64_MAX, 1ull << 63, UINT64_MAX};
  uint64_t value = edges[mutation_below(state, sizeof edges / sizeof *edges)];
  uint8_t varint[10];
  size_t size = 0;
  do varint[size++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
  while (value >>= 7);
  if (size <= f->size - at) memcpy(f->bytes + at, varint, size);
}

/* Names are exchanged twice as often. */
static void change(uint64_t *state, mutated *f, size_t at, int kind) {
  if (kind == 0) put_edge(state, f, at);
  else exchange_operator(state, f);
}

int main(int argc, char **argv) {
  const mutations how = {"onnx", MODEL_SAMPLES, model_sample, model_check, 4, 8, 3, change};
  return mutations_main(&how, argc, argv);
}
