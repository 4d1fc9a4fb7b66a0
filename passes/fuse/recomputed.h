#ifndef VIEWFOLD_PASSES_FUSE_RECOMPUTED_H
#define VIEWFOLD_PASSES_FUSE_RECOMPUTED_H

#include "passes/strategy.h"

/* recomputed.c: stores values that cost more where they are read, again and again, than in memory. Returns
 * the new TUPLE of results; 0 when memory is short. */
ir_ref pass_store_recomputed(ir_graph *g, ir_ref results, const pass_strategy *strategy);
/* byte_tables.c: functions of one byte that cost more than a read are taken from tables. Returns the new
 * TUPLE of results; 0 on failure. */
ir_ref pass_table_bytes(ir_graph *g, ir_ref results);
/* How many elements of operand k are evaluated for one of the node, where it is fused into it. */
double pass_evaluated_each(ir_graph *g, ir_ref node, uint32_t k);

#endif
