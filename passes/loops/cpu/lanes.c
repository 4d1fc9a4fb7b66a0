/* Which axis of a nest gets the vector lanes, which axes are unrolled with it, and the order of the axes. */
#include "cpu.h"

#include "passes/index/index.h"

#include <string.h>

enum {
  MIN_LANES = 2, /* lanes of a vector: of one there is nothing to gain */
  /* terms, or elements, along which lanes of a reduction run: those of an AVX2 vector of f32 */
  MIN_LANE_TERMS = 8,
  /* terms in the lanes of a vector that take less time than one after the other: combining four takes two
   * exchanges, and four of f64 are a vector of AVX2 */
  MIN_FILLED_TERMS = 4,
  /* of narrower integers while their extremum is searched (argmax.c), and of its index: as many lanes as
   * there are bytes spill them. f16 and bf16 take 0.8 of the time in twice as many lanes (Zen 4) */
  SEARCHED_BYTES = 4,
  MIN_VECTORS = 4, /* vectors that an axis of varying size has to be able to fill: of shorter ones
                      the remainder, single elements, is a large share */
  /* float operations of a chain that is interleaved: one of 25, of four cycles each, takes as long as the two
   * hundred that a processor sees, two in a cycle; half of those are loads, stores and addresses */
  MIN_CHAIN = 12,
  /* operations from which on a loop prefetches: with more, of fewer elements at a time, what is loaded next
   * comes into sight too late. On Sapphire Rapids, arrays of 64 MiB: with one or two operations on an element
   * nothing to 5 % less time, with seven 2 to 11 %, with eight, of which one is a square root, 14 to 19 % */
  MIN_AHEAD = 6,
  /* of a vector that a short row of a chain gets, whose other lanes store nothing: rows of 11 and 14 f32 take
   * 0.52 of the time of vectors of 8, 4, 2 and 1; rows of 5 and 7 as long in vectors of 8 (Zen 4) */
  MASKED_BYTES = 64,
  REGISTERS_OF_CHAIN = 8 /* of each chain that is interleaved: four chains in 32 registers, two in 16 */
};

/* Does the extent depend on loops further out? */
static bool varies(loop_nest *n, const loop_axis *a) {
  ir_ref range;
  return affine_find_range(n->g, a->extent, IR_OP_RANGE, &range, 1) > 0;
}

/* Work for the values below the roots; where there are reductions, for their terms, which are most of the
 * work. Rarely needed values may take several vectors, and do not count as operations. lanes: the
 * axis of the lanes, of a store without reductions: what is the same in all of them takes no vector, but for
 * what is stored. Rows of f32 that are added at indices of i64 had half as many lanes; NULL: all count. */
typedef struct usual_work {
  int widest_bytes, operations; /* on floats */
} usual_work;
static usual_work work_of(loop_nest *n, const ir_ref *roots, uint32_t root_count, const loop_axis *lanes) {
  ir_graph *g = n->g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, size = g->count;
  usual_work work = {.widest_bytes = 1};
  ir_ref stored = ir_src(g, n->store, loop_is_update(g, n->store) ? 3 : 2);
  bool reached = ir_reachable(g, roots, root_count, &live, &count, &cap) == IR_OK;
  bool *usual = reached ? affine_always_needed(g, roots, root_count, live, count) : NULL;
  for (size_t i = 0; i < count && usual; i++) {
    const ir_node *node = ir_get(g, live[i]);
    if (!usual[live[i]]) continue;
    int bytes = ir_dtypes[node->dtype].bytes;
    if (bytes > work.widest_bytes &&
        (!lanes || live[i] == stored || affine_depends(g, live[i], lanes->range)))
      work.widest_bytes = bytes;
    work.operations += ir_is_float((ir_dtype)node->dtype) && node->nsrc > 0 && node->op != IR_OP_LOAD;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, usual, usual ? size : 0);
  return work;
}

static bool may_vectorize(loop_nest *n, uint32_t axis) {
  return !loop_bounds_another(n, axis) && !loop_is_ordered(n, axis);
}

