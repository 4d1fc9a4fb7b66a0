/* Trees of values and of axes, walked leaf by leaf without recursion. */
#ifndef VIEWFOLD_FRONTEND_API_TREE_H
#define VIEWFOLD_FRONTEND_API_TREE_H

#include "frontend/api/api.h"

/* A leaf and its axis. The tree of axes is a prefix of the tree of values: a leaf of the former stands for
 * all leaves below the same node of the latter. */
typedef struct fe_leaf {
  vf_value *value;
  int axis; /* or VF_NOT_MAPPED */
} fe_leaf;

typedef struct fe_leaves {
  fe_leaf *items;
  size_t count, cap;
  size_t nodes; /* of the tree, leaves and others */
} fe_leaves;

/* The leaves of a tree in order. axes NULL: axis 0 for each. `what` names the tree of axes in messages, such
 * as "in_axes". False after failing; *out is to be freed then too. */
bool fe_tree_leaves(fe_call *call, const char *what, vf_tree *tree, const vf_axes *axes, fe_leaves *out);
void fe_leaves_free(const ir_graph *g, fe_leaves *leaves);
/* Copy the tree to nodes[0..count), the root first; the copy shares the keys. */
void fe_tree_copy(const vf_tree *tree, vf_tree *nodes, size_t count);

#endif
