/* Long reductions in two steps, on a grid that depends only on the shape and on the strategy of the target
 * (of a size that varies by less than half, on the largest, which most parts of a divided axis have):
 * the first step computes one result for each chunk of a reduced axis, the second combines those of all
 * chunks.
 *
 *   chunks   where there are too few results to occupy all threads: a reduced axis of n elements is split
 * into `chunks` times n / chunks consecutive elements: the outermost one in memory that is divided evenly, so
 * that each chunk is read in sequence, else the longest one folds    where there are too few contiguous
 * results to fill vectors: of the innermost reduced axis, `folds` neighbouring elements are reduced
 * separately, so that there are folds times as many contiguous results
 *
 *   runs      where the terms of a result lie in many places: those that follow one another, then the others
 *
 *   overlaps  where views repeat what a maximum or minimum combines (reduce_before_repeating.c)
 *
 * Where an axis does not divide, it is padded with the identity of the operation.
 *
 * The error of a sum in two steps is derived in passes/loops/reduce.c. */
#include "lower.h"

#include "passes/ops/compose/impl.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"
#include "passes/patterns/identity.h"

enum {
  MIN_ELEMENTS = 1 << 18, /* that are worth more than one chunk: 1 MiB of f32, from which on threads gain half
                             (SPLIT_WORK of runtime/program/frame.c) */
  MIN_TILED = 16 * MIN_ELEMENTS, /* the same for multiplications in tiles: 40 us of one thread */
  FULL_VECTORS = 64,             /* contiguous results that fill vectors: four of the widest of f32 */
  MAX_FOLDS = 32, /* separate reductions of neighbours, for the two results at least that there are */
  /* elements that each fold combines at least: the second step adds at most 1/16 of the work */
  MIN_FOLDED = 16,
  CHUNK_ALIGN = 16, /* elements: a cache line of f32, of which padded chunks have a whole number */
  MIN_ALIGNED = 64 * CHUNK_ALIGN, /* elements of a chunk from which on that pads by 1/64 at most */
  MIN_BLOCKED = 8 << 10,          /* terms of windows in chunks, because 4608 take as long in one */
  MAX_DEPTH = 8 /* of expressions that are looked at: each operand is visited again from each use */
};

typedef struct chunks {
  uint32_t chunked, fold; /* axes */
  int64_t chunks, folds;
} chunks;

void lower_places(const ir_graph *g, ir_ref x, uint32_t *place) {
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++) place[i] = i;
  for (;;) {
    const ir_node *n = ir_get(g, x);
    int cls = ir_ops[n->op].cls;
    if (n->op == IR_OP_PERMUTE) {
      for (uint32_t i = 0; i < rank; i++) place[i] = (uint32_t)ir_get(g, n->src[1 + place[i]])->arg;
    } else if (n->op == IR_OP_STORED ||
               (cls != IR_CLASS_UNARY && cls != IR_CLASS_BINARY && n->op != IR_OP_FLIP)) {
      return;
    }
    x = n->src[0];
    if (!ir_shape(g, x) || ir_rank(g, x) != rank) return;
  }
}

typedef struct sizes {
  int64_t size[IR_MAX_RANK], terms, results, inner; /* inner: contiguous results in memory */
  uint32_t longest, innermost;                      /* reduced axes */
  bool ordered; /* the innermost axis of the results is the innermost of them in memory, too */
  uint32_t count, reduced[IR_MAX_RANK]; /* reduced axes of two elements or more, outermost in memory first */
  /* the reduced axes inside of all results in memory, as bits, and their elements: a run of terms */
  uint32_t run_axes;
  int64_t run;
  int64_t line; /* elements from one to the next of the innermost reduced axis outside of results */
} sizes;

/* Sizes that vary by less than half are as large as they may be. False where others are not known, or that of
 * a reduced axis is not, or one is 0, or there is nothing to reduce. */
