/* Lines of elements and lines of bits: narrow elements are in the upper bits of 32. */
#include "runtime/sort/lines.h"

/* Constants lie in files wherever these have them. */
typedef uint16_t __attribute__((aligned(1), may_alias)) any_u16;
typedef uint32_t __attribute__((aligned(1), may_alias)) any_u32;
typedef uint64_t __attribute__((aligned(1), may_alias)) any_u64;

#define READ(TYPE, KEY, shift)                                                                               \
  do {                                                                                                       \
    const TYPE *x = (const TYPE *)l->sort->x + at;                                                           \
    for (size_t i = 0; i < count; i++) ((KEY *)bits)[i] = (KEY)((KEY)x[i * step] << (shift));                \
  } while (0)
#define WRITE(TYPE, KEY, shift)                                                                              \
  do {                                                                                                       \
    TYPE *x = (TYPE *)l->sort->out + at;                                                                     \
    for (size_t i = 0; i < count; i++) x[i * step] = (TYPE)(((const KEY *)bits)[i] >> (shift));              \
  } while (0)

/* The bits of elements at the distance `inner` from element `at` of the operand on, in the upper bits of
 * keys. */
static void read_bits(const sort_lines *l, size_t at, size_t count, void *bits) {
  size_t step = (size_t)l->sort->inner;
  switch (l->bytes) {
  case 1: READ(uint8_t, uint32_t, 24); break;
  case 2: READ(any_u16, uint32_t, 16); break;
  case 4: READ(any_u32, uint32_t, 0); break;
  default: READ(any_u64, uint64_t, 0); break;
  }
}

bool sort_make_keys(const sort_lines *l, size_t line, size_t from, size_t count, void *keys) {
  size_t at = sort_line_at(l->sort, line) + from * (size_t)l->sort->inner;
  const void *bits = (const uint8_t *)l->sort->x + at * l->bytes;
  if (!l->contiguous || (uintptr_t)bits % l->bytes) read_bits(l, at, count, keys), bits = keys;
  return l->wide ? l->machine->encode_u64(keys, bits, count, &l->code)
                 : l->machine->encode_u32(keys, bits, count, &l->code);
}

void sort_write_bits(const sort_lines *l, size_t line, const void *bits) {
  size_t step = (size_t)l->sort->inner, at = sort_line_at(l->sort, line), count = (size_t)l->sort->size;
  switch (l->bytes) {
  case 1: WRITE(uint8_t, uint32_t, 24); break;
  case 2: WRITE(any_u16, uint32_t, 16); break;
  case 4: WRITE(any_u32, uint32_t, 0); break;
  default: WRITE(any_u64, uint64_t, 0); break;
  }
}
