/* argmax and argmin as loops: by a search in each lane, whose bests are then compared by their orders; of
 * elements wider than these hold, by the extremum first and where it is after that. */
#include "reduce.h"

#include "passes/index/index.h"
#include "passes/loops/cpu/cpu.h"
#include "passes/patterns/identity.h"

/* Is there room for as many searches side by side as there may be, and are the rounds so many that more may
 * be left over? */
static bool are_many(const reduction *r, ir_ref extent, int lanes) {
  enum { ROUNDS = 16, STATE = 2 * LOOP_SEARCHES * REDUCE_LANE_BYTES };
  const ir_target *t = r->n->target;
  return ir_bounds_of(r->n->g, extent).hi >= (int64_t)ROUNDS * lanes * LOOP_SEARCHES &&
         t->registers * t->vector_bytes >= 2 * STATE;
}

/* argmax, argmin: the best of the terms at round * scale + offset[i], of each i for itself, then of all. */
static loop_extremum search(reduction *r, ir_ref last, ir_ref rounds, int64_t scale, const ir_ref *offset,
                            uint32_t count) {
  ir_graph *g = r->n->g;
  ir_ref value[LOOP_SEARCHES], position[LOOP_SEARCHES];
  r->range_count = 0;
  ir_ref round = pass_mul_int(g, reduce_position_of(r, rounds), scale);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref at = pass_add(g, round, offset[i]);
    value[i] = pass_substitute(g, r->body, &last, &at, 1);
    if (r->inside.lane) value[i] = reduce_only_inside(r, value[i], pass_sub(g, at, r->inside.start));
    position[i] = pass_substitute(g, r->position, &last, &at, 1);
  }
  return loop_search(r->n, r->sought, value, position, count, r->range_count ? r->ranges[0] : 0);
}

/* Lanes compare their bests by their orders. */
static ir_ref position_in_lanes(reduction *r, ir_ref last, int lanes, int unroll) {
  ir_graph *g = r->n->g;
  ir_ref extent = ir_src(g, last, 0), lane = loop_fresh_range(r->n, ir_index(g, lanes)),
         offset[LOOP_SEARCHES];
  if (are_many(r, extent, lanes)) unroll = LOOP_SEARCHES;
  r->body = loop_sweep_ahead(r->n, r->body, last);
  for (int i = 0; i < unroll; i++) offset[i] = pass_add_int(g, lane, (int64_t)i * lanes);
  int64_t step = (int64_t)lanes * unroll, left;
  loop_extremum best = search(r, last, pass_div_int(g, extent, step), step, offset, (uint32_t)unroll);
  ir_ref rest = pass_mod_int(g, extent, step), start = pass_sub(g, extent, rest);
  bool whole = ir_is_const(g, rest, &left) && left == 0, masks = !whole && reduce_can_mask(r, last);
  if (masks) {
    r->inside.lane = lane, r->inside.start = start, r->inside.count = rest;
    offset[0] = pass_add(g, start, lane);
    loop_extremum tail = search(r, last, pass_ceil_div(g, rest, ir_index(g, lanes)), lanes, offset, 1);
    r->inside.lane = 0;
    best = loop_better(g, r->sought, best, tail);
  }
  ir_ref order = reduce_lanes(r, lane, IR_VECTOR, loop_extremum_order(g, r->sought, &best));
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
ir_ref reduce_to_position(reduction *r, ir_ref range) {
  ir_graph *g = r->n->g;
  ir_ref zero = ir_index(g, 0);
  int lanes, unroll;
  r->sought = r->op;
  if (ir_dtypes[ir_dtype_of(g, r->body)].bytes < 4)
    r->body = ir_cast(g, r->body, ir_is_float(ir_dtype_of(g, r->body)) ? IR_F32 : IR_I32);
  r->op = IR_OP_MIN, r->dtype = IR_I64, r->identity = pass_identity(g, IR_OP_MIN, IR_I64);
  reduce_steps(r, r->body, ir_bounds_of(g, ir_src(g, range, 0)).hi, &lanes, &unroll);
  if (!r->n->lanes_in_reduction || lanes == 1)
    return ir_cast(g, search(r, range, ir_src(g, range, 0), 1, &zero, 1).at, IR_I64);
  return loop_has_order(g, r->body, r->position) ? position_in_lanes(r, range, lanes, unroll)
                                                 : position_of_extremum(r, range);
}
