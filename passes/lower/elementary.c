/* Elementary functions become the operations that define them, shared with the evaluator (ir/elementary). */
#include "lower.h"

#include "ir/elementary/elementary.h"
#include "passes/index/index.h"

ir_ref pass_elementary(ir_graph *g, ir_ref store) {
  ir_ref *live = NULL, *src = NULL, root = 0;
  size_t count = 0, cap = 0, src_cap = 0, size = (size_t)store + 1;
  ir_ref *map = ir_alloc(g->mem, size * sizeof *map);
  bool done = map && ir_reachable(g, &store, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && done; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (!(done = IR_RESERVE(g->mem, src, src_cap, n->nsrc))) break;
    bool changed = false;
    for (uint32_t k = 0; k < n->nsrc; k++) changed |= (src[k] = map[n->src[k]]) != n->src[k];
    root = changed ? pass_rebuild(g, live[i], src, n->nsrc) : live[i];
    if (root && ir_is_elementary((ir_op)n->op, (ir_dtype)n->dtype)) root = ir_elementary(g, root);
    map[live[i]] = root;
    done = root != 0;
  }
  if (!done) ir_fail(g->error, IR_ERR_MEMORY, "out of memory expanding elementary functions");
  ir_free(g->mem, map, size * sizeof *map);
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, src, src_cap * sizeof *src);
  return done ? root : 0;
}
