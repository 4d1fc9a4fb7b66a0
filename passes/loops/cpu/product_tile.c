/* The register tile of a contraction, and the order of the loops around it.
 *
 * The lanes run along one axis of the output, the columns. A load that the lanes share is reused over rows:
 * an axis along which the shared loads move and those along the lanes do not. The tile is as many vectors
 * wide and rows high as there are registers for its sums. Axes along which both operands move stay outside;
 * inside them come the columns, so that what a tile reads of the columns' operand stays in the cache while
 * the loops go over the rows. */
#include "cpu.h"

#include "passes/index/index.h"

enum {
  /* rows that share what a window of one operand loads: of a window of 3, six loads for 12 */
  WINDOW_ROWS = 4,
  NARROWEST_PANEL_BYTES = 2 * 16, /* two of the narrowest vectors */
  MAX_ROWS = 12 /* ways of the L1 cache, for rows that are a power of two apart share one set of it */
};

/* The register tile of a contraction of so many terms (0: not known): `rows` rows of `columns` adjacent
 * vectors of `lanes` elements. Panels that packing makes are one tile wide; what a tile reads of one takes
 * half of the L2 cache at most. */
typedef struct tile {
  int lanes, columns, rows;
} tile;

static tile tile_for(const ir_target *target, ir_dtype dtype, int64_t terms) {
  int bytes = ir_dtypes[dtype].bytes, columns = target->registers >= 32 ? 4 : 2,
      sums = LOOP_TILE_ROWS * columns;
  while (columns > 2 && terms > target->l2_bytes / 2 / target->vector_bytes / columns) columns /= 2;
  return (tile){target->vector_bytes / (bytes ? bytes : 1), columns, sums / columns};
}

int64_t loop_panel_columns(const ir_target *target, ir_dtype dtype, int64_t terms, int64_t columns) {
  tile t = tile_for(target, dtype, terms);
  int64_t vectors = (columns + t.lanes - 1) / t.lanes;
  return t.lanes * (vectors < t.columns ? vectors : t.columns);
}

static tile tile_of(const loop_nest *n, ir_ref reduce) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t terms = 1, size;
  for (uint32_t i = 1; i < r->nsrc; i++) { /* src[1] of argmax is no range */
    bool known =
        ir_op_of(n->g, r->src[i]) == IR_OP_RANGE && ir_is_const(n->g, ir_src(n->g, r->src[i], 0), &size);
    terms = known && terms <= INT32_MAX ? terms * size : 0;
  }
  return tile_for(n->target, ir_dtype_of(n->g, reduce), terms);
}

int64_t loop_panel_multiple(const loop_nest *n, ir_ref reduce) {
  int bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes;
  return NARROWEST_PANEL_BYTES / (bytes ? bytes : 1);
}

static bool is_box(loop_nest *n) {
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (loop_bounds_another(n, a)) return false;
  return true;
}

/* Moves the columns outside the axes along which only the rows' operand moves. */
static void move_columns_out(loop_nest *n, uint32_t vector, const ir_ref *loads, uint32_t count) {
  uint32_t first = 0;
  while (first < vector && loop_moves_with(n, loads, count, n->axes[vector].range, n->axes[first].range))
    first++;
  for (uint32_t i = vector; i > first; i--) n->order[i] = n->order[i - 1];
  n->order[first] = vector;
}

/* Without rows: an axis along which neighbours read the same elements, a sliding window over which a reduced
 * range moves with the same stride. Unrolled along that axis, these elements are loaded once. */
static loop_axis *window_axis(loop_nest *n, const loop_axis *vector, ir_ref reduce, const ir_ref *loads,
                              uint32_t count) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t step, other;
  for (loop_axis *a = n->axes + n->axis_count; a-- > n->axes;)
    for (uint32_t i = 0; i < count && a != vector; i++) {
      ir_ref index = ir_src(n->g, loads[i], 1);
      if (!affine_stride(n->g, index, a->range, &step) || step == 0) continue;
      for (uint32_t k = 1; k < r->nsrc; k++)
        if (affine_stride(n->g, index, r->src[k], &other) && other == step) return a;
    }
  return NULL;
}

