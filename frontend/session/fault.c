#include "frontend/session/fault.h"

#include <string.h>

#include "frontend/blame/blame.h"
#include "frontend/session/lazy.h"

/* The nodes made since the walk began have no copies. */
static bool map_all_nodes(vf_context *c, const fe_walk *w) {
  fe_lazy *l = &c->lazy;
  size_t count = w->from->count;
  if (!IR_RESERVE(w->mem, l->map, l->map_cap, count)) return false;
  memset(l->map + w->node_count, 0, (count - w->node_count) * sizeof *l->map);
  return true;
}

/* The elements of the leaves, read from where runs have them. */
static bool read_leaves(vf_context *c, const fe_walk *w, ir_binding_input *inputs) {
  fe_lazy *l = &c->lazy;
  ir_error unused = {0};
  bool good = true;
  for (size_t i = 0; i < w->leaf_count && good; i++) {
    rt_memory *memory = fe_lazy_memory(l, l->leaves[i]);
    inputs[i] =
        (ir_binding_input){l->map[l->leaves[i]], memory ? rt_memory_read(c->runtime, memory, &unused) : NULL};
    good = inputs[i].data != NULL;
  }
  return good;
}

bool fe_session_statements(vf_context *c, fe_walk *w, bool all, fe_statements *out) {
  if (!map_all_nodes(c, w)) return false;
  fe_statements_open(out, w->to);
  ir_causes_copy(w->to, w->from, c->lazy.map, (uint32_t)w->from->count);
  fe_statements_copy(out, w->to, &c->session->statements, &c->session->ir, c->lazy.map, all);
  return true;
}

void fe_session_blame(vf_context *c, fe_walk *w, size_t root_count, ir_error *error) {
  if (error->status != IR_ERR_RANGE) return;
  fe_lazy *l = &c->lazy;
  fe_statements statements;
  ir_ref *roots = ir_alloc(w->mem, root_count * sizeof *roots);
  ir_binding_input *inputs = ir_alloc(w->mem, w->leaf_count * sizeof *inputs);
  for (size_t i = 0; roots && i < root_count; i++) roots[i] = l->map[l->roots[i]];
  if (roots && inputs && read_leaves(c, w, inputs) && fe_session_statements(c, w, false, &statements)) {
    fe_blame_index(&(fe_blamed){.name = "session",
                                .graph = w->to,
                                .statements = &statements,
                                .roots = roots,
                                .root_count = root_count,
                                .inputs = inputs,
                                .input_count = w->leaf_count},
                   error);
    fe_statements_free(&statements, w->to);
  }
  ir_free(w->mem, inputs, w->leaf_count * sizeof *inputs);
  ir_free(w->mem, roots, root_count * sizeof *roots);
}
