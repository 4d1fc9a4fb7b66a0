/* Turning a tile of elements in registers, for any code generator: its values are pointers of some kind. */
#ifndef VIEWFOLD_CODEGEN_EMIT_TRANSPOSE_H
#define VIEWFOLD_CODEGEN_EMIT_TRANSPOSE_H

#include "codegen/emit/nest.h"

typedef struct cg_shuffles {
  void *emitter;
  /* Element order[i] of a's and then b's, `width` of them; a and b have equally many. */
  void *(*two_input)(void *emitter, void *a, void *b, const uint32_t *order, uint32_t width);
  /* `count` rows of `width` elements one behind the other, 16 bytes together at most; NULL: as
   * two_input puts them together. */
  void *(*concat_rows)(void *emitter, void *const *rows, uint32_t count, uint32_t width, uint32_t bytes);
  void *(*opaque)(void *emitter, void *v); /* the same value, half-way; NULL: as it is */
} cg_shuffles;

/* Vectors of `row_count` elements, each of `bytes`, from rows of `column_count` <= `row_count`; numbers are
 * powers of two. */
void cg_transpose(const cg_shuffles *shuffles, void *const *rows, uint32_t row_count, uint32_t column_count,
                  uint32_t bytes, void **columns);

#endif
