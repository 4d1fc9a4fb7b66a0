/* Remainders in vectors: a last step that overlaps, where it repeats little; else ever narrower vectors. */
#include "cpu.h"

bool loop_vectors_overlap_last(const loop_nest *n, const loop_level *level, int64_t elements) {
  const loop_axis *axis = &n->axes[level->axis];
  int64_t size, step = level->step, remainder = elements % step;
  return axis->overlaps && ir_is_const(n->g, axis->extent, &size) && size >= step && remainder != 0 &&
         (step == (int64_t)axis->unroll * axis->lanes || step == axis->block) &&
         LOOP_OVERLAP_SHARE * (step - remainder) <= size &&
         (axis->lanes == 1 || (remainder + axis->lanes - 1) / axis->lanes == axis->unroll);
}

ir_ref loop_place_single(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  return loop_place_steps(p, d, left, start, 1);
}

int64_t loop_power_below(int64_t elements) {
  int64_t width = 1;
  while (2 * width <= elements) width *= 2;
  return width;
}
