/* The folder ir/verify. The verifier.
 *
 *   in      a graph, and the level that it claims
 *   out     nothing, or the first rule that a node breaks
 *   holds   it reads and never changes; each rule stands in one place */

/* What the files of the verifier share. */
#ifndef VIEWFOLD_IR_VERIFY_VERIFY_H
#define VIEWFOLD_IR_VERIFY_VERIFY_H

#include "ir/ir.h"

typedef struct ir_verifier {
  ir_graph *graph;
  ir_ref root;
  ir_error *error;
} ir_verifier;

/* Record that a node breaks a rule; the node is named by its line in the listing. Always false. */
bool ir_broken(ir_verifier *v, ir_ref node, const char *format, ...) IR_PRINTF(3, 4);
/* Index expressions, dtypes of elementwise operations: alike at both levels. */
bool ir_verify_elementwise(ir_verifier *v, ir_ref ref);
bool ir_verify_sources(ir_verifier *v, ir_ref ref); /* how many, and that attributes have the right dtype */
/* A CUSTOM, or a RESULT of one. */
bool ir_verify_custom(ir_verifier *v, ir_ref ref);
/* control.c: of a RESULT or a node of class CONTROL; of a FUNC, whose nodes are given */
bool ir_verify_control(ir_verifier *v, ir_ref ref);
bool ir_verify_function(ir_verifier *v, ir_ref func, const ir_ref *nodes, size_t count);
/* Rules of kernels, on nodes that each obey the above. */
bool ir_verify_kernel(ir_verifier *v, const ir_ref *nodes, size_t count);
/* kept_locals.c: of locals that are kept, in a kernel whose loops are shaped */
struct ir_regions;
bool ir_verify_kept(ir_verifier *v, const struct ir_regions *regions);

#endif
