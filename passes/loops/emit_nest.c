/* The loop nest of a store, from its levels.
 *
 * Each level splits what the levels further out have left of its axis into whole steps and a remainder. Both
 * are placed with the levels further in, so every combination of whole steps and remainders has loops of its
 * own, of constant trip counts where the axes' sizes are constants. Lane loops stand innermost, around the
 * store, so that the serial loops of a reduction run once for all lanes. */
#include "loops.h"

#include "passes/index/index.h"

#include <string.h>

static bool is_zero(ir_graph *g, ir_ref size) {
  int64_t value;
  return ir_is_const(g, size, &value) && value == 0;
}

ir_ref loop_place_inside(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  uint32_t axis = p->n->levels[d].axis;
  ir_ref outer_start = p->start[axis], outer_left = p->left[axis];
  p->start[axis] = start, p->left[axis] = left;
  ir_ref effect = loop_place_from(p, d + 1);
  p->start[axis] = outer_start, p->left[axis] = outer_left;
  return effect;
}

ir_ref loop_place_steps(loop_place *p, uint32_t d, ir_ref count, ir_ref start, int64_t step) {
  ir_graph *g = p->n->g;
  int64_t known;
  if (ir_is_const(g, count, &known) && known == 1) return loop_place_inside(p, d, start, ir_index(g, step));
  ir_ref range = loop_fresh_range(p->n, count);
  ir_ref effect =
      loop_place_inside(p, d, pass_add(g, start, pass_mul_int(g, range, step)), ir_index(g, step));
  return loop_wrap(g, range, IR_SERIAL, effect);
}

/* Lanes of `size` elements each, that of the range from `at` on. */
static ir_ref place_lanes_at(loop_place *p, uint32_t d, ir_ref range, ir_ref at, int64_t size, int binding) {
  p->lanes[p->lane_count] = range;
  p->bindings[p->lane_count++] = binding;
  ir_ref effect = loop_place_inside(p, d, at, ir_index(p->n->g, size));
  p->lane_count--;
  return effect;
}

ir_ref loop_place_lanes(loop_place *p, uint32_t d, int64_t count, ir_ref start, int64_t step, int64_t size,
                        int binding) {
  ir_graph *g = p->n->g;
  if (count == 1) return loop_place_inside(p, d, start, ir_index(g, size));
  ir_ref range = loop_fresh_range(p->n, ir_index(g, count));
  return range ? place_lanes_at(p, d, range, pass_add(g, start, pass_mul_int(g, range, step)), size, binding)
               : 0;
}

/* Where a step of `length` elements begins that has those from start on, and further back than that if the
 * axis ends before: what a thread computes of it, of one that is divided among threads. 0: it has not so
 * many. */
static ir_ref overlapped_start(loop_place *p, uint32_t axis, ir_ref start, int64_t length) {
  ir_graph *g = p->n->g;
  int64_t size;
  ir_ref left = p->part_left[axis] ? p->part_left[axis] : p->n->axes[axis].extent;
  if (!ir_is_const(g, left, &size) || size < length) return 0;
  ir_ref last =
      p->part_left[axis] ? pass_add_int(g, p->part_start[axis], size - length) : ir_index(g, size - length);
  return pass_min(g, start, last);
}

/* Overlapped steps: all are whole, and the last one begins further back, so that it ends with what is left
 * and repeats elements of the one before. Unrolled code is long: it then has one body for all steps. 0 where
 * that is not possible. */
