/* exp of what rounds to 0 computes no product that underflows: processors take hundreds of cycles for one. */
#include "test/lib/operation.h"
#include "test/lib/unit.h"

#include <fenv.h>
#include <math.h>

enum { COUNT = 4 };

static bool underflows(ir_dtype type, const void *x, void *out) {
  operation *o = operation_start(IR_OP_EXP, type, COUNT, true);
  feclearexcept(FE_ALL_EXCEPT);
  operation_run(o, x, NULL, out);
  return fetestexcept(FE_UNDERFLOW) != 0;
}

static void of_f32(void **state) {
  const float vanishes[COUNT] = {-104.5f, -200, -1e30f, -INFINITY},
              subnormal[COUNT] = {-100, -95, -90, -88.5f};
  float out[COUNT] = {1, 1, 1, 1};
  assert_false(underflows(IR_F32, vanishes, out));
  for (int i = 0; i < COUNT; i++) assert_true(out[i] == 0 && !signbit(out[i]));
  assert_true(underflows(IR_F32, subnormal, out)); /* the flag is seen */
  for (int i = 0; i < COUNT; i++) assert_true(out[i] > 0);
}

static void of_f64(void **state) {
  const double vanishes[COUNT] = {-746.5, -1000, -1e300, -INFINITY};
  double out[COUNT] = {1, 1, 1, 1};
  assert_false(underflows(IR_F64, vanishes, out));
  for (int i = 0; i < COUNT; i++) assert_true(out[i] == 0 && !signbit(out[i]));
}

UNIT_TESTS(of_f32, of_f64)
