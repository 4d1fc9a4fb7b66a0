/* Names that a text gives to values which are no results: those that the user gave, each once. */
#ifndef VIEWFOLD_FRONTEND_TEXT_NAMES_H
#define VIEWFOLD_FRONTEND_TEXT_NAMES_H

#include "frontend/text/statements.h"
#include "ir/parse/parse.h"

typedef struct fe_names {
  ir_named *list; /* by node */
  size_t count, cap;
} fe_names;

/* Names of what the block computes beside its results, for ir_print_with_names; equal ones, and those of
 * parameters and results, get a number: `h`, `h_1`. A number alone is no name: the text counts itself. False
 * when memory is short; to be freed in any case. */
bool fe_names_of(const fe_statements *statements, ir_graph *g, const ir_parsed_graph *block, fe_names *out);
void fe_names_free(const ir_mem *mem, fe_names *names);

#endif
