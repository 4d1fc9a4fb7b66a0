/* C as a language of codegen/text. Scalars are computed by the language's operators, vectors by functions
 * called OPERATION_TYPE, as add_f32x16(a, b). The prelude (prelude.c) has a macro for each kind of such
 * function, with two definitions: by the compiler's vector extensions, and by loops over elements. A file has
 * one line for each function that it uses (helper.c). A vector's type has as many elements as the next power
 * of two; elements beyond the lanes of a vector may be anything, and nothing of them reaches memory. */
#include "codegen/c/c.h"

static const char *name_of(tx_emitter *e, unsigned kind) { return tx_type(e, kind, 1); }

uint32_t cc_padded(uint32_t lanes) {
  uint32_t width = 1;
  while (width < lanes) width *= 2;
  return width;
}

void cc_use_type(tx_emitter *e, unsigned kind, uint32_t width) {
  if (width > 1) cc_define(e, "VF_TYPE(%s, %u)", name_of(e, kind), cc_padded(width));
}

/* operations */

/* The line VF_`line`(T, other, n) defines `name`. */
static tx_value paired(tx_emitter *e, const char *line, const char *name, unsigned other, tx_value a,
                       tx_value b, unsigned kind) {
  uint32_t width = tx_widest(a, b);
  a = tx_splat(e, a, width), b = tx_splat(e, b, width);
  cc_use_type(e, a.kind, width);
  cc_use_type(e, other, width);
  cc_define(e, "VF_%s(%s, %s, %u)", line, name_of(e, a.kind), name_of(e, other), cc_padded(width));
  return tx_make(e, kind, width, TX_ATOM, "%s_%s(%s, %s)", name, tx_type(e, a.kind, width), a.text, b.text);
}

/* NAME_TYPE(a) of a scalar or a vector; VF_`line`(T, other, n) defines it for vectors. */
static tx_value single(tx_emitter *e, const char *line, const char *name, unsigned other, tx_value a) {
  if (a.width > 1) {
    cc_use_type(e, a.kind, a.width);
    cc_use_type(e, other, a.width);
    cc_define(e, "VF_%s(%s, %s, %u)", line, name_of(e, a.kind), name_of(e, other), cc_padded(a.width));
  }
  return tx_make(e, a.kind, a.width, TX_ATOM, "%s_%s(%s)", name, tx_type(e, a.kind, a.width), a.text);
}

static const char *operator_name(tx_operator op) {
  static const char *const names[] = {"add", "sub", "mul", "quo", "rem", "and", "or",
                                      "xor", "eq",  "ne",  "lt",  "le",  "gt",  "ge"};
  return names[op];
}

static tx_value vectors(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  bool compares = tx_is_comparison(op), divides = op == TX_QUO || op == TX_REM;
  unsigned other = compares                        ? tx_signed(a.kind)
                   : tx_is_real(a.kind) || divides ? a.kind
                                                   : tx_unsigned(a.kind);
  return paired(e, operator_name(op), operator_name(op), other, a, b, compares ? tx_signed(a.kind) : a.kind);
}

static tx_value selected(tx_emitter *e, tx_value mask, tx_value a, tx_value b) {
  cc_use_type(e, a.kind, a.width);
  cc_use_type(e, mask.kind, a.width);
  cc_define(e, "VF_select(%s, %s, %u)", name_of(e, a.kind), name_of(e, mask.kind), cc_padded(a.width));
  return tx_make(e, a.kind, a.width, TX_ATOM, "select_%s(%s, %s, %s)", tx_type(e, a.kind, a.width), mask.text,
                 a.text, b.text);
}

/* Unsigned scalars of 32 bits and more wrap by the language; for others, which C promotes or leaves
 * undefined, the prelude has functions. */
static tx_value arithmetic(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  bool plain = tx_is_real(a.kind) || a.kind == TX_U32 || a.kind == TX_U64 || tx_widest(a, b) > 1;
  return plain ? tx_infix(e, op, a, b)
               : tx_make(e, a.kind, 1, TX_ATOM, "%s_%s(%s, %s)", operator_name(op), name_of(e, a.kind),
                         a.text, b.text);
}

static tx_value shifted(tx_emitter *e, bool left, tx_value a, int64_t count) {
  const char *name = left ? "shlby" : "shrby";
  if (a.width > 1) return paired(e, name, name, tx_unsigned(a.kind), a, tx_literal(e, a.kind, count), a.kind);
  return tx_make(e, a.kind, 1, TX_ATOM, "%s_%s(%s, %d)", name, name_of(e, a.kind), a.text, (int)count);
}

