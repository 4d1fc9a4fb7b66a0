/* Random moves for the loops of kernels, in place of the cost model's: steps from these to what
 * passes/loops/neighbours.c finds near, each chosen at random. */
#ifndef VIEWFOLD_TEST_RANDOM_MOVES_H
#define VIEWFOLD_TEST_RANDOM_MOVES_H

#include "passes/passes.h"

enum { RANDOM_NESTS = 256, RANDOM_MOVES = 1024 };

typedef struct random_moves {
  uint64_t state;       /* of the generator */
  pass_shaping shaping; /* takes the moves that are chosen, and chooses the next */
  uint32_t count;       /* of nests that were met */
  struct {
    uint32_t kernel, nest, neighbours;
    char now[RANDOM_MOVES], next[RANDOM_MOVES]; /* "": the cost model's */
  } nests[RANDOM_NESTS];
} random_moves;

void random_moves_begin(random_moves *m, uint64_t seed);
void random_moves_step(random_moves *m); /* after compiling: the next compilation takes what was chosen */
void random_moves_print(const random_moves *m, ir_text *out);

#endif
