/* The public API: creating graphs, compiling, running, querying, failing. Programs are compared with the
 * reference evaluator, bit by bit where the numeric contract requires it. */
#include <math.h>
#include <pthread.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

/* facts */

static void test_facts(void **state) {
  assert_string_equal(vf_version(), VF_VERSION);
  assert_int_equal(vf_version_number(), VF_VERSION_NUMBER);
  assert_string_equal(vf_dtype_name(VF_BF16), "bf16");
  assert_string_equal(vf_dtype_name((vf_dtype)99), "none");
  assert_int_equal(vf_dtype_bytes(VF_F64), 8);
  assert_int_equal(vf_dtype_bytes(VF_INDEX), 0);
  assert_int_equal(vf_dtype_bytes((vf_dtype)-1), 0);
  assert_int_equal(vf_dtype_parse("u16"), VF_U16);
  assert_int_equal(vf_dtype_parse("u17"), VF_NONE);
  assert_int_equal(vf_dtype_parse(NULL), VF_NONE);
  assert_string_equal(vf_status_text(VF_ERR_MEMORY), "out of memory");
  assert_string_equal(vf_status_text((vf_status)77), "unknown status");
}

/* contexts */

typedef struct bad_options {
  vf_options options;
  vf_status status;
  const char *message;
} bad_options;