/* The only load that sweeps over a large parameter along the range; 0: none does, or several do. */
static ir_ref only_swept(loop_nest *n, ir_ref term, ir_ref range) {
  ir_ref loads[LOOP_MAX_NODES], swept = 0;
  uint32_t count = affine_find_range(n->g, term, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++) {
    if (!loop_is_swept(n, range, loads[i])) continue;
    if (swept) return 0;
    swept = loads[i];
  }
  return count < LOOP_MAX_NODES ? swept : 0;
}

/* Do all rows share a load of the terms, as of a vector that all are multiplied with? */
static bool share_terms(loop_nest *n, ir_ref term, ir_ref range, const loop_axis *rows) {
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, term, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  bool shared = false;
  for (uint32_t i = 0; i < count; i++)
    shared |= affine_depends(n->g, loads[i], range) && !affine_depends(n->g, loads[i], rows->range);
  return shared;
}

/* How many rows of so many bytes are read together, each in a stream of hardware prefetchers of its own.
 * Short rows are best read one after the other, since a stream has to begin anew with each row that does not
 * follow the one before in memory: sums of 20000 rows of 1500 f32 take 3.6 ms, in pairs 6.9, maxima of 3816
 * rows of 2656 0.9 and 2.1 (Zen 4, one thread); from 64 KiB on pairs are as fast, and were faster on others,
 * as choose_streams says. But a vector that all rows are multiplied with is loaded once for several. From
 * half of the L1 cache on, which has little room for it beside what streams through, six rows take 2.8 ms in
 * place of 3.2 of single ones and 3.0 of four (3500 x 4000), 2.3, 3.1 and 2.4 (2500 x 6000), 0.055, 0.086 and
 * 0.058 (200 x 5000); of 3000 elements single ones take 2.4 ms, six 2.6. */
static int rows_together(const loop_nest *n, int64_t row_bytes, bool shared) {
  enum {
    LONG_ROW = 64 << 10,    /* from which on pairs are read, as measured above */
    REGISTERS_OF_THREE = 16 /* rows, whose sums take twelve: with six of them AVX2 takes as long or less */
  };
  if (shared && row_bytes > n->target->l1_bytes / 16 * 7)
    return n->target->registers / REGISTERS_OF_THREE * 3;
  if (shared) return 1;
  return row_bytes >= LONG_ROW ? 2 : 1;
}

/* Rows of a large parameter whose terms have the lanes: where they are long, several are read together, in as
 * many streams of hardware prefetchers, and where that was measured to gain, what memory delivers during its
 * latency is prefetched. Sums of 256 MiB, one thread: on Sapphire Rapids 17.0 ms, with two streams 16.3, with
 * prefetches 16.4, with both 15.4; with four streams 15.9, and prefetches make that 16.3. On Zen
 * 3 12.8, 11.0, 16.8, 14.1. Chains of operations leave no registers to a second row. tiled: it is decided
 * which rows are read together. */
static void choose_streams(loop_nest *n, ir_ref reduce, bool tiled) {
  enum { MIN_STEPS = 4 }; /* because four threads, with a step of the rows each, fill memory's bandwidth */
  ir_graph *g = n->g;
  const ir_node *r = ir_get(g, reduce);
  ir_ref range = r->src[r->nsrc - 1];
  int64_t row;
  bool is_search = ir_arg_int(r) == IR_OP_ARGMAX || ir_arg_int(r) == IR_OP_ARGMIN;
  if (n->bound_count || n->axis_count == 0 || is_search) return;
  ir_ref load = only_swept(n, r->src[0], range);
  if (!load) return;
  uint32_t innermost = n->order[n->axis_count - 1];
  loop_axis *rows = &n->axes[innermost];
  if (!tiled && affine_stride(g, ir_src(g, load, 1), rows->range, &row) && may_vectorize(n, innermost) &&
      work_of(n, r->src, 1, NULL).operations < MIN_AHEAD) {
    int together =
        rows_together(n, row * ir_dtypes[ir_dtype_of(g, load)].bytes, share_terms(n, r->src[0], range, rows));
    while (together > 1 && ir_bounds_of(g, rows->extent).lo < MIN_STEPS * together) together /= 2;
    rows->unroll = together;
  }
  if (n->target->reads_ahead) n->store = loop_sweep_ahead(n, n->store, range);
}

