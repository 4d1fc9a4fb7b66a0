/* The folder passes/patterns. Shapes of computations that several passes look for.
 *
 *   in      a node
 *   out     whether it is a contraction, a sum that can be rescaled, the end of an epilogue, or a recomputed
 *           value; and its operands, axes or path
 *   holds   nodes are recognised by what they compute, not by who recorded them */

/* Contractions: sums of products of two operands, through any views.
 *
 * The product has axes that are summed over and axes that are kept, of which an operand may vary along only
 * some. Kept axes of one operand alone are the rows and columns of a matrix product; kept axes of both are
 * its batch. */
#ifndef VIEWFOLD_PASSES_PATTERNS_CONTRACTION_H
#define VIEWFOLD_PASSES_PATTERNS_CONTRACTION_H

#include "ir/ir.h"

typedef struct pass_operand {
  ir_ref value;        /* of the product's shape */
  uint32_t varies;     /* axes along which it varies, a set of bits */
  ir_ref base;         /* the node below the views on top of it; no view of one operand */
  ir_ref index, valid; /* the element of the base that it reads, over ranges ridx0.. of the product's axes */
  bool epilogue;       /* set by packing: the base is the end of a reduction's epilogue, and is in memory */
} pass_operand;

typedef struct pass_contraction {
  ir_graph *g;
  ir_ref sum;
  ir_dtype dtype;
  ir_op term;                /* of the terms: FMA or FMA2 with 0, MUL, DOT2, or DOT4 */
  uint32_t rank;             /* of the product */
  uint32_t reduced;          /* its axes that are summed over, a set of bits */
  ir_ref range[IR_MAX_RANK]; /* one for each axis */
  int64_t size[IR_MAX_RANK]; /* at most */
  pass_operand operand[2];
} pass_contraction;

enum { PASS_PANELS = 1 }; /* arg of a STORED that is a copy in panels, whose shape depends on the target */
/* Views between an operand and what lies in memory that are followed [18 in the workloads]: below more, an
 * operand is copied whole, and weights in panels stay so. */
enum { PASS_MAX_VIEWS = 64 };

/* Is node a SUM of products, or of two or four products at a time (DOT2, FMA2, DOT4)? */
bool pass_is_contraction(ir_graph *g, ir_ref node);
/* The same, with its axes and operands, which are traced through views. Also false when memory is short. */
bool pass_contraction_of(ir_graph *g, ir_ref node, pass_contraction *out);
/* Has each operand kept axes that the other does not vary along, so that its elements are reused? */
bool pass_contraction_reuses(const pass_contraction *c);
/* Is a value of the shape of the product the same for all terms of each sum? */
bool pass_contraction_is_fixed(const pass_contraction *c, ir_ref value);
/* Such a value in the shape of the sum; 0 on failure. */
ir_ref pass_contraction_kept(const pass_contraction *c, ir_ref value);
/* Is an operand read in sequence along the innermost axis of the results? */
bool pass_contraction_in_sequence(const pass_contraction *c);
/* The same as pass_contraction_reuses of a SUM of products, as far as views and sizes tell: each element
 * below the views and conversions of either operand is in several terms. Takes time for these alone. */
bool pass_may_reuse(ir_graph *g, ir_ref sum);
/* Product of the sizes of these axes, saturating. */
int64_t pass_contraction_size(const pass_contraction *c, uint32_t axes);

/* The value that a chain of views of one operand shows; itself where it is no such view. A join is none. */
ir_ref pass_below_views(const ir_graph *g, ir_ref r);

/* Elements of a tensor, at most, at least 1: as a number whose ratios are taken, without limit. */
double pass_elements(ir_graph *g, ir_ref tensor);
/* Is the value fma(a, b, 0) or fma2(a, b, 0), a term of a contraction when it stands under a sum? */
bool pass_is_product(const ir_graph *g, ir_ref value);

#endif
