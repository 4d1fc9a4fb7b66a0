/* Parsing signatures, and calling functions by them. */
#include "runtime/native/native.h"

#include <ctype.h>
#include <string.h>

/* types */

static const struct {
  const char *name;
  ir_dtype dtype;
} c_types[] = {{"char", IR_I8},
               {"short", IR_I16},
               {"int", IR_I32},
               {"long", sizeof(long) == 8 ? IR_I64 : IR_I32},
               {"size_t", sizeof(size_t) == 8 ? IR_U64 : IR_U32},
               {"float", IR_F32},
               {"double", IR_F64}};

static ffi_type *type_of(ir_dtype dtype) {
  switch ((int)dtype) {
  case IR_BOOL:
  case IR_U8: return &ffi_type_uint8;
  case IR_I8: return &ffi_type_sint8;
  case IR_I16: return &ffi_type_sint16;
  case IR_U16: return &ffi_type_uint16;
  case IR_I32: return &ffi_type_sint32;
  case IR_U32: return &ffi_type_uint32;
  case IR_I64: return &ffi_type_sint64;
  case IR_U64: return &ffi_type_uint64;
  case IR_F32: return &ffi_type_float;
  case IR_F64: return &ffi_type_double;
  default: return NULL;
  }
}

/* reading */

typedef struct reader {
  const ir_custom *custom;
  const char *all, *at;
  ir_error *error;
  char word[IR_CUSTOM_NAME];
} reader;

static bool fail_signature(const reader *r, const char *what) {
  ir_fail(r->error, IR_ERR_INVALID, "%s: signature '%.200s': at '%.40s': %s", r->custom->name, r->all,
          *r->at ? r->at : "the end", what);
  return false;
}

