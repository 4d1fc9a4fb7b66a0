/* Functions for subcommands that work on a graph: reading a file, choosing a graph of it, options,
 * messages. */
#ifndef VIEWFOLD_FRONTEND_CLI_GRAPH_H
#define VIEWFOLD_FRONTEND_CLI_GRAPH_H

#include "frontend/api/compile.h"
#include "frontend/api/watch.h"
#include "ir/parse/parse.h"

typedef struct cli_graph {
  const char *command; /* for messages */
  ir_error error;
  ir_graph g;
  ir_module module; /* its names and nodes are in g */
  fe_watch watch;   /* observes the rewrites of compiling */
} cli_graph;

/* Read a file of text graphs (`-`: standard input). A word that begins with a dtype and `[` is a chain
 * expression, which becomes `graph @chain(%x: ...)` with the result y. trace: show rewrites. The exit status;
 * not CLI_OK after a message. */
int cli_graph_open(cli_graph *s, const char *command, const char *word, bool trace);
void cli_graph_close(cli_graph *s); /* also after a failure */
/* The graph called `name`, or the only one when name is NULL. NULL after a message. */
const ir_parsed_graph *cli_graph_pick(const cli_graph *s, const char *word, const char *name);
/* Its results as a TUPLE of tensors, literals among them with firm dtypes. 0 after a message. */
ir_ref cli_graph_results(cli_graph *s, const ir_parsed_graph *block);

/* Settings of code generation from the environment; by default a separate process generates code. The exit
 * status. */
int cli_compiling(const char *command, rt_compiling *how, bool *forbidden);

/* Options of a context as the environment sets them: VIEWFOLD_THREADS, VIEWFOLD_DEVICE, VIEWFOLD_COMPILE,
 * VIEWFOLD_DEBUG; a `threads` or a `device` that is not NULL overrides the variable. The exit status; not
 * CLI_OK after a message. */
int cli_context_options(const char *command, const char *threads, const char *device, rt_options *options);

/* Print a failure. Returns its exit status. */
int cli_failure(const char *command, const ir_error *error);

#endif
