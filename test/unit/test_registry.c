/* The registry: every operation has every column, and the columns agree with recorded nodes. The sharding
 * rules were worked out by hand for each operation. */
#include "passes/batch/batch.h"
#include "passes/ops/derivative/derivative.h"
#include "passes/ops/sharding/sharding.h"
#include "passes/ops/text/args.h"
#include "test/lib/record.h"
#include "test/lib/unit.h"

/* columns */

static bool recorded(int op) { return op_registry[op].kind != OP_KIND_NONE; }

static void test_every_column(void **state) {
  for (int op = 0; op < IR_OP_COUNT; op++) {
    const op_row *row = &op_registry[op];
    if (!recorded(op)) continue;
    if (row->derivative == OP_DERIVATIVE_MISSING || !row->rule) fail_msg("derivative of %s", ir_ops[op].text);
    bool own = row->batch == OP_BATCH_OWN && row->sharding && !strcmp(row->sharding, "own");
    if (!row->sharding || !strstr(row->sharding, own || op == IR_OP_RESULT ? "own" : "->"))
      fail_msg("sharding rule of %s", ir_ops[op].text);
    if ((row->batch == OP_BATCH_NONE) != (row->kind == OP_KIND_LEAF))
      fail_msg("batching of %s", ir_ops[op].text);
    if (row->kind != OP_KIND_LEAF && (row->batch == OP_BATCH_OWN) != pass_batches_by_rule((ir_op)op))
      fail_msg("batching of %s is not as physicalize.c does it", ir_ops[op].text);
    if ((row->cost == OP_COST_NONE) != (row->weight == 0)) fail_msg("cost of %s", ir_ops[op].text);
  }
}

/* A composition is a name that the parser knows without a row of its own; every such name is a
 * composition. */
static void test_compositions_are_names(void **state) {
  size_t compositions = 0, rows = 0;
  ir_op op;
  const char *name;
  for (size_t i = 0; (name = op_name_at(i, &op)); i++) {
    const op_composition *c = op_compositions;
    while (c->name && strcmp(c->name, name) != 0) c++;
    if (op == IR_OP_ERROR && !c->name) fail_msg("composition %s has no row", name);
    if (op != IR_OP_ERROR && c->name) fail_msg("%s is both an operation and a composition", c->name);
    compositions += op == IR_OP_ERROR;
  }
  while (op_compositions[rows].name) rows++;
  assert_int_equal(compositions, rows);
}

/* The rules for dtypes and shapes of compositions with one operand. */
static void test_composition_types(void **state) {
  for (const op_composition *c = op_compositions; c->name; c++) {
    char line[64];
    recorder *r = record_begin();
    snprintf(line, sizeof line, "%s i16[2,3]", c->name);
    ir_ref y = c->shape == OP_SHAPE_SAME || c->shape == OP_SHAPE_REDUCE ? record_line(r, line) : 0;
    if (y && ir_op_of(&r->g, y) == IR_OP_TUPLE) y = ir_src(&r->g, y, 0);
    bool more = strstr(r->error.text, "operand") != NULL; /* it takes several operands */
    if (!y && !more && (c->shape == OP_SHAPE_SAME || c->shape == OP_SHAPE_REDUCE))
      fail_msg("%s", r->error.text);
    if (y) {
      if (ir_dtype_of(&r->g, y) != (c->dtype == OP_DTYPE_FLOAT ? IR_F32 : IR_I16))
        fail_msg("dtype of %s", c->name);
      if (ir_rank(&r->g, y) != (c->shape == OP_SHAPE_SAME ? 2 : 0)) fail_msg("shape of %s", c->name);
    }
  }
}

/* sharding */

typedef struct rule_case {
  const char *line, *rule;
} rule_case;

static void check_rule(const rule_case *c) {
  recorder *r = record_begin();
  op_sharding rule;
  ir_text text;
  ir_ref y = record_line(r, c->line);
  if (y && ir_op_of(&r->g, y) == IR_OP_TUPLE) y = ir_src(&r->g, y, 0);
  if (!y || !op_sharding_of(&r->g, y, &rule)) fail_msg("%s: %s", c->line, r->error.text);
  ir_text_init(&text, &r->mem);
  op_sharding_print(&rule, &text);
  if (strcmp(ir_text_get(&text), c->rule) != 0)
    fail_msg("%s: %s, not %s", c->line, ir_text_get(&text), c->rule);
  ir_text_free(&text);
  op_sharding_free(&rule);
}

