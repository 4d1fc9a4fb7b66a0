/* What the files of the parser share. */
#ifndef VIEWFOLD_IR_PARSE_IMPL_H
#define VIEWFOLD_IR_PARSE_IMPL_H

#include "ir/parse/parse.h"

/* What a name means, by kind; each meaning counts only in the block whose epoch it bears. */
typedef struct ir_symbol {
  uint32_t value_epoch, var_epoch, range_epoch, graph_known; /* graph_known: number of the block + 1 */
  ir_ref value, var, range, func;                            /* func: of the block, when it has been called */
} ir_symbol;

/* An operator, parenthesis or call whose operands are still being read. */
typedef enum ir_pending { PENDING_INFIX, PENDING_PREFIX, PENDING_PAREN, PENDING_CALL } ir_pending;
typedef struct ir_operator {
  ir_pending kind;
  ir_op op;
  uint32_t operands; /* INFIX: complete so far, one more follows; CALL: commas seen */
  int line, column;
} ir_operator;

/* A literal as written, before its dtype is known. */
typedef struct ir_literal {
  enum { IR_LITERAL_INT, IR_LITERAL_FLOAT, IR_LITERAL_BOOL } kind;
  bool negative;
  uint64_t magnitude;
  double number;
  int line, column;
} ir_literal;

/* parse.c */
int64_t ir_parse_intern(ir_parser *p,
                        const ir_token *name); /* a name's id, its symbol made ready; -1: no memory */
bool ir_parse_name(ir_parser *p, int sigil, ir_token *name,
                   const char *wrong);                                  /* %name or @name, stepped over */
bool ir_parse_define(ir_parser *p, const ir_token *name, ir_ref value); /* %name; error when it exists */
ir_ref ir_parse_lookup(ir_parser *p, const ir_token *name);             /* %name; error when it does not */
bool ir_parse_memory(ir_parser *p);                                     /* report lack of memory; false */
void *ir_parse_keep(ir_parser *p, size_t size);                         /* until ir_parse_forget */
bool ir_parse_add_named(ir_parser *p, ir_named **list, size_t *count, size_t *cap, int64_t id, ir_ref ref);

bool ir_parse_statement_end(ir_parser *p);

/* function.c */
ir_ref ir_parse_function(ir_parser *p, const ir_token *name); /* the FUNC of the graph @name; 0 on failure */

/* literal.c */
bool ir_parse_at_literal(const ir_parser *p);
bool ir_parse_literal(ir_parser *p, ir_literal *out);
bool ir_literal_value(ir_parser *p, const ir_literal *literal, ir_dtype dtype, ir_value *out);
ir_ref ir_parse_weak(ir_parser *p); /* a literal operand of a graph */
ir_ref ir_parse_leaf(ir_parser *p,
                     const ir_token *op); /* const, data, buffer: after the name of the operation */
bool ir_parse_is_leaf(const ir_token *op);
bool ir_parse_key(ir_parser *p, const char *key); /* `key=`, stepped over */
bool ir_parse_dtype(ir_parser *p, ir_dtype *dtype);
bool ir_parse_int(ir_parser *p, int64_t *value, const char *wrong); /* with an optional minus */

/* expr.c */
ir_ref ir_parse_range_lookup(ir_parser *p, const ir_token *word);
bool ir_range_axis(const char *text, size_t length, int64_t *axis); /* ridxN */
/* `[7,5|10,3]`: batch sizes, where there are any, and the shape. batch is 0 without, and may be NULL where a
 * batch cannot be; unchecked, where not NULL: bits of sizes written `?`, in the order of the text. */
bool ir_parse_dims(ir_parser *p, ir_ref *batch, ir_ref *shape, uint64_t *unchecked);
bool ir_parse_declare(ir_parser *p, const ir_token *name, ir_ref var); /* a variable, of these bounds */
ir_op ir_op_find(const char *text, size_t length, uint32_t operands);  /* ERROR when there is none */
/* a dtype, index and truth values included */
ir_dtype ir_parse_dtype_word(const ir_token *word);

/* attr.c */
bool ir_parse_attributes(ir_parser *p, ir_attr **attrs, size_t *count, size_t *cap);
bool ir_parse_operand(ir_parser *p, ir_ref *out); /* %name, literal, (expression), f32(0.5) */
bool ir_parse_at_operand(const ir_parser *p);
bool ir_parse_operands(ir_parser *p); /* into p->operands */

/* kernel.c */
bool ir_parse_kernel(ir_parser *p, ir_parsed_graph *out);

#endif
