#include "test/lib/mutations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

static const mutations *how;
static mutated samples[MUTATION_SAMPLES], tried;
static long accepted[MUTATION_SAMPLES];

size_t mutation_below(uint64_t *state, size_t limit) {
  return limit ? (size_t)(random_next(state) % limit) : 0;
}

void mutation_insert(mutated *f, size_t at, const void *bytes, size_t count) {
  if (count > MUTATION_ROOM - f->size) count = MUTATION_ROOM - f->size;
  memmove(f->bytes + at + count, f->bytes + at, f->size - at);
  memmove(f->bytes + at, bytes, count);
  f->size += count;
}

/* Flips a bit, changes a byte, removes or repeats a range, makes a small number a little larger or smaller (a
 * size, an offset, a digit, a letter), or changes what the format says. */
static void mutate(uint64_t *state, mutated *f) {
  enum { COMMON = 5 };
  static uint8_t copy[MUTATION_ROOM];
  size_t at = mutation_below(state, f->size + 1), count = 1 + mutation_below(state, f->size / how->part + 8);
  if (count > f->size - at) count = f->size - at;
  size_t kind = mutation_below(state, COMMON + (size_t)how->own);
  switch (kind) {
  case 0:
    if (at < f->size) f->bytes[at] ^= (uint8_t)(1u << mutation_below(state, 8));
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
    mutation_insert(f, mutation_below(state, f->size + 1), copy, count);
    break;
  case 4:
    if (at < f->size) f->bytes[at] = (uint8_t)(f->bytes[at] + (mutation_below(state, 2) ? 1 : 255));
    break;
  default: how->change(state, f, at, (int)(kind - COMMON));
  }
}

static bool check(uint64_t seed) {
  for (int i = 0; i < how->samples; i++) {
    uint64_t state = seed * (uint64_t)how->samples + (uint64_t)i;
    for (int k = 0; k < 4; k++) random_next(&state);
    tried = samples[i];
    for (size_t changes = 1 + mutation_below(&state, how->most_changes); changes; changes--)
      mutate(&state, &tried);
    uint8_t *exact = malloc(tried.size ? tried.size : 1); /* so that a sanitizer sees a read past its end */
    if (!exact) return false;
    memcpy(exact, tried.bytes, tried.size);
    accepted[i] += how->check(exact, tried.size);
    free(exact);
  }
  return true;
}

int mutations_main(const mutations *given, int argc, char **argv) {
  cases c = cases_read(argc, argv, 1000);
  how = given;
  for (int i = 0; i < how->samples; i++) {
    how->sample(&samples[i], i);
    if (how->check(samples[i].bytes, samples[i].size)) continue;
    printf("%s: sample %d is refused\n", how->name, i);
    return 1;
  }
  cases_run(&c, check);
  printf("%s: %ld mutations of each of %d samples, accepted", how->name, c.done, how->samples);
  for (int i = 0; i < how->samples; i++) printf(" %ld", accepted[i]);
  printf(", seed %llu, %ld failed\n", (unsigned long long)c.seed, c.failed);
  return c.failed != 0;
}