static const rule_case rules[] = {
    {"add f32[2,3] f32[2,3]", "d0 d1, d0 d1 -> d0 d1"},
    {"sub 1 f32[2,3]", "1, d0 d1 -> d0 d1"},
    {"where bool[2] f32[2] f32[2]", "d0, d0, d0 -> d0"},
    {"iota shape=[2,3]", "-> d0 d1"},
    {"exp f32[]", "1 -> 1"},
    {"unsqueeze f32[2,3] axis=0", "d0 d1 -> new_dim d0 d1"},
    {"unsqueeze f32[2,3] axis=1", "d0 d1 -> d0 new_dim d1"},
    {"unsqueeze f32[2,3] axis=-1", "d0 d1 -> d0 d1 new_dim"},
    {"unsqueeze f32[2,3] axis=-2", "d0 d1 -> d0 new_dim d1"},
    {"squeeze f32[2,1,3] axis=1", "d0 d1 d2 -> d0 d2"},
    {"squeeze f32[2,1,3] axis=-2", "d0 d1 d2 -> d0 d2"},
    {"swap_axes f32[2,3,4] axis1=0 axis2=2", "d0 d1 d2 -> d2 d1 d0"},
    {"moveaxis f32[2,3,4] source=0 destination=2", "d0 d1 d2 -> d1 d2 d0"},
    {"permute f32[2,3,4] order=[2,0,1]", "d0 d1 d2 -> d2 d0 d1"},
    {"expand f32[2,1] shape=[2,3]", "d0 bcast_1 -> d0 d1"},
    {"expand f32[1,3] shape=[2,3]", "bcast_0 d1 -> d0 d1"},
    {"expand f32[n,1] shape=[n,3]", "d0 bcast_1 -> d0 d1"},
    {"reshape f32[2,4,32] shape=[8,32]", "d0 d1 d2 -> (d0 d1) d2"},
    {"reshape f32[8,32] shape=[2,4,32]", "(d0 d1) d2 -> d0 d1 d2"},
    {"reshape f32[2,3,4] shape=[24]", "d0 d1 d2 -> (d0 d1 d2)"},
    {"reshape f32[24] shape=[2,3,4]", "(d0 d1 d2) -> d0 d1 d2"},
    {"reshape f32[8,4] shape=[2,16]", "(d0 d1) d2 -> d0 (d1 d2)"},
    {"reshape f32[6,4] shape=[4,6]", "1 1 -> 1 1"}, /* no common factor */
    {"reshape f32[5,6,4] shape=[5,4,6]", "d0 1 1 -> d0 1 1"},
    {"reshape f32[6,4,5] shape=[4,6,5]", "1 1 d0 -> 1 1 d0"},
    {"reshape f32[12,2] shape=[4,6]", "(d0 d1) d2 -> d0 (d1 d2)"},
    {"reshape f32[2,1,3] shape=[1,6]", "d0 1 d1 -> 1 (d0 d1)"},
    {"reshape f32[m,6] shape=[m,2,3]", "d0 (d1 d2) -> d0 d1 d2"},
    {"reshape f32[m,6] shape=[-1]", "d0 d1 -> (d0 d1)"},
    {"reshape f32[0,6] shape=[6,0]", "1 1 -> 1 1"},
    {"flip f32[4,5] axes=[0]", "1 d1 -> 1 d1"}, /* element i of a shard goes to another shard */
    {"shrink f32[8,5] bounds=[[1,6],[0,5]]", "1 d1 -> 1 d1"},
    {"stride f32[8,5] steps=[1,2]", "d0 1 -> d0 1"},
    {"pad f32[2,3] pads=[[0,0],[0,2]]", "d0 1 -> d0 1"},
    {"pad f32[2,3] pads=[[0,0],[0,2]] value=9", "d0 1 -> d0 1"},
    {"point f32[2,3] index=1 axis=0", "1 d1 -> d1"},
    {"concat f32[2,3] f32[4,3] f32[5,3] axis=0", "1 d1, 1 d1, 1 d1 -> 1 d1"},
    {"concat f32[2,3] f32[2,4] axis=-1", "d0 1, d0 1 -> d0 1"},
    {"stack f32[2,3] f32[2,3] axis=1", "d0 d1, d0 d1 -> d0 1 d1"},
    {"unsqueeze f32[] axis=0", "1 -> new_dim"},
    {"stack f32[] f32[] axis=0", "1, 1 -> 1"},
    {"stack f32[2,3] axis=0", "d0 d1 -> 1 d0 d1"},
    {"split f32[4,6] parts=2 axis=1", "d0 1 -> d0 1"},
    {"unbind f32[4,2] axis=-1", "d0 1 -> d0"},
    {"sum f32[2,3,4] axes=[1]", "d0 d1 d2 -> d0 d2"},
    {"sum f32[2,3,4] axes=[-2] keepdims=true", "d0 d1 d2 -> d0 1 d2"},
    {"max f32[2,3] axes=[0]", "d0 d1 -> d1"},
    {"sum f32[2,3]", "d0 d1 -> 1"},
    {"argmax f32[2,3] axis=1", "d0 1 -> d0"},
    {"argmin f32[2,3] axis=0 keepdims=true", "1 d1 -> 1 d1"},
    {"matmul f32[3,4] f32[4,5]", "m k, k n -> m n"},
    {"matmul f32[2,4,8] f32[2,8,3]", "b0 m k, b0 k n -> b0 m n"},
    {"matmul f32[2,4,32,64] f32[2,4,64,128]", "b0 b1 m k, b0 b1 k n -> b0 b1 m n"},
    {"gather f32[2,3,4] i32[5,6] axis=1", "d0 d1 d2, i0 i1 -> d0 i0 i1 d2"},
    {"gather f32[5,4,2] i32[5,3] axis=1 batch=1", "b0 d1 d2, b0 i1 -> b0 i1 d2"},
    {"scatter f32[2,3,4] i32[5] f32[2,5,4] axis=1",
     "d0 d1 d2, 1, d0 1 d2 -> d0 d1 d2"}, /* the last update of an element counts */
    {"scatter_add f32[2,3,4] i32[5] f32[2,5,4] axis=1", "d0 d1 d2, i0, d0 i0 d2 -> d0 d1 d2"},
    {"slice_update f32[2,3] f32[1,2] start=[0,1]", "d0 d1, 1 1, 1 1 -> d0 d1"},
    {"cumsum f32[2,3] axis=1", "d0 1 -> d0 1"},
    {"argsort f32[2,3] axis=-2", "1 d1 -> 1 d1"},
    {"gather f32[2,3] i32[] axis=0", "d0 d1, 1 -> d1"},
};

