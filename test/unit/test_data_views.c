/* Views of data by named axes: the conversions, methods and refusals of each class. The numbers are those of
 * the package that the classes come from, and of rows D11 to D52 of its description, with positions from 0.
 */
#include "frontend/viewfold.h"
#include "test/lib/unit.h"

static vf_error error;
static vf_context *context;

static vf_value counting(vf_dtype dtype, int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= shape[i];
  vf_value x = vf_arange(vf_session(context, NULL), dtype, 0, count, 1);
  return vf_reshape(x, rank, shape);
}

static vf_value numbers(int rank, const int64_t *shape, const float *elements) {
  vf_tensor *t = vf_tensor_create(context, VF_F32, rank, shape, elements, &error);
  vf_value x = vf_tensor_value(t);
  vf_tensor *kept = vf_tensor_keep(x, &error);
  vf_tensor_release(t);
  x = vf_tensor_value(kept);
  vf_tensor_release(kept);
  return x;
}

static void assert_holds(vf_value x, int count, const float *want) {
  if (!x.id) print_error("%s\n", error.message);
  assert_int_not_equal(x.id, 0);
  vf_tensor *t = vf_tensor_keep(vf_cast(x, VF_F32), &error);
  assert_non_null(t);
  const float *got = vf_tensor_data(t, &error);
  if (!got) print_error("%s\n", error.message);
  assert_non_null(got);
  assert_int_equal(vf_tensor_bytes(t), (size_t)count * sizeof *want);
  for (int i = 0; i < count; i++) assert_float_equal(got[i], want[i], 0);
  vf_tensor_release(t);
}
#define HOLDS(x, ...)                                                                                        \
  assert_holds(x, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (const float[]){__VA_ARGS__})

static void assert_refused(const char *part) {
  if (!strstr(error.message, part)) print_error("'%s' lacks '%s'\n", error.message, part);
  assert_non_null(strstr(error.message, part));
  assert_int_equal(error.status, VF_ERR_INVALID);
  error = (vf_error){0};
}

static int begin(void **state) {
  (void)state;
  context = vf_context_create(NULL, &error);
  return context ? 0 : -1;
}
static int end(void **state) {
  (void)state;
  vf_context_destroy(context);
  return 0;
}

static vf_value got(vf_data_view *v, const char *axes) { return vf_data_get(v, axes, VF_NONE, &error); }

