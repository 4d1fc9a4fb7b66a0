/* Inputs and graphs of a benchmark from a folder. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/bench/bench.h"

enum { MOST_INPUTS = 4096 };

static ir_status file_failed(ir_error *error, const char *path) {
  return ir_fail(error, IR_ERR_IO, "%.800s: %s", path, strerror(errno));
}

static bool read_all(int fd, char *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t got = read(fd, to + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO; /* shorter than it was */
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static bool map_file(int fd, bench_array *out, size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  if (pages == MAP_FAILED) return false;
  *out = (bench_array){.a = {.bytes = bytes, .data = pages}, .region = pages, .region_bytes = bytes};
  return true;
}

static bool copy_file(int fd, bench_array *out, size_t bytes) {
  if (bench_array_make(out, bytes)) return read_all(fd, out->a.data, bytes);
  errno = ENOMEM;
  return false;
}

/* Load one file. A missing file is no error where `optional`; *out is then empty. */
static ir_status load_file(const char *path, bool map, bool optional, bench_array *out, ir_error *error) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return optional && errno == ENOENT ? IR_OK : file_failed(error, path);
  bool good = fstat(fd, &info) == 0;
  size_t bytes = good ? (size_t)info.st_size : 0;
  good = good && (map && bytes ? map_file(fd, out, bytes) : copy_file(fd, out, bytes));
  if (!good) file_failed(error, path);
  close(fd);
  return error->status;
}

/* types */

static const struct {
  const char *name;
  ir_dtype dtype;
} numpy_names[] = {{"float32", IR_F32},  {"int32", IR_I32},  {"int64", IR_I64},  {"float64", IR_F64},
                   {"float16", IR_F16},  {"bool", IR_BOOL},  {"int8", IR_I8},    {"uint8", IR_U8},
                   {"int16", IR_I16},    {"uint16", IR_U16}, {"uint32", IR_U32}, {"uint64", IR_U64},
                   {"bfloat16", IR_BF16}};

static ir_dtype numpy_dtype(const char *name) {
  for (size_t i = 0; i < sizeof numpy_names / sizeof *numpy_names; i++)
    if (strcmp(numpy_names[i].name, name) == 0) return numpy_names[i].dtype;
  return IR_NONE;
}

static bool read_type(json_t *item, fe_array *out) {
  json_t *shape = json_object_get(item, "shape");
  const char *name = json_string_value(json_object_get(item, "dtype"));
  out->dtype = name ? numpy_dtype(name) : IR_NONE;
  out->rank = (int)json_array_size(shape);
  if (!json_is_array(shape) || json_array_size(shape) > FE_MAX_RANK || out->dtype == IR_NONE) return false;
  for (int i = 0; i < out->rank; i++) {
    json_t *size = json_array_get(shape, (size_t)i);
    if (!json_is_integer(size) || json_integer_value(size) < 0) return false;
    out->shape[i] = json_integer_value(size);
  }
  return true;
}

/* The types of all inputs from meta.json; *out NULL, without an error, where there is no such file. */
static ir_status read_types(const char *path, json_t **out, ir_error *error) {
  json_error_t reason;
  *out = NULL;
  if (access(path, F_OK) != 0) return IR_OK;
  *out = json_load_file(path, 0, &reason);
  if (!*out) return ir_fail(error, IR_ERR_INVALID, "%.800s:%d: %s", path, reason.line, reason.text);
  if (!json_is_array(*out))
    ir_fail(error, IR_ERR_INVALID, "%.800s: a list expected, of {\"shape\":[...],\"dtype\":\"float32\"}",
            path);
  return error->status;
}

static ir_status load_all(const char *folder, bool map, json_t *types, bench_inputs *out, ir_error *error) {
  char path[PATH_MAX];
  size_t room = types ? json_array_size(types) : MOST_INPUTS;
  out->list = calloc(room + 1, sizeof *out->list);
  if (!out->list) return ir_fail(error, IR_ERR_MEMORY, "out of memory for %zu inputs", room);
  for (; out->count < room && !error->status; out->count++) {
    bench_array *input = &out->list[out->count];
    fe_array type = {0};
    snprintf(path, sizeof path, "%s/in%zu.bin", folder, out->count);
    if (types && !read_type(json_array_get(types, out->count), &type))
      return ir_fail(error, IR_ERR_INVALID,
                     "%.800s/meta.json: input %zu: {\"shape\":[...],\"dtype\":\"float32\"} expected, with a "
                     "dtype as NumPy calls it",
                     folder, out->count);
    if (load_file(path, map, !types, input, error) != IR_OK || !input->a.data) break;
    type.bytes = input->a.bytes, type.data = input->a.data;
    input->a = type;
  }
  if (error->status) out->count++; /* the input that failed is to be freed too */
  return error->status;
}

ir_status bench_folder_inputs(const char *folder, bool map, bench_inputs *out, ir_error *error) {
  char path[PATH_MAX];
  json_t *types = NULL;
  *out = (bench_inputs){0};
  if (snprintf(path, sizeof path, "%s/meta.json", folder) + 16 >= (int)sizeof path)
    return ir_fail(error, IR_ERR_INVALID, "the name of the folder is too long");
  if (read_types(path, &types, error) == IR_OK) load_all(folder, map, types, out, error);
  json_decref(types);
  if (error->status) bench_inputs_free(out);
  return error->status;
}

void bench_inputs_free(bench_inputs *inputs) {
  for (size_t i = 0; i < inputs->count; i++) bench_array_free(&inputs->list[i]);
  free(inputs->list);
  *inputs = (bench_inputs){0};
}

ir_status bench_folder_graph(const char *folder, char **out, size_t *length, ir_error *error) {
  char path[PATH_MAX];
  bench_array file = {0};
  *out = NULL;
  snprintf(path, sizeof path, "%s/graph.vf", folder);
  if (load_file(path, false, true, &file, error) == IR_OK && file.a.data) {
    *length = file.a.bytes;
    *out = malloc(file.a.bytes + 1);
    if (*out) memcpy(*out, file.a.data, file.a.bytes);
    else ir_fail(error, IR_ERR_MEMORY, "out of memory reading %.800s", path);
  }
  bench_array_free(&file);
  return error->status;
}
