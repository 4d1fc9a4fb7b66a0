/* Do an output's bytes and those of another buffer of a run overlap? */
#ifndef VIEWFOLD_FRONTEND_API_OVERLAP_H
#define VIEWFOLD_FRONTEND_API_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pair of ports of which the second one is an output; numbers as in the lists of vf_program_run. */
typedef struct fe_overlap_pair {
  bool with_input;
  size_t first, output;
} fe_overlap_pair;

/* Do two buffers overlap? One of 0 bytes overlaps nothing. */
bool fe_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes);
/* Finds such a pair among the buffers, of which bytes has the sizes: inputs, then outputs. A buffer of 0
 * bytes overlaps nothing. */
bool fe_overlap_find(const void *const *inputs, size_t input_count, void *const *outputs, size_t output_count,
                     const size_t *bytes, fe_overlap_pair *out);

#endif
