/* Attributes of an operation as written, before validation: a text graph or a chain expression passes them to
 * the operation registry. */
#ifndef VIEWFOLD_IR_ATTR_H
#define VIEWFOLD_IR_ATTR_H

#include "ir.h"

typedef enum ir_attr_kind {
  IR_ATTR_EXPR,
  IR_ATTR_FLOAT,
  IR_ATTR_WORD,
  IR_ATTR_LIST,
  IR_ATTR_GRAPH
} ir_attr_kind;

typedef struct ir_attr {
  const char *name; /* "order"; empty inside lists */
  size_t name_length;
  ir_attr_kind kind;
  ir_ref expr;      /* EXPR: an index expression; an integer literal is an index constant. GRAPH: a FUNC */
  double number;    /* FLOAT: a literal with a point, an exponent, inf or nan */
  const char *word; /* WORD: an identifier or string, true and false included; GRAPH: "@name" */
  size_t word_length;
  const struct ir_attr *items; /* LIST */
  size_t count;
  /* GRAPH: the parameters that are references and that it writes, ascending. The last results of the FUNC are
   * their newest versions. */
  const uint32_t *written;
  size_t written_count;
  int line, column;
} ir_attr;

/* Does a function among the attributes write this parameter? */
bool ir_attr_writes(const ir_attr *attrs, size_t count, uint32_t param);

/* Reads the next `name:kind` of an `attributes` column of ops.def. *at, initially the start of the column,
 * moves behind it. False at the end, or when either does not fit `size` bytes. */
bool ir_next_attribute(const char **at, char *name, char *kind, size_t size);

#endif
