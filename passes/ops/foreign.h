/* Names of other systems' operations, for messages: foreign.def. */
#ifndef VIEWFOLD_PASSES_OPS_FOREIGN_H
#define VIEWFOLD_PASSES_OPS_FOREIGN_H

#include "ir/ir.h"

/* Appends what to write in place of a name that op_apply does not know: how the operation of another system
 * by that name is written here, or the nearest names. */
void op_put_instead(const char *name, size_t length, ir_text *out);
/* Appends what an attribute of that operation is here, where one that it is written with has none by that
 * name: transB of gemm. */
void op_put_instead_attribute(const char *name, size_t length, const char *attr, size_t attr_length,
                              ir_text *out);
/* The one operation here that does it; NULL: there is none, or it takes several. */
const char *op_foreign_operation(const char *name, size_t length, size_t *bytes);
/* The names of a row of foreign.def, of which written or instead is NULL; NULL behind the last row. */
const char *op_foreign_row(size_t number, const char **written, const char **instead);

#endif
