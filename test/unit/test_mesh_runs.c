/* Programs on meshes in C: whole arrays, parts, what devices receive, refusals, memory that ends. */
#include "frontend/viewfold.h"
#include "test/lib/short_memory.h"
#include "test/lib/unit.h"

enum { ROWS = 10, TERMS = 8, COLUMNS = 6, DEVICES = 8 };

static vf_error error; /* of the last call that failed */

static vf_context *open_context(void) {
  vf_context *c = vf_context_create(NULL, &error);
  if (!c) fail_msg("%s", error.message);
  return c;
}

/* y = relu(a) b, its rows divided along x, the terms of the sums along y; and the sum of each of its columns.
 */
static vf_graph *record(vf_context *c) {
  vf_mesh *mesh = vf_mesh_create(c, "x=2,y=4", &error);
  vf_graph *g = mesh ? vf_graph_create(c, "layer", &error) : NULL;
  if (g && vf_graph_set_mesh(g, mesh, &error) == VF_OK) {
    int64_t left[] = {ROWS, TERMS}, right[] = {TERMS, COLUMNS};
    vf_value a = vf_input_sharded(g, "a", VF_F32, 2, left, "[x,y]");
    vf_value b = vf_input_sharded(g, "b", VF_F32, 2, right, "[y,-]");
    vf_value y = vf_shard(vf_matmul(vf_relu(a), b), "[x,-]");
    vf_output(g, "y", y);
    vf_output(g, "sums", vf_sum(y, VF_LIST(0), false));
  }
  vf_mesh_destroy(mesh);
  return g;
}

typedef struct arrays {
  float a[ROWS][TERMS], b[TERMS][COLUMNS], y[ROWS][COLUMNS], sums[COLUMNS];
} arrays;

static void fill(arrays *v) {
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < TERMS; k++) v->a[i][k] = (float)((i * 7 + k * 3) % 11 - 5);
  for (int k = 0; k < TERMS; k++)
    for (int j = 0; j < COLUMNS; j++) v->b[k][j] = (float)((k * 5 + j) % 7 - 3);
}

static void check(const arrays *v) {
  for (int j = 0; j < COLUMNS; j++) {
    float sum = 0;
    for (int i = 0; i < ROWS; i++) {
      float y = 0;
      for (int k = 0; k < TERMS; k++) y += (v->a[i][k] > 0 ? v->a[i][k] : 0) * v->b[k][j];
      assert_true(v->y[i][j] == y);
      sum += y;
    }
    assert_true(v->sums[j] == sum);
  }
}

static void whole_arrays(void **state) {
  vf_context *c = open_context();
  vf_graph *g = record(c);
  vf_program *p = vf_compile_on(g, NULL, 0, &error);
  if (!p) fail_msg("%s", error.message);
  arrays v;
  int64_t most, total;
  fill(&v);
  assert_int_equal(vf_program_device_count(p), DEVICES);
  for (int run = 0; run < 3; run++) {
    memset(v.y, 0xff, sizeof v.y);
    if (vf_program_run(p, (const void *[]){v.a, v.b}, (void *[]){v.y, v.sums}, NULL, &error) != VF_OK)
      fail_msg("%s", error.message);
    check(&v);
  }
  vf_program_received(p, &most, &total);
  assert_true(most > 0 && total >= most && total <= DEVICES * most && total % 3 == 0);
  vf_cost cost = {.size = sizeof cost};
  assert_int_equal(vf_program_cost(p, NULL, &cost, &error), VF_OK);
  assert_true(cost.flops > 0);
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

/* Copies the part of a port that a device has, to the whole array or from it. */
static void copy_part(const vf_program *p, vf_port port, int number, int device, float *whole, float *part,
                      bool back) {
  int64_t shape[2], offset[2], same, sizes[2];
  assert_int_equal(vf_port_part(p, port, number, device, NULL, shape, offset, &same, &error), VF_OK);
  assert_int_equal(vf_port_shape(p, port, number, NULL, sizes, &error), VF_OK);
  assert_true(same <= device);
  bool matrix = vf_port_rank(p, port, number) == 2;
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < (matrix ? shape[1] : 1); j++) {
      float *at = matrix ? &whole[(offset[0] + i) * sizes[1] + offset[1] + j] : &whole[offset[0] + i],
            *of = &part[i * (matrix ? shape[1] : 1) + j];
      if (back) *at = *of;
      else *of = *at;
    }
}

