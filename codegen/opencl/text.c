/* OpenCL C as text: types, expressions, statements. The text of an expression lives until oc_text_free. */
#include "codegen/opencl/opencl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/lex/lex.h"

static const struct {
  const char *name;
  uint8_t bytes, is_signed, is_unsigned;
} kinds[] = {
    [OC_BOOL] = {"bool", 1, OC_CHAR, OC_UCHAR},       [OC_CHAR] = {"char", 1, OC_CHAR, OC_UCHAR},
    [OC_UCHAR] = {"uchar", 1, OC_CHAR, OC_UCHAR},     [OC_SHORT] = {"short", 2, OC_SHORT, OC_USHORT},
    [OC_USHORT] = {"ushort", 2, OC_SHORT, OC_USHORT}, [OC_INT] = {"int", 4, OC_INT, OC_UINT},
    [OC_UINT] = {"uint", 4, OC_INT, OC_UINT},         [OC_LONG] = {"long", 8, OC_LONG, OC_ULONG},
    [OC_ULONG] = {"ulong", 8, OC_LONG, OC_ULONG},     [OC_FLOAT] = {"float", 4, OC_INT, OC_UINT},
    [OC_DOUBLE] = {"double", 8, OC_LONG, OC_ULONG},   [OC_SOFT_DOUBLE] = {"soft", 8, OC_LONG, OC_ULONG},
};

unsigned oc_bytes(unsigned kind) { return kinds[kind].bytes; }
unsigned oc_signed(unsigned kind) { return kinds[kind].is_signed; }
unsigned oc_unsigned(unsigned kind) { return kinds[kind].is_unsigned; }
static bool is_integer(unsigned kind) { return kind > OC_BOOL && kind < OC_FLOAT; }
bool oc_is_signed(unsigned kind) { return is_integer(kind) && kinds[kind].is_signed == kind; }

oc_type_text oc_type(unsigned kind, uint32_t width) {
  oc_type_text type;
  if (width > 1) snprintf(type.text, sizeof type.text, "%s%u", kinds[kind].name, (unsigned)width % 1000);
  else snprintf(type.text, sizeof type.text, "%s", kinds[kind].name);
  return type;
}

unsigned oc_kind_of(const oc_emitter *e, ir_dtype dtype) {
  static const uint8_t table[IR_DTYPE_COUNT] = {
      [IR_BOOL] = OC_BOOL,  [IR_I8] = OC_CHAR,   [IR_U8] = OC_UCHAR,   [IR_I16] = OC_SHORT,
      [IR_U16] = OC_USHORT, [IR_I32] = OC_INT,   [IR_U32] = OC_UINT,   [IR_I64] = OC_LONG,
      [IR_U64] = OC_ULONG,  [IR_F16] = OC_FLOAT, [IR_BF16] = OC_FLOAT, [IR_F32] = OC_FLOAT,
      [IR_F64] = OC_DOUBLE, [IR_INDEX] = OC_LONG};
  return dtype == IR_F64 && e->target->soft_f64 ? OC_SOFT_DOUBLE : table[dtype];
}

unsigned oc_storage_of(const oc_emitter *e, ir_dtype dtype) {
  if (dtype == IR_BOOL) return OC_UCHAR;
  return dtype == IR_F16 || dtype == IR_BF16 ? OC_USHORT : oc_kind_of(e, dtype);
}

void oc_text_free(oc_emitter *e) {
  cg_scratch_free(&e->texts, e->nest->mem);
  ir_text_free(&e->out);
  ir_text_free(&e->head);
  ir_text_free(&e->late);
}

const char *oc_text(oc_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = cg_scratch_format(&e->texts, &e->order, format, args);
  va_end(args);
  return text;
}

/* expressions */

oc_value oc_make(oc_emitter *e, unsigned kind, uint32_t width, oc_level level, const char *format, ...) {
  va_list args;
  va_start(args, format);
  oc_value v = {.text = cg_scratch_format(&e->texts, &e->order, format, args),
                .kind = (uint8_t)kind,
                .level = (uint8_t)level,
                .width = (uint8_t)width};
  va_end(args);
  return v;
}

