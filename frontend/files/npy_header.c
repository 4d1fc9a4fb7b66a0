#include "frontend/files/npy_header.h"

#include "frontend/files/file_error.h"

#include <stdio.h>
#include <string.h>

enum { EXCERPT = 24, EXCERPT_ROOM = 4 * EXCERPT + 8, LIST_ROOM = 256 };

typedef struct cursor {
  const char *text;
  size_t length, at;
  size_t offset; /* of text in the file */
  const char *name;
  ir_error *error;
  fe_npy_header *out;
} cursor;

/* Text for a message: unprintable bytes as \xNN, truncated after EXCERPT bytes. */
static const char *excerpt(char out[EXCERPT_ROOM], const char *text, size_t length) {
  size_t used = 0;
  for (size_t i = 0; i < length && i < EXCERPT; i++) {
    unsigned char byte = (unsigned char)text[i];
    bool plain = byte >= 32 && byte < 127;
    used += (size_t)snprintf(out + used, EXCERPT_ROOM - used, plain ? "%c" : "\\x%02X", byte);
  }
  snprintf(out + used, EXCERPT_ROOM - used, "%s", length > EXCERPT ? "..." : "");
  return out;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void skip_space(cursor *c) {
  while (c->at < c->length && is_space(c->text[c->at])) c->at++;
}

/* The next character after white space; 0 at the end. */
static char peek_char(cursor *c) {
  skip_space(c);
  return c->at < c->length ? c->text[c->at] : 0;
}

static bool accept_char(cursor *c, char wanted) {
  if (peek_char(c) != wanted) return false;
  c->at++;
  return true;
}

/* Length of the token at the cursor: a string, one mark, or a word of other characters. */
static size_t token_length(const cursor *c) {
  static const char marks[] = " ,:(){}[]'\"\t\n\r";
  const char *start = c->text + c->at;
  size_t left = c->length - c->at, n = 1;
  bool string = *start == '\'' || *start == '"';
  if (!string && strchr(marks, *start)) return 1;
  while (n < left && (string ? start[n] != *start : !strchr(marks, start[n]))) n++;
  return string && n < left ? n + 1 : n;
}

static ir_status expected(cursor *c, const char *what) {
  char text[EXCERPT_ROOM];
  skip_space(c);
  if (c->at == c->length)
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name, "the header ends at byte %zu; expected %s",
                        c->offset + c->length, what);
  return fe_file_fail(c->error, IR_ERR_INVALID, c->name, "the header has %s at byte %zu; expected %s",
                      excerpt(text, c->text + c->at, token_length(c)), c->offset + c->at, what);
}

static ir_status parse_string(cursor *c, const char **string, size_t *length, const char *what) {
  char quote = peek_char(c);
  if (quote == 'u' && c->at + 1 < c->length) quote = c->text[c->at + 1];
  if (quote != '\'' && quote != '"') return expected(c, what);
  size_t start = c->at + (c->text[c->at] == 'u' ? 2 : 1), end = start;
  while (end < c->length && c->text[end] != quote && c->text[end] != '\\' && c->text[end] != '\n') end++;
  if (end == c->length || c->text[end] != quote)
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name,
                        "the string at byte %zu of the header has %s before its end; expected a closing %c",
                        c->offset + c->at,
                        end == c->length       ? "the end of the header"
                        : c->text[end] == '\\' ? "a backslash"
                                               : "a new line",
                        quote);
  *string = c->text + start;
  *length = end - start;
  c->at = end + 1;
  return IR_OK;
}

/* Every descriptor that is read, for messages. */
static const char *descriptors(char out[LIST_ROOM]) {
  size_t used = 0;
  for (int t = 0; t < IR_DTYPE_COUNT; t++)
    if (ir_dtypes[t].npy[0])
      used += (size_t)snprintf(out + used, LIST_ROOM - used, "%s%s", used ? " " : "", ir_dtypes[t].npy);
  return out;
}

static const char *kind_name(char kind) {
  switch (kind) {
  case 'O': return " (Python objects)";
  case 'S':
  case 'a':
  case 'U': return " (strings)";
  case 'c': return " (complex numbers)";
  case 'M':
  case 'm': return " (dates or times)";
  case 'V': return " (opaque bytes; two of them are read as bf16)";
  default: return "";
  }
}

