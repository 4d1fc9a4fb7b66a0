/* Which values depend on constants alone: arrays that an owner outside of the graph keeps (RESOURCE nodes). A
 * kernel that computes such values runs once, when the program is bound (runtime/program/hoist.c), so its
 * time does not count. */
#ifndef VIEWFOLD_PASSES_PATTERNS_CONSTANT_VALUES_H
#define VIEWFOLD_PASSES_PATTERNS_CONSTANT_VALUES_H

#include "ir/ir.h"

/* What is known of the first nodes of a graph; all zero: nothing yet. */
typedef struct pass_constant_values {
  int64_t *bytes; /* by node: of the constants below it, those of several users counted again; -1: it depends
                     on more */
  size_t count, cap;
} pass_constant_values;

/* The bytes of the constants that the node depends on, at least one, and besides on literals alone;
 * saturating. 0: it depends on no constant or on more, or memory is short. */
int64_t pass_constant_bytes(pass_constant_values *values, const ir_graph *graph, ir_ref node);
/* Does the graph have a constant up to this node? */
bool pass_has_constants(const ir_graph *graph, ir_ref last);
void pass_constant_values_free(pass_constant_values *values, const ir_graph *graph); /* clears *values */

#endif
