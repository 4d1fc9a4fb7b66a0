#include "random_graph.h"

#include "passes/ops/compose/compose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
int64_t random_between(uint64_t *state, int64_t lo, int64_t hi) {
  return lo + (int64_t)(random_next(state) % (uint64_t)(hi - lo + 1));
}

static int64_t pick(random_graph *r, int64_t lo, int64_t hi) { return random_between(&r->state, lo, hi); }
static bool chance(random_graph *r, int percent) { return pick(r, 1, 100) <= percent; }

static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F64, IR_F16, IR_BF16, IR_I32, IR_I64,
                                  IR_I8,  IR_U8,  IR_I16, IR_U16, IR_U32,  IR_U64, IR_BOOL};
static ir_dtype any_dtype(random_graph *r) {
  return dtypes[pick(r, 0, (int64_t)(sizeof dtypes / sizeof *dtypes) - 1)];
}

/* ---------------------------------------------------------------------------------- what is known about
 * float values */

static const double unknown = INFINITY;
static double capacity(ir_dtype t) {
  return t == IR_F64 ? 0x1p53 : t == IR_F32 ? 0x1p24 : t == IR_F16 ? 0x1p11 : t == IR_BF16 ? 0x1p8 : INFINITY;
}

static double most_elements(random_graph *r, ir_ref ref) {
  double n = 1;
  for (uint32_t i = 0; i < ir_rank(&r->g, ref); i++)
    n *= (double)ir_bounds_of(&r->g, ir_dim(&r->g, ref, i)).hi;
  return n;
}

static void add_value(random_graph *r, ir_ref ref, double numerator, int scale) {
  if (!ref) { /* refused by the builder: not a failure */
    ir_error_clear(&r->error);
    return;
  }
  if (r->value_count == RANDOM_VALUES || most_elements(r, ref) > 20000) return;
  ir_dtype t = ir_dtype_of(&r->g, ref);
  if (ir_is_float(t) && (numerator > capacity(t) || scale > 12)) numerator = unknown;
  r->values[r->value_count++] = (random_value){ref, numerator, scale};
  r->op_count++;
}

static const random_value *any_value(random_graph *r) {
  int last = r->value_count - 1; /* prefer recent values, so that chains become deep */
  return &r->values[chance(r, 60) ? pick(r, last > 3 ? last - 3 : 0, last) : pick(r, 0, last)];
}

static uint32_t rank_of(const random_graph *r, const random_value *v) { return ir_rank(&r->g, v->ref); }
static bool size_of(const random_graph *r, const random_value *v, uint32_t axis, int64_t *size) {
  return ir_is_const(&r->g, ir_dim(&r->g, v->ref, axis), size);
}
static double elements_of(random_graph *r, const random_value *v) { return most_elements(r, v->ref); }

/* ----------------------------------------------------------------------------------------------------------
 * inputs */

static ir_ref any_size(random_graph *r) {
  if (r->var_count && chance(r, 25)) return r->vars[pick(r, 0, r->var_count - 1)];
  int64_t size = chance(r, 8) ? 0 : chance(r, 20) ? 1 : pick(r, 2, r->max_size);
  return ir_index(&r->g, size);
}

static ir_ref standing_in(random_graph *r, ir_ref input) {
  return r->stand_in ? r->stand_in(r, r->input_count - 1, input) : input;
}

static void make_inputs(random_graph *r) {
  static const char *const names[] = {"x", "y", "z", "w"}, *const var_names[] = {"n", "m"};
  int vars = chance(r, 30) ? (int)pick(r, 1, RANDOM_VARS) : 0, inputs = (int)pick(r, 1, RANDOM_INPUTS);
  for (int i = 0; i < vars; i++) {
    int64_t divisor = pick(r, 1, 2), lo = divisor * pick(r, chance(r, 15) ? 0 : 1, 2),
            hi = lo + divisor * pick(r, 1, 3);
    r->vars[r->var_count++] = ir_var(&r->g, var_names[i], 1, lo, hi, divisor);
  }
  ir_ref shape[4];
  int64_t rank = 0;
  for (int i = 0; i < inputs; i++) {
    if (i == 0 || chance(r, 50)) { /* inputs often share a shape, so that they can be combined */
      rank = pick(r, chance(r, 10) ? 0 : 1, 4);
      for (int64_t k = 0; k < rank; k++) shape[k] = any_size(r);
    }
    ir_ref input = op_input(&r->g, names[i], 1, any_dtype(r), shape, (size_t)rank);
    if (!input || most_elements(r, input) > 20000) continue;
    r->inputs[r->input_count++] = input;
    add_value(r, standing_in(r, input), r->wild ? unknown : 8, 1);
  }
}