/* Unrolls along the lanes of a chain of operations, where nothing else is unrolled, to interleave independent
 * chains. An operation waits for the one before it while a processor executes eight to sixteen others, and a
 * processor looks about two hundred operations ahead: of a long chain those have to be of other elements.
 * With 16 registers some values are then on the stack, and 256 Ki elements still take 2 to 11 % less time
 * (AVX2 on Sapphire Rapids; exp, log, erf, sigmoid), 64 MiB on Zen 3 13 to 21 %. */
static void choose_interleaved(loop_nest *n, loop_axis *vector, int operations) {
  int64_t others = 1, size = ir_bounds_of(n->g, vector->extent).hi;
  for (uint32_t i = 0; i < n->axis_count; i++) others *= n->axes[i].unroll;
  if (others > 1 || loop_is_ordered(n, (uint32_t)(vector - n->axes))) return;
  int chains = n->target->registers / REGISTERS_OF_CHAIN;
  while (operations >= MIN_CHAIN && vector->unroll < chains && 2 * vector->unroll * vector->lanes <= size)
    vector->unroll *= 2;
  bool sweeps =
      operations >= MIN_AHEAD && n->bound_count == 0; /* rows of a group are read by others before */
  if (sweeps || vector->unroll > 1) n->store = loop_sweep_ahead(n, n->store, vector->range);
}

/* The innermost axis along which the store is contiguous; NULL: there is none. Lanes of reductions choose by
 * their terms, and so need an axis without an order. */
static loop_axis *contiguous_store_axis(loop_nest *n, ir_ref index, bool reduces) {
  loop_axis *last = NULL;
  for (uint32_t i = 0; i < n->axis_count; i++) {
    int64_t stride;
    if ((affine_stride(n->g, index, n->axes[i].range, &stride) && stride == 1 && may_vectorize(n, i)) ||
        (!reduces && loop_replaces_in_order(n, i)))
      last = &n->axes[i];
  }
  return last;
}

/* Score of terms along an axis. A load that is not contiguous takes an access for each lane, 16 of f32 in the
 * widest vectors, and any other load takes one: no number of contiguous loads in a term outweighs one that is
 * not. Of few terms fewer lanes are filled, and to combine these costs as much. */
static int score_along(loop_nest *n, ir_ref reduce, ir_ref range, int64_t block) {
  enum {
    APART = -4096,    /* below the scores of LOOP_MAX_NODES contiguous loads together */
    APART_OF_FEW = -4 /* of a quarter of the lanes, as much as one contiguous load gains */
  };
  const ir_node *r = ir_get(n->g, reduce);
  bool few = ir_bounds_of(n->g, ir_src(n->g, r->src[r->nsrc - 1], 0)).hi < MIN_LANE_TERMS;
  return loop_lane_score_of_terms(n, reduce, range, block, few ? APART_OF_FEW : APART);
}

/* Lane score of a reduction's terms. The lanes of a block share a triangle's terms, wherever blocks begin. */
static int score_of(loop_nest *n, ir_ref reduce, ir_ref range) {
  return loop_is_triangle(n->g, reduce, range)
             ? 1
             : score_along(n, reduce, range, loop_panel_multiple(n, reduce));
}

/* Sum of the lane scores of all reductions; *far: the terms of some reduction have a score below 0. */
static int score_of_terms(loop_nest *n, const loop_axis *a, const ir_ref *reduces, uint32_t count,
                          bool *far) {
  int score = 0;
  *far = false;
  for (uint32_t k = 0; k < count; k++) {
    int one = score_of(n, reduces[k], a->range);
    *far |= one < 0;
    score += one;
  }
  return score;
}

