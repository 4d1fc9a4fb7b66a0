/* OpenCL devices without f64 and without correctly rounded division: graphs of f64 are refused before
 * anything is compiled, and those of f32, some of whose functions compute in f64, have the evaluator's bits.
 * The shim's compiler has no doubles then. */
#include <math.h>

#include "frontend/viewfold.h"
#include "test/lib/level.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

static vf_error error;

static vf_context *on_opencl(void) {
  vf_options options = {.size = sizeof options, .device = "opencl", .flags = VF_NO_DISK};
  vf_context *c = vf_context_create(&options, &error);
  if (!c) fail_msg("%s", error.message);
  return c;
}

static vf_graph *parsed(vf_context *c, const char *text) {
  vf_graph *g = vf_graph_parse(c, text, strlen(text), "g.vf", NULL, &error);
  if (!g) fail_msg("%s: %s", text, error.message);
  return g;
}

static const struct {
  const char *text, *says; /* says: what the message names */
} refused[] = {
    {"graph @a(%x: f64[3]) {\n  %y = exp %x\n  return %y\n}\n", "graph @a: `input %x : f64[3]`: device "},
    {"graph @unused(%x: f64[3], %y: f32[3]) {\n  return %y\n}\n", "`input %x : f64[3]`"},
    {"graph @b(%x: f32[3]) {\n  %z = cast %x dtype=f64\n  %y = sum %z\n  %w = cast %y dtype=f32\n"
     "  return %w\n}\n",
     "`%0 = cast %x dtype=f64 : f64[3]`"},
    {"graph @c(%x: i64[4]) {\n  %m = mean %x\n  return %m\n}\n", "f64"},
    {"graph @d(%x: f32[3]) {\n  %z = linspace start=0.0 stop=1.0 num=3\n  %w = cast %z dtype=f64\n"
     "  return %w, %x\n}\n",
     "dtype=f64"},
};

static void f64_is_refused(void **state) {
  static const char *const settings[] = {"no_fp64", "gpu no_fp64"};
  for (size_t s = 0; s < 2; s++) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
      opencl_set("%s", settings[s]);
      vf_context *c = on_opencl();
      vf_graph *g = parsed(c, refused[i].text);
      error = (vf_error){0};
      vf_program *p = vf_compile(g, &error);
      if (p || error.status != VF_ERR_UNSUPPORTED || !strstr(error.message, refused[i].says) ||
          !strstr(error.message,
                  " has no f64 (cl_khr_fp64); compute in f32, or on another device, such as cpu"))
        fail_msg("%s: %d, %s", refused[i].text, (int)error.status, error.message);
      assert_int_equal(opencl_count("CreateProgramWithSource"), 0);
      vf_graph_destroy(g);
      vf_context_destroy(c);
    }
  }
  opencl_set("%s", "");
  vf_context *c = on_opencl(); /* a device with f64 */
  vf_graph *g = parsed(c, refused[0].text);
  vf_program *p = vf_compile(g, &error);
  double x[3] = {0, 1, -2}, y[3], want[3];
  assert_non_null(p);
  assert_int_equal(vf_program_run(p, (const void *[]){x}, (void *[]){y}, NULL, &error), VF_OK);
  assert_int_equal(vf_evaluate(g, (const void *[]){x}, (void *[]){want}, NULL, &error), VF_OK);
  assert_memory_equal(y, want, sizeof y);
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

/* bit-equal results */

enum { ELEMENTS = 1 << 12 };
static float x[ELEMENTS], y[ELEMENTS];

