/* Memory of others: adopted, with strides, given and taken by DLPack, released from other threads. */
#include <pthread.h>

#include "frontend/session/dlpack_layout.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

/* An owner that counts how often its elements were given back. */
typedef struct owner {
  const void *elements;
  int releases;
} owner;

static void release(const void *elements, void *user) {
  owner *o = user;
  assert_ptr_equal(elements, o->elements);
  o->releases++;
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

static void test_adopt(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  float elements[6] = {1, 2, 3, 4, 5, 6};
  owner o = {elements, 0};
  vf_tensor *t = vf_tensor_adopt(c, VF_F32, VF_LIST(2, 3), elements, release, &o, &error);
  assert_ptr_equal(data_of(t), elements);
  vf_tensor *sum = kept(vf_sum(vf_tensor_value(t), VF_LIST(1), false));
  vf_tensor_release(t);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(o.releases, 0); /* the sum is still to be computed */
  assert_float_equal(data_of(sum)[1], 15, 0);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(o.releases, 1);
  vf_tensor_release(sum);
}

/* Whatever fails gives the elements back at once. */
static void test_adopt_refused(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  static const double aligned[2];
  owner odd = {(const char *)aligned + 1, 0}, even = {aligned, 0}, none = {NULL, 0};
  assert_null(vf_tensor_adopt(c, VF_F32, VF_LIST(1), odd.elements, release, &odd, &error));
  assert_string_equal(error.message,
                      "adopt: the elements lie at an address that is no multiple of 4, the size "
                      "of one f32; copy them with vf_tensor_create");
  assert_null(vf_tensor_adopt(c, VF_F64, VF_LIST(-1), aligned, release, &even, &error));
  assert_null(vf_tensor_adopt(c, VF_F64, VF_LIST(2), NULL, release, &none, &error));
  assert_string_equal(error.message, "adopt: the elements are NULL");
  assert_int_equal(odd.releases, 1);
  assert_int_equal(even.releases, 1);
  assert_int_equal(none.releases, 1);
  vf_tensor *empty = vf_tensor_adopt(c, VF_F64, VF_LIST(0), NULL, release, &none, &error);
  assert_non_null(data_of(empty));
  vf_tensor_release(empty);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(none.releases, 2);
}

enum { THREADS = 3, EACH = 40 };
static void *release_all(void *tensors) {
  for (int i = 0; i < EACH; i++) vf_tensor_release(((vf_tensor **)tensors)[i]);
  return NULL;
}

/* Others release while the session records and realises. */
static void test_release_elsewhere(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  vf_tensor *tensors[THREADS][EACH];
  pthread_t threads[THREADS];
  float one = 1;
  owner o = {&one, 0};
  for (int i = 0; i < THREADS * EACH; i++)
    tensors[i / EACH][i % EACH] = vf_tensor_adopt(c, VF_F32, VF_ALL, &one, release, &o, &error);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, release_all, tensors[i]);
  vf_tensor *total = vf_tensor_create(c, VF_F32, VF_ALL, NULL, &error);
  for (int i = 0; i < 10; i++) {
    vf_tensor *next = kept(vf_add(vf_tensor_value(total), vf_number(vf_session(c, NULL), 1)));
    vf_tensor_release(total);
    total = next;
    assert_float_equal(data_of(total)[0], i + 1, 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(o.releases, THREADS * EACH);
  vf_tensor_release(total);
}

/* strides */

typedef struct strided_case {
  int rank;
  int64_t shape[3], strides[3];
} strided_case;
static const strided_case cases[] = {{2, {3, 4}, {4, 1}},
                                     {2, {3, 4}, {1, 3}},
                                     {2, {3, 4}, {10, 2}},
                                     {2, {3, 4}, {-10, 2}},
                                     {2, {3, 4}, {2, -7}},
                                     {3, {2, 1, 3}, {7, 5, 2}},
                                     {3, {2, 3, 2}, {1, -20, 5}},
                                     {1, {5}, {-3}},
                                     {0, {0}, {0}},
                                     {2, {0, 3}, {3, 1}},
                                     {3, {2, 2, 2}, {11, 5, 2}},
                                     {2, {4, 3}, {3, 13}},
                                     {3, {3, 2, 4}, {-9, 100, 2}}};
/* Read only: axes that repeat, and windows that overlap. */
static const strided_case repeating[] = {
    {2, {3, 4}, {0, 1}}, {2, {3, 4}, {1, 1}}, {2, {3, 3}, {2, 1}}, {2, {2, 5}, {0, 0}}, {2, {3, 3}, {-2, 1}}};
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static int64_t elements_of(const strided_case *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++) count *= s->shape[i];
  return count;
}

/* Where element `number` of the array lies, from the definition of strides. */
static int64_t place_of(const strided_case *s, int64_t number) {
  int64_t at = 0;
  for (int i = s->rank; i-- > 0; number /= s->shape[i]) at += number % s->shape[i] * s->strides[i];
  return at;
}

static int64_t lowest_of(const strided_case *s) {
  int64_t lowest = 0;
  for (int64_t i = 0; i < elements_of(s); i++)
    if (place_of(s, i) < lowest) lowest = place_of(s, i);
  return lowest;
}

enum { ROOM = 256 };

static void check_read(const strided_case *s) {
  vf_graph *g = api_graph(api_context(), "read");
  float in[ROOM], out[ROOM] = {0};
  for (int i = 0; i < ROOM; i++) in[i] = (float)i;
  vf_value x = vf_input_strided(g, "x", VF_F32, s->rank, s->shape, s->strides);
  vf_output(g, "y", vf_add(x, vf_number(g, 0.5)));
  vf_program *p = api_compile(g);
  api_run(p, (const void *[]){in}, (void *[]){out}, NULL);
  int64_t first;
  vf_strided_extent(s->rank, s->shape, s->strides, &first);
  assert_int_equal(first, -lowest_of(s));
  for (int64_t i = 0; i < elements_of(s); i++)
    assert_float_equal(out[i], (float)(place_of(s, i) + first) + 0.5f, 0);
  vf_stats stats = {.size = sizeof stats};
  vf_cost cost = {.size = sizeof cost};
  assert_true(vf_program_stats(p, &stats));
  assert_int_equal(vf_program_cost(p, NULL, &cost, &error), VF_OK);
  assert_int_equal(cost.temp_bytes, 0);
  if (elements_of(s)) assert_int_equal(stats.launches, 1);
}

static void check_write(const strided_case *s) {
  vf_graph *g = api_graph(api_context(), "write");
  float in[ROOM], out[ROOM];
  for (int i = 0; i < ROOM; i++) in[i] = (float)i, out[i] = -1;
  vf_value x = vf_input(g, "x", VF_F32, s->rank, s->shape);
  vf_ref y = vf_ref_input_strided(g, "y", VF_F32, s->rank, s->shape, s->strides);
  vf_ref_set(y, vf_mul(x, vf_number(g, 2)));
  vf_output(g, "count", vf_sum(x, VF_ALL, false)); /* a program has an output */
  vf_program *p = api_compile(g);
  float count;
  api_run(p, (const void *[]){in, out}, (void *[]){&count}, NULL);
  int64_t lowest = lowest_of(s), written = elements_of(s);
  for (int64_t i = 0; i < written; i++) {
    float *at = &out[place_of(s, i) - lowest];
    assert_float_equal(*at, 2 * (float)i, 0);
    *at = -1;
  }
  for (int i = 0; i < ROOM; i++) assert_float_equal(out[i], -1, 0);
}

static void test_strides(void **state) {
  (void)state;
  for (int i = 0; i < COUNT(cases); i++) check_read(&cases[i]);
  for (int i = 0; i < COUNT(repeating); i++) check_read(&repeating[i]);
  for (int i = 0; i < COUNT(cases); i++) check_write(&cases[i]);
}

static void test_strides_refused(void **state) {
  (void)state;
  vf_graph *g = api_graph(api_context(), "refused");
  vf_ref_input_strided(g, "y", VF_F32, 2, (int64_t[]){3, 4}, (int64_t[]){1, 1});
  api_check_reason(vf_graph_message(g),
                   "ref_input: axes of the 6 elements overlap or repeat; give each element "
                   "memory of its own (call 1: ref_input)");
  vf_graph_clear_error(g);
  vf_strided(vf_input(g, "x", VF_F32, VF_LIST(5)), 1, (int64_t[]){3}, (int64_t[]){3});
  api_check_reason(vf_graph_message(g),
                   "strided: sizes and strides reach over 7 elements; takes an array of one "
                   "axis with as many (call 3: strided %x)");
  assert_int_equal(vf_strided_extent(1, (int64_t[]){3}, (int64_t[]){INT64_MAX}, NULL), -1);
  assert_int_equal(vf_strided_extent(1, (int64_t[]){-3}, (int64_t[]){1}, NULL), -1);
}

/* The next weights are stored in the place of the old ones, without memory of their own. */
static void test_donation(void **state) {
  (void)state;
  vf_graph *g = api_graph(api_context(), "step");
  vf_ref w = vf_ref_input(g, "w", VF_F32, VF_LIST(4));
  vf_value old = vf_ref_get(w);
  vf_ref_set(w, vf_mul(old, vf_number(g, 0.5)));
  vf_output(g, "norm", vf_sum(vf_mul(old, old), VF_ALL, false));
  vf_program *p = api_compile(g);
  float weights[4] = {1, 2, 3, 4}, norm;
  api_run(p, (const void *[]){weights}, (void *[]){&norm}, NULL);
  assert_float_equal(norm, 30, 0);
  for (int i = 0; i < 4; i++) assert_float_equal(weights[i], 0.5f * (float)(i + 1), 0);
  vf_cost cost = {.size = sizeof cost};
  assert_int_equal(vf_program_cost(p, NULL, &cost, &error), VF_OK);
  assert_int_equal(cost.temp_bytes, 0);
}

/* DLPack */

typedef struct lender {
  struct DLManagedTensorVersioned versioned;
  struct DLManagedTensor old;
  int deleted;
} lender;
static void delete_versioned(struct DLManagedTensorVersioned *self) { ((lender *)self->context)->deleted++; }
static void delete_old(struct DLManagedTensor *self) { ((lender *)self->context)->deleted++; }

static lender lend(dlpack_tensor tensor) {
  return (lender){{1, 0, NULL, delete_versioned, 0, tensor}, {tensor, NULL, delete_old}, 0};
}

static void test_from_dlpack(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  float elements[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t shape[2] = {2, 3}, transposed[2] = {1, 2}, dense[2] = {3, 1};
  dlpack_tensor tensor = {.data = elements,
                          .device_type = DLPACK_CPU,
                          .ndim = 2,
                          .code = DLPACK_FLOAT,
                          .bits = 32,
                          .lanes = 1,
                          .shape = shape,
                          .byte_offset = 4};
  lender l = lend(tensor);
  l.versioned.context = l.old.context = &l;
  vf_tensor *t = vf_tensor_from_dlpack(c, &l.old, &error);
  assert_ptr_equal(data_of(t), elements + 1);
  vf_tensor_release(t);
  l.versioned.tensor.strides = dense;
  t = vf_tensor_from_dlpack_versioned(c, &l.versioned, &error);
  assert_ptr_equal(data_of(t), elements + 1);
  vf_tensor_release(t);
  l.versioned.tensor.strides = transposed;
  t = vf_tensor_from_dlpack_versioned(c, &l.versioned, &error);
  vf_tensor *twice = kept(vf_add(vf_tensor_value(t), vf_tensor_value(t)));
  for (int i = 0; i < 6; i++) assert_float_equal(data_of(twice)[i], 2 * (1 + i / 3 + 2 * (i % 3)), 0);
  vf_tensor_release(t);
  vf_tensor_release(twice);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(l.deleted, 3);
}

static void refused(vf_context *c, dlpack_tensor tensor, uint32_t major, vf_status status,
                    const char *message) {
  lender l = lend(tensor);
  l.versioned.context = &l;
  l.versioned.major = major;
  assert_null(vf_tensor_from_dlpack_versioned(c, &l.versioned, &error));
  assert_int_equal(error.status, status);
  assert_string_equal(error.message, message);
  assert_int_equal(l.deleted, 1);
}

static void test_dlpack_refused(void **state) {
  (void)state;
  vf_context *c = api_counted_context();
  float element = 0;
  dlpack_tensor good = {
      .data = &element, .device_type = DLPACK_CPU, .code = DLPACK_FLOAT, .bits = 32, .lanes = 1};
  dlpack_tensor cuda = good, wide = good;
  cuda.device_type = 2;
  wide.lanes = 4;
  refused(c, cuda, 1, VF_ERR_UNSUPPORTED,
          "from_dlpack: the array is on device 2:0 of DLPack; copy it to the host's memory (1:0) first");
  refused(
      c, wide, 1, VF_ERR_UNSUPPORTED,
      "from_dlpack: elements of code 2, 32 bits and 4 lanes; takes bool, integers and floats of 8 to 64 bits "
      "and one lane");
  refused(c, (dlpack_tensor){0}, 2, VF_ERR_UNSUPPORTED,
          "from_dlpack: the array is of version 2.0 of DLPack; takes 1");
  assert_null(vf_tensor_from_dlpack(c, NULL, &error));
}

/* What was handed out outlives the tensor, and the context. */
static void test_to_dlpack(void **state) {
  (void)state;
  vf_context *c = vf_context_create(NULL, &error);
  vf_tensor *t = vf_tensor_create(c, VF_BF16, VF_LIST(2, 3), NULL, &error);
  struct DLManagedTensor *old = vf_tensor_to_dlpack(t, &error);
  struct DLManagedTensorVersioned *versioned = vf_tensor_to_dlpack_versioned(t, &error);
  const void *data = vf_tensor_data(t, &error);
  vf_tensor_release(t);
  vf_context_destroy(c);
  assert_ptr_equal(old->tensor.data, data);
  assert_int_equal(old->tensor.code, DLPACK_BFLOAT);
  assert_int_equal(old->tensor.bits, 16);
  assert_int_equal(old->tensor.strides[0], 3);
  assert_int_equal(versioned->major, 1);
  assert_int_equal(versioned->flags, DLPACK_READ_ONLY);
  assert_int_equal(versioned->tensor.shape[1], 3);
  assert_int_equal(((const uint16_t *)versioned->tensor.data)[5], 0);
  old->deleter(old);
  versioned->deleter(versioned);
}

UNIT_TESTS(test_adopt, test_adopt_refused, test_release_elsewhere, test_strides, test_strides_refused,
           test_donation, test_from_dlpack, test_dlpack_refused, test_to_dlpack)
