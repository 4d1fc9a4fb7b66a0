/* The folder passes. The compiler: pipeline.c is the list of its passes.
 *
 *   in      a graph as recorded, and a target
 *   out     a plan of steps; each kernel step has a KERNEL with explicit loops
 *   holds   a pass rewrites nodes and keeps values bit for bit, or within the error bounds that
 *           docs/decisions.md gives; the verifier accepts what each leaves */

/* The compiler between recording and code generation: graph -> plan of kernels. pipeline.c is its table of
 * contents. */
#ifndef VIEWFOLD_PASSES_PASSES_H
#define VIEWFOLD_PASSES_PASSES_H

#include "ir/plan.h"
#include "ir/target.h"
#include "ir/timer.h"

/* Called after each pass with what it left: root is a TUPLE of tensors for passes over the graph (kernel -1),
 * otherwise the kernel of the step of that number. */
typedef void (*pass_observer)(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel);

/* Moves from outside in place of those of the cost model, and news of those that were taken, nest by nest (as
 * text: passes/loops/moves.c). Kernels are counted by kernel steps, nests within a kernel in the order of
 * shaping. Each function may be NULL. */
typedef struct pass_shaping {
  void *user;
  void (*enter)(void *user, uint32_t kernel, const ir_graph *g, ir_ref effect); /* what is to be shaped */
  const char *(*given)(void *user, uint32_t kernel, uint32_t nest);             /* NULL: none are given */
  void (*chosen)(void *user, uint32_t kernel, uint32_t nest, const char *moves);
  void (*neighbour)(
      void *user, uint32_t kernel, uint32_t nest,
      const char *moves); /* in place of those taken: each of what passes/loops/neighbours.c finds near */
  void (*refused)(void *user, uint32_t kernel,
                  ir_error *error); /* there are no such loops, or the verifier refuses them: says so */
  uint32_t kernel;                  /* the one at hand */
} pass_shaping;

typedef struct pass_options {
  const ir_target *target;
  const ir_ref *inputs; /* leaves that get the first slots, in this order, used or not */
  size_t input_count;
  pass_observer observer; /* may be NULL */
  void *user;
  bool verify;           /* run the verifier after every pass */
  pass_shaping *shaping; /* or NULL */
  const ir_timer *timer; /* may be NULL */
} pass_options;

typedef struct pass_info {
  const char *name, *needs, *establishes;
} pass_info;
extern const pass_info pass_table[];
extern const size_t pass_count;

/* Compile the results (a TUPLE of tensors) down to a plan whose kernel steps hold KERNEL nodes of g. */
ir_status pass_pipeline(ir_graph *g, ir_ref results, const pass_options *options, ir_plan *plan,
                        ir_error *error);

#endif
