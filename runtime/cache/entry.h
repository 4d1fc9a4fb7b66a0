/* One file of the cache on disk: its layout, and how it is read, checked, written and removed. `shard` is a
 * directory that rt_dir_shard opened. Internal to the cache on disk and runtime/program/tuned.c. */
#ifndef VIEWFOLD_RUNTIME_CACHE_ENTRY_H
#define VIEWFOLD_RUNTIME_CACHE_ENTRY_H

#include <sys/stat.h>

#include "runtime/cache/digest.h"
#include "runtime/cache/directory.h"
#include "runtime/cache/disk.h"

/* What a file was when its payload was last known to be whole: written, or compared with its digest. All
 * zero: it never was, or the entry is one that is read (rt_disk_get). */
typedef struct rt_disk_stamp {
  uint64_t device, inode;
  int64_t modified_ns; /* the time of its last write, ns since 1970: as the writer of the stamp has set it */
  rt_digest boot;      /* of the system's boot: pages that were written before a crash may be lost */
} rt_disk_stamp;

/* The head is followed by the key, zeros up to a multiple of RT_DISK_ALIGN, and the payload, which ends the
 * file. */
typedef struct rt_disk_head {
  uint64_t magic; /* the same in every version */
  uint32_t version, zero;
  uint64_t key_size, payload_size;
  rt_digest payload_digest;
  char kind[RT_DISK_KIND];
  rt_disk_stamp stamp;
} rt_disk_head;

/* ABSENT: no such file, or one that cannot be read or is not trusted. DAMAGED includes intact entries for
 * another key: two keys with one digest are less likely than a disk error. */
typedef enum rt_entry_state { RT_ENTRY_GOOD, RT_ENTRY_ABSENT, RT_ENTRY_DAMAGED } rt_entry_state;

/* Read the file into private memory and check it. With key NULL any key is accepted, and key_digest is its
 * digest. why[0] is 0 where there is no file; otherwise `why` names what is wrong. On RT_ENTRY_GOOD the
 * caller owns `found`. */
typedef struct rt_entry_view {
  rt_found found;
  rt_digest key_digest;
  struct stat status;
  char why[RT_DISK_WHY];
} rt_entry_view;
rt_entry_state rt_disk_entry_read(int shard, const char *name, const char *kind, const void *key,
                                  size_t key_size, rt_entry_view *out);

/* Opens a regular file. -1 on failure; `why` names the reason, or is empty where there is no such file. */
int rt_disk_entry_open(int shard, const char *name, struct stat *status, char why[RT_DISK_WHY]);
/* Reads the head of an open file of that size and checks all that needs no more; false, and `why`, where it
 * is damaged. */
bool rt_disk_head_read(int fd, uint64_t file_size, const char *kind, const void *key, size_t key_size,
                       rt_disk_head *out, char why[RT_DISK_WHY]);
/* Where the payload begins in the file. */
uint64_t rt_disk_payload_offset(uint64_t key_size);

/* The size of an entry's file in bytes. */
uint64_t rt_disk_entry_size(size_t key_size, size_t payload_size);

/* Write a whole entry to a new file, with a stamp of this boot unless `boot` is NULL or zero. False, with
 * nothing left behind, when that fails; errno says why. */
bool rt_disk_entry_write(int shard, const char *name, const char *kind, const void *key, size_t key_size,
                         const void *payload, size_t size, const rt_digest *boot);

/* The owner of a file that is named like an entry, or like a temporary file of the cache. OURS: a regular
 * file of the effective user that begins with the magic number of an entry; a temporary file may end within
 * it. FOREIGN: a file of the user that begins otherwise. UNKNOWN: anything else; `why` names the reason, and
 * is empty where there is no such file. */
typedef enum rt_owner { RT_OURS, RT_FOREIGN, RT_UNKNOWN } rt_owner;
rt_owner rt_disk_owner(int shard, const char *name, char why[RT_DISK_WHY]);

/* Unlink the file if rt_disk_owner, called right before, says RT_OURS; no other file is ever unlinked. True
 * if there is no such file afterwards; otherwise false, and `why` says why. */
bool rt_disk_unlink(int shard, const char *name, char why[RT_DISK_WHY]);

#endif
