/* Divided tensors of the session: what is computed from them is computed on its mesh, and divided likewise.
 */
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { ROWS = 5, TERMS = 4 };

static vf_error error;

static vf_tensor *keep(vf_value v) {
  vf_tensor *t = vf_tensor_keep(v, &error);
  if (!t) fail_msg("%s", error.message);
  return t;
}

static void check_rows(vf_tensor *t, int64_t device, int64_t first, int64_t last) {
  int64_t begin[2], end[2];
  if (vf_tensor_part(t, device, begin, end, &error) != VF_OK) fail_msg("%s", error.message);
  assert_int_equal(begin[0], first), assert_int_equal(end[0], last);
}

static void test_tensors(void **state) {
  (void)state;
  vf_context *c = api_context();
  vf_mesh *mesh = vf_mesh_create(c, "x=2", &error);
  vf_graph *session = vf_session(c, &error);
  float a[ROWS][TERMS], b[TERMS][TERMS], want[ROWS][TERMS];
  int64_t ends[2];
  for (int i = 0; i < ROWS * TERMS; i++) a[i / TERMS][i % TERMS] = (float)(i % 7 - 3);
  for (int i = 0; i < TERMS * TERMS; i++) b[i / TERMS][i % TERMS] = (float)(i % 5 - 2);
  vf_tensor *x = vf_tensor_create(c, VF_F32, 2, (int64_t[]){ROWS, TERMS}, a, &error);
  vf_tensor *w = vf_tensor_create(c, VF_F32, 2, (int64_t[]){TERMS, TERMS}, b, &error);
  assert_int_equal(vf_tensor_part(x, 0, ends, ends, &error), VF_ERR_INVALID);
  assert_non_null(strstr(error.message, "part: the session has no mesh; vf_graph_set_mesh gives it one"));
  assert_int_equal(vf_graph_set_mesh(session, mesh, &error), VF_OK);
  assert_int_equal(vf_tensor_part(x, 2, ends, ends, &error), VF_ERR_INVALID);
  assert_non_null(strstr(error.message, "part: no device 2; there are 2"));
  vf_mesh_destroy(mesh);
  vf_tensor *parts = keep(vf_shard(vf_tensor_value(x), "[x,-]"));
  assert_memory_equal(vf_tensor_data(parts, &error), a, sizeof a);
  check_rows(parts, 0, 0, 3), check_rows(parts, 1, 3, ROWS), check_rows(x, 1, 0, ROWS);
  for (int round = 0; round < 3; round++) { /* of tensors that are realised, moved, and not */
    vf_tensor *y = keep(vf_relu(vf_matmul(vf_tensor_value(parts), vf_tensor_value(w))));
    vf_tensor *sums = keep(vf_sum(vf_tensor_value(y), VF_LIST(0), false));
    const float *got = vf_tensor_data(y, &error), *total = vf_tensor_data(sums, &error);
    if (!got || !total) fail_msg("%s", error.message);
    for (int k = 0; k < TERMS; k++) {
      float sum = 0;
      for (int i = 0; i < ROWS; i++) {
        want[i][k] = 0;
        for (int n = 0; n < TERMS; n++) want[i][k] += a[i][n] * b[n][k];
        sum += want[i][k] = want[i][k] > 0 ? want[i][k] : 0;
      }
      assert_true(total[k] == sum);
    }
    assert_memory_equal(got, want, sizeof want);
    check_rows(y, 0, 0, 3), check_rows(y, 1, 3, ROWS);
    vf_tensor_release(y), vf_tensor_release(sums);
    assert_int_equal(vf_session_collect(c, &error), VF_OK);
    check_rows(parts, 1, 3, ROWS);
  }
  vf_tensor_release(x), vf_tensor_release(w), vf_tensor_release(parts);
}

/* A reference of the session is changed in place. */
static void test_reference(void **state) {
  (void)state;
  vf_context *c = api_context();
  vf_mesh *mesh = vf_mesh_create(c, "x=2", &error);
  assert_int_equal(vf_graph_set_mesh(vf_session(c, &error), mesh, &error), VF_OK);
  vf_mesh_destroy(mesh);
  vf_tensor *ones = vf_tensor_create(c, VF_F32, 1, (int64_t[]){6}, (float[]){1, 1, 1, 1, 1, 1}, &error);
  vf_ref r = vf_ref_create(c, VF_F32, 1, (int64_t[]){6}, (float[]){1, 1, 1, 1, 1, 1}, &error);
  vf_ref_set(r, vf_shard(vf_add(vf_ref_get(r), vf_tensor_value(ones)), "[x]"));
  vf_ref_set(r, vf_mul(vf_ref_get(r), vf_ref_get(r)));
  vf_tensor *now = keep(vf_ref_get(r));
  const float *got = vf_tensor_data(now, &error);
  if (!got) fail_msg("%s", error.message);
  for (int i = 0; i < 6; i++) assert_true(got[i] == 4);
  vf_tensor_release(now), vf_tensor_release(ones), vf_ref_release(r);
}

