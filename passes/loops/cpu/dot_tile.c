/* Results of a product whose lanes run along the terms: those that are computed together.
 *
 * Each result takes a load of either operand for a multiply-add. Neighbours along one axis share what one
 * operand has, those along another axis what the other has: a tile of `rows` by `columns` of them takes rows
 * + columns loads for rows * columns multiply-adds. The loop over the axis of the longer operand goes
 * outside, so that this one is read once. No sum adds its terms in another order. */
#include "cpu.h"

#include "passes/loops/reduce.h"

/* An axis, and the loads of a term that move along it. */
typedef struct side {
  loop_axis *axis;
  int64_t size; /* 1 where it is not known; the largest where it varies by little */
  int loads;    /* in halves of a cycle */
} side;

/* Whole vectors that begin anywhere cross a line, and take two reads of the cache. */
static int time_of_load(const loop_nest *n, ir_ref load, ir_ref range) {
  int64_t stride, bytes = ir_dtypes[ir_dtype_of(n->g, load)].bytes;
  bool aligned =
      affine_stride(n->g, ir_src(n->g, load, 1), range, &stride) && stride * bytes % IR_CACHE_LINE_BYTES == 0;
  return aligned || n->target->vector_bytes < IR_CACHE_LINE_BYTES ? 1 : 2;
}

/* An axis that varies by less than FEW elements is taken for the largest: in a shorter one some results are
 * computed twice (passes/loops/partial.c). 12 rows by 3 columns of 768 terms, of at least one column,
 * took 1.2 times as long as of a known number so. */
static side side_of(loop_nest *n, uint32_t axis, const ir_ref *loads, uint32_t count) {
  enum { FEW = 8 }; /* because a tile has twelve results: of more than these most would be computed twice */
  side s = {&n->axes[axis], 1, 0};
  for (uint32_t i = 0; i < count; i++)
    if (affine_depends(n->g, loads[i], s.axis->range)) s.loads += time_of_load(n, loads[i], s.axis->range);
  ir_bounds size = ir_bounds_of(n->g, s.axis->extent);
  bool known = size.hi == size.lo || (size.hi - size.lo < FEW && loop_is_repeatable(n));
  if (known && !loop_bounds_another(n, axis) && !loop_is_ordered(n, axis)) s.size = size.hi;
  return s;
}

/* Two axes along each of which some loads move, and no load along both: of several pairs the one with the
 * most results. */
static bool find_sides(loop_nest *n, const ir_ref *loads, uint32_t count, side *outer, side *inner) {
  int64_t most = 1;
  for (uint32_t a = 0; a < n->axis_count; a++)
    for (uint32_t b = a + 1; b < n->axis_count; b++) {
      if (loop_moves_with(n, loads, count, n->axes[a].range, n->axes[b].range)) continue;
      side first = side_of(n, a, loads, count), second = side_of(n, b, loads, count);
      if (!first.loads || !second.loads || pass_times(first.size, second.size) <= most) continue;
      most = pass_times(first.size, second.size);
      *outer = first, *inner = second;
    }
  return most > 1;
}

/* Time of all results, in halves of a cycle for each vector of terms. */
static double time_of(const side *a, const side *b, int64_t rows, int64_t columns, double vectors) {
  enum {
    LATENCY = 2,   /* of four accumulators, one of which takes a term in each cycle */
    BEGINNING = 60 /* of a tile: the first loads, and the last multiply-adds, whose sums are then combined */
  };
  int64_t multiplied = rows * columns, loaded = rows * a->loads + columns * b->loads,
          term = multiplied > loaded ? multiplied : loaded;
  int64_t tiles = (a->size + rows - 1) / rows * ((b->size + columns - 1) / columns);
  return (double)tiles * ((double)(term > LATENCY ? term : LATENCY) * vectors + BEGINNING);
}

static double vectors_of_terms(const loop_nest *n, ir_ref reduce, int lanes) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t terms = 1;
  for (uint32_t i = 1; i < r->nsrc; i++)
    terms = pass_times(terms, ir_bounds_of(n->g, ir_src(n->g, r->src[i], 0)).hi);
  return (double)terms / lanes;
}

/* Loops over the axis of the longer operand outside of those over the other: that one is read once, while all
 * of the shorter one stays in a cache, or as much of it as would anyway. */
static void order_sides(loop_nest *n, const side *a, const side *b) {
  uint32_t longer = (uint32_t)((a->size < b->size ? b : a)->axis - n->axes),
           shorter = (uint32_t)((a->size < b->size ? a : b)->axis - n->axes), at = 0;
  for (uint32_t i = 0; i < n->axis_count; i++)
    if (loop_bounds_another(n, i) || loop_is_ordered(n, i)) return;
  while (n->order[at] != longer && n->order[at] != shorter) at++;
  for (uint32_t i = at; i < n->axis_count; i++)
    if (n->order[i] == longer) n->order[i] = n->order[at];
  n->order[at] = longer;
}

bool loop_choose_dot_tile(loop_nest *n, ir_ref reduce) {
  ir_ref loads[LOOP_MAX_TERM_LOADS], term = ir_src(n->g, reduce, 0);
  uint32_t count = affine_find_range(n->g, term, IR_OP_LOAD, loads, LOOP_MAX_TERM_LOADS);
  side a, b;
  if (!loop_multiplies(n->g, reduce) || !find_sides(n, loads, count, &a, &b)) return false;
  int bytes = ir_dtypes[ir_dtype_of(n->g, term)].bytes, lanes = REDUCE_LANE_BYTES / (bytes ? bytes : 1);
  int of_sum = REDUCE_UNROLL * (REDUCE_LANE_BYTES / n->target->vector_bytes); /* registers */
  int64_t most = n->target->registers * 3 / 4 / (of_sum ? of_sum : 1);        /* a quarter for loads */
  double vectors = vectors_of_terms(n, reduce, lanes), least = time_of(&a, &b, 1, 1, vectors);
  for (int64_t rows = 1; rows <= most && rows <= a.size; rows++)
    for (int64_t columns = 1; rows * columns <= most && columns <= b.size; columns++) {
      double here = time_of(&a, &b, rows, columns, vectors);
      if (here < least) least = here, a.axis->unroll = (int)rows, b.axis->unroll = (int)columns;
    }
  bool repeatable = loop_is_repeatable(n);
  a.axis->overlaps = b.axis->overlaps = repeatable;
  order_sides(n, &a, &b);
  return true;
}
