/* Positions of extrema. A search carries the best element and its position through a serial loop, in each
 * lane for itself. Lanes are then compared by an order of elements and positions in one integer, of which the
 * least is the best: float bits as signed integers, those of negative ones turned around, are in the order of
 * the floats; -1 minus that is the other way around; what stands before all of them is left for NaN. */
#include "loops.h"

#include "index.h"

enum { POSITION_BITS = 32 };

static bool is_narrow(ir_graph *g, ir_ref position) {
  ir_bounds b = ir_bounds_of(g, position);
  return b.lo >= 0 && b.hi <= INT32_MAX;
}

/* Better than the best so far: greater or unordered, unless that is a NaN already. */
static ir_ref is_better(ir_graph *g, ir_op op, ir_ref value, ir_ref best) {
  if (!ir_is_float(ir_dtype_of(g, value)))
    return ir_binary(g, op == IR_OP_ARGMAX ? IR_OP_GT : IR_OP_LT, value, best);
  ir_ref worse = ir_binary(g, op == IR_OP_ARGMAX ? IR_OP_LE : IR_OP_GE, value, best);
  return ir_binary(g, IR_OP_AND, ir_unary(g, IR_OP_NOT, worse), ir_binary(g, IR_OP_EQ, best, best));
}

/* step, start: of the position along the range, where it is a multiple of the round plus the same for all
 * rounds, in a dtype that holds everything. */
static bool is_affine(ir_graph *g, ir_ref position, ir_ref range, ir_ref *start, int64_t *step) {
  ir_ref zero = ir_index(g, 0);
  if (!is_narrow(g, position) || !loop_stride(g, position, range, step)) return false;
  *start = pass_substitute(g, position, &range, &zero, 1);
  return *start != 0;
}

/* Carried is the round, of which there is one for all lanes, rather than the position. */
loop_extremum loop_search(loop_nest *n, ir_op op, ir_ref value, ir_ref position, ir_ref range) {
  ir_graph *g = n->g;
  if (!value || !position) return (loop_extremum){0};
  ir_dtype t = ir_dtype_of(g, value), at_dtype = is_narrow(g, position) ? IR_I32 : IR_I64;
  if (!range) return (loop_extremum){value, ir_cast(g, position, at_dtype)};
  ir_ref start = 0, best = ir_make(g, IR_OP_CARRY, t, ir_pack_arg(0, 0), &range, 1);
  ir_ref best_at = ir_make(g, IR_OP_CARRY, at_dtype, ir_pack_arg(1, 0), &range, 1);
  int64_t step;
  bool affine = is_affine(g, position, range, &start, &step);
  ir_ref at = ir_cast(g, affine ? range : position, at_dtype), better = is_better(g, op, value, best);
  /* nothing is better than the identity only where all elements equal it: then the first position counts */
  ir_ref src[] = {range, pass_identity(g, op, t), ir_int(g, at_dtype, 0), ir_where(g, better, value, best),
                  ir_where(g, better, at, best_at)};
  ir_ref loop = ir_make(g, IR_OP_LOOP, t, ir_pack_arg(2, IR_SERIAL), src, 5);
  ir_ref found = ir_make(g, IR_OP_GET, at_dtype, ir_pack_arg(1, 0), &loop, 1);
  if (!affine) return (loop_extremum){loop, found};
  if (step != 1) found = ir_binary(g, IR_OP_MUL, found, ir_int(g, at_dtype, step));
  int64_t none;
  if (ir_is_const(g, start, &none) && none == 0) return (loop_extremum){loop, found};
  return (loop_extremum){loop, ir_binary(g, IR_OP_ADD, found, ir_cast(g, start, at_dtype))};
}

bool loop_has_order(ir_graph *g, ir_ref value, ir_ref position) {
  return ir_dtypes[ir_dtype_of(g, value)].bytes <= 4 && is_narrow(g, position);
}

/* Floats as i32 in their order; zeros are made one. */
static ir_ref float_order(ir_graph *g, ir_ref x) {
  ir_ref zero = ir_float(g, IR_F32, 0), most = ir_int(g, IR_I32, INT32_MAX);
  ir_ref bits = ir_make(g, IR_OP_BITCAST, IR_I32, 0,
                        (ir_ref[]){ir_where(g, ir_binary(g, IR_OP_EQ, x, zero), zero, x)}, 1);
  ir_ref negative = ir_binary(g, IR_OP_SHR, bits, ir_int(g, IR_I32, 31));
  return ir_binary(g, IR_OP_XOR, bits, ir_binary(g, IR_OP_AND, negative, most));
}

ir_ref loop_extremum_order(ir_graph *g, ir_op op, const loop_extremum *best) {
  if (!best->value || !best->at) return 0;
  bool is_float = ir_is_float(ir_dtype_of(g, best->value));
  ir_ref value = is_float ? ir_cast(g, best->value, IR_F32) : best->value;
  ir_ref order = ir_cast(g, is_float ? float_order(g, value) : value, IR_I64);
  if (ir_dtype_of(g, value) == IR_U32)
    order = ir_binary(g, IR_OP_SUB, order, ir_int(g, IR_I64, (int64_t)1 << 31));
  if (op == IR_OP_ARGMAX) order = ir_unary(g, IR_OP_NOT, order);
  if (is_float)
    order = ir_where(g, ir_binary(g, IR_OP_NE, value, value), ir_int(g, IR_I64, INT32_MIN), order);
  order = ir_binary(g, IR_OP_SHL, order, ir_int(g, IR_I64, POSITION_BITS));
  return ir_binary(g, IR_OP_OR, order, ir_cast(g, best->at, IR_I64));
}

ir_ref loop_ordered_position(ir_graph *g, ir_ref order) {
  return order ? ir_binary(g, IR_OP_AND, order, ir_int(g, IR_I64, ((int64_t)1 << POSITION_BITS) - 1)) : 0;
}
