/* Layouts: the digits of dimensions. */
#include <string.h>

#include "impl.h"

uint32_t reshard_first(const reshard_layout *layout, uint32_t dim) { return dim ? layout->ends[dim - 1] : 0; }

uint32_t reshard_used(const reshard_layout *layout, uint32_t rank) {
  uint32_t used = 0, end = rank ? layout->ends[rank - 1] : 0;
  for (uint32_t i = 0; i < end; i++) used |= 1u << layout->order[i];
  return used;
}

bool reshard_equal(const reshard_layout *a, const reshard_layout *b) { return memcmp(a, b, sizeof *a) == 0; }

void reshard_append(reshard_layout *layout, uint32_t rank, uint32_t dim, uint32_t digit) {
  uint32_t at = layout->ends[dim], end = layout->ends[rank - 1];
  memmove(layout->order + at + 1, layout->order + at, end - at);
  layout->order[at] = (uint8_t)digit;
  for (uint32_t d = dim; d < rank; d++) layout->ends[d]++;
}

void reshard_cut(reshard_layout *layout, uint32_t rank, uint32_t dim, uint32_t count) {
  uint32_t at = layout->ends[dim], end = layout->ends[rank - 1];
  memmove(layout->order + at - count, layout->order + at, end - at);
  memset(layout->order + end - count, 0, count);
  for (uint32_t d = dim; d < rank; d++) layout->ends[d] = (uint8_t)(layout->ends[d] - count);
}
