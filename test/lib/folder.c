#define _GNU_SOURCE /* nftw */
#include "test/lib/folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_AT_ONCE = 16 };

bool test_folder_make(char *path, size_t size) {
  const char *where = getenv("TMPDIR");
  snprintf(path, size, "%s/viewfold-XXXXXX", where && *where ? where : "/tmp");
  return mkdtemp(path) != NULL;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
  return remove(path);
}

void test_folder_remove(const char *path) { nftw(path, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS); }

static const char *copy_to;
static size_t copy_skip; /* length of the source's path, which copies omit */

static bool copy_file(const char *from, const char *to, mode_t mode) {
  char bytes[1 << 14];
  ssize_t n = -1;
  int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, mode);
  while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0)
    if (write(out, bytes, (size_t)n) != n) break;
  if (in >= 0) close(in);
  return out >= 0 && close(out) == 0 && n == 0;
}

static int copy_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
  char to[4096];
  snprintf(to, sizeof to, "%s%s", copy_to, path + copy_skip);
  if (kind == FTW_D) return mkdir(to, facts->st_mode & 0777);
  return copy_file(path, to, facts->st_mode & 0777) ? 0 : -1;
}

bool test_folder_copy(const char *from, const char *to) {
  copy_to = to, copy_skip = strlen(from);
  return nftw(from, copy_one, OPEN_AT_ONCE, FTW_PHYS) == 0;
}
