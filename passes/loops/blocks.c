/* The loop over thread blocks around all nests of a kernel.
 *
 * Blocks are numbered through all nests in sequence, and in each nest through the whole steps and the
 * remainders of its thread levels. No two blocks of a processor's kernel store the same element: where a last
 * step begins further back, for it to be whole, it is in one block with the step that it overlaps. */
#include "loops.h"

#include "passes/index/index.h"

/* Boxes of one kernel [14 in the workloads]: those of eight thread levels with a remainder each; a kernel of
 * more is refused (IR_ERR_INTERNAL). */
enum { MAX_BOXES = 256 };

/* A box of equal thread blocks: either the whole steps or the remainder of each thread level. */
typedef struct block_box {
  loop_group *group;
  uint32_t remainders; /* bit t: the remainder of thread level t, not its whole steps */
  ir_ref blocks;
} block_box;

/* How a thread level does what fills no whole step of its axis, of a constant size. */
typedef enum last_block {
  LAST_APART,    /* in loops of its own, or with fewer steps in those of whole ones */
  LAST_OVERLAPS, /* in a block of its own, which begins further back: two blocks store the same elements */
  LAST_JOINED    /* in a step that begins further back, in the block of the last whole step */
} last_block;

static bool has_size(const loop_group *group, uint32_t t, int64_t *size) {
  return ir_is_const(group->nest.g, group->nest.axes[group->nest.levels[t].axis].extent, size);
}

static bool overlaps_last(const loop_group *group, uint32_t t, int64_t *size) {
  return has_size(group, t, size) &&
         group->nest.strategy->overlaps_last(&group->nest, &group->nest.levels[t], *size);
}

/* Blocks of whole steps of all thread levels. */
static int64_t whole_blocks(const loop_group *group) {
  const loop_nest *n = &group->nest;
  int64_t blocks = 1;
  for (uint32_t t = 0; t < group->threads; t++)
    blocks = loop_times(blocks, ir_bounds_of(n->g, n->axes[n->levels[t].axis].extent).hi / n->levels[t].step);
  return blocks;
}

/* Would blocks of so many indices divide the last two of a period, which store the same elements? Of more
 * than a period, which only moves by hand ask for, some would, and do. */
static bool divides_repeated(int64_t size, int64_t repeats, int64_t step) {
  if (step == 1 || step >= repeats) return step == 1 && repeats;
  return size == repeats ? size % step == 1 : repeats % step != 0;
}

/* *size: indices after which blocks begin anew, those of the axis or of its repeated part. */
static last_block last_of(const loop_group *group, uint32_t t, int64_t *size) {
  enum { JOINING_BLOCKS = 16 }; /* for up to 16 threads one of twice the work is as good as one more */
  const loop_nest *n = &group->nest;
  const loop_level *level = &n->levels[t];
  int64_t repeats = n->axes[level->axis].repeats;
  if (!n->strategy->overlaps_blocks && has_size(group, t, size) &&
      divides_repeated(*size, repeats, level->step)) {
    *size = repeats;
    return LAST_JOINED;
  }
  if (!overlaps_last(group, t, size)) return LAST_APART;
  if (n->strategy->overlaps_blocks) return LAST_OVERLAPS;
  bool one_body = n->has_locals; /* a local belongs to one loop */
  return one_body || whole_blocks(group) >= JOINING_BLOCKS ? LAST_JOINED : LAST_APART;
}

/* The steps of one period, of a level whose last step is joined to the one before. */
static int64_t joined_steps(int64_t size, int64_t step) { return (size - 1) / step; }

/* The steps of which the last block of thread level t has fewer, in the same loops; 0: a remainder has loops
 * of its own. */
static int64_t steps_inside(const loop_group *group, uint32_t t, int64_t *size) {
  ir_ref extent = group->nest.axes[group->nest.levels[t].axis].extent;
  return ir_is_const(group->nest.g, extent, size) ? loop_steps_inside(&group->nest, t, *size) : 0;
}

