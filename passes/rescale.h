/* Sums that can be computed in blocks of terms before their largest weight is known: over one axis, of terms
 * with a factor exp(x - s), where s follows the maximum of x over that axis. Softmax and what is weighted by
 * it, however written. A block is rescaled by exp(m - m2) when the maximum grows from m to m2. */
#ifndef VIEWFOLD_PASSES_RESCALE_H
#define VIEWFOLD_PASSES_RESCALE_H

#include "ir/ir.h"

/* Blocks of terms, whatever the machine: they decide the order of additions. */
enum { KEY_BLOCK = 256, KEY_BLOCK_SUMS = 4 }; /* sums: of one slab */

typedef struct pass_rescaled {
  ir_ref sum;
  ir_ref weight;   /* exp(x - s), as an EXP of a SUB; each term is a multiple of it */
  ir_ref greatest; /* the maximum of x over the axis, a REDUCE_MAX */
  uint32_t axis;   /* of the weight */
  int64_t terms;
  bool late; /* some other factor depends on the maximum too, and is the same for all terms of a sum */
} pass_rescaled;

/* Is the node a SUM of that kind, over so many terms that the rows of a slab would not fit? */
bool pass_rescaled_of(ir_graph *g, ir_ref sum, pass_rescaled *out);

#endif
