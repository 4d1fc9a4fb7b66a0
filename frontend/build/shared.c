/* Shared objects: the linker is the C compiler's, `cc` or what the environment calls CC, as for a library of
 * any other language. */
#include "frontend/build/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/system/command.h"
#include "runtime/system/files.h"

enum { PATH_ROOM = 512, SAID_ROOM = 600 };

typedef struct linking {
  char place[PATH_ROOM], from[PATH_ROOM + 16], to[PATH_ROOM + 16], said[PATH_ROOM + 16];
} linking;

static ir_status make_place(linking *l, ir_error *error) {
  const char *root = getenv("TMPDIR");
  if (!root || !*root) root = "/tmp";
  int length = snprintf(l->place, sizeof l->place, "%s/viewfold-XXXXXX", root);
  if (length < 0 || (size_t)length >= sizeof l->place || !mkdtemp(l->place))
    return ir_fail(error, IR_ERR_IO, "build: cannot make a temporary directory in %.200s: %s", root,
                   strerror(errno));
  snprintf(l->from, sizeof l->from, "%s/model.o", l->place);
  snprintf(l->to, sizeof l->to, "%s/model.so", l->place);
  snprintf(l->said, sizeof l->said, "%s/said", l->place);
  return IR_OK;
}

static bool write_object(const linking *l, const cg_blob *object) {
  int fd = open(l->from, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool good = fd >= 0 && rt_write_all(fd, object->bytes, object->size);
  return fd >= 0 && close(fd) == 0 && good;
}

/* The wait status of the linker, or -1 where it cannot be run. CC may be several words. */
static int run_linker(const linking *l) {
  char *arguments[] = {"sh",
                       "-c",
                       "exec ${CC:-cc} -shared -nostdlib -o \"$1\" \"$2\"",
                       "sh",
                       (char *)(uintptr_t)l->to,
                       (char *)(uintptr_t)l->from,
                       NULL};
  return rt_run_command(arguments, l->said);
}

/* The file, in memory of out->mem. */
static bool read_shared(const linking *l, cg_blob *out) {
  struct stat status;
  int fd = open(l->to, O_RDONLY | O_CLOEXEC);
  bool good = fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0;
  if (good) out->size = (size_t)status.st_size, out->bytes = ir_alloc(out->mem, out->size + 1);
  good = good && out->bytes;
  for (size_t done = 0; good && done < out->size;) {
    ssize_t n = read(fd, out->bytes + done, out->size - done);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    done += n > 0 ? (size_t)n : 0;
  }
  if (fd >= 0) close(fd);
  return good;
}

static void read_said(const linking *l, char said[SAID_ROOM]) {
  int fd = open(l->said, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, said, SAID_ROOM - 1) : 0;
  if (n < 0) n = 0;
  while (n > 0 && said[n - 1] == '\n') n--;
  said[n] = '\0';
  if (fd >= 0) close(fd);
}

ir_status fe_link_shared(const fe_built *built, cg_blob *out, ir_error *error) {
  linking l;
  char said[SAID_ROOM];
  if (make_place(&l, error) != IR_OK) return error->status;
  bool written = write_object(&l, &built->object);
  int status = written ? run_linker(&l) : -1;
  read_said(&l, said);
  if (!written) ir_fail(error, IR_ERR_IO, "build: cannot write %.200s: %s", l.from, strerror(errno));
  else if (status == -1)
    ir_fail(error, IR_ERR_COMPILE, "build: a shared object needs sh and a C compiler to link it");
  else if (status != 0)
    ir_fail(
        error, IR_ERR_COMPILE,
        "build: the C compiler (cc, or what CC says) cannot link the shared object; for another machine CC "
        "has to be its compiler: %s",
        said);
  else if (!read_shared(&l, out)) ir_fail(error, IR_ERR_IO, "build: the linker left no shared object");
  unlink(l.from), unlink(l.to), unlink(l.said), rmdir(l.place);
  return error->status;
}
