/* Reductions whose lanes run along the elements of the result, the columns, and that read their terms once:
 * how many columns are computed together. */
#include "cpu.h"

#include "passes/index/index.h"

/* Vectors of sums that registers hold. */
static int64_t held_vectors(const loop_nest *n) { return n->target->registers - LOOP_SPARE_REGISTERS; }

void loop_choose_columns(loop_nest *n, loop_axis *vector, uint32_t reduce_count, bool is_index_reduction) {
  int columns =
      n->target->registers / (is_index_reduction ? 4 : 2) / (int)(reduce_count > 4 ? 4 : reduce_count);
  while (columns > 1 && (int64_t)vector->lanes * columns > ir_bounds_of(n->g, vector->extent).hi)
    columns /= 2;
  vector->unroll = columns;
}

/* Vectors that hold all columns, whose number is known, if these are contiguous in all that is read, and the
 * last vector may overlap the one before; else 0. */
static int64_t vectors_of_all(loop_nest *n, const loop_axis *vector, ir_ref reduce) {
  ir_ref loads[LOOP_MAX_NODES];
  int64_t size, step;
  uint32_t count = affine_find_range(n->g, ir_src(n->g, reduce, 0), IR_OP_LOAD, loads, LOOP_MAX_NODES);
  if (!ir_is_const(n->g, vector->extent, &size) || count == LOOP_MAX_NODES) return 0;
  for (uint32_t i = 0; i < count; i++)
    if (!affine_stride(n->g, ir_src(n->g, loads[i], 1), vector->range, &step) || (step != 0 && step != 1))
      return 0;
  if (size % vector->lanes && !loop_is_repeatable(n)) return 0;
  return (size + vector->lanes - 1) / vector->lanes;
}

/* Elements of a parameter that a choice counts on: the least; where the number of columns is known, so that
 * it is their rows that vary, the most: few rows, which caches hold, take as long in wide columns. */
static int64_t least_elements(loop_nest *n, const loop_axis *columns, ir_ref param) {
  ir_bounds size = ir_bounds_of(n->g, ir_src(n->g, param, 0));
  return ir_is_const(n->g, columns->extent, NULL) ? size.hi : size.lo;
}

/* The only load along the columns of the nest's only reduction, if it reads rows of a large parameter in
 * sequence; 0: there is none. *row: elements from a row to the next. */
static ir_ref load_of_rows(loop_nest *n, const loop_axis *columns, ir_ref reduce, int64_t *row) {
  ir_graph *g = n->g;
  ir_ref loads[LOOP_MAX_NODES];
  const ir_node *r = ir_get(g, reduce);
  uint32_t count = affine_find_range(g, r->src[0], IR_OP_LOAD, loads, LOOP_MAX_NODES), along = 0;
  for (uint32_t i = 0; i < count; i++)
    if (affine_depends(g, loads[i], columns->range)) loads[along++] = loads[i];
  if (along != 1 || count == LOOP_MAX_NODES) return 0;
  const ir_node *l = ir_get(g, loads[0]);
  int64_t column, bytes = ir_dtypes[l->dtype].bytes;
  bool rows = affine_stride(g, l->src[1], columns->range, &column) && column == 1 &&
              pass_about_stride(g, l->src[1], r->src[r->nsrc - 1], row) &&
              ir_op_of(g, l->src[0]) == IR_OP_PARAM && l->arg == 0 &&
              least_elements(n, columns, l->src[0]) > n->target->l2_bytes / bytes;
  return rows ? loads[0] : 0;
}

enum { MIN_BLOCKS = 4 }; /* one for each of four threads */

/* Blocks of the columns that make MIN_BLOCKS with the axes other than these two. */
static int64_t blocks_beside(const loop_nest *n, const loop_axis *vector, const loop_axis *row) {
  int64_t others = 1;
  for (uint32_t a = 0; a < n->axis_count && others < MIN_BLOCKS; a++)
    if (&n->axes[a] != vector && &n->axes[a] != row) others *= ir_bounds_of(n->g, n->axes[a].extent).lo;
  return others > 1 ? (MIN_BLOCKS + others - 1) / others : MIN_BLOCKS;
}

