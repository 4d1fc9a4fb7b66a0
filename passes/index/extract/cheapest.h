/* Private interface of the search for the cheapest access: forms that agree with an index on valid lanes, and
 * validities that are equal under the bounds of the variables, each proven before it is priced. */
#ifndef VIEWFOLD_PASSES_INDEX_EXTRACT_CHEAPEST_H
#define VIEWFOLD_PASSES_INDEX_EXTRACT_CHEAPEST_H

#include "extract.h"
#include "passes/index/impl.h"

/* Coefficients, divisors and bounds of forms that are rewritten: products of two fit an int64_t. */
enum { CHEAPEST_LARGEST = 1 << 30 /* squared: 2^60 */ };
/* No value is known to be taken. */
#define CHEAPEST_NONE_TAKEN ((pass_interval){INT64_MAX, INT64_MIN})
enum { CHEAPEST_NEAR = 4 };    /* divisors on either side of one that are tried for it [1 in tests] */
enum { CHEAPEST_CLAUSES = 8 }; /* of a validity that gets others [5 in tests] */

typedef struct access_samples access_samples;

/* The clauses of a conjunction: those of a validity, and two bounds more. */
typedef struct clause_list {
  uint32_t count;
  ir_ref clause[CHEAPEST_CLAUSES + 2];
} clause_list;

/* An access as it was folded, and the cheapest form found so far. */
typedef struct cheapest_search {
  ir_graph *g;
  ir_ref index, valid;           /* canonical */
  ir_ref best_index, best_valid; /* extracted */
  ir_ref home;                   /* canonical form that the index leads back to; 0: not asked yet */
  ir_ref implied;                /* the validity, or one that is equal and says more of sums */
  int cost;                      /* of the best two together, in operations */
  int apart;                     /* of each alone, added */
  uint32_t proofs;               /* that may still be tried */
  access_samples *samples;       /* of the access as it was folded; NULL: none */
  uint64_t sampled_valid;        /* of these, where it is valid */
} cheapest_search;

/* price.c: operations of the expressions together, each distinct node once, a division or remainder as five;
 * -1: more nodes than are counted. */
int extract_operations(const ir_graph *g, const ir_ref *roots, uint32_t count);
/* Operations of a linear form written out. */
int extract_form_operations(const pass_linear *form);

/* cheapest.c: extracts the pair and keeps it if it is cheaper. False when memory is short. */
bool cheapest_offer(cheapest_search *s, ir_ref index, ir_ref valid);
/* Keeps the pair, which is extracted, if it is cheaper, or as cheap and its parts alone are, and its
 * canonical form is not dearer than folding's. */
bool cheapest_keep(cheapest_search *s, ir_ref index, ir_ref valid);
/* clauses.c: other clauses for the validity */
bool cheapest_clauses(cheapest_search *s);
/* False: more clauses than are tried, or none. */
bool clauses_read(const ir_graph *g, ir_ref valid, clause_list *out);
ir_ref clauses_join(ir_graph *g, const clause_list *in); /* 0 when memory is short */
/* value_set.c: clauses about one sum by the values at which they hold; and the condition on a remainder that
 * such a validity was made from, or what is given. Both 0 or false when memory is short. */
bool cheapest_values(cheapest_search *s);
ir_ref cheapest_periodic(ir_graph *g, ir_ref valid);
/* The form and the interval that a comparison with a constant leaves it; false: the clause is no such one. */
bool cheapest_bound_of(const ir_graph *g, ir_ref clause, pass_linear *form, pass_interval *in);
/* samples.c: an access at some points; NULL where it has operations that are not evaluated, or where memory
 * is short: nothing is known then, and every question below is answered that way. */
access_samples *cheapest_samples(ir_graph *g, ir_ref index, ir_ref valid, uint64_t *where_valid);
void cheapest_samples_free(ir_graph *g, access_samples *samples);
/* The points, as a mask, at which the form's value lies in an interval; 0 where its values are not known. */
uint64_t cheapest_sampled(const access_samples *samples, const pass_linear *form, pass_interval in);
/* The smallest interval with the form's values at these points; false where that is not known. */
bool cheapest_sampled_interval(const access_samples *samples, const pass_linear *form, uint64_t at,
                               pass_interval *out);
/* The interval of a form's values at all points that b's facts allow; false where these are too many. */
bool cheapest_every_point(pass_build *b, const pass_linear *form, pass_interval *out);
/* quotients.c: other quotients and remainders for those in the index */
bool cheapest_quotients(cheapest_search *s);
/* canonical.c: the canonical form that a cheapest one was made from; 0 when memory is short */
ir_ref cheapest_canonical_index(ir_graph *g, ir_ref index, ir_ref valid);
ir_ref cheapest_canonical_validity(ir_graph *g, ir_ref valid);
/* Is n//d == other//by for all values of their terms? Answered where these are few; other has the terms of n.
 */
bool cheapest_same_quotient(pass_build *b, const pass_linear *n, int64_t d, const pass_linear *other,
                            int64_t by);
/* Is `canonical`, which folding has made, this form of the validity? Decided clause by clause: false may also
 * mean that it is not known. */
bool cheapest_is_canonical(ir_graph *g, ir_ref valid, ir_ref canonical);
/* cheapest.c: the interval of a form's values under b's facts, its ends moved inwards as far as few proofs
 * show. taken: an interval of which the form takes both ends where the facts hold, or CHEAPEST_NONE_TAKEN.
 * Ends that differ by `most` or more whatever is shown stay where they are. */
pass_interval cheapest_bounds(pass_build *b, const pass_linear *form, pass_interval taken, int64_t most);

/* known.c: replaces index and validity by what the table has for them; false where that is nothing. */
bool access_known(const pass_access_table *table, ir_ref *index, ir_ref *valid);
/* Keeps an answer until another takes its place; none is kept where memory is short. */
void access_keep(const ir_mem *mem, pass_access_table *table, pass_known_access access);

#endif
