/* C as text: types, expressions, statements. The text of an expression lives until cc_text_free. */
#include "codegen/c/c.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/lex/lex.h"

static const struct {
  const char *name;
  uint8_t bytes, is_signed, is_unsigned;
} kinds[] = {
    [CC_BOOL] = {"bool", 1, CC_I8, CC_U8}, [CC_I8] = {"i8", 1, CC_I8, CC_U8},
    [CC_U8] = {"u8", 1, CC_I8, CC_U8},     [CC_I16] = {"i16", 2, CC_I16, CC_U16},
    [CC_U16] = {"u16", 2, CC_I16, CC_U16}, [CC_I32] = {"i32", 4, CC_I32, CC_U32},
    [CC_U32] = {"u32", 4, CC_I32, CC_U32}, [CC_I64] = {"i64", 8, CC_I64, CC_U64},
    [CC_U64] = {"u64", 8, CC_I64, CC_U64}, [CC_F32] = {"f32", 4, CC_I32, CC_U32},
    [CC_F64] = {"f64", 8, CC_I64, CC_U64}, [CC_POINTER] = {"void *", 8, CC_I64, CC_U64},
};

unsigned cc_bytes(unsigned kind) { return kinds[kind].bytes; }
unsigned cc_signed(unsigned kind) { return kinds[kind].is_signed; }
unsigned cc_unsigned(unsigned kind) { return kinds[kind].is_unsigned; }
bool cc_is_signed(unsigned kind) { return kind > CC_BOOL && kind < CC_F32 && kinds[kind].is_signed == kind; }

uint32_t cc_padded(uint32_t lanes) {
  uint32_t width = 1;
  while (width < lanes) width *= 2;
  return width;
}

cc_type_text cc_type(unsigned kind, uint32_t width) {
  cc_type_text type;
  if (width > 1)
    snprintf(type.text, sizeof type.text, "%sx%u", kinds[kind].name, (unsigned)cc_padded(width) % 10000);
  else snprintf(type.text, sizeof type.text, "%s", kinds[kind].name);
  return type;
}

unsigned cc_kind_of(ir_dtype dtype) {
  static const uint8_t table[IR_DTYPE_COUNT] = {
      [IR_BOOL] = CC_BOOL, [IR_I8] = CC_I8,   [IR_U8] = CC_U8,   [IR_I16] = CC_I16,  [IR_U16] = CC_U16,
      [IR_I32] = CC_I32,   [IR_U32] = CC_U32, [IR_I64] = CC_I64, [IR_U64] = CC_U64,  [IR_F16] = CC_F32,
      [IR_BF16] = CC_F32,  [IR_F32] = CC_F32, [IR_F64] = CC_F64, [IR_INDEX] = CC_I64};
  return table[dtype];
}

unsigned cc_storage_of(ir_dtype dtype) {
  if (dtype == IR_BOOL) return CC_U8;
  return dtype == IR_F16 || dtype == IR_BF16 ? CC_U16 : cc_kind_of(dtype);
}

void cc_text_free(cc_emitter *e) {
  cg_scratch_free(&e->texts, e->nest->mem);
  ir_text_free(&e->out);
}

const char *cc_text(cc_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = cg_scratch_format(&e->texts, &e->order, format, args);
  va_end(args);
  return text;
}

/* expressions */

cc_value cc_make(cc_emitter *e, unsigned kind, uint32_t width, cc_level level, const char *format, ...) {
  va_list args;
  va_start(args, format);
  cc_value v = {.text = cg_scratch_format(&e->texts, &e->order, format, args),
                .kind = (uint8_t)kind,
                .level = (uint8_t)level,
                .width = (uint16_t)width};
  va_end(args);
  return v;
}

cc_value cc_fail(cc_emitter *e, ir_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  cg_order_fail(&e->order, status, "%s", cg_scratch_format(&e->texts, &e->order, format, args));
  va_end(args);
  return (cc_value){.text = "0", .kind = CC_I32, .level = CC_ATOM, .width = 1};
}

