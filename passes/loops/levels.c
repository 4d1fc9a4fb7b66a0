/* How the axes of a store are cut into digits, and in which order these stand. */
#include "loops.h"

#include "passes/loops/gpu/gpu.h"

#include <string.h>

enum { MIN_BLOCK = 4096, MANY_BLOCKS = 64 };

static int64_t times(int64_t work, int64_t size) {
  if (size < 1) size = 1;
  return size >= LOOP_MUCH || work >= LOOP_MUCH / size ? LOOP_MUCH : work * size;
}

int64_t loop_work_inside(loop_nest *n, uint32_t axis) {
  enum { ROOM = 8 };
  ir_ref reduces[ROOM];
  int64_t work = 1;
  for (uint32_t a = axis; a < n->axis_count; a++)
    work = times(work, ir_bounds_of(n->g, n->axes[a].extent).hi);
  for (uint32_t k = loop_find(n->g, n->store, IR_OP_REDUCE, reduces, ROOM); k-- > 0;) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    for (uint32_t i = 1; i < r->nsrc; i++)
      if (ir_op_of(n->g, r->src[i]) == IR_OP_RANGE)
        work = times(work, ir_bounds_of(n->g, ir_src(n->g, r->src[i], 0)).hi);
  }
  return work;
}

static void add(loop_nest *n, uint32_t axis, int64_t step, int binding) {
  if (n->digit_count < MAX_DIGITS) n->digits[n->digit_count++] = (loop_digit){axis, step, binding};
}

static int beside(const loop_axis *a) { return a->beside ? a->beside : 1; }

static int64_t step_of(const loop_axis *a) { return (int64_t)a->unroll * a->lanes; }

/* Blocks are counted before the kernel runs: not by other axes, nor by elements. */
bool loop_takes_threads(loop_nest *n, uint32_t axis) {
  static const ir_op late[] = {IR_OP_RANGE, IR_OP_LOAD, IR_OP_BOUND};
  ir_ref found;
  for (size_t i = 0; i < sizeof late / sizeof *late; i++)
    if (loop_find(n->g, n->axes[axis].extent, late[i], &found, 1)) return false;
  return !loop_is_ordered(n, axis);
}

/* Work at one position of the axes that are nested `depth` deep and further out. */
static int64_t work_below(loop_nest *n, uint32_t depth, int64_t inside) {
  for (uint32_t i = depth; i < n->axis_count; i++)
    inside = times(inside, ir_bounds_of(n->g, n->axes[n->order[i]].extent).hi);
  return inside;
}

static bool divides(const loop_nest *n, const loop_digit *digit, int64_t together) {
  int64_t size;
  return together == 1 ||
         (ir_is_const(n->g, n->axes[digit->axis].extent, &size) && size % (together * digit->step) == 0);
}

/* Blocks, each worth about MIN_BLOCK elements: positions of the outermost axes, as many of these as make
 * MANY_BLOCKS, and of the last one so many steps together as are worth it. */
static void bind_threads(loop_nest *n, int64_t inside) {
  int64_t blocks = 1;
  uint32_t divided = 0; /* digits up to the last of several blocks */
  for (uint32_t d = 0; d < n->digit_count && d < n->axis_count && blocks < MANY_BLOCKS; d++) {
    loop_digit *digit = &n->digits[d];
    int64_t size = ir_bounds_of(n->g, n->axes[digit->axis].extent).hi, together = 1;
    int64_t work = work_below(n, d + 1, inside);
    if (!loop_takes_threads(n, digit->axis)) break;
    inside = times(inside, digit->step < size ? digit->step : size); /* for the digits further in */
    if (digit->step >= size) continue; /* a single step, of which axes further in may make several blocks */
    while (times(work, together * digit->step) < MIN_BLOCK) together *= 2;
    while (n->has_locals && !divides(n, digit, together))
      together /= 2;                           /* locals are for one kind of round */
    if (together * digit->step >= size) break; /* not worth two blocks */
    blocks = times(blocks, size / (together * digit->step));
    divided = d + 1;
    if (together == 1) continue;
    if (n->digit_count == MAX_DIGITS) break;
    memmove(digit + 1, digit, (n->digit_count++ - d) * sizeof *digit);
    *digit = (loop_digit){digit[1].axis, together * digit[1].step, IR_SERIAL};
    break;
  }
  while (divided > 0) n->digits[--divided].binding = IR_THREAD;
}

void loop_choose_digits(loop_nest *n, bool threads, int64_t inside) {
  n->digit_count = 0;
  for (uint32_t i = 0; i < n->axis_count; i++) {
    const loop_axis *axis = &n->axes[n->order[i]];
    add(n, n->order[i], axis->block ? axis->block : step_of(axis), IR_SERIAL);
  }
  for (uint32_t i = 0; i < n->axis_count; i++)
    if (n->axes[n->order[i]].block) add(n, n->order[i], step_of(&n->axes[n->order[i]]), IR_SERIAL);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (n->axes[a].unroll > beside(&n->axes[a])) add(n, a, n->axes[a].lanes * beside(&n->axes[a]), IR_UNROLL);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (n->axes[a].lanes > 1 && a != n->along) add(n, a, beside(&n->axes[a]), IR_VECTOR);
  if (n->along < n->axis_count && n->axes[n->along].lanes > 1)
    add(n, n->along, beside(&n->axes[n->along]), IR_VECTOR);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (beside(&n->axes[a]) > 1) add(n, a, 1, IR_UNROLL);
  if (threads && n->target->lanes) loop_bind_groups(n);
  else if (threads) bind_threads(n, inside);
}
