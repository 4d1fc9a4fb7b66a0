/* Parsing of literals, and of the operations that consist of literals: const, data, buffer. */
#include "ir/parse/impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_number_word(const ir_token *t) {
  return ir_token_is(t, "inf") || ir_token_is(t, "nan") || ir_token_is(t, "true") ||
         ir_token_is(t, "false") || ir_token_is(t, "True") || ir_token_is(t, "False");
}

bool ir_parse_at_literal(const ir_parser *p) {
  const ir_token *t = &p->lex.token;
  return t->kind == IR_TOKEN_INT || t->kind == IR_TOKEN_FLOAT || ir_lex_is(&p->lex, '-') || is_number_word(t);
}

static bool nan_payload(ir_parser *p, ir_literal *out) {
  ir_lex_next(&p->lex);
  uint64_t bits = p->lex.token.integer;
  memcpy(&out->number, &bits, sizeof bits);
  if (p->lex.token.kind != IR_TOKEN_INT || out->number == out->number)
    return ir_lex_fail(&p->lex, "malformed nan",
                       "the bits of an f64 that is no number, such as 0x7ff8000000000001");
  ir_lex_next(&p->lex);
  return ir_lex_expect(&p->lex, ')', "malformed nan");
}

/* How a number that is written as elsewhere is written here: NaN, Infinity; NULL: the word is none. */
static const char *number_meant(const ir_token *t) {
  static const char *const words[][2] = {
      {"nan", "nan"}, {"inf", "inf"}, {"infinity", "inf"}, {"true", "true"}, {"false", "false"}};
  char lower[16];
  if (t->kind != IR_TOKEN_WORD || t->length >= sizeof lower) return NULL;
  for (size_t i = 0; i <= t->length; i++) {
    char c = i < t->length ? t->text[i] : '\0';
    lower[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i][0], lower) == 0) return words[i][1];
  return NULL;
}

bool ir_parse_refuse_number(ir_parser *p) {
  const ir_token *t = &p->lex.token;
  const char *meant = number_meant(t);
  return meant && !ir_lex_fail_at(&p->lex, t->line, t->column,
                                  "bad number, found '%.*s', expected %s, as it is called here",
                                  (int)t->length, t->text, meant);
}

bool ir_parse_literal(ir_parser *p, ir_literal *out) {
  *out = (ir_literal){.line = p->lex.token.line, .column = p->lex.token.column};
  out->negative = ir_lex_accept(&p->lex, '-');
  ir_token t = p->lex.token;
  if (t.kind == IR_TOKEN_INT) {
    out->magnitude = t.integer;
  } else if (t.kind == IR_TOKEN_FLOAT) {
    out->kind = IR_LITERAL_FLOAT;
    out->number = t.number;
  } else if (ir_token_is(&t, "inf") || ir_token_is(&t, "nan")) {
    static const uint64_t bits[] = {0x7ff0000000000000u, 0x7ff8000000000000u};
    out->kind = IR_LITERAL_FLOAT;
    memcpy(&out->number, &bits[t.text[0] == 'n'], sizeof out->number);
  } else if (!out->negative && is_number_word(&t)) {
    out->kind = IR_LITERAL_BOOL;
    out->magnitude = t.text[0] == 't' || t.text[0] == 'T';
  } else if (ir_parse_refuse_number(p)) {
    return false;
  } else if (out->negative && ir_lex_is(&p->lex, '%')) {
    return ir_lex_fail(&p->lex, "bad literal", "a number; what is -%x elsewhere is neg %x");
  } else {
    return ir_lex_fail(&p->lex, "bad literal", "a number, true, false, inf or nan");
  }
  ir_lex_next(&p->lex);
  if (ir_token_is(&t, "nan") && ir_lex_is(&p->lex, '(') && !nan_payload(p, out)) return false;
  if (out->negative) out->number = -out->number;
  return !p->lex.error->status;
}

static bool wrong_literal(ir_parser *p, const ir_literal *l, ir_dtype dtype) {
  static const char *const kinds[] = {"an integer", "a float", "a truth value"};
  return ir_lex_fail_at(&p->lex, l->line, l->column,
                        "literal does not suit its dtype, found %s, expected a literal of %s", kinds[l->kind],
                        ir_dtypes[dtype].name);
}

