/* What a context tells to whoever asks: which part speaks, of what level, and that nobody is told who has not
 * asked. */
#include "test/lib/api.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

#include <sys/stat.h>

static vf_error error;

static char folder[200];

static int set_up(void **state) {
  (void)state;
  return !test_folder_make(folder, sizeof folder);
}
static int tear_down(void **state) {
  (void)state;
  test_folder_remove(folder);
  return 0;
}

/* A directory of that mode; until the next one is asked for. */
static const char *directory_of(int mode) {
  static char path[240];
  static int number;
  snprintf(path, sizeof path, "%s/%d", folder, number++);
  assert_int_equal(mkdir(path, 0700) || chmod(path, (mode_t)mode), 0);
  return path;
}

/* How many texts that begin with `part` were told, and the last of them. */
typedef struct told {
  const char *part;
  int warnings, others;
  char last[600];
} told;

static void note(void *user, vf_log_level level, const char *text) {
  told *t = user;
  assert_true(level == VF_LOG_WARNING || level == VF_LOG_INFO);
  if (strncmp(text, t->part, strlen(t->part)) != 0) return;
  *(level == VF_LOG_WARNING ? &t->warnings : &t->others) += 1;
  snprintf(t->last, sizeof t->last, "%s", text);
}

/* Compiles x * factor, which is a program of its own for each factor. */
static void compile(vf_context *c, double factor) {
  vf_graph *g = api_graph(c, "scale");
  vf_output(g, "y", vf_mul(vf_input(g, "x", VF_F32, VF_LIST(8)), vf_number(g, factor)));
  api_compile(g);
}

static vf_context *context(vf_options options, const char *directory) {
  options.size = sizeof options;
  options.cache_dir = directory;
  return api_context_with(options);
}

/* A builder that is given a context in place of a graph has no graph to note that in: it is told. */
static void test_handle(void **state) {
  (void)state;
  told t = {.part = "input: "};
  vf_context *c = api_context();
  vf_set_log(c, VF_LOG_WARNING, note, &t);
  assert_false(vf_ok(vf_input((vf_graph *)(void *)c, "x", VF_F32, VF_LIST(8))));
  assert_int_equal(t.warnings, 1);
  assert_string_equal(t.last, "input: the graph is a context; takes what vf_graph_create returned");
  vf_set_log(c, VF_LOG_WARNING, NULL, NULL);
}

/* A directory into which others may write is said once, as a warning that names it. */
static void test_refused_directory(void **state) {
  (void)state;
  const char *directory = directory_of(0777);
  told t = {.part = "cache: "};
  vf_context *c = context((vf_options){0}, directory);
  vf_set_log(c, VF_LOG_INFO, note, &t);
  compile(c, 2);
  compile(c, 3);
  assert_int_equal(t.warnings, 1);
  assert_non_null(strstr(t.last, directory));
  assert_non_null(strstr(t.last, "is not used"));
}

/* Of levels above the one that was asked for nothing is told, nor to whom is not told any more. */
static void test_levels(void **state) {
  (void)state;
  static const struct {
    vf_log_level most;
    bool listens;
    int warnings, others;
  } cases[] = {{VF_LOG_NONE, true, 0, 0}, {VF_LOG_WARNING, true, 1, 0}, {VF_LOG_INFO, false, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    told t = {.part = "cache: "}, before = {.part = ""};
    vf_context *c = context((vf_options){0}, directory_of(0777));
    vf_set_log(c, VF_LOG_INFO, note, &before);
    vf_set_log(c, cases[i].most, cases[i].listens ? note : NULL, &t);
    compile(c, 2);
    assert_int_equal(t.warnings, cases[i].warnings);
    assert_int_equal(t.others, cases[i].others);
    assert_int_equal(before.warnings + before.others, 0);
  }
  vf_set_log(NULL, VF_LOG_INFO, note, NULL);
}

/* What does not fit into the cache is compiled, and compiled again: the log says why. */
static void test_entry_too_large(void **state) {
  (void)state;
  told t = {.part = "cache: "};
  vf_context *c = context((vf_options){.cache_bytes = 100}, directory_of(0700));
  vf_set_log(c, VF_LOG_INFO, note, &t);
  compile(c, 2);
  assert_int_equal(t.warnings, 0);
  assert_true(t.others >= 1);
  assert_non_null(strstr(t.last, "larger than the limit"));
}

/* Entries that make room for others are said with the directory. */
static void test_pruned(void **state) {
  (void)state;
  told t = {.part = "cache: "};
  const char *directory = directory_of(0700);
  vf_context *c = context((vf_options){.cache_bytes = 64 << 10}, directory);
  vf_set_log(c, VF_LOG_INFO, note, &t);
  for (int i = 0; i < 64 && !t.others; i++) compile(c, 2 + i);
  assert_int_equal(t.warnings, 0);
  assert_non_null(strstr(t.last, directory));
  assert_non_null(strstr(t.last, "entries that were not used for longest are removed"));
}

static void record(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *out) {
  (void)user, (void)g, (void)statics;
  out[0] = vf_neg(in[0]);
}

static void call(vf_context *c, vf_jit *jit, int64_t size) {
  vf_tensor *x = vf_tensor_create(c, VF_F32, 1, &size, NULL, &error), *y;
  assert_int_equal(vf_jit_call(jit, &x, NULL, &y, &error), VF_OK);
  vf_tensor_release(x), vf_tensor_release(y);
}

/* A size outside of the declared bounds is a warning, with the function's name; one inside is nothing. */
static void test_jit(void **state) {
  (void)state;
  told t = {.part = "jit: negate: "};
  vf_dynamic rows = {.axis = 0, .name = "n", .lo = 1, .hi = 8};
  vf_jit_options options = {.size = sizeof options,
                            .name = "negate",
                            .function = record,
                            .inputs = 1,
                            .results = 1,
                            .capacity = 2,
                            .dynamic_count = 1,
                            .dynamic = &rows};
  vf_context *c = api_context();
  vf_set_log(c, VF_LOG_INFO, note, &t);
  vf_jit *jit = vf_jit_create(c, &options, &error);
  assert_non_null(jit);
  call(c, jit, 4), call(c, jit, 8);
  assert_int_equal(t.warnings + t.others, 0);
  call(c, jit, 9);
  assert_int_equal(t.warnings, 1);
  assert_int_equal(t.others, 0);
  assert_non_null(strstr(
      t.last, ": a size of a dynamic axis is outside its bounds: compiled for the sizes of this call alone"));
  call(c, jit, 10);
  assert_int_equal(t.warnings, 2);
  assert_int_equal(t.others, 1);
  assert_non_null(strstr(
      t.last, ": more signatures than its capacity: the program that was not used for longest is dropped"));
  vf_jit_destroy(jit);
}

UNIT_TESTS_BETWEEN(set_up, tear_down, test_handle, test_refused_directory, test_levels, test_entry_too_large,
                   test_pruned, test_jit)
