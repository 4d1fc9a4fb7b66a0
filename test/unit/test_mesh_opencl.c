/* Meshes whose devices are OpenCL devices, alone and beside the processor: the bits are those of one
 * processor that runs the graph undivided, for memory that the host shares and for memory of the device's
 * own. spec: M1 C14 */
#include "test/lib/api.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

enum { ROWS = 10, TERMS = 8, COLUMNS = 6, TABLE = 64, DEVICES = 4, STEPS = 3 };
static const int64_t a_shape[] = {ROWS, TERMS}, b_shape[] = {TERMS, COLUMNS}, cache_shape[] = {ROWS, COLUMNS},
                     table_shape[] = {TABLE, COLUMNS}, index_shape[] = {ROWS};

typedef struct arrays {
  float a[ROWS][TERMS], b[TERMS][COLUMNS], cache[ROWS][COLUMNS];
  int64_t index[ROWS];
  float y[ROWS][COLUMNS], sums[ROWS][COLUMNS], far[ROWS][COLUMNS], all[COLUMNS];
} arrays;

static vf_value given(vf_graph *g, const char *name, const int64_t *shape, const char *spec, bool divided) {
  return divided ? vf_input_sharded(g, name, VF_F32, 2, shape, spec) : vf_input(g, name, VF_F32, 2, shape);
}

/* A product with summands on two devices, sums along a divided axis, elements of other parts, rows of a
 * divided constant, a divided reference. mesh NULL: undivided. */
static vf_graph *record(vf_context *c, const char *mesh_text) {
  vf_error error = {0};
  vf_graph *g = api_graph(c, "layer");
  bool divided = mesh_text != NULL;
  if (divided) {
    vf_mesh *mesh = vf_mesh_create(c, mesh_text, &error);
    if (!mesh || vf_graph_set_mesh(g, mesh, &error)) fail_msg("%s", error.message);
    vf_mesh_destroy(mesh);
  }
  static float table[TABLE][COLUMNS]; /* more than 1,024 bytes: a constant with a digest */
  for (int i = 0; i < TABLE * COLUMNS; i++) table[i / COLUMNS][i % COLUMNS] = (float)(i % 97 - 40);
  vf_value a = given(g, "a", a_shape, "[x,y]", divided), b = given(g, "b", b_shape, "[y,-]", divided);
  vf_ref cache = divided ? vf_ref_input_sharded(g, "cache", VF_F32, 2, cache_shape, "[-,y]")
                         : vf_ref_input(g, "cache", VF_F32, 2, cache_shape);
  vf_value index = vf_input(g, "index", VF_I64, 1, index_shape);
  vf_value rows = vf_data(g, VF_F32, 2, table_shape, table);
  vf_value y = vf_matmul(vf_relu(a), b);
  if (divided) rows = vf_shard(rows, "[x,-]"), y = vf_shard(y, "[x,-]");
  vf_ref_update(cache, y, VF_WRITE_ADD);
  vf_output(g, "y", vf_add(y, vf_gather(rows, index, 0, VF_GATHER_CHECK)));
  vf_output(g, "sums", vf_cumsum(y, 0));
  vf_output(g, "far", vf_add(vf_flip(y, 1, (int64_t[]){0}), vf_ref_get(cache)));
  vf_output(g, "all", vf_sum(y, VF_LIST(0), false));
  return g;
}

static void fill(arrays *v) {
  memset(v, 0, sizeof *v);
  for (int i = 0; i < ROWS; i++) {
    v->index[i] = (i * 23 + 5) % TABLE;
    for (int k = 0; k < TERMS; k++) v->a[i][k] = (float)((i * 7 + k * 3) % 11 - 5);
  }
  for (int k = 0; k < TERMS; k++)
    for (int j = 0; j < COLUMNS; j++) v->b[k][j] = (float)((k * 5 + j) % 7 - 3);
}

static void run(const vf_program *p, arrays *v) {
  vf_error error = {0};
  for (int step = 0; step < STEPS; step++)
    if (vf_program_run(p, (const void *[]){v->a, v->b, v->cache, v->index},
                       (void *[]){v->y, v->sums, v->far, v->all}, NULL, &error) != VF_OK)
      fail_msg("%s", error.message);
}

