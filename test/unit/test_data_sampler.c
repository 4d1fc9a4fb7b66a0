/* Samplers: which examples they give, in which batches, and what that costs. */
#include "test/lib/api.h"
#include "test/lib/data_view.h"
#include "test/lib/unit.h"

static vf_sampler *kept(vf_sampler *s) {
  if (!s) fail_msg("%s", data_error.message);
  return unit_keep(s, (void (*)(void *))vf_sampler_destroy);
}

/* All batches of an epoch, in `order`; their sizes are checked. */
static void take_epoch(vf_sampler *s, int64_t examples, int64_t batch, int64_t *order) {
  const int64_t *indices;
  int64_t at = 0, n;
  while ((n = vf_sampler_next(s, &indices, &data_error)) > 0) {
    assert_int_equal(n, examples - at < batch ? examples - at : batch);
    memcpy(order + at, indices, (size_t)n * sizeof *order);
    at += n;
  }
  assert_int_equal(n, 0);
  assert_int_equal(at, examples);
}

static void test_in_order(void **state) {
  (void)state;
  vf_sampler *s = kept(vf_sampler_create(data_context, 10, 4, &data_error));
  for (int epoch = 0; epoch < 2; epoch++) {
    int64_t order[10];
    take_epoch(s, 10, 4, order);
    for (int i = 0; i < 10; i++) assert_int_equal(order[i], i);
  }
}

/* The order of the keys that the graph's own operations draw. */
static void expected_order(uint64_t seed, uint32_t epoch, int64_t count, int64_t *order) {
  vf_graph *g = data_session();
  const uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32), zero = 0;
  vf_value key[] = {vf_constant(g, VF_U32, &low), vf_constant(g, VF_U32, &high)}, words[2];
  vf_value counter[] = {vf_constant(g, VF_U32, &epoch), vf_constant(g, VF_U32, &zero)};
  vf_threefry2x32(key, counter, words);
  vf_value mixed = vf_bit_or(vf_cast(words[0], VF_U64), vf_shl(vf_cast(words[1], VF_U64), vf_integer(g, 32)));
  vf_value keys = vf_uniform(mixed, VF_F64, VF_LIST(count), 0, 1);
  vf_tensor *t = vf_tensor_keep(keys, &data_error);
  const double *drawn = vf_tensor_data(t, &data_error);
  assert_non_null(drawn);
  for (int64_t i = 0; i < count; i++) { /* insertion */
    int64_t at = i;
    for (; at > 0 && drawn[order[at - 1]] > drawn[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  vf_tensor_release(t);
}

static void test_shuffled(void **state) {
  (void)state;
  const uint64_t seed = 0x123456789abcdef0;
  vf_sampler *s = kept(vf_shuffled_sampler_create(data_context, 101, 8, seed, &data_error));
  int64_t order[101], want[101], before[101] = {0};
  for (uint32_t epoch = 0; epoch < 3; epoch++) {
    take_epoch(s, 101, 8, order);
    expected_order(seed, epoch, 101, want);
    assert_memory_equal(order, want, sizeof order);
    assert_memory_not_equal(order, before, sizeof order);
    memcpy(before, order, sizeof order);
  }
}

/* A list of inputs and targets: the same examples of each, a window of them where they are in order. */
static void test_of_views(void **state) {
  (void)state;
  vf_data_view *v = list_view(2, (vf_data_view *const[]){data_view(), class_view()});
  vf_value x[] = {data_counting(VF_F32, VF_LIST(5, 2)), data_counting(VF_I32, VF_LIST(5))};
  assert_int_equal(vf_data_put_all(v, "bf,b", 2, x, &data_error), VF_OK);
  vf_data_view *part = data_kept(vf_data_clone(v, &data_error));
  vf_sampler *in_order = kept(vf_sampler_create(data_context, 5, 3, &data_error));
  vf_sampler *shuffled = kept(vf_shuffled_sampler_create(data_context, 5, 3, 7, &data_error));
  assert_int_equal(vf_data_sample(v, in_order, part, &data_error), 3);
  assert_int_equal(vf_data_sample(v, in_order, part, &data_error), 2);
  HOLDS(data_got(vf_data_component(part, 0), NULL), 6, 7, 8, 9);
  HOLDS(data_got(vf_data_component(part, 1), NULL), 3, 4);
  assert_int_equal(vf_data_sample(v, in_order, part, &data_error), 0);
  int64_t order[5];
  expected_order(7, 0, 5, order);
  assert_int_equal(vf_data_sample(v, shuffled, part, &data_error), 3);
  HOLDS(data_got(vf_data_component(part, 1), NULL), order[0], order[1], order[2]);
  HOLDS(data_got(vf_data_component(part, 0), NULL), 2 * order[0], 2 * order[0] + 1, 2 * order[1],
        2 * order[1] + 1, 2 * order[2], 2 * order[2] + 1);
}

static void test_refusals(void **state) {
  (void)state;
  assert_null(vf_sampler_create(data_context, 0, 4, &data_error));
  data_refused("sampler: there are 0 examples; there is at least 1");
  assert_null(vf_shuffled_sampler_create(data_context, 4, 0, 1, &data_error));
  data_refused("sampler: a batch has 0 examples; it has at least 1");
  vf_data_view *v = data_view(), *part = data_view();
  data_put(v, "b", NUMBERS(1, 2));
  vf_sampler *s = kept(vf_sampler_create(data_context, 3, 2, &data_error));
  assert_int_equal(vf_data_sample(v, s, part, &data_error), -1);
  data_refused("the view has 2 examples, and the sampler takes 3");
  assert_int_equal(vf_data_sample(v, s, NULL, &data_error), -1);
  data_refused("the part is NULL");
}

/* A shuffled epoch takes no memory. */
static void test_takes_no_memory(void **state) {
  (void)state;
  enum { EXAMPLES = 1000 };
  vf_sampler *s = kept(vf_shuffled_sampler_create(api_counted_context(), EXAMPLES, 32, 3, &data_error));
  int64_t order[EXAMPLES];
  long before = 0;
  for (int epoch = 0; epoch < 3; epoch++) {
    take_epoch(s, EXAMPLES, 32, order);
    if (epoch == 0) before = atomic_load(&api_memory.allocations);
  }
  assert_int_equal(atomic_load(&api_memory.allocations), before);
}

UNIT_TESTS_BETWEEN(data_begin, data_end, test_in_order, test_shuffled, test_of_views, test_refusals,
                   test_takes_no_memory)
