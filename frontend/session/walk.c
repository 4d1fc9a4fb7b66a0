#include "frontend/session/walk.h"

#include <stdio.h>
#include <string.h>

#include "frontend/session/lazy.h"
#include "ir/mesh/sharding.h"

bool fe_walk_start(fe_walk *w, vf_context *c, ir_graph *to, bool as_inputs) {
  fe_lazy *l = &c->lazy;
  *w = (fe_walk){.mem = &c->mem, .lazy = l, .from = &c->session->ir, .to = to, .as_inputs = as_inputs};
  if (!IR_RESERVE(w->mem, l->map, l->map_cap, w->from->count)) return false;
  const ir_mesh *mesh = ir_graph_mesh(w->from);
  if (mesh && !ir_graph_set_mesh(to, mesh)) return false;
  memset(l->map, 0, w->from->count * sizeof *l->map);
  w->node_count = w->from->count;
  to->relaxed = w->from->relaxed;
  return true;
}

static bool push_frame(fe_walk *w, ir_ref ref) {
  fe_lazy *l = w->lazy;
  if (!IR_RESERVE(w->mem, l->frames, l->frame_cap, w->frame_count + 1)) return false;
  l->frames[w->frame_count++] = (fe_frame){ref, 0};
  return true;
}

/* Copy a node whose shape and sources have been copied. 0 when memory is short. */
static ir_ref copy_node(fe_walk *w, ir_ref ref) {
  fe_lazy *l = w->lazy;
  /* In a function, realised nodes are not replaced: its parameters are BUFFERs without elements, and its body
   * is computed even where the session has realised an equal node. */
  if (ir_op_of(w->from, ref) == IR_OP_FUNC)
    return ir_graph_copy(w->to, w->from, &ref, 1, NULL) == IR_OK ? ref : 0;
  const ir_node *n = ir_get(w->from, ref);
  ir_ref few[2 + 2 * IR_MAX_RANK], *src = few, shape = ir_shape(w->from, ref), made;
  ir_op op = (ir_op)n->op;
  int64_t arg = n->arg;
  if (n->nsrc > sizeof few / sizeof *few && !(src = ir_alloc(w->mem, n->nsrc * sizeof *src))) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) src[i] = l->map[fe_lazy_resolve(l, n->src[i])];
  bool named = op == IR_OP_DATA || op == IR_OP_RESOURCE || op == IR_OP_CUSTOM || op == IR_OP_EXCHANGE ||
               ir_only_divides(op);
  if (named) arg = ir_name(w->to, ir_name_text(w->from, arg), ir_name_length(w->from, arg));
  w->to->customs = w->from->customs;
  if (op == IR_OP_BUFFER && w->as_inputs) {
    char name[24];
    op = IR_OP_INPUT;
    arg = ir_name(w->to, name, (size_t)snprintf(name, sizeof name, "b%zu", w->leaf_count));
    if (!IR_RESERVE(w->mem, l->leaves, l->leaf_cap, w->leaf_count + 1)) arg = -1;
    else l->leaves[w->leaf_count++] = ref;
  }
  if (op == IR_OP_RESHAPE && arg) /* ir/letters.c */
    arg = 1 + ir_name(w->to, ir_name_text(w->from, arg - 1), ir_name_length(w->from, arg - 1));
  if ((named || op == IR_OP_INPUT) && arg < 0) made = 0;
  else if (shape) made = ir_make_tensor(w->to, op, (ir_dtype)n->dtype, l->map[shape], arg, src, n->nsrc);
  else made = ir_make(w->to, op, (ir_dtype)n->dtype, arg, src, n->nsrc);
  if (src != few) ir_free(w->mem, src, n->nsrc * sizeof *src);
  const ir_spec *spec = ir_spec_of(w->from, ref);
  w->divided |= spec || ir_only_divides(op);
  if (made && spec && !ir_set_spec(w->to, made, spec)) return 0;
  if (made && !w->as_inputs && ir_has_letters(w->from, ref) &&
      !ir_letters_set(w->to, made, &w->from->letters[ref]))
    return 0;
  return made;
}

ir_ref fe_walk_from(fe_walk *w, ir_ref root) {
  fe_lazy *l = w->lazy;
  root = fe_lazy_resolve(l, root);
  w->frame_count = 0;
  if (!l->map[root] && !push_frame(w, root)) return 0;
  while (w->frame_count) {
    fe_frame *f = &l->frames[w->frame_count - 1];
    const ir_node *n = ir_get(w->from, f->ref);
    if (f->next <= (n->op == IR_OP_FUNC ? 0 : n->nsrc)) {
      uint32_t i = f->next++;
      ir_ref below = i == 0 ? ir_shape(w->from, f->ref) : fe_lazy_resolve(l, n->src[i - 1]);
      if (below && !l->map[below] && !push_frame(w, below)) return 0;
    } else {
      ir_ref ref = f->ref;
      w->frame_count--;
      if (!(l->map[ref] = copy_node(w, ref))) return 0;
    }
  }
  return l->map[root];
}
