/* The folder passes/loops. Loop nests.
 *
 *   in      STOREs over free ranges, and a target
 *   out     a KERNEL: loops in order, each serial, unrolled, in vector lanes or over threads
 *   holds   the order in which floats are combined depends on extents, not on threads or vector widths */

/* How the loops of a kernel are chosen: the axes that it iterates over (passes/domain/refine.c, axes.c), the
 * sub-domains that these are split into (passes/domain/peel.c), the innermost axis (innermost.c), the axis of
 * the lanes with the unroll factors and tiles (cpu/ and gpu/), and the levels of the axes with their order
 * (levels.c). From these come the loop nest of a store (emit_nest.c), the loops of its reductions (reduce.c),
 * and the loop over thread blocks around all nests (loops.c).
 *
 * Lanes are those of a vector on a processor, and work-items of a group on a GPU. What is chosen differently
 * for the two is in passes/strategy.h.
 *
 * Levels. An axis is split into loops as a number is split into digits: its outer levels go in steps of
 * several elements, its last one in single elements. The list of the levels of all axes, outermost first, is
 * the loop order of a store; each level has a binding. Where lanes are work-items, several levels may be
 * bound to IR_VECTOR: they form one range of work-items, and the last of these levels varies fastest. The
 * remainder that fills no whole step of a level gets loops of its own, over the levels further in. */
#ifndef VIEWFOLD_PASSES_LOOPS_LOOPS_H
#define VIEWFOLD_PASSES_LOOPS_LOOPS_H

#include "passes/index/affine.h"
#include "passes/passes.h"
#include "passes/strategy.h"

/* loops.c: STORE, or a SEQ of them, becomes KERNEL with an explicit loop order. shaping may be NULL. */
ir_ref pass_loops(ir_graph *g, ir_ref store, const ir_target *target, const pass_strategy *strategy,
                  const pass_shaping *shaping);

/* index_width.c: an expression of the KERNEL's variables. Evaluating it with overflow checks succeeds only
 * where all of the kernel's index arithmetic fits in 64 bits; it is a constant where bounds prove that this
 * always fits. 0 on failure: out of memory, or the arithmetic fits for no values of the variables. */
ir_ref pass_index_magnitude(ir_graph *g, ir_ref kernel);

/* Capacities. What the workloads (frontend/workloads) need at most is said in brackets. */
enum {
  /* ranges of one kernel's output, or of one reduction, after splitting: those of IR_MAX_RANK axes and eight
   * splits [4]. Axes are split no further; a kernel that has more from the start is refused */
  MAX_NEST = 24,
  /* levels of all axes of a store [8]: four for each of MAX_NEST axes, of which the cost model gives all but
   * the lanes' and the rows' axis one or two; moves from outside that need more are refused */
  MAX_LEVELS = 96,
  /* ranges in one index or of all loops around a store [3]: one for each of MAX_LEVELS and of MAX_NEST */
  MAX_FOUND_RANGES = 128,
  /* nodes of one operation that are looked for below one store [8]. loop_find_axes refuses a kernel of more
   * ranges or reductions; of more loads or quotients those past the limit have no part in a choice */
  LOOP_MAX_NODES = 512,
  /* loads below one value that are looked at one by one [6]: of more, no reduction is masked, jammed, staged
   * or shared among work-items, and those past the limit are not prefetched */
  LOOP_MAX_LOADS = 64,
  /* registers besides those of sums that stay in registers: an element that all share, and what is loaded or
   * computed next. Of more sums each is loaded and stored once for several terms */
  LOOP_SPARE_REGISTERS = 4
};

/* One output axis, and the step of its lanes: unroll * lanes elements, counted from element `head` on. If
 * `block` is not 0, the axis is tiled by blocks of so many elements: the loop over the steps of a block
 * stands inside the loops over all other axes. */