static void test_image(void **state) {
  (void)state;
  vf_data_view *v = vf_image_view_create(vf_session(context, NULL), &error);
  assert_int_equal(vf_data_put(v, "bhwc", counting(VF_I32, VF_LIST(2, 2, 2, 2)), &error), VF_OK);
  HOLDS(got(v, "bchw"), 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  HOLDS(got(v, "chwb"), 0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15);
  HOLDS(got(v, "bf"), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  assert_int_equal(vf_data_sample_count(v), 2);
  assert_int_equal(vf_data_sample_size(v), 8);
  /* features are in the order of the array's own axes */
  assert_int_equal(vf_data_put(v, "bchw", vf_rearrange(vf_data_input(v, &error), "bhwc", "bchw"), &error),
                   VF_OK);
  HOLDS(got(v, "bf"), 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  assert_int_equal(vf_data_put(v, "chwb", vf_rearrange(vf_data_input(v, &error), "bchw", "chwb"), &error),
                   VF_OK);
  HOLDS(got(v, "bf"), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  assert_string_equal(vf_data_axes(v), "chwb");
  got(v, "bwt");
  assert_refused("the array has no axis 't'");
  vf_data_put(v, "bhw", counting(VF_I32, VF_LIST(2, 2, 2)), &error);
  assert_refused("no axis 'c'");
  vf_data_put(v, "bhhc", counting(VF_I32, VF_LIST(2, 2, 2, 2)), &error);
  assert_refused("letter 'h' twice");
  vf_data_put(v, "bhwc", counting(VF_I32, VF_LIST(2, 8)), &error);
  assert_refused("4 axes; x has shape i32[2,8]");
  assert_string_equal(vf_data_axes(v), "chwb");
  vf_data_view_destroy(v);
}

static void test_sequence_and_data(void **state) {
  (void)state;
  vf_graph *g = vf_session(context, NULL);
  vf_data_view *s = vf_sequence_view_create(g, &error), *d = vf_data_view_create(g, &error);
  got(d, "bf");
  assert_refused("nothing has been put");
  assert_int_equal(vf_data_put(s, "bwc", counting(VF_F32, VF_LIST(2, 2, 3)), &error), VF_OK);
  HOLDS(got(s, "bcw"), 0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11);
  assert_int_equal(vf_data_put(d, "b", counting(VF_F32, VF_LIST(3)), &error), VF_OK);
  assert_int_equal(vf_value_rank(got(d, "bf")), 2);
  HOLDS(got(d, "b"), 0, 1, 2);
  assert_int_equal(vf_data_put(d, "bf", counting(VF_F32, VF_LIST(3, 1)), &error), VF_OK);
  HOLDS(got(d, "b"), 0, 1, 2);
  assert_int_equal(vf_data_put(d, "fb", counting(VF_F32, VF_LIST(2, 3)), &error), VF_OK);
  HOLDS(got(d, "bf"), 0, 3, 1, 4, 2, 5);
  assert_int_equal(vf_data_put(d, "bf", counting(VF_F32, VF_LIST(3, 2)), &error), VF_OK);
  got(d, "b");
  assert_refused("where it has one feature; the array has shape f32[3,2]");
  got(d, "bhwc");
  assert_refused("a data view of 'bf' has no view 'bhwc'");
  vf_data_put(d, "fw", counting(VF_F32, VF_LIST(3, 2)), &error);
  assert_refused("no axis 'b'");
  vf_data_view_destroy(s), vf_data_view_destroy(d);
}

static void test_classes(void **state) {
  (void)state;
  static const char *const labels[] = {"cat", "dog", "hen", "owl"};
  vf_data_view *v = vf_class_view_create(vf_session(context, NULL), &error);
  assert_int_equal(vf_data_put(v, "b", numbers(VF_LIST(3), (const float[]){4, 1, 3}), &error), VF_OK);
  assert_int_equal(vf_value_rank(got(v, "bt")), 2);
  got(v, "bf");
  assert_refused("vf_data_set_classes");
  assert_int_equal(vf_data_set_classes(v, 4, labels, &error), VF_OK);
  HOLDS(got(v, "bf"), 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0);
  assert_string_equal(vf_data_label(v, 4), "owl");
  assert_null(vf_data_label(v, 0));
  assert_null(vf_data_label(v, 5));
  assert_int_equal(vf_data_put(v, "bt", numbers(VF_LIST(2, 2), (const float[]){4, 2, 3, 1}), &error), VF_OK);
  HOLDS(got(v, "bf"), 0, 1, 0, 1, 1, 0, 1, 0);
  HOLDS(got(v, "b"), 4, 3);
  HOLDS(got(v, "tb"), 4, 3, 2, 1);
  assert_int_equal(vf_data_put(v, "b", numbers(VF_LIST(2), (const float[]){1, 0}), &error), VF_OK);
  vf_tensor *t = vf_tensor_keep(got(v, "bf"), &error);
  assert_null(vf_tensor_data(t, &error));
  assert_int_equal(error.status, VF_ERR_RANGE);
  vf_tensor_release(t);
  vf_data_view_destroy(v);
}

static void test_backward(void **state) {
  (void)state;
  vf_graph *g = vf_session(context, NULL);
  vf_data_view *v = vf_image_view_create(g, &error), *c = vf_class_view_create(g, &error);
  assert_int_equal(vf_data_put(v, "bhwc", counting(VF_F32, VF_LIST(2, 2, 2, 2)), &error), VF_OK);
  vf_data_backward_get(v, NULL, VF_NONE, &error);
  assert_refused("no gradient has been put");
  vf_data_backward_put(v, "bchw", counting(VF_F32, VF_LIST(2, 2, 2, 2)), &error);
  assert_refused("has not been got in f32");
  got(v, "bchw"), got(v, "bf");
  assert_int_equal(vf_data_backward_put(v, "bchw", counting(VF_F32, VF_LIST(2, 2, 2, 2)), &error), VF_OK);
  HOLDS(vf_data_backward_get(v, NULL, VF_NONE, &error), 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  assert_int_equal(vf_data_backward_put(v, "bf", counting(VF_F32, VF_LIST(2, 8)), &error), VF_OK);
  HOLDS(vf_data_backward_get(v, "bhwc", VF_F32, &error), 0, 5, 3, 8, 6, 11, 9, 14, 16, 21, 19, 24, 22, 27, 25,
        30);
  vf_data_backward_get(v, "bchw", VF_NONE, &error);
  assert_refused("'bchw' is not that of the array, 'bhwc'");
  vf_data_backward_get(v, NULL, VF_F64, &error);
  assert_refused("f64 is not the dtype of the array, f32");
  vf_data_replace(v, "bchw", counting(VF_F32, VF_LIST(2, 2, 2, 2)), &error);
  assert_refused("2 gradients of the array are pending");
  vf_data_backward_put(v, "bf", counting(VF_F32, VF_LIST(2, 9)), &error);
  assert_refused("g has shape f32[2,9], the view f32[2,8]");
  assert_int_equal(vf_data_put(c, "bt", counting(VF_F32, VF_LIST(4, 2)), &error), VF_OK);
  got(c, "b");
  assert_int_equal(vf_data_backward_put(c, "b", numbers(VF_LIST(4), (const float[]){10, 20, 30, 40}), &error),
                   VF_OK);
  HOLDS(vf_data_backward_get(c, NULL, VF_NONE, &error), 10, 0, 20, 0, 30, 0, 40, 0);
  vf_data_view_destroy(v), vf_data_view_destroy(c);
}

static void test_dtypes(void **state) {
  (void)state;
  vf_data_view *v = vf_data_view_create(vf_session(context, NULL), &error);
  assert_int_equal(
      vf_data_put(v, "bf", vf_cast(numbers(VF_LIST(1, 2), (const float[]){1, 2}), VF_F64), &error), VF_OK);
  vf_value x = vf_data_get(v, "bf", VF_F32, &error);
  assert_int_equal(vf_value_dtype(x), VF_F32);
  assert_int_equal(
      vf_data_backward_put(v, "bf", vf_cast(numbers(VF_LIST(1, 2), (const float[]){1, 2}), VF_F64), &error),
      VF_OK);
  assert_int_equal(vf_data_backward_put(v, "bf", numbers(VF_LIST(1, 2), (const float[]){10, 20}), &error),
                   VF_OK);
  vf_value sum = vf_data_backward_get(v, NULL, VF_NONE, &error);
  assert_int_equal(vf_value_dtype(sum), VF_F64);
  HOLDS(sum, 11, 22);
  assert_int_equal(vf_data_type(v, VF_I16, &error), VF_OK);
  assert_int_equal(vf_value_dtype(got(v, NULL)), VF_I16);
  vf_data_view_destroy(v);
}

static void test_parts(void **state) {
  (void)state;
  vf_graph *g = vf_session(context, NULL);
  vf_data_view *v = vf_data_view_create(g, &error), *part = NULL;
  assert_int_equal(vf_data_put(v, "bf", counting(VF_F32, VF_LIST(4, 2)), &error), VF_OK);
  vf_value at = vf_cast(numbers(VF_LIST(3), (const float[]){1, 2, -1}), VF_I16);
  part = vf_data_index(v, at, NULL, &error);
  HOLDS(got(part, "bf"), 2, 3, 4, 5, 6, 7);
  assert_ptr_equal(vf_data_sub(v, 1, 3, part, &error), part);
  HOLDS(got(part, "bf"), 2, 3, 4, 5);
  assert_null(vf_data_sub(v, 1, 5, part, &error));
  assert_refused("examples 1 to 5 do not lie in 0..4");
  assert_null(vf_data_index(v, vf_number(g, 1.5), part, &error));
  assert_refused("they are integers along one axis");
  HOLDS(got(part, "bf"), 2, 3, 4, 5);
  vf_data_view *image = vf_image_view_create(g, &error);
  assert_null(vf_data_sub(v, 0, 1, image, &error));
  assert_refused("the view to reuse is an image view");
  int64_t position = 0, counts[] = {3, 1, 0};
  for (int i = 0; i < 3; i++) assert_int_equal(vf_data_iterate(v, 3, &position, part, &error), counts[i]);
  HOLDS(got(part, "bf"), 6, 7);
  vf_data_view *copy = vf_data_clone(v, &error);
  vf_data_flush(v);
  HOLDS(got(copy, "bf"), 0, 1, 2, 3, 4, 5, 6, 7);
  assert_int_equal(vf_data_sample_count(v), -1);
  vf_data_view_destroy(v), vf_data_view_destroy(part), vf_data_view_destroy(image),
      vf_data_view_destroy(copy);
}

static void test_replace(void **state) {
  (void)state;
  vf_graph *g = vf_session(context, NULL);
  vf_data_view *v = vf_data_view_create(g, &error), *c = vf_class_view_create(g, &error);
  assert_int_equal(vf_data_put(v, "fb", counting(VF_F32, VF_LIST(2, 3)), &error), VF_OK);
  vf_data_replace(v, "bf", counting(VF_F32, VF_LIST(3, 2)), &error);
  assert_refused("view 'bf' has not been got");
  got(v, "bf");
  assert_int_equal(vf_data_replace(v, "bf", counting(VF_F32, VF_LIST(3, 2)), &error), VF_OK);
  HOLDS(got(v, NULL), 0, 2, 4, 1, 3, 5);
  assert_int_equal(vf_data_put(c, "bt", counting(VF_F32, VF_LIST(2, 2)), &error), VF_OK);
  got(c, "b");
  vf_data_replace(c, "b", counting(VF_F32, VF_LIST(2)), &error);
  assert_refused("view 'b' leaves classes of 'bt' out");
  vf_data_view_destroy(v), vf_data_view_destroy(c);
}

/* In place, through the view: the caller's memory. */
static void test_reference(void **state) {
  (void)state;
  float memory[] = {0, 1, 2, 3, 4, 5};
  const float u[] = {10, 11, 12, 13, 14, 15};
  vf_graph *g = vf_graph_create(context, "g", &error);
  vf_ref ref = vf_ref_input(g, "a", VF_F32, VF_LIST(2, 3));
  vf_data_view *v = vf_data_view_create(g, &error);
  assert_int_equal(vf_data_put_ref(v, "fb", ref, &error), VF_OK);
  vf_output(g, "before", got(v, "bf"));
  assert_int_equal(vf_data_replace(v, "bf", vf_input(g, "u", VF_F32, VF_LIST(3, 2)), &error), VF_OK);
  float before[6];
  vf_program *p = vf_compile(g, &error);
  assert_non_null(p);
  assert_int_equal(vf_program_run(p, (const void *[]){memory, u}, (void *[]){before}, NULL, &error), VF_OK);
  assert_memory_equal(before, ((const float[]){0, 3, 1, 4, 2, 5}), sizeof before);
  assert_memory_equal(memory, ((const float[]){10, 12, 14, 11, 13, 15}), sizeof memory);
  vf_data_view_destroy(v);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static void test_list(void **state) {
  (void)state;
  vf_graph *g = vf_session(context, NULL);
  vf_data_view *parts[] = {vf_image_view_create(g, &error), vf_data_view_create(g, &error)};
  vf_data_view *v = vf_list_view_create(2, parts, &error);
  vf_value x[] = {counting(VF_F32, VF_LIST(8, 4, 4, 3)), counting(VF_F32, VF_LIST(8, 4))}, y[2];
  assert_int_equal(vf_data_components(v), 2);
  assert_int_equal(vf_data_put_all(v, "bhwc,bf", 2, x, &error), VF_OK);
  assert_int_equal(vf_data_get_all(v, "bf", VF_NONE, 2, y, &error), VF_OK);
  assert_int_equal(vf_value_size(y[0], 1), 48);
  assert_int_equal(vf_value_size(y[1], 1), 4);
  vf_data_view *part = vf_data_sub(v, 2, 5, NULL, &error);
  assert_int_equal(vf_data_get_all(part, NULL, VF_NONE, 2, y, &error), VF_OK);
  assert_int_equal(vf_value_size(y[0], 0), 3);
  vf_data_put_all(v, "bhwc,bf", 2, (vf_value[]){x[0], vf_shrink(x[1], VF_LIST(0, 7, 0, 4))}, &error);
  assert_refused("component 1 has 7 examples, component 0 has 8");
  vf_data_put_all(v, "bhwc", 2, x, &error);
  assert_refused("component 1");
  vf_data_get_all(v, "bchw,bf,b", VF_NONE, 2, y, &error);
  assert_refused("has 3 parts; the view has 2 components");
  vf_data_put(v, "bf", x[0], &error);
  assert_refused("vf_data_put_all");
  vf_data_view_destroy(part), vf_data_view_destroy(v);
  vf_data_view_destroy(parts[0]), vf_data_view_destroy(parts[1]);
}

/* A conversion launches nothing before somebody reads, and fuses into the reader. */
static void test_costs_nothing(void **state) {
  (void)state;
  vf_graph *g = vf_graph_create(context, "g", &error);
  vf_data_view *v = vf_image_view_create(g, &error);
  assert_int_equal(vf_data_put(v, "bhwc", vf_input(g, "x", VF_F32, VF_LIST(8, 4, 4, 3)), &error), VF_OK);
  vf_output(g, "y", vf_mul(vf_data_get(v, "chwb", VF_F64, &error), vf_number(g, 2)));
  vf_program *p = vf_compile(g, &error);
  assert_non_null(p);
  vf_stats stats = {.size = sizeof stats};
  assert_true(vf_program_stats(p, &stats));
  assert_int_equal(stats.launches, 1);
  vf_program_destroy(p);
  vf_data_view_destroy(v);
  vf_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_image),   cmocka_unit_test(test_sequence_and_data),
      cmocka_unit_test(test_classes), cmocka_unit_test(test_backward),
      cmocka_unit_test(test_dtypes),  cmocka_unit_test(test_parts),
      cmocka_unit_test(test_replace), cmocka_unit_test(test_reference),
      cmocka_unit_test(test_list),    cmocka_unit_test(test_costs_nothing),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
