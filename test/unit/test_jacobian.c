/* Composed derivatives: Jacobians in reverse and forward mode, the Hessian in both, and a product with it, of
 * y = (x0 x1, sin(x2) x0) and the sum of y, against the formulas. */
#include <math.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

typedef struct dependence {
  vf_value y, x;
} dependence;

static void pulled(void *user, const vf_value *e, vf_value *row) {
  const dependence *d = user;
  vf_vjp(1, &d->y, e, 1, &d->x, row);
}
static void pushed(void *user, const vf_value *e, vf_value *column) {
  const dependence *d = user;
  vf_jvp(1, &d->y, 1, &d->x, e, column);
}

/* The derivatives of y by x, one row for each element of y: `rule` applied to each unit vector, stacked along
 * `axis`. */
static vf_value jacobian(dependence d, vf_function rule, int64_t size, int axis) {
  vf_value basis = vf_eye(d.x.graph, VF_F64, size, size, 0), all;
  vf_map map = {.size = sizeof map, .arguments = 1, .results = 1, .out_axes = &axis, .axis_size = -1};
  assert_true(vf_vmap(d.x.graph, &map, rule, &d, &basis, &all));
  return all;
}

static void check(const char *what, const double *got, const double *want, int count) {
  for (int i = 0; i < count; i++) {
    if (fabs(got[i] - want[i]) > 1e-14)
      print_error("%s: element %d is %.17g, not %.17g\n", what, i, got[i], want[i]);
    assert_true(fabs(got[i] - want[i]) <= 1e-14);
  }
}

static void test_all(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "jacobian");
  vf_value x = vf_input(g, "x", VF_F64, VF_LIST(3)), v = vf_input(g, "v", VF_F64, VF_LIST(3));
  vf_value part[3], both[2], dx, product;
  assert_int_equal(vf_unbind(x, 0, 3, part), 3);
  both[0] = vf_mul(part[0], part[1]), both[1] = vf_mul(vf_sin(part[2]), part[0]);
  vf_value y = vf_stack(both, 2, 0);
  vf_grad(vf_sum(y, VF_ALL, false), 1, &x, &dx);
  vf_jvp(1, &dx, 1, &x, &v, &product);
  vf_output(g, "reverse", jacobian((dependence){y, x}, pulled, 2, 0));
  vf_output(g, "forward", jacobian((dependence){y, x}, pushed, 3, 1));
  vf_output(g, "reverse over reverse", jacobian((dependence){dx, x}, pulled, 3, 0));
  vf_output(g, "forward over reverse", jacobian((dependence){dx, x}, pushed, 3, 1));
  vf_output(g, "product", product);
  vf_program *p = api_compile(g);
  const double at[3] = {0.5, -1.5, 0.25}, along[3] = {1, 2, -3};
  const double jacobians[6] = {at[1], at[0], 0, sin(at[2]), 0, at[0] * cos(at[2])};
  const double hessian[9] = {0, 1, cos(at[2]), 1, 0, 0, cos(at[2]), 0, -sin(at[2]) * at[0]};
  double out[5][9], times[3] = {0};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) times[i] += hessian[3 * i + k] * along[k];
  api_run(p, (const void *[]){at, along}, (void *[]){out[0], out[1], out[2], out[3], out[4]}, NULL);
  check("reverse", out[0], jacobians, 6);
  check("forward", out[1], jacobians, 6);
  check("reverse over reverse", out[2], hessian, 9);
  check("forward over reverse", out[3], hessian, 9);
  check("product", out[4], times, 3);
}

UNIT_TESTS(test_all)
