/* The directories of the cache on disk, opened without trusting other users. Internal to the cache on disk
 * and runtime/program/tuned.c.
 *
 * A file or directory is trusted if it belongs to the effective user or to root, and neither its group nor
 * others may write to it. The mode alone decides: a group counts as other users even if it is the user's
 * private group, since its members may change without notice; access control lists show in the group's bits.
 *
 * The cache's directory and each of its shards must be trusted and must be directories, not symbolic links.
 * Then nobody else can put anything there, and every entry is reached by openat from a descriptor without
 * following a link. Parent directories need not be trusted: whoever may rename entries there can at most
 * substitute another directory of the same user. A symbolic link among the parent directories is followed if
 * it belongs to the user or to root and lies in a directory that belongs to the user or to root and that
 * others may not write to, or only with the sticky bit set (as for /tmp, where nobody can replace files of
 * other users).
 *
 * Descriptors are opened for each operation and closed at its end. The directory may be removed and created
 * again between operations, and in a process that closes all its descriptors (daemons do) a kept number could
 * later refer to another file. */
#ifndef VIEWFOLD_RUNTIME_CACHE_DIRECTORY_H
#define VIEWFOLD_RUNTIME_CACHE_DIRECTORY_H

#include <sys/stat.h>

#include "runtime/cache/disk.h"

enum { RT_DISK_PATH = 4096, RT_DISK_WHY = 200 };

/* Why a file or directory is not used, and what would make it acceptable. why[0] is 0 where nothing is
 * refused. */
typedef struct rt_refusal {
  char path[RT_DISK_PATH];
  char why[RT_DISK_WHY];
} rt_refusal;

/* Is a file of this status trusted, as defined above? If not, `why` says what is wrong. */
bool rt_is_trusted(const struct stat *status, char why[RT_DISK_WHY]);

/* A descriptor for openat and related calls, which cannot be read from. -1 on failure: the directory is
 * refused, or errno says why (ENOENT: there is none). `make`: missing directories are created on the way,
 * mode 0700. `directory` is at most RT_DISK_PATH - 512 bytes long. */
int rt_dir_open(const char *directory, bool make, rt_refusal *refusal);

/* The same for the directory `name` inside `directory`, which rt_dir_open opened. refusal->path must hold the
 * path of `directory`; it changes only where the shard is refused, to the path of the shard. */
int rt_dir_shard(int directory, const char *name, bool make, rt_refusal *refusal);

#endif
