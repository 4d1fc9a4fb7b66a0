/* The methods of views of data: what each does, in which order they may be called, and what they refuse. */
#include "test/lib/data_view.h"
#include "test/lib/unit.h"

/* Consumers give gradients of what they got; the producer itself need not get. spec: D4 */
static void test_producer_and_consumers(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "fb", data_counting(VF_F32, VF_LIST(2, 3)));
  data_put_back(v, "fb", data_counting(VF_F32, VF_LIST(2, 3)));
  vf_data_backward_put(v, "bf", data_counting(VF_F32, VF_LIST(3, 2)), &data_error);
  data_refused("view 'bf' has not been got in f32; a gradient is of what a consumer got");
  data_got(v, "bf"), data_got(v, "bf");
  data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(3, 2)));
  data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(3, 2)));
  HOLDS(data_got_back(v), 0, 5, 10, 5, 10, 15);
}

/* Each class answers each method. spec: D10 D20 D23 */
static void test_dispatch(void **state) {
  (void)state;
  vf_data_view *views[] = {data_view(), image_view(), sequence_view(), class_view()};
  static const char *const axes[] = {"bf", "bhwc", "bwc", "bt"};
  const int64_t shape[] = {2, 3, 1, 1};
  for (int i = 0; i < 4; i++) {
    vf_data_view *v = views[i];
    vf_value x = data_counting(VF_F32, (int)strlen(axes[i]), shape), none = {0};
    assert_true(vf_ok(vf_data_forward(v, axes[i], x, VF_NONE, &data_error)));
    vf_value own = vf_data_forward(v, NULL, none, VF_NONE, &data_error);
    assert_int_equal(own.id, x.id);
    assert_int_equal(vf_value_dtype(vf_data_forward(v, "default", none, VF_F64, &data_error)), VF_F64);
    vf_value g = data_counting(VF_F32, (int)strlen(axes[i]), shape);
    assert_true(vf_ok(vf_data_backward(v, axes[i], g, VF_NONE, &data_error)));
    assert_true(vf_ok(vf_data_backward(v, NULL, none, VF_NONE, &data_error)));
    vf_data_flush(v);
  }
}

/* spec: D20.U */
static void test_puts_or_gets(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  vf_value x = data_counting(VF_F32, VF_LIST(2, 2));
  vf_data_forward(v, "bf", x, VF_F64, &data_error);
  data_refused("data_forward: x is put, of f32, and f64 is asked for; a call puts or gets, not both");
  assert_string_equal(vf_data_axes(v), "");
  data_put(v, "bf", x);
  vf_data_backward(v, "bf", x, VF_F64, &data_error);
  data_refused("data_backward: g is put, of f32, and f64 is asked for");
}

/* What was got in the same axes of another array has no influence. spec: D21 D21.U */
static void test_put(void **state) {
  (void)state;
  vf_data_view *v = image_view();
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  SHAPED(vf_data_get(v, "bf", VF_F64, &data_error), 2, 8);
  data_put_back(v, "bhwc", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  data_put(v, "bhwc", data_counting(VF_I16, VF_LIST(3, 1, 2, 1)));
  SHAPED(data_got(v, "bf"), 3, 2);
  HOLDS(data_got(v, "bf"), 0, 1, 2, 3, 4, 5);
  assert_int_equal(vf_value_dtype(data_got(v, "bf")), VF_I16);
  vf_data_backward_get(v, NULL, VF_NONE, &data_error);
  data_refused("no gradient has been put since the array was");
  vf_data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(2, 2)), &data_error);
  data_refused("view 'bhwc' has 4 axes; x has shape f32[2,2]");
}

/* spec: D22 D22.U D39 */
static void test_get(void **state) {
  (void)state;
  vf_data_view *v = image_view();
  vf_data_get(v, "bf", VF_NONE, &data_error);
  data_refused("nothing has been put; put an array with its axes first");
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  vf_value first = data_got(v, "bchw"), second = data_got(v, "bchw");
  assert_int_equal(first.id, second.id); /* consumers share it */
  /* in another dtype it is a cast of the same */
  assert_int_equal(vf_data_get(v, "bchw", VF_F64, &data_error).id, vf_cast(first, VF_F64).id);
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(1, 2, 2, 2)));
  assert_int_not_equal(data_got(v, "bchw").id, first.id);
}