/* A reduction reads many terms for each element that it stores. Where its terms are not contiguous along
 * `last`, the axis of contiguous stores, its lanes run along an axis where terms are contiguous, and stores
 * are not. */
static loop_axis *contiguous_reduction_axis(loop_nest *n, loop_axis *last, const ir_ref *reduces,
                                            uint32_t count) {
  loop_axis *best = last;
  int64_t fresh = n->next_range; /* ranges made for scoring are not used later */
  bool far = !last;
  for (uint32_t k = 0; k < count; k++)
    if (last && loop_multiplies(n->g, reduces[k]) && loop_row_axis(n, last, reduces[k]))
      return last; /* it gets a register tile */
  int most = last ? score_of_terms(n, last, reduces, count, &far) : 0;
  for (uint32_t i = 0; i < n->axis_count && far; i++) {
    bool apart;
    loop_axis *a = &n->axes[i];
    if (ir_bounds_of(n->g, a->extent).hi < MIN_LANE_TERMS || varies(n, a) || !may_vectorize(n, i)) continue;
    int score = score_of_terms(n, a, reduces, count, &apart);
    if (!apart && score > most) best = a, most = score;
  }
  n->next_range = fresh;
  return best;
}

/* Where no load of the term is contiguous along the lanes, but one is along another axis: the loop over that
 * axis becomes the innermost, inside the steps of the lanes, so that fetched cache lines are used up. */
static void choose_order(loop_nest *n, const loop_axis *vector, ir_ref term) {
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, term, IR_OP_LOAD, loads, LOOP_MAX_NODES), near = n->axis_count,
           at = 0;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    int64_t stride;
    if (affine_stride(n->g, index, vector->range, &stride) && (stride == 1 || stride == -1)) return;
    for (uint32_t a = 0; a < n->axis_count; a++)
      if (affine_stride(n->g, index, n->axes[a].range, &stride) && (stride == 1 || stride == -1)) near = a;
  }
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (near == n->axis_count || loop_bounds_another(n, a) || loop_is_ordered(n, a)) return;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (a != near) n->order[at++] = a;
  n->order[at] = near;
}

/* A quotient of indices changes inside a vector unless vectors begin where it changes. Returns the first
 * element at which a vector has to begin for that, or 0. */
static int quotients_begin(loop_nest *n, const loop_axis *vector) {
  ir_ref quotients[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_FLOORDIV, quotients, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *q = ir_get(n->g, quotients[i]);
    int64_t divisor, offset, stride;
    if (affine_stride(n->g, q->src[0], vector->range, &stride) && stride == 1 &&
        ir_is_const(n->g, q->src[1], &divisor) && divisor % vector->lanes == 0 &&
        ir_is_const(n->g, pass_sub(n->g, q->src[0], vector->range), &offset))
      return (int)(((-offset) % vector->lanes + vector->lanes) % vector->lanes);
  }
  return 0;
}

/* Are the terms at most IR_MAX_PICKED_STEP elements apart along the range? What is gathered lies anywhere
 * along the range of the terms as well, so that lanes along these gain nothing. A search in lanes of the
 * terms compares these again: indices of the maxima of f64[100000,5] take 0.15 ms in place of 0.55 (Zen 4).
 */
static bool reads_near(loop_nest *n, ir_ref reduce, ir_ref range) {
  ir_ref loads[LOOP_MAX_NODES];
  const ir_node *r = ir_get(n->g, reduce);
  ir_ref terms = r->src[r->nsrc - 1];
  bool search = ir_arg_int(r) == IR_OP_ARGMAX || ir_arg_int(r) == IR_OP_ARGMIN;
  bool words =
      ir_dtypes[ir_dtype_of(n->g, r->src[0])].bytes > 1; /* bytes of lanes cost as much as their terms */
  int64_t most = search && words ? MIN_LANE_TERMS : IR_MAX_PICKED_STEP;
  uint32_t count = affine_find_range(n->g, r->src[0], IR_OP_LOAD, loads, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    int64_t stride;
    bool affine = affine_stride(n->g, index, range, &stride);
    if (!affine && !affine_stride(n->g, index, terms, &stride)) continue;
    if (!affine || stride < -most || stride > most) return false;
  }
  return count < LOOP_MAX_NODES;
}

