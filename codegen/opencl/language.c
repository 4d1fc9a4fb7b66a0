/* OpenCL C as a language of codegen/text: its operators are those of vectors as well, and widen a scalar
 * operand of a vector. What C leaves undefined of signed integers is done in unsigned ones. Functions
 * VF_NAME, and vf_NAME_TYPE of an operation and the type of its operands, are in the prelude. */
#include "codegen/opencl/opencl.h"

#include <string.h>

/* integers */

static tx_value as_unsigned(tx_emitter *e, tx_value a) {
  unsigned kind = tx_unsigned(a.kind);
  return a.literal ? tx_convert(e, a, kind) : tx_reinterpret(e, a, kind);
}

static bool is_promoted(tx_value a) { return a.width == 1 && tx_bytes(a.kind) < 4; }

/* `expression`, which C has promoted to int, as its own kind again. */
static tx_value narrowed(tx_emitter *e, unsigned kind, const char *expression) {
  return tx_make(e, kind, 1, TX_UNARY, "(%s)%s", tx_type(e, kind, 1), expression);
}

/* Must the compiler not see that the value is negated? See vf_neg in the prelude. */
static bool hides_negation(const tx_emitter *e, tx_value a) {
  return oc_has_ptx(e) && tx_is_signed(a.kind) && !tx_is_real(a.kind) && a.width == 1 &&
         tx_bytes(a.kind) <= 4;
}

static tx_value hidden_negation(tx_emitter *e, tx_value a) {
  return tx_convert(e, tx_make(e, TX_I32, 1, TX_ATOM, "vf_neg(%s)", a.text), a.kind);
}

/* Scalars smaller than int are promoted to int, in which a product of unsigned ones might not fit: products
 * are computed in uint. */
static tx_value wrapping(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  unsigned kind = a.kind;
  if (hides_negation(e, b) && op == TX_SUB && a.literal && a.number == 0) return hidden_negation(e, b);
  if (hides_negation(e, a) && op == TX_MUL && b.literal && b.number == -1) return hidden_negation(e, a);
  if (tx_widest(a, b) == 1 && is_promoted(a)) {
    if (op == TX_MUL) a = tx_convert(e, a, TX_U32), b = tx_convert(e, b, TX_U32);
    return narrowed(e, kind, tx_text(e, "(%s)", tx_infix(e, op, a, b).text));
  }
  if (!tx_is_signed(kind)) return tx_infix(e, op, a, b);
  return tx_reinterpret(e, tx_infix(e, op, as_unsigned(e, a), as_unsigned(e, b)), kind);
}

static tx_value shifted(tx_emitter *e, bool left, tx_value a, int64_t count) {
  bool wraps = left && tx_is_signed(a.kind);
  unsigned kind = wraps ? tx_unsigned(a.kind) : a.kind;
  tx_value from = wraps ? as_unsigned(e, a) : a;
  tx_value by = tx_literal(e, a.width > 1 && tx_bytes(kind) != 4 ? kind : TX_I32, count);
  tx_value moved = tx_make(e, kind, a.width, TX_LOOSE, "%s %s %s", tx_parenthesised(e, from, TX_UNARY),
                           left ? "<<" : ">>", tx_parenthesised(e, by, TX_UNARY));
  if (is_promoted(a)) moved = narrowed(e, kind, tx_text(e, "(%s)", moved.text));
  return tx_reinterpret(e, moved, a.kind);
}

static tx_value inverted(tx_emitter *e, tx_value a) {
  const char *text = tx_text(e, "~%s", tx_parenthesised(e, a, TX_ATOM));
  return is_promoted(a) ? narrowed(e, a.kind, text) : tx_make(e, a.kind, a.width, TX_UNARY, "%s", text);
}

/* functions */

/* Is it computed with integers (soft_float.c)? */
static bool is_soft(const tx_emitter *e, bool divides, unsigned kind) {
  return kind == TX_SOFT_F64 || (kind == TX_F32 && divides && e->target->soft_division);
}

/* NAME_TYPE(a, b) of the prelude if `typed`, else NAME(a, b). */
static tx_value called(tx_emitter *e, const char *name, bool typed, unsigned kind, const tx_value *operands,
                       unsigned count) {
  uint32_t width = 1;
  const char *list = "";
  for (unsigned i = 0; i < count; i++)
    if (operands[i].width > width) width = operands[i].width;
  for (unsigned i = 0; i < count; i++)
    list = tx_text(e, "%s%s%s", list, i ? ", " : "", tx_splat(e, operands[i], width).text);
  const char *type = typed ? tx_type(e, operands[0].kind, width) : "";
  return tx_make(e, kind, width, TX_ATOM, "%s%s%s%s(%s)", typed ? "vf_" : "", name, typed ? "_" : "", type,
                 list);
}

