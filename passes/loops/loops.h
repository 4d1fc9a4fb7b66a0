/* The folder passes/loops. Loop nests.
 *
 *   in      STOREs over free ranges, and a target
 *   out     a KERNEL: loops in order, each serial, unrolled, in vector lanes or over threads
 *   holds   the order in which floats are combined depends on extents, not on threads or widths of vectors */

/* The parts of choosing loops: which axes a kernel iterates over (passes/domain/refine.c, axes.c) and in
 * which pieces (passes/domain/peel.c), which axis is the innermost (innermost.c), which one gets the lanes
 * (lanes.c), how the axes are cut into digits and in which order these stand (levels.c), the loops over them
 * (emit_nest.c), how reductions become loops (reduce.c), and the blocks for threads around all of it
 * (loops.c).
 *
 * Digits. An axis is cut like a number: its outer digits go in steps of several elements, its last one in
 * single elements. The list of digits of all axes, outermost first, is the order of a store's loops; each has
 * a binding. Several digits may be vectors where lanes are work-items: they are one range of these, whose
 * lowest digit is the last of them. What fills no whole step is placed again, with the digits further in. */
#ifndef VIEWFOLD_PASSES_LOOPS_LOOPS_H
#define VIEWFOLD_PASSES_LOOPS_LOOPS_H

#include "passes/index/affine.h"
#include "passes/passes.h"

/* loops.c: STORE, or a SEQ of them, becomes KERNEL with an explicit loop order. shaping may be NULL. */
ir_ref pass_loops(ir_graph *g, ir_ref store, const ir_target *target, const pass_shaping *shaping);

/* index_width.c: an expression of the KERNEL's variables that has a value, evaluated with overflow noticed,
 * only where all of its index arithmetic fits in 64 bits; a number where bounds show that it does. 0 after
 * failing: for want of memory, or where it fits for no values of the variables. */
ir_ref pass_index_magnitude(ir_graph *g, ir_ref kernel);

enum { MAX_NEST = 24 };   /* ranges of one kernel's output or of one reduction after splitting */
enum { MAX_LEVELS = 96 }; /* of all axes of a store */
enum { MAX_FOUND_RANGES = 128 };

/* One output axis, and the steps that its lanes make: unroll * lanes elements, from element `head` on. Of an
 * axis with a block the steps of one block stand inside the steps of all other axes. */
typedef struct loop_axis {
  ir_ref range, extent;
  int unroll, lanes;
  int contiguous_elements; /* so many of a work-item's copies lie side by side; 0: none do */
  int head, block;
  bool overlaps; /* elements may be done twice */
} loop_axis;

/* A loop over part of an axis in steps of so many elements. */
typedef struct loop_level {
  uint32_t axis;
  int64_t step;
  int binding; /* IR_SERIAL, IR_THREAD, IR_UNROLL, IR_VECTOR (the last digit of its axis) */
} loop_level;

/* Of the kernel at hand. */
typedef struct loop_locals {
  uint32_t count; /* the next one's number */
  int64_t bytes;  /* of all of them, and kept for others */
} loop_locals;

typedef struct loop_nest {
  ir_graph *g;
  const ir_target *target;
  const pass_shaping *shaping;
  ir_ref store;
  loop_axis axes[MAX_NEST]; /* outermost first */
  uint32_t axis_count;
  uint32_t order[MAX_NEST];      /* the axes as the cost model nests them, outermost first */
  uint32_t lane_axis;            /* the axis whose lanes are neighbours, where several axes have some */
  loop_level levels[MAX_LEVELS]; /* outermost first; those of an axis by falling steps, the last one 1 */
  uint32_t level_count;
  const ir_ref *bound; /* ranges that loops around the nest bind already: no axes of it */
  uint32_t bound_count;
  const ir_ref *lanes; /* ranges that loops of lanes around the store at hand bind */
  uint32_t lane_count;
  bool shares;             /* several stores are inside these loops */
  bool has_locals;         /* some of which keep values for others */
  bool lanes_in_reduction; /* vector lanes run along a reduced axis */
  int64_t next_range;      /* fresh range numbers */
  uint32_t *nests;         /* how many nests of the kernel have been shaped */
  loop_locals *locals;
  int items; /* so many work-items at most are in the group; 0: as many as the target has */
} loop_nest;

/* axes.c */
bool loop_find_axes(loop_nest *n);  /* the ranges of the store, by number; false when there are too many */
void loop_merge_axes(loop_nest *n); /* neighbours that all accesses walk as one become one */
bool loop_merge_pair(loop_nest *n, uint32_t axis); /* axis and the one inside it, whatever it costs */
void loop_merge_reduced(loop_nest *n);             /* the same for the ranges of each reduction */
/* The ranges of each reduction by falling steps in what it reads, where all loads agree. */
void loop_order_reduced(loop_nest *n);
bool loop_bounds_another(loop_nest *n, uint32_t axis); /* does the size of some axis depend on this one? */
bool loop_is_ordered(loop_nest *n,
                     uint32_t axis); /* may effects along it meet, so that they stay in order? */
