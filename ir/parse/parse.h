/* The folder ir/parse. The parser.
 *
 *   in      text: graphs, kernels, index expressions
 *   out     nodes, and the names in the text
 *   holds   any bytes are accepted; errors are reported with line and column; printed text is read back as
 *           the same nodes */

/* The parser of text graphs, kernels and index expressions (docs/ir.md gives the grammar).
 *
 * Errors go to graph->error as `FILE:LINE:COL: error: what was wrong, found ..., expected ...`. Any bytes are
 * accepted as input; nothing recurses. Names are stored in the graph and stay valid as long as it does. */
#ifndef VIEWFOLD_IR_PARSE_PARSE_H
#define VIEWFOLD_IR_PARSE_PARSE_H

#include "ir/attr.h"
#include "ir/letters.h"
#include "ir/lex/lex.h"

/* How the parser makes nodes. */
typedef struct ir_builder {
  void *user;
  /* An index expression of a tensor graph, or of a caller's own text. n may exceed 2 for ADD, MUL, AND, OR,
   * written as a+b+c. The dtypes of the operands agree. */
  ir_ref (*expr)(void *user, ir_graph *graph, ir_op op, const ir_ref *src, uint32_t n);
  /* An operation of a tensor graph, by its name in the text; the callee resolves aliases and the number of
   * results. Several results are returned as a TUPLE node. 0 after ir_fail(graph->error, ...), to which the
   * parser adds line and column. The attribute value of `then=@f` is a GRAPH: the FUNC of graph f, the same
   * for each use. May be NULL when no graph is parsed. */
  ir_ref (*apply)(void *user, ir_graph *graph, const char *name, size_t name_length, const ir_ref *operands,
                  size_t operand_count, const ir_attr *attrs, size_t attr_count, int line, int column);
  /* Records what follows about an index expression of a kernel, which is the node that is written: its
   * bounds. NULL: nothing is recorded. */
  void (*learn)(void *user, ir_graph *graph, ir_ref node);
  /* Are two sizes proven equal for all values of their variables? NULL: only where they are one node, or have
   * one possible value. */
  bool (*same_size)(ir_graph *graph, ir_ref a, ir_ref b);
  /* Is there an operation of that name? NULL: not asked. */
  bool (*known)(ir_graph *graph, const char *name, size_t length);
  /* Appends the names of the attributes of an operation, for messages, or "none"; nothing where it is not
   * known. NULL: they are not said. */
  void (*put_attributes)(const char *name, size_t length, ir_text *out);
  /* What the results of an operation may be called, as in "%values, %indices"; NULL: any names do. NULL: not
   * asked. */
  const char *(*result_names)(const char *name, size_t length);
} ir_builder;
extern const ir_builder ir_builder_raw; /* expr is ir_make; the others are absent */
ir_ref ir_expr_raw(void *user, ir_graph *graph, ir_op op, const ir_ref *src, uint32_t n);

typedef struct ir_named {
  const char *name; /* NUL-terminated, without % */
  size_t length;
  ir_ref ref;
  bool
      reference; /* a parameter that is input and output at once; a result: its newest version, of its name */
} ir_named;

/* A value that a statement of a GRAPH names. Nodes floor..end-1 were made for the statement. */
typedef struct ir_defined {
  const char *name; /* without % */
  const char *text; /* of the statement behind `=`, without a type: "take %emb, %tok axis=0" */
  ir_ref ref, floor, end;
  int line;
  uint32_t statement; /* its number among the graph's causes; 0: there are none */
} ir_defined;

typedef enum ir_block_kind { IR_BLOCK_GRAPH, IR_BLOCK_KERNEL, IR_BLOCK_INDEX } ir_block_kind;

typedef struct ir_parsed_graph {
  ir_block_kind kind;
  const char *name; /* without @ */
  size_t name_length;
  ir_ref root; /* GRAPH: TUPLE of the results; KERNEL: the KERNEL node; INDEX: the effect */
  ir_named *params;
  size_t param_count, param_cap; /* in order of declaration; INPUT nodes, or PARAM nodes p0, p1, ... */
  ir_named *results;
  size_t result_count, result_cap; /* of a GRAPH; a literal result is named by its index, "0", "1", ... */
  ir_ref *vars;
  size_t var_count, var_cap; /* in order of declaration */
  ir_defined *values;
  size_t value_count, value_cap; /* of a GRAPH, in order; of one name the last is the newest version */
  int line, column;              /* of its name */
  bool called;                   /* a later graph calls it */
} ir_parsed_graph;

