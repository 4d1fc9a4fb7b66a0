/* The register tile of a contraction, and the order of the loops around it.
 *
 * The lanes run along one axis of the output, the columns. A load that the lanes share is reused over rows:
 * an axis along which the shared loads move and those along the lanes do not. The tile is as many vectors
 * wide and rows high as there are registers for its sums. Axes along which both operands move stay outside;
 * inside them come the columns, so that what a tile reads of the columns' operand stays in the cache while
 * the loops go over the rows. */
#include "cpu.h"

#include "ir/arith.h"
#include "passes/index/index.h"

enum {
  NARROWEST_PANEL_BYTES = 2 * 16, /* two of the narrowest vectors */
  MAX_ROWS = 12 /* of registers: with the widest tiles that have so many, as measured for tile_time */
};

/* The register tile of a contraction of `terms` terms (0: not known): `rows` rows of `columns` adjacent
 * vectors of `lanes` elements. window: that of a pass_product. */
typedef struct tile {
  const ir_target *target;
  int64_t terms, window;
  int lanes, columns, rows;
} tile;

/* The widest tile, and the most rows that a tile so wide may have: what it reads of the columns takes half of
 * the L2 cache at most. */
static tile tile_for(const ir_target *target, ir_dtype dtype, int64_t terms) {
  int bytes = ir_dtypes[dtype].bytes, columns = target->registers >= 32 ? 4 : 2,
      sums = LOOP_TILE_ROWS * columns;
  while (columns > 2 && terms > target->l2_bytes / 2 / target->vector_bytes / columns) columns /= 2;
  return (tile){target, terms, 0, target->vector_bytes / (bytes ? bytes : 1), columns, sums / columns};
}

/* Are there registers for the columns of all terms of a window, so that an element of the rows is loaded once
 * for all rows that have it in theirs (codegen/emit/listed.c)? */
static bool shares_window(const tile *t, int rows, int columns) {
  return t->window > 1 && (rows + t->window) * columns + IR_SHARED_REGISTERS <= (int64_t)t->target->registers;
}

/* Does what a tile reads of the columns stay in the L1 cache for the tiles of other rows? */
static bool fits_l1(const tile *t, int columns) {
  return t->terms > 0 && t->terms <= t->target->l1_bytes / 2 / t->target->vector_bytes / columns;
}

/* Time of a tile, in halves of a cycle. Each term takes two multiply-adds or two loads in a cycle, and what
 * of the time for fetching the columns from the L2 cache is not hidden behind them. */
static double tile_time(const tile *t, int rows, int columns) {
  /* Measured on one thread of Sapphire Rapids: with 384 terms, tiles of 6 x 4 reach 193 GFLOP/s, 8 x 3 199
   * and 12 x 2 211; with 37 terms 151, 136 and 125 */
  enum {
    FETCHED = 56,      /* bytes from the L2 cache in half a cycle */
    STORED = 100,      /* beginning a row of the result in memory, where each lies in a page of its own */
    USUAL_TERMS = 256, /* where their number is not known: those of small models */
    /* vectors of sums: eight would hide the latency of multiply-adds, four cycles of which two begin in each,
     * if none waited for a load */
    MIN_SUMS = 12
  };
  /* Part of it that remains where rows share elements, so that there are few other loads: with 3 x 3 x 256
   * terms, tiles of 7 x 2 reach 230 GFLOP/s so, and 207 where each row loads its own */
  static const double SHARED_FETCH = 0.5;
  int multiplied = rows * columns > MIN_SUMS ? rows * columns : MIN_SUMS, loaded = rows + columns;
  double term = multiplied > loaded ? multiplied : loaded;
  double fetch = fits_l1(t, columns) ? 0 : (double)columns * t->target->vector_bytes / FETCHED;
  term += shares_window(t, rows, columns) ? fetch * SHARED_FETCH : fetch;
  return term * (double)(t->terms ? t->terms : USUAL_TERMS) + (double)rows * STORED;
}

/* Does the last of the steps over `size` rows begin further back, and repeat some (remainder.c)? */
static bool repeats_rows(int64_t size, int rows) {
  return size >= rows && LOOP_OVERLAP_SHARE * (rows - size % rows) <= size;
}

/* Time of `size` rows, in tiles of so many rows. counted: that is a constant; otherwise what is left is
 * computed in smaller tiles, of each power of two in their number (partial.c). */