/* Random bits, numbers near 1, large ones, and rare values. */
static void fill(void) {
  static const float seldom[] = {
      0.0F,    -0.0F,    INFINITY,       -INFINITY, NAN,   0x1p-149F, -0x1p-126F, 0x1p18F, 0x1.fffffep+127F,
      0x1p25F, -0x1p77F, 0x1.921fb6p+0F, 1.0F,      -1.0F, 2.0F,      -3.0F,      0.5F,    0x1.fffffep-1F};
  enum { SELDOM = sizeof seldom / sizeof *seldom };
  uint64_t bits = 88172645463325252;
  for (int i = 0; i < 2 * ELEMENTS; i++) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    uint32_t word = (uint32_t)(bits >> 20);
    float value = (float)(int32_t)word * 0x1p-29F;
    if (i % 4 == 1) memcpy(&value, &word, sizeof value);
    if (i % 4 == 2) value = ldexpf(value, (int)(bits % 200));
    float *to = i < ELEMENTS ? x : y;
    to[i % ELEMENTS] = value;
  }
  for (int i = 0; i < SELDOM * SELDOM; i++) x[i] = seldom[i / SELDOM], y[i] = seldom[i % SELDOM];
}

static const char *const functions[] = {
    "sin %a",     "cos %a",   "tan %a",  "gelu_erf %a", "gelu_tanh %a",   "pow %a, %b", "exp %a",
    "log %a",     "erf %a",   "tanh %a", "sigmoid %a",  "asin %a",        "sinh %a",    "erfinv %a",
    "div %a, %b", "rsqrt %a", "sqrt %a", "mod %a, %b",  "floordiv %a, %b"};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* All functions of two operands, f32 cast to dtype. */
static vf_graph *all_of(vf_context *c, const char *dtype) {
  char text[4096];
  size_t used = (size_t)snprintf(text, sizeof text,
                                 "graph @f(%%x: f32[%d], %%y: f32[%d]) {\n"
                                 "  %%a = cast %%x dtype=%s\n  %%b = cast %%y dtype=%s\n",
                                 ELEMENTS, ELEMENTS, dtype, dtype);
  for (int i = 0; i < FUNCTIONS; i++)
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "  %%c%d = %s\n  %%d%d = cast %%c%d dtype=f32\n", i, functions[i], i, i);
  for (int i = 0; i < FUNCTIONS; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s %%d%d", i ? "," : "  return", i);
  snprintf(text + used, sizeof text - used, "\n}\n");
  return parsed(c, text);
}

static void compare(vf_context *c, const char *dtype) {
  static float got[FUNCTIONS][ELEMENTS], want[FUNCTIONS][ELEMENTS];
  void *got_at[FUNCTIONS], *want_at[FUNCTIONS];
  for (int i = 0; i < FUNCTIONS; i++) got_at[i] = got[i], want_at[i] = want[i];
  vf_graph *g = all_of(c, dtype);
  vf_program *p = vf_compile(g, &error);
  if (!p) fail_msg("%s: %s", dtype, error.message);
  assert_int_equal(vf_program_run(p, (const void *[]){x, y}, got_at, NULL, &error), VF_OK);
  assert_int_equal(vf_evaluate(g, (const void *[]){x, y}, want_at, NULL, &error), VF_OK);
  for (int f = 0; f < FUNCTIONS; f++) {
    for (int i = 0; i < ELEMENTS; i++) {
      float is = got[f][i], should = want[f][i];
      if (isnan(should) ? !isnan(is) : memcmp(&is, &should, sizeof is))
        fail_msg("%s of %s: %a, %a: %a instead of %a", functions[f], dtype, (double)x[i], (double)y[i],
                 (double)is, (double)should);
    }
  }
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static void functions_have_the_same_bits(void **state) {
  static const struct {
    const char *settings, *dtype;
  } cases[] = {{"no_fp64 no_rounding", "f32"},
               {"no_fp64 no_rounding", "bf16"},
               {"gpu no_fp64 no_rounding", "f32"},
               {"gpu no_fp64 no_rounding", "f16"}};
  fill();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i += (size_t)level_step(3)) {
    opencl_set("%s", cases[i].settings);
    vf_context *c = on_opencl();
    compare(c, cases[i].dtype);
    vf_context_destroy(c);
  }
}

OPENCL_TESTS(NULL, NULL, f64_is_refused, functions_have_the_same_bits)