/* How much the indices below root divide: divisions first, then their numbers of values, then conditions
 * whose faces have to be rounded. */
int64_t loop_division_cost(ir_graph *g, ir_ref root);

/* Is e = c*range + rest 0 between positions of the range, for some positions of other ranges? */
bool loop_rounds(ir_graph *g, ir_ref e, ir_ref range);

/* axes.c: a kernel in pieces, each a store over ranges, the outer ones of which neighbours may share */
enum { MAX_STORES = 64 };
typedef struct loop_stores {
  uint32_t count;
  ir_ref store[MAX_STORES];
  int64_t next_range;
} loop_stores;
bool loop_read_stores(ir_graph *g, ir_ref effect, loop_stores *out); /* a STORE, or a SEQ of them */
bool loop_separate(ir_graph *g, loop_stores *stores);                /* each gets ranges of its own */
ir_ref loop_sequence(ir_graph *g, const ir_ref *effects, uint32_t count);

/* innermost.c: which axis is the innermost */
/* What is left to decide: conditions on positions, and quotients of the innermost axis. */
uint32_t loop_left_inside(ir_graph *g, ir_ref store);
/* In each store another axis becomes the innermost: the one between whose positions fewest conditions and
 * quotients change, the next one with choice 1, and so on. *turned: in some store it is none yet. False on
 * failure. */
bool loop_interchange(ir_graph *g, loop_stores *stores, uint32_t choice, bool *transposed);

/* lanes.c: sets the axes' unroll and lanes, and their order */
void loop_choose_lanes(loop_nest *n);
/* How well lanes along range, in blocks of so many, suit the loads below root: contiguous good, uniform fair,
 * gathered bad. */
int loop_lane_score(loop_nest *n, ir_ref root, ir_ref range, int64_t block);

/* A sum of products, fused or not, or of two at a time: it is worth a register tile. */
bool loop_multiplies(const ir_graph *g, ir_ref reduce);

/* unroll.c: of stores without reductions */
enum { LOOP_MOST_REPEATED = 16 }; /* copies, after which quotients of lanes repeat */
/* The axis for the lanes where the innermost axis of the output, `last`, is short and read apart, but that
 * other one is read side by side: copies along `last` then alternate in memory. NULL where there is none. */
loop_axis *loop_alternating(loop_nest *n, loop_axis *last, int lanes);
void loop_choose_unroll(loop_nest *n, loop_axis *vector); /* which has its lanes */
bool loop_is_repeatable(loop_nest *n);                    /* may elements be stored twice? */

/* masked_reduction.c: value where that is so, else the other one, and then no load below reads anything; none
 * of these says where another one reads. */
ir_ref loop_only_where(ir_graph *g, ir_ref value, ir_ref inside, ir_ref other);

/* register_tile.c: the register tile of a contraction whose lanes run along `vector`, and the order of the
 * loops around it; false where no axis reads anything again. */
bool loop_choose_tile(loop_nest *n, loop_axis *vector, ir_ref reduce);
/* The axis of the rows where the columns are `vector`; NULL: nothing is read again. */
loop_axis *loop_row_axis(loop_nest *n, const loop_axis *vector, ir_ref reduce);
/* Columns that panels hold side by side on every machine: theirs are multiples of these. The order of sums
 * depends on how columns lie in memory, and not on the machine. */
int64_t loop_panel_step(const loop_nest *n, ir_ref reduce);
/* Coefficient of range in an index inside every block of so many positions of it. */
bool loop_lane_stride(loop_nest *n, ir_ref index, ir_ref range, int64_t block, int64_t *stride);

/* levels.c: the digits that follow from the axes' lanes. `threads`: the outermost ones are blocks for
 * threads; `inside` is the work at one position of all axes. */
void loop_choose_levels(loop_nest *n, bool threads, int64_t inside);
bool loop_may_thread(loop_nest *n, uint32_t axis); /* may positions be made apart, in any order? */
/* Elements and terms of reductions at one position of the axes before `axis`; LOOP_MUCH at most. */
enum { LOOP_MUCH = 1 << 20 };
int64_t loop_work_inside(loop_nest *n, uint32_t axis);

/* moves.c: the digits as text, `split a0 6; split a1 16; reorder a1.0 a0.0 a0.1 a1.1; unroll a0.1;
 * vector a1.1`, and the digits that a text gives (false after failing: IR_ERR_INVALID names the move). */
enum { LOOP_MAX_LANES = 64 }; /* and copies; work-items may be as many as the target has lanes */
#define LOOP_MAX_STEP INT32_MAX
void loop_moves_print(const loop_nest *n, ir_text *out);
bool loop_moves_apply(loop_nest *n, uint32_t nest, const char *text);
/* Calls one of the functions of n->shaping with that text, where there is memory for it. */
void loop_moves_tell(const loop_nest *n,
                     void (*tell)(void *user, uint32_t kernel, uint32_t nest, const char *moves),
                     uint32_t nest);