static double rows_time(const tile *t, int64_t size, int rows, int columns, bool overlaps, bool counted) {
  double whole = tile_time(t, rows, columns);
  int64_t steps = size / rows, left = size % rows;
  if (!left) return (double)steps * whole;
  if (!counted) {
    double all = (double)steps * whole;
    for (int64_t part = loop_part_below(rows); part && left > 0; part /= 2) {
      int64_t count = (left + (part >= LOOP_LEAST_ROWS)) / part;
      all += (double)count * tile_time(t, (int)part, columns), left -= count * part;
    }
    return all;
  }
  if (overlaps && repeats_rows(size, rows)) return (double)(steps + 1) * whole;
  return (double)steps * whole + tile_time(t, (int)left, columns);
}

static int most_rows(const tile *t, int columns) {
  int rows = t->rows * t->columns / columns;
  return rows < MAX_ROWS ? rows : MAX_ROWS;
}

/* The most rows, `most` at most, whose lines of the operand stay in the L1 cache from one term to the next.
 * Rows that are a multiple of a page apart share a set of it: a cache whose sets are found before an address
 * is translated has as many ways as pages. On Zen 4, of 8 ways, 24 rows of 4096 terms by 48 columns took 1.14
 * times as long in tiles of 9 rows as in those of 8, 1.7 times in those of 11; 48 x 1024 x 256 1.2 times
 * with 12. Rows that a variable number of elements lie apart have an address each. */
static int rows_in_sets(loop_nest *n, const loop_axis *row, const ir_ref *loads, uint32_t count, int most) {
  enum { ADDRESSES = 8 }; /* of 16 registers: with 12, n x n x n takes 1.35 times as long */
  int64_t ways = n->target->l1_bytes / IR_PAGE_BYTES, apart;
  for (uint32_t i = 0; i < count; i++) {
    if (!affine_stride(n->g, ir_src(n->g, loads[i], 1), row->range, &apart)) {
      if (most > ADDRESSES) most = ADDRESSES;
      continue;
    }
    if (!apart) continue;
    int64_t bytes = apart * ir_dtypes[ir_dtype_of(n->g, loads[i])].bytes;
    int64_t sets = IR_PAGE_BYTES / ir_gcd(bytes, IR_PAGE_BYTES);
    if (pass_times(ways, sets) < most && ways > 0) most = (int)(ways * sets);
  }
  return most;
}

/* How much longer a product seems with a second tile, for a remainder: it is more code to compile, and is
 * entered once for each panel. */
static const double SECOND_TILE = 1.05;

/* The number of rows, `most` at most, with which the tiles of `size` rows take least time. counted: as of
 * rows_time. */
static int best_rows(const tile *t, int64_t size, int most, int columns, bool overlaps, bool counted) {
  enum { MIN_ROWS = 4 }; /* fewer are entered more often: 3 rows of 22 terms took half as long again as 6 */
  int best = size < most ? (int)size : most;
  double least = -1;
  for (int r = best, first = best; r == first || r >= MIN_ROWS; r--) {
    bool second = counted && size % r && !(overlaps && repeats_rows(size, r));
    double here = rows_time(t, size, r, columns, overlaps, counted) * (second ? SECOND_TILE : 1);
    if (least < 0 || here < least) least = here, best = r;
  }
  return best;
}

/* Time of a contraction with panels so many vectors wide. Columns that fill no vector are a narrower one for
 * each power of two in their number. */
static double product_time(const tile *t, int64_t rows, int64_t columns, int width) {
  int64_t panel = (int64_t)width * t->lanes, left = columns % panel, vectors = left / t->lanes;
  int height = best_rows(t, rows, most_rows(t, width), width, true, true);
  double all = (double)(columns / panel) * rows_time(t, rows, height, width, true, true);
  if (vectors) all += rows_time(t, rows, height, (int)vectors, true, true);
  for (int64_t narrower = left % t->lanes; narrower; narrower &= narrower - 1)
    all += rows_time(t, rows, height, 1, true, true);
  return left ? all * SECOND_TILE : all;
}

int64_t loop_panel_columns(const ir_target *target, const pass_product *p) {
  tile t = tile_for(target, p->dtype, p->terms);
  t.window = p->window <= LOOP_INNER_TERMS ? p->window : 0;
  int64_t rows = p->rows < 1 ? 1 : p->rows, vectors = (p->columns + t.lanes - 1) / t.lanes;
  enum { MIN_TERMS = 64 }; /* of fewer, storing takes most of the time, as measured for tile_time */
  enum { NARROWEST = IR_CACHE_LINE_BYTES }; /* because copies of half lines at a time take 2 to 4 times */
  if (vectors <= t.columns && !t.window) return t.lanes * vectors; /* one panel, which is not filled up */
  if (p->terms > 0 && p->terms < MIN_TERMS) return t.lanes * (vectors < t.columns ? vectors : t.columns);
  int best = vectors < t.columns ? (int)vectors : t.columns;
  double least = product_time(&t, rows, p->columns, best);
  int narrowest = 2 * target->vector_bytes < NARROWEST ? NARROWEST_PANEL_BYTES : NARROWEST;
  for (int width = best - 1; width >= 1 && width * target->vector_bytes >= narrowest; width--) {
    if (width * target->vector_bytes % NARROWEST_PANEL_BYTES)
      continue; /* its columns would not be known as such */
    double time = product_time(&t, rows, p->columns, width);
    if (time < least) least = time, best = width;
  }
  return t.lanes * best;
}

