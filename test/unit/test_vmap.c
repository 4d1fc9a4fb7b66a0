/* vmap: functions recorded once and applied to every element of an axis, nested, with derivatives, over
 * trees; and what is refused. All numbers are worked out here by plain loops. */
#include <math.h>

#include "test/lib/api.h"
#include "test/lib/short_memory.h"
#include "test/lib/unit.h"

enum { MOST = 256 };
static vf_error error;

typedef struct bench {
  vf_context *c;
  vf_graph *g;
  float in[4][MOST], out[4][MOST];
  int inputs, outputs;
} bench;

static bench *start(void) {
  bench *b = unit_keep(calloc(1, sizeof *b), free);
  b->c = api_context();
  b->g = api_graph(b->c, "test");
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < MOST; i++) b->in[k][i] = (float)((i * 7 + 3 * k) % 11 - 4) / 2;
  return b;
}

static vf_value input(bench *b, int rank, const int64_t *shape) {
  char name[32];
  snprintf(name, sizeof name, "x%d", b->inputs++);
  return vf_input(b->g, name, VF_F32, rank, shape);
}

static void output(bench *b, vf_value y) {
  char name[32];
  snprintf(name, sizeof name, "y%d", b->outputs++);
  vf_output(b->g, name, y);
}

/* Evaluates the graph, then runs it compiled; `check` looks at b->out. */
static void run(bench *b, void (*check)(bench *b)) {
  if (vf_graph_status(b->g)) fail_msg("%s", vf_graph_message(b->g));
  const void *in[4] = {b->in[0], b->in[1], b->in[2], b->in[3]};
  void *out[4] = {b->out[0], b->out[1], b->out[2], b->out[3]};
  api_evaluate(b->g, in, out, NULL);
  check(b);
  memset(b->out, 0, sizeof b->out);
  api_run(api_compile(b->g), in, out, NULL);
  check(b);
}

static void near(double got, double want, const char *what, int at) {
  if (fabs(got - want) > 1e-5 * fmax(1, fabs(want))) fail_msg("%s %d: %g, expected %g", what, at, got, want);
}

static bool map2(bench *b, vf_function f, void *user, int n, const vf_value *arguments, const int *in_axes,
                 int m, vf_value *results, const int *out_axes) {
  vf_map map = {sizeof map, n, m, in_axes, out_axes, -1, NULL};
  return vf_vmap(b->g, &map, f, user, arguments, results);
}

static void expect_shape(vf_value x, int rank, const int64_t *shape) {
  int64_t own[16];
  if (!vf_ok(x)) fail_msg("%s", vf_graph_message(x.graph));
  assert_int_equal(vf_value_rank(x), rank);
  assert_int_equal(vf_value_batch_dims(x), 0);
  vf_value_shape(x, own);
  for (int i = 0; i < rank; i++) assert_int_equal(own[i], shape[i]);
}

/* one vmap */

static void product(void *user, const vf_value *x, vf_value *y) {
  assert_int_equal(vf_value_rank(x[0]), 1);
  y[0] = vf_sum(vf_mul(x[0], x[1]), VF_ALL, false);
}

static void check_rows(bench *b) {
  for (int i = 0; i < 4; i++) {
    double want = 0;
    for (int k = 0; k < 3; k++) want += (double)b->in[0][i * 3 + k] * b->in[1][k];
    near(b->out[0][i], want, "row", i);
  }
}

/* spec: B10 */
static void test_one_axis(void **state) {
  bench *b = start();
  vf_value x[2] = {input(b, VF_LIST(4, 3)), input(b, VF_LIST(3))}, y;
  assert_true(map2(b, product, NULL, 2, x, (int[]){0, VF_NOT_MAPPED}, 1, &y, NULL));
  expect_shape(y, VF_LIST(4));
  output(b, y);
  run(b, check_rows);
}

static void outer_sum(void *user, const vf_value *x, vf_value *y) {
  y[0] = vf_add(vf_unsqueeze(x[0], 1), vf_unsqueeze(x[1], 0)); /* (3,1) + (1,2) */
  y[1] = vf_mul(x[1], vf_number(x[1].graph, 2));
}

static void check_axes(bench *b) {
  for (int i = 0; i < 3; i++)
    for (int n = 0; n < 5; n++)
      for (int j = 0; j < 2; j++) /* x0 [3,5], x1 [5,2]; y0 [3,5,2], y1 [2,5] */
        near(b->out[0][(i * 5 + n) * 2 + j], b->in[0][i * 5 + n] + b->in[1][n * 2 + j], "sum", i);
  for (int n = 0; n < 5; n++)
    for (int j = 0; j < 2; j++) near(b->out[1][j * 5 + n], 2 * b->in[1][n * 2 + j], "double", n);
}

