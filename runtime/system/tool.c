#include "runtime/system/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/system/command.h"
#include "runtime/system/files.h"

enum { PATH_ROOM = 512, NAME_ROOM = 32, SAID_ROOM = 600, MOST_WORDS = 64 };

/* A temporary directory and the files in it. */
typedef struct place {
  char path[PATH_ROOM], input[PATH_ROOM + NAME_ROOM], output[PATH_ROOM + NAME_ROOM],
      said[PATH_ROOM + NAME_ROOM];
} place;

static bool make_place(place *p, const char *input, const char *output) {
  const char *root = getenv("TMPDIR");
  int length = snprintf(p->path, sizeof p->path, "%s/viewfold-XXXXXX", root && *root ? root : "/tmp");
  if (length < 0 || (size_t)length >= sizeof p->path || !mkdtemp(p->path)) return false;
  snprintf(p->input, sizeof p->input, "%s/%.*s", p->path, NAME_ROOM - 2, input);
  snprintf(p->output, sizeof p->output, "%s/%.*s", p->path, NAME_ROOM - 2, output);
  snprintf(p->said, sizeof p->said, "%s/said", p->path);
  return true;
}

static ir_status fail_place(const place *p, const char *who, ir_error *error) {
  return ir_fail(
      error, IR_ERR_IO,
      "%s: cannot make the temporary directory %.200s: %s; the variable TMPDIR names where they are made",
      who, p->path, strerror(errno));
}

static void remove_place(const place *p) {
  unlink(p->input), unlink(p->output), unlink(p->said), rmdir(p->path);
}

static bool write_input(const char *path, const char *bytes, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool good = fd >= 0 && rt_write_all(fd, bytes, size);
  return fd >= 0 && close(fd) == 0 && good;
}

/* A byte more is allocated than the file has, as a NUL behind it. */
static bool read_output(const char *path, const ir_mem *mem, uint8_t **bytes, size_t *size) {
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool good = fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0;
  if (good) *size = (size_t)status.st_size, *bytes = ir_alloc(mem, *size + 1);
  good = good && *bytes;
  for (size_t done = 0; good && done < *size;) {
    ssize_t n = read(fd, *bytes + done, *size - done);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    done += n > 0 ? (size_t)n : 0;
  }
  if (good) (*bytes)[*size] = 0;
  else if (*bytes) ir_free(mem, *bytes, *size + 1), *bytes = NULL;
  if (fd >= 0) close(fd);
  return good;
}

static void read_said(const char *path, char *out, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, out, room - 1) : 0;
  if (n < 0) n = 0;
  while (n > 0 && out[n - 1] == '\n') n--;
  out[n] = '\0';
  if (fd >= 0) close(fd);
}

/* The wait status; -1 where it cannot be run. */
static int run_words(const place *p, const char *const *words) {
  char *arguments[MOST_WORDS];
  size_t count = 0;
  for (; words[count] && count + 1 < MOST_WORDS; count++) {
    const char *word = words[count];
    if (!strcmp(word, RT_TOOL_INPUT)) word = p->input;
    if (!strcmp(word, RT_TOOL_OUTPUT)) word = p->output;
    arguments[count] = (char *)(uintptr_t)word;
  }
  arguments[count] = NULL;
  return rt_run_command(arguments, p->said);
}

ir_status rt_tool_run(const rt_tool *t, const ir_mem *mem, uint8_t **bytes, size_t *size, ir_error *error) {
  place p;
  char said[SAID_ROOM] = "";
  *bytes = NULL, *size = 0;
  if (!make_place(&p, t->input_name, t->output_name)) return fail_place(&p, t->who, error);
  bool written = write_input(p.input, t->input, t->input_size);
  int why = errno;
  int status = written ? run_words(&p, t->words) : -1;
  read_said(p.said, said, sizeof said);
  ir_status result = IR_OK;
  if (!written)
    result = ir_fail(error, IR_ERR_IO, "%s: cannot write %.200s: %s", t->who, p.input, strerror(why));
  else if (status == -1) result = ir_fail(error, IR_ERR_COMPILE, "%s: %s", t->who, t->missing);
  else if (status != 0) result = ir_fail(error, IR_ERR_COMPILE, "%s: %s: %s", t->who, t->failed, said);
  else if (!read_output(p.output, mem, bytes, size))
    result = ir_fail(error, IR_ERR_COMPILE, "%s: %s: it left no file", t->who, t->failed);
  remove_place(&p);
  return result;
}

ir_status rt_tool_says(const char *who, const char *const *words, const char *missing, char *out, size_t room,
                       ir_error *error) {
  place p;
  out[0] = '\0';
  if (!make_place(&p, "input", "output")) return fail_place(&p, who, error);
  bool good = run_words(&p, words) == 0;
  read_said(p.said, out, room);
  remove_place(&p);
  return good ? IR_OK : ir_fail(error, IR_ERR_COMPILE, "%s: %s", who, missing);
}
