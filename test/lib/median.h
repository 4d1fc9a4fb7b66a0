/* Medians of what programs measured. */
#ifndef VIEWFOLD_TEST_MEDIAN_H
#define VIEWFOLD_TEST_MEDIAN_H

#include <stdlib.h>

static inline int median_order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
/* Sorts the list, too. */
static inline double median(double *list, size_t count) {
  qsort(list, count, sizeof *list, median_order);
  return list[count / 2];
}

#endif