static bool read_sizes(ir_graph *g, ir_ref x, const bool *is_reduced, sizes *s) {
  uint32_t place[IR_MAX_RANK], rank = ir_rank(g, x);
  lower_places(g, x, place);
  s->terms = s->results = s->inner = 1;
  for (uint32_t i = 0; i < rank; i++) {
    if (!ir_is_const(g, ir_dim(g, x, i), &s->size[i])) {
      ir_bounds size = ir_bounds_of(g, ir_dim(g, x, i));
      if (is_reduced[i] || size.hi - size.lo >= size.lo) return false;
      s->size[i] = size.hi;
    }
    if (s->size[i] < 1) return false;
    int64_t *count = is_reduced[i] ? &s->terms : &s->results;
    *count = pass_times(*count, s->size[i]);
    if (!is_reduced[i] || s->size[i] == 1) continue;
    if (!s->count || s->size[i] > s->size[s->longest]) s->longest = i;
    uint32_t at = s->count++;
    for (; at > 0 && place[s->reduced[at - 1]] > place[i]; at--) s->reduced[at] = s->reduced[at - 1];
    s->reduced[at] = i;
  }
  if (s->count) s->innermost = s->reduced[s->count - 1];
  uint32_t inside = 0,
           last = 0; /* the place of the innermost axis of the results in memory; of the last one */
  for (uint32_t i = 0; i < rank; i++) {
    if (is_reduced[i] || s->size[i] == 1) continue;
    last = place[i];
    if (last > inside) inside = last;
  }
  s->ordered = last == inside;
  s->run = 1;
  for (uint32_t i = 0; i < rank; i++)
    if (is_reduced[i] && place[i] >= inside) s->run_axes |= 1u << i, s->run = pass_times(s->run, s->size[i]);
  uint32_t outside = s->count;
  while (outside > 0 && s->run_axes >> s->reduced[outside - 1] & 1) outside--;
  s->line = outside > 0;
  for (uint32_t i = 0; i < rank && outside > 0; i++)
    if (place[i] > place[s->reduced[outside - 1]]) s->line = pass_times(s->line, s->size[i]);
  for (uint32_t i = 0; i < rank && s->count; i++)
    if (!is_reduced[i] && place[i] > place[s->innermost]) s->inner = pass_times(s->inner, s->size[i]);
  return s->count > 0;
}

/* The number of chunks of an axis: the least divisor of its size from `least` to twice that, else `least`. */
static int64_t chunk_count(int64_t size, int64_t least, int64_t most) {
  if (least > most) least = most;
  for (int64_t count = least; count <= most && count <= 2 * least; count++)
    if (size % count == 0) return count;
  return least;
}

/* Are the terms of each result many short runs, pages apart, of an array that no L2 cache holds? */
static bool is_scattered(const sizes *s) {
  enum {
    MIN_RUNS = 16,       /* that hardware prefetchers would have to follow together */
    MIN_RUN = 8,         /* because 54 runs of 12 take 0.7 ms in place of 2.9, and of 4 as long as before */
    MIN_APART = 1 << 10, /* elements from one run to the next: a page of f32 */
    MIN_SCATTERED = 1 << 20, /* elements: 4 MiB of f32 */
  };
  int64_t runs = s->terms / s->run;
  return s->inner == 1 && s->run >= MIN_RUN && runs >= MIN_RUNS &&
         pass_times(s->run, s->results) >= MIN_APART && pass_times(s->terms, s->results) >= MIN_SCATTERED;
}

/* Are the terms of each result a few short runs, one in each of neighbouring lines of memory, as those of a
 * window that moves by its own size? Lanes along a line, which combine whole lines first, are filled. */
