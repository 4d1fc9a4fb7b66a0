/* What the readers and writers of the formats of arrays.h share. */
#ifndef VIEWFOLD_FRONTEND_FILES_FORMATS_H
#define VIEWFOLD_FRONTEND_FILES_FORMATS_H

#include "frontend/files/arrays.h"
#include "frontend/files/atomic_file.h"

/* The readers: each adds the arrays of out->source to out. The caller orders them by name, and refuses equal
 * names. */
ir_status fe_safetensors_read(fe_arrays *out, ir_error *error);
ir_status fe_npz_read(fe_arrays *out, ir_error *error);
ir_status fe_gguf_read(fe_arrays *out, ir_error *error);
/* Adds the .npy file that lies at `offset` in `bytes` bytes of the source; member: its bytes if these are
 * compressed, else 0. */
ir_status fe_npy_add(fe_arrays *out, const char *name, size_t length, uint64_t offset, uint64_t bytes,
                     uint64_t member, ir_error *error);

/* A new item with that name, which it copies; NULL where memory is short or the name is refused: it has a
 * NUL, is not UTF-8. */
fe_stored *fe_arrays_add(fe_arrays *out, const char *name, size_t length, ir_error *error);
/* "array `encoder.weight`", cut to 100 bytes, for messages; valid until the next call with the same text. */
enum { FE_LABEL = 128 };
const char *fe_arrays_label(char text[FE_LABEL], const char *name, size_t length);
/* Refuses arrays that overlap; holes: also bytes between `begin` and `end` that belong to none. */
ir_status fe_arrays_check_layout(const fe_arrays *arrays, uint64_t begin, uint64_t end, bool holes,
                                 ir_error *error);
bool fe_utf8_ok(const char *text, size_t length);

/* The first `want` bytes of `bytes` compressed ones at `offset`. IR_ERR_INVALID where they are damaged or
 * give less. crc: receives the CRC-32 of the result; may be NULL. */
ir_status fe_inflate(fe_source *source, uint64_t offset, uint64_t bytes, void *to, size_t want, uint32_t *crc,
                     const char *label, ir_error *error);

/* The writers. */
ir_status fe_safetensors_put(fe_atomic_file *file, const fe_named_array *arrays, size_t count,
                             const ir_mem *mem, ir_error *error);
ir_status fe_npz_put(fe_atomic_file *file, const fe_named_array *arrays, size_t count, const ir_mem *mem,
                     ir_error *error);

/* Little-endian numbers of 2, 4 and 8 bytes. */
static inline uint64_t fe_number(const uint8_t *bytes, int count) {
  uint64_t value = 0;
  while (count-- > 0) value = value << 8 | bytes[count];
  return value;
}

#endif