static ir_ref whole_steps(ir_graph *g, const loop_group *group, uint32_t t) {
  const loop_level *level = &group->nest.levels[t];
  ir_ref extent = group->nest.axes[level->axis].extent;
  int64_t size;
  last_block last = last_of(group, t, &size);
  if (last == LAST_JOINED)
    return pass_mul_int(g, pass_div_int(g, extent, size), joined_steps(size, level->step));
  if (last == LAST_OVERLAPS || steps_inside(group, t, &size)) return ir_index(g, size / level->step + 1);
  if (loop_is_one_step(&group->nest, level, extent)) return ir_index(g, 0);
  return level->step == 1 ? extent : pass_div_int(g, extent, level->step);
}

/* The number of blocks of thread level t in this box, and the number of elements in each. */
static ir_ref blocks_of_level(ir_graph *g, const block_box *box, uint32_t t, ir_ref *elements) {
  const loop_level *level = &box->group->nest.levels[t];
  bool remainder = box->remainders >> t & 1;
  ir_ref extent = box->group->nest.axes[level->axis].extent;
  int64_t size;
  bool none =
      level->step == 1 || last_of(box->group, t, &size) != LAST_APART || steps_inside(box->group, t, &size);
  *elements = ir_index(g, remainder && none ? 0 : level->step);
  bool one = loop_is_one_step(&box->group->nest, level, extent);
  if (remainder && !none) *elements = one ? extent : pass_mod_int(g, extent, level->step);
  return remainder ? ir_index(g, 1) : whole_steps(g, box->group, t);
}

/* Sets box->blocks. False where the box is empty. */
static bool count_blocks(ir_graph *g, block_box *box) {
  box->blocks = ir_index(g, 1);
  for (uint32_t t = 0; t < box->group->threads; t++) {
    ir_ref elements, blocks = blocks_of_level(g, box, t, &elements);
    if (ir_bounds_of(g, blocks).hi <= 0 || ir_bounds_of(g, elements).hi <= 0) return false;
    box->blocks = pass_mul(g, box->blocks, blocks);
  }
  if (box->group->when) box->blocks = pass_where(g, box->group->when, box->blocks, ir_index(g, 0));
  return true;
}

static bool is_one_block(ir_graph *g, ir_ref blocks) { return ir_bounds_of(g, blocks).hi <= 1; }

/* Is the box at most one block, of too little to be a block by itself? */
static bool is_small(ir_graph *g, const block_box *box) {
  int64_t size;
  for (uint32_t t = 0; t < box->group->threads; t++)
    if (box->remainders >> t & 1 && overlaps_last(box->group, t, &size))
      return false; /* nearly a whole step */
  return is_one_block(g, box->blocks);
}

/* The first element of block number `block` of a level whose indices form periods of `size` ones. The first
 * block of a period has two steps: the last whole one, and one that ends with the period and may overlap
 * that. Long blocks come first, so that no thread waits for another one's at the end. *again: the range over
 * the steps of a block. */
static ir_ref first_of_joined(loop_nest *base, ir_ref block, int64_t size, int64_t step, ir_ref *again) {
  ir_graph *g = base->g;
  int64_t steps = joined_steps(size, step);
  ir_ref period = pass_div_int(g, block, steps), digit = pass_mod_int(g, block, steps);
  ir_ref is_first = pass_max(g, ir_index(g, 0), pass_sub(g, ir_index(g, 1), digit));
  *again = loop_fresh_range(base, pass_add_int(g, is_first, 1));
  ir_ref number =
      pass_mod_int(g, pass_add_int(g, block, steps - 1), steps); /* an index that costs understand */
  ir_ref at = pass_mul_int(g, pass_add(g, number, *again), step);
  if (size % step) at = pass_min(g, at, ir_index(g, size - step));
  return pass_add(g, pass_mul_int(g, period, size), at);
}

