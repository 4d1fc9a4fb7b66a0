/* Lists of views of data: of several arrays, one example of all of which has one number. */
#include "test/lib/data_view.h"
#include "test/lib/unit.h"

enum { IMAGE, ROWS, COUNT };

/* Images of 4 by 4 by 3 and rows of 4, of eight examples. */
static vf_data_view *filled(vf_data_view *parts[COUNT]) {
  parts[IMAGE] = image_view(), parts[ROWS] = data_view();
  vf_value x[] = {data_counting(VF_F32, VF_LIST(8, 4, 4, 3)), data_counting(VF_F32, VF_LIST(8, 4))};
  vf_data_view *v = list_view(COUNT, parts);
  assert_int_equal(vf_data_put_all(v, "bhwc,bf", COUNT, x, &data_error), VF_OK);
  return v;
}

static void got(vf_data_view *v, const char *axes, vf_value x[COUNT]) {
  if (vf_data_get_all(v, axes, VF_NONE, COUNT, x, &data_error) != VF_OK) fail_msg("%s", data_error.message);
}

/* spec: D15 D51 */
static void test_elementwise(void **state) {
  (void)state;
  vf_data_view *parts[] = {image_view(), data_view()}, *v = list_view(COUNT, parts);
  vf_value x[] = {data_counting(VF_F32, VF_LIST(8, 32, 32, 3)), data_counting(VF_F32, VF_LIST(8, 4))}, y[2];
  assert_int_equal(vf_data_components(v), 2);
  assert_int_equal(vf_data_put_all(v, "bhwc,bf", COUNT, x, &data_error), VF_OK);
  got(v, "bf", y);
  SHAPED(y[IMAGE], 8, 3072);
  SHAPED(y[ROWS], 8, 4);
  got(v, "bchw:f16,bf", y);
  SHAPED(y[IMAGE], 8, 3, 32, 32);
  assert_int_equal(vf_value_dtype(y[IMAGE]), VF_F16);
  assert_int_equal(vf_value_dtype(y[ROWS]), VF_F32);
  vf_data_view *part = data_kept(vf_data_sub(v, 2, 5, NULL, &data_error));
  got(part, "default", y);
  SHAPED(y[IMAGE], 3, 32, 32, 3);
  HOLDS(y[ROWS], 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
  vf_data_view *taken = data_kept(vf_data_index(v, vf_cast(NUMBERS(7, 0), VF_I64), NULL, &data_error));
  got(taken, "bf", y);
  SHAPED(y[IMAGE], 2, 3072);
  HOLDS(y[ROWS], 28, 29, 30, 31, 0, 1, 2, 3);
}

static vf_value row(vf_value x, int64_t number) { return vf_point(x, number, 0); }

/* spec: D50 */
static void test_all_methods(void **state) {
  (void)state;
  vf_data_view *parts[COUNT], *v = filled(parts);
  vf_value y[COUNT], g[COUNT];
  got(v, "bf", y);
  assert_int_equal(vf_data_backward_put_all(v, "bf", COUNT, y, &data_error), VF_OK);
  assert_int_equal(vf_data_backward_put_all(v, "bf", COUNT, y, &data_error), VF_OK);
  assert_int_equal(vf_data_backward_get_all(v, COUNT, g, &data_error), VF_OK);
  SHAPED(g[IMAGE], 8, 4, 4, 3);
  HOLDS(row(g[ROWS], 1), 8, 10, 12, 14);
  got(v, NULL, y);
  vf_data_replace_all(v, "default", COUNT, y, &data_error);
  data_refused("component 0: 2 gradients of the array are pending");
  y[IMAGE] = data_counting(VF_F32, VF_LIST(8, 48)), y[ROWS] = data_counting(VF_F32, VF_LIST(8, 4));
  assert_int_equal(vf_data_put_all(v, "bhwc,bf", COUNT,
                                   (vf_value[]){vf_reshape(y[IMAGE], VF_LIST(8, 4, 4, 3)), y[ROWS]},
                                   &data_error),
                   VF_OK);
  got(v, "bf", g);
  y[ROWS] = vf_neg(y[ROWS]);
  vf_data_replace_all(v, "bf", COUNT, (vf_value[]){y[IMAGE], y[IMAGE]}, &data_error);
  data_refused("component 1: x has shape f32[8,48], the view f32[8,4]");
  assert_int_equal(vf_data_replace_all(v, "bf", COUNT, (vf_value[]){y[IMAGE], y[ROWS]}, &data_error), VF_OK);
  got(v, NULL, g);
  HOLDS(row(g[ROWS], 1), -4, -5, -6, -7);
  assert_int_equal(vf_data_type(v, VF_F64, &data_error), VF_OK);
  got(v, NULL, g);
  assert_int_equal(vf_value_dtype(g[IMAGE]), VF_F64);
  vf_data_view *copy = data_kept(vf_data_clone(v, &data_error));
  assert_ptr_not_equal(vf_data_component(copy, 0), parts[0]);
  int64_t at = 5;
  vf_data_view *part = data_kept(vf_data_sub(v, 0, 0, NULL, &data_error));
  assert_int_equal(vf_data_iterate(v, 4, &at, part, &data_error), 3);
  vf_data_flush(v);
  assert_int_equal(vf_data_sample_count(v), -1);
  assert_int_equal(vf_data_sample_count(part), 3);
  assert_int_equal(vf_data_sample_count(copy), 8);
  got(part, "bf", g);
  HOLDS(row(g[ROWS], 2), -28, -29, -30, -31);
}

/* Values and axes are those of the innermost components. spec: D50.nested */
static void test_nested(void **state) {
  (void)state;
  vf_data_view *targets = list_view(2, (vf_data_view *const[]){class_view(), class_view()});
  vf_data_view *v = list_view(2, (vf_data_view *const[]){data_view(), targets});
  vf_value x[] = {data_counting(VF_F32, VF_LIST(3, 2)), data_counting(VF_I32, VF_LIST(3)),
                  data_counting(VF_I32, VF_LIST(3, 2))},
           y[3];
  assert_int_equal(vf_data_put_all(v, "bf,b,bt", 3, x, &data_error), VF_OK);
  vf_data_view *part = data_kept(vf_data_index(v, vf_cast(NUMBERS(2, 1), VF_I32), NULL, &data_error));
  assert_int_equal(vf_data_get_all(part, "bf,bt,tb", VF_NONE, 3, y, &data_error), VF_OK);
  SHAPED(y[1], 2, 1);
  HOLDS(y[2], 4, 2, 5, 3);
  assert_int_equal(vf_data_components(vf_data_component(part, 1)), 2);
}

/* spec: D50.errors */
static void test_errors(void **state) {
  (void)state;
  vf_data_view *parts[COUNT], *v = filled(parts);
  vf_value y[COUNT], x[COUNT];
  got(v, NULL, x);
  vf_data_put_all(v, "bhwc,bf", COUNT, (vf_value[]){x[0], vf_shrink(x[1], VF_LIST(0, 7, 0, 4))}, &data_error);
  data_refused("component 1 has 7 examples, component 0 has 8; all must have as many");
  vf_data_put_all(v, "bhwc", COUNT, x, &data_error);
  data_refused("component 1: view 'bhwc' has 4 axes; x has shape f32[8,4]");
  vf_data_put_all(v, "bhwc,bf", 1, x, &data_error);
  data_refused("there are 1 values; the view has 2 components, a value each");
  vf_data_get_all(v, "bchw,bf,b", VF_NONE, COUNT, y, &data_error);
  data_refused("has 3 parts; the view has 2 components, a part each");
  vf_data_get_all(v, "bchw", VF_NONE, COUNT, y, &data_error);
  data_refused("component 1: a data view of 'bf' has no view 'bchw'; the array has no axis 'c'");
  vf_data_get_all(v, "bf:cuda,bf", VF_NONE, COUNT, y, &data_error);
  data_refused("component 0: view 'bf:cuda' has the dtype 'cuda'");
  vf_data_backward_put_all(v, "bf", COUNT, x, &data_error);
  data_refused("component 0: g has shape f32[8,4,4,3], the view f32[8,48]");
  assert_null(vf_data_sub(v, 2, 9, NULL, &data_error));
  data_refused("component 0: examples 2 to 9 do not lie in 0..8");
  assert_null(vf_data_index(v, NUMBERS(1), NULL, &data_error));
  data_refused("component 0: indices are f32[1]");
  vf_data_put(v, "bf", x[0], &data_error);
  data_refused("a list view has several arrays; use vf_data_put_all");
  vf_data_replace(v, "bf", x[0], &data_error);
  data_refused("use vf_data_replace_all");
  vf_data_set_classes(v, 3, NULL, &data_error);
  data_refused("a list view has no classes");
  vf_list_view_create(0, parts, &data_error);
  data_refused("there are no components; a list has at least one");
  vf_list_view_create(2, (vf_data_view *const[]){v, NULL}, &data_error);
  data_refused("component 1 is NULL");
}

UNIT_TESTS_BETWEEN(data_begin, data_end, test_elementwise, test_all_methods, test_nested, test_errors)
