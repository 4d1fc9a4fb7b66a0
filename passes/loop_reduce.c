/* Reductions as loops with carried values.
 *
 * The order in which floats are combined depends on the extents only, never on threads or on the machine. A
 * sum is blocked: REDUCE_LANES bytes of lanes times REDUCE_UNROLL accumulators, each summing runs of 32, then
 * runs of 8 of those, and so on; with n terms no partial result passes through more than about 38 +
 * 8*log8(n/2048) additions, which keeps the error below 128 u sum|x| for any n < 2^31 (Higham, Accuracy and
 * Stability of Numerical Algorithms, 4.2). Contractions, integers, minima and maxima, and few terms, need no
 * blocks and carry one accumulator through all loops. */
#include "loops.h"

#include "index.h"

#include <math.h>

enum {
  REDUCE_LANE_BYTES = 64,
  REDUCE_UNROLL = 4,
  RUN = 32,
  OUTER_RUN = 8,
  FEW = 32,  /* terms that are added one after the other */
  MUCH = 64, /* of them, with copies side by side, are written out */
  MAX_REDUCTIONS = 128,
  MAX_LOADS = 64,
  MAX_COPIES = 16
};

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
  ir_op sought;    /* of positions: ARGMAX or ARGMIN, body the element; op combines orders */
  ir_ref position; /* 0 for all others */
  struct {
    ir_ref lane, start, count;
  } inside; /* lane, when not 0: `count` terms from start on are left, fewer than there are lanes */
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
  /* a machine's steps towards a maximum of floats often begin with the first operand: keep what is carried
   * from waiting for them */
  bool turned = r->op == IR_OP_MAX || r->op == IR_OP_MIN;
  return ir_make(g, r->op, r->dtype, 0, (ir_ref[]){turned ? value : so_far, turned ? so_far : value}, 2);
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

/* Can lanes behind the end of the range be kept from reading? Not where what is read says where to read. */
static bool can_be_masked(const reduction *r, ir_ref last) {
  ir_graph *g = r->n->g;
  ir_ref loads[MAX_LOADS], inner[2];
  uint32_t count = loop_find(g, r->body, IR_OP_LOAD, loads, MAX_LOADS);
  if (count == MAX_LOADS || loop_find(g, r->body, IR_OP_BOUND, inner, 1)) return false;
  for (uint32_t i = 0; i < count; i++)
    if (loop_depends(g, loads[i], last) && loop_find(g, loads[i], IR_OP_LOAD, inner, 2) > 1) return false;
  return true;
}

/* body in the lanes of r->inside that stand before the end, the identity in the others, which read nothing.
 * `at` counts from where the range of r->inside starts. */
static ir_ref only_inside(const reduction *r, ir_ref body, ir_ref at) {
  ir_graph *g = r->n->g;
  ir_ref loads[MAX_LOADS], masked[MAX_LOADS], inside = pass_compare(g, IR_OP_LT, at, r->inside.count);
  uint32_t count = body && inside ? loop_find(g, body, IR_OP_LOAD, loads, MAX_LOADS) : 0, used = 0;
  if (!inside || !body || ir_is_true(g, inside)) return body;
  ir_ref other = r->position ? pass_identity(g, r->sought, ir_dtype_of(g, body)) : r->identity;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *load = ir_get(g, loads[i]);
    if (!loop_depends(g, load->src[1], r->inside.lane)) continue;
    ir_ref valid = pass_and(g, load->src[2], inside);
    bool whole = loads[i] == body && ir_is_true(g, load->src[2]);
    ir_ref src[] = {load->src[0], load->src[1], valid, whole ? other : load->src[3]};
    ir_ref made = ir_make(g, IR_OP_LOAD, (ir_dtype)load->dtype, 0, src, 4);
    if (whole || !made) return made;
    loads[used] = loads[i], masked[used++] = made;
  }
  return pass_where(g, inside, pass_substitute(g, body, loads, masked, used), other);
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
  ir_ref body = pass_substitute(g, r->body, from, to, replaced);
  if (r->inside.lane) body = only_inside(r, body, pass_sub(g, to[replaced - 1], r->inside.start));
  return serial_loops(r, body);
}

