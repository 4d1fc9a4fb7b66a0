/* The nodes that are fused into a kernel, and the users of a value, without a pass over the whole graph for
 * each. */
#ifndef VIEWFOLD_FRONTEND_REPORT_EXPLAIN_WALK_H
#define VIEWFOLD_FRONTEND_REPORT_EXPLAIN_WALK_H

#include "ir/plan.h"

/* Tables over the first `nodes` nodes of a graph. */
typedef struct fe_walk {
  const ir_graph *g;
  size_t nodes;
  uint8_t *stored;  /* by node: it is stored in memory, FOR_SOME where only the steps see it that name it */
  uint8_t *marks;   /* scratch, by node: 0 between calls */
  uint8_t *planned; /* by node: the values of the plan are computed from it */
  uint32_t *first_user; /* by node, nodes + 1 entries: index into users */
  ir_ref *users; /* of each node: the nodes of which it is an operand, once for each use, and the functions of
                    which it is a result */
} fe_walk;

typedef struct fe_refs {
  ir_ref *list;
  size_t count, cap;
} fe_refs;

/* Makes the tables for the nodes that g has now, with memory of g->mem; stored is what the plan stores or
 * keeps in a slot. False when memory is short. Call fe_walk_close in either case, while g exists. */
bool fe_walk_open(fe_walk *w, const ir_graph *g, const ir_plan *plan);
void fe_walk_close(fe_walk *w);

/* The operations that the kernel of a value computes, sources first: the value, the values of its fused row
 * group, and the nodes below them that are not stored; without constants and inputs. updates: without the
 * nodes that compute the value's first operand. False when memory is short. */
bool fe_walk_fused(fe_walk *w, const ir_step *step, ir_ref value, bool updates, fe_refs *out);
/* The value first, then its users, and the users of those that are tensors and not stored. */
bool fe_walk_above(fe_walk *w, ir_ref value, fe_refs *out);
void fe_refs_free(const fe_walk *w, fe_refs *refs);

#endif