static void test_axes_in_and_out(void **state) {
  bench *b = start();
  vf_value x[2] = {input(b, VF_LIST(3, 5)), input(b, VF_LIST(5, 2))}, y[2];
  assert_true(map2(b, outer_sum, NULL, 2, x, (int[]){-1, 0}, 2, y, (int[]){1, -1}));
  expect_shape(y[0], VF_LIST(3, 5, 2));
  expect_shape(y[1], VF_LIST(2, 5));
  output(b, y[0]), output(b, y[1]);
  run(b, check_axes);
}

/* results that are not mapped, or do not depend on mapped inputs; spec: B10.U */

static void mixed(void *user, const vf_value *x, vf_value *y) {
  y[0] = vf_neg(x[1]);                    /* the same for every element */
  y[1] = vf_neg(x[1]);                    /* repeated */
  y[2] = vf_number(x[0].graph, 3);        /* a constant, repeated */
  y[3] = vf_add(x[0], *(vf_value *)user); /* a value from outside */
}

static void check_mixed(bench *b) {
  for (int k = 0; k < 3; k++) near(b->out[0][k], -b->in[1][k], "same", k);
  for (int n = 0; n < 4; n++)
    for (int k = 0; k < 3; k++) near(b->out[1][n * 3 + k], -b->in[1][k], "repeated", k);
  for (int n = 0; n < 4; n++) near(b->out[2][n], 3, "constant", n);
  for (int n = 0; n < 4; n++)
    for (int k = 0; k < 3; k++) near(b->out[3][n * 3 + k], b->in[0][n] + b->in[2][k], "outside", k);
}

static void test_not_mapped(void **state) {
  bench *b = start();
  vf_value x[2] = {input(b, VF_LIST(4)), input(b, VF_LIST(3))}, outside = input(b, VF_LIST(3)), y[4];
  assert_true(
      map2(b, mixed, &outside, 2, x, (int[]){0, VF_NOT_MAPPED}, 4, y, (int[]){VF_NOT_MAPPED, 0, 0, 0}));
  expect_shape(y[0], VF_LIST(3)), expect_shape(y[1], VF_LIST(4, 3)), expect_shape(y[2], 1, (int64_t[]){4});
  for (int i = 0; i < 4; i++) output(b, y[i]);
  run(b, check_mixed);
}

static void negate(void *user, const vf_value *x, vf_value *y) { y[0] = vf_neg(x[0]); }

static void check_negated(bench *b) {
  for (int n = 0; n < 6; n++)
    for (int k = 0; k < 3; k++) near(b->out[0][n * 3 + k], -b->in[0][k], "repeated", k);
}

static void test_axis_size(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(3)), y;
  vf_map map = {sizeof map, 1, 1, (int[]){VF_NOT_MAPPED}, NULL, 6, NULL};
  assert_true(vf_vmap(b->g, &map, negate, NULL, &x, &y));
  expect_shape(y, VF_LIST(6, 3));
  output(b, y);
  run(b, check_negated);
}

/* nested: every pair of rows; the inner function also uses a value of the outer one, and one from outside */

typedef struct pairs {
  bench *b;
  vf_value rows, weight, row;
} pairs;

static void inner_pair(void *user, const vf_value *x, vf_value *y) {
  pairs *p = user;
  y[0] = vf_sum(vf_mul(vf_mul(p->row, x[0]), p->weight), VF_ALL, false);
}

static void outer_pair(void *user, const vf_value *x, vf_value *y) {
  pairs *p = user;
  p->row = x[0];
  map2(p->b, inner_pair, p, 1, &p->rows, NULL, 1, y, NULL); /* p->rows has no axis of the outer vmap */
}

static void check_pairs(bench *b) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      double want = 0;
      for (int k = 0; k < 3; k++) want += (double)b->in[0][i * 3 + k] * b->in[1][j * 3 + k] * b->in[2][k];
      near(b->out[0][i * 4 + j], want, "pair", i * 4 + j);
    }
}

/* Both axes have size 4: aligned by size alone they would be confused. */
static void test_nested(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(4, 3)), y;
  pairs p = {.b = b};
  p.rows = input(b, VF_LIST(4, 3)), p.weight = input(b, VF_LIST(3));
  assert_true(map2(b, outer_pair, &p, 1, &x, NULL, 1, &y, NULL));
  expect_shape(y, VF_LIST(4, 4));
  output(b, y);
  run(b, check_pairs);
}

