/* vmap of functions with control flow through the C API: worked numbers, values captured from outside, vmaps
 * inside functions, custom operations, and what is refused. test/property/prop_vmap_control.c compares random
 * functions with each element's results. */
#include <math.h>

#include "test/lib/api.h"
#include "test/lib/short_memory.h"
#include "test/lib/unit.h"

enum { MOST = 64 };
static vf_error error;

typedef struct bench {
  vf_context *c;
  vf_graph *g;
  int outputs;
} bench;

static bench start(void) {
  bench b = {.c = api_context()};
  b.g = api_graph(b.c, "test");
  return b;
}

static void output(bench *b, vf_value y) {
  char name[16];
  snprintf(name, sizeof name, "y%d", b->outputs++);
  vf_output(b->g, name, y);
}

/* Evaluates and runs the graph: the outputs, of `counts` elements, one after the other must equal `want`. */
static void expect(bench *b, const void *const *in, const int *counts, const float *want) {
  float room[2][MOST];
  void *out[2][8];
  int all = 0;
  if (vf_graph_status(b->g)) fail_msg("%s", vf_graph_message(b->g));
  for (int i = 0; i < b->outputs; i++) {
    for (int compiled = 0; compiled < 2; compiled++) out[compiled][i] = room[compiled] + all;
    all += counts[i];
  }
  api_evaluate(b->g, in, out[0], NULL);
  api_run(api_compile(b->g), in, out[1], NULL);
  for (int compiled = 0; compiled < 2; compiled++)
    for (int i = 0; i < all; i++)
      if (fabsf(room[compiled][i] - want[i]) > 1e-5f * fmaxf(1, fabsf(want[i])))
        fail_msg("%s: element %d is %g, expected %g", compiled ? "compiled" : "evaluated", i,
                 room[compiled][i], want[i]);
}

static void map(bench *b, vf_function f, void *user, int n, const vf_value *x, const int *axes, int m,
                vf_value *y) {
  vf_map map = {sizeof map, n, m, axes, NULL, -1, NULL};
  vf_vmap(b->g, &map, f, user, x, y);
}

/* derivatives: the last of the powers c, cx, cxx, ... after n iterations */

static void one_more(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_lt(a[0], *(vf_value *)user); /* i < n */
}
static void times(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_add(a[0], vf_integer(a[0].graph, 1));
  r[1] = vf_mul(a[1], ((vf_value *)user)[1]);
}
static void power(void *user, const vf_value *x, vf_value *y) { /* x: n, x */
  vf_value outside[2] = {x[0], x[1]},
           state[2] = {vf_cast(vf_integer(x[0].graph, 0), VF_I32), vf_cast(vf_number(x[0].graph, 1), VF_F32)},
           last[2];
  vf_while_loop(one_more, times, outside, 2, state, 4, last);
  y[0] = last[1];
}
static void power_and_slope(void *user, const vf_value *x, vf_value *y) {
  vf_value one = vf_cast(vf_number(x[0].graph, 1), VF_F32);
  power(user, x, y);
  vf_grad(y[0], 1, &x[1], &y[1]);
  vf_jvp(1, &y[0], 1, &x[1], &one, &y[2]);
  vf_grad(y[1], 1, &x[1], &y[3]);
}

static void test_iterations_of_each_element(void **state) {
  bench b = start();
  vf_value x[2] = {vf_input(b.g, "n", VF_I32, VF_LIST(4)), vf_input(b.g, "x", VF_F32, VF_LIST(4))}, y[4];
  map(&b, power_and_slope, NULL, 2, x, NULL, 4, y);
  for (int i = 0; i < 4; i++) output(&b, y[i]);
  const int32_t n[4] = {0, 1, 2, 3};
  const float at[4] = {5, 5, 3, 2};
  /* x^n, twice n x^(n-1), n (n-1) x^(n-2) */
  expect(&b, (const void *[]){n, at}, (const int[]){4, 4, 4, 4},
         (const float[]){1, 5, 9, 8, 0, 1, 6, 12, 0, 1, 6, 12, 0, 0, 2, 12});
}

