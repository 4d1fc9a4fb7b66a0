/* Reductions as loops with carried values.
 *
 * The order in which floats are combined depends on the extents only, never on threads or on the machine. A
 * sum is blocked: REDUCE_LANES bytes of lanes times REDUCE_UNROLL accumulators, each summing runs of 32, then
 * runs of 8 of those, and so on; with n terms no partial result passes through more than about 38 +
 * 8*log8(n/2048) additions, which keeps the error below 128 u sum|x| for any n < 2^31 (Higham, Accuracy and
 * Stability of Numerical Algorithms, 4.2). Contractions, integers, minima and maxima need no blocks and carry
 * one accumulator through all loops. */
#include "loops.h"

#include "index.h"

#include <math.h>

enum { REDUCE_LANE_BYTES = 64, REDUCE_UNROLL = 4, RUN = 32, OUTER_RUN = 8, MAX_REDUCTIONS = 128 };

typedef struct reduction {
  loop_nest *n;
  ir_op op;
  ir_dtype dtype;
  ir_ref body;
  ir_ref identity;
  bool blocked;            /* fresh accumulators per loop, runs of bounded length */
  int64_t run;             /* length of the innermost runs */
  ir_ref ranges[MAX_NEST]; /* serial loops, outermost first */
  uint32_t range_count;
} reduction;

ir_ref pass_identity(ir_graph *g, ir_op op, ir_dtype t) {
  bool is_float = ir_is_float(t), is_signed = ir_dtypes[t].kind == IR_KIND_SIGNED;
  int bits = ir_dtypes[t].bytes * 8;
  uint64_t all = ~(uint64_t)0 >> (bits ? 64 - bits : 0);
  switch ((int)op) {
  case IR_OP_ADD: return is_float ? ir_float(g, t, 0) : ir_int(g, t, 0);
  case IR_OP_MUL: return is_float ? ir_float(g, t, 1) : ir_int(g, t, 1);
  case IR_OP_AND: return ir_bool(g, true);
  case IR_OP_OR: return ir_bool(g, false);
  case IR_OP_MAX:
  case IR_OP_ARGMAX:
    if (is_float) return ir_float(g, t, -INFINITY);
    return ir_int(g, t, is_signed ? -(int64_t)(all >> 1) - 1 : 0);
  default:
    if (is_float) return ir_float(g, t, INFINITY);
    return ir_int(g, t, t == IR_BOOL ? 1 : (int64_t)(is_signed ? all >> 1 : all));
  }
}

static ir_ref carry(const reduction *r, ir_ref range) {
  return ir_make(r->n->g, IR_OP_CARRY, r->dtype, ir_pack_arg(0, 0), &range, 1);
}

static ir_ref value_loop(ir_graph *g, ir_ref range, int binding, ir_ref init, ir_ref next) {
  if (!init || !next) return 0;
  return ir_make(g, IR_OP_LOOP, ir_dtype_of(g, init), ir_pack_arg(1, binding), (ir_ref[]){range, init, next},
                 3);
}

/* fma(a, b, 0) under a sum: a term of a contraction */
static bool is_product(const ir_graph *g, ir_ref value) {
  const ir_node *n = ir_get(g, value);
  return n->op == IR_OP_FMA && ir_op_of(g, n->src[2]) == IR_OP_CONST && ir_const_value(g, n->src[2]).f == 0;
}

/* carry op value; a term of a contraction is added with one rounding where the machine can */
static ir_ref combine(const reduction *r, ir_ref so_far, ir_ref value) {
  ir_graph *g = r->n->g;
  if (r->op == IR_OP_ADD && is_product(g, value)) {
    ir_ref a = ir_src(g, value, 0), b = ir_src(g, value, 1);
    if (r->n->target->has_fma) return ir_make(g, IR_OP_FMA, r->dtype, 0, (ir_ref[]){a, b, so_far}, 3);
    value = ir_binary(g, IR_OP_MUL, a, b);
  }
  return ir_make(g, r->op, r->dtype, 0, (ir_ref[]){so_far, value}, 2);
}

static void add_range(reduction *r, ir_ref range) {
  if (r->range_count < MAX_NEST) r->ranges[r->range_count++] = range;
}

