/* Functions for subcommands that work on a graph: reading a file, choosing a graph of it, options,
 * messages. */
#ifndef VIEWFOLD_FRONTEND_CLI_GRAPH_H
#define VIEWFOLD_FRONTEND_CLI_GRAPH_H

#include "frontend/api/compile.h"
#include "frontend/api/taps.h"
#include "frontend/api/watch.h"
#include "frontend/text/statements.h"
#include "ir/parse/parse.h"

struct cli_pairs;

typedef struct cli_graph {
  const char *command; /* for messages */
  ir_error error;
  ir_graph g;
  ir_module module;               /* its names and nodes are in g */
  fe_statements own, *statements; /* of the text; of that, or of the model */
  struct cli_model *model;        /* that g is the graph of; NULL: it was read from text */
  fe_watch watch;                 /* observes the rewrites of compiling */
} cli_graph;

/* Read a file of text graphs (`-`: standard input), or an ONNX model (NAME.onnx). given: values of inputs, as
 * --in gives them, of which those that the importer asks for are used and removed; or NULL. A word that
 * begins with a dtype and `[` is a chain expression, which becomes `graph @chain(%x: ...)` with the result y.
 * trace: show rewrites. The exit status; not CLI_OK after a message. */
/* Refuses values of parameters where only the importer of models would take them. */
int cli_graph_no_values(const char *command, const char *word, const struct cli_pairs *given);
int cli_graph_open(cli_graph *s, const char *command, const char *word, bool trace, struct cli_pairs *given);
void cli_graph_close(cli_graph *s); /* also after a failure */
/* The graph called `name`, or the only one when name is NULL. NULL after a message. */
ir_parsed_graph *cli_graph_pick(cli_graph *s, const char *word, const char *name);
/* Its results as a TUPLE of tensors, literals among them with firm dtypes. 0 after a message. */
ir_ref cli_graph_results(cli_graph *s, const ir_parsed_graph *block);

/* Settings of code generation from the environment; by default a separate process generates code. The exit
 * status. */
int cli_compiling(const char *command, rt_compiling *how, bool *forbidden);

/* Options of a context as the environment sets them: VIEWFOLD_THREADS, VIEWFOLD_DEVICE, VIEWFOLD_COMPILE,
 * VIEWFOLD_DEBUG; a `threads` or a `device` that is not NULL overrides the variable. The exit status; not
 * CLI_OK after a message. */
int cli_context_options(const char *command, const char *threads, const char *device, rt_options *options);

/* The operations that show values while a graph runs; they print on standard error. */
fe_taps *cli_taps(void);

/* Print a failure. Returns its exit status. */
int cli_failure(const char *command, const ir_error *error);

/* model.c: a model as the only graph of s. */
bool cli_is_model(const char *word);
/* The error is in s->error. */
void cli_model_open(cli_graph *s, const char *path, struct cli_pairs *given);
void cli_model_close(cli_graph *s);
rt_context *cli_model_constants(const cli_graph *s); /* has the model's constants; NULL: there is no model */

#endif