/* A gradient is checked when it is put. spec: D24 */
static void test_backward_put(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "bf", data_counting(VF_F32, VF_LIST(2, 3)));
  vf_data_backward_put(v, "bf", data_counting(VF_F32, VF_LIST(2, 4)), &data_error);
  data_refused("g has shape f32[2,4], the view f32[2,3]; both must be equal");
  vf_data_backward_put(v, "bf", data_counting(VF_F64, VF_LIST(2, 3)), &data_error);
  data_refused("view 'bf' has not been got in f64");
  data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(2, 3)));
  HOLDS(data_got_back(v), 0, 1, 2, 3, 4, 5);
}

/* spec: D25 D25.U */
static void test_backward_get(void **state) {
  (void)state;
  vf_data_view *v = image_view();
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  vf_data_backward_get(v, NULL, VF_NONE, &data_error);
  data_refused("no gradient has been put");
  data_got(v, "bchw"), data_got(v, "bf");
  data_put_back(v, "bchw", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(2, 8)));
  HOLDS(vf_data_backward_get(v, "bhwc", VF_F32, &data_error), 0, 5, 3, 8, 6, 11, 9, 14, 16, 21, 19, 24, 22,
        27, 25, 30);
  vf_data_backward_get(v, "bchw", VF_NONE, &data_error);
  data_refused("view 'bchw' is not that of the array, 'bhwc'");
  vf_data_backward_get(v, NULL, VF_F64, &data_error);
  data_refused("f64 is not the dtype of the array, f32");
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(1, 2, 2, 2))); /* the last batch is smaller */
  data_got(v, "bf");
  data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(1, 8)));
  data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(1, 8)));
  HOLDS(data_got_back(v), 0, 2, 4, 6, 8, 10, 12, 14);
}

/* spec: D26 */
static void test_gradients_stay(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "b", NUMBERS(0, 0));
  data_put_back(v, "b", NUMBERS(1, 2));
  HOLDS(data_got_back(v), 1, 2);
  HOLDS(data_got_back(v), 1, 2);
  data_put_back(v, "b", NUMBERS(10, 20));
  HOLDS(data_got_back(v), 11, 22);
  data_put(v, "b", NUMBERS(0, 0));
  vf_data_backward_get(v, NULL, VF_NONE, &data_error);
  data_refused("no gradient has been put");
}

/* spec: D27 */
static void test_adjoints(void **state) {
  (void)state;
  vf_data_view *c = class_view(), *v = image_view(), *d = data_view();
  data_put(c, "bt", data_counting(VF_F32, VF_LIST(4, 2)));
  data_got(c, "b"), data_got(c, "tb");
  data_put_back(c, "b", NUMBERS(10, 20, 30, 40));
  HOLDS(data_got_back(c), 10, 0, 20, 0, 30, 0, 40, 0);
  data_put(c, "b", NUMBERS(1, 2));
  data_got(c, "bt");
  data_put_back(c, "bt", vf_reshape(NUMBERS(3, 4), VF_LIST(2, 1)));
  HOLDS(data_got_back(c), 3, 4);
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  data_got(v, "bchw");
  data_put_back(v, "bchw", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  HOLDS(data_got_back(v), 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  data_put(v, "chwb", data_counting(VF_F32, VF_LIST(2, 1, 1, 2)));
  data_got(v, "bf");
  data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(2, 2)));
  HOLDS(data_got_back(v), 0, 2, 1, 3);
  data_put(d, "bf", data_counting(VF_F16, VF_LIST(2, 1)));
  vf_data_get(d, "b", VF_F32, &data_error);
  data_put_back(d, "b", NUMBERS(7, 8));
  SHAPED(data_got_back(d), 2, 1);
  assert_int_equal(vf_value_dtype(data_got_back(d)), VF_F16);
  HOLDS(data_got_back(d), 7, 8);
}

/* spec: D28 */
static void test_accumulation(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "bf", data_numbers(VF_F64, VF_LIST(1, 2), (const double[]){1, 2}));
  vf_data_get(v, "bf", VF_F32, &data_error);
  data_put_back(v, "bf", data_numbers(VF_F64, VF_LIST(1, 2), (const double[]){1, 2}));
  data_put_back(v, "bf", data_numbers(VF_F32, VF_LIST(1, 2), (const double[]){10, 20}));
  assert_int_equal(vf_value_dtype(data_got_back(v)), VF_F64);
  HOLDS(data_got_back(v), 11, 22);
}

