/* The lexer. */
#include "ir/lex/lex.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ir/progress.h"

static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_name_char(int c) { return is_letter(c) || is_digit(c); }
static int hex_digit(int c) {
  return is_digit(c)            ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

static int peek_char(const ir_lexer *lx, size_t ahead) {
  return ahead < lx->length - lx->at ? (unsigned char)lx->text[lx->at + ahead] : -1;
}

static int column_of(const ir_lexer *lx, size_t at) {
  size_t column = at - lx->line_start + 1;
  return column > INT_MAX ? INT_MAX : (int)column;
}

static void stop_at_end(ir_lexer *lx) {
  lx->at = lx->length;
  lx->token =
      (ir_token){.kind = IR_TOKEN_END, .first = true, .line = lx->token.line, .column = lx->token.column};
}

bool ir_lex_fail_at(ir_lexer *lx, int line, int column, const char *format, ...) {
  char text[800];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ir_fail(lx->error, IR_ERR_INVALID, "%s:%d:%d: error: %s", lx->file, line, column, text);
  stop_at_end(lx);
  return false;
}

bool ir_lex_prefix_error(ir_lexer *lx, int line, int column) {
  char text[800];
  ir_status status = lx->error->status;
  if (ir_gives_up(status)) return false;
  size_t length = strlen(lx->error->text);
  if (length >= sizeof text) length = sizeof text - 1;
  memcpy(text, lx->error->text, length);
  text[length] = '\0';
  ir_error_clear(lx->error);
  ir_fail(lx->error, status ? status : IR_ERR_INTERNAL, "%s:%d:%d: error: %s", lx->file, line, column, text);
  return false;
}

/* the first 40 bytes of a token between quotes, in printable form */
static void quote(char *out, size_t size, const char *text, size_t length) {
  size_t n = 0, shown = length > 40 ? 40 : length;
  out[n++] = '\'';
  for (size_t i = 0; i < shown && n + 9 < size; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= ' ' && c < 127) out[n++] = (char)c;
    else n += (size_t)snprintf(out + n, size - n, "\\x%02x", c);
  }
  snprintf(out + n, size - n, "%s'", shown < length ? "..." : "");
}

bool ir_lex_fail(ir_lexer *lx, const char *wrong, const char *expected) {
  const ir_token *t = &lx->token;
  char found[200];
  int line = t->line, column = t->column;
  if (lx->by_line && t->first) {
    line = lx->end_line, column = lx->end_column;
    snprintf(found, sizeof found, "the end of the line");
  } else if (t->kind == IR_TOKEN_END) {
    snprintf(found, sizeof found, "the end of the text");
  } else {
    const char *from =
        t->kind == IR_TOKEN_STRING || (t->kind == IR_TOKEN_NAME && t->quoted) ? t->text - 1 : t->text;
    quote(found, sizeof found, t->kind == IR_TOKEN_NAME ? from - 1 : from,
          (size_t)(t->text + t->length - from) + (from < t->text) + (t->kind == IR_TOKEN_NAME));
  }
  return ir_lex_fail_at(lx, line, column, "%s, found %s, expected %s", wrong, found, expected);
}

static void skip_blank(ir_lexer *lx) {
  for (;; lx->at++) {
    int c = peek_char(lx, 0);
    if (c == '#')
      while (peek_char(lx, 1) >= 0 && peek_char(lx, 1) != '\n') lx->at++;
    else if (c == '\n') {
      lx->line += lx->line < INT_MAX;
      lx->line_start = lx->at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') return;
  }
}

bool ir_text_to_double(const char *text, size_t length, double *value) {
  char point[16], copy[1100];
  int wide = snprintf(point, sizeof point, "%.1f", 0.5); /* "0", the locale's decimal point, "5" */
  if (length > 1000 || wide < 3 || wide >= (int)sizeof point) return false;
  size_t n = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '.') {
      memcpy(copy + n, point + 1, (size_t)wide - 2);
      n += (size_t)wide - 2;
    } else {
      copy[n++] = text[i];
    }
  }
  copy[n] = '\0';
  return sscanf(copy, "%lf", value) == 1 && *value - *value == 0;
}

static void lex_hex(ir_lexer *lx) {
  ir_token *t = &lx->token;
  size_t digits = 0;
  for (lx->at += 2; hex_digit(peek_char(lx, 0)) >= 0; lx->at++) {
    t->integer = t->integer << 4 | (uint64_t)hex_digit(peek_char(lx, 0));
    digits += digits > 0 || t->integer != 0;
  }
  t->kind = IR_TOKEN_INT;
  if (digits > 16)
    ir_lex_fail_at(lx, t->line, t->column, "integer too large, found more than 16 digits, expected 64 bits");
}

