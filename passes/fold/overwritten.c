/* May a write change the memory of its first operand? It computes what it stores from older elements, and is
 * free to do so where each of these is the element that the same value replaces, or one that nothing
 * replaces, or one that a later iteration replaces (order.c).
 */
#include "fold.h"

#include "passes/fold/order.h"
#include "passes/index/disjoint.h"

uint32_t fold_loads_replaced(ir_graph *g, ir_ref effect, ir_ref *loads) {
  const ir_node *n = ir_get(g, effect);
  ir_ref index = n->src[1], *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t found = 0;
  bool ordered = n->op == IR_OP_UPDATE && n->nsrc > 4;
  if (ir_reachable(g, n->src + 1, n->nsrc - 1, &live, &count, &cap) != IR_OK) found = FOLD_MOST_LOADS + 1;
  for (size_t i = 0; i < count && found <= FOLD_MOST_LOADS; i++) {
    const ir_node *load = ir_get(g, live[i]);
    if (load->op != IR_OP_LOAD || load->src[0] != n->src[0]) continue;
    if ((load->src[1] == index && !ordered) || index_relate(g, index, load->src[1]).meeting != INDEX_MAY_MEET)
      continue;
    if (found < FOLD_MOST_LOADS) loads[found] = live[i];
    found++;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

static bool loads_are_harmless(ir_graph *g, ir_ref effect) {
  ir_ref loads[FOLD_MOST_LOADS];
  uint32_t count = fold_loads_replaced(g, effect, loads);
  return count <= FOLD_MOST_LOADS && fold_is_in_order(g, effect, loads, count);
}

bool fold_only_overwritten(ir_graph *g, ir_ref write, uint32_t target, pass_slots *slots, uint32_t *slot_of) {
  ir_ref x = ir_src(g, write, 0);
  uint32_t own = slot_of[x];
  folder f = {.g = g, .slots = slots, .output = write};
  slots->param_count = 0;
  slot_of[x] = target + 1;
  ir_ref param = fold_param(&f, write, target);
  ir_ref effect = fold_assign(&f, write, param);
  slot_of[x] = own;
  folder_free(&f);
  return effect && loads_are_harmless(g, effect);
}
