/* The directories of the cache on disk, opened without trusting anybody else. Internal to the cache on disk
 * and runtime/program/tuned.c.
 *
 * Trusted is what belongs to the effective user or to root and is not writable by group or others. The mode
 * alone decides: a group counts although it may be the user's own, since who is in it changes without notice
 * here, and access control lists show in the group's bits.
 *
 * The cache's directory and each of its shards have to be trusted, and to be directories, not symbolic links:
 * then nobody else can put anything there, and every entry is reached by openat from a descriptor without
 * following a link. Directories above need not be trusted: whoever may rename there can at most offer another
 * directory of the user's own. A symbolic link above is followed where it belongs to the user or to root and
 * stands in a directory that does and that others may not write to, or only with the sticky bit (as in /tmp,
 * where they cannot replace what is not theirs).
 *
 * Descriptors are opened for each operation and closed at its end: the directory may be removed and made anew
 * meanwhile, and a process that closes all its descriptors (daemons do) would leave numbers behind that mean
 * another file. */
#ifndef VIEWFOLD_RUNTIME_CACHE_DIRECTORY_H
#define VIEWFOLD_RUNTIME_CACHE_DIRECTORY_H

#include <sys/stat.h>

#include "runtime/cache/disk.h"

enum { RT_DISK_PATH = 4096, RT_DISK_WHY = 200 };

/* Why something is not used, and what would satisfy. why[0] is 0 where nothing is refused. */
typedef struct rt_refusal {
  char path[RT_DISK_PATH];
  char why[RT_DISK_WHY];
} rt_refusal;

/* Is it trusted? `why` receives what is wrong. */
bool rt_is_trusted(const struct stat *status, char why[RT_DISK_WHY]);

/* A descriptor for openat and the like, which cannot be read from; or -1: refused, or errno says why (ENOENT:
 * there is none). `make`: missing directories are made on the way, mode 0700. `directory` is at most
 * RT_DISK_PATH - 512 bytes long. */
int rt_dir_open(const char *directory, bool make, rt_refusal *refusal);

/* The same for a directory of this name in one that rt_dir_open opened. refusal->path is what the
 * descriptor's path is, and is left alone but where the shard is refused. */
int rt_dir_shard(int directory, const char *name, bool make, rt_refusal *refusal);

#endif
