/* Why an index looks as it does, and why kernels are what they are: the texts of `viewfold index --explain`
 * and `viewfold explain`. */
#ifndef VIEWFOLD_FRONTEND_REPORT_EXPLAIN_H
#define VIEWFOLD_FRONTEND_REPORT_EXPLAIN_H

#include "ir/ir.h"

/* Append what became of a chain of views: its views and why they did not merge, masks, divisions and what
 * they cost, the loop axes that avoid them. index and valid: what the chain folds to. False after an error.
 */
bool fe_explain_chain(ir_graph *g, ir_ref chain, ir_ref index, ir_ref valid, ir_text *out);

#endif
