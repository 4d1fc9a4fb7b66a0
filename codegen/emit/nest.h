/* The folder codegen/emit. What all code generators share.
 *
 *   in      a KERNEL
 *   out     the order in which its values are emitted, and how indices change along loops and lanes
 *   holds   nothing here knows LLVM or OpenCL C */

/* A kernel prepared for emission: its loops; for each node, the loops that it depends on and the lanes that
 * it has; sums of indices reordered so that each partial sum can be computed in the outermost loop where its
 * terms are known.
 *
 * Loops that run (bound serial or thread) are dependences: a node can be computed once every such loop that
 * it depends on is open. Loops whose iterations are lanes (bound unroll or vector) extend a value: a node has
 * one unrolled value per combination of its unroll lanes, and each of these is a vector if the node has
 * vector lanes. The index of a lane is a constant, so a node waits for no loop of lanes to open. */
#ifndef VIEWFOLD_CODEGEN_EMIT_NEST_H
#define VIEWFOLD_CODEGEN_EMIT_NEST_H

#include "codegen/emit/blocks.h"

/* Lanes of one loop, the most work-items that a group may have (ir_target.group_items); a loop of more is
 * refused. */
enum { CG_MAX_LANES = 1024 };

/* IR_STREAM_MOST bypasses the caches for three quarters of the memory: for all blocks of 128 KiB but those
 * whose address has neither of these two bits, every fourth one. A block is many pages, so that stores of
 * either kind form long streams, and a small part of the outputs that are stored so. */
enum { CG_CACHED_BLOCK_BITS = 3 << 17 };

typedef struct cg_loop {
  ir_ref node, range; /* LOOP, RANGE */
  int binding;
  uint32_t carries;
  ir_ref effect;         /* done in each iteration, before its next values; 0: none */
  uint64_t locals;       /* set of locals, by number, of which each iteration has its own */
  uint32_t depth;        /* nesting depth, from 1 */
  int64_t extent;        /* number of lanes; 0 for loops that run */
  uint64_t *carry_lanes; /* by carry: lane loops of the carried value; of a lane loop: of its result */
  ir_ref *carry;         /* by carry: its CARRY node, 0 where nothing reads it */
} cg_loop;

typedef struct cg_nest {
  const ir_mem *mem;
  ir_graph graph; /* the kernel rewritten: sums and products of indices have two operands */
  ir_ref kernel;
  cg_loop *loops;
  uint32_t loop_count;
  uint32_t words;              /* in one set of loops */
  uint32_t *loop_of;           /* by ref of RANGE, CARRY, LOOP or GET: loop number + 1, or 0 */
  uint64_t *deps;              /* by ref: set of the running loops that it depends on */
  uint64_t *lanes;             /* by ref: set of the lane loops along which its values differ */
  uint32_t *width;             /* by ref: vector lanes, 1 for a scalar */
  bool *reads_memory_or_fails; /* by ref: computing it reads memory or may report an error */
  bool *freeze;                /* by ref of an index: an inner loop adds to it */
  bool *stored;    /* by ref of PARAM: a STORE or UPDATE writes it, or may, since it may share p0's memory */
  uint64_t *reads; /* by ref: set of the locals, by number, that computing it reads */
  uint32_t count;  /* refs are below this one */
  uint32_t in_place; /* parameters that may share p0's memory, by slot: see ir/in_place.h */
  cg_uses uses;      /* what iterations of the threads' loop store and load */
  uint64_t scratch;  /* bytes of scratch memory that a call needs; OpenCL: of local memory, per group */
} cg_nest;

/* Analyses `kernel`; nest->graph is a rewritten copy. items: vector lanes are work-items. Fails with
 * IR_ERR_INTERNAL where the kernel breaks a rule of the loop level. */
ir_status cg_nest_make(cg_nest *nest, const ir_graph *graph, ir_ref kernel, bool items, ir_error *error);
void cg_nest_free(cg_nest *nest);

/* sums.c: makes nest's graph and kernel from g's, whose loops `old` describes. */
ir_status cg_nest_rewrite(cg_nest *nest, const cg_nest *old, const ir_graph *g, ir_ref kernel,
                          ir_error *error);

/* Operations that depend on no loop, and whose operands emitters never visit. */
static inline bool cg_is_leaf(ir_op op) { return op == IR_OP_CONST || op == IR_OP_VAR || op == IR_OP_PARAM; }

/* Is the loop of that number in the set, of which bit i % 64 of word i / 64 stands for loop i? */
static inline bool cg_set_has(const uint64_t *set, uint32_t loop) { return set[loop / 64] >> loop % 64 & 1; }
/* Of a node of nest->graph: the set of the lane loops along which its values differ, and that of the running
 * loops that it depends on. The nest owns them. */
