/* References on meshes: a cache that each step writes a row of, however it is divided, in whole arrays and in
 * parts. spec: V19 */
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { HEADS = 4, PLACES = 6, WIDTH = 5, DEVICES = 4, STEPS = 5 };
static const int64_t cache_shape[] = {HEADS, PLACES, WIDTH}, row_shape[] = {HEADS, WIDTH};

/* NULL: open, divided like what it meets. */
static const char *const specs[] = {"[x,-,-]", "[-,y,-]",   "[-,x.y,-]", "[x,-,y]",
                                    "[-,-,x]", "[x.y,-,-]", "[-,-,-]",   NULL};

/* Adds a row to the cache at a position, and returns sums along the positions. */
static vf_program *compile(vf_context *c, const char *spec) {
  vf_error error = {0};
  vf_mesh *mesh = vf_mesh_create(c, "x=2,y=2", &error);
  vf_graph *g = api_graph(c, "step");
  assert_int_equal(vf_graph_set_mesh(g, mesh, &error), VF_OK);
  vf_ref cache = spec ? vf_ref_input_sharded(g, "cache", VF_F32, 3, cache_shape, spec)
                      : vf_ref_input(g, "cache", VF_F32, 3, cache_shape);
  vf_value row = vf_input_sharded(g, "row", VF_F32, 2, row_shape, "[x,-]");
  vf_value at = vf_input(g, "at", VF_I64, 0, NULL);
  vf_index place[] = {vf_index_all(), vf_index_point_at(at)};
  vf_ref there = vf_ref_view(cache, vf_create_view(cache.target, 2, place));
  vf_ref_update(there, row, VF_WRITE_ADD);
  vf_output(g, "sums", vf_sum(vf_ref_get(cache), VF_LIST(1), false));
  vf_mesh_destroy(mesh);
  vf_program *p = vf_compile_on(g, NULL, 0, &error);
  if (!p) fail_msg("%s: %s", spec ? spec : "open", error.message);
  return unit_keep(p, (void (*)(void *))vf_program_destroy);
}

typedef struct arrays {
  float cache[HEADS][PLACES][WIDTH], row[HEADS][WIDTH], sums[HEADS][WIDTH];
  int64_t at;
} arrays;

static void fill(arrays *v, int step) {
  v->at = (step * 5 + 1) % PLACES;
  for (int h = 0; h < HEADS; h++)
    for (int w = 0; w < WIDTH; w++) v->row[h][w] = (float)((h * 7 + w * 3 + step) % 11);
}

static void step_by_hand(arrays *v) {
  for (int h = 0; h < HEADS; h++)
    for (int w = 0; w < WIDTH; w++) {
      v->cache[h][v->at][w] += v->row[h][w];
      v->sums[h][w] = 0;
      for (int i = 0; i < PLACES; i++) v->sums[h][w] += v->cache[h][i][w];
    }
}

static void whole_arrays(void **state) {
  (void)state;
  vf_context *c = api_context();
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    vf_program *p = compile(c, specs[i]);
    arrays got = {0}, want = {0};
    for (int step = 0; step < STEPS; step++) {
      fill(&got, step), fill(&want, step);
      step_by_hand(&want);
      api_run(p, (const void *[]){got.cache, got.row, &got.at}, (void *[]){got.sums}, NULL);
      assert_memory_equal(&got, &want, sizeof got);
    }
  }
}

/* The part of an array that a device has, in memory of its own. */
typedef struct part {
  int64_t shape[3], offset[3];
  float data[HEADS * PLACES * WIDTH];
} part;

static void find_part(const vf_program *p, vf_port port, int number, int64_t device, part *out) {
  vf_error error = {0};
  if (vf_port_part(p, port, number, device, NULL, out->shape, out->offset, NULL, &error) != VF_OK)
    fail_msg("%s", error.message);
}

static void check_parts(const part *parts, const arrays *want) {
  for (int d = 0; d < DEVICES; d++) {
    const part *p = &parts[d];
    for (int64_t i = 0; i < p->shape[0] * p->shape[1] * p->shape[2]; i++) {
      int64_t w = i % p->shape[2], k = i / p->shape[2] % p->shape[1], h = i / p->shape[2] / p->shape[1];
      assert_true(p->data[i] == want->cache[p->offset[0] + h][p->offset[1] + k][p->offset[2] + w]);
    }
  }
}

static void parts_of_arrays(void **state) {
  (void)state;
  vf_context *c = api_context();
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    vf_program *p = compile(c, specs[i]);
    static part caches[DEVICES], rows[DEVICES], sums[DEVICES];
    arrays want = {0};
    memset(caches, 0, sizeof caches);
    for (int step = 0; step < STEPS; step++) {
      const void *inputs[DEVICES * 3];
      void *outputs[DEVICES];
      vf_error error = {0};
      fill(&want, step);
      for (int64_t d = 0; d < DEVICES; d++) {
        find_part(p, VF_INPUT, 0, d, &caches[d]);
        find_part(p, VF_INPUT, 1, d, &rows[d]);
        for (int64_t k = 0; k < rows[d].shape[0] * rows[d].shape[1]; k++)
          rows[d].data[k] =
              want.row[rows[d].offset[0] + k / rows[d].shape[1]][rows[d].offset[1] + k % rows[d].shape[1]];
        inputs[3 * d] = caches[d].data, inputs[3 * d + 1] = rows[d].data, inputs[3 * d + 2] = &want.at;
        outputs[d] = sums[d].data;
      }
      step_by_hand(&want);
      if (vf_program_run_parts(p, inputs, outputs, NULL, &error) != VF_OK) fail_msg("%s", error.message);
      check_parts(caches, &want);
    }
  }
}

UNIT_TESTS(whole_arrays, parts_of_arrays)
