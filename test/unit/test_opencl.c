/* Programs on an OpenCL device, of kernels written by hand: memory that is the host's and memory that is not,
 * symbolic sizes, index checks, failures and that they leave nothing behind, the cache. */
#include <pthread.h>

#include "runtime/opencl/loader.h"
#include "test/lib/opencl.h"
#include "test/lib/plans.h"
#include "test/lib/unit.h"

static _Atomic int texts; /* kernels written so far */
static const char *break_with = "";

/* OpenCL C of the kernels of p_scale_add: out[i] = a[i] * factor + (b ? b[i] : 0). */
static ir_status write_kernel(void *user, const ir_graph *graph, ir_ref kernel, const char *symbol,
                              const ir_target *target, cg_blob *out, ir_error *error) {
  ir_text text;
  double factor = 0;
  const ir_node *n = ir_get(graph, kernel);
  int64_t params = ir_arg_int(n);
  bool variable = false;
  for (uint32_t i = 0; i < n->nsrc; i++) variable |= ir_op_of(graph, n->src[i]) == IR_OP_VAR;
  for (ir_ref i = 1; i < graph->count; i++)
    if (ir_op_of(graph, i) == IR_OP_CONST && ir_dtype_of(graph, i) == IR_F32)
      memcpy(&factor, &ir_get(graph, i)->arg, sizeof factor);
  ir_text_init(&text, graph->mem);
  ir_textf(&text, "kernel void %s(", symbol);
  for (int64_t i = 0; i < params; i++)
    ir_textf(&text, "global float *b%lld, long o%lld, ", (long long)i, (long long)i);
  ir_textf(&text, "global int *status, %slong count, long grain) {\n", variable ? "long v0, " : "");
  ir_textf(
      &text,
      "  for (long i = get_group_id(0) * grain; i < min((long)(get_group_id(0) + 1) * grain, count); i++)\n"
      "    b0[o0 + i] = b1[o1 + i] * %.1ff%s;\n}\n%s",
      factor, params > 2 ? " + b2[o2 + i]" : "", break_with);
  *out = (cg_blob){.mem = graph->mem, .bytes = ir_alloc(graph->mem, text.len + 1), .size = text.len};
  assert_non_null(out->bytes);
  memcpy(out->bytes, ir_text_get(&text), text.len + 1);
  ir_text_free(&text);
  texts++;
  return IR_OK;
}

static rt_context *open_context(rt_options options) {
  options.device = "opencl";
  options.compile = write_kernel;
  return p_context_with(options);
}

static rt_program *two_kernels(rt_context *c, p_maker *m, ir_ref (*size)(p_maker *m)) {
  p_two_kernels(m, size ? size(m) : ir_index(&m->g, P_MOST));
  return p_build(c, m, "two");
}

static void runs_and_is_found_again(void **state) {
  for (int gpu = 0; gpu < 2; gpu++) {
    opencl_set("%s", gpu ? "gpu" : "");
    p_empty_cache();
    p_maker *m = p_begin();
    rt_context *c = open_context((rt_options){0});
    rt_program *p = two_kernels(c, m, NULL);
    assert_int_equal(rt_program_stats(p).compiled, 2);
    for (int i = 0; i < 3; i++) p_check_two_kernels(p, P_MOST, NULL, (float)i);
    unit_release(p);
    unit_release(c);
    assert_int_equal(opencl_buffers(), 0);
    int before = texts;
    opencl_set("%s", gpu ? "gpu" : "");
    c = open_context((rt_options){.no_compile = true});
    p = p_find(c, "two");
    assert_non_null(p);
    assert_int_equal(rt_program_stats(p).from_disk, 2);
    p_check_two_kernels(p, P_MOST, NULL, 5);
    assert_int_equal(texts, before);
    assert_int_equal(opencl_count("CreateProgramWithSource"), 0);
    unit_release(p);
    unit_release(c);
  }
}

static void sizes_come_with_the_run(void **state) {
  p_maker *m = p_begin();
  rt_context *c = open_context((rt_options){.no_disk = true});
  rt_program *p = two_kernels(c, m, p_variable);
  for (int i = 0; i < 4; i++) assert_true(p_run_some(p, i, 40));
  unit_release(p);
  unit_release(c);
}