static bool is_window(const sizes *s) {
  enum {
    MIN_LONG = 5, /* because maxima of 2 x 2 of an array in L2 take 1.2 to 1.5 times as long in two steps */
    MIN_LARGE = 1 << 20, /* because of 11 MiB they take 0.45 of the time, of 5 MiB as long as in one step */
    MAX_LINES = 15, /* because 40 lines of runs of 2 take 0.8 ms in one step and 2.8 in two: many streams */
    MAX_SHORT = 8,  /* because 32 runs of 5 take 0.8 ms in two steps and 7.1 in one */
    MAX_RUN = 64    /* because 5 runs of 64 take 0.6 ms in two steps and as long in one, of 32 half as long */
  };
  int64_t lines = s->terms / s->run;
  bool pays = s->run >= MIN_LONG || pass_times(s->terms, s->results) >= MIN_LARGE;
  return s->inner == 1 && s->run >= 2 && s->run <= MAX_RUN && pays && lines >= 2 &&
         (lines <= MAX_LINES || (s->run >= MIN_LONG && s->run < MAX_SHORT)) && s->line >= FULL_VECTORS;
}

static chunks choose_chunking(const sizes *s, const pass_chunk_sizes *w, bool may_fold) {
  chunks p = {s->longest, s->innermost, 1, 1};
  int64_t n = s->size[p.fold];
  if (s->inner > 1 && s->ordered && may_fold)
    while (s->inner * p.folds < FULL_VECTORS && p.folds < MAX_FOLDS && n / (2 * p.folds) >= MIN_FOLDED)
      p.folds *= 2;
  int64_t contiguous = s->inner > w->contiguous_results ? w->contiguous_results : s->inner,
          grains = s->results / contiguous, all = pass_times(s->terms, s->results);
  if (all < MIN_ELEMENTS || grains >= w->enough_grains) return p;
  int64_t least = (w->enough_grains + grains - 1) / grains, most = all / w->min_chunk;
  if (most > w->max_chunks) most = w->max_chunks;
  if (most > s->terms / w->min_terms) most = s->terms / w->min_terms;
  if (most < 1) return p;
  if (least > most) least = most;
  for (uint32_t k = 0; k <= s->count; k++) { /* the longest one last, divided evenly or not */
    p.chunked = k < s->count ? s->reduced[k] : s->longest;
    int64_t left = s->size[p.chunked] / (p.chunked == p.fold ? p.folds : 1);
    p.chunks = chunk_count(left, least, most < left ? most : left);
    if (k < s->count && p.chunks >= least && left % p.chunks == 0) break;
  }
  return p;
}

/* Is the innermost of several reduced axes too short for folds that fill one vector? One axis in place of
 * 1000 x 50 x 12 takes 0.8 of the time for 6 results, of 2000 x 9 x 9 0.45 for 4; with 24 results of folds,
 * one in place of 174 x 85 x 96 takes 1.2 times as long. */
static bool has_few_folds(const sizes *s, const chunks *p) {
  return s->count > 1 && s->inner > 1 && s->ordered && 4 * s->inner * p->folds < FULL_VECTORS &&
         p->folds < MAX_FOLDS && s->terms / (2 * p->folds) >= MIN_FOLDED;
}

/* A sum of products of windows, of more terms than panels of an L2 cache have, is in chunks whose panels and
 * images it holds. 2048 to 512 channels by 3 x 3 on 20 x 20 take 0.88 of the time so, 2048 to 256 on 28 x 28
 * 0.89 (Zen 4); products of matrices, whose rows are read in sequence, as long. */
static chunks choose_blocks(ir_graph *g, ir_ref sum, const sizes *s) {
  enum { BLOCK = 3 << 10 };       /* terms of a chunk, because 2304 take 0.92 of the time of 4608 */
  enum { MIN_BOTH = 96 };         /* rows, and columns, because 49 rows take 1.03 of the time in chunks */
  enum { MAX_PARTIAL = 4 << 20 }; /* sums of all chunks, because an outer cache holds 16 MiB of them */
  chunks p = {s->longest, s->innermost, 1, 1};
  pass_contraction c;
  if (s->count < 2 || ir_dtype_of(g, sum) != IR_F32 || !pass_contraction_of(g, sum, &c)) return p;
  for (int k = 0; k < 2; k++)
    if (pass_contraction_size(&c, c.operand[k].varies & ~c.operand[1 - k].varies & ~c.reduced) < MIN_BOTH)
      return p;
  int64_t size = s->size[p.chunked], count = chunk_count(size, (s->terms + BLOCK - 1) / BLOCK, size);
  if (size % count == 0 && pass_times(count, s->results) <= MAX_PARTIAL) p.chunks = count;
  return p;
}

