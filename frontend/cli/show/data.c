/* The data of the page: graphs with their variables, chains, and texts of each stage of compilation. */
#include "frontend/cli/show/show.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/report/dump.h"

enum { STAGE_MOST = 1 << 18 };

json_t *show_text(const char *bytes, size_t length) {
  json_t *made = json_stringn(bytes, length);
  if (made || !length) return made;
  char *copy = ir_alloc(&ir_mem_libc, length); /* out of memory, or no UTF-8 */
  if (!copy) return NULL;
  for (size_t i = 0; i < length; i++) copy[i] = bytes[i] & 0x80 ? '?' : bytes[i];
  made = json_stringn(copy, length);
  ir_free(&ir_mem_libc, copy, length);
  return made;
}

void show_set(show *s, json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) != 0) s->failed = true;
}

void show_add(show *s, json_t *list, json_t *value) {
  if (json_array_append_new(list, value) != 0) s->failed = true;
}

json_t *show_expression(show *s, const ir_graph *g, ir_ref expression) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_expr(g, expression, &text);
  json_t *made = show_text(ir_text_get(&text), text.len);
  s->failed |= text.failed;
  ir_text_free(&text);
  return made;
}

/* stages */

/* Truncate a text at the end of a line. Returns the number of lines left out. */
static size_t cut_at_line(const ir_text *text, size_t *length) {
  size_t lines = 0;
  *length = text->len;
  if (text->len <= STAGE_MOST) return 0;
  for (*length = STAGE_MOST; *length > 0 && text->data[*length - 1] != '\n';) --*length;
  for (size_t i = *length; i < text->len; i++) lines += text->data[i] == '\n';
  return lines;
}

static json_t *one_stage(show *s, const ir_parsed_graph *block, fe_stage stage) {
  fe_dump_options options = {.stage = stage, .target = &s->target, .module = &s->module};
  ir_error error = {0};
  ir_text text;
  size_t length, lines;
  json_t *made = json_object();
  ir_text_init(&text, &ir_mem_libc);
  if (fe_dump(&s->s.g, block, &options, &text, &error) != IR_OK) {
    if (!s->status) s->status = cli_failure("show", &error); /* later stages fail in the same way */
    show_set(s, made, "error", show_text(error.text, strlen(error.text)));
  }
  lines = cut_at_line(&text, &length);
  show_set(s, made, "name", json_string(fe_stage_table[stage].name));
  show_set(s, made, "says", json_string(fe_stage_table[stage].says));
  show_set(s, made, "text", show_text(ir_text_get(&text), length));
  show_set(s, made, "left_out", json_integer((json_int_t)lines));
  ir_text_free(&text);
  return made;
}

/* graphs */

static json_t *constant_to_json(const ir_graph *g, ir_ref ref) {
  int64_t value;
  return ir_is_const(g, ref, &value) ? json_sprintf("%lld", (long long)value) : json_null();
}

static json_t *variables_of(show *s, ir_ref results) {
  const ir_graph *g = &s->s.g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  json_t *made = json_array();
  if (ir_reachable(g, &results, 1, &live, &count, &cap) != IR_OK) s->failed = true;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (n->op != IR_OP_VAR) continue;
    json_t *one = json_object();
    show_set(s, one, "name", show_text(ir_name_text(g, n->arg), ir_name_length(g, n->arg)));
    show_set(s, one, "lo", constant_to_json(g, n->src[0]));
    show_set(s, one, "hi", constant_to_json(g, n->src[1]));
    show_set(s, one, "divisor", constant_to_json(g, n->src[2]));
    show_add(s, made, one);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return made;
}

static json_t *one_graph(show *s, const ir_parsed_graph *block) {
  ir_ref results = cli_graph_results(&s->s, block);
  json_t *made = json_object(), *stages = json_array();
  if (!results) s->failed = true;
  show_set(s, made, "name", show_text(block->name, block->name_length));
  if (results) {
    show_set(s, made, "variables", variables_of(s, results));
    show_set(s, made, "chains", show_chains(s, block, results));
  }
  for (fe_stage stage = FE_STAGE_GRAPH; stage <= FE_STAGE_ASM && !s->failed; stage++)
    show_add(s, stages, one_stage(s, block, stage));
  show_set(s, made, "stages", stages);
  return made;
}

json_t *show_data(show *s, const char *word, const char *name) {
  const ir_parsed_graph *only = name || s->s.module.count == 0 ? cli_graph_pick(&s->s, word, name) : NULL;
  if (name && !only) return NULL;
  json_t *made = json_object(), *graphs = json_array();
  size_t shown = 0;
  s->rules = json_object();
  for (size_t i = 0; i < s->s.module.count && !s->failed; i++) {
    const ir_parsed_graph *block = &s->s.module.graphs[i];
    if (block->kind != IR_BLOCK_GRAPH || (only ? block != only : block->called)) continue;
    show_add(s, graphs, one_graph(s, block));
    shown++;
  }
  show_set(s, made, "version", json_string(VIEWFOLD_VERSION));
  show_set(s, made, "source", show_text(word, strlen(word)));
  show_set(s, made, "graphs", graphs);
  show_set(s, made, "rules", s->rules);
  if (s->failed) fputs("viewfold show: out of memory\n", stderr);
  if (!s->failed && shown == 0) cli_graph_pick(&s->s, word, NULL); /* prints the message */
  if (!s->failed && shown) return made;
  json_decref(made);
  s->status = s->failed ? CLI_DEVICE : CLI_BAD_INPUT;
  return NULL;
}