static void check(const arrays *got, const arrays *want, const char *mesh, bool gpu) {
  const float *x = &got->a[0][0], *y = &want->a[0][0];
  for (size_t i = 0; i < sizeof *got / sizeof *x; i++)
    if (memcmp(&x[i], &y[i], sizeof *x) != 0)
      fail_msg("%s, %s: word %zu of the arrays is %g, not %g", mesh, gpu ? "gpu" : "cpu", i, (double)x[i],
               (double)y[i]);
}

static void same_bits_as_one_processor(void **state) {
  static const struct {
    const char *device, *mesh;
  } rows[] = {
      {"opencl", "[x=2,y=2]"},
      {NULL, "[x=2,y=2] devices=[\"opencl\",\"opencl\",\"opencl\",\"opencl\"]"},
      {NULL, "[x=2,y=2] devices=[\"cpu\",\"opencl:0\",\"opencl:0\",\"cpu\"]"},
      {"opencl", "[x=2,y=2] devices=[\"cpu\",\"opencl\",\"opencl:0\",\"cpu\"]"},
      /* parts of 4, 4 and 2 rows, and of 22, 22 and 20 of the table */
      {NULL, "[x=3,y=1] devices=[\"cpu\",\"opencl:0\",\"cpu\"]"},
      {NULL, "[x=3,y=1] devices=[\"opencl:0\",\"cpu\",\"opencl:0\"]"},
  };
  (void)state;
  for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
    size_t n = i / 2;
    arrays want, got;
    vf_error error = {0};
    opencl_set("%s", i % 2 ? "gpu" : "");
    vf_context *plain = api_context(),
               *c = api_context_with(
                   (vf_options){.size = sizeof(vf_options), .device = rows[n].device, .flags = VF_NO_DISK});
    fill(&want), fill(&got);
    vf_graph *undivided = record(plain, NULL);
    vf_program *one = api_compile(undivided), *p = vf_compile_on(record(c, rows[n].mesh), NULL, 0, &error);
    if (!p) fail_msg("%s: %s", rows[n].mesh, error.message);
    unit_keep(p, (void (*)(void *))vf_program_destroy);
    run(one, &want);
    run(p, &got);
    check(&got, &want, rows[n].mesh, i % 2);
    int64_t most, total;
    vf_program_received(p, &most, &total);
    assert_true(most > 0 && total > most);
  }
}

/* A device that fails ends the run of all, and the next run is as the first. */
static void a_device_that_fails(void **state) {
  (void)state;
  opencl_set("gpu");
  vf_context *c = api_context_with((vf_options){.size = sizeof(vf_options), .flags = VF_NO_DISK});
  vf_error error = {0};
  vf_program *p =
      vf_compile_on(record(c, "[x=2,y=2] devices=[\"cpu\",\"opencl\",\"opencl\",\"cpu\"]"), NULL, 0, &error);
  if (!p) fail_msg("%s", error.message);
  unit_keep(p, (void (*)(void *))vf_program_destroy);
  arrays first, again;
  fill(&first), fill(&again);
  run(p, &first);
  again.index[3] = TABLE;
  assert_int_equal(vf_program_run(p, (const void *[]){again.a, again.b, again.cache, again.index},
                                  (void *[]){again.y, again.sums, again.far, again.all}, NULL, &error),
                   VF_ERR_RANGE);
  fill(&again);
  run(p, &again);
  assert_memory_equal(&first, &again, sizeof first);
}

static void names_of_devices(void **state) {
  (void)state;
  static const struct {
    const char *mesh, *message;
  } rows[] = {
      {"[x=2,y=1] devices=[\"cpu\",\"fpga\"]",
       "graph @layer: device 1 of the mesh is \"fpga\"; there are cpu, c, "
       "opencl, opencl:NUMBER and opencl:PART OF NAME"},
      {"[x=2,y=1] devices=[\"cpu\",\"cpu@1\"]",
       "graph @layer: device 1 of the mesh is cpu of process 1; this process has joined no others"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    vf_error error = {0};
    assert_null(vf_compile_on(record(api_context(), rows[i].mesh), NULL, 0, &error));
    assert_string_equal(error.message, rows[i].message);
  }
  vf_error error = {0};
  assert_null(
      vf_compile_on(record(api_context(), "[x=2,y=1] devices=[\"cpu\",\"opencl:99\"]"), NULL, 0, &error));
  assert_int_equal(error.status, VF_ERR_DEVICE);
  assert_non_null(strstr(error.message, "device 'opencl:99' is not there"));
}

OPENCL_TESTS(NULL, NULL, same_bits_as_one_processor, a_device_that_fails, names_of_devices)
