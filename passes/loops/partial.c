/* Partial steps: what fills no whole step of an axis whose size is a variable.
 *
 * Their number of elements is known when the kernel runs, so that no narrower loops can be made for it. Steps
 * of half as many vectors, of a third of the rows, or of one vector, end with the axis instead: vector lanes
 * past the end load and store nothing, and rows past the end are the last row again; where the axis is known
 * to be long enough, they begin before, and store what no other thread does. Each element is computed as in
 * whole steps, with the same bits. */
#include "loops.h"

#include "passes/index/index.h"

/* Is the axis free of loads that give the index of others, and of index checks, below the store? */
static bool loads_directly(const loop_nest *n, ir_ref range) {
  ir_ref loads[LOOP_MAX_LOADS], inner[2];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  if (count == LOOP_MAX_LOADS || affine_find_range(n->g, n->store, IR_OP_BOUND, inner, 1)) return false;
  for (uint32_t i = 0; i < count; i++)
    if (affine_depends(n->g, loads[i], range) && affine_find_range(n->g, loads[i], IR_OP_LOAD, inner, 2) > 1)
      return false;
  return true;
}

static bool has_triangle(const loop_nest *n, ir_ref range) {
  ir_ref reduces[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_REDUCE, reduces, LOOP_MAX_NODES);
  bool found = count == LOOP_MAX_NODES;
  for (uint32_t i = 0; i < count && !found; i++) found = loop_is_triangle(n->g, reduces[i], range);
  return found;
}

bool loop_masks_lanes(const loop_nest *n, const loop_axis *axis) {
  const ir_node *store = ir_get(n->g, n->store);
  return axis->lanes > 1 && !axis->contiguous_elements && !axis->head && !n->lanes_in_reduction &&
         store->op == IR_OP_STORE &&
         n->strategy->masks_stores(n->target, ir_dtypes[ir_dtype_of(n->g, store->src[0])].bytes) &&
         loads_directly(n, axis->range) && !has_triangle(n, axis->range);
}

/* Is the axis, which may be computed twice, always as long? Then steps that would pass its end begin before.
 */
static bool moves_back(const loop_nest *n, const loop_axis *axis, ir_ref end, int64_t elements) {
  const ir_node *store = ir_get(n->g, n->store);
  return axis->overlaps && ir_bounds_of(n->g, end).lo >= elements && store->op == IR_OP_STORE &&
         n->strategy->masks_stores(n->target, ir_dtypes[ir_dtype_of(n->g, store->src[0])].bytes);
}

/* May another thread store the elements from `at` on that are before this loop's? */
static bool may_be_others(const loop_place *p, uint32_t axis, ir_ref at) {
  bool threaded = false;
  for (uint32_t i = 0; i < p->n->level_count; i++)
    threaded |= p->n->levels[i].axis == axis && p->n->levels[i].binding == IR_THREAD;
  ir_ref own = threaded && p->part_start[axis] ? pass_sub(p->n->g, at, p->part_start[axis]) : 0;
  return threaded && !(own && ir_bounds_of(p->n->g, own).lo >= 0);
}

/* `count` steps from `start` on, each of `unrolled` unrolled values of `each` lanes: the levels after d. end:
 * that of the axis, which the last step would pass: it begins before, or else has masked lanes, or repeats
 * the last row. */