typedef struct loop_axis {
  ir_ref range, extent;
  int unroll, lanes;
  int contiguous_elements; /* contiguous width of a work-item's unrolled elements; 0: they are not adjacent */
  int head, block;
  bool masked;   /* it is shorter than its lanes, of which the others store nothing */
  bool overlaps; /* a step may overlap the one before, and store elements twice */
  /* Of each so many indices the last one stores elements that the one before it stores too; 0: of none. */
  int64_t repeats;
} loop_axis;

/* A loop over a split axis in steps of `step` elements. */
typedef struct loop_level {
  uint32_t axis;
  int64_t step;
  int binding; /* IR_SERIAL, IR_THREAD, IR_UNROLL, IR_VECTOR (the last level of its axis, except around the
                  contiguous elements of a work-item) */
} loop_level;

/* The locals of the kernel being shaped. */
typedef struct loop_locals {
  uint32_t count; /* number of the next local */
  int64_t bytes;  /* of all locals, and reserved for the exchange between work-items */
} loop_locals;

typedef struct loop_nest {
  ir_graph *g;
  const ir_target *target;
  const pass_strategy *strategy; /* the target's */
  const pass_shaping *shaping;
  ir_ref store;
  loop_axis axes[MAX_NEST]; /* outermost first */
  uint32_t axis_count;
  uint32_t order[MAX_NEST];      /* the axes in the loop order of the cost model, outermost first */
  uint32_t lane_axis;            /* of several axes with lanes: the contiguous one */
  loop_level levels[MAX_LEVELS]; /* outermost first; the steps of an axis fall inwards, the last one is 1 */
  uint32_t level_count;
  const ir_ref *bound; /* ranges that loops around the nest bind: they are no axes of it */
  uint32_t bound_count;
  const ir_ref *lanes; /* ranges of the lane loops and unrolled loops around the store being emitted */
  uint32_t lane_count;
  ir_ref vector; /* that of the vector loop among them; 0: there is none */
  ir_ref staged; /* the load that each step of columns, of staged_axis, copies to a local; 0: none does */
  uint32_t staged_axis;
  ir_ref staged_when;      /* the condition on sizes under which it does */
  bool shares;             /* several stores stand inside these loops */
  bool has_locals;         /* some of these stores write locals that others read */
  bool lanes_in_reduction; /* vector lanes run along a reduced axis */
  int64_t next_range;      /* number of the next fresh range */
  uint32_t *nests;         /* how many nests of the kernel have been shaped */
  loop_locals *locals;
  int items; /* most lanes of the store; 0: as many as the strategy chooses */
} loop_nest;

/* Adjacent stores that begin with the same ranges, and a nest over the axes that they share (all axes, of a
 * single store). */
typedef struct loop_group {
  const ir_ref *stores;
  uint32_t count;
  loop_nest nest;
  uint32_t threads; /* number of levels bound to thread blocks */
  ir_ref when;      /* the condition under which it runs, the same for the whole kernel; 0: always */
} loop_group;
/* loops.c: the group of the first store: the stores that follow and share axes with it. */
bool loop_read_group(loop_nest *base, const ir_ref *stores, uint32_t count, loop_group *out);

/* loops.c: the loops of the group's levels from `first` on. */
ir_ref loop_place_group(loop_nest *base, loop_group *group, struct loop_place *p, uint32_t first);
/* blocks.c: the loop over the thread blocks of all groups. */
ir_ref loop_thread_blocks(loop_nest *base, loop_group *groups, uint32_t group_count);

/* repeated.c: sets `repeats` of the axes of n along which indices of the store repeat. */
void loop_find_repeated(loop_nest *n, ir_ref store);

/* axes.c */
bool loop_find_axes(loop_nest *n); /* finds the store's free ranges, by number; false: too many */
/* Collapses adjacent axes where that adds no divisions; otherwise, if not `tiled`, nor values of quotients:
 * panels of packed columns are a quotient of a tile's axis, over which a loop of its own goes. */
