/* dtype rules: promotion, weak constants, result and accumulator dtypes, conversion. */
#include "check.h"
#include "ir/lex/lex.h"

#include <math.h>
#include <stdio.h>

static bool is_signed(ir_dtype t) { return ir_dtypes[t].kind == IR_KIND_SIGNED; }
static int bytes_of(ir_dtype t) { return ir_dtypes[t].bytes; }

/* The lattice bool < integers < floats. Integers: the smallest dtype that holds both; signed with unsigned of
 * the same or a larger width gives the next wider signed one, which u64 does not have. */
ir_dtype op_promote(ir_dtype a, ir_dtype b) {
  if (a == b || b == IR_BOOL) return a;
  if (a == IR_BOOL) return b;
  if (ir_is_float(a) != ir_is_float(b)) return ir_is_float(a) ? a : b;
  if (ir_is_float(a) && bytes_of(a) == bytes_of(b)) return IR_F32; /* f16 with bf16 */
  if (ir_is_float(a) || is_signed(a) == is_signed(b)) return bytes_of(a) > bytes_of(b) ? a : b;
  ir_dtype s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
  if (bytes_of(s) > bytes_of(u)) return s;
  return u == IR_U8 ? IR_I16 : u == IR_U16 ? IR_I32 : u == IR_U32 ? IR_I64 : IR_NONE;
}

ir_dtype op_float_result(ir_dtype t) {
  if (ir_is_float(t)) return t;
  return bytes_of(t) == 8 ? IR_F64 : IR_F32;
}

ir_dtype op_accumulator(ir_dtype t) {
  if (ir_is_float(t) || bytes_of(t) == 8) return t;
  return ir_dtypes[t].kind == IR_KIND_UNSIGNED ? IR_U32 : IR_I32;
}

bool op_is_const(const ir_graph *g, ir_ref x) {
  return ir_op_of(g, x) == IR_OP_CONST && ir_dtype_of(g, x) != IR_INDEX;
}
static bool is_weak(const ir_graph *g, ir_ref x) { return ir_get(g, x)->weak; }

bool op_tensors(ir_graph *g, const char *who, const ir_ref *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (x[i] == 0) return false;
  for (size_t i = 0; i < n; i++)
    if (ir_shape(g, x[i]) == 0) {
      if (ir_op_of(g, x[i]) == IR_OP_CONST)
        op_refuse(g,
                  "%s: operand %zu is the index expression %s, not a tensor; a number stands without "
                  "parentheses",
                  who, i + 1, OP_EXPR(x[i]));
      else
        op_refuse(g,
                  "%s: operand %zu is the index expression %s, not a tensor; its value as one is the sum of "
                  "ones: %%o "
                  "= ones shape=[%s] dtype=i64; %%s = sum %%o",
                  who, i + 1, OP_EXPR(x[i]), OP_EXPR(x[i]));
      return false;
    }
  return true;
}

static bool fits_i32(ir_value v) { return v.i >= INT32_MIN && v.i <= INT32_MAX; }

static ir_dtype weak_dtype(const ir_graph *g, ir_ref x) {
  ir_dtype t = ir_dtype_of(g, x);
  if (ir_is_float(t)) return IR_F32;
  return t == IR_U64 ? IR_U64 : fits_i32(ir_const_value(g, x)) ? IR_I32 : IR_I64;
}

ir_ref op_default_dtype(ir_graph *g, ir_ref x) {
  return x && is_weak(g, x) ? op_convert(g, "const", x, weak_dtype(g, x)) : x;
}

/* The common dtype of the weak constants: the widest of their default dtypes. */
static ir_dtype join_weak(const ir_graph *g, const ir_ref *x, size_t n) {
  ir_dtype all = IR_NONE;
  for (size_t i = 0; i < n; i++) {
    if (!is_weak(g, x[i])) continue;
    ir_dtype t = weak_dtype(g, x[i]);
    if (all == IR_NONE || t == all) all = t;
    else if (ir_is_float(t) || ir_is_float(all)) all = IR_F32;
    else all = t == IR_U64 || all == IR_U64 ? IR_U64 : IR_I64;
  }
  return all;
}

/* The join of the dtypes of all floats, or of all other operands: each kind is joined by itself, so that
 * order does not matter. */
static bool join_typed(ir_graph *g, const char *who, const ir_ref *x, size_t n, bool floats, ir_dtype *all) {
  size_t first = 0;
  for (size_t i = 0; i < n; i++) {
    ir_dtype t = ir_dtype_of(g, x[i]);
    if (is_weak(g, x[i]) || ir_is_float(t) != floats) continue;
    ir_dtype joined = *all == IR_NONE ? t : op_promote(*all, t);
    if (joined == IR_NONE) {
      op_refuse(g,
                "%s: %s and %s have no common dtype: no integer holds both; operands %zu and %zu are %s and "
                "%s; cast one of them",
                who, ir_dtypes[*all].name, ir_dtypes[t].name, first + 1, i + 1, OP_TYPE(x[first]),
                OP_TYPE(x[i]));
      return false;
    }
    if (joined != *all) first = i;
    *all = joined;
  }
  return true;
}

ir_dtype op_common(ir_graph *g, const char *who, const ir_ref *x, size_t n) {
  ir_dtype firm = IR_NONE;
  if (!join_typed(g, who, x, n, true, &firm)) return IR_NONE;
  if (firm == IR_NONE && !join_typed(g, who, x, n, false, &firm)) return IR_NONE;
  ir_dtype weak = join_weak(g, x, n);
  if (weak == IR_NONE) return firm;
  if (firm == IR_NONE || firm == IR_BOOL) return weak;
  return ir_is_float(weak) && !ir_is_float(firm) ? IR_F32 : firm;
}