static void lex_number(ir_lexer *lx) {
  ir_token *t = &lx->token;
  bool fits = true;
  size_t start = lx->at;
  t->kind = IR_TOKEN_INT;
  if (peek_char(lx, 0) == '0' && (peek_char(lx, 1) == 'x' || peek_char(lx, 1) == 'X') &&
      hex_digit(peek_char(lx, 2)) >= 0) {
    lex_hex(lx);
  } else {
    for (; is_digit(peek_char(lx, 0)); lx->at++) {
      uint64_t digit = (uint64_t)(peek_char(lx, 0) - '0');
      fits = fits && t->integer <= (UINT64_MAX - digit) / 10;
      t->integer = t->integer * 10 + digit;
    }
    if (peek_char(lx, 0) == '.' && is_digit(peek_char(lx, 1))) {
      t->kind = IR_TOKEN_FLOAT;
      for (lx->at++; is_digit(peek_char(lx, 0));) lx->at++;
    }
    int e = peek_char(lx, 0), s = peek_char(lx, 1);
    if ((e == 'e' || e == 'E') && (is_digit(s) || ((s == '+' || s == '-') && is_digit(peek_char(lx, 2))))) {
      t->kind = IR_TOKEN_FLOAT;
      for (lx->at += 2; is_digit(peek_char(lx, 0));) lx->at++;
    }
  }
  if (lx->error->status) return;
  t->length = lx->at - start;
  char found[200];
  quote(found, sizeof found, t->text, t->length);
  if (is_letter(peek_char(lx, 0))) {
    bool sizes = peek_char(lx, 0) == 'x' && is_digit(peek_char(lx, 1));
    ir_lex_fail_at(lx, t->line, t->column,
                   "malformed number, found %s followed by a letter, expected digits%s", found,
                   sizes ? " and, between sizes, ',', as in f32[4,4]" : "");
  } else if (t->kind == IR_TOKEN_INT && !fits)
    ir_lex_fail_at(lx, t->line, t->column,
                   "integer too large, found %s, expected at most 18446744073709551615", found);
  else if (t->kind == IR_TOKEN_FLOAT && !ir_text_to_double(t->text, t->length, &t->number))
    ir_lex_fail_at(lx, t->line, t->column,
                   "number too large, found %s, expected a finite f64 of at most 1000 characters", found);
}

/* At the opening quote. The token's text is what stands between the quotes. */
static bool lex_string(ir_lexer *lx) {
  ir_token *t = &lx->token;
  size_t start = ++lx->at;
  for (int c; (c = peek_char(lx, 0)) != '"'; lx->at++) {
    if (c < ' ')
      return ir_lex_fail_at(lx, t->line, t->column,
                            "unfinished string, found the end of the line, expected '\"'");
    if (c != '\\') continue;
    int e = peek_char(lx, 1);
    bool hex = e == 'x' && hex_digit(peek_char(lx, 2)) >= 0 && hex_digit(peek_char(lx, 3)) >= 0;
    if (e != '\\' && e != '"' && e != 'n' && e != 't' && !hex)
      return ir_lex_fail_at(lx, lx->line, column_of(lx, lx->at),
                            "unknown escape in a string, expected one of \\\\ \\\" \\n \\t \\xHH");
    lx->at++;
  }
  t->text = lx->text + start;
  t->length = lx->at++ - start;
  t->quoted = true;
  return true;
}

/* The bytes of the character outside of ASCII that begins at `at`, in UTF-8; 0: none does. */
static size_t wide_character(const ir_lexer *lx, size_t at) {
  int lead = at < lx->length ? (unsigned char)lx->text[at] : 0;
  size_t bytes = lead >= 0xc2 && lead < 0xe0   ? 2
                 : lead >= 0xe0 && lead < 0xf0 ? 3
                 : lead >= 0xf0 && lead < 0xf5 ? 4
                                               : 0;
  if (bytes > lx->length - at) return 0;
  for (size_t i = 1; i < bytes; i++)
    if (((unsigned char)lx->text[at + i] & 0xc0) != 0x80) return 0;
  return bytes;
}

