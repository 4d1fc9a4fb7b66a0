/* A gradient for each example: a line is fitted to points, and how much each point pulls at it is told by the
 * gradient of its own error, recorded once inside a vmap. */
#include <stdio.h>
#include <viewfold.h>

typedef struct line {
  vf_value slope, offset;
} line;

/* (slope x + offset - y)^2 of one point, and its derivatives by slope and offset */
static void pull(void *user, const vf_value *point, vf_value *results) {
  const line *l = user;
  vf_value apart = vf_sub(vf_add(vf_mul(l->slope, point[0]), l->offset), point[1]);
  results[0] = vf_mul(apart, apart);
  vf_grad(results[0], 2, (const vf_value[]){l->slope, l->offset}, results + 1);
}

int main(void) {
  static const double x[4] = {0, 1, 2, 3}, y[4] = {1, 3, 5, 11};
  double slope = 2, offset = 1, error_of[4], by_slope[4], by_offset[4];
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_graph *graph = vf_graph_create(context, "rows", &error);
  vf_value points[2] = {vf_input(graph, "x", VF_F64, VF_LIST(4)), vf_input(graph, "y", VF_F64, VF_LIST(4))};
  line l = {vf_input(graph, "slope", VF_F64, VF_ALL), vf_input(graph, "offset", VF_F64, VF_ALL)};
  vf_map map = {sizeof map, 2, 3, NULL, NULL, -1, NULL}; /* two arguments, three results, all along axis 0 */
  vf_value results[3];
  vf_vmap(graph, &map, pull, &l, points, results);
  static const char *const names[] = {"error", "by slope", "by offset"};
  for (int i = 0; i < 3; i++) vf_output(graph, names[i], results[i]);
  vf_program *program = vf_compile(graph, &error);
  if (!program) return fprintf(stderr, "%s\n", error.message), 1;
  const void *inputs[] = {x, y, &slope, &offset};
  void *outputs[] = {error_of, by_slope, by_offset};
  if (vf_program_run(program, inputs, outputs, NULL, &error) != VF_OK) return 1;
  for (int i = 0; i < 4; i++)
    printf("point %d: error %g, by slope %g, by offset %g\n", i, error_of[i], by_slope[i], by_offset[i]);
  vf_program_destroy(program), vf_graph_destroy(graph), vf_context_destroy(context);
}
