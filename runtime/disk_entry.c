/* Reading, checking and writing one cache file, and walking over all of them. */
#define _GNU_SOURCE /* O_CLOEXEC, d_type */
#include "runtime/disk_entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC 0x3165686361636676u /* "vfcache1" */
enum { VERSION = 1 };

static uint64_t payload_offset(uint64_t key_size) {
  return (sizeof(rt_disk_head) + key_size + RT_DISK_ALIGN - 1) & ~(uint64_t)(RT_DISK_ALIGN - 1);
}

/* Everything but the payload's digest. */
static const char *check_head(const rt_disk_head *head, uint64_t file_size) {
  if (head->magic != MAGIC) return "not a viewfold cache entry";
  if (head->version != VERSION || head->zero != 0) return "of another version";
  if (!memchr(head->kind, 0, sizeof head->kind)) return "the kind is ill-formed";
  uint64_t room = file_size - sizeof *head;
  if (head->key_size > room || head->payload_size > room) return "shorter than it says";
  if (payload_offset(head->key_size) + head->payload_size != file_size) return "not as long as it says";
  return NULL;
}

static rt_entry_state check(const uint8_t *map, const char *kind, const void *key, size_t key_size,
                            rt_entry_view *out) {
  rt_disk_head head;
  memcpy(&head, map, sizeof head);
  out->why = check_head(&head, (uint64_t)out->status.st_size);
  if (out->why) return RT_ENTRY_DAMAGED;
  char wanted[RT_DISK_KIND] = {0};
  snprintf(wanted, sizeof wanted, "%s", kind);
  out->why = "its kind is not the one in its name";
  if (memcmp(wanted, head.kind, sizeof wanted)) return RT_ENTRY_DAMAGED;
  uint64_t offset = payload_offset(head.key_size);
  const uint8_t *payload = map + offset;
  out->why = "the payload does not match its digest";
  if (!rt_digest_equal(rt_digest_of(payload, head.payload_size), head.payload_digest))
    return RT_ENTRY_DAMAGED;
  out->why = "the key does not match its name";
  if (key && (head.key_size != key_size || memcmp(map + sizeof head, key, key_size))) return RT_ENTRY_DAMAGED;
  if (!key) out->key_digest = rt_digest_of(map + sizeof head, head.key_size);
  out->why = NULL;
  out->found =
      (rt_found){payload, head.payload_size, (void *)(uintptr_t)map, (size_t)out->status.st_size, offset};
  return RT_ENTRY_GOOD;
}

rt_entry_state rt_disk_entry_read(const char *path, const char *kind, const void *key, size_t key_size,
                                  rt_entry_view *out) {
  memset(out, 0, sizeof *out);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (errno != ENOENT) out->why = "cannot be opened";
    return RT_ENTRY_ABSENT;
  }
  rt_entry_state state = RT_ENTRY_ABSENT;
  const struct stat *s = &out->status;
  void *map = MAP_FAILED;
  if (fstat(fd, &out->status) || !S_ISREG(s->st_mode) || (s->st_uid != geteuid() && s->st_uid != 0) ||
      (s->st_mode & (S_IWGRP | S_IWOTH))) {
    out->why = "owned or writable by somebody else";
  } else if (s->st_size < (off_t)sizeof(rt_disk_head) || (uint64_t)s->st_size > SIZE_MAX) {
    out->why = "shorter than its header";
    state = RT_ENTRY_DAMAGED;
  } else {
    map = mmap(NULL, (size_t)s->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) out->why = "cannot be mapped";
  }
  close(fd);
  if (map == MAP_FAILED) return state;
  state = check(map, kind, key, key_size, out);
  if (state != RT_ENTRY_GOOD) munmap(map, (size_t)s->st_size);
  return state;
}

void rt_disk_release(rt_found *found) {
  if (found->map) munmap(found->map, found->map_size);
  *found = (rt_found){0};
}

/* writev until all is written. */
static bool write_parts(int fd, struct iovec *part, int count) {
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

bool rt_disk_entry_write(const char *path, const char *kind, const void *key, size_t key_size,
                         const void *payload, size_t size) {
  static const char zeros[RT_DISK_ALIGN];
  rt_disk_head head = {MAGIC, VERSION, 0, key_size, size, rt_digest_of(payload, size), {0}};
  snprintf(head.kind, sizeof head.kind, "%s", kind);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  struct iovec parts[] = {{&head, sizeof head},
                          {(void *)(uintptr_t)key, key_size},
                          {(void *)(uintptr_t)zeros, payload_offset(key_size) - sizeof head - key_size},
                          {(void *)(uintptr_t)payload, size}};
  bool good = write_parts(fd, parts, sizeof parts / sizeof *parts);
  good = close(fd) == 0 && good;
  if (good) return true;
  int why = errno;
  unlink(path);
  errno = why;
  return false;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Does this name belong to an entry? The shard's two digits, thirty more, a dot, the kind. */
static bool parse_name(const char *shard, const char *name, rt_disk_item *item) {
  uint64_t half[2] = {0, 0};
  for (int i = 0; i < 32; i++) {
    int digit = hex_digit(i < 2 ? shard[i] : name[i - 2]);
    if (digit < 0) return false;
    half[i / 16] = half[i / 16] << 4 | (unsigned)digit;
  }
  size_t length = name[30] == '.' ? strlen(name + 31) : 0;
  if (length == 0 || length >= RT_DISK_KIND) return false;
  memcpy(item->kind, name + 31, length + 1);
  item->digest = (rt_digest){half[1], half[0]};
  return true;
}

static bool walk_shard(const char *directory, const char *shard, rt_disk_visit visit, void *context,
                       bool *go_on) {
  char path[RT_DISK_PATH];
  int base = snprintf(path, sizeof path, "%s/%s/", directory, shard);
  if (base >= (int)sizeof path - NAME_MAX - 1) return false;
  DIR *dir = opendir(path);
  if (!dir) return errno == ENOENT || errno == ENOTDIR;
  for (struct dirent *file; *go_on && (file = readdir(dir));) {
    rt_disk_item item = {.path = path};
    snprintf(path + base, sizeof path - (size_t)base, "%s", file->d_name);
    item.entry = parse_name(shard, file->d_name, &item);
    if (fstatat(dirfd(dir), file->d_name, &item.status, AT_SYMLINK_NOFOLLOW) == 0) {
      if (!S_ISREG(item.status.st_mode)) continue;
    } else if (errno == ENOENT || !item.entry) {
      continue;
    } else {
      item.hidden = true;
    }
    *go_on = visit(context, &item);
  }
  closedir(dir);
  return true;
}

bool rt_disk_walk(const char *directory, rt_disk_visit visit, void *context) {
  DIR *dir = opendir(directory);
  if (!dir) return errno == ENOENT;
  bool good = true, go_on = true;
  for (struct dirent *file; good && go_on && (file = readdir(dir));)
    if (strlen(file->d_name) == 2 && hex_digit(file->d_name[0]) >= 0 && hex_digit(file->d_name[1]) >= 0)
      good = walk_shard(directory, file->d_name, visit, context, &go_on);
  closedir(dir);
  return good;
}
