/* Which vmap a value with batch axes is of.
 *
 * The type of a value says at which level its last batch axis is, but not of which vmap: two that follow each
 * other are at the same level, and their axes may have the same size. Nodes do not say it either, since both
 * may record the same expression. What says it is which of them has handed the value out last: all that a
 * function is given, and all that builders return while it is called, is noted here. A value that was handed
 * out in one vmap alone is of no use in another. */

#include "frontend/api/api.h"

/* The level whose vmap has added the last batch axis of x; 0 where the caller has added it, or none. */
static uint32_t level_of(const vf_graph *g, ir_ref x) {
  uint32_t rank = ir_batch_rank(&g->ir, x);
  return rank > g->explicit_batch && rank <= g->level ? rank : 0;
}

static void begin_epoch(fe_vmap_values *v, uint32_t epoch) {
  if (v->epoch == epoch) return;
  v->count = 0; /* refs have been given to other nodes */
  v->epoch = epoch;
}

vf_value fe_vmap_value(vf_graph *g, ir_ref x) {
  if (!g) return (vf_value){0};
  vf_value value = {g, x, g->epoch};
  uint32_t level = g->ir.batches_cap && x ? level_of(g, x) : 0;
  if (level == 0) return value;
  fe_vmap_values *v = &g->vmap_values;
  begin_epoch(v, g->epoch);
  if (!IR_RESERVE(g->ir.mem, v->of, v->cap, (size_t)x + 1)) {
    ir_fail(&g->error, IR_ERR_MEMORY, "out of memory noting a value of a vmap");
    return (vf_value){g, 0, g->epoch};
  }
  while (v->count <= x) v->of[v->count++] = 0;
  v->of[x] = v->at_level[level];
  return value;
}

bool fe_vmap_has_ended(const vf_graph *g, ir_ref x) {
  const fe_vmap_values *v = &g->vmap_values;
  uint32_t level = g->ir.batches_cap ? level_of(g, x) : 0;
  return level && v->epoch == g->epoch && x < v->count && v->of[x] && v->of[x] != v->at_level[level];
}

void fe_vmap_values_free(vf_graph *g) {
  ir_free(g->ir.mem, g->vmap_values.of, g->vmap_values.cap * sizeof *g->vmap_values.of);
}