static ir_ref place_parts(loop_place *p, uint32_t d, ir_ref start, ir_ref count, ir_ref end, int64_t unrolled,
                          int64_t each) {
  ir_graph *g = p->n->g;
  uint32_t a = p->n->levels[d].axis;
  const loop_axis *axis = &p->n->axes[a];
  int64_t elements = each * unrolled;
  ir_ref steps = loop_fresh_range(p->n, count), outer_end = p->end[a], outer_begin = p->begin[a], effect;
  ir_ref at = steps ? pass_add(g, start, pass_mul_int(g, steps, elements)) : 0;
  ir_ref range = unrolled > 1 ? loop_fresh_range(p->n, ir_index(g, unrolled)) : 0;
  if (!at) return 0;
  bool back = moves_back(p->n, axis, end, elements);
  if (back) at = pass_min(g, at, pass_add_int(g, end, -elements));
  bool others = back && at && may_be_others(p, a, at);
  if (range) {
    p->lanes[p->lane_count] = range;
    p->bindings[p->lane_count++] = IR_UNROLL;
    at = pass_add(g, at, pass_mul_int(g, range, each));
  }
  if (others) p->begin[a] = start;
  else if (!back && each > 1) p->end[a] = end;
  else if (!back) at = pass_min(g, at, pass_add_int(g, end, -1));
  if (p->n->levels[d].binding == IR_VECTOR) effect = loop_place_lanes(p, d, each, at, 1, 1, IR_VECTOR);
  else effect = loop_place_inside(p, d, at, ir_index(g, each));
  p->end[a] = outer_end, p->begin[a] = outer_begin;
  p->lane_count -= range != 0;
  return loop_wrap(g, steps, IR_SERIAL, effect);
}

/* Are rows computed together, for which the vectors of a step are loaded once? */
static bool is_tile(const loop_nest *n, const loop_axis *vector) {
  bool tile = false;
  for (uint32_t a = 0; a < n->axis_count; a++) tile |= &n->axes[a] != vector && n->axes[a].unroll > 1;
  return tile;
}

/* Unrolled vectors of a partial step: half of those of a tile's columns, as code grows with them; else one.
 */
static int64_t in_part(const loop_nest *n, const loop_axis *axis) {
  enum { COLUMN_PARTS = 2 }; /* a tile of two vectors leaves one */
  return is_tile(n, axis) ? (axis->unroll + COLUMN_PARTS - 1) / COLUMN_PARTS : 1;
}

/* Lanes of a last step that is narrower than the others; 0: none is. Of a reduction, and of a value that is
 * computed by itself: processors that add 32 bytes at a time (Zen 4) take half the time for it, as do others
 * where f64 is computed for f32. 33 columns of a product, and sums of 65 columns, took 1.15 times as long as
 * of a known number. Where the size varies by less than a vector, as many as the largest one needs, which
 * most parts of an axis divided among devices have. */
static int64_t narrow_lanes(const loop_nest *n, const loop_axis *axis) {
  enum { WIDEST_BYTES = 64 }; /* of AVX-512; narrower vectors are added at once everywhere */
  enum { LEAST_BYTES = 16 };  /* of the narrowest registers: fewer lanes take as long in one */
  ir_ref reduce[2], value = ir_src(n->g, n->store, 2);
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_REDUCE, reduce, 2);
  bool copy = ir_op_of(n->g, value) == IR_OP_LOAD, reduces = count == 1;
  ir_dtype dtype = ir_dtype_of(n->g, reduces ? reduce[0] : value);
  bool narrows =
      (reduces || (!count && !copy && !n->shares)) && axis->lanes * ir_dtypes[dtype].bytes == WIDEST_BYTES;
  ir_bounds size = ir_bounds_of(n->g, axis->extent);
  int64_t least = LEAST_BYTES / ir_dtypes[dtype].bytes,
          over = size.hi - size.lo < axis->lanes ? size.hi % axis->lanes : 0;
  while (least < over) least *= 2;
  if (over) return narrows && least < axis->lanes ? least : 0;
  return narrows ? axis->lanes / 2 : 0;
}

/* `count`, which is 1 where the condition holds and 0 elsewhere: in a form that shows that it is no more. */
static ir_ref at_most_once(ir_graph *g, ir_ref count, ir_ref condition) {
  return ir_bounds_of(g, count).hi <= 1 ? count : pass_where(g, condition, ir_index(g, 1), ir_index(g, 0));
}

static ir_ref at_least(ir_graph *g, ir_ref size, int64_t least) {
  return pass_compare(g, IR_OP_GE, size, ir_index(g, least));
}

/* Vectors in steps of `unrolled`, of which the last one is narrow where that is enough. less: of what is less
 * than such a step. */
