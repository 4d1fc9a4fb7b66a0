/* Substitution and simplification of whole expressions: nodes without the replaced value stay the same nodes,
 * and rewritten quotients keep their bounds. */
#include "passes/index/index.h"
#include "test/lib/unit.h"

typedef struct bench {
  ir_graph g;
  ir_error error;
  ir_ref n, a, b, extent; /* a, b: ranges of four; extent: n, not in canonical form */
} bench;

static int set_up(void **state) {
  bench *t = calloc(1, sizeof *t);
  if (!t || ir_graph_init(&t->g, &ir_mem_libc, &t->error)) return 1;
  ir_graph *g = &t->g;
  ir_ref four = ir_index(g, 4);
  t->n = ir_var(g, "n", 1, 1, (int64_t)1 << 40, 1);
  t->a = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(1, 0), &four, 1);
  t->b = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(2, 0), &four, 1);
  t->extent = ir_make(g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){t->n, ir_index(g, 0)}, 2);
  *state = t;
  return 0;
}

static int tear_down(void **state) {
  bench *t = *state;
  ir_graph_free(&t->g);
  free(t);
  return 0;
}

static bool holds(const bench *t, ir_ref root, ir_ref node) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool found = false;
  assert_int_equal(ir_reachable(&t->g, &root, 1, &live, &count, &cap), IR_OK);
  for (size_t i = 0; i < count; i++) found |= live[i] == node;
  ir_free(t->g.mem, live, cap * sizeof *live);
  return found;
}

static ir_ref less(ir_graph *g, ir_ref x, int64_t c) { return pass_compare(g, IR_OP_LT, x, ir_index(g, c)); }

/* What was found for a condition does not outlive its node: another may be made in its place. */
static void a_removed_condition_is_forgotten(void **state) {
  bench *t = *state;
  ir_graph *g = &t->g;
  ir_ref low = less(g, t->a, 1), other = less(g, t->b, 2);
  ir_ref high = pass_compare(g, IR_OP_GE, t->a, ir_index(g, 2));
  uint32_t count = g->count;
  ir_ref never = ir_make(g, IR_OP_AND, IR_BOOL, 0, (ir_ref[]){low, high}, 2);
  assert_true(ir_is_false(g, pass_finalize_clauses(g, never)));
  assert_true(ir_is_false(g, pass_finalize_clauses(g, never)));
  ir_graph_rewind(g, count);
  ir_ref sometimes = ir_make(g, IR_OP_AND, IR_BOOL, 0, (ir_ref[]){low, other}, 2);
  assert_int_equal(sometimes, never);
  assert_int_equal(pass_finalize_clauses(g, sometimes), sometimes);
}

static void a_range_without_what_is_replaced_stays(void **state) {
  bench *t = *state;
  ir_graph *g = &t->g;
  ir_ref range = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(3, 0), &t->extent, 1);
  ir_ref made = pass_substitute(g, pass_add(g, range, t->a), &t->a, &t->b, 1);
  assert_true(holds(t, made, range));
  assert_true(holds(t, made, t->b));
  assert_false(holds(t, made, t->a));
  assert_true(holds(t, pass_simplify(g, pass_add(g, range, t->a)), range));
}

static void a_range_with_what_is_replaced_is_another(void **state) {
  bench *t = *state;
  ir_graph *g = &t->g;
  ir_ref extent = pass_add(g, t->n, t->a);
  ir_ref range = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(3, 0), &extent, 1);
  ir_ref made = pass_substitute(g, range, &t->a, &t->b, 1);
  assert_int_equal(ir_src(g, made, 0), pass_add(g, t->n, t->b));
}

/* for ridx3 in 0..EXTENT with 0 { next carried + float(a) }, or float(1) */
static ir_ref sum(bench *t, ir_ref term) {
  ir_graph *g = &t->g;
  ir_ref range = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(3, 0), &t->extent, 1);
  ir_ref carry = ir_make(g, IR_OP_CARRY, IR_F32, ir_pack_arg(0, 0), &range, 1);
  ir_ref src[] = {range, ir_float(g, IR_F32, 0), ir_binary(g, IR_OP_ADD, carry, ir_cast(g, term, IR_F32))};
  return ir_make(g, IR_OP_LOOP, IR_F32, ir_pack_arg(1, IR_SERIAL), src, 3);
}

static void a_loop_without_what_is_replaced_stays(void **state) {
  bench *t = *state;
  ir_graph *g = &t->g;
  ir_ref least = ir_make(g, IR_OP_MIN, IR_INDEX, 0, (ir_ref[]){ir_index(g, 1), t->extent}, 2);
  ir_ref loop = sum(t, least), root = ir_binary(g, IR_OP_MUL, loop, ir_cast(g, t->a, IR_F32));
  assert_true(holds(t, pass_substitute(g, root, &t->a, &t->b, 1), loop));
  ir_ref other = sum(t, t->a);
  assert_false(holds(t, pass_substitute(g, other, &t->a, &t->b, 1), other));
}

/* (n*4)//4 as it is written, which simplifying would make n: not looked at again where nothing is replaced.
 */
static void a_quotient_without_what_is_replaced_stays(void **state) {
  bench *t = *state;
  ir_graph *g = &t->g;
  ir_ref src[] = {pass_mul_int(g, t->n, 4), ir_index(g, 4)};
  ir_ref quotient = ir_make(g, IR_OP_FLOORDIV, IR_INDEX, 0, src, 2), value = ir_cast(g, quotient, IR_F32);
  ir_ref root = ir_binary(g, IR_OP_MUL, value, ir_cast(g, t->a, IR_F32));
  ir_ref made = pass_substitute_alone(g, root, &t->a, &t->b, 1);
  assert_true(holds(t, made, quotient) && holds(t, made, t->b) && !holds(t, made, t->a));
  assert_false(holds(t, pass_simplify(g, root), quotient));
}

/* The remainder of steps of 64, in steps of 16: at most four of these, for any n. */
static void quotients_of_remainders_keep_their_bounds(void **state) {
  bench *t = *state;
  ir_graph *g = &t->g;
  ir_ref rest = pass_mod_int(g, t->n, 64), steps = pass_ceil_div(g, rest, ir_index(g, 16));
  assert_int_equal(ir_bounds_of(g, rest).lo, 0);
  assert_int_equal(ir_bounds_of(g, rest).hi, 63);
  assert_int_equal(ir_bounds_of(g, steps).lo, 0);
  assert_int_equal(ir_bounds_of(g, steps).hi, 4);
}

UNIT_TESTS_EACH(set_up, tear_down, a_removed_condition_is_forgotten, a_range_without_what_is_replaced_stays,
                a_range_with_what_is_replaced_is_another, a_loop_without_what_is_replaced_stays,
                a_quotient_without_what_is_replaced_stays, quotients_of_remainders_keep_their_bounds)
