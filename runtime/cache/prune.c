/* Operations on the whole cache on disk: counting, pruning, verifying. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache/walk.h"

/* stat */

static void add_kind(rt_disk_stats *stats, const char *kind, uint64_t bytes) {
  int i = 0;
  while (i < stats->kinds && strcmp(stats->kind[i].kind, kind)) i++;
  if (i == RT_DISK_KINDS) return;
  if (i == stats->kinds) memcpy(stats->kind[stats->kinds++].kind, kind, RT_DISK_KIND);
  stats->kind[i].entries++;
  stats->kind[i].bytes += bytes;
}

static bool add_stat(void *context, const rt_disk_item *item) {
  rt_disk_stats *stats = context;
  uint64_t bytes = (uint64_t)item->status.st_size;
  char why[RT_DISK_WHY];
  rt_owner owner = rt_disk_owner(item->shard, item->name, why);
  if (owner == RT_UNKNOWN && !*why) return true; /* removed meanwhile */
  bool counts = item->temporary ? owner == RT_OURS
                                : owner != RT_FOREIGN && !item->hidden && rt_is_trusted(&item->status, why);
  if (!counts) {
    stats->ignored += !item->temporary;
  } else if (item->temporary) {
    stats->temporaries++;
    stats->temporary_bytes += bytes;
  } else {
    stats->entries++;
    stats->bytes += bytes;
    add_kind(stats, item->kind, bytes);
  }
  return true;
}

ir_status rt_disk_stat(rt_disk *disk, rt_disk_report report, void *context, rt_disk_stats *out,
                       ir_error *error) {
  memset(out, 0, sizeof *out);
  return rt_disk_walk(disk, add_stat, out, report, context, error);
}

/* prune */

/* A store takes milliseconds. A temporary file older than DEAD_SECONDS is removed if no process here has the
 * number in its name. The process may run on another machine; its store then fails, which is harmless. A file
 * older than STALE_SECONDS is removed in any case. */
enum { DEAD_SECONDS = 60, STALE_SECONDS = 3600 };

static bool is_left_behind(const rt_disk_item *item, time_t now) {
  time_t age = now - item->status.st_mtime;
  return age > STALE_SECONDS || (age > DEAD_SECONDS && kill((pid_t)item->pid, 0) != 0 && errno == ESRCH);
}

/* One entry of the list that is sorted by last use, oldest first. */
typedef struct candidate {
  struct timespec used;
  uint64_t size;
  rt_digest digest;
  char kind[RT_DISK_KIND];
} candidate;

typedef struct candidates {
  const rt_disk *disk;
  const ir_mem *mem;
  candidate *list;
  size_t count, capacity;
  uint64_t bytes; /* temporary files included */
  time_t now;
  bool failed;
  rt_disk_report report;
  void *context;
  rt_disk_pruned done;
} candidates;

static bool removed(candidates *all, int shard, const char *shard_name, const char *name, uint64_t size) {
  char path[RT_DISK_PATH], why[RT_DISK_WHY];
  if (rt_disk_unlink(shard, name, why)) {
    all->bytes -= size;
    return true;
  }
  rt_disk_path(all->disk, shard_name, name, path);
  all->done.stuck++;
  if (all->report) all->report(all->context, path, why);
  return false;
}

static bool add_candidate(void *context, const rt_disk_item *item) {
  candidates *all = context;
  uint64_t size = (uint64_t)item->status.st_size;
  char why[RT_DISK_WHY];
  rt_owner owner = rt_disk_owner(item->shard, item->name, why);
  if (owner == RT_FOREIGN || (owner == RT_UNKNOWN && (!*why || item->temporary))) return true;
  all->bytes += size;
  if (item->temporary) {
    if (!is_left_behind(item, all->now) || !removed(all, item->shard, item->shard_name, item->name, size))
      return true;
    all->done.temporaries++;
    all->done.temporary_bytes += size;
    return true;
  }
  if (!IR_RESERVE(all->mem, all->list, all->capacity, all->count + 1)) {
    all->failed = true;
    return false;
  }
  candidate *c = &all->list[all->count++];
  *c = (candidate){item->status.st_mtim, size, item->digest, {0}};
  memcpy(c->kind, item->kind, sizeof c->kind);
  return true;
}