/* Blocks of the columns, for threads: MIN_BLOCKS with the other axes, or fewer, if they were no more than
 * registers hold, or than half a page; of two, than a little more: what is left of rows a little longer than
 * a page is read faster in a pass of its own than all by halves. 1 x 15000 x 1040 takes one thread 3.0 ms in
 * place of 6.1, of 1099 columns 3.4 in place of 3.8; of 1280 1.1 times as long. */
static int64_t blocks_of(const loop_nest *n, const loop_axis *vector, int bytes) {
  enum { OVER_HALF = IR_PAGE_BYTES / 16 * 9 }; /* of 1152 f32, as measured above */
  int64_t columns = ir_bounds_of(n->g, vector->extent).hi, blocks = blocks_beside(n, vector, NULL);
  while (blocks > 1 && (columns / blocks / vector->lanes <= held_vectors(n) ||
                        columns / blocks * bytes <= (blocks == 2 ? OVER_HALF : IR_PAGE_BYTES / 2)))
    blocks /= 2;
  return blocks;
}

/* The store, in which the load prefetches the row that comes so many rows later as terms are added at a time,
 * if rows are that many elements apart: prefetches reach forwards alone, 32 bits of elements at most. */
static ir_ref fetch_rows(loop_nest *n, ir_ref load, int64_t apart) {
  int64_t terms = n->strategy->spilled_terms;
  if (apart <= 0 || apart > INT32_MAX / terms) return n->store;
  ir_ref ahead = loop_load_ahead(n->g, load, apart * terms, IR_NO_STREAM);
  return ahead ? pass_substitute(n->g, n->store, &load, &ahead, 1) : 0;
}

/* Terms of the sum; 0: not known. */
static int64_t terms_of(const ir_graph *g, ir_ref reduce) {
  const ir_node *r = ir_get(g, reduce);
  int64_t terms = 1;
  for (uint32_t i = 1; i < r->nsrc; i++) {
    int64_t size;
    if (!ir_is_const(g, ir_src(g, r->src[i], 0), &size) || size > INT32_MAX / terms) return 0;
    terms *= size > 0 ? size : 1;
  }
  return terms;
}

/* Vectors of a step over rows that are a page apart or more and so few that each is a stream of hardware
 * prefetchers: these follow all rows at once in narrow steps. 0: the rows are read in long pieces. */
static int64_t streamed_vectors(const loop_nest *n, ir_ref reduce, int64_t row_bytes) {
  enum {
    LEAST = 8,   /* rows: of 4, 48 MB took 1.33 ms in long pieces, 1.55 so */
    NARROW = 20, /* rows: of 15, 45 MB take 1.3 ms in place of 2.8, of 20 1.65 in place of 2.65 */
    MOST = 32,   /* rows: of 29, 45 MB take 1.6 ms so in place of 2.4, of 48 2.4 in place of 1.9 */
    VECTORS = 4  /* of at most NARROW rows; of more a vector: 29 rows took 3.5 ms with 4, 1.9 with 2 */
  };
  int64_t terms = terms_of(n->g, reduce);
  if (row_bytes < IR_PAGE_BYTES || terms < LEAST || terms > MOST) return 0;
  return terms <= NARROW ? VECTORS : 1;
}

/* Vectors of an even part of `all`, so many parts or those of a page: what is left would be read in a pass of
 * its own, a line or two of each row. 1 x 6387 x 2105 takes 3.4 ms in place of 5.6. 0: the last two of such
 * parts, which one thread computes where they overlap, would be all, and what is left takes a few narrow
 * vectors: 1 x 9387 x 1500 takes two threads 1.5 times as long so, and one as long. */
