/* Devices that fail: every call of OpenCL in turn, once or from then on; too little memory; small limits.
 * Each failure is a status and a message; inputs are unchanged; the failed operation works again as soon as
 * the device does; no OpenCL objects are leaked; other contexts are not affected. */
#include <math.h>

#include "frontend/viewfold.h"
#include "test/lib/level.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

enum { ROWS = 8, COLUMNS = 24, ELEMENTS = ROWS * COLUMNS, MOST_CALLS = 400 };

static vf_error error;
static float input[ELEMENTS];

static vf_context *on(const char *device) {
  vf_options options = {.size = sizeof options, .device = device, .flags = VF_NO_DISK};
  return vf_context_create(&options, &error);
}

/* The graph of each attempt: several kernels, a reduction, a loop of kernels. */
static const char text[] = "graph @several(%x: f32[8,24]) {\n"
                           "  %s = cumsum %x axis=1\n"
                           "  %t = permute %s order=[1,0]\n"
                           "  %m = matmul %x, %t\n"
                           "  %y = max %m axes=[1]\n"
                           "  return %m, %y\n"
                           "}\n";

typedef struct results {
  float product[ROWS * ROWS], greatest[ROWS];
} results;

static vf_graph *recorded(vf_context *c) {
  vf_graph *g = vf_graph_parse(c, text, sizeof text - 1, "several.vf", NULL, &error);
  assert_non_null(g);
  return g;
}

static vf_status run(const vf_program *program, results *out) {
  memset(out, 0, sizeof *out);
  return vf_program_run(program, (const void *[]){input}, (void *[]){out->product, out->greatest}, NULL,
                        &error);
}

static results expected(void) {
  static results want; /* small multiples of 1/4: every order of additions gives these bits */
  static bool known;
  if (known) return want;
  known = true;
  for (int i = 0; i < ELEMENTS; i++) input[i] = (float)(i * 7 % 13 - 6) * 0.25F;
  vf_context *c = on("cpu");
  vf_graph *g = recorded(c);
  assert_int_equal(
      vf_evaluate(g, (const void *[]){input}, (void *[]){want.product, want.greatest}, NULL, &error), VF_OK);
  vf_graph_destroy(g);
  vf_context_destroy(c);
  return want;
}

static void assert_told(vf_status status) {
  if (status != VF_ERR_DEVICE && status != VF_ERR_MEMORY && status != VF_ERR_COMPILE)
    print_error("status %d: %s\n", (int)status, error.message);
  assert_true(status == VF_ERR_DEVICE || status == VF_ERR_MEMORY || status == VF_ERR_COMPILE);
  assert_int_equal(error.status, status);
  assert_true(strlen(error.message) > 10);
}

static void assert_results(const results *got) {
  results want = expected();
  assert_memory_equal(got, &want, sizeof want);
}

/* The CPU works in the meantime, in the same process and, by evaluation, in the same context. */
static void assert_processor_works(vf_context *failed) {
  results got;
  vf_context *c = on("cpu");
  assert_non_null(c);
  vf_graph *g = recorded(c);
  vf_program *p = vf_compile(g, &error);
  assert_non_null(p);
  assert_int_equal(run(p, &got), VF_OK);
  assert_results(&got);
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(c);
  if (!failed) return;
  memset(&got, 0, sizeof got);
  g = recorded(failed);
  assert_int_equal(
      vf_evaluate(g, (const void *[]){input}, (void *[]){got.product, got.greatest}, NULL, &error), VF_OK);
  assert_results(&got);
  vf_graph_destroy(g);
}

/* Everything from the context to results while `settings` hold on a `device` ("", "gpu"); then, if that
 * failed, again without them, with the objects that exist. Returns whether everything worked at the first
 * attempt. */
static bool attempt(const char *device, const char *settings, bool processor_too) {
  float before[ELEMENTS];
  results got;
  memcpy(before, input, sizeof before);
  opencl_set("%s %s", device, settings);
  vf_context *c = on("opencl");
  if (!c) {
    assert_told(error.status);
    return false;
  }
  vf_graph *g = recorded(c);
  vf_program *p = vf_compile(g, &error);
  bool compiled = p != NULL, ran = false;
  if (p) {
    ran = run(p, &got) == VF_OK;
    if (ran) assert_results(&got);
  }
  if (!ran) {
    assert_told(error.status);
    if (p && strchr(settings, '+')) assert_told(run(p, &got)); /* a lost device stays lost */
    assert_memory_equal(before, input, sizeof before);
    opencl_set("%s", device);
    if (processor_too) assert_processor_works(c);
    if (!p) p = vf_compile(g, &error);
    if (!p) print_error("%s: %s\n", settings, error.message);
    assert_non_null(p);
    bool again = run(p, &got) == VF_OK;
    if (again) assert_results(&got);
    else print_message("# %s: %s\n", settings, error.message);
    if (!strstr(settings, "max_alloc")) assert_true(again); /* a context may query a device once only */
  }
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(c);
  if (opencl_buffers()) print_error("%s: %ld buffers left\n", settings, opencl_buffers());
  assert_int_equal(opencl_buffers(), 0);
  return compiled && ran;
}