static int older(const void *a, const void *b) {
  const struct timespec *x = &((const candidate *)a)->used, *y = &((const candidate *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static void remove_candidate(candidates *all, int directory, const candidate *c) {
  char shard_name[RT_DISK_SHARD], name[RT_DISK_NAME];
  rt_refusal refusal = {.path = ""};
  rt_disk_entry_name(c->digest, c->kind, shard_name, name);
  int shard = rt_dir_shard(directory, shard_name, false, &refusal);
  if (shard < 0) return; /* it existed, and was trusted, during the walk */
  if (removed(all, shard, shard_name, name, c->size)) {
    all->done.removed++;
    all->done.removed_bytes += c->size;
  }
  close(shard);
}

static void remove_oldest(candidates *all, uint64_t most) {
  rt_refusal refusal;
  if (all->bytes <= most || !all->count) return;
  int directory = rt_dir_open(rt_disk_directory(all->disk), false, &refusal);
  qsort(all->list, all->count, sizeof *all->list, older);
  for (size_t i = 0; directory >= 0 && i < all->count && all->bytes > most; i++)
    remove_candidate(all, directory, &all->list[i]);
  if (directory >= 0) close(directory);
}

ir_status rt_disk_prune(rt_disk *disk, int64_t max_bytes, rt_disk_report report, void *context,
                        rt_disk_pruned *out, ir_error *error) {
  candidates all = {
      .disk = disk, .mem = rt_disk_mem(disk), .now = time(NULL), .report = report, .context = context};
  ir_status status = rt_disk_walk(disk, add_candidate, &all, report, context, error);
  if (!status && all.failed)
    status = ir_fail(error, IR_ERR_MEMORY, "cache: no memory to list %zu entries", all.count + 1);
  if (!status) remove_oldest(&all, max_bytes > 0 ? (uint64_t)max_bytes : 0);
  ir_free(all.mem, all.list, all.capacity * sizeof *all.list);
  if (out) *out = all.done;
  return status;
}

/* verify */

typedef struct verification {
  const rt_disk *disk;
  rt_disk_report report;
  void *context;
  rt_disk_verified done;
} verification;

static bool verify_item(void *context, const rt_disk_item *item) {
  verification *v = context;
  rt_entry_view view;
  if (item->temporary) return true;
  rt_entry_state state = rt_disk_entry_read(item->shard, item->name, item->kind, NULL, 0, &view);
  if (state == RT_ENTRY_ABSENT && !*view.why) return true; /* removed meanwhile */
  v->done.checked++;
  if (state == RT_ENTRY_GOOD) {
    rt_disk_release(&view.found);
    if (rt_digest_equal(view.key_digest, item->digest)) return true;
    strcpy(view.why, "the key does not match its name");
  }
  if (state == RT_ENTRY_ABSENT) v->done.unread++;
  else v->done.damaged++;
  char path[RT_DISK_PATH];
  rt_disk_path(v->disk, item->shard_name, item->name, path);
  if (v->report) v->report(v->context, path, view.why);
  return true;
}

static void refused_shard(void *context, const char *path, const char *why) {
  verification *v = context;
  v->done.unread++;
  if (v->report) v->report(v->context, path, why);
}

ir_status rt_disk_verify(rt_disk *disk, rt_disk_report report, void *context, rt_disk_verified *out,
                         ir_error *error) {
  verification v = {.disk = disk, .report = report, .context = context};
  ir_status status = rt_disk_walk(disk, verify_item, &v, refused_shard, &v, error);
  if (out) *out = v.done;
  return status;
}