static ir_ref combine_lanes(const reduction *r, ir_ref range, int binding, ir_ref value) {
  ir_ref next = value ? ir_make(r->n->g, r->op, r->dtype, 0, (ir_ref[]){carry(r, range), value}, 2) : 0;
  return value_loop(r->n->g, range, binding, r->identity, next);
}

/* What fills no whole step, for each lane; lanes behind the end add nothing. */
static ir_ref rest_in_lanes(reduction *r, const ir_ref *ranges, uint32_t count, ir_ref lane, int lanes,
                            ir_ref rest) {
  ir_graph *g = r->n->g;
  ir_ref last = ranges[count - 1], start = pass_sub(g, ir_src(g, last, 0), rest), width = ir_index(g, lanes);
  r->inside.lane = lane, r->inside.start = start, r->inside.count = rest;
  ir_ref value = reduce_serially(r, ranges, count - 1, last, pass_ceil_div(g, rest, width), width,
                                 pass_add(g, start, lane));
  r->inside.lane = 0;
  return value;
}

/* The last range in lanes: accumulators side by side, then what fills no whole step of all of them. */
static ir_ref reduce_in_lanes(reduction *r, const ir_ref *ranges, uint32_t count, int lanes, int unroll) {
  ir_graph *g = r->n->g;
  ir_ref last = ranges[count - 1], extent = ir_src(g, last, 0);
  int64_t step = (int64_t)lanes * unroll;
  ir_ref lane = loop_fresh_range(r->n, ir_index(g, lanes)),
         block = unroll > 1 ? loop_fresh_range(r->n, ir_index(g, unroll)) : 0;
  ir_ref offset = block ? pass_add(g, pass_mul_int(g, block, lanes), lane) : lane;
  ir_ref value =
      reduce_serially(r, ranges, count - 1, last, pass_div_int(g, extent, step), ir_index(g, step), offset);
  if (block) value = combine_lanes(r, block, IR_UNROLL, value);
  ir_ref rest = pass_mod_int(g, extent, step), tail = 0;
  int64_t left;
  bool whole = ir_is_const(g, rest, &left) && left == 0, masks = !whole && can_be_masked(r, last);
  if (masks) tail = rest_in_lanes(r, ranges, count, lane, lanes, rest);
  if (masks) value = value && tail ? ir_make(g, r->op, r->dtype, 0, (ir_ref[]){value, tail}, 2) : 0;
  value = combine_lanes(r, lane, IR_VECTOR, value);
  if (whole || masks || !value) return value;
  tail = reduce_serially(r, ranges, count - 1, last, rest, ir_index(g, 1), pass_sub(g, extent, rest));
  return tail ? ir_make(g, r->op, r->dtype, 0, (ir_ref[]){value, tail}, 2) : 0;
}

/* The vector lanes and the accumulators side by side that a range of that many terms fills. */
static void choose_steps(const reduction *r, ir_ref body, int64_t most, int *lanes, int *unroll) {
  int bytes = ir_dtypes[ir_dtype_of(r->n->g, body)].bytes;
  *lanes = REDUCE_LANE_BYTES / (bytes ? bytes : 1);
  *unroll = REDUCE_UNROLL;
  while (*unroll > 1 && (int64_t)*lanes * *unroll > most) *unroll /= 2;
  while (*lanes > 1 && *lanes > most) *lanes /= 2;
}

/* How many terms, where that is a small number; otherwise 0. */
static int64_t few_terms(const reduction *r, const ir_ref *ranges, uint32_t count) {
  int64_t terms = 1, size;
  for (uint32_t i = 0; i < count; i++) {
    if (!ir_is_const(r->n->g, ir_src(r->n->g, ranges[i], 0), &size) || size > FEW) return 0;
    terms *= size;
    if (terms > FEW) return 0;
  }
  return terms;
}

static int64_t copies_of(const loop_nest *n) {
  int64_t copies = 1;
  for (uint32_t a = 0; a < n->axis_count; a++) copies *= n->axes[a].unroll;
  return copies;
}

