/* The folder passes/loops/gpu. Loop nests for devices whose lanes are work-items of a group.
 *
 *   in      a nest, or stores that become several
 *   out     levels bound to groups and work-items, and tiles staged in locals (shared memory)
 *   holds   the locals of a kernel fit in the memory that the target has for them */

/* strategy.c is the table of what is chosen for GPUs; product_tile.c alone decides the tile of a product. */
#ifndef VIEWFOLD_PASSES_LOOPS_GPU_GPU_H
#define VIEWFOLD_PASSES_LOOPS_GPU_GPU_H

#include "passes/loops/loops.h"

/* group.c: how many work-items form a group, and what each of them computes */
void loop_choose_group(loop_nest *n);
int loop_group_size(const loop_nest *n); /* work-items of a group, where there is enough to do */
/* Bytes of locals that work-items may need to exchange values. */
int64_t loop_exchange_bytes(const ir_target *target);
/* Binds the outermost levels to axes of groups, whatever the work inside. */
void loop_bind_groups(loop_nest *n, int64_t inside);
/* a * b, at most about LOOP_MAX_WORK: a number of groups */
static inline int64_t loop_saturated(int64_t a, int64_t b) {
  return b > 0 && a > LOOP_MAX_WORK / b ? LOOP_MAX_WORK : a * b;
}

/* remainder.c: fields of pass_strategy. loop_place_narrowing: groups of a quarter of the lanes as often as
 * they fit, then of a quarter of that, and so on. */
bool loop_groups_overlap_last(const loop_nest *n, const loop_level *level, int64_t elements);
ir_ref loop_shift_last(loop_place *p, uint32_t d, ir_ref start, ir_ref left);
ir_ref loop_place_narrowing(loop_place *p, uint32_t d, ir_ref start, ir_ref left);

/* group_rows.c: a field of pass_strategy */
bool loop_choose_group_rows(const ir_target *target, const pass_rows *of, int64_t *rows, int64_t *bytes);

/* product_tile.c: sets lanes, unroll factors and contiguous elements of the axes of a product's rows and
 * columns. batch: products of the store. */
void loop_choose_product_tile(loop_nest *n, ir_ref reduce, loop_axis *row, loop_axis *column, int64_t batch);
/* Has each work-item the sums that the matrix instruction gives it? */
bool loop_is_matrix_tile(const loop_nest *n, const loop_axis *row, const loop_axis *column);
/* What a K block depends on: all terms; rows and columns of the tile, and the work-items that copy them;
 * bytes of one term in both locals, and what there is for all of them. */
typedef struct loop_k_room {
  int64_t all, width[2], items, bytes_each, bytes;
} loop_k_room;
enum { LOOP_MIN_K_TERMS = 8 }; /* of a K block: a sector of 32 bytes of f32 */
/* Terms of a K block; less than LOOP_MIN_K_TERMS where there is no room. *ahead: there is room for double
 * buffering. */
int64_t loop_choose_k_block(const loop_k_room *r, bool *ahead);

/* matrix.c: products by matrix instructions. A tile of K blocks is staged in locals. */
enum {
  MATRIX_TERMS = 32, /* of a K block: two instructions; of twice as many, sums would need 147 for the bound */
  /* of a sum: from 75 on the error is within the bound (matrix.c); smaller products than four K blocks go by
   * multiply-adds */
  MATRIX_MIN_TERMS = 128
};
/* The local of one operand's side of the tile: `width` rows or columns of MATRIX_TERMS terms. transposed: a
 * line holds the rows or columns of one term; else the terms of one row or column. The pitch is the number of
 * elements from one line to the next; loop_matrix_elements counts all. */
int64_t loop_matrix_pitch(int64_t width, bool transposed);
int64_t loop_matrix_elements(int64_t width, bool transposed);
/* Which unit of a line, of `units` in each, unrolled copy number `copy` of a work-item stages in the local,
 * and which line that is. terms: a line holds the terms of one row or column. */
ir_ref loop_matrix_unit(ir_graph *g, ir_ref copy, ir_ref item, int items, int64_t units, bool terms,
                        ir_ref *line);
/* The f16 or bf16 value that an f32 is a cast of; 0: it is none. */
ir_ref loop_narrow(const ir_graph *g, ir_ref value);
/* Can the target's matrix instructions compute the REDUCE, a sum of at least MATRIX_MIN_TERMS products? */
bool loop_suits_matrix(const loop_nest *n, ir_ref reduce);

/* Steps of the pipeline. They take the effect of a kernel and return it changed, or as it is; 0 on failure.
 */
/* separate.c: each store has ranges of its own, and so groups in which all work-items have something to do.
 * Stores that update, or that pass on values in locals, stay together. */
ir_ref loop_separate_stores(ir_graph *g, ir_ref effect);
/* shared_memory.c: a store that transposes what it reads becomes several stores in one loop over tiles, which
 * are staged in locals. */
ir_ref loop_stage_tiles(ir_graph *g, ir_ref effect, const ir_target *target);

/* cross_lane_reduction.c: a store that reduces short rows, or few columns, becomes two in one loop over
 * groups: several work-items compute each result. */
ir_ref loop_reduce_across_items(ir_graph *g, ir_ref effect, const ir_target *target);
/* staged_product.c: the value of a REDUCE of n->store, a product, for a group of work-items, each at its own
 * indices `at`, by axis: operands are staged in locals. 0 where that is not possible. */
ir_ref loop_staged_product(loop_place *p, ir_ref reduce, const ir_ref *at);

#endif
