/* The folder passes. The compiler: pipeline.c is the list of its passes.
 *
 *   in      a graph as recorded, and a target
 *   out     a plan of steps; each kernel step has a KERNEL with explicit loops
 *   holds   a pass rewrites nodes and keeps values bit for bit, or within the error bounds that
 *           docs/decisions.md gives; the verifier accepts the output of each pass */

/* The interface of the compiler between recording and code generation: graph -> plan of kernels. */
#ifndef VIEWFOLD_PASSES_PASSES_H
#define VIEWFOLD_PASSES_PASSES_H

#include "ir/mesh/link.h"
#include "ir/plan.h"
#include "ir/target.h"
#include "ir/timer.h"

/* What several folders decide by. */
enum {
  /* terms that are added up one after the other, and unrolled: one rounding each is what the first run of a
   * blocked sum makes as well (passes/loops/reduce.c) */
  PASS_FEW_TERMS = 32,
  PASS_HALF_VECTOR = 8, /* elements of f32 in half of 64 bytes, the widest vectors: shorter rows lose lanes */
  /* bits of an index beside the element in one integer order of 64 bits (sorting, argmax): the other 32 are
   * the element's. Longer axes are refused by sort, and take two passes in argmax */
  PASS_INDEX_BITS = 32,
  /* rows for which packing copies columns that are not contiguous (passes/pack/pack.c) */
  PASS_REUSE_GATHERED = 8,
  /* times a multiplication: columns that are not contiguous, each of which takes a load of its own */
  PASS_GATHERED_COST = 4,
  /* multiplications for each element of a copy that changes which elements are neighbours: it interleaves
   * registers and reads lines in another order than they have in memory */
  PASS_TRANSPOSE_COST = 20,
  /* operands of one join: joins of more than twice as many become trees, each inner join of which is stored,
   * so that a kernel's masks and sub-domains are bounded */
  PASS_MAX_JOINED = 32,
  /* bytes of an iteration of a fused row group: half of an L2 cache of 1 MiB, so that the next iteration's
   * rows have room beside them. The same on all machines: which sums are computed together decides the order
   * of additions */
  PASS_GROUP_BYTES = 512 << 10
};

/* Called after each step with its output. Steps over the graph: root is a TUPLE of tensors, kernel is -1.
 * Steps over kernels: root is the kernel of the plan's step number `kernel`. */
typedef void (*pass_observer)(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel);

/* Which kernels are compared with alternatives (passes/alternatives), and which of these are taken. */
typedef enum pass_compared {
  PASS_COMPARED_BY_COST, /* slow ones; what is predicted to be faster */
  PASS_COMPARED_NEVER,   /* none */
  PASS_COMPARED_ALWAYS   /* all; the fastest that leaves the order of additions as it is, for tests */
} pass_compared;

/* How the loops of a kernel add up or multiply floats: `terms` says of which reductions, by dtype, operation
 * and extents, and `order` in what order these take their terms. 0: in one that cannot be told. */
typedef struct pass_sum_order {
  uint64_t terms, order;
} pass_sum_order;

/* Schedule moves that the caller supplies in place of those of the cost model, and callbacks that report the
 * moves chosen for each nest, as text (passes/loops/moves.c). `kernel` counts kernel steps, `nest` the nests
 * of one kernel in the order in which they are shaped. Each function may be NULL. */
typedef struct pass_shaping {
  void *user;
  void (*enter)(void *user, uint32_t kernel, const ir_graph *g,
                ir_ref effect);                                     /* before shaping: the kernel's effect */
  const char *(*given)(void *user, uint32_t kernel, uint32_t nest); /* NULL: the cost model chooses */
  void (*chosen)(void *user, uint32_t kernel, uint32_t nest, const char *moves);
  void (*neighbour)(void *user, uint32_t kernel, uint32_t nest,
                    const char *moves); /* each neighbour of the chosen moves (passes/loops/neighbours.c) */
  void (*refused)(void *user, uint32_t kernel,
                  ir_error *error); /* no loops can be made of the moves, or the verifier rejects them; may
                                       add to the message */
  void (*ordered)(void *user, pass_sum_order order); /* each reduction of floats but minima and maxima */
  uint32_t kernel;                                   /* number of the kernel to shape next */
  pass_compared compared;
} pass_shaping;

/* An input that the caller may have changed in its memory, and the result that is to be there afterwards. A
 * run gets one address for both. */
typedef struct pass_reference {
  uint32_t input, result; /* numbers in pass_options.inputs and among the results */
} pass_reference;

typedef struct pass_options {
  const ir_target *target;
  const ir_ref *inputs; /* nodes that get the first slots, in this order, used or not */
  size_t input_count;
  const pass_reference *references;
  size_t reference_count;
  pass_observer observer; /* may be NULL */
  void *user;
  bool verify;           /* run the verifier after every step */
  pass_shaping *shaping; /* or NULL */
  const ir_timer *timer; /* may be NULL */
  ir_link link;          /* of exchanges, which say when they are waited for; all 0: not known */
} pass_options;

/* A step that changes the program. Steps that follow one another may be of one pass; the last of these has
 * the pass's name, so that `dump --print-after=PASS` shows all that the pass does. */
enum {
  PASS_ON_GRAPH = 1,  /* bit: it takes the graph */
  PASS_ON_KERNEL = 2, /* bit: it takes one kernel */
  PASS_OF_PLAN = 4    /* bit, with one of these: it makes or reads the plan, of which there is no text */
};
enum {
  PASS_CPU = 1, /* bit: for lanes of vectors */
  PASS_GPU = 2, /* bit: for lanes that are work-items of a group */
  PASS_BOTH = PASS_CPU | PASS_GPU
};
struct pass_state;
typedef struct pass_info {
  const char *name, *pass;
  void (*run)(struct pass_state *);
  int scope, level; /* on what it runs; the verifier's level for what it leaves */
  int machines;     /* those for which it runs; on others it changes nothing */
  const char *needs, *establishes;
  const char *reruns; /* the pass that it runs again, as often as it takes; or NULL */
} pass_info;
extern const pass_info pass_table[];
extern const size_t pass_count;

/* Compile the results (a TUPLE of tensors) down to a plan whose kernel steps hold KERNEL nodes of g. */
ir_status pass_pipeline(ir_graph *g, ir_ref results, const pass_options *options, ir_plan *plan,
                        ir_error *error);

/* Runs one row of the table on what is there before it: on a TUPLE of tensors; or on the effect of a kernel,
 * the parameters of which are slots of the same numbers. A row that makes or reads the plan takes the graph,
 * for which the rows of the plan before it run first, and goes over all kernels of the plan. The observer is
 * called with what the row leaves; that is the root itself for machines that the row is not for, and where it
 * changes the plan alone. Free the plan, which is empty for other rows, in any case. */
ir_status pass_alone(ir_graph *g, const pass_info *row, const pass_options *options, ir_ref root,
                     ir_plan *plan, ir_error *error);

#endif