static uint32_t axes_of(ir_graph *g, uint32_t set, ir_ref *axes) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < IR_MAX_RANK; i++)
    if (set >> i & 1) axes[count++] = ir_index(g, i);
  return count;
}

/* The set of axes, renumbered as after a reduction over those in `is_reduced`. */
static uint32_t without(uint32_t set, uint32_t is_reduced) {
  uint32_t left = 0, at = 0;
  for (uint32_t i = 0; i < IR_MAX_RANK; i++) {
    if (is_reduced >> i & 1) continue;
    left |= (set >> i & 1) << at++;
  }
  return left;
}

static ir_ref reduce_axes(ir_graph *g, ir_op op, ir_ref x, uint32_t set) {
  ir_ref axes[IR_MAX_RANK];
  uint32_t count = axes_of(g, set, axes);
  return x ? op_reduce(g, op, x, axes, count, false) : 0;
}

/* Indices inside chunks and folds, as [before, chunks, folds, behind], become indices along the axis: those
 * of the candidates, [before, chunks * folds, behind]. */
static ir_ref candidates(ir_graph *g, ir_ref inside, const chunks *p, ir_ref before, ir_ref each,
                         ir_ref behind) {
  ir_ref chunks = ir_index(g, p->chunks), folds = ir_index(g, p->folds),
         dims[] = {before, chunks, folds, behind};
  ir_ref at = op_reshape_known(g, inside, dims, 4);
  at = op_add(g, at, op_mul(g, op_iota(g, IR_I64, dims, 4, 1), op_size_value(g, IR_I64, each)));
  at = op_add(g, op_mul(g, at, op_size_value(g, IR_I64, folds)), op_iota(g, IR_I64, dims, 4, 2));
  ir_ref lines[] = {before, pass_mul(g, chunks, folds), behind};
  return at ? op_reshape_known(g, at, lines, 3) : 0;
}

/* Of the candidates whose element is the extremum of all, or NaN, the first index is the result. chunked is x
 * in chunks, whose axis `axis` the first step reduces. */
static ir_ref argmax_over_chunks(ir_graph *g, ir_op op, ir_ref x, ir_ref chunked, const chunks *p,
                                 uint32_t axis) {
  ir_ref left[IR_MAX_RANK], before = ir_index(g, 1), behind = before, src[] = {chunked};
  uint32_t rank = 0;
  for (uint32_t i = 0; i < ir_rank(g, chunked); i++)
    if (i != axis) left[rank++] = ir_dim(g, chunked, i);
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    if (i < p->chunked) before = pass_mul(g, before, ir_dim(g, x, i));
    if (i > p->chunked) behind = pass_mul(g, behind, ir_dim(g, x, i));
  }
  ir_ref inside = ir_make_tensor(g, op, IR_I64, ir_tuple(g, left, rank), ir_pack_arg(axis, 0), src, 1);
  ir_ref at = inside ? candidates(g, inside, p, before, ir_dim(g, chunked, axis), behind) : 0;
  ir_ref value = op_take_lines(g, op_lines(g, x, p->chunked), at), one[] = {before, ir_index(g, 1), behind};
  ir_ref best = reduce_axes(g, op == IR_OP_ARGMAX ? IR_OP_REDUCE_MAX : IR_OP_REDUCE_MIN, value, 1u << 1);
  best = best ? op_reshape_known(g, best, one, 3) : 0;
  ir_ref found = op_binary(g, IR_OP_EQ, value, best);
  if (found && ir_is_float(ir_dtype_of(g, value)))
    found = op_binary(g, IR_OP_OR, found, op_binary(g, IR_OP_NE, value, value));
  return reduce_axes(g, IR_OP_REDUCE_MIN, op_where(g, found, at, pass_identity(g, IR_OP_MIN, IR_I64)),
                     1u << 1);
}