static tile tile_of(const loop_nest *n, ir_ref reduce) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t terms = 1;
  for (uint32_t i = 1; i < r->nsrc; i++) { /* src[1] of argmax is no range */
    bool is_range = ir_op_of(n->g, r->src[i]) == IR_OP_RANGE;
    ir_bounds all = is_range ? ir_bounds_of(n->g, ir_src(n->g, r->src[i], 0)) : (ir_bounds){0};
    bool known = is_range && all.hi < 2 * all.lo; /* by less than half: as of the largest */
    terms = known && terms <= INT32_MAX ? terms * all.hi : 0;
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

/* Do loads of the columns' operand move along the range, and none of the rows'? */
static bool is_of_columns(loop_nest *n, const ir_ref *loads, uint32_t count, ir_ref lane, ir_ref range) {
  bool any = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!affine_depends(n->g, loads[i], range)) continue;
    if (!affine_depends(n->g, loads[i], lane)) return false;
    any = true;
  }
  return any;
}

/* Elements of what one of the operands reads from memory: of the rows, whose loads the columns' lanes share,
 * or of the columns. Each range counts along which such a load moves, but no more than the array has. */
static int64_t operand_size(loop_nest *n, ir_ref reduce, ir_ref lane, const ir_ref *loads, uint32_t count,
                            bool of_rows) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *l = ir_get(n->g, loads[i]);
    if (affine_depends(n->g, l->src[1], lane) == of_rows || ir_op_of(n->g, l->src[0]) != IR_OP_PARAM)
      continue;
    int64_t all = ir_bounds_of(n->g, ir_src(n->g, l->src[0], 0)).hi, read = 1;
    for (uint32_t a = 0; a < n->axis_count; a++)
      if (affine_depends(n->g, l->src[1], n->axes[a].range))
        read = pass_times(read, ir_bounds_of(n->g, n->axes[a].extent).hi);
    for (uint32_t s = 1; s < r->nsrc; s++)
      if (affine_depends(n->g, l->src[1], r->src[s]))
        read = pass_times(read, ir_bounds_of(n->g, ir_src(n->g, r->src[s], 0)).hi);
    sum += read < all ? read : all;
  }
  return sum;
}

/* Do the columns stay inside the axis, lines of an image or images, of whose rows a tile takes some? Where
 * the L2 cache holds all panels, each line is then read, and its results are stored, by one thread, which has
 * the lines around it and often what computed them. ResNet-18 with 64 channels so takes 0.976 of the time on
 * two threads (Zen 4); with panels of 590 KB as well, half a cache, 0.983. */
static bool is_line(loop_nest *n, uint32_t axis, const loop_axis *row, int64_t panels) {
  enum {
    L2_SHARE = 4, /* of the L2 cache: panels of half of it gain less, as said above */
    MIN_LINES = 8 /* so many several threads may share evenly */
  };
  const loop_axis *a = &n->axes[axis];
  int64_t lines;
  return a != row && ir_is_const(n->g, a->extent, &lines) && lines >= MIN_LINES &&
         panels <= n->target->l2_bytes / L2_SHARE;
}

/* Moves the columns outside the axes along which only the rows' operand moves; and further axes of columns
 * with them, over which the loop would otherwise go for each tile of rows, where the caches hold the rows'
 * operand and not the columns'. 32 rows by 512 terms by 64 panels of 64 columns, 8 MiB, take 0.9 ms in place
 * of 2.8 (Sapphire Rapids, one thread). */
