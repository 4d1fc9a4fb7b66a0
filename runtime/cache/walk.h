/* The file names of the cache on disk, and a walk over all its files. Internal to the cache on disk and
 * runtime/program/tuned.c. */
#ifndef VIEWFOLD_RUNTIME_CACHE_WALK_H
#define VIEWFOLD_RUNTIME_CACHE_WALK_H

#include "runtime/cache/entry.h"

/* The first two digits of the digest of an entry's key name its shard; the other thirty, a dot and the kind
 * are its file name. A temporary file is `.viewfold-PID-SERIAL-NS.tmp`, three hexadecimal numbers without
 * leading zeros: the process that writes the file, a serial number in that process, and the nanoseconds of
 * the time. Digits are lower-case throughout. Files with other names are skipped. */
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
  rt_digest digest;        /* of its key, read from its name */
  uint64_t pid;            /* of a temporary file, read from its name */
  bool hidden;             /* fstatat failed: the status is unknown */
  struct stat status;      /* of a regular file */
} rt_disk_item;
typedef bool (*rt_disk_visit)(void *context, const rt_disk_item *item); /* false stops the walk */

/* Visit every entry and temporary file. A missing directory is an empty cache. Shards that are not trusted
 * are reported and skipped. Fails where the directory is not trusted, or it or a shard cannot be read. */
ir_status rt_disk_walk(const rt_disk *disk, rt_disk_visit visit, void *context, rt_disk_report report,
                       void *report_context, ir_error *error);

/* A file's path, for messages. */
void rt_disk_path(const rt_disk *disk, const char *shard, const char *name, char path[RT_DISK_PATH]);

#endif
