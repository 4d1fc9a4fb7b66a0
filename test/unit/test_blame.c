/* A run that finds an index out of range says which one: the call, the value, the place, the axis. */
#undef VF_NO_PLACES
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

/* The run fails with this sentence, whichever way it is run; the graph may be gone by then. */
static void says(vf_graph *g, const void *const *inputs, void *const *outputs, const int64_t *variables,
                 const char *sentence) {
  assert_int_equal(vf_evaluate(g, inputs, outputs, variables, &error), VF_ERR_RANGE);
  if (!strstr(error.message, sentence)) assert_string_equal(error.message, sentence);
  vf_program *p = vf_compile(g, &error);
  assert_non_null(p);
  vf_graph_destroy(g);
  assert_int_equal(vf_program_run(p, inputs, outputs, variables, &error), VF_ERR_RANGE);
  if (!strstr(error.message, sentence)) assert_string_equal(error.message, sentence);
  vf_program_destroy(p);
}

static vf_graph *begin(vf_context *c) {
  vf_graph *g = vf_graph_create(c, "g", NULL);
  assert_non_null(g);
  return g;
}

static void test_calls(void **state) {
  vf_context *c = api_context();
  float x[30][2] = {{0}}, y[64];
  int32_t at[5] = {1, 2, 3, 30, 4};
  char sentence[300];

  vf_graph *g = begin(c);
  vf_value emb = vf_input(g, "emb", VF_F32, VF_LIST(30, 2)), tok = vf_input(g, "tok", VF_I32, VF_LIST(5));
  vf_output(g, "y", vf_relu(vf_gather(emb, tok, 0, VF_GATHER_CHECK)));
  snprintf(
      sentence, sizeof sentence,
      "graph @g: gather %%emb, %%tok axis=0: %%tok[3] is 30, but axis 0 of %%emb has 30 elements (%s:%d); "
      "indices are -30 to 29, or any with mode=\"clip\" or mode=\"fill\"",
      __FILE__, __LINE__ - 5);
  says(g, (const void *[]){x, at}, (void *[]){y}, NULL, sentence);

  g = begin(c); /* an index that is computed and has a name */
  emb = vf_input(g, "emb", VF_F32, VF_LIST(30, 2)), tok = vf_input(g, "tok", VF_I32, VF_LIST(5));
  vf_value shifted = vf_name(vf_sub(tok, vf_integer(g, 33)), "shifted");
  vf_output(g, "y", vf_scatter_add(emb, shifted, vf_number(g, 1), 0, VF_GATHER_CHECK));
  says(g, (const void *[]){x, at}, (void *[]){y}, NULL,
       "scatter_add %emb, %shifted, 1.0 axis=0: %shifted[0] is -32, but axis 0 of %emb has 30 elements");

  g = begin(c); /* a size that the run supplies, and a value without a name */
  vf_value n = vf_variable(g, "n", 1, 30, 1);
  emb = vf_input_sized(g, "emb", VF_F32, 2, (vf_value[]){n, vf_integer(g, 2)});
  tok = vf_input(g, "tok", VF_I32, VF_LIST(5));
  vf_output(g, "y", vf_gather(vf_neg(emb), tok, 0, VF_GATHER_CHECK));
  says(g, (const void *[]){x, at}, (void *[]){y}, (int64_t[]){4},
       "%tok[3] is 30, but axis 0 of what it indexes has 4 elements");
}

/* In a function no index is known before it runs. */
static void test_loops(void **state) {
  vf_context *c = api_context();
  int32_t next[4] = {1, 2, 7, 0}, start = 0, end;
  const char *text = "graph @step(%at: i32[], %next: i32[4]) {\n"
                     "  %y = take %next, %at axis=0\n"
                     "  return %y\n"
                     "}\n"
                     "graph @walk(%start: i32[], %next: i32[4]) {\n"
                     "  %y = scan %start, %next do=@step carries=1 sliced=0 length=6\n"
                     "  return %y\n"
                     "}\n";
  vf_graph *g = vf_graph_parse(c, text, strlen(text), "walk.vf", "walk", &error);
  if (!g) print_error("%s\n", error.message);
  assert_non_null(g);
  says(g, (const void *[]){&start, next}, (void *[]){&end}, NULL,
       "graph @walk: take %next, %at axis=0: %at is 7, but axis 0 of %next has 4 elements (walk.vf:2)");
}

/* What is too much for the evaluator is not computed: the indices alone are. */
static void test_large(void **state) {
  vf_context *c = api_context();
  vf_graph *g = begin(c);
  static float x[2048][8], w[8][8], y[3][8];
  int64_t at[3] = {5, -2049, 7};
  vf_value emb = vf_input(g, "emb", VF_F32, VF_LIST(2048, 8)), much = emb;
  vf_value m = vf_input(g, "w", VF_F32, VF_LIST(8, 8)), tok = vf_input(g, "tok", VF_I64, VF_LIST(3));
  for (int i = 0; i < 20; i++) much = vf_matmul(much, m);
  vf_output(g, "y", vf_gather(much, tok, 0, VF_GATHER_CHECK));
  vf_program *p = vf_compile(g, &error);
  assert_non_null(p);
  vf_graph_destroy(g);
  assert_int_equal(vf_program_run(p, (const void *[]){x, w, at}, (void *[]){y}, NULL, &error), VF_ERR_RANGE);
  assert_non_null(strstr(error.message, "%tok[1] is -2049, but axis 0 of what it indexes has 2048 elements"));
  vf_program_destroy(p);
}

UNIT_TESTS(test_calls, test_loops, test_large)
