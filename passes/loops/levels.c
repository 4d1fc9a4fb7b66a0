/* How the axes of a store are split into levels, and the order of these. */
#include "loops.h"

#include "passes/index/index.h"

int64_t loop_times(int64_t work, int64_t size) {
  if (size < 1) size = 1;
  return size >= LOOP_MAX_WORK || work >= LOOP_MAX_WORK / size ? LOOP_MAX_WORK : work * size;
}

int64_t loop_work_inside(loop_nest *n, uint32_t axis) {
  /* reductions whose terms count [2 in the workloads]: of more, work is underestimated */
  enum { MAX_REDUCES = 8 };
  ir_ref reduces[MAX_REDUCES];
  int64_t work = 1;
  for (uint32_t a = axis; a < n->axis_count; a++)
    work = loop_times(work, ir_bounds_of(n->g, n->axes[a].extent).hi);
  for (uint32_t k = affine_find_range(n->g, n->store, IR_OP_REDUCE, reduces, MAX_REDUCES); k-- > 0;) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    for (uint32_t i = 1; i < r->nsrc; i++)
      if (ir_op_of(n->g, r->src[i]) == IR_OP_RANGE)
        work = loop_times(work, ir_bounds_of(n->g, ir_src(n->g, r->src[i], 0)).hi);
  }
  return work;
}

static void add_level(loop_nest *n, uint32_t axis, int64_t step, int binding) {
  if (n->level_count < MAX_LEVELS) n->levels[n->level_count++] = (loop_level){axis, step, binding};
}

static int contiguous_of(const loop_axis *a) { return a->contiguous_elements ? a->contiguous_elements : 1; }

static int64_t step_of(const loop_axis *a) { return (int64_t)a->unroll * a->lanes; }

/* Thread blocks are counted before the kernel runs: the extent must not depend on other axes or on loads. */
bool loop_may_thread(loop_nest *n, uint32_t axis) {
  static const ir_op late[] = {IR_OP_RANGE, IR_OP_LOAD, IR_OP_BOUND};
  ir_ref found;
  for (size_t i = 0; i < sizeof late / sizeof *late; i++)
    if (affine_find_range(n->g, n->axes[axis].extent, late[i], &found, 1)) return false;
  return !loop_is_ordered(n, axis);
}

/* Unrolled values, of axes with vector lanes or without. Those without come first, and so do their values in
 * the code: what an element of a row is multiplied with, the vectors of a few columns, stays in registers
 * beside the sums, while the elements of all rows would need more than there are. Of 16 registers 12 are sums
 * of a tile of 6 x 2: products whose lanes run along the outer axis took 1.8 times as long on Zen 3. */
static void add_unrolled(loop_nest *n, bool with_lanes) {
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (n->axes[a].unroll > contiguous_of(&n->axes[a]) && (n->axes[a].lanes > 1) == with_lanes)
      add_level(n, a, n->axes[a].lanes * contiguous_of(&n->axes[a]), IR_UNROLL);
}

void loop_choose_levels(loop_nest *n, bool threads, int64_t inside) {
  n->level_count = 0;
  for (uint32_t i = 0; i < n->axis_count; i++) {
    const loop_axis *axis = &n->axes[n->order[i]];
    add_level(n, n->order[i], axis->block ? axis->block : step_of(axis), IR_SERIAL);
  }
  for (uint32_t i = 0; i < n->axis_count; i++)
    if (n->axes[n->order[i]].block) add_level(n, n->order[i], step_of(&n->axes[n->order[i]]), IR_SERIAL);
  add_unrolled(n, false);
  add_unrolled(n, true);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (n->axes[a].lanes > 1 && a != n->lane_axis) add_level(n, a, contiguous_of(&n->axes[a]), IR_VECTOR);
  if (n->lane_axis < n->axis_count && n->axes[n->lane_axis].lanes > 1)
    add_level(n, n->lane_axis, contiguous_of(&n->axes[n->lane_axis]), IR_VECTOR);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (contiguous_of(&n->axes[a]) > 1) add_level(n, a, 1, IR_UNROLL);
  if (threads) n->strategy->bind_outermost(n, inside);
}

static bool is_unrolled(const loop_nest *n) {
  for (uint32_t i = 0; i < n->level_count; i++)
    if (n->levels[i].binding == IR_UNROLL) return true;
  return false;
}

int64_t loop_steps_inside(const loop_nest *n, uint32_t d, int64_t elements) {
  const loop_level *level = &n->levels[d];
  if (!is_unrolled(n)) return 0;
  uint32_t inner = d + 1;
  while (inner < n->level_count && n->levels[inner].axis != level->axis) inner++;
  if (inner == n->level_count || n->levels[inner].binding != IR_SERIAL) return 0;
  int64_t step = n->levels[inner].step, remainder = elements % level->step;
  return elements > level->step && remainder && remainder % step == 0 && level->step % step == 0 ? step : 0;
}

ir_ref loop_left_in_block(ir_graph *g, ir_ref block, int64_t size, int64_t step, int64_t inside) {
  int64_t whole = step / inside;
  ir_ref left = pass_sub(g, ir_index(g, size / inside), pass_mul_int(g, block, whole));
  return pass_mul_int(g, pass_min(g, left, ir_index(g, whole)), inside);
}
