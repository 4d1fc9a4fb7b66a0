/* The cache on disk: look-up, store, pruning. */
#define _GNU_SOURCE /* secure_getenv */
#include "runtime/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/disk_entry.h"

enum { TOUCH_SECONDS = 3600, STALE_SECONDS = 3600, LOOK_EVERY = 64, NAME_TRIES = 16 };

struct rt_disk {
  const ir_mem *mem;
  int64_t max_bytes;
  atomic_ullong hits, misses, damaged, stores, failed_stores, pruned;
  atomic_ullong unseen; /* bytes stored since the size was last looked at */
  atomic_uint serial;   /* of temporary files */
  size_t size;          /* of this allocation */
  size_t length;        /* of directory */
  char directory[];
};

static const char *environment(const char *name) {
#if defined(__GLIBC__)
  const char *value = secure_getenv(name);
#else
  const char *value = getenv(name);
#endif
  return value ? value : "";
}

/* Name the directory in `text`; false when it does not fit. */
static bool choose_directory(const char *given, char *text, size_t size) {
  const char *own = given ? given : environment("VIEWFOLD_CACHE_DIR");
  const char *xdg = environment("XDG_CACHE_HOME"), *home = environment("HOME");
  int length = 0;
  text[0] = 0;
  if (*own) length = snprintf(text, size, "%s", own);
  else if (*xdg == '/') length = snprintf(text, size, "%s/viewfold", xdg);
  else if (*home == '/') length = snprintf(text, size, "%s/.cache/viewfold", home);
  return length >= 0 && (size_t)length < size;
}

rt_disk *rt_disk_open(const ir_mem *mem, const char *directory, int64_t max_bytes, ir_error *error) {
  char text[RT_DISK_PATH - 512];
  if (!choose_directory(directory, text, sizeof text)) {
    ir_fail(error, IR_ERR_INVALID, "cache: the directory's name is longer than %zu bytes", sizeof text - 1);
    return NULL;
  }
  size_t length = strlen(text), size = sizeof(rt_disk) + length + 1;
  rt_disk *disk = ir_alloc(mem, size);
  if (!disk) {
    ir_fail(error, IR_ERR_MEMORY, "cache: no memory to open it");
    return NULL;
  }
  memset(disk, 0, size);
  disk->mem = mem;
  disk->max_bytes = max_bytes > 0 ? max_bytes : RT_DISK_DEFAULT_BYTES;
  disk->size = size;
  disk->length = length;
  memcpy(disk->directory, text, length + 1);
  return disk;
}

void rt_disk_close(rt_disk *disk) {
  if (disk) ir_free(disk->mem, disk, disk->size);
}

const char *rt_disk_directory(const rt_disk *disk) { return disk->directory; }