static ir_ref place_overlapped_steps(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  ir_graph *g = p->n->g;
  loop_level level = p->n->levels[d];
  const loop_axis *axis = &p->n->axes[level.axis];
  int64_t elements, step = level.step;
  if (level.binding != IR_SERIAL || !ir_is_const(g, left, &elements) ||
      !p->n->strategy->overlaps_last(p->n, &level, elements))
    return 0;
  if (elements < step) {
    ir_ref at = overlapped_start(p, level.axis, start, step);
    return at ? loop_place_inside(p, d, at, ir_index(g, step)) : 0;
  }
  ir_ref last = pass_add_int(g, start, elements - step), whole = ir_index(g, elements / step);
  if (axis->unroll == 1) {
    ir_ref effects[] = {loop_place_steps(p, d, whole, start, step),
                        loop_place_inside(p, d, last, ir_index(g, step))};
    return loop_sequence(g, effects, 2);
  }
  ir_ref range = loop_fresh_range(p->n, pass_add_int(g, whole, 1));
  ir_ref at = pass_min(g, pass_add(g, start, pass_mul_int(g, range, step)), last);
  return loop_wrap(g, range, IR_SERIAL, loop_place_inside(p, d, at, ir_index(g, step)));
}

/* Overlapped vectors: unrolled vectors at equal distances of less than a vector, or the last one less far
 * than the others, as one tile for a number of elements that no whole vectors fill. 0 where that is not
 * possible. */
static ir_ref place_overlapped_vectors(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  loop_level level = p->n->levels[d];
  const loop_axis *axis = &p->n->axes[level.axis];
  int64_t elements, step = level.step;
  if (!axis->overlaps || level.binding != IR_UNROLL || step != axis->lanes ||
      !ir_is_const(p->n->g, left, &elements) || elements <= step || elements % step == 0)
    return 0;
  int64_t gaps = elements / step, apart = (elements - step) / gaps;
  if (apart * gaps == elements - step) return loop_place_lanes(p, d, gaps + 1, start, apart, step, IR_UNROLL);
  ir_graph *g = p->n->g;
  ir_ref range = loop_fresh_range(p->n, ir_index(g, gaps + 1));
  ir_ref at = range ? pass_min(g, pass_mul_int(g, range, step), ir_index(g, elements - step)) : 0;
  return at ? place_lanes_at(p, d, range, pass_add(g, start, at), step, IR_UNROLL) : 0;
}

/* Blocks, the last of which has fewer steps of the next level: one body serves all. 0 where the remainder is
 * no whole steps. */
static ir_ref place_blocks(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  ir_graph *g = p->n->g;
  int64_t elements, inside, step = p->n->levels[d].step;
  if (p->n->levels[d].binding != IR_SERIAL || !ir_is_const(g, left, &elements) ||
      !(inside = loop_steps_inside(p->n, d, elements)))
    return 0;
  ir_ref range = loop_fresh_range(p->n, ir_index(g, elements / step + 1));
  ir_ref at = pass_add(g, start, pass_mul_int(g, range, step));
  ir_ref effect = loop_place_inside(p, d, at, loop_left_in_block(g, range, elements, step, inside));
  return loop_wrap(g, range, IR_SERIAL, effect);
}

/* Whole steps, as a loop or, where their number is constant and the level says so, unrolled; then the
 * remainder. */
static ir_ref place_steps_and_remainder(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  ir_graph *g = p->n->g;
  loop_level level = p->n->levels[d];
  ir_ref together = place_overlapped_steps(p, d, start, left);
  if (!together) together = place_overlapped_vectors(p, d, start, left);
  if (!together) together = p->n->strategy->shift_last(p, d, start, left);
  if (!together) together = place_blocks(p, d, start, left);
  if (!together) together = loop_place_partial(p, d, start, left);
  if (together) return together;
  bool single = level.step == 1;
  ir_ref whole = single ? left : pass_div_int(g, left, level.step), effects[2];
  ir_ref remainder = single ? ir_index(g, 0) : pass_mod_int(g, left, level.step);
  uint32_t count = 0;
  int64_t unroll;
  if (level.binding == IR_UNROLL && ir_is_const(g, whole, &unroll) && unroll > 0)
    effects[count++] = loop_place_lanes(p, d, unroll, start, level.step, level.step, IR_UNROLL);
  else if (!is_zero(g, whole)) effects[count++] = loop_place_steps(p, d, whole, start, level.step);
  if (!is_zero(g, remainder))
    effects[count++] =
        loop_place_inside(p, d, pass_add(g, start, pass_mul_int(g, whole, level.step)), remainder);
  return loop_sequence(g, effects, count);
}

