/* .npy files inside of others, and one by itself, as arrays of a file. */
#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/files/formats.h"
#include "frontend/files/npy_header.h"

enum {
  PREAMBLE = 12,                   /* bytes that tell how long the header is */
  HEAD_MOST = PREAMBLE + (1 << 16) /* bytes up to the data; longer headers are refused by the reader */
};

typedef struct member {
  fe_source *source;
  uint64_t offset, bytes, size; /* size: of the .npy file; its bytes in the source, if compressed */
  bool compressed;
  const char *label;
} member;

static ir_status read_head(const member *m, void *to, size_t want, ir_error *error) {
  return m->compressed ? fe_inflate(m->source, m->offset, m->bytes, to, want, NULL, m->label, error)
                       : fe_source_read(m->source, m->offset, to, want, m->label, error);
}

/* Bytes up to the data, as far as the file has them; a head that is none is left to the reader. */
static size_t head_length(const uint8_t *bytes, size_t have, uint64_t size) {
  uint64_t length = have;
  if (have == PREAMBLE)
    length = bytes[6] == 1 ? 10 + fe_number(bytes + 8, 2) : PREAMBLE + fe_number(bytes + 8, 4);
  if (length > HEAD_MOST) length = HEAD_MOST;
  return (size_t)(length < size ? length : size);
}

static bool is_as_it_lies(const fe_npy_header *h) { return !h->swap && !h->fortran && h->dtype != IR_BOOL; }

static ir_status describe(const member *m, fe_stored *s, const uint8_t *head, size_t have, ir_error *error) {
  fe_npy_header h;
  size_t start;
  ir_error own = {0};
  if (fe_npy_describe(head, have, m->source->name, m->source->mem, &h, &start, &own) != IR_OK) {
    const char *why = strstr(own.text, ": error: ");
    return fe_file_fail(error, own.status, m->source->name, "%s: %.700s", m->label,
                        why ? why + strlen(": error: ") : own.text);
  }
  if (m->size - start != h.bytes)
    return fe_file_fail(error, IR_ERR_INVALID, m->source->name,
                        "%s has %llu bytes of data; its header says %zu", m->label,
                        (unsigned long long)(m->size - start), h.bytes);
  bool plain = !m->compressed && is_as_it_lies(&h);
  s->type = ir_dtypes[h.dtype].npy;
  s->dtype = h.dtype;
  s->encoding = plain ? FE_PLAIN : m->compressed ? FE_DEFLATED : FE_MEMBER;
  s->rank = h.rank;
  memcpy(s->shape, h.shape, sizeof s->shape);
  s->offset = plain ? m->offset + start : m->offset;
  s->bytes = plain ? h.bytes : m->bytes;
  s->member = m->compressed ? m->size : 0;
  return IR_OK;
}

ir_status fe_npy_add(fe_arrays *out, const char *name, size_t length, uint64_t offset, uint64_t bytes,
                     uint64_t compressed_from, ir_error *error) {
  char text[FE_LABEL];
  fe_source *source = &out->source;
  member m = {source,
              offset,
              bytes,
              compressed_from ? compressed_from : bytes,
              compressed_from != 0,
              fe_arrays_label(text, name, length)};
  uint8_t first[PREAMBLE];
  size_t have = m.size < PREAMBLE ? (size_t)m.size : PREAMBLE;
  fe_stored *s = fe_arrays_add(out, name, length, error);
  if (!s || read_head(&m, first, have, error) != IR_OK) return error->status;
  size_t want = head_length(first, have, m.size);
  uint8_t *head = ir_alloc(source->mem, want);
  if (!head) return fe_file_fail(error, IR_ERR_MEMORY, source->name, "out of memory reading %s", m.label);
  if (read_head(&m, head, want, error) == IR_OK) describe(&m, s, head, want, error);
  ir_free(source->mem, head, want);
  return error->status;
}