/* ------------------------------------------------------------------------------------------------------
 * operations */

static void make_unary(random_graph *r) {
  static const ir_op exact[] = {IR_OP_NEG,   IR_OP_ABS,  IR_OP_RELU,  IR_OP_NOT,
                                IR_OP_FLOOR, IR_OP_CEIL, IR_OP_TRUNC, IR_OP_ROUND};
  static const ir_op others[] = {
#define OTHER_UNARY(op) IR_OP_##op,
#define OTHER_BINARY(op)
#define EXPANDED(op, name, api, cls, ...) OTHER_##cls(op)
#include "ir/ops.def"
      IR_OP_SQRT};
  const random_value v = *any_value(r);
  if (chance(r, 60)) {
    ir_op op = exact[pick(r, 0, 7)];
    bool rounds = op >= IR_OP_FLOOR && op <= IR_OP_ROUND;
    add_value(r, op_unary(&r->g, op, v.ref), rounds ? v.numerator + (double)(1 << v.scale) : v.numerator,
              v.scale);
  } else {
    add_value(r, op_unary(&r->g, others[pick(r, 0, (int64_t)(sizeof others / sizeof *others) - 1)], v.ref),
              unknown, 0);
  }
}

static double aligned(const random_value *v, int scale) { return ldexp(v->numerator, scale - v->scale); }

static void make_binary(random_graph *r) {
  static const ir_op ops[] = {IR_OP_ADD, IR_OP_ADD, IR_OP_SUB,      IR_OP_MUL, IR_OP_MUL,  IR_OP_MIN,
                              IR_OP_MAX, IR_OP_DIV, IR_OP_FLOORDIV, IR_OP_MOD, IR_OP_POW,  IR_OP_EQ,
                              IR_OP_NE,  IR_OP_LT,  IR_OP_LE,       IR_OP_GT,  IR_OP_GE,   IR_OP_AND,
                              IR_OP_OR,  IR_OP_XOR, IR_OP_SHL,      IR_OP_SHR, IR_OP_DOT2, IR_OP_DOT4};
  const random_value a = *any_value(r);
  random_value b = *any_value(r);
  ir_op op = ops[pick(r, 0, (int64_t)(sizeof ops / sizeof *ops) - 1)];
  bool is_float = ir_is_float(ir_dtype_of(&r->g, a.ref));
  if (chance(r, 30)) { /* a literal */
    int64_t k = pick(r, -4, 4);
    b = is_float ? (random_value){op_literal_float(&r->g, (double)k / 2), 4, 1}
                 : (random_value){op_literal_int(&r->g, op == IR_OP_SHL || op == IR_OP_SHR || op == IR_OP_POW
                                                            ? pick(r, 0, 9)
                                                            : k),
                                  9, 0};
  }
  int scale = a.scale > b.scale ? a.scale : b.scale;
  double x = aligned(&a, scale), y = aligned(&b, scale), larger = x > y ? x : y;
  ir_ref made = op_binary(&r->g, op, a.ref, b.ref);
  bool mixed = made && ir_is_float(ir_dtype_of(&r->g, made)) &&
               (!is_float || (!ir_get(&r->g, b.ref)->weak && !ir_is_float(ir_dtype_of(&r->g, b.ref))));
  if (mixed) add_value(r, made, unknown, 0); /* integers have no known bound here */
  else if (op == IR_OP_ADD || op == IR_OP_SUB) add_value(r, made, x + y, scale);
  else if (op == IR_OP_MUL) add_value(r, made, a.numerator * b.numerator, a.scale + b.scale);
  else if (op == IR_OP_MIN || op == IR_OP_MAX) add_value(r, made, larger, scale);
  else add_value(r, made, unknown, 0);
}