/* spec: D29 D29.indices */
static void test_index(void **state) {
  (void)state;
  vf_data_view *v = data_view(), *image = image_view();
  static const vf_dtype integers[] = {VF_I8, VF_U8, VF_I16, VF_U16, VF_I32, VF_U32, VF_I64, VF_U64};
  data_put(v, "bf", data_counting(VF_F32, VF_LIST(4, 2)));
  vf_data_view *part = data_kept(vf_data_index(v, vf_cast(NUMBERS(1, 2), VF_I64), NULL, &data_error));
  assert_string_equal(vf_data_axes(part), "bf");
  HOLDS(data_got(part, "bf"), 2, 3, 4, 5);
  for (int i = 0; i < 8; i++) {
    assert_ptr_equal(vf_data_index(v, vf_cast(NUMBERS(3, 0, 3), integers[i]), part, &data_error), part);
    HOLDS(data_got(part, "bf"), 6, 7, 0, 1, 6, 7);
  }
  vf_data_index(v, vf_cast(NUMBERS(-1, -4), VF_I8), part, &data_error);
  HOLDS(data_got(part, "bf"), 6, 7, 0, 1);
  data_put(image, "chwb", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  vf_data_view *one = data_kept(vf_data_index(image, vf_cast(NUMBERS(1), VF_I32), NULL, &data_error));
  SHAPED(data_got(one, NULL), 2, 2, 2, 1);
  HOLDS(data_got(one, NULL), 1, 3, 5, 7, 9, 11, 13, 15);
  vf_data_index(v, vf_cast(NUMBERS(4), VF_I32), part, &data_error); /* an index out of range, in the run */
  vf_tensor *t = vf_tensor_keep(data_got(part, "bf"), &data_error);
  assert_null(vf_tensor_data(t, &data_error));
  assert_int_equal(data_error.status, VF_ERR_RANGE);
  vf_tensor_release(t);
}

/* A view to reuse is what it was when it is refused. spec: D29.U */
static void test_index_refuses(void **state) {
  (void)state;
  vf_data_view *v = data_view(), *other = data_view(), *image = image_view();
  data_put(v, "bf", data_counting(VF_F32, VF_LIST(4, 2)));
  data_put(other, "fb", data_counting(VF_F32, VF_LIST(2, 2)));
  vf_value at = vf_cast(NUMBERS(1, 2), VF_I32);
  assert_null(vf_data_index(v, at, image, &data_error));
  data_refused("the view to reuse is an image view; it has to be of the class and the graph of the view");
  assert_null(vf_data_index(v, at, other, &data_error));
  data_refused("the view to reuse has the axes 'fb', the view 'bf'; both must have the same");
  assert_null(vf_data_index(v, at, v, &data_error));
  data_refused("the view to reuse is the view itself");
  vf_data_flush(other);
  assert_null(vf_data_index(v, NUMBERS(1, 2), other, &data_error));
  data_refused("indices are f32[2]; they are integers along one axis");
  assert_null(vf_data_index(v, vf_reshape(at, VF_LIST(2, 1)), other, &data_error));
  data_refused("indices are i32[2,1]");
  assert_null(vf_data_index(other, at, NULL, &data_error));
  data_refused("nothing has been put");
  assert_string_equal(vf_data_axes(other), "");
}

/* A window of the array, and a copy by asking for one. spec: D30 D30.U */
static void test_sub(void **state) {
  (void)state;
  vf_data_view *v = data_view(), *c = class_view();
  data_put(v, "bf", data_counting(VF_F32, VF_LIST(4, 2)));
  vf_data_view *part = data_kept(vf_data_sub(v, 1, 3, NULL, &data_error));
  HOLDS(data_got(part, "bf"), 2, 3, 4, 5);
  assert_ptr_equal(vf_data_sub(v, 0, 0, part, &data_error), part);
  SHAPED(data_got(part, "bf"), 0, 2);
  assert_null(vf_data_sub(v, 1, 5, part, &data_error));
  data_refused("examples 1 to 5 do not lie in 0..4; a range is half-open, and counts from 0");
  assert_null(vf_data_sub(v, 3, 1, part, &data_error));
  data_refused("examples 3 to 1");
  data_put(c, "tb", data_counting(VF_I32, VF_LIST(2, 3)));
  vf_data_set_classes(c, 6, NULL, &data_error);
  vf_data_view *classes = data_kept(vf_data_sub(c, 1, 3, NULL, &data_error));
  HOLDS(data_got(classes, NULL), 1, 2, 4, 5);
  assert_int_equal(vf_data_classes(classes), 6);
}

/* A part that is not reused is one's own. spec: D31 D31.U */
static void test_iterate(void **state) {
  (void)state;
  vf_data_view *v = data_view(), *part = data_view();
  data_put(v, "bf", data_counting(VF_F32, VF_LIST(10, 1)));
  const int64_t counts[] = {4, 4, 2, 0}, stops[] = {4, 8, 10, 10};
  int64_t at = 0;
  for (int i = 0; i < 4; i++) {
    assert_int_equal(vf_data_iterate(v, 4, &at, part, &data_error), counts[i]);
    assert_int_equal(at, stops[i]);
  }
  HOLDS(data_got(part, "bf"), 8, 9);
  vf_data_view *first = data_kept(vf_data_sub(v, 0, 4, NULL, &data_error));
  vf_data_view *second = data_kept(vf_data_sub(v, 4, 8, NULL, &data_error));
  assert_ptr_not_equal(first, second);
  HOLDS(data_got(first, "bf"), 0, 1, 2, 3);
  HOLDS(data_got(second, "bf"), 4, 5, 6, 7);
  assert_int_equal(vf_data_iterate(v, 0, &at, part, &data_error), -1);
  data_refused("a batch has 0 examples; it has at least 1");
  assert_int_equal(vf_data_iterate(v, 4, &at, NULL, &data_error), -1);
  data_refused("the part is NULL");
  at = 11;
  assert_int_equal(vf_data_iterate(v, 4, &at, part, &data_error), -1);
  data_refused("position 11 does not lie in 0..10");
}

/* spec: D32 D32.U */
static void test_replace(void **state) {
  (void)state;
  vf_data_view *v = data_view(), *c = class_view();
  data_put(v, "fb", data_counting(VF_F32, VF_LIST(2, 3)));
  vf_data_replace(v, "bf", data_counting(VF_F32, VF_LIST(3, 2)), &data_error);
  data_refused("view 'bf' has not been got; what is replaced is what a consumer saw");
  data_got(v, "bf");
  assert_int_equal(vf_data_replace(v, "bf", data_counting(VF_F32, VF_LIST(3, 2)), &data_error), VF_OK);
  HOLDS(data_got(v, NULL), 0, 2, 4, 1, 3, 5);
  data_put_back(v, "fb", data_counting(VF_F32, VF_LIST(2, 3)));
  vf_data_replace(v, "fb", data_counting(VF_F32, VF_LIST(2, 3)), &data_error);
  data_refused("1 gradients of the array are pending; get them, and put or flush it first");
  data_put(c, "bt", data_counting(VF_F32, VF_LIST(2, 2)));
  data_got(c, "b");
  vf_data_replace(c, "b", NUMBERS(1, 2), &data_error);
  data_refused("view 'b' leaves classes of 'bt' out");
  vf_data_set_classes(c, 2, NULL, &data_error);
  data_got(c, "bf");
  vf_data_replace(c, "bf", data_counting(VF_F32, VF_LIST(2, 2)), &data_error);
  data_refused("view 'bf' of classes cannot be led back to ids");
}

/* In place, through the view: the caller's memory. spec: D32.ref */
static void test_reference(void **state) {
  (void)state;
  float memory[] = {0, 1, 2, 3, 4, 5};
  const float u[] = {10, 11, 12, 13, 14, 15};
  vf_graph *g = vf_graph_create(data_context, "g", &data_error);
  vf_ref ref = vf_ref_input(g, "a", VF_F32, VF_LIST(2, 3));
  vf_data_view *v = vf_data_view_create(g, &data_error);
  assert_int_equal(vf_data_put_ref(v, "fb", ref, &data_error), VF_OK);
  vf_output(g, "before", data_got(v, "bf"));
  assert_int_equal(vf_data_replace(v, "bf", vf_input(g, "u", VF_F32, VF_LIST(3, 2)), &data_error), VF_OK);
  float before[6];
  vf_program *p = vf_compile(g, &data_error);
  assert_non_null(p);
  assert_int_equal(vf_program_run(p, (const void *[]){memory, u}, (void *[]){before}, NULL, &data_error),
                   VF_OK);
  assert_memory_equal(before, ((const float[]){0, 3, 1, 4, 2, 5}), sizeof before);
  assert_memory_equal(memory, ((const float[]){10, 12, 14, 11, 13, 15}), sizeof memory);
  vf_data_view_destroy(v), vf_program_destroy(p), vf_graph_destroy(g);
}

/* spec: D33 */
static void test_flush(void **state) {
  (void)state;
  vf_data_view *v = image_view();
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(2, 2, 2, 2)));
  data_got(v, "bf");
  vf_data_flush(v);
  assert_string_equal(vf_data_axes(v), "");
  assert_int_equal(vf_data_sample_count(v), -1);
  vf_data_get(v, "bf", VF_NONE, &data_error);
  data_refused("nothing has been put");
  data_put(v, "cdwhb", data_counting(VF_F64, VF_LIST(1, 2, 2, 2, 3)));
  vf_data_backward_put(v, "bf", data_counting(VF_F64, VF_LIST(3, 8)), &data_error);
  data_refused("view 'bf' has not been got");
}

