/* Sorting indices: entries of 64 bits, the upper half of an element's key above its index. Where elements
 * have 64 bits, keys are first moved up until the highest bit in which those of the line differ is the
 * highest of an entry, and entries whose upper halves are equal are sorted once more, by the lower half:
 * never where keys differ in 32 bits at most. */
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
  sort_make_keys(l, line, from, count, keys);
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
  sort_make_keys(l, line, index, 1, &key);
  return key;
}

/* How keys of 64 bits become entries. */
typedef struct window {
  unsigned moved; /* up, by so many bits */
  bool all;       /* the upper halves are then all in which they differ */
} window;

static window window_of(uint64_t differ) {
  unsigned moved = (unsigned)__builtin_clzll(differ | 1);
  return (window){moved, differ << moved << 32 == 0};
}

/* The entries of a line. */
static window make_entries(const sort_lines *l, size_t line, uint64_t *entries) {
  const rt_sort_machine *m = l->machine;
  size_t n = (size_t)l->sort->size;
  chunk made;
  for (size_t i = 0, count; i < n && !l->wide; i += count) {
    count = make_keys(l, line, i, &made);
    m->entries_u32(entries + i, made.narrow, count, i);
  }
  if (!l->wide) return (window){.all = true};
  sort_make_keys(l, line, 0, n, entries);
  window w = window_of(m->differing(entries, n, entries[0]));
  m->entries_u64(entries, n, w.moved);
  return w;
}

/* The window of a line whose entries are not all made. */
static window find_window(const sort_lines *l, size_t line) {
  uint64_t differ = 0, first;
  chunk made;
  if (!l->wide) return (window){.all = true};
  first = key_of(l, line, 0);
  for (size_t i = 0, count; i < (size_t)l->sort->size; i += count) {
    count = make_keys(l, line, i, &made);
    differ |= l->machine->differing(made.wide, count, first);
  }
  return window_of(differ);
}

/* Sorts by the lower half of keys, moved up as the window says, what is in the order of the upper one. */
static void order_lower_halves(const sort_lines *l, size_t line, window w, uint64_t *entries, size_t count,
                               void *room) {
  for (size_t i = 0, end; i < count && !w.all; i = end) {
    for (end = i + 1; end < count && entries[end] >> 32 == entries[i] >> 32;) end++;
    if (end - i == 1) continue;
    uint64_t upper = entries[i] & ~(uint64_t)INDEX;
    for (size_t k = i; k < end; k++)
      entries[k] = entry(key_of(l, line, entries[k] & INDEX) << w.moved << 32, entries[k] & INDEX);
    l->machine->sort_halves(entries + i, end - i, room);
    for (size_t k = i; k < end; k++) entries[k] = entry(upper, entries[k] & INDEX);
  }
}

void sort_put_indices(const sort_lines *l, size_t line, const uint64_t *entries, size_t count) {
  size_t step = (size_t)l->sort->inner;
  uint64_t *out = (uint64_t *)l->sort->out + sort_line_at(l->sort, line);
  if (step == 1) {
    l->machine->indices(out, entries, count);
    return;
  }
  for (size_t i = 0; i < count; i++) out[i * step] = entries[i] & INDEX;
}

void sort_positions(const sort_lines *l, size_t first, size_t lines, void *keys, void *room) {
  const rt_sort_machine *m = l->machine;
  size_t n = (size_t)l->sort->size;
  uint64_t *entries = l->in_place ? (uint64_t *)l->sort->out + first * n : keys;
  size_t sorted = l->first; /* entries of each line: all where lower halves may move others to the front */
  window of[RT_SORT_LINES];
  bool together = n <= m->most_in_line && lines >= RT_SORT_LEAST_LINES;
  for (size_t k = 0; k < lines; k++) {
    of[k] = make_entries(l, first + k, entries + k * n);
    if (!of[k].all) sorted = n;
    if (together) continue;
    if (l->bytes < sizeof(uint32_t)) rt_sort_narrow(entries + k * n, n, room, l->bytes);
    else m->sort_halves(entries + k * n, n, room);
  }
  if (together) m->lines_u64(entries, lines, n, sorted);
  for (size_t k = 0; k < lines; k++) {
    order_lower_halves(l, first + k, of[k], entries + k * n, n, room);
    sort_put_indices(l, first + k, entries + k * n, l->first);
  }
}

/* The elements of the chunk with keys below `least`, in the upper bits of 64. */
static size_t find_below(const sort_lines *l, const chunk *keys, size_t count, uint64_t least, uint32_t *at) {
  return l->wide ? l->machine->below_u64(keys->wide, count, least, at)
                 : l->machine->below_u32(keys->narrow, count, (uint32_t)(least >> 32), at);
}

static void order_entries(const sort_lines *l, size_t line, window w, uint64_t *entries, size_t count,
                          void *room) {
  l->machine->sort_halves(entries, count, room);
  order_lower_halves(l, line, w, entries, count, room);
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
  window w = find_window(l, line);
  for (size_t i = 0, some; i < n; i += some) {
    some = make_keys(l, line, i, &made);
    for (size_t c = 0; c < some && l->wide; c++) made.wide[c] <<= w.moved;
    size_t found = chosen ? find_below(l, &made, some, least, at) : some;
    for (size_t c = 0; c < found; c++) {
      size_t in = found < some ? at[c] : c;
      uint64_t key = key_in(l, &made, in);
      if (chosen && key >= least) continue;
      entries[count++] = entry(key, i + in);
      if (count < l->capacity) continue;
      order_entries(l, line, w, entries, count, room);
      uint64_t last = entries[(count = l->first) - 1];
      least = l->wide ? key_of(l, line, last & INDEX) << w.moved : last & ~(uint64_t)INDEX;
      chosen = true;
    }
  }
  order_entries(l, line, w, entries, count, room);
  sort_put_indices(l, line, entries, l->first);
}
