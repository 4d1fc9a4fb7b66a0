/* The data of the page: graphs with their variables, listings, chains and kernels. */
#include "frontend/cli/show/show.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/report/kernel_texts.h"

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

/* kernels */

/* [symbol, index, loops, llvm, asm] of each kernel that differs from those before it. */
static json_t *texts_of(show *s, const fe_kernel_texts *k) {
  json_t *made = json_array();
  for (size_t i = 0; i < k->text_count; i++) {
    json_t *one = json_array();
    show_add(s, one, json_string(k->texts[i].symbol));
    for (int stage = 0; stage < FE_KERNEL_STAGES; stage++)
      show_add(s, one, show_text(ir_text_get(&k->texts[i].stages[stage]), k->texts[i].stages[stage].len));
    show_add(s, made, one);
  }
  return made;
}

static void put_kernels(show *s, const ir_parsed_graph *block, const show_listing *listing, json_t *out) {
  ir_error error = {0};
  fe_kernel_texts kernels;
  if (fe_kernel_texts_make(&s->s.g, block, s->s.statements, &s->target, &s->module, &kernels, &error) !=
      IR_OK) {
    s->status = cli_failure("show", &error);
    show_set(s, out, "error", show_text(error.text, strlen(error.text)));
  }
  if (kernels.code_error.status) {
    const char *why = kernels.code_error.text;
    if (!s->status) s->status = cli_failure("show", &kernels.code_error);
    show_set(s, out, "code_error", show_text(why, strlen(why)));
  }
  show_set(s, out, "kernel_listing", show_text(ir_text_get(&kernels.listing), kernels.listing.len));
  show_set(s, out, "kernels", show_kernel_rows(s, listing, &kernels));
  show_put_profile(s, block, kernels.row_count, out);
  show_set(s, out, "texts", show_packed(s, texts_of(s, &kernels)));
  fe_kernel_texts_free(&kernels);
}

/* Those of one device's program that the page shows. */
static json_t *stages_of(show *s) {
  json_t *made = json_array();
  for (fe_stage stage = FE_STAGE_GRAPH; stage <= FE_STAGE_ASM; stage++)
    if (stage != FE_STAGE_SHARD && stage != FE_STAGE_SPMD)
      show_add(s, made, json_pack("[ss]", fe_stage_table[stage].name, fe_stage_table[stage].says));
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
  show_listing listing = {0};
  json_t *made = json_object();
  if (!results || !show_listing_make(&listing, &s->s.g, block)) s->failed = true;
  show_set(s, made, "name", show_text(block->name, block->name_length));
  if (!s->failed) {
    show_set(s, made, "variables", variables_of(s, results));
    show_put_listing(s, &listing, made);
    json_t *mesh = show_mesh(s, block);
    if (mesh) show_set(s, made, "mesh", mesh);
    show_set(s, made, "chains", show_chains(s, &listing, results));
    put_kernels(s, block, &listing, made);
  }
  show_listing_free(&listing);
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
  show_set(s, made, "stages", stages_of(s));
  show_set(s, made, "graphs", graphs);
  show_set(s, made, "rules", s->rules);
  if (s->failed) fputs("viewfold show: out of memory\n", stderr);
  if (!s->failed && shown == 0) cli_graph_pick(&s->s, word, NULL); /* prints the message */
  if (!s->failed && shown) return made;
  json_decref(made);
  s->status = s->failed ? CLI_DEVICE : CLI_BAD_INPUT;
  return NULL;
}
