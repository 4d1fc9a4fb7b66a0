/* Mutated files of arrays: no bytes make the readers read or write outside of what is theirs, take more
 * memory than they promise, or accept arrays that overlap or lie outside of the file
 * (test/lib/array_files.h).
 *
 *   prop_array_files --seed S --count N     N mutations of each sample
 *
 * A mutation changes bits and bytes, removes, repeats and moves ranges, and puts numbers at the edges of
 * their types where numbers may stand, whole or as text. A trap or a sanitizer's report is the failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/array_files.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

static file_bytes samples[FILE_SAMPLES], tried;
static long accepted[FILE_SAMPLES];

static size_t below(uint64_t *state, size_t limit) {
  return limit ? (size_t)(random_next(state) % limit) : 0;
}

static void remove_range(file_bytes *f, size_t at, size_t count) {
  if (count > f->size - at) count = f->size - at;
  memmove(f->bytes + at, f->bytes + at + count, f->size - at - count);
  f->size -= count;
}

static void insert(file_bytes *f, size_t at, const void *bytes, size_t count) {
  if (count > FILE_ROOM - f->size) count = FILE_ROOM - f->size;
  memmove(f->bytes + at + count, f->bytes + at, f->size - at);
  memmove(f->bytes + at, bytes, count);
  f->size += count;
}

static void mutate(uint64_t *state, file_bytes *f) {
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
  static uint8_t copy[FILE_ROOM];
  size_t at = below(state, f->size + 1), count = 1 + below(state, f->size / 4 + 8);
  if (count > f->size - at) count = f->size - at;
  switch (below(state, 7)) {
  case 0:
    if (at < f->size) f->bytes[at] ^= (uint8_t)(1u << below(state, 8));
    break;
  case 1:
    if (at < f->size) f->bytes[at] = (uint8_t)random_next(state);
    break;
  case 2: remove_range(f, at, count); break;
  case 3:
    memcpy(copy, f->bytes + at, count);
    insert(f, below(state, f->size + 1), copy, count);
    break;
  case 4: {
    uint64_t value = edges[below(state, sizeof edges / sizeof *edges)];
    size_t width = (size_t)1 << below(state, 4);
    for (size_t i = 0; i < width && at + i < f->size; i++) f->bytes[at + i] = (uint8_t)(value >> 8 * i);
    break;
  }
  case 5: {
    const char *word = words[below(state, sizeof words / sizeof *words)];
    insert(f, at, word, strlen(word));
    break;
  }
  default: /* a small number a little larger or smaller: sizes, offsets, digits */
    if (at < f->size) f->bytes[at] = (uint8_t)(f->bytes[at] + (below(state, 2) ? 1 : 255));
  }
}

static bool check(uint64_t seed) {
  for (int i = 0; i < FILE_SAMPLES; i++) {
    uint64_t state = seed * FILE_SAMPLES + (uint64_t)i;
    for (int k = 0; k < 4; k++) random_next(&state);
    tried = samples[i];
    for (size_t changes = 1 + below(&state, 6); changes; changes--) mutate(&state, &tried);
    uint8_t *exact = malloc(tried.size ? tried.size : 1); /* so that a sanitizer sees a read past its end */
    if (!exact) return false;
    memcpy(exact, tried.bytes, tried.size);
    accepted[i] += file_check(exact, tried.size);
    free(exact);
  }
  return true;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 1000);
  for (int i = 0; i < FILE_SAMPLES; i++) {
    file_sample(&samples[i], i);
    if (!file_check(samples[i].bytes, samples[i].size)) {
      printf("array_files: sample %d is refused\n", i);
      return 1;
    }
  }
  cases_run(&c, check);
  printf("array_files: %ld mutations of each of %d files, accepted", c.done, FILE_SAMPLES);
  for (int i = 0; i < FILE_SAMPLES; i++) printf(" %ld", accepted[i]);
  printf(", seed %llu, %ld failed\n", (unsigned long long)c.seed, c.failed);
  return c.failed != 0;
}
