/* Soft f64 on OpenCL devices (codegen/opencl/soft_float.c): each function against the CPU's doubles, for
 * scalars and for vectors; and that the compiler of the shim's device without f64 has none, so that other
 * tests can rely on it. */
#include <math.h>

#include "codegen/opencl/opencl.h"
#include "runtime/opencl/loader.h"
#include "test/lib/bits.h"
#include "test/lib/level.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

enum { NUMBERS = 1 << 16 };

static rt_cl cl;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

/* The text after the prelude, built with the given settings; NULL: the compiler refuses it. */
static cl_program built(const char *settings, const char *text) {
  ir_text all;
  cl_int code;
  opencl_set("%s", settings);
  ir_text_init(&all, &ir_mem_libc);
  assert_int_equal(cg_opencl_prelude(&(ir_target){.soft_f64 = true, .soft_division = true}, &all), IR_OK);
  ir_text_str(&all, text);
  const char *source = ir_text_get(&all);
  cl_program program = cl.CreateProgramWithSource(context, 1, &source, NULL, &code);
  assert_non_null(program);
  code = cl.BuildProgram(program, 1, &device, "-cl-std=CL1.2 -w", NULL, NULL);
  ir_text_free(&all);
  if (code == CL_SUCCESS) return program;
  cl.ReleaseProgram(program);
  return NULL;
}

static void the_compiler_knows_no_doubles(void **state) {
  static const char *const texts[] = {
      "kernel void k(global double *x) { x[0] = 1; }\n",
      "kernel void k(global float *x) { double4 y = (double4)(x[0]); x[0] = y.s0 > 1; }\n",
      "#ifdef cl_khr_fp64\n#error there are doubles\n#endif\nkernel void k(global float *x) { x[0] = 1; }\n"};
  for (int i = 0; i < 3; i++) {
    cl_program with = built("", texts[i]), without = built("no_fp64", texts[i]);
    assert_true((with != NULL) == (i < 2) && (without != NULL) == (i == 2));
    cl.ReleaseProgram(with ? with : without);
  }
}

/* numbers */

static uint64_t random_bits(void) {
  static uint64_t state = 88172645463325252;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state * 0x2545f4914f6cdd1d;
}

/* Any bits; near 1, with few bits set and with many; subnormal; integers and their halves; floats; ends of
 * ranges. */
static double number(void) {
  static const double ends[] = {0.0,          -0.0,      1.0,        -1.0,      INFINITY,   -INFINITY,
                                NAN,          0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1p1023,   0x1p63,
                                -0x1p63,      0x1p64,    0x1p-149,   0x1p-150,  0x1.8p-150, 0x1.ffffffp127,
                                2147483647.5, -128.9,    0x1p52};
  uint64_t kind = random_bits(), bits = random_bits(), near_one = bits & 0x800fffffffffffff;
  switch (kind % 8) {
  case 0: return ends[kind / 8 % (sizeof ends / sizeof *ends)];
  case 1: return double_of(bits);
  case 2: return double_of(near_one | (983 + kind / 8 % 80) << 52);
  case 3: return double_of((bits << kind / 8 % 52 & 0xfffffffffffff) | (1020 + kind / 8 % 6) << 52);
  case 4: return double_of(bits >> kind / 8 % 60);
  case 5: return double_of((bits & 0x8000000000000000) | (((1022 + bits % 3) << 52) + bits / 4 % 16 - 8));
  case 6: return (double)(int64_t)bits / (double)((uint64_t)1 << kind / 8 % 63);
  default: return (double)float_of((uint32_t)bits);
  }
}