/* Serial loops over [0, extent): one, or for blocked sums a nest of bounded runs. Returns the position. */
static ir_ref serial_position(reduction *r, ir_ref extent) {
  ir_graph *g = r->n->g;
  ir_ref counts[MAX_NEST] = {extent};
  int64_t run[MAX_NEST] = {r->run};
  uint32_t levels = 0;
  while (r->blocked && levels + 1 < MAX_NEST / 2 && ir_bounds_of(g, counts[levels]).hi > run[levels]) {
    counts[levels + 1] = pass_ceil_div(g, counts[levels], ir_index(g, run[levels]));
    run[++levels] = OUTER_RUN;
  }
  int64_t single;
  if (ir_is_const(g, counts[levels], &single) && single == 1) return ir_index(g, 0);
  ir_ref position = loop_fresh_range(r->n, counts[levels]);
  add_range(r, position);
  while (levels-- > 0) {
    ir_ref start = pass_mul_int(g, position, run[levels]), left = pass_sub(g, counts[levels], start);
    ir_ref range = loop_fresh_range(r->n, pass_min(g, left, ir_index(g, run[levels])));
    add_range(r, range);
    position = pass_add(g, start, range);
  }
  return position;
}

/* The loops over r->ranges around body. */
static ir_ref serial_loops(const reduction *r, ir_ref body) {
  ir_graph *g = r->n->g;
  ir_ref value = body;
  for (uint32_t i = r->range_count; i-- > 0;) {
    bool innermost = i + 1 == r->range_count, chained = !r->blocked && i > 0;
    ir_ref init = chained ? carry(r, r->ranges[i - 1]) : r->identity;
    ir_ref next = innermost || r->blocked ? combine(r, carry(r, r->ranges[i]), value) : value;
    value = value_loop(g, r->ranges[i], IR_SERIAL, init, next);
  }
  return value;
}

/* Reduce over ranges[0..count), with range `last` (when not 0) taken at `at` instead. */
static ir_ref reduce_serially(reduction *r, const ir_ref *ranges, uint32_t count, ir_ref last, ir_ref extent,
                              ir_ref scale, ir_ref offset) {
  ir_graph *g = r->n->g;
  ir_ref to[IR_MAX_RANK + 1], from[IR_MAX_RANK + 1];
  uint32_t replaced = 0;
  r->range_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    from[replaced] = ranges[i];
    to[replaced++] = serial_position(r, ir_src(g, ranges[i], 0));
  }
  if (last) {
    from[replaced] = last;
    to[replaced++] = pass_add(g, pass_mul(g, serial_position(r, extent), scale), offset);
  }
  return serial_loops(r, pass_substitute(g, r->body, from, to, replaced));
}

/* The last range in lanes: accumulators side by side, then the rest of the range that fills no whole step. */
static ir_ref reduce_in_lanes(reduction *r, const ir_ref *ranges, uint32_t count, int lanes, int unroll) {
  ir_graph *g = r->n->g;
  ir_ref last = ranges[count - 1], extent = ir_src(g, last, 0), one = ir_index(g, 1);
  int64_t step = (int64_t)lanes * unroll;
  ir_ref lane = loop_fresh_range(r->n, ir_index(g, lanes)),
         block = unroll > 1 ? loop_fresh_range(r->n, ir_index(g, unroll)) : 0;
  ir_ref offset = block ? pass_add(g, pass_mul_int(g, block, lanes), lane) : lane;
  ir_ref value =
      reduce_serially(r, ranges, count - 1, last, pass_div_int(g, extent, step), ir_index(g, step), offset);
  value = value_loop(g, lane, IR_VECTOR, r->identity,
                     ir_make(g, r->op, r->dtype, 0, (ir_ref[]){carry(r, lane), value}, 2));
  if (block)
    value = value_loop(g, block, IR_UNROLL, r->identity,
                       ir_make(g, r->op, r->dtype, 0, (ir_ref[]){carry(r, block), value}, 2));
  ir_ref rest = pass_mod_int(g, extent, step);
  int64_t left;
  if (ir_is_const(g, rest, &left) && left == 0) return value;
  ir_ref tail = reduce_serially(r, ranges, count - 1, last, rest, one, pass_sub(g, extent, rest));
  return ir_make(g, r->op, r->dtype, 0, (ir_ref[]){value, tail}, 2);
}