/* Builds the program and runs it; IR_OK after correct results. */
static ir_status try_all(rt_context *c, p_maker *m, ir_error *error) {
  float x[P_MOST], y[P_MOST], out[P_MOST];
  rt_program *p = NULL;
  *error = (ir_error){0};
  for (int i = 0; i < P_MOST; i++) x[i] = (float)i, y[i] = (float)(i % 7), out[i] = -1;
  ir_status status = rt_program_build(c, "test", &m->g, &m->p, NULL, 0, &p, error);
  if (!status) status = rt_program_run(p, (void *[]){x, y}, (void *[]){out}, NULL, error);
  for (int i = 0; i < P_MOST; i++) assert_true(x[i] == (float)i && y[i] == (float)(i % 7));
  for (int i = 0; i < P_MOST && !status; i++) assert_true(out[i] == x[i] * 6 + y[i]);
  if (p) rt_program_release(p);
  return status;
}

/* Every call of OpenCL fails in turn: there is a message, nothing is leaked, and the next attempt works. */
static void any_call_may_fail(void **state) {
  static const char *const modes[] = {"", "gpu "};
  static const int codes[] = {-4, -5, -6, -36};
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, P_MOST));
  for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
    bool failed = true;
    for (int n = 1; failed; n++) {
      ir_error error;
      opencl_set("%s", modes[mode]);
      rt_context *c = open_context((rt_options){.no_disk = true});
      opencl_set("%sfail=all:%d:%d", modes[mode], n, codes[n % 4]);
      ir_status status = try_all(c, m, &error);
      failed = opencl_count("all") >= n;
      char said[sizeof error.text];
      snprintf(said, sizeof said, "%s", error.text);
      if (status) assert_true(failed && *error.text && error.status == status);
      opencl_set("%s", modes[mode]);
      if (try_all(c, m, &error)) fail_msg("after call %d failed: %s", n, error.text);
      unit_release(c);
      if (opencl_buffers()) fail_msg("%ld buffers left after call %d failed: %s", opencl_buffers(), n, said);
      assert_true(n < 500);
    }
  }
}

static void steps_are_timed(void **state) {
  opencl_set("%s", "");
  p_maker *m = p_begin();
  rt_context *c = open_context((rt_options){.no_disk = true});
  rt_program *p = two_kernels(c, m, NULL);
  float x[P_MOST] = {0}, y[P_MOST] = {0}, out[P_MOST];
  int64_t ns[2] = {-1, -1};
  ir_error error = {0};
  if (rt_program_run_timed(p, (void *[]){x, y}, (void *[]){out}, NULL, ns, &error))
    fail_msg("%s", error.text);
  assert_true(ns[0] > 0 && ns[1] > 0);
  p_check_two_kernels(p, P_MOST, NULL, 1);
  unit_release(p);
  unit_release(c);
  assert_int_equal(opencl_buffers(), 0);
}

/* Messages of failures name what happened. */
static void messages(void **state) {
  static const struct {
    const char *settings;
    ir_status status;
    const char *says, *and;
  } cases[] = {
      {"max_alloc=4096", IR_ERR_MEMORY, "device ",
       "at most 4096"}, /* the intermediates need more than one allocation may have */
      {"log=line_7_is_no_good", IR_ERR_COMPILE, "graph @test: device ", "line 7 is no good"},
      {"log=some_error_here", IR_ERR_COMPILE, " compiles its kernels vf_", ", vf_"},
      {"fail=CreateContext:1:-2", IR_ERR_DEVICE, "opening device ", "CL_DEVICE_NOT_AVAILABLE"},
      {"fail=EnqueueNDRangeKernel:2:-5", IR_ERR_DEVICE, "graph @test: device ", "CL_OUT_OF_RESOURCES"},
      {"fail=EnqueueNDRangeKernel:1+:-36", IR_ERR_DEVICE, "graph @test: device ", "a new one may work"},
      {"fail=EnqueueNDRangeKernel:1:-9999", IR_ERR_DEVICE, "graph @test: device ", "-9999"},
  };
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, 1 << 12));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static float x[1 << 12], y[1 << 12], out[1 << 12];
    ir_error error = {0};
    opencl_set("%s", cases[i].settings);
    rt_context *c = open_context((rt_options){.no_disk = true});
    rt_program *p = NULL;
    ir_status status = rt_program_build(c, "test", &m->g, &m->p, NULL, 0, &p, &error);
    if (!status) status = rt_program_run(p, (void *[]){x, y}, (void *[]){out}, NULL, &error);
    if (status != cases[i].status || !strstr(error.text, cases[i].says) || !strstr(error.text, cases[i].and))
      fail_msg("%s: %d, %s", cases[i].settings, status, error.text);
    rt_program_release(p);
    unit_release(c);
  }
}

