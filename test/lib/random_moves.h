/* Random moves for the loop nests of kernels, instead of those of the cost model: each step goes to a random
 * neighbour of the current moves, as passes/loops/neighbours.c lists them. */
#ifndef VIEWFOLD_TEST_RANDOM_MOVES_H
#define VIEWFOLD_TEST_RANDOM_MOVES_H

#include "passes/passes.h"

enum { RANDOM_NESTS = 256, RANDOM_MOVES = 1024 };

typedef struct random_moves {
  uint64_t state;       /* of the random generator */
  pass_shaping shaping; /* applies the current moves, and records the next ones */
  uint32_t count;       /* of loop nests met so far */
  struct {
    uint32_t kernel, nest, neighbours;
    char now[RANDOM_MOVES], next[RANDOM_MOVES]; /* "": the cost model's moves */
  } nests[RANDOM_NESTS];
} random_moves;

void random_moves_begin(random_moves *m, uint64_t seed);
void random_moves_step(random_moves *m); /* after compiling: the next compilation uses the recorded moves */
void random_moves_print(const random_moves *m, ir_text *out);

#endif
