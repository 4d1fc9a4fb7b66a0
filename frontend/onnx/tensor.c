/* Tensors of a model: where their elements lie, and what they are. */
#include <string.h>

#include "frontend/onnx/import.h"
#include "frontend/onnx/narrow.h"

static const struct {
  const char *name;
  ir_dtype dtype;
} dtypes[] = {{"undefined", IR_NONE},
              {"float", IR_F32},
              {"uint8", IR_U8},
              {"int8", IR_I8},
              {"uint16", IR_U16},
              {"int16", IR_I16},
              {"int32", IR_I32},
              {"int64", IR_I64},
              {"string", IR_NONE},
              {"bool", IR_BOOL},
              {"float16", IR_F16},
              {"double", IR_F64},
              {"uint32", IR_U32},
              {"uint64", IR_U64},
              {"complex64", IR_NONE},
              {"complex128", IR_NONE},
              {"bfloat16", IR_BF16},
              {"float8e4m3fn", IR_NONE},
              {"float8e4m3fnuz", IR_NONE},
              {"float8e5m2", IR_NONE},
              {"float8e5m2fnuz", IR_NONE},
              {"uint4", IR_NONE},
              {"int4", IR_NONE},
              {"float4e2m1", IR_NONE},
              {"float8e8m0", IR_NONE},
              {"uint2", IR_NONE},
              {"int2", IR_NONE}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

ir_dtype onnx_dtype(int64_t number) { return number > 0 && number < DTYPES ? dtypes[number].dtype : IR_NONE; }
const char *onnx_dtype_name(int64_t number) {
  return number >= 0 && number < DTYPES ? dtypes[number].name : "unknown";
}

bool onnx_tensor_read(onnx_import *m, wire_bytes bytes, onnx_tensor *out) {
  *out = (onnx_tensor){0};
  return wire_read(&m->arena, &onnx_tensor_message, m->whole, bytes, out);
}

/* Of a tensor without a name: "". */
static bool fail(onnx_import *m, const onnx_tensor *t, ir_status status, const char *what) {
  return onnx_fail(m, status, "the tensor '%.*s' %s", WIRE_TEXT(t->name), what);
}

static bool count_of(onnx_import *m, const onnx_tensor *t, int64_t *count, int64_t *bytes) {
  ir_dtype dtype = onnx_dtype(t->dtype);
  const onnx_narrow *narrow = onnx_narrow_of(t->dtype);
  *count = 1;
  if (dtype == IR_NONE && !narrow)
    return onnx_fail(
        m, IR_ERR_UNSUPPORTED,
        "the tensor '%.*s' is of dtype %s; takes bool, integers of 2 to 64 bits and floats of 4 to 64",
        WIRE_TEXT(t->name), onnx_dtype_name(t->dtype));
  if (t->dims.count > IR_MAX_RANK) return fail(m, t, IR_ERR_UNSUPPORTED, "has more than 16 axes");
  for (size_t i = 0; i < t->dims.count; i++) {
    int64_t size = ((const int64_t *)t->dims.items)[i];
    if (size < 0 || __builtin_mul_overflow(*count, size, count))
      return fail(m, t, IR_ERR_INVALID, "has a negative size, or too many elements");
  }
  if (narrow) *bytes = (int64_t)onnx_narrow_bytes(narrow, *count);
  return narrow || !__builtin_mul_overflow(*count, (int64_t)ir_dtypes[dtype].bytes, bytes) ||
         fail(m, t, IR_ERR_INVALID, "has too many elements");
}

/* elements in other files */

/* A path that stays inside of the model's folder: no part of it is `..`, and it does not begin at the root.
 */
static bool stays_inside(wire_bytes path) {
  if (path.size == 0 || path.at[0] == '/' || memchr(path.at, 0, path.size)) return false;
  for (size_t i = 0, start = 0; i <= path.size; i++) {
    if (i < path.size && path.at[i] != '/') continue;
    if (i - start == 2 && path.at[start] == '.' && path.at[start + 1] == '.') return false;
    start = i + 1;
  }
  return true;
}

static onnx_file *open_external(onnx_import *m, const onnx_tensor *t, wire_bytes location) {
  onnx_file *found = (onnx_file *)onnx_scope_find(&m->externals, location);
  if (found) return found->file ? found : NULL;
  if (!stays_inside(location)) {
    fail(m, t, IR_ERR_INVALID, "has its elements in a file outside of the model's folder, which is refused");
    return NULL;
  }
  const char *slash = strrchr(m->path, '/');
  size_t folder = slash ? (size_t)(slash - m->path) + 1 : 0;
  char *path = wire_alloc(&m->arena, folder + location.size + 1);
  if (!path || !(found = wire_alloc(&m->arena, sizeof *found))) return NULL;
  memcpy(path, m->path, folder);
  memcpy(path + folder, location.at, location.size);
  if (!onnx_scope_add(&m->arena, &m->externals, location, &found->base)) return NULL;
  return onnx_file_open(m, path, found, m->error) == IR_OK ? found : NULL;
}

static bool decimal(wire_bytes text, int64_t *out) {
  *out = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.at[i] < '0' || text.at[i] > '9') return false;
    if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, text.at[i] - '0', out))
      return false;
  }
  return text.size > 0;
}