/* Unrolls the rows, by `most` at most. Fewer rows are as fast while there are enough sums that none waits for
 * another, and while the columns come from the L2 cache at no more than half of its speed, a row for 32 bytes
 * per cycle; where they leave no remainder there is one tile to compile instead of two. Where rows overlap
 * there is never a remainder: of the upper third the number that does least work, a tile of r rows reading
 * one vector of columns for each term. */
static void set_rows(loop_nest *n, loop_axis *row, int most, int columns) {
  enum {
    /* vectors of sums: eight would hide the latency of multiply-adds, four cycles of which two begin in each,
     * if none waited for a load */
    MIN_SUMS = 12,
    MIN_ROWS = 4 /* as said above. Measured: 4, 5 and 6 are equally fast (docs/contractions.md) */
  };
  int64_t height = ir_bounds_of(n->g, row->extent).hi, known, least = INT64_MAX;
  int rows = height < most ? (int)height : most;
  if (loop_bounds_another(n, (uint32_t)(row - n->axes)) || rows < 1) return;
  row->unroll = rows;
  for (int r = rows; r >= 1 && ir_is_const(n->g, row->extent, &known); r--) {
    bool exact = known % r == 0 && r >= MIN_ROWS && r * columns >= MIN_SUMS;
    int64_t cost = exact ? 0 : (known + r - 1) / r * (r + 1);
    bool fits = exact || (row->overlaps && 3 * r >= 2 * most);
    if (!fits || cost >= least) continue;
    least = cost;
    row->unroll = r;
  }
}

/* Has every load a constant stride along the axis? Panels lie apart, and a tile must not cross them. */
static bool has_strides(loop_nest *n, const loop_axis *a, const ir_ref *loads, uint32_t count) {
  int64_t stride;
  for (uint32_t i = 0; i < count; i++)
    if (!affine_stride(n->g, ir_src(n->g, loads[i], 1), a->range, &stride)) return false;
  return true;
}

/* The columns of a tile whose operands are not packed: few rows are all in one tile, so that the columns'
 * operand is read once. */
static int tile_columns(loop_nest *n, const loop_axis *row, ir_ref reduce, int sums) {
  enum { MIN_COLUMNS = 2 }; /* vectors that share a row's element: with one, each multiply-add takes a load */
  int columns = tile_for(n->target, ir_dtype_of(n->g, reduce), 0).columns;
  int64_t height = ir_bounds_of(n->g, row->extent).hi;
  return height * columns > sums && height * MIN_COLUMNS <= sums ? sums / (int)height : columns;
}

/* Vectors in a row of the tile, `most` at most; all of a short row in one tile. */
static int fitting(const loop_nest *n, const loop_axis *vector, int most) {
  int64_t width = ir_bounds_of(n->g, vector->extent).hi, all = (width + vector->lanes - 1) / vector->lanes;
  bool exact = width % vector->lanes == 0;
  if (all <= most && (exact || vector->overlaps)) return (int)all;
  while (most > 1 && (int64_t)vector->lanes * most > width) most /= 2;
  return most;
}

bool loop_choose_tile(loop_nest *n, loop_axis *vector, ir_ref reduce) {
  tile whole = tile_of(n, reduce);
  ir_ref loads[LOOP_MAX_TERM_LOADS];
  uint32_t count = affine_find_range(n->g, ir_src(n->g, reduce, 0), IR_OP_LOAD, loads, LOOP_MAX_TERM_LOADS);
  loop_axis *row = loop_row_axis_of(n, vector, loads, count),
            *window = row ? NULL : window_axis(n, vector, reduce, loads, count);
  if (!row && !window) return false;
  int sums = whole.rows * whole.columns, columns = whole.columns;
  bool repeatable = loop_is_repeatable(n), strides = has_strides(n, vector, loads, count);
  vector->overlaps = repeatable && strides;
  if (window) columns = 1;
  else if (strides) columns = tile_columns(n, row, reduce, sums);
  vector->unroll = columns = fitting(n, vector, columns);
  if (window) set_rows(n, window, WINDOW_ROWS, 1);
  if (row) {
    row->overlaps = repeatable && has_strides(n, row, loads, count);
    set_rows(n, row, sums / columns < MAX_ROWS ? sums / columns : MAX_ROWS, columns);
  }
  if (row && is_box(n)) move_columns_out(n, (uint32_t)(vector - n->axes), loads, count);
  return true;
}