static void type_inside(void *user, const vf_value *x, vf_value *y) {
  int64_t sizes[2];
  assert_int_equal(vf_value_batch(x[0], sizes), 2);
  assert_true(sizes[0] == 4 && sizes[1] == 3);
  assert_int_equal(vf_value_rank(x[0]), 0);
  y[0] = x[0];
}

static void type_outside(void *user, const vf_value *x, vf_value *y) {
  int64_t sizes[2];
  assert_int_equal(vf_value_batch(x[0], sizes), 1);
  assert_true(sizes[0] == 3);
  map2(user, type_inside, NULL, 1, x, NULL, 1, y, NULL);
}

/* spec: B10. x (3,4) is f32[3|4] in the outer function, f32[4,3|] in the inner one. */
static void test_types_inside(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(3, 4)), y;
  assert_true(map2(b, type_outside, b, 1, &x, NULL, 1, &y, NULL));
  expect_shape(y, VF_LIST(3, 4));
}

/* values with batch axes from elsewhere keep them */

static void check_explicit(bench *b) {
  for (int e = 0; e < 4; e++)
    for (int n = 0; n < 4; n++)
      for (int k = 0; k < 3; k++)
        near(b->out[0][(e * 4 + n) * 3 + k], b->in[0][e * 3 + k] * b->in[1][n * 3 + k], "e", n);
}

static void times_outside(void *user, const vf_value *x, vf_value *y) {
  y[0] = vf_mul(x[0], *(vf_value *)user);
}

static void test_batch_from_elsewhere(void **state) {
  bench *b = start();
  vf_value e = vf_input_batched(b->g, "e", VF_F32, VF_LIST(4), VF_LIST(3)), y;
  b->inputs++;
  vf_value x = input(b, VF_LIST(4, 3));
  assert_true(map2(b, times_outside, &e, 1, &x, NULL, 1, &y, NULL));
  assert_int_equal(vf_value_batch_dims(y), 1);
  assert_int_equal(vf_value_rank(y), 2);
  output(b, vf_rebatch(y, 0));
  run(b, check_explicit);
}

/* derivatives: y(w, x) = sum((w * x)^2) / 2, so dw = w x^2, dx = w^2 x */

static vf_value energy(vf_value w, vf_value x) {
  vf_value t = vf_mul(w, x);
  return vf_mul(vf_sum(vf_mul(t, t), VF_ALL, false), vf_number(w.graph, 0.5));
}

static void gradients(void *user, const vf_value *x, vf_value *y) {
  vf_value with[2] = {*(vf_value *)user, x[0]};
  vf_grad(energy(with[0], with[1]), 2, with, y);
}

static void check_each(bench *b) {
  for (int n = 0; n < 4; n++)
    for (int k = 0; k < 3; k++) {
      double w = b->in[1][k], x = b->in[0][n * 3 + k];
      near(b->out[0][n * 3 + k], w * x * x, "dw of each", n);
      near(b->out[1][n * 3 + k], w * w * x, "dx of each", n);
    }
}

/* Inside a vmap, the gradient by a value that is not mapped is one gradient for each element. */
static void test_vmap_of_grad(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(4, 3)), w = input(b, VF_LIST(3)), y[2];
  assert_true(map2(b, gradients, &w, 1, &x, NULL, 2, y, NULL));
  expect_shape(y[0], VF_LIST(4, 3)), expect_shape(y[1], VF_LIST(4, 3));
  output(b, y[0]), output(b, y[1]);
  run(b, check_each);
}

static void energies(void *user, const vf_value *x, vf_value *y) { y[0] = energy(*(vf_value *)user, x[0]); }

static void check_sum(bench *b) {
  for (int k = 0; k < 3; k++) {
    double dw = 0;
    for (int n = 0; n < 4; n++)
      dw += (double)b->in[2][n] * b->in[1][k] * b->in[0][n * 3 + k] * b->in[0][n * 3 + k];
    near(b->out[0][k], dw, "dw", k);
    for (int n = 0; n < 4; n++)
      near(b->out[1][n * 3 + k], (double)b->in[2][n] * b->in[1][k] * b->in[1][k] * b->in[0][n * 3 + k], "dx",
           n);
  }
}

/* Outside the vmap, it is their sum, weighted by the cotangents. */
static void test_grad_of_vmap(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(4, 3)), w = input(b, VF_LIST(3)), d = input(b, VF_LIST(4)), y, dy[2];
  assert_true(map2(b, energies, &w, 1, &x, NULL, 1, &y, NULL));
  vf_vjp(1, &y, &d, 2, (vf_value[]){w, x}, dy);
  expect_shape(dy[0], VF_LIST(3)), expect_shape(dy[1], VF_LIST(4, 3));
  output(b, dy[0]), output(b, dy[1]);
  run(b, check_sum);
}

