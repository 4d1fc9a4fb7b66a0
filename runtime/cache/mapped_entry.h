/* Entries that are mapped: the pages of one are the page cache's, and so the same memory in all processes.
 *
 * A mapped payload is not digested each time, which would read all of it. Its head has a stamp, which says
 * what file it was when its payload was last known to be whole (entry.h). Whoever writes a stamp also sets
 * the file's time of last write to the time in it, to the nanosecond, so that a later write, which sets
 * another time, parts the two; so does a copy, which has another inode, and the next boot. The payload of a
 * file that is not what its stamp says is compared with its digest, and stamped anew where it is whole.
 * Internal to the cache on disk. */
#ifndef VIEWFOLD_RUNTIME_CACHE_MAPPED_ENTRY_H
#define VIEWFOLD_RUNTIME_CACHE_MAPPED_ENTRY_H

#include <time.h>

#include "runtime/cache/entry.h"

/* The digest of what tells this boot of the system from others; zero where the system does not say, and then
 * no stamp is ever current. */
rt_digest rt_disk_boot(void);

/* The stamp of an open file that is being written, and what futimens sets its times to afterwards: that of
 * the last access stays. */
bool rt_disk_stamp_make(int fd, rt_digest boot, rt_disk_stamp *out, struct timespec times[2]);

/* Maps the file, after checking it as above. `why` is as for rt_disk_entry_read. On RT_ENTRY_GOOD the caller
 * owns the mapping. An entry whose stamp is older than `fresh_seconds` is stamped anew, which notes that it
 * was used. To be called within rt_guard_enter. */
rt_entry_state rt_disk_entry_map(int shard, const char *name, const char *kind, const void *key,
                                 size_t key_size, rt_digest boot, int64_t fresh_seconds, rt_disk_mapping *out,
                                 char why[RT_DISK_WHY]);

#endif
