#include "frontend/api/places.h"

#include <stdio.h>
#include <string.h>

#include "passes/ops/check.h"

/* A place is 12 bits of a file's number, counted from 1, and 20 bits of a line. */
enum { FILES_MOST = (1 << (32 - FE_LINE_BITS)) - 1 };

void fe_places_free(fe_places *p, const ir_mem *mem) {
  ir_free(mem, p->list, p->cap * sizeof *p->list);
  ir_free(mem, p->files, p->file_cap * sizeof *p->files);
  *p = (fe_places){0};
}

static fe_place *entry(fe_places *p, ir_graph *g, ir_ref ref) {
  if (ref < p->count) return &p->list[ref];
  if (!IR_RESERVE(g->mem, p->list, p->cap, (size_t)ref + 1)) return NULL;
  memset(p->list + p->count, 0, (p->cap - p->count) * sizeof *p->list);
  p->count = p->cap;
  return &p->list[ref];
}

/* The number of a file; 0: no memory, or too many files. The compiler gives one file one pointer, as a rule;
 * another pointer is another entry, whose text is the same name. The latest files are looked at first. */
static uint32_t file_number(fe_places *p, ir_graph *g, const char *file) {
  for (size_t i = p->file_count; i-- > 0;)
    if (p->files[i].given == file) return (uint32_t)i + 1;
  if (p->file_count >= FILES_MOST || !IR_RESERVE(g->mem, p->files, p->file_cap, p->file_count + 1)) return 0;
  int64_t name = ir_name(g, file, strlen(file));
  if (name < 0) return 0;
  p->files[p->file_count] = (fe_place_file){file, ir_name_text(g, name)};
  return (uint32_t)++p->file_count;
}

void fe_places_name(fe_places *p, ir_graph *g, ir_ref ref, const char *name) {
  int64_t id = ir_name(g, name, strlen(name));
  fe_place *e = id >= 0 && id < UINT32_MAX ? entry(p, g, ref) : NULL;
  if (e) e->name = (uint32_t)id + 1;
}

void fe_places_put_slowly(fe_places *p, ir_graph *g, ir_ref ref, const char *file, int line) {
  uint32_t number = file_number(p, g, file);
  if (!number || !entry(p, g, ref)) return;
  p->latest = file;
  p->latest_number = number << FE_LINE_BITS;
  fe_places_put(p, g, ref, file, line < 0 || line > FE_LINE_MOST ? FE_LINE_MOST : line);
}

const char *fe_places_name_of(const fe_places *p, const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  if (ref < p->count && p->list[ref].name) return ir_name_text(g, p->list[ref].name - 1);
  return n->op == IR_OP_INPUT || n->op == IR_OP_VAR ? ir_name_text(g, n->arg) : NULL;
}

const char *fe_words_place(const fe_places *p, ir_ref ref, fe_words *out) {
  uint32_t place = ref < p->count ? p->list[ref].place : 0;
  out->text[0] = '\0';
  if (place)
    snprintf(out->text, sizeof out->text, "%.100s:%u", p->files[(place >> FE_LINE_BITS) - 1].text,
             place & FE_LINE_MOST);
  return out->text;
}

const char *fe_words_value(const fe_places *p, ir_graph *g, ir_ref ref, fe_words *out) {
  const char *name = fe_places_name_of(p, g, ref);
  fe_words place;
  if (name) {
    snprintf(out->text, sizeof out->text, "%%%.60s", name);
  } else if (ir_op_of(g, ref) == IR_OP_CONST || !ir_shape(g, ref)) {
    snprintf(out->text, sizeof out->text, "%.60s", OP_EXPR(ref));
  } else {
    bool known = *fe_words_place(p, ref, &place);
    snprintf(out->text, sizeof out->text, "%.60s%s%.130s", OP_TYPE(ref), known ? " of " : "", place.text);
  }
  return out->text;
}
