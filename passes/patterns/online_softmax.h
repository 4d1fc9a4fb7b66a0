/* Online softmax: sums that can be computed in blocks of terms before their largest weight is known. The
 * terms, along one axis, have a factor exp(x - s), where s follows the maximum of x over that axis: softmax
 * and sums weighted by it, however written. The sum so far is multiplied by exp(m - m2) when the maximum
 * grows from m to m2. */
#ifndef VIEWFOLD_PASSES_PATTERNS_ONLINE_SOFTMAX_H
#define VIEWFOLD_PASSES_PATTERNS_ONLINE_SOFTMAX_H

#include "ir/ir.h"

enum {
  /* terms in a block, the same on all targets, as it decides the order of additions: 64 rows of f32 scores
   * are 64 KiB, and a sum is rescaled once for each block, 1/256 of its products */
  KEY_BLOCK = 256,
  /* sums in one fused row group, of which attention has two: with more, no group is made */
  KEY_BLOCK_SUMS = 4,
  /* nodes between a term and its weight [4 in the tests]: a sum of deeper ones is an ordinary sum */
  RESCALE_DEPTH = 24,
  RESCALE_NONE = 255 /* in place of an operand's number */
};

/* One node on the way from a term down to its weight. through: the operand that holds the weight; late:
 * another operand that depends on the maximum, or RESCALE_NONE. */
typedef struct pass_rescaled_step {
  ir_ref node;
  uint8_t through, late;
} pass_rescaled_step;

typedef struct pass_rescaled {
  ir_ref sum;
  ir_ref weight;   /* exp(x - s), as an EXP of a SUB; each term is a multiple of it */
  ir_ref greatest; /* the maximum of x over the axis, a REDUCE_MAX */
  uint32_t axis;   /* axis of the weight that is summed over */
  int64_t terms;
  bool late; /* another factor depends on the maximum, too, and is the same for all terms of a sum */
  pass_rescaled_step path[RESCALE_DEPTH];
  uint32_t depth;
} pass_rescaled;

/* Is the node a SUM of that kind, over so many terms that whole rows would not fit in a fused row group? */
bool pass_rescaled_of(ir_graph *g, ir_ref sum, pass_rescaled *out);

/* online_softmax_late.c: is the sum the only user, among the nodes `live` of a graph, of the terms and of all
 * nodes on the path down to the weights? */
bool pass_owns_terms(const ir_graph *g, const pass_rescaled *r, const ir_ref *live, size_t count);

/* The sum without its late factors, to be multiplied by `times` and divided by `over` afterwards, values of
 * its shape or 0. False where the factors cannot be moved out of the sum. */
typedef struct pass_late {
  ir_ref sum, times, over;
} pass_late;
bool pass_split_late_factors(ir_graph *g, const pass_rescaled *r, pass_late *out);
/* Multiplies and divides a sum by the late factors. */
ir_ref pass_apply_late_factors(ir_graph *g, const pass_late *late, ir_ref sum);

#endif