static void skip_blanks(reader *r) {
  while (*r->at == ' ') r->at++;
}
static bool read_sign(reader *r, char c) {
  skip_blanks(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static bool word(reader *r) {
  size_t n = 0;
  skip_blanks(r);
  while ((isalnum((unsigned char)r->at[n]) || r->at[n] == '_') && n + 1 < sizeof r->word) n++;
  if (n == 0) return false;
  memcpy(r->word, r->at, n);
  r->word[n] = '\0';
  r->at += n;
  return true;
}

static ir_dtype type_word(const char *text) {
  for (size_t i = 0; i < sizeof c_types / sizeof *c_types; i++)
    if (strcmp(c_types[i].name, text) == 0) return c_types[i].dtype;
  for (int t = IR_NONE + 1; t < IR_INDEX; t++)
    if (strcmp(ir_dtypes[t].name, text) == 0) return (ir_dtype)t;
  return IR_NONE;
}

/* Parses the word as an array, "in3" or "out3". */
static bool array_word(const reader *r, rt_native_param *p) {
  const char *digits = strncmp(r->word, "in", 2) == 0 ? r->word + 2 : r->word + 3;
  p->result = digits == r->word + 3;
  if (p->result && strncmp(r->word, "out", 3) != 0) return false;
  size_t n = strspn(digits, "0123456789");
  if (n == 0 || n > 2 || digits[n]) return false;
  p->number = (uint32_t)(digits[0] - '0');
  if (n == 2) p->number = 10 * p->number + (uint32_t)(digits[1] - '0');
  return true;
}

static bool attribute_word(const reader *r, rt_native_param *p) {
  for (uint32_t i = 0; i < r->custom->attribute_count; i++)
    if (strcmp(r->custom->attributes[i].name, r->word) == 0) {
      p->kind = RT_NATIVE_ATTRIBUTE, p->number = i, p->from = (uint8_t)r->custom->attributes[i].dtype;
      return true;
    }
  return false;
}

static bool read_axis(reader *r, rt_native_param *p) {
  if (!word(r) || strspn(r->word, "0123456789") != strlen(r->word) || strlen(r->word) > 2)
    return fail_signature(r, "expected an axis in brackets, such as 0");
  p->kind = RT_NATIVE_SIZE;
  p->axis = (uint32_t)(r->word[0] - '0');
  if (r->word[1]) p->axis = 10 * p->axis + (uint32_t)(r->word[1] - '0');
  return p->axis < IR_MAX_RANK ? read_sign(r, ']') || fail_signature(r, "expected ']'")
                               : fail_signature(r, "a tensor has at most 16 axes");
}

/* Parses what follows the name of an array: nothing, an axis in brackets, or a dot and a word. */
static bool read_array(reader *r, rt_native_param *p) {
  if (p->number >= (p->result ? r->custom->results : r->custom->operands))
    return fail_signature(r,
                          p->result ? "the operation has fewer results" : "the operation has fewer operands");
  if (read_sign(r, '[')) return read_axis(r, p);
  if (!read_sign(r, '.')) return p->kind = RT_NATIVE_DATA, true;
  if (!word(r)) return fail_signature(r, "expected count, rank or shape");
  if (strcmp(r->word, "count") == 0) p->kind = RT_NATIVE_COUNT;
  else if (strcmp(r->word, "rank") == 0) p->kind = RT_NATIVE_RANK;
  else if (strcmp(r->word, "shape") == 0) p->kind = RT_NATIVE_SHAPE;
  else return fail_signature(r, "an array has .count, .rank and .shape");
  return true;
}

static bool by_value(const rt_native_param *p) {
  return p->kind == RT_NATIVE_SIZE || p->kind == RT_NATIVE_COUNT || p->kind == RT_NATIVE_RANK ||
         p->kind == RT_NATIVE_ATTRIBUTE;
}

static bool read_param(reader *r, rt_native_param *p) {
  const char *start = r->at;
  *p = (rt_native_param){0};
  if (!word(r)) return fail_signature(r, "expected a parameter");
  ir_dtype type = type_word(r->word);
  if (type != IR_NONE && !word(r))
    return fail_signature(r,
                          "expected a parameter after its type; arrays are written without *, as in f32 in0");
  if (array_word(r, p)) {
    if (!read_array(r, p)) return false;
  } else if (attribute_word(r, p)) {
  } else if (strcmp(r->word, "user") == 0) {
    p->kind = RT_NATIVE_USER;
  } else if (strcmp(r->word, "message") == 0) {
    p->kind = RT_NATIVE_MESSAGE_AT;
  } else {
    r->at = start;
    return fail_signature(r, "expected in0, out0 and so on, an attribute, user or message");
  }
  p->dtype = (uint8_t)type;
  if (by_value(p) && type == IR_NONE)
    return r->at = start, fail_signature(r, "a number needs a type before it, such as i64");
  if (!by_value(p) && p->kind != RT_NATIVE_DATA && type != IR_NONE)
    return r->at = start, fail_signature(r, "a pointer takes no type");
  if (by_value(p) && !type_of(type))
    return r->at = start, fail_signature(r, "C has no such type; use f32 or f64");
  if (by_value(p) && p->from == IR_F64 && !ir_is_float(type))
    return r->at = start, fail_signature(r, "the attribute is no integer");
  return true;
}

static bool all_written(reader *r, const rt_native *n) {
  uint32_t written = 0;
  for (uint32_t i = 0; i < n->count; i++)
    if (n->params[i].kind == RT_NATIVE_DATA && n->params[i].result) written |= 1u << n->params[i].number;
  return written == (1u << r->custom->results) - 1 ||
         fail_signature(
             r, "the function gets no pointer to one of its results; each one of out0, out1 and so on is a "
                "parameter");
}

ir_status rt_native_read(const ir_custom *custom, const char *signature, rt_native *out, ir_error *error) {
  reader r = {.custom = custom, .all = signature, .at = signature, .error = error};
  *out = (rt_native){0};
  bool good = word(&r) && (strcmp(r.word, "void") == 0 || strcmp(r.word, "int") == 0);
  if (!good) r.at = signature, fail_signature(&r, "a function returns void or int");
  out->reports = good && *r.word == 'i';
  if (good && !read_sign(&r, '(')) good = fail_signature(&r, "expected '('");
  bool more = good && !read_sign(&r, ')');
  while (more && good) {
    if (out->count == RT_NATIVE_PARAMS) return fail_signature(&r, "at most 32 parameters"), error->status;
    rt_native_param *p = &out->params[out->count];
    if (!(good = read_param(&r, p))) break;
    out->types[out->count++] = by_value(p) ? type_of((ir_dtype)p->dtype) : &ffi_type_pointer;
    more = read_sign(&r, ',');
    if (!more && !read_sign(&r, ')')) good = fail_signature(&r, "expected ',' or ')'");
  }
  skip_blanks(&r);
  if (good && *r.at) good = fail_signature(&r, "expected the end");
  good = good && all_written(&r, out);
  if (good && ffi_prep_cif(&out->cif, FFI_DEFAULT_ABI, out->count,
                           out->reports ? &ffi_type_sint : &ffi_type_void, out->types) != FFI_OK)
    ir_fail(error, IR_ERR_INTERNAL, "%s: libffi cannot call a function of signature '%.200s'", custom->name,
            signature);
  return error->status;
}

/* The dtype that the signature says for the elements of an array, if any, is that of the array. */
static bool dtype_fits(const rt_native_param *p, const char *name, const ir_dtype *operands,
                       const ir_dtype *results, ir_error *error) {
  ir_dtype given = (p->result ? results : operands)[p->number];
  if (p->dtype == IR_NONE || p->dtype == given) return true;
  const char *wanted = ir_dtypes[p->dtype].name;
  if (p->result)
    ir_fail(
        error, IR_ERR_INVALID,
        "%s: result %u would have dtype %s, but the signature says %s out%u; its function for shapes must "
        "give that dtype",
        name, p->number, ir_dtypes[given].name, wanted, p->number);
  else
    ir_fail(error, IR_ERR_INVALID,
            "%s: operand %u has dtype %s, but the signature says %s in%u; cast the operand to %s", name,
            p->number, ir_dtypes[given].name, wanted, p->number, wanted);
  return false;
}

bool rt_native_fits(const rt_native *n, const char *name, const ir_dtype *operand_dtypes,
                    const uint32_t *operand_ranks, const ir_dtype *result_dtypes,
                    const uint32_t *result_ranks, ir_error *error) {
  for (uint32_t i = 0; i < n->count; i++) {
    const rt_native_param *p = &n->params[i];
    if (p->kind == RT_NATIVE_DATA && !dtype_fits(p, name, operand_dtypes, result_dtypes, error)) return false;
    uint32_t rank = p->kind != RT_NATIVE_SIZE ? IR_MAX_RANK
                    : p->result               ? result_ranks[p->number]
                                              : operand_ranks[p->number];
    if (p->axis < rank) continue;
    ir_fail(error, IR_ERR_INVALID,
            "%s: its signature asks for the size of axis %u of %s %u, which has rank %u", name, p->axis,
            p->result ? "result" : "operand", p->number, rank);
    return false;
  }
  return true;
}

/* calling */

typedef union value {
  ir_value word;
  const void *pointer;
  uint8_t bytes[8];
} value;

static int64_t number_of(const rt_native_param *p, const ir_custom_array *a) {
  int64_t count = 1;
  if (p->kind == RT_NATIVE_SIZE) return a->shape[p->axis];
  if (p->kind == RT_NATIVE_RANK) return a->rank;
  for (uint32_t k = 0; k < a->rank; k++) count *= a->shape[k];
  return count;
}

/* Store an integer in the format of the dtype; false where it does not fit. */
static bool store_integer(int64_t number, ir_dtype dtype, uint8_t bytes[8]) {
  ir_value kept = ir_value_cast((ir_value){.i = number}, IR_I64, dtype);
  bool fits = ir_is_float(dtype) || kept.i == number;
  if (dtype == IR_U64 && number < 0) fits = false;
  ir_value_store(bytes, dtype, kept);
  return fits;
}

ir_status rt_native_number(const rt_native_param *p, const char *name, const ir_custom_call *call,
                           const ir_custom_array *operands, const ir_custom_array *results, uint8_t bytes[8],
                           ir_error *error) {
  ir_dtype dtype = (ir_dtype)p->dtype;
  bool attribute = p->kind == RT_NATIVE_ATTRIBUTE;
  if (attribute && p->from == IR_F64) {
    ir_value_store(bytes, dtype, ir_value_cast(call->values[p->number], IR_F64, dtype));
    return IR_OK;
  }
  int64_t number = attribute ? call->values[p->number].i
                             : number_of(p, p->result ? &results[p->number] : &operands[p->number]);
  if (store_integer(number, dtype, bytes)) return IR_OK;
  if (attribute)
    return ir_fail(error, IR_ERR_INVALID,
                   "%s: the value %lld of an attribute does not fit the %s of its signature", name,
                   (long long)number, ir_dtypes[dtype].name);
  return ir_fail(error, IR_ERR_INVALID, "%s: the size %lld does not fit the %s of its signature", name,
                 (long long)number, ir_dtypes[dtype].name);
}

ir_status rt_native_call(const rt_native *n, void (*function)(void), const char *name, void *user,
                         const ir_custom_call *call, const ir_custom_array *operands,
                         const ir_custom_array *results, ir_error *error) {
  value values[RT_NATIVE_PARAMS];
  void *arguments[RT_NATIVE_PARAMS];
  char message[RT_NATIVE_MESSAGE] = "";
  ffi_arg returned = 0;
  for (uint32_t i = 0; i < n->count; i++) {
    const rt_native_param *p = &n->params[i];
    const ir_custom_array *a = p->result ? &results[p->number] : &operands[p->number];
    ir_status status = IR_OK;
    arguments[i] = &values[i];
    switch ((rt_native_kind)p->kind) {
    case RT_NATIVE_DATA: values[i].pointer = a->data; break;
    case RT_NATIVE_SHAPE: values[i].pointer = a->shape; break;
    case RT_NATIVE_USER: values[i].pointer = user; break;
    case RT_NATIVE_MESSAGE_AT: values[i].pointer = message; break;
    case RT_NATIVE_ATTRIBUTE:
    case RT_NATIVE_SIZE:
    case RT_NATIVE_COUNT:
    case RT_NATIVE_RANK:
      status = rt_native_number(p, name, call, operands, results, values[i].bytes, error);
      if (status) return status;
    }
  }
  ffi_call((ffi_cif *)&n->cif, function, &returned, arguments);
  message[sizeof message - 1] = '\0';
  if (!n->reports || (int)returned == 0) return IR_OK;
  return ir_fail(error, IR_ERR_DEVICE, "%s: the operation failed with %d%s%s", name, (int)returned,
                 *message ? ": " : "", message);
}