/* Tensors of a session, one of them computed before the failures. */
static bool attempt_tensors(const char *device, const char *settings, bool unused) {
  opencl_set("%s", device);
  vf_context *c = on("opencl");
  assert_non_null(c);
  vf_tensor *x = vf_tensor_create(c, VF_F32, VF_LIST(ROWS, COLUMNS), input, &error);
  vf_graph *session = vf_session(c, &error);
  vf_tensor *y = vf_tensor_keep(vf_mul(vf_tensor_value(x), vf_number(session, 2)), &error);
  vf_status realised = vf_tensor_realise(&y, 1, &error);
  if (realised != VF_OK) print_error("before %s %s: %s\n", device, settings, error.message);
  assert_int_equal(realised, VF_OK);
  vf_tensor *z =
      vf_tensor_keep(vf_add(vf_tensor_value(y), vf_permute(vf_tensor_value(y), VF_LIST(0, 1))), &error);
  opencl_set("%s %s", device, settings);
  const float *data = vf_tensor_data(z, &error);
  bool came_through = data != NULL;
  if (!data) {
    assert_told(error.status);
    opencl_set("%s", device);
    data = vf_tensor_data(z, &error);
    if (!data) print_error("%s %s: %s\n", device, settings, error.message);
    assert_non_null(data);
  }
  for (int i = 0; i < ELEMENTS; i++) assert_true(data[i] == 4 * input[i]);
  opencl_set("%s", device);
  data = vf_tensor_data(y, &error);
  assert_non_null(data);
  for (int i = 0; i < ELEMENTS; i++) assert_true(data[i] == 2 * input[i]);
  vf_tensor_release(z), vf_tensor_release(y), vf_tensor_release(x);
  vf_context_destroy(c);
  assert_int_equal(opencl_buffers(), 0);
  return came_through;
}

/* Intermediates that do not fit into one buffer together, and arrays that are transferred in several
 * chunks. */
static const char split_text[] = "graph @cut(%x: f32[8,24]) {\n"
                                 "  %a = cumsum %x axis=0\n"
                                 "  %b = cumsum %x axis=1\n"
                                 "  %c = cumsum %a axis=1\n"
                                 "  %d = cumsum %b axis=0\n"
                                 "  %e = cumsum %c axis=1\n"
                                 "  %s = add %c, %d\n"
                                 "  %t = add %s, %e\n"
                                 "  %u = cumsum %t axis=0\n"
                                 "  %y = add %u, %b\n"
                                 "  return %y, %a\n"
                                 "}\n";

static bool run_split(const vf_program *p, vf_graph *g) {
  float got[2][ELEMENTS], want[2][ELEMENTS]; /* multiples of 1/4 as well */
  if (vf_program_run(p, (const void *[]){input}, (void *[]){got[0], got[1]}, NULL, &error) != VF_OK)
    return false;
  assert_int_equal(vf_evaluate(g, (const void *[]){input}, (void *[]){want[0], want[1]}, NULL, &error),
                   VF_OK);
  assert_memory_equal(got, want, sizeof want);
  return true;
}

static bool attempt_split(const char *device, const char *settings, bool unused) {
  opencl_set("%s %s", device, settings);
  vf_context *c = on("opencl");
  if (!c) {
    assert_told(error.status);
    return false;
  }
  vf_graph *g = vf_graph_parse(c, split_text, sizeof split_text - 1, "cut.vf", NULL, &error);
  vf_program *p = vf_compile(g, &error);
  bool ran = p && run_split(p, g);
  if (!ran) {
    assert_told(error.status);
    opencl_set("%s", device);
    if (!p) p = vf_compile(g, &error);
    assert_non_null(p);
    if (!run_split(p, g)) print_error("%s %s: %s\n", device, settings, error.message);
    assert_true(run_split(p, g));
  }
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(c);
  assert_int_equal(opencl_buffers(), 0);
  return ran;
}

typedef bool attempt_function(const char *device, const char *settings, bool processor_too);

/* Fails each call of a class in turn, or every step-th, until there are no more. */
static void each_call(attempt_function *try, const char *device, const char *class, const char *later,
                      int status) {
  int n = 1, step = level_step(10);
  char settings[64];
  expected();
  for (bool failed = true; failed && n < MOST_CALLS; n += step) {
    snprintf(settings, sizeof settings, "fail=%s:%d%s:%d", class, n, later, status);
    failed = !try(device, settings, n % 8 == 1);
  }
  print_message("# %s %s%s: at most %d calls\n", device, class, later, n - 1 - step);
  assert_true(n > 1 + step && n < MOST_CALLS);
}

static void on_both(attempt_function *try, const char *class, const char *later, int status) {
  each_call(try, "", class, later, status);
  each_call(try, "gpu", class, later, status);
}