static ir_status parse_descr(cursor *c) {
  char list[LIST_ROOM], text[EXCERPT_ROOM];
  char next = peek_char(c);
  if (next == '[' || next == '(')
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name,
                        "'descr' is a structured dtype; expected one of %s", descriptors(list));
  const char *descr = NULL;
  size_t length = 0;
  ir_status status = parse_string(c, &descr, &length, "a string, the dtype, as the value of 'descr'");
  if (status != IR_OK) return status;
  bool ordered = length > 0 && strchr("<>|=", descr[0]) && descr[0];
  const char *code = descr + ordered;
  size_t code_length = length - ordered;
  for (int t = 0; t < IR_DTYPE_COUNT; t++) {
    const char *npy = ir_dtypes[t].npy;
    if (!npy[0] || strlen(npy + 1) != code_length || memcmp(npy + 1, code, code_length) != 0) continue;
    c->out->dtype = (ir_dtype)t;
    c->out->swap = descr[0] == '>' && ir_dtypes[t].bytes > 1;
    return IR_OK;
  }
  return fe_file_fail(c->error, IR_ERR_INVALID, c->name, "'descr' is '%s'%s; expected one of %s, or > for <",
                      excerpt(text, descr, length), code_length ? kind_name(code[0]) : "", descriptors(list));
}

static ir_status parse_order(cursor *c) {
  static const char what[] = "True or False as the value of 'fortran_order'";
  skip_space(c);
  if (c->at == c->length) return expected(c, what);
  size_t length = token_length(c);
  const char *word = c->text + c->at;
  c->out->fortran = length == 4 && memcmp(word, "True", 4) == 0;
  if (!c->out->fortran && (length != 5 || memcmp(word, "False", 5) != 0)) return expected(c, what);
  c->at += length;
  return IR_OK;
}

static ir_status parse_size(cursor *c, int64_t *size) {
  char text[EXCERPT_ROOM];
  char next = peek_char(c);
  size_t start = c->at, end = start + (next == '-' || next == '+'), digits = end;
  uint64_t value = 0;
  bool fits = true;
  for (; end < c->length && is_digit(c->text[end]); end++) {
    uint64_t digit = (uint64_t)(c->text[end] - '0');
    fits = fits && value <= (INT64_MAX - digit) / 10;
    if (fits) value = value * 10 + digit;
  }
  size_t count = end - digits;
  if (end < c->length && (c->text[end] == 'L' || c->text[end] == 'l')) end++;
  bool whole = count > 0 && (count == 1 || c->text[digits] != '0');
  if (!whole || token_length(c) != end - start) return expected(c, "an integer or ')' in 'shape'");
  if (next == '-' && (value > 0 || !fits))
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name,
                        "'shape' has the size %s in axis %d; expected 0 or more",
                        excerpt(text, c->text + start, end - start), c->out->rank);
  if (!fits)
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name,
                        "'shape' has the size %s in axis %d; expected at most 9223372036854775807",
                        excerpt(text, c->text + start, end - start), c->out->rank);
  c->at = end;
  *size = (int64_t)value;
  return IR_OK;
}

static ir_status parse_shape(cursor *c) {
  if (!accept_char(c, '(')) return expected(c, "a tuple such as (3, 4) as the value of 'shape'");
  c->out->rank = 0;
  bool comma = true;
  while (!accept_char(c, ')')) {
    int64_t size = 0;
    if (!comma) return expected(c, "',' or ')' in 'shape'");
    ir_status status = parse_size(c, &size);
    if (status != IR_OK) return status;
    if (c->out->rank == FE_MAX_RANK)
      return fe_file_fail(c->error, IR_ERR_INVALID, c->name,
                          "'shape' has more than %d axes; expected at most %d", FE_MAX_RANK, FE_MAX_RANK);
    c->out->shape[c->out->rank++] = size;
    comma = accept_char(c, ',');
  }
  if (c->out->rank == 1 && !comma)
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name,
                        "'shape' is the integer (%lld); expected a tuple, (%lld,) for one axis",
                        (long long)c->out->shape[0], (long long)c->out->shape[0]);
  return IR_OK;
}

static const struct {
  const char *name;
  ir_status (*parse)(cursor *);
} keys[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
enum { KEYS = sizeof keys / sizeof *keys };
static const char key_names[] = "the keys 'descr', 'fortran_order' and 'shape'";

static ir_status parse_item(cursor *c, bool seen[KEYS]) {
  char text[EXCERPT_ROOM];
  const char *name = NULL;
  size_t length = 0;
  ir_status status = parse_string(c, &name, &length, "a key in quotes or '}'");
  if (status != IR_OK) return status;
  int key = 0;
  while (key < KEYS && (strlen(keys[key].name) != length || memcmp(keys[key].name, name, length) != 0)) key++;
  if (key == KEYS)
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name, "the header has the key '%s'; expected %s only",
                        excerpt(text, name, length), key_names);
  if (seen[key])
    return fe_file_fail(c->error, IR_ERR_INVALID, c->name,
                        "the header has the key '%s' twice; expected it once", keys[key].name);
  seen[key] = true;
  if (!accept_char(c, ':')) return expected(c, "':' after a key");
  return keys[key].parse(c);
}