static void test_options(void **state) {
  const bad_options cases[] = {
      {{.size = 4}, VF_ERR_INVALID, "options: size is 4; it must be sizeof(vf_options), which is "},
      {{.size = sizeof(vf_options), .flags = 256},
       VF_ERR_INVALID,
       "options: flags are 0x100, of which this version ("},
      {{.size = sizeof(vf_options), .threads = -1},
       VF_ERR_INVALID,
       "options: threads is negative; 0 stands for the default"},
      {{.size = sizeof(vf_options), .device = "gpu"},
       VF_ERR_INVALID,
       "device 'gpu' is none; there are cpu, c, opencl, opencl:NUMBER and opencl:PART OF NAME"},
      {{.size = sizeof(vf_options), .device = "opencl:no such name"},
       VF_ERR_DEVICE,
       ""}, /* the devices differ from machine to machine */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_null(vf_context_create(&cases[i].options, &error));
    assert_int_equal(error.status, cases[i].status);
    assert_memory_equal(error.message, cases[i].message, strlen(cases[i].message));
  }
  struct {
    vf_options options;
    long long more;
  } later = {{.size = sizeof later, .threads = 1, .device = "cpu"}, 0};
  vf_context *c = vf_context_create(&later.options, &error);
  assert_non_null(c); /* declared for a later version, but uses nothing new */
  vf_context_destroy(c);
  later.more = 1;
  assert_null(vf_context_create(&later.options, &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
}

static void test_environment(void **state) {
  setenv("VIEWFOLD_THREADS", "many", 1);
  assert_null(vf_context_create(NULL, &error));
  assert_string_equal(error.message, "VIEWFOLD_THREADS is 'many'; it must be a number from 1 to 65536");
  setenv("VIEWFOLD_THREADS", "2", 1);
  setenv("VIEWFOLD_DEVICE", "gpu", 1);
  assert_null(vf_context_create(NULL, &error));
  assert_string_equal(
      error.message,
      "VIEWFOLD_DEVICE is 'gpu'; there are cpu, c, opencl, opencl:NUMBER and opencl:PART OF NAME");
  setenv("VIEWFOLD_DEVICE", "opencl:999", 1);
  assert_null(vf_context_create(NULL, &error));
  assert_int_equal(error.status, VF_ERR_DEVICE);
  vf_options o = {.size = sizeof o, .device = "cpu"}; /* options take precedence over the environment */
  vf_context *c = vf_context_create(&o, &error);
  assert_non_null(c);
  vf_context_destroy(c);
  unsetenv("VIEWFOLD_THREADS");
  unsetenv("VIEWFOLD_DEVICE");
}

static void test_no_compile(void **state) {
  vf_context *c = api_context_with((vf_options){.flags = VF_NO_COMPILE | VF_NO_DISK});
  vf_graph *g = api_graph(c, "test");
  vf_output(g, "y", vf_neg(vf_input(g, "x", VF_F32, VF_LIST(4))));
  assert_null(vf_compile(g, &error));
  assert_int_equal(error.status, VF_ERR_COMPILE);
}

static void test_nothing_is_accepted(void **state) {
  vf_context_destroy(NULL);
  vf_graph_destroy(NULL);
  vf_program_destroy(NULL);
  vf_tensor_release(NULL);
  vf_tensor_retain(NULL);
  vf_text_free(NULL, NULL);
  vf_graph_clear_error(NULL);
  assert_null(vf_graph_create(NULL, "g", &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
  vf_value x = vf_mul(vf_input(NULL, "x", VF_F32, VF_LIST(4)), vf_number(NULL, 2));
  assert_false(vf_ok(x));
  assert_false(vf_ok(vf_output(NULL, "y", x)));
  assert_int_equal(vf_graph_status(NULL), VF_ERR_INVALID);
  api_check_reason(vf_graph_message(NULL), "the graph is NULL");
  assert_null(vf_compile(NULL, &error));
  assert_string_equal(error.message, "compile: the graph is NULL, as vf_graph_create, _parse and "
                                     "vf_import_onnx give where they fail: their error says why");
  assert_null(vf_compile(NULL, NULL));
  assert_null(vf_graph_text(NULL, NULL));
  assert_null(vf_graph_dump(NULL, "graph", NULL));
  assert_int_equal(vf_program_run(NULL, NULL, NULL, NULL, NULL), VF_ERR_INVALID);
  assert_int_equal(vf_evaluate(NULL, NULL, NULL, NULL, NULL), VF_ERR_INVALID);
  assert_null(vf_tensor_create(NULL, VF_F32, VF_ALL, NULL, NULL));
  assert_null(vf_tensor_keep(x, &error));
  assert_null(vf_tensor_data(NULL, NULL));
  assert_int_equal(vf_tensor_rank(NULL), -1);
  assert_int_equal(vf_tensor_dtype(NULL), VF_NONE);
  assert_int_equal(vf_tensor_bytes(NULL), 0);
  assert_int_equal(vf_value_dtype(x), VF_NONE);
  assert_int_equal(vf_value_rank(x), -1);
  assert_int_equal(vf_value_size(x, 0), -1);
  assert_null(vf_value_text(x));
  assert_int_equal(vf_port_count(NULL, VF_INPUT), 0);
  assert_null(vf_port_name(NULL, VF_OUTPUT, 0));
  assert_false(vf_program_stats(NULL, NULL));
}

/* running */

static vf_graph *scale(vf_graph *g) {
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3));
  vf_output(g, "y", vf_mul(vf_permute(x, VF_LIST(1, 0)), vf_number(g, 0.5)));
  return g;
}

static const float two_by_three[6] = {0, 1, 2, 3, 4, 5}, scaled[6] = {0, 1.5f, 0.5f, 2, 1, 2.5f};

static void check_scale(const vf_program *p) {
  float out[6] = {0};
  api_run(p, (const void *[]){two_by_three}, (void *[]){out}, NULL);
  assert_memory_equal(out, scaled, sizeof out);
}

static void test_run(void **state) {
  vf_context *c = api_context();
  vf_graph *g = scale(api_graph(c, "test"));
  vf_program *p = api_compile(g);
  check_scale(p);
  float out[6] = {0};
  api_evaluate(g, (const void *[]){two_by_three}, (void *[]){out}, NULL);
  assert_memory_equal(out, scaled, sizeof out);
  vf_stats stats = {.size = sizeof stats};
  assert_true(vf_program_stats(p, &stats));
  assert_int_equal(stats.launches, 1);
  assert_int_equal(stats.kernels, 1);
  vf_cost cost = {.size = sizeof cost};
  assert_int_equal(vf_program_cost(p, NULL, &cost, &error), VF_OK);
  assert_int_equal(cost.bytes, 48);
  assert_int_equal(cost.flops, 6);
  assert_int_equal(vf_program_run(p, NULL, (void *[]){out}, NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "program @test: the list of inputs is NULL");
}

static void test_any_order_of_destruction(void **state) {
  vf_context *c = vf_context_create(NULL, &error);
  vf_graph *g = scale(vf_graph_create(c, "test", &error));
  vf_program *p = vf_compile(g, &error), *again = vf_compile(g, &error);
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(3), NULL, &error);
  vf_context_destroy(c);
  vf_graph_destroy(g);
  check_scale(p);
  vf_program_destroy(p);
  check_scale(again);
  vf_program_destroy(again);
  assert_int_equal(((const float *)vf_tensor_data(t, &error))[2], 0);
  vf_tensor_release(t);
}

static void *run_often(void *program) {
  for (int i = 0; i < 2000; i++) {
    float out[6] = {0};
    vf_error own;
    if (vf_program_run(program, (const void *[]){two_by_three}, (void *[]){out}, NULL, &own) != VF_OK ||
        memcmp(out, scaled, sizeof out) != 0)
      return program;
  }
  return NULL;
}

static void test_threads(void **state) {
  vf_context *c = api_context();
  vf_graph *g = scale(api_graph(c, "test"));
  vf_program *p = api_compile(g);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_often, p), 0);
  for (int i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
}

/* An input that no result needs, a value returned twice, an input and a constant returned as they are. */
static void test_odd_results(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "test");
  vf_input(g, "unused", VF_I64, VF_LIST(1000));
  vf_value x = vf_input(g, "x", VF_I32, VF_LIST(3)), y = vf_add(x, x);
  vf_output(g, "twice", y);
  vf_output(g, "again", y);
  vf_output(g, "same", x);
  vf_output(g, "seven", vf_integer(g, 7));
  vf_output(g, "none", vf_shrink(x, VF_LIST(1, 1)));
  vf_program *p = api_compile(g);
  int32_t in[3] = {1, 2, 3}, out[5][3] = {0}, wanted[5][3] = {{2, 4, 6}, {2, 4, 6}, {1, 2, 3}, {7}, {0}};
  void *outs[5] = {out[0], out[1], out[2], out[3], out[4]};
  assert_int_equal(vf_port_count(p, VF_INPUT), 2);
  assert_int_equal(vf_port_count(p, VF_OUTPUT), 5);
  api_run(p, (const void *[]){NULL, in}, outs, NULL);
  assert_memory_equal(out, wanted, sizeof out);
  assert_int_equal(vf_port_bytes(p, VF_INPUT, 0, NULL, &error), 8000);
  assert_int_equal(vf_port_bytes(p, VF_OUTPUT, 4, NULL, &error), 0);
  assert_int_equal(vf_port_rank(p, VF_OUTPUT, 3), 0);
  assert_string_equal(vf_port_name(p, VF_OUTPUT, 2), "same");
  assert_int_equal(vf_port_dtype(p, VF_INPUT, 0), VF_I64);
  assert_null(vf_port_name(p, VF_INPUT, 2));
  assert_int_equal(vf_port_bytes(p, VF_INPUT, -1, NULL, &error), -1);
}

static void test_range_error(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "test");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3)), i = vf_input(g, "i", VF_I32, VF_LIST(2));
  vf_output(g, "y", vf_gather(x, i, 0, VF_GATHER_CHECK));
  vf_program *p = api_compile(g);
  float in[3] = {5, 6, 7}, out[2];
  int32_t at[2] = {-1, 0};
  api_run(p, (const void *[]){in, at}, (void *[]){out}, NULL);
  assert_true(out[0] == 7 && out[1] == 5);
  at[1] = 3;
  assert_int_equal(vf_program_run(p, (const void *[]){in, at}, (void *[]){out}, NULL, &error), VF_ERR_RANGE);
  assert_int_equal(vf_evaluate(g, (const void *[]){in, at}, (void *[]){out}, NULL, &error), VF_ERR_RANGE);
}