static void test_rules(void **state) { CHECK_ALL(check_rule, rules); }

/* A rule for shapes that no single node has, or a rule of the plain language. */
typedef struct ask_case {
  const char *rule, *made; /* made: the resulting rule, or the end of the message */
  uint32_t operands, axis, batch;
  int shapes[4][4]; /* sizes, ended by 0 */
  uint32_t count;
} ask_case;
#define ASK(...)                                                                                             \
  { __VA_ARGS__ }

static void check_ask(const ask_case *c) {
  recorder *r = record_begin();
  op_sharding rule;
  ir_ref shapes[4], dims[4];
  ir_text text;
  for (uint32_t t = 0; t < c->count; t++) {
    uint32_t rank = 0;
    for (; rank < 4 && c->shapes[t][rank]; rank++) dims[rank] = ir_index(&r->g, c->shapes[t][rank]);
    shapes[t] = ir_tuple(&r->g, dims, rank);
  }
  op_sharding_ask ask = {.who = "test",
                         .rule = c->rule,
                         .shapes = shapes,
                         .operands = c->operands,
                         .results = c->count - c->operands,
                         .axis = c->axis,
                         .batch = c->batch};
  bool made = op_sharding_make(&r->g, &ask, &rule);
  ir_text_init(&text, &r->mem);
  if (made) op_sharding_print(&rule, &text);
  const char *got = made ? ir_text_get(&text) : r->error.text;
  size_t n = strlen(got), m = strlen(c->made);
  if (n < m || strcmp(got + (made ? 0 : n - m), c->made) != 0)
    fail_msg("%s: %s, not %s", c->rule, got, c->made);
  ir_text_free(&text);
  if (made) op_sharding_free(&rule);
}

