/* The folder runtime/cache. Byte strings found by key.
 *
 *   in      keys and payloads; kernels, as canonical bytes
 *   out     the same payloads, from memory, read from disk or mapped
 *   holds   a look-up returns exactly the bytes that were stored, or nothing */

/* The cache on disk: byte strings found by (kind, key), shared by all processes of the user.
 *
 * One file per entry, `DIRECTORY/<2 hex>/<30 hex>.<kind>`, named by the digest of the key. The file holds a
 * header, the whole key and the payload. A look-up compares the whole key and the payload's digest, so it
 * returns the right bytes or nothing. A file is written under a temporary name in the same folder and then
 * renamed, so no process sees an incomplete one. A damaged entry is a miss; the next store replaces it.
 * Failures to write are counted, and said where a log was given; they fail nothing: the cache is an
 * optimisation.
 *
 * An entry is either read (rt_disk_put, rt_disk_get) or mapped (rt_disk_put_mapped, rt_disk_map), by its
 * kind.
 *
 * Payloads are executed, so nothing is read from or stored in directories that are not trusted (directory.h),
 * and entries that are not trusted are misses. A payload that was read lies in private memory and was checked
 * there: truncating, overwriting or removing the file afterwards changes nothing.
 *
 * Only regular files of the effective user are ever unlinked, reached without following a link, whose name
 * and first bytes are those of this cache: entries of any version, damaged ones included, and temporary files
 * of processes that have ended (entry.h, walk.h). A store replaces whatever has the entry's name.
 *
 * A kind is a word of 1 to 15 letters a-z and digits ("code", "plan"); with any other, nothing is found or
 * stored. All functions but rt_disk_close may be called from several threads at once. */
#ifndef VIEWFOLD_RUNTIME_CACHE_DISK_H
#define VIEWFOLD_RUNTIME_CACHE_DISK_H

#include "ir/base.h"
#include "ir/log.h"
#include "runtime/system/bus_error.h"

#define RT_DISK_DEFAULT_BYTES ((int64_t)256 << 20)
#define RT_DISK_ALIGN         64 /* of payloads, in the file and in memory */
#define RT_DISK_KIND          16 /* bytes of a kind, NUL included */

typedef struct rt_disk rt_disk;

/* The cache in `directory`; NULL means $VIEWFOLD_CACHE_DIR, else $XDG_CACHE_HOME/viewfold, else
 * $HOME/.cache/viewfold, else no cache: nothing is ever found or stored. The directory is made (mode 0700) by
 * the first store. `max_bytes` caps the size of all entries and temporary files together, and so of each
 * entry; 0 means what rt_disk_limit says. NULL when memory is short, the name is too long or rt_disk_limit
 * fails. */
rt_disk *rt_disk_open(const ir_mem *mem, const char *directory, int64_t max_bytes, ir_error *error);
/* The cap that $VIEWFOLD_CACHE_BYTES sets, else RT_DISK_DEFAULT_BYTES. False where it is no size. */
bool rt_disk_limit(int64_t *bytes, ir_error *error);
/* Reads a number of bytes, or one followed by K, M or G. False where the text is something else. */
bool rt_disk_read_size(const char *text, int64_t *bytes);
void rt_disk_close(rt_disk *disk);
const char *rt_disk_directory(const rt_disk *disk); /* "" when there is none */
const ir_mem *rt_disk_mem(const rt_disk *disk);

/* Receives the path of each file or directory that something is wrong with, and what. May be NULL wherever a
 * report is passed. */
typedef void (*rt_disk_report)(void *context, const char *path, const char *why);

/* From now on, say what look-ups and stores ignore, and why: the directory once, as a warning; shards and
 * entries each time, and so stores that fail and what is pruned. log may be NULL, and must outlive the disk.
 * To be called before the disk is shared between threads. */
void rt_disk_tell(rt_disk *disk, const ir_log *log);

/* A found payload at a multiple of RT_DISK_ALIGN, inside private anonymous memory that holds the whole entry,
 * writable, in pages of its own. The caller owns the memory and passes it to rt_disk_release, or to
 * rt_image_adopt, which makes it executable. */
typedef struct rt_found {
  const uint8_t *payload;
  size_t size;
  void *map;
  size_t map_size, offset; /* payload == (uint8_t *)map + offset */
} rt_found;