/* Scatter-add sums in the order of the updates, and scatter keeps the last of several, for any number of
 * threads: a plain loop is the oracle. */
static void test_scatter_threads(void **state) {
  enum { ROWS = 300, WIDTH = 64, COUNT = 20000 };
  static float x[ROWS * WIDTH], u[COUNT * WIDTH], sum[ROWS * WIDTH], last[ROWS * WIDTH], got[2][ROWS * WIDTH];
  static int32_t at[COUNT];
  for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(i % 97) / 3;
  for (int i = 0; i < COUNT * WIDTH; i++) u[i] = (float)(i * 7919LL % 1009) / 7;
  memcpy(sum, x, sizeof x), memcpy(last, x, sizeof x);
  for (int i = 0; i < COUNT; i++) {
    at[i] = (int32_t)(i * 104729LL % (2 * ROWS)) - ROWS;
    for (int k = 0, row = at[i] < 0 ? at[i] + ROWS : at[i]; k < WIDTH; k++)
      sum[row * WIDTH + k] += u[i * WIDTH + k], last[row * WIDTH + k] = u[i * WIDTH + k];
  }
  for (int threads = 1; threads <= 4; threads += 3) {
    vf_context *c = api_context_with((vf_options){.threads = threads});
    vf_graph *g = api_graph(c, "test");
    vf_value data = vf_input(g, "x", VF_F32, VF_LIST(ROWS, WIDTH)),
             i = vf_input(g, "i", VF_I32, VF_LIST(COUNT)),
             updates = vf_input(g, "u", VF_F32, VF_LIST(COUNT, WIDTH));
    vf_output(g, "sum", vf_scatter_add(data, i, updates, 0, VF_GATHER_CHECK));
    vf_output(g, "last", vf_scatter(data, i, updates, 0, VF_GATHER_CHECK));
    vf_program *p = api_compile(g);
    api_run(p, (const void *[]){x, at, u}, (void *[]){got[0], got[1]}, NULL);
    assert_memory_equal(got[0], sum, sizeof sum);
    assert_memory_equal(got[1], last, sizeof last);
  }
}

/* sizes */

static void test_sizes(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "test");
  vf_value m = vf_variable(g, "m", 1, 9, 1), n = vf_variable(g, "n", 4, 64, 4);
  vf_value half = vf_floordiv(n, vf_integer(g, 2)),
           rows = vf_add(vf_mul(m, vf_integer(g, 2)), vf_integer(g, 1));
  vf_value x = vf_input_sized(g, "x", VF_F32, 2, (vf_value[]){n, vf_integer(g, 3)});
  vf_value w = vf_input_sized(g, "w", VF_F32, 1, &rows);
  assert_int_equal(vf_value_dtype(half), VF_INDEX);
  assert_int_equal(vf_value_size(x, 0), -1);
  assert_int_equal(vf_value_size(x, -1), 3);
  vf_output(g, "halves", vf_sum(vf_apply(g, "reshape", &x, 1, "shape=[2,n//2,3]"), VF_LIST(0), false));
  vf_output(g, "front",
            vf_shrink_sized(x, 4,
                            (vf_value[]){vf_integer(g, 2), vf_sub(n, vf_integer(g, 1)), vf_integer(g, 1),
                                         vf_integer(g, 3)}));
  vf_output(g, "padded", vf_pad_sized(w, 2, (vf_value[]){m, vf_sub(half, vf_integer(g, 1))}));
  vf_output(g, "flat", vf_reshape_sized(x, 1, (vf_value[]){vf_mul(n, vf_integer(g, 3))}));
  vf_program *p = api_compile(g);
  assert_int_equal(vf_variable_count(p), 2);
  assert_string_equal(vf_variable_name(p, 1), "n");
  int64_t lo, hi, divisor, shape[3];
  assert_true(vf_variable_range(p, 1, &lo, &hi, &divisor));
  assert_true(lo == 4 && hi == 64 && divisor == 4);
  assert_false(vf_variable_range(p, 2, NULL, NULL, NULL));
  for (int64_t iteration = 0; iteration < 20; iteration++) {
    int64_t sizes[2] = {1 + iteration % 9, 4 + 4 * (iteration * 7 % 16)};
    float in[64 * 3], weights[19], out[4][64 * 3], wanted[4][64 * 3];
    for (int i = 0; i < 64 * 3; i++) in[i] = (float)(i % 31) / 4;
    for (int i = 0; i < 19; i++) weights[i] = (float)i;
    memset(out, 0, sizeof out);
    memset(wanted, 0, sizeof wanted);
    const void *ins[] = {in, weights};
    api_run(p, ins, (void *[]){out[0], out[1], out[2], out[3]}, sizes);
    api_evaluate(g, ins, (void *[]){wanted[0], wanted[1], wanted[2], wanted[3]}, sizes);
    assert_memory_equal(out, wanted, sizeof out);
    assert_int_equal(vf_port_shape(p, VF_OUTPUT, 2, sizes, shape, &error), VF_OK);
    assert_int_equal(shape[0], sizes[0] + 2 * sizes[0] + 1 + sizes[1] / 2 - 1);
    assert_int_equal(vf_port_bytes(p, VF_INPUT, 0, sizes, &error), sizes[1] * 12);
  }
  assert_int_equal(
      vf_program_run(p, (const void *[]){0, 0}, (void *[]){0, 0, 0, 0}, (int64_t[]){1, 6}, &error),
      VF_ERR_INVALID);
  assert_string_equal(error.message, "program @test: variable n is 6; it was declared as 4..64:4");
  assert_int_equal(vf_port_shape(p, VF_OUTPUT, 0, NULL, shape, &error), VF_ERR_INVALID);
}

/* text */

