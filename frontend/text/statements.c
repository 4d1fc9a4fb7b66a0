#include "frontend/text/statements.h"

#include <string.h>

bool fe_statements_checks(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return (n->op == IR_OP_GATHER || ir_is_scatter((ir_op)n->op)) && ir_arg_mode(n) != IR_GATHER_FILL;
}

static ir_ref start(const fe_statements *s, const ir_graph *g, ir_ref floor) {
  return s->seen > floor && s->seen <= g->count ? s->seen : floor; /* a graph may have lost nodes */
}

bool fe_statements_any(fe_statements *s, const ir_graph *g, ir_ref floor) {
  ir_ref i = start(s, g, floor);
  while (i < g->count && !fe_statements_checks(g, i)) i++;
  s->seen = i;
  return i < g->count;
}

static const char *keep(ir_graph *g, const char *text, size_t length) {
  int64_t name = text ? ir_name(g, text, length) : -1;
  return name < 0 ? NULL : ir_name_text(g, name);
}

void fe_statements_add(fe_statements *s, ir_graph *g, ir_ref floor, ir_ref made, const char *text,
                       size_t length, const char *place) {
  fe_statement fresh = {.made = made, .text = keep(g, text, length)};
  fresh.place = keep(g, place, place ? strlen(place) : 0);
  ir_ref i = start(s, g, floor), end = g->count;
  s->seen = end;
  for (; i < end && fresh.text; i++) {
    if (!fe_statements_checks(g, i)) continue;
    if (!IR_RESERVE(g->mem, s->list, s->cap, s->count + 1)) return;
    fresh.node = i;
    fresh.op = ir_op_of(g, i);
    fresh.arg = ir_get(g, i)->arg;
    fresh.direct = i == made;
    s->list[s->count++] = fresh;
  }
}

void fe_statements_copy(fe_statements *s, ir_graph *g, const fe_statement *from, ir_ref node) {
  fe_statement fresh = *from;
  fresh.node = node;
  fresh.text = keep(g, from->text, strlen(from->text));
  fresh.place = keep(g, from->place, from->place ? strlen(from->place) : 0);
  if (fresh.text && IR_RESERVE(g->mem, s->list, s->cap, s->count + 1)) s->list[s->count++] = fresh;
}

const fe_statement *fe_statements_find(const fe_statements *s, const ir_graph *g, ir_ref node) {
  const fe_statement *like = NULL;
  bool several = false;
  const ir_node *n = ir_get(g, node);
  for (size_t i = s->count; i-- > 0;) { /* the latest, where numbers of nodes have been used again */
    const fe_statement *at = &s->list[i];
    if (at->op != (ir_op)n->op || at->arg != n->arg) continue;
    if (at->node == node) return at;
    several |= like && strcmp(like->text, at->text) != 0;
    like = at;
  }
  return several ? NULL : like;
}

void fe_statements_free(fe_statements *s, const ir_mem *mem) {
  ir_free(mem, s->list, s->cap * sizeof *s->list);
  *s = (fe_statements){0};
}
