/* The folder passes/autodiff. Differentiation.
 *
 *   in      a graph, its outputs, inputs, and tangents or cotangents
 *   out     a graph of recorded operations with the derivatives
 *   holds   what is made is like what a user records: it can be differentiated again */

/* Differentiation: graph -> graph. What is made are ordinary tensor nodes, so results can be differentiated
 * again, and compiled with everything else. passes/ops/registry.def says how each operation is
 * differentiated.
 *
 * The derivative is that with respect to an addition to each input: an input may be any value of the graph,
 * also one that depends on another input; both then get all that reaches them. Integers and bool carry
 * nothing. Nodes are walked in order of refs, without recursion. */
#ifndef VIEWFOLD_PASSES_AUTODIFF_DERIVE_H
#define VIEWFOLD_PASSES_AUTODIFF_DERIVE_H

#include "ir/ir.h"

typedef struct pass_derivative {
  const char *who; /* for messages */
  const ir_ref *outputs, *inputs;
  size_t output_count, input_count;
  /* The leaf that stands for a node, or the node itself: values that were computed already are where a
   * derivative ends. NULL: there are none. */
  ir_ref (*leaf)(const void *user, ir_ref node);
  const void *user;
  /* Levels of the batches (bit 0: level 1) that the caller stands inside of, as the body of a vmap does:
   * along them nothing is summed, so that each element gets a gradient of its own, whether the input varies
   * or not. */
  uint32_t levels;
  bool sparse; /* a result is 0 where nothing has reached it, instead of zeros */
} pass_derivative;

/* vjp.c: gradients[i], of the type of inputs[i], is the sum over outputs of cotangent times
 * derivative; zeros where no output depends on the input. Cotangents have the outputs' shapes and dtypes.
 * What an output has more of batch axes than an input is summed.
 * cotangents NULL: 1 for each, which must be scalars. False after failing: an input or output that is no
 * float or is a constant, another shape or dtype. */
bool pass_vjp(ir_graph *g, const pass_derivative *of, const ir_ref *cotangents, ir_ref *gradients);

/* jvp.c: results[i], of the shape and dtype of outputs[i], is how that output varies when the inputs vary by
 * the tangents. An input that is listed twice varies by the sum. */
bool pass_jvp(ir_graph *g, const pass_derivative *of, const ir_ref *tangents, ir_ref *results);

/* derive.c: what both share. A walk over the nodes that outputs depend on, and for each node the sum of what
 * has reached it. */
typedef struct pass_derivation {
  ir_graph *g;
  const pass_derivative *of;
  ir_ref *live; /* ascending */
  size_t live_count, live_cap;
  ir_ref *sums;    /* by node: 0 for zero */
  uint8_t *active; /* by node: depends on an input */
  uint32_t keep;   /* levels that are not summed */
  size_t nodes;
} pass_derivation;
/* The RESULTs of live[at], as far as they are live: by number, 0 for the others. */
void pass_derivation_results(const pass_derivation *w, size_t at, ir_ref *results, uint32_t count);
/* False after failing; to be ended all the same. */
bool pass_derivation_begin(pass_derivation *w, ir_graph *g, const pass_derivative *of, uint32_t keep);
void pass_derivation_end(pass_derivation *w);
/* May a node of this operation and dtype carry what one of its operands carries? */
bool pass_derivation_varies(const ir_node *node);
ir_ref pass_derivation_leaf(const pass_derivation *w, ir_ref node);
/* Add to what has reached a node, in the node's batch. False after failing. */
bool pass_derivation_add(pass_derivation *w, ir_ref node, ir_ref part);
/* The sum that has reached a node, zeros if none; 0 after failing. */
ir_ref pass_derivation_sum(pass_derivation *w, ir_ref node);
/* Must `given` (a cotangent, a tangent) be of the shape and dtype of the node? Returns it, firm; 0 after
 * failing. */
ir_ref pass_derivation_given(pass_derivation *w, const char *what, size_t number, ir_ref given, ir_ref node);

/* control.c, reverse.c: the same for a node that calls functions, whose results are RESULTs.
 * The tangents of its results from those of its operands; what has reached its results goes on to its
 * operands. */
bool pass_push_control(pass_derivation *w, ir_ref control);
bool pass_pull_control(pass_derivation *w, ir_ref control);

#endif