static void test_text(void **state) {
  static const char text[] = "graph @one(%x: f32[n=2..8:2,3]) {\n"
                             "  %s = sum %x axes=[1] : f32[n]\n"
                             "  return %s\n"
                             "}\n"
                             "graph @two(%x: i8[2]) {\n"
                             "  %y = neg %x : i8[2]\n"
                             "  return %y\n"
                             "}\n";
  vf_context *c = api_context();
  vf_graph *g = vf_graph_parse(c, text, sizeof text - 1, "sums.vf", NULL, &error);
  assert_non_null(g);
  char *printed = vf_graph_text(g, &error);
  assert_memory_equal(printed, text, strlen(printed)); /* the first graph, character for character */
  vf_text_free(c, printed);
  assert_true(vf_ok(vf_graph_find(g, "x")) && vf_ok(vf_graph_find(g, "s")) && vf_ok(vf_graph_find(g, "n")));
  assert_false(vf_ok(vf_graph_find(g, "y")));
  assert_int_equal(vf_graph_status(g), VF_OK);
  vf_output(g, "more", vf_add(vf_graph_find(g, "s"), vf_number(g, 1))); /* which can be extended */
  vf_program *p = api_compile(g);
  float in[6] = {1, 2, 3, 4, 5, 6}, out[2][2];
  api_run(p, (const void *[]){in}, (void *[]){out[0], out[1]}, (int64_t[]){2});
  assert_true(out[0][0] == 6 && out[0][1] == 15 && out[1][0] == 7 && out[1][1] == 16);
  vf_graph_destroy(g);
  g = vf_graph_parse(c, text, sizeof text - 1, "sums.vf", "two", &error);
  assert_non_null(g);
  vf_graph_destroy(g);
  assert_null(vf_graph_parse(c, text, sizeof text - 1, "sums.vf", "three", &error));
  assert_string_equal(error.message, "sums.vf: error: no graph @three; it holds @one, @two");
  assert_null(vf_graph_parse(c, "graph @g(%x: f32[2]) {\n  return %z\n}\n", 38, NULL, NULL, &error));
  assert_memory_equal(error.message, "<text>:2:10: error: ", 20);
  const char *pointed = "graph @g(%x: f32[2]) {\n  return %x\n}\n";
  assert_null(vf_graph_parse(c, pointed, sizeof pointed, "p.vf", NULL, &error));
  assert_string_equal(error.message,
                      "p.vf:1:9: error: missing parameters, found the end of the text, expected "
                      "'('; the text has 8 bytes, as a pointer has: its length is strlen(text)");
  assert_null(vf_graph_parse(c, NULL, 5, NULL, NULL, &error));
}

/* Outputs that share a value, or are an input or a constant, keep their names in the text. */
static void test_second_names(void **state) {
  static const char *const names[] = {"p", "q", "1", "y", "yes"};
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "names");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2)), twice = vf_mul(vf_exp(x), vf_number(g, 2));
  vf_output(g, "p", twice), vf_output(g, "q", twice), vf_output(g, "1", twice), vf_output(g, "y", x);
  vf_output(g, "yes", vf_boolean(g, true));
  char *printed = vf_graph_text(g, &error);
  vf_graph *again = api_parse(c, printed);
  if (!again) fail_msg("%s\n%s", error.message, printed);
  char *repeated = vf_graph_text(again, &error);
  assert_string_equal(printed, repeated);
  vf_program *p = api_compile(again);
  assert_int_equal(vf_port_count(p, VF_OUTPUT), 5);
  for (int i = 0; i < 5; i++) assert_string_equal(vf_port_name(p, VF_OUTPUT, i), names[i]);
  vf_text_free(c, printed), vf_text_free(c, repeated);
}

static void test_dumps(void **state) {
  static const char *const stages[] = {"graph", "kernels", "index", "loops", "llvm", "asm", "opencl"};
  static const char *const hold[] = {
      "permute %x", "fuses   permute mul",  "load p1[", "for ridx", "define void @",
      "\tret",      "reqd_work_group_size("};
  vf_context *c = api_context();
  vf_graph *g = scale(api_graph(c, "test"));
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    char *text = vf_graph_dump(g, stages[i], &error);
    assert_non_null(text);
    if (!strstr(text, hold[i])) print_error("%s\n", text);
    assert_non_null(strstr(text, hold[i]));
    vf_text_free(c, text);
  }
  assert_null(vf_graph_dump(g, "bytes", &error));
  assert_string_equal(error.message, "dump: no stage 'bytes'; the stages are graph, shard, spmd, rank:N, "
                                     "kernels, index, loops, llvm, asm, opencl, c");
  char *line = vf_value_text(vf_graph_find(g, "y"));
  assert_string_equal(line, "%1 = mul %0, 0.5 : f32[3,2]");
  vf_text_free(c, line);
}

/* errors of builders */

typedef vf_value (*bad_build)(vf_graph *g, vf_value x);

