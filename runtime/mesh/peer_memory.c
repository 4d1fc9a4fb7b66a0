#define _GNU_SOURCE /* process_vm_readv */
#include "runtime/mesh/peer_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/mesh/box.h"

/* Ranges of one system call. One takes 1.6 us; of ranges of 1 KiB each takes 0.68 us where 16 go in a call,
 * 0.57 of 64, 0.54 of 256, 0.51 of 1024 (EPYC, Linux). */
enum { RUNS = 256 };

/* Numbers of processes are those of a namespace of a system, random(4), namespaces(7). */
static void name_system(char *out, size_t size) {
  char boot[40] = "";
  struct stat space;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? 0 : read(fd, boot, sizeof boot - 1);
  if (fd >= 0) close(fd);
  if (length > 36 && stat("/proc/self/ns/pid", &space) == 0)
    snprintf(out, size, "%.36s %llu", boot, (unsigned long long)space.st_ino);
}

void rt_memory_name_own(rt_memory_name *out) {
  memset(out, 0, sizeof *out);
  name_system(out->system, sizeof out->system);
  if (getentropy(out->secret, sizeof out->secret)) out->system[0] = '\0';
  out->process = getpid();
  out->secret_at = (uintptr_t)out->secret;
}

/* Ranges of memory, in order. */
typedef struct ranges {
  struct iovec list[RUNS];
  unsigned long first, count;
} ranges;

/* Adds a range; one that follows the last makes that longer. */
static void add_range(ranges *r, void *base, size_t bytes) {
  struct iovec *last = r->count ? &r->list[r->count - 1] : NULL;
  if (last && (char *)last->iov_base + last->iov_len == base) last->iov_len += bytes;
  else r->list[r->count++] = (struct iovec){base, bytes};
}

static void drop_bytes(ranges *r, size_t bytes) {
  while (r->first < r->count && bytes >= r->list[r->first].iov_len) bytes -= r->list[r->first++].iov_len;
  if (r->first == r->count) return;
  struct iovec *v = &r->list[r->first];
  v->iov_base = (char *)v->iov_base + bytes, v->iov_len -= bytes;
}

/* Reads all of the remote ranges into the local ones, which have as many bytes together. */
static bool read_ranges(pid_t process, ranges *local, ranges *remote) {
  while (local->first < local->count) {
    ssize_t done = process_vm_readv(process, &local->list[local->first], local->count - local->first,
                                    &remote->list[remote->first], remote->count - remote->first, 0);
    if (done <= 0) return false;
    drop_bytes(local, (size_t)done), drop_bytes(remote, (size_t)done);
  }
  *local = *remote = (ranges){.count = 0};
  return true;
}

static void *address(uint64_t at) { return (void *)(uintptr_t)at; } /* there: it is not looked at here */

bool rt_memory_is_readable(const rt_memory_name *self, const rt_memory_name *of) {
  uint64_t secret[2] = {0, 0};
  if (!self->system[0] || memcmp(self->system, of->system, sizeof self->system) != 0) return false;
  ranges local = {.count = 0}, remote = {.count = 0};
  add_range(&local, secret, sizeof secret), add_range(&remote, address(of->secret_at), sizeof secret);
  return read_ranges((pid_t)of->process, &local, &remote) && memcmp(secret, of->secret, sizeof secret) == 0;
}

bool rt_memory_read_box(const rt_memory_name *of, const ir_box *box, size_t bytes, const ir_box *from,
                        uint64_t source, const ir_box *to, void *target) {
  ranges local = {.count = 0}, remote = {.count = 0};
  rt_box_runs runs;
  bool good = true;
  rt_box_runs_begin(&runs, box, bytes, from, to);
  for (bool more = runs.bytes > 0; more && good;) {
    add_range(&local, (char *)target + runs.to, runs.bytes);
    add_range(&remote, address(source + (uint64_t)runs.from), runs.bytes);
    more = rt_box_runs_next(&runs);
    if (!more || local.count == RUNS || remote.count == RUNS)
      good = read_ranges((pid_t)of->process, &local, &remote);
  }
  return good;
}
