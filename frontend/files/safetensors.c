/* safetensors: eight bytes with the length of a header, the header in JSON, then the elements of all arrays.
 * https://huggingface.co/docs/safetensors: arrays are row-major and little-endian, and follow each other in
 * the order of their offsets without holes. `__metadata__` has strings by name, which are passed over.
 *
 * The header is read by a small reader of its own rather than through a library for JSON: it is one table of
 * a fixed form, and a tree of it would take a hundred times the memory of its text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/files/formats.h"
#include "frontend/files/npy_header.h"

enum {
  HEADER_AT = 8,           /* bytes before the header, which are its length */
  HEADER_MOST = 100000000, /* bytes; the same limit as in other readers */
  DATA_ALIGN = 8           /* what writers pad the header to */
};
static const char metadata[] = "__metadata__";

/* bits 0: no whole number of bytes for each element. */
static const struct type {
  const char *name;
  ir_dtype dtype;
  int bits;
} types[] = {
    {"BOOL", IR_BOOL, 8},    {"U8", IR_U8, 8},        {"I8", IR_I8, 8},        {"U16", IR_U16, 16},
    {"I16", IR_I16, 16},     {"U32", IR_U32, 32},     {"I32", IR_I32, 32},     {"U64", IR_U64, 64},
    {"I64", IR_I64, 64},     {"F16", IR_F16, 16},     {"BF16", IR_BF16, 16},   {"F32", IR_F32, 32},
    {"F64", IR_F64, 64},     {"F8_E5M2", IR_NONE, 8}, {"F8_E4M3", IR_NONE, 8}, {"F8_E8M0", IR_NONE, 8},
    {"F6_E2M3", IR_NONE, 6}, {"F6_E3M2", IR_NONE, 6}, {"F4", IR_NONE, 4},      {"C64", IR_NONE, 64}};
enum { TYPES = sizeof types / sizeof *types };

/* reading */

typedef struct reader {
  const char *text;
  size_t length, at;
  fe_arrays *out;
  ir_error *error;
  char *string; /* room for `length` bytes: the last string, escapes resolved, */
  size_t string_length;
} reader;

static bool expected(const reader *r, const char *what) {
  const char *found = r->at < r->length ? "" : " at its end";
  char byte[16] = "";
  if (r->at < r->length) {
    uint8_t at = (uint8_t)r->text[r->at];
    snprintf(byte, sizeof byte, at > ' ' && at < 127 ? ", found '%c'" : ", found 0x%02X", at);
  }
  fe_file_fail(r->error, IR_ERR_INVALID, r->out->source.name,
               "the header is wrong at byte %zu%s%s; expected %s", HEADER_AT + r->at, byte, found, what);
  return false;
}

static void skip_space(reader *r) {
  while (r->at < r->length && strchr(" \t\n\r", r->text[r->at]) && r->text[r->at]) r->at++;
}

static bool accept(reader *r, char sign) {
  skip_space(r);
  if (r->at >= r->length || r->text[r->at] != sign) return false;
  r->at++;
  return true;
}

static bool read_hex(reader *r, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    char c = r->at < r->length ? r->text[r->at] : 0;
    uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : 16;
    if (c >= 'a' && c <= 'f') digit = (uint32_t)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = (uint32_t)(c - 'A') + 10;
    if (digit == 16) return expected(r, "four hexadecimal digits after \\u");
    *code = *code << 4 | digit;
  }
  return true;
}