static vf_value bad_shapes(vf_graph *g, vf_value x) {
  return vf_relu(vf_neg(vf_add(x, vf_input(g, "b", VF_F32, VF_LIST(4)))));
}
static vf_value bad_reshape(vf_graph *g, vf_value x) { return vf_reshape(x, VF_LIST(7)); }
static vf_value bad_list(vf_graph *g, vf_value x) { return vf_reshape(x, 2, NULL); }
static vf_value negative_size(vf_graph *g, vf_value x) {
  (void)x;
  return vf_input(g, "n", VF_F32, VF_LIST(-1, 3));
}
static vf_value bad_count(vf_graph *g, vf_value x) { return vf_permute(x, 99, (int64_t[99]){0}); }
static vf_value bad_pairs(vf_graph *g, vf_value x) { return vf_pad(x, VF_LIST(1, 1, 1)); }
static vf_value bad_mode(vf_graph *g, vf_value x) {
  return vf_pad_with(x, VF_LIST(1, 1, 0, 0), VF_PAD_EDGE, vf_number(g, 1));
}
static vf_value bad_axis(vf_graph *g, vf_value x) { return vf_sum(x, VF_LIST(2), false); }
static vf_value bad_name(vf_graph *g, vf_value x) { return vf_input(g, "x", VF_F32, VF_LIST(2, 3)); }
static vf_value bad_variable(vf_graph *g, vf_value x) { return vf_variable(g, "n", 5, 7, 8); }
static vf_value bad_variable_name(vf_graph *g, vf_value x) { return vf_variable(g, "f32", 1, 7, 1); }
static vf_value bad_size(vf_graph *g, vf_value x) { return vf_add(x, vf_variable(g, "n", 1, 7, 1)); }
static vf_value bad_entry(vf_graph *g, vf_value x) { return vf_reshape_sized(x, 1, &x); }
static vf_value bad_divisor(vf_graph *g, vf_value x) {
  return vf_floordiv(vf_integer(g, 8), vf_variable(g, "n", 0, 7, 1));
}
static vf_value bad_zero(vf_graph *g, vf_value x) { return vf_add(x, (vf_value){0}); }
static vf_value bad_id(vf_graph *g, vf_value x) { return vf_add(x, (vf_value){g, 4000000000u, x.epoch}); }
static vf_value bad_find(vf_graph *g, vf_value x) { return vf_add(x, vf_graph_find(g, "w")); }
static vf_value bad_dtype(vf_graph *g, vf_value x) { return vf_constant(g, VF_INDEX, &x); }
static vf_value bad_operation(vf_graph *g, vf_value x) { return vf_apply(g, "reshap", &x, 1, "shape=[6]"); }
static vf_value bad_attribute(vf_graph *g, vf_value x) {
  return vf_apply(g, "reshape", &x, 1, "shape=[6] mode=fast");
}
static vf_value bad_syntax(vf_graph *g, vf_value x) { return vf_apply(g, "reshape", &x, 1, "shape=[6"); }
static vf_value bad_declaration(vf_graph *g, vf_value x) {
  return vf_apply(g, "expand", &x, 1, "shape=[k=1..5,2,3]");
}
static vf_value bad_output(vf_graph *g, vf_value x) { return vf_output(g, "y", x); }
static vf_value bad_output_size(vf_graph *g, vf_value x) {
  return vf_output(g, "n", vf_variable(g, "n", 1, 7, 1));
}

static const struct {
  bad_build build;
  const char *message;
} bad_builds[] = {
    {bad_shapes,
     "add: shapes f32[2,3] and f32[4] do not broadcast: size 3 meets 4 at axis -1; sizes must be equal or 1"},
    {bad_reshape,
     "reshape: shape [7] has 7 elements; x has shape f32[2,3], 6 elements; a reshape keeps their number"},
    {bad_list,
     "reshape: the shape of 2 entries is NULL; VF_LIST(1, 0) writes a list of integers, and how many"},
    {negative_size,
     "input: size -1 of axis 0 in shape [-1,3] is negative; every size must be >= 0; one that varies is a "
     "variable: vf_variable(graph, \"n\", 1, 64, 1), of which vf_input_sized makes a shape"},
    {bad_count, "permute: the order has 99 entries; a tensor has at most 16 axes"},
    {bad_pairs, "pad: the list of pads has 3 numbers; each axis takes two"},
    {bad_mode, "pad: mode=edge fills with elements of x, so a value has no use; give the error value"},
    {bad_axis, "sum: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
    {bad_name, "input: the name x is taken by another input"},
    {bad_variable,
     "variable: n=5..7:8 has no value; takes low <= high, a divisor >= 1 and a multiple of it between them"},
    {bad_variable_name, "variable: 'f32' cannot be a name; takes letters, digits and _, and no name of a "
                        "number, dtype or range"},
    {bad_size, "add: operand 2 is the index expression n, not a tensor; its value as one is the sum of ones: "
               "%o = ones shape=[n] dtype=i64; %s = sum %o"},
    {bad_entry,
     "reshape: entry 0 of the shape is a tensor; takes variables, integers and expressions of them"},
    {bad_divisor, NULL},
    {bad_zero, "add: operand 2 is no value; a value is what a builder returned, one that was given operands "
               "of a graph"},
    {bad_id, "add: operand 2 is the error value of a failure that was cleared (call 3: add %x)"},
    {bad_find, "add: operand 2 is what vf_graph_find returned for 'w', a name that @test does not have; it "
               "has x, y (call 3: add %x)"},
    {bad_dtype, "const: no dtype of a tensor; use bool, an integer or a float dtype"},
    {bad_operation, "reshap: there is no such operation; nearest: reshape"},
    {bad_attribute, "reshape: there is no attribute mode; attributes: shape"},
    {bad_syntax, NULL},
    {bad_declaration, "expand: variable k is declared by an attribute; declare it with vf_variable"},
    {bad_output, "output: the name y is taken by another output"},
    {bad_output_size, "output: n is an expression of sizes, not a tensor"},
};

static void test_errors_of_builders(void **state) {
  vf_context *c = api_context();
  for (size_t i = 0; i < sizeof bad_builds / sizeof *bad_builds; i++) {
    vf_graph *g = api_graph(c, "test");
    vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3));
    vf_output(g, "y", x);
    assert_int_equal(vf_graph_status(g), VF_OK);
    assert_false(vf_ok(bad_builds[i].build(g, x)));
    assert_int_equal(vf_graph_status(g), VF_ERR_INVALID);
    if (bad_builds[i].message) api_check_reason(vf_graph_message(g), bad_builds[i].message);
    char first[1024];
    strcpy(first, vf_graph_message(g));
    assert_true(strlen(first) > 10);
    assert_false(vf_ok(vf_neg(x))); /* the first error stays, and nothing is recorded after it */
    assert_null(vf_compile(g, &error));
    assert_int_equal(error.status, VF_ERR_INVALID);
    assert_string_equal(error.message, first);
    vf_graph_clear_error(g);
    assert_true(vf_ok(vf_neg(x)));
    api_check_reason(vf_graph_message(g), "");
  }
  vf_graph *a = api_graph(c, "test"), *b = api_graph(c, "other");
  vf_value x = vf_input(a, "x", VF_F32, VF_ALL), y = vf_input(b, "y", VF_F32, VF_ALL);
  assert_false(vf_ok(vf_add(x, y)));
  api_check_reason(
      vf_graph_message(a),
      "add: operand 2 belongs to graph @other, others to @test; operands belong to one graph; what another "
      "graph computes comes in as an input, vf_input, whose elements that graph's program writes");
  assert_int_equal(vf_graph_status(b), VF_OK);
  assert_null(vf_compile(b, &error));
  assert_string_equal(error.message, "graph @other has no outputs; name one with vf_output");
}

