/* Reductions as loops with carried values.
 *
 * The order in which floats are combined depends on the extents only, never on threads or on the machine. A
 * sum is blocked: each accumulator sums runs of 32 terms, then runs of 8 of their sums, and so on. Lanes
 * along a reduced range have REDUCE_UNROLL independent accumulators of REDUCE_LANE_BYTES each, combined in
 * pairs.
 *
 * Error. The first addition of a run is to 0. So one accumulator of n terms makes d(n) = 31 + 7*log8(n/32)
 * roundings, the logarithm rounded up; an accumulator of a lane has n/64 of n terms, and 2 + 4 roundings are
 * added for the pairs and at most 5 for the remainder that fills no whole step. In two steps
 * (passes/lower/split_reduction.c) the n/p terms of a chunk and the p chunks count together, p <= 2048.
 * Work-items of a group are more lanes, whose pairs make at most 10 roundings, and have fewer terms. The most
 * for n < 2^31 is d(2^31/64) + d(64) = 80 + 38, which keeps the error below 128 u sum|x| (Higham, Accuracy
 * and Stability of Numerical Algorithms, 4.2). Contractions, integers, minima and maxima, and few terms need
 * no blocking and carry one accumulator through all loops. */
#include "reduce.h"

#include "passes/index/index.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/float_key.h"
#include "passes/patterns/identity.h"

#include <string.h>

enum {
  /* terms of an innermost run; with OUTER_RUN the longest powers of two for which the bound above holds */
  RUN = 32,
  OUTER_RUN = 8, /* runs, or sums of these, that are added up next */
  /* nodes of fully unrolled terms: those of 64 products of two loads, as of a window of 16 terms for four
   * elements. Unrolled, they need no loops and share what they load; code grows with them */
  MAX_UNROLLED_OPERATIONS = 192,
  /* the same of a larger window, and its terms: those of 7 x 7 for four elements, which share what they load.
   * Channel by channel 192 channels of 28 x 28 take 0.187 ms in place of 0.275, with the channels last 384 of
   * 14 x 14 0.132 in place of 0.173, 768 of 7 x 7 0.134 and 0.129 (Zen 4, one thread) */
  MAX_WINDOW_OPERATIONS = 640,
  WINDOW_TERMS = 49, /* because 7 x 7 is the largest window measured for MAX_WINDOW_OPERATIONS */
  /* the same of the terms of an innermost loop in a tile: seven terms of 24 products of two loads */
  MAX_INNER_OPERATIONS = 512,
  /* terms from which on keys of floats pay for their making: maxima of windows of 2 x 2 take 0.86 of the time
   */
  MIN_KEYS = 4,
  /* reductions below one store [2 in the workloads]; of more: refused (IR_ERR_INTERNAL) */
  MAX_REDUCTIONS = 128
};

static bool is_extremum(ir_op op) { return op == IR_OP_MAX || op == IR_OP_MIN; }

static ir_ref make_carry(const reduction *r, ir_ref range) {
  return ir_make(r->n->g, IR_OP_CARRY, r->dtype, ir_pack_arg(0, 0), &range, 1);
}

static ir_ref value_loop(ir_graph *g, ir_ref range, int binding, ir_ref init, ir_ref next) {
  if (!init || !next) return 0;
  return ir_make(g, IR_OP_LOOP, ir_dtype_of(g, init), ir_pack_arg(1, binding), (ir_ref[]){range, init, next},
                 3);
}

/* so_far op value; a product is added with one rounding where the target has a fused multiply-add */
static ir_ref make_combined(const reduction *r, ir_ref so_far, ir_ref value) {
  ir_graph *g = r->n->g;
  if (r->op == IR_OP_ADD && pass_is_product(g, value)) {
    ir_ref a = ir_src(g, value, 0), b = ir_src(g, value, 1);
    ir_op op = ir_op_of(g, value);
    if (r->n->target->has_fma || op == IR_OP_FMA2)
      return ir_make(g, op, r->dtype, 0, (ir_ref[]){a, b, so_far}, 3);
    value = ir_binary(g, IR_OP_MUL, a, b);
  }
  /* a machine's sequence for a maximum of floats often begins with the first operand: make that the value, so
   * that the carried one joins late */
  bool swap = is_extremum(r->op);
  return ir_make(g, r->op, r->dtype, 0, (ir_ref[]){swap ? value : so_far, swap ? so_far : value}, 2);
}

