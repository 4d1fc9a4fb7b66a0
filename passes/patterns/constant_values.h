/* Which values depend on constants alone: arrays that an owner outside of the graph keeps (RESOURCE nodes). A
 * kernel that computes such values runs once, when the program is bound (runtime/program/hoist.c), so its
 * time does not count. */
#ifndef VIEWFOLD_PASSES_PATTERNS_CONSTANT_VALUES_H
#define VIEWFOLD_PASSES_PATTERNS_CONSTANT_VALUES_H

#include "ir/ir.h"

/* What is known of the first nodes of a graph; all zero: nothing yet. */
typedef struct pass_constant_values {
  uint8_t *kinds; /* by node */
  size_t count, cap;
  struct pass_given *given; /* by node: of a parameter of a loop's function, what is given for it */
  size_t given_cap;
} pass_constant_values;

/* Looks through the parameters of loops' functions that no iteration changes, to the operands that are given
 * for them: what a function computes of these alone may be computed before the loop
 * (passes/pack/invariants.c). `live`: of ir_reachable_inside. False when memory is short. */
bool pass_constant_values_in_loops(pass_constant_values *values, ir_graph *graph, const ir_ref *live,
                                   size_t count);

/* Does the node depend on at least one constant, and besides on literals alone? False also where memory is
 * short. */
bool pass_is_constant_value(pass_constant_values *values, const ir_graph *graph, ir_ref node);
/* Does it depend on literals and constants at most? */
bool pass_is_known_value(pass_constant_values *values, const ir_graph *graph, ir_ref node);
/* How many operands of a scan or a while loop iterations change, which come first: state, and slices. */
uint32_t pass_changing_operands(const ir_node *loop);
/* Does a loop run at most once? What a checkpoint computes again, as a scan of one iteration, is wanted
 * there, and nothing is computed before such a loop in its place. */
bool pass_runs_once(ir_graph *graph, const ir_node *loop);
/* Is it the same in all iterations of a loop of many, and computed of operands of the loop, or constant? */
bool pass_is_loop_invariant(pass_constant_values *values, const ir_graph *graph, ir_ref node);
/* The bytes of all constants that such a node depends on, each counted once; 0 for other nodes, and where
 * memory is short. Takes time for each node below it. */
int64_t pass_constant_bytes(pass_constant_values *values, const ir_graph *graph, ir_ref node);
int64_t pass_constant_elements(pass_constant_values *values, const ir_graph *graph,
                               ir_ref node); /* the same */
/* Does the graph have a constant up to this node? */
bool pass_has_constants(const ir_graph *graph, ir_ref last);
void pass_constant_values_free(pass_constant_values *values, const ir_graph *graph); /* clears *values */

#endif
