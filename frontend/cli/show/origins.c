/* Which operations of the listing each kernel is for: those of the statements that asked for it. */
#include "frontend/cli/show/show.h"

#include <stdlib.h>
#include <string.h>

typedef struct asked {
  uint32_t statement, line;
} asked;

typedef struct origins {
  asked *list; /* by statement, then line */
  size_t count, cap;
} origins;

static int by_statement(const void *a, const void *b) {
  const asked *x = a, *y = b;
  if (x->statement != y->statement) return x->statement < y->statement ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* The statements of each line that is no leaf. */
static bool list_origins(const show *s, const show_listing *l, origins *out) {
  const ir_mem *mem = l->g->mem;
  ir_cause_items items = {0};
  bool good = true;
  for (uint32_t i = 0; i < l->count && good && l->g->causes; i++) {
    ir_ref node = l->lines[i].node;
    if (show_is_leaf(l->g, node)) continue;
    items.count = 0;
    good = ir_cause_list(l->g->causes, ir_cause_of(l->g, node), &items);
    for (size_t k = 0; k < items.count && good; k++) {
      good = IR_RESERVE(mem, out->list, out->cap, out->count + 1);
      if (good)
        out->list[out->count++] = (asked){fe_statements_whole(s->s.statements, items.list[k].statement), i};
    }
  }
  ir_cause_items_free(mem, &items);
  if (good && out->count) qsort(out->list, out->count, sizeof *out->list, by_statement);
  return good;
}

/* Marks the lines of a statement. */
static void mark_lines(const origins *o, uint32_t statement, uint8_t *marked) {
  size_t low = 0, high = o->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (o->list[middle].statement < statement) low = middle + 1;
    else high = middle;
  }
  for (; low < o->count && o->list[low].statement == statement; low++) marked[o->list[low].line] = 1;
}

json_t *show_kernel_rows(show *s, const show_listing *l, const fe_kernel_texts *k) {
  const ir_mem *mem = l->g->mem;
  json_t *made = json_array();
  origins o = {0};
  uint8_t *marked = ir_alloc(mem, l->count + 1);
  if (!marked || !list_origins(s, l, &o)) s->failed = true;
  for (size_t i = 0; i < k->row_count && !s->failed; i++) {
    const fe_kernel_row *row = &k->rows[i];
    json_t *lines = json_array();
    memset(marked, 0, l->count + 1);
    for (size_t n = row->first; n < row->end; n++) mark_lines(&o, k->statements[n], marked);
    for (uint32_t n = 0; n < l->count; n++)
      if (marked[n]) show_add(s, lines, json_integer(n));
    show_add(s, made, json_pack("[IIo]", (json_int_t)row->text, (json_int_t)row->bytes, lines));
  }
  ir_free(mem, o.list, o.cap * sizeof *o.list);
  ir_free(mem, marked, l->count + 1);
  return made;
}
