/* The indices of the first elements of lines, so few that registers hold them: keys are compared with the
 * last one of these, and those that come before it are put where they belong. */
#include "runtime/sort/lines.h"

#include <string.h>

enum { PIECE = 256 }; /* keys that are made at a time: of RT_SORT_LINES lines they come from 16 KiB */

typedef union piece {
  _Alignas(64) uint64_t wide[PIECE];
  uint32_t narrow[PIECE];
} piece;

typedef union first_keys {
  _Alignas(64) uint64_t wide[RT_SORT_FIRST];
  uint32_t narrow[RT_SORT_FIRST];
} first_keys;

typedef struct selection {
  first_keys best, at;
} selection;

/* The keys of elements from `from` on; how many they are. */
static size_t make_piece(const sort_lines *l, size_t line, size_t from, piece *keys) {
  size_t n = (size_t)l->sort->size, count = n - from < PIECE ? n - from : PIECE;
  sort_make_keys(l, line, from, count, keys);
  return count;
}

/* What was not selected has the greatest key, in the order of the line. */
static void add_greatest(const sort_lines *l, size_t line, uint64_t *indices, size_t known) {
  piece keys;
  for (size_t i = 0, count; known < l->first && i < (size_t)l->sort->size; i += count) {
    count = make_piece(l, line, i, &keys);
    for (size_t c = 0; c < count && known < l->first; c++)
      if (l->wide ? keys.wide[c] == UINT64_MAX : keys.narrow[c] == UINT32_MAX) indices[known++] = i + c;
  }
}

static void put_selection(const sort_lines *l, size_t line, const selection *s) {
  uint64_t indices[RT_SORT_FIRST];
  size_t known = 0;
  for (; known < l->first; known++) {
    if (l->wide ? s->best.wide[known] == UINT64_MAX : s->best.narrow[known] == UINT32_MAX) break;
    indices[known] = l->wide ? s->at.wide[known] : s->at.narrow[known];
  }
  add_greatest(l, line, indices, known);
  sort_put_indices(l, line, indices, l->first);
}

void sort_first(const sort_lines *l, size_t first, size_t lines) {
  const rt_sort_machine *m = l->machine;
  selection of[RT_SORT_LINES];
  piece keys;
  size_t n = (size_t)l->sort->size, count;
  for (size_t k = 0; k < lines; k++) memset(&of[k].best, UINT8_MAX, sizeof of[k].best);
  for (size_t i = 0; i < n; i += PIECE) {
    for (size_t k = 0; k < lines; k++) {
      selection *s = &of[k];
      count = make_piece(l, first + k, i, &keys);
      if (l->wide) m->select_u64(s->best.wide, s->at.wide, l->first, keys.wide, count, i);
      else m->select_u32(s->best.narrow, s->at.narrow, l->first, keys.narrow, count, i);
    }
  }
  for (size_t k = 0; k < lines; k++) put_selection(l, first + k, &of[k]);
}
