/* What scheduling makes of the graph of a trial: kernels that compute several tensors. */
#ifndef VIEWFOLD_TEST_LIB_SLABS_H
#define VIEWFOLD_TEST_LIB_SLABS_H

#include "test/lib/trial.h"

typedef struct row_group_counts {
  long kernels, row_groups, transposed; /* turned: slabs with rows side by side in some local */
  uint32_t products;                    /* sums of products in the slab that has most of them */
} row_group_counts;

/* For the first machine. Every slab's listing has to parse back to the same listing. */
row_group_counts row_groups_of(trial *t);

#endif
