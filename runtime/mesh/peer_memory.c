#define _GNU_SOURCE /* process_vm_readv */
#include "runtime/mesh/peer_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/mesh/box.h"

enum { RUNS = 64 }; /* runs of elements of one system call, which costs as much as copying 4 KiB */

static rt_memory_name own;
static pid_t owner; /* the process that made it: a fork is another one */
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

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

void rt_memory_own(rt_memory_name *out) {
  pthread_mutex_lock(&own_lock);
  if (owner != getpid()) {
    owner = getpid();
    memset(&own, 0, sizeof own);
    name_system(own.system, sizeof own.system);
    if (getentropy(own.secret, sizeof own.secret)) own.system[0] = '\0';
    own.process = owner;
    own.secret_at = (uintptr_t)own.secret;
  }
  *out = own;
  pthread_mutex_unlock(&own_lock);
}

/* Reads all of the remote ranges into the local ones, which are as long, pair by pair. */
static bool read_ranges(pid_t process, struct iovec *local, struct iovec *remote, unsigned long count) {
  while (count) {
    ssize_t done = process_vm_readv(process, local, count, remote, count, 0);
    if (done <= 0) return false;
    while (count && (size_t)done >= local->iov_len)
      done -= (ssize_t)local->iov_len, local++, remote++, count--;
    if (!count) break;
    local->iov_base = (char *)local->iov_base + done, local->iov_len -= (size_t)done;
    remote->iov_base = (char *)remote->iov_base + done, remote->iov_len -= (size_t)done;
  }
  return true;
}

static void *address(uint64_t at) { return (void *)(uintptr_t)at; } /* there: it is not looked at here */

bool rt_memory_is_readable(const rt_memory_name *of) {
  rt_memory_name self;
  uint64_t secret[2] = {0, 0};
  rt_memory_own(&self);
  if (!self.system[0] || memcmp(self.system, of->system, sizeof self.system) != 0) return false;
  struct iovec local = {secret, sizeof secret}, remote = {address(of->secret_at), sizeof secret};
  return read_ranges((pid_t)of->process, &local, &remote, 1) &&
         memcmp(secret, of->secret, sizeof secret) == 0;
}

bool rt_memory_read_box(const rt_memory_name *of, const ir_box *box, size_t bytes, const ir_box *from,
                        uint64_t source, const ir_box *to, void *target) {
  struct iovec local[RUNS], remote[RUNS];
  unsigned long count = 0;
  rt_box_runs runs;
  bool good = true;
  rt_box_runs_begin(&runs, box, bytes, from, to);
  for (bool more = runs.bytes > 0; more && good;) {
    local[count] = (struct iovec){(char *)target + runs.to, runs.bytes};
    remote[count++] = (struct iovec){address(source + (uint64_t)runs.from), runs.bytes};
    more = rt_box_runs_next(&runs);
    if (more && count < RUNS) continue;
    good = read_ranges((pid_t)of->process, local, remote, count);
    count = 0;
  }
  return good;
}
