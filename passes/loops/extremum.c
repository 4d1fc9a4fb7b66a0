/* Indices of extrema (argmax, argmin). A search carries the best element and its index through a serial loop,
 * in each lane separately. Lanes are then compared by an order: element and index in one integer, of which
 * the least is the best. Float bits as signed integers, with all bits of negative floats but the sign
 * flipped, are in the order of the floats; -1 minus that is the reverse order; a value before all of them
 * stands for NaN. */
#include "loops.h"

#include "passes/index/index.h"
#include "passes/patterns/identity.h"

static bool is_narrow(ir_graph *g, ir_ref index) {
  ir_bounds b = ir_bounds_of(g, index);
  return b.lo >= 0 && b.hi <= INT32_MAX;
}

/* Better than the best so far: greater (argmin: less) or unordered, unless the best is a NaN already. */
static ir_ref is_better(ir_graph *g, ir_op op, ir_ref value, ir_ref best) {
  if (!ir_is_float(ir_dtype_of(g, value)))
    return ir_binary(g, op == IR_OP_ARGMAX ? IR_OP_GT : IR_OP_LT, value, best);
  ir_ref worse = ir_binary(g, op == IR_OP_ARGMAX ? IR_OP_LE : IR_OP_GE, value, best);
  return ir_binary(g, IR_OP_AND, ir_unary(g, IR_OP_NOT, worse), ir_binary(g, IR_OP_EQ, best, best));
}

loop_extremum loop_better(ir_graph *g, ir_op op, loop_extremum a, loop_extremum b) {
  if (!a.value || !b.value) return (loop_extremum){0};
  if (ir_dtype_of(g, a.at) != ir_dtype_of(g, b.at)) /* bounds prove only one of them narrow */
    a.at = ir_cast(g, a.at, IR_I64), b.at = ir_cast(g, b.at, IR_I64);
  ir_ref equal = ir_binary(g, IR_OP_EQ, a.value, b.value);
  if (ir_is_float(ir_dtype_of(g, a.value))) {
    ir_ref both = ir_binary(g, IR_OP_AND, ir_binary(g, IR_OP_NE, a.value, a.value),
                            ir_binary(g, IR_OP_NE, b.value, b.value));
    equal = ir_binary(g, IR_OP_OR, equal, both);
  }
  ir_ref first = ir_binary(g, IR_OP_AND, equal, ir_binary(g, IR_OP_LT, b.at, a.at));
  ir_ref b_wins = ir_binary(g, IR_OP_OR, is_better(g, op, b.value, a.value), first);
  return (loop_extremum){ir_where(g, b_wins, b.value, a.value), ir_where(g, b_wins, b.at, a.at)};
}

/* What a search carries: the iteration, the same in all lanes, where the index is that times a step plus a
 * value that is the same in all iterations; otherwise the index. */
typedef struct carried_index {
  ir_dtype dtype;
  ir_ref carried, start;
  int64_t step; /* 0: the index itself is carried */
} carried_index;

static carried_index carried_index_of(ir_graph *g, ir_ref index, ir_ref range) {
  ir_ref zero = ir_index(g, 0);
  bool narrow = is_narrow(g, index);
  carried_index p = {.dtype = narrow ? IR_I32 : IR_I64};
  if (!narrow || !range || !affine_stride(g, index, range, &p.step)) p.step = 0;
  if (p.step) p.start = pass_substitute(g, index, &range, &zero, 1);
  p.carried = ir_cast(g, p.step ? range : index, p.dtype);
  return p;
}

static ir_ref index_at(ir_graph *g, const carried_index *p, ir_ref found) {
  int64_t none;
  if (p->step == 0) return found;
  if (p->step != 1) found = ir_binary(g, IR_OP_MUL, found, ir_int(g, p->dtype, p->step));
  if (ir_is_const(g, p->start, &none) && none == 0) return found;
  return ir_binary(g, IR_OP_ADD, found, ir_cast(g, p->start, p->dtype));
}

loop_extremum loop_search(loop_nest *n, ir_op op, const ir_ref *value, const ir_ref *index, uint32_t count,
                          ir_ref range) {
  ir_graph *g = n->g;
  carried_index at[LOOP_SEARCHES];
  ir_ref src[1 + 4 * LOOP_SEARCHES] = {range}, *initial = src + 1, *next = initial + 2 * count;
  loop_extremum best = {0};
  if (count > LOOP_SEARCHES) return best;
  for (uint32_t i = 0; i < count; i++) {
    if (!value[i] || !index[i]) return best;
    at[i] = carried_index_of(g, index[i], range);
    if (!range) continue;
    ir_dtype t = ir_dtype_of(g, value[i]);
    ir_ref so_far = ir_make(g, IR_OP_CARRY, t, ir_pack_arg(2 * i, 0), &range, 1),
           so_far_at = ir_make(g, IR_OP_CARRY, at[i].dtype, ir_pack_arg(2 * i + 1, 0), &range, 1);
    ir_ref better = is_better(g, op, value[i], so_far);
    /* nothing is better than the identity only where all elements equal it: then the first index is right */
    initial[2 * i] = pass_identity(g, op, t), initial[2 * i + 1] = ir_int(g, at[i].dtype, 0);
    next[2 * i] = ir_where(g, better, value[i], so_far);
    next[2 * i + 1] = ir_where(g, better, at[i].carried, so_far_at);
  }
  ir_ref loop = range ? ir_make(g, IR_OP_LOOP, ir_dtype_of(g, value[0]), ir_pack_arg(2 * count, IR_SERIAL),
                                src, 1 + 4 * count)
                      : 0;
  for (uint32_t i = 0; i < count; i++) {
    loop_extremum one = {value[i], at[i].carried};
    if (range) {
      ir_ref found = ir_make(g, IR_OP_GET, at[i].dtype, ir_pack_arg(2 * i + 1, 0), &loop, 1);
      one.at = index_at(g, &at[i], found);
      one.value = i ? ir_make(g, IR_OP_GET, ir_dtype_of(g, value[i]), ir_pack_arg(2 * i, 0), &loop, 1) : loop;
    }
    best = i ? loop_better(g, op, best, one) : one;
  }
  return best;
}

bool loop_has_order(ir_graph *g, ir_ref value, ir_ref index) {
  return ir_dtypes[ir_dtype_of(g, value)].bytes <= 4 && is_narrow(g, index);
}

/* Floats as i32 in their order; -0 and +0 become one. */
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
  order = ir_binary(g, IR_OP_SHL, order, ir_int(g, IR_I64, PASS_INDEX_BITS));
  return ir_binary(g, IR_OP_OR, order, ir_cast(g, best->at, IR_I64));
}

ir_ref loop_ordered_index(ir_graph *g, ir_ref order) {
  return order ? ir_binary(g, IR_OP_AND, order, ir_int(g, IR_I64, ((int64_t)1 << PASS_INDEX_BITS) - 1)) : 0;
}
