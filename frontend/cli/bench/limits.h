/* The limits of the machine: memory bandwidth by footprint (number of bytes touched), and the rate of
 * multiply-adds. The streams are those of McCalpin's STREAM, the model is the roofline (Williams, Waterman,
 * Patterson, 2009). */
#ifndef VIEWFOLD_FRONTEND_CLI_BENCH_LIMITS_H
#define VIEWFOLD_FRONTEND_CLI_BENCH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

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
  BENCH_LOOPS
};
typedef struct bench_kit {
  void (*loops[BENCH_LOOPS])(float *to, const float *from, size_t n);
} bench_kit;
const bench_kit *bench_kit_here(void);

/* GB/s of reading, copying and filling by footprint, each with the faster of plain and non-temporal
 * stores. */
enum { BENCH_FOOTPRINTS = 8 };
enum { BENCH_STREAM_READ, BENCH_STREAM_COPY, BENCH_STREAM_FILL, BENCH_STREAMS };
typedef struct bench_limits {
  double gbs[BENCH_STREAMS][BENCH_FOOTPRINTS];
  double gflops; /* of f32, a multiply-add being two */
} bench_limits;
extern const double bench_footprints[BENCH_FOOTPRINTS]; /* bytes touched, read and written */

/* The limits of each of `count` numbers of threads; each takes about half a second. False without memory. */
bool bench_limits_measure(const int *threads, int count, bench_limits *out);
/* Raise each limit to that in `seen` where that is higher. True where one rose by more than 2 %. */
bool bench_limits_raise(bench_limits *limits, const bench_limits *seen);
/* GB/s of a stream that touches so many bytes. */
double bench_limits_gbs(const bench_limits *limits, int stream, double bytes);
/* The least time in ms for these bytes and float operations. */
double bench_limits_ms(const bench_limits *limits, double bytes_read, double bytes_written, double flops);

#endif
