/* Which axis of a kernel gets the vector lanes, and which the copies side by side. */
#include "loops.h"

#include <string.h>

enum {
  MAX_FOUND = 512,
  MIN_LANES = 2,
  SHORT = 4
}; /* fewer vectors than SHORT are not worth a loop of their own */

/* Steps of several elements need a size that is the same for all lanes. */
static bool takes_steps(loop_nest *n, const loop_axis *a) {
  return !loop_bounds_another(n, (uint32_t)(a - n->axes));
}

/* Does the size depend on the loops outside? */
static bool varies(loop_nest *n, const loop_axis *a) {
  ir_ref range;
  return loop_find(n->g, a->extent, IR_OP_RANGE, &range, 1) > 0;
}

/* How well lanes along range suit the loads below root: contiguous good, uniform fair, gathered bad. */
static int lane_score(loop_nest *n, ir_ref root, ir_ref range) {
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, root, IR_OP_LOAD, loads, MAX_FOUND);
  int score = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t stride;
    if (!loop_stride(n->g, ir_src(n->g, loads[i], 1), range, &stride)) score -= 4;
    else score += stride == 0 ? 1 : stride == 1 || stride == -1 ? 4 : -4;
  }
  return score;
}

/* Of what the store needs as a rule: what is rare may take several vectors. */
static int widest_bytes(loop_nest *n) {
  ir_graph *g = n->g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, size = (size_t)n->store + 1;
  int widest = 1;
  bool *usual = ir_alloc(g->mem, size);
  if (usual && ir_reachable(g, &n->store, 1, &live, &count, &cap) == IR_OK) {
    memset(usual, 0, size);
    usual[n->store] = true;
    for (size_t i = count; i-- > 0;) {
      const ir_node *node = ir_get(g, live[i]);
      if (!usual[live[i]]) continue;
      int bytes = ir_dtypes[node->dtype].bytes;
      widest = bytes > widest ? bytes : widest;
      for (uint32_t k = 0; k < node->nsrc; k++) usual[node->src[k]] |= node->op != IR_OP_RARE || k != 1;
    }
  }
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, usual, usual ? size : 0);
  return widest;
}

/* The tile of a contraction: `unroll` vectors along the lanes and as many rows as accumulators fit in
 * registers. */
static void choose_tile(loop_nest *n, loop_axis *vector, ir_ref body) {
  int columns = n->target->registers >= 32 ? 4 : 2, rows = 6;
  while (columns > 1 && (int64_t)vector->lanes * columns > ir_bounds_of(n->g, vector->extent).hi)
    columns /= 2;
  vector->unroll = columns;
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, body, IR_OP_LOAD, loads, MAX_FOUND);
  for (uint32_t i = 0; i < count; i++) { /* a load that the lanes share is worth reusing over rows */
    int64_t stride, size;
    if (!loop_stride(n->g, ir_src(n->g, loads[i], 1), vector->range, &stride) || stride != 0) continue;
    for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
      if (a == vector || !loop_depends(n->g, loads[i], a->range) || !takes_steps(n, a)) continue;
      bool known = ir_is_const(n->g, a->extent, &size);
      while (rows > 4 && known && size % rows != 0) rows--;
      a->unroll = ir_bounds_of(n->g, a->extent).hi >= rows ? rows : 1;
      return;
    }
  }
}

/* Lanes that gather along one axis what lies side by side along another (a transpose): copies along that
 * other axis use the cache lines again that the first one fetched. */
static void choose_copies(loop_nest *n, const loop_axis *vector) {
  enum { COPIES = 8 };
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, n->store, IR_OP_LOAD, loads, MAX_FOUND);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    int64_t stride;
    if (loop_stride(n->g, index, vector->range, &stride) && stride >= -1 && stride <= 1) continue;
    for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
      if (a == vector || !takes_steps(n, a) || !loop_stride(n->g, index, a->range, &stride) ||
          (stride != 1 && stride != -1))
        continue;
      if (ir_bounds_of(n->g, a->extent).hi >= COPIES) a->unroll = COPIES;
      return;
    }
  }
}

void loop_choose_lanes(loop_nest *n) {
  ir_ref reduces[MAX_FOUND], target = ir_src(n->g, n->store, 1);
  uint32_t reduce_count = loop_find(n->g, n->store, IR_OP_REDUCE, reduces, MAX_FOUND);
  loop_axis *last = NULL;
  for (uint32_t i = 0; i < n->axis_count; i++) {
    int64_t stride;
    if (loop_stride(n->g, target, n->axes[i].range, &stride) && stride == 1 && takes_steps(n, &n->axes[i]) &&
        !loop_is_ordered(n, i))
      last = &n->axes[i];
  }
  int best = last ? -1000 : -100000;
  for (uint32_t k = 0; k < reduce_count; k++) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    if (ir_arg_int(r) == IR_OP_ARGMAX || ir_arg_int(r) == IR_OP_ARGMIN) continue;
    int along_output = last ? lane_score(n, r->src[0], last->range) : -100000;
    int along_reduced = lane_score(n, r->src[0], r->src[r->nsrc - 1]);
    if (along_output > best) best = along_output;
    if (along_reduced > along_output) n->lanes_in_reduction = true;
  }
  if (!last || n->lanes_in_reduction) return;
  int lanes = n->target->vector_bytes / widest_bytes(n);
  while (lanes > ir_bounds_of(n->g, last->extent).hi) lanes /= 2;
  if (lanes < MIN_LANES || (varies(n, last) && ir_bounds_of(n->g, last->extent).hi < SHORT * lanes)) return;
  last->lanes = lanes;
  if (reduce_count) choose_tile(n, last, ir_src(n->g, reduces[0], 0));
  else if (ir_op_of(n->g, n->store) == IR_OP_STORE) choose_copies(n, last);
}
