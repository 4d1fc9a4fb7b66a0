/* Epilogues of reductions: elementwise operations that are the only use of a reduction, such as the bias and
 * the activation after a matrix product. A reduction that has to be in memory may be stored as the end of its
 * epilogue: it is at most as large, computed in the same kernel, and leaves less to do for its readers. */
#ifndef VIEWFOLD_PASSES_PATTERNS_EPILOGUE_H
#define VIEWFOLD_PASSES_PATTERNS_EPILOGUE_H

#include "ir/ir.h"
#include "ir/target.h"

enum { PASS_EPILOGUE = 128 }; /* flag of a table's byte; its other bits count uses while the table is made */

/* Sets PASS_EPILOGUE in table[node] of each of the `count` live nodes, listed in topological order, that is
 * in an epilogue. Being a result counts as a use. Overwrites the table. */
void pass_epilogues(ir_graph *g, const ir_ref *live, size_t count, const ir_ref *results,
                    uint32_t result_count, uint8_t *table);

/* Does the node compute each element from one element of each operand? Views do not compute, and STORED is a
 * kernel of its own: false. */
static inline bool pass_is_elementwise(const ir_node *n) {
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  return n->op != IR_OP_STORED && (cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY ||
                                   cls == IR_CLASS_COMPARE || cls == IR_CLASS_TERNARY);
}

#endif
