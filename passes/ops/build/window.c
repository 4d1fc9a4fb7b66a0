/* Views that slice axes, step through them, flip them, or pad them. */
#include <stdio.h>

#include "passes/ops/check.h"

/* Checks x and a list with `per` entries per axis; false after failing. `what` names one entry. */
static bool whole_list(ir_graph *g, const char *who, ir_ref x, const ir_ref *list, size_t n, size_t per,
                       const char *what) {
  if (!op_tensors(g, who, &x, 1)) return false;
  for (size_t i = 0; i < n * per; i++)
    if (list[i] == 0) return false;
  for (size_t i = 0; i < n * per; i++) {
    if (ir_dtype_of(g, list[i]) == IR_INDEX) continue;
    op_refuse(g, "%s: entry %zu of the %ss has shape %s; takes integers and expressions of size variables",
              who, i, what, OP_TYPE(list[i]));
    return false;
  }
  if (n == ir_rank(g, x)) return true;
  op_refuse(g, "%s: %zu %s%s given; x has shape %s; each axis takes one, %u in all", who, n, what,
            n == 1 ? "" : "s", OP_TYPE(x), ir_rank(g, x));
  return false;
}

/* Is the fact to be refused? `known`: the caller knows that it holds, so it is refused only if disproved. */
static bool must_refuse(ir_graph *g, bool known, ir_op cmp, ir_ref a, ir_ref b) {
  static const uint8_t opposite[IR_OP_COUNT] = {[IR_OP_GE] = IR_OP_LT, [IR_OP_LE] = IR_OP_GT};
  return known ? op_decided(g, (ir_op)opposite[cmp], a, b) : !op_decided(g, cmp, a, b);
}

/* A slice as its caller gave it: the bounds of the shrink that it is are start and start + size. */
typedef struct slice {
  const char *who;
  const ir_ref *start, *size;
} slice;

static ir_ref refuse_slice(ir_graph *g, ir_ref x, const slice *s, size_t axis, const char *fact) {
  int64_t begin, count, whole;
  char end[128] = "";
  ir_ref size = ir_dim(g, x, (uint32_t)axis);
  if (ir_is_const(g, s->start[axis], &begin) && ir_is_const(g, s->size[axis], &count) &&
      ir_is_const(g, size, &whole) && begin > 0 && begin < count && count <= whole)
    snprintf(end, sizeof end, "; a size is a number of elements: from %lld up to %lld it is %lld",
             (long long)begin, (long long)count, (long long)(count - begin));
  return op_refuse(g,
                   "%s: start %s and size %s do not fit axis %zu; x has shape %s; takes 0 <= start, "
                   "which counts from the end where it is negative, 0 <= size and start + size <= %s%s%s",
                   s->who, OP_EXPR(s->start[axis]), OP_EXPR(s->size[axis]), axis, OP_TYPE(x), OP_EXPR(size),
                   fact, end);
}

static ir_ref shrink_axes(ir_graph *g, ir_ref x, const ir_ref *bounds, size_t n, bool known, const slice *s) {
  x = op_default_dtype(g, x);
  if (!whole_list(g, "shrink", x, bounds, n, 2, "pair")) return 0;
  ir_ref src[1 + 2 * IR_MAX_RANK] = {x}, dims[IR_MAX_RANK], zero = ir_index(g, 0);
  bool whole = true;
  for (size_t i = 0; i < n; i++) {
    ir_ref size = ir_dim(g, x, (uint32_t)i), b = op_canonical(g, bounds[2 * i]),
           e = op_canonical(g, bounds[2 * i + 1]);
    if (!b || !e) return 0;
    const char *fact = must_refuse(g, known, IR_OP_GE, b, zero)   ? OP_FACT(IR_OP_GE, b, zero)
                       : must_refuse(g, known, IR_OP_LE, b, e)    ? OP_FACT(IR_OP_LE, b, e)
                       : must_refuse(g, known, IR_OP_LE, e, size) ? OP_FACT(IR_OP_GE, size, e)
                                                                  : NULL;
    if (fact && s) return refuse_slice(g, x, s, i, fact);
    if (fact)
      return op_refuse(
          g, "shrink: bounds %s do not fit axis %zu; x has shape %s; takes 0 <= begin <= end <= %s%s",
          OP_LIST(bounds + 2 * i, 2), i, OP_TYPE(x), OP_EXPR(size), fact);
    src[1 + 2 * i] = b;
    src[2 + 2 * i] = e;
    dims[i] = pass_sub(g, e, b);
    whole &= b == zero && op_decided(g, IR_OP_EQ, e, size);
  }
  return whole ? x : op_make(g, IR_OP_SHRINK, ir_dtype_of(g, x), dims, n, 0, src, 1 + 2 * n);
}

