/* Evenly spaced numbers. Integer ranges are exact: computed in i64, then converted. Others are computed in
 * f64, as NumPy does, then rounded. */
#include "impl.h"

#include "ir/arith.h"

#include <math.h>

/* The dtype must hold the integer; false after failing. */
static bool check_holds(ir_graph *g, ir_dtype dtype, int64_t value) {
  ir_value converted, v = {.i = value};
  if (op_holds(dtype, v, IR_I64, &converted)) return true;
  op_refuse_value(g, "arange", dtype, v, IR_I64, " or another dtype");
  return false;
}

static bool is_held(ir_dtype dtype, int64_t start, int64_t step, int64_t place) {
  ir_value converted, v;
  return ir_mul_ok(place, step, &v.i) && ir_add_ok(start, v.i, &v.i) &&
         op_holds(dtype, v, IR_I64, &converted);
}

/* The dtype must hold all numbers of a range whose length depends on variables; false after failing. */
static bool all_held(ir_graph *g, ir_dtype dtype, int64_t start, ir_ref length, int64_t step) {
  int64_t most = ir_bounds_of(g, length).hi, held = 1, not_held = most;
  if (most <= 0) return true;
  if (!check_holds(g, dtype, start)) return false;
  if (is_held(dtype, start, step, most - 1)) return true;
  while (not_held - held > 1) {
    int64_t middle = held + (not_held - held) / 2;
    if (is_held(dtype, start, step, middle - 1)) held = middle;
    else not_held = middle;
  }
  op_refuse(g, "arange: of %s numbers from %lld by %lld, %s holds the first %lld alone; use another dtype%s",
            OP_EXPR(length), (long long)start, (long long)step, ir_dtypes[dtype].name, (long long)held,
            OP_FACT(IR_OP_LE, length, ir_index(g, held)));
  return false;
}

static bool counts(ir_graph *g, const char *who, ir_dtype dtype) {
  if (dtype > IR_BOOL && dtype < IR_INDEX) return true;
  op_refuse(g, "%s: dtype %s cannot count; use an integer or a float dtype", who,
            dtype == IR_BOOL ? "bool" : "none of a tensor");
  return false;
}

/* The number of start, start + step, ... before stop: max(0, ceil((stop - start) / step)); 0 after
 * failing. */
static ir_ref length_of(ir_graph *g, int64_t start, ir_ref stop, int64_t step) {
  int64_t end, wide = step < 0 ? -step : step;
  if (!ir_is_const(g, stop, &end)) {
    ir_ref way = step < 0 ? pass_sub(g, ir_index(g, start), stop) : pass_add_int(g, stop, -start);
    return pass_max(g, ir_index(g, 0), pass_ceil_div(g, way, ir_index(g, wide)));
  }
  bool none = step < 0 ? end >= start : end <= start;
  uint64_t way = step < 0 ? (uint64_t)start - (uint64_t)end : (uint64_t)end - (uint64_t)start;
  uint64_t length = none ? 0 : (way - 1) / (uint64_t)wide + 1;
  if (length <= INT64_MAX) return ir_index(g, (int64_t)length);
  return op_refuse(g, "arange: from %lld to %lld by %lld are too many; elements number less than 2^63",
                   (long long)start, (long long)end, (long long)step);
}

ir_ref op_arange(ir_graph *g, ir_dtype dtype, int64_t start, ir_ref stop, int64_t step) {
  if (!stop || g->error->status || !counts(g, "arange", dtype)) return 0;
  if (ir_dtype_of(g, stop) != IR_INDEX)
    return op_refuse(g, "arange: stop has shape %s; takes an integer or an expression of size variables",
                     OP_TYPE(stop));
  if (step == 0 || step == INT64_MIN || start == INT64_MIN)
    return op_refuse(g,
                     "arange: start is %lld, step %lld; takes integers above -2^63, and a step other than 0",
                     (long long)start, (long long)step);
  ir_ref length = length_of(g, start, op_canonical(g, stop), step);
  if (!length) return op_compose_end(g, "arange", 0);
  int64_t most, last;
  if (!ir_is_const(g, length, &most)) {
    if (!all_held(g, dtype, start, length, step)) return 0;
  } else if (most > 0) {
    if (!ir_mul_ok(most - 1, step, &last) || !ir_add_ok(start, last, &last))
      last = step < 0 ? INT64_MIN : INT64_MAX;
    if (!check_holds(g, dtype, start) || !check_holds(g, dtype, last)) return 0;
  }
  if (start == 0 && step == 1 && !ir_is_float(dtype))
    return op_compose_end(g, "arange", op_iota(g, dtype, &length, 1, 0));
  ir_ref i = op_iota(g, IR_I64, &length, 1, 0);
  ir_ref value = op_add(g, op_mul(g, i, ir_int(g, IR_I64, step)), ir_int(g, IR_I64, start));
  return op_compose_end(g, "arange", op_cast(g, value, dtype));
}

/* start + i * step for each i below length, in f64. */
static ir_ref ramp(ir_graph *g, double start, double step, ir_ref i) {
  return op_add(g, op_mul(g, i, ir_float(g, IR_F64, step)), ir_float(g, IR_F64, start));
}

ir_ref op_arange_real(ir_graph *g, ir_dtype dtype, double start, double stop, double step) {
  if (g->error->status || !counts(g, "arange", dtype)) return 0;
  double length = ceil((stop - start) / step);
  if (!(step != 0 && isfinite(start) && isfinite(stop) && isfinite(step) && length <= 0x1p53))
    return op_refuse(
        g,
        "arange: from %g to %g by %g is no range; takes finite numbers, a step other than 0 and at most 2^53 "
        "elements",
        start, stop, step);
  ir_ref size = ir_index(g, length > 0 ? (int64_t)length : 0);
  ir_ref value = ramp(g, start, step, op_iota(g, IR_F64, &size, 1, 0));
  return op_compose_end(g, "arange", op_cast(g, value, dtype));
}

ir_ref op_linspace(ir_graph *g, ir_dtype dtype, double start, double stop, int64_t num) {
  if (g->error->status || !counts(g, "linspace", dtype)) return 0;
  if (!(isfinite(start) && isfinite(stop) && isfinite(stop - start) && num >= 0 && num <= (int64_t)1 << 53))
    return op_refuse(g, "linspace: %lld numbers from %g to %g; takes finite ends and 0 to 2^53 numbers",
                     (long long)num, start, stop);
  ir_ref size = ir_index(g, num), i = op_iota(g, IR_F64, &size, 1, 0);
  if (num < 2) return op_compose_end(g, "linspace", op_cast(g, ramp(g, start, 0, i), dtype));
  ir_ref last = op_binary(g, IR_OP_EQ, i, ir_float(g, IR_F64, (double)(num - 1))); /* exactly stop */
  ir_ref value =
      op_where(g, last, ir_float(g, IR_F64, stop), ramp(g, start, (stop - start) / (double)(num - 1), i));
  return op_compose_end(g, "linspace", op_cast(g, value, dtype));
}
