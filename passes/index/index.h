/* The folder passes/index. Index algebra.
 *
 *   in      sizes, ranges, variables, and operations on them
 *   out     canonical nodes of dtype index and bool
 *   holds   the rules hold for mathematical integers; each call ends within a budget, with a simpler form
 *           or with the plain one */

/* Index arithmetic: builders that return canonical nodes.
 *
 * Every function simplifies as it builds (passes/index/rules/index.rules), so two expressions that the rules
 * can show to be equal are the same node, and building from canonical sources costs a few table look-ups.
 * Expressions are of dtype index (mathematical integers; floor division; divisors >= 1) or bool. Any source 0
 * gives 0.
 *
 * Canonical form. A sum is one n-ary ADD over distinct atoms, each alone or as MUL(atom, constant), sorted by
 * ref of the atom, with the constant term last; a product of non-constants is one n-ary MUL sorted by ref.
 * There is no SUB and no NEG. Comparisons are LT, GE, EQ and NE with the non-constant part on the left (all
 * terms moved left, the constant right). AND and OR are n-ary over distinct sorted clauses. */
#ifndef VIEWFOLD_PASSES_INDEX_INDEX_H
#define VIEWFOLD_PASSES_INDEX_INDEX_H

#include "ir/ir.h"

ir_ref pass_add(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_sub(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_mul(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_div(ir_graph *g, ir_ref a,
                ir_ref b); /* floor; b's lower bound must be >= 1, else 0 and an error */
ir_ref pass_mod(ir_graph *g, ir_ref a, ir_ref b); /* floor; likewise */
/* a modulo size, where quotient = a // size is at hand */
ir_ref pass_low_digit(ir_graph *g, ir_ref a, ir_ref size, ir_ref quotient);
ir_ref pass_min(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_max(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_compare(ir_graph *g, ir_op op, ir_ref a, ir_ref b); /* EQ NE LT LE GT GE on index */
ir_ref pass_and(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_both(ir_graph *g, ir_ref a,
                 ir_ref b); /* as pass_and, but only collected: pass_finalize_clauses is to come */
ir_ref pass_finalize_clauses(ir_graph *g, ir_ref a); /* the conjunction that pass_and would have given */
ir_ref pass_or(ir_graph *g, ir_ref a, ir_ref b);
ir_ref pass_not(ir_graph *g, ir_ref a);
ir_ref pass_where(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b); /* a and b of any one dtype */
ir_ref pass_add_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_mul_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_div_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_mod_int(ir_graph *g, ir_ref a, int64_t b);
ir_ref pass_ceil_div(ir_graph *g, ir_ref a, ir_ref b);

/* The node with new sources, through the canonical builders where it is index arithmetic or a bool
 * connective. */
ir_ref pass_rebuild(ir_graph *g, ir_ref node, const ir_ref *src, uint32_t nsrc);
/* Every node reachable from root rebuilt with from[i] replaced by to[i]; loops, and ranges of other extents
 * than numbers, stay the nodes that they are where they hold nothing of what is replaced. */
ir_ref pass_substitute(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n);
ir_ref pass_simplify(ir_graph *g, ir_ref root); /* substitute nothing: canonical form of any expression */
/* The same where what is older than `floor` is canonical already, which costs as much as what is newer. */
ir_ref pass_simplify_new(ir_graph *g, ir_ref root, uint32_t floor);
/* index simplified by what valid implies about its parts; only equal on valid lanes */
ir_ref pass_simplify_given(ir_graph *g, ir_ref index, ir_ref valid);

/* Reasoning about one expression is bounded (impl.h); so is that about all expressions of a pass
 * together: from here on the graph's index algebra may take its full effort again. Beyond it expressions stay
 * as written, which is always correct. */
void pass_index_begin(ir_graph *g);

/* Decided facts: true only when proven. */
bool pass_proves(ir_graph *g, ir_op op, ir_ref a, ir_ref b); /* EQ NE LT LE GT GE */
bool pass_divides(ir_graph *g, ir_ref divisor, ir_ref a);

#endif
