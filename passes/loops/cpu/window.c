/* Windows: reductions of a few terms whose neighbours read the same elements, as those of pooling and of
 * convolutions channel by channel. The lanes run along the results; unrolled along an axis over which the
 * window slides, results load what they share once. */
#include "cpu.h"

#include "passes/index/index.h"

/* Has a load a mask that depends on the range and on the vector's? Unrolled, each of its values is tested.
 * Masks that are the same for all lanes cost next to nothing. */
static bool is_masked_along(loop_nest *n, const ir_ref *loads, uint32_t count, const loop_axis *vector,
                            ir_ref range) {
  bool masked = false;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref mask = ir_src(n->g, loads[i], 2);
    masked |= affine_depends(n->g, mask, range) && affine_depends(n->g, mask, vector->range);
  }
  return masked;
}

/* The elements from one index of the range to the next; 0: they differ. */
static ir_ref distance_along(loop_nest *n, ir_ref index, ir_ref range) {
  int64_t step;
  return affine_stride(n->g, index, range, &step) ? ir_index(n->g, step)
                                                  : loop_distance_along(n->g, index, range);
}

/* How many times `other` the distance `step` is, less than `size`; 0: it is none of these. */
static int64_t times_of(ir_graph *g, ir_ref step, ir_ref other, int64_t size) {
  enum { MOST = LOOP_INNER_TERMS }; /* of a distance that is a variable: windows are no longer */
  int64_t a, b, known = ir_is_const(g, step, &a) && ir_is_const(g, other, &b);
  if (known) return b && a % b == 0 && a / b > 0 && a / b < size ? a / b : 0;
  for (int64_t k = 1; k < size && k <= MOST; k++)
    if (pass_mul_int(g, other, k) == step) return k;
  return 0;
}

/* The step of the windows at neighbouring elements of the axis, in steps of a reduced range that moves over
 * the same elements and goes beyond it; 0: they do not overlap. */
static int64_t window_step(loop_nest *n, const loop_axis *a, ir_ref reduce, ir_ref load) {
  const ir_node *r = ir_get(n->g, reduce);
  ir_ref index = ir_src(n->g, load, 1), step = distance_along(n, index, a->range);
  int64_t none, found = 0;
  if (!step || (ir_is_const(n->g, step, &none) && none == 0)) return 0;
  for (uint32_t k = 1; k < r->nsrc && !found; k++) {
    ir_ref other = distance_along(n, index, r->src[k]);
    int64_t size = ir_bounds_of(n->g, ir_src(n->g, r->src[k], 0)).hi;
    found = other ? times_of(n->g, step, other, size) : 0;
  }
  return found;
}

loop_axis *loop_window_axis(loop_nest *n, const loop_axis *vector, ir_ref reduce, const ir_ref *loads,
                            uint32_t count) {
  for (loop_axis *a = n->axes + n->axis_count; a-- > n->axes;)
    for (uint32_t i = 0; i < count && a != vector; i++) {
      int64_t step = window_step(n, a, reduce, loads[i]);
      if (step == 1 || (step > 1 && !is_masked_along(n, loads, count, vector, a->range))) return a;
    }
  return NULL;
}

/* Does a last step that overlaps the one before make fewer vectors of the axis than whole ones for what fills
 * no step, and a narrower one for each power of two in the remainder? 27 elements are two in place of four.
 */
static bool overlap_saves(loop_nest *n, const loop_axis *vector) {
  int64_t size, step = (int64_t)vector->unroll * vector->lanes;
  if (!ir_is_const(n->g, vector->extent, &size)) return false;
  int64_t apart = size / vector->lanes, together = (size + step - 1) / step * vector->unroll;
  for (int64_t narrower = size % vector->lanes; narrower; narrower &= narrower - 1) apart++;
  return together < apart;
}

