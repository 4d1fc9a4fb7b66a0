/* Arrays in .npy files: versions 1.0, 2.0 and 3.0 of the format, both byte orders, C and Fortran order.
 *
 * Read: every dtype of ir/dtype.def. numpy has no bfloat16: the descriptors <V2, >V2, |V2 and =V2 (two opaque
 * bytes, as written for the bfloat16 of ml_dtypes) are read as bf16, in the byte order they name. A
 * descriptor without an order and the orders | and = mean the machine's. A bool byte other than 0 reads as 1.
 * Whatever the file holds, the array in memory is little-endian and row-major.
 *
 * Written: version 1.0, little-endian, row-major, byte for byte what numpy.save writes; bf16 as <V2. A header
 * of at most FE_MAX_RANK axes always fits version 1.0.
 *
 * Refused, with a message that names the file, what was wrong, what was found and what was expected: anything
 * else that can stand in a file, more than FE_MAX_RANK axes, sizes whose product overflows (axes of size 0
 * left out of it), a header longer than 64 KiB, missing data, and bytes after the data. Nothing is allocated
 * before the header and the size of a regular file agree. Failures: IR_ERR_INVALID for contents, IR_ERR_IO,
 * IR_ERR_MEMORY. */
#ifndef VIEWFOLD_FRONTEND_FILES_NPY_H
#define VIEWFOLD_FRONTEND_FILES_NPY_H

#include "frontend/files/atomic_file.h"
#include "ir/base.h"
#include "ir/ir.h"

enum { FE_MAX_RANK = IR_MAX_RANK };

typedef struct fe_array {
  ir_dtype dtype;
  int rank;
  int64_t shape[FE_MAX_RANK];
  size_t bytes;
  void *data; /* never NULL in an array that was read */
} fe_array;

/* *out is the caller's to free with the same mem; after a failure it is all zero. */
ir_status fe_npy_read(const char *path, const ir_mem *mem, fe_array *out, ir_error *error);
/* Read an array from `size` bytes in memory; `name` stands for the file in messages. */
ir_status fe_npy_parse(const void *bytes, size_t size, const char *name, const ir_mem *mem, fe_array *out,
                       ir_error *error);
void fe_array_free(const ir_mem *mem, fe_array *array);

/* Write one array as the file `path`, whole or not at all (frontend/files/atomic_file.h). */
ir_status fe_npy_write(const char *path, ir_dtype dtype, int rank, const int64_t *shape, const void *data,
                       ir_error *error);
/* Write one array into an open file, which the caller commits: so several files can appear together. */
ir_status fe_npy_put(fe_atomic_file *file, ir_dtype dtype, int rank, const int64_t *shape, const void *data,
                     ir_error *error);

#endif
