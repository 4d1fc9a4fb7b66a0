/* The folder passes/index. Index algebra.
 *
 *   in      sizes, ranges, variables, and operations on them
 *   out     canonical nodes of dtype index and bool
 *   holds   rules are exact on mathematical integers; each call ends within a budget and returns a simpler
 *           form or the expression as written */

/* Index arithmetic: builders that return canonical nodes.
 *
 * Every function simplifies as it builds (passes/index/rules/index.rules), so two expressions that the rules
 * can show to be equal are the same node, and building from canonical sources costs a few table look-ups.
 * Expressions are of dtype index (mathematical integers; floor division; divisors >= 1) or bool. A source of
 * 0 (a failed operand) gives 0.
 *
 * Canonical form. A sum is one n-ary ADD over distinct atoms, each alone or as MUL(atom, constant), sorted by
 * ref of the atom, with the constant term last; a product of non-constants is one n-ary MUL sorted by ref.
 * There is no SUB and no NEG. Comparisons are LT, GE, EQ and NE with all non-constant terms on the left and
 * the constant on the right. AND and OR are n-ary over distinct sorted clauses. */
#ifndef VIEWFOLD_PASSES_INDEX_INDEX_H
#define VIEWFOLD_PASSES_INDEX_INDEX_H

#include "ir/ir.h"

/* a + b, a - b and a * b. Like every function here they give 0 when memory is short. */
ir_ref pass_add(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_sub(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_mul(ir_graph *g, ir_ref a, ir_ref b);
/* Floor division; b's lower bound must be >= 1, otherwise an error is set and the result is 0. */
ir_ref pass_div(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_mod(ir_graph *g, ir_ref a, ir_ref b); /* floor; b as for pass_div */
/* a % size, given quotient = a // size */
ir_ref pass_mod_given_quotient(ir_graph *g, ir_ref a, ir_ref size, ir_ref quotient);
ir_ref pass_min(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_max(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_compare(ir_graph *g, ir_op op, ir_ref a, ir_ref b); /* EQ NE LT LE GT GE on index */
ir_ref pass_and(ir_graph *g, ir_ref a, ir_ref b);
/* As pass_and, but clauses are only collected, one interval per expression; pass_finalize_clauses has to
 * follow. */
ir_ref pass_and_deferred(ir_graph *g, ir_ref a, ir_ref b);
/* For a conjunction made by pass_and_deferred: what pass_and would have returned. */
ir_ref pass_finalize_clauses(ir_graph *g, ir_ref a);
ir_ref pass_or(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_not(ir_graph *g, ir_ref a);
/* a and b: any dtype, the same for both. */
ir_ref pass_where(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b);
ir_ref pass_add_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_mul_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_div_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_mod_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_ceil_div(ir_graph *g, ir_ref a, ir_ref b);

/* The node with new sources, through the canonical builders where it is index arithmetic or a bool
 * connective. */
ir_ref pass_rebuild(ir_graph *g, ir_ref node, const ir_ref *src, uint32_t nsrc);
/* root with from[i] replaced by to[i]. What contains a replaced node is simplified, and what has quotients
 * too, since more may be known of a range by now: for passes whose result is printed or compared. A LOOP, or
 * a RANGE or PARAM whose extent is not a constant, stays the same node unless it contains a replaced node. */
ir_ref pass_substitute(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n);
/* The same; what contains no replaced node is not looked at again, nor simplified: for passes that put terms
 * of loops in place of a range, many times in a kernel that is simplified already. */
ir_ref pass_substitute_alone(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n);
/* The same where to[i] equals from[i] under a condition alone: loads and tests of ranges inside of root stay,
 * since they are carried out where it does not hold, too. */
ir_ref pass_substitute_valid(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n);
ir_ref pass_simplify(ir_graph *g, ir_ref root); /* substitute nothing: canonical form of any expression */
/* As pass_simplify, where all nodes with refs below `floor` are canonical already; time is proportional to
 * root - floor. */
ir_ref pass_simplify_new(ir_graph *g, ir_ref root, uint32_t floor);
/* Elements between what two indices of the range that follow each other give: a number, or the most where
 * that varies by less than half; false: it is not known. */
bool pass_about_stride(ir_graph *g, ir_ref index, ir_ref range, int64_t *elements);
/* index simplified by the facts that valid implies about its operands; the result equals index only where
 * valid holds */
ir_ref pass_simplify_given(ir_graph *g, ir_ref index, ir_ref valid);

/* Resets the budget of the graph's index algebra. The work of one call is bounded (impl.h), and so is the
 * work of all calls since the last pass_index_begin. Once the budget is exhausted expressions stay as
 * written, which is always correct. */
void pass_index_begin(ir_graph *g);

/* Decided facts: true only where proven. */
bool pass_proves(ir_graph *g, ir_op op, ir_ref a, ir_ref b); /* EQ NE LT LE GT GE */
bool pass_divides(ir_graph *g, ir_ref divisor, ir_ref a);

#endif
