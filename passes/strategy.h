/* Two kinds of machine, two strategies. The lanes of a processor are lanes of a vector, and what is read
 * again lies in its caches; the lanes of a GPU are work-items of a group, and what is read again lies in the
 * group's local memory. Each choice of the passes that depends on which of them the target is, is a field of
 * this table. Passes ask the field, never for the kind of machine.
 *
 * The tables are in passes/loops/cpu/strategy.c and passes/loops/gpu/strategy.c. strategy.c picks one when
 * the pipeline starts, which hands it on.
 *
 * Functions are never NULL unless a field says so, and may look at all of the target's description. Numbers
 * are the same for all targets of one strategy: many of them decide the order of additions. */
#ifndef VIEWFOLD_PASSES_STRATEGY_H
#define VIEWFOLD_PASSES_STRATEGY_H

#include "ir/ir.h"
#include "ir/target.h"

struct loop_nest;  /* passes/loops/loops.h */
struct loop_level; /* passes/loops/loops.h */
struct loop_place; /* passes/loops/loops.h */

/* Stands for every number that is too large to matter: iterations, or bytes that nothing limits. */
#define PASS_FAR_TOO_MANY ((int64_t)1 << 40)
/* Product of two such numbers, saturated there. */
static inline int64_t pass_times(int64_t a, int64_t b) {
  return a >= PASS_FAR_TOO_MANY || b >= PASS_FAR_TOO_MANY || (b && a > PASS_FAR_TOO_MANY / b)
             ? PASS_FAR_TOO_MANY
             : a * b;
}

/* The elements behind one index along the axis, in row-major order, of a size that varies at most;
 * saturating. */
static inline int64_t pass_axis_step(ir_graph *g, ir_ref x, uint32_t axis) {
  int64_t step = 1;
  for (uint32_t i = axis + 1; i < ir_rank(g, x); i++)
    step = pass_times(step, ir_bounds_of(g, ir_dim(g, x, i)).hi);
  return step;
}

/* How much parallel work is wanted of a reduction in two steps: for a few threads, or for very many
 * work-items. */
typedef struct pass_chunk_sizes {
  int64_t enough_grains;      /* units of work that need no chunks */
  int64_t max_chunks;         /* most chunks */
  int64_t min_chunk;          /* fewest elements of a chunk */
  int64_t min_terms;          /* fewest terms of one result in a chunk */
  int64_t contiguous_results; /* contiguous results that one grain computes */
  bool in_sequence;           /* is what no cache holds read in sequence, runs of terms before others? */
} pass_chunk_sizes;

/* Kernels that join no fused row group: a set of bits. */
enum {
  PASS_MASKED_KERNELS = 1,     /* with masks and without reductions */
  PASS_CONTRACTION_KERNELS = 2 /* with a sum of products */
};

/* Rows in an iteration where neighbours in memory are different rows. */
enum {
  PASS_NEIGHBOUR_ROWS = 64,    /* four vectors of f32 */
  PASS_MIN_NEIGHBOUR_ROWS = 16 /* the same where these do not fit: a vector, or a cache line, of f32 */
};

/* A fused row group whose rows are to be chosen. A row is what is computed, or read, at one index of every
 * shared loop; an iteration of the group computes several consecutive ones of the innermost shared loop.
 * Bytes and elements are at most PASS_FAR_TOO_MANY. */
typedef struct pass_rows {
  bool varies;        /* rows are of one variable number of elements, as far as they are stored */
  int64_t shortest;   /* elements of the longest value in a row at the least sizes */
  int64_t bytes;      /* of one row: of all locals and reads */
  int64_t locals;     /* bytes of one row of all locals */
  int64_t longest;    /* elements of the longest value in a row */
  int64_t contracted; /* elements in a row of the contraction with the fewest */
  int64_t reread;     /* bytes that every iteration of the innermost shared loop reads again */
  int64_t iterations; /* of all shared loops together, of one row each */
  int64_t extent;     /* of the innermost shared loop */
  int64_t room;       /* bytes that all locals may take together */
  bool neighbours;    /* neighbours in memory are different rows */
  bool tiled;         /* there are contractions */
} pass_rows;

/* What the panels of a contraction's columns depend on. */
typedef struct pass_product {
  ir_dtype dtype;
  int64_t terms; /* 0: not known */
  int64_t rows, columns;
  int64_t window; /* terms of the innermost range, along which the rows are a sliding window: neighbouring
                     rows share all but one element of it; 0: they are none */
} pass_product;