static ir_ref fill_of(ir_graph *g, ir_op op, ir_dtype dtype) {
  ir_op combine = op == IR_OP_SUM          ? IR_OP_ADD
                  : op == IR_OP_PROD       ? IR_OP_MUL
                  : op == IR_OP_REDUCE_MAX ? IR_OP_MAX
                  : op == IR_OP_REDUCE_MIN ? IR_OP_MIN
                  : op == IR_OP_ANY        ? IR_OP_OR
                  : op == IR_OP_ALL        ? IR_OP_AND
                                           : op;
  return pass_identity(g, combine, dtype);
}

/* Is it a sum of products that tiles compute (docs/contractions.md)? Tiles fill their lanes with results,
 * however few of them are contiguous. */
static bool is_tiled(ir_graph *g, ir_ref sum) {
  pass_contraction c;
  return pass_contraction_of(g, sum, &c) && pass_contraction_reuses(&c);
}

/* Does the view repeat its operand along all of these axes? */
static bool repeats_along(ir_graph *g, ir_ref x, const uint32_t *axis, uint32_t count) {
  bool repeats = ir_op_of(g, x) == IR_OP_EXPAND;
  for (uint32_t i = 0; i < count && repeats; i++)
    repeats = ir_bounds_of(g, ir_dim(g, ir_src(g, x, 0), axis[i])).hi == 1;
  return repeats;
}

/* Is x made element by element of arrays in whose axes those numbered by axis[0], axis[1], ... of x follow
 * one another, and of what is the same along all of them? At most `depth` operations, one inside another, are
 * looked at. */
static bool follow_in_memory(ir_graph *g, ir_ref x, const uint32_t *axis, uint32_t count, int depth) {
  const ir_node *n = ir_get(g, x);
  uint32_t below[IR_MAX_RANK];
  bool follow = n->op == IR_OP_STORED || (ir_ops[n->op].cls == IR_CLASS_LEAF && n->op != IR_OP_IOTA);
  if (ir_rank(g, x) == 0 || repeats_along(g, x, axis, count)) return true;
  for (uint32_t i = 1; i < count; i++) follow = follow && axis[i] == axis[i - 1] + 1;
  if (follow || depth == 0) return follow;
  for (uint32_t i = 0; i < count; i++)
    below[i] = n->op == IR_OP_PERMUTE ? (uint32_t)ir_get(g, n->src[1 + axis[i]])->arg : axis[i];
  follow = n->op == IR_OP_PERMUTE || pass_is_elementwise(n);
  for (uint32_t k = 0; follow && k < ir_operand_count(n); k++)
    follow = follow_in_memory(g, n->src[k], below, count, depth - 1);
  return follow;
}

/* The axes of the results, as bits, that follow the one before in memory, another one of the results. */
static uint32_t following_axes(ir_graph *g, ir_ref x, const bool *is_reduced) {
  uint32_t set = 0;
  for (uint32_t i = 1; i < ir_rank(g, x); i++)
    if (!is_reduced[i - 1] && !is_reduced[i] && follow_in_memory(g, x, (uint32_t[]){i - 1, i}, 2, MAX_DEPTH))
      set |= 1u << i;
  return set;
}

/* x with its axes in chunks and folds: [.., chunks, n / chunks, ..] and [.., n / folds, folds, ..], one axis
 * as [.., chunks, n / (chunks * folds), folds, ..]; those in `joined` are one with the axis before: a sum of
 * 128 x 384 x 9 over the first axis takes 0.4 of the time that rows of 9 take (Zen 4). *reduced_first: the
 * axes that the first step reduces; *then: those that the second step reduces. Both are numbered in the
 * result. */
