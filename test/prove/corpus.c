#include "test/prove/corpus.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/compile.h"
#include "frontend/text/chain.h"
#include "frontend/views/access.h"
#include "frontend/views/textbook.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"
#include "passes/passes.h"
#include "test/lib/view_model.h"

/* Compiles the chain as a kernel of its own, so that the rewrites of every other pass are observed. */
static void compile(ir_graph *g, ir_ref chain) {
  static const ir_target target = {.vector_bytes = 32,
                                   .registers = 16,
                                   .has_fma = true,
                                   .l1_bytes = 1 << 15,
                                   .l2_bytes = 1 << 20,
                                   .l3_bytes = 1 << 24};
  ir_error error = {0};
  ir_ref buffer = chain, results = ir_tuple(g, &chain, 1);
  while (ir_op_of(g, buffer) != IR_OP_INPUT) buffer = ir_src(g, buffer, 0);
  fe_request request = {.graph = g,
                        .results = results,
                        .inputs = &buffer,
                        .input_count = 1,
                        .name = "chain",
                        .observer = g->observer};
  fe_copy copy;
  ir_plan plan;
  if (fe_request_copy(&request, &copy, &error) != IR_OK) exit(2);
  pass_options options = fe_pass_options(&copy.request, &target);
  pass_pipeline(&copy.graph, copy.request.results, &options, &plan, &error);
  ir_plan_free(&plan);
  fe_copy_free(&copy);
}

static void fold(const char *text, const corpus_listener *listener, bool whole) {
  ir_error error = {0};
  ir_graph g;
  ir_ref textbook[2], found[2];
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) exit(2);
  g.observer = &listener->observer;
  ir_ref chain = fe_chain_parse(&g, "<chain>", text, strlen(text));
  bool plain = chain && !pass_has_gather(&g, chain);
  bool folded = plain && pass_fold_chain(&g, chain, &found[0], &found[1]);
  if (folded && whole && pass_access(&g, &pass_textbook, chain, &textbook[0], &textbook[1])) {
    listener->folded(listener->observer.user, &g, textbook, found);
    if (pass_extract_access(&g, &found[0], &found[1])) /* what is printed */
      listener->folded(listener->observer.user, &g, textbook, found);
  }
  if (chain) pass_access(&g, &pass_canonical, chain, &found[0], &found[1]);
  if (chain) compile(&g, chain);
  ir_graph_free(&g);
}

/* Writes lists of numbers and of pairs as "(1,2),(3,4)". */
static void put_list(ir_text *out, const json_t *list) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *item = json_array_get(list, i);
    ir_text_str(out, i ? "," : "");
    if (!json_is_array(item)) {
      ir_textf(out, "%lld", (long long)json_integer_value(item));
      continue;
    }
    ir_textf(out, "(%lld,%lld)", (long long)json_integer_value(json_array_get(item, 0)),
             (long long)json_integer_value(json_array_get(item, 1)));
  }
}

static bool fold_line(const char *line, size_t length, const corpus_listener *listener) {
  json_t *chain = json_loadb(line, length, 0, NULL);
  const json_t *ops = json_object_get(chain, "ops");
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_text_str(&text, "f32[");
  put_list(&text, json_object_get(chain, "base"));
  ir_text_str(&text, "]");
  for (size_t i = 0; i < json_array_size(ops); i++) {
    const json_t *op = json_array_get(ops, i);
    ir_textf(&text, ".%s(", json_string_value(json_array_get(op, 0)));
    put_list(&text, json_array_get(op, 1));
    ir_text_str(&text, ")");
  }
  if (chain) fold(ir_text_get(&text), listener, true);
  bool read = chain != NULL;
  ir_text_free(&text);
  json_decref(chain);
  return read;
}

long corpus_fold(const char *path, const corpus_listener *listener) {
  FILE *in = fopen(path, "r");
  char *line = NULL;
  size_t cap = 0;
  long count = 0;
  if (!in) return -1;
  for (ssize_t n; (n = getline(&line, &cap, in)) >= 0;) count += fold_line(line, (size_t)n, listener);
  free(line);
  fclose(in);
  return count;
}

void random_chain_fold(uint64_t seed, uint64_t number, const corpus_listener *listener, bool whole) {
  model_chain c;
  char text[MODEL_TEXT];
  uint64_t state = seed * 0x9e3779b97f4a7c15u + number;
  model_random(&state, &c);
  model_print(&c, text);
  fold(text, listener, whole);
}