static tx_value call(tx_emitter *e, tx_function f, unsigned kind, const tx_value *operands, unsigned count) {
  static const char *const names[TX_FUNCTIONS] = {[TX_MIN] = "min",
                                                  [TX_MAX] = "max",
                                                  [TX_DIV] = "div",
                                                  [TX_MOD] = "mod",
                                                  [TX_SHL] = "shl",
                                                  [TX_SHR] = "shr",
                                                  [TX_DOT2] = "dot2",
                                                  [TX_DOT4] = "dot4",
                                                  [TX_FMA] = "fma",
                                                  [TX_SQRT] = "sqrt",
                                                  [TX_FLOOR] = "floor",
                                                  [TX_CEIL] = "ceil",
                                                  [TX_TRUNC] = "trunc",
                                                  [TX_RINT] = "rint",
                                                  [TX_ROUND_F16] = "round_f16",
                                                  [TX_ROUND_BF16] = "round_bf16",
                                                  [TX_TO_F16] = "to_f16",
                                                  [TX_TO_BF16] = "to_bf16",
                                                  [TX_FROM_F16] = "from_f16",
                                                  [TX_FROM_BF16] = "from_bf16"};
  bool builtin = ((f == TX_MIN || f == TX_MAX) && !tx_is_real(operands[0].kind)) ||
                 ((f == TX_FMA || f == TX_SQRT) && !is_soft(e, f == TX_SQRT, operands[0].kind));
  return called(e, names[f], !builtin, kind, operands, count);
}

/* floats */

/* + - * / by functions of the prelude where integers compute them. */
static tx_value arithmetic(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  static const char *const names[] = {[TX_ADD] = "add", [TX_SUB] = "sub", [TX_MUL] = "mul", [TX_QUO] = "div"};
  if (!tx_is_real(a.kind)) return wrapping(e, op, a, b);
  if (!is_soft(e, op == TX_QUO, a.kind)) return tx_infix(e, op, a, b);
  return called(e, names[op], true, a.kind, (tx_value[]){a, b}, 2);
}

static tx_value negated(tx_emitter *e, tx_value a) {
  if (a.kind == TX_SOFT_F64)
    return tx_make(e, a.kind, a.width, TX_LOOSE, "%s ^ VF_SIGN", tx_parenthesised(e, a, TX_UNARY));
  if (hides_negation(e, a)) return hidden_negation(e, a);
  const char *text = tx_text(e, "-%s", tx_parenthesised(e, a, TX_ATOM));
  if (is_promoted(a)) return narrowed(e, a.kind, text);
  if (tx_is_signed(a.kind)) return wrapping(e, TX_SUB, tx_literal(e, a.kind, 0), a);
  return tx_make(e, a.kind, a.width, TX_UNARY, "%s", text);
}

static tx_value absolute(tx_emitter *e, tx_value a) {
  if (a.kind == TX_SOFT_F64)
    return tx_make(e, a.kind, a.width, TX_LOOSE, "%s & ~VF_SIGN", tx_parenthesised(e, a, TX_UNARY));
  bool real = tx_is_real(a.kind);
  return called(e, real ? "fabs" : "abs", !real, a.kind, &a, 1);
}

/* comparisons */

static bool is_zero(tx_value v) {
  return v.literal && (v.kind == TX_F32 || v.kind == TX_F64) && !v.text[strspn(v.text, "-0.f")];
}

/* A comparison with zero, written without zero: x < 0 as x <= -least, where least is the least float above 0.
 * InstCombine of LLVM 15 recognises `x < 0.0 ? -0.0 : x` as a maximum and compares x <= -0.0 instead, which
 * holds for +0.0 too; and it makes that form of `x < 0.0 ? n : x + n`. */
static tx_operator order_against_least(tx_operator op, bool *negative) {
  static const uint8_t orders[] = {[TX_LT] = TX_LE, [TX_LE] = TX_LT, [TX_GT] = TX_GE, [TX_GE] = TX_GT};
  *negative = op == TX_LT || op == TX_GE;
  return (tx_operator)orders[op];
}

