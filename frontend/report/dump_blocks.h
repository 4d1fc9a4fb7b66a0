/* How a kernel runs while exchanges of what it makes and reads are in progress, as text. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_BLOCKS_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_BLOCKS_H

#include "ir/plan.h"

/* Prints, of the kernel step, which blocks of its loop store and load what exchanges send and bring, where
 * that is known; nothing for a kernel without exchanges. put_slot writes a slot's name and type to the same
 * text. */
void fe_put_blocks(ir_graph *g, const ir_plan *plan, size_t step, void (*put_slot)(void *user, uint32_t slot),
                   void *user, ir_text *out);

#endif
