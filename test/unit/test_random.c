/* Random numbers through the C API: against a generator written here from the paper's description, for every
 * dtype and element, and against the distributions that they should have. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

#include <math.h>

/* Threefry-2x32-20, key and counter as 64 bits, low half first */
static void threefry(uint64_t seed, uint64_t counter, uint32_t out[2]) {
  static const unsigned rotation[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t key[3] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0};
  key[2] = 0x1bd11bdau ^ key[0] ^ key[1];
  uint32_t a = (uint32_t)counter + key[0], b = (uint32_t)(counter >> 32) + key[1];
  for (unsigned four = 0; four < 5; four++) {
    for (unsigned i = 0; i < 4; i++) {
      unsigned r = rotation[four % 2][i];
      a += b;
      b = (b << r | b >> (32 - r)) ^ a;
    }
    a += key[(four + 1) % 3];
    b += key[(four + 2) % 3] + four + 1;
  }
  out[0] = a, out[1] = b;
}

static double uniform32(uint64_t seed, uint64_t i) {
  uint32_t w[2];
  threefry(seed, i / 2, w);
  return (w[i % 2] >> 8) * 0x1p-24;
}
static uint64_t bits53(uint64_t seed, uint64_t i) {
  uint32_t w[2];
  threefry(seed, i, w);
  return ((uint64_t)w[1] << 32 | w[0]) >> 11;
}

static const uint64_t seeds[] = {0, 1, 7, UINT64_MAX, 0x8000000000000000, 0x123456789abcdef0, 0xffffffff};
enum { SEEDS = sizeof seeds / sizeof *seeds, COUNT = 4099 };

/* Compile the graph with this output and run it: one kernel. */
static void run_compiled(vf_graph *graph, vf_value value, const void *const *inputs, void *out) {
  vf_output(graph, "y", value);
  vf_program *program = api_compile(graph);
  api_run(program, inputs, &out, NULL);
  vf_stats stats = {.size = sizeof stats};
  assert_true(vf_program_stats(program, &stats));
  assert_int_equal(stats.launches, 1);
}

/* Evaluates it as well: the bytes must be the same. */
static void run(vf_graph *graph, vf_value value, const void *const *inputs, void *out, size_t bytes) {
  void *again = malloc(bytes);
  run_compiled(graph, value, inputs, out);
  api_evaluate(graph, inputs, &again, NULL);
  assert_memory_equal(out, again, bytes);
  free(again);
}

static void the_generator_gives_the_published_words(void **state) {
  static const uint32_t known[3][6] = {
      {0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
      {0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0},
  };
  vf_context *context = api_context();
  for (int given = 0; given < 2; given++) /* as constants, and as inputs of three elements */
    for (int word = 0; word < 2; word++) {
      vf_graph *graph = api_graph(context, "known");
      uint32_t columns[4][3], out[3];
      vf_value x[4], words[2];
      for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 3; i++) columns[k][i] = known[i][k];
        x[k] = given ? vf_input(graph, (char[2]){(char)('a' + k), 0}, VF_U32, VF_LIST(3))
                     : vf_data(graph, VF_U32, VF_LIST(3), columns[k]);
      }
      assert_int_equal(vf_threefry2x32(x, x + 2, words), 2);
      vf_output(graph, "y", words[word]);
      vf_program *program = api_compile(graph);
      const void *inputs[] = {columns[0], columns[1], columns[2], columns[3]};
      api_run(program, inputs, (void *[]){out}, NULL);
      for (int i = 0; i < 3; i++) assert_int_equal(out[i], known[i][4 + word]);
    }
}

static void uniform_f32(vf_context *context, uint64_t seed) {
  static float out[COUNT];
  vf_graph *graph = api_graph(context, "uniform");
  vf_value s = vf_constant(graph, VF_U64, &seed);
  run(graph, vf_uniform(s, VF_F32, VF_LIST(1, COUNT), 0, 1), NULL, out, sizeof out);
  for (int i = 0; i < COUNT; i++) assert_true(out[i] == uniform32(seed, (uint64_t)i));
}

static void uniform_f64(vf_context *context, uint64_t seed) {
  static double out[COUNT];
  vf_graph *graph = api_graph(context, "uniform");
  vf_value s = vf_constant(graph, VF_U64, &seed);
  run(graph, vf_uniform(s, VF_F64, VF_LIST(COUNT), -3, 5), NULL, out, sizeof out);
  for (int i = 0; i < COUNT; i++) assert_true(out[i] == -3 + (double)bits53(seed, (uint64_t)i) * 0x1p-53 * 8);
}

static void bernoulli(vf_context *context, uint64_t seed) {
  static bool out[COUNT];
  static const double p[] = {0, 0.25, 0.3, 1};
  for (int k = 0; k < 4; k++) {
    vf_graph *graph = api_graph(context, "bernoulli");
    vf_value s = vf_constant(graph, VF_U64, &seed);
    run(graph, vf_bernoulli(s, VF_LIST(COUNT), p[k]), NULL, out, sizeof out);
    for (int i = 0; i < COUNT; i++) assert_int_equal(out[i], uniform32(seed, (uint64_t)i) < (float)p[k]);
  }
}

