/* The folder passes/loops/cpu. What only processors with caches are told.
 *
 *   in      loads and stores inside loops
 *   out     the same, some fetched ahead, some past the caches
 *   holds   no value changes */

/* What only processors with caches are told: which loads are fetched ahead, which accesses go past the
 * caches. */
#ifndef VIEWFOLD_PASSES_LOOPS_CPU_CPU_H
#define VIEWFOLD_PASSES_LOOPS_CPU_CPU_H

#include "passes/loops/loops.h"

/* prefetch.c: stores[at], with loads that fetch rows further on along the last axis of the nest that all
 * the stores share. */
ir_ref loop_fetch_ahead(const loop_nest *n, const ir_ref *stores, uint32_t count, uint32_t at);
/* body, with loads that fetch what comes 8 KiB later along the range, which it walks in one sweep. */
ir_ref loop_sweep_ahead(const loop_nest *n, ir_ref body, ir_ref range);

/* The load, with what lies so many elements further on fetched, and perhaps past the caches (IR_STREAM). */
ir_ref loop_load_ahead(ir_graph *g, ir_ref load, int64_t elements, int64_t stream);

/* nontemporal.c: marks stores and loads that go past the caches; false on failure */
bool loop_stream(ir_graph *g, const ir_target *target, loop_stores *stores);

#endif