bool ir_literal_value(ir_parser *p, const ir_literal *l, ir_dtype dtype, ir_value *out) {
  uint64_t top = (uint64_t)INT64_MAX + l->negative;
  bool fits = dtype == IR_U64 ? !l->negative || l->magnitude == 0 : l->magnitude <= top;
  int64_t integer = (int64_t)(l->negative ? 0 - l->magnitude : l->magnitude);
  if (ir_is_float(dtype)) {
    if (l->kind == IR_LITERAL_BOOL) return wrong_literal(p, l, dtype);
    double number = (double)l->magnitude;
    if (l->kind == IR_LITERAL_INT) number = l->negative ? -number : number;
    if (l->kind == IR_LITERAL_FLOAT) number = l->number;
    *out = ir_value_cast((ir_value){.f = number}, IR_F64, dtype);
    if (!isinf(out->f) || isinf(number)) return true;
    return ir_lex_fail_at(&p->lex, l->line, l->column,
                          "number out of range, found %g, expected one that %s holds, or inf", number,
                          ir_dtypes[dtype].name);
  }
  if (dtype == IR_BOOL)
    fits = l->kind == IR_LITERAL_BOOL || (l->kind == IR_LITERAL_INT && !l->negative && l->magnitude < 2);
  else if (l->kind != IR_LITERAL_INT) fits = false;
  else if (dtype != IR_I64 && dtype != IR_U64 && dtype != IR_INDEX)
    fits = fits && ir_value_cast((ir_value){.i = integer}, IR_I64, dtype).i == integer;
  if (!fits) {
    if (l->kind != IR_LITERAL_INT) return wrong_literal(p, l, dtype);
    return ir_lex_fail_at(&p->lex, l->line, l->column,
                          "integer out of range, found %s%llu, expected a value of %s",
                          l->negative ? "-" : "", (unsigned long long)l->magnitude, ir_dtypes[dtype].name);
  }
  out->i = integer;
  return true;
}

ir_ref ir_parse_weak(ir_parser *p) {
  ir_literal l;
  ir_value value;
  if (!ir_parse_literal(p, &l)) return 0;
  if (l.kind == IR_LITERAL_BOOL) return ir_bool(p->graph, l.magnitude != 0);
  bool large = !l.negative && l.magnitude > INT64_MAX;
  ir_dtype dtype = l.kind == IR_LITERAL_FLOAT ? IR_F64 : large ? IR_U64 : IR_I64;
  return ir_literal_value(p, &l, dtype, &value) ? ir_make_weak(p->graph, dtype, value) : 0;
}

bool ir_parse_int(ir_parser *p, int64_t *value, const char *wrong) {
  ir_literal l = {
      .line = p->lex.token.line, .column = p->lex.token.column, .negative = ir_lex_accept(&p->lex, '-')};
  ir_value v;
  if (p->lex.token.kind != IR_TOKEN_INT) return ir_lex_fail(&p->lex, wrong, "an integer");
  l.magnitude = p->lex.token.integer;
  ir_lex_next(&p->lex);
  if (!ir_literal_value(p, &l, IR_INDEX, &v)) return false;
  *value = v.i;
  return true;
}

/* reads `key=` */
static bool read_key(ir_parser *p, const char *key) {
  char wrong[64] = "missing attribute", expected[64];
  size_t n = strlen(key);
  if (!ir_lex_is_word(&p->lex, key)) {
    memcpy(expected, key, n);
    memcpy(expected + n, "=", 2);
    return ir_lex_fail(&p->lex, wrong, expected);
  }
  ir_lex_next(&p->lex);
  return ir_lex_expect(&p->lex, '=', wrong);
}