/* every operation, against the evaluator */

enum { OUTPUTS = 256, ROOM = 1024 };

typedef struct many {
  vf_graph *g;
  int count;
  bool approximate[OUTPUTS]; /* a float reduction */
} many;

static void want(many *m, vf_value value) {
  char name[16];
  snprintf(name, sizeof name, "r%d", m->count);
  assert_true(m->count < OUTPUTS);
  vf_output(m->g, name, value);
  if (vf_graph_status(m->g)) print_error("%s: %s\n", name, vf_graph_message(m->g));
  assert_int_equal(vf_graph_status(m->g), VF_OK);
  m->count++;
}

static void want_about(many *m, vf_value value) {
  m->approximate[m->count] = true;
  want(m, value);
}

static void record_elementwise(many *m, vf_value x, vf_value y, vf_value i, vf_value j) {
  static vf_value (*const unary[])(vf_value) = {
      vf_neg,  vf_abs,  vf_relu, vf_sqrt,    vf_rsqrt, vf_exp,   vf_exp2,  vf_log,   vf_log2,  vf_sin,
      vf_cos,  vf_tanh, vf_erf,  vf_sigmoid, vf_floor, vf_ceil,  vf_trunc, vf_round, vf_tan,   vf_asin,
      vf_acos, vf_atan, vf_sinh, vf_cosh,    vf_asinh, vf_acosh, vf_atanh, vf_expm1, vf_log1p, vf_erfinv};
  static vf_value (*const binary[])(vf_value, vf_value) = {vf_add, vf_sub, vf_mul, vf_div, vf_floordiv,
                                                           vf_mod, vf_pow, vf_min, vf_max, vf_eq,
                                                           vf_ne,  vf_lt,  vf_le,  vf_gt,  vf_ge};
  static vf_value (*const bits[])(vf_value, vf_value) = {
      vf_bit_and, vf_bit_or, vf_bit_xor, vf_shl, vf_shr, vf_logical_and, vf_logical_or, vf_logical_xor};
  for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) want(m, unary[k](x));
  for (size_t k = 0; k < sizeof binary / sizeof *binary; k++) want(m, binary[k](x, y));
  for (size_t k = 0; k < sizeof bits / sizeof *bits; k++) want(m, bits[k](i, j));
  want(m, vf_floordiv(i, vf_sub(j, vf_integer(m->g, 2))));
  want(m, vf_bit_not(i));
  want(m, vf_logical_not(i));
  want(m, vf_fma(x, y, vf_number(m->g, 0.25)));
  want(m, vf_where(vf_lt(x, y), x, vf_cast(i, VF_F16)));
  want(m, vf_bitcast(x, VF_U32));
  want(m, vf_logical_and(vf_boolean(m->g, true), vf_gt(x, vf_constant(m->g, VF_F32, &(float){0.5f}))));
}

static void record_views(many *m, vf_value x, vf_value i) {
  vf_graph *g = m->g;
  want(m, vf_swap_axes(x, 0, -1));
  want(m, vf_move_axis(vf_reshape(x, VF_LIST(2, -1, 3)), 2, 0));
  want(m, vf_flatten(vf_unsqueeze(x, 1), 1, 2));
  want(m, vf_expand(vf_shrink(x, VF_LIST(1, 2, 0, 6)), VF_LIST(3, 4, 6)));
  want(m, vf_squeeze(vf_unsqueeze(x, 0), VF_LIST(0)));
  want(m, vf_squeeze(vf_unsqueeze(vf_unsqueeze(x, 0), 3), VF_ALL));
  want(m, vf_slice(x, 2, (int64_t[]){-3, 1}, (int64_t[]){2, 4}));
  want(m, vf_stride(x, VF_LIST(2, -1)));
  want(m, vf_flip(x, VF_LIST(0, 1)));
  want(m, vf_point(x, -1, 1));
  want(m, vf_pad(x, VF_LIST(1, 0, 2, 1)));
  want(m, vf_pad_with(x, VF_LIST(1, 1, 0, 2), VF_PAD_CONSTANT, vf_number(g, -1)));
  want(m, vf_pad_with(x, VF_LIST(1, 2, 2, 2), VF_PAD_REFLECT, (vf_value){0}));
  want(m, vf_pad_with(x, VF_LIST(3, 1, 1, 4), VF_PAD_WRAP, (vf_value){0}));
  want(m, vf_concat((vf_value[]){x, i, x}, 3, 1));
  want(m, vf_stack((vf_value[]){x, i}, 2, -1));
  want(m, vf_iota(g, VF_I16, VF_LIST(3, 5), 1));
  want(m, vf_full(vf_integer(g, -3), VF_LIST(2, 2)));
  want(m, vf_add(vf_data(g, VF_I8, VF_LIST(6), (int8_t[]){1, -2, 3, -4, 5, -6}), i));
  want(m, vf_apply(g, "stride", &x, 1, "steps=[-1,2]"));
}

