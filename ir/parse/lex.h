/* Tokens of the text forms: graphs, kernels, chain expressions, index expressions.
 *
 * The lexer works on a byte string that need not end in NUL and may hold any bytes. It never looks further
 * than one token ahead. After an error the current token is END for ever and the error record holds
 * `FILE:LINE:COL: error: what was wrong, found ..., expected ...`; columns count bytes from 1. */
#ifndef VIEWFOLD_IR_PARSE_LEX_H
#define VIEWFOLD_IR_PARSE_LEX_H

#include "ir/base.h"

/* What one text may hold: its lines and columns are ints, and a node of a graph takes some 20 bytes of text
 * and 100 of memory. */
#define IR_TEXT_MOST ((size_t)1 << 30)

typedef enum ir_token_kind {
  IR_TOKEN_END,
  IR_TOKEN_WORD,   /* [A-Za-z_][A-Za-z0-9_]* */
  IR_TOKEN_INT,    /* 480, 0x1f; its magnitude, always without a sign */
  IR_TOKEN_FLOAT,  /* 0.5, 1e-3 */
  IR_TOKEN_STRING, /* "text"; text and length are what stands between the quotes, escapes not yet resolved */
  IR_TOKEN_SIGN,   /* ( ) + // .. and so on */
  IR_TOKEN_NAME    /* what follows % or @, made by ir_lex_name; the text is without them */
} ir_token_kind;

#define IR_SIGN2(a, b) ((a) | (b) << 8)

typedef struct ir_token {
  ir_token_kind kind;
  int sign;   /* of a SIGN: its character, or IR_SIGN2 of its two; of a NAME: '%' or '@' */
  bool first; /* on its line */
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
  bool by_line; /* the text read now must stay on one line: a missing part is reported at the line's end */
  ir_token token;
} ir_lexer;

/* Start and read the first token. file and text must outlive the lexer. */
void ir_lex_start(ir_lexer *lexer, ir_error *error, const char *file, const char *text, size_t length);
void ir_lex_next(ir_lexer *lexer);
/* The current token is the sign % or @: make it the NAME that follows without a space. False when none does.
 */
bool ir_lex_name(ir_lexer *lexer);
bool ir_lex_is(const ir_lexer *lexer, int sign);
bool ir_lex_is_word(const ir_lexer *lexer, const char *word);
bool ir_token_is(const ir_token *token, const char *word); /* a WORD of this spelling */
bool ir_lex_accept(ir_lexer *lexer, int sign);             /* step over it when it is there */
bool ir_lex_expect(ir_lexer *lexer, int sign, const char *wrong);
/* The current token is not what the grammar asks for. Always false. */
bool ir_lex_fail(ir_lexer *lexer, const char *wrong, const char *expected);
/* An error at a place, in the caller's words. Always false. */
bool ir_lex_fail_at(ir_lexer *lexer, int line, int column, const char *format, ...) IR_PRINTF(4, 5);
/* Put `FILE:LINE:COL: error: ` before the message that somebody else recorded since the lexer started. Always
 * false. */
bool ir_lex_blame(ir_lexer *lexer, int line, int column);
/* The text of a token with escapes resolved; out has room for token->length bytes. Returns the length. */
size_t ir_lex_unescape(const ir_token *token, char *out);
/* bytes as `name`, or as `"na\x20me"` where they are no plain name */
void ir_lex_print_name(ir_text *out, const char *bytes, size_t length);
void ir_lex_print_string(ir_text *out, const char *bytes, size_t length);

/* Numbers without regard to the locale. Printing gives the shortest text that reads back as the same value of
 * the dtype, with a point or an exponent so that it reads back as a float; `inf`, `nan`,
 * `nan(0x7ff8000000000001)`. */
bool ir_text_to_double(const char *text, size_t length,
                       double *value); /* false: longer than 1000 bytes, or too large */
void ir_print_double(ir_text *out, double value, ir_dtype dtype);
void ir_print_value(ir_text *out, ir_value value, ir_dtype dtype); /* a literal of any data dtype */

#endif
