#include "test/lib/graph_file.h"

#include <stdio.h>

bool with_graph_file(const char *path, const char *usage,
                     bool (*use)(ir_graph *g, const ir_parsed_graph *graph, const char *option),
                     const char *option) {
  static char text[1 << 23];
  ir_graph g;
  ir_module module;
  ir_error error = {0};
  FILE *file = path ? fopen(path, "rb") : NULL;
  if (!file) return fprintf(stderr, "%s\n", usage) < 0;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  ir_graph_init(&g, &ir_mem_libc, &error);
  bool good = fe_parse_graphs(&g, path, text, length, &module) == IR_OK && use(&g, module.graphs, option);
  if (!good) fprintf(stderr, "%s\n", error.text);
  ir_module_free(&module);
  ir_graph_free(&g);
  return good;
}