/* Are the terms a few elements apart, and those of neighbouring results further? Lanes along either are read
 * one by one, or, of the former, picked from vectors: means over 4096 x 2 f16, of which the 2 stay, read 48
 * lines for each term otherwise, and take 0.5 ms in place of 0.03. */
static bool are_nearer(loop_nest *n, ir_ref reduce, ir_ref results) {
  const ir_node *r = ir_get(n->g, reduce);
  return reads_near(n, reduce, r->src[r->nsrc - 1]) && !reads_near(n, reduce, results);
}

/* Has the reduction's last range too few terms for lanes, while elements of the result have room for them or
 * are more, or hardly any while there is no room anywhere? Windows with a stride, as of pooling, are read in
 * small steps. Of terms that are contiguous along both, as those of windows, no number is enough: lanes along
 * the result are not combined. Windows of 9 x 9, channel by channel, take 0.2 to 0.4 of the time so, of 400
 * samples 0.6 (Zen 4). */
static bool has_few_terms(loop_nest *n, ir_ref reduce, const loop_axis *last, int output_score) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t terms = ir_bounds_of(n->g, ir_src(n->g, r->src[r->nsrc - 1], 0)).hi;
  int64_t elements = last ? ir_bounds_of(n->g, last->extent).hi : 0;
  bool room = elements >= MIN_LANE_TERMS || (elements > terms && elements >= MIN_FILLED_TERMS);
  if (terms >= MIN_LANE_TERMS) return output_score > 0 && elements >= MIN_LANE_TERMS;
  return output_score > 0 || (room ? reads_near(n, reduce, last->range) : terms < MIN_FILLED_TERMS);
}

/* Unrolls an axis along which each result is a prefix of a block of terms, and says whether there is one: all
 * results of a block share its partial sums, and masks that depend on places in it are constants. cumsum
 * along the first axis of 161 x 3708 takes 0.25 ms in place of 1.4 (f32, AVX-512, one thread). */
static bool unroll_prefixes(loop_nest *n, const loop_axis *vector, ir_ref reduce) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t block, size;
  for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
    if (a == vector || !loop_is_triangle(n->g, reduce, a->range) ||
        !may_vectorize(n, (uint32_t)(a - n->axes)) || !ir_is_const(n->g, ir_src(n->g, r->src[1], 0), &block))
      continue;
    if (ir_bounds_of(n->g, a->extent).hi >= block) size = block;
    else if (!ir_is_const(n->g, a->extent, &size) || size < 2) continue; /* a part of one block */
    a->unroll = (int)size;
    return true;
  }
  return false;
}

/* Writes in an order, as of rows at indices that are data: several vectors of a row are updated together,
 * since indices, their tests and those of what is read are computed for all of them at once. */
static void share_indices(loop_nest *n, loop_axis *vector) {
  enum {
    TOGETHER = 4, /* vectors: 32 or 64 f32, one or two of the lines that neighbouring threads share */
    BLOCKS = 8    /* of a row, for threads */
  };
  bool ordered = false;
  int64_t size;
  for (uint32_t a = 0; a < n->axis_count; a++) ordered |= loop_is_ordered(n, a);
  if (!ordered || loop_is_ordered(n, (uint32_t)(vector - n->axes)) || vector->unroll > 1 ||
      !ir_is_const(n->g, vector->extent, &size))
    return;
  /* steps past the last group of a row, for which there are other loops, are few in long rows */
  while (vector->unroll < TOGETHER && (size % (2 * (int64_t)vector->unroll * vector->lanes) == 0 ||
                                       size / (2 * (int64_t)vector->unroll * vector->lanes) >= BLOCKS))
    vector->unroll *= 2;
  int64_t step = (int64_t)vector->unroll * vector->lanes, block = (size / BLOCKS + step - 1) / step * step;
  if (block > step) vector->block = block;
}

