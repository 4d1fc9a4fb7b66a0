/* The folder ir/verify. The verifier.
 *
 *   in      a graph, and the level at which it is to be checked
 *   out     nothing, or the first rule that a node breaks
 *   holds   it reads and never changes; each rule is stated in one place */

/* Declarations that the verifier's files share. */
#ifndef VIEWFOLD_IR_VERIFY_VERIFY_H
#define VIEWFOLD_IR_VERIFY_VERIFY_H

#include "ir/ir.h"

typedef struct ir_verifier {
  ir_graph *graph;
  ir_ref root;
  ir_error *error;
} ir_verifier;

/* Records that a node breaks a rule. The message names the node by its line in the listing. Always false. */
bool ir_verify_fail(ir_verifier *v, ir_ref node, const char *format, ...) IR_PRINTF(3, 4);
/* Index expressions, and dtypes of elementwise operations: the same rules at both levels. */
bool ir_verify_elementwise(ir_verifier *v, ir_ref ref);
bool ir_verify_sources(ir_verifier *v, ir_ref ref); /* their number, and the dtypes of attributes */
/* A CUSTOM, or a RESULT of one. */
bool ir_verify_custom(ir_verifier *v, ir_ref ref);
/* control.c: a RESULT or a node of class CONTROL; a FUNC, whose nodes are given */
bool ir_verify_control(ir_verifier *v, ir_ref ref);
bool ir_verify_function(ir_verifier *v, ir_ref func, const ir_ref *nodes, size_t count);
/* Rules for kernels whose nodes obey the rules above. */
bool ir_verify_kernel(ir_verifier *v, const ir_ref *nodes, size_t count);
/* kept_locals.c: locals that are kept, in a kernel with its loop nest */
struct ir_regions;
bool ir_verify_kept(ir_verifier *v, const struct ir_regions *regions);

#endif
