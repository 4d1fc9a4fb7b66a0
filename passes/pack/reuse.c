/* Where packing has stored a value as it is, all users of the value read it from memory: then the values that
 * it is computed from need neither be kept nor computed again. This pays where these are several tensors. */
#include "pack.h"

#include "passes/patterns/epilogue.h"

#include <string.h>

bool pack_of_several(const ir_graph *g, ir_ref value) {
  for (;;) {
    const ir_node *n = ir_get(g, value);
    bool view = ir_ops[n->op].cls == IR_CLASS_VIEW;
    uint32_t tensors = 0;
    if (!pass_is_elementwise(n) && !view) return false;
    for (uint32_t i = 0; i < ir_operand_count(n); i++)
      if (ir_rank(g, n->src[i]) > 0) value = n->src[i], tensors++;
    if (tensors != 1) return tensors > 1;
  }
}

/* Marks the nodes that are to be read from their copy. Is there any? */
static bool find_copied(ir_graph *g, const ir_ref *live, size_t count, uint8_t *copied) {
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    if (ir_op_of(g, live[i]) != IR_OP_STORED) continue;
    ir_ref of = ir_src(g, live[i], 0);
    bool reused = pass_is_elementwise(ir_get(g, of)) && pack_of_several(g, of);
    copied[of] = reused ? PACK_STORED : 0;
    any |= reused;
  }
  return any;
}

bool pack_store_values(ir_graph *g, const ir_ref *live, size_t count, const uint8_t *stored, ir_ref *map) {
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (n->op == IR_OP_STORED && stored[n->src[0]] == PACK_STORED) {
      map[live[i]] = map[n->src[0]];
      continue;
    }
    ir_cause before = ir_cause_enter(g, live[i]);
    ir_ref made = ir_remake_mapped(g, live[i], map);
    if (made && stored[live[i]] == PACK_STORED) made = ir_unary(g, IR_OP_STORED, made);
    good = (map[live[i]] = ir_cause_leave(g, before, live[i], made)) != 0;
  }
  return good;
}

ir_ref pass_pack_reuse(ir_graph *g, ir_ref results, const pass_strategy *strategy) {
  ir_ref *live = NULL, *map = ir_alloc(g->mem, ((size_t)results + 1) * sizeof *map), root = 0;
  uint8_t *copied = ir_alloc(g->mem, (size_t)results + 1);
  size_t count = 0, cap = 0;
  if (map && copied && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK) {
    memset(copied, 0, (size_t)results + 1);
    bool any = find_copied(g, live, count, copied);
    if (strategy->panel_columns) any |= pack_mark_apart(g, live, count, copied);
    if (!any) root = results;
    else if (pack_store_values(g, live, count, copied, map)) root = map[results];
  }
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map ? ((size_t)results + 1) * sizeof *map : 0);
  ir_free(g->mem, copied, copied ? (size_t)results + 1 : 0);
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory reading copies of a product's operands again");
  return root;
}
