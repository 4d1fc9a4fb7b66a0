/* What the parts of a kernel's predicted time share: the loops of the kernel, and what is known of its
 * nodes. */
#ifndef VIEWFOLD_PASSES_COST_KERNEL_WALK_H
#define VIEWFOLD_PASSES_COST_KERNEL_WALK_H

#include "ir/regions.h"
#include "passes/cost/kernel_time.h"

/* Units that execute instructions, each of a kind. */
typedef enum kernel_unit {
  KERNEL_ALU,     /* arithmetic */
  KERNEL_FLOAT,   /* that of floats, which counts as arithmetic too: fewer units have it */
  KERNEL_SHUFFLE, /* arithmetic too: moves elements between lanes; one unit has it */
  KERNEL_LOAD,
  KERNEL_STORE,
  KERNEL_DIVIDER, /* cycles that it is busy */
  KERNEL_OTHER,   /* instructions on no scarce unit */
  KERNEL_UNITS
} kernel_unit;

typedef struct kernel_cost {
  double unit[KERNEL_UNITS];
  double latency; /* cycles */
} kernel_cost;

/* instruction_cost.c: of one operation on `width` elements, without memory accesses and loops. */
kernel_cost kernel_cost_of(const ir_graph *g, ir_ref ref, uint32_t width, const ir_target *target);
/* Bytes of an element in a vector register. */
int kernel_register_bytes(ir_dtype dtype);
/* Of moving elements between memory's and registers' form. */
kernel_cost kernel_storage_cost(ir_dtype dtype, uint32_t width, const ir_target *target);
/* All instructions. */
double kernel_instructions(const kernel_cost *cost);
/* Cycles of units that work at the same time: those of the busiest. */
double kernel_cycles(const kernel_cost *cost, const ir_target *target);
void kernel_add(kernel_cost *to, const kernel_cost *cost, double times);
double kernel_registers(uint32_t width, int bytes, const ir_target *target);

/* A loop that runs; number 0 is the kernel itself. */
typedef struct kernel_loop {
  ir_ref node;
  uint32_t outer, depth;
  double trips, entries;     /* of one run of the kernel: how often it is entered */
  kernel_cost own;           /* of one iteration without inner loops */
  double inner, inner_count; /* cycles and instructions of inner loops in one iteration */
  double path;               /* longest sum of latencies in one iteration */
  double waits, ended;       /* cycles that its stores so far wait, and the instructions up to the last one */
  double touched;            /* bytes of cache lines that one iteration touches */
} kernel_loop;

/* A loop whose iterations are lanes. */
typedef struct kernel_lane {
  ir_ref node;
  uint32_t extent;
  bool vector;
} kernel_lane;

enum { KERNEL_MAX_LANES = 64 }; /* loops of lanes that are told apart; those past it count as the last */

typedef enum kernel_need {
  KERNEL_NOT_NEEDED,
  KERNEL_ADDRESS, /* of an index: only as part of addresses, which take no instructions of their own */
  KERNEL_VALUE
} kernel_need;

typedef struct kernel_node {
  uint64_t lanes;     /* set of the loops of lanes along which it varies */
  double value;       /* of an index, in the middle of its loops */
  double path, chain; /* cycles from the beginning of an iteration; from a carried value: -1 without one */
  uint32_t home;      /* the innermost loop that runs on which it depends */
  uint32_t loop;      /* of a RANGE, CARRY or LOOP: number of the loop, or of the loop of lanes */
  bool is_lane, varies;
  bool known; /* of each unrolled value a number when code is made */
  uint8_t need;
} kernel_node;

/* How an index changes: by `stride` elements with `by` iterations of a loop. */
typedef struct kernel_step {
  uint32_t loop;
  bool lane, exact; /* not exact: within a quotient or remainder */
  double stride, by;
} kernel_step;

enum { KERNEL_MAX_STEPS = 24 }; /* as many terms as ir/in_place.c reads; with more, an index is anywhere */
typedef struct kernel_access {
  ir_ref buffer, index;
  uint32_t home;
  bool written, streams, fetched; /* fetched: it prefetches */
  double element, size;           /* bytes */
  kernel_step steps[KERNEL_MAX_STEPS];
  uint32_t step_count;
  uint64_t random_lanes; /* elements along these lanes, */
  uint32_t random_home;  /* and iterations of this loop and those outside it, are anywhere; 0: of none */
  bool random;
  bool joined;      /* another one stands for it: their indices differ by a constant or along lanes */
  double spread;    /* bytes within which an index from memory lies */
  double more;      /* bytes of the contiguous elements of those that it stands for */
  double low, high; /* constant terms of the index, the least and the greatest of these */
  uint32_t next;    /* another access of the buffer, 1 + its number */
} kernel_access;

typedef struct kernel_walk {
  ir_graph *g;
  const ir_target *target;
  const pass_time_request *request;
  const pass_rates *rates;
  ir_regions regions;
  kernel_node *nodes; /* by ref */
  kernel_loop *loops;
  size_t loop_count, loop_cap;
  kernel_lane lanes[KERNEL_MAX_LANES];
  uint32_t lane_count;
  kernel_access *accesses;
  size_t access_count, access_cap;
} kernel_walk;

uint32_t kernel_deeper(const kernel_walk *w, uint32_t a, uint32_t b); /* of two loops, one in the other */
uint32_t kernel_width(const kernel_walk *w, uint64_t lanes);          /* vector lanes */
double kernel_unrolled(const kernel_walk *w, uint64_t lanes);         /* combinations of the other lanes */
/* instruction_cost.c: adapts the cost of an operation on so many bytes to units that are wider, or narrower.
 */
void kernel_fit_units(const kernel_walk *w, const ir_node *n, double bytes, kernel_cost *cost);

/* kernel_values.c: about how large an index, or whether a condition holds (1 or 0), where its operands have
 * their values. */
double kernel_index_value(const kernel_walk *w, ir_ref ref);

/* kernel_trips.c: the mean of a loop's extent over the loops around it, which are placed. */
double kernel_mean_trips(kernel_walk *w, ir_ref extent);

/* kernel_access.c: how the index of a LOAD, STORE or UPDATE changes; with it, what one execution takes for
 * all unrolled values. */
void kernel_describe_access(const kernel_walk *w, ir_ref ref, kernel_access *out);
kernel_cost kernel_access_cost(const kernel_walk *w, ir_ref ref, const kernel_access *a);
/* Are only the parts of the index that lanes do not change needed as a value? */
bool kernel_is_affine(const kernel_walk *w, const kernel_access *a);
/* kernel_memory.c. Finds an access before this one that may stand for it. */
void kernel_join_access(const kernel_walk *w, kernel_access *a);
/* kernel_time.c: the share of what is touched again that a cache of this size no longer holds, where so many
 * bytes are touched in between: it begins below the size of the cache and ends above. The same of the last
 * cache. */
double kernel_lost_share(double touched, double size);
double kernel_lost_from_last(const pass_rates *rates, double touched);
/* ns to move the lines of all accesses, and their bytes. */
void kernel_memory_time(kernel_walk *w, pass_kernel_time *time);

#endif
