/* Types, literals, expressions and statements as text. */
#include "codegen/text/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/lex/lex.h"

static const struct {
  uint8_t bytes, is_signed, is_unsigned;
} kinds[] = {
    [TX_BOOL] = {1, TX_I8, TX_U8},  [TX_I8] = {1, TX_I8, TX_U8},    [TX_U8] = {1, TX_I8, TX_U8},
    [TX_I16] = {2, TX_I16, TX_U16}, [TX_U16] = {2, TX_I16, TX_U16}, [TX_I32] = {4, TX_I32, TX_U32},
    [TX_U32] = {4, TX_I32, TX_U32}, [TX_I64] = {8, TX_I64, TX_U64}, [TX_U64] = {8, TX_I64, TX_U64},
    [TX_F32] = {4, TX_I32, TX_U32}, [TX_F64] = {8, TX_I64, TX_U64}, [TX_SOFT_F64] = {8, TX_I64, TX_U64},
};

unsigned tx_bytes(unsigned kind) { return kinds[kind].bytes; }
unsigned tx_signed(unsigned kind) { return kinds[kind].is_signed; }
unsigned tx_unsigned(unsigned kind) { return kinds[kind].is_unsigned; }
bool tx_is_signed(unsigned kind) {
  return kind > TX_BOOL && !tx_is_real(kind) && kinds[kind].is_signed == kind;
}

/* Widths that are no powers of two have the type of the next one, elements beyond which may be anything. */
static uint32_t padded(uint32_t lanes) {
  uint32_t width = 1;
  while (width < lanes) width *= 2;
  return width;
}

const char *tx_type(tx_emitter *e, unsigned kind, uint32_t width) {
  const tx_language *l = e->language;
  return width > 1 ? tx_text(e, "%s%s%u", l->kinds[kind].name, l->times, padded(width)) : l->kinds[kind].name;
}

unsigned tx_kind_of(const tx_emitter *e, ir_dtype dtype) {
  static const uint8_t table[IR_DTYPE_COUNT] = {
      [IR_BOOL] = TX_BOOL, [IR_I8] = TX_I8,   [IR_U8] = TX_U8,   [IR_I16] = TX_I16,  [IR_U16] = TX_U16,
      [IR_I32] = TX_I32,   [IR_U32] = TX_U32, [IR_I64] = TX_I64, [IR_U64] = TX_U64,  [IR_F16] = TX_F32,
      [IR_BF16] = TX_F32,  [IR_F32] = TX_F32, [IR_F64] = TX_F64, [IR_INDEX] = TX_I64};
  return dtype == IR_F64 && e->soft_f64 ? TX_SOFT_F64 : table[dtype];
}

unsigned tx_storage_of(const tx_emitter *e, ir_dtype dtype) {
  if (dtype == IR_BOOL) return TX_U8;
  return dtype == IR_F16 || dtype == IR_BF16 ? TX_U16 : tx_kind_of(e, dtype);
}

void tx_text_free(tx_emitter *e) {
  cg_scratch_free(&e->texts, e->nest->mem);
  ir_text_free(&e->out);
}

const char *tx_text(tx_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = cg_scratch_format(&e->texts, &e->order, format, args);
  va_end(args);
  return text;
}

/* expressions */

tx_value tx_make(tx_emitter *e, unsigned kind, uint32_t width, tx_level level, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tx_value v = {.text = cg_scratch_format(&e->texts, &e->order, format, args),
                .kind = (uint8_t)kind,
                .level = (uint8_t)level,
                .width = (uint16_t)width};
  va_end(args);
  return v;
}

tx_value tx_fail(tx_emitter *e, ir_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  cg_order_fail(&e->order, status, "%s", cg_scratch_format(&e->texts, &e->order, format, args));
  va_end(args);
  return (tx_value){.text = "0", .kind = TX_I32, .level = TX_ATOM, .width = 1};
}