/* A draw in f64, put through the library's erfc, comes back: Phi(z) = u to within what rounding z allows. */
static void normal(vf_context *context, uint64_t seed) {
  static double out[COUNT];
  static float narrow[COUNT];
  vf_graph *graph = api_graph(context, "normal");
  run(graph, vf_normal(vf_constant(graph, VF_U64, &seed), VF_F64, VF_LIST(COUNT), 0, 1), NULL, out,
      sizeof out);
  graph = api_graph(context, "normal");
  run(graph, vf_normal(vf_constant(graph, VF_U64, &seed), VF_F32, VF_LIST(COUNT), 0, 1), NULL, narrow,
      sizeof narrow);
  for (int i = 0; i < COUNT; i++) {
    uint64_t k = bits53(seed, (uint64_t)i), most = ((uint64_t)1 << 53) - 1;
    bool lower = k <= most / 2;
    double low = ldexp((double)(lower ? k : most - k) + 0.5, -53);
    assert_true(fabs(0.5 * erfc(fabs(out[i]) * 0.70710678118654752) / low - 1) < 1e-13);
    assert_true((out[i] < 0) == lower);
    double u = uniform32(seed, (uint64_t)i) + 0x1p-25;
    low = u < 0.5 ? u : 1 - u;
    assert_true(fabs(0.5 * erfc(fabs((double)narrow[i]) * 0.70710678118654752) / low - 1) < 1e-5);
    assert_true((narrow[i] < 0) == (u < 0.5));
  }
}

static void draws_are_functions_of_seed_and_place(void **state) {
  vf_context *context = api_context();
  for (int k = 0; k < SEEDS; k++) {
    uniform_f32(context, seeds[k]);
    uniform_f64(context, seeds[k]);
    bernoulli(context, seeds[k]);
    normal(context, seeds[k]);
  }
}

/* One program, run with several seeds; seeds of narrow dtypes are sign-extended. */
static void seeds_may_be_inputs(void **state) {
  static const vf_dtype dtypes[] = {VF_U64, VF_I64, VF_U32, VF_I32, VF_I8, VF_U16};
  vf_context *context = api_context();
  for (int d = 0; d < 6; d++)
    for (int k = 0; k < SEEDS; k++) {
      vf_graph *graph = api_graph(context, "seeded");
      vf_value seed = vf_input(graph, "seed", dtypes[d], VF_ALL);
      uint64_t bits = seeds[k], whole = bits;
      size_t width = 8 * vf_dtype_bytes(dtypes[d]);
      bool is_signed = dtypes[d] == VF_I64 || dtypes[d] == VF_I32 || dtypes[d] == VF_I8;
      if (width < 64) whole &= ((uint64_t)1 << width) - 1;
      if (is_signed && width < 64 && whole >> (width - 1)) whole |= ~(uint64_t)0 << width;
      float out[5]; /* little-endian: the low bytes of bits are the narrow seed */
      run(graph, vf_uniform(seed, VF_F32, VF_LIST(5), 0, 1), (const void *[]){&bits}, out, sizeof out);
      for (int i = 0; i < 5; i++) assert_true(out[i] == uniform32(whole, (uint64_t)i));
    }
}

/* Elements far beyond 2^32 of an array that is never stored, which use the counter's high half; f32 and
 * f64. */
static void places_have_64_bits(void **state) {
  vf_context *context = api_context();
  const int64_t size = (int64_t)1 << 40,
                starts[] = {0, ((int64_t)1 << 32) - 3, ((int64_t)1 << 33) - 3, size - 6};
  for (int k = 0; k < 4; k++) {
    float out[6];
    double wide[6];
    vf_graph *graph = api_graph(context, "far");
    vf_value x = vf_uniform(vf_integer(graph, 11), VF_F32, VF_LIST(size), 0, 1);
    run_compiled(graph, vf_shrink(x, VF_LIST(starts[k], starts[k] + 6)), NULL, out);
    graph = api_graph(context, "far");
    x = vf_uniform(vf_integer(graph, 11), VF_F64, VF_LIST(size / 4, 4), 0, 1);
    run_compiled(graph, vf_shrink(vf_reshape(x, VF_LIST(size)), VF_LIST(starts[k], starts[k] + 6)), NULL,
                 wide);
    for (int i = 0; i < 6; i++) {
      uint64_t at = (uint64_t)(starts[k] + i);
      assert_true(out[i] == uniform32(11, at));
      assert_true(wide[i] == (double)bits53(11, at) * 0x1p-53);
    }
  }
}

