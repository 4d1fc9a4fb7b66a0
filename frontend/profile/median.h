/* The median of times. */
#ifndef VIEWFOLD_FRONTEND_PROFILE_MEDIAN_H
#define VIEWFOLD_FRONTEND_PROFILE_MEDIAN_H

#include <stdint.h>
#include <stdlib.h>

/* For qsort: the shorter time first. */
static inline int fe_earlier(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Of `count` > 0 times, which are sorted; of an even count the larger of the two in the middle. */
static inline int64_t fe_median(int64_t *ns, size_t count) {
  qsort(ns, count, sizeof *ns, fe_earlier);
  return ns[count / 2];
}

#endif
