/* Lengths of views that a run finds out. spec: I9.size */
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

/* The elements of a from start to end are halved in place, and returned; so is what is left of every second
 * of these, from k on. */
static const char *const text = "graph @f(%a: ref f32[8], %start: i64[], %end: i64[], %k: i64[]) {\n"
                                "%p = address %a\n"
                                "%d = index_interval %start, %end, 1, false\n"
                                "%t = create_view %p, %d lengths=[n=0..6]\n"
                                "%a = assign %a, %t, 0.5 op=mul\n"
                                "%y = create_view %a, %d lengths=[n]\n"
                                "%e = index_interval %k, -1, 2, true\n"
                                "%z = create_view %y, %e lengths=[m=0..3]\n"
                                "%s = sum %a\n"
                                "return %y, %z, %s\n}\n";

typedef struct found_case {
  int64_t start, end, k, n, m; /* n, m: what is found */
} found_case;

static void test_lengths(void **state) {
  (void)state;
  static const found_case cases[] = {{1, 5, 0, 4, 2}, {0, 6, 1, 6, 3},   {2, 3, 0, 1, 1},  {3, 3, 0, 0, 0},
                                     {5, 2, 0, 0, 0}, {-4, -1, 2, 3, 1}, {-6, 8, 0, 6, 3}, {4, 8, -1, 4, 1}};
  vf_context *context = api_context();
  vf_graph *g = api_parse(context, text);
  api_check_text(context, g);
  vf_program *p = api_compile(g);
  assert_int_equal(vf_variable_count(p), 2);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const found_case *c = &cases[i];
    for (int compiled = 0; compiled < 2; compiled++) {
      float a[8], y[7] = {0}, z[4] = {0}, sum, want = 0;
      for (int k = 0; k < 8; k++) a[k] = (float)(2 * k + 2);
      const void *inputs[] = {a, &c->start, &c->end, &c->k};
      void *outputs[] = {y, z, &sum};
      int64_t variables[2] = {-7, -7};
      if (compiled) {
        assert_int_equal(vf_program_find_sizes(p, inputs, variables, NULL), VF_OK);
        assert_int_equal(variables[0], c->n);
        assert_int_equal(variables[1], c->m);
        api_run(p, inputs, outputs, NULL);
      } else {
        api_evaluate(g, inputs, outputs, variables);
      }
      int64_t start = c->start < 0 ? c->start + 8 : c->start, k = c->k < 0 ? c->k + c->n : c->k;
      for (int64_t j = 0; j < 8; j++) {
        float e = (float)(2 * j + 2) / (j >= start && j < start + c->n ? 2 : 1);
        want += e;
        assert_true(a[j] == e);
      }
      assert_true(sum == want);
      for (int64_t j = 0; j < c->n; j++) assert_true(y[j] == a[start + j]);
      for (int64_t j = 0; j < c->m; j++) assert_true(z[j] == y[k + 2 * j]);
      assert_true(y[c->n] == 0 && z[c->m] == 0);
    }
  }
}

static void test_out_of_bounds(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_parse(context, text);
  vf_program *p = api_compile(g);
  const struct {
    int64_t start, end;
    const char *message;
  } cases[] = {{0, 7, "the run finds that the size n is 7; it was declared as 0..6:1"},
               {6, 10,
                "graph @f: create_view %p, %d lengths=[n=0..6]: descriptor 0 (%d) is an interval of 4 "
                "elements from 6 on, "
                "which leaves axis 0, of 8 elements"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int compiled = 0; compiled < 2; compiled++) {
      float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[6], z[3], sum;
      const void *inputs[] = {a, &cases[i].start, &cases[i].end, (int64_t[]){0}};
      void *outputs[] = {y, z, &sum};
      vf_error error;
      vf_status status = compiled ? vf_program_run(p, inputs, outputs, NULL, &error)
                                  : vf_evaluate(g, inputs, outputs, (int64_t[]){0, 0}, &error);
      assert_int_equal(status, VF_ERR_RANGE);
      if (strncmp(error.message, cases[i].message, strlen(cases[i].message)) != 0)
        fail_msg("%s", error.message);
      for (int k = 0; k < 8; k++) assert_true(a[k] == (float)(k + 1)); /* nothing was stored */
    }
}

UNIT_TESTS(test_lengths, test_out_of_bounds)
