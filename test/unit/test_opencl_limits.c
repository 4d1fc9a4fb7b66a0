/* Devices with little local memory, and few bytes of kernel arguments, run every graph that the CPU runs:
 * another schedule is used where the usual one would exceed a limit. The oracle is the reference
 * evaluator. */
#include <math.h>

#include "frontend/viewfold.h"
#include "test/lib/level.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

enum { MOST_ELEMENTS = 40 * 5000, MOST_INPUTS = 250, TEXT = 1 << 15 };

/* Settings of the shim: the least limits that OpenCL allows, and less. */
static const char *const devices[] = {"gpu local=32768", "gpu local=8192", "gpu group=64 local=4096",
                                      "local=32768", "local=8192"};

static vf_error error;

/* A result computed from `inputs` arrays of one type, which all hold the same elements. */
typedef struct problem {
  const char *what, *type;
  int inputs, elements; /* of the result */
  double tolerance;     /* relative to 1 */
  const char *body;     /* of %s, the sum of the inputs, or of %x0 where there is one input */
} problem;

static const problem problems[] = {
    {"rows longer than blocks of keys", "f32[40,5000]", 1, 40 * 5000, 1e-5, "%y = softmax %x0 axis=1\n"},
    {"rows of f64", "f64[20,5000]", 1, 20 * 5000, 1e-12, "%y = softmax %x0 axis=1\n"},
    {"products kept for the rows", "f64[100,100]", 1, 100 * 100, 1e-9,
     "%m = matmul %x0, %x0\n%n = mul %m, 0.01\n%y = softmax %n axis=1\n"},
    {"attention", "f32[1,2,80,64]", 1, 2 * 80 * 64, 1e-4, "%y = attention %x0, %x0, %x0\n"},
    {"normalized rows", "f32[64,3000]", 1, 64 * 3000, 1e-4,
     "%m = mean %x0 axes=[1] keepdims=true\n%d = sub %x0, %m\n%q = mul %d, %d\n"
     "%v = mean %q axes=[1] keepdims=true\n%w = add %v, 0.001\n%r = rsqrt %w\n%y = mul %d, %r\n"},
    {"arguments of a chain", "f32[5]", 62, 5, 0, "%y = neg %s\n"},
    {"arguments of a long chain", "f32[5]", MOST_INPUTS, 5, 0, "%y = neg %s\n"},
    {"arguments of a row group", "f32[6,40]", 90, 6 * 40, 1e-4,
     "%n = mul %s, 0.01\n%y = softmax %n axis=1\n"},
    {"arguments below a product", "f32[24,24]", 70, 24 * 24, 1e-3, "%m = matmul %s, %s\n%y = add %m, %x3\n"},
};

static char text[TEXT];
static size_t used;

static void put(const char *format, ...) {
  va_list list;
  va_start(list, format);
  int added = vsnprintf(text + used, TEXT - used, format, list);
  va_end(list);
  assert_true(added >= 0 && used + (size_t)added < TEXT);
  used += (size_t)added;
}

static const char *text_of(const problem *p) {
  used = 0;
  put("graph @limits(");
  for (int i = 0; i < p->inputs; i++) put("%s%%x%d: %s", i ? ", " : "", i, p->type);
  put(") {\n");
  for (int i = 1; i < p->inputs; i++) {
    if (i + 1 < p->inputs) put("%%s%d = add ", i);
    else put("%%s = add ");
    if (i == 1) put("%%x0, %%x1\n");
    else put("%%s%d, %%x%d\n", i - 1, i);
  }
  put("%sreturn %%y\n}\n", p->body);
  return text;
}

static bool is_double(const problem *p) { return strncmp(p->type, "f64", 3) == 0; }

static double element(const problem *p, const void *array, int i) {
  return is_double(p) ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

/* Computes the result on a device; "": by evaluation. */
static void compute(const problem *p, const char *settings, const void *input, void *result) {
  const void *inputs[MOST_INPUTS];
  void *results[] = {result};
  for (int i = 0; i < p->inputs; i++) inputs[i] = input;
  opencl_set("%s", settings);
  vf_options options = {.size = sizeof options, .device = *settings ? "opencl" : "cpu", .flags = VF_NO_DISK};
  vf_context *c = vf_context_create(&options, &error);
  assert_non_null(c);
  const char *graph = text_of(p);
  vf_graph *g = vf_graph_parse(c, graph, used, "limits.vf", NULL, &error);
  if (!g) print_error("%s: %s\n", p->what, error.message);
  assert_non_null(g);
  vf_program *made = *settings ? vf_compile(g, &error) : NULL;
  vf_status status = !*settings ? vf_evaluate(g, inputs, results, NULL, &error)
                     : made     ? vf_program_run(made, inputs, results, NULL, &error)
                                : error.status;
  if (status != VF_OK) print_error("%s on '%s': %s\n", p->what, settings, error.message);
  assert_int_equal(status, VF_OK);
  vf_program_destroy(made);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

static void test_limits(void **state) {
  void *input = malloc(MOST_ELEMENTS * sizeof(double)), *want = malloc(MOST_ELEMENTS * sizeof(double)),
       *got = malloc(MOST_ELEMENTS * sizeof(double));
  assert_true(input && want && got);
  enum { DEVICES = sizeof devices / sizeof *devices };
  size_t step = (size_t)level_step(11); /* another device for each problem */
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
    const problem *p = &problems[k];
    for (int i = 0; i < MOST_ELEMENTS; i++) { /* small multiples of 1/4, whose sums are exact */
      double x = (i * 7 % 13 - 6) * 0.25;
      if (is_double(p)) ((double *)input)[i] = x;
      else ((float *)input)[i] = (float)x;
    }
    compute(p, "", input, want);
    for (size_t d = 0; d < DEVICES; d++) {
      if ((k * DEVICES + d) % step) continue;
      memset(got, 0xff, MOST_ELEMENTS * sizeof(double));
      compute(p, devices[d], input, got);
      for (int i = 0; i < p->elements; i++) {
        double a = element(p, want, i), b = element(p, got, i);
        if (fabs(a - b) <= p->tolerance * (1 + fabs(a))) continue;
        print_error("%s on '%s': element %d is %.17g, expected %.17g\n", p->what, devices[d], i, b, a);
        fail();
      }
    }
  }
  free(input), free(want), free(got);
}

OPENCL_TESTS(NULL, NULL, test_limits)
