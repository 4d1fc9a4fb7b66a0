/* Refusing rewrites from outside: VIEWFOLD_DEBUG=bisect=N. */
#include "frontend/api/watch.h"
#include "frontend/viewfold.h"
#include "test/lib/unit.h"

static void expect(const char *debug, bool good, bool bisects, uint64_t limit) {
  fe_watch w;
  fe_debug asked;
  assert_int_equal(fe_debug_read(debug, &asked, NULL) == IR_OK, good);
  if (!good) return;
  fe_watch_init(&w, &asked);
  assert_int_equal(w.bisects, bisects);
  assert_true((fe_watch_observer(&w) != NULL) == bisects);
  if (bisects) assert_int_equal(w.limit, limit);
}

static void test_words(void **state) {
  expect(NULL, true, false, 0);
  expect("", true, false, 0);
  expect("perf", true, false, 0);
  expect("bisect=0", true, true, 0);
  expect("perf,bisect=17", true, true, 17);
  expect("bisect=17 perf", true, true, 17);
  expect("bisect=", false, false, 0);
  expect("bisect=-1", false, false, 0);
  expect("bisect=1x", false, false, 0);
  expect("bisect=99999999999999999999", false, false, 0);
  expect("time, perf", true, false, 0);
  static const char *const wrong[] = {"times", "TIME", "all", "1", "perf,bad", "perf=1", "bisect", "tim"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) expect(wrong[i], false, false, 0);
}

/* rows of a flattened transpose, for every number of refused rewrites */
static bool is_right(const char *debug) {
  static const float in[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  float out[12] = {0};
  setenv("VIEWFOLD_DEBUG", debug, 1);
  vf_context *c = vf_context_create(NULL, NULL);
  vf_graph *g = vf_graph_create(c, "g", NULL);
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3, 4));
  vf_output(g, "y", vf_reshape(vf_permute(x, VF_LIST(1, 0)), VF_LIST(2, 6)));
  vf_program *p = vf_compile(g, NULL);
  bool right = p && vf_program_run(p, (const void *[]){in}, (void *[]){out}, NULL, NULL) == VF_OK;
  for (int i = 0; i < 12; i++) right = right && out[i] == in[i % 3 * 4 + i / 3];
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(c);
  unsetenv("VIEWFOLD_DEBUG");
  return right;
}

static void test_contexts(void **state) {
  assert_true(is_right("bisect=0"));
  assert_true(is_right("bisect=2"));
  assert_true(is_right("bisect=1000"));
  vf_error error;
  setenv("VIEWFOLD_DEBUG", "bisect=many", 1);
  assert_null(vf_context_create(NULL, &error));
  unsetenv("VIEWFOLD_DEBUG");
  assert_int_equal(error.status, VF_ERR_INVALID);
  assert_non_null(strstr(error.message, "bisect=17"));
}

UNIT_TESTS(test_words, test_contexts)