static void move_columns_out(loop_nest *n, uint32_t vector, const loop_axis *row, ir_ref reduce,
                             const ir_ref *loads, uint32_t count) {
  ir_ref lane = n->axes[vector].range;
  int64_t bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes, half = n->target->l2_bytes / bytes / 2,
          panels = operand_size(n, reduce, lane, loads, count, false);
  bool streams = operand_size(n, reduce, lane, loads, count, true) <= half && panels > half;
  uint32_t out[MAX_NEST], in[MAX_NEST], outer = 0, inner = 0, first = 0;
  while (first < vector && loop_moves_with(n, loads, count, lane, n->axes[first].range)) first++;
  while (first < vector && is_line(n, first, row, pass_times(panels, bytes))) first++;
  for (uint32_t a = first; a < n->axis_count; a++) {
    bool columns = streams && is_of_columns(n, loads, count, lane, n->axes[a].range);
    *(a == vector || columns ? &out[outer++] : &in[inner++]) = a;
  }
  for (uint32_t i = 0; i < outer; i++) n->order[first + i] = out[i];
  for (uint32_t i = 0; i < inner; i++) n->order[first + outer + i] = in[i];
}

/* The terms of the innermost range, if they are written out and the rows' operand is a window of which tiles
 * of several rows read elements again: it slides along the axis in steps of *apart terms, or terms are apart
 * by several steps (dilation), with *apart 0; otherwise 0. */
static int64_t window_along(loop_nest *n, const loop_axis *row, ir_ref reduce, const ir_ref *loads,
                            uint32_t count, int64_t *apart) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t size, step, other;
  if (!ir_is_const(n->g, ir_src(n->g, r->src[r->nsrc - 1], 0), &size) || size > LOOP_INNER_TERMS) return 0;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    if (!affine_stride(n->g, index, row->range, &step) || step == 0 ||
        !affine_stride(n->g, index, r->src[r->nsrc - 1], &other) || other == 0)
      continue;
    *apart = step % other == 0 ? step / other : 0;
    if ((*apart > 0 && *apart < size) || (*apart == 0 && other % step == 0 && other / step > 0)) return size;
  }
  return 0;
}

/* Unrolls the rows, by `most` at most. Their number may be a variable: where it varies by less than half, or
 * by less than a tile, the largest one counts, which most parts of an axis divided among devices have. Of 17,
 * at least 10, 12 rows and what is left took 1.17 times as long as of a known number. */
static void set_rows(loop_nest *n, const tile *t, loop_axis *row, int most, int columns) {
  ir_bounds size = ir_bounds_of(n->g, row->extent);
  int64_t height = size.hi, known;
  int rows = height < most ? (int)height : most;
  if (loop_bounds_another(n, (uint32_t)(row - n->axes)) || rows < 1) return;
  row->unroll = rows;
  bool counted = ir_is_const(n->g, row->extent, &known),
       close = height > most && (height < 2 * size.lo || height - size.lo < most);
  if (counted ? known > 0 : row->overlaps && close)
    row->unroll = best_rows(t, height, most, columns, row->overlaps, counted);
}

/* Are the elements of every load equally far apart along the axis, by a number or an expression? Panels lie
 * apart, and a tile must not cross them. */
static bool has_strides(loop_nest *n, const loop_axis *a, const ir_ref *loads, uint32_t count) {
  int64_t stride;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    if (!affine_stride(n->g, index, a->range, &stride) && !loop_distance_along(n->g, index, a->range))
      return false;
  }
  return true;
}

/* Vectors in a panel of the packed columns, of which the index takes a quotient, `most` at most; 0: they are
 * not packed. */
static int panel_vectors(loop_nest *n, const loop_axis *vector, const ir_ref *loads, uint32_t count,
                         int most) {
  ir_ref quotients[LOOP_MAX_TERM_LOADS];
  int64_t width, stride;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t found =
        affine_find_range(n->g, ir_src(n->g, loads[i], 1), IR_OP_FLOORDIV, quotients, LOOP_MAX_TERM_LOADS);
    for (uint32_t q = 0; q < found; q++) {
      const ir_node *d = ir_get(n->g, quotients[q]);
      if (ir_is_const(n->g, d->src[1], &width) && width % vector->lanes == 0 &&
          width / vector->lanes <= most && affine_stride(n->g, d->src[0], vector->range, &stride) &&
          stride == 1)
        return (int)(width / vector->lanes);
    }
  }
  return 0;
}

/* The store, in which loads of the columns prefetch what the tile reads some terms later. A tile reads its
 * columns faster than hardware prefetchers fetch them from the L2 cache, and they do not reach the next row
 * of columns that are not packed. */
