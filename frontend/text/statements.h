/* Statements as users write them: lines of a text, calls of the C API, nodes of a model. The graph's causes
 * (ir/cause.h) say which nodes are for which statement. A statement takes 24 bytes.
 *
 * Without memory nothing is noted: messages and reports say less. */
#ifndef VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H
#define VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H

#include "ir/cause.h"

typedef struct fe_statement {
  const char *what; /* "conv", or all that is written: "conv %x, %w"; NULL: a name of one of the results of
                       statement `given` */
  ir_ref made;      /* its result, in the graph in which it was recorded: maybe a TUPLE, or 0 */
  uint32_t name;    /* its index in `names` and 1; 0: it has none */
  uint32_t place;   /* number of a file, and a line; 0: not known */
  uint32_t given;   /* its operands: FE_WRITTEN, FE_SOURCES + how many, or their place in `given` */
} fe_statement;
#define FE_WRITTEN UINT32_MAX          /* `what` has them */
#define FE_SOURCES ((uint32_t)1 << 31) /* the first sources of `made` */

typedef struct fe_statement_file {
  const char *given; /* the caller's pointer, for comparison alone */
  const char *text;  /* a name of the graph */
} fe_statement_file;

typedef struct fe_statements {
  ir_causes causes;
  fe_statement *list; /* by number; statement 0 is none */
  size_t count, cap;
  ir_ref *given; /* lists of operands: how many there are, then the first few */
  size_t given_count, given_cap;
  const char **names; /* names of the graph */
  size_t name_count, name_cap;
  fe_statement_file *files;
  size_t file_count, file_cap;
  const char *latest;     /* file of the latest place, */
  uint32_t latest_number; /* and its number in a place */
} fe_statements;
enum { FE_LINE_BITS = 20, FE_LINE_MOST = (1 << FE_LINE_BITS) - 1, FE_FEW_GIVEN = 4 };

/* Let the graph's causes be noted. Neither may move until fe_statements_free, which forgets everything. */
void fe_statements_open(fe_statements *statements, ir_graph *g);
void fe_statements_free(fe_statements *statements, ir_graph *g);

/* The next statement begins: nodes that are made from now on are parts of it. what is kept. Its number; 0:
 * none is noted. */
uint32_t fe_statements_begin(fe_statements *statements, ir_graph *g, const char *what);
/* Statement `number` has made this from operands, of which given[] has the first FE_FEW_GIVEN at most. May be
 * called for each of several results. */
void fe_statements_end(fe_statements *statements, ir_graph *g, uint32_t number, ir_ref made,
                       const ir_ref *given, uint32_t given_count);
void fe_statements_name(fe_statements *statements, ir_graph *g, ir_ref value, const char *name);
/* Statement `number`, which had a number only, is written like this, and has the result `made`, or several:
 * 0.
 */
void fe_statements_write(fe_statements *statements, ir_graph *g, uint32_t number, const char *text,
                         ir_ref made, const char *file, int line);
/* The name of the result of statement `number`, or of one of several. */
void fe_statements_name_result(fe_statements *statements, ir_graph *g, uint32_t number, ir_ref result,
                               const char *name);
void fe_statements_place_slowly(fe_statements *statements, ir_graph *g, uint32_t number, const char *file,
                                int line);
/* The file and line of a statement, if it has none. */
static inline void fe_statements_place(fe_statements *s, ir_graph *g, uint32_t number, const char *file,
                                       int line) {
  if (number >= s->count || s->list[number].place) return;
  if (file == s->latest && line >= 0 && line <= FE_LINE_MOST)
    s->list[number].place = s->latest_number | (uint32_t)line;
  else fe_statements_place_slowly(s, g, number, file, line);
}

/* The statement that the node is the result of, the latest where there are several, or else the one that it
 * is a part of; 0: none is known. The graph is the one in which statements were recorded or a copy. */
uint32_t fe_statements_of(const fe_statements *statements, const ir_graph *g, ir_ref node);
/* Is the node a result of that statement? */
bool fe_statements_result(const ir_graph *g, ir_ref node, uint32_t number);
/* The name of a value; NULL: none. */
const char *fe_statements_name_of(const fe_statements *statements, const ir_graph *g, ir_ref node);

/* The statement of which a statement is a result, or it itself. */
static inline uint32_t fe_statements_whole(const fe_statements *s, uint32_t number) {
  const fe_statement *at = &s->list[number];
  return !at->what && at->given ? at->given : number;
}

/* words; g is the graph in which the statements were recorded */
typedef struct fe_words {
  char text[200];
} fe_words;
/* "model.c:12"; "" where the place is not known. */
const char *fe_words_place(const fe_statements *statements, uint32_t number, fe_words *out);
/* "%scores", "0.5", "f32[2,3] of model.c:12": the name, or what else tells the value from others. */
const char *fe_words_value(const fe_statements *statements, ir_graph *g, ir_ref ref, fe_words *out);
/* Appends the statement without its name: "gather %emb, %tok axis=0". */
void fe_put_operation(const fe_statements *statements, ir_graph *g, uint32_t number, ir_text *out);
/* Appends the statement: "%c1 = conv %x, %w (line 7)", or "(model.c:12)" of a call. */
void fe_put_statement(const fe_statements *statements, ir_graph *g, uint32_t number, ir_text *out);

/* Must an index of this node be in range? Of some node of the graph? */
bool fe_statements_checks(const ir_graph *g, ir_ref node);
bool fe_statements_check_any(const ir_graph *g);
/* The statements of such nodes, or of all nodes with their names, for a copy of the graph, which outlives it;
 * map: by node, its copy. The copy has causes. */
void fe_statements_copy(fe_statements *to, ir_graph *copy, const fe_statements *from, ir_graph *g,
                        const ir_ref *map, bool all);

#endif
