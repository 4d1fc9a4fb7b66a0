/* The folder passes/loops/cpu. Prefetches and non-temporal accesses, for processors with caches.
 *
 *   in      loads and stores inside loops
 *   out     the same, some with prefetches, some non-temporal (bypassing the caches)
 *   holds   no value changes */

#ifndef VIEWFOLD_PASSES_LOOPS_CPU_CPU_H
#define VIEWFOLD_PASSES_LOOPS_CPU_CPU_H

#include "passes/loops/loops.h"

/* prefetch.c: the effect of a fused row group with loads that prefetch rows further on; another one as it is;
 * 0 on failure. */
ir_ref loop_prefetch_rows(ir_graph *g, ir_ref effect, const ir_target *target);
/* body, with loads that prefetch what comes 8 KiB later along the range, which goes over memory once. */
ir_ref loop_sweep_ahead(const loop_nest *n, ir_ref body, ir_ref range);

/* The load, with a prefetch of the element that is `elements` further on; stream: IR_STREAM for a
 * non-temporal prefetch, else IR_NO_STREAM. */
ir_ref loop_load_ahead(ir_graph *g, ir_ref load, int64_t elements, int64_t stream);

/* nontemporal.c: the effect with some stores marked as non-temporal, and non-temporal prefetches added to
 * some loads; 0 on failure */
ir_ref loop_stream(ir_graph *g, ir_ref effect, const ir_target *target);

#endif