/* The functions: as OpenCL C of a, b and c, and of doubles. Bools are masks of vectors. */
#define TRUTH(e) ((e) ? 1 : 0)
#define TO_FLOAT (double)(float)
#define FUNCTIONS(F)                                                                                         \
  F("vf_fma_soft$(a, b, c)", fma(a, b, c))                                                                   \
  F("vf_add_soft$(a, b)", a + b)                                                                             \
  F("vf_sub_soft$(a, b)", a - b)                                                                             \
  F("vf_mul_soft$(a, b)", a *b)                                                                              \
  F("vf_div_soft$(a, b)", a / b)                                                                             \
  F("vf_sqrt_soft$(a)", sqrt(a))                                                                             \
  F("vf_trunc_soft$(a)", trunc(a))                                                                           \
  F("vf_floor_soft$(a)", floor(a))                                                                           \
  F("vf_ceil_soft$(a)", ceil(a))                                                                             \
  F("vf_rint_soft$(a)", rint(a))                                                                             \
  F("vf_min_soft$(a, b)", least(a, b))                                                                       \
  F("vf_max_soft$(a, b)", -least(-a, -b))                                                                    \
  F("vf_soft$_from_long$(vf_lt_soft$(a, b) & (long$)1)", TRUTH(a < b))                                       \
  F("vf_soft$_from_long$(vf_le_soft$(a, b) & (long$)1)", TRUTH(a <= b))                                      \
  F("vf_soft$_from_long$(vf_eq_soft$(a, b) & (long$)1)", TRUTH(a == b))                                      \
  F("vf_soft$_from_long$(vf_ne_soft$(a, b) & (long$)1)", TRUTH(a != b))                                      \
  F("vf_soft$_from_float$(vf_float$_from_soft$(a))", TO_FLOAT(a))                                            \
  F("vf_soft$_from_float$(vf_to_odd_soft$(a))", to_odd(a))                                                   \
  F("vf_soft$_from_float$(vf_div_float$(vf_float$_from_soft$(a), vf_float$_from_soft$(b)))",                 \
    (double)((float)a / (float)b))                                                                           \
  F("vf_soft$_from_float$(vf_sqrt_float$(vf_float$_from_soft$(a)))", (double)sqrtf((float)a))                \
  F("vf_soft$_from_char$(vf_char$_from_soft$(a))", within(a, -128, 127))                                     \
  F("vf_soft$_from_uchar$(vf_uchar$_from_soft$(a))", within(a, 0, 255))                                      \
  F("vf_soft$_from_short$(vf_short$_from_soft$(a))", within(a, -32768, 32767))                               \
  F("vf_soft$_from_ushort$(vf_ushort$_from_soft$(a))", within(a, 0, 65535))                                  \
  F("vf_soft$_from_int$(vf_int$_from_soft$(a))", within(a, INT32_MIN, INT32_MAX))                            \
  F("vf_soft$_from_uint$(vf_uint$_from_soft$(a))", within(a, 0, UINT32_MAX))                                 \
  F("vf_soft$_from_long$(vf_long$_from_soft$(a))", within(a, -0x1p63, 0x1p63))                               \
  F("vf_soft$_from_ulong$(vf_ulong$_from_soft$(a))", within(a, 0, 0x1p64))                                   \
  F("vf_soft$_from_long$(as_long$(a))", (double)(int64_t)bits_of(a))                                         \
  F("vf_soft$_from_ulong$(as_ulong$(a))", (double)bits_of(a))                                                \
  F("vf_soft$_from_int$(convert_int$(as_ulong$(a)))", (double)(int32_t)(uint32_t)bits_of(a))

static double least(double a, double b) { /* NaN of either, -0 below +0 */
  if (isnan(a) || isnan(b)) return NAN;
  return a < b || (a == b && signbit(a)) ? a : b;
}

static double within(double a, double lowest, double highest) {
  return isnan(a) ? 0 : fmax(lowest, fmin(highest, trunc(a))) + 0.0;
}

/* Rounds a to odd: the float that equals a, or the one of the two around it whose last bit is 1. */
static double to_odd(double a) {
  float f = (float)a;
  uint32_t bits;
  if (isnan(a) || (double)f == a) return (double)f;
  memcpy(&bits, &f, sizeof bits);
  if (bits & 1 && !isinf(f)) return (double)f;
  return (double)nextafterf(f, a > (double)f ? INFINITY : -INFINITY);
}

#define ROW(text, value) text,
static const char *const texts[] = {FUNCTIONS(ROW)};
enum { COUNT = sizeof texts / sizeof *texts };

static double computed(int function, double a, double b, double c) {
#define VALUE(text, value) (value),
  const double all[] = {FUNCTIONS(VALUE)};
  return all[function];
}

