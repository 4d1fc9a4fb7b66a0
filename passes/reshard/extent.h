/* What one device has of an array before and after a hop. */
#ifndef VIEWFOLD_PASSES_RESHARD_EXTENT_H
#define VIEWFOLD_PASSES_RESHARD_EXTENT_H

#include "impl.h"

typedef struct reshard_interval {
  int64_t lo, hi;
} reshard_interval;

/* A hop as one device sees it: elements, and the old parts that the new one meets. All are products over
 * dimensions. */
typedef struct reshard_extent {
  uint64_t before, after, kept, sources;
} reshard_extent;
typedef struct reshard_view {
  reshard_extent all;
  int64_t first[IR_MAX_RANK], last[IR_MAX_RANK]; /* of the old parts */
} reshard_view;

/* A part of a dimension by its number. */
reshard_interval reshard_part_at(const reshard_problem *p, const reshard_layout *l, uint32_t dim,
                                 int64_t position);
int64_t reshard_length(reshard_interval i);
reshard_interval reshard_meet(reshard_interval a, reshard_interval b);
/* What a device has of a dimension: its part, by mixed radix. at: its coordinates, of each digit. */
reshard_interval reshard_part_along(const reshard_problem *p, const reshard_layout *l, uint32_t dim,
                                    const uint32_t *at);

/* Along one dimension; of all. */
reshard_extent reshard_look_along(const reshard_problem *p, const reshard_layout *from,
                                  const reshard_layout *to, uint32_t dim, const uint32_t *at, int64_t *first,
                                  int64_t *last);
void reshard_multiply(reshard_extent *a, const reshard_extent *b);
reshard_view reshard_look(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          const uint32_t *at);

#endif