ir_ref loop_add_product(loop_nest *n, ir_ref term, const ir_ref *factors, ir_ref so_far) {
  reduction r = {.n = n, .op = IR_OP_ADD, .dtype = ir_dtype_of(n->g, term)};
  const ir_node *t = ir_get(n->g, term);
  ir_ref src[] = {factors[0], factors[1], t->nsrc > 2 ? t->src[2] : 0};
  ir_ref value = ir_make(n->g, (ir_op)t->op, r.dtype, t->arg, src, t->nsrc);
  return value && so_far ? make_combined(&r, so_far, value) : 0;
}

static void add_range(reduction *r, ir_ref range) {
  if (r->range_count < REDUCE_LOOPS) r->ranges[r->range_count++] = range;
}

ir_ref reduce_index_of(reduction *r, ir_ref extent) {
  ir_graph *g = r->n->g;
  ir_ref counts[REDUCE_LEVELS] = {extent};
  int64_t run[REDUCE_LEVELS] = {r->run};
  uint32_t levels = 0;
  while (r->blocked && levels + 1 < REDUCE_LEVELS && ir_bounds_of(g, counts[levels]).hi > run[levels]) {
    counts[levels + 1] = pass_ceil_div(g, counts[levels], ir_index(g, run[levels]));
    run[++levels] = OUTER_RUN;
  }
  int64_t single;
  if (ir_is_const(g, counts[levels], &single) && single == 1) return ir_index(g, 0);
  ir_ref index = loop_fresh_range(r->n, counts[levels]);
  add_range(r, index);
  while (levels-- > 0) {
    ir_ref start = pass_mul_int(g, index, run[levels]), left = pass_sub(g, counts[levels], start);
    ir_ref range = loop_fresh_range(r->n, pass_min(g, left, ir_index(g, run[levels])));
    add_range(r, range);
    index = pass_add(g, start, range);
  }
  return index;
}

/* Operations of one term in all unrolled iterations of the axes, without those of its masks: of a term that
 * is written out most of these are constants. */
static int64_t operations_of(const reduction *r) {
  ir_graph *g = r->n->g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  int64_t operations = 0;
  if (ir_reachable(g, &r->body, 1, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count; i++)
      operations += ir_dtype_of(g, live[i]) != IR_INDEX && ir_dtype_of(g, live[i]) != IR_BOOL &&
                    ir_ops[ir_op_of(g, live[i])].cls != IR_CLASS_LEAF &&
                    ir_op_of(g, live[i]) != IR_OP_BITCAST;
  ir_free(g->mem, live, cap * sizeof *live);
  for (uint32_t a = 0; a < r->n->axis_count; a++) operations *= r->n->axes[a].unroll;
  return operations;
}

/* Are rows, of which each is a term of all columns, read one behind the other? */
static bool reads_in_sequence(const reduction *r, ir_ref body, int64_t columns) {
  ir_graph *g = r->n->g;
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(g, body, IR_OP_LOAD, loads, LOOP_MAX_NODES);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *l = ir_get(g, loads[i]);
    int64_t row, line = IR_CACHE_LINE_BYTES / ir_dtypes[ir_dtype_of(g, l->src[0])].bytes;
    if (!affine_stride(g, l->src[1], r->ranges[r->range_count - 1], &row) || row <= 0 || row > columns + line)
      return false;
  }
  return count && count < LOOP_MAX_NODES;
}

/* Terms that are added in one iteration of the innermost loop: several where the accumulators of all unrolled
 * iterations are more than the registers, unless memory is then not read in sequence, as hardware prefetchers
 * follow it. One at a time, minima of columns of 34020 x 160 f32 take 0.75 ms in place of 3.7, sums 0.55 in
 * place of 1.6, of 10631 x 512 0.5 in place of 1.0 (AVX2); minima of 11340 x 480 0.6 in place of 2.6
 * (AVX-512); where rows take two passes, sums of 8505 x 640 1.5 in place of 0.6 (Zen 4, one thread). */