static ir_ref in_chunks(ir_graph *g, ir_ref x, const bool *is_reduced, const chunks *p, ir_ref fill,
                        uint32_t joined, uint32_t *then, uint32_t *reduced_first) {
  ir_ref dims[IR_MAX_RANK], pads[2 * IR_MAX_RANK];
  uint32_t rank = 0;
  bool pad = false;
  *then = *reduced_first = 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    int64_t count = i == p->chunked ? p->chunks : 1, folds = i == p->fold ? p->folds : 1, size = 0, each;
    if (rank + 3 > IR_MAX_RANK) return 0;
    if (count * folds == 1) {
      pads[2 * i] = pads[2 * i + 1] = ir_index(g, 0);
      if (is_reduced[i]) *reduced_first |= 1u << rank;
      if (joined >> i & 1) dims[rank - 1] = pass_mul(g, dims[rank - 1], ir_dim(g, x, i));
      else dims[rank++] = ir_dim(g, x, i);
      continue;
    }
    if (!ir_is_const(g, ir_dim(g, x, i), &size)) return 0;
    each = (size + count * folds - 1) / (count * folds);
    if (each * count * folds != size && each > MIN_ALIGNED)
      each = (each + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
    pads[2 * i] = ir_index(g, 0);
    pads[2 * i + 1] = ir_index(g, each * count * folds - size);
    pad |= each * count * folds != size;
    if (count > 1) *then |= 1u << rank, dims[rank++] = ir_index(g, count);
    if (is_reduced[i]) *reduced_first |= 1u << rank;
    dims[rank++] = ir_index(g, each);
    if (folds > 1) *then |= 1u << rank, dims[rank++] = ir_index(g, folds);
  }
  if (pad) x = op_pad_known(g, x, pads, fill);
  return x ? op_reshape_known(g, x, dims, rank) : 0;
}

/* The axis that holds the chunks, `then`, moved before all others. */
static ir_ref chunks_first(ir_graph *g, ir_ref x, uint32_t then) {
  ir_ref order[IR_MAX_RANK];
  uint32_t at = 0, rank = x ? ir_rank(g, x) : 0;
  for (uint32_t i = 0; i < rank; i++)
    if (then >> i & 1) order[at++] = ir_index(g, i);
  for (uint32_t i = 0; i < rank; i++)
    if (!(then >> i & 1)) order[at++] = ir_index(g, i);
  return x ? op_permute(g, x, order, rank) : 0;
}

/* The same of a product of two values in even chunks, which stays a contraction: of a batch of products, one
 * for each chunk, so that the innermost axis of its results stays what it is. */
static ir_ref product_in_chunks(ir_graph *g, ir_ref x, const bool *is_reduced, const chunks *p,
                                uint32_t joined, uint32_t *then, uint32_t *reduced_first) {
  ir_ref factor[2];
  for (uint32_t k = 0; k < 2; k++) {
    factor[k] = in_chunks(g, ir_src(g, x, k), is_reduced, p, 0, joined, then, reduced_first);
    factor[k] = chunks_first(g, factor[k], *then);
    if (!factor[k]) return 0;
  }
  uint32_t before = *then - 1; /* axes before that of the chunks */
  *reduced_first = (*reduced_first & ~before) | (*reduced_first & before) << 1;
  *then = 1;
  return ir_binary(g, ir_op_of(g, x), factor[0], factor[1]);
}

/* Is each element of x made of an element of its own of some array? Windows that overlap, and what a product
 * repeats, share theirs. */
static bool is_read_once(const ir_graph *g, ir_ref x, int depth) {
  const ir_node *n = ir_get(g, x);
  if (n->op == IR_OP_EXPAND || ir_rank(g, x) == 0) return false;
  if (n->op == IR_OP_STORED) return true;
  if (ir_ops[n->op].cls == IR_CLASS_VIEW) return is_read_once(g, n->src[0], depth);
  if (!pass_is_elementwise(n)) return true;
  bool once = false;
  for (uint32_t k = 0; depth > 0 && !once && k < ir_operand_count(n); k++)
    once = is_read_once(g, n->src[k], depth - 1);
  return once;
}

