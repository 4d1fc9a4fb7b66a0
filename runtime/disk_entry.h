/* One file of the cache on disk: its layout, and how it is read, checked and written. Internal to
 * runtime/disk*.c. */
#ifndef VIEWFOLD_RUNTIME_DISK_ENTRY_H
#define VIEWFOLD_RUNTIME_DISK_ENTRY_H

#include <sys/stat.h>

#include "runtime/digest.h"
#include "runtime/disk.h"

/* The head is followed by the key, zeros up to a multiple of RT_DISK_ALIGN, and the payload, which ends the
 * file. */
typedef struct rt_disk_head {
  uint64_t magic;
  uint32_t version, zero;
  uint64_t key_size, payload_size;
  rt_digest payload_digest;
  char kind[RT_DISK_KIND];
} rt_disk_head;

/* ABSENT: no such file, or one that cannot be read or is not ours to trust. DAMAGED includes intact entries
 * for another key: two keys with one digest are less likely than a bad disk. */
typedef enum rt_entry_state { RT_ENTRY_GOOD, RT_ENTRY_ABSENT, RT_ENTRY_DAMAGED } rt_entry_state;

/* Map and check the file at `path`. With key NULL any key will do, and key_digest says which it was. `why`
 * names what is wrong, NULL when there is no file. On RT_ENTRY_GOOD the mapping in `found` is the caller's.
 */
typedef struct rt_entry_view {
  rt_found found;
  rt_digest key_digest;
  struct stat status;
  const char *why;
} rt_entry_view;
rt_entry_state rt_disk_entry_read(const char *path, const char *kind, const void *key, size_t key_size,
                                  rt_entry_view *out);

/* Write a whole entry to a new file. False, with nothing left behind, when that fails; errno says why. */
bool rt_disk_entry_write(const char *path, const char *kind, const void *key, size_t key_size,
                         const void *payload, size_t size);

/* A walk over every file of the cache, temporary ones included. kind is "" for what is no entry. */
typedef struct rt_disk_item {
  const char *path;
  char kind[RT_DISK_KIND];
  rt_digest digest; /* of its key, by its name */
  bool entry;       /* false: a temporary file or something foreign */
  bool hidden;      /* it could not be looked at: the status is unknown */
  struct stat status;
} rt_disk_item;
typedef bool (*rt_disk_visit)(void *context, const rt_disk_item *item); /* false stops the walk */

/* A missing directory is an empty cache. False when it cannot be read. */
bool rt_disk_walk(const char *directory, rt_disk_visit visit, void *context);

enum { RT_DISK_PATH = 4096 };

#endif
