/* The fused row groups (kernels that compute several tensors) that scheduling makes of the graph of a
 * trial. */
#ifndef VIEWFOLD_TEST_LIB_ROW_GROUPS_H
#define VIEWFOLD_TEST_LIB_ROW_GROUPS_H

#include "test/lib/trial.h"

typedef struct row_group_counts {
  long kernels, row_groups, transposed; /* transposed: fused row groups with a transposed local */
  uint32_t products;                    /* sums of products in the fused row group with the most */
} row_group_counts;

/* Schedules for the first machine. The listing of every fused row group must parse back to the same
 * listing. */
row_group_counts row_groups_of(trial *t);

#endif