/* The Hessian of energy(w, .), which is diagonal w^2: vmap of the gradient over cotangents. */

typedef struct hessian {
  bench *b;
  vf_value x, dx;
} hessian;

static void row_of_hessian(void *user, const vf_value *e, vf_value *y) {
  hessian *h = user;
  vf_vjp(1, &h->dx, &e[0], 1, &h->x, y);
}

static void hessians(void *user, const vf_value *x, vf_value *y) {
  hessian *h = user;
  h->x = x[0];
  vf_grad(energy(x[1], x[0]), 1, &h->x, &h->dx);
  vf_value basis = vf_eye(h->b->g, VF_F32, 3, 3, 0);
  map2(h->b, row_of_hessian, h, 1, &basis, NULL, 1, y, NULL);
}

static void check_hessians(bench *b) {
  for (int n = 0; n < 4; n++)
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++)
        near(b->out[0][(n * 3 + i) * 3 + k], i == k ? (double)b->in[1][k] * b->in[1][k] : 0, "hessian", n);
}

static void test_hessians(void **state) {
  bench *b = start();
  vf_value x[2] = {input(b, VF_LIST(4, 3)), input(b, VF_LIST(3))}, y;
  hessian h = {.b = b};
  assert_true(map2(b, hessians, &h, 2, x, (int[]){0, VF_NOT_MAPPED}, 1, &y, NULL));
  expect_shape(y, VF_LIST(4, 3, 3));
  output(b, y);
  run(b, check_hessians);
}

/* forward mode inside a vmap, along one tangent for each element, by a value that is not mapped */

static void forwards(void *user, const vf_value *x, vf_value *y) {
  vf_value w = *(vf_value *)user, e = energy(w, x[0]);
  vf_jvp(1, &e, 1, &w, &x[1], y);
}

static void check_forwards(bench *b) {
  for (int n = 0; n < 4; n++) {
    double want = 0;
    for (int k = 0; k < 3; k++)
      want += (double)b->in[1][n * 3 + k] * b->in[2][k] * b->in[0][n * 3 + k] * b->in[0][n * 3 + k];
    near(b->out[0][n], want, "tangent", n);
  }
}

static void test_vmap_of_jvp(void **state) {
  bench *b = start();
  vf_value x[2] = {input(b, VF_LIST(4, 3)), input(b, VF_LIST(4, 3))}, w = input(b, VF_LIST(3)), y;
  assert_true(map2(b, forwards, &w, 2, x, NULL, 1, &y, NULL));
  expect_shape(y, VF_LIST(4));
  output(b, y);
  run(b, check_forwards);
}

/* Gradients inside a nested vmap pass through both batches of the inner function. */

typedef struct deep {
  bench *b;
  vf_value w;
} deep;

static void deep_inner(void *user, const vf_value *x, vf_value *y) { y[0] = energy(((deep *)user)->w, x[0]); }

static void deep_outer(void *user, const vf_value *x, vf_value *y) {
  deep *d = user;
  vf_value e;
  map2(d->b, deep_inner, d, 1, x, NULL, 1, &e, NULL);
  vf_grad(vf_sum(e, VF_ALL, false), 1, &d->w, y);
}

static void check_deep(bench *b) {
  for (int n = 0; n < 2; n++)
    for (int k = 0; k < 3; k++) {
      double want = 0;
      for (int m = 0; m < 4; m++)
        want += (double)b->in[1][k] * b->in[0][(n * 4 + m) * 3 + k] * b->in[0][(n * 4 + m) * 3 + k];
      near(b->out[0][n * 3 + k], want, "dw", n);
    }
}

static void test_grad_between(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(2, 4, 3)), y;
  deep d = {b, input(b, VF_LIST(3))};
  assert_true(map2(b, deep_outer, &d, 1, &x, NULL, 1, &y, NULL));
  expect_shape(y, VF_LIST(2, 3));
  output(b, y);
  run(b, check_deep);
}

/* trees: {"layers": [w0, w1], "x": x} */

static void network(void *user, const vf_tree *in, vf_tree *out) {
  const vf_tree *layers = &in->children[0];
  vf_value h = in->children[1].value;
  for (int i = 0; i < layers->count; i++) h = vf_mul(h, layers->children[i].value);
  out->children[0].value = h;
  out->children[1].children[0].value = vf_sum(h, VF_ALL, false);
}

static void check_network(bench *b) {
  for (int n = 0; n < 4; n++) {
    double total = 0;
    for (int k = 0; k < 3; k++) {
      double want = (double)b->in[2][k * 4 + n] * b->in[0][k] * b->in[1][n * 3 + k];
      near(b->out[0][n * 3 + k], want, "h", n);
      total += want;
    }
    near(b->out[1][n], total, "sum", n);
  }
}

