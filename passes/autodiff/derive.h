/* The folder passes/autodiff. Differentiation.
 *
 *   in      a graph, its outputs, inputs, and tangents or cotangents
 *   out     a graph of recorded operations with the derivatives
 *   holds   derivatives consist of operations that a user could record: they can be differentiated again */

/* Differentiation: graph -> graph. Derivatives are ordinary tensor nodes, so they can be differentiated
 * again, and are compiled with everything else. ir/ops.def says how each operation is
 * differentiated.
 *
 * The derivative with respect to an input is the derivative with respect to a term that is added to it. So an
 * input may be any value of the graph, also one that depends on another input; each then gets all that
 * reaches it. Integers and bool have no derivatives. Nodes are processed in order of refs, without
 * recursion. */
#ifndef VIEWFOLD_PASSES_AUTODIFF_DERIVE_H
#define VIEWFOLD_PASSES_AUTODIFF_DERIVE_H

#include "ir/cause.h"

typedef struct pass_derivative {
  const char *who; /* for messages */
  const ir_ref *outputs, *inputs;
  size_t output_count, input_count;
  /* The leaf that stands for a node, or the node itself: differentiation ends at values that have been
   * computed already. NULL: there are none. */
  ir_ref (*leaf)(const void *user, ir_ref node);
  const void *user;
  /* Set of the batch levels (bit 0: level 1) that the caller is inside of, as the body of a vmap is. Nothing
   * is summed along their axes, so that each element gets its own gradient, whether the input varies along
   * them or not. */
  uint32_t levels;
  bool sparse; /* a result that nothing has reached is 0 instead of zeros */
} pass_derivative;

/* vjp.c: gradients[i], of the type of inputs[i], is the sum over outputs of cotangent times derivative; zeros
 * if no output depends on the input. Cotangents have the outputs' shapes and dtypes. Batch axes that an
 * output has and an input lacks are summed over. A gradient is divided over a mesh as its input was given.
 * cotangents NULL: 1 for each output, which must be a scalar. False on failure: an input or output that is no
 * float or is a constant, a wrong shape or dtype. */
bool pass_vjp(ir_graph *g, const pass_derivative *of, const ir_ref *cotangents, ir_ref *gradients);

/* jvp.c: results[i], of the shape and dtype of outputs[i], is the derivative of that output in the direction
 * of the tangents of all inputs. The tangents of an input that is listed twice are added. */
bool pass_jvp(ir_graph *g, const pass_derivative *of, const ir_ref *tangents, ir_ref *results);

/* derive.c: state that both modes share. The nodes that the outputs depend on, and for each node the sum of
 * the tangents or cotangents that have reached it. */
typedef struct pass_differentiation {
  ir_graph *g;
  const pass_derivative *of;
  ir_ref *live; /* ascending */
  size_t live_count, live_cap;
  ir_ref *sums;    /* by node: 0 for zero */
  uint8_t *active; /* by node: depends on an input */
  uint32_t keep;   /* batch levels along which nothing is summed */
  size_t nodes;
} pass_differentiation;
/* The RESULT nodes of live[at] that are live, by number; 0 for the others. */
void pass_differentiation_results(const pass_differentiation *w, size_t at, ir_ref *results, uint32_t count);
/* False on failure; pass_differentiation_end is needed in any case. */
bool pass_differentiation_begin(pass_differentiation *w, ir_graph *g, const pass_derivative *of,
                                uint32_t keep);
void pass_differentiation_end(pass_differentiation *w);
/* May a node of this operation and dtype have a tangent when one of its operands has? */
bool pass_differentiation_varies(const ir_node *node);
ir_ref pass_differentiation_leaf(const pass_differentiation *w, ir_ref node);
/* Adds `part` to the sum of a node, in the node's batch. False on failure. */
bool pass_differentiation_add(pass_differentiation *w, ir_ref node, ir_ref part);
/* The sum of a node, zeros if nothing has reached it; 0 on failure. */
ir_ref pass_differentiation_sum(pass_differentiation *w, ir_ref node);
/* Checks that `given`, a cotangent or tangent, has the shape and dtype of the node. Returns it, converted if
 * it is an untyped constant; 0 on failure. */
ir_ref pass_differentiation_given(pass_differentiation *w, const char *what, size_t number, ir_ref given,
                                  ir_ref node);

/* control.c, reverse.c: nodes that call functions, whose results are RESULT nodes. Push computes the tangents
 * of the results from those of the operands; pull passes the cotangents of the results on to the operands. */
bool pass_push_control(pass_differentiation *w, ir_ref control);
bool pass_pull_control(pass_differentiation *w, ir_ref control);

#endif