/* When a driver refuses a cached binary, as another version of it may, the text is compiled again, once. */
static void a_binary_that_is_refused(void **state) {
  opencl_set("%s", "");
  p_empty_cache();
  p_maker *m = p_begin();
  rt_context *c = open_context((rt_options){0});
  unit_release(two_kernels(c, m, NULL));
  unit_release(c);
  ir_error error = {0};
  rt_program *p = NULL;
  int before = texts;
  opencl_set("no_binaries");
  c = open_context((rt_options){.no_compile = true});
  assert_int_equal(rt_program_find(c, "two", 3, &p, &error), IR_ERR_COMPILE);
  assert_non_null(
      strstr(error.text, "VIEWFOLD_COMPILE=0: graph @test needs code of the compiler of device "));
  unit_release(c);
  c = open_context((rt_options){0});
  assert_null(p_find(c, "two"));
  assert_int_equal(rt_context_lookups(c).invalidations, 1);
  p = p_build(c, m, "two");
  p_check_two_kernels(p, P_MOST, NULL, 2);
  assert_int_equal(opencl_count("CreateProgramWithSource"), 1);
  unit_release(p);
  unit_release(c);
  opencl_set("%s", "");
  c = open_context((rt_options){.no_compile = true});
  p = p_find(c, "two");
  assert_non_null(p);
  p_check_two_kernels(p, P_MOST, NULL, 3);
  assert_int_equal(opencl_count("CreateProgramWithSource"), 0);
  assert_int_equal(texts, before);
  unit_release(p);
  unit_release(c);
}

static void names(void **state) {
  static const struct {
    const char *name, *says;
  } cases[] = {
      {"opencl:99", "device 'opencl:99' is not there; there "},
      {"opencl:no such name", "device 'opencl:no such name' is not there; there "},
      {"abacus", "device 'abacus' is none; there are cpu, c, opencl, "},
      {"opencl:", "device 'opencl:' is none; "},
  };
  opencl_set("%s", "");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ir_error error = {0};
    rt_context *c;
    assert_int_not_equal(rt_context_create(&ir_mem_libc, &(rt_options){.device = cases[i].name}, &c, &error),
                         IR_OK);
    assert_null(c);
    if (strncmp(error.text, cases[i].says, strlen(cases[i].says)) != 0) fail_msg("%s", error.text);
  }
  opencl_set("devices=0");
  ir_error error = {0};
  rt_context *c;
  assert_int_equal(rt_context_create(&ir_mem_libc, &(rt_options){.device = "opencl"}, &c, &error),
                   IR_ERR_DEVICE);
  assert_non_null(strstr(error.text, "no device"));
  opencl_set("%s", "");
}

static void no_loader(void **state) {
  static const char *const cases[][2] = {
      {"libnothing-of-the-kind.so.1", "OpenCL: there is no loader (libnothing-of-the-kind.so.1: "},
      {"libm.so.6", "OpenCL: the loader libm.so.6 has no clGetPlatformIDs; "}};
  for (int i = 0; i < 2; i++) {
    ir_error error = {0};
    rt_cl cl;
    assert_int_equal(rt_cl_load(cases[i][0], &cl, &error), IR_ERR_DEVICE);
    if (strncmp(error.text, cases[i][1], strlen(cases[i][1])) != 0) fail_msg("%s", error.text);
    assert_null(cl.handle);
  }
}

/* Contexts with different devices, used at once and by several threads. */
static void *run_many(void *argument) {
  p_worker *w = argument;
  w->good = p_run_some(w->program, w->number, 30);
  return NULL;
}
static void several_threads(void **state) {
  static const char *const modes[] = {"", "gpu"};
  for (int mode = 0; mode < 2; mode++) {
    opencl_set("%s", modes[mode]);
    p_maker *m = p_begin();
    rt_context *c = open_context((rt_options){.no_disk = true});
    rt_program *p = two_kernels(c, m, p_variable);
    p_worker workers[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
      workers[i] = (p_worker){c, p, i, false};
      assert_int_equal(pthread_create(&threads[i], NULL, run_many, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) assert_true(workers[i].good);
    unit_release(p);
    unit_release(c);
    assert_int_equal(opencl_buffers(), 0);
  }
}

OPENCL_TESTS(p_set_up, p_tear_down, runs_and_is_found_again, sizes_come_with_the_run, any_call_may_fail,
             steps_are_timed, messages, a_binary_that_is_refused, names, no_loader, several_threads)
