/* Reading, checking, writing and removing one cache file. */
#define _GNU_SOURCE /* O_CLOEXEC, MAP_POPULATE */
#include "runtime/cache/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/cache/mapped_entry.h"

#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

#define MAGIC 0x3165686361636676u /* "vfcache1" */
enum { VERSION = 2 };

uint64_t rt_disk_payload_offset(uint64_t key_size) {
  return (sizeof(rt_disk_head) + key_size + RT_DISK_ALIGN - 1) & ~(uint64_t)(RT_DISK_ALIGN - 1);
}

uint64_t rt_disk_entry_size(size_t key_size, size_t payload_size) {
  return rt_disk_payload_offset(key_size) + payload_size;
}

static bool set_reason(char why[RT_DISK_WHY], const char *text) {
  snprintf(why, RT_DISK_WHY, "%s", text);
  return false;
}

/* Checks that need only the head and the size of the file. */
static bool check_head(const rt_disk_head *head, uint64_t file_size, const char *kind, const void *key,
                       size_t key_size, char *why) {
  char wanted[RT_DISK_KIND] = {0};
  if (head->magic != MAGIC) return set_reason(why, "not a viewfold cache entry");
  if (head->version != VERSION || head->zero != 0) return set_reason(why, "of another version");
  if (!memchr(head->kind, 0, sizeof head->kind)) return set_reason(why, "the kind is ill-formed");
  uint64_t room = file_size - sizeof *head;
  if (head->key_size > room || head->payload_size > room) return set_reason(why, "shorter than it says");
  if (rt_disk_payload_offset(head->key_size) + head->payload_size != file_size)
    return set_reason(why, "not as long as it says");
  snprintf(wanted, sizeof wanted, "%s", kind);
  if (memcmp(wanted, head->kind, sizeof wanted))
    return set_reason(why, "its kind is not the one in its name");
  return !key || head->key_size == key_size || set_reason(why, "the key does not match its name");
}

/* Check the digest and the key of a whole entry, in private memory that no other process changes. */
static bool check_body(const uint8_t *bytes, size_t size, const void *key, size_t key_size,
                       rt_entry_view *out) {
  rt_disk_head head;
  memcpy(&head, bytes, sizeof head);
  uint64_t offset = rt_disk_payload_offset(head.key_size);
  if (!rt_digest_equal(rt_digest_of(bytes + offset, head.payload_size), head.payload_digest))
    return set_reason(out->why, "the payload does not match its digest");
  if (key && memcmp(bytes + sizeof head, key, key_size))
    return set_reason(out->why, "the key does not match its name");
  if (!key) out->key_digest = rt_digest_of(bytes + sizeof head, head.key_size);
  out->found = (rt_found){bytes + offset, head.payload_size, (void *)(uintptr_t)bytes, size, offset};
  return true;
}

