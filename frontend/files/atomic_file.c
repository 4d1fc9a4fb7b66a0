#define _GNU_SOURCE /* O_TMPFILE */
#include "frontend/files/atomic_file.h"

#include "frontend/files/file_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 100, WRITE_MOST = 1 << 30 };

_Static_assert(FE_PATH_MAX >= PATH_MAX, "realpath writes up to PATH_MAX bytes");

static ir_status fail_write(fe_atomic_file *file, ir_error *error, const char *what, int code) {
  fe_atomic_abandon(file);
  return fe_file_fail(error, IR_ERR_IO, file->name, "cannot %s: %s", what, strerror(code));
}

/* Standard output or standard error when the target is that very file, else -1. */
static int standard_stream(const struct stat *target) {
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
    struct stat open_file;
    if (fstat(fd, &open_file) == 0 && open_file.st_dev == target->st_dev &&
        open_file.st_ino == target->st_ino)
      return fd;
  }
  return -1;
}

static ir_status open_directly(fe_atomic_file *file, int stream, ir_error *error) {
  file->direct = true;
  if (stream >= 0) file->fd = fcntl(stream, F_DUPFD_CLOEXEC, 0);
  else file->fd = open(file->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  return file->fd < 0 ? fail_write(file, error, "open the file for writing", errno) : IR_OK;
}

/* The path of an open file. */
typedef struct open_path {
  char text[32];
} open_path;
static open_path path_of(int fd) {
  open_path p;
  snprintf(p.text, sizeof p.text, "/proc/self/fd/%d", fd);
  return p;
}

static size_t directory_length(const fe_atomic_file *file) {
  const char *slash = strrchr(file->target, '/');
  return slash ? (size_t)(slash - file->target) + 1 : 0;
}

/* False: the system has no files without a name there, or cannot give them one later. */
static bool open_nameless(fe_atomic_file *file) {
  char directory[FE_PATH_MAX + 1];
  snprintf(directory, sizeof directory, "%.*s.", (int)directory_length(file), file->target);
  file->fd = open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (file->fd < 0) return false;
  open_path self = path_of(file->fd);
  if (access(self.text, F_OK) == 0) return true;
  close(file->fd);
  file->fd = -1;
  return false;
}

/* Makes the open file's name, or a file, under a name in the directory of file->target that no file has. */
static ir_status open_named(fe_atomic_file *file, ir_error *error) {
  struct timespec now = {0};
  open_path self = path_of(file->fd);
  bool nameless = file->fd >= 0;
  clock_gettime(CLOCK_REALTIME, &now);
  for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
    unsigned long salt = (unsigned long)now.tv_nsec + attempt;
    int length = snprintf(file->temporary, sizeof file->temporary, "%.*s.viewfold-%lx-%lx.tmp",
                          (int)directory_length(file), file->target, (unsigned long)getpid(), salt);
    if (length >= (int)sizeof file->temporary) {
      file->temporary[0] = 0;
      return fail_write(file, error, "open the file for writing", ENAMETOOLONG);
    }
    if (nameless && linkat(AT_FDCWD, self.text, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0)
      return IR_OK;
    if (!nameless) file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!nameless && file->fd >= 0) return IR_OK;
    if (errno != EEXIST) break;
  }
  int code = errno;
  file->temporary[0] = 0;
  return fail_write(file, error, code == ENOENT ? "write to its folder" : "create a temporary file beside it",
                    code);
}

ir_status fe_atomic_name(fe_atomic_file *file, ir_error *error) {
  return file->direct || file->temporary[0] ? IR_OK : open_named(file, error);
}

/* errno when there is a reason not to create a file of that name, else 0. */
static int check_new(const char *path, size_t length) {
  struct stat link;
  if (length == 0 || lstat(path, &link) == 0) return ENOENT; /* a symbolic link that leads nowhere */
  return path[length - 1] == '/' ? EISDIR : 0;
}

