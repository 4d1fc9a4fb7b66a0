/* Writes that change the memory of their first operand (in_place.c). */
#ifndef VIEWFOLD_PASSES_SCHEDULE_IN_PLACE_H
#define VIEWFOLD_PASSES_SCHEDULE_IN_PLACE_H

#include "passes/fold/fold.h"
#include "passes/passes.h"

typedef struct in_place in_place;

/* Has the plan a kernel that fills the memory of a write? */
bool schedule_has_writes(const ir_graph *g, const ir_plan *plan);
/* nodes: the size of the tables that visits get. References: inputs that writes may change, and the results
 * that they become. loops: what loops carry may be changed in place, too. NULL after failing. */
in_place *schedule_in_place_begin(ir_graph *g, ir_plan *plan, size_t nodes, const pass_reference *references,
                                  size_t reference_count, bool loops);
/* To be called for each kernel step k, in order, with the values that are in memory there, and their table.
 * False after failing. */
bool schedule_in_place_visit(in_place *f, size_t k, pass_slots *slots, uint32_t *slot_of);
/* After all visits, first: puts kernels that read a value before the write that would change its memory,
 * where the order allows it, if `move`. Have any been moved? Then visits have to begin again. */
bool schedule_in_place_reorder(in_place *f, bool move);
/* After that: marks the values that writes would have to find in memory so as to need no copy of what
 * they change, by node. Are there any? */
bool schedule_in_place_overlaps(in_place *f, uint8_t *stored);
/* Changes slots and steps of the plan. False after failing. */
bool schedule_in_place_end(in_place *f);
void schedule_in_place_free(in_place *f);

#endif
