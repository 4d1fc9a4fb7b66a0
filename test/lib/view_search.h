/* All steps between arrays of rank <= 3 with no axis longer than a limit of at most 4, and a numbering of the
 * chains of such steps. */
#ifndef VIEWFOLD_TEST_VIEW_SEARCH_H
#define VIEWFOLD_TEST_VIEW_SEARCH_H

#include "test/lib/view_model.h"

enum {
  SEARCH_RANK = 3,
  SEARCH_SIZE = 4,
  SEARCH_ELEMENTS = 64,
  SEARCH_SHAPES = 1 + 5 + 25 + 125,
  SEARCH_STEPS = 4
};

typedef struct search_move {
  model_step step;
  int to;                         /* index of the result's shape */
  int8_t source[SEARCH_ELEMENTS]; /* for each element of the result: that of the operand; -1: padding */
  uint64_t before[SEARCH_STEPS];  /* by number of further steps: chains that begin with an earlier move */
} search_move;

typedef struct search_moves {
  search_move *list;
  size_t count, cap;
  uint64_t chains[SEARCH_STEPS + 1]; /* number of chains of each length that start here */
} search_moves;

typedef struct search_table {
  int largest, shape_count;
  model_shape shapes[SEARCH_SHAPES];
  search_moves moves[SEARCH_SHAPES]; /* by index of the operand's shape */
} search_table;

void search_make(search_table *t, int largest);
void search_free(search_table *t);
uint64_t search_count(const search_table *t, int length); /* number of chains of that length */
/* The chain number `number`, which must be below that count: returns its base, and its steps in
 * path[0..length). */
int search_path(const search_table *t, int length, uint64_t number, const search_move **path);

#endif
