/* The parts of loop shaping: which axis gets the lanes (loop_axes.c), how reductions become loops
 * (loop_reduce.c), and the nest around the store (loops.c). */
#ifndef VIEWFOLD_PASSES_LOOPS_H
#define VIEWFOLD_PASSES_LOOPS_H

#include "passes.h"

enum { MAX_NEST = 24 }; /* ranges of one kernel's output or of one reduction after splitting */

/* One output axis and how it is cut: blocks for threads, then steps of unroll * lanes elements. */
typedef struct loop_axis {
  ir_ref range, extent;
  int unroll, lanes;
} loop_axis;

typedef struct loop_nest {
  ir_graph *g;
  const ir_target *target;
  ir_ref store;
  loop_axis axes[IR_MAX_RANK]; /* outermost first */
  uint32_t axis_count;
  bool lanes_in_reduction; /* vector lanes run along a reduced axis */
  int64_t next_range;      /* fresh range numbers */
} loop_nest;

/* loop_axes.c */
bool loop_find_axes(loop_nest *n);  /* the ranges of the store; false when there are too many */
void loop_merge_axes(loop_nest *n); /* adjacent axes that all accesses walk as one become one */
void loop_choose_lanes(loop_nest *n);
/* Coefficient of range in an index expression that is affine in it; false when it is not. */
bool loop_stride(ir_graph *g, ir_ref index, ir_ref range, int64_t *stride);
/* Nodes of op reachable from root, ascending, at most `room` of them. */
uint32_t loop_find(ir_graph *g, ir_ref root, ir_op op, ir_ref *out, uint32_t room);

/* loop_reduce.c: every REDUCE below root becomes loops with carried values. */
ir_ref loop_reductions(loop_nest *n, ir_ref root);

ir_ref loop_fresh_range(loop_nest *n, ir_ref extent);
static inline ir_ref loop_wrap(ir_graph *g, ir_ref range, int binding, ir_ref effect) {
  return ir_make(g, IR_OP_LOOP, IR_NONE, ir_pack_arg(0, binding), (ir_ref[]){range, effect}, 2);
}

#endif