static tx_value negated(tx_emitter *e, tx_value a) {
  if (a.width == 1 && tx_is_real(a.kind))
    return tx_make(e, a.kind, 1, TX_UNARY, "-%s", tx_parenthesised(e, a, TX_ATOM));
  return single(e, "neg", "neg", tx_is_real(a.kind) ? a.kind : tx_unsigned(a.kind), a);
}

/* The sign bit, or the sign: VF_fabs, VF_iabs. */
static tx_value absolute(tx_emitter *e, tx_value a) {
  return single(e, tx_is_real(a.kind) ? "fabs" : "iabs", "abs", tx_unsigned(a.kind), a);
}

static tx_value inverted(tx_emitter *e, tx_value a) {
  if (a.width == 1)
    return tx_make(e, a.kind, 1, TX_UNARY, "(%s)~%s", name_of(e, a.kind), tx_parenthesised(e, a, TX_ATOM));
  cc_use_type(e, a.kind, a.width);
  cc_define(e, "VF_not(%s, %u)", name_of(e, a.kind), cc_padded(a.width));
  return tx_make(e, a.kind, a.width, TX_ATOM, "not_%s(%s)", tx_type(e, a.kind, a.width), a.text);
}

/* functions */

/* NAME_TYPE(a, b, c), element by element; scalars become vectors. */
static tx_value mapped(tx_emitter *e, const char *name, const tx_value *operands, unsigned count) {
  unsigned kind = operands[0].kind;
  uint32_t width = 1;
  const char *list = "";
  for (unsigned i = 0; i < count; i++)
    if (operands[i].width > width) width = operands[i].width;
  for (unsigned i = 0; i < count; i++)
    list = tx_text(e, "%s%s%s", list, i ? ", " : "", tx_splat(e, operands[i], width).text);
  if (width > 1) {
    cc_use_type(e, kind, width);
    cc_define(e, "VF_%s(%s, %u)", name, name_of(e, kind), cc_padded(width));
  }
  return tx_make(e, kind, width, TX_ATOM, "%s_%s(%s)", name, tx_type(e, kind, width), list);
}

static tx_value extremum(tx_emitter *e, const char *name, tx_value a, tx_value b) {
  if (tx_widest(a, b) == 1) return mapped(e, name, (tx_value[]){a, b}, 2);
  return paired(e, tx_text(e, "%c%s", tx_is_real(a.kind) ? 'f' : 'i', name), name, tx_signed(a.kind), a, b,
                a.kind);
}

/* dot2 or dot4, of signed integers. */
static tx_value dot(tx_emitter *e, const char *name, tx_value a, tx_value b) {
  unsigned kind = a.kind;
  tx_value both[] = {tx_reinterpret(e, a, tx_signed(kind)), tx_reinterpret(e, b, tx_signed(kind))};
  tx_value r = tx_widest(a, b) == 1
                   ? mapped(e, name, both, 2)
                   : paired(e, name, name, tx_unsigned(kind), both[0], both[1], both[0].kind);
  return tx_reinterpret(e, r, kind);
}

/* NAME_TYPE(a), whose elements are of another kind. */
static tx_value to_kind(tx_emitter *e, const char *name, unsigned kind, tx_value a) {
  if (a.width > 1) {
    cc_use_type(e, kind, a.width);
    cc_use_type(e, a.kind, a.width);
    cc_define(e, "VF_TO(%s, %s, %s, %u)", name_of(e, kind), name, name_of(e, a.kind), cc_padded(a.width));
  }
  return tx_make(e, kind, a.width, TX_ATOM, "%s_%s(%s)", name, tx_type(e, a.kind, a.width), a.text);
}

/* The same of narrow floats, where the prelude has a macro VF_name(n). */
static tx_value of_narrow(tx_emitter *e, const char *name, unsigned kind, tx_value a) {
  static const uint8_t used[] = {TX_F32, TX_U16, TX_I16, TX_U32, TX_I32};
  if (a.width > 1) {
    for (size_t i = 0; i < sizeof used; i++) cc_use_type(e, used[i], a.width);
    cc_define(e, "VF_%s(%u)", name, cc_padded(a.width));
  }
  return tx_make(e, kind, a.width, TX_ATOM, "%s_%s(%s)", name, tx_type(e, a.kind, a.width), a.text);
}