static void make_where(random_graph *r) {
  const random_value c = *any_value(r), a = *any_value(r), b = *any_value(r);
  ir_ref condition = ir_dtype_of(&r->g, c.ref) == IR_BOOL ? c.ref : op_cast(&r->g, c.ref, IR_BOOL);
  bool floats = ir_is_float(ir_dtype_of(&r->g, a.ref)) && ir_is_float(ir_dtype_of(&r->g, b.ref));
  int scale = a.scale > b.scale ? a.scale : b.scale;
  double x = aligned(&a, scale), y = aligned(&b, scale);
  add_value(r, op_where(&r->g, condition, a.ref, b.ref), floats ? (x > y ? x : y) : unknown, scale);
}

static void make_fma(random_graph *r) {
  const random_value a = *any_value(r), b = *any_value(r), c = *any_value(r);
  add_value(r, op_fma(&r->g, a.ref, b.ref, c.ref), unknown, 0);
}

static void make_cast(random_graph *r) {
  const random_value v = *any_value(r);
  ir_dtype from = ir_dtype_of(&r->g, v.ref), to = any_dtype(r);
  if (chance(r, 20)) { /* the bits of a NaN are unspecified */
    if (!ir_is_float(from) || v.numerator < unknown) add_value(r, op_bitcast(&r->g, v.ref, to), unknown, 0);
    return;
  }
  add_value(r, op_cast(&r->g, v.ref, to), ir_is_float(from) ? v.numerator : unknown, v.scale);
}

static void make_permute(random_graph *r) {
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v), order[IR_MAX_RANK];
  ir_ref refs[IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) order[i] = i;
  for (uint32_t i = rank; i > 1; i--) {
    uint32_t k = (uint32_t)pick(r, 0, i - 1), swap = order[i - 1];
    order[i - 1] = order[k], order[k] = swap;
  }
  for (uint32_t i = 0; i < rank; i++) refs[i] = ir_index(&r->g, order[i]);
  add_value(r, op_permute(&r->g, v.ref, refs, rank), v.numerator, v.scale);
}

/* A random factorisation of the constant sizes, or all axes merged. */
static void make_reshape(random_graph *r) {
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v), made = 0;
  ir_ref shape[IR_MAX_RANK];
  int64_t size, total = 1;
  bool known = true;
  for (uint32_t i = 0; i < rank; i++) known &= size_of(r, &v, i, &size) && (total *= size, true);
  if (!known || total == 0) {
    shape[made++] = ir_index(&r->g, -1);
  } else {
    while (made < 3 && chance(r, 75)) {
      int64_t factor = pick(r, 1, 6);
      if (total % factor) continue;
      shape[made++] = ir_index(&r->g, factor);
      total /= factor;
    }
    shape[made++] = ir_index(&r->g, total);
  }
  add_value(r, op_reshape(&r->g, v.ref, shape, made), v.numerator, v.scale);
}

static void make_expand(random_graph *r) {
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v), lead = rank < 4 && chance(r, 40);
  ir_ref shape[IR_MAX_RANK];
  if (lead) shape[0] = any_size(r);
  for (uint32_t i = 0; i < rank; i++) {
    int64_t size;
    bool one = size_of(r, &v, i, &size) && size == 1;
    shape[lead + i] = one && chance(r, 70) ? any_size(r) : ir_dim(&r->g, v.ref, i);
  }
  if (elements_of(r, &v) < 3000)
    add_value(r, op_expand(&r->g, v.ref, shape, rank + lead), v.numerator, v.scale);
}

static void make_axis_view(random_graph *r) {
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v);
  int64_t axis = rank ? pick(r, -(int64_t)rank, (int64_t)rank - 1) : 0, size = 0;
  ir_ref index = ir_index(&r->g, axis < 0 ? axis + rank : axis), made = 0;
  switch (pick(r, 0, 3)) {
  case 0: made = rank < 5 ? op_unsqueeze(&r->g, v.ref, pick(r, 0, rank)) : 0; break;
  case 1: made = op_squeeze(&r->g, v.ref, NULL, 0); break;
  case 2: made = rank ? op_flip(&r->g, v.ref, &index, 1) : 0; break;
  default:
    if (rank && size_of(r, &v, (uint32_t)(axis < 0 ? axis + rank : axis), &size) && size > 0)
      made = op_point(&r->g, v.ref, ir_index(&r->g, pick(r, -size, size - 1)), axis);
  }
  add_value(r, made, v.numerator, v.scale);
}