const char *ir_parse_dtype_meant(const char *name, size_t length) {
  static const struct {
    const char *name;
    ir_dtype dtype;
  } words[] = {{"float", IR_F32}, {"single", IR_F32}, {"double", IR_F64}, {"half", IR_F16},
               {"int", IR_I32},   {"uint", IR_U32},   {"long", IR_I64},   {"short", IR_I16},
               {"byte", IR_U8},   {"char", IR_I8},    {"bool_", IR_BOOL}, {"boolean", IR_BOOL},
               {"i1", IR_BOOL}};
  static const struct {
    const char *begin, *ours;
  } sized[] = {{"float", "f"}, {"fp", "f"},   {"bfloat", "bf"}, {"int", "i"},
               {"si", "i"},    {"uint", "u"}, {"ui", "u"},      {"s", "i"}};
  char lower[12];
  if (length >= sizeof lower) return NULL;
  for (size_t i = 0; i < length; i++)
    lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
  lower[length] = '\0';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].name, lower) == 0) return ir_dtypes[words[i].dtype].name;
  for (size_t i = 0; i < sizeof sized / sizeof *sized; i++) {
    size_t begin = strlen(sized[i].begin);
    if (strncmp(lower, sized[i].begin, begin) != 0) continue;
    char ours[16] = "";
    strcat(strcat(ours, sized[i].ours), lower + begin);
    ir_dtype dtype = ir_dtype_parse(ours, strlen(ours));
    if (dtype != IR_NONE && dtype != IR_INDEX) return ir_dtypes[dtype].name;
  }
  ir_dtype own = ir_dtype_parse(lower, length); /* F32 */
  return own == IR_NONE || own == IR_INDEX ? NULL : ir_dtypes[own].name;
}

bool ir_parse_dtype(ir_parser *p, ir_dtype *dtype) {
  const ir_token *t = &p->lex.token;
  *dtype = t->kind == IR_TOKEN_WORD ? ir_parse_dtype_word(t) : IR_NONE;
  const char *meant =
      *dtype == IR_NONE && t->kind == IR_TOKEN_WORD ? ir_parse_dtype_meant(t->text, t->length) : NULL;
  if (meant)
    return ir_lex_fail_at(&p->lex, t->line, t->column,
                          "unknown dtype, found '%.*s', expected %s, as it is called here", (int)t->length,
                          t->text, meant);
  if (*dtype == IR_NONE || *dtype == IR_INDEX)
    return ir_lex_fail(
        &p->lex, "unknown dtype",
        "a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64");
  ir_lex_next(&p->lex);
  return true;
}

static ir_ref parse_const(ir_parser *p, const ir_token *op) {
  (void)op;
  ir_literal l;
  ir_value value;
  ir_dtype dtype;
  if (!read_key(p, "value") || !ir_parse_literal(p, &l) || !read_key(p, "dtype") ||
      !ir_parse_dtype(p, &dtype) || !ir_literal_value(p, &l, dtype, &value))
    return 0;
  return ir_make_tensor(p->graph, IR_OP_CONST, dtype, ir_tuple(p->graph, NULL, 0), value.i, NULL, 0);
}

static bool fixed_elements(ir_parser *p, const ir_token *at, ir_ref shape, size_t bytes, uint64_t *count) {
  *count = 1;
  const ir_node *dims = ir_get(p->graph, shape);
  for (uint32_t i = 0; i < dims->nsrc; i++) {
    int64_t size;
    if (!ir_is_const(p->graph, dims->src[i], &size) || size < 0)
      return ir_lex_fail_at(&p->lex, at->line, at->column,
                            "bad shape of data, found a size that varies, expected sizes that are numbers");
    if (size && *count > PTRDIFF_MAX / bytes / (uint64_t)size)
      return ir_lex_fail_at(&p->lex, at->line, at->column,
                            "too much data, found a shape of 2^63 bytes or more, expected fewer");
    *count *= (uint64_t)size;
  }
  return true;
}

