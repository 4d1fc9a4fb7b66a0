/* Declarations that the parser's files share. */
#ifndef VIEWFOLD_IR_PARSE_IMPL_H
#define VIEWFOLD_IR_PARSE_IMPL_H

#include "ir/parse/parse.h"

/* What a name means, by kind. A meaning is valid in the block whose epoch it has. */
typedef struct ir_symbol {
  uint32_t value_epoch, var_epoch, range_epoch, graph_known; /* graph_known: index of the block + 1 */
  ir_ref value, var, range, func; /* func: the block as a function, once it has been called */
  uint32_t reference_epoch;       /* of a value that may be defined again */
} ir_symbol;

/* An operator, parenthesis or call whose operands are still being read. */
typedef enum ir_pending { PENDING_INFIX, PENDING_PREFIX, PENDING_PAREN, PENDING_CALL } ir_pending;
typedef struct ir_operator {
  ir_pending kind;
  ir_op op;
  uint32_t operands; /* INFIX: operands read so far (one more follows); CALL: commas read */
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
/* The id of a name, whose symbol is initialised; -1 when memory is short. */
int64_t ir_parse_intern(ir_parser *p, const ir_token *name);
/* Reads %name or @name. */
bool ir_parse_name(ir_parser *p, int sigil, ir_token *name, const char *wrong);
bool ir_parse_define(ir_parser *p, const ir_token *name, ir_ref value); /* %name; an error if it exists */
ir_ref ir_parse_lookup(ir_parser *p, const ir_token *name); /* %name; an error if it does not exist */
bool ir_parse_memory(ir_parser *p);                         /* reports that memory is short; false */
void *ir_parse_alloc(ir_parser *p, size_t size);            /* allocates until ir_parse_release */
bool ir_parse_add_named(ir_parser *p, ir_named **list, size_t *count, size_t *cap, int64_t id, ir_ref ref);

/* False, with an error, unless the next token begins a line or is `}`. Reads no token. */
/* What is expected in place of a value of that name, which there is not: also where one by that name is. */
void ir_parse_say_defined(const ir_parser *p, const ir_token *name, bool is_graph, char *out, size_t size);
bool ir_parse_statement_end(ir_parser *p);
/* The same behind an operation's operands and attributes, before the operation is recorded: what is written
 * wrongly there says more than what the operation would lack. attributes: were there any? */
/* Does "->" stand in the word that begins at the token? What is expected then. */
bool ir_parse_in_equation(const ir_parser *p);
/* Fails where the token is a number as other languages write it: NaN. False: it is none. */
bool ir_parse_refuse_number(ir_parser *p);
#define IR_PARSE_EQUATION "quotes around it, as in equation=\"ij,jk->ik\""
/* Fails where neither a statement nor `return` begins. False. */
bool ir_parse_refuse_statement(ir_parser *p);
/* Behind the names of a statement. False, with an error, where what stands there is written elsewhere. */
bool ir_parse_at_assignment(ir_parser *p);
/* Marks the error, which was just reported, as one about attributes. False. */
static inline bool ir_parse_about_attributes(ir_parser *p, bool failed) {
  p->about_attributes = true;
  return failed;
}
/* Says behind a message about attributes which ones the operation has. */
void ir_parse_say_attributes(ir_parser *p, const ir_token *op);
/* Fails, at `at`, where a value or a graph is called as the operation is, of which there is none. */
bool ir_parse_refuse_no_operation(ir_parser *p, const ir_token *op, const ir_token *at);
/* What is wanted in place of the name of a symbol that has a value already, and what is wrong with what
 * stands where a graph ends: words of messages. */
const char *ir_parse_new_name(const ir_parser *p, const ir_symbol *s);
const char *ir_parse_behind_return(const ir_parser *p);
/* What is expected behind a parameter. */
const char *ir_parse_behind_parameter(const ir_parser *p);
/* Fails at `at`: the statement of the operation (empty: of a value) has another number of names than of
 * results. Attributes tell which graph they are of. */
typedef struct ir_name_count {
  size_t names;
  uint32_t results;
  bool references; /* are there further results, whose names are those of references? */
} ir_name_count;
bool ir_parse_refuse_names(ir_parser *p, const ir_token *at, const ir_token *op, const ir_attr *attrs,
                           size_t attr_count, ir_name_count n);
bool ir_parse_before_value(const ir_parser *p); /* does %NAME or @NAME stand behind the token? */
bool ir_parse_refuse_text(ir_parser *p);        /* fails at a text where an operand is expected. False. */
/* Behind `return` or a ',' there. False, with an error, where an operation stands. */
bool ir_parse_at_result(ir_parser *p);
bool ir_parse_after_attributes(ir_parser *p, bool attributes);

/* function.c */
/* The FUNC of the graph @name, and what it writes in *call. 0 after failing. */
ir_ref ir_parse_function(ir_parser *p, const ir_token *name, ir_attr *call);

/* reference.c: names of references, which their newest versions take */
/* Operands of a statement that are references, and that the functions it calls write, in order: the last
 * results are their newest versions. */
typedef struct ir_written {
  uint32_t *operands; /* of ir_parse_alloc */
  uint32_t count;
} ir_written;
/* Gives the name to a value. The name of a reference may have been given before, to a value of that type. */
bool ir_parse_name_value(ir_parser *p, const ir_token *name, ir_ref value);
/* Finds what the functions among the attributes write. False after an error: an operand that is no reference,
 * or one twice. */
bool ir_parse_written(ir_parser *p, const ir_attr *attrs, size_t count, ir_written *written);
/* Gives their names to the last results of `made`. */
bool ir_parse_name_written(ir_parser *p, const ir_written *written, ir_ref made);

/* parse.c */
/* Have both values one dtype, batch and shape? */
bool ir_parse_same_type(const ir_parser *p, ir_ref wanted, ir_ref actual);

/* literal.c */
/* May the next token begin a literal? */
bool ir_parse_at_literal(const ir_parser *p);
/* Reads a number, inf or nan after an optional minus, or a truth value. False after an error. */
bool ir_parse_literal(ir_parser *p, ir_literal *out);
/* The literal as a value of the dtype, rounded if that is a float. False, after an error at its place, where
 * it is of another kind or out of range. */
bool ir_literal_value(ir_parser *p, const ir_literal *literal, ir_dtype dtype, ir_value *out);
ir_ref ir_parse_weak(ir_parser *p);                     /* a literal operand of a graph */
ir_ref ir_parse_leaf(ir_parser *p, const ir_token *op); /* const, data, buffer: what follows the name */
/* Is it the name of an operation for ir_parse_leaf? */
bool ir_parse_is_leaf(const ir_token *op);
/* Reads a dtype that a tensor can have. False after an error. */
bool ir_parse_dtype(ir_parser *p, ir_dtype *dtype);
bool ir_parse_int(ir_parser *p, int64_t *value, const char *wrong); /* with an optional minus */

/* expr.c */
/* The range of an enclosing loop with that name, ridxN. 0 after an error. */
ir_ref ir_parse_range_lookup(ir_parser *p, const ir_token *word);
bool ir_range_axis(const char *text, size_t length, int64_t *axis); /* ridxN */
/* `[7,5|10,3]`: batch sizes, if any, and the shape. *batch is 0 without batch sizes; batch is NULL where
 * there cannot be any. *unchecked, unless NULL: the bits of the sizes written `?`, in the order of the
 * text. */
bool ir_parse_dims(ir_parser *p, ir_ref *batch, ir_ref *shape, uint64_t *unchecked);
bool ir_parse_declare(ir_parser *p, const ir_token *name, ir_ref var); /* a variable, with its bounds */
ir_op ir_op_find(const char *text, size_t length, uint32_t operands);  /* ERROR when there is none */
extern const char ir_parse_own_line[]; /* what is said where operations are nested */
/* Any dtype, index included; IR_NONE for `none` and for an unknown word. */
ir_dtype ir_parse_dtype_word(const ir_token *word);

/* attr.c */
/* Reads `name=value` as often as it stands there on this line, each name once, into an array of graph->mem
 * that grows and that the caller frees; its values are valid until ir_parse_release. False after an error. */
bool ir_parse_attributes(ir_parser *p, ir_attr **attrs, size_t *count, size_t *cap);
bool ir_parse_operand(ir_parser *p, ir_ref *out); /* %name, literal, (expression), f32(0.5) */
bool ir_parse_operands(ir_parser *p);             /* to p->operands */

/* sharding.c */
/* At `mesh`: reads `mesh @m [x=2,y=4]`, which is the mesh of the graph; the same again is no error. */
bool ir_parse_mesh(ir_parser *p);
/* At `[`: a spec, as the WORD of its text. */
bool ir_parse_spec_value(ir_parser *p, ir_attr *out);
/* Behind a type: reads `@m[x,-]`, if it is there, as the spec of the value. */
bool ir_parse_spec_of(ir_parser *p, ir_ref value);

/* kernel.c */
/* Reads a kernel from its `(` to its `}` into root and params of *out. False after an error; params are the
 * caller's to free in any case. */
bool ir_parse_kernel(ir_parser *p, ir_parsed_graph *out);

#endif
