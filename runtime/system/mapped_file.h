/* Regular files in memory, for reading. The mapping is guarded (bus_error.h): a file that becomes shorter
 * reads as zeros from there on. Whoever has computed something from the bytes asks rt_mapped_check
 * afterwards; before that, what was read may have been anything, and may have changed between two reads. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_MAPPED_FILE_H
#define VIEWFOLD_RUNTIME_SYSTEM_MAPPED_FILE_H

#include "ir/base.h"

/* What a file with other contents has another of, unless it was written twice within a tick of the clock of
 * its file system. Times are in ns since 1970: of the last write, and of the last change of the file or of
 * what is known of it, which no program can set. */
typedef struct rt_file_identity {
  uint64_t device, inode, size;
  int64_t modified_ns, changed_ns;
} rt_file_identity;

typedef struct rt_mapped_file rt_mapped_file;

/* Maps the file, of any size, and gives the caller a use of it. A file that was written within the last tick
 * of the clock (4 to 10 ms) is waited for, so that any later write has a later time. `mem` must outlive the
 * file. IR_ERR_IO where it cannot be opened, IR_ERR_INVALID where it is no regular file; messages begin with
 * its name. */
ir_status rt_mapped_open(const ir_mem *mem, const char *path, rt_mapped_file **out, ir_error *error);
void rt_mapped_retain(rt_mapped_file *file);
void rt_mapped_release(rt_mapped_file *file); /* the last one unmaps it; accepts NULL */

const char *rt_mapped_name(const rt_mapped_file *file); /* as it was opened */
/* All bytes of the file, as many as its identity says. */
const uint8_t *rt_mapped_bytes(const rt_mapped_file *file);
const rt_file_identity *rt_mapped_identity(const rt_mapped_file *file); /* when it was opened */
int rt_mapped_descriptor(const rt_mapped_file *file);                   /* for pread */
/* Gives the memory of a range back to the system, which maps it again where it is read. */
void rt_mapped_leave(const rt_mapped_file *file, size_t offset, size_t size);
/* IR_ERR_IO where the file is not what was opened any more: it was written to, has become shorter, or could
 * not be read. A file that has only been removed, renamed or replaced by another of its name still is. Costs
 * one system call. */
ir_status rt_mapped_check(const rt_mapped_file *file, ir_error *error);

#endif
