/* What messages about an exchange say of the statement that asks for it. */
#include "frontend/mesh/sharded.h"

#include <stdio.h>

#include "frontend/text/statements.h"

/* "%q, net.vf:7", or "matmul %s, %v, net.vf:7" */
static void put_words(const fe_sharded *s, const fe_request *r, ir_ref node, char *out) {
  uint32_t number = fe_statements_first_of(&s->graph, node);
  const char *name = number ? fe_statements_name_of_result(r->statements, number) : NULL;
  fe_words place;
  ir_text text;
  if (!number) return;
  ir_text_init(&text, r->graph->mem);
  if (name) ir_textf(&text, "%%%s", name);
  else fe_put_operation(r->statements, r->graph, number, &text);
  if (*fe_words_place(r->statements, number, &place)) ir_textf(&text, ", %s", place.text);
  snprintf(out, FE_EXCHANGE_WORDS, "%s", ir_text_get(&text));
  ir_text_free(&text);
}

void fe_sharded_find_words(fe_sharded *s, const fe_request *r) {
  const shard_program *p = &s->parts;
  if (!s->graph.causes || !(s->words = ir_alloc(s->graph.mem, p->exchange_count * sizeof *s->words))) return;
  for (size_t i = 0; i < p->exchange_count; i++) {
    *s->words[i] = '\0';
    if (p->exchanges[i].note < p->note_count)
      put_words(s, r, p->notes[p->exchanges[i].note].node, s->words[i]);
  }
}
