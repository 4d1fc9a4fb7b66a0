/* Stores without reductions: which axes are unrolled, and at which element vectors begin. */
#include "cpu.h"

#include "ir/arith.h"

static bool may_step(loop_nest *n, const loop_axis *a) {
  uint32_t axis = (uint32_t)(a - n->axes);
  return !loop_bounds_another(n, axis) && !loop_is_ordered(n, axis);
}

/* Does the extent depend on loops further out? */
static bool varies(loop_nest *n, const loop_axis *a) {
  ir_ref range;
  return affine_find_range(n->g, a->extent, IR_OP_RANGE, &range, 1) > 0;
}

static bool is_store(const loop_nest *n) { return ir_op_of(n->g, n->store) == IR_OP_STORE; }

/* Are there loads, all contiguous along the axis, or uniform, or in steps from `least` to `most`? */
static bool loads_in_steps(loop_nest *n, const loop_axis *a, int64_t least, int64_t most) {
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  bool unit_stride = count > 0;
  for (uint32_t i = 0; i < count && unit_stride; i++) {
    int64_t stride;
    unit_stride = affine_stride(n->g, ir_src(n->g, loads[i], 1), a->range, &stride) &&
                  ((stride >= -1 && stride <= 1) || (stride >= least && stride <= most));
  }
  return unit_stride;
}

static bool loads_unit_stride(loop_nest *n, const loop_axis *a) { return loads_in_steps(n, a, 1, 1); }

/* Of rows of a few elements that are stored one behind the other the lanes run along the rows: where each
 * element of these is read from an array of its own, or where so few fill no more than half of a vector and
 * are picked from rows that are as short. The first and third of three f32 take 0.6 of the time that vectors
 * of two take (Zen 4). */
loop_axis *loop_alternating(loop_nest *n, loop_axis *last, int lanes) {
  int64_t count, step;
  ir_ref index = ir_src(n->g, n->store, 1);
  if (!is_store(n) || !ir_is_const(n->g, last->extent, &count) || count < 2 || count > IR_MAX_INTERLEAVED)
    return NULL;
  bool contiguous = loads_unit_stride(n, last), few = 2 * count <= lanes;
  if (contiguous && !few) return NULL;
  for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
    if (!affine_stride(n->g, index, a->range, &step) || step != count || !may_step(n, a) ||
        ir_bounds_of(n->g, a->extent).hi < lanes ||
        !loads_in_steps(n, a, contiguous ? count : 1, few ? IR_MAX_PICKED_STEP : 1))
      continue;
    last->unroll = (int)count;
    return a;
  }
  return NULL;
}

/* The block size of the axis: so many of its elements are done before the next tile along the rows that are
 * stored. At least a cache line's elements, so that a line that was read is used up. More where few rows of
 * the output fall into one set of the L1 cache, because rows are short or stores are non-temporal:
 * neighbouring lines are then read together. */
enum { BLOCK_TILES = 4 }; /* tiles in a block: four neighbouring lines where a tile is as wide as a line */
static int block_of(loop_nest *n, const loop_axis *a, int unroll, int bytes, bool streams) {
  int64_t row;
  bool known = affine_stride(n->g, ir_src(n->g, n->store, 1), a->range, &row) && row > 0;
  bool near =
      known && row <= n->target->l1_bytes && 2 * BLOCK_TILES * unroll * row * bytes <= n->target->l1_bytes;
  int block = streams || near ? BLOCK_TILES * unroll : 0;
  return block > IR_CACHE_LINE_BYTES / bytes ? block : IR_CACHE_LINE_BYTES / bytes;
}

/* Rows of the source that are no longer than a block lie one behind the other in memory: whichever way the
 * tiles of some of them go, reading is sequential. So they go along the rows that are stored, four tiles at a
 * time, of all columns: lines that follow one another are written one after the other. For images of 3136
 * pixels of 64 channels, made planes, 2.0 ms in place of 2.4, with ordinary stores and non-temporal ones. */
static bool block_short_rows(loop_nest *n, loop_axis *vector, loop_axis *a, int unroll) {
  int64_t size, rows = BLOCK_TILES * (int64_t)vector->lanes;
  if (!ir_is_const(n->g, a->extent, &size) || size <= unroll || size > BLOCK_TILES * unroll ||
      size % unroll || ir_bounds_of(n->g, vector->extent).hi < 2 * rows)
    return false;
  a->block = (int)size;
  vector->block = (int)rows;
  return true;
}