static void make_window(random_graph *r) {
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v);
  ir_ref pairs[2 * IR_MAX_RANK];
  int kind = (int)pick(r, 0, 2), mode = chance(r, 70) ? IR_PAD_CONSTANT : (int)pick(r, 1, 3);
  for (uint32_t i = 0; i < rank; i++) {
    int64_t size, lo = 0, hi = 0;
    bool known = size_of(r, &v, i, &size);
    if (kind == 0) { /* shrink */
      if (known) lo = pick(r, 0, size), hi = pick(r, lo, size);
      if (known && chance(r, 50)) lo = 0, hi = size;
      pairs[2 * i] = ir_index(&r->g, lo);
      pairs[2 * i + 1] = known ? ir_index(&r->g, hi) : ir_dim(&r->g, v.ref, i);
    } else if (kind == 1) { /* stride */
      int64_t step = chance(r, 40) ? 1 : pick(r, 1, 3);
      pairs[i] = ir_index(&r->g, chance(r, 40) ? -step : step);
    } else { /* pad */
      int64_t most = mode == IR_PAD_REFLECT ? (known ? size - 1 : 0) : 2;
      if (most > 0 && chance(r, 60))
        lo = pick(r, 0, most < 2 ? most : 2), hi = pick(r, 0, most < 2 ? most : 2);
      pairs[2 * i] = ir_index(&r->g, lo), pairs[2 * i + 1] = ir_index(&r->g, hi);
    }
  }
  bool fills = kind == 2 && mode == IR_PAD_CONSTANT && chance(r, 40);
  ir_dtype t = ir_dtype_of(&r->g, v.ref);
  ir_ref fill = !fills ? 0 : t == IR_BOOL ? ir_bool(&r->g, true) : op_literal_int(&r->g, pick(r, 0, 3));
  ir_ref made = kind == 0   ? op_shrink(&r->g, v.ref, pairs, rank)
                : kind == 1 ? op_stride(&r->g, v.ref, pairs, rank)
                            : op_pad(&r->g, v.ref, pairs, rank, fill, mode);
  double filled = ldexp(3, v.scale);
  add_value(r, made, fills && v.numerator < filled ? filled : v.numerator, v.scale);
}

static void make_join(random_graph *r) {
  const random_value a = *any_value(r), b = *any_value(r);
  ir_ref parts[] = {a.ref, b.ref, a.ref};
  uint32_t rank = rank_of(r, &a);
  size_t count = (size_t)pick(r, 1, 3);
  bool floats = ir_is_float(ir_dtype_of(&r->g, a.ref)) && ir_is_float(ir_dtype_of(&r->g, b.ref));
  int scale = a.scale > b.scale ? a.scale : b.scale;
  double x = aligned(&a, scale), y = aligned(&b, scale);
  if (elements_of(r, &a) > 2000 || rank > 4) return;
  ir_ref made = rank && chance(r, 60) ? op_concat(&r->g, parts, count, pick(r, 0, rank - 1))
                                      : op_stack(&r->g, parts, count, pick(r, 0, rank));
  add_value(r, made, floats ? (x > y ? x : y) : unknown, scale);
}

static void make_reduce(random_graph *r) {
  static const ir_op ops[] = {IR_OP_SUM,        IR_OP_SUM,  IR_OP_PROD, IR_OP_REDUCE_MAX,
                              IR_OP_REDUCE_MIN, IR_OP_MEAN, IR_OP_ANY,  IR_OP_ALL};
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v), axes = 0;
  ir_op op = ops[pick(r, 0, 7)];
  ir_ref list[IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    if (chance(r, 50)) list[axes++] = ir_index(&r->g, i);
  bool keep = chance(r, 40);
  if (chance(r, 15) && rank) {
    int64_t axis = pick(r, 0, rank - 1);
    add_value(r, op_argreduce(&r->g, chance(r, 50) ? IR_OP_ARGMAX : IR_OP_ARGMIN, v.ref, &axis, keep),
              unknown, 0);
    return;
  }
  ir_dtype t = ir_dtype_of(&r->g, v.ref);
  double n = elements_of(r, &v), exact = t == IR_F64 ? 0x1p53 : 0x1p24, total = v.numerator * n;
  if (ir_is_float(t) && (op == IR_OP_SUM || op == IR_OP_MEAN) && total > exact) return;
  if (!ir_is_float(t) && op == IR_OP_MEAN) return; /* integers have no known bound here */
  if (ir_is_float(t) && op == IR_OP_PROD && pow(v.numerator, n) > exact) return;
  bool extremum = op == IR_OP_REDUCE_MAX || op == IR_OP_REDUCE_MIN;
  ir_ref made = op_reduce(&r->g, op, v.ref, axes || chance(r, 50) ? list : NULL, axes, keep);
  add_value(r, made, extremum ? v.numerator : op == IR_OP_SUM && ir_is_float(t) ? total : unknown, v.scale);
}

