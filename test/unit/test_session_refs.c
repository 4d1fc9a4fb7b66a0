/* References of the session: what sees which version, what changes in place, what stays valid. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/session/lazy.h"
#include "test/lib/api.h"
#include "test/lib/level.h"
#include "test/lib/unit.h"

static vf_error error;

static vf_ref created(vf_context *c, int rows, int columns, const float *elements) {
  vf_ref r = vf_ref_create(c, VF_F32, VF_LIST(rows, columns), elements, &error);
  if (!vf_ok(r.target)) fail_msg("%s", error.message);
  return r;
}

static vf_tensor *kept(vf_value value) {
  vf_tensor *t = vf_tensor_keep(value, &error);
  if (!t) fail_msg("%s", error.message);
  return t;
}

static const float *data_of(vf_tensor *t) {
  const float *data = vf_tensor_data(t, &error);
  if (!data) fail_msg("%s", error.message);
  return data;
}

static const float *held(vf_ref r) {
  const float *data = vf_ref_data(r, &error);
  if (!data) fail_msg("%s", error.message);
  return data;
}

static void check_floats(const float *have, const float *want, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (have[i] != want[i]) fail_msg("element %zu is %g, not %g", i, have[i], want[i]);
}
#define CHECK(have, ...)                                                                                     \
  check_floats((have), (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

static vf_value number(vf_ref r, double value) { return vf_number(r.target.graph, value); }

/* Views see each other's updates, before and after elements are computed; what was read stays. */
static void test_views_last(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  vf_ref a = created(c, 2, 3, (float[]){1, 2, 3, 4, 5, 6});
  vf_ref columns = vf_ref_view(a, vf_permute(a.target, VF_LIST(1, 0)));
  vf_ref last = vf_ref_view(columns, vf_point(columns.target, 2, 0));
  vf_tensor *old = kept(vf_ref_get(last));
  vf_ref_update(last, number(a, 10), VF_WRITE_ADD);
  vf_tensor *row = kept(vf_ref_get(vf_ref_view(a, vf_point(a.target, 1, 0))));
  CHECK(held(columns), 1, 2, 13, 4, 5, 16);
  CHECK(data_of(old), 3, 6);
  CHECK(data_of(row), 4, 5, 16);
  assert_int_equal(vf_session_collect(c, &error), VF_OK); /* to another graph */
  vf_ref_set(last, number(a, 7));
  vf_ref first = vf_ref_view(columns, vf_point(vf_ref_target(columns), 0, 0));
  vf_ref_set(first, vf_ref_get(last));
  CHECK(held(a), 7, 2, 7, 7, 5, 7);
  CHECK(data_of(old), 3, 6);
  vf_tensor_release(old);
  vf_tensor_release(row);
  vf_ref_release(a);
}

/* Numbers that count from 0, and views of them, are computed like any tensor; targets that count alike stay
 * targets. */
static void test_equal_positions(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  vf_ref a = created(c, 2, 3, (float[]){1, 2, 3, 4, 5, 6});
  vf_graph *g = vf_session(c, &error);
  vf_value all = vf_reshape(vf_iota(g, VF_I64, VF_LIST(6), 0), VF_LIST(2, 3));
  vf_value parts[] = {all, vf_point(all, 1, 0), vf_permute(all, VF_LIST(1, 0))};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    vf_tensor *t = kept(parts[i]), *again = kept(parts[i]);
    const int64_t *first = vf_tensor_data(t, &error);
    assert_non_null(first);
    assert_ptr_equal(vf_tensor_data(again, &error), first);
    assert_int_equal(first[1], i == 0 ? 1 : i == 1 ? 4 : 3);
    vf_tensor_release(t), vf_tensor_release(again);
    all = vf_reshape(vf_iota(g, VF_I64, VF_LIST(6), 0), VF_LIST(2, 3));
    parts[1] = vf_point(all, 1, 0), parts[2] = vf_permute(all, VF_LIST(1, 0));
  }
  vf_ref_set(vf_ref_view(a, vf_point(vf_ref_target(a), 1, 0)), number(a, 7));
  vf_ref_update(vf_ref_view(a, vf_permute(vf_ref_target(a), VF_LIST(1, 0))), number(a, 1), VF_WRITE_ADD);
  CHECK(held(a), 2, 3, 4, 8, 8, 8);
  vf_ref_release(a);
}

/* The elements stay where they are, and no array of that size is made; the tensor that needs the old ones is
 * computed first. */