static void test_trees(void **state) {
  bench *b = start();
  static const char *const names[] = {"layers", "x"}, *const swapped[] = {"x", "layers"};
  vf_tree layers[] = {{VF_LEAF, input(b, VF_LIST(3)), NULL, NULL},
                      {VF_LEAF, input(b, VF_LIST(4, 3)), NULL, NULL}};
  vf_tree top[] = {{2, {0}, layers, NULL}, {VF_LEAF, input(b, VF_LIST(3, 4)), NULL, NULL}};
  vf_tree arguments = {2, {0}, top, names};
  /* by name: x along -1, the first layer not, the second along 0 */
  vf_axes layer_axes[] = {{VF_LEAF, VF_NOT_MAPPED, NULL, NULL}, {VF_LEAF, 0, NULL, NULL}};
  vf_axes axes[] = {{VF_LEAF, -1, NULL, NULL}, {2, 0, layer_axes, NULL}};
  vf_axes in_axes = {2, 0, axes, swapped};
  vf_tree leaf = {VF_LEAF, {0}, NULL, NULL}, results[] = {{VF_LEAF, {0}, NULL, NULL}, {1, {0}, &leaf, NULL}};
  vf_tree out = {2, {0}, results, NULL};
  vf_axes out_axes = {VF_LEAF, 0, NULL, NULL}; /* one for all leaves */
  if (!vf_vmap_tree(b->g, network, NULL, &arguments, &in_axes, &out_axes, -1, &out))
    fail_msg("%s", vf_graph_message(b->g));
  expect_shape(results[0].value, VF_LIST(4, 3)), expect_shape(leaf.value, VF_LIST(4));
  assert_true(vf_value_batch_dims(layers[1].value) == 0); /* the caller's own values are unchanged */
  output(b, results[0].value), output(b, leaf.value);
  run(b, check_network);
  /* an invalid prefix */
  in_axes.keys = NULL, axes[0].count = 3;
  assert_false(vf_vmap_tree(b->g, network, NULL, &arguments, &in_axes, &out_axes, -1, &out));
  api_check_reason(vf_graph_message(b->g),
                   "vmap: in_axes has 3 entries where there are 2; a list of axes has one "
                   "for each, or one axis stands for all");
  assert_false(vf_ok(leaf.value));
  vf_graph_clear_error(b->g);
  in_axes.keys = (const char *const[]){"x", "y"}, axes[0].count = VF_LEAF;
  assert_false(vf_vmap_tree(b->g, network, NULL, &arguments, &in_axes, &out_axes, -1, &out));
  api_check_reason(vf_graph_message(b->g),
                   "vmap: in_axes has nothing for layers; its keys must be those of the tree");
}

static void put_leaf(void *user, const vf_tree *in, vf_tree *out) { out->value = *(vf_value *)user; }

/* Nested deeper than any real tree: refused, without recursion. */
static void test_deep_trees(void **state) {
  enum { DEEP = 40 };
  bench *b = start();
  vf_value x = input(b, VF_LIST(2));
  vf_tree chain[DEEP], out = {VF_LEAF, {0}, NULL, NULL};
  for (int depth = 30; depth <= DEEP; depth += 5) {
    for (int i = 0; i < depth; i++) chain[i] = (vf_tree){1, {0}, &chain[i + 1], NULL};
    chain[depth - 1] = (vf_tree){VF_LEAF, x, NULL, NULL};
    bool good = vf_vmap_tree(b->g, put_leaf, &x, chain, NULL, NULL, -1, &out);
    assert_int_equal(good, depth <= 33);
    if (!good) api_check_reason(vf_graph_message(b->g), "vmap: a tree has more than 32 levels");
    vf_graph_clear_error(b->g);
  }
}

/* Every allocation fails in turn: vmap then fails for that reason, and nothing leaks. */

static void with_gradient(void *user, const vf_value *x, vf_value *y) {
  vf_value w = *(vf_value *)user;
  vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
  vf_vmap(w.graph, &map, energies, &w, x, &y[0]);
  vf_grad(vf_sum(y[0], VF_ALL, false), 1, &w, &y[1]);
}

