/* Statements as users write them: lines of a text, calls of the C API, nodes of a model. The graph's causes
 * (ir/cause.h) say which nodes are for which statement. A statement takes 4 bytes; what it says and where it
 * is stand in its site, which all that one line of a program records share.
 *
 * Without memory nothing is noted: messages and reports say less. */
#ifndef VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H
#define VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H

#include "ir/cause.h"

/* The index of its site in `sites`, whether it has several results, and where its operands are. 0: none. */
typedef uint32_t fe_statement;

/* A name: of the result of a statement, or, further, of one of the results of statement `of`. */
typedef struct fe_statement_name {
  uint32_t number, of;
  const char *text;
} fe_statement_name;

/* What is recorded, and where. */
typedef struct fe_statement_site {
  const char *text; /* "conv"; of a text, all that is written: "conv %x, %w"; NULL: not known */
  uint32_t place;   /* of a file, and a line; 0: not known */
} fe_statement_site;

typedef struct fe_statement_file {
  const char *given; /* the caller's pointer, for comparison alone */
  const char *text;  /* a name of the graph */
} fe_statement_file;

#define FE_STATEMENT_AGAIN ((uint32_t)1 << 31) /* it is like an earlier one */
enum {
  FE_LINE_BITS = 20,
  FE_LINE_MOST = (1 << FE_LINE_BITS) - 1,
  FE_FEW_GIVEN = 4,
  FE_SITE_BITS = 20,
  FE_RECENT_BITS = 10, /* of ten sites, two share an entry in 1 of 23 programs; of 8 bits in 1 of 6 */
  FE_RECENT_SITES = 1 << FE_RECENT_BITS,
  FE_STATEMENT_BLOCK = 512 /* because 2 KB are cleared by vector stores, and more by a string instruction */
};
typedef struct fe_statements {
  ir_causes causes;
  fe_statement **blocks; /* by number, FE_STATEMENT_BLOCK in each; statement 0 is none */
  size_t block_count, block_cap;
  fe_statement *room;       /* the block of the latest statement, */
  uint32_t room_from;       /* and the number of its first */
  fe_statement_site *sites; /* 0: nothing is known */
  size_t site_count, site_cap;
  uint32_t *slots; /* a hash table of sites; 0: empty */
  size_t slot_count;
  uint32_t recent[FE_RECENT_SITES]; /* sites by their hash */
  /* The latest statement, whose site waits for its place. If its result was one of a statement with the same
   * words, `like`, it is noted, or forgotten, when the place is known. Fields that are stored together are
   * apart: the compiler would make one vector of them, which takes longer. */
  fe_statement *open_at;
  uint32_t open;         /* its number, perhaps with FE_STATEMENT_AGAIN; 0: none */
  uint32_t forgotten_at; /* the number of statements when one was last forgotten */
  const char *open_text;
  uint32_t like;
  uint32_t latest_number; /* of `latest` in a place */
  const char *latest;     /* file of the latest place */
  uint32_t like_place;    /* of `like` */
  uint32_t file_count;
  ir_ref again_made; /* the result */
  ir_ref *given;     /* operands that `made` does not tell: a statement, how many it has, the first few */
  size_t given_count, given_cap;
  fe_statement_name *names; /* by number */
  size_t name_count, name_cap;
  fe_statement_file *files;
  size_t file_cap;
} fe_statements;

/* Let the graph's causes be noted. Neither may move until fe_statements_free, which forgets everything. */
void fe_statements_open(fe_statements *statements, ir_graph *g);
void fe_statements_free(fe_statements *statements, ir_graph *g);

/* What follows does, with what is common in line. */
void fe_statements_end_any(fe_statements *statements, ir_graph *g, uint32_t number, const char *what,
                           ir_ref made, const ir_ref *given, uint32_t given_count);
void fe_statements_place_any(fe_statements *statements, ir_graph *g, uint32_t number, const char *file,
                             int line);
/* Where the operands are, if they can be told from the node: a statement without a site; 0: they cannot. */
/* What follows does where the result was there before. */
uint32_t fe_statements_end_made(fe_statements *statements, ir_graph *g, uint32_t number, const char *what,
                                ir_ref made, const ir_ref *given, uint32_t given_count);