static bool read_external(onnx_import *m, const onnx_tensor *t, int64_t bytes, const void **elements,
                          onnx_file **keeper) {
  wire_bytes location = {0};
  int64_t offset = 0, length = -1;
  for (size_t i = 0; i < t->external.count; i++) {
    onnx_entry e = {0};
    bool good =
        wire_read(&m->arena, &onnx_entry_message, m->whole, ((const wire_bytes *)t->external.items)[i], &e);
    if (good && wire_is(e.key, "location")) location = e.value;
    else if (good && wire_is(e.key, "offset")) good = decimal(e.value, &offset);
    else if (good && wire_is(e.key, "length")) good = decimal(e.value, &length);
    if (!good) return fail(m, t, IR_ERR_INVALID, "has an offset or length of its elements that is no number");
  }
  onnx_file *file = open_external(m, t, location);
  if (!file) return false;
  wire_bytes all = file->bytes;
  if ((uint64_t)offset > all.size || (uint64_t)bytes > all.size - (uint64_t)offset ||
      (length >= 0 && length != bytes))
    return onnx_fail(m, IR_ERR_INVALID,
                     "the tensor '%.*s' has %lld bytes at byte %lld of the file '%.*s', which has %zu; the "
                     "model says %lld bytes",
                     WIRE_TEXT(t->name), (long long)bytes, (long long)offset, WIRE_TEXT(location), all.size,
                     (long long)length);
  *elements = all.at + offset;
  *keeper = file;
  return true;
}

/* elements in the model */

static const void *typed_elements(const onnx_tensor *t, ir_dtype dtype, size_t *count) {
  const wire_list *list = dtype == IR_F32                      ? &t->reals
                          : dtype == IR_F64                    ? &t->doubles
                          : dtype == IR_I64                    ? &t->ints64
                          : dtype == IR_U64 || dtype == IR_U32 ? &t->unsigned64
                                                               : &t->ints32;
  *count = list->count;
  return list->items;
}

static bool read_typed(onnx_import *m, const onnx_tensor *t, ir_dtype dtype, int64_t count,
                       const void **elements) {
  size_t given, size = ir_dtypes[dtype].bytes;
  const void *items = typed_elements(t, dtype, &given);
  if (given != (uint64_t)count)
    return onnx_fail(m, IR_ERR_INVALID, "the tensor '%.*s' has %zu elements; its shape has %lld",
                     WIRE_TEXT(t->name), given, (long long)count);
  *elements = items;
  if (size == 8 || dtype == IR_F32) return true;
  char *out = wire_alloc(&m->arena, (size_t)count * size + 1);
  if (!out) return false;
  for (int64_t i = 0; i < count; i++) memcpy(out + (size_t)i * size, (const int64_t *)items + i, size);
  *elements = out; /* little-endian: the low bytes come first */
  return true;
}

