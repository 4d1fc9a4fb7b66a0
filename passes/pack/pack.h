/* The folder passes/pack. Packing.
 *
 *   in      contractions whose operands lie badly for their register tiles
 *   out     STORED copies in the order in which tiles read, and the contraction of these
 *   holds   a copy is made where it saves more than it costs */

/* Inside packing: what to copy (pack.c), and the copies (copy.c). All return 0 on failure. */
#ifndef VIEWFOLD_PASSES_PACK_PACK_H
#define VIEWFOLD_PASSES_PACK_PACK_H

#include "passes/patterns/contraction.h"

/* pack.c: operands of contractions copied into the order in which their tiles read them, where that pays.
 * Returns the new TUPLE of results; 0 after failing. */
ir_ref pass_pack(ir_graph *g, ir_ref results, const ir_target *target);

enum { PACK_NEAR = 8 }; /* elements between neighbours along a summed axis that share cache lines */

/* Copies of an operand, as views of the operand's shape. */
ir_ref pack_rows(const pass_contraction *c, const pass_operand *o);  /* [kept..., summed...] */
ir_ref pack_plain(const pass_contraction *c, const pass_operand *o); /* masks and elementwise work done */
/* [kept..., panels, summed..., width], of a column of known size */
ir_ref pack_panels(const pass_contraction *c, const pass_operand *o, uint32_t column, int64_t width);

bool pack_of_several(const ir_graph *g, ir_ref value); /* is it made of several tensors, elementwise? */

/* reuse.c: what packing has copied as it is, others read as well. The results then. */
ir_ref pack_reuse(ir_graph *g, ir_ref results);

int64_t pack_elements(ir_graph *g, ir_ref tensor); /* at most; saturating */

/* The same sum with two terms in each, where both operands hold integers of 16 bits: their elements are words
 * of two (narrow_pairs.c). The sum as it is where they do not. */
ir_ref pack_pairs(const pass_contraction *c);

/* The operand with one position for each axis that it does not vary along, and back. */
ir_ref pack_essence(const pass_contraction *c, const pass_operand *o);
/* Splits axis `at` of x in two, or merges it with the one behind: in the shape the axis is `outer`, `inner`.
 */
ir_ref pack_reshaped(ir_graph *g, ir_ref x, uint32_t at, int64_t outer, int64_t inner, bool split);

/* The terms, and their sum over the axes of the set; of floats with one rounding for each. */
ir_ref pack_product(const pass_contraction *c, ir_ref a, ir_ref b);
ir_ref pack_sum(const pass_contraction *c, ir_ref product, uint32_t reduced);
/* The sum of products of a and b with `column` last of the kept axes in memory, turned back by views. */
ir_ref pack_transposed_sum(const pass_contraction *c, uint32_t column, ir_ref a, ir_ref b);

#endif
