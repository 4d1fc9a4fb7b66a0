/* What the machine can do, for commands that predict or judge: measured once, which takes seconds, then kept
 * on disk (kind "machine"). Nothing of it goes into code or results.
 *
 * As text: `threads=2 read.1=110,90,... copy.1=... fill.1=... gflops.1=140 read=... copy=... fill=...
 * gflops=...`, GB/s by footprint (bench_footprints) or one number for all of them, and GFLOP/s of f32; with
 * `.1` of one thread, without of all threads. Numbers are rounded to two digits. */
#ifndef VIEWFOLD_FRONTEND_CLI_EXPLAIN_MACHINE_H
#define VIEWFOLD_FRONTEND_CLI_EXPLAIN_MACHINE_H

#include "frontend/cli/bench/limits.h"
#include "runtime/runtime.h"

typedef struct cli_machine {
  int threads;
  bench_limits one, all; /* of one thread, of all of them */
} cli_machine;

void cli_machine_text(const cli_machine *machine, ir_text *out);
/* Settings in that form replace what they name; a name without `.1` sets both before its own `.1` does.
 * IR_ERR_INVALID names one that is none. *all: there is nothing that they do not name. */
ir_status cli_machine_set(cli_machine *machine, const char *settings, bool *all, ir_error *error);

/* The machine as $VIEWFOLD_MACHINE describes it, else as it is kept, else (where `measure` allows it)
 * measured, and kept. *known: false where it would have to be measured, or is a device that is not the
 * processor. */
ir_status cli_machine_find(rt_context *context, bool measure, cli_machine *out, bool *known, ir_error *error);
/* Measured anew, and kept. */
ir_status cli_machine_measure(rt_context *context, cli_machine *out, ir_error *error);
/* Of so many threads. */
const bench_limits *cli_machine_limits(const cli_machine *machine, int threads);

#endif