/* Rows of a tile, of an axis of so few. Tiles whose rows are a power of two are transposed in registers, and
 * two of them may overlap; rows of others are made element by element, but for so few that they are picked
 * from whole vectors. 3466 matrices of 34 x 13 f32 take half as long in tiles of eight rows (Zen 4). The
 * tiles of one matrix are passes over all of it, and lanes are picked as pairs from rows of whole words of 64
 * bits: 20000 x 6 and 20000 x 12 f32 take 1.2 and 1.5 times as long in tiles, 20000 x 5 f64 1.3 times, 20000
 * x 7 f32 0.76 times, 20000 x 12 f16 0.96 times. */
static int tile_rows(const loop_nest *n, const loop_axis *a, int64_t most, int bytes) {
  enum { WORD = 8 }; /* bytes that lanes are picked as: of rows of 28 bytes, tiles take 0.76 times */
  enum { WIDE = 4 }; /* bytes of an element from which on it is so: of 20000 x 12 f16 tiles take 0.96 times */
  bool words = n->axis_count == 2 && bytes >= WIDE && most * bytes % WORD == 0;
  int rows = 1;
  while (2 * rows <= most) rows *= 2;
  return a->overlaps && most > IR_MAX_PICKED_STEP && !words ? rows : (int)most;
}

/* Lanes that gather along one axis what is contiguous along another (a transpose): with that other axis
 * unrolled, whole vectors are loaded and transposed in registers. */
static bool choose_tile(loop_nest *n, loop_axis *vector, bool streams) {
  int unroll = n->target->registers / 2;
  if (unroll > vector->lanes) unroll = vector->lanes;
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    int64_t stride;
    if (affine_stride(n->g, index, vector->range, &stride) && stride >= -1 && stride <= 1) continue;
    for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
      if (a == vector || varies(n, a) || !may_step(n, a) || !affine_stride(n->g, index, a->range, &stride) ||
          (stride != 1 && stride != -1))
        continue;
      int64_t most = ir_bounds_of(n->g, a->extent).hi;
      int bytes = ir_dtypes[ir_dtype_of(n->g, loads[i])].bytes;
      if (most >= unroll) a->unroll = unroll;
      else if (ir_is_const(n->g, a->extent, &most)) a->unroll = tile_rows(n, a, most, bytes);
      bool blocks = block_short_rows(n, vector, a, unroll);
      int block = block_of(n, a, unroll, bytes, streams);
      if (!blocks && most >= block && block > unroll) a->block = block;
      if (!n->strategy->transposes_vectors) a->unroll = 1;
      return true;
    }
  }
  return false;
}

/* Rows that are read backwards: several vectors at a time, so that each group of cache lines is read
 * together; hardware prefetchers fetch forwards. Half again as fast, where rows read forwards lose. */
static void choose_backward(loop_nest *n, loop_axis *vector) {
  enum { BACKWARD_VECTORS = 8 }; /* vectors read together, of all streams: half a KiB of f32 in the widest */
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_LOAD, loads, LOOP_MAX_NODES), streams = 0;
  bool backward = false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t stride;
    if (!affine_stride(n->g, ir_src(n->g, loads[i], 1), vector->range, &stride)) return;
    backward |= stride == -1;
    streams += stride != 0;
  }
  if (!backward) return;
  int unroll = streams < BACKWARD_VECTORS ? BACKWARD_VECTORS / (int)streams : 1;
  if (ir_bounds_of(n->g, vector->extent).hi >= 4 * unroll * vector->lanes) vector->unroll = unroll;
}

/* Quotients of indices that repeat after a few vectors: unrolled as often they are constants, and so are
 * masks made of them. */
static void choose_repeated(loop_nest *n, loop_axis *vector) {
  ir_ref quotients[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_FLOORDIV, quotients, LOOP_MAX_NODES);
  int64_t unroll = 1, most = ir_bounds_of(n->g, vector->extent).hi;
  if (!loads_unit_stride(n, vector)) return;
  for (uint32_t i = 0; i < count; i++) {
    int64_t divisor, stride;
    const ir_node *q = ir_get(n->g, quotients[i]);
    if (!affine_depends(n->g, quotients[i], vector->range)) continue;
    if (!ir_is_const(n->g, q->src[1], &divisor) || !affine_stride(n->g, q->src[0], vector->range, &stride))
      return;
    int64_t step = stride * vector->lanes, repeated = divisor / ir_gcd(divisor, step < 0 ? -step : step);
    if (repeated > LOOP_MAX_REPEATED) return;
    unroll = unroll / ir_gcd(unroll, repeated) * repeated;
  }
  if (unroll <= LOOP_MAX_REPEATED && unroll * vector->lanes <= most) vector->unroll = (int)unroll;
}

/* Where rows of the output begin, in elements past a multiple of the lanes: a number, or at different places,
 * or not known. */
enum { ANYWHERE = -1, UNKNOWN = -2 }; /* ANYWHERE: at different places; UNKNOWN: not known */

