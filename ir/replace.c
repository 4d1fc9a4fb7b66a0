/* Rebuilds values with some nodes replaced by others. */
#include "ir.h"

#include <string.h>

typedef struct replacer {
  ir_graph *g;
  ir_ref floor;
  ir_ref *nodes, *map; /* map[i] replaces nodes[i] */
  size_t count, cap;
  ir_ref *scratch;
  size_t scratch_cap;
} replacer;

static ir_ref mapped(const replacer *r, ir_ref ref) {
  return ref < r->floor ? ref : r->map[ir_find_ref(r->nodes, r->count, ref)];
}

static ir_ref rebuild_node(replacer *r, ir_ref ref) {
  ir_graph *g = r->g;
  const ir_node *n = ir_get(g, ref);
  if (ref < r->floor || n->op == IR_OP_FUNC) return ref;
  if (!IR_RESERVE(g->mem, r->scratch, r->scratch_cap, n->nsrc)) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) r->scratch[i] = mapped(r, n->src[i]);
  return ir_remake(g, ref, r->scratch, n->nsrc);
}

ir_status ir_replace(ir_graph *g, const ir_ref *from, const ir_ref *to, size_t count, ir_ref *roots,
                     size_t n) {
  replacer r = {.g = g, .floor = UINT32_MAX};
  for (size_t i = 0; i < count; i++)
    if (from[i] < r.floor) r.floor = from[i];
  if (count == 0) return IR_OK;
  bool good = ir_reachable_above(g, roots, n, r.floor, from, count, &r.nodes, &r.count, &r.cap) == IR_OK;
  size_t node_count = r.count, order_count = 0, order_cap = 0;
  ir_ref *order = NULL;
  r.map = good ? ir_alloc(g->mem, node_count * sizeof *r.map) : NULL;
  good = r.map != NULL;
  if (good) memset(r.map, 0, node_count * sizeof *r.map);
  for (size_t i = 0; i < count && good; i++) {
    size_t at = ir_find_ref(r.nodes, r.count, from[i]);
    if (at < node_count && r.nodes[at] == from[i]) r.map[at] = to[i];
  }
  /* In an order that the text of the values has, too: nodes that other values share are older than the text
   * says. */
  good = good && ir_reachable_in_order(g, roots, n, &order, &order_count, &order_cap) == IR_OK;
  for (size_t i = 0; i < order_count && good; i++) {
    size_t at = ir_find_ref(r.nodes, node_count, order[i]);
    if (at < node_count && r.nodes[at] == order[i] && !r.map[at])
      good = (r.map[at] = rebuild_node(&r, order[i])) != 0;
  }
  for (size_t i = 0; i < n && good; i++) roots[i] = mapped(&r, roots[i]);
  ir_free(g->mem, r.map, r.map ? node_count * sizeof *r.map : 0);
  ir_free(g->mem, order, order_cap * sizeof *order);
  ir_free(g->mem, r.nodes, r.cap * sizeof *r.nodes);
  ir_free(g->mem, r.scratch, r.scratch_cap * sizeof *r.scratch);
  return good ? IR_OK : ir_fail(g->error, IR_ERR_MEMORY, "out of memory replacing values");
}
