/* What lies around the values of kernels, found in time that goes with what is found. */
#ifndef VIEWFOLD_FRONTEND_REPORT_EXPLAIN_WALK_H
#define VIEWFOLD_FRONTEND_REPORT_EXPLAIN_WALK_H

#include "ir/plan.h"

/* Tables over the first `nodes` nodes of a graph. */
typedef struct fe_walk {
  const ir_graph *g;
  size_t nodes;
  uint8_t *stored;      /* it lies in memory */
  uint8_t *marks;       /* 0 but within a function */
  uint32_t *first_user; /* of nodes + 1, into users */
  ir_ref *users; /* of each node: those that have it as an operand, once for each time, and functions it is a
                    result of */
} fe_walk;

typedef struct fe_refs {
  ir_ref *list;
  size_t count, cap;
} fe_refs;

bool fe_walk_open(fe_walk *w, const ir_graph *g, const ir_plan *plan);
void fe_walk_close(fe_walk *w);

/* The operations that the kernel of a value computes, sources first: the value, values of its slab, and what
 * these are made of that is not in memory; no constants and no inputs. With `updates`, not what makes the
 * value's first operand. False when memory is short. */
bool fe_walk_fused(fe_walk *w, const ir_step *step, ir_ref value, bool updates, fe_refs *out);
/* The value first, then the nodes that use it or what is fused above it. */
bool fe_walk_above(fe_walk *w, ir_ref value, fe_refs *out);
void fe_refs_free(const fe_walk *w, fe_refs *refs);

#endif
