#include "frontend/api/overlap.h"

/* With a and b not empty: one begins within the other. Both differences are modulo 2^64, so that a negative
 * one is larger than any size. */
static inline bool overlap(uintptr_t a, size_t a_bytes, uintptr_t b, size_t b_bytes) {
  return a - b < b_bytes || b - a < a_bytes;
}

bool fe_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  return a_bytes && b_bytes && overlap((uintptr_t)a, a_bytes, (uintptr_t)b, b_bytes);
}

static inline size_t find(uintptr_t output, size_t output_bytes, const void *const *buffers,
                          const size_t *bytes, size_t count) {
  size_t i = 0;
  while (i < count && (!bytes[i] || !overlap(output, output_bytes, (uintptr_t)buffers[i], bytes[i]))) i++;
  return i;
}

bool fe_overlap_find(const void *const *inputs, size_t input_count, void *const *outputs, size_t output_count,
                     const size_t *bytes, fe_overlap_pair *out) {
  const size_t *output_bytes = bytes + input_count;
  for (size_t k = 0; k < output_count; k++) {
    uintptr_t at = (uintptr_t)outputs[k];
    if (!output_bytes[k]) continue;
    size_t i = find(at, output_bytes[k], inputs, bytes, input_count);
    bool with_input = i < input_count;
    if (!with_input) i = find(at, output_bytes[k], (const void *const *)outputs, output_bytes, k);
    *out = (fe_overlap_pair){with_input, i, k};
    if (with_input || i < k) return true;
  }
  return false;
}
