/* Which elements of its first buffer a kernel stores in which iterations of the loop bound to threads, where
 * that is known: so that part of the result is there before all of it is. */
#ifndef VIEWFOLD_CODEGEN_EMIT_BLOCKS_H
#define VIEWFOLD_CODEGEN_EMIT_BLOCKS_H

#include "ir/ir.h"

/* p0 has period / divisor blocks, each of so many elements, the last one of all others. Block b is stored in
 * the iterations i with i % period / divisor == (b + first) % (period / divisor), and in no others.
 * elements 0: not known. */
typedef struct cg_blocks {
  uint32_t elements, divisor, period, first;
} cg_blocks;
static inline uint32_t cg_block_count(cg_blocks b) { return b.elements ? b.period / b.divisor : 0; }

/* Fails only where memory is short. */
ir_status cg_blocks_find(ir_graph *graph, ir_ref kernel, cg_blocks *out, ir_error *error);

#endif