/* A reduction over one axis in place of all, where these follow one another in memory: it has more even
 * chunks, each of which is read in sequence, and more folds. The sum of all of 59 x 13 x 512 takes 0.016 ms
 * in place of 0.036, since of its axes the last one alone has 32; of 85 x 174 x 96 x 6 over all axes but the
 * last 1.2 in place of 4.6. 0: there is none. */
static ir_ref over_one_axis(ir_graph *g, ir_ref one, const sizes *s) {
  const ir_node *n = ir_get(g, one);
  ir_ref dims[IR_MAX_RANK], order[IR_MAX_RANK], all = ir_index(g, 1), x = n->src[0], axis = 0;
  uint32_t rank = ir_rank(g, x), left = 0, at = 0;
  if (s->count + 1 != n->nsrc || !follow_in_memory(g, x, s->reduced, s->count, MAX_DEPTH)) return 0;
  bool is_reduced[IR_MAX_RANK] = {false};
  for (uint32_t i = 0; i < s->count; i++) {
    is_reduced[s->reduced[i]] = true;
    all = pass_mul(g, all, ir_dim(g, x, s->reduced[i]));
  }
  for (uint32_t i = 0; i < rank; i++) { /* where the first of them is, as what lies behind is contiguous */
    if (is_reduced[i] && axis) continue;
    if (!is_reduced[i]) order[at++] = ir_index(g, i);
    for (uint32_t k = 0; is_reduced[i] && k < s->count; k++) order[at++] = ir_index(g, s->reduced[k]);
    if (is_reduced[i]) axis = ir_index(g, left);
    dims[left++] = is_reduced[i] ? all : ir_dim(g, x, i);
  }
  ir_ref flat = op_permute(g, x, order, rank);
  flat = flat ? op_reshape_known(g, flat, dims, left) : 0;
  return flat ? op_reduce(g, (ir_op)n->op, flat, &axis, 1, false) : 0;
}

static ir_ref split(ir_graph *g, const pass_chunk_sizes *wanted, ir_ref one);

/* A reduction in two steps, the first of which goes over the axes in `first`.
 * Scattered runs: each run, then the results of all of them, so that memory is read in sequence, and what the
 * second step reads stays in a cache. Means of 224 x 192 x 294 over the first and last axis take 1.6 ms in
 * place of 3.9, maxima of 64 x 2624 x 59 1.4 in place of 5.2.
 * Windows: lines, then runs. Maxima of 344 images of 144 x 144 in windows of 7 x 7 take 0.9 ms in place of
 * 2.4, means of 12 x 12 0.6 in place of 2.6 (Zen 4, one thread). */
static ir_ref over_axes(ir_graph *g, const pass_chunk_sizes *wanted, ir_ref one, const bool *is_reduced,
                        uint32_t first, bool stored) {
  const ir_node *n = ir_get(g, one);
  ir_ref x = n->src[0];
  uint32_t others = 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    if (is_reduced[i] && !(first >> i & 1)) others |= 1u << i;
  ir_op op = (ir_op)n->op;
  ir_ref made = reduce_axes(g, op, x, first);
  if (made && stored) made = split(g, wanted, made);
  if (made && stored) made = ir_unary(g, IR_OP_STORED, made);
  return reduce_axes(g, op, made, without(others, first));
}

static uint32_t axes_outside_runs(ir_graph *g, ir_ref x, const bool *is_reduced, const sizes *s) {
  uint32_t outside = 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    if (is_reduced[i] && !(s->run_axes >> i & 1)) outside |= 1u << i;
  return outside;
}

/* The reduction of x in two steps, of the shape of `one`, the reduction in one step; that where this will do.
 */
