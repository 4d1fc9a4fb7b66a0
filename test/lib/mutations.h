/* Mutated bytes, for tests of readers that trust nothing: each of several samples is changed a few times, and
 * whatever comes of it is given to a check that traps where the reader breaks a promise. */
#ifndef VIEWFOLD_TEST_MUTATIONS_H
#define VIEWFOLD_TEST_MUTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MUTATION_ROOM = 1 << 16, MUTATION_SAMPLES = 16 }; /* bytes of a sample; samples at most */

typedef struct mutated {
  uint8_t bytes[MUTATION_ROOM];
  size_t size;
} mutated;

/* A number below the limit; 0 where it is 0. */
size_t mutation_below(uint64_t *state, size_t limit);
/* Insert bytes at a place, as many as there is room for. */
void mutation_insert(mutated *bytes, size_t at, const void *inserted, size_t count);

/* What is mutated, and how. */
typedef struct mutations {
  const char *name;
  int samples;
  void (*sample)(mutated *out, int number);
  bool (*check)(const uint8_t *bytes, size_t size); /* the reader accepts them */
  size_t most_changes;                              /* of one mutation */
  size_t part; /* ranges are at most so many parts of a whole long, and 8 bytes */
  int own;     /* kinds of changes of the format's own: */
  void (*change)(uint64_t *state, mutated *bytes, size_t at, int kind);
} mutations;
/* A main: `--seed S --count N`. 1 where a sample is refused or a check fails. */
int mutations_main(const mutations *how, int argc, char **argv);

#endif
