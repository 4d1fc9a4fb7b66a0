/* Random graphs of sums, products, softmaxes, norms, running sums, windows and views of f32, f64 or f16, of
 * sizes around those where loops change, on data whose sums round differently in every order: for tests that
 * results have the same bits. */
#ifndef VIEWFOLD_TEST_LIB_SUM_GRAPH_H
#define VIEWFOLD_TEST_LIB_SUM_GRAPH_H

#include "test/lib/trial.h"

typedef struct sum_graph {
  trial t;
  ir_dtype dtype;
} sum_graph;

/* trial_property.record of a sum_graph. */
bool sum_graph_record(trial *t);
/* Arrays of all inputs; false where memory is short. Free them. */
bool sum_graph_inputs(trial *t, void *inputs[TRIAL_INPUTS]);
/* The bytes of a result. */
size_t sum_graph_bytes(const trial *t, uint32_t result);

#endif
