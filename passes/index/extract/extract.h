/* The folder passes/index/extract. The cheapest form of index expressions.
 *
 *   in      canonical expressions
 *   out     equal expressions that cost no more to compute; they are not canonical
 *   holds   values are the same for all values of the variables */

/* The extracted form of index expressions: the cheapest expression by a cost table, made once at the end and
 * never fed back into the algebra (its nodes are not canonical).
 *
 * The roots, index and bool expressions, are priced together: a common sub-expression is counted once. The
 * result has the value of the root wherever the root has one, for every value of its ranges, variables and
 * loads. */
#ifndef VIEWFOLD_PASSES_INDEX_EXTRACT_EXTRACT_H
#define VIEWFOLD_PASSES_INDEX_EXTRACT_EXTRACT_H

#include "ir/ir.h"

/* Cost of one operation. power2: multiplication, division and remainder by a power of two; minus: the extra
 * cost of a negation over a subtraction, which decides between forms of otherwise equal cost. */
typedef struct pass_extract_costs {
  int add, mul, div, mod, power2_mul, power2_div, compare, choice, minus;
} pass_extract_costs;

extern const pass_extract_costs pass_print_costs;   /* fewest operations; a division counts as five */
extern const pass_extract_costs pass_machine_costs; /* of a vector unit without integer division */

/* Replaces roots[0..count) by their extracted forms, unless these are not cheaper. Work is bounded for any
 * input. False when memory is short. */
bool pass_extract(ir_graph *g, const pass_extract_costs *costs, ir_ref *roots, uint32_t count);

/* Replaces the index and the validity of an access by the cheapest pair that is found, priced by
 * pass_print_costs: the validity has the same value everywhere, the index where the validity holds. Both are
 * given in canonical form. False when memory is short. */
bool pass_extract_access(ir_graph *g, ir_ref *index, ir_ref *valid);
/* Back from there: the canonical form of an access. False when memory is short. */
bool pass_canonical_access(ir_graph *g, ir_ref *index, ir_ref *valid);

/* Accesses of a graph whose forms were found before (known.c). Begins as {0}. */
typedef struct pass_known_access {
  ir_ref index, valid, index_to, valid_to; /* index 0: none */
} pass_known_access;
typedef struct pass_access_table {
  pass_known_access *entries;
  uint32_t cap, kept; /* kept: how often an answer was */
} pass_access_table;
typedef struct pass_known_accesses {
  pass_access_table extracted, canonical;
} pass_known_accesses;
void pass_known_accesses_free(const ir_mem *mem, pass_known_accesses *known);

/* The kernel with each load in that form; and with each load back in canonical form, which loops are made
 * from. Both look up and keep what is known; known may be NULL. 0 on failure. */
ir_ref pass_extract_kernel(ir_graph *g, ir_ref root, pass_known_accesses *known);
ir_ref pass_canonical_kernel(ir_graph *g, ir_ref root, pass_known_accesses *known);

#endif