static void test_in_place(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  enum { ROWS = 300, COLUMNS = 500 };
  vf_ref a = vf_ref_create(c, VF_F32, VF_LIST(ROWS, COLUMNS), NULL, &error);
  const float *memory = held(a);
  for (int i = 0; i < 5; i++) {
    vf_value target = vf_ref_target(a);
    vf_ref block = vf_ref_view(a, vf_shrink(target, VF_LIST(i, i + 2, 0, 3)));
    vf_tensor *before = kept(vf_sum(vf_ref_get(a), VF_LIST(0, 1), false));
    vf_ref_update(block, number(a, 1), VF_WRITE_ADD);
    assert_ptr_equal(held(a), memory);
    assert_int_equal(c->lazy.bytes < 2 * sizeof(float) * ROWS * COLUMNS, 1);
    assert_true(data_of(before)[0] == (float)(6 * i));
    vf_tensor_release(before);
  }
  CHECK(memory, 1, 1, 1, 0);
  CHECK(memory + COLUMNS, 2, 2, 2, 0);
  vf_ref_release(a);
}

/* A tensor that has the elements keeps them: the reference goes to other memory. */
static void test_shared(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  vf_ref a = created(c, 1, 2, (float[]){1, 2});
  vf_tensor *t = kept(vf_ref_get(a));
  const float *seen = data_of(t);
  vf_ref_update(a, number(a, 1), VF_WRITE_ADD);
  CHECK(held(a), 2, 3);
  CHECK(data_of(t), 1, 2);
  assert_ptr_equal(data_of(t), seen);
  vf_tensor_release(t);
  const float *memory = held(a);
  vf_ref_update(a, number(a, 1), VF_WRITE_ADD);
  assert_ptr_equal(held(a), memory);
  CHECK(memory, 3, 4);
  vf_ref_release(a);
}

/* Two references that read each other's older versions, and a loop that moves the session many times. */
static void test_two_and_many(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  vf_ref a = created(c, 1, 2, (float[]){1, 2}), b = created(c, 1, 2, (float[]){10, 20});
  vf_value old = vf_ref_get(a);
  vf_ref_set(a, vf_ref_get(b));
  vf_ref_set(b, old);
  CHECK(held(a), 10, 20);
  CHECK(held(b), 1, 2);
  vf_ref second = vf_ref_view(a, vf_point(vf_ref_target(a), 1, 1));
  for (int i = 0; i < 3000; i++) {
    vf_ref_update(second, number(a, 1), VF_WRITE_ADD);
    if (i % 3 == 0) assert_int_equal(vf_ref_realise(a, &error), VF_OK);
  }
  CHECK(held(a), 10, 3020);
  assert_true(c->session->ir.count < 4000); /* dead versions go */
  vf_ref_release(a);
  vf_ref_release(b);
}

static void check_refused(vf_context *c, const char *reason) {
  assert_string_not_equal(vf_graph_message(c->session), "");
  api_check_reason(vf_graph_message(c->session), reason);
  vf_graph_clear_error(c->session);
}

