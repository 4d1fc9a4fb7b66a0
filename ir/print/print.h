/* The folder ir/print. The printer.
 *
 *   in      nodes, and names for some of them
 *   out     text that the parser reads
 *   holds   equal graphs have equal text; output is linear in the graph */

/* Printing beyond ir.h: blocks with the names of their source text, single lines for messages, and what the
 * printer's files share. Nothing recurses; output is linear in the graph. */
#ifndef VIEWFOLD_IR_PRINT_PRINT_H
#define VIEWFOLD_IR_PRINT_PRINT_H

#include "ir/parse/parse.h"

/* A parsed block with the names of its parameters and results kept. */
void ir_print_parsed(const ir_graph *graph, const ir_parsed_graph *block, ir_text *out);
/* A place in a listing: the line of a node, or a parameter, without indentation and newline; or, before the
 * parameters and lines of each graph, its first line: the node is the FUNC of a function, or 0. */
typedef void ir_print_place(void *user, ir_ref node, size_t from, size_t to);
/* The same for a tensor graph, with a call for each place, in the order of the text. */
void ir_print_parsed_places(const ir_graph *graph, const ir_parsed_graph *block, ir_print_place *place,
                            void *user, ir_text *out);
/* A tensor graph with given parameters (unused ones are listed too) and names of results. */
void ir_print_named(const ir_graph *graph, const char *name, size_t name_length, const ir_named *params,
                    size_t param_count, const ir_named *results, size_t result_count, ir_text *out);
/* The same of a block, with names of further values, by node; each name is one value's. */
void ir_print_with_names(const ir_graph *graph, const ir_parsed_graph *block, const ir_named *names,
                         size_t name_count, ir_text *out);
/* The line that defines `node` in the listing of root, without indentation and newline; the node's expression
 * if it has no line. */
void ir_print_line(const ir_graph *graph, ir_ref root, ir_ref node, ir_text *out);
/* The same for the listing of a parsed tensor graph, with its names. */
void ir_print_parsed_line(const ir_graph *graph, const ir_parsed_graph *block, ir_ref node, ir_text *out);

/* Inside kernels: is the node printed inside expressions, rather than on a line of its own? */
bool ir_is_expression(const ir_graph *graph, ir_ref ref);

/* Does another operand of n determine the dtype of this constant operand, so that a plain literal
 * suffices? */
bool ir_dtype_deduced(const ir_graph *graph, const ir_node *n, uint32_t operand);

/* shared by the files of ir/print/ */

enum {
  IR_PRINT_NAMED = 1,    /* has a line of its own */
  IR_PRINT_DECLARED = 2, /* a variable whose bounds have been printed */
  IR_PRINT_EXPR = 4,     /* appears inside expressions */
  IR_PRINT_OPERAND = 8,  /* appears as an operand or a result */
  IR_PRINT_TYPED = 16    /* a constant whose dtype some use does not determine: no plain literal there */
};
enum { IR_PRINT_INLINE = 64 }; /* a larger expression gets a line of its own */
#define IR_PRINT_RESULT 0x80000000u
#define IR_PRINT_PARAM  0x40000000u
#define IR_PRINT_LOCAL  0x20000000u

typedef struct ir_printer {
  const ir_graph *graph;
  ir_text *out;
  bool listing, kernel;
  bool python;     /* selections as `(a if c else b)` */
  size_t limit;    /* length of the tables, which are indexed by ref; 0: no tables */
  uint32_t *names; /* 0: none yet; number + 1, IR_PRINT_RESULT + index into results, IR_PRINT_PARAM + index,
                      IR_PRINT_LOCAL + index into locals */
  uint8_t *flags;
  uint32_t *sizes;                  /* of expressions: nodes as printed */
  const ir_named *results, *locals; /* locals: names of other values, by node */
  size_t local_count;
  uint32_t next_number;
  uint64_t *reserved; /* numbers that are names of parameters or results, ascending */
  size_t reserved_count, reserved_cap, reserved_at;
  size_t stop; /* length of the text at which expressions are truncated */
  struct ir_print_frame *frames;
  size_t frame_count, frame_cap;
  ir_ref *functions; /* in printing order; names[] holds the index + 1 */
  size_t function_count, function_cap;
  ir_text function_name; /* name of the graph, "_f", number */
  size_t function_stem;
  uint32_t *links; /* lists of RESULTs: for a CONTROL node its last RESULT, for a RESULT the one before it;
                      NULL: no functions */
  uint8_t *inside; /* is a node in some function? NULL: no functions */
  ir_ref focus;    /* the node whose line is wanted, and the extent of that line in the text */
  size_t focus_from, focus_to;
  ir_print_place *place; /* NULL: nobody asks for places */
  void *place_user;
} ir_printer;

/* Makes the tables for the nodes that the graph has now; graph and text must outlive the printer. False, and
 * out->failed, when memory is short. Call ir_printer_free in any case; it leaves the text alone. */
bool ir_printer_init(ir_printer *pr, const ir_graph *graph, ir_text *out);
void ir_printer_free(ir_printer *pr);
/* The functions ir_put_... append to the text, which is marked as failed when memory is short.
 *
 * An expression, in which nodes that have a name are printed as that. What is longer than a limit, or than
 * pr->stop, ends with `...`. */
void ir_put_expr(ir_printer *pr, ir_ref ref);
/* A name, a constant, or an expression in parentheses. deduced: the dtype of a constant is known from another
 * operand (ir_dtype_deduced), so that outside kernels it is a plain literal. */
void ir_put_operand(ir_printer *pr, ir_ref ref, bool deduced);
/* The dtype and, outside kernels, the batch sizes and the shape. */
void ir_put_type(ir_printer *pr, ir_ref ref);
void ir_put_dims(ir_printer *pr, ir_ref batch, const ir_ref *dims, uint32_t rank); /* batch 0: none */
void ir_put_statement(ir_printer *pr, ir_ref ref); /* `op operands attributes` */
void ir_put_number(ir_printer *pr, ir_ref ref);    /* assigns the next number and prints it as `%number` */
uint32_t ir_next_number(ir_printer *pr);           /* the next number that is no name */
/* The name of an input or of a node that has one in pr->names: `%` and its name or number, `%aN` for
 * parameter N of a function. */
void ir_put_name(ir_printer *pr, ir_ref ref);
/* Sets the size of an expression, and NAMED when it is too large to be part of another. */
void ir_measure(ir_printer *pr, ir_ref ref);
/* function.c */
/* The nodes of a block of a graph with functions, sources first, in the order of their lines. False when
 * memory is short. */
bool ir_list_nodes(ir_printer *pr, const ir_ref *roots, size_t n, ir_ref **nodes, size_t *count, size_t *cap);
/* Lists and names the functions of a graph with that name; a function comes after those that it calls. */
bool ir_list_functions(ir_printer *pr, const char *name, size_t name_length, const ir_ref *roots, size_t n);
void ir_put_function_name(ir_printer *pr, ir_ref func); /* @name_f0 */
void ir_link_results(ir_printer *pr, const ir_ref *nodes, size_t count);
/* `%0, %1`, and the types, of all results of a CONTROL or CUSTOM node, unused ones included */
void ir_put_result_names(ir_printer *pr, ir_ref control);
void ir_put_result_types(ir_printer *pr, ir_ref control);
void ir_put_kernel(ir_printer *pr, const char *name, size_t name_length, ir_ref root);

#endif
