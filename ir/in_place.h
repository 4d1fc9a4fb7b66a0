/* Which parameters of a kernel may lie in the memory that it stores to. */
#ifndef VIEWFOLD_IR_IN_PLACE_H
#define VIEWFOLD_IR_IN_PLACE_H

#include "ir/ir.h"

/* Bit s stands for p<s>, s from 1 to 31. It is set where the kernel stores to p0 alone and to locals, each
 * element of p0 once at most, and computes each from that element of p<s> at most, or from locals; and those
 * from elements of p<s> that lie where the same round of the loop around all stores then stores to p0. It
 * does the same when both are one buffer, if the machine code keeps loads of p<s> before stores to p0. Where
 * iterations of vector loops are work-items, nothing keeps a load of one of them before a store of another:
 * there nothing is shown of loads for locals. Clear where that cannot be shown. Both have elements of one
 * size; whether there are equally many of them is for the caller to see. */
ir_status ir_in_place(ir_graph *graph, ir_ref kernel, bool items, uint32_t *set, ir_error *error);

#endif