static ir_status parse_dict(cursor *c) {
  bool seen[KEYS] = {false}, comma = true;
  if (!accept_char(c, '{')) return expected(c, "a dict, which starts with '{'");
  while (!accept_char(c, '}')) {
    if (!comma) return expected(c, "',' or '}' after a value");
    ir_status status = parse_item(c, seen);
    if (status != IR_OK) return status;
    comma = accept_char(c, ',');
  }
  for (int key = 0; key < KEYS; key++)
    if (!seen[key])
      return fe_file_fail(c->error, IR_ERR_INVALID, c->name, "the header has no key '%s'; expected %s",
                          keys[key].name, key_names);
  skip_space(c);
  return c->at < c->length ? expected(c, "nothing after the dict") : IR_OK;
}

ir_status fe_npy_header_parse(const char *text, size_t length, size_t offset, int major, const char *name,
                              fe_npy_header *out, ir_error *error) {
  memset(out, 0, sizeof *out);
  for (size_t i = 0; i < length; i++)
    if (!text[i] || (major < 3 && (unsigned char)text[i] >= 128))
      return fe_file_fail(error, IR_ERR_INVALID, name,
                          "the header has the byte 0x%02X at byte %zu; expected %s", (unsigned char)text[i],
                          offset + i, major < 3 ? "ASCII text" : "text without zero bytes");
  cursor c = {text, length, 0, offset, name, error, out};
  ir_status status = parse_dict(&c);
  if (status != IR_OK) return status;
  char shape[FE_SHAPE_TEXT];
  fe_shape_text(shape, out->rank, out->shape);
  if (!fe_shape_bytes(out->dtype, out->rank, out->shape, &out->bytes))
    return fe_file_fail(error, IR_ERR_INVALID, name,
                        "an array of shape %s and dtype %s is too large; expected at most %td bytes", shape,
                        ir_dtypes[out->dtype].name, PTRDIFF_MAX);
  return IR_OK;
}

bool fe_shape_bytes(ir_dtype dtype, int rank, const int64_t *shape, size_t *bytes) {
  if ((unsigned)dtype >= IR_DTYPE_COUNT || !ir_dtypes[dtype].bytes || rank < 0 || rank > FE_MAX_RANK)
    return false;
  size_t total = ir_dtypes[dtype].bytes;
  bool empty = false;
  for (int k = 0; k < rank; k++) {
    if (shape[k] < 0) return false;
    empty |= shape[k] == 0;
    if (shape[k] > 0 && (uint64_t)shape[k] > (uint64_t)PTRDIFF_MAX / total) return false;
    if (shape[k] > 0) total *= (size_t)shape[k];
  }
  *bytes = empty ? 0 : total;
  return true;
}

void fe_shape_text(char out[FE_SHAPE_TEXT], int rank, const int64_t *shape) {
  size_t used = 1;
  memcpy(out, "(", 2);
  for (int k = 0; k < rank; k++)
    used += (size_t)snprintf(out + used, FE_SHAPE_TEXT - used, "%s%lld", k ? ", " : "", (long long)shape[k]);
  snprintf(out + used, FE_SHAPE_TEXT - used, rank == 1 ? ",)" : ")");
}

size_t fe_npy_header_format(char out[FE_NPY_HEADER_ROOM], ir_dtype dtype, int rank, const int64_t *shape) {
  enum { PREAMBLE = 10, ALIGNMENT = 64, FIRST_SIZE_WIDTH = 21 };
  char text[FE_SHAPE_TEXT];
  fe_shape_text(text, rank, shape);
  int length = PREAMBLE;
  length += snprintf(out + length, FE_NPY_HEADER_ROOM - PREAMBLE,
                     "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", ir_dtypes[dtype].npy, text);
  /* numpy leaves room for the first size to grow to 21 digits, then for one space or more to a multiple of 64
   */
  if (rank > 0) length += FIRST_SIZE_WIDTH - snprintf(NULL, 0, "%lld", (long long)shape[0]);
  int total = (length + 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
  size_t written = strlen(out + PREAMBLE) + PREAMBLE;
  memset(out + written, ' ', (size_t)total - written);
  out[total - 1] = '\n';
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)((total - PREAMBLE) & 255);
  out[9] = (char)((total - PREAMBLE) >> 8);
  return (size_t)total;
}