static void make_ordered(random_graph *r) {
  static const ir_op ops[] = {IR_OP_CUMSUM, IR_OP_CUMPROD, IR_OP_CUMMAX,
                              IR_OP_CUMMIN, IR_OP_SORT,    IR_OP_ARGSORT};
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v);
  if (!rank) return;
  ir_op op = ops[pick(r, 0, 5)];
  int64_t axis = pick(r, 0, rank - 1);
  ir_dtype t = ir_dtype_of(&r->g, v.ref);
  bool flag = chance(r, 50), sums = op == IR_OP_CUMSUM || op == IR_OP_CUMPROD,
       keeps = !sums && op != IR_OP_ARGSORT;
  double n = (double)ir_bounds_of(&r->g, ir_dim(&r->g, v.ref, (uint32_t)axis)).hi;
  double total = op == IR_OP_CUMPROD ? pow(v.numerator, n) : v.numerator * n,
         exact = t == IR_F64 ? 0x1p53 : 0x1p24;
  if (ir_is_float(t) && sums && total > exact) return;
  ir_ref made = op >= IR_OP_SORT ? op_sort(&r->g, op, v.ref, axis, flag)
                                 : op_cumulative(&r->g, op, v.ref, axis, sums && chance(r, 30), flag);
  add_value(r, made, keeps ? v.numerator : op == IR_OP_CUMSUM && ir_is_float(t) ? total : unknown, v.scale);
}

static void make_matmul(random_graph *r) {
  const random_value a = *any_value(r), b = *any_value(r);
  ir_dtype t = ir_dtype_of(&r->g, a.ref), u = ir_dtype_of(&r->g, b.ref);
  if (!rank_of(r, &a) || !rank_of(r, &b) || t == IR_BOOL || ir_is_float(t) != ir_is_float(u)) return;
  int64_t k = 1;
  if (!size_of(r, &a, rank_of(r, &a) - 1, &k)) k = 16;
  double total = a.numerator * b.numerator * (double)k;
  if (ir_is_float(t) && total > 0x1p24) return;
  if (elements_of(r, &a) * elements_of(r, &b) > 1e5) return;
  ir_ref other = b.ref;
  if (chance(r, 70)) other = op_swap_axes(&r->g, b.ref, -1, rank_of(r, &b) > 1 ? -2 : -1);
  add_value(r, op_matmul(&r->g, a.ref, other), ir_is_float(t) ? total : unknown, a.scale + b.scale);
}

static void make_gather(random_graph *r) {
  const random_value v = *any_value(r), w = *any_value(r);
  uint32_t rank = rank_of(r, &v);
  if (!rank) return;
  int64_t axis = pick(r, 0, rank - 1), size, taken[4];
  if (!size_of(r, &v, (uint32_t)axis, &size) || size == 0) return;
  if (chance(r, 50) || !ir_is_data_int(ir_dtype_of(&r->g, w.ref)) || rank_of(r, &w) + rank > 6) {
    ir_ref shape[] = {ir_index(&r->g, 2), ir_index(&r->g, 2)};
    for (int i = 0; i < 4; i++) taken[i] = pick(r, -size, size - 1);
    ir_ref indices = chance(r, 50) ? op_data(&r->g, IR_I64, shape, 2, taken, sizeof taken)
                                   : op_data(&r->g, IR_I64, shape, 1, taken, 2 * sizeof *taken);
    add_value(r, op_gather(&r->g, v.ref, indices, axis, (int)pick(r, 0, 2)), v.numerator, v.scale);
  } else if (elements_of(r, &v) * elements_of(r, &w) < 3000) { /* computed indices may be out of range */
    add_value(r, op_gather(&r->g, v.ref, w.ref, axis, (int)pick(r, 1, 2)), v.numerator, v.scale);
  }
}