/* Returns the number of bytes read: fewer than `size` at the end of the file, and where reading fails. */
static size_t read_some(int fd, void *to, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = pread(fd, (char *)to + done, size - done, (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += (size_t)got;
  }
  return done;
}

bool rt_disk_head_read(int fd, uint64_t file_size, const char *kind, const void *key, size_t key_size,
                       rt_disk_head *out, char why[RT_DISK_WHY]) {
  if (file_size < sizeof *out || file_size > SIZE_MAX || read_some(fd, out, sizeof *out) != sizeof *out)
    return set_reason(why, "shorter than its header");
  return check_head(out, file_size, kind, key, key_size, why);
}

/* MAP_POPULATE maps all pages at once instead of one page fault for each: all of them are written. */
static void *private_memory(size_t size) {
  void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return map == MAP_FAILED ? NULL : map;
}

/* The head is read first, so that memory is allocated only for a file that is as long as its own head says.
 * The head is compared again with the whole file, which may have changed since. */
static rt_entry_state read_file(int fd, const char *kind, const void *key, size_t key_size,
                                rt_entry_view *out) {
  static const rt_disk_stamp none;
  rt_disk_head head;
  uint64_t size = (uint64_t)out->status.st_size;
  if (!rt_disk_head_read(fd, size, kind, key, key_size, &head, out->why)) return RT_ENTRY_DAMAGED;
  if (key && memcmp(&head.stamp, &none, sizeof none)) {
    set_reason(out->why, "has the stamp of an entry that is mapped");
    return RT_ENTRY_DAMAGED;
  }
  uint8_t *bytes = private_memory((size_t)size);
  if (!bytes) {
    set_reason(out->why, "there is no memory to read it into");
    return RT_ENTRY_ABSENT;
  }
  rt_entry_state state = RT_ENTRY_ABSENT;
  if (read_some(fd, bytes, (size_t)size) != size || memcmp(bytes, &head, sizeof head))
    set_reason(out->why, "changed while it was read");
  else if (check_body(bytes, (size_t)size, key, key_size, out)) return RT_ENTRY_GOOD;
  else state = RT_ENTRY_DAMAGED;
  munmap(bytes, (size_t)size);
  return state;
}

int rt_disk_entry_open(int shard, const char *name, struct stat *status, char why[RT_DISK_WHY]) {
  why[0] = 0;
  int fd = openat(shard, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == ELOOP) set_reason(why, "is a symbolic link");
  else if (fd < 0 && errno != ENOENT) set_reason(why, "cannot be opened");
  else if (fd >= 0 && (fstat(fd, status) || !S_ISREG(status->st_mode))) set_reason(why, "is no regular file");
  if (fd < 0 || !*why) return fd;
  close(fd);
  return -1;
}

rt_entry_state rt_disk_entry_read(int shard, const char *name, const char *kind, const void *key,
                                  size_t key_size, rt_entry_view *out) {
  memset(out, 0, sizeof *out);
  int fd = rt_disk_entry_open(shard, name, &out->status, out->why);
  if (fd < 0) return RT_ENTRY_ABSENT;
  rt_entry_state state = RT_ENTRY_ABSENT;
  if (rt_is_trusted(&out->status, out->why)) state = read_file(fd, kind, key, key_size, out);
  close(fd);
  return state;
}

void rt_disk_release(rt_found *found) {
  if (found->map) munmap(found->map, found->map_size);
  *found = (rt_found){0};
}

/* Write all buffers, which are consumed, however many calls that takes. */
static bool write_all(int fd, struct iovec *part, int count) {
  while (count) {
    if (part->iov_len == 0) {
      part++, count--;
      continue;
    }
    ssize_t done = writev(fd, part, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    for (size_t left = (size_t)done; left;) {
      size_t step = left < part->iov_len ? left : part->iov_len;
      part->iov_base = (char *)part->iov_base + step;
      part->iov_len -= step;
      left -= step;
      if (left) part++, count--;
    }
  }
  return true;
}

bool rt_disk_entry_write(int shard, const char *name, const char *kind, const void *key, size_t key_size,
                         const void *payload, size_t size, const rt_digest *boot) {
  static const char zeros[RT_DISK_ALIGN];
  rt_disk_head head = {MAGIC, VERSION, 0, key_size, size, rt_digest_of(payload, size), {0}, {0}};
  snprintf(head.kind, sizeof head.kind, "%s", kind);
  int fd = openat(shard, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  struct iovec parts[] = {
      {&head, sizeof head},
      {(void *)(uintptr_t)key, key_size},
      {(void *)(uintptr_t)zeros, rt_disk_payload_offset(key_size) - sizeof head - key_size},
      {(void *)(uintptr_t)payload, size}};
  struct timespec times[2];
  bool stamped = boot && rt_disk_stamp_make(fd, *boot, &head.stamp, times);
  bool good = write_all(fd, parts, sizeof parts / sizeof *parts);
  if (good && stamped) futimens(fd, times); /* the stamp is worth nothing where that fails */
  good = close(fd) == 0 && good;
  if (good) return true;
  int why = errno;
  unlinkat(shard, name, 0); /* created just now by this function (O_EXCL) */
  errno = why;
  return false;
}

rt_owner rt_disk_owner(int shard, const char *name, char why[RT_DISK_WHY]) {
  const uint64_t magic = MAGIC;
  uint8_t begins[sizeof magic] = {0};
  struct stat s;
  int fd = rt_disk_entry_open(shard, name, &s, why);
  if (fd < 0) return RT_UNKNOWN;
  size_t got = read_some(fd, begins, sizeof begins);
  close(fd);
  if (s.st_uid != geteuid()) {
    snprintf(why, RT_DISK_WHY, "belongs to user %lu", (unsigned long)s.st_uid);
    return RT_UNKNOWN;
  }
  bool whole = *name != '.'; /* a process may have ended at any point of writing its temporary file */
  if (memcmp(begins, &magic, got) == 0 && (got == sizeof magic || !whole)) return RT_OURS;
  set_reason(why, "not a viewfold cache entry");
  return RT_FOREIGN;
}

bool rt_disk_unlink(int shard, const char *name, char why[RT_DISK_WHY]) {
  rt_owner owner = rt_disk_owner(shard, name, why);
  if (owner == RT_UNKNOWN && !*why) return true; /* there is none */
  if (owner != RT_OURS) return false;
  if (!unlinkat(shard, name, 0) || errno == ENOENT) return true;
  return set_reason(why, "cannot be removed");
}
