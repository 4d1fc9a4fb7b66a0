/* Shared objects: the linker is the C compiler's, `cc` or what the environment calls CC, as for a library of
 * any other language. */
#include "frontend/build/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/system/command.h"
#include "runtime/system/files.h"

enum { PATH_ROOM = 512, SAID_ROOM = 600 };

typedef struct linking {
  char place[PATH_ROOM], from[PATH_ROOM + 16], to[PATH_ROOM + 16], said[PATH_ROOM + 16];
} linking;

static ir_status make_place(linking *l, ir_error *error) {
  if (rt_make_temporary_directory("build", l->place, sizeof l->place, error) != IR_OK) return error->status;
  snprintf(l->from, sizeof l->from, "%s/model.o", l->place);
  snprintf(l->to, sizeof l->to, "%s/model.so", l->place);
  snprintf(l->said, sizeof l->said, "%s/said", l->place);
  return IR_OK;
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

ir_status fe_link_shared(const fe_built *built, cg_blob *out, ir_error *error) {
  linking l;
  char said[SAID_ROOM];
  if (make_place(&l, error) != IR_OK) return error->status;
  bool written = rt_write_new_file(l.from, built->object.bytes, built->object.size);
  int status = written ? run_linker(&l) : -1;
  rt_read_beginning(l.said, said, sizeof said);
  if (!written) ir_fail(error, IR_ERR_IO, "build: cannot write %.200s: %s", l.from, strerror(errno));
  else if (status == -1)
    ir_fail(error, IR_ERR_COMPILE, "build: a shared object needs sh and a C compiler to link it");
  else if (status != 0)
    ir_fail(
        error, IR_ERR_COMPILE,
        "build: the C compiler (cc, or what CC says) cannot link the shared object; for another machine CC "
        "has to be its compiler: %s",
        said);
  else if (!(out->bytes = rt_read_file(l.to, out->mem, &out->size)))
    ir_fail(error, IR_ERR_IO, "build: the linker left no shared object");
  unlink(l.from), unlink(l.to), unlink(l.said), rmdir(l.place);
  return error->status;
}