static ir_ref place_vectors(loop_place *p, uint32_t d, ir_ref start, ir_ref left, ir_ref end,
                            int64_t unrolled, bool less) {
  ir_graph *g = p->n->g;
  const loop_axis *axis = &p->n->axes[p->n->levels[d].axis];
  int64_t elements = unrolled * axis->lanes, narrow = narrow_lanes(p->n, axis);
  ir_ref all = pass_ceil_div(g, left, ir_index(g, elements));
  if (all && less) all = at_most_once(g, all, at_least(g, left, 1));
  if (!all || !narrow) return all ? place_parts(p, d, start, all, end, unrolled, axis->lanes) : 0;
  ir_ref whole = pass_div_int(g, pass_add_int(g, left, elements - 1 - narrow), elements);
  if (less) whole = at_most_once(g, whole, at_least(g, left, narrow + 1));
  ir_ref effects[2] = {whole ? place_parts(p, d, start, whole, end, unrolled, axis->lanes) : 0};
  ir_ref then = pass_add(g, start, pass_mul_int(g, whole, elements)), remainder = pass_sub(g, all, whole);
  int64_t none;
  if (effects[0] && ir_is_const(g, remainder, &none) && none == 0) return effects[0];
  remainder = at_most_once(
      g, remainder,
      less ? pass_and(g, at_least(g, left, 1), pass_compare(g, IR_OP_LE, left, ir_index(g, narrow)))
           : at_least(g, remainder, 1));
  if (effects[0]) effects[1] = place_parts(p, d, then, remainder, end, 1, narrow);
  return effects[1] ? loop_sequence(g, effects, 2) : 0;
}

static ir_ref place_halves(loop_place *p, uint32_t d, ir_ref start, ir_ref left, ir_ref end,
                           int64_t unrolled);

int64_t loop_part_below(int64_t unrolled) {
  int64_t part = 1;
  while (2 * part < unrolled) part *= 2;
  return part;
}

/* Rows in steps of `part`, where one row less is a step as well, whose last row is computed twice: what the
 * rows are multiplied with is then read once for them. Of three rows steps of two and one took 1.6 times as
 * long. */
static ir_ref place_rows(loop_place *p, uint32_t d, ir_ref start, ir_ref left, ir_ref end, int64_t part) {
  ir_graph *g = p->n->g;
  ir_ref count = pass_div_int(g, pass_add_int(g, left, 1), part), done = pass_mul_int(g, count, part);
  ir_ref then = pass_add(g, start, done), remainder = pass_max(g, pass_sub(g, left, done), ir_index(g, 0));
  ir_ref effects[2] = {then && remainder ? place_parts(p, d, start, count, end, part, 1) : 0};
  effects[1] = effects[0] ? place_halves(p, d, then, remainder, end, part) : 0;
  return effects[1] ? loop_sequence(g, effects, 2) : 0;
}

/* A step of the next power of two below as many rows or vectors as were unrolled, if so many are left, then
 * what is left in turn: those of a step are computed together, as those of a known number are. 64 rows of 100
 * columns of gelu, where at least 93 are known, took 1.1 times as long as of a known number with one vector
 * after the other; of 1 to 4096 rows of [768,768] five took 1.57 times as long in steps of four rows. */