/* spec: D34 D34.U */
static void test_input(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "fb", data_counting(VF_F32, VF_LIST(1, 2)));
  HOLDS(vf_data_input(v, &data_error), 0, 1);
  data_got(v, "bf"), data_put_back(v, "bf", data_counting(VF_F32, VF_LIST(2, 1)));
  assert_int_equal(vf_data_set_input(v, data_counting(VF_F64, VF_LIST(2, 2)), &data_error), VF_OK);
  assert_string_equal(vf_data_axes(v), "fb");
  HOLDS(data_got(v, "bf"), 0, 2, 1, 3);
  vf_data_backward_get(v, NULL, VF_NONE, &data_error);
  data_refused("no gradient has been put since the array was");
  vf_data_set_input(v, NUMBERS(1, 2), &data_error);
  data_refused("view 'fb' has 2 axes; x has shape f32[2]");
}

/* spec: D35 */
static void test_sizes(void **state) {
  (void)state;
  vf_data_view *v = image_view();
  data_put(v, "bhwc", data_counting(VF_F32, VF_LIST(8, 3, 3, 1)));
  assert_int_equal(vf_data_sample_count(v), 8);
  assert_int_equal(vf_data_sample_size(v), 9);
  data_put(v, "chwb", data_counting(VF_F32, VF_LIST(1, 3, 2, 5)));
  assert_int_equal(vf_data_sample_count(v), 5);
  assert_int_equal(vf_data_sample_size(v), 6);
}

