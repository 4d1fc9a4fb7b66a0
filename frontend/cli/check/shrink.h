/* The folder frontend/cli/check. `viewfold check`.
 *
 *   in      graphs
 *   out     whether compiled results are those of the reference evaluator, and a small graph where they are
 * not holds   inputs are pseudorandom, the same every time */

/* Makes a graph that shows a fault smaller. */
#ifndef VIEWFOLD_FRONTEND_CLI_CHECK_SHRINK_H
#define VIEWFOLD_FRONTEND_CLI_CHECK_SHRINK_H

#include "ir/parse/parse.h"

/* A graph with one result. */
typedef struct check_graph {
  ir_ref result;
  ir_named *params;
  size_t count, cap;
} check_graph;
/* Does the graph show the fault? */
typedef bool check_shows(void *user, const check_graph *graph);

/* The first value of the graph, operands first, that shows the fault becomes the result; then values before
 * it become parameters, c0, c1, ..., as long as the fault is there: those near the result first. False when
 * memory is short. */
bool check_shrink(ir_graph *g, check_graph *graph, check_shows *shows, void *user);

#endif
