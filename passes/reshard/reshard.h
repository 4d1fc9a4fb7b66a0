/* The folder passes/reshard. Redistribution: the cheapest way from one division of an array to another.
 *
 *   in      a mesh, the sizes of an array, the spec that it has and the spec that it should have
 *   out     steps, each an exchange from one spec to the next, with their bytes, times and memory
 *   holds   bytes are counted exactly; with at most PASS_RESHARD_EXACT digits no way over the steps below is
 *           cheaper; nothing is linear in the number of devices where sizes divide
 *
 * A *digit* is a sub-axis that no spec on the way divides, of prime size where there are few of them. A
 * *layout* has for each dimension the digits that divide it, and the digits along which sums are pending. A
 * *hop* takes an array from one layout to another: each device receives the part of its new box that its old
 * box does not hold, or, where sums are finished, every summand of its new box but its own.
 *
 * The steps are hops: slice, all_gather, all_to_all, reduce_scatter, all_reduce and permute are hops by what
 * they move, and any other one is called exchange. As an exception, all_reduce may divide its parts as flat
 * arrays: a reduce_scatter and an all_gather of chunks, whatever the sizes of the dimensions.
 *
 * Costs. In bytes: what a device receives at most. In time: a message is all that one device has from
 * another in a hop. All start at once, and arrive as ir/mesh/link.h says: in flight together, and one after
 * the other at the device; a hop takes as long as for the device that is last. So many digits in one hop are
 * many messages and few bytes, one after the other several times in flight.
 *
 * The bound. An element that a device needs and does not hold must come once; so must the sum of an element
 * of which summands are elsewhere. In bytes and without sums one exchange reaches it. */
#ifndef VIEWFOLD_PASSES_RESHARD_RESHARD_H
#define VIEWFOLD_PASSES_RESHARD_RESHARD_H

#include "ir/mesh/spec.h"

enum {
  PASS_RESHARD_EXACT = 8, /* digits: 2^8 devices take part */
  PASS_RESHARD_STEPS = 40 /* at most twice for each of 20 digits */
};

typedef enum pass_reshard_mode { PASS_RESHARD_BYTES, PASS_RESHARD_TIME } pass_reshard_mode;
typedef enum pass_reshard_kind {
  PASS_RESHARD_SLICE,
  PASS_RESHARD_ALL_GATHER,
  PASS_RESHARD_ALL_TO_ALL,
  PASS_RESHARD_REDUCE_SCATTER,
  PASS_RESHARD_ALL_REDUCE,
  PASS_RESHARD_PERMUTE,
  PASS_RESHARD_EXCHANGE
} pass_reshard_kind;
extern const char *const pass_reshard_names[PASS_RESHARD_EXCHANGE + 1];

/* What moves. recv and time are those of the device that has most, total is of all devices. peak: most bytes
 * that a device holds: the part before and the part after; where sums are finished, the summands and either
 * of them. */
typedef struct pass_reshard_cost {
  uint64_t recv, total, peak; /* bytes */
  uint64_t messages;          /* that a device receives at most */
  uint64_t time;              /* picoseconds */
} pass_reshard_cost;

typedef struct pass_reshard_step {
  pass_reshard_kind kind;
  bool flat;  /* an all_reduce in two rounds, of chunks of the part as a flat array */
  ir_spec to; /* the spec after the step; that before it is the step's before, or `from` */
  ir_spec on; /* in dimension 0: the sub-axes that take part, in the order of the mesh */
  pass_reshard_cost cost;
} pass_reshard_step;

typedef struct pass_reshard_ask {
  const ir_mesh *mesh;  /* an axis of unknown latency has 1 microsecond, of unknown bandwidth 10 GB/s */
  const int64_t *shape; /* from->rank sizes of the whole array */
  uint32_t item;        /* bytes of an element */
  const ir_spec *from, *to;
  pass_reshard_mode mode;
  uint64_t limit; /* bytes that a device may hold; 0: any number */
  bool at_once;   /* one step joins all summands, in the order of the mesh, and rounds once */
  uint64_t work;  /* devices and messages to be looked at where sizes are uneven; 0: about a second's */
} pass_reshard_ask;

typedef struct pass_reshard_plan {
  pass_reshard_step steps[PASS_RESHARD_STEPS];
  uint32_t count;
  pass_reshard_cost cost; /* of all steps: peak is the most, recv that of the device that has most in all */
  uint64_t bound;         /* bytes that some device has to receive, whatever the way */
  bool exact;             /* no way over the steps above is cheaper */
} pass_reshard_plan;

/* Fails where the specs do not belong to the mesh or to each other, where bytes do not fit 62 bits, and where
 * no way keeps the limit. Pending axes of `to` must be pending in `from`, too. */
ir_status pass_reshard(const ir_mem *mem, const pass_reshard_ask *ask, pass_reshard_plan *out,
                       ir_error *error);

#endif
