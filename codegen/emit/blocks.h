/* Which elements of its buffers a kernel stores and loads in which iterations of the loop bound to threads,
 * where that is known: so that part of the result is there before all of it is, and so that it may begin when
 * part of an operand is there. */
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

/* The iterations that store block b, of a digit as above, load of p<param> elements from b * step + lo to
 * b * step + hi, without that one, at most; the step may be below 0. Where p<param> may lie where p0 does
 * (ir/in_place.h), what they store lies there, too. param 0: not known. */
typedef struct cg_reads {
  uint32_t param, divisor, period, first;
  int32_t step, lo, hi;
} cg_reads;

enum { CG_MOST_READING = 4096 }; /* because who waits for their operands has a byte of its stack for each */
/* The number of blocks; 0: not known. */
static inline uint32_t cg_reading_blocks(cg_reads r) {
  uint32_t count = r.param && r.divisor ? r.period / r.divisor : 0;
  return count <= CG_MOST_READING ? count : 0;
}

enum { CG_READS = 4 }; /* because an update reads a parameter, its gradient and two moments */
typedef struct cg_uses {
  cg_blocks stores;
  cg_reads loads[CG_READS]; /* in the order of parameters, those of which something is known */
} cg_uses;

/* in_place: the set of ir_in_place. Both fail only where memory is short. */
ir_status cg_blocks_find(ir_graph *graph, ir_ref kernel, cg_blocks *out, ir_error *error);
ir_status cg_uses_find(ir_graph *graph, ir_ref kernel, uint32_t in_place, cg_uses *out, ir_error *error);

#endif