static const ask_case asks[] = {
    ASK("d[bcast] -> d[:]", "d1 -> d0 d1", 1, 0, 0, {{3}, {2, 3}}, 2),
    ASK("d[bcast] -> d[:]", "1 -> d0 d1", 1, 0, 0, {{0}, {2, 3}}, 2),
    ASK("... d[:], ... i[:] -> ... d[:a] i[:] d[a+1:]", "b0 d1 d2, b0 i1 -> b0 i1 d2", 2, 1, 1,
        {{5, 4, 2}, {5, 3}, {5, 3, 2}}, 3),
    ASK("d[:], i[:], d[:a] i[:] d[a+1:] -> d[:]", "d0 d1 d2, i0, d0 i0 d2 -> d0 d1 d2", 3, 1, 0,
        {{2, 3, 4}, {5}, {2, 5, 4}, {2, 3, 4}}, 4),
    ASK("... m k, ... k n -> ... m n", "b0 m k, k n -> b0 m n", 2, 0, 0, {{4, 32, 64}, {64, 60}, {4, 32, 60}},
        3),
    ASK("p i, p j -> p i j", "p i, p j -> p i j", 2, 0, 0, {{2, 3}, {2, 4}, {2, 3, 4}}, 3),
    ASK("(a b) c -> a b c", "(a b) c -> a b c", 1, 0, 0, {{8, 3}, {2, 4, 3}}, 2),
    ASK("(a b) c -> a c", "(a b) c -> a c", 1, 0, 0, {{8, 3}, {2, 3}}, 2),
    ASK("(b c) -> (a b) a", "(b c) -> (a b) a", 1, 0, 0, {{12}, {8, 2}}, 2),
    ASK("(a b) c -> a b c",
        "sharding rule '(a b) c -> a b c': the factors of an axis of size 9 make 8; their product is the "
        "size",
        1, 0, 0, {{9, 3}, {2, 4, 3}}, 2),
    ASK("(a b) c -> a c",
        "sharding rule '(a b) c -> a c': the factors of an axis of size 8 make 3; their product is the size",
        1, 0, 0, {{8, 3}, {3, 3}}, 2),
    ASK("(a b) -> 1",
        "the size of a factor is not known; all but one of the factors of an axis must also occur in other "
        "axes",
        1, 0, 0, {{8}, {4}}, 2),
    ASK("a b -> a 1, a 1", "a b -> a 1, a 1", 1, 0, 0, {{4, 6}, {4, 3}, {4, 3}}, 3),
    ASK("m k, k n -> m n",
        "factor k of the sharding rule stands for axes of sizes 3 and 4; they must be equal", 2, 0, 0,
        {{2, 3}, {4, 5}, {2, 5}}, 3),
    ASK("a b -> a", "term 1 has more axes than its operand or result, of rank 1", 1, 0, 0, {{4}, {4}}, 2),
    ASK("a -> a", "term 1 has 1 axes; its operand or result has rank 2", 1, 0, 0, {{4, 2}, {4}}, 2),
    ASK("a -> a, a", "it is the terms of the operands, '->', and the terms of the results", 1, 0, 0,
        {{4}, {4}}, 2),
    ASK("a, a -> a", "it is the terms of the operands, '->', and the terms of the results", 1, 0, 0,
        {{4}, {4}}, 2),
    ASK("a -> a", "it has fewer terms than there are operands or results", 2, 0, 0, {{4}, {4}, {4}}, 3),
    ASK("(a a) -> a", "a factor occurs twice in one axis", 1, 0, 0, {{4}, {4}}, 2),
    ASK("(a -> a", "an axis is a name of at most 15 letters and digits, '1', '...', or names in parentheses",
        1, 0, 0, {{4}, {4}}, 2),
    ASK("(a 1) -> a", "expected names in parentheses", 1, 0, 0, {{4}, {4}}, 2),
    ASK("q[:] -> q[:]", "only d and i take axes in brackets, such as d[:]", 1, 0, 0, {{4}, {4}}, 2),
    ASK("d[: -> d", "']' is missing", 1, 0, 0, {{4}, {4}}, 2),
    ASK("d[x] -> d[x]", "expected one of : :a a: a+1: 1 ~ - order bcast in brackets", 1, 0, 0, {{4}, {4}}, 2),
    ASK("* -> a", "'*' must be a term by itself, after another term", 1, 0, 0, {{4}, {4}}, 2),
    ASK("a", "it is the terms of the operands, '->', and the terms of the results", 1, 0, 0, {{4}, {4}}, 2),
    ASK("", "it is the terms of the operands, '->', and the terms of the results", 0, 0, 0, {{4}}, 1),
};
static void test_asks(void **state) { CHECK_ALL(check_ask, asks); }

