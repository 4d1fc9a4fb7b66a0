/* Integer problems that arise when views are merged. */
#ifndef VIEWFOLD_FRONTEND_VIEWS_INTEGER_SOLVE_H
#define VIEWFOLD_FRONTEND_VIEWS_INTEGER_SOLVE_H

#include <stdbool.h>
#include <stdint.h>

enum { VIEW_SPANS = 48, VIEW_ATOMS = 16, VIEW_AXES = 16 };

typedef enum view_answer { VIEW_NO, VIEW_YES, VIEW_UNKNOWN } view_answer;

/* weight * x for lo <= x <= hi */
typedef struct view_span {
  int64_t weight, lo, hi;
} view_span;

/* Can the sum of the spans, each with its own x, be `target`? UNKNOWN when the search gives up. */
view_answer view_sum_reaches(const view_span *spans, uint32_t count, int64_t target);

/* floor((constant + sum of rate[k]*x[k]) / divisor), for 0 <= constant, rate[k] < divisor */
typedef struct view_atom {
  int64_t divisor, constant, rate[VIEW_AXES], coef;
} view_atom;
typedef struct view_quotients {
  uint32_t axes, count;
  int64_t size[VIEW_AXES]; /* 0 <= x[k] < size[k] */
  view_atom atom[VIEW_ATOMS];
} view_quotients;

/* Add coef * floor((constant + sum of rate[k]*x[k]) / divisor) up to an affine function. False: too many
 * quotients, or numbers too large. */
bool view_quotients_add(view_quotients *q, int64_t coef, int64_t constant, const int64_t *rate,
                        int64_t divisor);
/* Is the sum affine where 0 <= x[k] < size[k]? */
view_answer view_quotients_affine(const view_quotients *q);

#endif