/* The same x for every element: the gradient outside is the sum. */
static void test_gradient_outside(void **state) {
  bench b = start();
  vf_value x[2] = {vf_input(b.g, "n", VF_I32, VF_LIST(4)), vf_input(b.g, "x", VF_F32, VF_ALL)}, y, d;
  map(&b, power, NULL, 2, x, (const int[]){0, VF_NOT_MAPPED}, 1, &y);
  vf_grad(vf_sum(y, VF_ALL, false), 1, &x[1], &d);
  output(&b, y), output(&b, d);
  const int32_t n[4] = {0, 1, 2, 3};
  expect(&b, (const void *[]){n, (const float[]){2}}, (const int[]){4, 1},
         (const float[]){1, 2, 4, 8, 0 + 1 + 4 + 12});
}

/* vmaps inside functions, also of an operand that an outer vmap maps */

static void dot(void *user, const vf_value *x, vf_value *y) {
  y[0] = vf_sum(vf_mul(x[0], *(vf_value *)user), VF_ALL, false);
}
typedef struct product {
  vf_value matrix, scale;
} product;
static void matrix_iteration(void *user, const vf_value *a,
                             vf_value *r) { /* matrix times state, + slice * scale */
  product *p = user;
  vf_value rows, state = a[0];
  vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
  vf_vmap(a[0].graph, &map, dot, &state, &p->matrix, &rows);
  r[0] = vf_add(rows, vf_mul(a[1], p->scale));
  vf_grad(vf_sum(vf_mul(rows, rows), VF_ALL, false), 1, &p->matrix, &r[1]); /* 2 rows state' */
}
static void iterations(void *user, const vf_value *x, vf_value *y) { /* state, scale */
  product p = {*(vf_value *)user, x[1]};
  vf_value xs = vf_iota(x[0].graph, VF_F32, VF_LIST(2), 0);
  vf_scan(matrix_iteration, &p, 1, &x[0], 1, &xs, 1, -1, false, &y[0], &y[1]);
}

static void test_vmap_inside_of_a_scan(void **state) {
  bench b = start();
  vf_value m = vf_input(b.g, "m", VF_F32, VF_LIST(2, 2)), y[2], rows;
  vf_value x[2] = {vf_input(b.g, "x", VF_F32, VF_LIST(2, 2)), vf_input(b.g, "s", VF_F32, VF_LIST(2))};
  vf_value first = vf_point(x[0], 0, 0);
  map(&b, dot, &first, 1, &m, NULL, 1, &rows); /* the same view of m as the vmap inside the scan has */
  output(&b, rows);
  map(&b, iterations, &m, 2, x, NULL, 2, y);
  output(&b, y[0]), output(&b, y[1]);
  vf_value xs = vf_iota(b.g, VF_F32, VF_LIST(2), 0);
  product p = {m, vf_point(x[1], 0, 0)};
  vf_scan(matrix_iteration, &p, 1, &first, 1, &xs, 1, -1, false, &y[0], &y[1]);
  output(&b, y[0]);
  const float matrix[4] = {1, 2, 0, 1}, states[4] = {1, 1, 0, 1}, scales[2] = {1, 10};
  /* [1,1] -> [3,1] -> [5,1] + 1; [0,1] -> [2,1] -> [4,1] + 10.
   * Gradients 2 rows state': of [1,1] with rows [3,1], of [3,1] with [5,1]; of [0,1] with [2,1], of [2,1]
   * with [4,1]. */
  expect(&b, (const void *[]){matrix, states, scales}, (const int[]){2, 4, 16, 2},
         (const float[]){3, 1, 6, 2, 14, 11, 6, 6, 2, 2, 30, 10, 6, 2, 0, 4, 0, 2, 16, 8, 4, 2, 6, 2});
}

/* batches without elements */

static void test_no_elements(void **state) {
  bench b = start();
  vf_value x[2] = {vf_input(b.g, "n", VF_I32, VF_LIST(0)), vf_input(b.g, "x", VF_F32, VF_ALL)}, y, d;
  map(&b, power, NULL, 2, x, (const int[]){0, VF_NOT_MAPPED}, 1, &y);
  vf_grad(vf_sum(y, VF_ALL, false), 1, &x[1], &d);
  output(&b, y), output(&b, d);
  expect(&b, (const void *[]){(const int32_t[]){0}, (const float[]){2}}, (const int[]){0, 1},
         (const float[]){0});
}

/* a custom operation in a branch, of captured values and of operands */

static void twice(const float *x, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];
}
typedef void (*any_function)(void);
static void doubled_sum(void *user, const vf_value *a, vf_value *r) {
  vf_value own = vf_apply(a[0].graph, "twice", &a[0], 1, ""),
           other = vf_apply(a[0].graph, "twice", (vf_value *)user, 1, "");
  r[0] = vf_add(own, other);
}
static void as_it_is(void *user, const vf_value *a, vf_value *r) { r[0] = a[0]; }
static void custom_branch(void *user, const vf_value *x, vf_value *y) { /* p, x, w */
  vf_value w = x[2];
  vf_cond(x[0], 1, &x[1], doubled_sum, as_it_is, &w, 1, y);
}

