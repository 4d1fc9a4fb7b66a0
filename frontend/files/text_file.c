#include "frontend/files/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/files/file_error.h"

enum { FIRST_CHUNK = 16384, READ_MOST = 1 << 30 };

static bool is_standard(const char *path) { return strcmp(path, "-") == 0; }

const char *fe_text_name(const char *path) { return is_standard(path) ? "<stdin>" : path; }

static ir_status too_long(const char *name, size_t most, ir_error *error) {
  return fe_file_fail(error, IR_ERR_INVALID, name,
                      "the file has more than %zu bytes, which is the limit for its kind", most);
}

static ir_status read_all(int fd, const char *name, size_t most, ir_text *out, ir_error *error) {
  struct stat status;
  bool sized = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  if (sized && (uint64_t)status.st_size > most) return too_long(name, most, error);
  size_t guess = sized ? (size_t)status.st_size + 2 : FIRST_CHUNK, start = out->len;
  for (;;) {
    size_t need = out->len == start ? start + guess : out->len + 2; /* a byte more, and the NUL */
    if (!IR_RESERVE(out->mem, out->data, out->cap, need))
      return fe_file_fail(error, IR_ERR_MEMORY, name, "not enough memory for the file");
    size_t room = out->cap - out->len - 1;
    char *to = out->data + out->len;
    ssize_t got = read(fd, to, room < READ_MOST ? room : READ_MOST);
    if (got < 0 && errno != EINTR)
      return fe_file_fail(error, IR_ERR_IO, name, "cannot read the file: %s", strerror(errno));
    if (got > 0) out->len += (size_t)got;
    out->data[out->len] = '\0';
    if (got == 0 || (got > 0 && memchr(to, '\0', (size_t)got))) return IR_OK;
    if (out->len - start > most) return too_long(name, most, error);
  }
}

ir_status fe_text_read(const char *path, size_t most, ir_text *out, ir_error *error) {
  const char *name = fe_text_name(path);
  int fd = is_standard(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    return fe_file_fail(
        error, IR_ERR_IO, name, "cannot open the file: %s%s", strerror(errno),
        strchr(name, '{') ? "; a text of graphs is in a file, or comes by standard input, which is -" : "");
  ir_status status = read_all(fd, name, most, out, error);
  if (!is_standard(path)) close(fd);
  return status;
}

fe_line fe_line_read(FILE *in, size_t most, ir_text *line, size_t *length) {
  char chunk[512];
  size_t count = 0, held = 0;
  int byte;
  line->len = 0;
  while ((byte = getc_unlocked(in)) != EOF && byte != '\n' && count < FE_GRAPH_MOST) {
    if (count++ < most) chunk[held++] = (char)byte;
    if (held == sizeof chunk) ir_text_add(line, chunk, held), held = 0;
  }
  ir_text_add(line, chunk, held);
  *length = count;
  if (count == FE_GRAPH_MOST) return FE_LINE_ENDLESS;
  if (count > most) return FE_LINE_LONG;
  return byte == EOF && count == 0 ? FE_LINE_END : FE_LINE_READ;
}