static ir_ref fetch_columns(loop_nest *n, const loop_axis *vector, ir_ref reduce, const ir_ref *loads,
                            uint32_t count) {
  /* AHEAD_BYTES: 512 bytes to 2 KiB are equally fast where panels are in the L2 cache; 8 x 3 tiles take a
   * twentieth to a tenth less time than without, those of 17 rows by 4096 terms by 4096 columns, whose panels
   * come from memory, a quarter less. LONG_AHEAD_BYTES: of four 3 x 3 convolutions of 512 channels on 7 x 7
   * positions, 38 MB of weights in panels of 295 KB, 8 KiB ahead gain twice as much as 1 KiB. Of panels of
   * LONG_PANEL_BYTES one prefetch in 16 at most is past the end. */
  enum { AHEAD_BYTES = 1 << 10, LONG_AHEAD_BYTES = 8 << 10, LONG_PANEL_BYTES = 16 * LONG_AHEAD_BYTES };
  ir_graph *g = n->g;
  const ir_node *r = ir_get(g, reduce);
  ir_ref from[LOOP_MAX_TERM_LOADS], to[LOOP_MAX_TERM_LOADS];
  uint32_t used = 0;
  int64_t lane, term, width = (int64_t)vector->unroll * vector->lanes, all = 1;
  for (uint32_t i = 1; i < r->nsrc; i++) all = pass_times(all, ir_bounds_of(g, ir_src(g, r->src[i], 0)).hi);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *l = ir_get(g, loads[i]);
    int64_t bytes = width * ir_dtypes[l->dtype].bytes,
            terms = (pass_times(all, bytes) < LONG_PANEL_BYTES ? AHEAD_BYTES : LONG_AHEAD_BYTES) / bytes;
    bool columns = l->arg == 0 && ir_op_of(g, l->src[0]) == IR_OP_PARAM && ir_is_true(g, l->src[2]) &&
                   loop_lane_stride(n, l->src[1], vector->range, width, &lane) && lane == 1 &&
                   pass_about_stride(g, l->src[1], r->src[r->nsrc - 1], &term) && term >= width &&
                   term <= INT32_MAX / LONG_AHEAD_BYTES;
    if (!columns) continue;
    from[used] = loads[i];
    to[used++] = loop_load_ahead(g, loads[i], term * (terms > 1 ? terms : 1), IR_NO_STREAM);
  }
  return used ? pass_substitute(g, n->store, from, to, used) : n->store;
}

/* The axis along which windows go next when they have gone along the rows' axis: the innermost other one
 * along which their elements lie further on, and by how many; NULL: there is none. */
static const loop_axis *next_windows(loop_nest *n, const loop_axis *row, ir_ref index, int64_t *apart) {
  for (uint32_t i = n->axis_count; i-- > 0;) {
    const loop_axis *a = &n->axes[n->order[i]];
    if (a != row && affine_stride(n->g, index, a->range, apart) && *apart != 0) return a;
  }
  return NULL;
}

/* The store, in which the first load of windows prefetches what those of the next line of the image read. A
 * tile reads a few elements of each channel, pages apart, which hardware prefetchers do not follow. Of 3 x 3
 * convolutions whose image is three times the L2 cache, 256 x 56 x 56 took 0.93 of the time, 128 x 112 x 112
 * 0.95, 8 images of 64 x 56 x 56 0.87, 4 images of 100 x 57 x 57 with dilation 2 0.87 (Zen 4, one thread);
 * images that stay in that cache take as long as without. */
static ir_ref fetch_windows(loop_nest *n, const loop_axis *row, ir_ref store, ir_ref lane,
                            const ir_ref *loads, uint32_t count) {
  ir_graph *g = n->g;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *l = ir_get(g, loads[i]);
    int64_t apart, bytes = ir_dtypes[l->dtype].bytes;
    if (l->arg != 0 || ir_op_of(g, l->src[0]) != IR_OP_PARAM || affine_depends(g, l->src[1], lane) ||
        ir_bounds_of(g, ir_src(g, l->src[0], 0)).lo <= n->target->l2_bytes / bytes / 2 ||
        !next_windows(n, row, l->src[1], &apart) || apart > INT32_MAX || apart < INT32_MIN)
      continue;
    ir_ref ahead = loop_load_ahead(g, loads[i], apart, IR_NO_STREAM);
    return pass_substitute(g, store, &loads[i], &ahead, 1);
  }
  return store;
}

/* Are all columns, whose number is a variable, in one step of `most` vectors at most, whatever their number
 * is? */
static bool are_one_step(const loop_nest *n, const loop_axis *vector, int most) {
  ir_bounds size = ir_bounds_of(n->g, vector->extent);
  int64_t vectors = size.hi / vector->lanes;
  return vector->overlaps && size.hi % vector->lanes == 0 && vectors <= most &&
         size.lo >= loop_least_wide(n, vector, vectors);
}