/* argmax, argmin: the best value and its position are carried; the first of equals wins, and the first NaN.
 */
static ir_ref reduce_position(reduction *r, ir_ref position, ir_ref range) {
  ir_graph *g = r->n->g;
  ir_ref fresh = loop_fresh_range(r->n, ir_src(g, range, 0)),
         value = pass_substitute(g, r->body, &range, &fresh, 1);
  ir_ref at = ir_cast(g, pass_substitute(g, position, &range, &fresh, 1), IR_I64),
         zero = ir_int(g, IR_I64, 0);
  ir_dtype t = ir_dtype_of(g, value);
  ir_ref best = ir_make(g, IR_OP_CARRY, t, ir_pack_arg(0, 0), &fresh, 1);
  ir_ref best_at = ir_make(g, IR_OP_CARRY, IR_I64, ir_pack_arg(1, 0), &fresh, 1);
  ir_ref better = ir_binary(g, r->op == IR_OP_ARGMAX ? IR_OP_GT : IR_OP_LT, value, best);
  if (ir_is_float(t)) { /* NaN beats everything but an earlier NaN */
    ir_ref is_nan = ir_binary(g, IR_OP_NE, value, value), had_none = ir_binary(g, IR_OP_EQ, best, best);
    better = ir_binary(g, IR_OP_OR, better, ir_binary(g, IR_OP_AND, is_nan, had_none));
  }
  ir_ref src[] = {fresh, pass_identity(g, r->op, t), zero, ir_where(g, better, value, best),
                  ir_where(g, better, at, best_at)};
  ir_ref loop = ir_make(g, IR_OP_LOOP, t, ir_pack_arg(2, IR_SERIAL), src, 5);
  return ir_make(g, IR_OP_GET, IR_I64, ir_pack_arg(1, 0), &loop, 1);
}

static ir_ref reduce_to_loops(loop_nest *n, ir_ref node) {
  ir_graph *g = n->g;
  const ir_node *d = ir_get(g, node);
  reduction r = {.n = n, .op = (ir_op)ir_arg_int(d), .dtype = (ir_dtype)d->dtype, .body = d->src[0]};
  if (r.op == IR_OP_ARGMAX || r.op == IR_OP_ARGMIN) return reduce_position(&r, d->src[1], d->src[2]);
  const ir_ref *ranges = d->src + 1;
  uint32_t count = d->nsrc - 1;
  r.identity = pass_identity(g, r.op, r.dtype);
  r.blocked = r.op == IR_OP_ADD && ir_is_float(r.dtype) && !is_product(g, r.body);
  r.run = RUN / count > OUTER_RUN ? RUN / count : OUTER_RUN;
  int lanes = REDUCE_LANE_BYTES / (ir_dtypes[r.dtype].bytes ? ir_dtypes[r.dtype].bytes : 1),
      unroll = REDUCE_UNROLL;
  int64_t most = ir_bounds_of(g, ir_src(g, ranges[count - 1], 0)).hi;
  while (unroll > 1 && (int64_t)lanes * unroll > most) unroll /= 2;
  while (lanes > 1 && lanes > most) lanes /= 2;
  if (n->lanes_in_reduction && lanes > 1) return reduce_in_lanes(&r, ranges, count, lanes, unroll);
  return reduce_serially(&r, ranges, count, 0, 0, 0, 0);
}

ir_ref loop_reductions(loop_nest *n, ir_ref root) {
  ir_ref found[MAX_REDUCTIONS], loops[MAX_REDUCTIONS];
  uint32_t count = loop_find(n->g, root, IR_OP_REDUCE, found, MAX_REDUCTIONS);
  if (count == MAX_REDUCTIONS) {
    ir_fail(n->g->error, IR_ERR_INTERNAL, "a kernel has more than %d reductions", MAX_REDUCTIONS - 1);
    return 0;
  }
  for (uint32_t i = 0; i < count; i++)
    if (!(loops[i] = reduce_to_loops(n, found[i]))) return 0;
  return count ? pass_substitute(n->g, root, found, loops, count) : root;
}