static inline const uint64_t *cg_lanes(const cg_nest *nest, ir_ref ref) {
  return nest->lanes + (size_t)ref * nest->words;
}
static inline const uint64_t *cg_deps(const cg_nest *nest, ir_ref ref) {
  return nest->deps + (size_t)ref * nest->words;
}
/* The number of the LOCAL that a load, store or update accesses; -1 where it accesses a PARAM. */
static inline int64_t cg_local_of(const ir_graph *g, ir_ref access) {
  const ir_node *n = ir_get(g, ir_src(g, access, 0));
  return n->op == IR_OP_LOCAL ? ir_arg_int(n) : -1;
}
static inline bool cg_is_lane(const cg_loop *loop) {
  return loop->binding == IR_UNROLL || loop->binding == IR_VECTOR;
}

/* The first loop after `loop` in a set, or -1; start with loop -1. */
int64_t cg_set_next(const cg_nest *nest, const uint64_t *set, int64_t loop);

/* The following functions are in query.c where no other file is named.
 *
 * How an index changes along the vector lanes. affine: it is base + stride * lane. Otherwise it is base +
 * lane_term, where lane_term is any index; to split off the base keeps lane_term small, so that fewer bits
 * hold it. The base is the same for all lanes; 0 (no ref) where it is zero. Where lane_term is lane * factor
 * * times with a factor that is known only when the kernel runs, `factor` is that, the same for all vector
 * lanes and unrolled values; else 0. */
typedef struct cg_access {
  bool affine;
  ir_ref base, lane_term, factor;
  int64_t stride, times;
} cg_access;
cg_access cg_access_of(const cg_nest *nest, ir_ref index);

/* How much an index grows with each iteration of a loop. False where that is not a constant. */
bool cg_stride(const cg_nest *nest, ir_ref index, uint32_t loop, int64_t *stride);
/* The same where the index grows up to a constant and no further, as that of vectors of which the last one
 * overlaps the one before. */
bool cg_clamped_stride(const cg_nest *nest, ir_ref index, uint32_t loop, int64_t *stride);
/* What a comparison of indices is for the current values of unrolled loops, lane[loop], and all values of
 * the others: 1 true, 0 false, -1 not decided by their bounds. */
int cg_decided(cg_nest *nest, const int64_t *lane, ir_ref compare);
/* Is every term of the sum `index`, apart from `but` (0: no exception), a multiple of `of`? False where that
 * is not evident. */
bool cg_is_multiple(const ir_graph *g, ir_ref index, ir_ref but, int64_t of);

/* tile.c. How the unrolled values of a load lie in memory along the unrolled loop `loop`: groups of `count`,
 * a power of two, are contiguous, first to last or, if `falling`, last to first. False where none are, or
 * where the vector lanes are contiguous as well or at most small_step elements apart. `masked`: some lanes
 * may not be loaded, for all these unrolled values alike, and are 0 then; other conditions have no tile. */
typedef struct cg_tile {
  uint32_t loop, count;
  bool falling, masked;
} cg_tile;
bool cg_tile_of(const cg_nest *nest, ir_ref load, int vector_bytes, int64_t small_step, cg_tile *out);

/* An unrolled loop of at most `most` iterations whose values fill the gaps between the lanes of a store: lane
 * i of value k goes to element count*i + k, where count is the loop's extent. -1 where there is none. */
int64_t cg_alternating_loop(const cg_nest *nest, ir_ref store, int64_t most);

/* Are all unrolled vectors of a store aligned to vector_bytes if the first one is? Along `alternating` (-1:
 * no loop) they follow one another. `bytes` are those of an element. False where a distance is not known. */
bool cg_aligned_together(const cg_nest *nest, ir_ref store, int64_t alternating, int64_t bytes,
                         int64_t vector_bytes);

/* Is one of these vectors surely not aligned where the first one is? */
bool cg_never_aligned_together(const cg_nest *nest, ir_ref store, int64_t alternating, int64_t bytes,
                               int64_t vector_bytes);

/* Calls visit for each operand that must have a value before ref can be computed. If `inside`, that includes
 * what the body of a loop that runs needs, and the first value of a RARE, which otherwise is needed only
 * behind its branch. */
void cg_operands(const cg_nest *nest, ir_ref ref, bool inside, void (*visit)(void *user, ir_ref operand),
                 void *user);

/* The body of a lane loop's carried value OP(CARRY, body); 0 where the value does not have this form. */
ir_ref cg_lane_body(const cg_nest *nest, const cg_loop *loop, uint32_t slot);

/* Are all values of an index within int32? And those of a node's operands that are indices? */
bool cg_fits_32_bits(ir_graph *g, ir_ref index);
bool cg_operands_fit_32_bits(ir_graph *g, ir_ref ref);

#endif
