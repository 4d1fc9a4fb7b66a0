/* What several parts ask of files. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_FILES_H
#define VIEWFOLD_RUNTIME_SYSTEM_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Write all of it, however often that takes; false with errno set. */
bool rt_write_all(int fd, const void *bytes, size_t size);

#endif
