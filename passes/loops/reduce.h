/* Inside turning one REDUCE into loops: reduce.c, masked_reduction.c, argmax.c. */
#ifndef VIEWFOLD_PASSES_LOOPS_REDUCE_H
#define VIEWFOLD_PASSES_LOOPS_REDUCE_H

#include "loops.h"

enum { REDUCE_UNROLL = 4, REDUCE_LANE_BYTES = 64 }; /* accumulators side by side; the lanes of each */
/* loops that a reduced range becomes: of runs, of runs of these, ...; and all of a reduction */
enum { REDUCE_LEVELS = MAX_NEST / 2, REDUCE_LOOPS = REDUCE_LEVELS * (IR_MAX_RANK + 1) };

typedef struct reduction {
  loop_nest *n;
  ir_op op;
  ir_dtype dtype;
  ir_ref body;
  ir_ref identity;
  bool blocked;                /* fresh accumulators per loop, runs of bounded length */
  int64_t run;                 /* length of the innermost runs */
  ir_ref ranges[REDUCE_LOOPS]; /* serial loops, outermost first */
  uint32_t range_count;
  ir_op sought; /* of positions: ARGMAX or ARGMIN, body the element; op combines orders */
  ir_ref index; /* 0 for all others */
  struct {
    ir_ref lane, start, count;
  } inside; /* lane, when not 0: `count` terms from start on are left, fewer than there are lanes */
} reduction;

/* reduce.c */
/* Serial loops over [0, extent): one, or for blocked sums a nest of bounded runs. Returns the position. */
ir_ref reduce_index_of(reduction *r, ir_ref extent);
/* The values of the lanes of a loop of that binding, combined. */
ir_ref reduce_lanes(const reduction *r, ir_ref range, int binding, ir_ref value);
/* The vector lanes and the accumulators side by side that a range of so many terms fills. */
void reduce_steps(const reduction *r, ir_ref body, int64_t most, int *lanes, int *unroll);
ir_ref reduce_over(reduction *r, const ir_ref *ranges, uint32_t count);

/* masked_reduction.c */
/* Can lanes behind the end of the range be kept from reading? Not where what is read says where to read. */
bool reduce_can_mask(const reduction *r, ir_ref last);
/* body in the lanes of r->inside that stand before the end, the identity in the others, which read nothing.
 * `at` counts from where the range of r->inside starts. */
ir_ref reduce_only_inside(const reduction *r, ir_ref body, ir_ref at);
/* Terms that are left out from some position of the last range on, because they are the identity there, need
 * no test where the range ends at that position. */
void reduce_end_at_mask(reduction *r, ir_ref *ranges, uint32_t count);

/* argmax.c: argmax, argmin over one range */
ir_ref reduce_to_index(reduction *r, ir_ref range);

#endif