ir_ref op_shrink(ir_graph *g, ir_ref x, const ir_ref *bounds, size_t n) {
  return shrink_axes(g, x, bounds, n, false, NULL);
}
ir_ref op_shrink_known(ir_graph *g, ir_ref x, const ir_ref *bounds) {
  return x ? shrink_axes(g, x, bounds, ir_rank(g, x), true, NULL) : 0;
}

/* An index, counted from the end where it is a negative constant. */
static ir_ref from_end(ir_graph *g, ir_ref position, ir_ref size) {
  int64_t value;
  return ir_is_const(g, position, &value) && value < 0 ? pass_add(g, size, position)
                                                       : op_canonical(g, position);
}

ir_ref op_slice(ir_graph *g, const char *who, ir_ref x, const ir_ref *start, const ir_ref *size, size_t n) {
  x = op_default_dtype(g, x);
  if (!whole_list(g, who, x, start, n, 1, "start") || !whole_list(g, who, x, size, n, 1, "size")) return 0;
  ir_ref bounds[2 * IR_MAX_RANK];
  for (size_t i = 0; i < n; i++) {
    bounds[2 * i] = from_end(g, start[i], ir_dim(g, x, (uint32_t)i));
    bounds[2 * i + 1] = pass_add(g, bounds[2 * i], size[i]);
  }
  return shrink_axes(g, x, bounds, n, false, &(slice){who, start, size});
}

ir_ref op_flip(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n) {
  x = op_default_dtype(g, x);
  uint32_t set, rank, count = 0;
  if (!op_tensors(g, "flip", &x, 1) || !op_axes(g, "flip", x, axes, n, &set)) return 0;
  ir_ref src[1 + IR_MAX_RANK] = {x};
  rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++)
    if (set >> i & 1) src[1 + count++] = ir_index(g, i);
  return count == 0 ? x : op_make(g, IR_OP_FLIP, ir_dtype_of(g, x), op_dims(g, x), rank, 0, src, 1 + count);
}

ir_ref op_stride(ir_graph *g, ir_ref x, const ir_ref *steps, size_t n) {
  x = op_default_dtype(g, x);
  if (!whole_list(g, "stride", x, steps, n, 1, "step")) return 0;
  ir_ref src[1 + IR_MAX_RANK] = {x}, dims[IR_MAX_RANK];
  ir_ref reversed[IR_MAX_RANK];
  size_t reversed_count = 0;
  bool skips = false;
  for (size_t i = 0; i < n; i++) {
    int64_t step;
    if (!ir_is_const(g, steps[i], &step) || step == 0 || step == INT64_MIN)
      return op_refuse(g,
                       "stride: step %s of axis %zu is not possible; x has shape %s; a step is a constant "
                       "integer other than 0",
                       OP_EXPR(steps[i]), i, OP_TYPE(x));
    src[1 + i] = steps[i];
    dims[i] = pass_ceil_div(g, ir_dim(g, x, (uint32_t)i), ir_index(g, step < 0 ? -step : step));
    skips |= step != 1 && step != -1;
    if (step == -1) reversed[reversed_count++] = ir_index(g, (int64_t)i);
  }
  if (!skips) return reversed_count ? op_flip(g, x, reversed, reversed_count) : x;
  return op_make(g, IR_OP_STRIDE, ir_dtype_of(g, x), dims, n, 0, src, 1 + n);
}

