/* Buffers of a run that overlap are refused, with the names of both. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

static void runs(const vf_program *p, const void *a, const void *b, void *y, void *z, const int64_t *n,
                 const char *message) {
  vf_status status = vf_program_run(p, (const void *[]){a, b}, (void *[]){y, z}, n, &error);
  assert_string_equal(status == VF_OK ? "" : error.message, message);
  assert_int_equal(status, *message ? VF_ERR_INVALID : VF_OK);
}

#define OVERLAP(output, other)                                                                               \
  "program @g: output " output " overlaps " other " in memory; give each output memory that nothing else "   \
  "uses"

static void test_pairs(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value a = vf_input(g, "a", VF_F32, VF_LIST(4));
  vf_input(g, "unread", VF_F32, VF_LIST(4));
  vf_output(g, "y", vf_flip(a, VF_LIST(0)));
  vf_output(g, "z", vf_mul(a, a));
  vf_program *p = api_compile(g);
  float m[16] = {1, 2, 3, 4};
  runs(p, m, m + 4, m + 8, m + 12, NULL, "");
  runs(p, m + 4, m + 12, m, m + 8, NULL, "");
  runs(p, m, m + 4, m, m + 12, NULL, OVERLAP("y", "input a"));
  runs(p, m, m + 4, m + 8, m + 3, NULL, OVERLAP("z", "input a"));
  runs(p, m + 4, m + 12, m + 8, m + 1, NULL, OVERLAP("z", "input a"));
  runs(p, m, m + 4, m + 8, m + 11, NULL, OVERLAP("z", "output y"));
  runs(p, m, m + 8, m + 8, m + 12, NULL, ""); /* nothing reads it */
}

static void test_sizes(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value n = vf_variable(g, "n", 0, 8, 1);
  vf_value a = vf_input_sized(g, "a", VF_F32, 1, &n), b = vf_input_sized(g, "b", VF_F32, 1, &n);
  vf_output(g, "y", vf_add(a, b));
  vf_output(g, "z", vf_sub(a, b));
  vf_program *p = api_compile(g);
  float m[32] = {0};
  runs(p, m, m + 2, m + 4, m + 6, (int64_t[]){2}, "");
  runs(p, m, m + 2, m + 4, m + 6, (int64_t[]){3}, OVERLAP("y", "input b"));
  runs(p, m, m + 2, m + 8, m + 10, (int64_t[]){3}, OVERLAP("z", "output y"));
  runs(p, m, m, m, m, (int64_t[]){0}, "");
}

UNIT_TESTS(test_pairs, test_sizes)