static int64_t terms_together(const reduction *r, ir_ref body) {
  int64_t accumulators = 1;
  const loop_axis *columns = NULL;
  for (uint32_t a = 0; a < r->n->axis_count; a++) {
    accumulators *= r->n->axes[a].unroll;
    if (r->n->axes[a].lanes > 1) columns = &r->n->axes[a];
  }
  bool spills = !r->n->lanes_in_reduction && accumulators > r->n->target->registers - LOOP_SPARE_REGISTERS,
       alone = columns && columns->unroll == accumulators;
  if (!spills || (alone && r->range_count && reads_in_sequence(r, body, accumulators * columns->lanes)))
    return 1;
  return r->n->strategy->spilled_terms;
}

/* so_far and `count` terms from `first` on, one after the other. */
static ir_ref add_terms(const reduction *r, ir_ref range, ir_ref body, ir_ref so_far, ir_ref first,
                        int64_t count) {
  ir_graph *g = r->n->g;
  for (int64_t i = 0; i < count && so_far; i++) {
    ir_ref at = pass_add(g, first, ir_index(g, i)), term = pass_substitute_alone(g, body, &range, &at, 1);
    so_far = term ? make_combined(r, so_far, term) : 0;
  }
  return so_far;
}

/* A loop over terms first to first + count * each - 1, `each` in an iteration, one after the other. */
static ir_ref terms_loop(const reduction *r, ir_ref range, ir_ref body, ir_ref init, ir_ref first,
                         ir_ref count, int64_t each) {
  ir_graph *g = r->n->g;
  ir_ref step = loop_fresh_range(r->n, count);
  ir_ref begin = pass_add(g, first, pass_mul_int(g, step, each));
  return value_loop(g, step, IR_SERIAL, init, add_terms(r, range, body, make_carry(r, step), begin, each));
}

/* The terms of a run, `each` in an iteration, then those that are left. */
static ir_ref run_of_several(const reduction *r, ir_ref range, ir_ref body, ir_ref init, int64_t each) {
  ir_graph *g = r->n->g;
  ir_ref extent = ir_src(g, range, 0), left = pass_mod_int(g, extent, each);
  ir_ref value = terms_loop(r, range, body, init, ir_index(g, 0), pass_div_int(g, extent, each), each);
  int64_t size;
  if (!value || (ir_is_const(g, left, &size) && size == 0)) return value;
  return terms_loop(r, range, body, value, pass_sub(g, extent, left), left, 1);
}

/* The terms of the innermost range, if they are so few that they are written out inside the loop around them,
 * whose every iteration would end a loop with a branch that is not foreseen; otherwise 0. */
static int64_t inner_terms(const reduction *r) {
  int64_t terms;
  bool inside = r->range_count > 1 || (r->range_count && r->in_lanes && is_extremum(r->op)),
       known = inside && ir_is_const(r->n->g, ir_src(r->n->g, r->ranges[r->range_count - 1], 0), &terms);
  bool few = known && !r->blocked && terms <= r->n->strategy->inner_terms;
  return few && terms * operations_of(r) <= MAX_INNER_OPERATIONS ? terms : 0;
}

/* The loops over r->ranges around body. */
static ir_ref serial_loops(const reduction *r, ir_ref body) {
  ir_graph *g = r->n->g;
  ir_ref value = body;
  int64_t together = terms_together(r, body), inner = together > 1 ? 0 : inner_terms(r);
  for (uint32_t i = r->range_count; i-- > 0;) {
    bool innermost = i + 1 == r->range_count, chained = !r->blocked && i > 0;
    ir_ref init = chained ? make_carry(r, r->ranges[i - 1]) : r->identity;
    if (innermost && inner) {
      value = add_terms(r, r->ranges[i], body, init, ir_index(g, 0), inner);
      continue;
    }
    if (innermost && together > 1) {
      value = run_of_several(r, r->ranges[i], body, init, together);
      continue;
    }
    bool once = r->in_lanes && !chained && ir_bounds_of(g, ir_src(g, r->ranges[i], 0)).hi == 1;
    ir_ref next =
        (innermost || r->blocked) && !once ? make_combined(r, make_carry(r, r->ranges[i]), value) : value;
    value = value_loop(g, r->ranges[i], IR_SERIAL, init, next);
  }
  return value;
}

