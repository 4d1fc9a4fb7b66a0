/* The folder passes/index/extract. The cheapest form of index expressions.
 *
 *   in      canonical expressions
 *   out     equal ones that cost no more to compute, for printing
 *   holds   values are kept for all values of the variables */

/* The extracted form of index expressions: the cheapest expression by a cost table, made once at the end and
 * never fed back into the algebra (its nodes are not canonical).
 *
 * The roots, index and bool expressions, are taken together: a sub-expression that several of them use is
 * paid for once. The result has the value of the root wherever the root has one, for every value of its
 * ranges, variables and loads. */
#ifndef VIEWFOLD_PASSES_INDEX_EXTRACT_EXTRACT_H
#define VIEWFOLD_PASSES_INDEX_EXTRACT_EXTRACT_H

#include "ir/ir.h"

/* What one operation costs. power2: multiplication, division and remainder by a power of two; minus: the part
 * of a negation that a subtraction does not need, which decides between forms that cost the same otherwise.
 */
typedef struct pass_extract_costs {
  int add, mul, div, mod, power2_mul, power2_div, compare, choice, minus;
} pass_extract_costs;

extern const pass_extract_costs pass_print_costs;   /* fewest operations; a division counts as five */
extern const pass_extract_costs pass_machine_costs; /* of a vector unit without integer division */

/* Replace roots[0..count) by their extracted forms; those that would not become cheaper are left alone. Work
 * is bounded for any input. False when memory is short. */
bool pass_extract(ir_graph *g, const pass_extract_costs *costs, ir_ref *roots, uint32_t count);

#endif
