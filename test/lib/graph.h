/* Graphs of unit tests, freed when the running test ends. */
#ifndef VIEWFOLD_TEST_GRAPH_H
#define VIEWFOLD_TEST_GRAPH_H

#include "ir/ir.h"

typedef struct test_graph {
  ir_graph g;
  ir_error error;
} test_graph;
test_graph *test_graph_begin(void);

#endif
