/* Cumulative operations and sorting: what is recorded, what is refused, failing allocations, and the error of
 * a long sum. */
#include "test/lib/api.h"
#include "passes/lower/lower.h"
#include "test/lib/record.h"
#include "test/lib/unit.h"

#include <math.h>

static void test_recorded(void **state) {
  static const record_accepted cases[] = {
      {"cumsum f32[2,3] axis=-1", "f32[2,3]", "cumsum(a;1)"},
      {"cumsum bool[4] axis=0", "i32[4]", "cumsum(cast(a:i32))"},
      {"cumprod u8[n] axis=0", "u32[n]", "cumprod(cast(a:u32))"},
      {"cumprod bf16[0] axis=0", "bf16[0]", "cumprod(a)"},
      {"cummax bool[4] axis=0", "bool[4]", "cummax(a)"},
      {"cummin i8[2,n] axis=0 reverse=true", "i8[2,n]", "flip(cummin(flip(a,0)),0)"},
      {"sort f16[n,m]", "f16[n,m]", "sort(a;1)"},
      {"argsort u64[3,2] axis=0", "i64[3,2]", "argsort(a)"},
      {"stored f32[2]", "f32[2]", "stored(a)"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_refused(void **state) {
  static const record_refused cases[] = {
      {"cumsum f32[2,3]",
       "cumsum: attribute axis is missing; it is an axis, such as 0, or its letter, such as \"c\""},
      {"cumprod f32[2,3] axis=2",
       "cumprod: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
      {"cummin f32[] axis=0", "cummin: axis 0 is out of range; x has shape f32[], which has no axes"},
      {"cummax f32[2] axis=0 exclusive=true",
       "cummax: there is no attribute exclusive; attributes: axis, reverse"},
      {"cumsum f32[2] axis=0 exclusive=1", "cumsum: attribute exclusive is 1; it is true or false"},
      {"sort f32[2] axis=1", "sort: axis 1 is out of range; x has shape f32[2]; the axis must lie in -1..0"},
      {"sort i8[4294967297]", "sort: axis 0 has size 4294967297; x has shape i8[4294967297]; at most 2^32 "
                              "elements are sorted"},
      {"topk f32[2,3] k=4",
       "topk: k is 4; axis 1 of x, of shape f32[2,3], has size 3; k is from 0 to the size"},
      {"topk f32[3] k=-1",
       "topk: k is -1; axis 0 of x, of shape f32[3], has size 3; k is from 0 to the size"},
      {"topk f32[n] k=2",
       "topk: k is 2; axis 0 of x, of shape f32[n], has size n; k is from 0 to the size; needs "
       "n >= 2, known: 1 <= n <= 8; declare n=2..8"},
      {"argsort (n)",
       "argsort: operand 1 is the index expression n, not a tensor; its value as one is the sum of ones: "
       "%o = ones shape=[n] dtype=i64; %s = sum %o"},
  };
  CHECK_ALL(check_refused, cases);
}

static void test_null_propagates(void **state) {
  recorder *r = record_begin();
  ir_graph *g = &r->g;
  assert_int_equal(op_cumulative(g, IR_OP_CUMSUM, 0, 0, true, true) | op_topk(g, 0, 1, 0, true), 0);
  assert_int_equal(op_sort(g, IR_OP_SORT, 0, 0, false) | op_lines(g, 0, 0) | op_take_lines(g, 0, 0), 0);
  assert_int_equal(r->error.status, IR_OK);
  ir_ref x = record_line(r, "neg f32[3]");
  assert_int_equal(op_cumulative(g, IR_OP_SUM, x, 0, false, false), 0);
  assert_string_equal(r->error.text, "sum is no cumulative operation");
}

static bool records_and_lowers(recorder *r, const char *line) {
  ir_ref made = record_line(r, line);
  if (made && ir_op_of(&r->g, made) != IR_OP_TUPLE) made = ir_tuple(&r->g, &made, 1);
  return made && pass_lower(&r->g, made, &pass_on_cpu, false) && pass_lower(&r->g, made, &pass_on_cpu, true);
}

/* Recording and lowering while any allocation fails: an error, and nothing leaks. */
static void test_any_allocation_may_fail(void **state) {
  static const char *const lines[] = {
      "cumsum f16[2,n] axis=1 exclusive=true reverse=true",
      "cummin i8[40] axis=0",
      "sort f64[n]",
      "topk u8[2,3] k=2 axis=0",
      "argsort f32[2,3] axis=0 descending=true",
  };
  record_short_of_memory(records_and_lowers, lines, sizeof lines / sizeof *lines, true);
}

/* Every prefix of n equal elements is within 128 u times its sum; a sequential sum would exceed that
 * bound. */
static void test_long_sums(void **state) {
  enum { N = 300000 };
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "long");
  vf_output(g, "y", vf_cumsum(vf_input(g, "x", VF_F32, VF_LIST(N)), 0));
  vf_program *program = api_compile(g);
  float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
  for (int i = 0; i < N; i++) x[i] = 0.1f;
  api_run(program, (const void *[]){x}, (void *[]){y}, NULL);
  float one_by_one = 0;
  double worst = 0, naive = 0, bound = 128 * 0x1p-24;
  for (int i = 0; i < N; i++) {
    double exact = (i + 1) * (double)0.1f;
    one_by_one += 0.1f;
    worst = fmax(worst, fabs(y[i] - exact) / exact);
    naive = fmax(naive, fabs(one_by_one - exact) / exact);
  }
  assert_true(worst <= bound);
  assert_true(naive > bound);
  free(x);
  free(y);
}

UNIT_TESTS(test_recorded, test_refused, test_null_propagates, test_any_allocation_may_fail, test_long_sums)
