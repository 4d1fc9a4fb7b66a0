/* Seeded random tensor graphs, recorded through the validating builders, with data for their inputs.
 *
 * Operations of every class, all dtypes, sizes 0 and 1, rank 0 to 4, symbolic sizes. Results must be
 * comparable bit for bit, so sums, products and contractions of floats use only values known to be small
 * multiples of a power of two, for which every order of combination gives the same bits. */
#ifndef VIEWFOLD_TEST_RANDOM_GRAPH_H
#define VIEWFOLD_TEST_RANDOM_GRAPH_H

#include "ir/ir.h"

enum { RANDOM_INPUTS = 4, RANDOM_VALUES = 64, RANDOM_VARS = 2, RANDOM_MIN_OPS = 8 };

typedef struct random_value {
  ir_ref ref;
  double numerator; /* |value| * 2^scale is an integer <= numerator; INFINITY: unknown, may be NaN */
  int scale;
} random_value;

typedef struct random_graph {
  uint64_t state; /* of the random generator; initially the seed of the case */
  ir_graph g;
  ir_error error;
  ir_ref inputs[RANDOM_INPUTS], vars[RANDOM_VARS];
  int input_count, var_count;
  bool wild; /* inputs contain NaN, infinities, subnormals and extreme integers */
  random_value values[RANDOM_VALUES];
  int value_count, op_count;
  int64_t max_size; /* of one axis */
  /* Returns a replacement for input number `number`, of the type of `plain`; NULL: inputs are not
   * replaced. */
  ir_ref (*stand_in)(struct random_graph *r, int number, ir_ref plain);
  void *user; /* argument of stand_in */
} random_graph;

uint64_t random_next(uint64_t *state);
int64_t random_between(uint64_t *state, int64_t lo, int64_t hi);

/* Records at least RANDOM_MIN_OPS operations. Free with ir_graph_free(&r->g). */
void random_graph_make(random_graph *r, uint64_t seed, int64_t max_size);
/* The same graph with replaced inputs; inputs[] are those that stand_in was called with. */
void random_graph_make_with(random_graph *r, uint64_t seed, int64_t max_size,
                            ir_ref (*stand_in)(random_graph *r, int number, ir_ref plain), void *user);
/* Values for the variables within their bounds; then data for an input, malloc'ed, *bytes its size. */
void random_graph_sizes(random_graph *r, int64_t *vars);
int64_t random_graph_dim(const random_graph *r, ir_ref dim, const int64_t *vars);
void *random_graph_data(random_graph *r, ir_ref input, const int64_t *vars, size_t *bytes);

#endif
