#include "frontend/views/handle.h"

enum { HEAD = 2, LISTS = 4 };

static void read_view(const ir_graph *g, ir_ref node, pass_view *v) {
  const ir_node *n = ir_get(g, node);
  *v = (pass_view){.rank = (n->nsrc - HEAD) / LISTS, .masked = ir_is_true(g, n->src[0]), .offset = n->src[1]};
  ir_ref *const lists[LISTS] = {v->shape, v->stride, v->begin, v->end};
  for (uint32_t l = 0; l < LISTS; l++)
    for (uint32_t i = 0; i < v->rank; i++) lists[l][i] = n->src[HEAD + l * v->rank + i];
}

bool fe_view_open(ir_graph *g, uint32_t id, pass_view_chain *out) {
  bool read = true;
  *out = (pass_view_chain){.mem = g->mem};
  for (uint32_t i = 0; i < ir_get(g, id)->nsrc && read; i++) {
    pass_view v;
    read_view(g, ir_src(g, id, i), &v);
    read = pass_view_chain_add(g, out, &v);
  }
  return read;
}

static ir_ref view_node(ir_graph *g, const pass_view *v) {
  ir_ref items[HEAD + LISTS * IR_MAX_RANK] = {ir_bool(g, v->masked), v->offset};
  const ir_ref *const lists[LISTS] = {v->shape, v->stride, v->begin, v->end};
  for (uint32_t l = 0; l < LISTS; l++)
    for (uint32_t i = 0; i < v->rank; i++) items[HEAD + l * v->rank + i] = lists[l][i];
  return ir_tuple(g, items, HEAD + LISTS * v->rank);
}

ir_ref fe_view_node(ir_graph *g, const pass_view_chain *c) {
  ir_ref *items = ir_alloc(g->mem, c->count * sizeof *items), node = 0;
  for (size_t i = 0; i < c->count && items; i++) items[i] = view_node(g, &c->views[i]);
  if (items) {
    node = ir_tuple(g, items, (uint32_t)c->count);
    ir_free(g->mem, items, c->count * sizeof *items);
  }
  if (!node) ir_fail(g->error, IR_ERR_MEMORY, "out of memory recording a view");
  return node;
}
