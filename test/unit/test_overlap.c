/* Buffers of a run that overlap are refused, with the names of both. */
#include "frontend/api/overlap.h"
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
#define REFERENCE "; what a run changes in place is a reference, vf_ref_input"

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
  runs(p, m, m + 4, m, m + 12, NULL, OVERLAP("y", "input a") REFERENCE);
  runs(p, m, m + 4, m + 8, m + 3, NULL, OVERLAP("z", "input a") REFERENCE);
  runs(p, m + 4, m + 12, m + 8, m + 1, NULL, OVERLAP("z", "input a") REFERENCE);
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
  runs(p, m, m + 2, m + 4, m + 6, (int64_t[]){3}, OVERLAP("y", "input b") REFERENCE);
  runs(p, m, m + 2, m + 8, m + 10, (int64_t[]){3}, OVERLAP("z", "output y"));
  runs(p, m, m, m, m, (int64_t[]){0}, "");
}

/* The buffers of one run, again and again, and others between: what was found good is remembered. */
static void test_again(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value a = vf_input(g, "a", VF_F32, VF_LIST(4)), b = vf_input(g, "b", VF_F32, VF_LIST(4));
  vf_output(g, "y", vf_add(a, b));
  vf_output(g, "z", vf_sub(a, b));
  vf_program *p = api_compile(g);
  float m[16] = {1, 2, 3, 4};
  for (int i = 0; i < 20; i++) {
    runs(p, m, m + 4, m + 8, m + 12, NULL, "");
    runs(p, m + 8, m + 12, m, m + 4, NULL, "");
    runs(p, m, m + 4, m + 8, m + 11, NULL, OVERLAP("z", "output y"));
    runs(p, m + 8, m + 12, m + 8, m + 4, NULL, OVERLAP("y", "input a") REFERENCE);
    runs(p, m, NULL, m + 8, m + 12, NULL, "program @g: the buffer of input b is NULL");
    runs(p, m, m, m + 8, m + 12 - i % 2, NULL, i % 2 ? OVERLAP("z", "output y") : "");
  }
}

/* All ways of laying three inputs and four outputs of 0 to 2 bytes, drawn: the same pair as by definition. */
static void test_find(void **state) {
  enum { IN = 3, OUT = 4, PORTS = IN + OUT };
  static char memory[16];
  uint32_t random = 1;
  int found = 0;
  for (int draw = 0; draw < 20000; draw++) {
    const void *in[IN];
    void *out[OUT];
    size_t bytes[PORTS];
    for (int i = 0; i < PORTS; i++) {
      random = random * 1664525u + 1013904223u;
      if (i < IN) in[i] = memory + (random >> 28);
      else out[i - IN] = memory + (random >> 28);
      bytes[i] = (random >> 24 & 15) % 3;
    }
    fe_overlap_pair expected = {0}, pair;
    bool any = false;
    for (size_t k = 0; k < OUT && !any; k++)
      for (size_t i = 0; i < IN + k && !any; i++) {
        any = fe_overlap(i < IN ? in[i] : out[i - IN], bytes[i], out[k], bytes[IN + k]);
        expected = (fe_overlap_pair){i < IN, i < IN ? i : i - IN, k};
      }
    assert_int_equal(fe_overlap_find(in, IN, out, OUT, bytes, &pair), any);
    found += any;
    if (!any) continue;
    assert_int_equal(pair.with_input, expected.with_input);
    assert_int_equal(pair.first, expected.first);
    assert_int_equal(pair.output, expected.output);
  }
  assert_in_range(found, 1000, 19000);
}

/* More outputs than are sorted at a time: the last one is on the first, or on the input. */
static void test_many(void **state) {
  enum { OUT = 200 };
  static char memory[OUT + 2];
  const void *in[1] = {memory + OUT};
  void *out[OUT];
  size_t bytes[1 + OUT];
  for (size_t i = 0; i <= OUT; i++) bytes[i] = 1;
  for (size_t i = 0; i < OUT; i++) out[i] = memory + i * 77 % OUT;
  fe_overlap_pair pair;
  assert_false(fe_overlap_find(in, 1, out, OUT, bytes, &pair));
  out[OUT - 1] = out[0];
  assert_true(fe_overlap_find(in, 1, out, OUT, bytes, &pair));
  assert_true(!pair.with_input && pair.first == 0 && pair.output == OUT - 1);
  out[OUT - 1] = memory + OUT;
  assert_true(fe_overlap_find(in, 1, out, OUT, bytes, &pair));
  assert_true(pair.with_input && pair.output == OUT - 1);
}

static void refuses_address(const vf_program *p, const void *a, const void *b, void *y, const int64_t *n,
                            const void *at, const char *port, const char *dtype, int multiple) {
  char wanted[256];
  snprintf(
      wanted, sizeof wanted,
      "program @g: the buffer of %s is at address 0x%llx; elements of %s lie at multiples of %d bytes, as "
      "in memory of malloc: copy them there",
      port, (unsigned long long)(uintptr_t)at, dtype, multiple);
  runs(p, a, b, y, NULL, n, wanted);
}

/* Addresses that are no multiples of an element's bytes. */
static void test_aligned(void **state) {
  vf_context *c = api_context();
  for (int variable = 0; variable < 2; variable++) {
    vf_graph *g = api_graph(c, "g");
    vf_value n = variable ? vf_variable(g, "n", 0, 4, 1) : (vf_value){0};
    vf_value a = variable ? vf_input_sized(g, "a", VF_F64, 1, &n) : vf_input(g, "a", VF_F64, VF_LIST(4));
    vf_value b = variable ? vf_input_sized(g, "b", VF_I8, 1, &n) : vf_input(g, "b", VF_I8, VF_LIST(4));
    vf_output(g, "y", vf_add(vf_cast(a, VF_F16), vf_cast(b, VF_F16)));
    vf_program *p = api_compile(g);
    double space[16] = {1, 2, 3, 4};
    char *m = (char *)space;
    const int64_t four[] = {4}, none[] = {0}, *count = variable ? four : NULL;
    for (int i = 0; i < 12; i++) {
      runs(p, m, m + 65, m + 82, NULL, count, "");
      refuses_address(p, m + 4, m + 65, m + 82, count, m + 4, "input a", "f64", 8);
      refuses_address(p, m, m + 65, m + 81, count, m + 81, "output y", "f16", 2);
    }
    if (variable) runs(p, m + 1, m + 1, m + 1, NULL, none, "");
  }
}

UNIT_TESTS(test_pairs, test_sizes, test_again, test_find, test_many, test_aligned)