cc_value cc_literal(cc_emitter *e, unsigned kind, int64_t value) {
  cc_level level = value < 0 ? CC_UNARY : CC_ATOM;
  cc_value v;
  if (kind == CC_BOOL) v = cc_make(e, kind, 1, CC_ATOM, "%s", value ? "true" : "false");
  else if (kind == CC_I64 && value == INT64_MIN) v = cc_make(e, kind, 1, CC_ATOM, "INT64_MIN");
  else if (kind == CC_I32 && value == INT32_MIN) v = cc_make(e, kind, 1, CC_ATOM, "INT32_MIN");
  else if (kind == CC_U64) v = cc_make(e, kind, 1, CC_ATOM, "UINT64_C(%llu)", (unsigned long long)value);
  else if (kind == CC_I64)
    v = cc_make(e, kind, 1, level, "%sINT64_C(%lld)", value < 0 ? "-" : "",
                (long long)(value < 0 ? -value : value));
  else if (kind == CC_I32) v = cc_make(e, kind, 1, level, "%lld", (long long)value);
  else if (kind == CC_U32) v = cc_make(e, kind, 1, CC_ATOM, "%lluu", (unsigned long long)(uint32_t)value);
  else v = cc_make(e, kind, 1, CC_UNARY, "(%s)%lld", kinds[kind].name, (long long)value);
  v.literal = true;
  v.number = value;
  return v;
}

cc_value cc_real(cc_emitter *e, unsigned kind, double value) {
  cc_value v;
  const char *suffix = kind == CC_F32 ? "f" : "";
  if (isnan(value)) {
    v = cc_make(e, kind, 1, CC_ATOM, "NAN_%s", kinds[kind].name);
  } else if (!isfinite(value)) {
    v = cc_make(e, kind, 1, value < 0 ? CC_UNARY : CC_ATOM, "%sINFINITY_%s", value < 0 ? "-" : "",
                kinds[kind].name);
  } else {
    ir_text digits;
    ir_text_init(&digits, e->nest->mem);
    ir_print_double(&digits, value, kind == CC_F64 ? IR_F64 : IR_F32);
    v = cc_make(e, kind, 1, signbit(value) ? CC_UNARY : CC_ATOM, "%s%s", ir_text_get(&digits), suffix);
    if (digits.failed) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
    ir_text_free(&digits);
  }
  v.literal = true;
  return v;
}

const char *cc_parenthesised(cc_emitter *e, cc_value v, cc_level level) {
  return v.level >= (unsigned)level ? v.text : cc_text(e, "(%s)", v.text);
}

/* statements */

static void put_line(cc_emitter *e, const char *text, const char *end) {
  for (uint32_t i = 0; i < e->depth; i++) ir_text_str(&e->out, "  ");
  ir_text_str(&e->out, text);
  ir_text_str(&e->out, end);
}

void cc_line(cc_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_line(e, cg_scratch_format(&e->texts, &e->order, format, args), ";\n");
  va_end(args);
}

void cc_open(cc_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_line(e, cg_scratch_format(&e->texts, &e->order, format, args), " {\n");
  va_end(args);
  e->depth++;
}

void cc_close(cc_emitter *e) {
  e->depth--;
  put_line(e, "}\n", "");
}

static cc_value declared(cc_emitter *e, cc_value v, const char *name) {
  cc_line(e, "%s %s = %s", cc_type(v.kind, v.width).text, name, v.text);
  v.text = name;
  v.level = CC_ATOM;
  v.literal = false;
  return v;
}

cc_value cc_variable(cc_emitter *e, cc_value v) {
  if (!e->number) e->number = ++e->last_number;
  const char *name =
      e->variables > 1 ? cc_text(e, "v%u_%u", e->number - 1, e->variable) : cc_text(e, "v%u", e->number - 1);
  return declared(e, v, name);
}

bool cc_is_name(const char *text) {
  for (; *text; text++) {
    char c = *text;
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return false;
  }
  return true;
}

cc_value cc_temporary(cc_emitter *e, cc_value v) {
  if ((v.literal && v.width == 1) || (v.level == CC_ATOM && cc_is_name(v.text))) return v;
  return declared(e, v, cc_text(e, "v%u", e->last_number++));
}
