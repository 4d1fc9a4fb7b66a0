/* The folder ir/lex. Tokens of text.
 *
 *   in      any bytes
 *   out     names, numbers, strings and signs, one after the other; numbers and strings as text
 *   holds   errors are reported with line and column; what is printed reads back as the same value */

/* Tokens of the text forms: graphs, kernels, chain expressions, index expressions.
 *
 * The lexer works on a byte string that need not end in NUL and may contain any bytes, with one token of
 * lookahead. After an error the current token stays END, and the error record holds `FILE:LINE:COL: error:
 * what was wrong, found ..., expected ...`; columns count bytes from 1. */
#ifndef VIEWFOLD_IR_LEX_LEX_H
#define VIEWFOLD_IR_LEX_LEX_H

#include "ir/base.h"

/* The limit on the size of a text. Lines and columns are ints, and a node of a graph takes about 20 bytes of
 * text and 100 of memory. */
#define IR_TEXT_MOST ((size_t)1 << 30)

typedef enum ir_token_kind {
  IR_TOKEN_END,
  IR_TOKEN_WORD,   /* [A-Za-z_][A-Za-z0-9_]* */
  IR_TOKEN_INT,    /* 480, 0x1f; its magnitude, always without a sign */
  IR_TOKEN_FLOAT,  /* 0.5, 1e-3 */
  IR_TOKEN_STRING, /* "text"; text and length are those between the quotes, escapes not yet resolved */
  IR_TOKEN_SIGN,   /* ( ) + // .. and so on */
  IR_TOKEN_NAME    /* a name after % or @, made by ir_lex_name; text excludes the sign */
} ir_token_kind;

#define IR_SIGN2(a, b) ((a) | (b) << 8)

typedef struct ir_token {
  ir_token_kind kind;
  int sign;   /* SIGN: its character, or IR_SIGN2 of its two; NAME: '%' or '@' */
  bool first; /* the first token on its line */
  bool quoted;
  int line, column;
  const char *text;
  size_t length;
  uint64_t integer;
  double number;
} ir_token;

typedef struct ir_lexer {
  ir_error *error;
  const char *file, *text;
  size_t length, at;
  int line;
  size_t line_start;
  int end_line, end_column; /* just past the previous token */
  bool by_line; /* a statement must stay on one line: a missing token is reported at the end of the line */
  ir_token token;
} ir_lexer;

/* Start and read the first token. file and text must outlive the lexer. */
void ir_lex_start(ir_lexer *lexer, ir_error *error, const char *file, const char *text, size_t length);
void ir_lex_next(ir_lexer *lexer);
/* The current token is the sign % or @: replaces it by the NAME that follows without a space. False if none
 * does. */
bool ir_lex_name(ir_lexer *lexer);
bool ir_lex_is(const ir_lexer *lexer, int sign);
bool ir_lex_is_word(const ir_lexer *lexer, const char *word);
bool ir_token_is(const ir_token *token, const char *word); /* a WORD of this spelling */
bool ir_lex_accept(ir_lexer *lexer, int sign);             /* reads it if it is the current token */
bool ir_lex_expect(ir_lexer *lexer, int sign, const char *wrong);
/* Reports that the current token is not what the grammar requires. Always false. */
bool ir_lex_fail(ir_lexer *lexer, const char *wrong, const char *expected);
/* Reports an error at a position, in the caller's words. Always false. */
bool ir_lex_fail_at(ir_lexer *lexer, int line, int column, const char *format, ...) IR_PRINTF(4, 5);
/* Prefixes the message that was recorded since the lexer started with `FILE:LINE:COL: error: `. Always
 * false. */
bool ir_lex_prefix_error(ir_lexer *lexer, int line, int column);
/* The text of a token with escapes resolved; out has room for token->length bytes. Returns the length. */
size_t ir_lex_unescape(const ir_token *token, char *out);
/* bytes as `"na\x20me"` */
void ir_lex_print_string(ir_text *out, const char *bytes, size_t length);
/* bytes as `name`, or as `"na\x20me"` if they are not a plain name */
void ir_lex_print_name(ir_text *out, const char *bytes, size_t length);

/* Numbers, independent of the locale. Printing gives the shortest text that reads back as the same value of
 * the dtype, with a point or an exponent so that it reads back as a float; `inf`, `nan`,
 * `nan(0x7ff8000000000001)`. */
/* False if the text is longer than 1000 bytes, or the number too large. */
bool ir_text_to_double(const char *text, size_t length, double *value);
void ir_print_double(ir_text *out, double value, ir_dtype dtype);
void ir_print_value(ir_text *out, ir_value value, ir_dtype dtype); /* a literal of any data dtype */

#endif