/* An escape takes at least as many bytes as the UTF-8 that it stands for. */
static bool read_escape(reader *r, size_t *n) {
  static const char signs[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char c = r->at < r->length ? r->text[r->at] : 0;
  const char *sign = c ? strchr(signs, c) : NULL;
  uint32_t code, low;
  if (sign) {
    r->string[(*n)++] = values[sign - signs];
    r->at++;
    return true;
  }
  if (c != 'u') return expected(r, "an escape of JSON");
  r->at++;
  if (!read_hex(r, &code)) return false;
  if (code >= 0xD800 && code < 0xDC00) {
    if (r->length - r->at < 2 || memcmp(r->text + r->at, "\\u", 2) != 0)
      return expected(r, "the second half of a surrogate pair");
    r->at += 2;
    if (!read_hex(r, &low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return expected(r, "the second half of a surrogate pair before this");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  char *to = r->string + *n;
  if (code < 0x80) to[0] = (char)code, *n += 1;
  else if (code < 0x800) to[0] = (char)(0xC0 | code >> 6), to[1] = (char)(0x80 | (code & 0x3F)), *n += 2;
  else if (code < 0x10000)
    to[0] = (char)(0xE0 | code >> 12), to[1] = (char)(0x80 | (code >> 6 & 0x3F)),
    to[2] = (char)(0x80 | (code & 0x3F)), *n += 3;
  else
    to[0] = (char)(0xF0 | code >> 18), to[1] = (char)(0x80 | (code >> 12 & 0x3F)),
    to[2] = (char)(0x80 | (code >> 6 & 0x3F)), to[3] = (char)(0x80 | (code & 0x3F)), *n += 4;
  return true;
}

static bool read_string(reader *r, const char *what) {
  if (!accept(r, '"')) return expected(r, what);
  size_t n = 0;
  for (;;) {
    if (r->at >= r->length || (uint8_t)r->text[r->at] < ' ') return expected(r, "the end of a string");
    char c = r->text[r->at++];
    if (c == '"') break;
    if (c != '\\') r->string[n++] = c;
    else if (!read_escape(r, &n)) return false;
  }
  r->string_length = n;
  return true;
}

static bool string_is(const reader *r, const char *text) {
  return r->string_length == strlen(text) && memcmp(r->string, text, r->string_length) == 0;
}

static bool read_size(reader *r, uint64_t *value) {
  skip_space(r);
  size_t from = r->at;
  bool fits = true;
  for (*value = 0; r->at < r->length && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
    uint64_t digit = (uint64_t)(r->text[r->at] - '0');
    fits = fits && *value <= (INT64_MAX - digit) / 10;
    if (fits) *value = *value * 10 + digit;
  }
  if (r->at == from || (r->text[from] == '0' && r->at - from > 1) || !fits) {
    r->at = from;
    return expected(r, "an integer from 0 to 2^63 - 1");
  }
  return true;
}

/* A list of at most `most` sizes. */
static bool read_list(reader *r, uint64_t *values, int most, int *count, const char *what) {
  *count = 0;
  if (!accept(r, '[')) return expected(r, what);
  if (accept(r, ']')) return true;
  do {
    if (*count == most) return expected(r, what);
    if (!read_size(r, &values[(*count)++])) return false;
  } while (accept(r, ','));
  return accept(r, ']') || expected(r, "',' or ']'");
}

/* Passes over the names and strings of __metadata__. */
static bool read_metadata(reader *r) {
  if (!accept(r, '{')) return expected(r, "an object of strings");
  if (accept(r, '}')) return true;
  do {
    if (!read_string(r, "a name")) return false;
    if (!accept(r, ':')) return expected(r, "':'");
    if (!read_string(r, "a string")) return false;
  } while (accept(r, ','));
  return accept(r, '}') || expected(r, "',' or '}'");
}

typedef struct description {
  const struct type *type;
  uint64_t shape[FE_MAX_RANK], offsets[2];
  int rank, offset_count;
  bool has_shape;
} description;

static bool read_field(reader *r, description *d) {
  static const char fields[] = "one of \"dtype\", \"shape\" and \"data_offsets\", each once";
  size_t from = r->at;
  if (!read_string(r, fields)) return false;
  bool dtype = string_is(r, "dtype") && !d->type, shape = string_is(r, "shape") && !d->has_shape,
       offsets = string_is(r, "data_offsets") && !d->offset_count;
  if (!dtype && !shape && !offsets) {
    r->at = from;
    return expected(r, fields);
  }
  if (!accept(r, ':')) return expected(r, "':'");
  if (shape)
    return d->has_shape = read_list(r, d->shape, FE_MAX_RANK, &d->rank, "a list of at most 16 sizes");
  if (offsets)
    return read_list(r, d->offsets, 2, &d->offset_count, "a list of two offsets") &&
           (d->offset_count == 2 || expected(r, "a list of two offsets before this"));
  if (!read_string(r, "the name of a dtype")) return false;
  size_t i = 0;
  while (i < TYPES && !string_is(r, types[i].name)) i++;
  if (i == TYPES)
    return expected(r,
                    "a dtype before this: BOOL, U8 to U64, I8 to I64, F16, BF16, F32, F64 or a smaller one");
  d->type = &types[i];
  return true;
}

/* Bytes of the elements; false where there are too many, or part of a byte. */
static bool bytes_of(const description *d, uint64_t *bytes) {
  uint64_t bits = (uint64_t)d->type->bits;
  bool fits = true, empty = false;
  for (int i = 0; i < d->rank; i++) {
    empty |= d->shape[i] == 0;
    fits = fits && (d->shape[i] == 0 || bits <= INT64_MAX / d->shape[i]);
    if (fits && d->shape[i]) bits *= d->shape[i];
  }
  *bytes = empty ? 0 : bits / 8;
  return fits && (empty || bits % 8 == 0);
}

static bool check_sizes(const reader *r, const description *d, const char *label, uint64_t data) {
  const char *file = r->out->source.name;
  uint64_t bytes = 0, begin = d->offsets[0], end = d->offsets[1];
  if (begin > end || end > data)
    fe_file_fail(r->error, IR_ERR_INVALID, file,
                 "%s is at bytes %" PRIu64 " to %" PRIu64 " of the data, which has %" PRIu64, label, begin,
                 end, data);
  else if (!bytes_of(d, &bytes))
    fe_file_fail(r->error, IR_ERR_INVALID, file, "%s has a shape of too many elements, or of part of a byte",
                 label);
  else if (bytes != end - begin)
    fe_file_fail(r->error, IR_ERR_INVALID, file,
                 "%s has %" PRIu64 " bytes of data; its dtype %s and its shape take %" PRIu64, label,
                 end - begin, d->type->name, bytes);
  return !r->error->status;
}

/* `"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}` */
static bool read_array(reader *r, uint64_t data_at) {
  description d = {0};
  char text[FE_LABEL];
  if (!read_string(r, "the name of an array")) return false;
  bool is_metadata = string_is(r, metadata);
  const char *label = fe_arrays_label(text, r->string, r->string_length);
  if (!accept(r, ':')) {
    if (!r->error->status) return expected(r, "':'");
  }
  if (is_metadata) return read_metadata(r);
  fe_stored *s = fe_arrays_add(r->out, r->string, r->string_length, r->error);
  if (!s) return false;
  if (!accept(r, '{')) return expected(r, "an object that describes an array");
  do
    if (!read_field(r, &d)) return false;
  while (accept(r, ','));
  if (!accept(r, '}')) return expected(r, "',' or '}'");
  if (!d.type || !d.has_shape || !d.offset_count)
    return expected(r, "\"dtype\", \"shape\" and \"data_offsets\" before this");
  if (!check_sizes(r, &d, label, r->out->source.size - data_at)) return false;
  s->type = d.type->name;
  s->dtype = d.type->dtype;
  s->encoding = s->dtype == IR_NONE ? FE_OTHER : s->dtype == IR_BOOL ? FE_BOOLS : FE_PLAIN;
  s->rank = d.rank;
  for (int i = 0; i < d.rank; i++) s->shape[i] = (int64_t)d.shape[i];
  s->offset = data_at + d.offsets[0];
  s->bytes = d.offsets[1] - d.offsets[0];
  return true;
}

static bool read_header(reader *r, uint64_t data_at) {
  if (!accept(r, '{')) return expected(r, "an object");
  if (!accept(r, '}')) {
    do
      if (!read_array(r, data_at)) return false;
    while (accept(r, ','));
    if (!accept(r, '}')) return expected(r, "',' or '}'");
  }
  skip_space(r);
  return r->at == r->length || expected(r, "nothing but spaces after the header");
}

ir_status fe_safetensors_read(fe_arrays *out, ir_error *error) {
  fe_source *s = &out->source;
  uint8_t head[HEADER_AT];
  if (fe_source_read(s, 0, head, sizeof head, "the length of the header", error) != IR_OK)
    return error->status;
  uint64_t length = fe_number(head, HEADER_AT);
  if (length > HEADER_MOST || length > s->size - HEADER_AT)
    return fe_file_fail(error, IR_ERR_INVALID, s->name,
                        "the header is %" PRIu64
                        " bytes long; expected at most %d, and no more than the %" PRIu64
                        " bytes that follow",
                        length, HEADER_MOST, s->size - HEADER_AT);
  size_t room = 2 * (size_t)length;
  char *text = ir_alloc(s->mem, room);
  if (!text) return fe_file_fail(error, IR_ERR_MEMORY, s->name, "out of memory reading the header");
  if (fe_source_read(s, HEADER_AT, text, (size_t)length, "the header", error) == IR_OK) {
    reader r = {.text = text, .length = (size_t)length, .out = out, .error = error, .string = text + length};
    if (read_header(&r, HEADER_AT + length))
      fe_arrays_check_layout(out, HEADER_AT + length, s->size, true, error);
  }
  ir_free(s->mem, text, room);
  return error->status;
}

/* writing */

static void put_string(ir_text *out, const char *text) {
  ir_text_str(out, "\"");
  for (const char *from = text;; from = ++text) {
    while ((uint8_t)*text >= ' ' && *text != '"' && *text != '\\') text++;
    ir_text_add(out, from, (size_t)(text - from));
    if (!*text) break;
    ir_textf(out, (uint8_t)*text < ' ' ? "\\u%04x" : "\\%c", (uint8_t)*text);
  }
  ir_text_str(out, "\"");
}

static size_t bytes_in(const fe_named_array *a) {
  size_t bytes = 0;
  fe_shape_bytes(a->dtype, a->rank, a->shape, &bytes);
  return bytes;
}

static void put_array(ir_text *out, const fe_named_array *a, uint64_t offset) {
  size_t i = 0;
  while (types[i].dtype != a->dtype) i++;
  put_string(out, a->name);
  ir_textf(out, ":{\"dtype\":\"%s\",\"shape\":[", types[i].name);
  for (int k = 0; k < a->rank; k++) ir_textf(out, k ? ",%lld" : "%lld", (long long)a->shape[k]);
  ir_textf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, offset + bytes_in(a));
}

/* Wider elements come first, so that all are aligned although there may be no holes. */
ir_status fe_safetensors_put(fe_atomic_file *file, const fe_named_array *arrays, size_t count,
                             const ir_mem *mem, ir_error *error) {
  ir_text header;
  uint64_t offset = 0;
  bool first = true;
  ir_text_init(&header, mem);
  ir_text_str(&header, "{");
  for (size_t width = 8; width; width /= 2)
    for (size_t i = 0; i < count; i++) {
      if (ir_dtypes[arrays[i].dtype].bytes != width) continue;
      if (!first) ir_text_str(&header, ",");
      first = false;
      put_array(&header, &arrays[i], offset);
      offset += bytes_in(&arrays[i]);
    }
  ir_text_str(&header, "}");
  while (!header.failed && header.len % DATA_ALIGN) ir_text_str(&header, " ");
  uint8_t length[HEADER_AT];
  for (int i = 0; i < HEADER_AT; i++) length[i] = (uint8_t)((uint64_t)header.len >> 8 * i);
  if (header.failed) fe_file_fail(error, IR_ERR_MEMORY, file->name, "out of memory writing the header");
  else if (header.len > HEADER_MOST)
    fe_file_fail(error, IR_ERR_INVALID, file->name, "the header would have %zu bytes; at most %d may be read",
                 header.len, HEADER_MOST);
  if (!error->status && fe_atomic_write(file, length, sizeof length, error) == IR_OK)
    fe_atomic_write(file, header.data, header.len, error);
  for (size_t width = 8; width && !error->status; width /= 2)
    for (size_t i = 0; i < count && !error->status; i++)
      if (ir_dtypes[arrays[i].dtype].bytes == width)
        fe_atomic_write(file, arrays[i].data, bytes_in(&arrays[i]), error);
  ir_text_free(&header);
  return error->status;
}
