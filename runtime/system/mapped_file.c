#define _GNU_SOURCE /* CLOCK_REALTIME_COARSE */
#include "runtime/system/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/system/bus_error.h"

#ifndef CLOCK_REALTIME_COARSE
#define CLOCK_REALTIME_COARSE CLOCK_REALTIME
#endif

struct rt_mapped_file {
  const ir_mem *mem;
  const uint8_t *bytes;
  rt_guard *guard; /* NULL: the file is empty, and not mapped */
  rt_file_identity identity;
  int fd;
  atomic_uint uses;
  size_t allocated; /* bytes of this allocation */
  char name[];
};

static int64_t ns_of(struct timespec t) { return t.tv_sec * INT64_C(1000000000) + t.tv_nsec; }

static rt_file_identity identity_of(const struct stat *s) {
  return (rt_file_identity){(uint64_t)s->st_dev, (uint64_t)s->st_ino, (uint64_t)s->st_size, ns_of(s->st_mtim),
                            ns_of(s->st_ctim)};
}

static ir_status fail(ir_error *error, ir_status status, const char *name, const char *what,
                      const char *why) {
  return ir_fail(error, status, "%.240s: error: %s%s", name, what, why);
}

/* File systems take the time from a clock that advances by ticks. Waits until the tick of the last change is
 * over: two at most. */
static bool outlast_tick(int fd, struct stat *s) {
  struct timespec tick = {0}, now = {0};
  clock_getres(CLOCK_REALTIME_COARSE, &tick);
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  int64_t age = ns_of(now) - ns_of(s->st_ctim);
  if (age > ns_of(tick) || age < -ns_of(tick)) return true;
  struct timespec wait = {0, (long)((2 * ns_of(tick)) % 1000000000)};
  nanosleep(&wait, NULL);
  return fstat(fd, s) == 0;
}

static ir_status map(rt_mapped_file *f, ir_error *error) {
  struct stat s;
  f->fd = open(f->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (f->fd < 0 || fstat(f->fd, &s))
    return fail(error, IR_ERR_IO, f->name, "cannot open the file: ", strerror(errno));
  if (!S_ISREG(s.st_mode))
    return fail(error, IR_ERR_INVALID, f->name, "not a regular file; arrays are mapped from regular files",
                "");
  if (!outlast_tick(f->fd, &s))
    return fail(error, IR_ERR_IO, f->name, "cannot read the file: ", strerror(errno));
  f->identity = identity_of(&s);
  if (s.st_size == 0) return IR_OK;
  if ((uint64_t)s.st_size > PTRDIFF_MAX)
    return fail(error, IR_ERR_MEMORY, f->name, "the file is larger than the address space", "");
  void *made = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, f->fd, 0);
  if (made == MAP_FAILED) return fail(error, IR_ERR_IO, f->name, "cannot map the file: ", strerror(errno));
  f->bytes = made;
  f->guard = rt_guard_add(made, (size_t)s.st_size);
  if (f->guard) return IR_OK;
  munmap(made, (size_t)s.st_size);
  return fail(error, IR_ERR_MEMORY, f->name, "out of memory mapping the file", "");
}

ir_status rt_mapped_open(const ir_mem *mem, const char *path, rt_mapped_file **out, ir_error *error) {
  size_t length = strlen(path), size = sizeof **out + length + 1;
  *out = NULL;
  rt_mapped_file *f = ir_alloc(mem, size);
  if (!f) return fail(error, IR_ERR_MEMORY, path, "out of memory opening the file", "");
  *f = (rt_mapped_file){.mem = mem, .bytes = (const uint8_t *)"", .fd = -1, .allocated = size};
  memcpy(f->name, path, length + 1);
  atomic_init(&f->uses, 1);
  ir_status status = map(f, error);
  if (status) rt_mapped_release(f);
  else *out = f;
  return status;
}

void rt_mapped_retain(rt_mapped_file *f) { atomic_fetch_add_explicit(&f->uses, 1, memory_order_relaxed); }

void rt_mapped_release(rt_mapped_file *f) {
  if (!f || atomic_fetch_sub_explicit(&f->uses, 1, memory_order_acq_rel) != 1) return;
  if (f->guard) {
    rt_guard_remove(f->guard);
    munmap((void *)(uintptr_t)f->bytes, (size_t)f->identity.size);
  }
  if (f->fd >= 0) close(f->fd);
  ir_free(f->mem, f, f->allocated);
}

const char *rt_mapped_name(const rt_mapped_file *f) { return f->name; }
const uint8_t *rt_mapped_bytes(const rt_mapped_file *f) { return f->bytes; }
const rt_file_identity *rt_mapped_identity(const rt_mapped_file *f) { return &f->identity; }
int rt_mapped_descriptor(const rt_mapped_file *f) { return f->fd; }

void rt_mapped_leave(const rt_mapped_file *f, size_t offset, size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), begin = offset & ~(page - 1);
  if (f->guard && size) madvise((void *)(uintptr_t)(f->bytes + begin), offset + size - begin, MADV_DONTNEED);
}

ir_status rt_mapped_check(const rt_mapped_file *f, ir_error *error) {
  struct stat s;
  if (f->guard && rt_guard_damaged(f->guard))
    return fail(error, IR_ERR_IO, f->name,
                "the file has become shorter, or could not be read, since it was opened; open it again", "");
  if (fstat(f->fd, &s)) return fail(error, IR_ERR_IO, f->name, "cannot read the file: ", strerror(errno));
  rt_file_identity now = identity_of(&s);
  if (now.size == f->identity.size && now.modified_ns == f->identity.modified_ns) return IR_OK;
  return fail(error, IR_ERR_IO, f->name, "the file was changed after it was opened; open it again", "");
}