/* Is the columns' operand larger than some L2 caches, and does a tile so many vectors wide read a few lines
 * of each row? What is further away is read in longer pieces: on Zen 4, one thread, 12 rows by 1216 terms by
 * 17274 columns took 25.8 ms in tiles of two vectors, and take 12.5 in two or three of four; 10 by 4096 by
 * 4096 14.3 and 10.3. Of three vectors that are lines each 8 rows are as fast in one tile as in two, and
 * take 14.6 ms in place of 10.3 where vectors lie across lines. From the last cache 12 by 2000 by 1500
 * takes 1.5 ms in place of 3.3, 12 by 5000 by 1000 3.2 in place of 6.6, 10 by 2048 by 1024 0.47 in place
 * of 1.1; 12 by 1000 by 1500, 6 MB, 0.33 in place of 0.35. */
static bool is_read_in_short_pieces(loop_nest *n, const loop_axis *vector, ir_ref reduce, const ir_ref *loads,
                                    uint32_t count, int columns) {
  enum {
    MIN_LINES = 3, /* of a row at a time, as measured above */
    L2_CACHES = 4  /* that hold what is read as fast in short pieces */
  };
  const ir_node *r = ir_get(n->g, reduce);
  int64_t row = 0, bytes = ir_dtypes[ir_dtype_of(n->g, r->src[0])].bytes, line = IR_CACHE_LINE_BYTES;
  int64_t size = operand_size(n, reduce, vector->range, loads, count, false);
  if (pass_times(size, bytes) <= L2_CACHES * n->target->l2_bytes) return false;
  for (uint32_t i = 0; i < count; i++)
    if (affine_depends(n->g, loads[i], vector->range) &&
        !affine_stride(n->g, ir_src(n->g, loads[i], 1), r->src[r->nsrc - 1], &row))
      return false;
  int64_t lines = columns * n->target->vector_bytes / line;
  return lines < MIN_LINES || (lines == MIN_LINES && row * bytes % line);
}

/* Are results of so few terms, and so many, that storing them, a tile's row in a page of its own, takes most
 * of the time? Then tiles are as wide as of a known number of columns: 8 products of n x 64 x n, of 1 to
 * 4096, take 1.06 to 1.16 times as long for 384 to 777 as of a known number, 1.2 to 1.26 in tiles of two
 * vectors. */
static bool stores_much(loop_nest *n, const loop_axis *row, const loop_axis *vector, ir_ref reduce) {
  enum {
    FEW_TERMS = 64, /* n x 512 x n takes as long in tiles of two vectors */
    MUCH = 8 << 20  /* bytes: 512 x 64 x 77, at most 8 MB, takes 1.16 times as long as of a known number so */
  };
  int64_t terms = tile_of(n, reduce).terms, bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes;
  int64_t results = pass_times(ir_bounds_of(n->g, row->extent).hi, ir_bounds_of(n->g, vector->extent).hi);
  return terms > 0 && terms <= FEW_TERMS && pass_times(results, bytes) > MUCH;
}

/* The columns of a tile whose operands are not packed: few rows are all in one tile, so that the columns'
 * operand is read once, unless it comes from memory in short pieces then. Of a number of columns that is not
 * known, what fills no tile is half of one, or a whole one: where there are rows enough for a tile of two
 * vectors, one of them is the least that can be left. With four, 33 columns took 1.7 times as long as of a
 * known number, with two 1.2. Where one step is enough it is as wide as of the most of them: 64 columns in
 * two, each of which reads half of the lines of a row, took 1.08 times as long, of 32 rows by 4096 terms. */
static int tile_columns(loop_nest *n, const loop_axis *vector, const loop_axis *row, ir_ref reduce,
                        const ir_ref *loads, uint32_t count, int sums) {
  enum { MIN_COLUMNS = 2 }; /* vectors that share a row's element: with one, each multiply-add takes a load */
  int columns = tile_for(n->target, ir_dtype_of(n->g, reduce), 0).columns;
  int64_t height = ir_bounds_of(n->g, row->extent).hi;
  if (!ir_is_const(n->g, vector->extent, NULL) && height >= MAX_ROWS && loop_masks_lanes(n, vector) &&
      !are_one_step(n, vector, columns))
    return stores_much(n, row, vector, reduce) ? columns : MIN_COLUMNS;
  if (height * columns <= sums || height * MIN_COLUMNS > sums) return columns;
  int few = sums / (int)height;
  return is_read_in_short_pieces(n, vector, reduce, loads, count, few) ? columns : few;
}

/* Vectors in a row of the tile, `most` at most; all of a short row in one tile. */
static int fitting(const loop_nest *n, const loop_axis *vector, int most) {
  int64_t width = ir_bounds_of(n->g, vector->extent).hi, all = (width + vector->lanes - 1) / vector->lanes;
  bool exact = width % vector->lanes == 0;
  if (all <= most && (exact || vector->overlaps)) return (int)all;
  while (most > 1 && (int64_t)vector->lanes * most > width) most /= 2;
  return most;
}

