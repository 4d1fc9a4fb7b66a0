/* Views of data by named axes: what each class converts to, and what it refuses. Numbers of rows of the
 * specification count from 0; those that the package of these classes prints in its documentation are named
 * so. */
#include "test/lib/data_view.h"
#include "test/lib/unit.h"

/* spec: D1 D3 */
static void test_axes(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "bftchwd", data_counting(VF_I32, VF_LIST(2, 1, 1, 2, 1, 1, 1)));
  assert_string_equal(vf_data_axes(v), "bftchwd");
  data_put(v, "qbZ", data_counting(VF_I32, VF_LIST(2, 3, 2)));
  assert_string_equal(vf_data_axes(v), "qbZ");
  SHAPED(data_got(v, NULL), 2, 3, 2);
  vf_data_put(v, "bb", data_counting(VF_I32, VF_LIST(2, 2)), &data_error);
  data_refused("view 'bb' has letter 'b' twice; each stands once");
  vf_data_put(v, "b2", data_counting(VF_I32, VF_LIST(2, 2)), &data_error);
  data_refused("view 'b2' has '2'; axes are letters");
  vf_data_put(v, "", data_counting(VF_I32, VF_LIST(2)), &data_error);
  data_refused("there are no axes; say what those of the array are");
  vf_data_put(v, "bf", data_counting(VF_I32, VF_LIST(2, 2, 2)), &data_error);
  data_refused("view 'bf' has 2 axes; x has shape i32[2,2,2]; each axis has a letter");
  vf_data_put(v, "abcdefghijklmnopq", data_counting(VF_I32, VF_LIST(2)), &data_error);
  data_refused("more axes than a tensor, 16");
  assert_string_equal(vf_data_axes(v), "qbZ");
}

/* spec: D2 D2.U */
static void test_dtypes(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "bf", data_counting(VF_I16, VF_LIST(2, 2)));
  assert_int_equal(vf_value_dtype(data_got(v, "bf")), VF_I16);
  assert_int_equal(vf_value_dtype(vf_data_get(v, "bf", VF_F16, &data_error)), VF_F16);
  assert_int_equal(vf_value_dtype(vf_data_get(v, "bf:f64", VF_NONE, &data_error)), VF_F64);
  assert_int_equal(vf_value_dtype(vf_data_get(v, ":i8", VF_I8, &data_error)), VF_I8);
  vf_data_get(v, "bf:f64", VF_F32, &data_error);
  data_refused("view 'bf:f64' has the dtype f64, and f32 is given beside");
  vf_data_get(v, "bf:cuda", VF_NONE, &data_error);
  data_refused(
      "the dtype 'cuda', which is none of elements; one is, as f32, and the device is the context's");
  vf_data_get(v, "bf", (vf_dtype)99, &data_error);
  data_refused("99 is no dtype of elements; one is, as VF_F32, and the device is the context's");
  vf_data_type(v, VF_INDEX, &data_error);
  data_refused("14 is no dtype of elements");
}

/* spec: D11 D11.of */
static void test_data(void **state) {
  (void)state;
  vf_data_view *v = data_kept(vf_data_view_of("b", data_counting(VF_F32, VF_LIST(3)), &data_error));
  SHAPED(data_got(v, "bf"), 3, 1);
  HOLDS(data_got(v, "b"), 0, 1, 2);
  data_put(v, "bf", data_counting(VF_F32, VF_LIST(3, 1)));
  SHAPED(data_got(v, "b"), 3);
  HOLDS(data_got(v, "b"), 0, 1, 2);
  data_put(v, "fb", data_counting(VF_F32, VF_LIST(2, 3)));
  HOLDS(data_got(v, "bf"), 0, 3, 1, 4, 2, 5);
  HOLDS(data_got(v, "default"), 0, 1, 2, 3, 4, 5);
  data_put(v, "hwb", data_counting(VF_F32, VF_LIST(2, 2, 2))); /* h and b change places, then w, h is f */
  HOLDS(data_got(v, "bf"), 0, 4, 2, 6, 1, 5, 3, 7);
  vf_data_put(v, "fw", data_counting(VF_F32, VF_LIST(3, 2)), &data_error);
  data_refused("view 'fw' has no axis 'b'; a data view has the axes b, and any other letters, each once");
  assert_null(vf_data_view_of("fw", data_counting(VF_F32, VF_LIST(3, 2)), &data_error));
  data_refused("view 'fw' has no axis 'b'");
}