static tx_value call(tx_emitter *e, tx_function f, unsigned kind, const tx_value *operands, unsigned count) {
  static const char *const names[TX_FUNCTIONS] = {[TX_MIN] = "min",
                                                  [TX_MAX] = "max",
                                                  [TX_DIV] = "div",
                                                  [TX_MOD] = "mod",
                                                  [TX_SHL] = "shl",
                                                  [TX_SHR] = "shr",
                                                  [TX_FMA] = "fma",
                                                  [TX_SQRT] = "sqrt",
                                                  [TX_FLOOR] = "floor",
                                                  [TX_CEIL] = "ceil",
                                                  [TX_TRUNC] = "trunc",
                                                  [TX_RINT] = "rint",
                                                  [TX_ROUND_F16] = "roundf16",
                                                  [TX_TO_F16] = "tof16",
                                                  [TX_FROM_F16] = "fromf16",
                                                  [TX_ROUND_BF16] = "roundbf16",
                                                  [TX_TO_BF16] = "tobf16",
                                                  [TX_FROM_BF16] = "frombf16"};
  if (f == TX_MIN || f == TX_MAX) return extremum(e, names[f], operands[0], operands[1]);
  if (f == TX_DOT2 || f == TX_DOT4) return dot(e, f == TX_DOT2 ? "dot2" : "dot4", operands[0], operands[1]);
  return f >= TX_ROUND_F16 ? of_narrow(e, names[f], kind, operands[0]) : mapped(e, names[f], operands, count);
}

/* elements */

static tx_value splat(tx_emitter *e, tx_value v, uint32_t width) {
  cc_use_type(e, v.kind, width);
  cc_define(e, "VF_splat(%s, %u)", name_of(e, v.kind), cc_padded(width));
  return tx_make(e, v.kind, width, TX_ATOM, "splat_%s(%s)", tx_type(e, v.kind, width), v.text);
}

/* VF_MAKE of first, first + stride, ... in the lanes; zeros beyond them. */
static tx_value made(tx_emitter *e, unsigned kind, uint32_t width, int64_t first, int64_t stride) {
  const char *list = "";
  for (uint32_t i = 0; i < cc_padded(width); i++)
    list = tx_text(e, "%s, %s", list, tx_literal(e, kind, i < width ? first + stride * i : 0).text);
  cc_use_type(e, kind, width);
  return tx_make(e, kind, width, TX_ATOM, "VF_MAKE(%s%s)", tx_type(e, kind, width), list);
}

static tx_value lanes(tx_emitter *e, uint32_t first, uint32_t width) {
  return made(e, TX_I32, width, first, 1);
}

static tx_value element(tx_emitter *e, tx_value v, uint32_t i) {
  return tx_make(e, v.kind, 1, TX_ATOM, "VF_AT(%s, %u)", v.text, i);
}

/* VF_SHUFFLE names its operands more than once: both get names. */
static tx_value shuffle(tx_emitter *e, tx_value a, tx_value b, const uint32_t *order, uint32_t width) {
  const char *list = "";
  bool same = a.text == b.text;
  a = tx_temporary(e, a), b = same ? a : tx_temporary(e, b);
  uint32_t padded = cc_padded(a.width);
  for (uint32_t i = 0; i < cc_padded(width); i++) {
    uint32_t from = i < width ? order[i] : order[0];
    list = tx_text(e, "%s, %u", list, from < a.width ? from : padded + from - a.width);
  }
  cc_use_type(e, a.kind, width);
  cc_use_type(e, a.kind, a.width);
  cc_define(e, "VF_shuffle(%s, %u, %u)", name_of(e, a.kind), cc_padded(width), padded);
  return tx_make(e, a.kind, width, TX_ATOM, "VF_SHUFFLE(%s, %s, %s, %s%s)", tx_type(e, a.kind, width),
                 tx_type(e, a.kind, a.width), a.text, b.text, list);
}

static tx_value mask(tx_emitter *e, tx_value v, unsigned kind, uint32_t width) {
  if (v.literal) return tx_splat(e, tx_literal(e, kind, v.text[0] == 't' ? -1 : 0), width);
  return tx_splat(e, tx_make(e, kind, 1, TX_LOOSE, "%s ? -1 : 0", tx_parenthesised(e, v, TX_UNARY)), width);
}

static tx_value any(tx_emitter *e, tx_value condition) {
  uint32_t width = condition.width, padded = cc_padded(width);
  if (padded > width) condition = tx_infix(e, TX_AND, condition, made(e, condition.kind, width, -1, 0));
  cc_use_type(e, condition.kind, width);
  cc_define(e, "VF_any(%s, %u, %u)", name_of(e, condition.kind), padded,
            (padded * tx_bytes(condition.kind) + 7) / 8);
  return tx_make(e, TX_BOOL, 1, TX_ATOM, "any_%s(%s)", tx_type(e, condition.kind, width), condition.text);
}

/* kinds */

/* The integers between two kinds of vectors: sizes change by a factor of two at a time, and integers of 32
 * bits become floats, since GCC before 14 converts elements one by one otherwise. `kind` itself where there
 * is none. */
