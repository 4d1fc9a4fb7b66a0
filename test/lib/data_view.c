#include "data_view.h"

#include "unit.h"

vf_error data_error;
vf_context *data_context;

int data_begin(void **state) {
  (void)state;
  data_context = vf_context_create(NULL, &data_error);
  return data_context ? 0 : -1;
}
int data_end(void **state) {
  (void)state;
  vf_context_destroy(data_context);
  return 0;
}
vf_graph *data_session(void) { return vf_session(data_context, NULL); }

static void destroy(void *view) { vf_data_view_destroy(view); }
vf_data_view *data_kept(vf_data_view *view) {
  if (!view) fail_msg("%s", data_error.message);
  return unit_keep(view, destroy);
}
vf_data_view *data_view(void) { return data_kept(vf_data_view_create(data_session(), &data_error)); }
vf_data_view *image_view(void) { return data_kept(vf_image_view_create(data_session(), &data_error)); }
vf_data_view *sequence_view(void) { return data_kept(vf_sequence_view_create(data_session(), &data_error)); }
vf_data_view *class_view(void) { return data_kept(vf_class_view_create(data_session(), &data_error)); }
vf_data_view *list_view(int count, vf_data_view *const *components) {
  return data_kept(vf_list_view_create(count, components, &data_error));
}

vf_value data_counting(vf_dtype dtype, int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= shape[i];
  return vf_reshape(vf_arange(data_session(), dtype, 0, count, 1), rank, shape);
}

vf_value data_numbers(vf_dtype dtype, int rank, const int64_t *shape, const double *elements) {
  return vf_cast(vf_data(data_session(), VF_F64, rank, shape, elements), dtype);
}

static void must(bool good) {
  if (!good) fail_msg("%s", data_error.message);
}

void data_put(vf_data_view *v, const char *axes, vf_value x) {
  must(vf_data_put(v, axes, x, &data_error) == VF_OK);
}
vf_value data_got(vf_data_view *v, const char *axes) {
  vf_value x = vf_data_get(v, axes, VF_NONE, &data_error);
  must(vf_ok(x));
  return x;
}
void data_put_back(vf_data_view *v, const char *axes, vf_value g) {
  must(vf_data_backward_put(v, axes, g, &data_error) == VF_OK);
}
vf_value data_got_back(vf_data_view *v) {
  vf_value g = vf_data_backward_get(v, NULL, VF_NONE, &data_error);
  must(vf_ok(g));
  return g;
}

void data_holds(vf_value x, int count, const double *want) {
  must(vf_ok(x));
  vf_tensor *t = vf_tensor_keep(vf_cast(x, VF_F64), &data_error);
  must(t != NULL);
  const double *got = vf_tensor_data(t, &data_error);
  must(got != NULL);
  assert_int_equal(vf_tensor_bytes(t), (size_t)count * sizeof *want);
  for (int i = 0; i < count; i++)
    if (got[i] != want[i]) fail_msg("element %d is %g, not %g", i, got[i], want[i]);
  vf_tensor_release(t);
}

void data_shaped(vf_value x, int rank, const int64_t *shape) {
  must(vf_ok(x));
  assert_int_equal(vf_value_rank(x), rank);
  for (int i = 0; i < rank; i++) assert_int_equal(vf_value_size(x, i), shape[i]);
}

void data_refused(const char *part) {
  if (!strstr(data_error.message, part)) fail_msg("'%s' lacks '%s'", data_error.message, part);
  assert_int_equal(data_error.status, VF_ERR_INVALID);
  data_error = (vf_error){0};
}