/* What is meant by characters that word processors put in place of others. */
static const char *meant_by(const char *character) {
  static const char *const signs[][2] = {
      {"\xe2\x88\x92", "'-'"},  /* U+2212 */
      {"\xe2\x80\x93", "'-'"},  /* U+2013 */
      {"\xe2\x80\x9c", "'\"'"}, /* U+201C */
      {"\xe2\x80\x9d", "'\"'"}, /* U+201D */
      {"\xe2\x80\x98", "'\"', with which a text begins and ends"},
      {"\xe2\x80\x99", "'\"', with which a text begins and ends"},
      {"\xc2\xa0", "a blank: this is one without a line break"},
      {"\xe2\x86\x92", "'->'"}, /* U+2192 */
  };
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (strncmp(character, signs[i][0], strlen(signs[i][0])) == 0) return signs[i][1];
  return "a character of ASCII; a name of others stands in quotes, as in %\"\xce\xb1\"";
}

static bool refuse_wide(ir_lexer *lx, size_t at, size_t bytes) {
  char character[5] = "";
  memcpy(character, lx->text + at, bytes);
  return ir_lex_fail_at(lx, lx->line, column_of(lx, at), "unexpected character, found '%s', expected %s",
                        character, meant_by(character));
}

static void lex_sign(ir_lexer *lx) {
  static const char twos[] = "//..<=>===!=<<>>", ones[] = "()[]{},:=+-*/%<>&|^!@.?";
  ir_token *t = &lx->token;
  int c = peek_char(lx, 0), d = peek_char(lx, 1);
  t->kind = IR_TOKEN_SIGN;
  for (size_t i = 0; twos[i]; i += 2)
    if (c == twos[i] && d == twos[i + 1]) {
      t->sign = IR_SIGN2(c, d);
      t->length = 2;
      lx->at += 2;
      return;
    }
  if (c <= 0 || !strchr(ones, c)) {
    size_t wide = wide_character(lx, lx->at);
    if (wide) {
      refuse_wide(lx, lx->at, wide);
      return;
    }
    char found[200];
    quote(found, sizeof found, t->text, 1);
    ir_lex_fail_at(lx, t->line, t->column, "unexpected character, found %s, expected %s", found,
                   *t->text == ';'    ? "the end of the line, which ends a statement, or ',' within a list"
                   : *t->text == '\'' ? "'\"', with which a text begins and ends"
                   : *t->text == '$'  ? "'%', with which the name of a value begins, as in %x"
                   : c < 32 || (unsigned)c >= 127 ? "text; is this a file of another kind?"
                                                  : "a name, a number or a sign");
    return;
  }
  t->sign = c;
  t->length = 1;
  lx->at++;
}

void ir_lex_next(ir_lexer *lx) {
  if (lx->error->status) {
    stop_at_end(lx);
    return;
  }
  int before = lx->token.line;
  lx->end_line = lx->line;
  lx->end_column = column_of(lx, lx->at);
  skip_blank(lx);
  ir_token *t = &lx->token;
  *t = (ir_token){.first = lx->line != before,
                  .line = lx->line,
                  .column = column_of(lx, lx->at),
                  .text = lx->text + lx->at};
  int c = peek_char(lx, 0);
  if (c < 0) {
    t->first = true;
  } else if (is_letter(c)) {
    t->kind = IR_TOKEN_WORD;
    while (is_name_char(peek_char(lx, 0))) lx->at++;
    t->length = (size_t)(lx->text + lx->at - t->text);
  } else if (is_digit(c)) {
    lex_number(lx);
  } else if (c == '"') {
    if (lex_string(lx)) t->kind = IR_TOKEN_STRING;
  } else {
    lex_sign(lx);
  }
}

void ir_lex_start(ir_lexer *lx, ir_error *error, const char *file, const char *text, size_t length) {
  *lx = (ir_lexer){.error = error, .file = file, .text = text ? text : "", .length = length, .line = 1};
  if (length > IR_TEXT_MOST)
    ir_lex_fail_at(lx, 1, 1, "a text of %zu bytes, expected at most %zu", length, IR_TEXT_MOST);
  else ir_lex_next(lx);
}

bool ir_lex_name(ir_lexer *lx) {
  ir_token *t = &lx->token;
  if (peek_char(lx, 0) == '"') {
    if (!lex_string(lx)) return false;
    if (t->length == 0)
      return ir_lex_fail_at(lx, t->line, t->column, "empty name, found '%c\"\"', expected '%cNAME'", t->sign,
                            t->sign);
  } else {
    size_t start = lx->at;
    while (is_name_char(peek_char(lx, 0))) lx->at++;
    size_t wide = lx->at == start ? wide_character(lx, start) : 0;
    if (wide) return refuse_wide(lx, start, wide);
    if (lx->at == start)
      return ir_lex_fail_at(lx, t->line, t->column, "missing name, found '%c' alone, expected '%cNAME'",
                            t->sign, t->sign);
    t->text = lx->text + start;
    t->length = lx->at - start;
  }
  t->kind = IR_TOKEN_NAME;
  return true;
}

