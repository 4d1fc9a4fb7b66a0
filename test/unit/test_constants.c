/* Constants: arrays that a graph refers to. Who owns their elements, that programs of other elements share
 * their code, and that results are those of plain loops. */
#include "frontend/viewfold.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { ROWS = 24, COLUMNS = 40, BYTES = ROWS * COLUMNS * sizeof(float) };
static vf_error error;

typedef struct owner {
  const void *released[4];
  int count;
} owner;

static void note(const void *elements, void *user) {
  owner *o = user;
  o->released[o->count++ % 4] = elements;
}

typedef float matrix[ROWS][COLUMNS];

static void fill(matrix m, int seed) {
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < COLUMNS; k++) m[i][k] = (float)((7 * i + 5 * k + seed) % 13 - 6) / 4;
}

static const int64_t shape[] = {ROWS, COLUMNS};

/* x @ transpose(w) + sum(w): a product and a reduction that read w. */
static vf_value layer(vf_graph *g, vf_value x, vf_value w) {
  int64_t axes[] = {0, 1};
  vf_value transposed = vf_permute(w, 2, (const int64_t[]){1, 0});
  (void)g;
  return vf_add(vf_matmul(x, transposed), vf_sum(w, 2, axes, false));
}

static void expect(const float *x, matrix w, const float *y) {
  float sum = 0;
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < COLUMNS; k++) sum += w[i][k];
  for (int i = 0; i < ROWS; i++) {
    float want = sum;
    for (int k = 0; k < COLUMNS; k++) want += x[k] * w[i][k];
    assert_float_equal(y[i], want, 1e-3);
  }
}

static void run_layer(vf_program *p, matrix w) {
  float x[COLUMNS], y[ROWS] = {0};
  for (int k = 0; k < COLUMNS; k++) x[k] = (float)(k % 5 - 2);
  const void *in[] = {x};
  void *out[] = {y};
  api_run(p, in, out, NULL);
  expect(x, w, y);
}

static vf_graph *make_layer(vf_context *c, matrix w, owner *o, vf_value *constant) {
  vf_graph *g = vf_graph_create(c, "layer", &error);
  int64_t row[] = {1, COLUMNS};
  vf_value x = vf_input(g, "a0", VF_F32, 2, row);
  *constant = o ? vf_constant_borrow(g, VF_F32, 2, shape, w, note, o) : vf_data(g, VF_F32, 2, shape, w);
  vf_output(g, "y", layer(g, x, *constant));
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  return g;
}

static vf_program *compile(vf_graph *g) {
  vf_program *p = vf_compile(g, &error);
  if (!p) fail_msg("%s", error.message);
  return p;
}

static void test_copied_and_borrowed(void **state) {
  matrix w;
  owner o = {{0}, 0};
  vf_value constant;
  vf_context *c = vf_context_create(NULL, &error);
  fill(w, 1);
  vf_graph *g = make_layer(c, w, &o, &constant);
  float x[COLUMNS], y[ROWS];
  for (int k = 0; k < COLUMNS; k++) x[k] = (float)k / 8;
  const void *in[] = {x};
  void *out[] = {y};
  api_evaluate(g, in, out, NULL);
  expect(x, w, y);
  vf_program *p = compile(g);
  run_layer(p, w);
  vf_graph_destroy(g);
  assert_int_equal(o.count, 0); /* the program uses the elements */
  run_layer(p, w);
  vf_program_destroy(p);
  assert_int_equal(o.count, 1);
  assert_ptr_equal(o.released[0], w);
  g = make_layer(c, w, NULL, &constant);
  p = compile(g);
  matrix copy;
  memcpy(copy, w, sizeof w);
  memset(w, 0, sizeof w); /* vf_data has copied the elements */
  run_layer(p, copy);
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
}