/* What is computed of sums of few terms takes longer than these: so many columns of it are interleaved as of
 * a chain without sums. cos beside sums of four terms, of 4 x 4096 f32, takes 0.7 of the time with four
 * vectors in place of 16 (Zen 4). */
static void limit_columns(loop_nest *n, loop_axis *vector, const ir_ref *reduces, uint32_t count,
                          int operations) {
  int above = work_of(n, &n->store, 1, NULL).operations - operations;
  double terms = 1;
  int64_t most = n->target->registers / REGISTERS_OF_CHAIN;
  for (uint32_t k = 0; k < count; k++) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    for (uint32_t i = 1; i < r->nsrc; i++) terms *= (double)ir_bounds_of(n->g, ir_src(n->g, r->src[i], 0)).hi;
  }
  if (above >= MIN_CHAIN && above >= terms && vector->unroll > most) vector->unroll = (int)most;
}

/* Does a product read an operand that varies along the range, its columns, and whose terms are steps apart?
 * Then it adds these in the order that they have, on every machine: how wide panels of columns are depends on
 * the machine, and where columns are split along several axes, whether those of a panel are contiguous along
 * one. */
static bool reads_columns_apart(loop_nest *n, ir_ref reduce, ir_ref columns) {
  ir_ref loads[LOOP_MAX_NODES];
  const ir_node *r = ir_get(n->g, reduce);
  uint32_t count = affine_find_range(n->g, r->src[0], IR_OP_LOAD, loads, LOOP_MAX_NODES);
  bool apart = count == LOOP_MAX_NODES;
  for (uint32_t i = 0; i < count && !apart; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    int64_t stride;
    if (!affine_depends(n->g, index, columns)) continue;
    apart = affine_stride(n->g, index, r->src[r->nsrc - 1], &stride) && (stride < -1 || stride > 1);
  }
  return apart;
}

/* Lanes of rows of at most so many elements, a varying number; 0 where what is left of a row is no vector
 * under a mask. The lower triangles of ten u8[200,200] take 0.012 ms in place of 0.18, of fifty f32[60,60]
 * 0.019 in place of 0.064 (Zen 4). */
static int masked_lanes(const loop_nest *n, const loop_axis *last, int lanes, int64_t most, int bytes) {
  enum { LEAST_BYTES = 16 }; /* of the narrowest registers: fewer lanes take as long in one */
  enum { VECTORS = 2 };      /* because rows of half as many elements fill one, as those of a triangle do */
  while (lanes > most / VECTORS && lanes * bytes > LEAST_BYTES) lanes /= 2;
  loop_axis axis = *last;
  axis.lanes = lanes;
  return lanes <= most && n->strategy->masks_stores(n->target, 1) && loop_masks_lanes(n, &axis) ? lanes : 0;
}