/* What a device waited for is told by the statement that asks for it. */
static void test_failure(void **state) {
  (void)state;
  vf_context *c = api_context();
  vf_mesh *mesh = vf_mesh_create(c, "x=2", &error);
  assert_int_equal(vf_graph_set_mesh(vf_session(c, &error), mesh, &error), VF_OK);
  vf_mesh_destroy(mesh);
  const float elements[] = {1, 2, 3, 4};
  const int32_t numbers[] = {0, 0, 9, 0};
  vf_tensor *x = vf_tensor_create(c, VF_F32, 1, (int64_t[]){4}, elements, &error);
  vf_tensor *i = vf_tensor_create(c, VF_I32, 1, (int64_t[]){4}, numbers, &error);
  vf_value part = vf_shard(vf_tensor_value(i), "[x]");
  vf_value whole = vf_shard(vf_gather(vf_tensor_value(x), part, 0, VF_GATHER_CHECK), "[-]");
  vf_tensor *y = keep(vf_sum(vf_mul(whole, whole), VF_ALL, false));
  assert_null(vf_tensor_data(y, &error));
  assert_int_equal(error.status, VF_ERR_RANGE);
  if (!strstr(error.message,
              "; device 0 (x=0) waited for device 1 (x=1) in exchange 1 (all_gather for shard f32[4])"))
    fail_msg("%s", error.message);
  vf_tensor_release(x), vf_tensor_release(i), vf_tensor_release(y);
}

/* A context's precision is that of its graphs and its session, with and without a mesh: products of bf16 of a
 * convolution go in pairs, which adds them in another order. */
enum {
  GRAPH,
  DIVIDED_GRAPH,
  SESSION,
  COLLECTED,
  DIVIDED_SESSION,
  WAYS,
  CHANNELS = 8,
  MADE = 16,
  PLACES = 12,
  TAPS = 5
};

static vf_value convolved(vf_value x, vf_value w, bool divided) {
  if (divided) w = vf_shard(w, "[x,-,-,-]");
  return vf_conv(vf_cast(x, VF_F32), vf_cast(w, VF_F32), (vf_value){0}, 2, NULL, NULL, NULL, 1);
}

static void convolve(vf_context *c, int way, const uint16_t *x, const uint16_t *w, float *out, size_t bytes) {
  const int64_t image[] = {1, CHANNELS, PLACES, PLACES}, weight[] = {MADE, CHANNELS, TAPS, TAPS};
  bool divided = way == DIVIDED_GRAPH || way == DIVIDED_SESSION;
  vf_graph *g = way <= DIVIDED_GRAPH ? api_graph(c, "g") : vf_session(c, &error);
  vf_mesh *mesh = divided ? vf_mesh_create(c, "x=2", &error) : NULL;
  if (mesh) assert_int_equal(vf_graph_set_mesh(g, mesh, &error), VF_OK);
  vf_mesh_destroy(mesh);
  if (way <= DIVIDED_GRAPH) {
    vf_value a = vf_input(g, "x", VF_BF16, 4, image), b = vf_input(g, "w", VF_BF16, 4, weight);
    vf_output(g, "y", convolved(a, b, divided));
    vf_program *p = divided ? vf_compile_on(g, NULL, 0, &error) : vf_compile(g, &error);
    if (!p) fail_msg("%s", error.message);
    api_run(p, (const void *[]){x, w}, (void *[]){out}, NULL);
    vf_program_destroy(p);
    return;
  }
  if (way == COLLECTED) assert_int_equal(vf_session_collect(c, &error), VF_OK);
  vf_tensor *a = vf_tensor_create(c, VF_BF16, 4, image, x, &error),
            *b = vf_tensor_create(c, VF_BF16, 4, weight, w, &error),
            *y = keep(convolved(vf_tensor_value(a), vf_tensor_value(b), divided));
  const float *got = vf_tensor_data(y, &error);
  if (!got) fail_msg("%s", error.message);
  memcpy(out, got, bytes);
  vf_tensor_release(a), vf_tensor_release(b), vf_tensor_release(y);
}

static void test_precision(void **state) {
  (void)state;
  enum { ALONG = PLACES - TAPS + 1, RESULTS = MADE * ALONG * ALONG };
  uint16_t x[CHANNELS * PLACES * PLACES], w[MADE * CHANNELS * TAPS * TAPS];
  float exact[RESULTS], first[RESULTS], got[RESULTS];
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (uint16_t)(0x3e00 + rand() % 512); /* 1/8 to 2 */
  for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = (uint16_t)(0x3e00 + rand() % 512);
  vf_options options = {.size = sizeof options, .flags = VF_NO_DISK};
  convolve(api_context_with(options), GRAPH, x, w, exact, sizeof exact);
  options.flags |= VF_RELAXED;
  vf_context *c = api_context_with(options);
  convolve(c, GRAPH, x, w, first, sizeof first);
  assert_memory_not_equal(first, exact, sizeof first);
  for (int way = GRAPH + 1; way < WAYS; way++) {
    convolve(c, way, x, w, got, sizeof got);
    if (memcmp(got, first, sizeof got)) fail_msg("way %d: not the bits of the graph", way);
  }
}

UNIT_TESTS(test_tensors, test_reference, test_failure, test_precision)