static void count(atomic_ullong *counter, uint64_t by) {
  atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* The entry's path; false when there is no cache or the kind is no kind. */
static bool entry_path(const rt_disk *disk, const char *kind, const void *key, size_t key_size,
                       char path[RT_DISK_PATH]) {
  size_t length = strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789");
  if (!disk->length || length == 0 || length >= RT_DISK_KIND || kind[length]) return false;
  char hex[RT_DIGEST_HEX];
  rt_digest_hex(rt_digest_of(key, key_size), hex);
  snprintf(path, RT_DISK_PATH, "%s/%.2s/%s.%s", disk->directory, hex, hex + 2, kind);
  return true;
}

bool rt_disk_get(rt_disk *disk, const char *kind, const void *key, size_t key_size, rt_found *out) {
  char path[RT_DISK_PATH];
  rt_entry_view view = {0};
  rt_entry_state state = RT_ENTRY_ABSENT;
  *out = (rt_found){0};
  if (entry_path(disk, kind, key, key_size, path))
    state = rt_disk_entry_read(path, kind, key ? key : "", key_size, &view);
  if (state == RT_ENTRY_DAMAGED) {
    count(&disk->damaged, 1);
    unlink(path);
  }
  if (state != RT_ENTRY_GOOD) {
    count(&disk->misses, 1);
    return false;
  }
  if (time(NULL) - view.status.st_mtime > TOUCH_SECONDS) utimensat(AT_FDCWD, path, NULL, 0);
  count(&disk->hits, 1);
  *out = view.found;
  return true;
}

void rt_disk_remove(rt_disk *disk, const char *kind, const void *key, size_t key_size) {
  char path[RT_DISK_PATH];
  if (entry_path(disk, kind, key, key_size, path)) unlink(path);
}

/* Make every missing directory above the last slash of `path`, for the user alone. */
static void make_parents(char *path) {
  for (char *at = path + 1; (at = strchr(at, '/')); at++) {
    *at = 0;
    mkdir(path, 0700);
    *at = '/';
  }
}

/* Write the entry to a temporary file beside `path` and give it its name. */
static bool store(rt_disk *disk, char path[RT_DISK_PATH], const char *kind, const void *key, size_t key_size,
                  const void *payload, size_t size) {
  for (int attempt = 0; attempt < NAME_TRIES; attempt++) {
    char temporary[RT_DISK_PATH];
    unsigned serial = atomic_fetch_add_explicit(&disk->serial, 1, memory_order_relaxed);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(temporary, sizeof temporary, "%.*s/.%lx-%x-%lx", (int)(disk->length + 3), path, (long)getpid(),
             serial, (long)now.tv_nsec);
    if (rt_disk_entry_write(temporary, kind, key, key_size, payload, size)) {
      if (!rename(temporary, path)) return true;
      unlink(temporary);
      return false;
    }
    if (errno == ENOENT && attempt < 2) make_parents(path);
    else if (errno != EEXIST) return false;
  }
  return false;
}

/* Now and then, see whether the cache has outgrown its cap; then make room for a while. */
static void keep_small(rt_disk *disk, uint64_t stored) {
  uint64_t cap = (uint64_t)disk->max_bytes;
  uint64_t unseen = atomic_fetch_add_explicit(&disk->unseen, stored, memory_order_relaxed) + stored;
  unsigned long long stores = atomic_load_explicit(&disk->stores, memory_order_relaxed);
  if (stores % LOOK_EVERY != (unsigned)getpid() % LOOK_EVERY && unseen < cap / 16) return;
  atomic_store_explicit(&disk->unseen, 0, memory_order_relaxed);
  rt_disk_stats stats;
  if (rt_disk_stat(disk, &stats, NULL) || stats.bytes <= cap) return;
  rt_disk_pruned pruned;
  rt_disk_prune(disk, (int64_t)(cap - cap / 8), NULL, NULL, &pruned, NULL);
  count(&disk->pruned, pruned.removed);
}

bool rt_disk_put(rt_disk *disk, const char *kind, const void *key, size_t key_size, const void *payload,
                 size_t size) {
  char path[RT_DISK_PATH];
  if (!entry_path(disk, kind, key, key_size, path) ||
      !store(disk, path, kind, key, key_size, payload, size)) {
    count(&disk->failed_stores, 1);
    return false;
  }
  count(&disk->stores, 1);
  keep_small(disk, sizeof(rt_disk_head) + key_size + size);
  return true;
}

void rt_disk_count(const rt_disk *disk, rt_disk_counts *out) {
  *out = (rt_disk_counts){disk->hits,   disk->misses,        disk->damaged,
                          disk->stores, disk->failed_stores, disk->pruned};
}

static ir_status cannot_read(const rt_disk *disk, ir_error *error) {
  return ir_fail(error, IR_ERR_IO, "cache: cannot read '%.900s': %s", disk->directory, strerror(errno));
}

static bool add_stat(void *context, const rt_disk_item *item) {
  rt_disk_stats *stats = context;
  if (!item->entry || item->hidden) return true;
  stats->entries++;
  stats->bytes += (uint64_t)item->status.st_size;
  int i = 0;
  while (i < stats->kinds && strcmp(stats->kind[i].kind, item->kind)) i++;
  if (i == RT_DISK_KINDS) return true;
  if (i == stats->kinds) memcpy(stats->kind[stats->kinds++].kind, item->kind, RT_DISK_KIND);
  stats->kind[i].entries++;
  stats->kind[i].bytes += (uint64_t)item->status.st_size;
  return true;
}

ir_status rt_disk_stat(rt_disk *disk, rt_disk_stats *out, ir_error *error) {
  memset(out, 0, sizeof *out);
  if (!disk->length || rt_disk_walk(disk->directory, add_stat, out)) return IR_OK;
  return cannot_read(disk, error);
}

/* Pruning: a list of (last use, size, name), oldest first. */
typedef struct candidate {
  struct timespec used;
  uint64_t size;
  rt_digest digest;
  char kind[RT_DISK_KIND];
} candidate;

typedef struct candidates {
  const ir_mem *mem;
  candidate *list;
  size_t count, capacity;
  uint64_t bytes;
  time_t now;
  bool failed;
  rt_disk_report report;
  void *context;
  rt_disk_pruned done;
} candidates;

static bool removed(candidates *all, const char *path) {
  if (!unlink(path) || errno == ENOENT) return true;
  all->done.stuck++;
  if (all->report) all->report(all->context, path, "cannot be removed");
  return false;
}

static bool add_candidate(void *context, const rt_disk_item *item) {
  candidates *all = context;
  if (!item->entry) {
    if (!item->hidden && all->now - item->status.st_mtime > STALE_SECONDS) removed(all, item->path);
    return true;
  }
  if (!IR_RESERVE(all->mem, all->list, all->capacity, all->count + 1)) {
    all->failed = true;
    return false;
  }
  candidate *c = &all->list[all->count++];
  *c = (candidate){item->status.st_mtim, (uint64_t)item->status.st_size, item->digest, {0}};
  memcpy(c->kind, item->kind, sizeof c->kind);
  all->bytes += c->size;
  return true;
}

static int older(const void *a, const void *b) {
  const struct timespec *x = &((const candidate *)a)->used, *y = &((const candidate *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

ir_status rt_disk_prune(rt_disk *disk, int64_t max_bytes, rt_disk_report report, void *context,
                        rt_disk_pruned *out, ir_error *error) {
  candidates all = {.mem = disk->mem, .now = time(NULL), .report = report, .context = context};
  if (out) *out = all.done;
  if (!disk->length) return IR_OK;
  bool good = rt_disk_walk(disk->directory, add_candidate, &all);
  if (good && !all.failed) {
    if (all.count) qsort(all.list, all.count, sizeof *all.list, older);
    for (size_t i = 0; i < all.count && all.bytes > (uint64_t)(max_bytes > 0 ? max_bytes : 0); i++) {
      char path[RT_DISK_PATH], hex[RT_DIGEST_HEX];
      rt_digest_hex(all.list[i].digest, hex);
      snprintf(path, sizeof path, "%s/%.2s/%s.%s", disk->directory, hex, hex + 2, all.list[i].kind);
      if (!removed(&all, path)) continue;
      all.bytes -= all.list[i].size;
      all.done.removed++;
    }
  }
  ir_free(disk->mem, all.list, all.capacity * sizeof *all.list);
  if (out) *out = all.done;
  if (all.failed) return ir_fail(error, IR_ERR_MEMORY, "cache: no memory to list %zu entries", all.count + 1);
  return good ? IR_OK : cannot_read(disk, error);
}

typedef struct verification {
  rt_disk_report report;
  void *context;
  rt_disk_verified done;
} verification;

static bool verify_item(void *context, const rt_disk_item *item) {
  verification *v = context;
  if (!item->entry) return true;
  rt_entry_view view;
  rt_entry_state state = rt_disk_entry_read(item->path, item->kind, NULL, 0, &view);
  if (state == RT_ENTRY_ABSENT && !view.why) return true; /* removed meanwhile */
  v->done.checked++;
  if (state == RT_ENTRY_GOOD) {
    rt_disk_release(&view.found);
    if (rt_digest_equal(view.key_digest, item->digest)) return true;
    view.why = "the key does not match its name";
  }
  if (state == RT_ENTRY_ABSENT) v->done.unread++;
  else v->done.damaged++;
  if (v->report) v->report(v->context, item->path, view.why);
  return true;
}

ir_status rt_disk_verify(rt_disk *disk, rt_disk_report report, void *context, rt_disk_verified *out,
                         ir_error *error) {
  verification v = {.report = report, .context = context};
  bool good = !disk->length || rt_disk_walk(disk->directory, verify_item, &v);
  if (out) *out = v.done;
  return good ? IR_OK : cannot_read(disk, error);
}
