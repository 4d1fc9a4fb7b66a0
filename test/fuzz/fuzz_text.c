/* libFuzzer entry: no bytes harm the reader of graphs and kernels; errors have a position; valid input prints
 * as text that parses back to the same node. */
#include "frontend/text/reader.h"
#include "ir/print/print.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool holds) {
  if (!holds) __builtin_trap();
}

static void round_trip(ir_graph *g, const ir_parsed_graph *block) {
  ir_error *error = g->error;
  int level = block->kind == IR_BLOCK_GRAPH ? IR_LEVEL_TENSOR : IR_LEVEL_LOOP;
  ir_text text, again;
  ir_module module;
  ir_text_init(&text, g->mem);
  ir_text_init(&again, g->mem);
  ir_print_parsed(g, block, &text);
  check(!text.failed);
  bool whole = !strstr(ir_text_get(&text), "..."); /* the printer shortens very large expressions */
  if (ir_verify(g, block->root, level, error) == IR_OK && whole) {
    ir_print_graph(g, "f", block->root, &again);
    check(ir_parse_module(g, &fe_builder, "again.vf", again.data, again.len, &module) == IR_OK);
    check(module.graphs[0].root == block->root || block->kind != IR_BLOCK_GRAPH);
    text.len = 0;
    ir_print_graph(g, "f", module.graphs[0].root, &text);
    check(strcmp(ir_text_get(&text), ir_text_get(&again)) == 0);
    ir_module_free(&module);
  }
  ir_error_clear(error);
  ir_text_free(&text);
  ir_text_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ir_error error = {0};
  ir_graph g;
  ir_module module;
  check(ir_graph_init(&g, &ir_mem_libc, &error) == IR_OK);
  ir_status status = ir_parse_module(&g, &fe_builder, "fuzz.vf", (const char *)bytes, size, &module);
  check(status == error.status);
  if (status != IR_OK) check(strncmp(error.text, "fuzz.vf:", 8) == 0 && strstr(error.text, ": error: "));
  for (size_t i = 0; i < module.count; i++) round_trip(&g, &module.graphs[i]);
  ir_module_free(&module);
  ir_graph_free(&g);
  return 0;
}
