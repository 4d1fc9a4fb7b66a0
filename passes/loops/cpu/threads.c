/* Which levels of a nest are divided into blocks that threads share. */
#include "cpu.h"

#include <string.h>

enum {
  /* elements, times terms, of a thread block: those of f32, read, computed and written, are about half of
   * what a thread takes at a time (CHUNK_WORK of runtime/program/frame.c) */
  MIN_BLOCK_WORK = 4096,
  ENOUGH_BLOCKS = 7, /* of images of 7 x 7, whose rows are blocks: for a few threads */
  MAX_BLOCKS = 64 /* blocks from which on no further axis is divided: several for each of a dozen threads */
};

/* Work at one iteration point of the outer `depth` axes, in nesting order. */
static int64_t work_below(loop_nest *n, uint32_t depth, int64_t inside) {
  for (uint32_t i = depth; i < n->axis_count; i++)
    inside = loop_times(inside, ir_bounds_of(n->g, n->axes[n->order[i]].extent).hi);
  return inside;
}

static bool divides(const loop_nest *n, const loop_level *level, int64_t together) {
  int64_t size;
  return together == 1 ||
         (ir_is_const(n->g, n->axes[level->axis].extent, &size) && size % (together * level->step) == 0);
}

/* Do masks depend on an axis of which several elements are computed at one time? As long as its steps are a
 * loop of their own, most of these masks are decided by what the loop runs over. */
static bool is_masked_tile(loop_nest *n, const loop_axis *a) {
  ir_ref loads[LOOP_MAX_LOADS];
  uint32_t count = a->unroll > 1 ? affine_find_range(n->g, n->store, IR_OP_LOAD, loads, LOOP_MAX_LOADS) : 0;
  bool masked = false;
  for (uint32_t i = 0; i < count && !masked; i++)
    masked = affine_depends(n->g, ir_src(n->g, loads[i], 2), a->range);
  return masked;
}

/* Of an axis whose size is a variable no blocks are made where there are enough: each would find out by
 * division which one it is, and which remainder. 12 products of 64 x 64 by 64, of at least 57, took 1.13
 * times as long so as of a known number. */
void loop_bind_threads(loop_nest *n, int64_t inside) {
  int64_t blocks = 1;
  uint32_t divided = 0; /* levels up to the last that makes several blocks */
  for (uint32_t d = 0; d < n->level_count && d < n->axis_count && blocks < MAX_BLOCKS; d++) {
    loop_level *level = &n->levels[d];
    int64_t size = ir_bounds_of(n->g, n->axes[level->axis].extent).hi, together = 1;
    int64_t work = work_below(n, d + 1, inside);
    if (!loop_may_thread(n, level->axis)) break;
    if (blocks >= ENOUGH_BLOCKS && is_masked_tile(n, &n->axes[level->axis])) break;
    if (blocks >= ENOUGH_BLOCKS && !ir_is_const(n->g, n->axes[level->axis].extent, NULL)) break;
    inside = loop_times(inside, level->step < size ? level->step : size); /* for the levels further in */
    if (level->step >= size) continue; /* a single step: levels further in may still make several blocks */
    while (loop_times(work, together * level->step) < MIN_BLOCK_WORK) together *= 2;
    int64_t repeats = n->axes[level->axis].repeats;
    while (repeats && repeats % together) together /= 2; /* two that store the same are in one block */
    while (n->has_locals && !divides(n, level, together))
      together /= 2;                           /* a local belongs to one loop: no remainder */
    if (together * level->step >= size) break; /* not worth two blocks */
    blocks = loop_times(blocks, size / (together * level->step));
    divided = d + 1;
    if (repeats && together == 1) break; /* axes further in would divide what two of its indices both store */
    if (together == 1) continue;
    if (n->level_count == MAX_LEVELS) break;
    memmove(level + 1, level, (n->level_count++ - d) * sizeof *level);
    *level = (loop_level){level[1].axis, together * level[1].step, IR_SERIAL};
    break;
  }
  while (divided > 0) n->levels[--divided].binding = IR_THREAD;
}
