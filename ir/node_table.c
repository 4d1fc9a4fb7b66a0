#include "node_table.h"

#include <string.h>

_Static_assert(sizeof(struct ir_table_line) == 64, "a line is a cache line");

enum { FIRST_LINES = 64, FILL = 9 }; /* nodes in a line, on average, when the table grows */

static struct ir_table_line *aligned(void *memory) {
  size_t line = sizeof(struct ir_table_line);
  return (struct ir_table_line *)(((uintptr_t)memory + line - 1) / line * line);
}

static size_t bytes_of(size_t lines) { return (lines + 1) * sizeof(struct ir_table_line); }

bool ir_table_grow(ir_graph *g) {
  enum { AHEAD = 16 }; /* nodes whose lines are being fetched */
  size_t known = g->table ? (size_t)g->table_mask + 1 : 0, lines = known ? known * 2 : FIRST_LINES;
  if (lines - 1 > UINT32_MAX) return false;
  /* what the table held is entered again below: only the memory is of use */
  void *memory = ir_resize(g->mem, g->table_memory, known ? bytes_of(known) : 0, bytes_of(lines));
  if (!memory) return false;
  g->table_memory = memory;
  g->table = aligned(memory);
  g->table_mask = (uint32_t)(lines - 1);
  g->table_room = lines > UINT32_MAX / FILL ? UINT32_MAX : (uint32_t)lines * FILL;
  memset(g->table, 0, lines * sizeof *g->table);
  for (ir_ref ref = 1; ref < g->count; ref++) {
    if (ref + AHEAD < g->count) ir_table_prefetch(g, ir_get(g, ref + AHEAD)->hash);
    ir_table_add(g, ir_get(g, ref)->hash, ref);
  }
  return true;
}

void ir_table_free(ir_graph *g) {
  if (g->table) ir_free(g->mem, g->table_memory, bytes_of((size_t)g->table_mask + 1));
  g->table = NULL;
  g->table_memory = NULL;
}

void ir_table_remove_last(ir_graph *g, ir_ref last) {
  uint32_t at = ir_get(g, last)->hash & g->table_mask;
  while (g->table[at].refs[g->table[at].used - 1] != last) at = (at + 1) & g->table_mask;
  struct ir_table_line *line = &g->table[at];
  uint32_t entry = --line->used;
  line->refs[entry] = 0;
}
