/* Recording compositions: the types of their results, and the exact words with which they refuse. */
#include "test/lib/record.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

typedef struct typed {
  const char *line;
  const char *types; /* of each result, in order */
} typed;

static void check_typed(const typed *c) {
  recorder r;
  assert_true(record_start(&r, -1));
  ir_ref x = record_line(&r, c->line);
  if (!x) fail_msg("%s: refused: %s", c->line, r.error.text);
  ir_text text;
  ir_text_init(&text, &r.mem);
  bool several = ir_op_of(&r.g, x) == IR_OP_TUPLE;
  for (uint32_t i = 0; i < (several ? ir_get(&r.g, x)->nsrc : 1); i++) {
    if (i) ir_text_str(&text, " ");
    ir_print_type(&r.g, several ? ir_src(&r.g, x, i) : x, &text);
  }
  if (strcmp(c->types, ir_text_get(&text)) != 0)
    fail_msg("%s:\n  expected %s\n  found    %s", c->line, c->types, ir_text_get(&text));
  ir_text_free(&text);
  record_stop(&r);
}

static void test_softmax(void **state) {
  static const typed good[] = {
      {"softmax f32[2,3]", "f32[2,3]"},
      {"softmax f16[2,3] axis=0", "f16[2,3]"},
      {"log_softmax bf16[n,m] axis=-2", "bf16[n,m]"},
      {"log_softmax bool[2]", "f32[2]"},
      {"softmax i64[2,0,3] axis=0", "f64[2,0,3]"},
      {"logsumexp u8[2,3]", "f32[]"},
      {"logsumexp f64[2,n] axes=[1]", "f64[2]"},
      {"logsumexp f16[2,n] axis=0 keepdims=true", "f16[1,n]"},
      {"logsumexp f32[2,3] axes=[]", "f32[2,3]"},
      {"logsumexp 3", "f32[]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"softmax f32[2,3] axis=2",
       "softmax: axis 2 is out of range; x has shape f32[2,3]; the axis lies in -2..1"},
      {"softmax f32[]", "softmax: axis -1 is out of range; x has shape f32[], which has no axes"},
      {"log_softmax f32[2,0]",
       "log_softmax: axis 1 has size 0; x has shape f32[2,0]; nothing has no extremum: each "
       "reduced size is at least 1"},
      {"softmax f32[z]",
       "softmax: axis 0 has size z; x has shape f32[z]; nothing has no extremum: each reduced size is "
       "at least 1; needs z >= 1, known: 0 <= z <= 5; declare z=1..5"},
      {"logsumexp f32[2,3] axes=[0,-2]",
       "logsumexp: axes [0,-2] repeat axis 0; x has shape f32[2,3]; each axis is listed at most once"},
      {"softmax $n", "softmax: operand 1 is the index expression n, not a tensor"},
      {"softmax f32[2] eps=1", "softmax: there is no attribute eps; attributes: axis"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_moments(void **state) {
  static const typed good[] = {
      {"var f32[2,3]", "f32[]"},
      {"std i32[2,3] axes=[0] correction=1", "f32[3]"},
      {"var f16[n,3] axis=0 keepdims=true correction=0.5", "f16[1,3]"},
      {"std u64[0,3] axis=0", "f64[3]"},
      {"std 2 correction=1", "f32[]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"var f32[2,3] axes=[2]", "var: axis 2 is out of range; x has shape f32[2,3]; the axis lies in -2..1"},
      {"std f32[2] axis=1 correction=1",
       "std: axis 1 is out of range; x has shape f32[2]; the axis lies in -1..0"},
      {"std f32[2] correction=-1",
       "std: the correction -1 of x, of shape f32[2], is no count; takes 0 <= correction < 2^53"},
      {"var f32[2] correction=nan",
       "var: the correction nan of x, of shape f32[2], is no count; takes 0 <= correction < 2^53"},
      {"var f32[2] correction=true", "var: attribute correction is true; it is a number, such as 1"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_norms(void **state) {
  static const typed good[] = {
      {"layer_norm f32[2,3]", "f32[2,3]"},
      {"layer_norm f16[2,3] f16[3] f16[3]", "f16[2,3]"},
      {"layer_norm f16[2,3] f32[3]", "f32[2,3]"},
      {"layer_norm i8[4,2,3] f16[3] f16[2,1] axis=1 eps=0", "f16[4,2,3]"},
      {"rms_norm f32[n,m] f32[m] eps=1e-6", "f32[n,m]"},
      {"rms_norm bf16[0,3]", "bf16[0,3]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"layer_norm f32[2,3] f32[2]", "layer_norm: the weight has shape f32[2]; x has shape f32[2,3], "
                                     "normalised over its last 1 axis; the sizes of a "
                                     "weight are those of these axes, or 1"},
      {"layer_norm f32[4,2,3] f32[3] f32[4,2,3] axis=-2",
       "layer_norm: the bias has shape f32[4,2,3]; x has shape f32[4,2,3], normalised over its last 2 axes; "
       "the sizes of "
       "a bias are those of these axes, or 1"},
      {"rms_norm f32[2,n] f32[4]",
       "rms_norm: the weight has shape f32[4]; x has shape f32[2,n], normalised over its last 1 axis; the "
       "sizes of a "
       "weight are those of these axes, or 1; needs 4 == n, known: 1 <= n <= 8; declare n=4..4"},
      {"rms_norm f32[2] eps=-1", "rms_norm: eps is -1; x has shape f32[2]; takes a finite number >= 0"},
      {"layer_norm f32[]", "layer_norm: axis -1 is out of range; x has shape f32[], which has no axes"},
      {"layer_norm f32[2] f32[2] f32[2] f32[2]", "layer_norm: 4 operands given; takes 1 to 3"},
  };
  CHECK_ALL(check_refused, bad);
}

/* Running out of memory at any allocation is an error, and nothing is lost. What it is called, callers know.
 */
static void test_any_allocation_may_fail(void **state) {
  static const char *const lines[] = {
      "softmax f16[2,n]",
      "log_softmax i32[2,3]",
      "logsumexp f32[2,3] axes=[1]",
      "std f16[n,3] correction=1",
      "layer_norm f16[2,n] f32[n] f32[1]",
      "rms_norm f32[2,3]",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    for (long budget = 0;; budget++) {
      recorder r;
      assert_true(budget < 2000);
      if (!record_start(&r, budget)) continue;
      bool made = record_line(&r, lines[i]) != 0, done = r.budget > 0;
      if (!made) assert_int_not_equal(r.error.status, IR_OK);
      record_stop(&r);
      if (done) break;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_moments),
      cmocka_unit_test(test_norms),
      cmocka_unit_test(test_any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