static ir_ref split(ir_graph *g, const pass_chunk_sizes *wanted, ir_ref one) {
  const ir_node *n = ir_get(g, one);
  ir_op op = (ir_op)n->op;
  ir_ref x = n->src[0], made, shape = ir_shape(g, one);
  sizes s = {0};
  bool is_reduced[IR_MAX_RANK] = {false}, is_index_reduction = op == IR_OP_ARGMAX || op == IR_OP_ARGMIN;
  if (is_index_reduction) is_reduced[ir_arg_int(n)] = true;
  for (uint32_t i = 1; i < n->nsrc; i++) is_reduced[ir_get(g, n->src[i])->arg] = true;
  if (ir_rank(g, x) + 2 > IR_MAX_RANK || !read_sizes(g, x, is_reduced, &s) || pass_is_product(g, x))
    return one;
  ir_ref before = wanted->in_sequence ? lower_reduce_before_repeating(g, one) : one;
  if (before != one) return before;
  bool window = is_window(&s) && !lower_is_contraction(g, one) && is_read_once(g, x, MAX_DEPTH);
  if (wanted->in_sequence && !is_index_reduction && (window || is_scattered(&s)) && !is_tiled(g, one)) {
    uint32_t first = window ? axes_outside_runs(g, x, is_reduced, &s) : s.run_axes;
    made = over_axes(g, wanted, one, is_reduced, first, window);
    return made ? op_reshape_known(g, made, ir_get(g, shape)->src, ir_get(g, shape)->nsrc) : 0;
  }
  chunks p = choose_chunking(&s, wanted, true);
  bool tiled = (p.chunks > 1 || p.folds > 1 || s.terms > MIN_BLOCKED) && is_tiled(g, one);
  if (tiled && (p.chunks > 1 || p.folds > 1)) {
    if (pass_times(s.terms, s.results) < MIN_TILED) return one;
    p = choose_chunking(&s, wanted, false);
    if (s.size[p.chunked] % p.chunks) return one; /* padded products are no contraction */
  }
  if (tiled && p.chunks == 1 && wanted->in_sequence) p = choose_blocks(g, one, &s);
  bool apart = (p.chunks > 1 && p.chunked != s.reduced[0]) || has_few_folds(&s, &p);
  ir_ref together = apart && !is_index_reduction && !tiled ? over_one_axis(g, one, &s) : 0;
  if (together) {
    made = split(g, wanted, together);
    return made ? op_reshape_known(g, made, ir_get(g, shape)->src, ir_get(g, shape)->nsrc) : 0;
  }
  if (p.chunks == 1 && p.folds == 1) return one;
  uint32_t then, reduced_first, joined = is_index_reduction ? 0 : following_axes(g, x, is_reduced);
  ir_ref fill = fill_of(g, op, ir_dtype_of(g, x));
  ir_ref chunked = tiled ? product_in_chunks(g, x, is_reduced, &p, joined, &then, &reduced_first)
                         : in_chunks(g, x, is_reduced, &p, fill, joined, &then, &reduced_first);
  if (!chunked) return 0;
  if (is_index_reduction) made = argmax_over_chunks(g, op, x, chunked, &p, p.chunked + (p.chunks > 1));
  else made = reduce_axes(g, op, reduce_axes(g, op, chunked, reduced_first), without(then, reduced_first));
  return made ? op_reshape_known(g, made, ir_get(g, shape)->src, ir_get(g, shape)->nsrc) : 0;
}

ir_ref pass_split_reductions(ir_graph *g, ir_ref results, const pass_strategy *strategy) {
  size_t nodes = (size_t)results + 1, count = 0, cap = 0;
  ir_ref *live = NULL, *map = ir_alloc(g->mem, nodes * sizeof *map), root = 0;
  if (map && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK) root = results;
  for (size_t i = 0; i < count && root; i++) {
    ir_cause before = ir_cause_enter(g, live[i]);
    root = ir_remake_mapped(g, live[i], map);
    if (root && ir_ops[ir_op_of(g, root)].cls == IR_CLASS_REDUCE) root = split(g, &strategy->chunks, root);
    map[live[i]] = ir_cause_leave(g, before, live[i], root);
  }
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory splitting long reductions");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map ? nodes * sizeof *map : 0);
  return root;
}