/* Literal indices of these sizes, including duplicate and negative ones, in range of an axis of `size`
 * elements; 0 if a size is not known, or there are too many. */
static ir_ref literal_indices(random_graph *r, const ir_ref *dims, size_t rank, int64_t size) {
  int64_t taken[64], count = 1, each;
  for (size_t i = 0; i < rank; i++) {
    if (!ir_is_const(&r->g, dims[i], &each) || each > 64) return 0;
    count *= each;
    if (count > 64) return 0;
  }
  for (int64_t i = 0; i < count; i++) taken[i] = pick(r, -size, size - 1);
  return op_data(&r->g, IR_I64, dims, rank, taken, (size_t)count * sizeof *taken);
}

/* Indices that share `batch` axes with v, or all axes but the indexed one if `along`. */
static ir_ref some_indices(random_graph *r, const random_value *v, int64_t axis, int64_t batch, bool along,
                           int64_t size, int *mode) {
  ir_ref dims[IR_MAX_RANK + 2];
  const random_value w = *any_value(r);
  size_t n = 0;
  *mode = (int)pick(r, 0, 2);
  if (!batch && !along && chance(r, 40) && ir_is_data_int(ir_dtype_of(&r->g, w.ref)) && rank_of(r, &w) <= 2) {
    *mode = (int)pick(r, 1, 2); /* computed in the graph: they may be out of range */
    return elements_of(r, v) * elements_of(r, &w) < 3000 ? w.ref : 0;
  }
  for (uint32_t i = 0; i < (along ? rank_of(r, v) : (uint32_t)batch); i++)
    dims[n++] = ir_dim(&r->g, v->ref, i);
  if (along) dims[axis] = ir_index(&r->g, pick(r, 0, 4));
  for (int64_t i = pick(r, 0, 2); i > 0 && !along; i--) dims[n++] = ir_index(&r->g, pick(r, 0, 4));
  return literal_indices(r, dims, n, size);
}

/* Gathers, or scatters to, the elements at some indices: separate indices for each line along the axis, or
 * indices with shared leading axes. */
static void make_scatter(random_graph *r) {
  const random_value v = *any_value(r), w = *any_value(r);
  uint32_t rank = rank_of(r, &v);
  if (!rank || rank > 4) return;
  int64_t axis = pick(r, 0, rank - 1), size, batch = chance(r, 30) ? pick(r, 0, axis) : 0;
  bool along = chance(r, 25);
  int mode;
  if (!size_of(r, &v, (uint32_t)axis, &size) || size == 0) return;
  ir_ref at = some_indices(r, &v, axis, batch, along, size, &mode);
  if (!at) return;
  ir_ref taken = along ? op_take_along_axis(&r->g, v.ref, at, axis, mode)
                       : op_gather_batched(&r->g, v.ref, at, axis, mode, batch);
  if (!taken) return ir_error_clear(&r->error);
  ir_dtype t = ir_dtype_of(&r->g, v.ref);
  double count = most_elements(r, at), own = v.numerator, most, total;
  random_value u = {taken, v.numerator, v.scale}; /* or numbers along an axis, or any value */
  if (chance(r, 50) && t != IR_BOOL && ir_rank(&r->g, taken)) {
    ir_ref number = op_iota(&r->g, IR_I32, ir_get(&r->g, ir_shape(&r->g, taken))->src, ir_rank(&r->g, taken),
                            pick(r, 0, ir_rank(&r->g, taken) - 1));
    u = (random_value){op_cast(&r->g, number, t), 64, 0};
  } else if (chance(r, 30)) {
    u = w;
  }
  if (chance(r, 20)) return add_value(r, taken, v.numerator, v.scale);
  bool adds = chance(r, 50);
  int scale = u.scale > v.scale ? u.scale : v.scale;
  own = aligned(&v, scale), most = aligned(&u, scale);
  total = count > 0 ? own + most * count : own;
  if (adds && ir_is_float(t) && total > (t == IR_F64 ? 0x1p53 : 0x1p24)) return;
  ir_op op = adds ? IR_OP_SCATTER_ADD : IR_OP_SCATTER;
  ir_ref made = along ? op_scatter_along_axis(&r->g, op, v.ref, at, u.ref, axis, mode)
                      : op_scatter(&r->g, op, v.ref, at, u.ref, axis, mode, batch);
  add_value(r, made, adds ? total : own > most ? own : most, scale);
}