static ir_ref place_halves(loop_place *p, uint32_t d, ir_ref start, ir_ref left, ir_ref end,
                           int64_t unrolled) {
  ir_graph *g = p->n->g;
  int64_t lanes = p->n->axes[p->n->levels[d].axis].lanes, half = loop_part_below(unrolled);
  if (lanes == 1 && half >= LOOP_LEAST_ROWS) return place_rows(p, d, start, left, end, half);
  if (unrolled == 1) return place_vectors(p, d, start, left, end, 1, true);
  if (ir_bounds_of(g, left).hi < half * lanes) return place_halves(p, d, start, left, end, half);
  ir_ref count = at_most_once(g, pass_div_int(g, left, half * lanes), at_least(g, left, half * lanes));
  ir_ref steps = loop_fresh_range(p->n, count),
         range = half > 1 ? loop_fresh_range(p->n, ir_index(g, half)) : 0;
  ir_ref at = steps ? pass_add(g, start, pass_mul_int(g, steps, half * lanes)) : 0;
  if (!at) return 0;
  if (range) {
    p->lanes[p->lane_count] = range;
    p->bindings[p->lane_count++] = IR_UNROLL;
    at = pass_add(g, at, pass_mul_int(g, range, lanes));
  }
  ir_ref effects[2] = {loop_place_inside(p, d, at, ir_index(g, lanes))};
  p->lane_count -= range != 0;
  effects[0] = loop_wrap(g, steps, IR_SERIAL, effects[0]);
  if (half * lanes == 1) return effects[0];
  ir_ref then = pass_add(g, start, pass_mul_int(g, count, half * lanes));
  effects[1] = then ? place_halves(p, d, then, pass_mod_int(g, left, half * lanes), end, half) : 0;
  return effects[1] ? loop_sequence(g, effects, 2) : 0;
}

/* Vectors of the widest partial step of a tile, where the number of its columns varies by less than a vector,
 * or one step holds all, and the last one may overlap the one before; else 0. */
static int64_t wide_part(const loop_nest *n, const loop_axis *axis, ir_ref left) {
  ir_bounds size = ir_bounds_of(n->g, axis->extent);
  int64_t most = (ir_bounds_of(n->g, left).hi + axis->lanes - 1) / axis->lanes;
  bool close = size.hi - size.lo < axis->lanes || size.hi <= most * axis->lanes;
  close &= most <= axis->unroll;
  return close && is_tile(n, axis) && axis->overlaps && ir_op_of(n->g, n->store) == IR_OP_STORE ? most : 0;
}

int64_t loop_least_wide(const loop_nest *n, const loop_axis *axis, int64_t most) {
  return (most - 1) * axis->lanes + narrow_lanes(n, axis) + 1;
}

bool loop_is_one_step(const loop_nest *n, const loop_level *level, ir_ref left) {
  const loop_axis *axis = &n->axes[level->axis];
  ir_bounds size = ir_bounds_of(n->g, left);
  return n->strategy->masks_stores && size.lo < size.hi && size.hi == level->step &&
         level->step == (int64_t)axis->unroll * axis->lanes && level->binding != IR_UNROLL &&
         level->binding != IR_VECTOR && axis->unroll > 1 && loop_masks_lanes(n, axis) &&
         wide_part(n, axis, left) == axis->unroll && size.lo >= loop_least_wide(n, axis, axis->unroll);
}

/* One step of `most` vectors, of which the last one begins where `left` elements end with it, if they are
 * more than one less and a narrow one hold; else steps of `unrolled`. 128 rows by 64 terms by 9 columns, of
 * at least 2, took 1.06 times as long as of a known number with one vector after the other. */
static ir_ref place_wide(loop_place *p, uint32_t d, ir_ref start, ir_ref left, ir_ref end, int64_t most,
                         int64_t unrolled) {
  ir_graph *g = p->n->g;
  const loop_axis *axis = &p->n->axes[p->n->levels[d].axis];
  int64_t lanes = axis->lanes;
  ir_ref wide = at_least(g, left, loop_least_wide(p->n, axis, most)), one = ir_index(g, 1),
         none = ir_index(g, 0);
  ir_ref once = loop_fresh_range(p->n, pass_where(g, wide, one, none)),
         range = loop_fresh_range(p->n, ir_index(g, most)), back = pass_add_int(g, left, -most * lanes);
  ir_ref last = pass_div_int(g, range, most - 1); /* 1 of the last vector, 0 of those before */
  ir_ref at = pass_add(g, pass_add(g, start, pass_mul_int(g, range, lanes)), pass_mul(g, last, back));
  if (!once || !at) return 0;
  p->lanes[p->lane_count] = range;
  p->bindings[p->lane_count++] = IR_UNROLL;
  ir_ref effect = loop_place_inside(p, d, at, ir_index(g, lanes));
  p->lane_count--;
  if (ir_is_true(g, wide)) return effect;
  ir_ref effects[2] = {loop_wrap(g, once, IR_SERIAL, effect)};
  effects[1] = place_vectors(p, d, start, pass_where(g, wide, none, left), end, unrolled, false);
  return effects[0] && effects[1] ? loop_sequence(g, effects, 2) : 0;
}

