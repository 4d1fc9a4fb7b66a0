/* The folder passes/loops/cpu. Loop nests for processors, whose lanes are those of a vector.
 *
 *   in      a nest, or loads and stores inside loops
 *   out     its vector axis, unroll factors and register tile, levels bound to threads; some loads with
 *           prefetches, some accesses non-temporal (bypassing the caches)
 *   holds   no value changes */

/* strategy.c is the table of what is chosen for processors; product_tile.c alone decides the tile of a
 * product. */
#ifndef VIEWFOLD_PASSES_LOOPS_CPU_CPU_H
#define VIEWFOLD_PASSES_LOOPS_CPU_CPU_H

#include "passes/loops/loops.h"

/* lanes.c: which axis gets the vector lanes, what is unrolled with it, and the order of the axes */
void loop_choose_vectors(loop_nest *n);

/* unroll.c: stores without reductions */
/* The axis for the lanes, of at least `lanes` elements, where the innermost axis of the output, `last`, is
 * short, and not read contiguously, but another axis is; or fills no more than half of the lanes. `last` is
 * then unrolled, and its unrolled values are interleaved in memory. NULL where there is no such axis. */
loop_axis *loop_alternating(loop_nest *n, loop_axis *last, int lanes);
void loop_choose_unroll(loop_nest *n, loop_axis *vector); /* vector: the axis that has lanes */

/* reading_order.c: of a copy whose rows, along the lanes, are short pieces of a large parameter, orders the
 * loops as that is read. */
void loop_read_in_order(loop_nest *n, const loop_axis *vector);
/* The same of a reduction whose terms are such pieces, and have the lanes. */
void loop_reduce_in_order(loop_nest *n, ir_ref reduce);

/* columns.c: reductions that read their terms once, with the lanes along the columns of the result. */
/* As many adjacent vectors as make long contiguous accesses, with the accumulators in registers. */
void loop_choose_columns(loop_nest *n, loop_axis *vector, uint32_t reduce_count, bool is_index_reduction);
/* More columns together, where computing takes less time than memory does: all that registers hold, the last
 * vector overlapping, so that rows are read once. Of more, and of rows of a large parameter, those of a page,
 * since hardware prefetchers fetch on to its end, and what they fetch should be used before it is evicted.
 * These sums are in the L1 cache, each for as many terms as rows are read together, and the rows that are
 * read next are prefetched: for 8192 rows of 8192 f32 on Sapphire Rapids 24 ms with the sums in
 * registers, 20.6 with a row at a time, 16.9 with eight, 15.9 with prefetches. A vector times 4096 x 4096 f32
 * takes 2.0 ms in place of 4.7 with 256 sums in registers, times 3335 x 3768 1.8 in place of 3.3 (Zen 4, as
 * what follows). Blocks for threads are rather fewer than so narrow: with two in place of four 9408 x 1600
 * takes 2.1 ms in place of 4.3 on one thread, 1.4 in place of 3.0 on two; with one, 15000 x 1024 1.7 in place
 * of 4.1 and 2.4. */
void loop_widen_columns(loop_nest *n, loop_axis *vector, ir_ref reduce);
/* The same of products of a few rows and columns that no cache holds: as many sums of all rows as columns are
 * read in long pieces, more than there are registers. Says whether it has. On Zen 4 with 32 MiB of L3, one
 * thread, rows x terms x columns of f32: 16 x 4096 x 2048 takes 5.1 ms in place of 6.2 in tiles of 4 rows by
 * 4 vectors, 12 x 777 x 7777 3.5 in place of 5.7 in tiles of 12 by 2, 4 x 2048 x 4096 2.8 in place of 3.2;
 * i32 8 x 4096 x 4096 7.6 in place of 9.4. What that cache holds takes longer: 16 x 1300 x 2000 1.3 times, 4
 * x 2200 x 2000 2.3. So do up to 8 rows where rows of columns are no multiple of a page apart: 5 x 10000 x
 * 600 3.9 in place of 2.3; but of at least a page, of what no cache of 24 MiB holds, 4 x 534 x 138880 takes
 * 24 in place of 37, 3 x 5000 x 5000 8.1 in place of 9.3. */
bool loop_stream_rows(loop_nest *n, loop_axis *vector, loop_axis *row, ir_ref reduce);

/* The same of so few terms that all rows of columns are read together, each a page or more from the next: a
 * vector of columns at a time, whose lines further on are prefetched, as there are too many rows for hardware
 * prefetchers to follow. Says whether it does. On Zen 4, one thread, 7 x 40 x 148702 f32 takes 1.8 ms in
 * place of 4.8, 12 x 100 x 50000 1.5 in place of 3.7, 3 x 300 x 25000 2.1 in place of 2.9, 13 x 24 x
 * 110464 1.9 in place of 2.4, 24 x 60 x 100000 3.4 in place of 7.2. */
bool loop_follow_rows(loop_nest *n, loop_axis *vector, const loop_axis *row, ir_ref reduce);

/* stage_columns.c: has the columns of a tile staged (passes/loops/staged_columns.c), where their number is a
 * variable and rows enough read them again. */