/* Why no loops can be made of the digits; NULL: they can. */
const char *loop_moves_unsound(loop_nest *n);

/* neighbours.c: tells n->shaping of the moves that differ in one thing from those of n. threads: blocks for
 * threads may be among them. */
void loop_neighbours(const loop_nest *n, uint32_t nest, bool threads);

/* emit_nest.c: the loops over the digits from `first` on. Where the digits before it stand is given: for
 * each of their axes the first element and the number of elements, 0 for axes that are whole. `body` makes
 * what stands inside all loops. */
typedef struct loop_place {
  loop_nest *n;
  ir_ref start[MAX_NEST], left[MAX_NEST];
  ir_ref (*body)(struct loop_place *p);
  void *user;
  ir_ref lanes[MAX_LEVELS]; /* ranges that are lanes, and how */
  int bindings[MAX_LEVELS];
  uint32_t lane_count;
  bool is_tile; /* only lanes are left: of each axis this is what all of them cover together */
  ir_ref tile_start[MAX_NEST], tile_left[MAX_NEST];
  ir_ref before[2]; /* what stands before the store's lanes; 0: nothing */
} loop_place;
ir_ref loop_place_from(loop_place *p, uint32_t first);
/* Of so many elements of the digit's axis: is what fills no whole step done by one that begins further back,
 * and does elements again? Two threads may then store the same bits to the same place. */
bool loop_overlaps_last(const loop_nest *n, const loop_level *level, int64_t elements);
ir_ref loop_store_body(loop_place *p); /* n->store in its lanes, reductions as loops */

/* reduce.c: does a REDUCE over few positions choose its terms by comparing these with the other range?
 * Written out, the choices are constants in lanes along that. */
bool loop_is_triangle(ir_graph *g, ir_ref reduce, ir_ref other);
/* loops.c: the loops over a store to a local inside those of n and those over the ranges `bound`, for so many
 * work-items. */
ir_ref loop_inside_group(loop_nest *n, ir_ref store, const ir_ref *bound, uint32_t count, int items);
/* reduce.c: so_far and the product of the factors, which are instead of those of the term */
ir_ref loop_add_product(loop_nest *n, ir_ref term, const ir_ref *factors, ir_ref so_far);
/* reduce.c: every REDUCE below root becomes loops with carried values. */
ir_ref loop_reductions(loop_nest *n, ir_ref root);

/* jam.c: reductions among the effects, which run one after the other, share loops. False on failure.
 */
bool loop_jam(ir_graph *g, ir_ref *effects, uint32_t count);

/* extremum.c: argmax and argmin: the first of equals wins, and the first NaN. */
typedef struct loop_extremum {
  ir_ref value, at; /* the best element; its position, i32 where that is known to hold it, else i64 */
} loop_extremum;
enum { LOOP_SEARCHES = 8 };
/* The best of `count` values over the range, one round after another, each searched for itself; of no range
 * (0), of the values themselves. */
loop_extremum loop_search(loop_nest *n, ir_op op, const ir_ref *value, const ir_ref *index, uint32_t count,
                          ir_ref range);
/* The better of two, in whatever order their positions are. */
loop_extremum loop_better(ir_graph *g, ir_op op, loop_extremum a, loop_extremum b);
/* Elements and positions fit together in one order. */
bool loop_has_order(ir_graph *g, ir_ref value, ir_ref index);
/* An i64, the less the better: the order of the element in its high half, the position in its low one. */
ir_ref loop_extremum_order(ir_graph *g, ir_op op, const loop_extremum *best);
ir_ref loop_ordered_index(ir_graph *g, ir_ref order);

/* float_key.c: a float as an unsigned integer, in the order of max (op MAX) or min: -0 before +0, NaN the
 * best. Of f16 and bf16 that of the f32. The float that a key stands for, NaN being any. */
ir_ref loop_key(ir_graph *g, ir_op op, ir_ref x);
ir_ref loop_key_value(ir_graph *g, ir_op op, ir_ref key, ir_dtype t);

/* Updates stay in one piece, over the axes that folding gave them: pieces run one after the other, or by
 * different threads. */
static inline bool loop_is_update(const ir_graph *g, ir_ref effect) {
  return ir_op_of(g, effect) == IR_OP_UPDATE;
}
ir_ref loop_fresh_range(loop_nest *n, ir_ref extent);
static inline ir_ref loop_wrap(ir_graph *g, ir_ref range, int binding, ir_ref effect) {
  return ir_make(g, IR_OP_LOOP, IR_NONE, ir_pack_arg(0, binding), (ir_ref[]){range, effect}, 2);
}

#endif
