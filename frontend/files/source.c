#include "frontend/files/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "frontend/files/file_error.h"

enum { WINDOW = 1 << 16 /* bytes that are read ahead: headers of one array need a hundred at a time */ };

static ir_status read_file(const fe_source *s, uint64_t offset, uint8_t *to, size_t count, ir_error *error) {
  while (count) {
    ssize_t got = pread(rt_mapped_descriptor(s->file), to, count, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fe_file_fail(error, IR_ERR_IO, s->name, "cannot read the file: %s",
                          got < 0 ? strerror(errno) : "it has become shorter since it was opened");
    to += got, offset += (uint64_t)got, count -= (size_t)got;
  }
  return IR_OK;
}

/* Makes the window begin at `offset`. */
static ir_status move_window(fe_source *s, uint64_t offset, ir_error *error) {
  if (!s->window) s->window = ir_alloc(s->mem, WINDOW);
  if (!s->window) return fe_file_fail(error, IR_ERR_MEMORY, s->name, "out of memory reading the file");
  s->window_at = offset;
  s->window_size = s->size - offset < WINDOW ? (size_t)(s->size - offset) : WINDOW;
  ir_status status = read_file(s, offset, s->window, s->window_size, error);
  if (status) s->window_size = 0;
  return status;
}

ir_status fe_source_read(fe_source *s, uint64_t offset, void *to, size_t count, const char *what,
                         ir_error *error) {
  if (offset > s->size || count > s->size - offset)
    return fe_file_fail(error, IR_ERR_INVALID, s->name,
                        "the file ends at byte %llu; %s needs %zu bytes from byte %llu on",
                        (unsigned long long)s->size, what, count, (unsigned long long)offset);
  if (!s->file) {
    if (count) memcpy(to, s->memory + offset, count);
    return IR_OK;
  }
  if (count > WINDOW / 2) return read_file(s, offset, to, count, error);
  bool inside = offset >= s->window_at && offset - s->window_at <= s->window_size &&
                count <= s->window_size - (size_t)(offset - s->window_at);
  if (!inside && move_window(s, offset, error) != IR_OK) return error->status;
  if (count) memcpy(to, s->window + (offset - s->window_at), count);
  return IR_OK;
}

void fe_source_free(fe_source *s) {
  ir_free(s->mem, s->window, WINDOW);
  s->window = NULL;
  s->window_size = 0;
}
