/* Which stores go past the caches: those of a large output in a kernel that moves more than the last cache
 * holds. What such a store writes would be gone from the cache before anything reads it, and each line would
 * have been fetched from memory first. An output that fits stays where the next kernel finds it, even if the
 * inputs do not fit; of one that does not, a quarter stays there if little is read that could push it out
 * again (a tenth less time with two threads; a tenth more where much is read). Groups of work-items have no
 * such stores. */
#include "loops.h"

enum { MAX_FOUND = 1024 };

/* At least so many. */
static int64_t bytes_of(ir_graph *g, ir_ref param) {
  int64_t count = ir_bounds_of(g, ir_src(g, param, 0)).lo;
  return count > 0 && count < INT64_MAX / 64 ? count * ir_dtypes[ir_dtype_of(g, param)].bytes : 0;
}

static bool is_stored(const ir_graph *g, const loop_stores *stores, ir_ref param) {
  bool stored = false;
  for (uint32_t i = 0; i < stores->count; i++) stored |= ir_src(g, stores->store[i], 0) == param;
  return stored;
}

/* How an output is stored by a kernel that moves more than the last cache holds. */
static int64_t mode_of(const ir_target *target, int64_t output, int64_t inputs) {
  if (output <= target->l3_bytes / 2) return IR_NO_STREAM;
  bool stays = inputs <= target->l3_bytes / 4 && output / 4 <= target->l3_bytes / 2;
  return stays ? IR_STREAM_MOST : IR_STREAM;
}

bool loop_stream(ir_graph *g, const ir_target *target, loop_stores *stores) {
  if (target->lanes) return true;
  ir_ref params[MAX_FOUND];
  ir_ref all = ir_make(g, IR_OP_SEQ, IR_NONE, 0, stores->store, stores->count);
  uint32_t count = loop_find(g, all, IR_OP_PARAM, params, MAX_FOUND);
  int64_t outputs = 0, inputs = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool stored = is_stored(g, stores, params[i]);
    *(stored ? &outputs : &inputs) += bytes_of(g, params[i]);
  }
  if (outputs + inputs <= target->l3_bytes) return all != 0;
  for (uint32_t i = 0; i < stores->count; i++) {
    const ir_node *n = ir_get(g, stores->store[i]);
    int64_t mode = n->op == IR_OP_STORE ? mode_of(target, bytes_of(g, n->src[0]), inputs) : IR_NO_STREAM;
    if (mode == IR_NO_STREAM) continue;
    if (!(stores->store[i] = ir_make(g, IR_OP_STORE, IR_NONE, ir_pack_arg(0, mode), n->src, n->nsrc)))
      return false;
  }
  return true;
}