static int64_t even_vectors(const loop_nest *n, const loop_axis *vector, int64_t all, int64_t parts,
                            int64_t page) {
  enum { NARROW = 4 }; /* lanes of the narrowest vector: single elements are passes, of 1047 columns three */
  int64_t vectors = page / vector->lanes, pages = (all + vectors - 1) / vectors;
  if (parts < pages) parts = pages;
  return parts == 2 && ir_bounds_of(n->g, vector->extent).hi % NARROW == 0 ? 0 : (all + parts - 1) / parts;
}

void loop_widen_columns(loop_nest *n, loop_axis *vector, ir_ref reduce) {
  enum {
    MAX_COLUMN_VECTORS = 64, /* a page of the widest: code grows with them */
    WHOLE_ROW = 128, /* of AVX2: in two passes sums of 11111 x 900 take 1.7 times, minima 2.2 times as long */
    MOST_OFF = 4     /* prefetched columns may be a quarter of a block off: the others are read */
  };
  int bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes;
  int64_t row, all = vectors_of_all(n, vector, reduce), held = held_vectors(n),
               blocks = blocks_of(n, vector, bytes), most = ir_bounds_of(n->g, vector->extent).hi / blocks,
               page = IR_PAGE_BYTES / bytes;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (&n->axes[a] != vector && n->axes[a].unroll > 1) return; /* windows share what they load */
  ir_ref load = load_of_rows(n, vector, reduce, &row);
  if (all > 1 && all <= (load ? held : n->target->registers / 2)) {
    vector->unroll = (int)all, vector->overlaps = true;
    return;
  }
  int64_t wide = (most < page ? most : page) / vector->lanes;
  if (blocks == 1 && all == wide + 1) wide = all;
  int64_t even = blocks > 1 && all ? even_vectors(n, vector, all, blocks, page) : wide;
  if (even) wide = even;
  bool whole = load && blocks == 1 && all > 0 && all <= WHOLE_ROW && row <= page &&
               row <= all * vector->lanes + IR_CACHE_LINE_BYTES / bytes; /* rows follow one another */
  if (whole) wide = all;
  else if (wide > MAX_COLUMN_VECTORS) wide = MAX_COLUMN_VECTORS;
  if (!load || wide <= held) return;
  int64_t narrow = streamed_vectors(n, reduce, row * bytes);
  if (narrow) {
    vector->unroll = (int)narrow, vector->overlaps = all > 0;
    return;
  }
  vector->unroll = (int)wide, vector->overlaps = (even || whole) && all > 0;
  ir_bounds size = ir_bounds_of(n->g, vector->extent); /* of one that varies, rows are about so far apart */
  if ((size.hi - size.lo) * n->strategy->spilled_terms <= vector->unroll * vector->lanes / MOST_OFF)
    n->store = fetch_rows(n, load, row);
}

/* Is the term of a sum a product of two loads, with nothing computed of either? Products of parts of words
 * take longer streamed: pairs of bf16, 16 x 4096 x 4096, 13.1 ms in place of 7.9 on Zen 4. */
static bool multiplies_loads(const ir_graph *g, ir_ref reduce) {
  const ir_node *term = ir_get(g, ir_src(g, reduce, 0));
  return loop_multiplies(g, reduce) && (term->op == IR_OP_FMA || term->op == IR_OP_MUL) &&
         ir_op_of(g, term->src[0]) == IR_OP_LOAD && ir_op_of(g, term->src[1]) == IR_OP_LOAD;
}