/* Where rows of the result are a page apart or more, each tile begins so many pages anew, with the few lines
 * of a tile. Of few terms, a page of all columns stays in the L2 cache: there the loop over the rows goes
 * over the columns of a page, if the result does not stay in that cache. 96 rows of 112 x 112 positions by 16
 * terms take 0.43 ms in place of 0.85; results of 16 to 64 rows, 0.3 to 0.8 MB, took 5 % longer. Blocks
 * divide the columns, so that what is left of them needs no loops of its own, or are MANY of whole pages: 16
 * rows by 14 terms by 387035 columns take 0.69 of the time, 64 by 27 by 50003 0.73; in half pages 307 by 41
 * by 17552 1.12. */
static void block_columns(loop_nest *n, loop_axis *vector, const loop_axis *row, ir_ref reduce,
                          int64_t terms) {
  enum {
    L2_SHARE = 8, /* of the L2 cache, which holds rows of the result as well */
    MANY = 16     /* blocks, of which what is left takes little beside */
  };
  int64_t bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes, width = (int64_t)vector->unroll * vector->lanes,
          apart, size, most = IR_PAGE_BYTES / bytes;
  if (terms < 1 || !affine_stride(n->g, ir_src(n->g, n->store, 1), row->range, &apart) ||
      apart < IR_PAGE_BYTES / bytes || !ir_is_const(n->g, vector->extent, &size) ||
      pass_times(ir_bounds_of(n->g, row->extent).hi, apart) <= n->target->l2_bytes / bytes)
    return;
  while (most > n->target->l2_bytes / L2_SHARE / bytes / terms) most /= 2;
  for (int64_t block = most / width * width; block > width && !vector->block; block -= width)
    if (size % block == 0 && size > block) vector->block = (int)block;
  if (!vector->block && most == IR_PAGE_BYTES / bytes && size >= MANY * most)
    vector->block = (int)(most / width * width);
}

/* Makes one block of columns that are more than a tile, `most` vectors at most, where their number varies by
 * less than a vector: what is left of them is then computed for rows that are in the L1 cache, as that of a
 * known number is. 512 rows by 64 terms by 33 columns took 1.06 times as long as of a known number. */
static void keep_together(loop_axis *vector, const loop_nest *n, int most) {
  ir_bounds size = ir_bounds_of(n->g, vector->extent);
  int64_t width = (int64_t)vector->unroll * vector->lanes;
  if (size.lo < size.hi && size.hi - size.lo < vector->lanes && size.hi > width &&
      size.hi <= (int64_t)most * vector->lanes)
    vector->block = (int)((size.hi / width + 1) * width);
}

/* Makes blocks of rows, for each of which the loop goes over all panels, and says whether it has. Where the
 * L2 cache holds all panels and little of rows and results besides, rows are then read once, not once for
 * each panel, and results stored line after line, as prefetchers follow them. Time by that of a loop over the
 * panels outside of all rows (f32, AVX-512, one thread), rows x terms x columns, with a residual added: 3136
 * x 64 x 256 0.83, 784 x 512 x 256 0.84, 784 x 512 x 128 0.88, 3136 x 256 x 128 0.95, 12544 x 16 x 96 0.69,
 * 3136 x 24 x 144 0.85; in blocks of half or twice the height 0.97 to 1.07 of that. */
static bool block_rows(loop_nest *n, const loop_axis *vector, loop_axis *row, int64_t bytes, int64_t terms) {
  enum {
    REPEATED = 64, /* part of the rows that may be computed twice, so that all blocks have the same loops */
    BLOCKS = 4     /* of fewer, the rows of a product stay in caches anyway */
  };
  static const int tiles[] = {8, 7, 9, 6, 10}; /* of a block, the best number first */
  int64_t rows, columns, step = row->unroll, half = n->target->l2_bytes / bytes / 2;
  if (n->has_locals || n->axis_count != 2 || row != n->axes || terms < 1 ||
      !ir_is_const(n->g, row->extent, &rows) || !ir_is_const(n->g, vector->extent, &columns) ||
      columns <= (int64_t)vector->unroll * vector->lanes)
    return false;
  if (rows < BLOCKS * tiles[0] * step || pass_times(terms, columns) > half ||
      pass_times(rows, terms + columns) <= half)
    return false;
  int64_t least = rows / REPEATED + 1;
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    int64_t block = tiles[i] * step, left = rows % block, again = left % step == 0 ? 0 : block - left;
    if ((again && !row->overlaps) || again >= least) continue;
    least = again, row->block = (int)block;
  }
  return row->block;
}