void loop_merge_axes(loop_nest *n, bool tiled);
bool loop_merge_pair(loop_nest *n, uint32_t axis); /* collapses it and the next one; false: sizes forbid it */
void loop_merge_reduced(loop_nest *n);             /* loop_merge_axes for the ranges of each reduction */
/* Orders the ranges of each reduction by falling strides in what it reads, where all loads agree. The mode of
 * its arg is then the number of that order among all orders of the ranges, 0 where nothing has changed;
 * LOOP_ANY_ORDER: one that has no number. */
enum { LOOP_ANY_ORDER = 255 };
void loop_order_reduced(loop_nest *n);
bool loop_bounds_another(loop_nest *n, uint32_t axis); /* does the size of some axis depend on this one? */
bool loop_is_ordered(loop_nest *n, uint32_t axis);     /* does the order of updates along it matter? */
/* Does it matter only because elements are read before they are replaced? Lanes along it read before any of
 * them stores, as long as they are innermost. */
bool loop_replaces_in_order(loop_nest *n, uint32_t axis);
/* Cost of the divisions in index arithmetic below root: first the number of quotients and remainders, then
 * how many values these take, then the number of conditions whose breakpoint has to be rounded. */
int64_t loop_division_cost(ir_graph *g, ir_ref root);

/* Let e = c*range + s, with s the terms of other ranges. Can e be 0 between two indices of the range, for
 * some indices of the others? The breakpoint of e >= 0 along the range is then a rounded quotient. */
bool loop_breakpoint_rounds(ir_graph *g, ir_ref e, ir_ref range);

/* axes.c: a kernel as a list of stores over ranges, one for each sub-domain or each member of a fused row
 * group; neighbours may share outer ranges */
/* Stores of one kernel [21]: more than the 72 sub-domains of peeling (passes/domain/peel.h) and the 24
 * members of a fused group (passes/fuse/row_group.h); a kernel of more is refused (IR_ERR_INTERNAL). */
enum { MAX_STORES = 88 };
typedef struct loop_stores {
  uint32_t count;
  ir_ref store[MAX_STORES];
  int64_t next_range; /* above the numbers of all ranges */
} loop_stores;
/* The stores of an effect, a STORE, an UPDATE or a SEQ of them; loop_read_stores sets next_range as well. */
bool loop_list_stores(ir_graph *g, ir_ref effect, loop_stores *out);
bool loop_read_stores(ir_graph *g, ir_ref effect, loop_stores *out);
bool loop_separate(ir_graph *g, loop_stores *stores); /* gives each store ranges of its own */
ir_ref loop_sequence(ir_graph *g, const ir_ref *effects, uint32_t count);

/* versions.c: of a single copy in which the distance of elements is a variable of a few small values, a store
 * for each value, and in `when` the condition that the variable has it. False on failure. */
bool loop_versions(ir_graph *g, const pass_strategy *strategy, loop_stores *stores, ir_ref *when);

/* innermost.c: loop interchange */
/* What remains to be decided inside the innermost loop: the number of conditions on indices, and of quotients
 * that depend on the innermost axis. */
uint32_t loop_conditions_left(ir_graph *g, ir_ref store);
/* Does a condition on indices depend on the innermost axis? */
bool loop_tests_innermost(ir_graph *g, ir_ref store);
/* In each store another axis becomes the innermost: with choice 0 the axis between whose indices fewest
 * conditions and quotients change, with choice 1 the next one, and so on. A store whose axes bound one
 * another stays as it is. *interchanged: some store has a new innermost axis. False on failure. */
bool loop_interchange(ir_graph *g, loop_stores *stores, uint32_t choice, bool *interchanged);

/* accesses.c */
enum {
  /* rows of a whole register tile: times four vectors of columns they leave 8 of 32 registers to what is
   * loaded, times two 4 of 16. An axis of as many is long enough for the rows of any product */
  LOOP_TILE_ROWS = 6,
  /* loads of a term [6 in the workloads]: those past the limit have no part in the choice of rows */
  LOOP_MAX_TERM_LOADS = 256
};
/* Coefficient of range in an index, inside every block of `block` elements of the range; false: it has
 * none. */
