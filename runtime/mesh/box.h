/* The folder runtime/mesh. Devices that run one program together.
 *
 *   in      for each device the part of an array that it has, and the box of it that it needs
 *   out     the elements, where they are needed
 *   holds   nobody sends what the other one has already */

/* Differences of boxes, and copies of what is in them. */
#ifndef VIEWFOLD_RUNTIME_MESH_BOX_H
#define VIEWFOLD_RUNTIME_MESH_BOX_H

#include "ir/mesh/spec.h"

bool rt_box_is_empty(const ir_box *box); /* has it no position? */
/* Divides the positions of a that b does not have among at most 2 * rank boxes, none empty; returns their
 * number. */
uint32_t rt_box_subtract(const ir_box *a, const ir_box *b, ir_box out[2 * IR_MAX_RANK]);
/* The offset of the box in a dense array of the box `whole`, in elements, where its elements follow one
 * another there; -1: they do not. */
int64_t rt_box_offset(const ir_box *whole, const ir_box *box);
/* The runs of a box: elements that follow one another both in a dense row-major array of the elements of the
 * box `from` and in one of those of `to`, of `bytes` bytes each; the arrays contain the box. */
typedef struct rt_box_runs {
  int64_t from, to; /* where the run begins in each array, in bytes */
  size_t bytes;     /* of each run; 0: the box has no elements */
  const ir_box *box;
  uint32_t outer;                                             /* axes along which runs follow one another, */
  int64_t in[IR_MAX_RANK], out[IR_MAX_RANK], at[IR_MAX_RANK]; /* the strides of these, and the place */
} rt_box_runs;
void rt_box_runs_begin(rt_box_runs *runs, const ir_box *box, size_t bytes, const ir_box *from,
                       const ir_box *to);
bool rt_box_runs_next(rt_box_runs *runs); /* false: there is no other */
/* Copies the elements of `box`, of `bytes` bytes each, from an array of the elements of the box `from`, dense
 * and row-major, to one of those of `to`. Both contain the box. Elements that follow one another in both are
 * copied together. */
void rt_box_copy(const ir_box *box, size_t bytes, const ir_box *from, const void *source, const ir_box *to,
                 void *target);

#endif
