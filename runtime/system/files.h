/* File functions that several folders use. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_FILES_H
#define VIEWFOLD_RUNTIME_SYSTEM_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Write `size` bytes, with as many calls as that takes. False with errno set on failure. */
bool rt_write_all(int fd, const void *bytes, size_t size);

#endif
