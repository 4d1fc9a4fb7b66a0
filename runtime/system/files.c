/* Files read and written as wholes, and directories for those that are there for a moment. */
#include "runtime/system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool rt_write_all(int fd, const void *bytes, size_t size) {
  const char *at = bytes;
  while (size) {
    ssize_t done = write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done, size -= (size_t)done;
  }
  return true;
}

bool rt_write_new_file(const char *path, const void *bytes, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool good = fd >= 0 && rt_write_all(fd, bytes, size);
  return fd >= 0 && close(fd) == 0 && good;
}

void *rt_read_file(const char *path, const ir_mem *mem, size_t *size) {
  struct stat status;
  uint8_t *bytes = NULL;
  size_t done = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0)
    bytes = ir_alloc(mem, (size_t)status.st_size + 1);
  *size = bytes ? (size_t)status.st_size : 0;
  while (done < *size) {
    ssize_t n = read(fd, bytes + done, *size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += (size_t)n;
  }
  if (fd >= 0) close(fd);
  if (bytes) bytes[done] = 0;
  if (done == *size) return bytes;
  ir_free(mem, bytes, *size + 1);
  *size = 0;
  return NULL;
}

void rt_read_beginning(const char *path, char *out, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, out, room - 1) : 0;
  if (n < 0) n = 0;
  while (n > 0 && out[n - 1] == '\n') n--;
  out[n] = '\0';
  if (fd >= 0) close(fd);
}

ir_status rt_make_temporary_directory(const char *who, char *path, size_t room, ir_error *error) {
  const char *root = getenv("TMPDIR");
  if (!root || !*root) root = "/tmp";
  int length = snprintf(path, room, "%s/viewfold-XXXXXX", root);
  errno = ENAMETOOLONG;
  if (length >= 0 && (size_t)length < room && mkdtemp(path)) return IR_OK;
  return ir_fail(error, IR_ERR_IO, "%s: cannot make a temporary directory in %.200s: %s", who, root,
                 strerror(errno));
}