/* A few terms one after the other, without loops. */
static ir_ref reduce_written_out(const reduction *r, const ir_ref *ranges, uint32_t count, int64_t terms) {
  ir_graph *g = r->n->g;
  ir_ref value = r->identity;
  for (int64_t t = 0; t < terms && value; t++) {
    ir_ref at[IR_MAX_RANK + 1];
    int64_t rest = t, size = 1;
    for (uint32_t i = count; i-- > 0; rest /= size) {
      ir_is_const(g, ir_src(g, ranges[i], 0), &size);
      at[i] = ir_index(g, rest % size);
    }
    ir_ref term = pass_substitute(g, r->body, ranges, at, count);
    value = term ? combine(r, value, term) : 0;
  }
  return value;
}

static ir_ref reduce_over(reduction *r, const ir_ref *ranges, uint32_t count) {
  int lanes, unroll;
  int64_t terms = r->position || r->n->lanes_in_reduction ? 0 : few_terms(r, ranges, count);
  if (terms) r->blocked = false;
  if (terms && terms * copies_of(r->n) <= MUCH) return reduce_written_out(r, ranges, count, terms);
  choose_steps(r, r->body, ir_bounds_of(r->n->g, ir_src(r->n->g, ranges[count - 1], 0)).hi, &lanes, &unroll);
  if (r->n->lanes_in_reduction && lanes > 1) return reduce_in_lanes(r, ranges, count, lanes, unroll);
  return reduce_serially(r, ranges, count, 0, 0, 0, 0);
}

/* argmax, argmin: the best of the terms at round * scale + offset[i], of each i for itself, then of all. */
static loop_extremum search(reduction *r, ir_ref last, ir_ref rounds, int64_t scale, const ir_ref *offset,
                            uint32_t count) {
  ir_graph *g = r->n->g;
  ir_ref value[REDUCE_UNROLL], position[REDUCE_UNROLL];
  r->range_count = 0;
  ir_ref round = pass_mul_int(g, serial_position(r, rounds), scale);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref at = pass_add(g, round, offset[i]);
    value[i] = pass_substitute(g, r->body, &last, &at, 1);
    if (r->inside.lane) value[i] = only_inside(r, value[i], pass_sub(g, at, r->inside.start));
    position[i] = pass_substitute(g, r->position, &last, &at, 1);
  }
  return loop_search(r->n, r->sought, value, position, count, r->range_count ? r->ranges[0] : 0);
}

/* Lanes compare their bests by their orders. */
static ir_ref position_in_lanes(reduction *r, ir_ref last, int lanes, int unroll) {
  ir_graph *g = r->n->g;
  ir_ref extent = ir_src(g, last, 0), lane = loop_fresh_range(r->n, ir_index(g, lanes)),
         offset[REDUCE_UNROLL];
  for (int i = 0; i < unroll; i++) offset[i] = pass_add_int(g, lane, (int64_t)i * lanes);
  int64_t step = (int64_t)lanes * unroll, left;
  loop_extremum best = search(r, last, pass_div_int(g, extent, step), step, offset, (uint32_t)unroll);
  ir_ref rest = pass_mod_int(g, extent, step), start = pass_sub(g, extent, rest);
  bool whole = ir_is_const(g, rest, &left) && left == 0, masks = !whole && can_be_masked(r, last);
  if (masks) {
    r->inside.lane = lane, r->inside.start = start, r->inside.count = rest;
    offset[0] = pass_add(g, start, lane);
    loop_extremum tail = search(r, last, pass_ceil_div(g, rest, ir_index(g, lanes)), lanes, offset, 1);
    r->inside.lane = 0;
    best = loop_better(g, r->sought, best, tail);
  }
  ir_ref order = combine_lanes(r, lane, IR_VECTOR, loop_extremum_order(g, r->sought, &best));
  if (whole || masks || !order) return loop_ordered_position(g, order);
  loop_extremum tail = search(r, last, rest, 1, &start, 1);
  return loop_ordered_position(g, ir_binary(g, IR_OP_MIN, order, loop_extremum_order(g, r->sought, &tail)));
}