/* A graph of other elements is the same program; elements can be replaced. */
static void test_other_elements(void **state) {
  matrix w, other, third;
  owner o = {{0}, 0};
  vf_value constant;
  vf_context *c = vf_context_create(NULL, &error);
  fill(w, 1), fill(other, 2), fill(third, 3);
  vf_graph *g = make_layer(c, w, &o, &constant), *h;
  vf_program *p = compile(g);
  h = make_layer(c, other, &o, &constant);
  vf_program *q = compile(h);
  vf_cache_stats stats = {.size = sizeof stats};
  assert_true(vf_cache_statistics(c, &stats));
  assert_int_equal(stats.programs, 1);
  run_layer(p, w), run_layer(q, other);
  if (vf_program_set_constant(q, constant, third, note, &o, &error)) fail_msg("%s", error.message);
  assert_int_equal(o.count, 0); /* the graph has them still */
  run_layer(p, w), run_layer(q, third);
  vf_graph_destroy(h);
  assert_int_equal(o.count, 1);
  assert_ptr_equal(o.released[0], other);
  vf_value none = {0};
  assert_int_equal(vf_program_set_constant(q, none, third, note, &o, &error), VF_ERR_INVALID);
  assert_int_equal(o.count, 2);
  assert_non_null(strstr(error.message, "none of the 1 constants"));
  vf_program_destroy(p), vf_program_destroy(q), vf_graph_destroy(g);
  assert_int_equal(o.count, 4);
  vf_context_destroy(c);
}

/* Equal elements are kept once, and are two constants all the same. */
static void test_equal_elements(void **state) {
  matrix w, same, other;
  owner o = {{0}, 0};
  vf_context *c = vf_context_create(NULL, &error);
  vf_graph *g = vf_graph_create(c, "two", &error);
  fill(w, 1), fill(same, 1), fill(other, 5);
  vf_value a = vf_constant_borrow(g, VF_F32, 2, shape, w, note, &o),
           b = vf_constant_borrow(g, VF_F32, 2, shape, same, note, &o);
  assert_int_equal(o.count, 1);
  assert_ptr_equal(o.released[0], same);
  vf_output(g, "y", vf_sub(a, b));
  vf_program *p = compile(g);
  matrix y;
  void *out[] = {y};
  api_run(p, NULL, out, NULL);
  for (int i = 0; i < ROWS * COLUMNS; i++) assert_true((&y[0][0])[i] == 0);
  if (vf_program_set_constant(p, b, other, NULL, NULL, &error)) fail_msg("%s", error.message);
  api_run(p, NULL, out, NULL);
  for (int i = 0; i < ROWS * COLUMNS; i++) assert_true((&y[0][0])[i] == (&w[0][0])[i] - (&other[0][0])[i]);
  vf_program_destroy(p), vf_graph_destroy(g);
  assert_int_equal(o.count, 2);
  vf_context_destroy(c);
}

static void test_refused(void **state) {
  matrix w;
  owner o = {{0}, 0};
  vf_context *c = vf_context_create(NULL, &error);
  vf_graph *g = vf_graph_create(c, "bad", &error);
  fill(w, 1);
  vf_constant_borrow(g, VF_F32, 2, shape, NULL, note, &o);
  assert_non_null(strstr(vf_graph_message(g), "NULL"));
  vf_graph_clear_error(g);
  vf_constant_borrow(g, VF_F32, 2, (const int64_t[]){1 << 20, (int64_t)1 << 60}, w, note, &o);
  assert_non_null(strstr(vf_graph_message(g), "too large"));
  assert_int_equal(o.count, 2);
  vf_graph_destroy(g), vf_context_destroy(c);
}

