#include "frontend/cli/mesh/part_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/mesh/processes.h"
#include "frontend/files/file_error.h"
#include "frontend/files/npy_header.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/post.h"

enum { BOOT_ID = 40 }; /* 36 characters */

static ir_status no_memory(ir_error *error) { return ir_fail(error, IR_ERR_MEMORY, "out of memory"); }

/* writing */

static ir_status write_at(const cli_part_file *f, const void *bytes, size_t count, size_t at,
                          ir_error *error) {
  const char *from = bytes;
  while (count) {
    ssize_t written = pwrite(f->fd, from, count, (off_t)at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return fe_file_fail(error, IR_ERR_IO, f->name, "cannot %s: %s", "write a part of the file",
                          strerror(written < 0 ? errno : EIO));
    from += written;
    at += (size_t)written;
    count -= (size_t)written;
  }
  return IR_OK;
}

/* The number of last axes of which the box has all: their elements are together in the file, and those of the
 * axis before as well. */
static int together(const cli_part_file *f, const ir_box *box) {
  int axes = 0;
  while (axes < f->rank &&
         box->hi[f->rank - 1 - axes] - box->lo[f->rank - 1 - axes] == f->shape[f->rank - 1 - axes])
    axes++;
  return axes < f->rank ? axes + 1 : axes;
}

static ir_status take(void *user, size_t result, const ir_box *box, const void *part, ir_error *error) {
  const cli_part_file *f = &((cli_part_files *)user)->files[result];
  int outer = f->rank - together(f, box);
  int64_t index[FE_MAX_RANK], elements = ir_box_elements(box), run = 1;
  if (f->fd < 0) return IR_OK;
  for (int k = 0; k < f->rank; k++) index[k] = box->lo[k];
  for (int k = outer; k < f->rank; k++) run *= box->hi[k] - box->lo[k];
  ir_status status = IR_OK;
  for (int64_t done = 0; done < elements && !status; done += run) {
    int64_t at = 0;
    for (int k = 0; k < f->rank; k++) at = at * f->shape[k] + index[k];
    status = write_at(f, (const char *)part + (size_t)done * f->element, (size_t)run * f->element,
                      f->start + (size_t)at * f->element, error);
    for (int k = outer - 1; k >= 0 && ++index[k] == box->hi[k]; k--) index[k] = box->lo[k];
  }
  return status;
}

/* opening */

/* In process 0: the header, and room for all elements, so that a full disk is told now. */
static ir_status prepare(const cli_part_file *f, const fe_array *a, const fe_atomic_file *file,
                         ir_error *error) {
  char header[FE_NPY_HEADER_ROOM];
  size_t length = fe_npy_header_format(header, a->dtype, a->rank, a->shape);
  ir_status status = write_at(f, header, length, 0, error);
  int code = status ? 0 : posix_fallocate(f->fd, 0, (off_t)(f->start + a->bytes));
  if (code == EOPNOTSUPP || code == EINVAL) code = ftruncate(f->fd, (off_t)(f->start + a->bytes)) ? errno : 0;
  return code ? fe_file_fail(error, IR_ERR_IO, file->name, "no room for %zu bytes: %s", a->bytes,
                             strerror(code))
              : status;
}

/* Where process 0 has its file: its name, or how processes of the same system find it that has none. */
typedef struct place {
  char path[FE_PATH_MAX], system[BOOT_ID];
  int64_t device, node; /* of the file */
} place;

/* Another number each time that a system has started; empty: not known. */
static void name_system(char out[BOOT_ID]) {
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  memset(out, 0, BOOT_ID);
  if (fd >= 0 && read(fd, out, BOOT_ID - 1) < 0) out[0] = '\0';
  if (fd >= 0) close(fd);
}

static void find_place(const fe_atomic_file *file, place *out) {
  struct stat found;
  memset(out, 0, sizeof *out);
  name_system(out->system);
  if (fstat(file->fd, &found) != 0) return;
  out->device = (int64_t)found.st_dev;
  out->node = (int64_t)found.st_ino;
  if (!file->temporary[0]) snprintf(out->path, sizeof out->path, "/proc/%ld/fd/%d", (long)getpid(), file->fd);
  else if (!realpath(file->temporary, out->path)) out->path[0] = '\0';
}

/* A path to what a process has open is another file in another system. */
static bool opens(cli_part_file *f, const place *at, size_t bytes) {
  static const char open_files[] = "/proc/";
  bool nameless = strncmp(at->path, open_files, sizeof open_files - 1) == 0;
  char system[BOOT_ID];
  struct stat found;
  name_system(system);
  if (nameless && (!system[0] || memcmp(system, at->system, sizeof system) != 0)) return false;
  f->fd = open(at->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  return f->fd >= 0 && fstat(f->fd, &found) == 0 && S_ISREG(found.st_mode) &&
         (!nameless || ((int64_t)found.st_dev == at->device && (int64_t)found.st_ino == at->node)) &&
         (size_t)found.st_size == f->start + bytes;
}

/* Tells all where process 0, which owns the file, has it; *missing: not all have opened it. */
static ir_status offer(cli_part_file *f, fe_sharded *s, const fe_array *a, const fe_atomic_file *file,
                       bool owns, int64_t *missing, ir_error *error) {
  place at = {0};
  if (owns) find_place(file, &at);
  ir_status status = cli_processes_first(s, &at, sizeof at, error);
  *missing = !status && !owns && !opens(f, &at, a->bytes);
  if (!status) status = cli_processes_most(s, missing, error);
  if ((status || *missing) && !owns && f->fd >= 0) close(f->fd), f->fd = -1;
  return status;
}

/* One result: where process 0 has its file is told to all, and all agree whether they have opened it. A file
 * without a name is given one where processes are of several systems. */
static ir_status share(cli_part_file *f, fe_sharded *s, const fe_array *a, fe_atomic_file *file,
                       ir_error *error) {
  char header[FE_NPY_HEADER_ROOM];
  int64_t missing = 1;
  f->start = fe_npy_header_format(header, a->dtype, a->rank, a->shape);
  f->element = ir_dtypes[a->dtype].bytes;
  f->rank = a->rank;
  memcpy(f->shape, a->shape, sizeof f->shape);
  bool owns = file && !file->direct;
  if (owns) f->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
  owns = f->fd >= 0;
  if (owns && prepare(f, a, file, error)) return error->status;
  ir_status status = offer(f, s, a, file, owns, &missing, error);
  if (!status && missing) {
    if (owns && fe_atomic_name(file, error)) return error->status;
    status = offer(f, s, a, file, owns, &missing, error);
  }
  if ((status || missing) && f->fd >= 0) close(f->fd), f->fd = -1;
  return status;
}

ir_status cli_part_files_open(cli_part_files *out, fe_sharded *s, const ir_parsed_graph *block,
                              const cli_pairs *pairs, cli_files *open, const fe_array *results,
                              ir_error *error) {
  size_t count = block->result_count;
  *out = (cli_part_files){.files = calloc(count + 1, sizeof *out->files),
                          .takes = calloc(count + 1, sizeof *out->takes),
                          .count = count};
  out->taker = (fe_part_taker){out->takes, take, out};
  if (!out->files || !out->takes) return no_memory(error);
  for (size_t i = 0; i < count; i++) out->files[i].fd = -1;
  bool alone = !rt_context_post(s->context);
  ir_status status = IR_OK;
  for (size_t k = 0; k < pairs->count && !alone && !status; k++) {
    size_t i = 0;
    while (i < count && !cli_is_called(&pairs->items[k], block->results[i].name)) i++;
    if (i == count || out->takes[i] || block->results[i].reference || !results[i].bytes) continue;
    out->files[i].name = pairs->items[k].text;
    status = share(&out->files[i], s, &results[i], open->count ? &open->list[k] : NULL, error);
    out->takes[i] = out->files[i].fd >= 0;
  }
  return status;
}

ir_status cli_part_files_agree(cli_part_files *files, fe_sharded *s, ir_error *error) {
  int64_t nothing = 0;
  bool any = false;
  for (size_t i = 0; i < files->count; i++) any |= files->takes[i];
  return any ? cli_processes_most(s, &nothing, error) : IR_OK;
}

void cli_part_files_close(cli_part_files *files) {
  for (size_t i = 0; i < files->count && files->files; i++)
    if (files->files[i].fd >= 0) close(files->files[i].fd);
  free(files->files);
  free(files->takes);
  *files = (cli_part_files){0};
}
