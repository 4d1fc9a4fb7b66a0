/* Which stores go past the caches: those of a large output in a kernel that moves more than the last cache
 * holds. What such a store writes would be gone from the cache before anything reads it, and each line would
 * have been fetched from memory first. An output that fits stays where the next kernel finds it, even if the
 * inputs do not fit. Groups of work-items have no such stores. */
#include "loops.h"

enum { MAX_FOUND = 1024 };

/* At least so many. */
static int64_t bytes_of(ir_graph *g, ir_ref param) {
  int64_t count = ir_bounds_of(g, ir_src(g, param, 0)).lo;
  return count > 0 && count < INT64_MAX / 64 ? count * ir_dtypes[ir_dtype_of(g, param)].bytes : 0;
}

bool loop_stream(ir_graph *g, const ir_target *target, loop_stores *stores) {
  if (target->lanes) return true;
  ir_ref params[MAX_FOUND];
  ir_ref all = ir_make(g, IR_OP_SEQ, IR_NONE, 0, stores->store, stores->count);
  uint32_t count = loop_find(g, all, IR_OP_PARAM, params, MAX_FOUND);
  int64_t total = 0;
  for (uint32_t i = 0; i < count && total <= target->l3_bytes; i++) total += bytes_of(g, params[i]);
  if (total <= target->l3_bytes) return all != 0;
  for (uint32_t i = 0; i < stores->count; i++) {
    const ir_node *n = ir_get(g, stores->store[i]);
    if (n->op != IR_OP_STORE || bytes_of(g, n->src[0]) <= target->l3_bytes / 2) continue;
    if (!(stores->store[i] = ir_make(g, IR_OP_STORE, IR_NONE, ir_pack_arg(0, true), n->src, n->nsrc)))
      return false;
  }
  return true;
}