/* Finds the payload that was stored for the kind and the key, and notes that it was used. False, with *out
 * cleared, when there is none, it is damaged or not trusted, or memory is short: a miss, never an error. */
bool rt_disk_get(rt_disk *disk, const char *kind, const void *key, size_t key_size, rt_found *out);
/* Unmaps the memory of a found payload and clears *found, which may be all zero. */
void rt_disk_release(rt_found *found);

/* Store an entry, replacing the one with its name. From time to time a store also measures the cache, and
 * prunes it if it exceeds its cap. */
bool rt_disk_put(rt_disk *disk, const char *kind, const void *key, size_t key_size, const void *payload,
                 size_t size);

/* The same as rt_disk_put, for an entry that is to be mapped. One of its name that is there stays, so that
 * all processes map the same file; also true then. */
bool rt_disk_put_mapped(rt_disk *disk, const char *kind, const void *key, size_t key_size,
                        const void *payload, size_t size);

/* A found payload at a multiple of RT_DISK_ALIGN in a file of the cache, which is mapped, to be read: its
 * memory is that of all processes which have mapped it. Removing or replacing the file changes nothing. Where
 * it becomes shorter, or cannot be read, zeros are read from there on, and the guard says so. A program that
 * writes into the file changes what is read. */
typedef struct rt_disk_mapping {
  const uint8_t *payload;
  size_t size;
  void *map;
  size_t map_size;
  rt_guard *guard;
} rt_disk_mapping;

/* As rt_disk_get, for an entry of rt_disk_put_mapped. What is checked, and when, is in mapped_entry.h. */
bool rt_disk_map(rt_disk *disk, const char *kind, const void *key, size_t key_size, rt_disk_mapping *out);
void rt_disk_unmap(rt_disk_mapping *mapping); /* clears it; it may be all zero */

/* The most bytes that the cache may take. */
uint64_t rt_disk_max_bytes(const rt_disk *disk);

/* Remove one entry: for payloads that are intact but no longer of use. */
void rt_disk_remove(rt_disk *disk, const char *kind, const void *key, size_t key_size);

/* What this rt_disk has seen so far. */
typedef struct rt_disk_counts {
  uint64_t hits, misses, damaged;
  uint64_t refused; /* look-ups and stores of files that are not trusted or cannot be read */
  uint64_t stores, failed_stores, pruned;
} rt_disk_counts;
void rt_disk_count(const rt_disk *disk, rt_disk_counts *out);

/* The entries and temporary files on disk now. Kinds after the first RT_DISK_KINDS are counted in the totals
 * only. rt_disk_stat and the functions below fail where the directory is not trusted, saying why, and report
 * shards that are not trusted. */
#define RT_DISK_KINDS 16
typedef struct rt_disk_stats {
  uint64_t entries, bytes;
  uint64_t temporaries, temporary_bytes;
  uint64_t ignored; /* files named like entries that have other contents or are not trusted */
  int kinds;
  struct rt_disk_kind_stat {
    char kind[RT_DISK_KIND];
    uint64_t entries, bytes;
  } kind[RT_DISK_KINDS];
} rt_disk_stats;
ir_status rt_disk_stat(rt_disk *disk, rt_disk_report report, void *context, rt_disk_stats *out,
                       ir_error *error);

/* Remove the temporary files of processes that have ended, and then the least recently used entries until the
 * files that remain, of both sorts, take at most max_bytes. Entries that cannot be removed are reported and
 * stay. The time of last use is known to the hour. */
typedef struct rt_disk_pruned {
  uint64_t removed, removed_bytes; /* entries */
  uint64_t temporaries, temporary_bytes;
  uint64_t stuck; /* files that could not be removed */
} rt_disk_pruned;
ir_status rt_disk_prune(rt_disk *disk, int64_t max_bytes, rt_disk_report report, void *context,
                        rt_disk_pruned *out, ir_error *error);

/* Read every entry; report each bad one and leave it in place. */
typedef struct rt_disk_verified {
  uint64_t checked; /* all entries */
  uint64_t damaged;
  uint64_t unread; /* includes shards that are not trusted */
} rt_disk_verified;
ir_status rt_disk_verify(rt_disk *disk, rt_disk_report report, void *context, rt_disk_verified *out,
                         ir_error *error);

#endif