static unsigned step_between(unsigned from, unsigned kind) {
  static const uint8_t kinds[][2] = {[2] = {TX_I16, TX_U16}, [4] = {TX_I32, TX_U32}};
  if (tx_is_real(from)) return kind;
  bool is_unsigned = from == tx_unsigned(from);
  unsigned have = tx_bytes(from), want = tx_is_real(kind) && have < 4 ? 4 : tx_bytes(kind);
  if (have * 2 < want) return kinds[have * 2][is_unsigned];
  if (want * 2 < have) return kinds[have / 2][is_unsigned];
  return tx_is_real(kind) && have < 4 ? TX_I32 : kind;
}

static tx_value convert(tx_emitter *e, tx_value v, unsigned kind) {
  if (v.width == 1)
    return tx_make(e, kind, 1, TX_UNARY, "(%s)%s", name_of(e, kind), tx_parenthesised(e, v, TX_UNARY));
  unsigned between = step_between(v.kind, kind);
  if (between != kind) return convert(e, convert(e, v, between), kind);
  cc_use_type(e, kind, v.width);
  cc_use_type(e, v.kind, v.width);
  cc_define(e, "VF_convert(%s, %s, %u)", name_of(e, kind), name_of(e, v.kind), cc_padded(v.width));
  return tx_make(e, kind, v.width, TX_ATOM, "%s_of_%s(%s)", tx_type(e, kind, v.width),
                 tx_type(e, v.kind, v.width), v.text);
}

static tx_value reinterpret(tx_emitter *e, tx_value v, unsigned kind) {
  if (v.width > 1) {
    cc_use_type(e, kind, v.width);
    cc_use_type(e, v.kind, v.width);
    cc_define(e, "VF_as(%s, %s, %u)", name_of(e, kind), name_of(e, v.kind), cc_padded(v.width));
  }
  return tx_make(e, kind, v.width, TX_ATOM, "as_%s_%s(%s)", tx_type(e, kind, v.width),
                 tx_type(e, v.kind, v.width), v.text);
}

static tx_value to_integer(tx_emitter *e, unsigned kind, tx_value v) {
  if (!tx_is_real(v.kind)) return tx_convert(e, v, kind);
  if (v.width > 1) {
    cc_use_type(e, kind, v.width);
    cc_use_type(e, v.kind, v.width);
    cc_define(e, "VF_saturate(%s, %s, %s, %u)", name_of(e, kind), name_of(e, v.kind),
              name_of(e, tx_signed(v.kind)), cc_padded(v.width));
  }
  return tx_make(e, kind, v.width, TX_ATOM, "saturate_%s_%s(%s)", name_of(e, kind),
                 tx_type(e, v.kind, v.width), v.text);
}

/* From an f64, which holds integers of 32 bits; those of 64 are rounded to odd. */
static tx_value to_narrow(tx_emitter *e, ir_dtype dtype, tx_value v) {
  if (!tx_is_real(v.kind))
    v = tx_bytes(v.kind) == 8 ? to_kind(e, "oddf64", TX_F64, v) : tx_convert(e, v, TX_F64);
  return to_kind(e, dtype == IR_F16 ? "forf16" : "forbf16", TX_F32, v);
}

const tx_language cc_language = {
    .kinds = {[TX_BOOL] = {"bool"},
              [TX_I8] = {"i8"},
              [TX_U8] = {"u8"},
              [TX_I16] = {"i16"},
              [TX_U16] = {"u16"},
              [TX_I32] = {"i32", "", "", "INT32_MIN"},
              [TX_U32] = {"u32", "", "u"},
              [TX_I64] = {"i64", "INT64_C(", ")", "INT64_MIN"},
              [TX_U64] = {"u64", "UINT64_C(", ")"},
              [TX_F32] = {"f32", .nan = "NAN_f32", .infinity = "INFINITY_f32"},
              [TX_F64] = {"f64", .nan = "NAN_f64", .infinity = "INFINITY_f64"}},
    .times = "x",
    .compared = TX_UNARY,
    .report = "if (VF_UNLIKELY(%s)) *status = 1",
    .prefetch = {"VF_PREFETCH((const void *)((uintptr_t)(%s) + %lld), 3)",
                 "VF_PREFETCH((const void *)((uintptr_t)(%s) + %lld), 0)"},
    .vectors = vectors,
    .selected = selected,
    .arithmetic = arithmetic,
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
    .read_whole = cc_read_whole,
    .write_whole = cc_write_whole,
    .write_elements = cc_write_elements,
    .write_masked = cc_write_masked,
    .load_vector = cc_load_vector,
    .load_scalar = cc_load_scalar,
    .rare = cc_emit_rare,
    .load_unrolled = tx_emit_tile,
};
