/* Functions of tensors on a mesh: vf_jit_on. spec: H4 */
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { MOST = 8, TERMS = 4, COLUMNS = 6 };

/* The product of two matrices, and the sums of its columns on every device. */
static void layer(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *out) {
  (void)user, (void)statics, (void)g;
  out[0] = vf_relu(vf_matmul(in[0], in[1]));
  out[1] = vf_gather_all_axes(vf_sum(out[0], VF_LIST(0), false));
}

static vf_error error;

static vf_jit *make(vf_context *c) {
  vf_dynamic rows = {.input = 0, .axis = 0, .name = "rows", .lo = 1, .hi = MOST};
  vf_jit_options o = {
      .size = sizeof o, .function = layer, .inputs = 2, .results = 2, .dynamic_count = 1, .dynamic = &rows};
  vf_jit *j = vf_jit_create(c, &o, &error);
  if (!j) fail_msg("%s", error.message);
  return j;
}

static void call(vf_context *c, vf_jit *j, int64_t rows) {
  float a[MOST][TERMS], b[TERMS][COLUMNS];
  for (int i = 0; i < MOST; i++)
    for (int k = 0; k < TERMS; k++) a[i][k] = (float)((i * 5 + k * 3) % 7 - 3);
  for (int k = 0; k < TERMS; k++)
    for (int n = 0; n < COLUMNS; n++) b[k][n] = (float)((k + n * 2) % 5 - 2);
  vf_tensor *in[] = {vf_tensor_create(c, VF_F32, 2, (int64_t[]){rows, TERMS}, a, &error),
                     vf_tensor_create(c, VF_F32, 2, (int64_t[]){TERMS, COLUMNS}, b, &error)},
            *out[2];
  if (vf_jit_call(j, in, NULL, out, &error) != VF_OK) fail_msg("%s", error.message);
  const float *y = vf_tensor_data(out[0], &error), *sums = vf_tensor_data(out[1], &error);
  for (int n = 0; n < COLUMNS; n++) {
    float sum = 0;
    for (int64_t i = 0; i < rows; i++) {
      float value = 0;
      for (int k = 0; k < TERMS; k++) value += a[i][k] * b[k][n];
      assert_true(y[i * COLUMNS + n] == (value > 0 ? value : 0));
      sum += value > 0 ? value : 0;
    }
    assert_true(sums[n] == sum);
  }
  for (int i = 0; i < 2; i++) vf_tensor_release(in[i]), vf_tensor_release(out[i]);
}

static void test_calls(void **state) {
  (void)state;
  static const char *const specs[][2] = {
      {"[x,-]", NULL}, {"[-,x]", "[x,-]"}, {NULL, "[-,y]"}, {"[x,y]", "[y,-]"}};
  vf_context *c = api_context();
  vf_mesh *mesh = vf_mesh_create(c, "x=2,y=2", &error);
  for (size_t i = 0; i <= sizeof specs / sizeof *specs; i++) {
    vf_jit *j = make(c);
    bool open = i == sizeof specs / sizeof *specs;
    if (vf_jit_on(j, mesh, open ? NULL : specs[i], 0, &error) != VF_OK) fail_msg("%s", error.message);
    for (int64_t rows = 1; rows <= MOST; rows += 2) call(c, j, rows);
    vf_jit_stats stats = {.size = sizeof stats};
    assert_true(vf_jit_statistics(j, &stats));
    assert_int_equal(stats.misses, 1); /* one program for all numbers of rows */
    assert_int_equal(vf_jit_on(j, mesh, NULL, 0, &error), VF_ERR_INVALID);
    assert_non_null(strstr(error.message, ": it has been called; give it its mesh before the first call"));
    vf_jit_destroy(j);
  }
  vf_mesh_destroy(mesh);
}

static void test_refused(void **state) {
  (void)state;
  vf_context *c = api_context();
  vf_mesh *mesh = vf_mesh_create(c, "x=2", &error);
  vf_jit *j = make(c);
  vf_tensor *out[2], *in[2];
  assert_int_equal(vf_jit_on(j, mesh, (const char *const[]){"[z]", NULL}, 0, &error), VF_ERR_INVALID);
  assert_non_null(strstr(error.message, "jit: spec of input 0: "));
  assert_int_equal(vf_jit_on(j, NULL, NULL, 0, &error), VF_ERR_INVALID);
  assert_non_null(strstr(
      error.message, "jit: the mesh is NULL, as vf_mesh_create gives where it fails: its error says why"));
  assert_int_equal(vf_jit_on(j, mesh, (const char *const[]){"[x]", NULL}, 0, &error), VF_OK);
  for (int i = 0; i < 2; i++)
    in[i] = vf_tensor_create(c, VF_F32, 2, (int64_t[]){TERMS, TERMS}, (float[TERMS * TERMS]){0}, &error);
  assert_int_equal(vf_jit_call(j, in, NULL, out, &error), VF_ERR_INVALID);
  assert_non_null(strstr(error.message, "the spec of input 0 has 1 dimensions; the tensor has 2"));
  for (int i = 0; i < 2; i++) vf_tensor_release(in[i]);
  vf_jit_destroy(j), vf_mesh_destroy(mesh);
}

UNIT_TESTS(test_calls, test_refused)