static bool record_once(vf_context *c) {
  vf_graph *g = vf_graph_create(c, "memory", &error);
  if (!g) return false;
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 4, 3)), w = vf_input(g, "w", VF_F32, VF_LIST(3)), y[2];
  vf_map map = {sizeof map, 1, 2, (int[]){1}, NULL, -1, NULL};
  vf_vmap(g, &map, with_gradient, &w, &x, y);
  vf_output(g, "y", y[0]), vf_output(g, "dw", y[1]);
  float in[2][24] = {{0}}, out[2][24];
  bool good = !vf_graph_status(g) &&
              !vf_evaluate(g, (const void *[]){in[0], in[1]}, (void *[]){out[0], out[1]}, NULL, &error);
  if (!good && vf_graph_status(g)) error.status = vf_graph_status(g);
  char *text = good ? vf_graph_dump(g, "index", &error) : NULL;
  good = text != NULL;
  if (text) vf_text_free(c, text);
  vf_graph_destroy(g);
  return good;
}

static void test_short_memory(void **state) { short_memory_everywhere(record_once, &error); }

/* what is refused; spec: B10 B10.U */

static void identity(void *user, const vf_value *x, vf_value *y) { y[0] = x[0]; }
static void nothing(void *user, const vf_value *x, vf_value *y) {}
static void leaks(void *user, const vf_value *x, vf_value *y) { *(vf_value *)user = y[0] = x[0]; }
static void nested_leak(void *user, const vf_value *x, vf_value *y) {
  vf_value kept, result;
  map2(user, leaks, &kept, 1, x, NULL, 1, &result, NULL);
  y[0] = kept;
}
static vf_graph *other;
static void elsewhere(void *user, const vf_value *x, vf_value *y) { y[0] = vf_boolean(other, true); }
static void fails(void *user, const vf_value *x, vf_value *y) { y[0] = vf_reshape(x[0], VF_LIST(7)); }

typedef struct refusal {
  vf_function f;
  int n, in_axes[2], out_axis;
  int64_t axis_size;
  const char *message;
} refusal;
#define REFUSED(...)                                                                                         \
  { __VA_ARGS__ }

static void test_refused(void **state) {
  static const refusal cases[] = {
      REFUSED(identity, 0, {0}, 0, -1, "vmap: there are no arguments; takes at least one"),
      REFUSED(
          identity, 1, {2}, 0, -1,
          "vmap: axis 2 of argument 1 is out of range; it has shape f32[4,3]; the axis must lie in -2..1"),
      REFUSED(
          identity, 1, {-3}, 0, -1,
          "vmap: axis -3 of argument 1 is out of range; it has shape f32[4,3]; the axis must lie in -2..1"),
      REFUSED(
          identity, 2, {0, 0}, 0, -1,
          "vmap: argument 2 has shape f32[], a scalar, which has no axis to map; its entry of in_axes may be "
          "VF_NOT_MAPPED"),
      REFUSED(identity, 1, {VF_NOT_MAPPED}, 0, -1,
              "vmap: no argument is mapped, so the size of the axis is unknown; give axis_size"),
      REFUSED(
          identity, 1, {0}, 0, 5,
          "vmap: axis 0 of argument 1, of shape f32[4,3], has size 4, and axis_size is 5; -1 takes it from "
          "the arguments"),
      REFUSED(identity, 1, {0}, VF_NOT_MAPPED, -1,
              "vmap: result 1 has shape f32[4|3] and may differ along the mapped axis, but its entry of "
              "out_axes is "
              "VF_NOT_MAPPED; give the axis of the result, or reduce over it outside"),
      REFUSED(
          identity, 1, {0}, 2, -1,
          "vmap: out axis 2 of result 1 is out of range; it has shape f32[4|3]; the axis must lie in -2..1"),
      REFUSED(nothing, 1, {0}, 0, -1, "vmap: result 1 was not given; a function sets all its results"),
      REFUSED(elsewhere, 1, {0}, 0, -1,
              "vmap: result 1 belongs to graph @other, others to @test; results belong to one graph; what "
              "another "
              "graph computes comes in as an input, vf_input, whose elements that graph's program writes"),
      REFUSED(fails, 1, {0}, 0, -1,
              "reshape: shape [7] has 7 elements; x has shape f32[4|3], 3 elements; a reshape keeps their "
              "number"),
      REFUSED(
          nested_leak, 1, {0}, 0, -1,
          "vmap: result 1 has shape f32[3,4|], 2 batch axes, where there are 1; a value inside a nested vmap "
          "cannot be a result: use the results of that vmap"),
      REFUSED(identity, 1, {0}, 0, -5, "vmap: axis_size is -5; takes a size, or -1"),
      REFUSED(NULL, 1, {0}, 0, -1, "vmap: the function is NULL"),
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const refusal *k = &cases[i];
    bench *b = start();
    other = vf_graph_create(b->c, "other", &error);
    vf_value x[2] = {input(b, VF_LIST(4, 3)), input(b, VF_ALL)}, y = x[0];
    vf_map map = {sizeof map, k->n, 1, k->in_axes, &k->out_axis, k->axis_size, NULL};
    if (vf_vmap(b->g, &map, k->f, b, x, &y)) fail_msg("accepted: %s", k->message);
    api_check_reason(vf_graph_message(b->g), k->message);
    assert_false(vf_ok(y));
    vf_graph_destroy(other);
  }
  vf_value x = {0}, y;
  vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
  assert_false(vf_vmap(NULL, &map, identity, NULL, &x, &y));
  assert_false(vf_ok(y));
}

