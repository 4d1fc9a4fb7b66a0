/* Prefixes and suffixes over the lanes of a vector, compiled for several sets of features: vectors that fill
 * a register, a part of one, and several. Elements are small integers, so that sums of floats are exact in
 * any order. */
#include <math.h>
#include <string.h>

#include "test/lib/kernels.h"
#include "test/lib/unit.h"

enum { ROWS = 3, MOST_LANES = 32, MOST = ROWS * MOST_LANES };

typedef struct kind {
  const char *name;
  double (*get)(const void *memory, int at);
  void (*put)(void *memory, int at, double x);
} kind;

#define KIND(type)                                                                                           \
  static double get_##type(const void *memory, int at) { return (double)((const type *)memory)[at]; }        \
  static void put_##type(void *memory, int at, double x) { ((type *)memory)[at] = (type)x; }
KIND(float)
KIND(double)
KIND(int8_t)
KIND(int32_t)
KIND(int64_t)

static const kind kinds[] = {{"f32", get_float, put_float},
                             {"f64", get_double, put_double},
                             {"i8", get_int8_t, put_int8_t},
                             {"i32", get_int32_t, put_int32_t},
                             {"i64", get_int64_t, put_int64_t}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double add(double a, double b) { return a + b; }
static double mul(double a, double b) { return a * b; }
static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

static const struct {
  const char *name, *identity;
  double (*combine)(double, double);
} operations[] = {{"add", "0", add}, {"mul", "1", mul}, {"min", "100", least}, {"max", "-100", most}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Products stay within i8. */
static double element(int operation, int row, int lane) {
  if (operation == 1) return lane % 7 == row ? -2 : 1;
  return (double)((lane * 5 + row * 3) % 8) - 3;
}

static ir_ref kernel_of(const char *word, int operation, const kind *k, int lanes) {
  int64_t numbers[] = {(int64_t)ROWS * lanes, lanes};
  char identity[32];
  snprintf(identity, sizeof identity, "%s%s", operations[operation].identity, *k->name == 'f' ? ".0" : "");
  const char *words[] = {k->name, word, operations[operation].name, identity};
  return k_parse("kernel @k(p0: $a[$0], p1: $a[$0]) {\n"
                 "  for ridx0 in 0..3 {\n"
                 "    for ridx1 in 0..$1 vector {\n"
                 "      %0 = load p1[((ridx0*$1)+ridx1)] : $a\n"
                 "      %1 = $b $c %0, $a($d) over ridx1 : $a\n"
                 "      store p0[((ridx0*$1)+ridx1)] = %1\n"
                 "    }\n"
                 "  }\n"
                 "}\n",
                 numbers, words);
}

/* want: what the lanes from the first on, or to the last, make one after the other. */
static void check(const char *word, int operation, const kind *k, int lanes) {
  bool suffix = word[0] == 's';
  k_begin();
  ir_ref kernel = kernel_of(word, operation, k, lanes);
  K_EACH_TARGET(t) {
    int64_t in[MOST] = {0}, out[MOST] = {0}, status = 0;
    for (int i = 0; i < ROWS * lanes; i++) k->put(in, i, element(operation, i / lanes, i % lanes));
    k_code code = k_compile(&k_graph, kernel, &t.target);
    code.run((void *[]){out, in, &status}, NULL, 0, 0, code.scratch);
    for (int i = 0; i < ROWS * lanes; i++) {
      int row = i / lanes * lanes, step = suffix ? -1 : 1, at = suffix ? row + lanes - 1 : row;
      double want = k->get(in, at);
      while (at != i) at += step, want = operations[operation].combine(want, k->get(in, at));
      if (k->get(out, i) != want)
        fail_msg("%s: %s %s of %d lanes of %s: lane %d of row %d is %g, not %g", t.name, word,
                 operations[operation].name, lanes, k->name, i % lanes, i / lanes, k->get(out, i), want);
    }
  }
}

static void all_operations(void **state) {
  for (int operation = 0; operation < OPERATIONS; operation++)
    for (int suffix = 0; suffix < 2; suffix++)
      for (int k = 0; k < KINDS; k++) check(suffix ? "suffix" : "prefix", operation, &kinds[k], 16);
}

static void all_widths(void **state) {
  static const int widths[] = {2, 4, 8, MOST_LANES};
  for (int w = 0; w < 4; w++)
    for (int suffix = 0; suffix < 2; suffix++)
      for (int k = 0; k < 2; k++) check(suffix ? "suffix" : "prefix", 0, &kinds[k], widths[w]);
}

/* Infinities and NaNs stay in the lanes from theirs on. */
static void special_values_stay_where_they_are(void **state) {
  enum { LANES = 16, AT = 6 };
  k_begin();
  ir_ref kernel = kernel_of("prefix", 0, &kinds[0], LANES);
  K_EACH_TARGET(t) {
    float in[ROWS * LANES] = {0}, out[ROWS * LANES];
    int64_t status = 0;
    for (int i = 0; i < ROWS * LANES; i++) in[i] = 1;
    in[AT] = INFINITY, in[LANES + AT] = NAN;
    k_code code = k_compile(&k_graph, kernel, &t.target);
    code.run((void *[]){out, in, &status}, NULL, 0, 0, code.scratch);
    for (int i = 0; i < LANES; i++) {
      assert_true(i < AT ? out[i] == (float)(i + 1) : isinf(out[i]));
      assert_true(i < AT ? out[LANES + i] == (float)(i + 1) : isnan(out[LANES + i]));
      assert_true(out[2 * LANES + i] == (float)(i + 1));
    }
  }
}

UNIT_TESTS_EACH(k_enter, k_leave, all_operations, all_widths, special_values_stay_where_they_are)
