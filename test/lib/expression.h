/* A reader and evaluator of printed index expressions that uses nothing of the library. */
#ifndef VIEWFOLD_TEST_EXPRESSION_H
#define VIEWFOLD_TEST_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

enum { EXPRESSION_CODE = 1 << 14, EXPRESSION_STACK = 256 };

/* Stack code: operands first. */
typedef struct expression {
  struct {
    int op;
    int64_t value; /* of a NUMBER: its value; of a RANGE: its axis; of a LOOK_UP: the number of entries */
  } code[EXPRESSION_CODE];
  int length;
} expression;

/* False when the text is not a fully parenthesised expression over ridx0.., n, integers and truth values. */
bool expression_read(expression *e, const char *text);
/* False on division by less than 1. Truth values are 0 and 1. */
bool expression_eval(const expression *e, const int64_t *ranges, int64_t n, int64_t *out);

#endif