tx_value tx_literal(tx_emitter *e, unsigned kind, int64_t value) {
  const tx_kind_names *n = &e->language->kinds[kind];
  int64_t least = -1 - (INT64_MAX >> (64 - 8 * tx_bytes(kind)));
  bool negative = value < 0 && tx_is_signed(kind);
  unsigned long long digits = negative ? 0 - (uint64_t)value : (uint64_t)value;
  tx_value v;
  if (kind == TX_U32) digits = (uint32_t)digits;
  if (kind == TX_BOOL) v = tx_make(e, kind, 1, TX_ATOM, "%s", value ? "true" : "false");
  else if (n->least && value == least) v = tx_make(e, kind, 1, TX_ATOM, "%s", n->least);
  else if (!n->before) v = tx_make(e, kind, 1, TX_UNARY, "(%s)%lld", n->name, (long long)value);
  else
    v = tx_make(e, kind, 1, negative ? TX_UNARY : TX_ATOM, "%s%s%llu%s", negative ? "-" : "", n->before,
                digits, n->after);
  v.literal = true;
  v.number = value;
  return v;
}

tx_value tx_real(tx_emitter *e, unsigned kind, double value) {
  const tx_kind_names *n = &e->language->kinds[kind];
  ir_text text;
  ir_text_init(&text, e->nest->mem);
  if (kind == TX_SOFT_F64) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ir_textf(&text, "0x%llxUL", (unsigned long long)bits);
  } else if (isnan(value)) {
    ir_text_str(&text, n->nan);
  } else if (!isfinite(value)) {
    ir_textf(&text, "%s%s", value < 0 ? "-" : "", n->infinity);
  } else {
    ir_print_double(&text, value, kind == TX_F64 ? IR_F64 : IR_F32);
    ir_text_str(&text, kind == TX_F32 ? "f" : "");
  }
  if (text.failed) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  const char *all = ir_text_get(&text);
  tx_value v = tx_make(e, kind, 1, all[0] == '-' || all[0] == '(' ? TX_UNARY : TX_ATOM, "%s", all);
  ir_text_free(&text);
  v.literal = true;
  return v;
}

const char *tx_parenthesised(tx_emitter *e, tx_value v, tx_level level) {
  return v.level >= (unsigned)level ? v.text : tx_text(e, "(%s)", v.text);
}

/* statements */

static void put_line(tx_emitter *e, const char *text, const char *end) {
  for (uint32_t i = 0; i < e->depth; i++) ir_text_str(&e->out, "  ");
  ir_text_str(&e->out, text);
  ir_text_str(&e->out, end);
}

void tx_line(tx_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_line(e, cg_scratch_format(&e->texts, &e->order, format, args), ";\n");
  va_end(args);
}

void tx_open(tx_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_line(e, cg_scratch_format(&e->texts, &e->order, format, args), " {\n");
  va_end(args);
  e->depth++;
}

void tx_leave_block(tx_emitter *e) {
  e->depth--;
  if (e->language->block_closed) e->language->block_closed(e);
}

void tx_close(tx_emitter *e) {
  tx_leave_block(e);
  put_line(e, "}\n", "");
}

static tx_value declared(tx_emitter *e, tx_value v, const char *name) {
  tx_line(e, "%s %s = %s", tx_type(e, v.kind, v.width), name, v.text);
  return (tx_value){.text = name, .kind = v.kind, .level = TX_ATOM, .width = v.width};
}

tx_value tx_variable(tx_emitter *e, tx_value v) {
  if (!e->number) e->number = ++e->last_number;
  const char *name =
      e->variables > 1 ? tx_text(e, "v%u_%u", e->number - 1, e->variable) : tx_text(e, "v%u", e->number - 1);
  return declared(e, v, name);
}

bool tx_is_name(const char *text) {
  for (; *text; text++) {
    char c = *text;
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return false;
  }
  return true;
}

tx_value tx_temporary(tx_emitter *e, tx_value v) {
  if (v.literal && (v.width == 1 || e->language->repeats_literals)) return v;
  if (v.level == TX_ATOM && tx_is_name(v.text)) return v;
  return declared(e, v, tx_text(e, "v%u", e->last_number++));
}
