/* The folder frontend/cli/show. `viewfold show`.
 *
 *   in      a graph or a chain
 *   out     a page of HTML with its data
 *   holds   all computing is done here, all drawing by the script */

/* What the files of `viewfold show` share.
 *
 * The page is frontend/cli/show/show.html with frontend/cli/show/show.css, frontend/cli/show/show.js and the
 * data as JSON put in place. The data is made here, everything on the screen by the script. Numbers beyond a
 * count are strings: sizes, strides and addresses have 64 bits, and where they vary they are index
 * expressions. */
#ifndef VIEWFOLD_FRONTEND_CLI_SHOW_SHOW_H
#define VIEWFOLD_FRONTEND_CLI_SHOW_SHOW_H

#include <jansson.h>

#include "frontend/cli/graph.h"

typedef struct show {
  cli_graph s;
  ir_target target;
  rt_module module;
  json_t *rules; /* by name, those that fired */
  int status;    /* of stages that could not be made */
  bool failed;   /* memory ran out; the data is not whole */
} show;

/* JSON that notes when memory runs out. Bytes that are no UTF-8 become '?'. */
json_t *show_text(const char *bytes, size_t length);
void show_set(show *s, json_t *object, const char *key,
              json_t *value); /* takes the value, as show_add does */
void show_add(show *s, json_t *list, json_t *value);
/* As printed. */
json_t *show_expression(show *s, const ir_graph *g, ir_ref expression);

/* Everything that the page shows of the blocks: one when name is given, else all. NULL after a message. */
json_t *show_data(show *s, const char *word, const char *name);
/* [{"buffer":{..},"steps":[..]}, ..]: the chains of views of a graph, each with its steps. */
json_t *show_chains(show *s, const ir_parsed_graph *block, ir_ref results);

/* Rewrites as they happen: {"rewrites":[{"rule","before","after"},..],"more":count} is added to `step`. */
typedef struct show_watch {
  show *s;
  ir_observer observer;
  json_t *list;
  size_t printed, more;
} show_watch;
void show_watch_begin(show_watch *w, show *s, ir_graph *g);
void show_watch_end(show_watch *w, ir_graph *g, json_t *step);

/* The page around the data. */
bool show_page(const char *title, const json_t *data, ir_text *out);

#endif
