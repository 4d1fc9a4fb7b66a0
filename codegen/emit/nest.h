/* The folder codegen/emit. What all code generators share.
 *
 *   in      a KERNEL
 *   out     the order in which its values are emitted, and how accesses move along loops and lanes
 *   holds   nothing here knows LLVM or OpenCL C */

/* A kernel made ready for emission: its loops, which node depends on which of them, and address sums put in
 * an order that lets every part be computed in the outermost loop where it is known.
 *
 * Loops that run (serial, thread) are dependences: a node can be computed once every loop it depends on is
 * open. Loops whose iterations are lanes (unroll, vector) are extensions of a value: a node has one value per
 * combination of its unroll lanes, each a vector if it has a vector lane. Lanes are constants, so they hold
 * nothing back. */
#ifndef VIEWFOLD_CODEGEN_EMIT_NEST_H
#define VIEWFOLD_CODEGEN_EMIT_NEST_H

#include "ir/ir.h"

enum { CG_MAX_LANES = 1024 }; /* of one range */

typedef struct cg_loop {
  ir_ref node, range; /* LOOP, RANGE */
  int binding;
  uint32_t carries;
  ir_ref effect;         /* of each round, before its next values; 0: none */
  uint64_t locals;       /* set of those, by number, that belong to one round */
  uint32_t depth;        /* nesting depth, from 1 */
  int64_t extent;        /* of lanes; 0 for loops that run */
  uint64_t *carry_lanes; /* by carry: lanes of the carried value; for lane loops, those of the result */
  ir_ref *carry;         /* by carry: its CARRY node, 0 where nothing reads it */
} cg_loop;

typedef struct cg_nest {
  const ir_mem *mem;
  ir_graph graph; /* the kernel rewritten: sums and products of indices have two operands */
  ir_ref kernel;
  cg_loop *loops;
  uint32_t loop_count;
  uint32_t words;    /* of one set of loops */
  uint32_t *loop_of; /* by ref of RANGE, CARRY, LOOP or GET: loop number + 1, or 0 */
  uint64_t *deps;    /* by ref: set of loops that run */
  uint64_t *lanes;   /* by ref: set of loops that are lanes */
  uint32_t *width;   /* by ref: lanes of its vector, 1 for a scalar */
  bool *touches;     /* by ref: computing it reads memory or may report an error */
  bool *anchor;      /* by ref of an index: a loop further in adds to it */
  bool *stored;      /* by ref of PARAM: some STORE writes it, or may, where it lies in the same memory */
  uint64_t *reads;   /* by ref: set of the locals, by number, that computing it reads */
  uint32_t count;    /* refs below this one */
  uint32_t in_place; /* parameters that may lie where p0 does: see ir/in_place.h */
  uint64_t scratch;  /* bytes of memory of its own that a call needs: its locals, one behind the other */
} cg_nest;

/* items: iterations of vector loops are work-items */
ir_status cg_nest_make(cg_nest *nest, const ir_graph *graph, ir_ref kernel, bool items, ir_error *error);
void cg_nest_free(cg_nest *nest);

/* sums.c: makes nest's graph and kernel from g's, whose loops `old` describes. */
ir_status cg_nest_rewrite(cg_nest *nest, const cg_nest *old, const ir_graph *g, ir_ref kernel,
                          ir_error *error);

/* Has it a value before all loops, and no operands that emitters ask for? */
static inline bool cg_is_leaf(ir_op op) { return op == IR_OP_CONST || op == IR_OP_VAR || op == IR_OP_PARAM; }

static inline bool cg_set_has(const uint64_t *set, uint32_t loop) { return set[loop / 64] >> loop % 64 & 1; }
static inline const uint64_t *cg_lanes(const cg_nest *nest, ir_ref ref) {
  return nest->lanes + (size_t)ref * nest->words;
}
static inline const uint64_t *cg_deps(const cg_nest *nest, ir_ref ref) {
  return nest->deps + (size_t)ref * nest->words;
}
/* The number of a load's or store's LOCAL; -1 of a PARAM. */
static inline int64_t cg_local_of(const ir_graph *g, ir_ref access) {
  const ir_node *n = ir_get(g, ir_src(g, access, 0));
  return n->op == IR_OP_LOCAL ? ir_arg_int(n) : -1;
}
static inline bool cg_is_lane(const cg_loop *loop) {
  return loop->binding == IR_UNROLL || loop->binding == IR_VECTOR;
}

/* The loop after `loop` (from -1) in a set, or -1. */
int64_t cg_set_next(const cg_nest *nest, const uint64_t *set, int64_t loop);

/* query.c, and what follows unless it says otherwise.
 *
 * How an index moves along the vector lane: base + stride * lane, or else base + part. The base is the same
 * for all lanes, 0 where it is zero; what it takes away, the part need not hold. Where the part is a multiple
 * of the lane that is known when the kernel runs, `factor` is what is multiplied with, the same for all lanes
 * and copies. */
typedef struct cg_access {
  bool affine;
  ir_ref base, lane_term, factor;
  int64_t stride;
} cg_access;
cg_access cg_access_of(const cg_nest *nest, ir_ref index);

/* How much an index grows with each iteration of a loop; false where that is no constant. */
bool cg_stride(const cg_nest *nest, ir_ref index, uint32_t loop, int64_t *stride);
/* Is all that is added up in an index a multiple of this, apart from `but`? */
bool cg_is_multiple(const ir_graph *g, ir_ref index, ir_ref but, int64_t of);

/* tile.c. How copies of a load lie along the unrolled loop `loop`: `count` of them, a power of two, side
 * by side, first to last or, if `falling`, last to first. False where they do not, or the lanes lie side by
 * side too, or at most small_step apart. */
typedef struct cg_tile {
  uint32_t loop, count;
  bool falling;
} cg_tile;
bool cg_tile_of(const cg_nest *nest, ir_ref load, int vector_bytes, int64_t small_step, cg_tile *out);

/* A loop of at most so many unrolled copies whose elements alternate with those of the lanes, or -1. */
int64_t cg_alternating_loop(const cg_nest *nest, ir_ref store, int64_t most);

/* What must have values before ref can be computed. Calls visit for each. When `inside`, what the body of a
 * loop that runs needs is included, and the first value of a RARE. */
void cg_operands(const cg_nest *nest, ir_ref ref, bool inside, void (*visit)(void *user, ir_ref operand),
                 void *user);

/* A lane loop's carried value is OP(CARRY, body): the body. */
ir_ref cg_lane_body(const cg_nest *nest, const cg_loop *loop, uint32_t slot);

#endif