oc_value oc_fail(oc_emitter *e, ir_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  cg_order_fail(&e->order, status, "%s", cg_scratch_format(&e->texts, &e->order, format, args));
  va_end(args);
  return (oc_value){.text = "0", .kind = OC_INT, .level = OC_ATOM, .width = 1};
}

oc_value oc_literal(oc_emitter *e, unsigned kind, int64_t value) {
  static const char *const suffix[] = {[OC_UINT] = "u", [OC_LONG] = "L", [OC_ULONG] = "UL", [OC_DOUBLE] = ""};
  oc_level level = value < 0 ? OC_UNARY : OC_ATOM;
  oc_value v;
  if (kind == OC_BOOL) v = oc_make(e, kind, 1, OC_ATOM, "%s", value ? "true" : "false");
  else if (kind == OC_LONG && value == INT64_MIN) v = oc_make(e, kind, 1, OC_ATOM, "LONG_MIN");
  else if (kind == OC_INT && value == INT32_MIN) v = oc_make(e, kind, 1, OC_ATOM, "INT_MIN");
  else if (kind == OC_ULONG) v = oc_make(e, kind, 1, OC_ATOM, "%lluUL", (unsigned long long)value);
  else if (kind == OC_UINT || kind == OC_LONG || kind == OC_INT)
    v = oc_make(e, kind, 1, level, "%lld%s", (long long)value, suffix[kind] ? suffix[kind] : "");
  else v = oc_make(e, kind, 1, OC_UNARY, "(%s)%lld", kinds[kind].name, (long long)value);
  v.literal = true;
  v.number = value;
  return v;
}

static oc_value soft_real(oc_emitter *e, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  oc_value v = oc_make(e, OC_SOFT_DOUBLE, 1, OC_ATOM, "0x%llxUL", (unsigned long long)bits);
  v.literal = true;
  return v;
}

oc_value oc_real(oc_emitter *e, unsigned kind, double value) {
  ir_text digits;
  if (kind == OC_SOFT_DOUBLE) return soft_real(e, value);
  ir_text_init(&digits, e->nest->mem);
  if (!isfinite(value)) /* NAN and INFINITY are floats */
    ir_textf(&digits, "%s%s%s", value < 0 ? "-" : "", kind == OC_DOUBLE ? "(double)" : "",
             isnan(value) ? "NAN" : "INFINITY");
  else ir_print_double(&digits, value, kind == OC_DOUBLE ? IR_F64 : IR_F32);
  bool finite = isfinite(value);
  bool signs = signbit(value) || (!finite && kind == OC_DOUBLE);
  oc_value v = oc_make(e, kind, 1, signs ? OC_UNARY : OC_ATOM, "%s%s", ir_text_get(&digits),
                       finite && kind == OC_FLOAT ? "f" : "");
  if (digits.failed) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  ir_text_free(&digits);
  v.literal = true;
  return v;
}

const char *oc_parenthesised(oc_emitter *e, oc_value v, oc_level level) {
  return v.level >= (unsigned)level ? v.text : oc_text(e, "(%s)", v.text);
}

oc_value oc_splat(oc_emitter *e, oc_value v, uint32_t width) {
  if (v.width == width) return v;
  oc_value all = oc_make(e, v.kind, width, OC_UNARY, "(%s)(%s)", oc_type(v.kind, width).text, v.text);
  all.literal = v.literal;
  all.number = v.number;
  return all;
}

oc_value oc_element(oc_emitter *e, oc_value v, uint32_t i) {
  if (v.width == 1) return v;
  return oc_make(e, v.kind, 1, OC_ATOM, "%s.s%c", oc_parenthesised(e, v, OC_ATOM),
                 "0123456789abcdef"[i % 16]);
}