static void record_reductions(many *m, vf_value x, vf_value i) {
  want(m, vf_sum(i, VF_LIST(0), false));
  want(m, vf_prod(i, VF_LIST(1), true));
  want_about(m, vf_sum(x, VF_ALL, false));
  want_about(m, vf_mean(x, VF_LIST(-1), true));
  want(m, vf_reduce_max(x, VF_LIST(0), false));
  want(m, vf_reduce_min(x, VF_LIST(0, 1), true));
  want(m, vf_any(vf_gt(i, vf_integer(m->g, 8)), VF_LIST(1), false));
  want(m, vf_all(vf_gt(i, vf_integer(m->g, -9)), VF_ALL, false));
  want(m, vf_argmax(x, 1, false));
  want(m, vf_argmin(x, 0, true));
  want_about(m, vf_matmul(x, vf_permute(x, VF_LIST(1, 0))));
  want(m, vf_gather(x, i, 0, VF_GATHER_CLIP));
  want(m, vf_gather(x, vf_point(i, 0, 1), 1, VF_GATHER_FILL));
  want(m, vf_gather_batched(x, i, 1, 1, VF_GATHER_CLIP));
  want(m, vf_scatter(x, vf_point(i, 0, 1), vf_number(m->g, 0.5), 1, VF_GATHER_CLIP));
  want(m, vf_scatter_add(x, vf_point(i, 0, 1), x, 0, VF_GATHER_FILL));
  want(m, vf_take_along_axis(x, i, 1, VF_GATHER_CLIP));
  want(m, vf_scatter_along_axis(x, i, vf_neg(x), 1, VF_GATHER_CLIP));
  want(m, vf_scatter_add_along_axis(x, i, vf_neg(x), 0, VF_GATHER_FILL));
  want(m, vf_slice_update(x, vf_number(m->g, -1), 2, (int64_t[]){0, -1}, (int64_t[]){2, 1}));
  want_about(m, vf_cumsum(x, 1));
  want(m, vf_cumprod(i, 0));
  want(m, vf_cummax(x, -1));
  want(m, vf_cummin(i, 1));
  want(m, vf_sort(x, 0, true));
  want(m, vf_argsort(x, 1, false));
  want(m, vf_stored(x));
  vf_value r[2];
  assert_int_equal(vf_topk(x, 2, 1, true, r), 2);
  want(m, r[0]);
  want(m, r[1]);
}

static void record_compositions(many *m, vf_value x, vf_value y, vf_value i) {
  vf_value none = {0};
  want_about(m, vf_softmax(x, 1));
  want_about(m, vf_log_softmax(i, 0));
  want_about(m, vf_logsumexp(x, VF_LIST(-1), true));
  want(m, vf_silu(x));
  want(m, vf_gelu(x, false));
  want(m, vf_gelu(i, true));
  want(m, vf_softplus(x));
  want(m, vf_leaky_relu(x, 0.1));
  want(m, vf_elu(x, 0.5));
  want(m, vf_reciprocal(i));
  want(m, vf_square(i));
  want(m, vf_sign(x));
  want(m, vf_clip(x, vf_integer(m->g, 0), none));
  want(m, vf_clip(i, vf_integer(m->g, -1), y));
  want_about(m, vf_attention(x, vf_unsqueeze(y, 0), vf_unsqueeze(y, 0), none, 0.5, false));
  want_about(m, vf_attention(x, x, i, vf_lt(vf_shrink(x, VF_LIST(0, 4, 1, 5)), vf_number(m->g, 3)), 0, true));
  want_about(m, vf_var(x, VF_ALL, false, 1));
  want_about(m, vf_std(i, VF_LIST(0), false, 0));
  want_about(m, vf_layer_norm(x, y, y, 1, 1e-5));
  want_about(m, vf_layer_norm(x, none, none, 0, 0.5));
  want_about(m, vf_rms_norm(x, y, -1, 1e-5));
  vf_value r[4];
  assert_int_equal(vf_split(x, 3, 1, r), 3);
  want(m, vf_sub(r[2], r[0]));
  assert_int_equal(vf_chunk(x, 4, 0, r), 4);
  want(m, r[3]);
  assert_int_equal(vf_unbind(i, -1, 4, r), 6);
  want(m, vf_mul(r[1], r[3]));
  assert_int_equal(vf_minmax(x, VF_LIST(0), true, r), 2);
  want(m, vf_sub(r[1], r[0]));
  want(m, vf_arange(m->g, VF_U8, 3, 9, 2));
  want(m, vf_arange_real(m->g, VF_F32, 0, 1, 0.3));
  want(m, vf_linspace(m->g, VF_F32, -1, 1, 5));
  want(m, vf_add(vf_zeros(m->g, VF_I8, VF_LIST(2, 3)), vf_ones(m->g, VF_I16, VF_LIST(3))));
  want(m, vf_eye(m->g, VF_I32, 2, 3, 1));
  want(m, vf_tril(x, 0));
  want(m, vf_triu(i, -1));
  want(m, vf_uniform(vf_integer(m->g, 5), VF_F16, VF_LIST(3, 4), -1, 2));
  want(m, vf_normal(vf_point(vf_point(i, 1, 0), 2, 0), VF_F32, VF_LIST(7), 3, 0.5));
  want(m, vf_bernoulli(vf_integer(m->g, -5), VF_LIST(2, 3, 2), 0.75));
  vf_value zero = vf_integer(m->g, 0), places = vf_iota(m->g, VF_U32, VF_LIST(5), 0);
  assert_int_equal(vf_threefry2x32((vf_value[]){zero, places}, (vf_value[]){places, zero}, r), 2);
  want(m, vf_bit_xor(r[0], r[1]));
  want_about(m, vf_einsum("ij,kj,j->ki", (vf_value[]){x, x, y}, 3));
  want_about(m, vf_einsum("...i->...", &x, 1));
  vf_value one = vf_reshape(x, VF_LIST(1, 1, 4, 6)),
           w = vf_reshape(vf_shrink(x, VF_LIST(0, 1, 0, 4)), VF_LIST(1, 1, 2, 2));
  const int64_t *two = (int64_t[]){2, 2}, *ones = (int64_t[]){1, 1};
  want_about(m, vf_conv(one, w, vf_shrink(y, VF_LIST(1, 2)), 2, NULL, ones, two, 1));
  want_about(m, vf_conv(one, w, none, 2, two, NULL, NULL, 1));
  want_about(m, vf_conv_transpose(one, w, none, 2, two, ones, ones, NULL, 1));
  want(m, vf_max_pool(i, 2, two, NULL, NULL, NULL));
  want_about(m, vf_avg_pool(x, 2, two, ones, ones, false));
}

