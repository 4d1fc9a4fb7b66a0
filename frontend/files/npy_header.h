/* The header of a .npy file: a Python dict in text,
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 * Any order of keys, either quote, any white space, a comma or none at the end, and Python 2's 3L are read.
 */
#ifndef VIEWFOLD_FRONTEND_FILES_NPY_HEADER_H
#define VIEWFOLD_FRONTEND_FILES_NPY_HEADER_H

#include "frontend/files/npy.h"

enum {
  FE_SHAPE_TEXT = FE_MAX_RANK * 22 + 4,     /* room for any shape as text */
  FE_NPY_HEADER_ROOM = FE_SHAPE_TEXT + 192, /* room for any header that is written, with what precedes it */
};

typedef struct fe_npy_header {
  ir_dtype dtype;
  bool swap;    /* the data is big-endian */
  bool fortran; /* first axis fastest */
  int rank;
  int64_t shape[FE_MAX_RANK];
  size_t bytes; /* of the data */
} fe_npy_header;

/* Parse `length` bytes of header text that stand at byte `offset` of the file `name`, of version `major`. */
ir_status fe_npy_header_parse(const char *text, size_t length, size_t offset, int major, const char *name,
                              fe_npy_header *out, ir_error *error);
/* The header of a .npy file whose first `size` bytes these are; *start: where its data begins. What is told
 * of the data need not agree with the size of the file. */
ir_status fe_npy_describe(const void *bytes, size_t size, const char *name, const ir_mem *mem,
                          fe_npy_header *out, size_t *start, ir_error *error);
/* Magic, version, length and text of a version 1.0 header, padded as numpy does; returns the number of bytes.
 */
size_t fe_npy_header_format(char out[FE_NPY_HEADER_ROOM], ir_dtype dtype, int rank, const int64_t *shape);

/* Bytes that an array takes; false for an invalid dtype, rank or size, or a product past PTRDIFF_MAX (zeros
 * left out). */
bool fe_shape_bytes(ir_dtype dtype, int rank, const int64_t *shape, size_t *bytes);
/* A shape as Python writes it: () (3,) (3, 4). */
void fe_shape_text(char out[FE_SHAPE_TEXT], int rank, const int64_t *shape);

#endif