/* Reduces over ranges[0..count), and over `last` (when not 0) at i * scale + offset, 0 <= i < extent. */
static ir_ref reduce_serially(reduction *r, const ir_ref *ranges, uint32_t count, ir_ref last, ir_ref extent,
                              ir_ref scale, ir_ref offset) {
  ir_graph *g = r->n->g;
  ir_ref to[IR_MAX_RANK + 1], from[IR_MAX_RANK + 1];
  uint32_t replaced = 0;
  r->range_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    from[replaced] = ranges[i];
    to[replaced++] = reduce_index_of(r, ir_src(g, ranges[i], 0));
  }
  if (last) {
    from[replaced] = last;
    to[replaced++] = pass_add(g, pass_mul(g, reduce_index_of(r, extent), scale), offset);
  }
  ir_ref body = pass_substitute_alone(g, r->body, from, to, replaced);
  if (r->inside.lane) body = reduce_only_inside(r, body, pass_sub(g, to[replaced - 1], r->inside.start));
  return serial_loops(r, body);
}

ir_ref reduce_lanes(const reduction *r, ir_ref range, int binding, ir_ref value) {
  ir_ref next = value ? ir_make(r->n->g, r->op, r->dtype, 0, (ir_ref[]){make_carry(r, range), value}, 2) : 0;
  return value_loop(r->n->g, range, binding, r->identity, next);
}

/* `count` terms from start on, at most a vector of them, in each lane; lanes past the end add nothing. */
static ir_ref masked_steps(reduction *r, const ir_ref *ranges, uint32_t outer, ir_ref lane, int lanes,
                           ir_ref start, ir_ref count, ir_ref steps) {
  ir_graph *g = r->n->g;
  r->inside.lane = lane, r->inside.start = start, r->inside.count = count;
  ir_ref value =
      reduce_serially(r, ranges, outer, ranges[outer], steps, ir_index(g, lanes), pass_add(g, start, lane));
  r->inside.lane = 0;
  return value;
}

/* value, and a remainder of several vectors whose number is not known: where any term is left, whole vectors,
 * then one vector of the others, under a mask that is the same for all rows. In a loop of masked vectors the
 * rows of a softmax of 33 columns took 1.13 times as long. */
static ir_ref add_remainder(reduction *r, const ir_ref *ranges, ir_ref lane, int lanes, ir_ref remainder,
                            ir_ref value) {
  ir_graph *g = r->n->g;
  ir_ref extent = ir_src(g, ranges[0], 0), width = ir_index(g, lanes), one = ir_index(g, 1),
         none = ir_index(g, 0), start = pass_sub(g, extent, remainder);
  ir_ref some = pass_where(g, pass_compare(g, IR_OP_GE, remainder, one), one, none),
         whole = pass_div_int(g, pass_max(g, pass_add_int(g, remainder, -1), none), lanes),
         done = pass_mul_int(g, whole, lanes);
  ir_ref once = loop_fresh_range(r->n, some),
         first = reduce_serially(r, ranges, 0, ranges[0], whole, width, pass_add(g, start, lane)),
         others = masked_steps(r, ranges, 0, lane, lanes, pass_add(g, start, done),
                               pass_sub(g, remainder, done), one);
  ir_ref added = first && others ? make_combined(r, first, others) : 0;
  ir_ref src[] = {once ? make_carry(r, once) : 0, added};
  return src[0] && added ? value_loop(g, once, IR_SERIAL, value, ir_make(g, r->op, r->dtype, 0, src, 2)) : 0;
}

/* The last range in lanes: independent accumulators, then the remainder that fills no step of all of them.
 * One of less than a vector is one vector, even where none is left: that takes less than to find out, and
 * adds the identity to itself. */