bool loop_lane_stride(loop_nest *n, ir_ref index, ir_ref range, int64_t block, int64_t *stride);
/* The elements from each index of the range to the next, a number or an expression, in the index of an
 * access; 0: they differ, or on failure. */
ir_ref loop_distance_along(ir_graph *g, ir_ref index, ir_ref range);
/* How well lanes along range, in blocks of `block` elements, suit the loads below root: contiguous loads
 * count 4, uniform ones 1, all others -4. */
int loop_lane_score(loop_nest *n, ir_ref root, ir_ref range, int64_t block);
/* The same for the terms of a reduction, with `apart` for all others. Loads that are hoisted out of its
 * loops, as that of a bias, do not count. */
int loop_lane_score_of_terms(loop_nest *n, ir_ref reduce, ir_ref range, int64_t block, int apart);
/* Is the reduction a sum of products (MUL, FMA, or DOT2, FMA2 and DOT4 for several at a time), worth a tile?
 */
bool loop_multiplies(const ir_graph *g, ir_ref reduce);
/* Does a load that moves along the range `lane` also move along range? */
bool loop_moves_with(loop_nest *n, const ir_ref *loads, uint32_t count, ir_ref lane, ir_ref range);
/* The axis of the tile's rows where its columns are `vector`; NULL: no load is reused. loop_row_axis_of: for
 * these loads of a term. */
loop_axis *loop_row_axis(loop_nest *n, const loop_axis *vector, ir_ref reduce);
loop_axis *loop_row_axis_of(loop_nest *n, const loop_axis *vector, const ir_ref *loads, uint32_t count);
bool loop_is_repeatable(loop_nest *n); /* may elements be stored twice? */

/* Most vectors after which quotients of indices repeat: so many are unrolled, as many as of a few short rows
 * (MAX_UNROLLED_VECTORS of cpu/unroll.c). Quotients that repeat later are computed. */
enum { LOOP_MAX_REPEATED = 16 };

/* masked_reduction.c: `value` where `inside` holds, else `other`. Where it does not hold, no load below
 * `value` reads memory. No load there may give the index of another one. */
ir_ref loop_masked_value(ir_graph *g, ir_ref value, ir_ref inside, ir_ref other);

/* levels.c: sets the levels that follow from the axes' lanes and unroll factors. `threads`: the outermost
 * levels become thread blocks; `inside`: the work at one iteration point of all axes. */
void loop_choose_levels(loop_nest *n, bool threads, int64_t inside);
/* Where `elements` of the axis fill some blocks of level d, and of one more whole steps of a loop further in:
 * the step of that, so that all blocks can have the same loops, of which the last one does fewer steps; else
 * 0. Only where unrolled code makes bodies long: other loops have constant trip counts. */
int64_t loop_steps_inside(const loop_nest *n, uint32_t d, int64_t elements);
/* The elements in block number `block` then: `step` of them, but in the last of `size`. */
ir_ref loop_left_in_block(ir_graph *g, ir_ref block, int64_t size, int64_t step, int64_t inside);
bool loop_may_thread(loop_nest *n, uint32_t axis); /* independent iterations, counted beforehand */
/* Elements, times terms of reductions, at one iteration point of the axes before `axis`: at most
 * LOOP_MAX_WORK, the product at which counting stops: beyond it no choice depends on how much there is. */
enum { LOOP_MAX_WORK = 1 << 20 };
int64_t loop_work_inside(loop_nest *n, uint32_t axis);
int64_t loop_times(int64_t work, int64_t size); /* work * max(size, 1), at most LOOP_MAX_WORK */

/* moves.c: prints the levels as text, `split a0 6; split a1 16; reorder a1.0 a0.0 a0.1 a1.1; unroll a0.1;
 * vector a1.1`, and sets the levels that a text gives (false on failure: IR_ERR_INVALID names the move). */
