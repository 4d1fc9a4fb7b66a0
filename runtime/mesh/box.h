/* The folder runtime/mesh. Devices that run one program together.
 *
 *   in      for each device the part of an array that it has, and the box of it that it needs
 *   out     the elements, where they are needed
 *   holds   nobody sends what the other one has already */

/* Boxes of indices of an array. */
#ifndef VIEWFOLD_RUNTIME_MESH_BOX_H
#define VIEWFOLD_RUNTIME_MESH_BOX_H

#include "ir/ir.h"

/* Along axis k the indices first[k] to first[k] + size[k] - 1. Sizes are >= 0; a box of rank 0 has one index.
 */
typedef struct rt_box {
  uint32_t rank;
  int64_t first[IR_MAX_RANK], size[IR_MAX_RANK];
} rt_box;

/* Has it no index? */
bool rt_box_is_empty(const rt_box *box);
/* The number of indices; INT64_MAX where it is more. */
int64_t rt_box_count(const rt_box *box);
/* *out: the indices that both have. False where there are none. Boxes of one rank. */
bool rt_box_meet(const rt_box *a, const rt_box *b, rt_box *out);
/* Divides the indices of a that b does not have among at most 2 * rank boxes, none empty; returns their
 * number. */
uint32_t rt_box_subtract(const rt_box *a, const rt_box *b, rt_box out[2 * IR_MAX_RANK]);
/* Copies the elements of `box`, of `bytes` bytes each, from an array that has those of the box `from`, dense
 * and row-major, to one that has those of `to`. Both contain the box. Runs of elements that are contiguous in
 * both are copied as a whole. */
void rt_box_copy(const rt_box *box, size_t bytes, const rt_box *from, const void *source, const rt_box *to,
                 void *target);

#endif
