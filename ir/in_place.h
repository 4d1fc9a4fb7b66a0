/* Which parameters of a kernel may share the memory that it stores to. */
#ifndef VIEWFOLD_IR_IN_PLACE_H
#define VIEWFOLD_IR_IN_PLACE_H

#include "ir/ir.h"

/* Bit s of *set stands for p<s>, s from 1 to 31. It is set if one buffer may serve as p0 and p<s>:
 *   - the kernel stores to p0 and to locals alone, and to each element of p0 at most once;
 *   - an element of p0 is computed from the same element of p<s> at most, or from locals;
 *   - a local is computed from those elements of p<s> at most whose counterparts in p0 the same iteration of
 *     the loop around all stores writes later;
 *   - elements of p0 and p<s> have one size. The caller checks that there are equally many.
 * The machine code must keep loads of p<s> before stores to p0. Where iterations of vector loops are
 * work-items (`items`), nothing orders a load of one before a store of another, so loads for locals clear the
 * bit. It is clear wherever the above cannot be shown. Fails when memory is short. */
ir_status ir_in_place(ir_graph *graph, ir_ref kernel, bool items, uint32_t *set, ir_error *error);

#endif