static ir_ref reduce_in_lanes(reduction *r, const ir_ref *ranges, uint32_t count, int lanes, int unroll) {
  ir_graph *g = r->n->g;
  ir_ref last = ranges[count - 1], extent = ir_src(g, last, 0);
  int64_t step = (int64_t)lanes * unroll, left;
  ir_ref lane = loop_fresh_range(r->n, ir_index(g, lanes)),
         block = unroll > 1 ? loop_fresh_range(r->n, ir_index(g, unroll)) : 0;
  ir_ref offset = block ? pass_add(g, pass_mul_int(g, block, lanes), lane) : lane;
  r->in_lanes = true;
  ir_ref value =
      reduce_serially(r, ranges, count - 1, last, pass_div_int(g, extent, step), ir_index(g, step), offset);
  if (block) value = reduce_lanes(r, block, IR_UNROLL, value);
  ir_ref remainder = pass_mod_int(g, extent, step), of_remainder = 0;
  bool known = ir_is_const(g, remainder, &left), whole = known && left == 0,
       masks = !whole && reduce_can_mask(r, last);
  bool vectors = r->n->strategy->masks_stores; /* work-items of a group would wait */
  if (masks && vectors && !known && unroll > 1 && count == 1) {
    value = value ? add_remainder(r, ranges, lane, lanes, remainder, value) : 0;
  } else if (masks) {
    ir_ref steps = unroll == 1 && vectors ? ir_index(g, 1) : pass_ceil_div(g, remainder, ir_index(g, lanes));
    of_remainder =
        masked_steps(r, ranges, count - 1, lane, lanes, pass_sub(g, extent, remainder), remainder, steps);
    value = value && of_remainder ? ir_make(g, r->op, r->dtype, 0, (ir_ref[]){value, of_remainder}, 2) : 0;
  }
  r->in_lanes = false;
  value = reduce_lanes(r, lane, IR_VECTOR, value);
  if (whole || masks || !value) return value;
  of_remainder =
      reduce_serially(r, ranges, count - 1, last, remainder, ir_index(g, 1), pass_sub(g, extent, remainder));
  return of_remainder ? ir_make(g, r->op, r->dtype, 0, (ir_ref[]){value, of_remainder}, 2) : 0;
}

void reduce_width(const reduction *r, ir_ref body, int64_t most, int *lanes, int *unroll) {
  int bytes = ir_dtypes[ir_dtype_of(r->n->g, body)].bytes;
  *lanes = r->n->strategy->lanes_of_terms(r->n, bytes ? bytes : 1);
  *unroll = REDUCE_UNROLL;
  while (*unroll > 1 && (int64_t)*lanes * *unroll > most) *unroll /= 2;
  while (*lanes > 1 && *lanes > most) *lanes /= 2;
}

/* The lanes of one vector that has all terms of a row of a maximum or minimum, more than `lanes` of them,
 * under a mask; 0: there is none. Their order does not matter. Windows that lie too far apart for lanes along
 * them, as of pooling, have rows of few terms: 96 images of 147 x 147 in windows of 7 x 7 take 0.8 ms in
 * place of 1.2 to 1.7, of 5 x 5 0.6 in place of 2.2 to 2.5 (Zen 4, one thread). A single row of 13 took 1.4
 * times as long as in eight lanes and five more. */
static int lanes_of_all(const reduction *r, const ir_ref *ranges, uint32_t count, int lanes) {
  const loop_nest *n = r->n;
  int64_t terms;
  int bytes = ir_dtypes[ir_dtype_of(n->g, r->body)].bytes;
  bool known = count > 1 && is_extremum(r->op) &&
               ir_is_const(n->g, ir_src(n->g, ranges[count - 1], 0), &terms) && terms > lanes &&
               terms < 2 * lanes;
  bool masks = n->strategy->masks_stores && n->strategy->masks_stores(n->target, bytes);
  return known && masks && 2 * lanes * bytes <= n->target->vector_bytes &&
                 reduce_can_mask(r, ranges[count - 1])
             ? 2 * lanes
             : 0;
}

/* All terms of the last range in one vector of so many lanes, under a mask. */
static ir_ref reduce_in_one(reduction *r, const ir_ref *ranges, uint32_t count, int lanes) {
  ir_graph *g = r->n->g;
  ir_ref lane = loop_fresh_range(r->n, ir_index(g, lanes)), extent = ir_src(g, ranges[count - 1], 0);
  r->in_lanes = true;
  ir_ref value = masked_steps(r, ranges, count - 1, lane, lanes, ir_index(g, 0), extent, ir_index(g, 1));
  r->in_lanes = false;
  return reduce_lanes(r, lane, IR_VECTOR, value);
}

/* Is it a sum of products over a window of several axes? */
static bool is_window(const reduction *r, uint32_t count) {
  return count > 1 && r->op == IR_OP_ADD && pass_is_product(r->n->g, r->body);
}

/* The number of terms, where it is a constant of at most PASS_FEW_TERMS, or WINDOW_TERMS of a window;
 * otherwise 0. */
