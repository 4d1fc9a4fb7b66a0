/* Transposing a tile of elements in registers, for any code generator: a register's value is a pointer, whose
 * meaning is the generator's. */
#ifndef VIEWFOLD_CODEGEN_EMIT_TRANSPOSE_H
#define VIEWFOLD_CODEGEN_EMIT_TRANSPOSE_H

#include "codegen/emit/nest.h"

/* The instructions of AVX2 and AVX-512 that interleave elements do so within lanes of 128 bits. */
enum { CG_SHUFFLE_LANE_BYTES = 16 };

typedef struct cg_shuffles {
  void *emitter;
  /* The `width` elements order[i] of a's elements followed by b's; a and b have equally many. */
  void *(*two_input)(void *emitter, void *a, void *b, const uint32_t *order, uint32_t width);
  /* Concatenates `count` rows of `width` elements of `bytes` bytes, 16 bytes in all at most. NULL: rows are
   * concatenated by two_input. */
  void *(*concat_rows)(void *emitter, void *const *rows, uint32_t count, uint32_t width, uint32_t bytes);
  /* The same value, through which the compiler's optimisation of shuffles does not look. Called for all
   * registers half-way through the exchanges; may be NULL. */
  void *(*opaque)(void *emitter, void *v);
} cg_shuffles;

/* Transposes `row_count` rows of `column_count` <= `row_count` elements of `bytes` bytes into column_count
 * vectors of row_count elements. Counts are powers of two. */
void cg_transpose(const cg_shuffles *shuffles, void *const *rows, uint32_t row_count, uint32_t column_count,
                  uint32_t bytes, void **columns);

#endif