static bool below_zero(ir_value v, ir_dtype t) { return t != IR_U64 && v.i < 0; }

bool op_holds(ir_dtype to, ir_value value, ir_dtype from, ir_value *converted) {
  *converted = ir_value_cast(value, from, to);
  if (to == IR_BOOL) return true;
  if (ir_is_float(to)) return isfinite(converted->f) || (ir_is_float(from) && !isfinite(value.f));
  if (!ir_is_float(from))
    return converted->i == value.i && below_zero(value, from) == below_zero(*converted, to);
  /* 2^63 and 2^64 saturate to values that convert back to them, so the range is checked first */
  double top = ldexp(1.0, 8 * bytes_of(to) - is_signed(to));
  return value.f < top && value.f >= (is_signed(to) ? -top : 0.0) && trunc(value.f) == value.f;
}

static void print_range(ir_dtype t, char *out, size_t room) {
  int bits = 8 * bytes_of(t);
  if (ir_is_float(t)) {
    const char *most = t == IR_F16 ? "65504" : t == IR_BF16 ? "3.39e38" : "3.4e38";
    snprintf(out, room, "-%s..%s", most, most);
  } else if (is_signed(t))
    snprintf(out, room, "%lld..%lld", (long long)(INT64_MIN >> (64 - bits)),
             (long long)(INT64_MAX >> (64 - bits)));
  else snprintf(out, room, "0..%llu", (unsigned long long)(UINT64_MAX >> (64 - bits)));
}

ir_ref op_refuse_value(ir_graph *g, const char *who, ir_dtype to, ir_value value, ir_dtype from,
                       const char *remedy) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_value(&text, value, from);
  char range[64];
  print_range(to, range, sizeof range);
  op_refuse(g, "%s: the value %s does not fit %s, which holds %s%s; use a value in that range%s", who,
            ir_text_get(&text), ir_dtypes[to].name, ir_is_float(to) ? "" : "the integers ", range, remedy);
  ir_text_free(&text);
  return 0;
}

ir_ref op_convert(ir_graph *g, const char *who, ir_ref x, ir_dtype dtype) {
  if (!x) return 0;
  ir_dtype from = ir_dtype_of(g, x);
  if (is_weak(g, x)) { /* an integer must be exact in dtype; a float rounds, but to no infinity */
    ir_value converted, value = ir_const_value(g, x);
    if (op_holds(dtype, value, from, &converted)) return ir_const(g, dtype, converted);
    return op_refuse_value(g, who, dtype, value, from, " or cast the other operand");
  }
  if (from == dtype) return x;
  if (op_is_const(g, x)) return ir_const(g, dtype, ir_value_cast(ir_const_value(g, x), from, dtype));
  return ir_make_tensor(g, IR_OP_CAST, dtype, ir_shape(g, x), 0, &x, 1);
}

ir_ref op_cast(ir_graph *g, ir_ref x, ir_dtype dtype) {
  if (x && ir_dtype_of(g, x) == IR_INDEX && dtype > IR_NONE && dtype < IR_INDEX) /* a size, as a scalar */
    return ir_make_tensor(g, IR_OP_CAST, dtype, ir_tuple(g, NULL, 0), 0, &x, 1);
  if (!op_tensors(g, "cast", &x, 1)) return 0;
  if (dtype <= IR_NONE || dtype >= IR_INDEX)
    return op_refuse(g, "cast: no dtype of a tensor; x has shape %s; use bool, an integer or a float dtype",
                     OP_TYPE(x));
  if (is_weak(g, x)) return ir_const(g, dtype, ir_value_cast(ir_const_value(g, x), ir_dtype_of(g, x), dtype));
  return op_convert(g, "cast", x, dtype);
}

ir_ref op_bitcast(ir_graph *g, ir_ref x, ir_dtype dtype) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "bitcast", &x, 1)) return 0;
  ir_dtype from = ir_dtype_of(g, x);
  int own = bytes_of(from);
  if (from == dtype) return x;
  if (dtype <= IR_BOOL || dtype >= IR_INDEX)
    return op_refuse(
        g,
        "bitcast: not every bit pattern is a %s; x has shape %s; use an integer or float dtype of %d byte%s",
        dtype == IR_BOOL ? "bool" : "tensor's element", OP_TYPE(x), own, own == 1 ? "" : "s");
  if (own != bytes_of(dtype))
    return op_refuse(
        g, "bitcast: %s has %d byte%s an element; x has shape %s, %d byte%s; use a dtype of the same size",
        ir_dtypes[dtype].name, bytes_of(dtype), bytes_of(dtype) == 1 ? "" : "s", OP_TYPE(x), own,
        own == 1 ? "" : "s");
  return ir_make_tensor(g, IR_OP_BITCAST, dtype, ir_shape(g, x), 0, &x, 1);
}

ir_ref op_stop_gradient(ir_graph *g, ir_ref x) {
  static const ir_dtype bits[] = {[2] = IR_U16, [4] = IR_U32, [8] = IR_U64};
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "stop_gradient", &x, 1)) return 0;
  ir_dtype dtype = ir_dtype_of(g, x);
  if (!ir_is_float(dtype) || op_is_const(g, x)) return x;
  return op_bitcast(g, op_bitcast(g, x, bits[bytes_of(dtype)]), dtype);
}
