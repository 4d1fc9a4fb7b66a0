/* Rewrites of a graph as obligations. */
#ifndef VIEWFOLD_TEST_PROVE_FROM_GRAPH_H
#define VIEWFOLD_TEST_PROVE_FROM_GRAPH_H

#include "ir/ir.h"
#include "test/prove/obligation.h"

/* op(src) equals result wherever `given` holds (0: always). Ranges and variables keep their bounds, and a
 * leaf that occurs twice is one variable; anything but index arithmetic is a leaf. Leaves are numbered in the
 * order of the walk, so that rewrites that differ only in names give the same obligation. */
void obligation_of_rewrite(ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                           uint32_t nsrc, ir_ref result, obligation *out);

/* The same for two expressions. */
void obligation_of_equality(ir_graph *g, const char *name, ir_ref given, ir_ref before, ir_ref after,
                            obligation *out);

#endif
