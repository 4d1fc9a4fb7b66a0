#include "frontend/files/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/files/formats.h"
#include "frontend/files/npy_header.h"
#include "runtime/system/bus_error.h"

static const struct {
  const char *name;
  ir_status (*read)(fe_arrays *out, ir_error *error);
} formats[] = {[FE_NPY] = {".npy", NULL},
               [FE_NPZ] = {".npz", fe_npz_read},
               [FE_SAFETENSORS] = {"safetensors", fe_safetensors_read},
               [FE_GGUF] = {"GGUF", fe_gguf_read},
               [FE_BYTES] = {"bytes", NULL}};

const char *fe_format_name(fe_format format) { return formats[format].name; }

bool fe_utf8_ok(const char *text, size_t length) {
  const uint8_t *s = (const uint8_t *)text, *end = s + length;
  while (s < end) {
    uint8_t lead = *s++;
    if (lead < 0x80) continue;
    int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || end - s < more) return false;
    uint32_t code = lead & (0x3Fu >> more);
    for (int i = 0; i < more; i++, s++) {
      if ((*s & 0xC0) != 0x80) return false;
      code = code << 6 | (*s & 0x3F);
    }
    bool surrogate = code >= 0xD800 && code < 0xE000;
    if (surrogate || code > 0x10FFFF || (more == 2 && code < 0x800) || (more == 3 && code < 0x10000))
      return false;
  }
  return true;
}

/* How many bytes of a text to show, if at most so many: no part of a character. */
static int cut(const char *text, size_t length, size_t most) {
  size_t shown = length < most ? length : most;
  while (shown && shown < length && ((uint8_t)text[shown] & 0xC0) == 0x80) shown--;
  return (int)shown;
}

const char *fe_arrays_label(char text[FE_LABEL], const char *name, size_t length) {
  enum { SHOWN = 100 /* bytes of a name: fewer than FE_LABEL has room for */ };
  int shown = cut(name, length, SHOWN);
  bool good = fe_utf8_ok(name, (size_t)shown);
  if (!length) snprintf(text, FE_LABEL, "the array");
  else snprintf(text, FE_LABEL, "array `%.*s%s`", shown, name, (size_t)shown < length ? "..." : "");
  for (char *c = text; *c; c++)
    if ((uint8_t)*c < ' ' || *c == 127 || ((uint8_t)*c > 127 && !good)) *c = '?';
  return text;
}

fe_stored *fe_arrays_add(fe_arrays *out, const char *name, size_t length, ir_error *error) {
  fe_source *s = &out->source;
  char label[FE_LABEL];
  if (memchr(name, 0, length) || !fe_utf8_ok(name, length)) {
    fe_file_fail(error, IR_ERR_INVALID, s->name, "the name of %s %s; expected UTF-8 without zero bytes",
                 fe_arrays_label(label, name, length),
                 memchr(name, 0, length) ? "has a zero byte" : "is not UTF-8");
    return NULL;
  }
  size_t at = out->names.len;
  ir_text_add(&out->names, name, length);
  ir_text_add(&out->names, "", 1);
  if (out->names.failed || out->count == UINT32_MAX ||
      !IR_RESERVE(s->mem, out->items, out->cap, out->count + 1)) {
    fe_file_fail(error, IR_ERR_MEMORY, s->name, "out of memory listing its arrays");
    return NULL;
  }
  out->items[out->count] = (fe_stored){.name = at, .name_length = length};
  return &out->items[out->count++];
}

/* orders of items */