static void two_sizes(void *user, const vf_value *x, vf_value *y) { y[0] = vf_add(x[0], x[1]); }

static void test_unequal_sizes(void **state) {
  bench *b = start();
  vf_value x[2] = {input(b, VF_LIST(4, 3)), input(b, VF_LIST(3, 3))}, y;
  assert_false(map2(b, two_sizes, NULL, 2, x, NULL, 1, &y, NULL));
  api_check_reason(vf_graph_message(b->g), "vmap: axis 0 of argument 2, of shape f32[3,3], has size 3, the "
                                           "arguments before say 4; mapped sizes must be equal");
}

/* A value from inside, kept by the function, is one for each index: neither it nor what is computed of it is
 * an output. */
static void test_kept_value(void **state) {
  for (int sums = 0; sums < 2; sums++) {
    bench *b = start();
    vf_value x = input(b, VF_LIST(4, 3)), y, kept;
    map2(b, leaks, &kept, 1, &x, NULL, 1, &y, NULL);
    assert_false(vf_ok(vf_output(b->g, "kept", sums ? vf_sum(kept, VF_ALL, false) : kept)));
    api_check_reason(
        vf_graph_message(b->g),
        "output: kept depends on a value of the function of a vf_vmap, which has ended; it is one value "
        "for each index there: make it a result of that function, and use the result of vf_vmap");
  }
}

/* A value that an earlier vmap of the same size has left behind: refused as an operand, and as a result. */

static void adds_kept(void *user, const vf_value *x, vf_value *y) { y[0] = vf_add(x[0], *(vf_value *)user); }
static void gives_kept(void *user, const vf_value *x, vf_value *y) {
  (void)x;
  y[0] = *(vf_value *)user;
}

static void test_kept_in_sibling(void **state) {
  for (int given = 0; given < 2; given++) {
    bench *b = start();
    vf_value x = input(b, VF_LIST(4, 3)), z = input(b, VF_LIST(4, 3)), y, kept;
    assert_true(map2(b, leaks, &kept, 1, &x, NULL, 1, &y, NULL));
    assert_false(map2(b, given ? gives_kept : adds_kept, &kept, 1, &z, NULL, 1, &y, NULL));
    const char *reason = strchr(vf_graph_message(b->g), ':');
    assert_non_null(reason);
    api_check_reason(
        reason + 2,
        given ? "result 1 is a value of the function of a vf_vmap, which has ended, where another is being "
                "recorded; it is one value for each index there: make it a result of that function, and "
                "use the result of vf_vmap"
              : "operand 2 is a value of the function of a vf_vmap, which has ended, where another is being "
                "recorded; it is one value for each index there: make it a result of that function, and "
                "use the result of vf_vmap");
  }
}

/* Two vmaps that record the same expressions, also with a loop inside: each has them as its own. */

static vf_value kept_of_twin;
static void doubles(void *user, const vf_value *carry, vf_value *next) {
  (void)user;
  next[0] = vf_add(carry[0], carry[0]);
  next[1] = vf_add(carry[1], vf_mul(carry[0], carry[0]));
}
static void twin(void *user, const vf_value *x, vf_value *y) {
  (void)user;
  vf_value init[2] = {x[0], vf_mul(x[0], x[0])}, last[2];
  vf_scan(doubles, NULL, 2, init, 0, NULL, 0, 3, false, last, NULL);
  kept_of_twin = vf_add(last[0], init[1]);
  y[0] = vf_add(kept_of_twin, last[1]);
}

static void test_twins(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(4, 3)), y[3];
  for (int i = 0; i < 3; i++) assert_true(map2(b, twin, NULL, 1, &x, NULL, 1, &y[i], NULL));
  for (int i = 0; i < 3; i++) expect_shape(y[i], VF_LIST(4, 3));
}

/* A gradient inside a vmap, through another vmap of the same level that has ended: refused, not wrong. */

static void sibling(void *user, const vf_value *x, vf_value *y) {
  vf_value *of = user; /* of[0]: the result of the earlier vmap; of[1]: the value to derive by */
  vf_value e = vf_sum(vf_mul(of[0], x[0]), VF_ALL, false);
  vf_grad(e, 1, &of[1], y);
}

