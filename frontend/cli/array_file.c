/* Arrays of files, by what is given for a parameter: copies, or where they lie. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/cli/bind.h"
#include "frontend/cli/options.h"
#include "frontend/onnx/onnx.h"

/* The length of the file's name in FILE:NAME, or of the whole; 0: it is no file of several arrays. */
static size_t archive_length(const char *text) {
  static const char *const ends[] = {".npz", ".safetensors", ".gguf"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    for (const char *at = text; (at = strstr(at, ends[i])); at++) {
      const char *end = at + strlen(ends[i]);
      if (at > text && (!*end || *end == ':')) return (size_t)(end - text);
    }
  return 0;
}

/* FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME or FILE.gguf:NAME; without NAME, the only array. *out is to
 * be closed in any case. */
static ir_status open_file(const char *text, fe_arrays *out, size_t *index, ir_error *error) {
  size_t length = archive_length(text);
  const char *name = length && text[length] ? text + length + 1 : NULL;
  char *path = length ? strndup(text, length) : strdup(text);
  *out = (fe_arrays){0};
  if (!path) return ir_fail(error, IR_ERR_MEMORY, "out of memory");
  ir_status status = fe_arrays_open(path, &ir_mem_libc, out, error);
  if (!status) status = fe_arrays_choose(out, name, name ? strlen(name) : 0, index, error);
  free(path);
  return status;
}

static void read_file(const char *text, fe_array *out, ir_error *error) {
  size_t index;
  fe_arrays arrays;
  if (!archive_length(text)) {
    fe_npy_read(text, &cli_array_mem, out, error);
    if (error->status == IR_ERR_IO && !strpbrk(text, "./") && access(text, F_OK) != 0)
      cli_error_add(error, "; a value that is no file is a number, or a list such as [1,2]");
    return;
  }
  if (open_file(text, &arrays, &index, error) == IR_OK)
    fe_arrays_load(&arrays, index, &cli_array_mem, out, error);
  fe_arrays_close(&arrays);
}

bool cli_map_file(const char *text, fe_arrays *file, fe_array *out) {
  ir_error ignored = {0};
  size_t index;
  if (open_file(text, file, &index, &ignored) == IR_OK) {
    const fe_stored *s = &file->items[index];
    uint8_t *data = (uint8_t *)(uintptr_t)file->source.memory + s->offset;
    if (s->encoding == FE_PLAIN && (uintptr_t)data % ir_dtypes[s->dtype].bytes == 0) {
      *out = (fe_array){.dtype = s->dtype, .rank = s->rank, .bytes = (size_t)s->bytes, .data = data};
      memcpy(out->shape, s->shape, sizeof out->shape);
      return true;
    }
  }
  fe_arrays_close(file);
  *file = (fe_arrays){0};
  return false;
}

void cli_read_file(const char *path, fe_array *out, ir_error *error) {
  char name[256];
  size_t length = strlen(path);
  bool written =
      strpbrk(path, "()[]{}") || strspn(path, "0123456789.,+-e ") == length; /* and no name of a file */
  if (length && written && access(path, F_OK)) {
    ir_fail(error, IR_ERR_IO,
            "%.200s: there is no such file; an array itself stands in brackets, as in --in x=[1,2]", path);
    return;
  }
  bool tensor = length > 3 && strcmp(path + length - 3, ".pb") == 0;
  if (tensor) onnx_read_tensor(path, &cli_array_mem, name, out, error);
  else read_file(path, out, error);
}
