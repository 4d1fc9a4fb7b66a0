/* One file of the cache on disk: its layout, and how it is read, checked, written and removed, in a shard
 * that rt_dir_shard opened. Internal to the cache on disk and runtime/program/tuned.c. */
#ifndef VIEWFOLD_RUNTIME_CACHE_ENTRY_H
#define VIEWFOLD_RUNTIME_CACHE_ENTRY_H

#include <sys/stat.h>

#include "runtime/cache/digest.h"
#include "runtime/cache/directory.h"
#include "runtime/cache/disk.h"

/* The head is followed by the key, zeros up to a multiple of RT_DISK_ALIGN, and the payload, which ends the
 * file. */
typedef struct rt_disk_head {
  uint64_t magic; /* of every version */
  uint32_t version, zero;
  uint64_t key_size, payload_size;
  rt_digest payload_digest;
  char kind[RT_DISK_KIND];
} rt_disk_head;

/* ABSENT: no such file, or one that cannot be read or is not ours to trust. DAMAGED includes intact entries
 * for another key: two keys with one digest are less likely than a bad disk. */
typedef enum rt_entry_state { RT_ENTRY_GOOD, RT_ENTRY_ABSENT, RT_ENTRY_DAMAGED } rt_entry_state;

/* Read the file into private memory, and check what is there. With key NULL any key will do, and key_digest
 * says which it was. why[0] is 0 where there is no file, else it names what is wrong. On RT_ENTRY_GOOD
 * `found` is the caller's. */
typedef struct rt_entry_view {
  rt_found found;
  rt_digest key_digest;
  struct stat status;
  char why[RT_DISK_WHY];
} rt_entry_view;
rt_entry_state rt_disk_entry_read(int shard, const char *name, const char *kind, const void *key,
                                  size_t key_size, rt_entry_view *out);

/* The bytes that an entry takes. */
uint64_t rt_disk_entry_size(size_t key_size, size_t payload_size);

/* Write a whole entry to a new file. False, with nothing left behind, when that fails; errno says why. */
bool rt_disk_entry_write(int shard, const char *name, const char *kind, const void *key, size_t key_size,
                         const void *payload, size_t size);

/* Whose is a file that is named like an entry, or like a temporary file of ours? OURS: a regular file of the
 * effective user that begins as an entry of any version does; of a temporary, as far as it goes. FOREIGN: a
 * file of the user's that begins otherwise. UNKNOWN: anything else, which `why` names. */
typedef enum rt_owner { RT_OURS, RT_FOREIGN, RT_UNKNOWN } rt_owner;
rt_owner rt_disk_owner(int shard, const char *name, char why[RT_DISK_WHY]);

/* Unlink what is RT_OURS, which is looked at right before; nothing else is ever unlinked. True when it is
 * gone afterwards; false when not, which `why` explains. */
bool rt_disk_unlink(int shard, const char *name, char why[RT_DISK_WHY]);

#endif
