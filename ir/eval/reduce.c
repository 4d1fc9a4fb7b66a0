/* Reductions and contractions. */
#include "impl.h"

#include <inttypes.h>

/* A reduction: the operand's axes in two groups, each iterated in row-major order. Kept axes have size 1 in
 * `inner`, reduced ones size 1 in `outer`. */
typedef struct reduction {
  ir_op op;
  ir_dtype type; /* of the result */
  const ir_slot *x;
  bool reduced[IR_MAX_RANK];
  int64_t outer[IR_MAX_RANK], inner[IR_MAX_RANK], strides[IR_MAX_RANK];
} reduction;

static ir_status find_axes(ir_eval_run *run, ir_ref ref, reduction *r, ir_slot *out) {
  const ir_node *n = ir_get(run->g, ref);
  bool one_axis = r->op == IR_OP_ARGMAX || r->op == IR_OP_ARGMIN;
  for (uint32_t i = one_axis ? 0 : 1; i < (one_axis ? 1 : n->nsrc); i++) {
    int64_t axis = ir_arg_int(n);
    ir_status status = one_axis ? IR_OK : ir_eval_attribute(run, ref, i, &axis);
    if (status) return status;
    if (axis < 0 || axis >= r->x->rank || r->reduced[axis])
      return ir_fail(run->error, IR_ERR_INVALID,
                     "%s: axis %" PRId64 " of an operand of rank %u; takes 0 to the rank less 1, each once",
                     ir_ops[n->op].text, axis, r->x->rank);
    r->reduced[axis] = true;
  }
  bool keep = ir_arg_mode(n) != 0;
  out->rank = 0;
  ir_eval_strides(r->x->shape, r->x->rank, r->strides);
  for (uint32_t k = 0; k < r->x->rank; k++) {
    r->outer[k] = r->reduced[k] ? 1 : r->x->shape[k];
    r->inner[k] = r->reduced[k] ? r->x->shape[k] : 1;
    if (keep || !r->reduced[k]) out->shape[out->rank++] = r->outer[k];
  }
  return IR_OK;
}

static ir_value element(const ir_slot *x, int64_t at) {
  return ir_value_load(x->data + (size_t)at * ir_dtypes[x->dtype].bytes, x->dtype);
}

/* A number of any dtype as long double, which represents it exactly. */
static long double exact(ir_value v, ir_dtype type) {
  return ir_is_float(type) ? (long double)v.f
         : type == IR_U64  ? (long double)(uint64_t)v.i
                           : (long double)v.i;
}

static ir_value round_to_dtype(long double v, ir_dtype type) {
  if (type == IR_F32) return (ir_value){.f = (float)v};
  return ir_value_cast((ir_value){.f = (double)v}, IR_F64, type);
}

/* sum / count in f32 (f64 for f64), rounded to the result's dtype */
static ir_value mean(long double sum, int64_t count, ir_dtype type) {
  ir_dtype wide = type == IR_F64 ? IR_F64 : IR_F32;
  ir_value operands[] = {round_to_dtype(sum, wide), round_to_dtype((long double)count, wide)};
  return ir_value_cast(ir_scalar_apply(IR_OP_DIV, wide, wide, operands), wide, type);
}

static bool is_nan(ir_value v, ir_dtype type) { return ir_is_float(type) && v.f != v.f; }

/* The first NaN wins, otherwise the first greatest (least) value; zeros of either sign are equal. */
static bool is_better(const reduction *r, ir_value v, ir_value best) {
  ir_dtype type = r->x->dtype;
  if (is_nan(best, type) || is_nan(v, type)) return !is_nan(best, type);
  return ir_scalar_apply(r->op == IR_OP_ARGMAX ? IR_OP_GT : IR_OP_LT, IR_BOOL, type, (ir_value[]){v, best}).i;
}

static ir_op combining_op(ir_op op) {
  switch ((int)op) {
  case IR_OP_SUM: return IR_OP_ADD;
  case IR_OP_PROD: return IR_OP_MUL;
  case IR_OP_REDUCE_MAX: return IR_OP_MAX;
  case IR_OP_REDUCE_MIN: return IR_OP_MIN;
  case IR_OP_ANY: return IR_OP_OR;
  default: return IR_OP_AND;
  }
}

