#include "test/lib/array_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "frontend/files/arrays.h"
#include "frontend/files/npy_header.h"

void file_add(file_bytes *f, const void *bytes, size_t size) {
  if (size > FILE_ROOM - f->size) size = FILE_ROOM - f->size;
  if (size) memcpy(f->bytes + f->size, bytes, size);
  f->size += size;
}

void file_number(file_bytes *f, uint64_t value, int count) {
  for (int i = 0; i < count; i++) file_add(f, &(uint8_t){(uint8_t)(i < 8 ? value >> 8 * i : 0)}, 1);
}

void file_string(file_bytes *f, const char *text) {
  file_number(f, strlen(text), 8);
  file_add(f, text, strlen(text));
}

void file_align(file_bytes *f, size_t to) {
  while (f->size % to) file_number(f, 0, 1);
}

void file_safetensors(file_bytes *f, const char *header, const void *data, size_t size) {
  f->size = 0;
  file_string(f, header);
  file_add(f, data, size);
}

void file_gguf(file_bytes *f, uint32_t version, uint64_t arrays, uint64_t pairs) {
  f->size = 0;
  file_add(f, "GGUF", 4);
  file_number(f, version, 4);
  file_number(f, arrays, 8);
  file_number(f, pairs, 8);
}

void file_gguf_array(file_bytes *f, const char *name, int rank, const uint64_t *sizes, uint32_t type,
                     uint64_t offset) {
  file_string(f, name);
  file_number(f, (uint64_t)rank, 4);
  for (int i = 0; i < rank; i++) file_number(f, sizes[i], 8);
  file_number(f, type, 4);
  file_number(f, offset, 8);
}

size_t file_npy(uint8_t *out, const char *header, const void *data, size_t size) {
  size_t length = strlen(header);
  memcpy(out, (const uint8_t[]){0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)},
         10);
  memcpy(out + 10, header, length);
  if (size) memcpy(out + 10 + length, data, size);
  return 10 + length + size;
}

/* Raw deflate. */
static size_t deflate_bytes(const file_member *m, uint8_t *out, size_t room) {
  z_stream z = {0};
  deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  z.next_in = (uint8_t *)(uintptr_t)m->bytes;
  z.avail_in = (unsigned)m->size;
  z.next_out = out;
  z.avail_out = (unsigned)room;
  deflate(&z, Z_FINISH);
  size_t size = z.total_out;
  deflateEnd(&z);
  return size;
}

void file_zip(file_bytes *f, const file_member *members, size_t count) {
  static uint8_t packed[FILE_ROOM];
  static file_bytes directory;
  f->size = directory.size = 0;
  for (size_t i = 0; i < count; i++) {
    const file_member *m = &members[i];
    const void *bytes = m->deflate ? packed : m->bytes;
    size_t size = m->deflate ? deflate_bytes(m, packed, sizeof packed) : m->size, head = f->size;
    uint32_t crc = (uint32_t)crc32(0, m->bytes, (unsigned)m->size);
    file_add(&directory, "PK\1\2\24\0", 6);
    file_add(f, "PK\3\4", 4);
    file_bytes *both[] = {f, &directory};
    for (int k = 0; k < 2; k++) {
      file_number(both[k], 20, 2);
      file_number(both[k], 0, 2);
      file_number(both[k], m->deflate ? 8 : 0, 2);
      file_number(both[k], 0, 4);
      file_number(both[k], crc, 4);
      file_number(both[k], size, 4);
      file_number(both[k], m->size, 4);
      file_number(both[k], strlen(m->name), 2);
      file_number(both[k], 0, 2);
    }
    file_number(&directory, 0, 10);
    file_number(&directory, head, 4);
    file_add(&directory, m->name, strlen(m->name));
    file_add(f, m->name, strlen(m->name));
    file_add(f, bytes, size);
  }
  size_t at = f->size;
  file_add(f, directory.bytes, directory.size);
  file_add(f, "PK\5\6\0\0\0\0", 8);
  file_number(f, count, 2);
  file_number(f, count, 2);
  file_number(f, directory.size, 4);
  file_number(f, at, 4);
  file_number(f, 0, 2);
}

/* samples */

static void sample_safetensors(file_bytes *f) {
  uint8_t data[64];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)i;
  file_safetensors(f,
                   "{\"__metadata__\":{\"format\":\"np\",\"by\":\"a \\\"test\\\"\"},"
                   "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                   "\"caf\\u00e9\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]},"
                   " \"b\" : {\"shape\":[4], \"data_offsets\":[32,36], \"dtype\":\"BOOL\"},"
                   "\"e\":{\"dtype\":\"BF16\",\"shape\":[0,7],\"data_offsets\":[36,36]},"
                   "\"h\":{\"dtype\":\"F8_E4M3\",\"shape\":[28],\"data_offsets\":[36,64]}}   ",
                   data, sizeof data);
}