bool ir_lex_is(const ir_lexer *lx, int sign) {
  return lx->token.kind == IR_TOKEN_SIGN && lx->token.sign == sign;
}

bool ir_token_is(const ir_token *t, const char *word) {
  return t->kind == IR_TOKEN_WORD && strlen(word) == t->length && memcmp(word, t->text, t->length) == 0;
}

bool ir_lex_is_word(const ir_lexer *lx, const char *word) { return ir_token_is(&lx->token, word); }

bool ir_lex_accept(ir_lexer *lx, int sign) {
  if (!ir_lex_is(lx, sign)) return false;
  ir_lex_next(lx);
  return true;
}

bool ir_lex_expect(ir_lexer *lx, int sign, const char *wrong) {
  if (ir_lex_accept(lx, sign)) return true;
  char expected[8];
  snprintf(expected, sizeof expected, sign > 255 ? "'%c%c'" : "'%c'", sign & 255, sign >> 8);
  return ir_lex_fail(lx, wrong, expected);
}

size_t ir_lex_unescape(const ir_token *t, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < t->length; i++) {
    char c = t->text[i];
    if (t->quoted && c == '\\' && i + 1 < t->length) {
      c = t->text[++i];
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c == 'x' && i + 2 < t->length) {
        c = (char)(hex_digit((unsigned char)t->text[i + 1]) * 16 + hex_digit((unsigned char)t->text[i + 2]));
        i += 2;
      }
    }
    out[n++] = c;
  }
  return n;
}

void ir_lex_print_string(ir_text *out, const char *bytes, size_t length) {
  ir_text_str(out, "\"");
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c == '"' || c == '\\') ir_textf(out, "\\%c", c);
    else if (c >= ' ' && c < 127) ir_text_add(out, bytes + i, 1);
    else ir_textf(out, "\\x%02x", c);
  }
  ir_text_str(out, "\"");
}

void ir_lex_print_name(ir_text *out, const char *bytes, size_t length) {
  bool plain = length > 0;
  for (size_t i = 0; i < length; i++) plain = plain && is_name_char((unsigned char)bytes[i]);
  if (plain) ir_text_add(out, bytes, length);
  else ir_lex_print_string(out, bytes, length);
}

/* does the text read back as `value` in the dtype? */
static bool reads_back(const char *text, double value, ir_dtype dtype) {
  double again;
  if (!ir_text_to_double(text, strlen(text), &again)) return false;
  ir_value v = ir_value_cast((ir_value){.f = again}, IR_F64, dtype);
  return v.f == value;
}

void ir_print_double(ir_text *out, double value, ir_dtype dtype) {
  if (value != value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bits == 0x7ff8000000000000u) ir_text_str(out, "nan");
    else ir_textf(out, "nan(0x%016llx)", (unsigned long long)bits);
    return;
  }
  if (value - value != 0) {
    ir_text_str(out, value < 0 ? "-inf" : "inf");
    return;
  }
  if (value > -1e15 && value < 1e15 && (double)(long long)value == value) { /* 100.0 rather than 1e+02 */
    ir_textf(out, "%.0f.0", value);
    return;
  }
  char raw[64], text[64];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(raw, sizeof raw, "%.*g", digits, value);
    size_t n = 0;
    bool is_float = false;
    for (const char *c = raw; *c; c++) {
      bool plain = is_digit((unsigned char)*c) || *c == '-' || *c == '+' || *c == 'e';
      is_float = is_float || !plain || *c == 'e';
      if (plain) text[n++] = *c;
      else if (n == 0 || text[n - 1] != '.') text[n++] = '.'; /* the locale's point, one or more bytes */
    }
    text[n] = '\0';
    if (!is_float) memcpy(text + n, ".0", 3);
    if (digits == 17 || reads_back(text, value, dtype)) break;
  }
  ir_text_str(out, text);
}

void ir_print_value(ir_text *out, ir_value value, ir_dtype dtype) {
  if (ir_is_float(dtype)) ir_print_double(out, value.f, dtype);
  else if (dtype == IR_BOOL) ir_text_str(out, value.i ? "true" : "false");
  else if (dtype == IR_U64) ir_textf(out, "%llu", (unsigned long long)value.i);
  else ir_text_int(out, value.i);
}
