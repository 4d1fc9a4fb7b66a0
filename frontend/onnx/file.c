#define _GNU_SOURCE
#include "frontend/onnx/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/files/file_error.h"

struct fe_model_file {
  const ir_mem *mem;
  atomic_uint uses;
  wire_bytes bytes;
};

static ir_status map(int fd, const char *path, wire_bytes *out, ir_error *error) {
  struct stat info;
  if (fstat(fd, &info)) return fe_file_fail(error, IR_ERR_IO, path, "%s", strerror(errno));
  if (!S_ISREG(info.st_mode))
    return fe_file_fail(error, IR_ERR_INVALID, path, "it is no regular file, which can be mapped");
  *out = (wire_bytes){(const uint8_t *)"", (size_t)info.st_size};
  if (out->size == 0) return IR_OK;
  void *at = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) return fe_file_fail(error, IR_ERR_IO, path, "%s", strerror(errno));
  out->at = at;
  return IR_OK;
}

ir_status fe_model_open(const ir_mem *mem, const char *path, fe_model_file **out, ir_error *error) {
  fe_model_file *file = ir_alloc(mem, sizeof *file);
  if (!file) return ir_fail(error, IR_ERR_MEMORY, "out of memory opening a model");
  *file = (fe_model_file){.mem = mem};
  atomic_init(&file->uses, 1);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ir_status status = fd < 0 ? fe_file_fail(error, IR_ERR_IO, path, "%s", strerror(errno))
                            : map(fd, path, &file->bytes, error);
  if (fd >= 0) close(fd);
  if (status != IR_OK) ir_free(mem, file, sizeof *file);
  else *out = file;
  return status;
}

void fe_model_retain(fe_model_file *file) { atomic_fetch_add(&file->uses, 1); }

void fe_model_release(fe_model_file *file) {
  if (!file || atomic_fetch_sub(&file->uses, 1) != 1) return;
  if (file->bytes.size) munmap((void *)file->bytes.at, file->bytes.size);
  ir_free(file->mem, file, sizeof *file);
}

wire_bytes fe_model_bytes(const fe_model_file *file) { return file->bytes; }
