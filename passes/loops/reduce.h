/* Shared by the files that make loops of one REDUCE: reduce.c, masked_reduction.c, argmax.c. A run is a
 * sequence of terms that one accumulator sums. */
#ifndef VIEWFOLD_PASSES_LOOPS_REDUCE_H
#define VIEWFOLD_PASSES_LOOPS_REDUCE_H

#include "loops.h"

/* The same on all targets, since they decide the order of additions. */
enum {
  REDUCE_UNROLL = 4, /* independent accumulators: an addition takes four cycles; with a load each, about one
                        begins in each */
  REDUCE_LANE_BYTES = 64, /* bytes of the lanes of each: those of the widest vectors */
  /* most loops that a reduced range becomes, over runs, over runs of these, ...: 32 * 8^11 is 2^38 terms, and
   * the outermost loop takes all that are left */
  REDUCE_LEVELS = MAX_NEST / 2,
  REDUCE_LOOPS = REDUCE_LEVELS * (IR_MAX_RANK + 1) /* most loops of a reduction, over all of its ranges */
};

typedef struct reduction {
  loop_nest *n;
  ir_op op;
  ir_dtype dtype;
  ir_ref body;
  ir_ref identity;
  bool blocked;  /* blocked summation: a fresh accumulator for each loop, whose trip count is bounded */
  bool in_lanes; /* what loops yield is combined with the identity later: a single iteration is not */
  int64_t run;   /* terms of an innermost run */
  ir_ref ranges[REDUCE_LOOPS]; /* serial loops, outermost first */
  uint32_t range_count;
  ir_op sought; /* ARGMAX or ARGMIN: body is the element, op combines orders */
  ir_ref index; /* the index of the element; 0 for other reductions */
  struct {
    ir_ref lane, start, count;
  } inside; /* lane not 0: reducing the remainder, `count` terms from start on */
} reduction;

/* reduce.c */
/* Appends serial loops over [0, extent): one, or for blocked sums a nest of bounded runs. Returns the
 * index. */
ir_ref reduce_index_of(reduction *r, ir_ref extent);
/* The values of the iterations of a lane loop or unrolled loop, combined. */
ir_ref reduce_lanes(const reduction *r, ir_ref range, int binding, ir_ref value);
/* The lanes, and the independent accumulators in each, that a range of at most `most` terms fills. */
void reduce_width(const reduction *r, ir_ref body, int64_t most, int *lanes, int *unroll);
ir_ref reduce_over(reduction *r, const ir_ref *ranges, uint32_t count);

/* masked_reduction.c */
/* Can loads past the end of the range `last` be masked? Not where a load gives the index of another one. */
bool reduce_can_mask(const reduction *r, ir_ref last);
/* body in the lanes of r->inside before the end, the identity in the lanes past it, which load nothing. `at`
 * counts from r->inside.start. */
ir_ref reduce_only_inside(const reduction *r, ir_ref body, ir_ref at);
/* Where a mask makes all terms from some index of the last range on the identity, the range ends at that
 * index, and the test is removed. */
void reduce_end_at_mask(reduction *r, ir_ref *ranges, uint32_t count);

/* prefix.c: the terms 0 to `last` of a few. Their order depends on `terms` alone. */
typedef struct reduce_prefix {
  ir_ref range, term; /* the reduced range; a term, whether selected or not */
  ir_ref last;        /* index of the last one selected, below `terms` */
  int64_t terms;
} reduce_prefix;
bool reduce_read_prefix(const reduction *r, ir_ref range, reduce_prefix *out);
/* plain: the term without prefetches */
ir_ref reduce_over_prefix(const reduction *r, const reduce_prefix *p, ir_ref plain);

/* argmax.c: argmax, argmin over one range */
ir_ref reduce_to_index(reduction *r, ir_ref range);

#endif
