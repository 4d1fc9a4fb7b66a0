/* The folder frontend/blame. Which operation a run failed at.
 *
 *   in      a graph, what it was run with, a failure of the runtime
 *   out     a message with the user's names
 *   holds   found by the reference evaluator, after the failure */

/* Which index was out of range: said after a run has failed with IR_ERR_RANGE, which kernels report by a flag
 * alone. */
#ifndef VIEWFOLD_FRONTEND_BLAME_BLAME_H
#define VIEWFOLD_FRONTEND_BLAME_BLAME_H

#include "frontend/text/statements.h"
#include "ir/eval/eval.h"

/* A graph as it was recorded, and what it was run with. */
typedef struct fe_blamed {
  const char *name; /* of the graph */
  ir_graph *graph;  /* has causes */
  const fe_statements *statements;
  const ir_ref *roots;
  size_t root_count;
  const ir_binding_input *inputs;
  size_t input_count;
  const ir_var_value *vars;
  size_t var_count;
} fe_blamed;

/* Replaces the error by one that names the statement, the index, where it stands, and the axis:
 *
 *   graph @pick: take %emb, %tok axis=0: %tok[3] is 30, but axis 0 of %emb has 30 elements; ...
 *
 * The reference evaluator finds it: in the whole graph if that is small, else among the indices that can be
 * computed with little work. Otherwise the error stays as it is, but names the statements that there are. */
void fe_blame_index(const fe_blamed *b, ir_error *error);
/* What is said of the statement that a node is of. */
typedef struct fe_blamed_statement {
  char text[300]; /* "take %emb, %tok axis=0"; "": it is not known */
  fe_words place; /* " (g.vf:3)", or "" */
  bool direct;    /* the node is its result */
} fe_blamed_statement;
enum { FE_BLAMED_WORD = 64 };
/* Operand `number` of the statement of which a node is the result, "%tok"; what has no name is `otherwise`.
 */
const char *fe_blame_operand(const fe_blamed_statement *s, int number, const char *otherwise,
                             char out[FE_BLAMED_WORD]);
void fe_blame_statement(const fe_blamed *b, ir_ref node, fe_blamed_statement *out);
/* The same of a fault that the evaluator found. */
void fe_blame_fault(const fe_blamed *b, const ir_eval_fault *fault, ir_error *error);

#endif
