/* Remainders of groups: work-items that have something to do twice cost nothing, and a group may have any
 * number of them. */
#include "gpu.h"

#include "passes/index/index.h"

bool loop_groups_overlap_last(const loop_nest *n, const loop_level *level, int64_t elements) {
  const loop_axis *axis = &n->axes[level->axis];
  int64_t size;
  return axis->overlaps && ir_is_const(n->g, axis->extent, &size) && size >= level->step &&
         elements % level->step != 0;
}

ir_ref loop_shift_last(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  ir_graph *g = p->n->g;
  loop_level level = p->n->levels[d];
  const loop_axis *axis = &p->n->axes[level.axis];
  int64_t elements, step = level.step;
  if (!axis->overlaps || level.binding != IR_UNROLL || step != axis->lanes ||
      !ir_is_const(g, left, &elements) || elements <= step || elements % step == 0)
    return 0;
  ir_ref range = loop_fresh_range(p->n, ir_index(g, (elements + step - 1) / step));
  if (!range) return 0;
  ir_ref at = pass_min(g, pass_mul_int(g, range, step), ir_index(g, elements - step));
  p->lanes[p->lane_count] = range;
  p->bindings[p->lane_count++] = IR_UNROLL;
  ir_ref effect = loop_place_inside(p, d, pass_add(g, start, at), ir_index(g, step));
  p->lane_count--;
  return effect;
}

ir_ref loop_place_narrowing(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  enum { NARROWINGS = 8 }; /* widths that are tried: five lead from 1024 work-items down to one by quarters */
  ir_graph *g = p->n->g;
  ir_ref effects[NARROWINGS];
  uint32_t count = 0;
  int64_t width = p->n->axes[p->n->levels[d].axis].lanes;
  while (width > 1 && count < NARROWINGS) {
    width = width > 4 ? width / 4 : 1;
    ir_ref iterations = pass_div_int(g, left, width);
    if (ir_bounds_of(g, iterations).hi > 0) {
      ir_ref range = loop_fresh_range(p->n, iterations),
             at = pass_add(g, start, pass_mul_int(g, range, width));
      effects[count++] = loop_wrap(g, range, IR_SERIAL, loop_place_lanes(p, d, width, at, 1, 1, IR_VECTOR));
    }
    start = pass_add(g, start, pass_mul_int(g, iterations, width)), left = pass_mod_int(g, left, width);
  }
  return loop_sequence(g, effects, count);
}
