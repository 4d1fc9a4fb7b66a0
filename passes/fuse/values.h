/* The state of the choice which values are stored before packing (recomputed.c), and the rules that are told
 * from the graph alone, before costs are compared. */
#ifndef VIEWFOLD_PASSES_FUSE_VALUES_H
#define VIEWFOLD_PASSES_FUSE_VALUES_H

#include "passes/cost/cost.h"
#include "passes/fuse/stored.h"
#include "passes/patterns/constant_values.h"

/* Operations that a kernel more must save: a launch of 0.2 us. */
enum { FUSE_KERNEL_COST = 1 << 14 };
/* What an elementary function loses for each element of rows of two to seven: a half to seven eighths of the
 * lanes. */
enum { FUSE_ROW_COST = 48 };
/* Bytes of values that stay in an L2 cache of 1 MiB. */
enum { FUSE_FAR_BYTES = 1 << 20 };

/* What is fused into a value: a FUSE_PRODUCT that tiles compute, or a FUSE_SHORT one, of few terms;
 * FUSE_SEPARATE: it is stored. A byte of each value, 0 for others. */
enum { FUSE_PRODUCT = 1, FUSE_SHORT, FUSE_SEPARATE };
/* Why a value is not stored: as kept_values.c finds it. A byte of each
 * value, 0 for others. */
enum { FUSE_OF_INDICES = 1, FUSE_WIDENED, FUSE_BELOW_MASK, FUSE_KEPT };
enum {
  FUSE_ELEMENTARY = 1, /* bit: an elementary function */
  FUSE_OF_SEVERAL = 2, /* bit: an elementwise operation on several tensors, perhaps below views */
  FUSE_COMPUTED = 4    /* bit: an elementary function, in the same loop */
};
enum {
  FUSE_AT_POINTS = 1, /* bit: elementwise operations read it */
  FUSE_ELSEWHERE = 2, /* bit: others do */
  FUSE_AGAIN = 4      /* bit: it is read more than once */
};
typedef struct fuse_values {
  ir_graph *g;
  ir_ref *live;
  size_t count, cap;
  /* by node */
  double *evaluations;
  uint16_t *cost, *masks;
  uint8_t *looped;     /* reductions that evaluate it inside their loops; at most 2 are counted */
  ir_ref *place;       /* as in pass_sharing */
  uint8_t *recomputed; /* needed at several places; before the choice: what reads it (separate_products.c) */
  uint8_t *epilogue;   /* as pass_epilogues leaves it */
  uint8_t *kept;       /* why it is not stored here; 0: it may be */
  uint8_t *product;    /* FUSE_PRODUCT, FUSE_SHORT: one is fused into it; FUSE_SEPARATE: it is stored for the
                          sake of lanes */
  ir_ref *sum;         /* the product that is fused into it */
  uint8_t *term;       /* it is a product that a sum adds up, of which there are many times as many as of what
                          is multiplied */
  uint8_t *chained;    /* what is fused into it: FUSE_ELEMENTARY, FUSE_OF_SEVERAL, FUSE_COMPUTED */
  uint8_t *hard;       /* an elementary function of it is in the same kernel */
  uint8_t *stored;     /* PACK_STORED */
  pass_constant_values constants;
} fuse_values;

/* An elementary function, or what costs as much. */
static inline bool fuse_is_elementary(const ir_node *n) {
  return pass_element_cost(n) >= SCHEDULE_MIN_STORED_COST;
}

/* kept_values.c: sets `kept`. */
void fuse_keep_masked(fuse_values *v);
void fuse_keep_weights(fuse_values *v);
/* separate_products.c: sets `product`, with the values that are stored so that each kernel has one product,
 * `sum` and `term`. */
void fuse_separate_products(fuse_values *v);
/* chains.c: sets `chained`, and marks what is stored between elementary functions where they are to be
 * separate. */
void fuse_separate_chains(fuse_values *v, bool separate);
/* May r be stored below an elementary function that loses so many operations otherwise? */
bool fuse_may_split(const fuse_values *v, ir_ref r, double lost);
/* row_results.c: marks what is stored so that elementary functions beside broadcasts of short rows have
 * lanes. Needs `chained` and `looped` of fuse_separate_chains; `holds` is a byte of each value, 0. */
void fuse_separate_row_results(fuse_values *v, uint8_t *holds);
/* reduced_functions.c: marks what is stored so that elementary functions below reductions of rows have lanes.
 * Needs `chained`, `cost`, and who reads each value. */
void fuse_separate_reduced_functions(fuse_values *v);
/* short_rows.c: marks what is stored so that elementary functions have lanes. Needs `chained`. */
void fuse_separate_short_rows(fuse_values *v);

#endif