typedef struct named {
  const char *name;
  uint32_t index;
} named;
static int by_name(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static ir_status order_names(fe_arrays *out, ir_error *error) {
  const ir_mem *mem = out->source.mem;
  char label[FE_LABEL];
  named *list = ir_alloc(mem, out->count * sizeof *list);
  out->by_name = list ? ir_alloc(mem, out->count * sizeof *out->by_name) : NULL;
  if (!out->by_name) {
    ir_free(mem, list, out->count * sizeof *list);
    return fe_file_fail(error, IR_ERR_MEMORY, out->source.name, "out of memory ordering its arrays");
  }
  for (size_t i = 0; i < out->count; i++) list[i] = (named){fe_arrays_name(out, i), (uint32_t)i};
  qsort(list, out->count, sizeof *list, by_name);
  for (size_t i = 0; i < out->count; i++) {
    out->by_name[i] = list[i].index;
    if (i && strcmp(list[i - 1].name, list[i].name) == 0)
      fe_file_fail(error, IR_ERR_INVALID, out->source.name, "%s is there twice; names must differ",
                   fe_arrays_label(label, list[i].name, strlen(list[i].name)));
  }
  ir_free(mem, list, out->count * sizeof *list);
  return error->status;
}

typedef struct extent {
  uint64_t begin, end;
  size_t index;
} extent;
static int by_begin(const void *a, const void *b) {
  const extent *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

static ir_status fail_extent(const fe_arrays *a, size_t index, uint64_t last, bool overlap, ir_error *error) {
  char label[FE_LABEL];
  const fe_stored *s = &a->items[index];
  return fe_file_fail(error, IR_ERR_INVALID, a->source.name,
                      overlap ? "%s begins at byte %llu, inside the one before, which ends at byte %llu"
                              : "%s begins at byte %llu; the bytes from %llu on belong to no array",
                      fe_arrays_label(label, fe_arrays_name(a, index), s->name_length),
                      (unsigned long long)s->offset, (unsigned long long)last);
}

ir_status fe_arrays_check_layout(const fe_arrays *a, uint64_t begin, uint64_t end, bool holes,
                                 ir_error *error) {
  const ir_mem *mem = a->source.mem;
  extent *list = ir_alloc(mem, a->count * sizeof *list);
  if (!list) return fe_file_fail(error, IR_ERR_MEMORY, a->source.name, "out of memory listing its arrays");
  for (size_t i = 0; i < a->count; i++)
    list[i] = (extent){a->items[i].offset, a->items[i].offset + a->items[i].bytes, i};
  qsort(list, a->count, sizeof *list, by_begin);
  uint64_t last = begin;
  for (size_t i = 0; i < a->count && !error->status; i++) {
    bool empty = list[i].begin == list[i].end && !holes;
    if (empty) continue; /* where nothing lies does not matter */
    if (list[i].begin < last) fail_extent(a, list[i].index, last, true, error);
    else if (holes && list[i].begin > last) fail_extent(a, list[i].index, last, false, error);
    last = list[i].end;
  }
  ir_free(mem, list, a->count * sizeof *list);
  if (!error->status && holes && last != end)
    fe_file_fail(error, IR_ERR_INVALID, a->source.name, "the arrays end at byte %llu, the file at byte %llu",
                 (unsigned long long)last, (unsigned long long)end);
  return error->status;
}

const char *fe_arrays_name(const fe_arrays *a, size_t index) { return a->names.data + a->items[index].name; }

size_t fe_arrays_find(const fe_arrays *a, const char *name, size_t length) {
  size_t low = 0, high = a->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2, index = a->by_name[middle];
    const fe_stored *s = &a->items[index];
    size_t common = s->name_length < length ? s->name_length : length;
    int order = common ? memcmp(name, fe_arrays_name(a, index), common) : 0;
    if (!order) order = (length > s->name_length) - (length < s->name_length);
    if (!order) return index;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return SIZE_MAX;
}

ir_status fe_arrays_choose(const fe_arrays *a, const char *name, size_t length, size_t *index,
                           ir_error *error) {
  enum { LISTED = 5 /* names of a message: more do not help who looks for one */ };
  char label[FE_LABEL], list[LISTED * 60] = "";
  *index = name ? fe_arrays_find(a, name, length) : a->count == 1 ? 0 : SIZE_MAX;
  if (*index != SIZE_MAX) return IR_OK;
  size_t used = 0;
  for (size_t i = 0; i < a->count && i < LISTED; i++) {
    const char *each = fe_arrays_name(a, i);
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", i ? ", " : "",
                             cut(each, a->items[i].name_length, 50), each);
  }
  const char *more = a->count > LISTED ? ", ..." : "";
  if (!name)
    return fe_file_fail(error, IR_ERR_INVALID, a->source.name,
                        "the file holds %zu arrays; name one of them: %s%s", a->count, list, more);
  return fe_file_fail(error, IR_ERR_INVALID, a->source.name, "there is no %s; the file holds %zu: %s%s",
                      fe_arrays_label(label, name, length), a->count, list, more);
}

/* opening */

static ir_status tell_format(fe_arrays *out, ir_error *error) {
  uint8_t head[9] = {0};
  fe_source *s = &out->source;
  size_t have = s->size < sizeof head ? (size_t)s->size : sizeof head;
  if (fe_source_read(s, 0, head, have, "the file", error) != IR_OK) return error->status;
  if (have >= 4 && memcmp(head, "GGUF", 4) == 0) out->format = FE_GGUF;
  else if (have >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0))
    out->format = FE_NPZ;
  else if (have >= 6 && memcmp(head, "\x93NUMPY", 6) == 0) out->format = FE_NPY;
  else if (have == 9 && head[8] == '{') out->format = FE_SAFETENSORS;
  else
    return fe_file_fail(error, IR_ERR_INVALID, s->name,
                        "no file of arrays by its first bytes; expected safetensors, .npz, .npy or GGUF");
  return IR_OK;
}

