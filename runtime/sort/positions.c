/* Sorting indices: entries of 64 bits, the upper half of an element's key above its index. Where elements
 * have 64 bits, entries whose upper halves are equal are sorted once more, by the lower half. */
#include "runtime/sort/lines.h"

enum { CHUNK = 256 }; /* keys that are made at a time */
#define INDEX UINT32_MAX

/* The keys of consecutive elements of a line, of 64 or 32 bits as the elements are. */
typedef union chunk {
  uint64_t wide[CHUNK];
  uint32_t narrow[CHUNK];
} chunk;

/* Those of the elements from `from` on, at most CHUNK. */
static size_t make_keys(const sort_lines *l, size_t line, size_t from, chunk *keys) {
  size_t n = (size_t)l->sort->size, count = n - from < CHUNK ? n - from : CHUNK;
  sort_read_bits(l, line, from, count, keys);
  if (l->wide) l->machine->encode_u64(keys->wide, keys->wide, count, &l->code);
  else l->machine->encode_u32(keys->narrow, keys->narrow, count, &l->code);
  return count;
}

/* The key of an element in the upper bits of 64. */
static uint64_t key_in(const sort_lines *l, const chunk *keys, size_t i) {
  return l->wide ? keys->wide[i] : (uint64_t)keys->narrow[i] << 32;
}
static uint64_t entry(uint64_t key, size_t index) { return (key & ~(uint64_t)INDEX) | (uint64_t)index; }

/* The key of one element of 64 bits. */
static uint64_t key_of(const sort_lines *l, size_t line, size_t index) {
  uint64_t key;
  sort_read_bits(l, line, index, 1, &key);
  l->machine->encode_u64(&key, &key, 1, &l->code);
  return key;
}

/* Sorts by the lower half of keys what is in the order of the upper one. */
static void order_lower_halves(const sort_lines *l, size_t line, uint64_t *entries, size_t count,
                               void *room) {
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && entries[end] >> 32 == entries[i] >> 32;) end++;
    if (end - i == 1) continue;
    uint64_t upper = entries[i] & ~(uint64_t)INDEX;
    for (size_t k = i; k < end; k++)
      entries[k] = entry(key_of(l, line, entries[k] & INDEX) << 32, entries[k] & INDEX);
    l->machine->sort_halves(entries + i, end - i, room);
    for (size_t k = i; k < end; k++) entries[k] = entry(upper, entries[k] & INDEX);
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
  uint64_t *entries = l->in_place ? (uint64_t *)l->sort->out + first * n : keys;
  chunk made;
  bool together = n <= m->most_in_line && lines == RT_SORT_LINES;
  for (size_t k = 0; k < lines; k++) {
    for (size_t i = 0; i < n; i += CHUNK) {
      size_t count = make_keys(l, first + k, i, &made);
      for (size_t c = 0; c < count; c++) entries[k * n + i + c] = entry(key_in(l, &made, c), i + c);
    }
    if (together) continue;
    if (l->bytes < sizeof(uint32_t)) rt_sort_narrow(entries + k * n, n, room, l->bytes);
    else m->sort_halves(entries + k * n, n, room);
  }
  if (together) m->lines_u64(entries, n);
  for (size_t k = 0; k < lines; k++) {
    if (l->wide) order_lower_halves(l, first + k, entries + k * n, n, room);
    put_indices(l, first + k, entries + k * n, l->first);
  }
}

/* The elements of the chunk with keys below `least`, in the upper bits of 64. */
static size_t find_below(const sort_lines *l, const chunk *keys, size_t count, uint64_t least, uint32_t *at) {
  return l->wide ? l->machine->below_u64(keys->wide, count, least, at)
                 : l->machine->below_u32(keys->narrow, count, (uint32_t)(least >> 32), at);
}

static void order_entries(const sort_lines *l, size_t line, uint64_t *entries, size_t count, void *room) {
  l->machine->sort_halves(entries, count, room);
  if (l->wide) order_lower_halves(l, line, entries, count, room);
}

/* Entries are collected that come before the last of the first ones so far: one of an equal key does not,
 * since its index is greater. */
void sort_select(const sort_lines *l, size_t line, void *keys, void *room) {
  uint64_t *entries = keys, least = 0;
  size_t n = (size_t)l->sort->size, count = 0;
  bool chosen =
      false; /* the first entries are the first so far, in order, and `least` is the key of the last */
  uint32_t at[CHUNK];
  chunk made;
  for (size_t i = 0, some; i < n; i += some) {
    some = make_keys(l, line, i, &made);
    size_t found = chosen ? find_below(l, &made, some, least, at) : some;
    for (size_t c = 0; c < found; c++) {
      size_t in = found < some ? at[c] : c;
      uint64_t key = key_in(l, &made, in);
      if (chosen && key >= least) continue;
      entries[count++] = entry(key, i + in);
      if (count < l->capacity) continue;
      order_entries(l, line, entries, count, room);
      uint64_t last = entries[(count = l->first) - 1];
      least = l->wide ? key_of(l, line, last & INDEX) : last & ~(uint64_t)INDEX;
      chosen = true;
    }
  }
  order_entries(l, line, entries, count, room);
  put_indices(l, line, entries, l->first);
}
