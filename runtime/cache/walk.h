/* The names of the cache's files, and walking over all of them. Internal to the cache on disk and
 * runtime/program/tuned.c. */
#ifndef VIEWFOLD_RUNTIME_CACHE_WALK_H
#define VIEWFOLD_RUNTIME_CACHE_WALK_H

#include "runtime/cache/entry.h"

/* An entry lies in the shard named by the first two digits of its key's digest, under the other thirty, a dot
 * and the kind. A temporary file is `.viewfold-PID-SERIAL-NS.tmp`, three numbers in lower-case hexadecimal
 * without leading zeros: the process that writes it, how many it wrote before, and the nanoseconds of the
 * time. Digits are lower-case throughout. No other name is looked at. */
enum { RT_DISK_SHARD = 3, RT_DISK_NAME = 80 }; /* bytes of a name, NUL included */
bool rt_disk_is_kind(const char *kind);
void rt_disk_entry_name(rt_digest digest, const char *kind, char shard[RT_DISK_SHARD],
                        char name[RT_DISK_NAME]);
void rt_disk_temporary_name(unsigned serial, char name[RT_DISK_NAME]);

typedef struct rt_disk_item {
  int shard; /* for openat; closed after the visit */
  char shard_name[RT_DISK_SHARD];
  const char *name;
  bool temporary;
  char kind[RT_DISK_KIND]; /* of an entry */
  rt_digest digest;        /* of its key, by its name */
  uint64_t pid;            /* of a temporary, by its name */
  bool hidden;             /* it could not be looked at: the status is unknown */
  struct stat status;      /* of a regular file */
} rt_disk_item;
typedef bool (*rt_disk_visit)(void *context, const rt_disk_item *item); /* false stops the walk */

/* A missing directory is an empty cache. Shards that are not trusted are reported and passed over. Fails
 * where the directory is not trusted, or it or a shard cannot be read. */
ir_status rt_disk_walk(const rt_disk *disk, rt_disk_visit visit, void *context, rt_disk_report report,
                       void *report_context, ir_error *error);

/* A file's path, for messages. */
void rt_disk_path(const rt_disk *disk, const char *shard, const char *name, char path[RT_DISK_PATH]);

#endif