/* Most vector lanes, or unroll factor, of a level that moves may ask for: the lanes of the widest vector of
 * bytes. Larger ones are refused. */
enum { LOOP_MAX_LANES = 64 };
/* Most elements of a step that moves may ask for: those of an axis are an int. Larger ones are refused. */
#define LOOP_MAX_STEP INT32_MAX
void loop_moves_print(const loop_nest *n, ir_text *out);
bool loop_moves_apply(loop_nest *n, uint32_t nest, const char *text);
/* Calls `tell`, a function of n->shaping, with the text of n's moves; does nothing when memory is short. */
void loop_moves_tell(const loop_nest *n,
                     void (*tell)(void *user, uint32_t kernel, uint32_t nest, const char *moves),
                     uint32_t nest);
/* Why no loops can be made of the levels; NULL: they can. */
const char *loop_moves_unsound(loop_nest *n);

/* neighbours.c: reports to n->shaping the moves that differ in one decision from those of n. threads: thread
 * blocks may be among them. */
void loop_neighbours(const loop_nest *n, uint32_t nest, bool threads);

/* emit_nest.c: the loops over the levels from `first` on. For each axis, `start` and `left` are the first
 * element and the number of elements that the levels before `first` leave; left is 0 for a whole axis. `body`
 * makes what stands inside all loops. */
typedef struct loop_place {
  loop_nest *n;
  ir_ref start[MAX_NEST], left[MAX_NEST];
  ir_ref part_start[MAX_NEST], part_left[MAX_NEST]; /* the same of a thread's block; 0: no thread level */
  ir_ref (*body)(struct loop_place *p);
  void *user;
  ir_ref lanes[MAX_LEVELS]; /* ranges of the lane and unrolled loops so far */
  int bindings[MAX_LEVELS];
  uint32_t lane_count;
  bool is_tile; /* only lanes and unrolled levels are left: tile_start and tile_left are what they cover */
  ir_ref tile_start[MAX_NEST], tile_left[MAX_NEST];
  ir_ref before[2];     /* effects before the lane loops of the store; 0: none */
  ir_ref end[MAX_NEST]; /* by axis: where it ends, if vector lanes may be past that; 0: none are */
  ir_ref
      begin[MAX_NEST]; /* by axis: where elements begin that this loop stores, if some are before; 0: none */
} loop_place;
ir_ref loop_place_from(loop_place *p, uint32_t first);
/* Places the levels after d, with `left` elements of d's axis from `start` on: once; in a loop of `count`
 * steps; in `count` lanes of `size` elements each, `step` elements apart. */
ir_ref loop_place_inside(loop_place *p, uint32_t d, ir_ref start, ir_ref left);
ir_ref loop_place_steps(loop_place *p, uint32_t d, ir_ref count, ir_ref start, int64_t step);
ir_ref loop_place_lanes(loop_place *p, uint32_t d, int64_t count, ir_ref start, int64_t step, int64_t size,
                        int binding);
ir_ref loop_store_body(loop_place *p); /* n->store inside its lane loops, with reductions as loops */

/* staged_columns.c: the levels from `first` on, behind a copy of the nest's staged load to a local; is this
 * the place for it, outside of all loops over rows alone, where the step of columns is known? */
bool loop_stages_here(const loop_place *p, uint32_t first);
ir_ref loop_place_staged(loop_place *p, uint32_t first);

/* partial.c: places the levels from d on for the `left` elements from `start` on, a number that is no
 * constant, in steps that end with the axis; 0 where that is not possible. loop_masks_lanes: can lanes past
 * the end of the axis load and store nothing? loop_store_inside: `store`, with its accesses masked where
 * lanes may be past an end; at: by axis, its index. */
