/* Records rewrites for the page: the rule, and the expression before and after. */
#include "frontend/cli/show/show.h"

#include <string.h>

#include "passes/index/rule.h"

enum { ROWS_MOST = 300, TEXT_MOST = 1 << 18, EXPRESSION_MOST = 1000 };

static const pass_rule *rule_named(const char *name) {
  for (size_t i = 0; i < pass_index_rule_set.rule_count; i++)
    if (strcmp(pass_index_rule_set.rules[i].name, name) == 0) return &pass_index_rule_set.rules[i];
  return NULL;
}

static json_t *plain_text(const char *text) { return show_text(text, strlen(text)); }

/* Add the rule to the data of the page, once. A name that is not in the table of rules is that of a builder
 * function, of which nothing more is known. */
static void note_rule(show *s, const char *name) {
  const pass_rule *r = rule_named(name);
  if (!r || json_object_get(s->rules, name)) return;
  json_t *made = json_object();
  show_set(s, made, "left", plain_text(r->left));
  show_set(s, made, "right", plain_text(r->right));
  show_set(s, made, "condition", plain_text(r->condition));
  show_set(s, made, "reason", plain_text(r->reason));
  show_set(s, s->rules, name, made);
}

/* Print op(src) without making a node for it, so that watching does not change the graph. */
static void put_before(const ir_graph *g, ir_op op, const ir_ref *src, uint32_t nsrc, ir_text *out) {
  const char *infix = ir_ops[op].infix;
  bool between = *infix && nsrc > 1;
  if (between) ir_text_str(out, "(");
  else ir_textf(out, *infix ? "%s(" : "%s(", *infix ? infix : ir_ops[op].text);
  for (uint32_t i = 0; i < nsrc; i++) {
    if (i) ir_text_str(out, between ? infix : ", ");
    ir_print_expr(g, src[i], out);
  }
  ir_text_str(out, ")");
}

static json_t *shortened(const ir_text *text) {
  bool whole = text->len <= EXPRESSION_MOST;
  json_t *cut = show_text(ir_text_get(text), whole ? text->len : EXPRESSION_MOST);
  json_t *made = whole ? cut : json_sprintf("%s ...", json_string_value(cut));
  if (!whole) json_decref(cut);
  return made;
}

static bool note_rewrite(void *user, ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                         uint32_t nsrc, ir_ref result) {
  show_watch *w = user;
  (void)given;
  if (json_array_size(w->list) >= ROWS_MOST || w->printed > TEXT_MOST) {
    w->more++;
    return true;
  }
  ir_text before, after;
  ir_text_init(&before, &ir_mem_libc);
  ir_text_init(&after, &ir_mem_libc);
  put_before(g, op, src, nsrc, &before);
  ir_print_expr(g, result, &after);
  w->printed += before.len + after.len;
  w->s->failed |= before.failed || after.failed;
  json_t *row = json_object();
  show_set(w->s, row, "rule", plain_text(rule));
  show_set(w->s, row, "before", shortened(&before));
  show_set(w->s, row, "after", shortened(&after));
  show_add(w->s, w->list, row);
  note_rule(w->s, rule);
  ir_text_free(&before);
  ir_text_free(&after);
  return true;
}

void show_watch_begin(show_watch *w, show *s, ir_graph *g) {
  *w = (show_watch){.s = s, .observer = {.user = w, .rewrite = note_rewrite}, .list = json_array()};
  g->observer = &w->observer;
}

void show_watch_end(show_watch *w, ir_graph *g, json_t *step) {
  g->observer = NULL;
  show_set(w->s, step, "rewrites", w->list);
  show_set(w->s, step, "more", json_integer((json_int_t)w->more));
}