/* Whatever the file holds, an element of bool is 0 or 1. */
static bool as_bools(onnx_import *m, int64_t count, const void **elements) {
  uint8_t *out = wire_alloc(&m->arena, (size_t)count + 1);
  for (int64_t i = 0; out && i < count; i++) out[i] = ((const uint8_t *)*elements)[i] != 0;
  *elements = out;
  return out != NULL;
}

bool onnx_tensor_elements(onnx_import *m, const onnx_tensor *t, int64_t *count, const void **elements,
                          onnx_file **keeper) {
  int64_t bytes = 0;
  ir_dtype dtype = onnx_dtype(t->dtype);
  bool good = count_of(m, t, count, &bytes);
  *elements = NULL;
  *keeper = NULL;
  if (!good) return false;
  if (t->location == 1) good = read_external(m, t, bytes, elements, keeper);
  else if (t->raw.at && t->raw.size == (uint64_t)bytes) {
    *elements = t->raw.at;
    *keeper = m->file.file ? &m->file : NULL;
  } else if (t->raw.size) {
    return onnx_fail(m, IR_ERR_INVALID, "the tensor '%.*s' has %zu bytes; its shape and dtype take %lld",
                     WIRE_TEXT(t->name), t->raw.size, (long long)bytes);
  } else if (onnx_narrow_of(t->dtype)) good = read_typed(m, t, IR_U8, bytes, elements);
  else good = read_typed(m, t, dtype, *count, elements);
  if (good && dtype == IR_BOOL) {
    *keeper = NULL;
    good = as_bools(m, *count, elements);
  }
  return good;
}

ir_ref onnx_tensor_ref(onnx_import *m, const onnx_tensor *t) {
  int64_t count;
  const void *elements;
  onnx_file *keeper;
  if (!onnx_tensor_elements(m, t, &count, &elements, &keeper)) return 0;
  ir_dtype dtype = onnx_dtype(t->dtype);
  const onnx_narrow *narrow = onnx_narrow_of(t->dtype);
  if (narrow) {
    int64_t bytes = (int64_t)onnx_narrow_bytes(narrow, count);
    ir_ref packed = onnx_elements_ref(m, t->name, IR_U8, 1, &bytes, elements, (size_t)bytes, keeper);
    return packed ? onnx_narrow_unpack(m, narrow, packed, (int)t->dims.count, t->dims.items) : 0;
  }
  return onnx_elements_ref(m, t->name, dtype, (int)t->dims.count, t->dims.items, elements,
                           (size_t)count * ir_dtypes[dtype].bytes, keeper);
}

const onnx_known *onnx_tensor_known(onnx_import *m, const onnx_tensor *t) {
  int64_t count;
  const void *elements;
  onnx_file *keeper;
  ir_dtype dtype = onnx_dtype(t->dtype);
  if (dtype == IR_NONE || !onnx_tensor_elements(m, t, &count, &elements, &keeper)) return NULL;
  if (count > ONNX_KNOWN_MOST) return NULL;
  onnx_known *k = onnx_known_make(m, dtype, (int)t->dims.count, t->dims.items);
  for (size_t i = 0; k && i < k->count; i++) {
    char aligned[8] = {0};
    size_t size = ir_dtypes[dtype].bytes;
    memcpy(aligned, (const char *)elements + i * size, size);
    ir_value value = ir_value_load(aligned, dtype);
    if (ir_is_float(dtype)) k->elements[i].real = value.f;
    else if (!(k->elements[i].size = ir_index(m->g, value.i))) return NULL;
  }
  return k;
}