static void test_enqueue_fails(void **state) { on_both(attempt, "enqueue", "", -5); }
static void test_device_lost(void **state) { on_both(attempt, "enqueue", "+", -2); }
static void test_wait_fails(void **state) { on_both(attempt, "wait", "", -14); }
static void test_allocation_fails(void **state) { on_both(attempt, "allocate", "", -4); }
static void test_no_memory(void **state) { on_both(attempt, "allocate", "+", -61); }
static void test_any_call_fails(void **state) { on_both(attempt, "all", "", -6); }
static void test_tensors(void **state) {
  on_both(attempt_tensors, "all", "", -5);
  on_both(attempt_tensors, "all", "+", -2);
}

static void test_split_arena(void **state) {
  static const char *const devices[] = {"max_alloc=1024", "gpu max_alloc=1024"};
  for (size_t i = 0; i < 2; i++) {
    each_call(attempt_split, devices[i], "enqueue", "", -5);
    each_call(attempt_split, devices[i], "allocate", "+", -61);
  }
}

typedef struct one_case {
  const char *settings;
  vf_status status;
  const char *says; /* part of the message */
} one_case;

static const one_case cases[] = {
    {"devices=0", VF_ERR_DEVICE, "device"},
    {"log=undeclared_identifier_of_the_shim", VF_ERR_COMPILE, "undeclared identifier of the shim"},
    {"memory=1000", VF_ERR_MEMORY, "bytes"},
    {"gpu memory=1000", VF_ERR_MEMORY, "bytes"},
    {"max_alloc=300", VF_ERR_MEMORY, "at most 300"},
};

/* Failures of one call of the driver, and limits, of which the message says what could not be done. %d: 1, 2,
 * ... until it is said. tensors: a tensor is realised, on a device with the memory of the
 * host, instead of a graph compiled and run. */
static void test_messages(void **state) {
  static const struct {
    const char *settings, *says;
    bool tensors;
  } wanted[] = {{"fail=CreateBuffer:%d+:-30", ": a buffer of 768 bytes", true},
                {"gpu fail=CreateKernel:%d:-5", ": making its kernels", false},
                {"gpu group=8", " work-items; the device takes at most 8 for it", false}};
  expected();
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    error = (vf_error){0};
    for (int n = 1; n < 40 && !strstr(error.message, wanted[i].says); n++) {
      char settings[64];
      const char *device = wanted[i].tensors ? "" : "gpu";
      snprintf(settings, sizeof settings, wanted[i].settings, n);
      opencl_set("%s", device);
      vf_context *c = on("opencl");
      vf_tensor *x = vf_tensor_create(c, VF_F32, VF_LIST(ROWS, COLUMNS), input, &error);
      vf_tensor *y = vf_tensor_keep(vf_neg(vf_tensor_value(x)), &error);
      vf_graph *g = recorded(c);
      opencl_set("%s", settings);
      vf_program *p = wanted[i].tensors ? NULL : vf_compile(g, &error);
      results got;
      if (wanted[i].tensors) vf_tensor_realise(&y, 1, &error);
      else if (p) run(p, &got);
      opencl_set("%s", device);
      vf_program_destroy(p);
      vf_graph_destroy(g);
      vf_tensor_release(x), vf_tensor_release(y);
      vf_context_destroy(c);
    }
    if (!strstr(error.message, wanted[i].says)) fail_msg("%s: %s", wanted[i].settings, error.message);
    assert_non_null(strstr(error.message, wanted[i].says));
  }
}

static void test_cases(void **state) {
  expected();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_false(attempt(strncmp(cases[i].settings, "gpu", 3) ? "" : "gpu", cases[i].settings, true));
    opencl_set("%s", cases[i].settings);
    vf_context *c = on("opencl");
    vf_graph *g = c ? recorded(c) : NULL;
    vf_program *p = g ? vf_compile(g, &error) : NULL;
    results got;
    if (p) run(p, &got);
    if (error.status != cases[i].status || !strstr(error.message, cases[i].says))
      print_error("%s: status %d: %s\n", cases[i].settings, (int)error.status, error.message);
    assert_int_equal(error.status, cases[i].status);
    assert_non_null(strstr(error.message, cases[i].says));
    vf_program_destroy(p);
    vf_graph_destroy(g);
    vf_context_destroy(c);
  }
}

/* Settings that are not failures but other devices: the same results. */
static void test_other_devices(void **state) {
  static const char *const settings[] = {
      "gpu", "gpu group=8 local=1024", "no_binaries", "gpu no_binaries", "group=1", "no_fp64", "gpu no_fp64"};
  expected();
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (!attempt("", settings[i], false)) {
      print_error("%s failed\n", settings[i]);
      fail();
    }
}

OPENCL_TESTS(NULL, NULL, test_enqueue_fails, test_device_lost, test_wait_fails, test_allocation_fails,
             test_no_memory, test_any_call_fails, test_tensors, test_messages, test_cases, test_other_devices,
             test_split_arena)
