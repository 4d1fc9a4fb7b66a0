#define _GNU_SOURCE /* O_DIRECTORY */
#include "runtime/cache/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DIGITS = 30 }; /* of an entry's name */
static const char temporary_begins[] = ".viewfold-", temporary_ends[] = ".tmp";

bool rt_disk_is_kind(const char *kind) {
  size_t length = strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789");
  return length > 0 && length < RT_DISK_KIND && !kind[length];
}

void rt_disk_entry_name(rt_digest digest, const char *kind, char shard[RT_DISK_SHARD],
                        char name[RT_DISK_NAME]) {
  char hex[RT_DIGEST_HEX];
  rt_digest_hex(digest, hex);
  snprintf(shard, RT_DISK_SHARD, "%.2s", hex);
  snprintf(name, RT_DISK_NAME, "%s.%.15s", hex + 2, kind);
}

void rt_disk_temporary_name(unsigned serial, char name[RT_DISK_NAME]) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, RT_DISK_NAME, "%s%lx-%x-%lx%s", temporary_begins, (unsigned long)getpid(), serial,
           (unsigned long)now.tv_nsec, temporary_ends);
}

void rt_disk_path(const rt_disk *disk, const char *shard, const char *name, char path[RT_DISK_PATH]) {
  snprintf(path, RT_DISK_PATH, "%.3583s/%.2s/%.80s", rt_disk_directory(disk), shard, name);
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_shard(const char *name) {
  return strlen(name) == 2 && hex_digit(name[0]) >= 0 && hex_digit(name[1]) >= 0;
}

static bool read_entry_name(rt_disk_item *item) {
  char digits[RT_DIGEST_HEX];
  snprintf(digits, sizeof digits, "%s%.*s", item->shard_name, DIGITS, item->name);
  if (!rt_digest_read(digits, &item->digest)) return false;
  if (item->name[DIGITS] != '.' || !rt_disk_is_kind(item->name + DIGITS + 1)) return false;
  memcpy(item->kind, item->name + DIGITS + 1, strlen(item->name + DIGITS + 1) + 1);
  return true;
}

/* Read a hexadecimal number of 1 to 16 digits without leading zeros, and then the text `end`. */
static bool read_number(const char **at, const char *end, uint64_t *number) {
  int digits = 0;
  *number = 0;
  for (int digit; digits < 17 && (digit = hex_digit((*at)[digits])) >= 0; digits++)
    *number = *number << 4 | (unsigned)digit;
  bool good = digits > 0 && digits < 17 && (digits == 1 || **at != '0');
  *at += digits;
  good = good && strncmp(*at, end, strlen(end)) == 0;
  *at += good ? strlen(end) : 0;
  return good;
}

static bool read_temporary_name(rt_disk_item *item) {
  size_t begins = sizeof temporary_begins - 1;
  const char *at = item->name + begins;
  uint64_t serial, ns;
  item->temporary = strncmp(item->name, temporary_begins, begins) == 0 && read_number(&at, "-", &item->pid) &&
                    read_number(&at, "-", &serial) && read_number(&at, temporary_ends, &ns) && !*at &&
                    item->pid > 0 && item->pid <= INT32_MAX && serial <= UINT32_MAX && ns < 1000000000;
  return item->temporary;
}

/* Open a directory, given by a descriptor that cannot be read from, for reading. */
static DIR *list_directory(int directory) {
  int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir && fd >= 0) close(fd);
  return dir;
}

/* The next file of a directory. NULL at the end, with errno 0, and on an error. */
static struct dirent *next_file(DIR *dir) {
  errno = 0;
  return readdir(dir);
}

static bool walk_shard(int shard, const char *shard_name, rt_disk_visit visit, void *context, bool *go_on) {
  DIR *dir = list_directory(shard);
  if (!dir) return errno == ENOENT;
  struct dirent *file = NULL;
  while (*go_on && (file = next_file(dir))) {
    rt_disk_item item = {.shard = shard, .name = file->d_name};
    memcpy(item.shard_name, shard_name, RT_DISK_SHARD);
    if (!read_entry_name(&item) && !read_temporary_name(&item)) continue;
    if (fstatat(shard, file->d_name, &item.status, AT_SYMLINK_NOFOLLOW) == 0) {
      if (!S_ISREG(item.status.st_mode)) continue;
    } else if (errno == ENOENT) {
      continue;
    } else {
      item.hidden = true;
    }
    *go_on = visit(context, &item);
  }
  int why = file ? 0 : errno;
  closedir(dir);
  errno = why;
  return !why;
}

typedef struct walk {
  rt_disk_visit visit;
  void *context;
  rt_disk_report report;
  void *report_context;
} walk;

static bool walk_directory(int directory, const walk *w, rt_refusal *refusal) {
  DIR *dir = list_directory(directory);
  size_t length = strlen(refusal->path);
  struct dirent *file = NULL;
  bool good = dir != NULL, go_on = true;
  while (good && go_on && (file = next_file(dir))) {
    if (!is_shard(file->d_name)) continue;
    int shard = rt_dir_shard(directory, file->d_name, false, refusal);
    if (shard >= 0) {
      good = walk_shard(shard, file->d_name, w->visit, w->context, &go_on);
      close(shard);
    } else if (refusal->why[0]) {
      if (w->report) w->report(w->report_context, refusal->path, refusal->why);
      refusal->path[length] = 0;
    } else {
      good = errno == ENOENT || errno == ENOTDIR;
    }
  }
  int why = errno;
  if (dir) {
    good = good && (file || !why);
    closedir(dir);
  }
  errno = why;
  return good;
}

ir_status rt_disk_walk(const rt_disk *disk, rt_disk_visit visit, void *context, rt_disk_report report,
                       void *report_context, ir_error *error) {
  const char *name = rt_disk_directory(disk);
  walk w = {visit, context, report, report_context};
  rt_refusal refusal;
  if (!*name) return IR_OK;
  int directory = rt_dir_open(name, false, &refusal);
  if (directory < 0 && refusal.why[0]) {
    bool above = strcmp(refusal.path, name) != 0;
    return ir_fail(error, IR_ERR_IO, "cache: '%.500s' is not used: %.300s%s%s", name,
                   above ? refusal.path : "", above ? " " : "", refusal.why);
  }
  if (directory < 0 && errno == ENOENT) return IR_OK;
  bool good = directory >= 0 && walk_directory(directory, &w, &refusal);
  int why = errno;
  if (directory >= 0) close(directory);
  return good ? IR_OK : ir_fail(error, IR_ERR_IO, "cache: cannot read '%.900s': %s", name, strerror(why));
}
