/* Private interface of the search for the cheapest access: forms that agree with an index on valid lanes, and
 * validities that are equal under the bounds of the variables, each proven before it is priced. */
#ifndef VIEWFOLD_PASSES_INDEX_EXTRACT_CHEAPEST_H
#define VIEWFOLD_PASSES_INDEX_EXTRACT_CHEAPEST_H

#include "extract.h"
#include "passes/index/impl.h"

/* Coefficients, divisors and bounds of forms that are rewritten: products of two fit an int64_t. */
enum { CHEAPEST_LARGEST = 1 << 30 /* squared: 2^60 */ };

/* An access as it was folded, and the cheapest form found so far. */
typedef struct cheapest_search {
  ir_graph *g;
  ir_ref index, valid;           /* canonical */
  ir_ref best_index, best_valid; /* extracted */
  int cost;                      /* of these two, in operations */
  uint32_t proofs;               /* that may still be tried */
} cheapest_search;

/* price.c: operations of the expressions together, each distinct node once, a division or remainder as five;
 * -1: more nodes than are counted. */
int extract_operations(const ir_graph *g, const ir_ref *roots, uint32_t count);
/* Operations of a linear form written out. */
int extract_form_operations(const pass_linear *form);

/* cheapest.c: extracts the pair and keeps it if it is cheaper. False when memory is short. */
bool cheapest_offer(cheapest_search *s, ir_ref index, ir_ref valid);
/* Keeps the pair, which is extracted, if it is cheaper and its canonical form is not dearer than folding's.
 */
bool cheapest_keep(cheapest_search *s, ir_ref index, ir_ref valid);
/* clauses.c: other clauses for the validity */
bool cheapest_clauses(cheapest_search *s);
/* quotients.c: other quotients and remainders for those in the index */
bool cheapest_quotients(cheapest_search *s);
/* canonical.c: the canonical form that a cheapest one was made from; 0 when memory is short */
ir_ref cheapest_canonical_index(ir_graph *g, ir_ref index, ir_ref valid);
ir_ref cheapest_canonical_validity(ir_graph *g, ir_ref valid);
/* cheapest.c: the interval of a form's values under b's facts, its ends moved inwards as far as few proofs
 * show. */
pass_interval cheapest_bounds(pass_build *b, const pass_linear *form);

#endif
