/* Collectives in C, and their derivatives: values and gradients of whole arrays, on a mesh of three devices.
 */
#include "frontend/api/api.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { MOST = 12 };

static vf_context *context;
static vf_graph *graph;
static vf_value x;

/* A graph on [d=3] whose input x has so many elements along axis 0, divided, and two along axis 1. */
static void begin(int64_t elements) {
  vf_error error = {0};
  vf_mesh *mesh = vf_mesh_create(context, "d=3", &error);
  graph = vf_graph_create(context, "g", &error);
  if (!mesh || !graph || vf_graph_set_mesh(graph, mesh, &error) != VF_OK) fail_msg("%s", error.message);
  x = vf_input_sharded(graph, "x", VF_F32, 2, (int64_t[]){elements, 2}, "[d,-]");
  vf_mesh_destroy(mesh);
}

/* Is y what is wanted, and the gradient of the sum of its elements times 1, 2, 3, ..? Run on the mesh. */
static void check(vf_value y, size_t elements, const float *in, const float *want, size_t results,
                  const float *gradient) {
  vf_error error = {0};
  float got[MOST], slope[MOST];
  vf_value weights = vf_cast(
      vf_add(vf_iota(graph, VF_I64, 1, (int64_t[]){(int64_t)results}, 0), vf_integer(graph, 1)), VF_F32);
  vf_value flat = vf_reshape(y, 1, (int64_t[]){(int64_t)results});
  vf_value total = vf_sum(vf_mul(flat, weights), 1, (int64_t[]){0}, false), g;
  vf_grad(total, 1, &x, &g);
  vf_output(graph, "y", y), vf_output(graph, "g", g);
  vf_program *p = vf_compile_on(graph, NULL, 0, &error);
  if (!p) fail_msg("%s", error.message);
  assert_int_equal(vf_program_run(p, (const void *[]){in}, (void *[]){got, slope}, NULL, &error), VF_OK);
  for (size_t i = 0; i < results; i++) assert_true(got[i] == want[i]);
  for (size_t i = 0; i < elements; i++) assert_true(slope[i] == gradient[i]);
  vf_program_destroy(p);
  vf_graph_destroy(graph);
}

static const float six[] = {1, 20, 3, 4, 50, 6};

/* Block i, from its source, and the gradient back to it. spec: C10 C5 */
static void test_moves(void **state) {
  (void)state;
  begin(3);
  check(vf_ppermute(x, 0, "[d]", 3, (int64_t[]){0, 1, 1, 2, 2, 0}), 6, six, (float[]){50, 6, 1, 20, 3, 4}, 6,
        (float[]){3, 4, 5, 6, 1, 2});
  begin(3);
  check(vf_ppermute(x, 0, "[d]", 1, (int64_t[]){2, 0}), 6, six, (float[]){50, 6, 0, 0, 0, 0}, 6,
        (float[]){0, 0, 0, 0, 1, 2});
  begin(3);
  check(vf_pmean(vf_mul(vf_sum(x, 1, (int64_t[]){0}, false), vf_integer(graph, 3)), "[d]"), 6, six,
        (float[]){54, 30}, 2, (float[]){1, 2, 1, 2, 1, 2});
}

/* Blocks of an axis, combined: the gradient goes to the greatest one, or to all. spec: C4 C12 */
static void test_blocks(void **state) {
  (void)state;
  begin(3);
  check(vf_all_reduce_blocks(x, 0, "[d]", "max"), 6, six, (float[]){50, 20}, 2, (float[]){0, 2, 0, 0, 1, 0});
  begin(3);
  check(vf_all_reduce_blocks(x, 0, "[d]", "sum"), 6, six, (float[]){54, 30}, 2, (float[]){1, 2, 1, 2, 1, 2});
  begin(3);
  check(vf_all_reduce_blocks(x, 0, "[d]", "prod"), 6, six, (float[]){150, 480}, 2,
        (float[]){150, 48, 50, 240, 3, 160});
  begin(3);
  check(vf_distributed_broadcast(x, 0, "[d]"), 6, six, (float[]){1, 20}, 2, (float[]){1, 2, 0, 0, 0, 0});
}

static void refused(vf_value v, const char *part) {
  assert_false(vf_ok(v));
  if (!strstr(vf_graph_message(graph), part)) fail_msg("'%s' lacks '%s'", vf_graph_message(graph), part);
  vf_graph_clear_error(graph);
}

/* To a device, a division, or where it is computed; the gradient comes back. spec: C13 */
static void test_transfer(void **state) {
  (void)state;
  static const float same[] = {1, 2, 3, 4, 5, 6};
  begin(3);
  check(vf_transfer_to(x, NULL, "[-,d]"), 6, six, six, 6, same);
  begin(3);
  check(vf_transfer_to(x, "cpu", NULL), 6, six, six, 6, same);
  begin(3);
  check(vf_transfer_to(x, NULL, NULL), 6, six, six, 6, same);
  begin(3);
  refused(vf_transfer_to(x, "cpu", "[d,-]"), "to and device exclude each other");
  refused(vf_transfer_to(x, "opencl:1", NULL), "which the mesh @m does not have");
  vf_graph_destroy(graph);
  graph = api_graph(context, "alone");
  vf_value y = vf_input(graph, "y", VF_F32, 1, (int64_t[]){2});
  assert_true(vf_ok(vf_transfer_to(y, NULL, NULL)));
  refused(vf_transfer_to(y, "cpu", NULL), "the graph has no mesh whose devices device could name");
}