void loop_stage_columns(loop_nest *n, const loop_axis *vector, const loop_axis *row, ir_ref reduce,
                        const ir_ref *loads, uint32_t count);

/* product_tile.c: chooses the register tile of a contraction whose lanes run along `vector`, and the order of
 * the loops around it; false where no axis reuses a load. */
bool loop_choose_tile(loop_nest *n, loop_axis *vector, ir_ref reduce);
/* Terms of an innermost loop up to which a tile has them written out (pass_strategy.inner_terms): windows of
 * 3 to 7. Those of 3 x 3 x 256 terms take 1.0 ms in place of 1.19 in tiles of 7 rows. */
enum { LOOP_INNER_TERMS = 8 };
/* Columns in a panel of a packed operand: those of a tile, or of the vectors that hold them all. */
int64_t loop_panel_columns(const ir_target *target, const pass_product *product);
/* A number of columns that divides the width of packed panels on every machine. The order of sums may depend
 * on how columns lie in memory, and must not depend on the machine. */
int64_t loop_panel_multiple(const loop_nest *n, ir_ref reduce);

/* tile_epilogue.c: the store of a tile of sums, in which what the epilogue reads and stores to is prefetched.
 * terms: loads of the reduction. 0 on failure. */
ir_ref loop_prefetch_epilogue(loop_nest *n, const loop_axis *vector, const loop_axis *row, ir_ref reduce,
                              ir_ref store, const ir_ref *terms, uint32_t count);

/* window.c */
enum { LOOP_WINDOW_ROWS = 4 /* rows that share what a window loads: of a window of 3, 6 loads for 12 */ };
/* An axis besides that of the lanes along which neighbours read the same elements: a reduced range moves over
 * these as well. NULL: there is none. */
loop_axis *loop_window_axis(loop_nest *n, const loop_axis *vector, ir_ref reduce, const ir_ref *loads,
                            uint32_t count);
/* For a reduction of a few terms without a tile, whose lanes are chosen: unrolls such an axis in place of the
 * lanes', and lets vectors overlap where that makes fewer of them. */
void loop_choose_window(loop_nest *n, loop_axis *vector, ir_ref reduce);
/* Gives the axis, which is shorter than the widest vectors, a vector that holds it, whose other lanes store
 * nothing, where two would overlap, or narrower ones be added: 8 lanes for rows of 7, 16 for those of 14. Of
 * the value, or the terms, of so many bytes. */
void loop_mask_short(loop_nest *n, loop_axis *vector, ir_ref value, int bytes);

/* dot_tile.c: chooses which results of a product whose lanes run along the terms are computed together, and
 * the order of the loops over them; false where no two share a load. */
bool loop_choose_dot_tile(loop_nest *n, ir_ref reduce);

/* threads.c: binds the outermost levels to thread blocks, each of at least about MIN_BLOCK_WORK elements'
 * work: as many axes as make MAX_BLOCKS blocks, and of the last one as many steps together as are worth a
 * block. inside: the work at one iteration point of all axes. */
void loop_bind_threads(loop_nest *n, int64_t inside);

/* A last step that overlaps repeats at most one element in so many of its axis: more work, against narrower
 * vectors for the remainder. Half and twice as many change no workload's loops. */
enum { LOOP_OVERLAP_SHARE = 4 };
/* remainder.c: fields of pass_strategy */
bool loop_vectors_overlap_last(const loop_nest *n, const loop_level *level, int64_t elements);
ir_ref loop_place_single(loop_place *p, uint32_t d, ir_ref start, ir_ref left);
int64_t loop_power_below(int64_t elements); /* the greatest power of two up to a number of at least 1 */

/* cache_rows.c: fields of pass_strategy */
bool loop_choose_cache_rows(const ir_target *target, const pass_rows *of, int64_t *rows, int64_t *bytes);
int64_t loop_choose_row_elements(const pass_rows *of, int64_t *rows);
int64_t loop_choose_block_rows(const pass_rows *of);

/* prefetch.c: the effect of a fused row group with loads that prefetch rows further on; another one as it is;
 * 0 on failure. */
ir_ref loop_prefetch_rows(ir_graph *g, ir_ref effect, const ir_target *target);
/* Does the load read a parameter in sequence along the range, one too large for the L2 cache? */
bool loop_is_swept(const loop_nest *n, ir_ref range, ir_ref load);
/* body, with loads that prefetch what comes 2 KiB later along the range, which goes over memory once; 8 KiB
 * later where rows are searched. 0 on failure. */
ir_ref loop_sweep_ahead(const loop_nest *n, ir_ref body, ir_ref range);
ir_ref loop_search_ahead(const loop_nest *n, ir_ref body, ir_ref range);

/* The load, with a prefetch of the element that is `elements` further on; stream: IR_STREAM for a
 * non-temporal prefetch, else IR_NO_STREAM. */
ir_ref loop_load_ahead(ir_graph *g, ir_ref load, int64_t elements, int64_t stream);

/* nontemporal.c: the effect with some stores marked as non-temporal, and non-temporal prefetches added to
 * some loads; 0 on failure */
ir_ref loop_stream(ir_graph *g, ir_ref effect, const ir_target *target);

#endif
