/* Copies of a session's nodes in another graph: those that some roots depend on, each once. */
#ifndef VIEWFOLD_FRONTEND_SESSION_WALK_H
#define VIEWFOLD_FRONTEND_SESSION_WALK_H

#include "frontend/api/api.h"

typedef struct fe_walk {
  const ir_mem *mem;
  fe_lazy *lazy;
  const ir_graph *from;
  ir_graph *to;
  bool divided;      /* something copied says how it is divided over the session's mesh */
  bool as_inputs;    /* BUFFERs become INPUTs b0, b1, ..., listed in lazy->leaves */
  ir_ref node_count; /* of `from` when the walk began: map is as long */
  size_t leaf_count, frame_count;
} fe_walk;

/* A walk over the context's session, whose copies go to the graph `to`; l->map has the copy of each node.
 * False when memory is short. */
bool fe_walk_start(fe_walk *walk, vf_context *context, ir_graph *to, bool as_inputs);
/* Copies root and all nodes it depends on. Returns its copy, or 0 when memory is short. */
ir_ref fe_walk_from(fe_walk *walk, ir_ref root);

#endif
