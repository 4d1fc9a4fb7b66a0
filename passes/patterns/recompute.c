/* Which values are recomputed, in one pass from users to operands. */
#include "recompute.h"

#include <string.h>

static void *zeros(const ir_mem *mem, size_t bytes) {
  void *made = ir_alloc(mem, bytes);
  if (made) memset(made, 0, bytes);
  return made;
}

bool pass_sharing_init(pass_sharing *s, ir_graph *g, size_t nodes) {
  *s = (pass_sharing){.g = g, .nodes = nodes};
  s->place = zeros(g->mem, nodes * sizeof *s->place);
  s->recomputed = zeros(g->mem, nodes * sizeof *s->recomputed);
  s->seen = zeros(g->mem, nodes * sizeof *s->seen);
  s->within = zeros(g->mem, nodes * sizeof *s->within);
  return s->place && s->recomputed && s->seen && s->within;
}

void pass_sharing_free(pass_sharing *s) {
  if (!s->g) return;
  ir_free(s->g->mem, s->place, s->nodes * sizeof *s->place);
  ir_free(s->g->mem, s->recomputed, s->nodes * sizeof *s->recomputed);
  ir_free(s->g->mem, s->seen, s->nodes * sizeof *s->seen);
  ir_free(s->g->mem, s->within, s->nodes * sizeof *s->within);
}

void pass_sharing_begin(pass_sharing *s, const ir_ref *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) s->place[nodes[i]] = s->recomputed[nodes[i]] = 0;
}

void pass_sharing_use(pass_sharing *s, ir_ref r, bool stored, bool elementwise) {
  const ir_node *n = ir_get(s->g, r);
  bool own = stored || !elementwise || s->recomputed[r] || !s->place[r];
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    ir_ref operand = n->src[k], place = own ? r : s->place[r];
    if ((s->place[operand] && s->place[operand] != place) || (s->recomputed[r] && !stored))
      s->recomputed[operand] = 1;
    s->place[operand] = place;
  }
}