static ir_status read_arrays(fe_arrays *out, ir_error *error) {
  fe_source *s = &out->source;
  ir_error own = {0};
  ir_status status = tell_format(out, &own);
  if (!status)
    status = out->format == FE_NPY ? fe_npy_add(out, "", 0, 0, s->size, 0, &own)
                                   : formats[out->format].read(out, &own);
  if (!status) status = order_names(out, &own);
  if (!status && s->file) status = rt_mapped_check(s->file, &own);
  fe_source_free(s);
  return status ? ir_fail(error, own.status, "%s", own.text) : IR_OK;
}

ir_status fe_arrays_parse(const void *bytes, size_t size, const char *name, const ir_mem *mem, fe_arrays *out,
                          ir_error *error) {
  *out = (fe_arrays){.source = {.mem = mem, .name = name, .memory = bytes, .size = size}};
  ir_text_init(&out->names, mem);
  return read_arrays(out, error);
}

static ir_status map_file(const char *path, const ir_mem *mem, fe_arrays *out, ir_error *error) {
  rt_mapped_file *file;
  *out = (fe_arrays){.source = {.mem = mem}};
  ir_text_init(&out->names, mem);
  if (rt_mapped_open(mem, path, &file, error) != IR_OK) return error->status;
  out->source.file = file;
  out->source.name = rt_mapped_name(file);
  out->source.memory = rt_mapped_bytes(file);
  out->source.size = rt_mapped_identity(file)->size;
  return IR_OK;
}

ir_status fe_arrays_open(const char *path, const ir_mem *mem, fe_arrays *out, ir_error *error) {
  ir_status status = map_file(path, mem, out, error);
  return status ? status : read_arrays(out, error);
}

ir_status fe_arrays_open_bytes(const char *path, const ir_mem *mem, fe_arrays *out, ir_error *error) {
  ir_status status = map_file(path, mem, out, error);
  out->format = FE_BYTES;
  return status;
}

