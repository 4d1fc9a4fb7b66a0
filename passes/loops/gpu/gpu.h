/* The folder passes/loops/gpu. Loops of devices whose lanes are work-items of a group.
 *
 *   in      a nest, or stores that become several
 *   out     levels bound to groups and work-items, and tiles in shared memory
 *   holds   what a group shares fits in the memory that the target has for it */

/* Loops for devices whose lanes are work-items of a group: how many work together, what each of them
 * computes, and what goes through memory that a group shares. */
#ifndef VIEWFOLD_PASSES_LOOPS_GPU_GPU_H
#define VIEWFOLD_PASSES_LOOPS_GPU_GPU_H

#include "passes/loops/loops.h"

/* group.c: the same where lanes are work-items of a group */
void loop_choose_group(loop_nest *n);
int loop_group_size(const loop_nest *n); /* so many work-items work together where there is enough to do */
/* Bytes of locals that work-items may need to hand each other values; 0 where lanes are none. */
int64_t loop_exchange_bytes(const ir_target *target);
/* The outermost digits become groups. */
void loop_bind_groups(loop_nest *n);

/* matrix.c: products by matrix instructions. The f16 or bf16 value that an f32 is a cast of; 0: it is
 * none. */
enum { MATRIX_TERMS = 32, MATRIX_FEWEST_TERMS = 128 }; /* of a slab; of a sum */
/* Elements of a side of the tile in its local: `turned`, rows or columns lie side by side, one term after the
 * other; else the terms of one row or column do. From one such line to the next; of all of them. */
int64_t loop_matrix_pitch(int64_t width, bool turned);
int64_t loop_matrix_elements(int64_t width, bool turned);
/* Which unit, of so many in each line, a copy of a work-item's takes into a local, and of which line.
 * `terms`: a line is the terms of a row or column. */
ir_ref loop_matrix_unit(ir_graph *g, ir_ref copy, ir_ref item, int items, int64_t units, bool terms,
                        ir_ref *line);
ir_ref loop_narrow(const ir_graph *g, ir_ref value);
bool loop_suits_matrix(const loop_nest *n, ir_ref reduce);
/* Sets lanes and copies of both; false, and nothing else than `overlaps` set, where it has no such tile. */
bool loop_choose_matrix(loop_nest *n, ir_ref reduce, loop_axis *row, loop_axis *column, int64_t batch);
/* Has each work-item the sums there that the instruction gives it? */
bool loop_is_matrix_tile(const loop_nest *n, const loop_axis *row, const loop_axis *column);

/* shared_memory.c: for groups of work-items, a store that turns what it reads becomes several that share
 * tiles, which go through locals. False on failure. */
bool loop_stage_tiles(ir_graph *g, const ir_target *target, loop_stores *stores);

/* cross_lane_reduction.c: likewise a store that reduces short rows, or few columns: several work-items share
 * each. */
bool loop_reduce_across_items(ir_graph *g, const ir_target *target, loop_stores *stores);
/* staged_product.c: the value of a REDUCE of n->store, a product, for a group of work-items, each at that
 * position of the axes: operands go through locals. 0 where that is not possible. */
ir_ref loop_staged_product(loop_place *p, ir_ref reduce, const ir_ref *at);

#endif
