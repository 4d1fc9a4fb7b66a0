/* The limits of the machine, for commands that predict times or compare with a limit. They are measured once,
 * which takes seconds, then kept on disk (kind "machine"). Generated code and results do not depend on them.
 *
 * As text: `threads=2 read.1=110,90,... copy.1=... fill.1=... gflops.1=140 read=... copy=... fill=...
 * gflops=...`: GB/s by footprint (bench_footprints) or one number for all footprints, and GFLOP/s of f32.
 * Names with `.1` are of one thread, the others of all threads. Numbers are rounded to two digits. */
#ifndef VIEWFOLD_FRONTEND_CLI_EXPLAIN_MACHINE_H
#define VIEWFOLD_FRONTEND_CLI_EXPLAIN_MACHINE_H

#include "frontend/cli/bench/limits.h"
#include "runtime/runtime.h"

typedef struct cli_machine {
  int threads;
  bench_limits one, all; /* of one thread, of all of them */
} cli_machine;

/* The values of $VIEWFOLD_MACHINE; values that it does not name come from the disk, or else, with `measure`,
 * are measured and kept. *known: false where values are missing: they would have to be measured, or the
 * device is not the processor. */
ir_status cli_machine_find(rt_context *context, bool measure, cli_machine *out, bool *known, ir_error *error);
/* Measure the machine, and keep the values on disk. */
ir_status cli_machine_measure(rt_context *context, cli_machine *out, ir_error *error);
/* The limits of one thread, or of all where threads > 1. */
const bench_limits *cli_machine_limits(const cli_machine *machine, int threads);

#endif