static void make_slice_update(random_graph *r) {
  const random_value v = *any_value(r), w = *any_value(r);
  uint32_t rank = rank_of(r, &v);
  ir_ref start[IR_MAX_RANK], sizes[IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    int64_t size = 0, from;
    bool known = size_of(r, &v, i, &size);
    start[i] = ir_index(&r->g, from = known ? pick(r, 0, size) : 0);
    sizes[i] = known ? ir_index(&r->g, pick(r, 0, size - from)) : ir_dim(&r->g, v.ref, i);
    if (known && from && chance(r, 30)) start[i] = ir_index(&r->g, from < size ? from - size : from);
  }
  bool literal = chance(r, 50);
  random_value u = literal ? (random_value){op_literal_int(&r->g, pick(r, 0, 1)), 1, 0} : w;
  int scale = u.scale > v.scale ? u.scale : v.scale;
  double own = aligned(&v, scale), most = aligned(&u, scale);
  add_value(r, op_slice_update(&r->g, v.ref, u.ref, start, sizes, rank), own > most ? own : most, scale);
}

/* One of several results that divide an axis. */
static void make_split(random_graph *r) {
  const random_value v = *any_value(r);
  uint32_t rank = rank_of(r, &v);
  if (!rank) return;
  int64_t axis = pick(r, 0, rank - 1);
  ir_ref all = chance(r, 70)   ? op_chunk(&r->g, v.ref, pick(r, 1, 3), axis)
               : chance(r, 50) ? op_unbind(&r->g, v.ref, axis)
                               : op_split(&r->g, v.ref, pick(r, 1, 2), axis);
  uint32_t part = all ? (uint32_t)pick(r, 0, ir_get(&r->g, all)->nsrc - 1) : 0;
  add_value(r, all ? ir_src(&r->g, all, part) : 0, v.numerator, v.scale);
}

static void make_triangle(random_graph *r) {
  const random_value v = *any_value(r);
  int64_t diagonal = pick(r, -2, 2);
  add_value(r, chance(r, 50) ? op_tril(&r->g, v.ref, diagonal) : op_triu(&r->g, v.ref, diagonal), v.numerator,
            v.scale);
}

static void make_pool(random_graph *r) {
  const random_value v = *any_value(r);
  op_window w[2];
  int axes = (int)pick(r, 1, 2);
  for (int i = 0; i < axes; i++)
    w[i] = (op_window){.extent = pick(r, 1, 3),
                       .stride = pick(r, 1, 3),
                       .dilation = pick(r, 1, 2),
                       .before = pick(r, 0, 1),
                       .after = pick(r, 0, 1)};
  if (rank_of(r, &v) <= 5) add_value(r, op_max_pool(&r->g, v.ref, w, (size_t)axes), v.numerator, v.scale);
}

/* A diagonal, or its sum. */
static void make_diagonal(random_graph *r) {
  const random_value v = *any_value(r);
  int64_t n = 16;
  uint32_t rank = rank_of(r, &v);
  if (rank < 2 || ir_dtype_of(&r->g, v.ref) == IR_BOOL) return;
  size_of(r, &v, rank - 1, &n);
  bool sums = chance(r, 50), floats = ir_is_float(ir_dtype_of(&r->g, v.ref));
  double total = v.numerator * (double)n;
  if (floats && sums && total > 0x1p24) return;
  const char *equation = sums ? "...ii->..." : "...ii->...i";
  add_value(r, op_einsum(&r->g, equation, strlen(equation), &v.ref, 1),
            !floats ? unknown
            : sums  ? total
                    : v.numerator,
            v.scale);
}

