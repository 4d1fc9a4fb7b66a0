/* Declarations that the files of `viewfold index` share. */
#ifndef VIEWFOLD_FRONTEND_CLI_INDEX_H
#define VIEWFOLD_FRONTEND_CLI_INDEX_H

#include <stdio.h>

#include "ir/ir.h"

bool cli_index_fold(ir_graph *g, ir_ref chain, bool raw, ir_ref *index,
                    ir_ref *valid);                                              /* false after an error */
bool cli_index_print(ir_graph *g, ir_ref expression, bool python, ir_text *out); /* whole, or an error */
/* JSON lines; the exit status */
int cli_index_json(FILE *in, FILE *out, bool raw, const ir_observer *observer);

#endif
