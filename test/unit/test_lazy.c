/* Lazy tensors: what is realised when, what stays valid, and that a session frees memory. */
#include <pthread.h>

#include "frontend/api/api.h"
#include "runtime/context.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

static vf_tensor *created(vf_context *c, int count, const float *elements) {
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(count), elements, &error);
  assert_non_null(t);
  return t;
}

static vf_tensor *kept(vf_value value) {
  vf_tensor *t = vf_tensor_keep(value, &error);
  if (!t) print_error("%s\n", error.message);
  assert_non_null(t);
  return t;
}

static float first(vf_tensor *t) {
  const float *data = vf_tensor_data(t, &error);
  if (!data) print_error("%s\n", error.message);
  assert_non_null(data);
  return data[0];
}

static vf_value number(vf_tensor *t, double value) { return vf_number(vf_tensor_value(t).graph, value); }

static void test_realise(void **state) {
  vf_context *c = api_counted_context();
  const float elements[3] = {1, 2, 3};
  vf_tensor *x = created(c, 3, elements), *y = kept(vf_mul(vf_tensor_value(x), number(x, 2)));
  assert_true(vf_tensor_is_realised(x));
  assert_false(vf_tensor_is_realised(y));
  int64_t shape[1];
  assert_int_equal(vf_tensor_dtype(y), VF_F32);
  assert_int_equal(vf_tensor_shape(y, shape), 1);
  assert_int_equal(shape[0], 3);
  assert_int_equal(vf_tensor_bytes(y), 12);
  const float *data = vf_tensor_data(y, &error);
  assert_memory_equal(data, ((float[]){2, 4, 6}), 12);
  assert_true(vf_tensor_is_realised(y));
  assert_ptr_equal(vf_tensor_data(y, &error), data); /* computed once, and not moved */
  vf_tensor *same = kept(vf_tensor_value(y));
  assert_ptr_equal(vf_tensor_data(same, &error), data); /* no copy */
  vf_tensor_retain(same);
  vf_tensor_release(same);
  vf_tensor *z = kept(vf_sub(vf_tensor_value(same), vf_tensor_value(x)));
  assert_true(first(z) == 1);
  assert_ptr_equal(vf_tensor_data(y, &error), data);
  vf_tensor *all[] = {x, y, same, z};
  for (int i = 0; i < 4; i++) vf_tensor_release(all[i]);
}

static void test_several_at_once(void **state) {
  vf_context *c = api_counted_context();
  vf_tensor *x = created(c, 1, (float[]){3});
  vf_value square = vf_mul(vf_tensor_value(x), vf_tensor_value(x));
  vf_tensor *t[4] = {kept(square), kept(vf_add(square, number(x, 1))), kept(square), x};
  assert_int_equal(vf_tensor_realise(t, 4, &error), VF_OK);
  for (int i = 0; i < 4; i++) assert_true(vf_tensor_is_realised(t[i]));
  assert_true(first(t[0]) == 9 && first(t[1]) == 10 && first(t[2]) == 9 && first(x) == 3);
  assert_ptr_equal(vf_tensor_data(t[0], NULL), vf_tensor_data(t[2], NULL));
  assert_int_equal(vf_tensor_realise(NULL, 0, &error), VF_OK);
  assert_int_equal(vf_tensor_realise((vf_tensor *[]){x, NULL}, 2, &error), VF_ERR_INVALID);
  for (int i = 0; i < 4; i++) vf_tensor_release(t[i]);
}

/* A realised tensor is a leaf in everything recorded from it, also when its handle and its operands are
 * gone. */
static void test_realised_is_a_leaf(void **state) {
  vf_context *c = api_counted_context();
  vf_tensor *x = created(c, 2, (float[]){1, 2}), *y = kept(vf_add(vf_tensor_value(x), number(x, 1)));
  vf_tensor *z = kept(vf_mul(vf_tensor_value(y), number(x, 10)));
  assert_true(first(y) == 2);
  vf_tensor_release(x);
  vf_tensor_release(y);
  assert_int_equal(vf_session_collect(c, &error), VF_OK); /* z needs the elements of y alone */
  assert_int_equal(c->lazy.storage_count, 1);
  assert_true(first(z) == 20);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(c->lazy.storage_count, 1);
  vf_tensor_release(z);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(c->lazy.storage_count, 0);
  assert_int_equal(c->session->ir.count, 1); /* the error value */
}

