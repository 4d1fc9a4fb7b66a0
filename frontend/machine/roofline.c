#include "frontend/machine/roofline.h"

#include <math.h>

#include "ir/target.h"

#define GIGA 1e9

const double fe_footprints[FE_FOOTPRINTS] = {24 << 10, 256 << 10, 1 << 20,  4 << 20,
                                             12 << 20, 24 << 20,  64 << 20, 192 << 20};

static bool raise_one(double *limit, double seen) {
  bool much = seen > 1.02 * *limit;
  *limit = fmax(*limit, seen);
  return much;
}

bool fe_roofline_raise(fe_roofline *l, const fe_roofline *seen) {
  bool raised = raise_one(&l->gflops, seen->gflops) | raise_one(&l->ghz, seen->ghz);
  for (int s = 0; s < FE_STREAMS; s++)
    for (int f = 0; f < FE_FOOTPRINTS; f++) raised |= raise_one(&l->gbs[s][f], seen->gbs[s][f]);
  for (int f = 0; f < FE_FOOTPRINTS; f++) raised |= raise_one(&l->lines[f], seen->lines[f]);
  return raised;
}

/* GB/s of a stream that touches this many bytes: interpolated between the measured footprints, linearly in
 * the logarithm of the bytes. */
static double at_footprint(const double *gbs, double bytes) {
  int f = 1;
  while (f < FE_FOOTPRINTS - 1 && bytes > fe_footprints[f]) f++;
  double low = log(fe_footprints[f - 1]), high = log(fe_footprints[f]);
  double share = fmin(fmax((log(bytes) - low) / (high - low), 0), 1);
  return gbs[f - 1] + (gbs[f] - gbs[f - 1]) * share;
}

double fe_roofline_gbs(const fe_roofline *l, int stream, double bytes) {
  return at_footprint(l->gbs[stream], bytes);
}

double fe_roofline_line_ns(const fe_roofline *l, double bytes) {
  double gbs = at_footprint(l->lines, bytes);
  return gbs > 0 ? IR_CACHE_LINE_BYTES / gbs : 0;
}

/* The time per byte is interpolated linearly between reading alone, reading as much as writing, and writing
 * alone. */
double fe_roofline_ms(const fe_roofline *l, double bytes_read, double bytes_written, double flops) {
  double bytes = bytes_read + bytes_written, place = 2 * bytes_written / bytes; /* 0 read, 1 copy, 2 fill */
  int from = place > 1;
  double first = at_footprint(l->gbs[from], bytes), second = at_footprint(l->gbs[from + 1], bytes);
  double share = place - from, moved = bytes * ((1 - share) / first + share / second);
  return fmax(moved, flops / l->gflops) / GIGA * 1e3;
}