static void test_refused(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  vf_graph *other = api_graph(c, "other");
  vf_ref a = created(c, 1, 2, (float[]){1, 2}), gone = created(c, 1, 2, (float[]){1, 2});
  vf_ref_release(gone);
  vf_ref_get(gone);
  check_refused(c, "ref_get: the reference has been released; a reference is read and written before "
                   "vf_ref_release");
  assert_int_equal(vf_ref_realise(gone, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "ref_realise: the reference has been released");
  vf_ref_set(a, vf_number(other, 1));
  check_refused(c, "ref_set: operand 2 belongs to graph @other, others to @session; operands belong to one "
                   "graph; a tensor of the session is made of what a program has written: vf_tensor_create");
  vf_tensor *i = vf_tensor_create(c, VF_I64, VF_LIST(1), (int64_t[]){1}, &error);
  vf_ref gathered = vf_ref_view(a, vf_gather(a.target, vf_tensor_value(i), 1, VF_GATHER_CHECK));
  vf_ref_update(gathered, number(a, 5), VF_WRITE_ADD);
  CHECK(held(a), 1, 7);
  vf_ref_set(gathered, number(a, 1));
  check_refused(c, "ref_set: the view of the reference gathers by elements, and is from before the session "
                   "last realised a tensor; make it again with vf_ref_view");
  vf_ref in = vf_ref_input(other, "in", VF_F32, VF_LIST(2));
  assert_null(vf_ref_data(in, &error));
  assert_string_equal(error.message,
                      "ref_data: the reference is an input, whose elements are the caller's memory; a "
                      "reference of the session has elements, which vf_ref_create gave it");
  assert_int_equal(vf_ref_realise((vf_ref){0}, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "ref_realise: the reference is none; a reference of the session has "
                                     "elements, which vf_ref_create gave it");
  /* a failing builder is reported by what computes, and changes nothing */
  vf_ref_update(a, number(a, 1), VF_WRITE_ADD);
  vf_ref_set(a, vf_tensor_value(i));
  vf_ref_set(a, vf_full(number(a, 1), VF_LIST(3)));
  assert_null(vf_ref_data(a, &error));
  api_check_reason(error.message,
                   "ref_set: the update has shape f32[3]; the reference has shape f32[1,2], of which [1,2] "
                   "is replaced; an update broadcasts to that");
  CHECK(held(a), 1, 1); /* what was good before is done */
  vf_tensor_release(i);
  vf_ref_release(a);
}

/* An index out of range: the reference has what the steps before left; what needed its old elements says so.
 */
static void test_out_of_range(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  vf_ref a = created(c, 1, 4, (float[]){1, 2, 3, 4});
  vf_tensor *i = vf_tensor_create(c, VF_I64, VF_LIST(2), (int64_t[]){1, 9}, &error);
  vf_tensor *before = kept(vf_mul(vf_ref_get(a), number(a, 10)));
  vf_ref_update(vf_ref_view(a, vf_point(a.target, 0, 1)), number(a, 100), VF_WRITE_SET);
  vf_ref_set(vf_ref_view(a, vf_gather(a.target, vf_tensor_value(i), 1, VF_GATHER_CHECK)), number(a, 7));
  assert_int_equal(vf_ref_realise(a, &error), VF_ERR_RANGE);
  const float *now = held(a);
  if ((now[0] != 1 && now[0] != 100) || (now[1] != 2 && now[1] != 7) || now[2] != 3 || now[3] != 4)
    fail_msg("%g %g %g %g", now[0], now[1], now[2], now[3]);
  assert_null(vf_tensor_data(before, &error));
  assert_string_equal(error.message,
                      "realise: it needs elements that a reference had before a run that changed it failed; "
                      "release the tensor, and compute it from what the reference holds now");
  vf_tensor_release(before);
  vf_ref_set(a, number(a, 3));
  CHECK(held(a), 3, 3, 3, 3);
  vf_tensor_release(i);
  vf_ref_release(a);
}

/* Each allocation fails in turn: the reference holds its old elements, or the new ones. */
static void test_short_memory(void **state) {
  (void)state;
  long step = level_step(11), failures = 1;
  for (long fail_at = 1; failures; fail_at += step) {
    test_memory memory = {.fail_at = fail_at};
    vf_context *c = test_memory_context(&memory);
    vf_ref a = {{0}, -1, 0};
    if (c) a = vf_ref_create(c, VF_F32, VF_LIST(2, 2), (float[]){1, 2, 3, 4}, &error);
    if (c && vf_ok(a.target)) {
      vf_ref row = vf_ref_view(a, vf_point(a.target, 1, 0));
      vf_tensor *old = vf_tensor_keep(vf_ref_get(row), NULL);
      vf_value done = vf_ref_update(row, number(a, 10), VF_WRITE_ADD);
      bool good = vf_ok(done) && vf_ref_realise(a, &error) == VF_OK;
      vf_graph_clear_error(vf_session(c, NULL));
      memory.fail_at = 0;
      const fe_session_ref *r = &c->lazy.refs[a.number];
      const float *now = rt_memory_read(c->runtime, fe_lazy_memory(&c->lazy, r->held), &(ir_error){0});
      if (good) CHECK(now, 1, 2, 13, 14);
      else CHECK(now, 1, 2, 3, 4);
      if (vf_ok(done)) CHECK(held(a), 1, 2, 13, 14);
      if (old) CHECK(data_of(old), 3, 4);
      vf_tensor_release(old);
      vf_ref_release(a);
    }
    vf_context_destroy(c);
    failures = atomic_load(&memory.allocations) >= fail_at && fail_at < 100000;
    assert_int_equal(atomic_load(&memory.live), 0);
  }
}

UNIT_TESTS(test_views_last, test_equal_positions, test_in_place, test_shared, test_two_and_many, test_refused,
           test_out_of_range, test_short_memory)
