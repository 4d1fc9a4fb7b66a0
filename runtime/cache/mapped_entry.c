#define _GNU_SOURCE /* O_CLOEXEC */
#include "runtime/cache/mapped_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t ns_of(struct timespec t) { return t.tv_sec * INT64_C(1000000000) + t.tv_nsec; }

/* Linux has an identifier of each boot, random(4). */
rt_digest rt_disk_boot(void) {
  char text[64];
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  return size > 0 ? rt_digest_of(text, (size_t)size) : (rt_digest){0, 0};
}

static bool is_none(rt_digest boot) { return !boot.lo && !boot.hi; }

bool rt_disk_stamp_make(int fd, rt_digest boot, rt_disk_stamp *out, struct timespec times[2]) {
  struct stat s;
  times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
  if (is_none(boot) || fstat(fd, &s) || clock_gettime(CLOCK_REALTIME, &times[1])) return false;
  *out = (rt_disk_stamp){(uint64_t)s.st_dev, (uint64_t)s.st_ino, ns_of(times[1]), boot};
  return true;
}

static bool is_current(const rt_disk_stamp *stamp, const struct stat *s, rt_digest boot) {
  return !is_none(boot) && rt_digest_equal(stamp->boot, boot) && stamp->device == (uint64_t)s->st_dev &&
         stamp->inode == (uint64_t)s->st_ino && stamp->modified_ns == ns_of(s->st_mtim);
}

/* Where the file cannot be written to, it stays as it is. A process that ends between the two steps, or
 * another that is about the same, leaves a stamp that is not current. */
static void stamp_anew(int shard, const char *name, const struct stat *was, rt_digest boot) {
  rt_disk_stamp stamp;
  struct timespec times[2];
  struct stat now;
  int fd = openat(shard, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  bool same = fstat(fd, &now) == 0 && now.st_ino == was->st_ino && now.st_dev == was->st_dev &&
              now.st_size == was->st_size && ns_of(now.st_mtim) == ns_of(was->st_mtim);
  if (same && rt_disk_stamp_make(fd, boot, &stamp, times) &&
      pwrite(fd, &stamp, sizeof stamp, offsetof(rt_disk_head, stamp)) == (ssize_t)sizeof stamp)
    futimens(fd, times);
  close(fd);
}

static rt_entry_state fail(char why[RT_DISK_WHY], rt_entry_state state, const char *text) {
  snprintf(why, RT_DISK_WHY, "%s", text);
  return state;
}

static rt_entry_state check(const rt_disk_mapping *m, const rt_disk_head *head, const void *key,
                            bool is_known, char why[RT_DISK_WHY]) {
  bool key_good = memcmp((const char *)m->map + sizeof *head, key, head->key_size) == 0;
  bool good =
      key_good && (is_known || rt_digest_equal(rt_digest_of(m->payload, m->size), head->payload_digest));
  if (rt_guard_damaged(m->guard)) return fail(why, RT_ENTRY_ABSENT, "changed while it was read");
  if (good) return RT_ENTRY_GOOD;
  return fail(why, RT_ENTRY_DAMAGED,
              key_good ? "the payload does not match its digest" : "the key does not match its name");
}

static rt_entry_state map(int fd, const struct stat *status, const char *kind, const void *key,
                          size_t key_size, rt_digest boot, rt_disk_mapping *out, bool *was_current,
                          char why[RT_DISK_WHY]) {
  rt_disk_head head;
  size_t size = (size_t)status->st_size;
  if (!rt_disk_head_read(fd, (uint64_t)status->st_size, kind, key, key_size, &head, why))
    return RT_ENTRY_DAMAGED;
  void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) return fail(why, RT_ENTRY_ABSENT, "cannot be mapped");
  uint64_t offset = rt_disk_payload_offset(head.key_size);
  *out = (rt_disk_mapping){(const uint8_t *)bytes + offset, head.payload_size, bytes, size, NULL};
  out->guard = rt_guard_add(bytes, size);
  *was_current = is_current(&head.stamp, status, boot);
  rt_entry_state state = out->guard ? check(out, &head, key, *was_current, why)
                                    : fail(why, RT_ENTRY_ABSENT, "there is no memory to guard it");
  if (state != RT_ENTRY_GOOD) rt_disk_unmap(out);
  return state;
}

rt_entry_state rt_disk_entry_map(int shard, const char *name, const char *kind, const void *key,
                                 size_t key_size, rt_digest boot, int64_t fresh_seconds, rt_disk_mapping *out,
                                 char why[RT_DISK_WHY]) {
  struct stat status;
  bool was_current = false;
  *out = (rt_disk_mapping){0};
  int fd = rt_disk_entry_open(shard, name, &status, why);
  if (fd < 0) return RT_ENTRY_ABSENT;
  rt_entry_state state = RT_ENTRY_ABSENT;
  if (rt_is_trusted(&status, why))
    state = map(fd, &status, kind, key, key_size, boot, out, &was_current, why);
  close(fd);
  if (state == RT_ENTRY_GOOD && (!was_current || time(NULL) - status.st_mtime > fresh_seconds))
    stamp_anew(shard, name, &status, boot);
  return state;
}

void rt_disk_unmap(rt_disk_mapping *m) {
  if (m->guard) rt_guard_remove(m->guard);
  if (m->map) munmap(m->map, m->map_size);
  *m = (rt_disk_mapping){0};
}
