/* Statements that may fail in a run, as they were written: those that read or write at indices that must be
 * in range. */
#ifndef VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H
#define VIEWFOLD_FRONTEND_TEXT_STATEMENTS_H

#include "ir/ir.h"

typedef struct fe_statement {
  ir_ref node, made; /* its GATHER, SCATTER or SCATTER_ADD; what it makes, maybe of that: a composition */
  ir_op op;          /* of the node, */
  int64_t arg;       /* and its arg: they stay when the node is remade, in a function */
  bool direct;       /* the statement is that operation */
  const char *text,
      *place; /* names of the graph: "take %emb, %tok axis=0", "g.vf:3"; place NULL: not known */
} fe_statement;

typedef struct fe_statements {
  fe_statement *list;
  size_t count, cap;
  ir_ref seen; /* nodes below have been looked at */
} fe_statements;

/* Must an index of this node be in range? */
bool fe_statements_checks(const ir_graph *g, ir_ref node);
/* Are there such nodes from `floor` on that no statement is noted for? The caller then writes the statement,
 * of which `made` is the result, and adds it: for all of them. Without memory nothing is noted. */
bool fe_statements_any(fe_statements *s, const ir_graph *g, ir_ref floor);
void fe_statements_add(fe_statements *s, ir_graph *g, ir_ref floor, ir_ref made, const char *text,
                       size_t length, const char *place);
/* The same of a statement of another graph, whose node is `node` in this one; 0: it is not there. */
void fe_statements_copy(fe_statements *s, ir_graph *g, const fe_statement *from, ir_ref node);
/* The statement of the node, or the only one of such a node; NULL: none is known. */
const fe_statement *fe_statements_find(const fe_statements *s, const ir_graph *g, ir_ref node);
/* Forgets everything. */
void fe_statements_free(fe_statements *s, const ir_mem *mem);

#endif