static tx_operator swapped(tx_operator op) {
  static const uint8_t orders[] = {[TX_LT] = TX_GT, [TX_LE] = TX_GE, [TX_GT] = TX_LT, [TX_GE] = TX_LE};
  return (tx_operator)orders[op];
}

/* a > b as b < a */
static tx_value soft_compare(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  static const char *const names[] = {
      [TX_EQ] = "eq", [TX_NE] = "ne", [TX_LT] = "lt", [TX_LE] = "le", [TX_GT] = "lt", [TX_GE] = "le"};
  bool swaps = op == TX_GT || op == TX_GE;
  unsigned kind = tx_widest(a, b) > 1 ? tx_signed(a.kind) : TX_BOOL;
  return called(e, names[op], true, kind, (tx_value[]){swaps ? b : a, swaps ? a : b}, 2);
}

static tx_value compare(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  if (a.kind == TX_SOFT_F64) return soft_compare(e, op, a, b);
  if (op != TX_EQ && op != TX_NE && is_zero(a) != is_zero(b)) {
    if (is_zero(a)) op = swapped(op), a = b;
    bool negative, single = a.kind == TX_F32;
    op = order_against_least(op, &negative);
    b = tx_make(e, a.kind, 1, negative ? TX_UNARY : TX_ATOM, "%s%s", negative ? "-" : "",
                single ? "VF_FLOAT_TRUE_MIN" : "VF_DOUBLE_TRUE_MIN");
  }
  return tx_infix(e, op, a, b);
}

/* elements */

static tx_value splat(tx_emitter *e, tx_value v, uint32_t width) {
  return tx_make(e, v.kind, width, TX_UNARY, "(%s)(%s)", tx_type(e, v.kind, width), v.text);
}

static tx_value lanes(tx_emitter *e, uint32_t first, uint32_t width) {
  if (!first) return tx_make(e, TX_I32, width, TX_ATOM, "VF_LANES_%u", width);
  return tx_make(e, TX_I32, width, TX_SUM, "VF_LANES_%u + %u", width, first);
}

static tx_value element(tx_emitter *e, tx_value v, uint32_t i) {
  return tx_make(e, v.kind, 1, TX_ATOM, "%s.s%c", tx_parenthesised(e, v, TX_ATOM),
                 "0123456789abcdef"[i % 16]);
}

/* order[i] = first + step*i for all i? */
static bool is_row(const uint32_t *order, uint32_t width, uint32_t first, int step) {
  for (uint32_t i = 0; i < width; i++)
    if (order[i] != first + (uint32_t)(step * (int)i)) return false;
  return true;
}

static tx_value shuffle(tx_emitter *e, tx_value a, tx_value b, const uint32_t *order, uint32_t width) {
  static const char *const reversed[] = {
      [2] = "s10", [4] = "s3210", [8] = "s76543210", [16] = "sfedcba9876543210"};
  const char *part = NULL, *list = "";
  if (2 * width == a.width && is_row(order, width, 0, 1)) part = "lo";
  else if (2 * width == a.width && is_row(order, width, width, 1)) part = "hi";
  else if (width == a.width && is_row(order, width, width - 1, -1)) part = reversed[width];
  if (part) return tx_make(e, a.kind, width, TX_ATOM, "%s.%s", tx_parenthesised(e, a, TX_ATOM), part);
  for (uint32_t i = 0; i < width; i++) list = tx_text(e, "%s, %u", list, order[i]);
  return tx_make(e, a.kind, width, TX_ATOM, "VF_SHUFFLE_%u(%s, %s, %s%s)", width,
                 tx_type(e, tx_unsigned(a.kind), width), a.text, b.text, list);
}

static tx_value mask(tx_emitter *e, tx_value v, unsigned kind, uint32_t width) {
  const char *type = tx_type(e, kind, width);
  if (v.literal) return tx_make(e, kind, width, TX_UNARY, "(%s)(%s)", type, v.text[0] == 't' ? "-1" : "0");
  /* LLVM 15 turns `b ? -1 : 0` into the splat of a mask register's bit, which it cannot select (AVX-512). */
  return tx_make(e, kind, width, TX_LOOSE, "(%s)(%s ? 1 : 0) != (%s)0", type,
                 tx_parenthesised(e, v, TX_UNARY), tx_type(e, kind, 1));
}