/* The first position of the extremum, found in a second round over the terms. */
static ir_ref position_of_extremum(reduction *r, ir_ref range) {
  ir_graph *g = r->n->g;
  reduction value = *r;
  ir_dtype t = ir_dtype_of(g, r->body);
  value.op = r->sought == IR_OP_ARGMAX ? IR_OP_MAX : IR_OP_MIN;
  value.dtype = t, value.identity = pass_identity(g, value.op, t), value.position = 0;
  ir_ref extremum = reduce_over(&value, &range, 1);
  ir_ref found = ir_binary(g, IR_OP_OR, ir_binary(g, IR_OP_EQ, r->body, extremum),
                           ir_binary(g, IR_OP_NE, r->body, r->body));
  r->body = ir_where(g, found, ir_cast(g, r->position, IR_I64), r->identity), r->position = 0;
  return reduce_over(r, &range, 1);
}

/* argmax, argmin. Orders hold elements of up to 32 bits. */
static ir_ref reduce_position(reduction *r, ir_ref range) {
  ir_graph *g = r->n->g;
  ir_ref zero = ir_index(g, 0);
  int lanes, unroll;
  r->sought = r->op;
  if (ir_dtypes[ir_dtype_of(g, r->body)].bytes < 4)
    r->body = ir_cast(g, r->body, ir_is_float(ir_dtype_of(g, r->body)) ? IR_F32 : IR_I32);
  r->op = IR_OP_MIN, r->dtype = IR_I64, r->identity = pass_identity(g, IR_OP_MIN, IR_I64);
  choose_steps(r, r->body, ir_bounds_of(g, ir_src(g, range, 0)).hi, &lanes, &unroll);
  if (!r->n->lanes_in_reduction || lanes == 1)
    return ir_cast(g, search(r, range, ir_src(g, range, 0), 1, &zero, 1).at, IR_I64);
  return loop_has_order(g, r->body, r->position) ? position_in_lanes(r, range, lanes, unroll)
                                                 : position_of_extremum(r, range);
}

/* Where `condition` says range < E, with an E that is the same for all reduced ranges and for all lanes: E,
 * otherwise 0. */
static ir_ref upper_face(const reduction *r, ir_ref condition, const ir_ref *ranges, uint32_t count) {
  ir_graph *g = r->n->g;
  const ir_node *n = ir_get(g, condition);
  ir_ref range = ranges[count - 1], e = 0, zero = ir_index(g, 0);
  int64_t stride;
  if (ir_ops[n->op].cls != IR_CLASS_COMPARE || ir_dtype_of(g, n->src[0]) != IR_INDEX) return 0;
  if (n->op == IR_OP_LT || n->op == IR_OP_LE) e = pass_sub(g, n->src[1], n->src[0]);
  if (n->op == IR_OP_GT || n->op == IR_OP_GE) e = pass_sub(g, n->src[0], n->src[1]);
  if (!e || !loop_stride(g, e, range, &stride) || stride != -1) return 0;
  if (n->op == IR_OP_LE || n->op == IR_OP_GE) e = pass_add_int(g, e, 1);
  e = pass_substitute(g, e, &range, &zero, 1);
  for (uint32_t i = 0; e && i < count; i++)
    if (loop_depends(g, e, ranges[i])) return 0;
  for (uint32_t i = 0; e && i < r->n->lane_count; i++)
    if (loop_depends(g, e, r->n->lanes[i])) return 0;
  return e;
}

/* Terms that are left out from some position of the last range on, because they are the identity there, need
 * no test where the range ends at that position. */
static void end_at_mask(reduction *r, ir_ref *ranges, uint32_t count) {
  ir_graph *g = r->n->g;
  const ir_node *n = ir_get(g, r->body);
  ir_ref inside = n->op == IR_OP_WHERE && n->src[2] == r->identity  ? n->src[0]
                  : n->op == IR_OP_LOAD && n->src[3] == r->identity ? n->src[2]
                                                                    : 0;
  if (!inside) return;
  const ir_node *all = ir_get(g, inside);
  bool several = all->op == IR_OP_AND;
  for (uint32_t i = 0; i < (several ? all->nsrc : 1); i++) {
    ir_ref condition = several ? all->src[i] : inside, range = ranges[count - 1];
    ir_ref end = upper_face(r, condition, ranges, count);
    if (!end) continue;
    end = pass_max(g, pass_min(g, ir_src(g, range, 0), end), ir_index(g, 0));
    ir_ref to[] = {loop_fresh_range(r->n, end), ir_bool(g, true)};
    r->body = pass_substitute(g, pass_substitute(g, r->body, &condition, &to[1], 1), &range, to, 1);
    if (r->position) r->position = pass_substitute(g, r->position, &range, to, 1);
    ranges[count - 1] = to[0];
    return;
  }
}

