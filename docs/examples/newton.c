/* Derivatives: the minimum of Rosenbrock's function by Newton's method. The gradient is recorded by reverse
 * mode, its product with a direction, a column of the Hessian, by forward mode through the gradient. */
#include <stdio.h>
#include <viewfold.h>

/* 100 (y - x^2)^2 + (1 - x)^2 */
static vf_value rosenbrock(vf_value p) {
  vf_value x = vf_point(p, 0, 0), y = vf_point(p, 1, 0), one = vf_number(p.graph, 1);
  vf_value valley = vf_sub(y, vf_mul(x, x)), rest = vf_sub(one, x);
  return vf_add(vf_mul(vf_number(p.graph, 100), vf_mul(valley, valley)), vf_mul(rest, rest));
}

int main(void) {
  static const double directions[2][2] = {{1, 0}, {0, 1}};
  double at[2] = {-1, 2}, value, slope[2], h[2][2];
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_graph *graph = vf_graph_create(context, "newton", &error);
  vf_value p = vf_input(graph, "p", VF_F64, VF_LIST(2)), f = rosenbrock(p), gradient, column;
  vf_grad(f, 1, &p, &gradient);
  vf_output(graph, "f", f);
  vf_output(graph, "gradient", gradient);
  for (int i = 0; i < 2; i++) {
    vf_value direction = vf_data(graph, VF_F64, VF_LIST(2), directions[i]);
    vf_jvp(1, &gradient, 1, &p, &direction, &column);
    vf_output(graph, i ? "second" : "first", column);
  }
  vf_program *program = vf_compile(graph, &error);
  if (!program) return fprintf(stderr, "%s\n", error.message), 1;
  void *outputs[] = {&value, slope, h[0], h[1]};
  for (int step = 0; step < 6; step++) {
    if (vf_program_run(program, (const void *[]){at}, outputs, NULL, &error) != VF_OK) return 1;
    printf("f(%.4f, %.4f) = %.4g\n", at[0], at[1], value);
    double scale = h[0][0] * h[1][1] - h[0][1] * h[1][0];
    at[0] -= (h[1][1] * slope[0] - h[1][0] * slope[1]) / scale;
    at[1] -= (h[0][0] * slope[1] - h[0][1] * slope[0]) / scale;
  }
  vf_program_destroy(program), vf_graph_destroy(graph), vf_context_destroy(context);
}