/* Lanes of several contiguous elements each; elements that fill no whole lanes, one after the other. */
static ir_ref place_spread_lanes(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  ir_graph *g = p->n->g;
  int64_t elements, step = p->n->levels[d].step;
  if (!ir_is_const(g, left, &elements) || elements % step != 0) return loop_place_steps(p, d, left, start, 1);
  return loop_place_lanes(p, d, elements / step, start, step, step, IR_VECTOR);
}

/* A vector of which the first lanes alone are stored, as many as there are elements. */
static ir_ref place_masked_vector(loop_place *p, uint32_t d, ir_ref start, int64_t elements) {
  uint32_t a = p->n->levels[d].axis;
  ir_ref outer_end = p->end[a];
  p->end[a] = pass_add_int(p->n->g, start, elements);
  ir_ref effect = loop_place_lanes(p, d, p->n->axes[a].lanes, start, 1, 1, IR_VECTOR);
  p->end[a] = outer_end;
  return effect;
}

/* A vector level: a vector, then ever narrower ones for the remainder, or a vector that overlaps the one
 * before. */
static ir_ref place_narrowing_vectors(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  enum { HALVES = 16 }; /* widths that are tried: one for each bit of a number below CG_MAX_LANES = 2^10 */
  ir_graph *g = p->n->g;
  const loop_axis *axis = &p->n->axes[p->n->levels[d].axis];
  int64_t elements;
  ir_ref effects[HALVES], back;
  uint32_t count = 0;
  if (p->n->levels[d].step > 1) return place_spread_lanes(p, d, start, left);
  if (!ir_is_const(g, left, &elements)) {
    ir_ref partial = loop_place_partial(p, d, start, left);
    return partial ? partial : p->n->strategy->place_uncounted(p, d, start, left);
  }
  if (elements < axis->lanes && axis->masked) return place_masked_vector(p, d, start, elements);
  if (axis->overlaps && elements > 1 &&
      (back = overlapped_start(p, p->n->levels[d].axis, start, axis->lanes)))
    return loop_place_lanes(p, d, axis->lanes, back, 1, 1, IR_VECTOR);
  while (elements > 0 && count < HALVES) {
    int64_t width = p->n->strategy->lanes_of_remainder(elements);
    effects[count++] = loop_place_lanes(p, d, width, start, 1, 1, IR_VECTOR);
    start = pass_add_int(g, start, width), elements -= width;
  }
  return loop_sequence(g, effects, count);
}

/* The size of a whole axis; it may depend on axes that are down to one element. */
static ir_ref whole_axis(loop_place *p, uint32_t axis) {
  loop_nest *n = p->n;
  ir_ref from[MAX_NEST], to[MAX_NEST];
  uint32_t count = 0;
  int64_t left;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    if (!p->left[a] || !ir_is_const(n->g, p->left[a], &left) || left != 1) continue;
    from[count] = n->axes[a].range;
    to[count++] = p->start[a];
  }
  return pass_substitute_alone(n->g, n->axes[axis].extent, from, to, count);
}

static ir_ref place_level(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  return p->n->levels[d].binding == IR_VECTOR ? place_narrowing_vectors(p, d, start, left)
                                              : place_steps_and_remainder(p, d, start, left);
}

static bool are_lanes(const loop_nest *n, uint32_t first) {
  for (uint32_t d = first; d < n->level_count; d++)
    if (n->levels[d].binding != IR_UNROLL && n->levels[d].binding != IR_VECTOR) return false;
  return true;
}

