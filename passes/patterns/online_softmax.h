/* Sums that can be computed in blocks of terms before their largest weight is known: over one axis, of terms
 * with a factor exp(x - s), where s follows the maximum of x over that axis. Softmax and what is weighted by
 * it, however written. A block is rescaled by exp(m - m2) when the maximum grows from m to m2. */
#ifndef VIEWFOLD_PASSES_PATTERNS_ONLINE_SOFTMAX_H
#define VIEWFOLD_PASSES_PATTERNS_ONLINE_SOFTMAX_H

#include "ir/ir.h"

/* Blocks of terms, whatever the machine: they decide the order of additions. */
enum { KEY_BLOCK = 256, KEY_BLOCK_SUMS = 4 }; /* sums: of one slab */

enum { RESCALE_DEPTH = 24, RESCALE_NONE = 255 };

/* From a term down to its weight: a node, the operand that holds the weight, and one that depends on the
 * maximum as well, or RESCALE_NONE. */
typedef struct pass_rescaled_step {
  ir_ref node;
  uint8_t through, late;
} pass_rescaled_step;

typedef struct pass_rescaled {
  ir_ref sum;
  ir_ref weight;   /* exp(x - s), as an EXP of a SUB; each term is a multiple of it */
  ir_ref greatest; /* the maximum of x over the axis, a REDUCE_MAX */
  uint32_t axis;   /* of the weight */
  int64_t terms;
  bool late; /* some other factor depends on the maximum too, and is the same for all terms of a sum */
  pass_rescaled_step path[RESCALE_DEPTH];
  uint32_t depth;
} pass_rescaled;

/* Is the node a SUM of that kind, over so many terms that the rows of a slab would not fit? */
bool pass_rescaled_of(ir_graph *g, ir_ref sum, pass_rescaled *out);

/* online_softmax_late.c: does nobody among the nodes `live` of a graph use the terms, or what they are made
 * of down to the weights, but the sum? */
bool pass_owns_terms(const ir_graph *g, const pass_rescaled *r, const ir_ref *live, size_t count);

/* The sum without its late factors, and what is to be done to it then: times and divided by values of its
 * shape, 0 where there are none. False where they cannot be taken out. */
typedef struct pass_late {
  ir_ref sum, times, over;
} pass_late;
bool pass_split_late_factors(ir_graph *g, const pass_rescaled *r, pass_late *out);
/* The same done to a sum. */
ir_ref pass_apply_late_factors(ir_graph *g, const pass_late *late, ir_ref sum);

#endif