typedef struct pass_strategy {
  int steps; /* PASS_CPU or PASS_GPU: the steps of the pipeline (passes/passes.h) that are for it */

  /* Lowering and packing: what is computed first, and copied into another order. */

  /* of a long reduction in two steps (passes/lower/split_reduction.c) */
  pass_chunk_sizes chunks;
  /* Bytes that rows processed together may take, where a view lays them across the lanes: longer ones are
   * stored in another order (passes/lower/materialize.c). 0: rows never are. */
  int64_t transposed_rows_bytes;
  /* Columns in a panel of a packed operand: those of a tile, or of the vectors that hold them all. NULL:
   * operands of contractions are never packed (passes/pack/pack.c). */
  int64_t (*panel_columns)(const ir_target *target, const pass_product *product);

  /* Fusion: which kernels share loops over rows, and how many rows an iteration has (passes/fuse). */

  /* Has each of the elementary functions that are computed from one another a loop of its own, over a few
   * rows at a time (passes/fuse/chains.c)? They share the registers of a processor. */
  bool separates_functions;
  unsigned never_fused; /* PASS_MASKED_KERNELS, PASS_CONTRACTION_KERNELS: they join no group */
  /* Bytes that the locals of a kernel may take where the target sets no limit (ir_target.local_bytes). */
  int64_t unlimited_locals;
  /* Sets *rows, those of an iteration, and *bytes, what a further member must not push out of the L1 cache
   * during one (0: nothing has to stay there). False where no number of rows is worth a group, or fits. */
  bool (*choose_rows)(const ir_target *target, const pass_rows *of, int64_t *rows, int64_t *bytes);
  /* Where rows vary: sets *rows to the most that an iteration has of short ones, and returns the elements
   * that it has then. 0: it always has as many rows. NULL: of no group. */
  int64_t (*choose_elements)(const pass_rows *of, int64_t *rows);
  /* Rows of an iteration of a group that goes over the keys of long rows in blocks, of->bytes being those of
   * a block; 0: they do not fit. NULL: what is not kept of a long row is read again, and there are no such
   * groups. */
  int64_t (*choose_block_rows)(const pass_rows *of);
  /* Bytes of all locals up to which rows of a group are transposed for products, instead of weights copied
   * (passes/fuse/transposed_product.c); 0: never. */
  int64_t transposed_locals_bytes;

  /* Loops: lanes, tiles, and what is outside of them (passes/loops). */

  /* Are sub-domains split off where masks depend on the innermost axis (pass_crop)? Where lanes run along it,
   * a mask that is tested leaves the loop as it is, and one that is split off gives several, of fewer lanes.
   */
  bool crops_innermost;
  /* Does a copy that transposes load whole vectors, and exchange their elements in registers? It is several
   * times the code of one that gathers. */
  bool transposes_vectors;
  /* Sets lanes and unroll factors of the axes of n->store, their order, lane_axis and lanes_in_reduction.
   * Tiles of products are decided here, in product_tile.c of each strategy. */
  void (*choose_lanes)(struct loop_nest *n);
  /* Binds the outermost levels to threads, or to groups of work-items. inside: the work at one iteration
   * point of all axes. */
  void (*bind_outermost)(struct loop_nest *n, int64_t inside);
  /* Lanes along the terms of a reduction of elements of so many bytes, where there are enough terms. On
   * processors it is a number of bytes, not of the machine: it decides the order of additions. */
  int (*lanes_of_terms)(const struct loop_nest *n, int bytes);
  /* Are prefixes of a few terms combined in steps that double, all lanes at once (passes/loops/prefix.c), or
   * is each its terms in sequence? It decides the order of additions. */
  bool combines_prefixes;
  /* Bytes of locals that a kernel needs for exchanges between its lanes. */
  int64_t (*exchange_bytes)(const ir_target *target);
  /* Terms of a sum that an iteration adds one after the other where its accumulators exceed the registers:
   * each is then loaded and stored once for all of them. */
  int64_t spilled_terms;
  /* Terms of the innermost loop of a sum up to which they are written out inside the loop around it; 0: they
   * never are. */
  int64_t inner_terms;
  /* body, with what comes later along the range, which goes over memory once, fetched into a cache. */
  ir_ref (*read_ahead)(const struct loop_nest *n, ir_ref body, ir_ref range);
  /* The value of a REDUCE, a product, whose operands are staged in locals; 0: they are read where they are.
   * at: by axis, the indices of the place's lanes. Effects before the lane loops go to p->before. */
  ir_ref (*stage_product)(struct loop_place *p, ir_ref reduce, const ir_ref *at);

  /* Remainders: what fills no whole step of a level (passes/loops/emit_nest.c). */

  /* Does the level split `elements` elements of its axis into whole steps only, of which the last begins
   * further back and stores elements twice? */
  bool (*overlaps_last)(const struct loop_nest *n, const struct loop_level *level, int64_t elements);
  /* May two blocks overlap so? Both store the same bits to the same place: of threads of a processor that is
   * a data race, of groups of work-items OpenCL leaves the value undefined in theory alone. */
  bool overlaps_blocks;
  /* May loops over axes with an order stand around the loop over blocks (passes/loops/blocks.c)? Each thread
   * then runs them over its own blocks. */
  bool orders_around_blocks;
  /* Unrolled steps of level d, the last of which begins further back, for the `left` elements from `start`
   * on; 0: the remainder is placed apart. */
  ir_ref (*shift_last)(struct loop_place *p, uint32_t d, ir_ref start, ir_ref left);
  /* The vector level d for a number of elements that is not constant. */
  ir_ref (*place_uncounted)(struct loop_place *p, uint32_t d, ir_ref start, ir_ref left);
  /* Can lanes of a vector store nothing, where elements have so many bytes (passes/loops/partial.c)? NULL:
   * they never do, and steps over a number of elements that is not constant are whole. */
  bool (*masks_stores)(const ir_target *target, int bytes);
  /* Lanes of the next loop over so many elements, a constant number of at least one that fills no whole
   * vector. */
  int64_t (*lanes_of_remainder)(int64_t elements);

  /* Schedules: what a search may try, and moves may ask for (passes/loops/moves.c, neighbours.c). */

  struct {
    uint32_t max_vector_levels; /* of one store; lanes along the terms of its reductions count as one */
    int64_t max_lanes;          /* of one vector level */
    /* of all vector levels of a store together */
    int64_t (*max_lanes_together)(const ir_target *target);
    /* Adjacent elements of a lane that a search tries at most: an unrolled level inside the vector level; 0:
     * no level may be inside one. */
    int64_t max_contiguous;
  } moves;
} pass_strategy;

extern const pass_strategy pass_on_cpu, pass_on_gpu;

/* strategy.c: the one that goes with the target's lanes; never NULL. */
const pass_strategy *pass_strategy_of(const ir_target *target);

#endif