ir_status fe_arrays_add_bytes(fe_arrays *a, int64_t offset, ir_dtype dtype, int rank, const int64_t *shape,
                              size_t *index, ir_error *error) {
  size_t bytes;
  uint64_t size = a->source.size, at = (uint64_t)offset;
  if (!fe_shape_bytes(dtype, rank, shape, &bytes) || offset < 0 || at > size || bytes > size - at)
    return fe_file_fail(error, IR_ERR_INVALID, a->source.name,
                        "the file has %llu bytes; the array at byte %lld does not lie in it",
                        (unsigned long long)size, (long long)offset);
  fe_stored *s = fe_arrays_add(a, "", 0, error);
  if (!s) return error->status;
  *index = a->count - 1;
  s->type = ir_dtypes[dtype].name;
  s->dtype = dtype;
  s->encoding = dtype == IR_BOOL ? FE_BOOLS : FE_PLAIN;
  s->rank = rank;
  if (rank) memcpy(s->shape, shape, (size_t)rank * sizeof *shape);
  s->offset = at;
  s->bytes = bytes;
  return IR_OK;
}

void fe_arrays_close(fe_arrays *a) {
  const ir_mem *mem = a->source.mem;
  if (!mem) return;
  ir_free(mem, a->items, a->cap * sizeof *a->items);
  if (a->by_name) ir_free(mem, a->by_name, a->count * sizeof *a->by_name);
  ir_text_free(&a->names);
  fe_source_free(&a->source);
  rt_mapped_release(a->source.file);
  *a = (fe_arrays){0};
}

/* elements */

bool fe_arrays_in_place(const fe_arrays *a, size_t index) {
  const fe_stored *s = &a->items[index];
  return s->encoding == FE_PLAIN || s->encoding == FE_Q8_0 || s->encoding == FE_Q4_0;
}

static ir_status copy_elements(fe_arrays *a, const fe_stored *s, const ir_mem *mem, fe_array *out,
                               ir_error *error) {
  size_t bytes = (size_t)s->bytes;
  uint8_t *data = ir_alloc(mem, bytes);
  if (!data) return fe_file_fail(error, IR_ERR_MEMORY, a->source.name, "out of memory for %zu bytes", bytes);
  if (bytes) memcpy(data, a->source.memory + s->offset, bytes);
  for (size_t i = 0; i < bytes && s->encoding == FE_BOOLS; i++) data[i] = data[i] != 0;
  *out = (fe_array){.dtype = s->dtype, .rank = s->rank, .bytes = bytes, .data = data};
  memcpy(out->shape, s->shape, sizeof out->shape);
  return IR_OK;
}

static ir_status load_member(fe_arrays *a, const fe_stored *s, const char *label, const ir_mem *mem,
                             fe_array *out, ir_error *error) {
  const uint8_t *bytes = a->source.memory + s->offset;
  if (s->encoding == FE_MEMBER) return fe_npy_parse(bytes, (size_t)s->bytes, a->source.name, mem, out, error);
  uint8_t *member = ir_alloc(a->source.mem, (size_t)s->member);
  if (!member)
    return fe_file_fail(error, IR_ERR_MEMORY, a->source.name, "out of memory for %llu bytes",
                        (unsigned long long)s->member);
  uint32_t crc;
  ir_status status =
      fe_inflate(&a->source, s->offset, s->bytes, member, (size_t)s->member, &crc, label, error);
  if (!status && crc != s->crc)
    status = fe_file_fail(error, IR_ERR_INVALID, a->source.name, "%s is damaged: its CRC-32 is wrong", label);
  if (!status) status = fe_npy_parse(member, (size_t)s->member, a->source.name, mem, out, error);
  ir_free(a->source.mem, member, (size_t)s->member);
  fe_source_free(&a->source);
  return status;
}

/* Is it what was said of it when the file was opened? A compressed member is read twice. */
static bool is_described(const fe_stored *s, const fe_array *array) {
  return array->dtype == s->dtype && array->rank == s->rank &&
         memcmp(array->shape, s->shape, (size_t)s->rank * sizeof *s->shape) == 0;
}