typedef struct accumulator {
  int64_t seen, best;
  long double sum, product;
  ir_value value;
} accumulator;

static void add_term(const reduction *r, accumulator *a, ir_value v) {
  ir_dtype from = r->x->dtype;
  bool arg = r->op == IR_OP_ARGMAX || r->op == IR_OP_ARGMIN;
  if (arg) {
    if (a->seen == 0 || is_better(r, v, a->value)) a->value = v, a->best = a->seen;
  } else if (ir_is_float(r->type) && (r->op == IR_OP_SUM || r->op == IR_OP_MEAN || r->op == IR_OP_PROD)) {
    a->sum += exact(v, from);
    a->product *= exact(v, from);
  } else {
    ir_value next = ir_value_cast(v, from, r->type);
    a->value = a->seen == 0
                   ? next
                   : ir_scalar_apply(combining_op(r->op), r->type, r->type, (ir_value[]){a->value, next});
  }
  a->seen++;
}

static ir_value outcome(const reduction *r, const accumulator *a) {
  if (r->op == IR_OP_ARGMAX || r->op == IR_OP_ARGMIN) return (ir_value){.i = a->best};
  if (r->op == IR_OP_MEAN) return mean(a->sum, a->seen, r->type);
  if (ir_is_float(r->type) && r->op == IR_OP_SUM) return round_to_dtype(a->sum, r->type);
  if (ir_is_float(r->type) && r->op == IR_OP_PROD) return round_to_dtype(a->product, r->type);
  return a->seen ? a->value : (ir_value){.i = r->op == IR_OP_PROD || r->op == IR_OP_ALL};
}

static bool needs_elements(ir_op op) {
  return op == IR_OP_REDUCE_MAX || op == IR_OP_REDUCE_MIN || op == IR_OP_ARGMAX || op == IR_OP_ARGMIN;
}

ir_status ir_eval_reduce(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  char text[IR_SHAPE_TEXT];
  reduction r = {.op = ir_op_of(run->g, ref), .type = out->dtype, .x = ir_eval_operand(run, ref, 0)};
  ir_status status = find_axes(run, ref, &r, out);
  if (!status) status = ir_eval_alloc(run, ref, out, r.x->taint != NULL);
  if (status) return status;
  if (needs_elements(r.op) && r.x->count == 0 && out->count > 0)
    return ir_fail(run->error, IR_ERR_INVALID, "%s: an operand of shape %s has no elements to choose from",
                   ir_ops[r.op].text, ir_eval_shape_text(r.x->shape, r.x->rank, text));
  int64_t kept[IR_MAX_RANK] = {0};
  for (int64_t i = 0; i < out->count; i++, ir_eval_next(kept, r.outer, r.x->rank)) {
    accumulator a = {.product = 1};
    int64_t at[IR_MAX_RANK] = {0};
    for (bool more = r.x->count > 0; more; more = ir_eval_next(at, r.inner, r.x->rank)) {
      int64_t offset = 0;
      for (uint32_t k = 0; k < r.x->rank; k++) offset += (kept[k] + at[k]) * r.strides[k];
      add_term(&r, &a, element(r.x, offset));
      if (r.x->taint && !out->taint[i]) out->taint[i] = r.x->taint[offset];
    }
    ir_value_store(out->data + (size_t)i * ir_dtypes[out->dtype].bytes, out->dtype, outcome(&r, &a));
  }
  return IR_OK;
}

/* matmul by NumPy's rule: a vector on the left is one row, on the right one column, and the result lacks that
 * axis. */
typedef struct factor {
  const ir_slot *x;
  int64_t batch[IR_MAX_RANK]; /* strides over the result's batch axes */
  int64_t free_size, free_stride, inner_size, inner_stride;
  bool vector;
} factor;

static factor factor_of(const ir_slot *x, bool left) {
  factor f = {.x = x, .vector = x->rank == 1, .free_size = 1};
  int64_t strides[IR_MAX_RANK];
  ir_eval_strides(x->shape, x->rank, strides);
  uint32_t inner = f.vector || left ? x->rank - 1 : x->rank - 2;
  f.inner_size = x->shape[inner];
  f.inner_stride = strides[inner];
  if (f.vector) return f;
  uint32_t free_axis = left ? x->rank - 2 : x->rank - 1;
  f.free_size = x->shape[free_axis];
  f.free_stride = strides[free_axis];
  return f;
}