ir_ref loop_place_from(loop_place *p, uint32_t first) {
  loop_nest *n = p->n;
  if (first == n->level_count) return p->body(p);
  if (loop_stages_here(p, first)) return loop_place_staged(p, first);
  if (!p->lane_count && (p->is_tile = are_lanes(n, first))) {
    memcpy(p->tile_start, p->start, sizeof p->start);
    memcpy(p->tile_left, p->left, sizeof p->left);
  }
  uint32_t axis = n->levels[first].axis;
  int64_t size;
  if (p->left[axis]) return place_level(p, first, p->start[axis], p->left[axis]);
  ir_ref start = ir_index(n->g, 0), left = whole_axis(p, axis);
  if (!left) return 0;
  int head = n->axes[axis].head;
  if (head == 0 || !ir_is_const(n->g, left, &size) || size <= head) return place_level(p, first, start, left);
  ir_ref effects[] = {place_level(p, first, start, ir_index(n->g, head)),
                      place_level(p, first, ir_index(n->g, head), ir_index(n->g, size - head))};
  return loop_sequence(n->g, effects, 2);
}

/* Ranges of the lane and unrolled loops around one store; at[i]: the index along the place's lanes[i]. */
typedef struct store_lanes {
  ir_ref range[MAX_LEVELS], at[MAX_LEVELS];
  int bindings[MAX_LEVELS];
  uint32_t count;
} store_lanes;

/* Each range belongs to one loop, and there is a store for every combination of whole steps and remainders:
 * so each store gets fresh ranges for the loops around it. All vector levels share one range, of which they
 * are digits. */
static void store_lanes_of(const loop_place *p, store_lanes *around) {
  ir_graph *g = p->n->g;
  ir_ref all = ir_index(g, 1), vector = 0;
  uint32_t last = 0;
  for (uint32_t i = 0; i < p->lane_count; i++) {
    if (p->bindings[i] != IR_VECTOR) continue;
    all = pass_mul(g, all, ir_src(g, p->lanes[i], 0));
    last = i;
  }
  around->count = 0;
  for (uint32_t i = 0; i < p->lane_count; i++) {
    bool is_vector = p->bindings[i] == IR_VECTOR;
    if (is_vector && i != last) continue;
    around->bindings[around->count] = p->bindings[i];
    around->at[i] = around->range[around->count++] =
        loop_fresh_range(p->n, is_vector ? all : ir_src(g, p->lanes[i], 0));
    if (is_vector) vector = around->at[i];
  }
  for (uint32_t i = p->lane_count; i-- > 0 && vector;) {
    ir_ref size = ir_src(g, p->lanes[i], 0);
    if (p->bindings[i] != IR_VECTOR) continue;
    around->at[i] = pass_mod(g, vector, size), vector = pass_div(g, vector, size);
  }
}

ir_ref loop_store_body(loop_place *p) {
  loop_nest *n = p->n;
  ir_ref from[MAX_NEST + 1], to[MAX_NEST + 1];
  uint32_t count = n->axis_count;
  store_lanes around;
  store_lanes_of(p, &around);
  for (uint32_t a = 0; a < count; a++) {
    from[a] = n->axes[a].range;
    to[a] = pass_substitute_alone(n->g, p->start[a], p->lanes, around.at, p->lane_count);
  }
  bool alone = affine_find_range(n->g, n->store, IR_OP_REDUCE, from + count, 1) == 1;
  p->before[0] = 0;
  if (alone && (to[count] = n->strategy->stage_product(p, from[count], to))) count++;
  n->lanes = around.range, n->lane_count = around.count;
  for (uint32_t i = 0; i < around.count; i++)
    if (around.bindings[i] == IR_VECTOR) n->vector = around.range[i];
  ir_ref store = loop_store_inside(p, pass_substitute_alone(n->g, n->store, from, to, count), to);
  ir_ref effect = loop_reductions(n, store);
  n->lanes = NULL, n->lane_count = 0, n->vector = 0;
  for (uint32_t i = around.count; i-- > 0;)
    effect = loop_wrap(n->g, around.range[i], around.bindings[i], effect);
  ir_ref all[] = {p->before[0], p->before[1], effect};
  return p->before[0] ? loop_sequence(n->g, all, 3) : effect;
}