static int term_begin(loop_nest *n, const loop_axis *vector, ir_ref term) {
  const ir_node *t = ir_get(n->g, term);
  int64_t value, lanes = vector->lanes;
  if (affine_depends(n->g, term, vector->range)) return 0;
  if (ir_is_const(n->g, term, &value)) return (int)((value % lanes + lanes) % lanes);
  if (t->op == IR_OP_MUL && t->nsrc == 2 && ir_is_const(n->g, t->src[1], &value))
    return value % lanes ? ANYWHERE : 0;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (term == n->axes[a].range && n->axes[a].unroll > 1) return 0; /* interleaved values */
  return t->op == IR_OP_RANGE ? ANYWHERE : UNKNOWN;
}

static int row_begin(loop_nest *n, const loop_axis *vector) {
  ir_ref index = ir_src(n->g, n->store, 1);
  const ir_node *sum = ir_get(n->g, index);
  uint32_t count = sum->op == IR_OP_ADD ? sum->nsrc : 1;
  int at = 0;
  for (uint32_t i = 0; i < count; i++) {
    int begin = term_begin(n, vector, sum->op == IR_OP_ADD ? sum->src[i] : index);
    if (begin == ANYWHERE) return ANYWHERE;
    at = begin == UNKNOWN || at == UNKNOWN ? UNKNOWN : at + begin;
  }
  return at == UNKNOWN ? UNKNOWN : at % vector->lanes;
}

/* Non-temporal stores want whole, aligned vectors: vectors begin at an element where those of all rows are
 * aligned. Where rows begin anywhere nothing is gained, and the store becomes an ordinary one; where sizes
 * are not known the alignment is tested when storing. */
static bool choose_stream(loop_nest *n, loop_axis *vector) {
  const ir_node *store = ir_get(n->g, n->store);
  if (!ir_streams(ir_arg_mode(store))) return false;
  int begin = row_begin(n, vector);
  if (begin > 0) vector->head = vector->lanes - begin;
  if (begin != ANYWHERE) return true;
  n->store = ir_make(n->g, IR_OP_STORE, IR_NONE, 0, store->src, store->nsrc);
  return false;
}

/* Rows of a few vectors are fully unrolled; of a number of elements that varies by less than a vector, those
 * of the longest. */
static void choose_short(loop_nest *n, loop_axis *vector) {
  /* vectors of a row that has no loop: a loop of so few iterations gains nothing */
  enum { MAX_ROW_VECTORS = 4 };
  ir_bounds size = ir_bounds_of(n->g, vector->extent);
  if (size.hi - size.lo < vector->lanes && size.hi / vector->lanes <= MAX_ROW_VECTORS &&
      size.hi >= vector->lanes)
    vector->unroll = (int)(size.hi / vector->lanes);
}

/* A few short rows are fully unrolled as well: hardware prefetchers follow loads of an even stride, but not
 * those of a loop of two or three iterations inside another. A tenth less time for what comes from memory. */
static void choose_few_rows(loop_nest *n, const loop_axis *vector) {
  enum {
    MAX_UNROLLED_ROWS = 4,    /* rows of such a loop: prefetchers find the stride of longer ones */
    MAX_UNROLLED_VECTORS = 16 /* vectors of all rows: half of 32 registers, or all of 16 */
  };
  loop_axis *rows = NULL;
  int64_t size, unroll = 1;
  for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
    bool whole = ir_is_const(n->g, a->extent, &size) && size == (int64_t)a->unroll * a->lanes;
    unroll *= a->unroll;
    if (a == vector && !whole) return;
    if (!whole) rows = a;
  }
  if (rows && rows->unroll == 1 && may_step(n, rows) && ir_is_const(n->g, rows->extent, &size) && size > 1 &&
      size <= MAX_UNROLLED_ROWS && unroll * size <= MAX_UNROLLED_VECTORS)
    rows->unroll = (int)size;
}

void loop_choose_unroll(loop_nest *n, loop_axis *vector) {
  if (!is_store(n)) return;
  bool streams = choose_stream(n, vector), repeatable = loop_is_repeatable(n), alternating = false;
  for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++)
    a->overlaps = repeatable && (a != vector || !streams); /* non-temporal lines are not stored twice */
  for (uint32_t a = 0; a < n->axis_count; a++) alternating |= n->axes[a].unroll > 1; /* by loop_alternating */
  if (!alternating && choose_tile(n, vector, streams)) return;
  if (!alternating) choose_backward(n, vector);
  if (vector->unroll == 1) choose_repeated(n, vector);
  if (vector->unroll == 1) choose_short(n, vector);
  if (streams) choose_few_rows(n, vector);
}