static int64_t few_terms(const reduction *r, const ir_ref *ranges, uint32_t count) {
  int64_t terms = 1, size, most = is_window(r, count) ? WINDOW_TERMS : PASS_FEW_TERMS;
  for (uint32_t i = 0; i < count; i++) {
    if (!ir_is_const(r->n->g, ir_src(r->n->g, ranges[i], 0), &size) || size > most) return 0;
    terms *= size;
    if (terms > most) return 0;
  }
  return terms;
}

/* Are the terms elements of lines of memory, of each of which several vectors are read, and of which terms
 * share nothing? In a loop each line is read as a whole, as hardware prefetchers expect: written out, vectors
 * go down the lines one by one. Means of 344 x 20 lines of 140 elements, seven together, take 0.9 ms in place
 * of 2.9 (Zen 4, one thread). */
static bool reads_lines(const reduction *r, const ir_ref *ranges, uint32_t count) {
  enum { MIN_VECTORS = 4 }; /* because loops over lines of 9 gain, and over shorter ones have more branches */
  ir_graph *g = r->n->g;
  ir_ref loads[LOOP_MAX_LOADS];
  uint32_t found = affine_find_range(g, r->body, IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  int64_t vectors = 1, stride;
  for (uint32_t a = 0; a < r->n->axis_count; a++) vectors *= r->n->axes[a].unroll;
  bool lines = count == 1 && found == 1 && vectors >= MIN_VECTORS;
  return lines && affine_stride(g, ir_src(g, loads[0], 1), ranges[0], &stride) &&
         stride * ir_dtypes[ir_dtype_of(g, loads[0])].bytes >= vectors * r->n->target->vector_bytes / 2;
}

/* body without prefetches of what it reads in sequence along the range; 0: without any. */
static ir_ref without_prefetches(const reduction *r, ir_ref body, ir_ref range) {
  ir_graph *g = r->n->g;
  ir_ref loads[LOOP_MAX_LOADS], plain[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(g, body, IR_OP_LOAD, loads, LOOP_MAX_LOADS), used = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *l = ir_get(g, loads[i]);
    int64_t stride;
    if (l->arg == 0) continue;
    if (range && (!affine_stride(g, l->src[1], range, &stride) || stride != 1)) continue;
    loads[used] = loads[i];
    plain[used++] = ir_make(g, IR_OP_LOAD, (ir_dtype)l->dtype, 0, l->src, l->nsrc);
  }
  return used ? pass_substitute_alone(g, body, loads, plain, used) : body;
}

/* A few terms in sequence, fully unrolled. Of those in one cache line, the first one prefetches. Extrema,
 * whose order does not matter, are those of rows of the innermost range first, which neighbouring windows
 * share. */
static ir_ref reduce_written_out(const reduction *r, const ir_ref *ranges, uint32_t count, int64_t terms) {
  ir_graph *g = r->n->g;
  ir_ref value = r->identity, row = 0, plain = without_prefetches(r, r->body, ranges[count - 1]);
  int64_t line = IR_CACHE_LINE_BYTES / ir_dtypes[ir_dtype_of(g, r->body)].bytes;
  for (int64_t t = 0; t < terms && value && plain; t++) {
    ir_ref at[IR_MAX_RANK + 1];
    int64_t remainder = t, size = 1, in_row = 1;
    for (uint32_t i = count; i-- > 0; remainder /= size) {
      ir_is_const(g, ir_src(g, ranges[i], 0), &size);
      if (i == count - 1) in_row = size;
      at[i] = ir_index(g, remainder % size);
    }
    ir_ref term = pass_substitute_alone(g, t % line ? plain : r->body, ranges, at, count);
    if (!term || !is_extremum(r->op)) {
      value = term ? make_combined(r, value, term) : 0;
      continue;
    }
    row = t % in_row ? make_combined(r, row, term) : term;
    if ((t + 1) % in_row == 0) value = t < in_row ? row : make_combined(r, value, row);
  }
  return value;
}

ir_ref reduce_over(reduction *r, const ir_ref *ranges, uint32_t count) {
  int lanes, unroll;
  int64_t terms = r->index || r->n->lanes_in_reduction ? 0 : few_terms(r, ranges, count);
  if (terms) r->blocked = false;
  int64_t most = terms > PASS_FEW_TERMS ? MAX_WINDOW_OPERATIONS : MAX_UNROLLED_OPERATIONS;
  if (terms && terms * operations_of(r) <= most && !reads_lines(r, ranges, count))
    return reduce_written_out(r, ranges, count, terms);
  reduce_width(r, r->body, ir_bounds_of(r->n->g, ir_src(r->n->g, ranges[count - 1], 0)).hi, &lanes, &unroll);
  int all = r->n->lanes_in_reduction && lanes > 1 ? lanes_of_all(r, ranges, count, lanes) : 0;
  if (all) return reduce_in_one(r, ranges, count, all);
  if (r->n->lanes_in_reduction && lanes > 1) return reduce_in_lanes(r, ranges, count, lanes, unroll);
  return reduce_serially(r, ranges, count, 0, 0, 0, 0);
}

/* Is a REDUCE's term selected by comparing its range, with one of the ranges `others` if there are any? */
static bool chooses_by_index(ir_graph *g, ir_ref reduce, const ir_ref *others, uint32_t count) {
  const ir_node *r = ir_get(g, reduce), *term = ir_get(g, r->src[0]);
  ir_ref *live = NULL, range = r->src[1];
  size_t live_count = 0, cap = 0;
  bool chooses = false;
  if (r->nsrc != 2 || term->op != IR_OP_WHERE) return false;
  if (ir_reachable(g, &term->src[0], 1, &live, &live_count, &cap) == IR_OK)
    for (size_t i = 0; i < live_count && !chooses; i++) {
      if (ir_ops[ir_op_of(g, live[i])].cls != IR_CLASS_COMPARE || !affine_depends(g, live[i], range))
        continue;
      chooses = count == 0;
      for (uint32_t k = 0; k < count; k++) chooses |= affine_depends(g, live[i], others[k]);
    }
  ir_free(g->mem, live, cap * sizeof *live);
  return chooses;
}

bool loop_is_triangle(ir_graph *g, ir_ref reduce, ir_ref other) {
  int64_t size;
  return ir_is_const(g, ir_src(g, ir_src(g, reduce, 1), 0), &size) && size <= PASS_FEW_TERMS &&
         chooses_by_index(g, reduce, &other, 1);
}

/* Maximum or minimum of floats by their keys: integers are compared in one instruction, floats with signed
 * zeros and NaN in a chain of about six. */
static ir_ref reduce_by_keys(reduction *r, const ir_ref *ranges, uint32_t count) {
  ir_graph *g = r->n->g;
  ir_dtype t = r->dtype;
  if (!(r->body = pass_float_key(g, r->op, r->body))) return 0;
  r->dtype = ir_dtype_of(g, r->body);
  r->identity = pass_identity(g, r->op, r->dtype);
  return pass_key_value(g, r->op, reduce_over(r, ranges, count), t);
}

/* Is the term a product of two different factors, neither a constant? Squares, and products with a constant,
 * are added up like other terms, but with one rounding for each. */
static bool is_contraction(const ir_graph *g, ir_ref term) {
  const ir_node *n = ir_get(g, term);
  return pass_is_product(g, term) && n->src[0] != n->src[1] && ir_op_of(g, n->src[1]) != IR_OP_CONST;
}

/* FNV-1a, of whole words. */
static uint64_t mixed(uint64_t hash, uint64_t word) { return (hash ^ word) * UINT64_C(0x100000001b3); }

/* Number of the order in which lanes combine prefixes in steps that double; those of ranges are smaller. */
enum { PREFIX_ORDER = LOOP_ANY_ORDER - 1 };

/* Reports in what order a sum of floats takes its terms, to compare it with that of other loops. all: its
 * ranges before they end at masks. number: of the order in which these are (loop_order_reduced). Prefixes are
 * told apart from other sums of as many terms, such as those of whole blocks beside them: what views above a
 * sum leave of it may make a sum of a prefix, but no prefix of a sum. */
static void tell_order(const reduction *r, const ir_ref *all, const ir_ref *ranges, uint32_t count,
                       int number) {
  const pass_shaping *s = r->n->shaping;
  ir_graph *g = r->n->g;
  uint64_t terms = mixed(mixed(UINT64_C(0xcbf29ce484222325), r->op), r->dtype), order = terms;
  int lanes = 1, unroll = 1;
  if (!s || !s->ordered || !ir_is_float(r->dtype) || is_extremum(r->op)) return;
  for (uint32_t i = 0; i < count; i++)
    terms = mixed(terms, (uint64_t)ir_bounds_of(g, ir_src(g, all[i], 0)).hi);
  if (number == PREFIX_ORDER) terms = mixed(terms, PREFIX_ORDER);
  if (r->n->lanes_in_reduction)
    reduce_width(r, r->body, ir_bounds_of(g, ir_src(g, ranges[count - 1], 0)).hi, &lanes, &unroll);
  bool blocked = r->blocked && (r->n->lanes_in_reduction || !few_terms(r, ranges, count));
  order = mixed(mixed(order, (uint64_t)lanes), (uint64_t)unroll);
  order = mixed(order, lanes > 1 && reduce_can_mask(r, ranges[count - 1]));
  order = mixed(order, memcmp(all, ranges, count * sizeof *all) != 0);
  order = mixed(mixed(order, blocked), pass_is_product(g, r->body));
  order = mixed(order, (uint64_t)number);
  s->ordered(s->user, (pass_sum_order){terms, number == LOOP_ANY_ORDER ? 0 : order | 1});
}

static ir_ref reduce_to_loops(loop_nest *n, ir_ref node) {
  ir_graph *g = n->g;
  const ir_node *d = ir_get(g, node);
  reduction r = {.n = n, .op = (ir_op)ir_arg_int(d), .dtype = (ir_dtype)d->dtype, .body = d->src[0]};
  bool is_index_reduction = r.op == IR_OP_ARGMAX || r.op == IR_OP_ARGMIN;
  ir_ref ranges[IR_MAX_RANK + 1];
  uint32_t count = is_index_reduction ? 1 : d->nsrc - 1;
  for (uint32_t i = 0; i < count; i++) ranges[i] = d->src[1 + is_index_reduction + i];
  r.identity = pass_identity(g, r.op, ir_dtype_of(g, r.body));
  r.index = is_index_reduction ? d->src[1] : 0;
  r.run = RUN / count > OUTER_RUN ? RUN / count : OUTER_RUN;
  ir_ref all[IR_MAX_RANK + 1];
  memcpy(all, ranges, count * sizeof *all);
  int64_t terms = is_index_reduction || n->lanes_in_reduction ? 0 : few_terms(&r, ranges, count);
  if (terms && count == 1 && chooses_by_index(g, node, NULL, 0)) { /* some terms become constants */
    reduce_prefix prefix;
    bool doubles = n->strategy->combines_prefixes && reduce_read_prefix(&r, ranges[0], &prefix);
    tell_order(&r, all, ranges, count, doubles ? PREFIX_ORDER : 0);
    if (doubles) return reduce_over_prefix(&r, &prefix, without_prefetches(&r, prefix.term, 0));
    return reduce_written_out(&r, ranges, count, terms);
  }
  reduce_end_at_mask(&r, ranges, count);
  if (is_index_reduction) return reduce_to_index(&r, ranges[0]);
  r.blocked = r.op == IR_OP_ADD && ir_is_float(r.dtype) && !is_contraction(g, r.body);
  tell_order(&r, all, ranges, count, ir_arg_mode(d));
  int64_t few = few_terms(&r, ranges, count);
  if (is_extremum(r.op) && ir_is_float(r.dtype) && (!few || few >= MIN_KEYS))
    return reduce_by_keys(&r, ranges, count);
  return reduce_over(&r, ranges, count);
}

ir_ref loop_reductions(loop_nest *n, ir_ref root) {
  ir_ref found[MAX_REDUCTIONS], loops[MAX_REDUCTIONS];
  uint32_t count = affine_find_range(n->g, root, IR_OP_REDUCE, found, MAX_REDUCTIONS);
  if (count == MAX_REDUCTIONS) {
    ir_fail(n->g->error, IR_ERR_INTERNAL, "a kernel has more than %d reductions", MAX_REDUCTIONS - 1);
    return 0;
  }
  for (uint32_t i = 0; i < count; i++)
    if (!(loops[i] = reduce_to_loops(n, found[i]))) return 0;
  return count ? pass_substitute_alone(n->g, root, found, loops, count) : root;
}
