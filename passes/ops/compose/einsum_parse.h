/* Equations of einsum: "ij,jk->ik". */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_EINSUM_PARSE_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_EINSUM_PARSE_H

#include "impl.h"

enum {
  EINSUM_LETTERS = 52,                          /* A..Z, a..z, in ASCII order */
  EINSUM_LABELS = EINSUM_LETTERS + IR_MAX_RANK, /* then the axes of an ellipsis, aligned at the end */
  EINSUM_TERMS = 32 /* operands, as in NumPy; more are refused, with a message that says so */
};

typedef struct einsum_term {
  ir_ref x;                   /* the operand; 0: the result */
  uint8_t label[IR_MAX_RANK]; /* of each axis */
  uint32_t rank;
} einsum_term;

typedef struct einsum {
  einsum_term terms[EINSUM_TERMS];
  size_t count;
  einsum_term out;
} einsum;

/* Labels of the operands and of the result, one for each axis. False after failing. */
bool einsum_parse(ir_graph *g, const char *equation, size_t length, const ir_ref *x, size_t n, einsum *e);
/* `'i'`, or `...` of an ellipsis, for messages */
const char *einsum_label(uint8_t label, char text[4]);

#endif