static void sample_gguf(file_bytes *f, bool quantised) {
  const uint64_t sizes[] = {64, 2};
  file_gguf(f, quantised ? 3 : 2, 2, 4);
  file_string(f, "general.alignment"), file_number(f, 4, 4), file_number(f, 16, 4);
  file_string(f, "general.name"), file_number(f, 8, 4), file_string(f, "sample");
  file_string(f, "tokens"), file_number(f, 9, 4), file_number(f, 8, 4), file_number(f, 2, 8);
  file_string(f, "a"), file_string(f, "bc");
  file_string(f, "scores"), file_number(f, 9, 4), file_number(f, 6, 4), file_number(f, 3, 8),
      file_number(f, 0, 12);
  size_t first = quantised ? 34 * 4 : 128 * 4;
  file_gguf_array(f, "x", 2, sizes, quantised ? 8 : 0, 0);
  file_gguf_array(f, "y", quantised ? 2 : 1, sizes, quantised ? 2 : 1, (first + 15) / 16 * 16);
  file_align(f, 16);
  for (size_t i = 0; i < first; i++) file_number(f, i * 7, 1);
  file_align(f, 16);
  for (size_t i = 0; i < (quantised ? 18 * 4 : 128); i++) file_number(f, i * 5, 1);
}

static void sample_npz(file_bytes *f) {
  static uint8_t files[4][600];
  uint8_t data[512];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i / 8);
  file_member members[] = {
      {"plain.npy", files[0],
       file_npy(files[0], "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5), }\n", data, 80), false},
      {"packed.npy", files[1],
       file_npy(files[1], "{'descr': '<i2', 'fortran_order': False, 'shape': (200,), }\n", data, 400), true},
      {"other/transposed.npy", files[2],
       file_npy(files[2], "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }\n", data, 48), false},
      {"flags.npy", files[3],
       file_npy(files[3], "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", data, 3), true},
      {"readme.txt", "text", 4, false}};
  file_zip(f, members, sizeof members / sizeof *members);
}

void file_sample(file_bytes *f, int number) {
  f->size = 0;
  switch (number) {
  case 0: sample_safetensors(f); break;
  case 1: sample_npz(f); break;
  case 2: sample_gguf(f, false); break;
  case 3: sample_gguf(f, true); break;
  default:
    f->size = file_npy(f->bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n",
                       (float[]){1, 2, 3, 4}, 16);
  }
}

/* checks */

static void report(const char *what) {
  fprintf(stderr, "array files: it does not hold that %s\n", what);
  __builtin_trap();
}
#define holds(it_does) ((it_does) ? (void)0 : report(#it_does))

/* An allocator that knows how much is in use, and refuses to give more than `most`. */
typedef struct meter {
  size_t used, most;
} meter;

static void *measured(void *user, void *ptr, size_t old_size, size_t new_size) {
  meter *m = user;
  if (!new_size) {
    m->used -= old_size;
    free(ptr);
    return NULL;
  }
  holds(new_size <= m->most && m->used <= m->most - new_size); /* a resize may need both blocks */
  void *made = realloc(ptr, new_size);
  if (made) m->used += new_size - old_size;
  return made;
}

static void check_array(fe_arrays *a, size_t i, meter *m, const ir_mem *mem) {
  enum { INFLATED = 2100 }; /* as arrays.h says; and zlib's own memory, and the head of a .npy file */
  const fe_stored *s = &a->items[i];
  ir_error error = {0};
  fe_array array;
  size_t bytes = 0;
  holds(s->offset <= a->source.size && s->bytes <= a->source.size - s->offset);
  holds(strlen(fe_arrays_name(a, i)) == s->name_length);
  holds(fe_arrays_find(a, fe_arrays_name(a, i), s->name_length) == i);
  bool blocks = s->encoding == FE_Q8_0 || s->encoding == FE_Q4_0;
  if (s->encoding != FE_OTHER) holds(fe_shape_bytes(s->dtype, s->rank, s->shape, &bytes));
  if (s->encoding == FE_PLAIN || s->encoding == FE_BOOLS) holds(bytes == s->bytes);
  if (blocks)
    holds(bytes / 4 / FE_BLOCK * (s->encoding == FE_Q8_0 ? FE_Q8_0_BYTES : FE_Q4_0_BYTES) == s->bytes);
  for (size_t k = 0; k < i && s->bytes; k++) {
    const fe_stored *t = &a->items[k];
    holds(!t->bytes || t->offset + t->bytes <= s->offset || s->offset + s->bytes <= t->offset);
  }
  m->most = m->used + INFLATED * s->bytes + (1 << 18);
  ir_status status = fe_arrays_load(a, i, mem, &array, &error);
  holds(status == error.status && (status == IR_OK) == (array.data != NULL));
  if (!status) holds(array.bytes == bytes && array.dtype == s->dtype);
  if (!status) fe_array_free(mem, &array);
}

bool file_check(const uint8_t *bytes, size_t size) {
  meter m = {0, 64 * size + (1 << 18)};
  ir_mem mem = {measured, &m};
  ir_error error = {0};
  fe_arrays a;
  ir_status status = fe_arrays_parse(bytes, size, "a file", &mem, &a, &error);
  holds(status == error.status);
  if (status) holds(strncmp(error.text, "a file: error: ", 15) == 0 && status != IR_ERR_MEMORY);
  for (size_t i = 0; i < a.count && !status; i++) check_array(&a, i, &m, &mem);
  fe_arrays_close(&a);
  holds(m.used == 0);
  return !status;
}