static void parts_of_arrays(void **state) {
  vf_context *c = open_context();
  vf_graph *g = record(c);
  vf_program *p = vf_compile_on(g, NULL, VF_MESH_WIRE, &error);
  if (!p) fail_msg("%s", error.message);
  arrays v, parts[DEVICES];
  const void *inputs[2 * DEVICES];
  void *outputs[2 * DEVICES];
  fill(&v);
  for (int d = 0; d < DEVICES; d++) {
    copy_part(p, VF_INPUT, 0, d, &v.a[0][0], &parts[d].a[0][0], false);
    copy_part(p, VF_INPUT, 1, d, &v.b[0][0], &parts[d].b[0][0], false);
    inputs[2 * d] = parts[d].a, inputs[2 * d + 1] = parts[d].b;
    outputs[2 * d] = parts[d].y, outputs[2 * d + 1] = parts[d].sums;
  }
  if (vf_program_run_parts(p, inputs, outputs, NULL, &error) != VF_OK) fail_msg("%s", error.message);
  for (int d = 0; d < DEVICES; d++) { /* each device's results, over those of others that hold the same */
    copy_part(p, VF_OUTPUT, 0, d, &v.y[0][0], &parts[d].y[0][0], true);
    copy_part(p, VF_OUTPUT, 1, d, v.sums, parts[d].sums, true);
  }
  check(&v);
  int64_t shape[2], offset[2], same;
  assert_int_equal(vf_port_part(p, VF_OUTPUT, 0, 6, NULL, shape, offset, &same, &error), VF_OK);
  assert_true(shape[0] == 5 && shape[1] == COLUMNS && offset[0] == 5 && offset[1] == 0 && same == 4);
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

static void refused(vf_program *p, const char *message) {
  assert_null(p);
  assert_string_equal(error.message, message);
}

static void what_is_refused(void **state) {
  vf_context *c = open_context();
  vf_graph *g = record(c), *plain = vf_graph_create(c, "plain", &error);
  vf_mesh *other = vf_mesh_create(c, "x=8", &error), *many = vf_mesh_create(c, "x=300", &error);
  vf_output(plain, "y", vf_input(plain, "x", VF_F32, 1, (int64_t[]){4}));
  refused(vf_compile_on(NULL, other, 0, &error), "compile: the graph is NULL, as vf_graph_create, _parse and "
                                                 "vf_import_onnx give where they fail: their error says why");
  refused(vf_compile_on(plain, NULL, 0, &error), "compile: neither the graph @plain nor the call has a mesh");
  refused(vf_compile_on(g, other, 0, &error),
          "compile: the mesh is another one than that of graph @layer; specs name the axes of the graph's");
  refused(vf_compile_on(plain, many, 0, &error),
          "a mesh of 300 devices: one process has at most 256 as threads");
  vf_program *p = vf_compile(g, &error);
  int64_t shape[2], offset[2], most, total;
  assert_int_equal(vf_port_part(p, VF_INPUT, 0, 0, NULL, shape, offset, NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "part: program @layer has no mesh; compile it with vf_compile_on");
  assert_int_equal(vf_program_run_parts(p, (const void *[]){NULL}, (void *[]){NULL}, NULL, &error),
                   VF_ERR_INVALID);
  assert_int_equal(vf_program_device_count(p), 1);
  vf_program_received(p, &most, &total);
  assert_true(most == 0 && total == 0);
  vf_program_destroy(p);
  p = vf_compile_on(g, NULL, 0, &error);
  assert_int_equal(vf_port_part(p, VF_INPUT, 0, 8, NULL, shape, offset, NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "part: there is no device 8; the mesh has devices 0 to 7");
  assert_int_equal(vf_port_part(p, VF_INPUT, 2, 0, NULL, shape, offset, NULL, &error), VF_ERR_INVALID);
  vf_program_destroy(p);
  vf_mesh_destroy(other);
  vf_mesh_destroy(many);
  vf_graph_destroy(plain);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

static bool compiles_and_runs(vf_context *c) {
  arrays v;
  fill(&v);
  vf_graph *g = record(c);
  vf_program *p = g ? vf_compile_on(g, NULL, 0, &error) : NULL;
  bool good =
      p && vf_program_run(p, (const void *[]){v.a, v.b}, (void *[]){v.y, v.sums}, NULL, &error) == VF_OK;
  if (good) check(&v);
  vf_program_destroy(p);
  vf_graph_destroy(g);
  return good;
}

static void any_allocation_may_fail(void **state) { short_memory_everywhere(compiles_and_runs, &error); }

UNIT_TESTS(whole_arrays, parts_of_arrays, what_is_refused, any_allocation_may_fail)
