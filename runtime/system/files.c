/* Writing to a descriptor until everything is written. */
#include "runtime/system/files.h"

#include <errno.h>
#include <unistd.h>

bool rt_write_all(int fd, const void *bytes, size_t size) {
  const char *at = bytes;
  while (size) {
    ssize_t done = write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done, size -= (size_t)done;
  }
  return true;
}
