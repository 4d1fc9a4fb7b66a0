/* Members of archives that are compressed, through zlib. */
#include <string.h>
#include <zlib.h>

#include "frontend/files/file_error.h"
#include "frontend/files/formats.h"

enum {
  CHUNK =
      1 << 14, /* bytes of input, and least of output, at a time: several times what a block of zlib needs */
  SIZE_AT = 16 /* bytes before a block, for its size: what it is to be aligned to */
};

/* Blocks know their size, which the allocator wants back. */
static void *allocate(void *user, unsigned count, unsigned size) {
  size_t bytes = (size_t)count * size + SIZE_AT;
  char *block = ir_alloc(user, bytes);
  if (!block) return Z_NULL;
  memcpy(block, &bytes, sizeof bytes);
  return block + SIZE_AT;
}

static void release(void *user, void *memory) {
  char *block = (char *)memory - SIZE_AT;
  size_t bytes;
  memcpy(&bytes, block, sizeof bytes);
  ir_free(user, block, bytes);
}

typedef struct stream {
  z_stream z;
  fe_source *source;
  uint64_t at, end; /* of the input that is left */
  const char *label;
  uint8_t input[CHUNK];
} stream;

static ir_status damaged(const stream *s, const char *why, ir_error *error) {
  return fe_file_fail(error, IR_ERR_INVALID, s->source->name, "%s is damaged: %s", s->label, why);
}

static ir_status give_input(stream *s, ir_error *error) {
  size_t count = s->end - s->at < CHUNK ? (size_t)(s->end - s->at) : CHUNK;
  ir_status status = fe_source_read(s->source, s->at, s->input, count, s->label, error);
  s->at += count;
  s->z.next_in = s->input;
  s->z.avail_in = (unsigned)count;
  return status;
}

static ir_status inflate_to(stream *s, uint8_t *to, size_t want, ir_error *error) {
  for (size_t have = 0; have < want;) {
    size_t room = want - have < (1u << 30) ? want - have : 1u << 30;
    if (!s->z.avail_in && s->at < s->end && give_input(s, error) != IR_OK) return error->status;
    s->z.next_out = to + have;
    s->z.avail_out = (unsigned)room;
    int answer = inflate(&s->z, Z_NO_FLUSH);
    size_t got = room - s->z.avail_out;
    have += got;
    if (answer == Z_MEM_ERROR)
      return fe_file_fail(error, IR_ERR_MEMORY, s->source->name, "out of memory inflating %s", s->label);
    if (answer == Z_STREAM_END && have < want)
      return damaged(s, "it is shorter than the archive says", error);
    bool stuck = !got && !s->z.avail_in && s->at == s->end;
    if ((answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR) || stuck)
      return damaged(s, s->z.msg ? s->z.msg : "it ends too early", error);
  }
  return IR_OK;
}

ir_status fe_inflate(fe_source *source, uint64_t offset, uint64_t bytes, void *to, size_t want, uint32_t *crc,
                     const char *label, ir_error *error) {
  ir_mem mem = *source->mem;
  stream *s = ir_alloc(&mem, sizeof *s);
  if (!s) return fe_file_fail(error, IR_ERR_MEMORY, source->name, "out of memory inflating %s", label);
  memset(s, 0, sizeof *s);
  s->z.zalloc = allocate;
  s->z.zfree = release;
  s->z.opaque = &mem;
  s->source = source;
  s->at = offset;
  s->end = offset + bytes;
  s->label = label;
  if (inflateInit2(&s->z, -MAX_WBITS) != Z_OK)
    fe_file_fail(error, IR_ERR_MEMORY, source->name, "out of memory inflating %s", label);
  else inflate_to(s, to, want, error);
  inflateEnd(&s->z);
  ir_free(&mem, s, sizeof *s);
  if (!error->status && crc) {
    uLong sum = crc32(0, Z_NULL, 0);
    for (size_t at = 0; at < want;) {
      unsigned part = want - at < (1u << 30) ? (unsigned)(want - at) : 1u << 30;
      sum = crc32(sum, (const uint8_t *)to + at, part);
      at += part;
    }
    *crc = (uint32_t)sum;
  }
  return error->status;
}
