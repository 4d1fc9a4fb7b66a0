/* Every allocation of the API fails in turn: the call fails with VF_ERR_MEMORY, leaks nothing, and succeeds
 * when it is repeated. */
#include "frontend/viewfold.h"
#include "test/lib/level.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

/* Objects that a session has made so far; freed at the end of every trial, wherever it stopped. */
typedef struct session {
  test_memory memory;
  vf_context *context;
  vf_graph *graph, *parsed;
  vf_program *program;
  vf_tensor *tensors[3];
  char *texts[8];
  int text_count, failures;
} session;

static void check_memory_error(session *s, const vf_error *error, const char *what) {
  if (error->status != VF_ERR_MEMORY)
    print_error("%s: %s: %s\n", what, vf_status_text(error->status), error->message);
  assert_int_equal(error->status, VF_ERR_MEMORY);
  assert_true(strlen(error->message) > 0);
  s->failures++;
}

/* One call, repeated once if it fails. */
#define TRY(s, result, call)                                                                                 \
  do {                                                                                                       \
    vf_error error;                                                                                          \
    if (!((result) = (call))) {                                                                              \
      check_memory_error(s, &error, #call);                                                                  \
      (result) = (call);                                                                                     \
      if (!(result)) print_error("again: %s\n", error.message);                                              \
      assert_non_null(result);                                                                               \
    }                                                                                                        \
  } while (0)
#define TRY_STATUS(s, call)                                                                                  \
  do {                                                                                                       \
    vf_error error;                                                                                          \
    if ((call) != VF_OK) {                                                                                   \
      check_memory_error(s, &error, #call);                                                                  \
      assert_int_equal(call, VF_OK);                                                                         \
    }                                                                                                        \
  } while (0)

static vf_graph *build(vf_context *c, vf_error *error) {
  vf_graph *g = vf_graph_create(c, "session", error);
  vf_value n = vf_variable(g, "n", 4, 64, 4);
  vf_value x = vf_input_sized(g, "x", VF_F32, 2, (vf_value[]){n, vf_integer(g, 6)});
  vf_value i = vf_input(g, "i", VF_I8, VF_LIST(3));
  vf_value rows = vf_apply(g, "reshape", &x, 1, "shape=[n//4,4,6]");
  vf_value part = vf_permute(vf_pad(rows, VF_LIST(0, 0, 1, 0, 0, 2)), VF_LIST(2, 0, 1));
  vf_output(g, "sums", vf_sum(vf_mul(part, vf_number(g, 0.5)), VF_LIST(0, 2), false));
  vf_value added = vf_scatter_add(vf_flip(x, VF_LIST(0)), i, vf_number(g, 1), 1, VF_GATHER_FILL);
  vf_output(g, "taken", vf_concat((vf_value[]){vf_gather(x, i, 1, VF_GATHER_CLIP), added}, 2, 1));
  vf_output(g, "data", vf_add(vf_data(g, VF_F32, VF_LIST(6), (float[6]){1, 2, 3, 4, 5, 6}), vf_exp(x)));
  static const float weights[300][6] = {
      {1}}; /* too large for a literal: a constant, of which something is computed once */
  vf_value w = vf_data(g, VF_F32, VF_LIST(300, 6), weights);
  vf_output(g, "once", vf_add(vf_exp(vf_sum(w, VF_LIST(0), false)), x));
  vf_value slope, bend,
      total = vf_sum(vf_mul(vf_prod(part, VF_LIST(0), false), vf_number(g, 2)), VF_ALL, false);
  vf_grad(total, 1, &x, &slope);
  vf_jvp(1, &slope, 1, &x, &x, &bend);
  if (g && vf_graph_status(g)) {
    error->status = vf_graph_status(g);
    snprintf(error->message, sizeof error->message, "%s", vf_graph_message(g));
    vf_graph_destroy(g);
    g = NULL;
  }
  return g;
}

static vf_tensor *record(vf_tensor *from, vf_error *error) {
  vf_value x = vf_tensor_value(from);
  vf_value y = vf_div(vf_exp(x), vf_sum(vf_exp(x), VF_LIST(-1), true));
  return vf_tensor_keep(vf_add(y, vf_data(x.graph, VF_F32, VF_LIST(4), (float[4]){1, 2, 3, 4})), error);
}

static void run_program(session *s) {
  static float x[8 * 6], out[4][16 * 9], wanted[4][16 * 9];
  const int8_t i[3] = {0, -1, 9};
  const void *ins[] = {x, i};
  for (int k = 0; k < 48; k++) x[k] = (float)(k % 7) / 4;
  TRY_STATUS(
      s, vf_program_run(s->program, ins, (void *[]){out[0], out[1], out[2], out[3]}, (int64_t[]){8}, &error));
  TRY_STATUS(s, vf_evaluate(s->graph, ins, (void *[]){wanted[0], wanted[1], wanted[2], wanted[3]},
                            (int64_t[]){8}, &error));
  assert_memory_equal(out[1], wanted[1], 8 * 9 * sizeof(float));
  assert_memory_equal(out[2], wanted[2], 8 * 6 * sizeof(float));
  assert_memory_equal(out[3], wanted[3], 8 * 6 * sizeof(float));
  int64_t shape[2];
  TRY_STATUS(s, vf_port_shape(s->program, VF_OUTPUT, 1, (int64_t[]){8}, shape, &error));
  assert_true(shape[0] == 8 && shape[1] == 9);
}

static void use_text(session *s) {
  static const char *const stages[] = {"kernels", "index", "loops"};
  char *text;
  TRY(s, text, vf_graph_text(s->graph, &error));
  s->texts[s->text_count++] = text;
  TRY(s, s->parsed, vf_graph_parse(s->context, text, strlen(text), "again.vf", NULL, &error));
  for (int k = 0; k < 3; k++) {
    TRY(s, text, vf_graph_dump(s->graph, stages[k], &error));
    s->texts[s->text_count++] = text;
  }
}

static void use_tensors(session *s) {
  const float start[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const void *data;
  TRY(s, s->tensors[0], vf_tensor_create(s->context, VF_F32, VF_LIST(2, 4), start, &error));
  TRY(s, s->tensors[1], record(s->tensors[0], &error));
  TRY(s, s->tensors[2], record(s->tensors[1], &error));
  TRY_STATUS(s, vf_tensor_realise(s->tensors, 3, &error));
  TRY_STATUS(s, vf_session_collect(s->context, &error));
  TRY(s, data, vf_tensor_data(s->tensors[2], &error));
  assert_true(((const float *)data)[0] > 1 && ((const float *)data)[0] < 2);
}

static void finish(session *s) {
  for (int k = 0; k < s->text_count; k++) vf_text_free(s->context, s->texts[k]);
  for (int k = 0; k < 3; k++) vf_tensor_release(s->tensors[k]);
  vf_graph_destroy(s->graph);
  vf_graph_destroy(s->parsed);
  vf_program_destroy(s->program);
  vf_context_destroy(s->context);
  assert_int_equal(atomic_load(&s->memory.wrong_sizes), 0);
  assert_int_equal(atomic_load(&s->memory.live), 0);
}

/* Makes every call once. Returns the number of allocations made. */
static long use_everything(long fail_at, int *failures) {
  session s = {.memory.fail_at = fail_at};
  vf_options options = {.size = sizeof options, .allocator = test_memory_hook, .allocator_user = &s.memory};
  TRY(&s, s.context, vf_context_create(&options, &error));
  TRY(&s, s.graph, build(s.context, &error));
  use_text(&s);
  TRY(&s, s.program, vf_compile(s.graph, &error));
  run_program(&s);
  use_tensors(&s);
  long allocations = atomic_load(&s.memory.allocations);
  finish(&s);
  if (failures) *failures += s.failures;
  return allocations;
}

static void test_every_allocation_fails(void **state) {
  use_everything(0, NULL); /* from here on programs are on disk */
  long allocations = use_everything(0, NULL);
  int failures = 0, tried = 0, step = level_step(320);
  for (long k = 1; k <= allocations; k += step, tried++) use_everything(k, &failures);
  assert_true(allocations > 500);
  assert_true(failures > tried / 2); /* the library did without the other allocations, which is allowed */
}

/* The same without the disk cache: allocations made while programs are compiled. */
static void test_allocations_of_compiling_fail(void **state) {
  test_memory memory = {0};
  long allocations = 0, few = level_step(2);
  for (long k = 0, step = 1; k == 0 || k <= allocations; k += k < 64 ? few : step) {
    memory.fail_at = 0;
    vf_error error;
    vf_context *c = test_memory_context(&memory);
    vf_graph *g = vf_graph_create(c, "small", &error);
    vf_value x = vf_input(g, "x", VF_F32, VF_LIST(4));
    vf_output(g, "y", vf_add(vf_mul(x, x), vf_number(g, 1)));
    atomic_store(&memory.allocations, 0);
    memory.fail_at = k;
    vf_program *p = vf_compile(g, &error);
    if (!p) {
      if (error.status != VF_ERR_MEMORY) print_error("allocation %ld: %s\n", k, error.message);
      assert_int_equal(error.status, VF_ERR_MEMORY);
      p = vf_compile(g, &error);
    }
    assert_non_null(p);
    if (k == 0) allocations = atomic_load(&memory.allocations), step = allocations * few / 64 + 1;
    float in[4] = {1, 2, 3, 4}, out[4];
    assert_int_equal(vf_program_run(p, (const void *[]){in}, (void *[]){out}, NULL, &error), VF_OK);
    assert_true(out[3] == 17);
    vf_program_destroy(p);
    vf_graph_destroy(g);
    vf_context_destroy(c);
    if (atomic_load(&memory.live)) print_error("allocation %ld\n", k);
    assert_int_equal(atomic_load(&memory.live), 0);
  }
}

UNIT_TESTS(test_every_allocation_fails, test_allocations_of_compiling_fail)