static ir_ref parse_data(ir_parser *p, const ir_token *op) {
  ir_ref shape;
  ir_dtype dtype;
  uint64_t expected, count = 0;
  if (!read_key(p, "shape") || !ir_parse_dims(p, NULL, &shape, NULL) || !read_key(p, "dtype") ||
      !ir_parse_dtype(p, &dtype) || !fixed_elements(p, op, shape, ir_dtypes[dtype].bytes, &expected) ||
      !read_key(p, "values"))
    return 0;
  size_t bytes = ir_dtypes[dtype].bytes;
  p->lex.by_line = false;
  if (!ir_lex_expect(&p->lex, '[', "bad values")) return 0;
  while (!ir_lex_is(&p->lex, ']')) {
    ir_literal l;
    ir_value value;
    if (count && !ir_lex_expect(&p->lex, ',', "bad values")) return 0;
    if (!ir_parse_literal(p, &l) || !ir_literal_value(p, &l, dtype, &value)) return 0;
    if (!IR_RESERVE(p->graph->mem, p->bytes, p->bytes_cap, (count + 1) * bytes)) return ir_parse_memory(p);
    ir_value_store(p->bytes + count++ * bytes, dtype, value);
  }
  p->lex.by_line = true;
  ir_lex_next(&p->lex);
  if (count != expected) {
    ir_lex_fail_at(&p->lex, op->line, op->column,
                   "wrong number of values, found %llu, expected %llu as the shape says",
                   (unsigned long long)count, (unsigned long long)expected);
    return 0;
  }
  int64_t name = ir_name(p->graph, p->bytes ? p->bytes : "", (size_t)count * bytes);
  const ir_node *dims = ir_get(p->graph, shape);
  return name < 0 ? 0 : ir_make_tensor(p->graph, IR_OP_DATA, dtype, shape, name, dims->src, dims->nsrc);
}

/* Serial numbers that are read are below this one, so that a graph has as many left. */
#define MOST_SERIAL (INT64_MAX / 2)

static bool note_serial(ir_parser *p, int64_t serial) {
  if (serial >= MOST_SERIAL)
    return ir_lex_fail(&p->lex, "bad serial number", "one below 4611686018427387903");
  if (serial >= p->graph->next_serial) p->graph->next_serial = serial + 1;
  return true;
}

static ir_ref parse_buffer(ir_parser *p, const ir_token *op) {
  (void)op;
  ir_ref batch, shape;
  ir_dtype dtype;
  int64_t serial;
  if (!read_key(p, "shape") || !ir_parse_dims(p, &batch, &shape, NULL) || !read_key(p, "dtype") ||
      !ir_parse_dtype(p, &dtype) || !read_key(p, "serial") || !ir_parse_int(p, &serial, "bad serial number"))
    return 0;
  if (!note_serial(p, serial)) return 0;
  return ir_leaf(p->graph, IR_OP_BUFFER, dtype, batch, shape, serial);
}

static ir_ref parse_resource(ir_parser *p, const ir_token *op) {
  (void)op;
  ir_ref shape;
  ir_dtype dtype;
  if (!read_key(p, "shape") || !ir_parse_dims(p, NULL, &shape, NULL) || !read_key(p, "dtype") ||
      !ir_parse_dtype(p, &dtype) || !read_key(p, "of"))
    return 0;
  const ir_token *token = &p->lex.token;
  const char *slash = token->kind == IR_TOKEN_STRING ? memchr(token->text, '/', token->length) : NULL;
  if (!slash) return ir_lex_fail(&p->lex, "bad resource", "\"DIGEST/NUMBER\"");
  int64_t name = ir_name(p->graph, token->text, token->length), serial = strtoll(slash + 1, NULL, 10);
  if (!note_serial(p, serial)) return 0;
  ir_lex_next(&p->lex);
  const ir_node *dims = ir_get(p->graph, shape);
  return name < 0 ? 0 : ir_make_tensor(p->graph, IR_OP_RESOURCE, dtype, shape, name, dims->src, dims->nsrc);
}

/* The leaves that are written as operations. */
static const struct {
  const char *name;
  ir_ref (*parse)(ir_parser *p, const ir_token *op);
} leaves[] = {
    {"const", parse_const}, {"data", parse_data}, {"buffer", parse_buffer}, {"resource", parse_resource}};

static size_t find_leaf(const ir_token *op) {
  size_t i = 0;
  while (i < sizeof leaves / sizeof *leaves && !ir_token_is(op, leaves[i].name)) i++;
  return i;
}

bool ir_parse_is_leaf(const ir_token *op) { return find_leaf(op) < sizeof leaves / sizeof *leaves; }

ir_ref ir_parse_leaf(ir_parser *p, const ir_token *op) { return leaves[find_leaf(op)].parse(p, op); }