ir_ref loop_place_partial(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  const loop_level *level = &p->n->levels[d];
  const loop_axis *axis = &p->n->axes[level->axis];
  if (loop_is_one_step(p->n, level, left)) return loop_place_inside(p, d, start, left);
  if (!p->n->strategy->masks_stores || ir_is_const(p->n->g, left, NULL) ||
      level->step != (level->binding == IR_VECTOR ? 1 : axis->lanes) || axis->contiguous_elements ||
      (level->binding != IR_VECTOR && level->binding != IR_UNROLL))
    return 0;
  ir_graph *g = p->n->g;
  int64_t unrolled = level->binding == IR_UNROLL ? in_part(p->n, axis) : 1;
  ir_ref end = pass_add(g, start, left);
  if (!end || (axis->lanes == 1 && (axis->unroll == 1 || !axis->overlaps))) return 0;
  if (axis->lanes == 1) return place_halves(p, d, start, left, end, axis->unroll);
  if (axis->lanes > 1 && !loop_masks_lanes(p->n, axis) &&
      !moves_back(p->n, axis, end, axis->lanes * unrolled))
    return 0;
  if (level->binding == IR_UNROLL && !is_tile(p->n, axis))
    return place_halves(p, d, start, left, end, axis->unroll);
  int64_t most = level->binding == IR_UNROLL ? wide_part(p->n, axis, left) : 0;
  return most > unrolled ? place_wide(p, d, start, left, end, most, unrolled)
                         : place_vectors(p, d, start, left, end, unrolled, false);
}

ir_ref loop_store_inside(const loop_place *p, ir_ref store, const ir_ref *at) {
  const loop_nest *n = p->n;
  ir_graph *g = n->g;
  ir_ref inside = 0, stored = 0, loads[LOOP_MAX_LOADS], masked[LOOP_MAX_LOADS];
  for (uint32_t a = 0; a < n->axis_count; a++) {
    ir_ref here = p->end[a] ? pass_compare(g, IR_OP_LT, at[a], p->end[a]) : 0;
    ir_ref own = p->begin[a] ? pass_compare(g, IR_OP_GE, at[a], p->begin[a]) : 0;
    if (here) inside = inside ? pass_and(g, inside, here) : here;
    if (own) stored = stored ? pass_and(g, stored, own) : own;
  }
  if (inside) stored = stored ? pass_and(g, stored, inside) : inside;
  if (!stored || !store || ir_is_true(g, stored)) return store;
  const ir_node *s = ir_get(g, store);
  uint32_t count = affine_find_range(g, s->src[2], IR_OP_LOAD, loads, LOOP_MAX_LOADS), used = 0;
  for (uint32_t i = 0; i < count && inside; i++) {
    const ir_node *load = ir_get(g, loads[i]);
    bool moves = false;
    for (uint32_t k = 0; k < n->lane_count; k++)
      moves |= n->lanes[k] == n->vector && affine_depends(g, loads[i], n->vector);
    if (!moves) continue;
    ir_ref src[] = {load->src[0], load->src[1], pass_and(g, load->src[2], inside), load->src[3]};
    loads[used] = loads[i];
    masked[used++] = ir_make(g, IR_OP_LOAD, (ir_dtype)load->dtype, load->arg, src, 4);
  }
  ir_ref value = used ? pass_substitute(g, s->src[2], loads, masked, used) : s->src[2];
  s = ir_get(g, store);
  return ir_make(g, IR_OP_UPDATE, IR_NONE, 0, (ir_ref[]){s->src[0], s->src[1], stored, value}, 4);
}
