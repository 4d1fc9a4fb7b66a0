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
#include "frontend/machine/hosts.h"
#include "frontend/report/kernel_texts.h"

typedef struct show {
  cli_graph s;
  ir_target target;
  rt_module module;
  json_t *rules;   /* the rules that fired, by name */
  json_t *profile; /* that the page is to show, or NULL */
  fe_hosts hosts;  /* of the devices of meshes */
  int status;      /* exit status of the first stage that failed */
  bool failed;     /* memory ran out; the data is incomplete */
} show;

/* Making JSON: show_set, show_add and show_expression set s->failed when memory runs out. Bytes of a text
 * that is no UTF-8 become '?' where they are 0x80 or more. */
json_t *show_text(const char *bytes, size_t length);
void show_set(show *s, json_t *object, const char *key,
              json_t *value); /* takes ownership of value, as show_add does */
void show_add(show *s, json_t *list, json_t *value);
/* A value as it is, or, if it is long, as a string: its JSON compressed (RFC 1950), in base64. Takes
 * ownership.
 */
json_t *show_packed(show *s, json_t *value);
/* The text of the expression as a string. */
json_t *show_expression(show *s, const ir_graph *g, ir_ref expression);

/* listing.c */

typedef struct show_line {
  ir_ref node;
  uint32_t row;    /* line number in the listing, from 0 on; a parameter's is that of its graph */
  size_t from, to; /* in the text: `%1 = exp %0 : f32[2]`, or `%x: f32[2]` */
} show_line;

typedef struct show_block {
  ir_ref func;    /* 0: the graph itself, which comes last */
  uint32_t first; /* index in lines */
} show_block;

typedef struct show_listing {
  const ir_graph *g;
  ir_text text;
  show_line *lines;
  size_t count, line_cap;
  show_block *blocks;
  size_t block_count, block_cap;
  uint32_t *line_of; /* by ref: the last line of the node, and one; 0: none */
  size_t refs;
  size_t counted; /* bytes of the text that were looked at for ends of lines */
  uint32_t row;
} show_listing;

/* False when memory is short. Call show_listing_free in either case. */
bool show_listing_make(show_listing *listing, const ir_graph *g, const ir_parsed_graph *block);
void show_listing_free(show_listing *listing);

/* The words of a line, not terminated. A parameter has no operation. */
typedef struct show_words {
  const char *name, *operation, *type;
  size_t name_length, operation_length, type_length;
} show_words;
show_words show_words_of(const show_listing *listing, uint32_t line);

/* The lines of one block. */
typedef struct show_block_lines {
  uint32_t first, end;
  uint32_t *here; /* by ref: the line, and one, in this block */
} show_block_lines;
enum { SHOW_NO_LINE = UINT32_MAX };

/* The line of an operand; SHOW_NO_LINE where it has none, as literals have. */
uint32_t show_line_in(const show_block_lines *block, const ir_graph *g, ir_ref ref);
bool show_is_leaf(const ir_graph *g, ir_ref ref);
/* The statement of the user that asked for the node, the first one; 0: none is known. */
uint32_t show_statement_of(const show_listing *listing, ir_ref ref);

/* parts_data.c: adds to the data of a block:
 *   "order": its lines that are no leaves, operands first
 *   "parts": [[part around it or -1, from, end, class or -1], ..], where from and end are places in order
 *     (frontend/report/parts.h)
 *   "several": [[from, end, statement], ..] of statements of several operations */
void show_put_parts(show *s, const show_listing *listing, const show_block_lines *block, json_t *out);

/* Adds the listing to the data of a graph:
 *   "listing": its text
 *   "nodes": for each line [name, word, row, type, is it a leaf?, [lines of operands], [blocks of functions]]
 *   "words", "types": of the operations
 *   "blocks": {"first","end": lines; "order": those that are no leaves, operands first; "parts": [[part
 * around it or -1, from, end, class or -1], ..]}, where from and end are places in order
 * (frontend/report/parts.h) */
void show_put_listing(show *s, const show_listing *listing, json_t *out);

/* origins.c: [[text, bytes, [lines of the operations that it is for]], ..] of each kernel. */
json_t *show_kernel_rows(show *s, const show_listing *listing, const fe_kernel_texts *kernels);

/* The data of the page: of the graph called `name`, or of all graphs where name is NULL. NULL after a
 * message. */
json_t *show_data(show *s, const char *word, const char *name);
/* [{"buffer":{..},"steps":[..],"nodes":[..]}, ..]: the chains of views of a graph, each with its steps.
 * Chains of the same views of the same shapes are one, the first; nodes are the lines at which they end. */
json_t *show_chains(show *s, const show_listing *listing, ir_ref results);

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

/* mesh_data.c: {"axes":[[name, size],..],"count","devices":[names; none: no names are
 * given],"values":[{"name","kind": input, constant or result,"type","spec","shape","divided":[[[axis, m,
 * k],..] of each dimension],"pending"},..], "error"}; NULL where the file has no mesh. */
json_t *show_mesh(show *s, const ir_parsed_graph *block);

/* profile.c */
/* Reads a profile into s->profile. False after ir_fail. */
bool show_profile_read(show *s, const char *path, ir_error *error);
/* "times": nanoseconds by the number of the kernel, if the profile is of the graph. */
void show_put_profile(show *s, const ir_parsed_graph *block, size_t kernels, json_t *out);

/* The page around the data. */
bool show_page(const char *title, const json_t *data, ir_text *out);

#endif
