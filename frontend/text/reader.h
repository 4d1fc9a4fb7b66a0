/* The folder frontend/text. Text that users write.
 *
 *   in      graphs, chains of views, loop schedules, names
 *   out     graphs, choices for the compiler, the nearest known name
 *   holds   messages have line and column */

/* Text graphs from files and strings: the parser of ir/parse/parse.h with the operations of the registry
 * behind it.
 *
 * Messages are `FILE:LINE:COL: error: ...` for the text and `FILE: error: ...` for the file. */
#ifndef VIEWFOLD_FRONTEND_TEXT_READER_H
#define VIEWFOLD_FRONTEND_TEXT_READER_H

#include "frontend/text/statements.h"
#include "frontend/weights/weights.h"
#include "ir/parse/parse.h"

/* The builder of the parser: makes canonical index expressions and validated tensor operations. */
extern const ir_builder fe_builder;

/* Parse text graphs into g. Parameters obey the rules of op_input: sizes are not negative, and the number of
 * bytes does not overflow. On failure the reason is in g->error and *module is empty; free it with
 * ir_module_free in any case. */
ir_status fe_parse_graphs(ir_graph *g, const char *name, const char *text, size_t length, ir_module *module);

/* The same, with the constants of `data file="w.safetensors" name="encoder.weight"`, whose file is beside
 * that of the text (`name`), made by `weights`. Without it, the file is opened for its description alone.
 * statements, if not NULL, are those of g (fe_statements_open), and receive what is written. */
ir_status fe_parse_graphs_with(ir_graph *g, const char *name, const char *text, size_t length,
                               fe_weights *weights, fe_statements *statements, ir_module *module);

/* The same from a file; `-` is standard input. */
ir_status fe_read_graphs(ir_graph *g, const char *path, fe_statements *statements, ir_module *module);

#endif
