/* A library to preload: it lets one call of the C library fail, as faults.h says, and passes all others on.
 * Calls within the C library do not come through here. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/campaign/shim/faults.h"

#define EXPORT __attribute__((visibility("default")))

static const char *const names[] = {
#define X(name) #name,
    FAULT_CALLS(X)
#undef X
};
static _Atomic uint32_t counts[FAULT_COUNT], *shared;
static int call = -1, error;
static unsigned long number;

/* Are the calls of this program counted? */
static int is_meant(const char *list) {
  char path[4096], copy[256];
  ssize_t length = syscall(SYS_readlink, "/proc/self/exe", path, sizeof path - 1);
  if (!list || length <= 0) return 0;
  path[length] = '\0';
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
  snprintf(copy, sizeof copy, "%s", list);
  char *rest;
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
    if (!strncmp(file, word, strlen(word))) return 1;
  return 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *list = getenv("FAULTS_IN"), *fail = getenv("FAULTS_FAIL"), *path = getenv("FAULTS_COUNTS");
  char word[32] = "";
  if (!is_meant(list)) return;
  if (fail && sscanf(fail, "%31s %lu %d", word, &number, &error) == 3)
    for (int i = 0; i < FAULT_COUNT; i++)
      if (!strcmp(names[i], word)) call = i;
  int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR) : -1;
  if (fd < 0) return;
  void *map = (void *)syscall(SYS_mmap, NULL, sizeof counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) shared = map;
  syscall(SYS_close, fd);
}

/* Counts the call. Is it the one that fails? */
static int is_chosen(int which) {
  uint32_t now = atomic_fetch_add(&counts[which], 1) + 1;
  if (shared) {
    uint32_t most = atomic_load(&shared[which]);
    while (now > most && !atomic_compare_exchange_weak(&shared[which], &most, now)) {}
  }
  return which == call && now == number;
}

