/* Statements as users write them: lines of a text, calls of the C API, nodes of a model. The graph's causes
 * (ir/cause.h) say which nodes are for which statement. A statement takes 4 bytes, and 4 for its
 * place.
 *
 * Without memory nothing is noted: messages and reports say less. */
#ifndef VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H
#define VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H

#include "ir/cause.h"

/* The index of its text in `texts`, whether it has several results, and where its operands are. 0: none. */
typedef uint32_t fe_statement;

/* A name: of the result of a statement, or, further, of one of the results of statement `of`. */
typedef struct fe_statement_name {
  uint32_t number, of;
  const char *text;
} fe_statement_name;

typedef struct fe_statement_file {
  const char *given; /* the caller's pointer, for comparison alone */
  const char *text;  /* a name of the graph */
} fe_statement_file;

enum {
  FE_LINE_BITS = 20,
  FE_LINE_MOST = (1 << FE_LINE_BITS) - 1,
  FE_FEW_GIVEN = 4,
  FE_RECENT_TEXTS = 64,
  FE_STATEMENT_BLOCK = 4096
};
typedef struct fe_statements {
  ir_causes causes;
  fe_statement **blocks; /* by number, FE_STATEMENT_BLOCK in each; statement 0 is none */
  size_t block_count, block_cap;
  const char **texts; /* "conv"; of a text, all that is written: "conv %x, %w" */
  size_t text_count, text_cap;
  uint32_t recent[FE_RECENT_TEXTS]; /* indices in texts, by the pointer */
  ir_ref *given; /* operands that `made` does not tell: a statement, how many it has, the first few */
  size_t given_count, given_cap;
  fe_statement_name *names; /* by number */
  size_t name_count, name_cap;
  uint32_t *places; /* by number: of a file, and a line; 0: not known */
  size_t place_count, place_cap;
  fe_statement_file *files;
  size_t file_count, file_cap;
  const char *latest;     /* file of the latest place, */
  uint32_t latest_number; /* and its number in a place */
} fe_statements;

/* Let the graph's causes be noted. Neither may move until fe_statements_free, which forgets everything. */
void fe_statements_open(fe_statements *statements, ir_graph *g);
void fe_statements_free(fe_statements *statements, ir_graph *g);

/* Statement `number`, of ir_cause_next, has made this: an operation, whose name is kept as a pointer, of
 * operands, of which given[] has the first FE_FEW_GIVEN at most. May be called for each of several results.
 */
void fe_statements_end(fe_statements *statements, ir_graph *g, uint32_t number, const char *what, ir_ref made,
                       const ir_ref *given, uint32_t given_count);
void fe_statements_name(fe_statements *statements, ir_graph *g, ir_ref value, const char *name);
/* Statement `number`, which had a number only, is written like this, and has the result `made`, or several:
 * 0.
 */
void fe_statements_write(fe_statements *statements, ir_graph *g, uint32_t number, const char *text,
                         bool several, const char *file, int line);
/* The name of the result of statement `number`, or of one of several. */
void fe_statements_name_result(fe_statements *statements, ir_graph *g, uint32_t number, ir_ref result,
                               const char *name);
/* The file and line of a statement, if it has none. */
void fe_statements_place(fe_statements *statements, ir_graph *g, uint32_t number, const char *file, int line);

/* The statement that the node is the result of, the latest where there are several, or else the one that it
 * is a part of; 0: none is known. The graph is the one in which statements were recorded or a copy. */
uint32_t fe_statements_of(const ir_graph *g, ir_ref node);
/* The same; of a part that several statements share, the one of the first reader that has one. */
uint32_t fe_statements_first_of(const ir_graph *g, ir_ref node);
/* Is the node a result of that statement? */
bool fe_statements_result(const ir_graph *g, ir_ref node, uint32_t number);
/* The name of a value; NULL: none. */
const char *fe_statements_name_of(const fe_statements *statements, const ir_graph *g, ir_ref node);

/* The statement of which a statement is a result, or it itself. */
uint32_t fe_statements_whole(const fe_statements *statements, uint32_t number);
/* The name of a statement's result; NULL: it has none, or several results. */
const char *fe_statements_name_of_result(const fe_statements *statements, uint32_t number);

/* The line that it is on; 0: it is not known. */
uint32_t fe_statements_line(const fe_statements *statements, uint32_t number);

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