uint32_t fe_statements_steps(const ir_graph *g, const ir_node *made, const ir_ref *given, uint32_t count);
static inline uint64_t fe_site_hash(const char *text, uint32_t place) {
  return ((uint64_t)(uintptr_t)text ^ (uint64_t)place << 32) * 0x9e3779b97f4a7c15u; /* 2^64 / phi */
}
/* Its entry in `recent`: words of neighbouring lines lie at whatever distance, so that a sum does. */
static inline uint32_t fe_site_recent(const char *text, uint32_t place) {
  return ((uint32_t)(uintptr_t)text + 9 * place) % FE_RECENT_SITES;
}

/* Is the node's operand 1 the float constant that became of the number, to the bit? */
static inline bool fe_is_number(const ir_graph *g, const ir_node *made, ir_ref number) {
  const ir_node *a = ir_get(g, made->src[1]), *b = ir_get(g, number);
  return a->arg == b->arg && a->op == IR_OP_CONST && b->op == IR_OP_CONST && b->weak && b->dtype == IR_F64 &&
         ir_is_float((ir_dtype)a->dtype);
}

/* Statement `number`, of ir_cause_next, has made this: an operation, whose name is kept as a pointer, of
 * operands, of which given[] has the first FE_FEW_GIVEN at most. May be called for each of several results.
 * Returns number; 0 where nothing is to be known of it, since a constant is one for all of its statements. */
static inline uint32_t fe_statements_end(fe_statements *s, ir_graph *g, uint32_t number, const char *what,
                                         ir_ref made, const ir_ref *given, uint32_t given_count) {
  if (!number || !made) return number;
  const ir_node *n = ir_get(g, made);
  ir_cause *cause = ir_cause_at(g, made);
  if (*cause != number) return fe_statements_end_made(s, g, number, what, made, given, given_count);
  if (!s->open && n->op != IR_OP_TUPLE && number - s->room_from < FE_STATEMENT_BLOCK) {
    fe_statement operands = given_count << FE_SITE_BITS;
    bool told =
        given_count == 0 ||
        (given_count <= n->nsrc && n->src[0] == given[0] &&
         (given_count == 1 || (given_count == 2 && (n->src[1] == given[1] || fe_is_number(g, n, given[1])))));
    if (told || (operands = fe_statements_steps(g, n, given, given_count)) != 0) { /* a first result */
      fe_statement *at = &s->room[number - s->room_from];
      *cause = number | IR_CAUSE_RESULT;
      *at |= operands;
      s->open = number;
      s->open_at = at;
      s->open_text = what;
      return number;
    }
  }
  fe_statements_end_any(s, g, number, what, made, given, given_count);
  return number;
}
void fe_statements_name(fe_statements *statements, ir_graph *g, ir_ref value, const char *name);
/* Statement `number`, which had a number only, is written like this, and has the result `made`, or several:
 * 0.
 */
void fe_statements_write(fe_statements *statements, ir_graph *g, uint32_t number, const char *text,
                         bool several, const char *file, int line);
/* The name of the result of statement `number`, or of one of several. */
void fe_statements_name_result(fe_statements *statements, ir_graph *g, uint32_t number, ir_ref result,
                               const char *name);
/* fe_statements_place where it is the latest statement, in the latest file, and the line has been one of that
 * operation lately. False: it has not been done. */
static inline bool fe_statements_place_known(fe_statements *s, uint32_t number, const char *file, int line) {
  if (!number || number != s->open || file != s->latest || (uint32_t)line >= FE_LINE_MOST) return false;
  uint32_t place = s->latest_number | (uint32_t)line, known = s->recent[fe_site_recent(s->open_text, place)];
  const fe_statement_site *site = &s->sites[known]; /* there is one where there is a latest file */
  if (site->text != s->open_text || site->place != place) return false;
  *s->open_at |= known;
  s->open = 0;
  return true;
}
/* fe_statements_place where it is the latest statement, in the latest file, and its result was one of that
 * line: it is forgotten. False: it has not been done. */
static inline bool fe_statements_place_again(fe_statements *s, ir_graph *g, uint32_t number, const char *file,
                                             int line) {
  if ((number | FE_STATEMENT_AGAIN) != s->open || file != s->latest ||
      (s->latest_number | (uint32_t)line) != s->like_place || (uint32_t)line >= FE_LINE_MOST)
    return false;
  ir_cause_unused(g, number);
  s->open = 0;
  s->forgotten_at = s->causes.statements;
  return true;
}
/* The file and line of a statement, if it has none. */
static inline void fe_statements_place(fe_statements *s, ir_graph *g, uint32_t number, const char *file,
                                       int line) {
  if (number && !fe_statements_place_known(s, number, file, line))
    fe_statements_place_any(s, g, number, file, line);
}

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