static tx_value any(tx_emitter *e, tx_value condition) {
  return tx_make(e, TX_BOOL, 1, TX_ATOM, "VF_ANY(%s)", condition.text);
}

/* kinds */

static tx_value from(tx_emitter *e, tx_value v, unsigned kind) {
  return tx_make(e, kind, v.width, TX_ATOM, "vf_%s_from_%s(%s)", tx_type(e, kind, v.width),
                 tx_type(e, v.kind, v.width), v.text);
}

static tx_value convert(tx_emitter *e, tx_value v, unsigned kind) {
  if (v.kind == TX_SOFT_F64 || kind == TX_SOFT_F64) return from(e, v, kind);
  if (v.width > 1)
    return tx_make(e, kind, v.width, TX_ATOM, "convert_%s(%s)", tx_type(e, kind, v.width), v.text);
  bool truncated = (v.kind == TX_I64 || v.kind == TX_U64) && !tx_is_real(kind) && tx_bytes(kind) < 8;
  if (truncated && kind != TX_BOOL && oc_has_ptx(e)) v = tx_make(e, TX_I32, 1, TX_ATOM, "vf_low(%s)", v.text);
  if (v.kind == kind) return v;
  return tx_make(e, kind, 1, TX_UNARY, "(%s)%s", tx_type(e, kind, 1), tx_parenthesised(e, v, TX_UNARY));
}

static tx_value reinterpret(tx_emitter *e, tx_value v, unsigned kind) {
  return tx_make(e, kind, v.width, TX_ATOM, "as_%s(%s)", tx_type(e, kind, v.width), v.text);
}

static tx_value to_integer(tx_emitter *e, unsigned kind, tx_value v) {
  if (tx_is_real(v.kind)) return from(e, v, kind);
  tx_value r = tx_convert(e, v, kind);
  if (tx_bytes(kind) > 1 || tx_bytes(v.kind) == 1 || v.literal) return r;
  return called(e, "byte", true, kind, &r, 1);
}

/* Rounded to odd. */
static tx_value to_narrow(tx_emitter *e, ir_dtype dtype, tx_value v) {
  (void)dtype;
  return called(e, "to_odd", true, TX_F32, &v, 1);
}

static bool load_unrolled(tx_emitter *e, ir_ref load, void **unrolled) {
  return tx_emit_tile(e, load, unrolled) || oc_emit_local_vectors(e, load, unrolled) ||
         oc_emit_vector_loads(e, load, unrolled);
}

const tx_language oc_language = {
    .kinds = {[TX_BOOL] = {"bool"},
              [TX_I8] = {"char"},
              [TX_U8] = {"uchar"},
              [TX_I16] = {"short"},
              [TX_U16] = {"ushort"},
              [TX_I32] = {"int", "", "", "INT_MIN"},
              [TX_U32] = {"uint", "", "u"},
              [TX_I64] = {"long", "", "L", "LONG_MIN"},
              [TX_U64] = {"ulong", "", "UL"},
              [TX_F32] = {"float", .nan = "NAN", .infinity = "INFINITY"}, /* which are floats */
              [TX_F64] = {"double", .nan = "(double)NAN", .infinity = "(double)INFINITY"},
              [TX_SOFT_F64] = {"soft"}},
    .times = "",
    .compared = TX_SUM,
    .repeats_literals = true,
    .report = "if (%s) *status = 1",
    .prefetch = {"VF_PREFETCH(%s, %lldL)", "VF_PREFETCH_NONTEMPORAL(%s, %lldL)"},
    .arithmetic = arithmetic,
    .compare = compare,
    .shifted = shifted,
    .negated = negated,
    .absolute = absolute,
    .inverted = inverted,
    .call = call,
    .splat = splat,
    .lanes = lanes,
    .element = element,
    .shuffle = shuffle,
    .mask = mask,
    .any = any,
    .convert = convert,
    .reinterpret = reinterpret,
    .to_integer = to_integer,
    .to_narrow = to_narrow,
    .read_whole = oc_read_whole,
    .write_whole = oc_write_whole,
    .write_elements = oc_write_elements,
    .load_vector = oc_load_vector,
    .load_scalar = oc_load_scalar,
    .item_index = oc_item_index,
    .store_item = oc_store_item,
    .guard = oc_guard,
    .rare = oc_emit_rare,
    .combine_items = oc_group_combine,
    .load_unrolled = load_unrolled,
    .named = oc_named,
    .block_closed = oc_forget_loads,
};
