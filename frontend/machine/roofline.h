/* The limits of a machine: memory bandwidth by footprint (number of bytes touched), and the rate of
 * multiply-adds. The model is the roofline (Williams, Waterman, Patterson, 2009). */
#ifndef VIEWFOLD_FRONTEND_MACHINE_ROOFLINE_H
#define VIEWFOLD_FRONTEND_MACHINE_ROOFLINE_H

#include <stdbool.h>

/* GB/s of reading, copying and filling by footprint, each with the faster of plain and non-temporal
 * stores. */
enum { FE_FOOTPRINTS = 8 };
enum { FE_STREAM_READ, FE_STREAM_COPY, FE_STREAM_FILL, FE_STREAMS };
typedef struct fe_roofline {
  double gbs[FE_STREAMS][FE_FOOTPRINTS];
  double gflops;               /* of f32, a multiply-add being two */
  double ghz;                  /* cycles of one core in a ns; 0: not known */
  double lines[FE_FOOTPRINTS]; /* GB/s of cache lines at random places that are read; 0: not known */
} fe_roofline;
extern const double fe_footprints[FE_FOOTPRINTS]; /* bytes touched, read and written */

/* Raise each limit to that in `seen` where that is higher. True where one rose by more than 2 %. */
bool fe_roofline_raise(fe_roofline *limits, const fe_roofline *seen);
/* GB/s of a stream that touches so many bytes. */
double fe_roofline_gbs(const fe_roofline *limits, int stream, double bytes);
/* ns for one of many lines at random places of so many bytes; 0: not known. */
double fe_roofline_line_ns(const fe_roofline *limits, double bytes);
/* The least time in ms for these bytes and float operations. */
double fe_roofline_ms(const fe_roofline *limits, double bytes_read, double bytes_written, double flops);

#endif