/* Terms of the reduction; 0: more than a few. */
static int64_t few_terms(loop_nest *n, ir_ref reduce) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t terms = 1;
  for (uint32_t k = 1; k < r->nsrc; k++)
    terms = pass_times(terms, ir_bounds_of(n->g, ir_src(n->g, r->src[k], 0)).hi);
  return terms <= PASS_FEW_TERMS ? terms : 0;
}

/* The store, in which loads of the window prefetch what the next unrolled elements of the axis read.
 * Positions of an image with its channels last are read line by line in as many places as windows have
 * elements, which hardware prefetchers do not follow. */
static ir_ref fetch_next(loop_nest *n, const loop_axis *vector, const loop_axis *rows, const ir_ref *loads,
                         uint32_t count) {
  ir_graph *g = n->g;
  ir_ref from[LOOP_MAX_TERM_LOADS], to[LOOP_MAX_TERM_LOADS];
  uint32_t used = 0;
  int64_t step, lane;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *l = ir_get(g, loads[i]);
    int64_t bytes = ir_dtypes[l->dtype].bytes;
    if (ir_op_of(g, l->src[0]) != IR_OP_PARAM || l->arg != 0 ||
        ir_bounds_of(g, ir_src(g, l->src[0], 0)).lo <= n->target->l2_bytes / bytes ||
        !affine_stride(g, l->src[1], rows->range, &step) ||
        !affine_stride(g, l->src[1], vector->range, &lane) || lane != 1 ||
        step < IR_CACHE_LINE_BYTES / bytes || step > INT32_MAX / rows->unroll)
      continue;
    from[used] = loads[i], to[used++] = loop_load_ahead(g, loads[i], step * rows->unroll, IR_NO_STREAM);
  }
  return used ? pass_substitute(g, n->store, from, to, used) : n->store;
}

void loop_mask_short(loop_nest *n, loop_axis *vector, ir_ref value, int bytes) {
  ir_ref loads[LOOP_MAX_TERM_LOADS];
  uint32_t count = affine_find_range(n->g, value, IR_OP_LOAD, loads, LOOP_MAX_TERM_LOADS);
  int64_t size, step, widest = n->target->vector_bytes / bytes;
  for (uint32_t i = 0; i < count; i++)
    if (!affine_stride(n->g, ir_src(n->g, loads[i], 1), vector->range, &step) || (step != 0 && step != 1))
      return;
  if (!ir_is_const(n->g, vector->extent, &size) || size <= vector->lanes || size >= 2 * vector->lanes ||
      2 * vector->lanes > widest || !loop_masks_lanes(n, vector))
    return;
  vector->lanes *= 2, vector->masked = true;
}

void loop_choose_window(loop_nest *n, loop_axis *vector, ir_ref reduce) {
  ir_ref loads[LOOP_MAX_TERM_LOADS];
  uint32_t count = affine_find_range(n->g, ir_src(n->g, reduce, 0), IR_OP_LOAD, loads, LOOP_MAX_TERM_LOADS);
  loop_axis *rows = loop_window_axis(n, vector, reduce, loads, count);
  bool repeatable = loop_is_repeatable(n), streams = ir_arg_mode(ir_get(n->g, n->store)) != IR_NO_STREAM;
  if (!few_terms(n, reduce)) return;
  if (rows && !loop_bounds_another(n, (uint32_t)(rows - n->axes)) &&
      !is_masked_along(n, loads, count, vector, rows->range)) {
    int64_t height = ir_bounds_of(n->g, rows->extent).hi;
    rows->unroll = height < LOOP_WINDOW_ROWS ? (int)height : LOOP_WINDOW_ROWS;
    rows->overlaps = repeatable, vector->unroll = 1;
    n->store = fetch_next(n, vector, rows, loads, count);
  }
  if (rows) loop_mask_short(n, vector, ir_src(n->g, reduce, 0), ir_dtypes[ir_dtype_of(n->g, reduce)].bytes);
  vector->overlaps = repeatable && !streams && overlap_saves(n, vector);
}
