/* What a kernel behind a write needs of the version before it. */
#ifndef VIEWFOLD_PASSES_SCHEDULE_LATE_READS_H
#define VIEWFOLD_PASSES_SCHEDULE_LATE_READS_H

#include "ir/ir.h"

enum { MOST_LATE_READS = 8 /* of one kernel [2 in the tests]: of more, the version is kept whole */ };

/* The kernel of `value` reads x, an older version; `newer` is a write of x. True where the kernel does not
 * depend on the write, or where it would not need x if found[0..*count) were in memory, which are made of x
 * alone. False where one of these has as many elements as x, or where they are too many. slot_of: by node
 * below `nodes`, not 0 for values that are in memory. */
bool schedule_late_reads(ir_graph *g, const uint32_t *slot_of, size_t nodes, ir_ref value, ir_ref x,
                         ir_ref newer, ir_ref found[MOST_LATE_READS], uint32_t *count);

#endif
