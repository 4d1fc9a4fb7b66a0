/* Programs of tests that do something with the first graph of a file. */
#ifndef VIEWFOLD_TEST_LIB_GRAPH_FILE_H
#define VIEWFOLD_TEST_LIB_GRAPH_FILE_H

#include "frontend/text/reader.h"

/* False after printing what is wrong or, where `path` is NULL, the usage. `option` is handed on. */
bool with_graph_file(const char *path, const char *usage,
                     bool (*use)(ir_graph *g, const ir_parsed_graph *graph, const char *option),
                     const char *option);

#endif