typedef struct ir_module {
  const ir_mem *mem;
  ir_parsed_graph *graphs;
  size_t count, cap;
} ir_module;

/* Parse a whole file of at most IR_TEXT_MOST bytes. On failure *module is empty. Free with ir_module_free in
 * any case. */
ir_status ir_parse_module(ir_graph *graph, const ir_builder *builder, const char *file, const char *text,
                          size_t length, ir_module *module);
void ir_module_free(ir_module *module);
/* The length of a statement that begins at text, without a type, a comment and spaces behind it. */
size_t ir_statement_length(const char *text, const char *end);
/* The newest value of that name; NULL: no statement of the graph names one. */
const ir_defined *ir_defined_find(const ir_parsed_graph *block, const char *name, size_t length);
const ir_parsed_graph *ir_module_find(const ir_module *module, const char *name); /* NULL when absent */

/* A parser for the caller's own texts, such as chain expressions: read signs and words from parser->lex, and
 * call the functions below at the first token of what they read; each stops at the first token that does not
 * belong to it. Variables stay declared until ir_parser_free. */
typedef struct ir_parser {
  ir_lexer lex;
  ir_graph *graph;
  const ir_builder *builder;
  struct ir_symbol *symbols; /* per interned name */
  size_t symbol_cap;
  uint32_t epoch;    /* symbols of earlier blocks are out of scope */
  int64_t own_name;  /* of the block that is read */
  ir_module *module; /* the blocks read so far; NULL: no file is read */
  ir_ref *vars;      /* in order of declaration */
  size_t var_count, var_cap;
  ir_ref *values; /* stacks of the expression parser */
  size_t value_count, value_cap;
  struct ir_operator *operators;
  size_t operator_count, operator_cap;
  ir_ref *operands; /* of the statement */
  size_t operand_count, operand_cap;
  ir_token operand;  /* the operand that was read last: its name, or the first token of another */
  ir_token *written; /* those of the statement */
  size_t written_cap;
  ir_attr *pool; /* list items being read */
  size_t pool_count, pool_cap;
  struct ir_parse_block *blocks; /* storage of the statement's attributes */
  char *bytes;
  size_t bytes_cap;
  ir_letters letters;    /* of the shape that was read last */
  bool about_attributes; /* the error is about attributes of the operation that is read */
  bool as_written;       /* a kernel is read: expressions are the nodes that are written */
  bool in_sizes;         /* an expression ends at a `|` outside parentheses */
} ir_parser;

/* Reads the first token of the text, which errors call `file`; text, file and builder must outlive the
 * parser. Returns the status of graph->error: not IR_OK where that token is bad, the text is longer than
 * IR_TEXT_MOST or an error was there before. Call ir_parser_free in any case. */
ir_status ir_parser_init(ir_parser *parser, ir_graph *graph, const ir_builder *builder, const char *file,
                         const char *text, size_t length);
/* Frees what the parser holds, attributes and lists included, and clears it; nodes and names stay in the
 * graph. The parser may be all zero. */
void ir_parser_free(ir_parser *parser);
/* `(n//4)+1`; variables are declared at their first use, as in `n=4..64:4`. 0 on failure. */
ir_ref ir_parse_expression(ir_parser *parser);
/* `f32[n=4..64:4,32]`: a data dtype and a TUPLE of sizes; letters of axes, as in `f32[b=8,c=3]`, are then in
 * parser->letters. *batch is the TUPLE of batch sizes, as in
 * `f32[8|n,32]`, or 0 without any. batch NULL: batch sizes are an error. */
bool ir_parse_type(ir_parser *parser, ir_dtype *dtype, ir_ref *batch, ir_ref *shape);
/* An attribute's value: expression, float, word, string or list. Lists stay valid until the next
 * ir_parse_release. */
bool ir_parse_value(ir_parser *parser, ir_attr *out);
/* The same of an attribute with that name, which may be one that takes a spec: to=[x,-]. */
bool ir_parse_value_of(ir_parser *parser, const ir_token *name, ir_attr *out);
void ir_parse_release(ir_parser *parser);
/* The dtype that is called so elsewhere, such as f32 for float32; NULL: none is. */
const char *ir_parse_dtype_meant(const char *name, size_t length);
/* May a size variable have this name? Names of numbers, truth values, dtypes and ranges are reserved. */
bool ir_variable_name_ok(const char *name, size_t length);

#endif