static void test_scalars_constants_and_empty(void **state) {
  vf_context *c = api_counted_context();
  vf_graph *g = vf_session(c, &error);
  vf_tensor *pi = kept(vf_number(g, 3.25)), *none = kept(vf_full(vf_number(g, 1), VF_LIST(0, 3)));
  vf_tensor *array = kept(vf_data(g, VF_I16, VF_LIST(2), (int16_t[]){-5, 6}));
  vf_tensor *zeros = vf_tensor_create(c, VF_F64, VF_LIST(2, 2), NULL, &error);
  assert_true(first(pi) == 3.25f);
  assert_int_equal(vf_tensor_rank(pi), 0);
  assert_non_null(vf_tensor_data(none, &error));
  assert_int_equal(vf_tensor_bytes(none), 0);
  assert_true(vf_tensor_is_realised(array));
  assert_int_equal(((const int16_t *)vf_tensor_data(array, &error))[0], -5);
  assert_true(((const double *)vf_tensor_data(zeros, &error))[3] == 0);
  vf_tensor *all[] = {pi, none, array, zeros};
  for (int i = 0; i < 4; i++) vf_tensor_release(all[i]);
}

static void test_errors(void **state) {
  vf_context *c = api_counted_context();
  vf_tensor *x = created(c, 2, (float[]){1, 2}), *y = created(c, 3, (float[]){1, 2, 3});
  vf_value old = vf_tensor_value(x);
  /* reported by keep, and cleared there */
  assert_null(vf_tensor_keep(vf_neg(vf_add(old, vf_tensor_value(y))), &error));
  api_check_reason(
      error.message,
      "add: shapes f32[2] and f32[3] do not broadcast: size 2 meets 3 at axis -1; sizes must be equal or 1");
  vf_tensor *good = kept(vf_neg(old));
  assert_true(first(good) == -1);
  /* values become invalid when a tensor is realised */
  assert_null(vf_tensor_keep(vf_neg(old), &error));
  api_check_reason(error.message, "neg: operand 1 is a value from before the session last realised a "
                                  "tensor; get it again with vf_tensor_value");
  assert_null(vf_tensor_keep(old, &error));
  assert_memory_equal(error.message, "keep: operand 1 is a value from before", 38);
  vf_value fresh = vf_tensor_value(x);
  assert_true(first(x) == 1); /* nothing to compute: values stay valid */
  assert_true(vf_ok(fresh));
  /* operations that a session does not support */
  vf_graph *g = vf_session(c, &error);
  assert_false(vf_ok(vf_input(g, "x", VF_F32, VF_LIST(2))));
  api_check_reason(vf_graph_message(g),
                   "input: the session has no inputs and variables; make a tensor with vf_tensor_create");
  assert_null(vf_tensor_keep(fresh, &error)); /* even with a good value: an earlier builder failed */
  assert_int_equal(error.status, VF_ERR_INVALID);
  assert_false(vf_ok(vf_variable(g, "n", 1, 2, 1)));
  vf_graph_clear_error(g);
  assert_false(vf_ok(vf_output(g, "y", fresh)));
  vf_graph_clear_error(g);
  assert_null(vf_compile(g, &error));
  vf_graph_destroy(g); /* it belongs to the context */
  assert_true(vf_ok(vf_neg(fresh)));
  /* tensors that are refused */
  assert_null(vf_tensor_create(c, VF_INDEX, VF_LIST(2), NULL, &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
  assert_null(vf_tensor_create(c, VF_F32, VF_LIST(-2), NULL, &error));
  assert_null(vf_tensor_create(c, VF_F32, 17, NULL, NULL, &error));
  assert_null(vf_tensor_create(c, VF_F32, VF_LIST(INT64_MAX / 8, 8), NULL, &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
  assert_int_equal(vf_graph_status(g), VF_OK); /* none of these is a recording error */
  vf_graph *named = vf_graph_create(c, "named", &error);
  assert_null(vf_tensor_keep(vf_input(named, "x", VF_F32, VF_LIST(2)), &error));
  assert_memory_equal(error.message, "keep: the value belongs to a graph of its own", 45);
  vf_graph_destroy(named);
  vf_tensor_release(x), vf_tensor_release(y), vf_tensor_release(good);
}

/* An index out of range fails the realisation; the tensor can be realised again, and the session goes on. */
static void test_failed_run(void **state) {
  vf_context *c = api_counted_context();
  vf_tensor *x = created(c, 2, (float[]){1, 2});
  vf_tensor *at = vf_tensor_create(c, VF_I32, VF_LIST(1), (int32_t[]){5}, &error);
  vf_tensor *y = kept(vf_gather(vf_tensor_value(x), vf_tensor_value(at), 0, VF_GATHER_CHECK));
  for (int i = 0; i < 2; i++) {
    assert_null(vf_tensor_data(y, &error));
    assert_int_equal(error.status, VF_ERR_RANGE);
    assert_non_null(strstr(error.message, "graph @session: gather"));
    assert_non_null(strstr(error.message, "[0] is 5, but axis 0 of"));
    assert_non_null(strstr(error.message, "has 2 elements; indices are -2 to 1"));
    assert_false(vf_tensor_is_realised(y));
  }
  vf_tensor *z = kept(vf_neg(vf_tensor_value(x)));
  assert_true(first(z) == -1);
  vf_tensor *all[] = {x, at, y, z};
  for (int i = 0; i < 4; i++) vf_tensor_release(all[i]);
}

/* Equal steps are one program, whatever is recorded, realised and moved between them. */
static void test_loop_compiles_once(void **state) {
  vf_context *c = api_counted_context();
  vf_tensor *x = created(c, 4, (float[]){1, 2, 3, 4});
  size_t peak = 0;
  for (int i = 0; i < 3000; i++) {
    vf_value v = vf_tensor_value(x);
    if (i % 3 == 0) vf_exp(vf_add(v, number(x, i))); /* never realised */
    vf_tensor *next = kept(vf_add(vf_mul(v, number(x, 0.5)), number(x, 1)));
    assert_non_null(vf_tensor_data(next, &error));
    vf_tensor_release(x);
    x = next;
    if (i == 1500) peak = atomic_load(&api_memory.peak);
  }
  assert_int_equal(atomic_load(&api_memory.peak), peak);
  assert_true(first(x) == 2);
  assert_true(c->session->ir.count < 3000);
  assert_int_equal(c->runtime->programs.count, 1);
  vf_tensor_release(x);
}

/* Large results: unused ones are freed before they take more memory than the live ones. */
static void test_large_results(void **state) {
  enum { COUNT = 1 << 18 };
  vf_context *c = api_counted_context();
  vf_tensor *x = vf_tensor_create(c, VF_F32, VF_LIST(COUNT), NULL, &error);
  for (int i = 0; i < 50; i++) {
    vf_tensor *next = kept(vf_add(vf_tensor_value(x), number(x, 1)));
    assert_non_null(vf_tensor_data(next, &error));
    vf_tensor_release(x);
    x = next;
  }
  assert_true(first(x) == 50);
  assert_true(atomic_load(&api_memory.peak) < 5 * COUNT * sizeof(float));
  vf_tensor_release(x);
}

/* A chain of 100,000 operations on a small stack. */
static void *record_deep(void *argument) {
  vf_context *c = argument;
  vf_tensor *x = vf_tensor_create(c, VF_F32, VF_LIST(2), NULL, NULL), *y;
  vf_value v = vf_tensor_value(x), one = vf_number(v.graph, 1);
  for (int i = 0; i < 100000; i++) v = i % 2 ? vf_add(v, one) : vf_neg(v);
  y = vf_tensor_keep(v, NULL);
  bool good = y && vf_session_collect(c, NULL) == VF_OK && c->session->ir.count > 100000;
  char *line = vf_value_text(vf_tensor_value(y));
  good = good && line && strstr(line, "= add ");
  vf_text_free(c, line);
  vf_tensor_release(x);
  vf_tensor_release(y);
  good = good && vf_session_collect(c, NULL) == VF_OK && c->session->ir.count == 1;
  return good ? c : NULL;
}

static void test_deep_chain(void **state) {
  vf_context *c = api_counted_context();
  pthread_attr_t small;
  pthread_t thread;
  void *result;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 * 1024);
  assert_int_equal(pthread_create(&thread, &small, record_deep, c), 0);
  pthread_join(thread, &result);
  pthread_attr_destroy(&small);
  assert_ptr_equal(result, c);
}

UNIT_TESTS(test_realise, test_several_at_once, test_realised_is_a_leaf, test_scalars_constants_and_empty,
           test_errors, test_failed_run, test_loop_compiles_once, test_large_results, test_deep_chain)
