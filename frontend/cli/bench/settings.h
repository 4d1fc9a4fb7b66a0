/* What decisions of the compiler ask of the machine, measured: settings of the target that no result depends
 * on (rt_target_set_measured). They are measured once, in less than half a second, and kept on disk (kind
 * "measured"); every context finds them there. Until then the target has cautious defaults. */
#ifndef VIEWFOLD_FRONTEND_CLI_BENCH_SETTINGS_H
#define VIEWFOLD_FRONTEND_CLI_BENCH_SETTINGS_H

#include "frontend/cli/bench/limits.h"
#include "runtime/runtime.h"

/* Pairs of loops that are compared. */
enum {
  BENCH_PROBE_COPY,   /* ordinary stores, and non-temporal ones */
  BENCH_PROBE_READ,   /* without prefetches, and with non-temporal ones */
  BENCH_PROBE_ROWS,   /* the same of two rows at a time, with ordinary prefetches */
  BENCH_PROBE_GATHER, /* elements at any places one by one, and by gather instructions */
};
typedef struct bench_probe {
  void *user;
  /* The time of the first loop of a pair over that of the second, both over so many bytes in all. */
  double (*ratio)(void *user, int pair, int64_t bytes);
} bench_probe;

/* That, measured with loops of a kit: each runs before it is timed, on the caches as it leaves them
 * itself. Non-temporal stores to lines that ordinary ones have left in a cache take twice the time. data: so
 * many bytes, touched before. */
double bench_probe_ratio(const bench_kit *kit, float *data, int pair, int64_t bytes);

/* The most bytes that a probe is asked for. */
#define BENCH_PROBE_BYTES ((int64_t)256 << 20)

/* Set the measured fields of *target, which holds the earlier values or the defaults: these stay unless the
 * difference is clear, so that measuring again makes the same cache keys. */
void bench_settings_decide(const bench_probe *probe, ir_target *target);

/* Measure, and keep the settings for the contexts that are made from now on. */
ir_status bench_settings_measure(const rt_options *options, ir_error *error);
/* The same at first use only: not where settings are kept already, where nothing can be kept, for another
 * device or description, or where $VIEWFOLD_MACHINE says what the machine can do. */
ir_status bench_settings_ready(const rt_options *options, ir_error *error);

#endif
