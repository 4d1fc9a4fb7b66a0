/* Sorting indices: entries of 64 bits, the upper half of an element's key above its index. Where elements have
 * 64 bits, entries whose upper halves are equal are sorted once more, by the lower half. */
#include "runtime/sort/lines.h"

enum { CHUNK = 256 }; /* keys that are made at a time */
#define INDEX UINT32_MAX

/* The keys of a line's elements from `from` on, at most CHUNK, in the upper bits of 64. */
static size_t make_keys(const sort_lines *l, size_t line, size_t from, uint64_t keys[CHUNK]) {
  size_t n = (size_t)l->sort->size, count = n - from < CHUNK ? n - from : CHUNK;
  if (l->wide) {
    sort_read_bits(l, line, from, count, keys);
    l->machine->encode_u64(keys, keys, count, &l->code);
    return count;
  }
  uint32_t half[CHUNK];
  sort_read_bits(l, line, from, count, half);
  l->machine->encode_u32(half, half, count, &l->code);
  for (size_t i = 0; i < count; i++) keys[i] = (uint64_t)half[i] << 32;
  return count;
}

static uint64_t key_of(const sort_lines *l, size_t line, size_t index) {
  uint64_t key;
  sort_read_bits(l, line, index, 1, &key);
  l->machine->encode_u64(&key, &key, 1, &l->code);
  return key;
}

/* Sorts by the lower half of keys what is in the order of the upper one. */
static void order_lower_halves(const sort_lines *l, size_t line, uint64_t *entries, size_t count, void *room) {
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && entries[end] >> 32 == entries[i] >> 32;) end++;
    if (end - i == 1) continue;
    uint64_t upper = entries[i] & ~(uint64_t)INDEX;
    for (size_t k = i; k < end; k++)
      entries[k] = key_of(l, line, entries[k] & INDEX) << 32 | (entries[k] & INDEX);
    l->machine->sort_halves(entries + i, end - i, room);
    for (size_t k = i; k < end; k++) entries[k] = upper | (entries[k] & INDEX);
  }
}

static void put_indices(const sort_lines *l, size_t line, const uint64_t *entries, size_t count) {
  size_t step = (size_t)l->sort->inner;
  int64_t *out = (int64_t *)l->sort->out + sort_line_at(l->sort, line);
  for (size_t i = 0; i < count; i++) out[i * step] = (int64_t)(entries[i] & INDEX);
}

void sort_positions(const sort_lines *l, size_t first, size_t lines, void *keys, void *room) {
  const rt_sort_machine *m = l->machine;
  size_t n = (size_t)l->sort->size;
  uint64_t *entries = l->in_place ? (uint64_t *)l->sort->out + first * n : keys, chunk[CHUNK];
  bool together = n <= m->most_in_line && lines == RT_SORT_LINES;
  for (size_t k = 0; k < lines; k++) {
    for (size_t i = 0; i < n; i += CHUNK) {
      size_t count = make_keys(l, first + k, i, chunk);
      for (size_t c = 0; c < count; c++)
        entries[k * n + i + c] = (chunk[c] & ~(uint64_t)INDEX) | (uint64_t)(i + c);
    }
    if (!together) m->sort_halves(entries + k * n, n, room);
  }
  if (together) m->lines_u64(entries, n);
  for (size_t k = 0; k < lines; k++) {
    if (l->wide) order_lower_halves(l, first + k, entries + k * n, n, room);
    put_indices(l, first + k, entries + k * n, l->first);
  }
}

/* Entries are collected that come before the last of the first ones so far: one of equal keys does not, since
 * its index is greater. */
void sort_select(const sort_lines *l, size_t line, void *keys, void *room) {
  uint64_t *entries = keys, chunk[CHUNK], least = UINT64_MAX;
  size_t n = (size_t)l->sort->size, count = 0;
  bool chosen = false; /* the first ones so far come first, in order, and `least` is the key of the last */
  for (size_t i = 0, some; i < n; i += some) {
    some = make_keys(l, line, i, chunk);
    for (size_t c = 0; c < some; c++) {
      if (chosen && chunk[c] >= least) continue;
      entries[count++] = (chunk[c] & ~(uint64_t)INDEX) | (uint64_t)(i + c);
      if (count < l->capacity) continue;
      l->machine->sort_halves(entries, count, room);
      if (l->wide) order_lower_halves(l, line, entries, count, room);
      uint64_t last = entries[(count = l->first) - 1];
      least = l->wide ? key_of(l, line, last & INDEX) : last & ~(uint64_t)INDEX;
      chosen = true;
    }
  }
  l->machine->sort_halves(entries, count, room);
  if (l->wide) order_lower_halves(l, line, entries, count, room);
  put_indices(l, line, entries, l->first);
}
