/* argmax and argmin as loops. Each lane searches its own terms, and the lanes' bests are compared by their
 * orders (extremum.c). Elements too wide for an order: a reduction for the extremum, then another for its
 * first index. */
#include "reduce.h"

#include "passes/index/index.h"
#include "passes/patterns/identity.h"

/* Are there registers for LOOP_SEARCHES searches at once, and so many iterations that a longer remainder
 * matters little? */
static bool are_many(const reduction *r, ir_ref extent, int lanes) {
  enum {
    MIN_ITERATIONS = 16, /* of the search: the remainder is then 1/16 of it at most */
    STATE_BYTES = 2 * LOOP_SEARCHES * REDUCE_LANE_BYTES /* the bests and their indices */
  };
  const ir_target *t = r->n->target;
  return ir_bounds_of(r->n->g, extent).hi >= (int64_t)MIN_ITERATIONS * lanes * LOOP_SEARCHES &&
         t->registers * t->vector_bytes >= 2 * STATE_BYTES;
}

/* The best of the terms at iteration * scale + offset[i]: a search for each i, then the best of all. */
static loop_extremum search_extremum(reduction *r, ir_ref last, ir_ref iterations, int64_t scale,
                                     const ir_ref *offset, uint32_t count) {
  ir_graph *g = r->n->g;
  ir_ref value[LOOP_SEARCHES], index[LOOP_SEARCHES];
  r->range_count = 0;
  ir_ref iteration = pass_mul_int(g, reduce_index_of(r, iterations), scale);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref at = pass_add(g, iteration, offset[i]);
    value[i] = pass_substitute(g, r->body, &last, &at, 1);
    if (r->inside.lane) value[i] = reduce_only_inside(r, value[i], pass_sub(g, at, r->inside.start));
    index[i] = pass_substitute(g, r->index, &last, &at, 1);
  }
  return loop_search(r->n, r->sought, value, index, count, r->range_count ? r->ranges[0] : 0);
}

/* A search in each lane; the lanes compare their bests by their orders. */
static ir_ref index_in_lanes(reduction *r, ir_ref last, int lanes, int unroll) {
  ir_graph *g = r->n->g;
  ir_ref extent = ir_src(g, last, 0), lane = loop_fresh_range(r->n, ir_index(g, lanes)),
         offset[LOOP_SEARCHES];
  if (are_many(r, extent, lanes)) unroll = LOOP_SEARCHES;
  r->body = r->n->strategy->read_ahead(r->n, r->body, last);
  for (int i = 0; i < unroll; i++) offset[i] = pass_add_int(g, lane, (int64_t)i * lanes);
  int64_t step = (int64_t)lanes * unroll, left;
  loop_extremum best =
      search_extremum(r, last, pass_div_int(g, extent, step), step, offset, (uint32_t)unroll);
  ir_ref remainder = pass_mod_int(g, extent, step), start = pass_sub(g, extent, remainder);
  bool whole = ir_is_const(g, remainder, &left) && left == 0, masks = !whole && reduce_can_mask(r, last);
  if (masks) {
    r->inside.lane = lane, r->inside.start = start, r->inside.count = remainder;
    offset[0] = pass_add(g, start, lane);
    loop_extremum of_remainder =
        search_extremum(r, last, pass_ceil_div(g, remainder, ir_index(g, lanes)), lanes, offset, 1);
    r->inside.lane = 0;
    best = loop_better(g, r->sought, best, of_remainder);
  }
  ir_ref order = reduce_lanes(r, lane, IR_VECTOR, loop_extremum_order(g, r->sought, &best));
  if (whole || masks || !order) return loop_ordered_index(g, order);
  loop_extremum of_remainder = search_extremum(r, last, remainder, 1, &start, 1);
  return loop_ordered_index(g,
                            ir_binary(g, IR_OP_MIN, order, loop_extremum_order(g, r->sought, &of_remainder)));
}

/* The first index of the extremum, found in a second loop over the terms. */
static ir_ref index_of_extremum(reduction *r, ir_ref range) {
  ir_graph *g = r->n->g;
  reduction value = *r;
  ir_dtype t = ir_dtype_of(g, r->body);
  value.op = r->sought == IR_OP_ARGMAX ? IR_OP_MAX : IR_OP_MIN;
  value.dtype = t, value.identity = pass_identity(g, value.op, t), value.index = 0;
  ir_ref extremum = reduce_over(&value, &range, 1);
  ir_ref found = ir_binary(g, IR_OP_OR, ir_binary(g, IR_OP_EQ, r->body, extremum),
                           ir_binary(g, IR_OP_NE, r->body, r->body));
  r->body = ir_where(g, found, ir_cast(g, r->index, IR_I64), r->identity), r->index = 0;
  return reduce_over(r, &range, 1);
}

/* argmax, argmin. Orders hold elements of up to 32 bits. */
ir_ref reduce_to_index(reduction *r, ir_ref range) {
  ir_graph *g = r->n->g;
  ir_ref zero = ir_index(g, 0);
  int lanes, unroll;
  r->sought = r->op;
  if (ir_dtypes[ir_dtype_of(g, r->body)].bytes < 4)
    r->body = ir_cast(g, r->body, ir_is_float(ir_dtype_of(g, r->body)) ? IR_F32 : IR_I32);
  r->op = IR_OP_MIN, r->dtype = IR_I64, r->identity = pass_identity(g, IR_OP_MIN, IR_I64);
  reduce_width(r, r->body, ir_bounds_of(g, ir_src(g, range, 0)).hi, &lanes, &unroll);
  if (!r->n->lanes_in_reduction || lanes == 1)
    return ir_cast(g, search_extremum(r, range, ir_src(g, range, 0), 1, &zero, 1).at, IR_I64);
  return loop_has_order(g, r->body, r->index) ? index_in_lanes(r, range, lanes, unroll)
                                              : index_of_extremum(r, range);
}
