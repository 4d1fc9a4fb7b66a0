/* The folder frontend/cli/show. `viewfold show`.
 *
 *   in      a graph or a chain
 *   out     a page of HTML with its data
 *   holds   the program makes the data, the script draws it */

/* Declarations that the files of `viewfold show` share.
 *
 * The page is show.html with show.css, the scripts and the data, as JSON, in place of its markers. The script
 * draws the data. Only counts are numbers; sizes, strides and addresses are strings, because they have 64
 * bits and may be index expressions. */
#ifndef VIEWFOLD_FRONTEND_CLI_SHOW_SHOW_H
#define VIEWFOLD_FRONTEND_CLI_SHOW_SHOW_H

#include <jansson.h>

#include "frontend/cli/graph.h"

typedef struct show {
  cli_graph s;
  ir_target target;
  rt_module module;
  json_t *rules; /* the rules that fired, by name */
  int status;    /* exit status of the first stage that failed */
  bool failed;   /* memory ran out; the data is incomplete */
} show;

/* Making JSON: show_set, show_add and show_expression set s->failed when memory runs out. Bytes of a text
 * that is no UTF-8 become '?' where they are 0x80 or more. */
json_t *show_text(const char *bytes, size_t length);
void show_set(show *s, json_t *object, const char *key,
              json_t *value); /* takes ownership of value, as show_add does */
void show_add(show *s, json_t *list, json_t *value);
/* The text of the expression as a string. */
json_t *show_expression(show *s, const ir_graph *g, ir_ref expression);

/* The data of the page: of the graph called `name`, or of all graphs where name is NULL. NULL after a
 * message. */
json_t *show_data(show *s, const char *word, const char *name);
/* [{"buffer":{..},"steps":[..]}, ..]: the chains of views of a graph, each with its steps. */
json_t *show_chains(show *s, const ir_parsed_graph *block, ir_ref results);

/* Records the rewrites of g between begin and end, and adds them to `step`:
 * {"rewrites":[{"rule","before","after"},..],"more":count}. */
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
