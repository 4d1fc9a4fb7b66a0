/* The prover itself: wrong rules must be refuted, and conditions that are needed must be found to be
 * needed. */
#include "passes/index/index.h"
#include "test/lib/unit.h"
#include "test/prove/from_graph.h"
#include "test/prove/rule_text.h"

enum { VALUES = 256, SOLVER_BUDGET = 10000000 };

static verdict solve(const obligation *o, int64_t *values) {
  solver *s = solver_new(SOLVER_BUDGET);
  verdict v = solver_prove(s, o, values);
  solver_free(s);
  return v;
}

/* Checks the verdicts of the solver and of the points. */
static void judge(const char *left, const char *right, const char *condition, const char *witness,
                  verdict by_solver, point by_points) {
  const pass_rule rule = {"rule", left, right, condition, witness, "why"};
  int64_t values[VALUES] = {0};
  trial t = {1000000, 100000, 1, 0, false};
  obligation o;
  assert_true(rule_obligation(&rule, &o));
  assert_int_equal(solve(&o, values), by_solver);
  if (by_solver == VERDICT_REFUTED) assert_int_equal(obligation_at(&o, CONJUNCT_NONE, values), POINT_FAILS);
  assert_int_equal(obligation_try(&o, CONJUNCT_NONE, &t, values), by_points);
  obligation_free(&o);
}

static void test_right_rules(void **state) {
  judge("(x + c) // d", "x // d + c / d", "c % d == 0", "", VERDICT_PROVEN, POINT_HOLDS);
  judge("(x * a + y) // d", "x * (a / d) + y // d", "a % d == 0", "", VERDICT_PROVEN, POINT_HOLDS);
  judge("(x % a) % b", "x % b", "a % b == 0", "x // b == (a / b) * (x // a) + (x % a) // b", VERDICT_PROVEN,
        POINT_HOLDS);
  judge("max(x, y) < c", "(x < c) & (y < c)", "", "", VERDICT_PROVEN, POINT_HOLDS);
  judge("where(x >= c, y, z)", "where(x < c, z, y)", "", "", VERDICT_PROVEN, POINT_HOLDS);
  judge("min(x, c)", "x", "hi(x) <= c", "", VERDICT_PROVEN, POINT_HOLDS);
}

static void test_wrong_rules(void **state) {
  judge("(x + c) // d", "x // d + c / d", "", "", VERDICT_REFUTED, POINT_FAILS);
  judge("x // a < b", "x < a * b + 1", "", "", VERDICT_REFUTED, POINT_FAILS);
  judge("x // a", "(0 - 1) * (((0 - 1) * x) // a)", "", "", VERDICT_REFUTED, POINT_FAILS); /* it rounds up */
  judge("max(x, y) < c", "(x < c) | (y < c)", "", "", VERDICT_REFUTED, POINT_FAILS);
  judge("where(p, x, y)", "where(!p, x, y)", "", "", VERDICT_REFUTED, POINT_FAILS);
  judge("min(x, c)", "x", "lo(x) <= c", "", VERDICT_REFUTED, POINT_FAILS);
}

/* a divisor for which the builder would refuse the division */
static void test_divisors_of_the_right_side(void **state) {
  judge("(x // a) // b", "x // (a * b)", "", "", VERDICT_PROVEN, POINT_HOLDS);
  judge("x // a * 0", "x // (a - 1) * 0", "", "", VERDICT_REFUTED, POINT_FAILS);
}

/* no counterexample on the small domain, which is no proof */
static void test_true_of_small_numbers_only(void **state) {
  judge("min(x, 16)", "x", "", "", VERDICT_REFUTED, POINT_HOLDS);
  judge("x < 1", "x < 2", "x != 1", "", VERDICT_PROVEN, POINT_HOLDS);
}

static void test_conjuncts(void **state) {
  const pass_rule rule = {"rule", "(x + c) // d", "x // d + c / d", "c % d == 0 & c < 9", "", "why"};
  int64_t values[VALUES] = {0};
  trial t = {1000000, 100000, 1, 0, false};
  obligation o;
  assert_true(rule_obligation(&rule, &o));
  assert_int_equal(o.conjuncts, 2);
  assert_int_equal(obligation_try(&o, 0, &t, values), POINT_FAILS);
  assert_int_equal(obligation_try(&o, 1, &t, values), POINT_HOLDS); /* the condition is not needed */
  obligation_free(&o);
}

/* rewrites of a graph: ranges keep their extents, equal leaves are one variable */
static verdict rewrite(ir_graph *g, ir_ref given, ir_op op, ir_ref a, ir_ref b, ir_ref result) {
  int64_t values[VALUES] = {0};
  obligation o;
  obligation_of_rewrite(g, "divide", given, op, (ir_ref[]){a, b}, 2, result, &o);
  verdict v = solve(&o, values);
  obligation_free(&o);
  return v;
}

static ir_ref range(ir_graph *g, ir_ref extent, int64_t axis) {
  return ir_make(g, IR_OP_RANGE, IR_INDEX, axis, &extent, 1);
}

static void test_rewrites(void **state) {
  ir_error error = {0};
  ir_graph g;
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  ir_ref n = ir_var(&g, "n", 1, 1, 50, 1), x = range(&g, ir_index(&g, 12), 0), y = range(&g, n, 1);
  ir_ref three = ir_index(&g, 3), zero = ir_index(&g, 0);
  ir_ref low = pass_compare(&g, IR_OP_LT, x, three);
  assert_int_equal(rewrite(&g, 0, IR_OP_FLOORDIV, x, ir_index(&g, 12), zero), VERDICT_PROVEN);
  assert_int_equal(rewrite(&g, 0, IR_OP_FLOORDIV, x, ir_index(&g, 11), zero), VERDICT_REFUTED);
  assert_int_equal(rewrite(&g, 0, IR_OP_FLOORDIV, x, three, zero), VERDICT_REFUTED);
  assert_int_equal(rewrite(&g, low, IR_OP_FLOORDIV, x, three, zero), VERDICT_PROVEN);
  assert_int_equal(rewrite(&g, 0, IR_OP_FLOORDIV, y, n, zero), VERDICT_PROVEN);
  assert_int_equal(rewrite(&g, 0, IR_OP_FLOORDIV, n, y, zero), VERDICT_REFUTED);
  assert_int_equal(rewrite(&g, 0, IR_OP_FLOORDIV, pass_add(&g, pass_mul(&g, x, n), y), n, x), VERDICT_PROVEN);
  assert_int_equal(rewrite(&g, 0, IR_OP_FLOORDIV, pass_add(&g, pass_mul(&g, x, n), n), n, x),
                   VERDICT_REFUTED);
  assert_int_equal(rewrite(&g, 0, IR_OP_MOD, pass_mul(&g, x, n), n, zero), VERDICT_PROVEN);
  ir_graph_free(&g);
}

UNIT_TESTS(test_right_rules, test_wrong_rules, test_divisors_of_the_right_side,
           test_true_of_small_numbers_only, test_conjuncts, test_rewrites)