/* spec: D36 */
static void test_clone(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  vf_data_view *empty = data_kept(vf_data_clone(v, &data_error));
  assert_string_equal(vf_data_axes(empty), "");
  data_put(v, "bf", data_counting(VF_F32, VF_LIST(2, 2)));
  vf_data_view *copy = data_kept(vf_data_clone(v, &data_error));
  vf_data_flush(v);
  assert_string_equal(vf_data_axes(copy), "bf");
  HOLDS(data_got(copy, "default"), 0, 1, 2, 3);
  vf_data_view *list = list_view(2, (vf_data_view *const[]){copy, v});
  assert_ptr_equal(vf_data_component(list, 0), copy);
  assert_ptr_equal(vf_data_component(list, 1), v);
  assert_null(vf_data_component(list, 2));
  assert_null(vf_data_component(v, 0));
}

/* spec: D37 D37.U */
static void test_type(void **state) {
  (void)state;
  vf_data_view *v = data_view();
  data_put(v, "fb", vf_reshape(NUMBERS(1.5, -2.5), VF_LIST(2, 1)));
  data_got(v, "bf");
  assert_int_equal(vf_data_type(v, VF_I16, &data_error), VF_OK);
  assert_string_equal(vf_data_axes(v), "fb");
  assert_int_equal(vf_value_dtype(data_got(v, NULL)), VF_I16);
  HOLDS(data_got(v, NULL), 1, -2);
  vf_data_type(v, VF_NONE, &data_error);
  data_refused("there is no dtype");
  vf_data_flush(v);
  vf_data_type(v, VF_F32, &data_error);
  data_refused("nothing has been put");
}

UNIT_TESTS_BETWEEN(data_begin, data_end, test_producer_and_consumers, test_dispatch, test_puts_or_gets,
                   test_put, test_get, test_backward_put, test_backward_get, test_gradients_stay,
                   test_adjoints, test_accumulation, test_index, test_index_refuses, test_sub, test_iterate,
                   test_replace, test_reference, test_flush, test_input, test_sizes, test_clone, test_type)