/* The loops inside block number `at` of the box. */
static ir_ref inside_block(loop_nest *base, const block_box *box, ir_ref at) {
  ir_graph *g = base->g;
  loop_place p = {0};
  ir_ref again[MAX_NEST];
  uint32_t joined = 0;
  for (uint32_t t = box->group->threads; t-- > 0;) {
    const loop_level *level = &box->group->nest.levels[t];
    ir_ref elements, blocks = pass_max(g, ir_index(g, 1), blocks_of_level(g, box, t, &elements));
    ir_ref block_index = t ? pass_mod(g, at, blocks) : at;
    if (t) at = pass_div(g, at, blocks);
    ir_ref first = box->remainders >> t & 1 ? pass_mul_int(g, whole_steps(g, box->group, t), level->step)
                                            : pass_mul_int(g, block_index, level->step);
    int64_t size;
    int64_t inside = steps_inside(box->group, t, &size);
    last_block last = last_of(box->group, t, &size);
    if (last == LAST_JOINED) first = first_of_joined(base, block_index, size, level->step, &again[joined++]);
    else if (last == LAST_OVERLAPS) first = pass_min(g, first, ir_index(g, size - level->step));
    else if (inside) elements = loop_left_in_block(g, block_index, size, level->step, inside);
    p.start[level->axis] = p.part_start[level->axis] = first;
    p.left[level->axis] = p.part_left[level->axis] = elements;
  }
  ir_ref effect = loop_place_group(base, box->group, &p, box->group->threads);
  for (uint32_t i = 0; i < joined; i++) effect = loop_wrap(g, again[i], IR_SERIAL, effect);
  return effect;
}

/* Loops over axes with an order, from the outermost in. */
typedef struct ordered_loops {
  ir_ref ranges[MAX_LEVELS];
  uint32_t count;
} ordered_loops;

/* The outermost loops of the effect that go over axes with an order, whatever the block. Returns what they
 * run. */
static ir_ref take_ordered(const loop_group *group, ir_ref effect, ir_ref blocks, ordered_loops *out) {
  ir_graph *g = group->nest.g;
  loop_nest n = group->nest;
  out->count = 0;
  for (uint32_t d = group->threads; d < n.level_count && loop_is_ordered(&n, n.levels[d].axis); d++) {
    const ir_node *loop = ir_get(g, effect);
    if (loop->op != IR_OP_LOOP || ir_arg_mode(loop) != IR_SERIAL || loop->nsrc != 2 ||
        affine_depends(g, ir_src(g, loop->src[0], 0), blocks))
      break;
    out->ranges[out->count++] = loop->src[0];
    effect = loop->src[1];
  }
  return effect;
}

static ir_ref wrap_ordered(ir_graph *g, ordered_loops *loops, ir_ref effect) {
  while (loops->count > 0) effect = loop_wrap(g, loops->ranges[--loops->count], IR_SERIAL, effect);
  return effect;
}

/* The effect of another box, inside of ordered loops as long, over the ranges `around`. 0: its own loops are
 * other ones, or memory is short. */
static ir_ref share_ordered(ir_graph *g, const ordered_loops *around, const ordered_loops *own,
                            ir_ref effect) {
  bool same = around->count == own->count;
  for (uint32_t i = 0; i < own->count && same; i++)
    same = ir_src(g, around->ranges[i], 0) == ir_src(g, own->ranges[i], 0);
  if (!same) return 0;
  if (own->count == 0) return effect;
  return ir_replace(g, own->ranges, around->ranges, own->count, &effect, 1) == IR_OK ? effect : 0;
}

/* The loops of thread block number `block`, if it is in the box, whose blocks are numbered from `first` on.
 * Other blocks do nothing: the loop around the box has trip count 0. alone: there are no other boxes.
 * *ordered: the loops over axes with an order that the caller puts around; NULL: they stay inside. */
