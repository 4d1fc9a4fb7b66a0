/* Values that sizes and constants determine, element by element: the operators that compute shapes. */
#include <math.h>
#include <string.h>

#include "frontend/onnx/fold.h"

onnx_known *onnx_known_make(onnx_import *m, ir_dtype dtype, int rank, const int64_t *shape) {
  size_t count = 1;
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0 || (shape[i] && count > ONNX_KNOWN_MOST / (size_t)shape[i])) {
      onnx_fail(m, IR_ERR_UNSUPPORTED, "a constant has too many elements; takes at most %d", ONNX_KNOWN_MOST);
      return NULL;
    }
    count *= (size_t)shape[i];
  }
  onnx_known *k = wire_alloc(&m->arena, sizeof *k);
  int64_t *sizes = k ? wire_alloc(&m->arena, ((size_t)rank + 1) * sizeof *sizes) : NULL;
  onnx_element *elements = sizes ? wire_alloc(&m->arena, (count + 1) * sizeof *elements) : NULL;
  if (!elements) return NULL;
  for (int i = 0; i < rank; i++) sizes[i] = shape[i];
  *k = (onnx_known){dtype, rank, sizes, count, elements};
  return k;
}

bool onnx_known_int(const onnx_import *m, const onnx_known *k, size_t i, int64_t *out) {
  return !ir_is_float(k->dtype) && ir_is_const(m->g, k->elements[i].size, out);
}

/* Folding applies where all inputs are known, of i32, i64, bool or a float, and of few elements. */
bool onnx_foldable(onnx_node *n, int first, int end) {
  for (int i = first; i < end; i++) {
    if (!onnx_has(n, i)) continue;
    onnx_value *v = n->inputs[i];
    if (!v->known && !v->tensor) return false;
    const onnx_known *k = onnx_value_known(n->m, v);
    if (!k || k->count > ONNX_FOLD_MOST) return false;
    if (k->dtype != IR_I64 && k->dtype != IR_I32 && k->dtype != IR_BOOL && !ir_is_float(k->dtype))
      return false;
  }
  return true;
}

/* The shape that both broadcast to; -1 where they do not. */
static int broadcast(const onnx_known *a, const onnx_known *b, int64_t shape[IR_MAX_RANK]) {
  int rank = a->rank > b->rank ? a->rank : b->rank;
  for (int i = 0; i < rank; i++) {
    int64_t x = i < rank - a->rank ? 1 : a->shape[i - (rank - a->rank)];
    int64_t y = i < rank - b->rank ? 1 : b->shape[i - (rank - b->rank)];
    if (x != y && x != 1 && y != 1) return -1;
    shape[i] = x == 1 ? y : x;
  }
  return rank;
}

/* The element of k at element `at` of a tensor that it broadcasts to. */
static onnx_element element_of(const onnx_known *k, int rank, const int64_t *shape, size_t at) {
  size_t offset = 0, stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    size_t index = at % (size_t)shape[i];
    at /= (size_t)shape[i];
    int axis = i - (rank - k->rank);
    if (axis < 0) continue;
    if (k->shape[axis] != 1) offset += index * stride;
    stride *= (size_t)k->shape[axis];
  }
  return k->elements[offset];
}

/* Integers. 0: not to be folded. */

static ir_ref truth(ir_graph *g, ir_ref condition) {
  if (ir_is_true(g, condition)) return ir_index(g, 1);
  return ir_is_false(g, condition) ? ir_index(g, 0) : 0;
}

/* Rounded towards zero, of a divisor that is known to be at least 1. */
static ir_ref divide(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t x, y;
  if (ir_is_const(g, a, &x) && ir_is_const(g, b, &y))
    return y == 0 || (x == INT64_MIN && y == -1) ? 0 : ir_index(g, x / y);
  return ir_bounds_of(g, b).lo >= 1 && ir_bounds_of(g, a).lo >= 0 ? pass_div(g, a, b) : 0;
}

