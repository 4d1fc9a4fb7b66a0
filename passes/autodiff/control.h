/* What forward and reverse mode share for nodes that call functions. */
#ifndef VIEWFOLD_PASSES_AUTODIFF_CONTROL_H
#define VIEWFOLD_PASSES_AUTODIFF_CONTROL_H

#include "derive.h"
#include "passes/ops/build/control.h"

/* A growable list; `failed` once memory is short or 0 was added. */
typedef struct pass_refs {
  ir_graph *g;
  ir_ref *at;
  size_t count, cap;
  bool failed;
} pass_refs;
void pass_refs_add(pass_refs *list, ir_ref ref);
void pass_refs_free(pass_refs *list);

/* A node that calls functions. `operands` are those that its functions have as parameters: without the
 * predicate of a cond. Arrays are indexed by operand, which is the same as by parameter, or by result. */
typedef struct pass_control {
  ir_graph *g;
  const char *who;
  ir_ref node;
  ir_op op;
  const ir_ref *operands;
  uint32_t operand_count, result_count;
  ir_scan_state state;      /* cond: zeros; while_loop: only `carries` */
  ir_ref func, second_func; /* func computes the results; other is the second branch, the condition, or 0 */
  ir_ref length;            /* of a scan; the bound of a while_loop */
  /* each has room for the operands and the results */
  uint8_t *varies, *reached; /* operands; results */
  ir_ref *tangents;          /* tangents of operands, cotangents of results; 0 for zero */
  size_t room;
  bool whole; /* follow values of any dtype, not only floats */
} pass_control;
bool pass_control_begin(pass_control *c, ir_graph *g, const char *who, ir_ref node);
void pass_control_end(pass_control *c);

/* Sets reached[i] for results of func that depend on parameters that vary: through operations that can carry
 * a derivative or, if `whole`, through any. Entries that are set stay set. False when memory is short. */
bool pass_flow(ir_graph *g, ir_ref func, bool whole, const uint8_t *varies, uint8_t *reached);
/* Extends varies and reached to everything that they reach in any number of iterations, or in either
 * branch. */
bool pass_flow_all(pass_control *c);
/* A parameter of the dtype and shape of x. */
ir_ref pass_param_like(ir_graph *g, ir_ref x);

#endif
