/* The time of a kernel whose loops are shaped, predicted from the instructions that code generation emits for
 * it, the cache lines that its loops touch, and a processor's rates.
 *
 * Computing: each operation takes instructions of some kinds (KERNEL_ALU, ...), one for each vector register
 * and unrolled value; it is executed as often as the loops run on whose indices it depends. The busiest unit
 * decides, unless operations wait for each other: a chain of dependent operations takes the sum of their
 * latencies, divided by the number of iterations that a processor has in flight. Memory: of each access, the
 * lines that are touched within each loop; a level of cache keeps them where all that one iteration touches
 * fits. */
#ifndef VIEWFOLD_PASSES_COST_KERNEL_TIME_H
#define VIEWFOLD_PASSES_COST_KERNEL_TIME_H

#include "ir/eval/eval.h"
#include "ir/ir.h"
#include "ir/target.h"

/* Where lines come from that the level before does not hold. */
typedef enum pass_level { PASS_LEVEL_L2, PASS_LEVEL_L3, PASS_LEVEL_MEMORY, PASS_LEVELS } pass_level;

enum { PASS_MAX_LOST = 8 }; /* as many footprints as are measured */

/* What a processor's core does in a nanosecond. */
typedef struct pass_rates {
  double ghz;
  bool halves; /* vectors of 64 bytes occupy a unit of 32 bytes for two cycles */
  double read[PASS_LEVELS], write[PASS_LEVELS]; /* bytes */
  /* the share of what is read again that comes from memory, where so many bytes are touched in between;
   * ascending, and linear between them */
  struct {
    double bytes, share;
  } lost[PASS_MAX_LOST];
  int lost_count;
  /* jump_ns was measured with lines at random places: a row there waits once, and elements come from the
   * cache that holds all of them. False without: rows wait for several lines, and forms of kernels are chosen
   * so; with true a gather was fused into two readers where stored the graph takes 2.9 ms in place of 4.6 */
  bool lines;
  double bare_share; /* of the shorter of computing and moving, which is not hidden behind the longer */
  double
      jump_ns[PASS_LEVELS]; /* until a line arrives that no prefetch foresees, as far as loads wait for it */
} pass_rates;

/* From the target's fields alone. */
pass_rates pass_rates_of(const ir_target *target);

typedef struct pass_kernel_time {
  double ns;           /* one run, one thread */
  double bytes;        /* that come from or go to the L2 cache or beyond */
  double computing_ns; /* with everything in the L1 cache */
  double near_ns;      /* to move lines between the L1 and the L2 cache */
  double memory_ns;    /* to move lines between all levels */
  double exposed_ns;   /* of these, between the L2 cache and beyond without prefetches */
  double bare_share;   /* pass_rates */
  double jumps_ns;     /* to wait for lines that no prefetch foresees */
} pass_kernel_time;

/* Of a parameter. */
typedef struct pass_param_state {
  double between; /* bytes that other kernels touch from its last use before this kernel to this kernel */
  bool constant;  /* lies in pages of 4 KiB, in a file or next to other constants */
  bool dies;      /* this is its last use, so that the result may take its memory */
} pass_param_state;

/* What is known beyond the kernel; all may be zero. */
typedef struct pass_time_request {
  const pass_rates *rates; /* NULL: those of the target */
  const ir_var_value *vars;
  size_t var_count; /* others count as at the lower end of their bounds, or as 64 if that is less */
  const pass_param_state *params; /* by slot; of those that are missing, nothing is touched in between */
  size_t param_count;
} pass_time_request;

/* The time of a shaped kernel (result of pass_loops) on a processor. False, with the graph's error set, where
 * memory is short; false without where it is no kernel, or the target has no vectors. */
bool pass_kernel_time_of(ir_graph *g, ir_ref kernel, const ir_target *target, pass_kernel_time *time);
/* How long computing and moving take together. */
double pass_time_together(const pass_kernel_time *time, double threads);
bool pass_kernel_time_on(ir_graph *g, ir_ref kernel, const ir_target *target,
                         const pass_time_request *request, pass_kernel_time *time);

#endif