/* Sizes of factors equal those of the axes. */
static void test_factor_sizes(void **state) {
  static const int64_t want[] = {2, 4, 4};
  recorder *r = record_begin();
  op_sharding rule;
  assert_true(op_sharding_of(&r->g, record_line(r, "reshape f32[8,4] shape=[2,16]"), &rule));
  assert_int_equal(rule.factor_count, 3);
  for (int i = 0; i < 3; i++) {
    int64_t size;
    assert_true(ir_is_const(&r->g, rule.factors[i].size, &size));
    assert_int_equal(size, want[i]);
  }
  op_sharding_free(&rule);
}

/* partial sums */

typedef struct partial_case {
  const char *line;
  bool partial[3], defers;
} partial_case;

static void check_partial(const partial_case *c) {
  recorder *r = record_begin();
  ir_ref y = record_line(r, c->line);
  if (!y) fail_msg("%s", r->error.text);
  if (op_defers(&r->g, y, c->partial) != c->defers) fail_msg("%s", c->line);
}

static const partial_case partials[] = {
    {"relu f32[2]", {true}, false},
    {"neg f32[2]", {true}, true},
    {"add f32[2] f32[2]", {true, false}, false}, /* a bias would be added once for each device */
    {"add f32[2] f32[2]", {true, true}, true},
    {"mul f32[2] f32[2]", {true, false}, true},
    {"mul f32[2] f32[2]", {false, true}, true},
    {"mul f32[2] f32[2]", {true, true}, false},
    {"div f32[2] f32[2]", {true, false}, true},
    {"div f32[2] f32[2]", {false, true}, false},
    {"cast f32[2] dtype=i32", {true}, false},
    {"concat f32[2] f32[3]", {true, false}, false},
    {"concat f32[2] f32[3]", {true, true}, true},
    {"stack f32[2] f32[2]", {true, true}, true},
    {"pad f32[2] pads=[[1,1]]", {true}, true},
    {"pad f32[2] pads=[[1,1]] value=1", {true}, false},
    {"pad i8[2] pads=[[1,1]] value=1", {true}, false},
    {"pad f32[2] pads=[[1,1]] mode=edge", {true}, true},
    {"sum f32[2]", {true}, true},
    {"mean f32[2]", {true}, true},
    {"prod f32[2]", {true}, false},
    {"max f32[2]", {true}, false},
    {"matmul f32[2,3] f32[3,4]", {true, false}, true},
    {"matmul f32[2,3] f32[3,4]", {true, true}, false},
    {"cumsum f32[5] axis=0", {true}, true},
    {"gather f32[5] i32[3] axis=0", {true, false}, true},
    {"gather f32[5] i32[3] axis=0", {false, true}, false},
    {"where bool[2] f32[2] f32[2]", {false, true, true}, false},
    {"exp f32[2]", {false}, true}, /* no operand is a partial sum */
};
static void test_partials(void **state) { CHECK_ALL(check_partial, partials); }

/* cost */

/* spec: K1 K2 */
static void test_flops(void **state) {
  static const struct {
    const char *line;
    int64_t flops;
  } cases[] = {
      {"matmul f32[1024,512] f32[512,2048]", 2147483648},
      {"matmul f32[3,2,5] f32[3,5,7]", 2 * 3 * 2 * 5 * 7},
      {"add f32[4,5] f32[4,5]", 20},
      {"sigmoid f32[4,5]", 80},
      {"tanh f32[4,5]", 120},
      {"sum f32[4,5] axes=[0]", 20},
      {"permute f32[4,5] order=[1,0]", 0},
      {"gather f32[5] i32[3] axis=0", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorder *r = record_begin();
    int64_t flops = -1;
    ir_ref y = record_line(r, cases[i].line);
    assert_true(ir_is_const(&r->g, op_flops(&r->g, y), &flops));
    if (flops != cases[i].flops) fail_msg("%s: %lld", cases[i].line, (long long)flops);
  }
}

static bool has_rule(recorder *r, const char *line) {
  op_sharding rule;
  ir_ref y = record_line(r, line);
  bool made = y && op_sharding_of(&r->g, y, &rule);
  if (made) op_sharding_free(&rule);
  else assert_int_equal(r->error.status, IR_ERR_MEMORY);
  return made;
}

/* Every allocation of a rule may fail, and nothing leaks. */
static void test_short_memory(void **state) {
  record_short_of_memory(has_rule, (const char *const[]){"reshape f32[8,4] shape=[2,16]"}, 1, true);
}

UNIT_TESTS(test_every_column, test_compositions_are_names, test_composition_types, test_rules, test_asks,
           test_factor_sizes, test_partials, test_flops, test_short_memory)