static ir_ref block_of(loop_nest *base, const block_box *box, ir_ref block, ir_ref first, bool alone,
                       ordered_loops *ordered) {
  ir_graph *g = base->g;
  ir_ref zero = ir_index(g, 0), one = ir_index(g, 1), at = pass_sub(g, block, first);
  ir_ref within = pass_min(g, pass_add_int(g, at, 1), pass_sub(g, box->blocks, at));
  ir_ref runs = alone ? one : pass_max(g, zero, pass_min(g, one, within));
  int64_t known;
  at = alone ? block : pass_max(g, zero, pass_min(g, at, pass_add_int(g, box->blocks, -1)));
  ir_ref range = ir_is_const(g, runs, &known) && known == 1 ? 0 : loop_fresh_range(base, runs);
  ir_ref effect = inside_block(base, box, at);
  if (effect && ordered) effect = take_ordered(box->group, effect, base->bound[0], ordered);
  return range && effect ? loop_wrap(g, range, IR_SERIAL, effect) : effect;
}

static bool find_boxes(loop_nest *base, loop_group *group, block_box *boxes, uint32_t *count) {
  for (uint32_t remainders = 0; remainders >> group->threads == 0; remainders++) {
    block_box box = {.group = group, .remainders = remainders};
    if (!count_blocks(base->g, &box)) continue;
    if (*count == MAX_BOXES) {
      ir_fail(base->g->error, IR_ERR_INTERNAL,
              "a kernel has more than %d combinations of full and remainder thread blocks", MAX_BOXES);
      return false;
    }
    boxes[(*count)++] = box;
  }
  return true;
}

/* Boxes of several blocks are numbered in sequence; a box of one small block runs in block 0. Loops over axes
 * with an order stand around the loop over blocks, so that a thread reads all of a row that its blocks hold
 * before the next row: adding 13258 rows of 1024 f32 takes one thread 0.5 to 0.6 of the time that a block
 * after the other takes, 52858 rows of 97 f32 0.3 of it (Zen 4). */
ir_ref loop_thread_blocks(loop_nest *base, loop_group *groups, uint32_t group_count) {
  ir_graph *g = base->g;
  block_box boxes[MAX_BOXES];
  ir_ref effects[MAX_BOXES], zero = ir_index(g, 0), total = zero, first = zero;
  uint32_t count = 0, singles = 0, made = 0;
  for (uint32_t i = 0; i < group_count; i++)
    if (!find_boxes(base, &groups[i], boxes, &count)) return 0;
  for (uint32_t i = 0; i < count; i++) {
    if (is_small(g, &boxes[i])) singles++;
    else total = pass_add(g, total, boxes[i].blocks);
  }
  if (singles || !count) total = pass_max(g, total, ir_index(g, 1));
  bool alone = count == 1 && (!singles || ir_bounds_of(g, boxes[0].blocks).lo == 1);
  bool orders = group_count == 1 && groups[0].count == 1 && groups[0].threads &&
                groups[0].nest.strategy->orders_around_blocks;
  ir_ref range = loop_fresh_range(base, total), block = is_one_block(g, total) ? zero : range;
  base->bound = &range, base->bound_count = 1;
  ordered_loops around = {.count = 0}, own = {.count = 0};
  for (uint32_t i = 0; i < count; i++) {
    bool single = is_small(g, &boxes[i]);
    ir_ref effect = block_of(base, &boxes[i], block, single ? zero : first, alone, orders ? &own : NULL);
    if (!effect) return 0;
    if (i == 0) around = own;
    ir_ref shared = share_ordered(g, &around, &own, effect);
    if (!shared) {
      effects[0] = wrap_ordered(g, &around, loop_sequence(g, effects, made)), made = 1;
      shared = wrap_ordered(g, &own, effect);
    }
    effects[made++] = shared;
    if (!single) first = pass_add(g, first, boxes[i].blocks);
  }
  ir_ref effect = loop_sequence(g, effects, made);
  if (is_one_block(g, total)) effect = wrap_ordered(g, &around, effect);
  return wrap_ordered(g, &around, loop_wrap(g, range, IR_THREAD, effect));
}
