/* Rewrites of a graph as obligations. */
#ifndef VIEWFOLD_TEST_PROVE_FROM_GRAPH_H
#define VIEWFOLD_TEST_PROVE_FROM_GRAPH_H

#include "ir/ir.h"
#include "test/prove/obligation.h"

/* op(src) is result wherever `given` holds (0: always). Ranges and variables keep their bounds, and a leaf
 * that occurs twice is one variable; what is no index arithmetic is a leaf. Leaves are numbered as they are
 * met, so that rewrites that differ in names only give the same obligation. */
void obligation_of_rewrite(ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                           uint32_t nsrc, ir_ref result, obligation *out);

#endif
