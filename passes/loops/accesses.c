/* What the loads and the store of a nest say about its axes: along which accesses are contiguous, which axis
 * of a product reuses what the lanes load, and whether elements may be stored twice. */
#include "loops.h"

#include "passes/index/index.h"

bool loop_lane_stride(loop_nest *n, ir_ref index, ir_ref range, int64_t block, int64_t *stride) {
  if (affine_stride(n->g, index, range, stride)) return true;
  if (block <= 1) return false;
  ir_ref blocks = pass_ceil_div(n->g, ir_src(n->g, range, 0), ir_index(n->g, block));
  ir_ref low = loop_fresh_range(n, ir_index(n->g, block)), high = loop_fresh_range(n, blocks);
  ir_ref at = pass_add(n->g, pass_mul_int(n->g, high, block), low);
  ir_ref inside = pass_substitute(n->g, index, &range, &at, 1);
  return inside && affine_stride(n->g, inside, low, stride);
}

enum {
  CONTIGUOUS = 4, /* score of a load: an access for a vector of different elements */
  BROADCAST = 1,  /* an access for a vector of one element */
  APART = -4      /* an access for each lane */
};

static int lane_score_of(loop_nest *n, ir_ref load, ir_ref range, int64_t block, int apart) {
  int64_t stride;
  if (!loop_lane_stride(n, ir_src(n->g, load, 1), range, block, &stride)) return apart;
  return stride == 0 ? BROADCAST : stride == 1 || stride == -1 ? CONTIGUOUS : apart;
}

int loop_lane_score(loop_nest *n, ir_ref root, ir_ref range, int64_t block) {
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, root, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  int score = 0;
  for (uint32_t i = 0; i < count; i++) score += lane_score_of(n, loads[i], range, block, APART);
  return score;
}

int loop_lane_score_of_terms(loop_nest *n, ir_ref reduce, ir_ref range, int64_t block, int apart) {
  const ir_node *r = ir_get(n->g, reduce);
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, r->src[0], IR_OP_LOAD, loads, LOOP_MAX_NODES);
  int score = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool hoisted = true;
    for (uint32_t k = 1; k < r->nsrc && hoisted; k++)
      hoisted = !affine_depends(n->g, ir_src(n->g, loads[i], 1), r->src[k]);
    score += hoisted ? 0 : lane_score_of(n, loads[i], range, block, apart);
    r = ir_get(n->g, reduce); /* strides may add nodes */
  }
  return score;
}

bool loop_multiplies(const ir_graph *g, ir_ref reduce) {
  ir_op term = ir_op_of(g, ir_src(g, reduce, 0));
  bool product = term == IR_OP_FMA || term == IR_OP_MUL || term == IR_OP_DOT2 || term == IR_OP_DOT4 ||
                 term == IR_OP_FMA2;
  return product && ir_arg_int(ir_get(g, reduce)) == IR_OP_ADD;
}

bool loop_moves_with(loop_nest *n, const ir_ref *loads, uint32_t count, ir_ref lane, ir_ref range) {
  for (uint32_t i = 0; i < count; i++)
    if (affine_depends(n->g, loads[i], lane) && affine_depends(n->g, loads[i], range)) return true;
  return false;
}

/* The axis of the rows: of the axes along which no load of the lanes moves, those long enough for a tile if
 * there are any, and of these the one along which the shared loads have the smallest stride. */
loop_axis *loop_row_axis_of(loop_nest *n, const loop_axis *vector, const ir_ref *loads, uint32_t count) {
  loop_axis *best = NULL;
  int64_t least = INT64_MAX, stride, longest = 0;
  for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
    if (a == vector || loop_moves_with(n, loads, count, vector->range, a->range)) continue;
    int64_t height = ir_bounds_of(n->g, a->extent).hi;
    if (height > LOOP_TILE_ROWS) height = LOOP_TILE_ROWS;
    for (uint32_t i = 0; i < count; i++) {
      if (!affine_depends(n->g, loads[i], a->range)) continue;
      if (!affine_stride(n->g, ir_src(n->g, loads[i], 1), a->range, &stride)) stride = INT64_MAX - 1;
      if (stride < 0) stride = -stride;
      if (height > longest || (height == longest && stride < least))
        longest = height, least = stride, best = a;
    }
  }
  return best;
}

loop_axis *loop_row_axis(loop_nest *n, const loop_axis *vector, ir_ref reduce) {
  ir_ref loads[LOOP_MAX_TERM_LOADS];
  uint32_t count = affine_find_range(n->g, ir_src(n->g, reduce, 0), IR_OP_LOAD, loads, LOOP_MAX_TERM_LOADS);
  return loop_row_axis_of(n, vector, loads, count);
}

static bool has_product(loop_nest *n) {
  ir_ref reduces[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_REDUCE, reduces, LOOP_MAX_NODES);
  bool product = false;
  for (uint32_t i = 0; i < count; i++) product |= loop_multiplies(n->g, reduces[i]);
  return product;
}

/* Not where elements depend on the output, nor where they are loaded at the index that is stored to: such a
 * kernel can overwrite its input. For a product whole tiles are worth more than that, as behind a
 * convolution to whose rows of 7 or 14 others are added. */
bool loop_is_repeatable(loop_nest *n) {
  ir_ref loads[LOOP_MAX_NODES];
  const ir_node *store = ir_get(n->g, n->store);
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  bool product = has_product(n);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *load = ir_get(n->g, loads[i]);
    if (load->src[0] == store->src[0] || (load->src[1] == store->src[1] && !product)) return false;
  }
  return count < LOOP_MAX_NODES;
}

ir_ref loop_distance_along(ir_graph *g, ir_ref index, ir_ref range) {
  ir_ref next = pass_add_int(g, range, 1), then = next ? pass_substitute(g, index, &range, &next, 1) : 0;
  ir_ref apart = then ? pass_sub(g, then, index) : 0;
  return apart && !affine_depends(g, apart, range) ? apart : 0;
}