static ir_ref fold_ints(ir_graph *g, int op, ir_ref a, ir_ref b) {
  int64_t x = 0, y = 0;
  bool numbers = ir_is_const(g, a, &x) && ir_is_const(g, b, &y);
  switch (op) {
  case IR_OP_ADD: return pass_add(g, a, b);
  case IR_OP_SUB: return pass_sub(g, a, b);
  case IR_OP_MUL: return pass_mul(g, a, b);
  case IR_OP_DIV: return divide(g, a, b);
  case IR_OP_MOD: return ir_bounds_of(g, b).lo >= 1 ? pass_mod(g, a, b) : 0;
  case IR_OP_MIN: return pass_min(g, a, b);
  case IR_OP_MAX: return pass_max(g, a, b);
  case IR_OP_EQ:
  case IR_OP_NE:
  case IR_OP_LT:
  case IR_OP_LE:
  case IR_OP_GT:
  case IR_OP_GE: return truth(g, pass_compare(g, (ir_op)op, a, b));
  case IR_OP_AND: return numbers ? ir_index(g, x & y) : 0;
  case IR_OP_OR: return numbers ? ir_index(g, x | y) : 0;
  case IR_OP_XOR: return numbers ? ir_index(g, x ^ y) : 0;
  default: return 0;
  }
}

static bool fold_reals(int op, double a, double b, double *out) {
  switch (op) {
  case IR_OP_ADD: *out = a + b; return true;
  case IR_OP_SUB: *out = a - b; return true;
  case IR_OP_MUL: *out = a * b; return true;
  case IR_OP_DIV: *out = a / b; return true;
  case IR_OP_POW: *out = pow(a, b); return true;
  case IR_OP_MIN: *out = a < b ? a : b; return !isnan(a) && !isnan(b);
  case IR_OP_MAX: *out = a > b ? a : b; return !isnan(a) && !isnan(b);
  case IR_OP_EQ: *out = a == b; return true;
  case IR_OP_LT: *out = a < b; return true;
  case IR_OP_LE: *out = a <= b; return true;
  case IR_OP_GT: *out = a > b; return true;
  case IR_OP_GE: *out = a >= b; return true;
  default: return false;
  }
}

static bool compares(int op) {
  return op == IR_OP_EQ || op == IR_OP_NE || op == IR_OP_LT || op == IR_OP_LE || op == IR_OP_GT ||
         op == IR_OP_GE;
}

/* One element of a result; false where it is not to be folded. */
static bool fold_element(onnx_import *m, int op, ir_dtype from, ir_dtype to, onnx_element a, onnx_element b,
                         onnx_element *out) {
  double value;
  if (!ir_is_float(from)) return (out->size = fold_ints(m->g, op, a.size, b.size)) != 0;
  if (!fold_reals(op, a.real, b.real, &value)) return false;
  if (ir_is_float(to)) out->real = ir_value_cast((ir_value){.f = value}, IR_F64, to).f;
  else out->size = ir_index(m->g, value != 0);
  return true;
}

bool onnx_fold_binary(onnx_node *n, bool *done) {
  if (n->input_count != 2 || !onnx_foldable(n, 0, 2)) return true;
  const onnx_known *a = onnx_known_in(n, 0), *b = onnx_known_in(n, 1);
  int64_t shape[IR_MAX_RANK];
  int op = n->row->argument, rank = a && b && a->dtype == b->dtype ? broadcast(a, b, shape) : -1;
  if (rank < 0) return true;
  onnx_known *k = onnx_known_make(n->m, compares(op) ? IR_BOOL : a->dtype, rank, shape);
  if (!k) return false;
  for (size_t i = 0; i < k->count; i++)
    if (!fold_element(n->m, op, a->dtype, k->dtype, element_of(a, rank, shape, i),
                      element_of(b, rank, shape, i), &k->elements[i]))
      return true;
  return *done = onnx_put_known(n, 0, k);
}

static bool fold_one(onnx_import *m, int op, ir_dtype dtype, onnx_element x, onnx_element *out) {
  int64_t value;
  if (ir_is_float(dtype)) {
    double a = x.real, y;
    switch (op) {
    case IR_OP_NEG: y = -a; break;
    case IR_OP_ABS: y = fabs(a); break;
    case IR_OP_SQRT: y = sqrt(a); break;
    case IR_OP_FLOOR: y = floor(a); break;
    case IR_OP_CEIL: y = ceil(a); break;
    case IR_OP_ROUND: y = nearbyint(a); break;
    default: return false;
    }
    out->real = ir_value_cast((ir_value){.f = y}, IR_F64, dtype).f;
    return true;
  }
  bool number = ir_is_const(m->g, x.size, &value);
  if (op == IR_OP_NEG) out->size = pass_mul_int(m->g, x.size, -1);
  else if (op == IR_OP_NOT && number && dtype == IR_BOOL) out->size = ir_index(m->g, !value);
  else if (op == IR_OP_ABS && ir_bounds_of(m->g, x.size).lo >= 0) out->size = x.size;
  else return false;
  return out->size != 0;
}

