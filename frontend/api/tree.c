/* Trees of values and of axes. */
#include "frontend/api/tree.h"

#include <string.h>

enum { DEEPEST = 32 };

typedef struct level {
  vf_tree *tree;
  const vf_axes *axes; /* NULL: `axis` stands for all leaves below */
  int axis, next;
} level;

typedef struct walk {
  fe_call *call;
  const char *what;
  fe_leaves *out;
  level open[DEEPEST];
  int depth;
} walk;

static const char *key_of(const vf_tree *t, int i) { return t->keys && t->keys[i] ? t->keys[i] : NULL; }

/* The axes of child i: by key where both trees have keys, else by index. NULL: there are none. */
static const vf_axes *axes_of(const vf_tree *tree, const vf_axes *axes, int i) {
  const char *key = key_of(tree, i);
  if (!key || !axes->keys) return &axes->children[i];
  for (int k = 0; k < axes->count; k++)
    if (axes->keys[k] && strcmp(axes->keys[k], key) == 0) return &axes->children[k];
  return NULL;
}

static bool add_leaf(walk *w, vf_tree *tree, int axis) {
  fe_leaves *l = w->out;
  if (!IR_RESERVE(w->call->ir->mem, l->items, l->cap, l->count + 1)) {
    ir_fail(&w->call->graph->error, IR_ERR_MEMORY, "%s: out of memory for the leaves of a tree",
            w->call->who);
    return false;
  }
  l->items[l->count++] = (fe_leaf){&tree->value, axis};
  return true;
}

/* Where the tree of axes has an inner node, the tree of values has one with as many children. */
static bool check_prefix(walk *w, const vf_tree *tree, const vf_axes *axes) {
  if (tree->count < 0)
    return fe_refuse(w->call, "%s has %d entries where there is a single value; it is a prefix of the tree",
                     w->what, axes->count);
  if (axes->count != tree->count || (axes->count && !axes->children))
    return fe_refuse(
        w->call,
        "%s has %d entries where there are %d; a list of axes has one for each, or one axis stands for all",
        w->what, axes->count, tree->count);
  return true;
}

/* Append a leaf to the list; push an inner node on the stack. */
static bool visit_tree(walk *w, vf_tree *tree, const vf_axes *axes, int axis) {
  w->out->nodes++;
  if (axes && axes->count < 0) axis = axes->axis, axes = NULL;
  if (axes && !check_prefix(w, tree, axes)) return false;
  if (tree->count < 0) return add_leaf(w, tree, axis);
  if (tree->count && !tree->children)
    return fe_refuse(w->call, "a tree of %d children has no list of them", tree->count);
  if (w->depth == DEEPEST) return fe_refuse(w->call, "a tree has more than %d levels", DEEPEST);
  w->open[w->depth++] = (level){tree, axes, axis, 0};
  return true;
}

static bool step_walk(walk *w) {
  level *top = &w->open[w->depth - 1];
  if (top->next == top->tree->count) {
    w->depth--;
    return true;
  }
  int i = top->next++;
  const vf_axes *axes = top->axes ? axes_of(top->tree, top->axes, i) : NULL;
  if (top->axes && !axes)
    return fe_refuse(w->call, "%s has nothing for %.60s; its keys must be those of the tree", w->what,
                     key_of(top->tree, i));
  return visit_tree(w, &top->tree->children[i], axes, top->axis);
}

bool fe_tree_leaves(fe_call *call, const char *what, vf_tree *tree, const vf_axes *axes, fe_leaves *out) {
  walk w = {.call = call, .what = what, .out = out};
  *out = (fe_leaves){0};
  bool good = visit_tree(&w, tree, axes, 0);
  while (good && w.depth) good = step_walk(&w);
  return good;
}

void fe_leaves_free(const ir_graph *g, fe_leaves *l) {
  ir_free(g->mem, l->items, l->cap * sizeof *l->items);
  *l = (fe_leaves){0};
}

/* Breadth first: the children of node i follow those of the nodes before it in the copy. */
void fe_tree_copy(const vf_tree *tree, vf_tree *nodes, size_t count) {
  size_t made = 1;
  nodes[0] = *tree;
  for (size_t i = 0; i < made && made <= count; i++) {
    vf_tree *node = &nodes[i];
    if (node->count <= 0) continue;
    memcpy(nodes + made, node->children, (size_t)node->count * sizeof *nodes);
    node->children = nodes + made;
    made += (size_t)node->count;
  }
}
