/* Internal to sorting: what a group of lines needs. */
#ifndef VIEWFOLD_RUNTIME_SORT_LINES_H
#define VIEWFOLD_RUNTIME_SORT_LINES_H

#include "runtime/sort/sort.h"

/* Entries of a selection of the first `first`: when so many are there, all but the first ones go, which costs
 * a few operations for each entry that came in the meantime. */
#define SORT_CAPACITY(first) (2 * (first) + 96)

typedef struct sort_lines {
  const rt_sort *sort;
  const rt_sort_machine *machine;
  rt_sort_code code;
  size_t bytes;                  /* of an element */
  bool wide;                     /* elements have 64 bits, and so have keys */
  bool contiguous;               /* elements of a line lie as its keys do */
  bool in_place;                 /* keys lie where the result does */
  bool selects;                  /* few positions are wanted: not all elements are sorted */
  bool in_registers;             /* so few that registers hold them */
  size_t first;                  /* elements of a line that are wanted */
  size_t group;                  /* lines that are sorted together */
  size_t capacity;               /* of a selection */
  size_t keys_bytes, room_bytes; /* of each thread */
} sort_lines;

/* The place of element 0 of a line; others follow at the distance `inner`. */
static inline size_t sort_line_at(const rt_sort *s, size_t line) {
  size_t inner = (size_t)s->inner;
  return line / inner * (size_t)s->size * inner + line % inner;
}

/* lines.c: the keys of `count` elements of a line from element `from` on; is one of these a NaN or -0? The
 * elements of a line from their bits, in the upper bits of 32 or 64. */
bool sort_make_keys(const sort_lines *l, size_t line, size_t from, size_t count, void *keys);
void sort_write_bits(const sort_lines *l, size_t line, const void *bits);

/* positions.c: the indices that entries have in their lower halves, as the result's first ones. */
void sort_put_indices(const sort_lines *l, size_t line, const uint64_t *entries, size_t count);

/* Sort `lines` lines from `first` on. values.c: elements. positions.c: indices; of the line `first` alone
 * those of the first elements. first.c: indices of the first elements, where registers hold them. */
void sort_values(const sort_lines *l, size_t first, size_t lines, void *keys, void *room);
void sort_positions(const sort_lines *l, size_t first, size_t lines, void *keys, void *room);
void sort_first(const sort_lines *l, size_t first, size_t lines);
void sort_select(const sort_lines *l, size_t first, void *keys, void *room);

#endif
