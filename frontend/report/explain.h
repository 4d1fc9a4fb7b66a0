/* The text of `viewfold index --explain`: the reasons for the form of an index. */
#ifndef VIEWFOLD_FRONTEND_REPORT_EXPLAIN_H
#define VIEWFOLD_FRONTEND_REPORT_EXPLAIN_H

#include "ir/ir.h"

/* Append the explanation of a chain of views: its views and why they did not merge, masks, divisions and
 * their cost, the loop axes that avoid divisions. index and valid: the expressions to which the chain folds.
 * False after an error. */
bool fe_explain_chain(ir_graph *g, ir_ref chain, ir_ref index, ir_ref valid, ir_text *out);

#endif