static void make_iota(random_graph *r) {
  ir_ref shape[] = {any_size(r), any_size(r)};
  ir_dtype t = any_dtype(r);
  add_value(r, t == IR_BOOL ? 0 : op_iota(&r->g, t, shape, 2, pick(r, 0, 1)), 32, 0);
}

static void make_step(random_graph *r) {
  static void (*const steps[])(random_graph *) = {
      make_unary,   make_unary,   make_binary,       make_binary,   make_binary,    make_where,
      make_cast,    make_permute, make_reshape,      make_expand,   make_axis_view, make_window,
      make_window,  make_join,    make_reduce,       make_reduce,   make_matmul,    make_gather,
      make_iota,    make_fma,     make_split,        make_triangle, make_pool,      make_diagonal,
      make_scatter, make_scatter, make_slice_update, make_ordered};
  steps[pick(r, 0, (int64_t)(sizeof steps / sizeof *steps) - 1)](r);
}

void random_graph_make(random_graph *r, uint64_t seed, int64_t max_size) {
  random_graph_make_with(r, seed, max_size, NULL, NULL);
}

void random_graph_make_with(random_graph *r, uint64_t seed, int64_t max_size,
                            ir_ref (*stand_in)(random_graph *r, int number, ir_ref plain), void *user) {
  *r = (random_graph){.state = seed, .max_size = max_size, .stand_in = stand_in, .user = user};
  ir_graph_init(&r->g, &ir_mem_libc, &r->error);
  r->wild = chance(r, 30);
  make_inputs(r);
  if (r->value_count == 0) {
    ir_ref shape[] = {ir_index(&r->g, 3)};
    r->inputs[r->input_count++] = op_input(&r->g, "x", 1, IR_F32, shape, 1);
    add_value(r, standing_in(r, r->inputs[0]), r->wild ? unknown : 8, 1);
  }
  r->op_count = 0;
  int64_t wanted = pick(r, RANDOM_MIN_OPS, 20);
  for (int tries = 0; r->op_count < wanted && tries < 1000; tries++) make_step(r);
}

/* ------------------------------------------------------------------------------------------------------------
 * data */

void random_graph_sizes(random_graph *r, int64_t *vars) {
  for (int i = 0; i < r->var_count; i++) {
    const ir_node *v = ir_get(&r->g, r->vars[i]);
    int64_t lo = ir_get(&r->g, v->src[0])->arg, hi = ir_get(&r->g, v->src[1])->arg,
            step = ir_get(&r->g, v->src[2])->arg;
    vars[i] = lo + step * pick(r, 0, (hi - lo) / step);
  }
}

int64_t random_graph_dim(const random_graph *r, ir_ref dim, const int64_t *vars) {
  int64_t size = 0;
  if (ir_is_const(&r->g, dim, &size)) return size;
  for (int i = 0; i < r->var_count; i++)
    if (r->vars[i] == dim) return vars[i];
  return -1;
}

void *random_graph_data(random_graph *r, ir_ref input, const int64_t *vars, size_t *bytes) {
  static const double specials[] = {0.0,     -0.0,           NAN,   INFINITY, -INFINITY, 1e-40,
                                    -5e-324, 0x1.fffffep127, 65504, 3e9,      -1e19,     0.1};
  ir_dtype t = ir_dtype_of(&r->g, input);
  size_t count = 1, size = ir_dtypes[t].bytes;
  for (uint32_t i = 0; i < ir_rank(&r->g, input); i++)
    count *= (size_t)random_graph_dim(r, ir_dim(&r->g, input, i), vars);
  unsigned char *data = malloc(count * size + 1);
  for (size_t i = 0; i < count; i++) {
    ir_value v = {.i = 0};
    if (t == IR_BOOL) v.i = pick(r, 0, 1);
    else if (!ir_is_float(t))
      v.i = r->wild && chance(r, 40) ? (int64_t)random_next(&r->state) >> pick(r, 0, 63) : pick(r, -4, 9);
    else if (r->wild && chance(r, 30)) v.f = specials[pick(r, 0, 11)];
    else if (r->wild) v.f = (double)pick(r, -100000, 100000) / 777;
    else v.f = (double)pick(r, -8, 8) / 2;
    ir_value_store(data + i * size, t, v);
  }
  *bytes = count * size;
  return data;
}
