/* Mutated files of arrays: no bytes make the readers read or write outside of what is theirs, take more
 * memory than they promise, or accept arrays that overlap or lie outside of the file
 * (test/lib/array_files.h).
 *
 *   prop_array_files --seed S --count N     N mutations of each sample
 *
 * A mutation changes bits and bytes, removes, repeats and moves ranges, and puts numbers at the edges of
 * their types where numbers may stand, whole or as text. A trap or a sanitizer's report is the failure. */
#include <string.h>

#include "test/lib/array_files.h"

/* A number at the edge of its type, of 1 to 8 bytes, or as text. */
static void change(uint64_t *state, mutated *f, size_t at, int kind) {
  static const uint64_t edges[] = {0,          1,         2,          7,         31,        127,
                                   128,        255,       65535,      65536,     INT32_MAX, UINT32_MAX,
                                   1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
  static const char *const words[] = {"{",
                                      "}",
                                      "[",
                                      "]",
                                      ",",
                                      ":",
                                      "\"",
                                      "\\u0000",
                                      "\\ud800",
                                      "-1",
                                      "1e9",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "null",
                                      "\"a\":{"};
  if (kind == 0) {
    uint64_t value = edges[mutation_below(state, sizeof edges / sizeof *edges)];
    size_t width = (size_t)1 << mutation_below(state, 4);
    for (size_t i = 0; i < width && at + i < f->size; i++) f->bytes[at + i] = (uint8_t)(value >> 8 * i);
  } else {
    const char *word = words[mutation_below(state, sizeof words / sizeof *words)];
    mutation_insert(f, at, word, strlen(word));
  }
}

int main(int argc, char **argv) {
  const mutations how = {"array_files", FILE_SAMPLES, file_sample, file_check, 6, 4, 2, change};
  return mutations_main(&how, argc, argv);
}