/* Are tiles in the order of the results? Of few terms a tile stores as much as it reads of the columns, whose
 * panels the L2 cache holds; panel after panel it would store a few lines of each row of a large result,
 * pages apart. Rows x terms x columns, by the time of blocks of rows or of a loop over the panels outside
 * (f32, Zen 4, one thread): 5225 x 8 x 1551 0.66, 2000 x 16 x 1500 0.71, 16 times 277 x 6 x 1308 0.63, 8
 * times 500 x 16 x 1000 0.78. */
static bool follows_results(loop_nest *n, const loop_axis *vector, const loop_axis *row, int64_t bytes,
                            int64_t terms) {
  enum { FEW_TERMS = 16 }; /* of 24 it takes as long, 8 times 500 x 32 x 1000 1.04 times */
  int64_t rows, columns, half = n->target->l2_bytes / bytes / 2;
  return row < vector && !n->has_locals && terms >= 1 && terms <= FEW_TERMS &&
         ir_is_const(n->g, row->extent, &rows) && ir_is_const(n->g, vector->extent, &columns) &&
         columns * bytes >= IR_PAGE_BYTES && pass_times(terms, columns) <= half &&
         pass_times(rows, columns) > half;
}

bool loop_choose_tile(loop_nest *n, loop_axis *vector, ir_ref reduce) {
  tile whole = tile_of(n, reduce);
  ir_ref loads[LOOP_MAX_TERM_LOADS];
  uint32_t count = affine_find_range(n->g, ir_src(n->g, reduce, 0), IR_OP_LOAD, loads, LOOP_MAX_TERM_LOADS);
  loop_axis *row = loop_row_axis_of(n, vector, loads, count),
            *window = row ? NULL : loop_window_axis(n, vector, reduce, loads, count);
  if (!row && !window) return false;
  int64_t apart = 0, slides = row ? window_along(n, row, reduce, loads, count, &apart) : 0;
  if (apart == 1) whole.window = slides;
  int sums = whole.rows * whole.columns, columns = whole.columns;
  bool repeatable = loop_is_repeatable(n), strides = has_strides(n, vector, loads, count);
  vector->overlaps = repeatable && strides;
  if (window) columns = 1;
  else if (strides) columns = tile_columns(n, vector, row, reduce, loads, count, sums);
  int panel = window ? 0 : panel_vectors(n, vector, loads, count, whole.columns);
  vector->unroll = columns = panel ? panel : fitting(n, vector, columns);
  bool follows = row && !panel && strides && is_box(n) && loop_follow_rows(n, vector, row, reduce);
  if (follows) columns = vector->unroll;
  if (window) set_rows(n, &whole, window, LOOP_WINDOW_ROWS, 1);
  if (window) loop_mask_short(n, vector, ir_src(n->g, reduce, 0), ir_dtypes[ir_dtype_of(n->g, reduce)].bytes);
  if (row) {
    row->overlaps = repeatable && has_strides(n, row, loads, count);
    set_rows(n, &whole, row, rows_in_sets(n, row, loads, count, most_rows(&whole, columns)), columns);
  }
  if (row && !panel && !follows && strides && is_box(n) && loop_stream_rows(n, vector, row, reduce)) {
    move_columns_out(n, (uint32_t)(vector - n->axes), row, reduce, loads, count);
    return n->store;
  }
  bool once = row && ir_bounds_of(n->g, row->extent).hi <= row->unroll,
       fetches = row && !follows && (once || !fits_l1(&whole, columns));
  ir_ref ahead = fetches ? fetch_columns(n, vector, reduce, loads, count) : n->store;
  if (row && !(once && n->axis_count == 2))
    ahead = loop_prefetch_epilogue(n, vector, row, reduce, ahead, loads, count);
  if (row && !panel && is_box(n)) block_columns(n, vector, row, reduce, whole.terms);
  ir_ref lane = vector->range;
  if (row && !panel && is_box(n)) keep_together(vector, n, whole.columns);
  int64_t bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes;
  bool ordered =
      row && panel && is_box(n) &&
      (follows_results(n, vector, row, bytes, whole.terms) || block_rows(n, vector, row, bytes, whole.terms));
  if (row && is_box(n) && !ordered)
    move_columns_out(n, (uint32_t)(vector - n->axes), row, reduce, loads, count);
  n->store = slides ? fetch_windows(n, row, ahead, lane, loads, count) : ahead;
  if (row && !panel && is_box(n)) loop_stage_columns(n, vector, row, reduce, loads, count);
  return true;
}