ir_ref op_point(ir_graph *g, ir_ref x, ir_ref index, int64_t axis) {
  x = op_default_dtype(g, x);
  if (!index || !op_tensors(g, "point", &x, 1)) return 0;
  uint32_t rank = ir_rank(g, x), n = 0;
  int64_t at = op_axis(g, "point", x, axis, rank);
  if (at < 0) return 0;
  ir_ref size = ir_dim(g, x, (uint32_t)at), zero = ir_index(g, 0);
  if (ir_dtype_of(g, index) != IR_INDEX)
    return op_refuse(g,
                     "point: index has shape %s; x has shape %s; an index is an integer or an expression of "
                     "size variables: gather takes tensors",
                     OP_TYPE(index), OP_TYPE(x));
  ir_ref place = from_end(g, index, size);
  if (!place) return 0;
  const char *fact = !op_decided(g, IR_OP_GE, place, zero)   ? OP_FACT(IR_OP_GE, place, zero)
                     : !op_decided(g, IR_OP_LT, place, size) ? OP_FACT(IR_OP_GT, size, place)
                                                             : NULL;
  if (fact)
    return op_refuse(g, "point: index %s is outside axis %lld; x has shape %s; takes -%s <= index < %s%s",
                     OP_EXPR(index), (long long)at, OP_TYPE(x), OP_EXPR(size), OP_EXPR(size), fact);
  ir_ref dims[IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    if (i != at) dims[n++] = ir_dim(g, x, i);
  return op_make(g, IR_OP_POINT, ir_dtype_of(g, x), dims, n, ir_pack_arg(at, 0), (ir_ref[]){x, place}, 2);
}

/* A mode that repeats elements needs at least one; false after failing. */
static bool mode_allows(ir_graph *g, ir_ref x, size_t axis, int mode, ir_ref lo, ir_ref hi) {
  ir_ref size = ir_dim(g, x, (uint32_t)axis), zero = ir_index(g, 0);
  if (mode == IR_PAD_CONSTANT || (lo == zero && hi == zero)) return true;
  if (op_decided(g, IR_OP_GT, size, zero)) return true;
  op_refuse(g,
            "pad: mode=%s repeats elements of axis %zu, which has %s; x has shape %s; the size must be at "
            "least 1%s",
            ir_pad_modes[mode], axis, OP_EXPR(size), OP_TYPE(x), OP_FACT(IR_OP_GT, size, zero));
  return false;
}

/* The fill as a constant of x's dtype. */
static ir_ref fill_constant(ir_graph *g, ir_ref x, ir_ref value) {
  ir_dtype dtype = ir_dtype_of(g, x);
  if (!value) return ir_const(g, dtype, (ir_value){.i = 0});
  if (!op_is_const(g, value))
    return op_refuse(g,
                     "pad: the value has shape %s; x has shape %s; a fill value is a constant of rank 0: pad "
                     "with 0 and use where for others",
                     OP_TYPE(value), OP_TYPE(x));
  ir_value converted, own = ir_const_value(g, value);
  if (op_holds(dtype, own, ir_dtype_of(g, value), &converted)) return ir_const(g, dtype, converted);
  return op_refuse_value(g, "pad", dtype, own, ir_dtype_of(g, value), " or cast x");
}

static ir_ref pad(ir_graph *g, ir_ref x, const ir_ref *pads, size_t n, ir_ref value, int mode, bool known) {
  x = op_default_dtype(g, x);
  if (!whole_list(g, "pad", x, pads, n, 2, "pair")) return 0;
  ir_ref src[2 + 2 * IR_MAX_RANK] = {x, fill_constant(g, x, mode == IR_PAD_CONSTANT ? value : 0)},
                     dims[IR_MAX_RANK];
  ir_ref zero = ir_index(g, 0);
  bool identity = true;
  if (src[1] == 0) return 0;
  for (size_t i = 0; i < n; i++) {
    ir_ref size = ir_dim(g, x, (uint32_t)i),
           pair[2] = {op_canonical(g, pads[2 * i]), op_canonical(g, pads[2 * i + 1])};
    if (!pair[0] || !pair[1]) return 0;
    for (int side = 0; side < 2; side++)
      if (must_refuse(g, known, IR_OP_GE, pair[side], zero))
        return op_refuse(g,
                         "pad: pads %s of axis %zu are%s negative; x has shape %s; a pad is >= 0: shrink "
                         "takes elements away%s",
                         OP_LIST(pads + 2 * i, 2), i,
                         ir_is_const(g, pair[side], NULL) ? "" : " not known not to be", OP_TYPE(x),
                         OP_FACT(IR_OP_GE, pair[side], zero));
    if (!mode_allows(g, x, i, mode, pair[0], pair[1])) return 0;
    src[2 + 2 * i] = pair[0];
    src[3 + 2 * i] = pair[1];
    int64_t a, b, c;
    if (ir_is_const(g, size, &a) && ir_is_const(g, pair[0], &b) && ir_is_const(g, pair[1], &c) &&
        (!ir_add_ok(a, b, &a) || !ir_add_ok(a, c, &a)))
      return op_refuse(g, "pad: pads %s of axis %zu are too large; x has shape %s; sizes are less than 2^63",
                       OP_LIST(pads + 2 * i, 2), i, OP_TYPE(x));
    dims[i] = pass_add(g, size, pass_add(g, pair[0], pair[1]));
    identity &= pair[0] == zero && pair[1] == zero;
  }
  return identity ? x
                  : op_make(g, IR_OP_PAD, ir_dtype_of(g, x), dims, n, ir_pack_arg(0, mode), src, 2 + 2 * n);
}

ir_ref op_pad(ir_graph *g, ir_ref x, const ir_ref *pads, size_t n, ir_ref value, int mode) {
  return pad(g, x, pads, n, value, mode, false);
}
ir_ref op_pad_known(ir_graph *g, ir_ref x, const ir_ref *pads, ir_ref value) {
  return x ? pad(g, x, pads, ir_rank(g, x), value, IR_PAD_CONSTANT, true) : 0;
}