/* The text of a graph names constants by digest; it compiles where the context has them. */
static void test_text(void **state) {
  matrix w;
  vf_value constant;
  vf_context *c = vf_context_create(NULL, &error), *d = vf_context_create(NULL, &error);
  fill(w, 1);
  vf_graph *g = make_layer(c, w, NULL, &constant);
  char *text = vf_graph_text(g, &error);
  assert_non_null(text);
  assert_true(strlen(text) < 1000);
  vf_graph *same = vf_graph_parse(c, text, strlen(text), "text", NULL, &error);
  if (!same) fail_msg("%s", error.message);
  vf_graph_destroy(g);
  vf_program *p = compile(same);
  run_layer(p, w);
  vf_graph *elsewhere = vf_graph_parse(d, text, strlen(text), "text", NULL, &error);
  if (!elsewhere) fail_msg("%s", error.message);
  assert_null(vf_compile(elsewhere, &error));
  assert_non_null(strstr(error.message, "no constant of the digest"));
  const char *name = strstr(text, "of=");
  char other[200]; /* of a shape that the constant does not fill */
  snprintf(other, sizeof other,
           "graph @other() {\n  %%y = resource shape=[24,41] dtype=f32 %.*s\n  return %%y\n}\n",
           (int)strcspn(name, " "), name);
  assert_null(vf_graph_parse(c, other, strlen(other), "text", NULL, &error));
  assert_non_null(strstr(error.message, "has 3840 bytes; its shape takes 3936"));
  vf_text_free(c, text);
  vf_program_destroy(p), vf_graph_destroy(same), vf_graph_destroy(elsewhere);
  vf_context_destroy(c), vf_context_destroy(d);
}

/* What is computed from constants alone is computed once: a product whose weights are copied into another
 * order launches one kernel, where the same product of inputs launches two; and equal results. */
enum { TOKENS = 64, INNER = 256, OUTER = 1024 }; /* a column of weights lies in more pages than a TLB has */
static float given[TOKENS][INNER], weights[INNER][OUTER], results[2][TOKENS][OUTER];

static vf_program *product(vf_context *c, bool constant, vf_value *w) {
  vf_graph *g = vf_graph_create(c, "product", &error);
  const int64_t a[] = {TOKENS, INNER}, b[] = {INNER, OUTER};
  vf_value x = vf_input(g, "x", VF_F32, 2, a);
  *w = constant ? vf_constant_borrow(g, VF_F32, 2, b, weights, NULL, NULL) : vf_input(g, "w", VF_F32, 2, b);
  /* computed from w alone as well */
  vf_value doubled = vf_abs(vf_mul(*w, vf_number(g, 2)));
  vf_output(g, "y", vf_matmul(x, doubled));
  vf_program *p = compile(g);
  vf_graph_destroy(g);
  return p;
}

static void test_once(void **state) {
  vf_context *c = vf_context_create(NULL, &error);
  for (int i = 0; i < TOKENS; i++)
    for (int k = 0; k < INNER; k++) given[i][k] = (float)((3 * i + k) % 7 - 3);
  for (int i = 0; i < INNER; i++)
    for (int k = 0; k < OUTER; k++) weights[i][k] = (float)((i + 5 * k) % 9 - 4);
  vf_value w;
  vf_program *of_inputs = product(c, false, &w), *p = product(c, true, &w), *q = product(c, true, &w);
  vf_stats before = {.size = sizeof before}, after = {.size = sizeof after};
  vf_program_stats(of_inputs, &before), vf_program_stats(p, &after);
  assert_true(before.launches > 1);
  assert_int_equal(after.launches, 1);
  const void *both[] = {given, weights};
  for (int round = 0; round < 2; round++) {
    void *out[] = {results[0]}, *other[] = {results[1]};
    api_run(of_inputs, both, out, NULL);
    api_run(round ? q : p, both, other, NULL);
    assert_memory_equal(results[0], results[1], sizeof results[0]);
  }
  float *doubled = malloc(sizeof weights);
  for (int i = 0; i < OUTER * INNER; i++) doubled[i] = 2 * (&weights[0][0])[i];
  if (vf_program_set_constant(q, w, doubled, NULL, NULL, &error)) fail_msg("%s", error.message);
  void *out[] = {results[1]};
  api_run(q, both, out, NULL);
  for (int i = 0; i < TOKENS * OUTER; i++)
    assert_true((&results[1][0][0])[i] == 2 * (&results[0][0][0])[i]); /* all are small integers */
  vf_program_destroy(of_inputs), vf_program_destroy(p), vf_program_destroy(q);
  vf_context_destroy(c);
  free(doubled);
}

UNIT_TESTS(test_once, test_copied_and_borrowed, test_other_elements, test_equal_elements, test_refused,
           test_text)
