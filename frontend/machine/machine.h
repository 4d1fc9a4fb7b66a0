/* The folder frontend/machine. What the machine can do.
 *
 *   in      settings, or what was measured
 *   out     the least time for so many bytes and operations
 *   holds   generated code and results do not depend on it */

/* The limits of the machine, for commands that predict times or compare with a limit. They are measured once,
 * which takes seconds, then kept on disk (kind "machine"). Generated code and results do not depend on them.
 *
 * As text: `threads=2 read.1=110,90,... copy.1=... fill.1=... gflops.1=140 read=... copy=... fill=...
 * gflops=... ghz=... lines=...`: GB/s by footprint (fe_footprints) or one number for all footprints, GFLOP/s
 * of f32, cycles of a core in a ns, without which it is one that does two multiply-adds of a vector in a
 * cycle, and GB/s of lines at random places, without which they are those of pass_rates_of. Names with `.1`
 * are of one thread, the others of all threads. Numbers are rounded to two digits. */
#ifndef VIEWFOLD_FRONTEND_MACHINE_MACHINE_H
#define VIEWFOLD_FRONTEND_MACHINE_MACHINE_H

#include "frontend/machine/roofline.h"
#include "runtime/runtime.h"

typedef struct fe_machine {
  int threads;
  fe_roofline one, all; /* of one thread, of all of them */
} fe_machine;

/* The values of $VIEWFOLD_MACHINE; values that it does not name come from the disk. *known: false where
 * values are missing: they would have to be measured, or the device is not the processor. */
ir_status fe_machine_find(rt_context *context, fe_machine *out, bool *known, ir_error *error);
/* Set the values of $VIEWFOLD_MACHINE alone. *all: it names every value. */
ir_status fe_machine_set(fe_machine *machine, bool *all, ir_error *error);
/* Round what was measured, and keep it on disk. */
ir_status fe_machine_keep(rt_context *context, fe_machine *machine, ir_error *error);
/* What was measured, rounded to two digits; 0 where it is not above 0, or infinite. */
double fe_two_digits(double value);
/* The limits of one thread, or of all where threads > 1. */
const fe_roofline *fe_machine_limits(const fe_machine *machine, int threads);

#endif