/* spec: D11.U */
static void test_data_refuses(void **state) {
  (void)state;
  vf_data_view *v = data_kept(vf_data_view_of("bf", data_counting(VF_F32, VF_LIST(3, 2)), &data_error));
  vf_data_get(v, "b", VF_NONE, &data_error);
  data_refused("view 'bf' becomes 'b' where it has one feature; the array has shape f32[3,2]");
  vf_data_get(v, "bhwc", VF_NONE, &data_error);
  data_refused("a data view of 'bf' has no view 'bhwc'; the array has no axis 'h'; it has its own, bf, and b "
               "of one feature");
  data_put(v, "bwc", data_counting(VF_F32, VF_LIST(3, 2, 1)));
  vf_data_get(v, "b", VF_NONE, &data_error);
  data_refused("a data view of 'bwc' has no view 'b'");
}

/* spec: D12 D12.U D11.of */
static void test_image(void **state) {
  (void)state;
  vf_data_view *v =
      data_kept(vf_image_view_of("bhwc", data_counting(VF_I32, VF_LIST(2, 3, 4, 5)), &data_error));
  SHAPED(data_got(v, "bhwc"), 2, 3, 4, 5);
  SHAPED(data_got(v, "bchw"), 2, 5, 3, 4);
  SHAPED(data_got(v, "chwb"), 5, 3, 4, 2);
  SHAPED(data_got(v, "bf"), 2, 60);
  vf_data_get(v, "bwt", VF_NONE, &data_error);
  data_refused("an image view of 'bhwc' has no view 'bwt'; the array has no axis 't'");
  vf_data_get(v, "b", VF_NONE, &data_error);
  data_refused("it has its own, any order of its axes, and bf");
  vf_data_put(v, "bf", data_counting(VF_I32, VF_LIST(2, 2)), &data_error);
  data_refused("view 'bf' has no axis 'h'; an image view has the axes b, h, w and c");
  vf_data_put(v, "bhwt", data_counting(VF_I32, VF_LIST(2, 2, 2, 2)), &data_error);
  data_refused("view 'bhwt' has no axis 'c'");
  vf_data_put(v, "bhwct", data_counting(VF_I32, VF_LIST(2, 2, 2, 2, 1)), &data_error);
  data_refused("view 'bhwct' has the axis 't'");
  assert_string_equal(vf_data_axes(v), "bhwc");
  data_put(v, "bdhwc", data_counting(VF_I32, VF_LIST(2, 2, 1, 2, 2))); /* with depth */
  HOLDS(data_got(v, "bcdhw"), 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
}

/* spec: D13 D11.of */
static void test_sequence(void **state) {
  (void)state;
  vf_data_view *v =
      data_kept(vf_sequence_view_of("bwc", data_counting(VF_F32, VF_LIST(2, 2, 3)), &data_error));
  HOLDS(data_got(v, "bcw"), 0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11);
  SHAPED(data_got(v, "bf"), 2, 6);
  data_put(v, "bcw", data_counting(VF_F32, VF_LIST(1, 2, 3)));
  HOLDS(data_got(v, "bwc"), 0, 3, 1, 4, 2, 5);
  vf_data_put(v, "bw", data_counting(VF_F32, VF_LIST(2, 2)), &data_error);
  data_refused("view 'bw' has no axis 'c'; a sequence view has the axes b, w and c");
  vf_data_get(v, "bhwc", VF_NONE, &data_error);
  data_refused("a sequence view of 'bcw' has no view 'bhwc'; the array has no axis 'h'");
}

/* spec: D14 D14.U D14.labels D11.of */
static void test_classes(void **state) {
  (void)state;
  static const char *const labels[] = {"cat", "dog", "hen", "owl"};
  vf_data_view *v = data_kept(vf_class_view_of("bt", data_counting(VF_I32, VF_LIST(3, 2)), &data_error));
  HOLDS(data_got(v, "b"), 0, 2, 4);
  HOLDS(data_got(v, "bt"), 0, 1, 2, 3, 4, 5);
  HOLDS(data_got(v, "tb"), 0, 2, 4, 1, 3, 5);
  data_put(v, "b", data_counting(VF_I32, VF_LIST(3)));
  SHAPED(data_got(v, "bt"), 3, 1);
  SHAPED(data_got(v, "tb"), 1, 3);
  data_put(v, "tb", data_counting(VF_I32, VF_LIST(2, 3)));
  HOLDS(data_got(v, "b"), 0, 1, 2); /* not the array as it is */
  HOLDS(data_got(v, "bt"), 0, 3, 1, 4, 2, 5);
  vf_data_get(v, "bhwc", VF_NONE, &data_error);
  data_refused("a class view of 'tb' has no view 'bhwc'");
  vf_data_put(v, "bc", data_counting(VF_I32, VF_LIST(2, 3)), &data_error);
  data_refused("view 'bc' has the axis 'c'; a class view has the axes b, bt or tb");
  vf_data_get(v, "bf", VF_NONE, &data_error);
  data_refused("view 'bf' of classes needs their number; say it with vf_data_set_classes");
  assert_int_equal(vf_data_set_classes(v, 4, labels, &data_error), VF_OK);
  assert_int_equal(vf_data_classes(v), 4);
  assert_string_equal(vf_data_label(v, 1), "cat");
  assert_string_equal(vf_data_label(v, 4), "owl");
  assert_null(vf_data_label(v, 0));
  assert_null(vf_data_label(v, 5));
  vf_data_set_classes(data_view(), 4, labels, &data_error);
  data_refused("a data view has no classes; a class view has");
}

/* The first axis and b change places, and what follows is one feature after the other. spec: D16 */
static void test_order_of_features(void **state) {
  (void)state;
  vf_data_view *v = image_view();
  vf_value x = data_counting(VF_I32, VF_LIST(2, 2, 2, 2));
  data_put(v, "bhwc", x);
  HOLDS(data_got(v, "bf"), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  x = data_counting(VF_I32, VF_LIST(2, 2, 2, 2));
  data_put(v, "bchw", vf_rearrange(x, "bhwc", "bchw"));
  HOLDS(data_got(v, "bf"), 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  x = data_counting(VF_I32, VF_LIST(2, 2, 2, 2));
  data_put(v, "chwb", vf_rearrange(x, "bhwc", "chwb"));
  HOLDS(data_got(v, "bf"), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* Every pair of the table, by the swaps that it lists and by the call. spec: D17 */
static void test_transposes(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
    int swaps[3][2]; /* of axes that count from 1, one after the other */
  } rows[] = {
      {"bhwc", "bchw", {{4, 2}, {4, 3}}}, {"bhwc", "chwb", {{4, 1}}},
      {"bchw", "bhwc", {{3, 2}, {4, 3}}}, {"bchw", "chwb", {{2, 1}, {3, 2}, {4, 3}}},
      {"chwb", "bhwc", {{4, 1}}},         {"chwb", "bchw", {{4, 1}, {4, 2}, {4, 3}}},
      {"bwc", "bcw", {{3, 2}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int64_t sizes[] = {2, 3, 4, 5};
    int rank = (int)strlen(rows[i].from);
    vf_data_view *v = data_view();
    vf_value x = data_counting(VF_I32, rank, sizes);
    data_put(v, rows[i].from, x);
    for (int k = 0; k < 3 && rows[i].swaps[k][0]; k++)
      x = vf_swap_axes(x, rows[i].swaps[k][0] - 1, rows[i].swaps[k][1] - 1);
    vf_value y = vf_data_transpose(v, rows[i].to, &data_error);
    assert_true(vf_ok(y));
    HOLDS(vf_cast(vf_all(vf_eq(x, y), VF_ALL, false), VF_I32), 1);
  }
  vf_data_view *v = data_kept(vf_data_view_of("bf", data_counting(VF_F32, VF_LIST(3, 2)), &data_error));
  vf_data_transpose(v, "bq", &data_error);
  data_refused("view 'bq' has the axis 'q', which 'bf' lacks");
}

/* spec: D18 */
static void test_values(void **state) {
  (void)state;
  vf_data_view *v = image_view();
  data_put(v, "bhwc", data_counting(VF_I32, VF_LIST(2, 2, 2, 2)));
  HOLDS(data_got(v, "bchw"), 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  HOLDS(data_got(v, "chwb"), 0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15);
  data_put(v, "bhwc", data_counting(VF_I32, VF_LIST(8, 3, 3, 1)));
  SHAPED(data_got(v, "chwb"), 1, 3, 3, 8);
  SHAPED(data_got(v, "bf"), 8, 9);
  vf_data_view *s = sequence_view();
  data_put(s, "bwc", data_counting(VF_I32, VF_LIST(8, 2, 5)));
  SHAPED(data_got(s, "bf"), 8, 10);
}

/* The elements that the documentation of the package prints for eight images of 3 by 3 pixels, in "bf"; it
 * prints the same for "chwb", a pixel of all images in each row. */
static const double printed[72] = {
    0.0748, 0.9946, 0.7094, 0.1323, 0.5754, 0.5603, 0.4442, 0.7611, 0.4468, 0.7260, 0.6130, 0.6541,
    0.1587, 0.4101, 0.6446, 0.7090, 0.1444, 0.0348, 0.8156, 0.8277, 0.0811, 0.0822, 0.7095, 0.7345,
    0.1919, 0.2227, 0.9614, 0.4645, 0.5419, 0.0564, 0.3691, 0.5695, 0.2679, 0.0931, 0.2894, 0.5323,
    0.3130, 0.0760, 0.8081, 0.5855, 0.2273, 0.5913, 0.0364, 0.5571, 0.5906, 0.7986, 0.2964, 0.1823,
    0.8046, 0.0746, 0.5497, 0.5544, 0.2201, 0.9161, 0.3976, 0.0085, 0.4881, 0.1021, 0.9465, 0.1150,
    0.7864, 0.0916, 0.2670, 0.0998, 0.7283, 0.1486, 0.8321, 0.6109, 0.6649, 0.6034, 0.6040, 0.4789};
static const double printed_chwb[72] = {
    0.0748, 0.7260, 0.8156, 0.4645, 0.3130, 0.7986, 0.3976, 0.0998, 0.9946, 0.6130, 0.8277, 0.5419,
    0.0760, 0.2964, 0.0085, 0.7283, 0.7094, 0.6541, 0.0811, 0.0564, 0.8081, 0.1823, 0.4881, 0.1486,
    0.1323, 0.1587, 0.0822, 0.3691, 0.5855, 0.8046, 0.1021, 0.8321, 0.5754, 0.4101, 0.7095, 0.5695,
    0.2273, 0.0746, 0.9465, 0.6109, 0.5603, 0.6446, 0.7345, 0.2679, 0.5913, 0.5497, 0.1150, 0.6649,
    0.4442, 0.7090, 0.1919, 0.0931, 0.0364, 0.5544, 0.7864, 0.6034, 0.7611, 0.1444, 0.2227, 0.2894,
    0.5571, 0.2201, 0.0916, 0.6040, 0.4468, 0.0348, 0.9614, 0.5323, 0.5906, 0.9161, 0.2670, 0.4789};
/* and for eight sequences of 2 by 5, of which it prints three in "bwc", and all in "bf" */
static const double printed_sequences[30] = {0.4882, 0.8458, 0.5664, 0.6242, 0.2657, 0.2575, 0.9267, 0.1456,
                                             0.9965, 0.1016, 0.1117, 0.0561, 0.8146, 0.0399, 0.4839, 0.3808,
                                             0.2846, 0.7869, 0.9603, 0.4089, 0.8567, 0.9975, 0.2096, 0.2453,
                                             0.0143, 0.5626, 0.2677, 0.4176, 0.0819, 0.3801};

/* spec: D18.printed */
static void test_printed(void **state) {
  (void)state;
  vf_data_view *v = image_view(), *s = sequence_view(), *c = class_view();
  data_put(v, "bhwc", data_numbers(VF_F64, VF_LIST(8, 3, 3, 1), printed));
  data_holds(data_got(v, "bf"), 72, printed);
  SHAPED(data_got(v, "chwb"), 1, 3, 3, 8);
  data_holds(data_got(v, "chwb"), 72, printed_chwb);
  data_put(s, "bwc", data_numbers(VF_F64, VF_LIST(3, 2, 5), printed_sequences));
  data_holds(data_got(s, "bf"), 30, printed_sequences);
  data_holds(data_got(s, "bwc"), 30, printed_sequences);
  data_put(c, "b", vf_cast(NUMBERS(4, 1, 3, 4, 1, 2, 3, 1), VF_I32));
  HOLDS(data_got(c, "b"), 4, 1, 3, 4, 1, 2, 3, 1);
  SHAPED(data_got(c, "bt"), 8, 1);
  HOLDS(data_got(c, "bt"), 4, 1, 3, 4, 1, 2, 3, 1);
  data_put(c, "bt", vf_reshape(NUMBERS(4, 2, 3, 1, 2, 3, 3, 4), VF_LIST(4, 2)));
  HOLDS(data_got(c, "b"), 4, 3, 2, 3);
  HOLDS(data_got(c, "bt"), 4, 2, 3, 1, 2, 3, 3, 4);
}

/* spec: D52 */
static void test_one_hot(void **state) {
  (void)state;
  vf_data_view *v = class_view();
  assert_int_equal(vf_data_set_classes(v, 4, NULL, &data_error), VF_OK);
  data_put(v, "b", NUMBERS(4, 1, 3));
  HOLDS(data_got(v, "bf"), 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0);
  assert_int_equal(vf_data_set_classes(v, 5, NULL, &data_error), VF_OK);
  SHAPED(data_got(v, "bf"), 3, 5);
  vf_data_backward_put(v, "bf", data_counting(VF_F32, VF_LIST(3, 5)), &data_error);
  data_refused("view 'bf' of classes has no gradient");
  assert_int_equal(vf_data_set_classes(v, 4, NULL, &data_error), VF_OK);
  vf_data_backward_put(v, "bf", data_counting(VF_F32, VF_LIST(3, 4)), &data_error);
  data_refused("view 'bf' of classes has no gradient");
  data_put(v, "bt", vf_reshape(NUMBERS(4, 2, 3, 1), VF_LIST(2, 2)));
  HOLDS(data_got(v, "bf"), 0, 1, 0, 1, 1, 0, 1, 0);
  data_put(v, "tb", vf_reshape(NUMBERS(4, 3, 2, 1), VF_LIST(2, 2)));
  HOLDS(data_got(v, "bf"), 0, 1, 0, 1, 1, 0, 1, 0);
  for (int outside = 0; outside <= 5; outside += 5) {
    data_put(v, "b", NUMBERS(1, outside));
    vf_tensor *t = vf_tensor_keep(data_got(v, "bf"), &data_error);
    assert_null(vf_tensor_data(t, &data_error));
    assert_int_equal(data_error.status, VF_ERR_RANGE);
    vf_tensor_release(t);
  }
}

UNIT_TESTS_BETWEEN(data_begin, data_end, test_axes, test_dtypes, test_data, test_data_refuses, test_image,
                   test_sequence, test_classes, test_order_of_features, test_transposes, test_values,
                   test_printed, test_one_hot)
