/* Whether two accesses of an array ever meet, read off their indices. */
#ifndef VIEWFOLD_PASSES_INDEX_DISJOINT_H
#define VIEWFOLD_PASSES_INDEX_DISJOINT_H

#include "ir/ir.h"

/* Why two accesses never meet, or that nothing says so. */
typedef enum index_meeting {
  INDEX_MAY_MEET,
  INDEX_APART,         /* the indices of one are all below those of the other */
  INDEX_OTHER_RESIDUES /* divided by `modulus` they leave other remainders */
} index_meeting;

typedef struct index_relation {
  index_meeting meeting;
  int64_t modulus;
} index_relation;

/* Of two index expressions, whose ranges and other terms are independent of each other, also where both have
 * the same. */
index_relation index_relate(ir_graph *g, ir_ref a, ir_ref b);
/* The bounds of an index, read as index_relate does. False where it finds none. */
bool index_interval(ir_graph *g, ir_ref index, int64_t *lo, int64_t *hi);

#endif
