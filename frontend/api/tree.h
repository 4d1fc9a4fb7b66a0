/* Trees of values and of axes, walked leaf by leaf without recursion. */
#ifndef VIEWFOLD_FRONTEND_API_TREE_H
#define VIEWFOLD_FRONTEND_API_TREE_H

#include "frontend/api/api.h"

/* A leaf, with the axis that a tree of axes, a prefix of the values' tree, has for it. */
typedef struct fe_leaf {
  vf_value *value;
  int axis; /* or VF_NOT_MAPPED */
} fe_leaf;

typedef struct fe_leaves {
  fe_leaf *items;
  size_t count, cap;
  size_t nodes; /* of the tree, leaves and others */
} fe_leaves;

/* The leaves of a tree in order. axes NULL: 0 for each. `what` names both trees in messages, "in_axes". False
 * after failing; to be freed all the same. */
bool fe_tree_leaves(fe_call *call, const char *what, vf_tree *tree, const vf_axes *axes, fe_leaves *out);
void fe_leaves_free(const ir_graph *g, fe_leaves *leaves);
/* A copy of the tree with values of its own, in nodes[0..count) (its root is the first); keys are shared. */
void fe_tree_copy(const vf_tree *tree, vf_tree *nodes, size_t count);

#endif
