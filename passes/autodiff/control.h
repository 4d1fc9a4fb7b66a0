/* What both directions of differentiation share about nodes that call functions. */
#ifndef VIEWFOLD_PASSES_AUTODIFF_CONTROL_H
#define VIEWFOLD_PASSES_AUTODIFF_CONTROL_H

#include "derive.h"
#include "passes/ops/build/control.h"

/* A list that grows; `failed` once memory is short, or what was added is 0. */
typedef struct pass_refs {
  ir_graph *g;
  ir_ref *at;
  size_t count, cap;
  bool failed;
} pass_refs;
void pass_refs_add(pass_refs *list, ir_ref ref);
void pass_refs_free(pass_refs *list);

/* One node. Operands are those that its functions take: without the predicate of a cond. Sets and lists are
 * by operand, which a function has a parameter for, or by result. */
typedef struct pass_control {
  ir_graph *g;
  const char *who;
  ir_ref node;
  ir_op op;
  const ir_ref *x;
  uint32_t operands, results;
  ir_scan_state s;    /* cond: none; while_loop: the state alone */
  ir_ref func, other; /* the one that computes the results; the other branch, the condition, or 0 */
  ir_ref length;      /* of a scan; the bound of a while_loop */
  /* each with room for all operands and all results */
  uint8_t *varies, *reached; /* operands; results */
  ir_ref *with;              /* tangents of operands, cotangents of results; 0 for zero */
  size_t room;
  bool whole; /* flow is of any values, not of floats alone */
} pass_control;
bool pass_control_begin(pass_control *c, ir_graph *g, const char *who, ir_ref node);
void pass_control_end(pass_control *c);

/* reached: results of func that depend on operands which vary, by floats unless `whole`; added to what is
 * there. */
bool pass_flow(ir_graph *g, ir_ref func, bool whole, const uint8_t *varies, uint8_t *reached);
/* varies, reached: as far as they get in any number of rounds, or in either branch. */
bool pass_flow_all(pass_control *c);
/* A parameter of the dtype and shape of x. */
ir_ref pass_param_like(ir_graph *g, ir_ref x);

#endif