ir_ref loop_place_partial(loop_place *p, uint32_t d, ir_ref start, ir_ref left);
/* Is the size that is left, which varies, the level's step at most, and placed in the same loops whether it
 * is that or less? Then there are no loops of whole steps. */
bool loop_is_one_step(const loop_nest *n, const loop_level *level, ir_ref left);
/* The columns from which on one step of `most` vectors of a tile is taken, the last of which overlaps: they
 * are more than one vector less and a narrow one hold. */
int64_t loop_least_wide(const loop_nest *n, const loop_axis *axis, int64_t most);
bool loop_masks_lanes(const loop_nest *n, const loop_axis *axis);
int64_t
loop_part_below(int64_t unrolled); /* what is left of so many is done in steps of this, of half of it, ... */
enum {
  LOOP_LEAST_ROWS = 4 /* of a step that may compute one of them twice: a third of the time at most is lost */
};
ir_ref loop_store_inside(const loop_place *p, ir_ref store, const ir_ref *at);

/* reduce.c: does a REDUCE over few terms select them by comparing its range with the range `other` (a
 * triangular mask)? Once it is fully unrolled, the selections are constants in lanes along `other`. */
bool loop_is_triangle(ir_graph *g, ir_ref reduce, ir_ref other);
/* loops.c: the loops of a store to a local, inside those of n and the ranges `bound`, for `items`
 * work-items. */
ir_ref loop_inside_group(loop_nest *n, ir_ref store, const ir_ref *bound, uint32_t count, int items);
/* reduce.c: so_far plus the product of the two factors, which replace those of `term`. */
ir_ref loop_add_product(loop_nest *n, ir_ref term, const ir_ref *factors, ir_ref so_far);
/* reduce.c: every REDUCE below root becomes loops with carried values. */
ir_ref loop_reductions(loop_nest *n, ir_ref root);

/* jam.c: loop jamming: reductions among the effects, which run in sequence, share loops. False on failure. */
bool loop_jam(ir_graph *g, ir_ref *effects, uint32_t count);

/* extremum.c: argmax and argmin: the first of equal elements wins, and the first NaN wins over all. */
typedef struct loop_extremum {
  ir_ref value, at; /* the best element; its index, i32 where bounds prove that it fits, else i64 */
} loop_extremum;
/* Most searches at once, since each waits for its last comparison: with two vectors each, the best elements
 * and their indices, eight fill half of 32 registers. */
enum { LOOP_SEARCHES = 8 };
/* The best of `count` values over all indices of the range: a search for each value, all carried through one
 * loop, and then the best of all. range 0: the best of the values themselves. */
loop_extremum loop_search(loop_nest *n, ir_op op, const ir_ref *value, const ir_ref *index, uint32_t count,
                          ir_ref range);
/* The better of two; either may have the lower index. */
loop_extremum loop_better(ir_graph *g, ir_op op, loop_extremum a, loop_extremum b);
/* Do elements and indices fit together in one integer order? */
bool loop_has_order(ir_graph *g, ir_ref value, ir_ref index);
/* loop_extremum_order: an i64, of which the least is the best, with the element in its high half and the
 * index in its low half. loop_ordered_index: the index in such an order. */
ir_ref loop_extremum_order(ir_graph *g, ir_op op, const loop_extremum *best);
ir_ref loop_ordered_index(ir_graph *g, ir_ref order);

/* An UPDATE is not split into sub-domains, and keeps the axes that folding gave it: its sub-domains would run
 * one after the other, or in different threads. */
static inline bool loop_is_update(const ir_graph *g, ir_ref effect) {
  return ir_op_of(g, effect) == IR_OP_UPDATE;
}
ir_ref loop_fresh_range(loop_nest *n, ir_ref extent);
static inline ir_ref loop_wrap(ir_graph *g, ir_ref range, int binding, ir_ref effect) {
  return ir_make(g, IR_OP_LOOP, IR_NONE, ir_pack_arg(0, binding), (ir_ref[]){range, effect}, 2);
}

#endif
