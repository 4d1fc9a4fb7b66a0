/* File functions that several folders use. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_FILES_H
#define VIEWFOLD_RUNTIME_SYSTEM_FILES_H

#include "ir/base.h"

/* Write `size` bytes, with as many calls as that takes. False with errno set on failure. */
bool rt_write_all(int fd, const void *bytes, size_t size);

/* Write a file that is not there yet, which only its owner may read. False with errno set on failure. */
bool rt_write_new_file(const char *path, const void *bytes, size_t size);

/* A whole file and a zero byte behind it, *size + 1 bytes of `mem`; NULL where the file is empty or cannot be
 * read, or there is no memory. */
void *rt_read_file(const char *path, const ir_mem *mem, size_t *size);

/* The beginning of a file as a string, without line ends behind it; "" where it cannot be read. */
void rt_read_beginning(const char *path, char *out, size_t room);

/* Make a directory in $TMPDIR, or else in /tmp, that only its owner may enter. who: what messages begin with.
 */
ir_status rt_make_temporary_directory(const char *who, char *path, size_t room, ir_error *error);

#endif
