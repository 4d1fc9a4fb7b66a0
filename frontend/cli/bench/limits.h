/* Measures the limits of the machine, by the streams of McCalpin's STREAM. */
#ifndef VIEWFOLD_FRONTEND_CLI_BENCH_LIMITS_H
#define VIEWFOLD_FRONTEND_CLI_BENCH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "frontend/machine/roofline.h"

/* stream.c: loops over n floats, a multiple of BENCH_CHUNK. BENCH_MULTIPLY_ADD does n multiply-adds in
 * registers. */
enum { BENCH_CHUNK = 192 };
enum {
  BENCH_READ,
  BENCH_READ_NONTEMPORAL, /* with non-temporal prefetches */
  BENCH_READ_ROWS,        /* two rows at a time */
  BENCH_READ_ROWS_AHEAD,  /* with prefetches */
  BENCH_COPY,
  BENCH_COPY_NONTEMPORAL,
  BENCH_FILL,
  BENCH_FILL_NONTEMPORAL,
  BENCH_MULTIPLY_ADD,
  BENCH_READ_PLACES,   /* elements at places that vectors hold, one by one */
  BENCH_GATHER_PLACES, /* by gather instructions */
  BENCH_READ_LINES,    /* an element of each of n / 16 cache lines, at random places */
  BENCH_LOOPS
};
typedef struct bench_kit {
  void (*loops[BENCH_LOOPS])(float *to, const float *from, size_t n);
} bench_kit;
const bench_kit *bench_kit_here(void);

/* The limits of each of `count` numbers of threads; each takes about half a second. False without memory. */
bool bench_limits_measure(const int *threads, int count, fe_roofline *out);
#endif
