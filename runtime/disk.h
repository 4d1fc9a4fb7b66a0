/* The cache on disk: byte strings found by (kind, key), shared by every process of the user.
 *
 * One file per entry, `DIRECTORY/<2 hex>/<30 hex>.<kind>`, named by the digest of the key. The file holds a
 * header, the whole key and the payload; a look-up compares the whole key and the payload's digest, so that
 * it gives the right bytes or nothing. Files are written beside their place and renamed: no process sees half
 * of one. Whatever is damaged is a miss, is removed, and is written anew by whoever needs it. Failures to
 * write are counted and otherwise silent: the cache is an optimisation. Entries owned by other users (but
 * root) or writable by them are ignored: payloads are run.
 *
 * A kind is a word of 1 to 15 letters a-z and digits ("code", "plan"); with any other, nothing is found or
 * stored. All functions may be called from several threads at once, but for rt_disk_close. */
#ifndef VIEWFOLD_RUNTIME_DISK_H
#define VIEWFOLD_RUNTIME_DISK_H

#include "ir/base.h"

#define RT_DISK_DEFAULT_BYTES ((int64_t)256 << 20)
#define RT_DISK_ALIGN         64 /* of payloads, in the file and in memory */
#define RT_DISK_KIND          16 /* bytes of a kind, NUL included */

typedef struct rt_disk rt_disk;

/* The cache in `directory`; NULL means $VIEWFOLD_CACHE_DIR, else $XDG_CACHE_HOME/viewfold, else
 * $HOME/.cache/viewfold, else no cache: nothing is ever found or stored. The directory is made (mode 0700) by
 * the first store. `max_bytes` caps the size of all entries together; 0 means RT_DISK_DEFAULT_BYTES. NULL
 * when memory is short or the name is too long. */
rt_disk *rt_disk_open(const ir_mem *mem, const char *directory, int64_t max_bytes, ir_error *error);
void rt_disk_close(rt_disk *disk);
const char *rt_disk_directory(const rt_disk *disk); /* "" when there is none */

/* A found payload: read-only bytes at a multiple of RT_DISK_ALIGN inside a private mapping of the whole file.
 * The mapping belongs to the caller: give it to rt_disk_release, or to rt_image_adopt, which makes it
 * executable. */
typedef struct rt_found {
  const uint8_t *payload;
  size_t size;
  void *map;
  size_t map_size, offset; /* payload == (uint8_t *)map + offset */
} rt_found;

bool rt_disk_get(rt_disk *disk, const char *kind, const void *key, size_t key_size, rt_found *out);
void rt_disk_release(rt_found *found);

/* Store, replacing what is there. Prunes when the cache has grown past its cap, which is looked at now and
 * then. */
bool rt_disk_put(rt_disk *disk, const char *kind, const void *key, size_t key_size, const void *payload,
                 size_t size);

/* Forget one entry: for payloads that are intact but no longer of use. */
void rt_disk_remove(rt_disk *disk, const char *kind, const void *key, size_t key_size);

/* What this rt_disk has seen so far. */
typedef struct rt_disk_counts {
  uint64_t hits, misses, damaged, stores, failed_stores, pruned;
} rt_disk_counts;
void rt_disk_count(const rt_disk *disk, rt_disk_counts *out);

/* What lies on disk now. A kind past the RT_DISK_KINDS-th is counted in the totals only. */
#define RT_DISK_KINDS 8
typedef struct rt_disk_stats {
  uint64_t entries, bytes;
  int kinds;
  struct rt_disk_kind_stat {
    char kind[RT_DISK_KIND];
    uint64_t entries, bytes;
  } kind[RT_DISK_KINDS];
} rt_disk_stats;
ir_status rt_disk_stat(rt_disk *disk, rt_disk_stats *out, ir_error *error);

/* Told of each file that something is wrong with, by path. May be NULL, like the results below. */
typedef void (*rt_disk_report)(void *context, const char *path, const char *why);

/* Remove the entries not used for longest until at most max_bytes are left, and temporary files older than an
 * hour. Files that cannot be removed are reported and stay. Use is known to the hour. */
typedef struct rt_disk_pruned {
  uint64_t removed; /* entries */
  uint64_t stuck;   /* files that could not be removed */
} rt_disk_pruned;
ir_status rt_disk_prune(rt_disk *disk, int64_t max_bytes, rt_disk_report report, void *context,
                        rt_disk_pruned *out, ir_error *error);

/* Read every entry; report each bad one and leave it in place. */
typedef struct rt_disk_verified {
  uint64_t checked; /* all of them */
  uint64_t damaged, unread;
} rt_disk_verified;
ir_status rt_disk_verify(rt_disk *disk, rt_disk_report report, void *context, rt_disk_verified *out,
                         ir_error *error);

#endif