/* Replaces `$` by the vector width, which is empty for scalars. */
static void put(ir_text *out, const char *text, const char *width) {
  for (; *text; text++)
    if (*text == '$') ir_text_str(out, width);
    else ir_text_add(out, text, 1);
}

/* In `make test` a third of the functions, those from `first` on. */
static void check(const char *width, int lanes, int first) {
  static uint64_t in[3][NUMBERS], out[NUMBERS];
  ir_text source;
  cl_int code;
  int step = level_step(3);
  ir_text_init(&source, &ir_mem_libc);
  for (int f = first % step; f < COUNT; f += step) {
    ir_textf(&source, "kernel void k%d(", f);
    put(&source,
        "global const soft$ *x, global const soft$ *y, global const soft$ *z, global soft$ *out) {\n", width);
    put(&source, "  size_t i = get_global_id(0);\n  soft$ a = x[i], b = y[i], c = z[i];\n  out[i] = ", width);
    put(&source, texts[f], width);
    ir_text_str(&source, ";\n}\n");
  }
  for (int i = 0; i < NUMBERS; i++) {
    double a = number(), b = number(), c = number();
    if (i % 3 == 0) c = double_of(bits_of(-a * b) + random_bits() % 3 - 1); /* nearly complete cancellation */
    in[0][i] = bits_of(a), in[1][i] = bits_of(b), in[2][i] = bits_of(c);
  }
  cl_program program = built("no_fp64", ir_text_get(&source));
  assert_non_null(program);
  cl_mem buffers[4];
  for (int k = 0; k < 4; k++) {
    buffers[k] = cl.CreateBuffer(context, CL_MEM_READ_WRITE, sizeof out, NULL, &code);
    assert_non_null(buffers[k]);
    if (k < 3) cl.EnqueueWriteBuffer(queue, buffers[k], CL_TRUE, 0, sizeof out, in[k], 0, NULL, NULL);
  }
  for (int f = first % step; f < COUNT; f += step) {
    char name[16];
    snprintf(name, sizeof name, "k%d", f);
    cl_kernel kernel = cl.CreateKernel(program, name, &code);
    assert_non_null(kernel);
    for (cl_uint k = 0; k < 4; k++) cl.SetKernelArg(kernel, k, sizeof(cl_mem), &buffers[k]);
    size_t items = (size_t)NUMBERS / (size_t)lanes;
    assert_int_equal(cl.EnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(cl.EnqueueReadBuffer(queue, buffers[3], CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < NUMBERS; i++) {
      double a = double_of(in[0][i]), b = double_of(in[1][i]), c = double_of(in[2][i]);
      double want = computed(f, a, b, c), got = double_of(out[i]);
      if (isnan(want) ? !isnan(got) : bits_of(want) != bits_of(got))
        fail_msg("%s of %a, %a, %a: %a instead of %a", texts[f], a, b, c, got, want);
    }
    cl.ReleaseKernel(kernel);
  }
  for (int k = 0; k < 4; k++) cl.ReleaseMemObject(buffers[k]);
  cl.ReleaseProgram(program);
  ir_text_free(&source);
}

static void scalars(void **state) { check("", 1, 0); }
static void vectors_of_two(void **state) { check("2", 2, 1); }
static void vectors_of_sixteen(void **state) { check("16", 16, 2); }

static int open_device(void **state) {
  cl_platform_id platform;
  cl_int code = 0;
  ir_error error = {0};
  if (rt_cl_load(NULL, &cl, &error) || cl.GetPlatformIDs(1, &platform, NULL) ||
      cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
    return 1;
  context = cl.CreateContext(NULL, 1, &device, NULL, NULL, &code);
  queue = context ? cl.CreateCommandQueue(context, device, 0, &code) : NULL;
  return queue ? 0 : 1;
}

static int close_device(void **state) {
  cl.ReleaseCommandQueue(queue);
  cl.ReleaseContext(context);
  rt_cl_unload(&cl);
  return 0;
}

OPENCL_TESTS(open_device, close_device, the_compiler_knows_no_doubles, scalars, vectors_of_two,
             vectors_of_sixteen)