/* The same elements, and the gradient as it comes; parts of no size too. spec: C6 C7 C8 C9 C11 */
static void test_constraints(void **state) {
  (void)state;
  static const float same[] = {1, 2, 3, 4, 5, 6};
  begin(3);
  check(vf_all_gather(x, 0, NULL), 6, six, six, 6, same);
  begin(3);
  check(vf_gather_all_axes(x), 6, six, six, 6, same);
  begin(3);
  check(vf_all_to_all(x, 1, 0, NULL), 6, six, six, 6, same);
  begin(3);
  check(vf_all_to_all(x, -2, 0, "[d]"), 6, six, six, 6, same);
  begin(3);
  check(vf_all_to_all_stacked(x, 1, 0, "[d]"), 6, six, six, 6, same);
  begin(3);
  check(vf_reduce_scatter(vf_sum(x, 1, (int64_t[]){1}, false), 0, NULL), 6, six, (float[]){21, 7, 56}, 3,
        (float[]){1, 1, 2, 2, 3, 3});
  begin(3);
  check(vf_all_reduce(vf_sum(x, 1, (int64_t[]){0}, false), NULL), 6, six, (float[]){54, 30}, 2,
        (float[]){1, 2, 1, 2, 1, 2});
  begin(3);
  vf_value own = vf_reshape(vf_cast(vf_axis_index(graph, "[d]"), VF_F32), 2, (int64_t[]){3, 1});
  check(vf_mul(x, own), 6, six, (float[]){0, 0, 3, 4, 100, 12}, 6, (float[]){0, 0, 3, 4, 10, 12});
}

static void row(void *user, const vf_value *in, vf_value *out) {
  (void)user;
  out[0] = vf_sum(vf_mul(in[0], in[1]), 1, (int64_t[]){0}, false);
}

/* The mapped axis is divided: each device maps its own elements, and nothing moves. */
static void test_mapped(void **state) {
  (void)state;
  vf_error error = {0};
  begin(3);
  vf_value y, in[] = {vf_input(graph, "a", VF_F32, 2, (int64_t[]){3, 2}), x};
  vf_map map = {sizeof map, 2, 1, NULL, NULL, -1, "[d]"};
  assert_true(vf_vmap(graph, &map, row, NULL, in, &y));
  vf_output(graph, "y", y);
  vf_program *p = vf_compile_on(graph, NULL, 0, &error);
  if (!p) fail_msg("%s", error.message);
  static const float a[] = {1, 2, 3, 4, 5, 6};
  float got[3];
  int64_t shape[1], offset[1], most, total;
  assert_int_equal(vf_program_run(p, (const void *[]){six, a}, (void *[]){got}, NULL, &error), VF_OK);
  assert_true(got[0] == 41 && got[1] == 25 && got[2] == 286);
  assert_int_equal(vf_port_part(p, VF_OUTPUT, 0, 2, NULL, shape, offset, NULL, &error), VF_OK);
  assert_true(shape[0] == 1 && offset[0] == 2);
  vf_program_received(p, &most, &total);
  assert_int_equal(total, 0);
  vf_program_destroy(p);
  map.over = "[z]";
  assert_false(vf_vmap(graph, &map, row, NULL, in, &y));
  assert_non_null(strstr(vf_graph_message(graph), "no axis of the mesh"));
  vf_graph_destroy(graph);
}

static void test_refused(void **state) {
  (void)state;
  vf_error error = {0};
  begin(4);
  refused(vf_ppermute(x, 0, "[d]", 0, NULL), "ppermute: size 4 of axis 0 does not divide by 3");
  refused(vf_pmean(x, "[-]"), "pmean: over is [-]");
  refused(vf_axis_index(graph, NULL), "axis_index: over is missing");
  refused(vf_all_gather(x, 2, NULL), "all_gather: axis 2");
  refused(vf_all_reduce_blocks(x, 0, "[d]", "median"), "reduce is 'median'");
  refused(vf_all_reduce(x, "[z]"), "all_reduce: over: ");
  vf_graph_destroy(graph);
  graph = vf_graph_create(context, "g", &error);
  refused(vf_axis_index(graph, "[d]"), "the graph has no mesh");
  vf_graph_destroy(graph);
}

static int open_context(void **state) {
  vf_error error = {0};
  (void)state;
  if (!(context = vf_context_create(NULL, &error))) fail_msg("%s", error.message);
  return 0;
}
static int close_context(void **state) {
  (void)state;
  vf_context_destroy(context);
  return 0;
}

UNIT_TESTS_EACH(open_context, close_context, test_moves, test_blocks, test_transfer, test_constraints,
                test_mapped, test_refused)