bool loop_is_triangle(ir_graph *g, ir_ref reduce, const ir_ref *others, uint32_t count) {
  const ir_node *r = ir_get(g, reduce);
  ir_ref *live = NULL, range = r->src[1];
  size_t live_count = 0, cap = 0;
  int64_t size;
  bool triangle = false;
  if (r->nsrc != 2 || !ir_is_const(g, ir_src(g, range, 0), &size) || size > MAX_COPIES || (size & (size - 1)))
    return false;
  const ir_node *term = ir_get(g, r->src[0]);
  if (term->op == IR_OP_WHERE && ir_reachable(g, &term->src[0], 1, &live, &live_count, &cap) == IR_OK)
    for (size_t i = 0; i < live_count && !triangle; i++) {
      if (ir_ops[ir_op_of(g, live[i])].cls != IR_CLASS_COMPARE || !loop_depends(g, live[i], range)) continue;
      for (uint32_t k = 0; k < count; k++) triangle |= loop_depends(g, live[i], others[k]);
    }
  ir_free(g->mem, live, cap * sizeof *live);
  return triangle;
}

/* A copy of the body for each position. */
static ir_ref reduce_in_copies(const reduction *r, ir_ref range) {
  ir_ref fresh = loop_fresh_range(r->n, ir_src(r->n->g, range, 0));
  return combine_lanes(r, fresh, IR_UNROLL, pass_substitute(r->n->g, r->body, &range, &fresh, 1));
}

/* The greatest or least of floats by their keys: integers are compared in one instruction, floats with signed
 * zeros and NaN in about six, one waiting for the other. */
static ir_ref reduce_by_keys(reduction *r, const ir_ref *ranges, uint32_t count) {
  ir_graph *g = r->n->g;
  ir_dtype t = r->dtype;
  r->body = loop_key(g, r->op, r->body), r->identity = loop_key(g, r->op, r->identity);
  if (!r->body || !r->identity) return 0;
  r->dtype = ir_dtype_of(g, r->body);
  return loop_key_value(g, reduce_over(r, ranges, count), t);
}

static ir_ref reduce_to_loops(loop_nest *n, ir_ref node) {
  ir_graph *g = n->g;
  const ir_node *d = ir_get(g, node);
  reduction r = {.n = n, .op = (ir_op)ir_arg_int(d), .dtype = (ir_dtype)d->dtype, .body = d->src[0]};
  bool positional = r.op == IR_OP_ARGMAX || r.op == IR_OP_ARGMIN;
  ir_ref ranges[IR_MAX_RANK + 1];
  uint32_t count = positional ? 1 : d->nsrc - 1;
  for (uint32_t i = 0; i < count; i++) ranges[i] = d->src[1 + positional + i];
  r.identity = pass_identity(g, r.op, ir_dtype_of(g, r.body));
  r.position = positional ? d->src[1] : 0;
  r.run = RUN / count > OUTER_RUN ? RUN / count : OUTER_RUN;
  if (!positional && loop_is_triangle(g, node, n->lanes, n->lane_count))
    return reduce_in_copies(&r, ranges[0]);
  end_at_mask(&r, ranges, count);
  if (positional) return reduce_position(&r, ranges[0]);
  r.blocked = r.op == IR_OP_ADD && ir_is_float(r.dtype) && !is_product(g, r.body);
  if ((r.op == IR_OP_MAX || r.op == IR_OP_MIN) && ir_is_float(r.dtype) && !few_terms(&r, ranges, count))
    return reduce_by_keys(&r, ranges, count);
  return reduce_over(&r, ranges, count);
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
