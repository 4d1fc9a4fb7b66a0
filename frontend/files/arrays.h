/* Files that hold arrays by name: safetensors, .npz, GGUF (versions 2 and 3), and .npy, which holds one array
 * without a name. The format is told by the first bytes. The file is mapped, and arrays are taken from it as
 * they lie there where that is what they are; others are converted.
 *
 * Nothing that stands in a file is trusted: a file that is accepted has arrays that lie inside of it and do
 * not overlap, names that differ, and sizes that agree with shapes. Opening takes at most 64 bytes of memory
 * for each byte of the file, and 128 KiB; loading an array at most 2100 times its bytes in the file: what
 * zlib may make of them is 1032 times as many, and a .npy file inside is copied once. Messages begin with the
 * name of the file. */
#ifndef VIEWFOLD_FRONTEND_FILES_ARRAYS_H
#define VIEWFOLD_FRONTEND_FILES_ARRAYS_H

#include "frontend/files/npy.h"
#include "frontend/files/source.h"

typedef enum fe_format { FE_NPY, FE_NPZ, FE_SAFETENSORS, FE_GGUF, FE_BYTES } fe_format;

/* How the bytes in the file give the elements. */
typedef enum fe_encoding {
  FE_PLAIN,    /* they are the elements, row-major */
  FE_BOOLS,    /* one byte each, of which any but 0 is true */
  FE_MEMBER,   /* a .npy file of another order of bytes or of axes, or of bools */
  FE_DEFLATED, /* a .npy file, compressed */
  FE_Q8_0,     /* blocks of 32 elements along the last axis: an f16, by which 32 i8 are to be multiplied */
  FE_Q4_0,     /* likewise, and 16 bytes: the low halves are 16 elements + 8, the high ones the next 16 */
  FE_OTHER     /* elements of a type that viewfold does not know */
} fe_encoding;
enum {
  FE_BLOCK = 32, /* elements of a block of FE_Q8_0 and FE_Q4_0, */
  FE_Q8_0_BYTES = 34,
  FE_Q4_0_BYTES = 18 /* and its bytes */
};

typedef struct fe_stored {
  size_t name, name_length; /* in fe_arrays.names; NUL-terminated there, without NULs */
  const char *type;         /* as the format calls it: "F32", "Q8_0" */
  ir_dtype dtype;           /* of the elements: f32 for FE_Q8_0 and FE_Q4_0; none for FE_OTHER */
  fe_encoding encoding;
  int rank;
  int64_t shape[FE_MAX_RANK];
  uint64_t offset, bytes; /* in the file */
  uint64_t member;        /* FE_DEFLATED: bytes of the .npy file when it is inflated, */
  uint32_t crc;           /* and their CRC-32 */
} fe_stored;

typedef struct fe_arrays {
  fe_source source;
  fe_format format;
  fe_stored *items; /* in the order of the file */
  size_t count, cap;
  ir_text names;
  uint32_t *by_name; /* indices of items, in order of their names */
} fe_arrays;

/* Opens a file. fe_arrays_parse: the same of bytes in memory, which must outlive *out. `name` stands for it
 * in messages and must outlive *out too. *out is to be closed in any case. */
ir_status fe_arrays_open(const char *path, const ir_mem *mem, fe_arrays *out, ir_error *error);
ir_status fe_arrays_parse(const void *bytes, size_t size, const char *name, const ir_mem *mem, fe_arrays *out,
                          ir_error *error);
void fe_arrays_close(fe_arrays *arrays);

/* Opens a file of whatever contents (FE_BYTES), of which the caller knows where arrays are. */
ir_status fe_arrays_open_bytes(const char *path, const ir_mem *mem, fe_arrays *out, ir_error *error);
/* Adds an array that is its bytes from `offset` on, row-major and little-endian. */
ir_status fe_arrays_add_bytes(fe_arrays *arrays, int64_t offset, ir_dtype dtype, int rank,
                              const int64_t *shape, size_t *index, ir_error *error);

const char *fe_format_name(fe_format format); /* "safetensors" */
/* The name of an array, valid until the file is closed. */
const char *fe_arrays_name(const fe_arrays *arrays, size_t index);
/* The index of the array of that name, or SIZE_MAX. */
size_t fe_arrays_find(const fe_arrays *arrays, const char *name, size_t length);
/* The same, and a message where there is none. name NULL: the only array of the file. */
ir_status fe_arrays_choose(const fe_arrays *arrays, const char *name, size_t length, size_t *index,
                           ir_error *error);

/* Can the elements be read where they are in the file, at `bytes` bytes from `offset`: are they FE_PLAIN, or
 * blocks? They may lie at any address. */
bool fe_arrays_in_place(const fe_arrays *arrays, size_t index);
/* A copy of the elements, which is the caller's to free with fe_array_free and the same mem.
 * IR_ERR_UNSUPPORTED for FE_OTHER and for blocks. Asks rt_mapped_check of a file after reading it. */
ir_status fe_arrays_load(fe_arrays *arrays, size_t index, const ir_mem *mem, fe_array *out, ir_error *error);

/* An array to be written. */
typedef struct fe_named_array {
  const char *name;
  ir_dtype dtype;
  int rank;
  const int64_t *shape;
  const void *data;
} fe_named_array;
/* Writes a file, whole or not at all (atomic_file.h): `.safetensors`, `.npz` or `.npy`, as its name ends; the
 * last takes one array. Elements are aligned in it, so that it can be mapped. IR_ERR_INVALID where names are
 * equal, empty or not UTF-8. */
ir_status fe_arrays_write(const char *path, const fe_named_array *arrays, size_t count, const ir_mem *mem,
                          ir_error *error);

#endif