static ir_status matmul_shape(ir_eval_run *run, factor *a, factor *b, ir_slot *out, uint32_t *batch_rank) {
  char left[IR_SHAPE_TEXT], right[IR_SHAPE_TEXT];
  factor *both[] = {a, b};
  bool fits = a->inner_size == b->inner_size;
  *batch_rank = 0;
  for (int i = 0; i < 2; i++)
    if (!both[i]->vector && both[i]->x->rank - 2 > *batch_rank) *batch_rank = both[i]->x->rank - 2;
  for (uint32_t k = 0; k < *batch_rank; k++) out->shape[k] = 1;
  for (int i = 0; i < 2; i++) {
    const ir_slot *x = both[i]->x;
    int64_t strides[IR_MAX_RANK];
    uint32_t own = both[i]->vector ? 0 : x->rank - 2, missing = *batch_rank - own;
    ir_eval_strides(x->shape, x->rank, strides);
    for (uint32_t k = 0; k < own; k++) {
      int64_t *size = &out->shape[missing + k];
      if (*size == 1) *size = x->shape[k];
      fits = fits && (x->shape[k] == 1 || x->shape[k] == *size);
      both[i]->batch[missing + k] = x->shape[k] == 1 ? 0 : strides[k];
    }
  }
  out->rank = *batch_rank;
  if (!a->vector) out->shape[out->rank++] = a->free_size;
  if (!b->vector) out->shape[out->rank++] = b->free_size;
  if (fits) return IR_OK;
  return ir_fail(run->error, IR_ERR_INVALID,
                 "matmul: shapes %s and %s do not match; the last axis of the left must equal the second "
                 "last of the right, "
                 "and batch axes must be equal or 1",
                 ir_eval_shape_text(a->x->shape, a->x->rank, left),
                 ir_eval_shape_text(b->x->shape, b->x->rank, right));
}

static ir_value dot(const factor *a, const factor *b, int64_t at, int64_t bt, ir_dtype type,
                    uint32_t *taint) {
  long double sum = 0;
  uint64_t whole = 0;
  for (int64_t k = 0; k < a->inner_size; k++, at += a->inner_stride, bt += b->inner_stride) {
    ir_value x = element(a->x, at), y = element(b->x, bt);
    if (ir_is_float(type)) sum += exact(x, a->x->dtype) * exact(y, b->x->dtype);
    else whole += (uint64_t)x.i * (uint64_t)y.i;
    if (taint && !*taint && a->x->taint) *taint = a->x->taint[at];
    if (taint && !*taint && b->x->taint) *taint = b->x->taint[bt];
  }
  return ir_is_float(type) ? round_to_dtype(sum, type)
                           : ir_value_cast((ir_value){.i = (int64_t)whole}, IR_I64, type);
}

ir_status ir_eval_matmul(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_slot *x = ir_eval_operand(run, ref, 0), *y = ir_eval_operand(run, ref, 1);
  if (x->rank == 0 || y->rank == 0)
    return ir_fail(run->error, IR_ERR_INVALID, "matmul: an operand has rank 0; it needs at least one axis");
  factor a = factor_of(x, true), b = factor_of(y, false);
  uint32_t batch_rank;
  ir_status status = matmul_shape(run, &a, &b, out, &batch_rank);
  if (!status) status = ir_eval_alloc(run, ref, out, x->taint || y->taint);
  if (status) return status;
  int64_t coord[IR_MAX_RANK] = {0};
  for (int64_t i = 0; i < out->count; i++, ir_eval_next(coord, out->shape, out->rank)) {
    int64_t at = a.vector ? 0 : coord[batch_rank] * a.free_stride,
            bt = b.vector ? 0 : coord[out->rank - 1] * b.free_stride;
    for (uint32_t k = 0; k < batch_rank; k++) {
      at += coord[k] * a.batch[k];
      bt += coord[k] * b.batch[k];
    }
    ir_value_store(out->data + (size_t)i * ir_dtypes[out->dtype].bytes, out->dtype,
                   dot(&a, &b, at, bt, out->dtype, out->taint ? &out->taint[i] : NULL));
  }
  return IR_OK;
}
