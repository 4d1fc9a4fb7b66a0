/* Sorting elements. Equal elements have equal bits, so that a sort of keys is stable, but for NaNs and zeros:
 * where a line has a NaN or -0, its NaNs and zeros are copied once more, in the order that they have there.
 */
#include "runtime/sort/lines.h"

#include <string.h>

/* The kind of bits of a float in the upper bits of 64: 0 a NaN, 1 positive, 2 a zero, 3 negative, the order
 * of a descending sort. */
static int kind_of(uint64_t bits, uint64_t infinity) {
  uint64_t sign = (uint64_t)1 << 63;
  if ((bits & ~sign) > infinity) return 0;
  return bits << 1 ? 1 + 2 * (bits >> 63) : 2;
}

static uint64_t element_bits(const sort_lines *l, const uint8_t *x) {
  uint16_t half;
  uint32_t single;
  uint64_t twice;
  switch (l->bytes) {
  case 2: return memcpy(&half, x, sizeof half), (uint64_t)half << 48;
  case 4: return memcpy(&single, x, sizeof single), (uint64_t)single << 32;
  default: return memcpy(&twice, x, sizeof twice), twice;
  }
}

static void restore_order(const sort_lines *l, size_t line) {
  const rt_sort *s = l->sort;
  size_t at = sort_line_at(s, line) * l->bytes, step = (size_t)s->inner * l->bytes, n = (size_t)s->size;
  const uint8_t *x = (const uint8_t *)s->x + at;
  uint8_t *out = (uint8_t *)s->out + at;
  uint64_t infinity = l->wide ? l->code.infinity : l->code.infinity << 32;
  size_t count[4] = {0}, place[4];
  for (size_t i = 0; i < n; i++) count[kind_of(element_bits(l, x + i * step), infinity)]++;
  place[0] = s->descending ? 0 : n - count[0];
  place[2] = s->descending ? count[0] + count[1] : count[3];
  for (size_t i = 0; i < n; i++) {
    int kind = kind_of(element_bits(l, x + i * step), infinity);
    if (kind == 0 || kind == 2) memcpy(out + place[kind]++ * step, x + i * step, l->bytes);
  }
}

static void decode(const sort_lines *l, void *bits, const void *keys) {
  size_t n = (size_t)l->sort->size;
  if (l->wide) l->machine->decode_u64(bits, keys, n, &l->code);
  else l->machine->decode_u32(bits, keys, n, &l->code);
}

void sort_values(const sort_lines *l, size_t first, size_t lines, void *keys, void *room) {
  const rt_sort_machine *m = l->machine;
  size_t n = (size_t)l->sort->size, line_bytes = n * (l->wide ? sizeof(uint64_t) : sizeof(uint32_t));
  bool special[RT_SORT_LINES], together = n <= m->most_in_line && lines >= RT_SORT_LEAST_LINES;
  if (l->in_place) keys = (uint8_t *)l->sort->out + first * line_bytes;
  for (size_t k = 0; k < lines; k++) {
    uint8_t *line = (uint8_t *)keys + k * line_bytes;
    special[k] = sort_make_keys(l, first + k, 0, n, line);
    if (together) continue;
    if (l->wide) m->sort_u64((uint64_t *)(void *)line, n, room);
    else m->sort_u32((uint32_t *)(void *)line, n, room);
  }
  if (together && l->wide) m->lines_u64(keys, lines, n, n);
  if (together && !l->wide) m->lines_u32(keys, lines, n, n);
  for (size_t k = 0; k < lines; k++) {
    uint8_t *line = (uint8_t *)keys + k * line_bytes;
    decode(l, l->contiguous ? (uint8_t *)l->sort->out + (first + k) * line_bytes : line, line);
    if (!l->contiguous) sort_write_bits(l, first + k, line);
    if (special[k]) restore_order(l, first + k);
  }
}