static void test_finished_vmap(void **state) {
  bench *b = start();
  vf_value x = input(b, VF_LIST(4, 3)), w = input(b, VF_LIST(3)), of[2], y;
  assert_true(map2(b, times_outside, &w, 1, &x, NULL, 1, &of[0], NULL));
  of[1] = w;
  assert_false(map2(b, sibling, of, 1, &x, NULL, 1, &y, NULL));
  assert_non_null(strstr(vf_graph_message(b->g), "through another vmap, which has ended"));
}

static void realises(void *user, const vf_value *x, vf_value *y) {
  vf_tensor_data(user, &error);
  y[0] = x[0];
}

static void test_realising_inside(void **state) {
  vf_context *c = vf_context_create(NULL, &error);
  const float data[] = {1, 2, 3, 4};
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(2, 2), data, &error);
  vf_tensor *u = vf_tensor_keep(vf_neg(vf_tensor_value(t)), &error);
  vf_value x = vf_tensor_value(t), y;
  vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
  assert_false(vf_vmap(vf_session(c, NULL), &map, realises, u, &x, &y));
  assert_non_null(strstr(vf_graph_message(vf_session(c, NULL)), "the function realised a tensor"));
  vf_graph_clear_error(vf_session(c, NULL));
  x = vf_tensor_value(t);
  assert_true(vf_vmap(vf_session(c, NULL), &map, negate, NULL, &x, &y));
  vf_tensor *r = vf_tensor_keep(y, &error);
  const float *elements = vf_tensor_data(r, &error);
  assert_non_null(elements);
  for (int i = 0; i < 4; i++) assert_true(elements[i] == -data[i]);
  vf_tensor_release(t), vf_tensor_release(u), vf_tensor_release(r), vf_context_destroy(c);
}

/* x [3] mapped, c [3] not. The vjp of 3x with cotangent c is 3c, and the gradient of sum(3c * x) by c is 3x,
 * for each element. The jvp of sin x along the tangent c is cos(x) c, whose derivative by c along x is cos(x)
 * x. */
static void by_shared(void *user, const vf_value *in, vf_value *out) {
  vf_graph *g = in[0].graph;
  vf_value x = in[0], c = in[1], y = vf_mul(x, vf_number(g, 3)), s = vf_sin(x), pulled, pushed;
  vf_vjp(1, &y, &c, 1, &x, &pulled);
  vf_grad(vf_sum(vf_mul(pulled, x), VF_ALL, false), 1, &c, &out[0]);
  vf_jvp(1, &s, 1, &x, &c, &pushed);
  vf_jvp(1, &pushed, 1, &c, &x, &out[1]);
  vf_jvp(1, &y, 1, &x, &c, &pushed); /* does not depend on x */
  vf_jvp(1, &pushed, 1, &c, &x, &out[2]);
  y = vf_decr_batch_dims(x); /* a view of physical axes, [4,3], whose rows all vary by c */
  vf_jvp(1, &y, 1, &x, &c, &out[3]);
}

static void check_by_shared(bench *b) {
  for (int i = 0; i < 12; i++) {
    double x = b->in[0][i];
    near(b->out[0][i], 3 * x, "pulled", i);
    near(b->out[1][i], cos(x) * x, "pushed", i);
    near(b->out[2][i], 3 * x, "pushed of what is linear", i);
    near(b->out[3][i], b->in[1][i % 3], "pushed of all rows", i);
  }
}

/* A cotangent or tangent that is the same for every element still has a derivative for each element. */
static void test_second_order_by_shared(void **state) {
  bench *b = start();
  vf_value x[2] = {input(b, VF_LIST(4, 3)), input(b, VF_LIST(3))}, y[4];
  const int out_axes[] = {0, 0, 0, VF_NOT_MAPPED};
  assert_true(map2(b, by_shared, NULL, 2, x, (int[]){0, VF_NOT_MAPPED}, 4, y, out_axes));
  for (int k = 0; k < 4; k++) {
    expect_shape(y[k], VF_LIST(4, 3));
    output(b, y[k]);
  }
  run(b, check_by_shared);
}

UNIT_TESTS(test_one_axis, test_axes_in_and_out, test_not_mapped, test_axis_size, test_nested,
           test_types_inside, test_batch_from_elsewhere, test_vmap_of_grad, test_grad_of_vmap, test_hessians,
           test_vmap_of_jvp, test_grad_between, test_trees, test_deep_trees, test_short_memory, test_refused,
           test_unequal_sizes, test_kept_value, test_kept_in_sibling, test_twins, test_finished_vmap,
           test_realising_inside, test_second_order_by_shared)
