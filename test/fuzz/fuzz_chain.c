/* libFuzzer entry: any bytes are a chain expression or are refused with a position; every form of the chain
 * is computed without harm, and its printed text has a bounded length. */
#include "frontend/text/chain.h"
#include "frontend/views/access.h"
#include "frontend/views/textbook.h"
#include "frontend/views/view.h"
#include "passes/fold/fold.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool holds) {
  if (!holds) __builtin_trap();
}

static void print(const ir_graph *g, ir_ref expression) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_expr(g, expression, &text);
  check(text.len > 0 && text.len < 3u << 20);
  ir_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ir_error error = {0};
  ir_graph g;
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return 0;
  ir_ref node = fe_chain_parse(&g, "chain", (const char *)bytes, size), index, valid;
  check((node == 0) == (error.status != IR_OK));
  if (!node && error.status != IR_ERR_MEMORY) check(strncmp(error.text, "chain:", 6) == 0);
  const pass_arith *forms[] = {&pass_canonical, &pass_textbook};
  for (int i = 0; i < 2 && node; i++) {
    ir_error_clear(&error);
    if (!pass_access(&g, forms[i], node, &index, &valid)) continue;
    print(&g, index);
    print(&g, valid);
  }
  ir_error_clear(&error);
  if (node && !pass_has_gather(&g, node) && pass_fold_chain(&g, node, &index, &valid)) print(&g, index);
  pass_view_chain views = {.mem = &ir_mem_libc};
  ir_error_clear(&error);
  if (node) pass_view_chain_of(&g, node, &views);
  pass_view_chain_free(&views);
  ir_graph_free(&g);
  return 0;
}