static bool same_value(const void *a, const void *b, vf_dtype dtype, bool approximate) {
  size_t bytes = vf_dtype_bytes(dtype);
  if (memcmp(a, b, bytes) == 0) return true;
  if (dtype != VF_F32) return false;
  float x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (isnan(x) && isnan(y)) || (approximate && fabsf(x - y) <= 1e-5f * (1 + fabsf(y)));
}

static void test_every_operation(void **state) {
  vf_context *c = api_context();
  many m = {.g = api_graph(c, "test")};
  vf_value x = vf_input(m.g, "x", VF_F32, VF_LIST(4, 6)), y = vf_input(m.g, "y", VF_F32, VF_LIST(6));
  vf_value i = vf_input(m.g, "i", VF_I32, VF_LIST(4, 6)), j = vf_input(m.g, "j", VF_I32, VF_LIST(4, 1));
  record_elementwise(&m, x, y, i, j);
  record_views(&m, x, i);
  record_reductions(&m, x, i);
  record_compositions(&m, x, y, i);
  vf_program *p = api_compile(m.g);
  float xs[24], ys[6];
  int32_t is[24], js[4] = {0, 3, 1, 40};
  for (int k = 0; k < 24; k++) xs[k] = (float)(k * 7 % 24) / 4 - 2, is[k] = k * 5 % 24 - 8;
  for (int k = 0; k < 6; k++) ys[k] = (float)k / 2 - 1;
  const void *ins[] = {xs, ys, is, js};
  static char out[OUTPUTS][ROOM], wanted[OUTPUTS][ROOM];
  void *outs[OUTPUTS], *wants[OUTPUTS];
  for (int k = 0; k < OUTPUTS; k++) outs[k] = out[k], wants[k] = wanted[k];
  api_run(p, ins, outs, NULL);
  api_evaluate(m.g, ins, wants, NULL);
  for (int k = 0; k < m.count; k++) {
    vf_dtype dtype = vf_port_dtype(p, VF_OUTPUT, k);
    int64_t bytes = vf_port_bytes(p, VF_OUTPUT, k, NULL, &error);
    assert_true(bytes > 0 && bytes <= ROOM);
    for (int64_t at = 0; at < bytes; at += (int64_t)vf_dtype_bytes(dtype))
      if (!same_value(out[k] + at, wanted[k] + at, dtype, m.approximate[k])) {
        char *text = vf_value_text(vf_graph_find(m.g, vf_port_name(p, VF_OUTPUT, k)));
        print_error("element %d of %s\n", (int)(at / (int64_t)vf_dtype_bytes(dtype)), text);
        vf_text_free(c, text);
        fail();
      }
  }
}

static void test_several_results(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "test");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(4)), r[4];
  assert_int_equal(vf_apply_all(g, "chunk", &x, 1, "chunks=3", 2, r), 3);
  assert_int_equal(vf_value_size(r[0], 0), 2);
  assert_int_equal(vf_value_size(r[1], 0), 1);
  assert_int_equal(vf_apply_all(g, "neg", &x, 1, NULL, 4, r), 1);
  assert_true(vf_ok(r[0]) && !vf_ok(r[1]) && !vf_ok(r[3]));
  assert_true(vf_ok(vf_apply(g, "split", &x, 1, "parts=1")));
  assert_int_equal(vf_apply_all(g, "split", &x, 1, "parts=2", 0, NULL), 2);
  assert_int_equal(vf_split(x, 3, 0, r), -1);
  assert_true(!vf_ok(r[0]) && !vf_ok(r[2]) && !vf_ok(vf_add(r[0], r[1])));
  api_check_reason(vf_graph_message(g), "split: size 4 of axis 0 does not divide by 3; x has shape f32[4]; "
                                        "parts must be equal: chunk takes any number");
  vf_graph_clear_error(g);
  assert_false(vf_ok(vf_apply(g, "split", &x, 1, "parts=2")));
  api_check_reason(vf_graph_message(g), "split: has 2 results; vf_apply_all returns them all");
  vf_graph_clear_error(g);
  assert_int_equal(vf_unbind(x, 0, 4, NULL), -1);
  api_check_reason(vf_graph_message(g), "unbind: the array for 4 results is NULL");
}

static void test_null_buffers(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "twice");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2));
  vf_output(g, "y", vf_add(x, x));
  vf_error error = {0};
  vf_program *p = api_compile(g);
  float in[2] = {1, 2}, out[2];
  assert_int_equal(vf_program_run(p, (const void *[]){NULL}, (void *[]){out}, NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "program @twice: the buffer of input x is NULL");
  assert_int_equal(vf_program_run(p, (const void *[]){in}, (void *[]){NULL}, NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "program @twice: the buffer of output y is NULL");
  assert_int_equal(vf_evaluate(g, (const void *[]){in}, (void *[]){NULL}, NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "evaluate: the buffer of output y is NULL");
  api_run(p, (const void *[]){in}, (void *[]){out}, NULL);
  assert_true(out[0] == 2 && out[1] == 4);
  vf_output(g, "x", vf_neg(x));
  assert_int_equal(vf_graph_status(g), VF_ERR_INVALID);
  assert_non_null(strstr(vf_graph_message(g), "the name x is taken by an input"));
}

UNIT_TESTS(test_facts, test_options, test_environment, test_no_compile, test_nothing_is_accepted, test_run,
           test_any_order_of_destruction, test_threads, test_odd_results, test_range_error,
           test_scatter_threads, test_sizes, test_text, test_second_names, test_dumps,
           test_errors_of_builders, test_every_operation, test_several_results, test_null_buffers)