static void test_custom_operation(void **state) {
  bench b = start();
  vf_op_description d = {.size = sizeof d,
                         .name = "twice",
                         .operands = 1,
                         .results = 1,
                         .function = (any_function)twice,
                         .signature = "void(in0, out0, i64 in0[0])"};
  if (vf_register_op(b.c, &d, &error)) fail_msg("%s", error.message);
  vf_value x[3] = {vf_input(b.g, "p", VF_BOOL, VF_LIST(3)), vf_input(b.g, "x", VF_F32, VF_LIST(3, 2)),
                   vf_input(b.g, "w", VF_F32, VF_LIST(3, 2))},
           y;
  map(&b, custom_branch, NULL, 3, x, NULL, 1, &y);
  output(&b, y);
  const unsigned char p[3] = {1, 0, 1};
  const float xs[6] = {1, 2, 3, 4, 5, 6}, ws[6] = {10, 20, 30, 40, 50, 60};
  expect(&b, (const void *[]){p, xs, ws}, (const int[]){6}, (const float[]){22, 44, 3, 4, 110, 132});
}

/* refusals */

static void physical_sum(void *user, const vf_value *a, vf_value *r) {
  vf_value both = vf_add(a[0], *(vf_value *)user);
  r[0] = vf_sum(vf_rebatch(both, 0), VF_ALL, false);
}
static void sum_outside(void *user, const vf_value *x, vf_value *y) {
  vf_value w = x[0], zero = vf_cast(vf_number(x[0].graph, 0), VF_F32);
  vf_scan(physical_sum, &w, 1, &zero, 0, NULL, 0, 2, false, y, NULL);
}

static void test_refusals(void **state) {
  bench b = start();
  vf_value x = vf_input(b.g, "x", VF_F32, VF_LIST(3)), y;
  map(&b, sum_outside, NULL, 1, &x, NULL, 1, &y);
  assert_int_equal(vf_graph_status(b.g), VF_ERR_INVALID);
  assert_non_null(strstr(vf_graph_message(b.g), "a captured value with batch axes"));
}

/* memory */

/* A batched loop, a guarded branch, a scan; recorded and lowered to a plan. */
static void guarded(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_gather(*(vf_value *)user, vf_cast(a[0], VF_I32), 0, VF_GATHER_CHECK);
}
static void branching(void *user, const vf_value *x, vf_value *y) { /* n, x, table */
  vf_value table = x[2], last;
  power(user, x, &last);
  vf_cond(vf_gt(last, vf_number(x[0].graph, 2)), 1, &x[1], guarded, as_it_is, &table, 1, y);
}

static bool record_once(vf_context *c) {
  vf_graph *g = vf_graph_create(c, "memory", &error);
  if (!g) return false;
  vf_value x[3] = {vf_input(g, "n", VF_I32, VF_LIST(2)), vf_input(g, "x", VF_F32, VF_LIST(2)),
                   vf_input(g, "t", VF_F32, VF_LIST(4))},
           y;
  vf_map map = {sizeof map, 3, 1, (const int[]){0, 0, VF_NOT_MAPPED}, NULL, -1, NULL};
  vf_vmap(g, &map, branching, NULL, x, &y);
  vf_output(g, "y", y);
  float out[2];
  const void *in[] = {(const int32_t[]){1, 2}, (const float[]){2, 3}, (const float[]){1, 2, 3, 4}};
  bool good = vf_graph_status(g) == VF_OK;
  if (!good) error.status = vf_graph_status(g);
  good = good && vf_evaluate(g, in, (void *[]){out}, NULL, &error) == VF_OK;
  char *text = good ? vf_graph_dump(g, "index", &error) : NULL;
  good = text != NULL;
  if (text) vf_text_free(c, text);
  if (good) assert_true(out[0] == 2 && out[1] == 4);
  vf_graph_destroy(g);
  return good;
}

static void test_short_memory(void **state) { short_memory_everywhere(record_once, &error); }

UNIT_TESTS(test_iterations_of_each_element, test_gradient_outside, test_vmap_inside_of_a_scan,
           test_no_elements, test_custom_operation, test_refusals, test_short_memory)