bool loop_stream_rows(loop_nest *n, loop_axis *vector, loop_axis *row, ir_ref reduce) {
  enum {
    SUMS = 96, /* vectors: of 64 4 x 600 x 40000 takes 1.14 times, of 128 1.17 times and twice to compile */
    MAX_WIDE = 32,  /* vectors: of 64 for each of 2 rows 2 x 3000 x 10000 takes 1.1 times as long */
    MAX_ROWS = 16,  /* of more, in pieces of 2 vectors: 24 x 777 x 7777 takes 1.3 times as long so */
    TERMS = 512,    /* sums are in memory: 16 x 256 x 31250 takes 1.11 times, 16 x 512 x 15700 0.89 times */
    TILE_ROWS = 8,  /* one tile has them: only of rows pages apart, in few sets of caches, it takes longer */
    FAR = 24 << 20, /* bytes: of 24 MB 4 x 3000 x 2000 takes as long, of 40 3 x 2000 x 5000 0.8 times */
    REGISTERS = 2 << 10, /* bytes: of 16 x 32, 8 x 2000 x 4000 takes 1.6 times as long so */
    THIRDS = 2 /* of L3: of 32 MiB 12 x 2700 x 2000, 20.6, takes 1.5 times, 12 x 800 x 7000 0.64 times */
  };
  int64_t apart, rows, columns;
  ir_ref load = load_of_rows(n, vector, reduce, &apart);
  if (!load || !multiplies_loads(n->g, reduce) || !ir_is_const(n->g, row->extent, &rows) ||
      !ir_is_const(n->g, vector->extent, &columns) || rows < 1 || rows > MAX_ROWS ||
      terms_of(n->g, reduce) < TERMS)
    return false;
  int bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes;
  int64_t all = ir_bounds_of(n->g, ir_src(n->g, ir_src(n->g, load, 0), 0)).lo, wide = SUMS / rows,
          block = blocks_beside(n, vector, row) * vector->lanes, most = (columns + block - 1) / block;
  if (wide > most) wide = most;
  if (wide > MAX_WIDE) wide = MAX_WIDE;
  bool far = apart >= IR_PAGE_BYTES / bytes && all >= FAR / bytes;
  if (rows <= TILE_ROWS && apart * bytes % IR_PAGE_BYTES && !far) return false;
  if (n->target->registers * n->target->vector_bytes < REGISTERS || rows * wide <= n->target->registers ||
      pass_times(all, bytes) <= n->target->l3_bytes / 3 * THIRDS)
    return false;
  n->store = fetch_rows(n, load, apart);
  vector->unroll = (int)wide, row->unroll = (int)rows;
  return true;
}

bool loop_follow_rows(loop_nest *n, loop_axis *vector, const loop_axis *row, ir_ref reduce) {
  enum {
    ROWS = 64,       /* of more, tiles prefetch lines that are there: 200 x 16 x 30000 takes 1.1 times */
    PRODUCTS = 2400, /* for a column: 12 x 300 x 25000 takes 1.25 times, 6 x 400 x 20000 0.6 times */
    TERMS = 200,     /* of more, from the last cache 4 x 400 x 5000 takes 1.7 times */
    PAGES = 32,      /* terms pages apart, which share sets: of 64, 2 x 64 x 131072 takes 1.3 times */
    FAR = 12 << 20,  /* bytes, of which more terms are followed: 6 x 400 x 8000 takes 0.4 times */
    AHEAD = 1 << 10  /* bytes: with 512 7 x 40 x 148702 takes 2.3 ms, with 256 3.8 */
  };
  int64_t apart, rows, terms = terms_of(n->g, reduce);
  ir_ref load = load_of_rows(n, vector, reduce, &apart);
  if (!load || !multiplies_loads(n->g, reduce) || !ir_is_const(n->g, row->extent, &rows)) return false;
  int bytes = ir_dtypes[ir_dtype_of(n->g, reduce)].bytes;
  int64_t all = ir_bounds_of(n->g, ir_src(n->g, ir_src(n->g, load, 0), 0)).lo;
  int64_t most = apart * bytes % IR_PAGE_BYTES == 0 ? PAGES : all < FAR / bytes ? TERMS : PRODUCTS;
  if (rows < 1 || rows > ROWS || terms < 1 || terms > most || terms > PRODUCTS / rows ||
      apart < IR_PAGE_BYTES / bytes)
    return false;
  ir_ref ahead = loop_load_ahead(n->g, load, AHEAD / bytes, IR_NO_STREAM);
  n->store = ahead ? pass_substitute(n->g, n->store, &load, &ahead, 1) : 0;
  vector->unroll = 1;
  return true;
}