static int fails(int which) {
  if (!is_chosen(which)) return 0;
  errno = error;
  return 1;
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
#define REAL(name) ((__typeof__(&name))next(#name))

/* A call that fails by returning `failure`. */
#define WRAP(which, result, name, failure, parameters, arguments)                                            \
  EXPORT result name parameters {                                                                            \
    if (fails(FAULT_##which)) return failure;                                                                \
    return REAL(name) arguments;                                                                             \
  }
WRAP(access, int, access, -1, (const char *path, int mode), (path, mode))
WRAP(fopen, FILE *, fopen, NULL, (const char *path, const char *mode), (path, mode))
WRAP(fopen, FILE *, fopen64, NULL, (const char *path, const char *mode), (path, mode))
WRAP(fsync, int, fsync, -1, (int fd), (fd))
WRAP(ftruncate, int, ftruncate, -1, (int fd, off_t size), (fd, size))
WRAP(ftruncate, int, ftruncate64, -1, (int fd, off64_t size), (fd, size))
WRAP(memfd_create, int, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
WRAP(mkdir, int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
WRAP(mkdir, int, mkdirat, -1, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP(mkdtemp, char *, mkdtemp, NULL, (char *path), (path))
WRAP(mmap, void *, mmap, MAP_FAILED, (void *at, size_t size, int access, int flags, int fd, off_t from),
     (at, size, access, flags, fd, from))
WRAP(mmap, void *, mmap64, MAP_FAILED, (void *at, size_t size, int access, int flags, int fd, off64_t from),
     (at, size, access, flags, fd, from))
WRAP(mprotect, int, mprotect, -1, (void *at, size_t size, int access), (at, size, access))
WRAP(opendir, DIR *, opendir, NULL, (const char *path), (path))
WRAP(opendir, DIR *, fdopendir, NULL, (int fd), (fd))
WRAP(pipe, int, pipe, -1, (int fds[2]), (fds))
WRAP(pipe, int, pipe2, -1, (int fds[2], int flags), (fds, flags))
WRAP(readdir, struct dirent *, readdir, NULL, (DIR * directory), (directory))
WRAP(readdir, struct dirent64 *, readdir64, NULL, (DIR * directory), (directory))
WRAP(link, int, linkat, -1, (int fd, const char *from, int to_fd, const char *to, int flags),
     (fd, from, to_fd, to, flags))
WRAP(rename, int, rename, -1, (const char *from, const char *to), (from, to))
WRAP(rename, int, renameat, -1, (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to))
WRAP(rename, int, renameat2, -1, (int fd, const char *from, int to_fd, const char *to, unsigned flags),
     (fd, from, to_fd, to, flags))
WRAP(stat, int, stat, -1, (const char *path, struct stat *out), (path, out))
WRAP(stat, int, stat64, -1, (const char *path, struct stat64 *out), (path, out))
WRAP(stat, int, fstat, -1, (int fd, struct stat *out), (fd, out))
WRAP(stat, int, fstat64, -1, (int fd, struct stat64 *out), (fd, out))
WRAP(stat, int, lstat, -1, (const char *path, struct stat *out), (path, out))
WRAP(stat, int, lstat64, -1, (const char *path, struct stat64 *out), (path, out))
WRAP(stat, int, fstatat, -1, (int fd, const char *path, struct stat *out, int flags), (fd, path, out, flags))
WRAP(stat, int, fstatat64, -1, (int fd, const char *path, struct stat64 *out, int flags),
     (fd, path, out, flags))
WRAP(unlink, int, unlink, -1, (const char *path), (path))
WRAP(unlink, int, unlinkat, -1, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(unlink, int, rmdir, -1, (const char *path), (path))
WRAP(utimens, int, utimensat, -1, (int fd, const char *path, const struct timespec times[2], int flags),
     (fd, path, times, flags))
WRAP(utimens, int, futimens, -1, (int fd, const struct timespec times[2]), (fd, times))

/* A failed close has closed all the same. */
EXPORT int close(int fd) {
  int chosen = is_chosen(FAULT_close), result = (int)syscall(SYS_close, fd);
  if (!chosen) return result;
  errno = error;
  return -1;
}

EXPORT int fclose(FILE *file) {
  int chosen = is_chosen(FAULT_fclose), result = REAL(fclose)(file);
  if (!chosen) return result;
  errno = error;
  return EOF;
}

#define PASSES_MODE(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)
#define OPENS(name)                                                                                          \
  EXPORT int name(const char *path, int flags, ...) {                                                        \
    va_list rest;                                                                                            \
    va_start(rest, flags);                                                                                   \
    mode_t mode = PASSES_MODE(flags) ? va_arg(rest, mode_t) : 0;                                             \
    va_end(rest);                                                                                            \
    if (fails(FAULT_open)) return -1;                                                                        \
    return REAL(name)(path, flags, mode);                                                                    \
  }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name)                                                                                       \
  EXPORT int name(int fd, const char *path, int flags, ...) {                                                \
    va_list rest;                                                                                            \
    va_start(rest, flags);                                                                                   \
    mode_t mode = PASSES_MODE(flags) ? va_arg(rest, mode_t) : 0;                                             \
    va_end(rest);                                                                                            \
    if (fails(FAULT_openat)) return -1;                                                                      \
    return REAL(name)(fd, path, flags, mode);                                                                \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

/* Half of the request, where that is at least a byte: 0 bytes would mean the end of the file. */
#define TRANSFER(which, name, parameters, arguments)                                                         \
  EXPORT ssize_t name parameters {                                                                           \
    if (is_chosen(FAULT_##which)) {                                                                          \
      if (error) return errno = error, -1;                                                                   \
      size = (size + 1) / 2;                                                                                 \
    }                                                                                                        \
    return REAL(name) arguments;                                                                             \
  }
TRANSFER(read, read, (int fd, void *to, size_t size), (fd, to, size))
TRANSFER(write, write, (int fd, const void *from, size_t size), (fd, from, size))
TRANSFER(pread, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
TRANSFER(pread, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
TRANSFER(write, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))

/* Whether the call fails; the stream then remembers a failed write. */
static int fails_on(int which, FILE *file) {
  if (!fails(which)) return 0;
  if (file) file->_flags |= _IO_ERR_SEEN;
  return 1;
}
EXPORT size_t fwrite(const void *from, size_t size, size_t count, FILE *to) {
  return fails_on(FAULT_fwrite, to) ? 0 : REAL(fwrite)(from, size, count, to);
}
EXPORT int fflush(FILE *file) { return fails_on(FAULT_fflush, file) ? EOF : REAL(fflush)(file); }

/* These functions return the error number. */
#define SPAWNS(name)                                                                                         \
  EXPORT int name(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,                 \
                  const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) { \
    if (fails(FAULT_spawn)) return error;                                                                    \
    return REAL(name)(child, file, actions, attributes, arguments, environment);                             \
  }
SPAWNS(posix_spawn)
SPAWNS(posix_spawnp)