static void sizes_may_vary(void **state) {
  static const char text[] = "graph @vary(%x: f32[n=0..9,3]) {\n  %r = uniform shape=[n,3] seed=7\n"
                             "  %y = add %r, %x\n  return %y\n}\n";
  vf_graph *graph = api_parse(api_context(), text);
  vf_program *program = api_compile(graph);
  for (int64_t n = 0; n < 10; n++) {
    float x[27] = {0}, out[27];
    api_run(program, (const void *[]){x}, (void *[]){out}, &n);
    for (int i = 0; i < 3 * n; i++) assert_true(out[i] == uniform32(7, (uint64_t)i));
  }
}

/* Narrow results: rounded to nearest, and never the upper bound although rounding would reach it. */
static void narrow_draws_stay_below_the_upper_bound(void **state) {
  enum { MANY = 20000 };
  static uint16_t half[MANY];
  static float single[MANY];
  vf_context *context = api_context();
  for (int kind = 0; kind < 2; kind++) {
    vf_graph *graph = api_graph(context, "narrow");
    run(graph, vf_uniform(vf_integer(graph, 3), kind ? VF_BF16 : VF_F16, VF_LIST(MANY), 0, 1), NULL, half,
        sizeof half);
    uint16_t one = kind ? 0x3f80 : 0x3c00;
    int reached = 0;
    for (int i = 0; i < MANY; i++) assert_true(half[i] < one), reached += half[i] == one - 1;
    assert_true(reached > 0);
  }
  vf_graph *graph = api_graph(context, "narrow"); /* two floats in [1, 1 + 2^-22) */
  run(graph, vf_uniform(vf_integer(graph, 3), VF_F32, VF_LIST(MANY), 1, 1 + 0x1p-22), NULL, single,
      sizeof single);
  int lower = 0;
  for (int i = 0; i < MANY; i++)
    assert_true(single[i] == 1 || single[i] == 1 + 0x1p-23f), lower += single[i] == 1;
  assert_true(lower > MANY / 8 && lower < MANY / 2);
  graph = api_graph(context, "narrow"); /* up to 0: the next value below is the least subnormal */
  run(graph, vf_uniform(vf_integer(graph, 3), VF_F32, VF_LIST(MANY), -0x1p-149, 0), NULL, single,
      sizeof single);
  for (int i = 0; i < MANY; i++) assert_true(single[i] == -0x1p-149f);
}

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* The Kolmogorov-Smirnov statistic: sqrt(n) times the greatest distance between the distributions exceeds
 * 1.95 in one of 1000 cases. Seeds are fixed, so the result is too. */
static void check_distribution(float *x, int n, double (*below)(double)) {
  double worst = 0;
  qsort(x, (size_t)n, sizeof *x, ascending);
  for (int i = 0; i < n; i++) {
    double p = below(x[i]), above = (i + 1.0) / n - p, under = p - (double)i / n;
    worst = fmax(worst, fmax(above, under));
  }
  if (!(worst * sqrt(n) < 1.95)) fail_msg("Kolmogorov: %g", worst * sqrt(n));
}
static double uniform_below(double x) { return (x + 2) / 5; }
static double normal_below(double x) { return 0.5 * erfc(-(x - 1.5) / 0.25 * 0.70710678118654752); }

static void check_moments(const float *x, int n, double mean, double variance, double fourth) {
  double sum = 0, square = 0, lag = 0;
  for (int i = 0; i < n; i++) sum += x[i];
  for (int i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
  for (int i = 0; i + 1 < n; i++) lag += (x[i] - mean) * (x[i + 1] - mean);
  /* four standard errors */
  assert_true(fabs(sum / n - mean) < 4 * sqrt(variance / n));
  assert_true(fabs(square / n - variance) < 4 * sqrt((fourth - variance * variance) / n));
  assert_true(fabs(lag / n) < 4 * variance / sqrt(n));
}

static void draws_have_their_distributions(void **state) {
  enum { MANY = 1 << 17 };
  float *x = malloc(MANY * sizeof *x);
  vf_context *context = api_context();
  for (int k = 0; k < 4; k++) {
    vf_graph *graph = api_graph(context, "uniform");
    run(graph, vf_uniform(vf_integer(graph, k), VF_F32, VF_LIST(MANY), -2, 3), NULL, x, MANY * sizeof *x);
    check_moments(x, MANY, 0.5, 25 / 12., 625 / 80.);
    check_distribution(x, MANY, uniform_below);
    graph = api_graph(context, "normal");
    run(graph, vf_normal(vf_integer(graph, k), VF_F32, VF_LIST(MANY), 1.5, 0.25), NULL, x, MANY * sizeof *x);
    check_moments(x, MANY, 1.5, 0.0625, 3 * 0.0625 * 0.0625);
    check_distribution(x, MANY, normal_below);
  }
  free(x);
}

UNIT_TESTS(the_generator_gives_the_published_words, draws_are_functions_of_seed_and_place,
           seeds_may_be_inputs, places_have_64_bits, sizes_may_vary, narrow_draws_stay_below_the_upper_bound,
           draws_have_their_distributions)