bool onnx_fold_unary(onnx_node *n, bool *done) {
  const onnx_known *a = onnx_foldable(n, 0, 1) ? onnx_known_in(n, 0) : NULL;
  if (!a) return true;
  onnx_known *k = onnx_known_make(n->m, a->dtype, a->rank, a->shape);
  if (!k) return false;
  for (size_t i = 0; i < k->count; i++)
    if (!fold_one(n->m, n->row->argument, a->dtype, a->elements[i], &k->elements[i])) return true;
  return *done = onnx_put_known(n, 0, k);
}

bool onnx_fold_cast_to(onnx_node *n, ir_dtype to, bool *done) {
  const onnx_known *a = onnx_foldable(n, 0, 1) ? onnx_known_in(n, 0) : NULL;
  if (!a || (to != IR_I64 && to != IR_I32 && to != IR_BOOL && !ir_is_float(to))) return true;
  onnx_known *k = onnx_known_make(n->m, to, a->rank, a->shape);
  if (!k) return false;
  for (size_t i = 0; i < k->count; i++) {
    onnx_element x = a->elements[i];
    int64_t number = 0;
    bool is_number = ir_is_float(a->dtype) || onnx_known_int(n->m, a, i, &number);
    ir_value from = ir_is_float(a->dtype) ? (ir_value){.f = x.real} : (ir_value){.i = number};
    ir_value made = ir_value_cast(from, ir_is_float(a->dtype) ? IR_F64 : IR_I64, to);
    if (!is_number && (to == IR_BOOL || ir_is_float(to))) return true;
    if (!is_number) k->elements[i] = x;
    else if (ir_is_float(to)) k->elements[i].real = made.f;
    else if (!(k->elements[i].size = ir_index(n->g, made.i))) return false;
  }
  return *done = onnx_put_known(n, 0, k);
}

bool onnx_fold_where(onnx_node *n, bool *done) {
  if (!onnx_foldable(n, 0, 3)) return true;
  const onnx_known *c = onnx_known_in(n, 0), *a = onnx_known_in(n, 1), *b = onnx_known_in(n, 2);
  int64_t shape[IR_MAX_RANK], all[IR_MAX_RANK];
  int rank = c && a && b && a->dtype == b->dtype ? broadcast(a, b, shape) : -1;
  if (rank < 0) return true;
  onnx_known both = {.rank = rank, .shape = shape};
  if ((rank = broadcast(c, &both, all)) < 0) return true;
  onnx_known *k = onnx_known_make(n->m, a->dtype, rank, all);
  if (!k) return false;
  for (size_t i = 0; i < k->count; i++) {
    int64_t which;
    if (!ir_is_const(n->g, element_of(c, rank, all, i).size, &which)) return true;
    k->elements[i] = element_of(which ? a : b, rank, all, i);
  }
  return *done = onnx_put_known(n, 0, k);
}

bool onnx_fold_reduce(onnx_node *n, bool *done) {
  static const struct {
    int reduce, with;
  } pairs[] = {{IR_OP_SUM, IR_OP_ADD},
               {IR_OP_PROD, IR_OP_MUL},
               {IR_OP_REDUCE_MAX, IR_OP_MAX},
               {IR_OP_REDUCE_MIN, IR_OP_MIN}};
  const onnx_known *a = onnx_foldable(n, 0, 2) ? onnx_known_in(n, 0) : NULL;
  int op = -1;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (pairs[i].reduce == n->row->argument) op = pairs[i].with;
  if (!a || op < 0 || a->count == 0 || a->rank > 1) return true; /* lists of sizes alone */
  bool keep = onnx_int(n, "keepdims", 1) != 0;
  if (onnx_int(n, "noop_with_empty_axes", 0)) return true;
  onnx_known *k = onnx_known_make(n->m, a->dtype, keep ? a->rank : 0, (const int64_t[]){1});
  if (!k) return false;
  k->elements[0] = a->elements[0];
  for (size_t i = 1; i < a->count; i++)
    if (!fold_element(n->m, op, a->dtype, a->dtype, k->elements[0], a->elements[i], &k->elements[0]))
      return true;
  return *done = onnx_put_known(n, 0, k);
}
