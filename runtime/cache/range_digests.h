/* Digests of ranges of a mapped file. Those that were computed before are on disk under the identity of the
 * file, all in one entry of the kind "digest", so that a file that was seen before need not be read again.
 * They are kept there only where the file had not been changed for two seconds when reading began: a file
 * system with coarse times, or a server whose clock is late, may give a later write the same time. */
#ifndef VIEWFOLD_RUNTIME_CACHE_RANGE_DIGESTS_H
#define VIEWFOLD_RUNTIME_CACHE_RANGE_DIGESTS_H

#include "runtime/cache/digest.h"
#include "runtime/cache/disk.h"
#include "runtime/system/mapped_file.h"

typedef struct rt_range_digest { /* as in the entry on disk */
  uint64_t offset, size;
  rt_digest digest;
} rt_range_digest;

typedef struct rt_range_digests {
  const ir_mem *mem;
  rt_disk *disk;
  rt_mapped_file *file;
  rt_range_digest *items; /* a hash table by offset and size; of slots that are not in use, size is 0 */
  size_t slots, count;    /* slots: a power of two, or 0 */
  size_t read;            /* ranges that were digested here: none of the others were read */
  bool changed;           /* there are digests that the disk should have */
} rt_range_digests;

/* Takes one use of the file, and what the disk has; disk may be NULL. */
void rt_range_digests_open(rt_range_digests *digests, const ir_mem *mem, rt_disk *disk, rt_mapped_file *file);
/* The digest of `size` bytes from `offset` on, which are in the file. IR_ERR_IO where the file has changed
 * since it was opened. */
ir_status rt_range_digest_of(rt_range_digests *digests, size_t offset, size_t size, rt_digest *out,
                             ir_error *error);
/* Stores what is new. May be all zero. */
void rt_range_digests_close(rt_range_digests *digests);

#endif
