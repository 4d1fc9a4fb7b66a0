/* The cache on disk: look-up and store. */
#define _GNU_SOURCE /* secure_getenv */
#include "runtime/cache/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache/mapped_entry.h"
#include "runtime/cache/walk.h"

enum { TOUCH_SECONDS = 3600, LOOK_EVERY = 64, NAME_TRIES = 16 };

struct rt_disk {
  const ir_mem *mem;
  int64_t max_bytes;
  const ir_log *log;
  atomic_bool directory_reported; /* the refused directory has been reported */
  atomic_ullong hits, misses, damaged, refused, stores, failed_stores, pruned;
  atomic_ullong unseen; /* bytes stored since the size of the cache was last measured */
  atomic_uint serial;   /* number of the next temporary file */
  atomic_bool boot_known;
  atomic_ullong boot[2]; /* rt_disk_boot, if boot_known: every thread that determines it stores the same */
  size_t size;           /* bytes of this allocation */
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

/* Write the name of the cache directory to `text`. False when it does not fit. */
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

bool rt_disk_read_size(const char *text, int64_t *bytes) {
  static const char units[] = "KMG";
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9') return false;
  const char *unit = *end ? strchr(units, *end) : NULL;
  int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if ((*end && (!unit || end[1])) || value > (unsigned long long)INT64_MAX >> shift) return false;
  *bytes = (int64_t)(value << shift);
  return true;
}

bool rt_disk_limit(int64_t *bytes, ir_error *error) {
  const char *text = environment("VIEWFOLD_CACHE_BYTES");
  *bytes = RT_DISK_DEFAULT_BYTES;
  if (!*text || (rt_disk_read_size(text, bytes) && *bytes > 0)) return true;
  ir_fail(
      error, IR_ERR_INVALID,
      "VIEWFOLD_CACHE_BYTES is '%.40s'; it must be a number of bytes from 1, or one followed by K, M or G",
      text);
  return false;
}

rt_disk *rt_disk_open(const ir_mem *mem, const char *directory, int64_t max_bytes, ir_error *error) {
  char text[RT_DISK_PATH - 512];
  if (!choose_directory(directory, text, sizeof text)) {
    ir_fail(error, IR_ERR_INVALID, "cache: the directory's name is longer than %zu bytes", sizeof text - 1);
    return NULL;
  }
  if (max_bytes <= 0 && !rt_disk_limit(&max_bytes, error)) return NULL;
  size_t length = strlen(text), size = sizeof(rt_disk) + length + 1;
  rt_disk *disk = ir_alloc(mem, size);
  if (!disk) {
    ir_fail(error, IR_ERR_MEMORY, "cache: no memory to open it");
    return NULL;
  }
  memset(disk, 0, size);
  disk->mem = mem;
  disk->max_bytes = max_bytes;
  disk->size = size;
  memcpy(disk->directory, text, length + 1);
  return disk;
}

void rt_disk_close(rt_disk *disk) {
  if (disk) ir_free(disk->mem, disk, disk->size);
}

void rt_disk_tell(rt_disk *disk, const ir_log *log) { disk->log = log; }

const char *rt_disk_directory(const rt_disk *disk) { return disk->directory; }
const ir_mem *rt_disk_mem(const rt_disk *disk) { return disk->mem; }

static void count_bytes(atomic_ullong *counter, uint64_t by) {
  atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* The shard and file name of an entry. */
typedef struct place {
  char shard[RT_DISK_SHARD], name[RT_DISK_NAME];
} place;

/* False when there is no cache or `kind` is not a valid kind. */
static bool find_place(const rt_disk *disk, const char *kind, const void *key, size_t key_size, place *out) {
  if (!*disk->directory || !rt_disk_is_kind(kind)) return false;
  rt_disk_entry_name(rt_digest_of(key, key_size), kind, out->shard, out->name);
  return true;
}

/* Reports that the directory or, of a shard in it, that the shard is not used. A directory is reported once
 * only, because it is the same for all entries. */
static void report_place(rt_disk *disk, bool directory, const char *path, const char *why) {
  if (directory && atomic_exchange_explicit(&disk->directory_reported, true, memory_order_relaxed)) return;
  ir_say(disk->log, directory ? IR_LOG_WARNING : IR_LOG_INFO, "cache: %s is not used: %s", path, why);
}

/* The descriptor of the shard. -1 if there is none (errno says why) or it is refused. */
static int open_shard(rt_disk *disk, const place *at, bool make) {
  rt_refusal refusal;
  int directory = rt_dir_open(disk->directory, make, &refusal), shard = -1;
  if (directory >= 0) shard = rt_dir_shard(directory, at->shard, make, &refusal);
  int why = errno;
  if (refusal.why[0]) {
    count_bytes(&disk->refused, 1);
    report_place(disk, directory < 0, refusal.path, refusal.why);
    why = EPERM;
  } else if (directory < 0 && make) { /* nothing has been kept, and nothing will be */
    char reason[RT_DISK_WHY];
    snprintf(reason, sizeof reason, "%s; name a directory that can be made and written in VIEWFOLD_CACHE_DIR",
             strerror(why));
    report_place(disk, true, disk->directory, reason);
  }
  if (directory >= 0) close(directory);
  errno = why;
  return shard;
}

static void report_entry(rt_disk *disk, const place *at, const char *what, const char *why) {
  char path[RT_DISK_PATH];
  if (!ir_log_wants(disk->log, IR_LOG_INFO)) return;
  rt_disk_path(disk, at->shard, at->name, path);
  ir_say(disk->log, IR_LOG_INFO, "cache: %s is not %s: %s", path, what, why);
}

/* Count and report an entry that is not used, and remove it if it is damaged. */
static void reject_entry(rt_disk *disk, int shard, const place *at, rt_entry_state state, const char *why) {
  char stays[RT_DISK_WHY];
  if (state == RT_ENTRY_DAMAGED) {
    count_bytes(&disk->damaged, 1);
    rt_disk_unlink(shard, at->name, stays); /* if it cannot be removed, the next store replaces it */
  } else {
    count_bytes(&disk->refused, 1);
  }
  report_entry(disk, at, "used", why);
}

bool rt_disk_get(rt_disk *disk, const char *kind, const void *key, size_t key_size, rt_found *out) {
  place at;
  rt_entry_view view = {0};
  rt_entry_state state = RT_ENTRY_ABSENT;
  int shard = find_place(disk, kind, key, key_size, &at) ? open_shard(disk, &at, false) : -1;
  *out = (rt_found){0};
  if (shard >= 0) state = rt_disk_entry_read(shard, at.name, kind, key ? key : "", key_size, &view);
  if (state != RT_ENTRY_GOOD && *view.why) reject_entry(disk, shard, &at, state, view.why);
  if (state == RT_ENTRY_GOOD && time(NULL) - view.status.st_mtime > TOUCH_SECONDS)
    utimensat(shard, at.name, NULL, AT_SYMLINK_NOFOLLOW);
  if (shard >= 0) close(shard);
  count_bytes(state == RT_ENTRY_GOOD ? &disk->hits : &disk->misses, 1);
  *out = view.found;
  return state == RT_ENTRY_GOOD;
}

static rt_digest boot_of(rt_disk *disk) {
  if (!atomic_load_explicit(&disk->boot_known, memory_order_acquire)) {
    rt_digest boot = rt_disk_boot();
    atomic_store_explicit(&disk->boot[0], boot.lo, memory_order_relaxed);
    atomic_store_explicit(&disk->boot[1], boot.hi, memory_order_relaxed);
    atomic_store_explicit(&disk->boot_known, true, memory_order_release);
  }
  return (rt_digest){disk->boot[0], disk->boot[1]};
}

bool rt_disk_map(rt_disk *disk, const char *kind, const void *key, size_t key_size, rt_disk_mapping *out) {
  place at;
  char why[RT_DISK_WHY] = "";
  rt_entry_state state = RT_ENTRY_ABSENT;
  int shard = find_place(disk, kind, key, key_size, &at) ? open_shard(disk, &at, false) : -1;
  *out = (rt_disk_mapping){0};
  if (shard >= 0) {
    sigset_t before;
    rt_guard_enter(&before);
    state = rt_disk_entry_map(shard, at.name, kind, key, key_size, boot_of(disk), TOUCH_SECONDS, out, why);
    rt_guard_leave(&before);
    if (state != RT_ENTRY_GOOD && *why) reject_entry(disk, shard, &at, state, why);
    close(shard);
  }
  count_bytes(state == RT_ENTRY_GOOD ? &disk->hits : &disk->misses, 1);
  return state == RT_ENTRY_GOOD;
}

uint64_t rt_disk_max_bytes(const rt_disk *disk) { return (uint64_t)disk->max_bytes; }

void rt_disk_remove(rt_disk *disk, const char *kind, const void *key, size_t key_size) {
  place at;
  char why[RT_DISK_WHY];
  int shard = find_place(disk, kind, key, key_size, &at) ? open_shard(disk, &at, false) : -1;
  if (shard < 0) return;
  rt_disk_unlink(shard, at.name, why);
  close(shard);
}

/* An entry that is to be stored. */
typedef struct contents {
  const char *kind;
  const void *key, *payload;
  size_t key_size, size;
  bool is_mapped;
} contents;

/* Gives the temporary file its name. One that is mapped does not replace another: a link has no other way,
 * and a file system without links does not say EEXIST. */
static bool give_name(int shard, const char *temporary, const char *name, bool replaces) {
  bool linked = !replaces && linkat(shard, temporary, shard, name, 0) == 0;
  if (!linked && (replaces || errno != EEXIST) && !renameat(shard, temporary, shard, name)) return true;
  int why = errno;
  unlinkat(shard, temporary, 0);
  errno = why;
  return linked || (!replaces && why == EEXIST);
}

/* Write the entry to a temporary file in the same shard, then rename it. */
static bool store_in(rt_disk *disk, int shard, const place *at, const contents *e) {
  rt_digest boot = e->is_mapped ? boot_of(disk) : (rt_digest){0, 0};
  for (int attempt = 0; attempt < NAME_TRIES; attempt++) {
    char temporary[RT_DISK_NAME];
    rt_disk_temporary_name(atomic_fetch_add_explicit(&disk->serial, 1, memory_order_relaxed), temporary);
    if (rt_disk_entry_write(shard, temporary, e->kind, e->key, e->key_size, e->payload, e->size, &boot))
      return give_name(shard, temporary, at->name, !e->is_mapped);
    if (errno != EEXIST) return false;
  }
  return false;
}

/* Another process may remove the directories at any time: if one has gone, create it and store again,
 * once. */
static bool store_entry(rt_disk *disk, const place *at, const contents *e) {
  bool stored = false;
  for (int attempt = 0; attempt < 2 && !stored && (attempt == 0 || errno == ENOENT); attempt++) {
    int shard = open_shard(disk, at, true);
    if (shard < 0) continue;
    stored = store_in(disk, shard, at, e);
    int why = errno;
    close(shard);
    errno = why;
  }
  return stored;
}

static bool add_bytes(void *context, const rt_disk_item *item) {
  uint64_t *bytes = context;
  *bytes += (uint64_t)item->status.st_size;
  return true;
}

/* Prune to 7/8 of the cap when the cache exceeds it. The size is measured at one store in LOOK_EVERY (which
 * one depends on the process), and whenever cap / 16 bytes have been stored since the last measurement. The
 * measurement goes by file names alone, which is quick and never too small; pruning checks each file. */
static void prune_if_large(rt_disk *disk, uint64_t stored) {
  uint64_t cap = (uint64_t)disk->max_bytes, bytes = 0;
  uint64_t unseen = atomic_fetch_add_explicit(&disk->unseen, stored, memory_order_relaxed) + stored;
  unsigned long long stores = atomic_load_explicit(&disk->stores, memory_order_relaxed);
  if (stores % LOOK_EVERY != (unsigned)getpid() % LOOK_EVERY && unseen < cap / 16) return;
  atomic_store_explicit(&disk->unseen, 0, memory_order_relaxed);
  if (rt_disk_walk(disk, add_bytes, &bytes, NULL, NULL, NULL) || bytes <= cap) return;
  rt_disk_pruned pruned;
  rt_disk_prune(disk, (int64_t)(cap - cap / 8), NULL, NULL, &pruned, NULL);
  count_bytes(&disk->pruned, pruned.removed);
  ir_say(disk->log, IR_LOG_INFO,
         "cache: %s had more than %llu bytes: %llu entries that were not used for longest are removed",
         disk->directory, (unsigned long long)cap, (unsigned long long)pruned.removed);
}

static bool store(rt_disk *disk, const contents *e) {
  place at;
  uint64_t bytes = rt_disk_entry_size(e->key_size, e->size);
  bool has_place = find_place(disk, e->kind, e->key, e->key_size, &at),
       fits = bytes <= (uint64_t)disk->max_bytes;
  if (!has_place || !fits || !store_entry(disk, &at, e)) {
    count_bytes(&disk->failed_stores, 1);
    if (has_place && !fits) report_entry(disk, &at, "stored", "it is larger than the limit of the cache");
    else if (has_place && errno != EPERM) report_entry(disk, &at, "stored", strerror(errno));
    return false;
  }
  count_bytes(&disk->stores, 1);
  prune_if_large(disk, bytes);
  return true;
}

bool rt_disk_put(rt_disk *disk, const char *kind, const void *key, size_t key_size, const void *payload,
                 size_t size) {
  return store(disk, &(contents){kind, key, payload, key_size, size, false});
}

bool rt_disk_put_mapped(rt_disk *disk, const char *kind, const void *key, size_t key_size,
                        const void *payload, size_t size) {
  return store(disk, &(contents){kind, key, payload, key_size, size, true});
}

void rt_disk_count(const rt_disk *disk, rt_disk_counts *out) {
  *out = (rt_disk_counts){disk->hits,   disk->misses,        disk->damaged, disk->refused,
                          disk->stores, disk->failed_stores, disk->pruned};
}
