/* Views of data in unit tests, of values of the session. Values are valid until something is realised, which
 * data_holds does; views stay. */
#ifndef VIEWFOLD_TEST_DATA_VIEW_H
#define VIEWFOLD_TEST_DATA_VIEW_H

#include "frontend/viewfold.h"

extern vf_error data_error;      /* of the call before */
extern vf_context *data_context; /* between data_begin and data_end, fixtures of a group */
int data_begin(void **state);
int data_end(void **state);
vf_graph *data_session(void);

/* Views that are destroyed when the test ends. */
vf_data_view *data_view(void), *image_view(void), *sequence_view(void), *class_view(void);
vf_data_view *list_view(int count, vf_data_view *const *components);
vf_data_view *data_kept(vf_data_view *view); /* one that a call has returned */

vf_value data_counting(vf_dtype dtype, int rank, const int64_t *shape); /* 0, 1, 2, ... */
vf_value data_numbers(vf_dtype dtype, int rank, const int64_t *shape, const double *elements);
#define NUMBERS(...)                                                                                         \
  data_numbers(VF_F32, VF_LIST(sizeof((double[]){__VA_ARGS__}) / sizeof(double)),                            \
               (const double[]){__VA_ARGS__})

/* Put, get, and put and get gradients, in the dtype of the array, which must not fail. */
void data_put(vf_data_view *view, const char *axes, vf_value x);
vf_value data_got(vf_data_view *view, const char *axes);
void data_put_back(vf_data_view *view, const char *axes, vf_value g);
vf_value data_got_back(vf_data_view *view);

void data_holds(vf_value x, int count, const double *want);
#define HOLDS(x, ...)                                                                                        \
  data_holds(x, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (const double[]){__VA_ARGS__})
void data_shaped(vf_value x, int rank, const int64_t *shape);
#define SHAPED(x, ...) data_shaped(x, VF_LIST(__VA_ARGS__))
/* The call before failed as invalid, with a message that holds this. */
void data_refused(const char *part);

#endif