ir_status fe_atomic_open(fe_atomic_file *file, const char *path, ir_error *error) {
  static const char opening[] = "open the file for writing";
  file->name = path;
  file->fd = -1;
  file->direct = false;
  file->target[0] = file->temporary[0] = 0;
  size_t length = strlen(path);
  if (length >= sizeof file->target) return fail_write(file, error, opening, ENAMETOOLONG);
  struct stat status;
  bool exists = stat(path, &status) == 0;
  if (!exists && errno != ENOENT) return fail_write(file, error, opening, errno);
  if (exists && S_ISDIR(status.st_mode)) return fail_write(file, error, opening, EISDIR);
  int stream = exists ? standard_stream(&status) : -1;
  if (stream >= 0 || (exists && !S_ISREG(status.st_mode))) return open_directly(file, stream, error);
  if (exists && access(path, W_OK) != 0) return fail_write(file, error, opening, errno);
  if (!exists) memcpy(file->target, path, length + 1);
  int refused = 0;
  if (!exists) refused = check_new(path, length);
  else if (!realpath(path, file->target)) refused = errno;
  if (refused) return fail_write(file, error, opening, refused);
  ir_status opened = open_nameless(file) ? IR_OK : open_named(file, error);
  if (opened != IR_OK || !exists) return opened;
  if (fchmod(file->fd, status.st_mode & 0777) != 0)
    return fail_write(file, error, "set the permissions of the file", errno);
  return IR_OK;
}

ir_status fe_atomic_stdout(fe_atomic_file *file, ir_error *error) {
  file->name = "standard output";
  file->fd = -1;
  file->target[0] = file->temporary[0] = 0;
  return open_directly(file, STDOUT_FILENO, error);
}

/* Find the directory of a path, by stat. Returns the name behind the last slash; NULL where there is no such
 * directory. */
static const char *find_directory(const char *path, struct stat *directory) {
  char parent[FE_PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) : 0;
  memcpy(parent, path, length);
  parent[length] = 0;
  const char *known = !slash ? "." : length == 0 ? "/" : parent;
  return stat(known, directory) == 0 ? slash ? slash + 1 : path : NULL;
}

bool fe_atomic_same(const fe_atomic_file *a, const fe_atomic_file *b) {
  struct stat x, y;
  const char *in_a = "", *in_b = "";
  if (a->direct != b->direct) return false;
  if (a->direct && (fstat(a->fd, &x) || fstat(b->fd, &y))) return false;
  if (!a->direct) in_a = find_directory(a->target, &x), in_b = find_directory(b->target, &y);
  return in_a && in_b && x.st_dev == y.st_dev && x.st_ino == y.st_ino && strcmp(in_a, in_b) == 0;
}

ir_status fe_atomic_write(fe_atomic_file *file, const void *bytes, size_t size, ir_error *error) {
  const char *at = bytes;
  while (size > 0) {
    ssize_t written = write(file->fd, at, size < WRITE_MOST ? size : WRITE_MOST);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail_write(file, error, "write the file", written < 0 ? errno : EIO);
    at += written;
    size -= (size_t)written;
  }
  return IR_OK;
}

ir_status fe_atomic_commit(fe_atomic_file *file, ir_error *error) {
  if (file->fd < 0) return fail_write(file, error, "write the file", EBADF);
  if (fe_atomic_name(file, error)) return error->status;
  int fd = file->fd;
  file->fd = -1;
  if (close(fd) != 0 && errno != EINTR) return fail_write(file, error, "write the file", errno);
  if (file->direct) return IR_OK;
  if (rename(file->temporary, file->target) != 0)
    return fail_write(file, error, "rename the temporary file", errno);
  file->temporary[0] = 0;
  return IR_OK;
}

void fe_atomic_abandon(fe_atomic_file *file) {
  if (file->fd >= 0) close(file->fd);
  if (file->temporary[0]) unlink(file->temporary);
  file->fd = -1;
  file->temporary[0] = 0;
}