oc_value oc_lane(oc_emitter *e, ir_dtype dtype, oc_value v, uint32_t i) {
  oc_value lane = oc_element(e, v, i);
  if (dtype != IR_BOOL || v.width == 1) return lane;
  return oc_make(e, OC_BOOL, 1, OC_LOOSE, "%s != 0", lane.text);
}

oc_value oc_convert(oc_emitter *e, oc_value v, unsigned kind) {
  if (v.kind == kind) return v;
  if (v.kind == OC_SOFT_DOUBLE || kind == OC_SOFT_DOUBLE)
    return oc_make(e, kind, v.width, OC_ATOM, "vf_%s_from_%s(%s)", oc_type(kind, v.width).text,
                   oc_type(v.kind, v.width).text, v.text);
  if (v.width > 1)
    return oc_make(e, kind, v.width, OC_ATOM, "convert_%s(%s)", oc_type(kind, v.width).text, v.text);
  return oc_make(e, kind, 1, OC_UNARY, "(%s)%s", kinds[kind].name, oc_parenthesised(e, v, OC_UNARY));
}

oc_value oc_reinterpret(oc_emitter *e, oc_value v, unsigned kind) {
  if (v.kind == kind) return v;
  if (v.bare && v.bare_kind == kind)
    return (oc_value){.text = v.bare, .kind = v.bare_kind, .level = v.bare_level, .width = v.width};
  oc_value as = oc_make(e, kind, v.width, OC_ATOM, "as_%s(%s)", oc_type(kind, v.width).text, v.text);
  as.bare = v.text;
  as.bare_kind = v.kind;
  as.bare_level = v.level;
  return as;
}

oc_value oc_mask(oc_emitter *e, oc_value v, unsigned kind, uint32_t width) {
  if (v.width == width) return oc_convert(e, v, kind);
  oc_type_text type = oc_type(kind, width);
  if (v.literal)
    return oc_make(e, kind, width, OC_UNARY, "(%s)(%s)", type.text, v.text[0] == 't' ? "-1" : "0");
  /* LLVM 15 turns `b ? -1 : 0` into the splat of a mask register's bit, which it cannot select (AVX-512). */
  return oc_make(e, kind, width, OC_LOOSE, "(%s)(%s ? 1 : 0) != (%s)0", type.text,
                 oc_parenthesised(e, v, OC_UNARY), oc_type(kind, 1).text);
}

/* statements */

static void put_line(oc_emitter *e, const char *text, const char *end) {
  for (uint32_t i = 0; i < e->depth; i++) ir_text_str(&e->out, "  ");
  ir_text_str(&e->out, text);
  ir_text_str(&e->out, end);
}

void oc_line(oc_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_line(e, cg_scratch_format(&e->texts, &e->order, format, args), ";\n");
  va_end(args);
}

void oc_open(oc_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_line(e, cg_scratch_format(&e->texts, &e->order, format, args), " {\n");
  va_end(args);
  e->depth++;
}

void oc_close(oc_emitter *e) {
  e->depth--;
  oc_forget_loads(e);
  put_line(e, "}\n", "");
}

static oc_value declared(oc_emitter *e, oc_value v, const char *name) {
  oc_line(e, "%s %s = %s", oc_type(v.kind, v.width).text, name, v.text);
  v.text = name;
  v.level = OC_ATOM;
  v.literal = false;
  v.bare = NULL;
  return v;
}

oc_value oc_variable(oc_emitter *e, oc_value v) {
  if (!e->number) e->number = ++e->last_number;
  const char *name =
      e->variables > 1 ? oc_text(e, "v%u_%u", e->number - 1, e->variable) : oc_text(e, "v%u", e->number - 1);
  return declared(e, v, name);
}

static bool is_name(const char *text) {
  for (; *text; text++) {
    char c = *text;
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return false;
  }
  return true;
}

oc_value oc_temporary(oc_emitter *e, oc_value v) {
  if (v.literal || (v.level == OC_ATOM && is_name(v.text))) return v;
  return declared(e, v, oc_text(e, "v%u", e->last_number++));
}