ir_status fe_arrays_load(fe_arrays *a, size_t index, const ir_mem *mem, fe_array *out, ir_error *error) {
  const fe_stored *s = &a->items[index];
  char text[FE_LABEL];
  const char *label = fe_arrays_label(text, fe_arrays_name(a, index), s->name_length);
  ir_status status = IR_OK;
  sigset_t before;
  *out = (fe_array){0};
  rt_guard_enter(&before);
  switch (s->encoding) {
  case FE_PLAIN:
  case FE_BOOLS: status = copy_elements(a, s, mem, out, error); break;
  case FE_MEMBER:
  case FE_DEFLATED: status = load_member(a, s, label, mem, out, error); break;
  case FE_Q8_0:
  case FE_Q4_0:
  case FE_OTHER:
    status =
        fe_file_fail(error, IR_ERR_UNSUPPORTED, a->source.name, "%s is of type %s, which %s", label, s->type,
                     s->encoding == FE_OTHER
                         ? "viewfold does not read; of GGUF it reads F64, F32, F16, BF16, I8 to I64, Q8_0 "
                           "and Q4_0, of safetensors all but types of fewer than 16 bits for a float"
                         : "is read as a constant of a graph only");
  }
  rt_guard_leave(&before);
  if (!status && a->source.file) status = rt_mapped_check(a->source.file, error);
  if (!status && !is_described(s, out))
    status = fe_file_fail(error, IR_ERR_IO, a->source.name, "%s changed while it was read", label);
  if (status) fe_array_free(mem, out);
  return status;
}

/* writing */

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n > m && strcmp(text + n - m, end) == 0;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ir_status check_names(const char *path, const fe_named_array *arrays, size_t count, const ir_mem *mem,
                             ir_error *error) {
  const char **names = ir_alloc(mem, count * sizeof *names);
  size_t bytes;
  char label[FE_LABEL];
  if (!names) return fe_file_fail(error, IR_ERR_MEMORY, path, "out of memory writing %zu arrays", count);
  for (size_t i = 0; i < count && !error->status; i++) {
    const fe_named_array *a = &arrays[i];
    names[i] = a->name ? a->name : "";
    fe_arrays_label(label, names[i], strlen(names[i]));
    if (!*names[i] || !fe_utf8_ok(names[i], strlen(names[i])))
      fe_file_fail(error, IR_ERR_INVALID, path, "the name of %s is %s; expected one in UTF-8", label,
                   *names[i] ? "not UTF-8" : "empty");
    else if (!fe_shape_bytes(a->dtype, a->rank, a->shape, &bytes) || (bytes && !a->data))
      fe_file_fail(error, IR_ERR_INVALID, path,
                   "%s has no dtype, a shape that is no shape, or no elements; expected all three, with at "
                   "most 16 axes and sizes of at least 0",
                   label);
  }
  if (!error->status) qsort(names, count, sizeof *names, by_text);
  for (size_t i = 1; i < count && !error->status; i++)
    if (strcmp(names[i - 1], names[i]) == 0)
      fe_file_fail(error, IR_ERR_INVALID, path, "%s is there twice; names must differ",
                   fe_arrays_label(label, names[i], strlen(names[i])));
  ir_free(mem, names, count * sizeof *names);
  return error->status;
}

ir_status fe_arrays_write(const char *path, const fe_named_array *arrays, size_t count, const ir_mem *mem,
                          ir_error *error) {
  bool safetensors = ends_with(path, ".safetensors"), npz = ends_with(path, ".npz");
  fe_atomic_file file;
  if (ends_with(path, ".npy") && count == 1)
    return fe_npy_write(path, arrays->dtype, arrays->rank, arrays->shape, arrays->data, error);
  if (!safetensors && !npz)
    return fe_file_fail(error, IR_ERR_INVALID, path,
                        "arrays are written to files called NAME.safetensors or NAME.npz, one to NAME.npy");
  if (check_names(path, arrays, count, mem, error) != IR_OK) return error->status;
  if (fe_atomic_open(&file, path, error) != IR_OK) return error->status;
  ir_status status = safetensors ? fe_safetensors_put(&file, arrays, count, mem, error)
                                 : fe_npz_put(&file, arrays, count, mem, error);
  if (!status) return fe_atomic_commit(&file, error);
  fe_atomic_abandon(&file);
  return status;
}