void loop_choose_vectors(loop_nest *n) {
  ir_ref reduces[LOOP_MAX_NODES], target = ir_src(n->g, n->store, 1);
  uint32_t reduce_count = affine_find_range(n->g, n->store, IR_OP_REDUCE, reduces, LOOP_MAX_NODES);
  loop_axis *last = contiguous_store_axis(n, target, reduce_count > 0);
  if (reduce_count) last = contiguous_reduction_axis(n, last, reduces, reduce_count);
  for (uint32_t k = 0; k < reduce_count; k++) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    int output_score = last ? score_of(n, reduces[k], last->range) : -100000;
    /* a mask that is the same for all lanes, as where operands are joined, leaves accesses contiguous */
    int bytes = ir_dtypes[ir_dtype_of(n->g, r->src[0])].bytes;
    int64_t fresh = n->next_range, lanes = n->strategy->lanes_of_terms(n, bytes ? bytes : 1);
    int term_score = score_along(n, reduces[k], r->src[r->nsrc - 1], lanes);
    n->next_range = fresh; /* ranges made for scoring are not used later */
    if (has_few_terms(n, reduces[k], last, output_score) ||
        (last && loop_is_triangle(n->g, reduces[k], last->range)))
      continue;
    if (last && loop_multiplies(n->g, reduces[k]) && reads_columns_apart(n, reduces[k], last->range))
      continue;
    bool near =
        last && output_score < 0 && term_score == output_score && are_nearer(n, reduces[k], last->range);
    if (term_score > output_score || near) n->lanes_in_reduction = true;
  }
  if (n->lanes_in_reduction && reduce_count == 1) loop_reduce_in_order(n, reduces[0]);
  if (n->lanes_in_reduction && reduce_count == 1)
    choose_streams(n, reduces[0], loop_choose_dot_tile(n, reduces[0]));
  if (!last || n->lanes_in_reduction) return;
  ir_ref terms[LOOP_MAX_NODES];
  bool is_index_reduction = false, is_float = false, product = false, triangle = false;
  int64_t most = ir_bounds_of(n->g, last->extent).hi, size;
  for (uint32_t k = 0; k < reduce_count; k++) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    terms[k] = r->src[0];
    is_index_reduction |= ir_arg_int(r) == IR_OP_ARGMAX || ir_arg_int(r) == IR_OP_ARGMIN;
    is_float |= ir_is_float(ir_dtype_of(n->g, r->src[0]));
    product |= loop_multiplies(n->g, reduces[k]);
    if (!loop_is_triangle(n->g, reduces[k], last->range)) continue;
    triangle = true; /* fully unrolled already; the lanes of one block share its terms */
    if (ir_is_const(n->g, ir_src(n->g, r->src[1], 0), &size) && size < most) most = size;
  }
  usual_work work = reduce_count ? work_of(n, terms, reduce_count, NULL) : work_of(n, &n->store, 1, last);
  if (is_index_reduction && !is_float && work.widest_bytes < SEARCHED_BYTES)
    work.widest_bytes = SEARCHED_BYTES;
  int lanes = n->target->vector_bytes / work.widest_bytes;
  loop_axis *interleaved = reduce_count ? NULL : loop_alternating(n, last, lanes);
  if (interleaved) {
    last = interleaved;
    most = ir_bounds_of(n->g, last->extent).hi;
    work = work_of(n, &n->store, 1, last);
    lanes = n->target->vector_bytes / work.widest_bytes;
  }
  while (triangle && 2 * (int64_t)lanes <= most) lanes *= 2; /* whole blocks (prefix.c) */
  int64_t most_lanes = varies(n, last) ? most / MIN_VECTORS : most;
  int masked = reduce_count || most_lanes == most ? 0 : masked_lanes(n, last, lanes, most, work.widest_bytes);
  if (masked) lanes = masked, most_lanes = most;
  if (lanes > most_lanes && most_lanes < most && !reduce_count)
    return;                                                    /* a few elements, without a loop for each */
  while (lanes >= MIN_LANES && lanes > most_lanes) lanes /= 2; /* of no elements: the loop never runs */
  if (lanes < MIN_LANES) return;
  last->lanes = lanes;
  if (triangle) last->head = quotients_begin(n, last);
  if (!reduce_count) {
    if (!interleaved && work.operations >= MIN_AHEAD && 2 * last->lanes * work.widest_bytes == MASKED_BYTES)
      loop_mask_short(n, last, ir_src(n->g, n->store, 2), work.widest_bytes);
    loop_choose_unroll(n, last);
    loop_read_in_order(n, last);
    share_indices(n, last);
    choose_interleaved(n, last, work.operations);
  } else if (triangle || !product || !loop_choose_tile(n, last, reduces[0])) {
    bool single = reduce_count == 1 && !triangle && !is_index_reduction;
    if (single && unroll_prefixes(n, last, reduces[0])) return;
    if (!triangle) {
      loop_choose_columns(n, last, reduce_count, is_index_reduction);
      limit_columns(n, last, reduces, reduce_count, work.operations);
    }
    if (single) loop_choose_window(n, last, reduces[0]);
    if (single && work.operations < MIN_AHEAD) loop_widen_columns(n, last, reduces[0]);
    choose_order(n, last, terms[0]);
  }
}
