/* The worked numbers of the specification's sharding: the rule of each row, the row's operands split by it,
 * and the result that the shards make together (test/lib/sharded.h). Communication between shards is not
 * tested here. */
#include "frontend/api/api.h"
#include "passes/autodiff/derive.h"
#include "passes/batch/batch.h"
#include "passes/ops/sharding/sharding.h"
#include "test/lib/record.h"
#include "test/lib/sharded.h"
#include "test/lib/unit.h"

enum { MOST = 64 };

/* Inputs of the graph, of f32 or i32, in the order in which they were made. */
static size_t bind(ir_graph *g, const double data[][MOST], ir_binding_input *bound) {
  size_t count = 0;
  for (ir_ref i = 1; i < g->count; i++) {
    if (ir_op_of(g, i) != IR_OP_INPUT) continue;
    ir_dtype t = ir_dtype_of(g, i);
    unsigned char *bytes = calloc(MOST, ir_dtypes[t].bytes);
    for (int k = 0; k < MOST; k++) {
      ir_value v = {.i = (int64_t)data[count][k]};
      if (ir_is_float(t)) v.f = data[count][k];
      ir_value_store(bytes + (size_t)k * ir_dtypes[t].bytes, t, v);
    }
    bound[count++] = (ir_binding_input){i, bytes};
  }
  return count;
}

static void print_rule(ir_graph *g, ir_ref node, ir_text *out) {
  op_sharding rule;
  assert_true(op_sharding_of(g, node, &rule));
  op_sharding_print(&rule, out);
  op_sharding_free(&rule);
}

/* Every node computed in shards equals the node computed whole, and the last one has these elements. */
static sharded check_graph(ir_graph *g, ir_ref y, const double data[][MOST], int shards, const double *want,
                           int count) {
  ir_binding_input bound[4];
  ir_eval_result out = {0};
  sharded s = {.g = g, .inputs = bound, .input_count = bind(g, data, bound), .shards = shards};
  if (!sharded_check(&s, &y, 1)) fail_msg("%s", s.what);
  assert_int_equal(ir_eval(g, &y, 1, bound, s.input_count, NULL, 0, &out, g->error), IR_OK);
  for (int i = 0; i < count; i++) {
    ir_value v = ir_value_load((char *)out.data + (size_t)i * ir_dtypes[out.dtype].bytes, out.dtype);
    double got = ir_is_float(out.dtype) ? v.f : (double)v.i;
    if (got != want[i]) fail_msg("element %d: %g, not %g", i, got, want[i]);
  }
  ir_eval_free(g, &out, 1);
  for (size_t i = 0; i < s.input_count; i++) free((void *)bound[i].data);
  return s;
}

typedef struct row {
  const char *line, *rule, *shapes; /* shapes: of the shards along the last factor; NULL: not checked */
  int shards;
  double data[2][MOST], want[MOST];
  int count;
  long contracted; /* in the whole graph */
} row;
#define SHARDED(...)                                                                                         \
  { __VA_ARGS__ }

static void check_row(const row *c) {
  static sharded s;
  recorder *r = record_begin();
  ir_text text;
  ir_ref y = record_line(r, c->line);
  if (!y) fail_msg("%s: %s", c->line, r->error.text);
  ir_text_init(&text, &r->mem);
  print_rule(&r->g, y, &text);
  if (strcmp(ir_text_get(&text), c->rule) != 0)
    fail_msg("%s: %s, not %s", c->line, ir_text_get(&text), c->rule);
  s = check_graph(&r->g, y, c->data, c->shards, c->want, c->count);
  if (c->shapes && strcmp(s.shapes, c->shapes) != 0) fail_msg("%s: shards %s", c->line, s.shapes);
  if (s.contracted != c->contracted) fail_msg("%s: %ld contracted factors", c->line, s.contracted);
  ir_text_free(&text);
}

/* Sizes and windows are the shard's. spec: V6 F8.shard */
static void test_local_sizes(void **state) {
  static const row rows[] = {
      SHARDED("full shape=[8,6] value=7", "bcast_0 bcast_1 -> d0 d1", "[2,6] [2,6] [2,6] [2,6]", 4, {{0}},
              {7, 7, 7}, 3, 0),
      SHARDED("zeros shape=[5,2]", "bcast_0 bcast_1 -> d0 d1", "[2,2] [2,2] [1,2]", 4, {{0}}, {0, 0, 0}, 3,
              0),
      SHARDED("iota shape=[8] axis=0 dtype=i32", "-> d0", "[2] [2] [2] [2]", 4, {{0}},
              {0, 1, 2, 3, 4, 5, 6, 7}, 8, 0),
      SHARDED("iota shape=[10] axis=0 dtype=i32", "-> d0", "[3] [3] [3] [1]", 4, {{0}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 10, 0),
      SHARDED("broadcast_to f32[1,2] shape=[8,2]", "bcast_0 d1 -> d0 d1", NULL, 4, {{1, 2}}, {1, 2, 1, 2}, 4,
              0),
      SHARDED("shrink f32[8,4] bounds=[[0,8],[1,3]]", "d0 1 -> d0 1", "[2,2] [2,2] [2,2] [2,2]", 4,
              {{0, 1, 2, 3}}, {1, 2}, 2, 0),
      SHARDED("reshape f32[8,2] shape=[8,1,2]", "d0 d1 -> d0 1 d1", "[2,1,2] [2,1,2] [2,1,2] [2,1,2]", 4,
              {{1, 2, 3}}, {1, 2, 3}, 3, 0),
  };
  CHECK_ALL(check_row, rows);
}

/* Factors of size 1 are not split: nothing is lost when such an axis is dropped, and no shard adds it again.
 * spec: V11.shard */
static void test_ones(void **state) {
  static const row rows[] = {
      SHARDED("squeeze f32[2,1,3] axis=1", "d0 d1 d2 -> d0 d2", "[1,3] [1,3]", 2, {{1, 2, 3, 4, 5, 6}},
              {1, 2, 3, 4, 5, 6}, 6, 0),
      SHARDED("squeeze f32[1,5] axis=0", "d0 d1 -> d1", "[3] [2]", 2, {{1, 2, 3, 4, 5}}, {1, 2, 3, 4, 5}, 5,
              0),
      SHARDED("sum f32[1,3] axes=[0]", "d0 d1 -> d1", "[2] [1]", 2, {{1, 2, 3}}, {1, 2, 3}, 3, 0),
      SHARDED("unsqueeze f32[4] axis=-1", "d0 -> d0 new_dim", "[2,1] [2,1]", 2, {{1, 2, 3, 4}}, {1, 2, 3, 4},
              4, 0),
  };
  CHECK_ALL(check_row, rows);
}

/* Shard by shard a flip of 0..3 over two would be 1 0 3 2, and concatenating 0..3 and 10..13 would be 0 1 10
 * 11 2 3 12 13: the axis is never split. Other axes are. spec: V15.shard V18.shard V20.shard */
static void test_whole_axes(void **state) {
  static const row rows[] = {
      SHARDED("flip i32[4] axes=[0]", "1 -> 1", "", 2, {{0, 1, 2, 3}}, {3, 2, 1, 0}, 4, 0),
      SHARDED("flip i32[2,2] axes=[0]", "1 d1 -> 1 d1", "[2,1] [2,1]", 2, {{0, 1, 2, 3}}, {2, 3, 0, 1}, 4, 0),
      SHARDED("slice i32[8] start=[1] size=[5]", "1 -> 1", "", 4, {{0, 1, 2, 3, 4, 5, 6, 7}}, {1, 2, 3, 4, 5},
              5, 0),
      SHARDED("slice i32[4,3] start=[0,1] size=[4,2]", "d0 1 -> d0 1", "[2,2] [2,2]", 2, {{0, 1, 2, 3, 4, 5}},
              {1, 2, 4, 5}, 4, 0),
      SHARDED("concat i32[4] i32[4] axis=0", "1, 1 -> 1", "", 2, {{0, 1, 2, 3}, {10, 11, 12, 13}},
              {0, 1, 2, 3, 10, 11, 12, 13}, 8, 0),
      SHARDED("concat i32[2,1] i32[2,2] axis=1", "d0 1, d0 1 -> d0 1", "[1,3] [1,3]", 2,
              {{0, 1}, {10, 11, 12, 13}}, {0, 10, 11, 1, 12, 13}, 6, 0),
      SHARDED("pad i32[2,2] pads=[[1,0],[0,2]] value=9", "1 1 -> 1 1", "", 2, {{1, 2, 3, 4}},
              {9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9}, 12, 0),
      SHARDED("pad i32[2,2] pads=[[0,0],[0,1]] value=9", "d0 1 -> d0 1", "[1,3] [1,3]", 2, {{1, 2, 3, 4}},
              {1, 2, 9, 3, 4, 9}, 6, 0),
  };
  CHECK_ALL(check_row, rows);
}

/* spec: V17.shard */
static void test_reshapes(void **state) {
  static const row rows[] = {
      SHARDED("reshape i32[8,4] shape=[2,16]", "(d0 d1) d2 -> d0 (d1 d2)", "[1,16] [1,16]", 2, {{0, 1, 2}},
              {0, 1, 2}, 3, 0),
      SHARDED("reshape i32[8,4] shape=[2,4,4]", "(d0 d1) d2 -> d0 d1 d2", "[1,4,4] [1,4,4]", 2, {{0, 1, 2}},
              {0, 1, 2}, 3, 0),
      SHARDED("reshape i32[2,3,4] shape=[24]", "d0 d1 d2 -> (d0 d1 d2)", "[12] [12]", 2, {{0, 1, 2}},
              {0, 1, 2}, 3, 0),
      SHARDED("reshape i32[2,3,4] shape=[24]", "d0 d1 d2 -> (d0 d1 d2)", "[12] [12]", 3, {{0, 1, 2}},
              {0, 1, 2}, 3, 0),
      SHARDED("reshape i32[6,4] shape=[4,6]", "1 1 -> 1 1", "", 2, {{0, 1, 2}}, {0, 1, 2}, 3, 0),
      SHARDED("reshape i32[5,6,2] shape=[5,2,6]", "d0 (d1 d2) d3 -> d0 d1 (d2 d3)", "[3,2,6] [2,2,6]", 2,
              {{0, 1, 2}}, {0, 1, 2}, 3, 0),
  };
  CHECK_ALL(check_row, rows);
}

/* x = 0..3 over two shards, indices 3 0: one gives 0 0, the other 3 0. spec: V22.shard */
static void test_gather(void **state) {
  static const row rows[] = {
      SHARDED("gather i32[4] i32[2] axis=0", "d0, i0 -> i0", "[2] [2]", 2, {{0, 1, 2, 3}, {3, 0}}, {3, 0}, 2,
              1),
      SHARDED("gather i32[4] i32[2] axis=0", "d0, i0 -> i0", "[2] [2] [2] [2]", 4, {{5, 6, 7, 8}, {-1, 1}},
              {8, 6}, 2, 1),
      SHARDED("gather i32[4] i32[2] axis=0 mode=clip", "d0, i0 -> i0", "[2] [2]", 2, {{5, 6, 7, 8}, {9, -9}},
              {8, 5}, 2, 1),
      SHARDED("gather i32[4] i32[2] axis=0 mode=fill", "d0, i0 -> i0", "[2] [2]", 2, {{5, 6, 7, 8}, {9, -9}},
              {0, 0}, 2, 1),
  };
  CHECK_ALL(check_row, rows);
}

/* Extrema, sums and means over a sharded axis. A mean of 1..8 is 4.5; the sum of the means of two halves, 9.
 * The product is that of the partial sums [[2,3],[10,19]] and [[26,31],[66,79]]. spec: F4.shard F6.U */
static void test_reductions(void **state) {
  static const row rows[] = {
      SHARDED("softmax f32[2,4] axis=1", "d0 d1, d0 d1 -> d0 d1", "[1,4] [1,4]", 2,
              {{0, 0, 0, 0, 1, 2, 3, 4}}, {.25, .25, .25, .25}, 4, 2),
      SHARDED("softmax f32[8] axis=0", "d0, d0 -> d0", "[3] [3] [2]", 3, {{5, 5, 5, 5, 5, 5, 5, 5}},
              {.125, .125}, 2, 2),
      SHARDED("mean f32[8]", "d0 -> 1", "[] []", 2, {{1, 2, 3, 4, 5, 6, 7, 8}}, {4.5}, 1, 1),
      SHARDED("mean f32[5,2] axes=[0]", "d0 d1 -> d1", "[2] [2]", 2, {{1, 10, 2, 20, 3, 30, 4, 40, 5, 50}},
              {3, 30}, 2, 1),
      SHARDED("max f32[4]", "d0 -> 1", "[] []", 2, {{-3, -1, -2, -5}}, {-1}, 1, 1),
      SHARDED("matmul f32[2,4] f32[4,2]", "m k, k n -> m n", "[1,2] [1,2]", 2,
              {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}, {28, 34, 76, 98}, 4, 1),
  };
  CHECK_ALL(check_row, rows);
}

/* Each node of the generator is the same for every split, and no shard has a state of its own.
 *
 * spec: F11.shard */
static void test_random(void **state) {
  static const char *const lines[] = {"uniform 7 shape=[4,6]", "normal 7 shape=[4,6]",
                                      "uniform 7 shape=[5,3] dtype=f64", "bernoulli 7 shape=[9]"};
  static const double none[1][MOST];
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    for (int shards = 2; shards < 5; shards++) {
      recorder *r = record_begin();
      ir_ref y = record_line(r, lines[i]);
      if (!y) fail_msg("%s", r->error.text);
      sharded s = check_graph(&r->g, y, none, shards, NULL, 0);
      assert_true(s.factors > 20);
      assert_int_equal(s.contracted, 0);
    }
}

/* A value f32[5|2,3,4] whose axis 1 moves to the batch: physically a permutation, and factors move with their
 * axes. spec: B6.U */
static void test_axis_to_batch(void **state) {
  recorder *r = record_begin();
  ir_text text;
  ir_ref dims[] = {ir_index(&r->g, 5), ir_index(&r->g, 2), ir_index(&r->g, 3), ir_index(&r->g, 4)};
  ir_ref y =
      op_move_axis_to_batch_dims(&r->g, op_input_batched(&r->g, "x", 1, IR_F32, dims, 1, dims + 1, 3), 1);
  assert_int_not_equal(y, 0);
  assert_true(pass_physicalize(&r->g, &y, 1));
  ir_text_init(&text, &r->mem);
  print_rule(&r->g, y, &text);
  assert_string_equal(ir_text_get(&text), "d0 d1 d2 d3 -> d2 d0 d1 d3");
  ir_text_free(&text);
}

/* Gradients of the sum of x @ w. The gradient of x has an axis that is split like x's batch; the gradient of
 * w is a partial sum over the batch, with the whole shape of w in every shard. spec: AD3 AD4.shard */
static void test_gradients(void **state) {
  static const double data[2][MOST] = {{1, 2, 3, 4, 5, 6, 7, 8}, {1, -1, 2, 0, 1, 3}};
  static const double want[2][8] = {{2, 4, 2, 4, 2, 4, 2, 4}, {16, 16, 16, 20, 20, 20}};
  recorder *r = record_begin();
  ir_ref y = record_line(r, "matmul f32[4,2] f32[2,3]"), d[2];
  ir_ref in[2] = {ir_src(&r->g, y, 0), ir_src(&r->g, y, 1)};
  ir_ref loss = op_reduce(&r->g, IR_OP_SUM, y, NULL, 0, false);
  pass_derivative of = {.who = "test", .outputs = &loss, .output_count = 1, .inputs = in, .input_count = 2};
  if (!pass_vjp(&r->g, &of, NULL, d)) fail_msg("%s", r->error.text);
  op_sharding rule;
  assert_true(op_sharding_of(&r->g, d[0], &rule)); /* cotangent @ w', rows of the batch */
  assert_int_equal(rule.terms[2].axes[0].factors[0], rule.terms[0].axes[0].factors[0]);
  op_sharding_free(&rule);
  assert_true(op_sharding_of(&r->g, d[1], &rule)); /* x' @ cotangent: the batch is contracted */
  int batch = rule.terms[0].axes[1].factors[0];
  assert_int_equal(rule.terms[1].axes[0].factors[0], batch);
  for (int k = 0; k < 2; k++) assert_int_not_equal(rule.terms[2].axes[k].factors[0], batch);
  op_sharding_free(&rule);
  for (int k = 0; k < 2; k++)
    for (int shards = 2; shards < 4; shards++)
      assert_true(check_graph(&r->g, d[k], data, shards, want[k], k ? 6 : 8).contracted > 0);
}

/* The rule of a custom operation is read from the text that it was registered with, for the shapes of the
 * call. spec: F20.U F21.U */
static bool first_type(const vf_op_call *call, vf_op_type *results) {
  results[0] = (vf_op_type){VF_F32, 1, {vf_op_size(call->operands[0], 0)}};
  return true;
}

static void test_custom_rules(void **state) {
  static const struct {
    const char *given, *operands, *rule, *message;
  } cases[] = {
      {"r k -> r", "f32[4,3]", "r k -> r", NULL},
      {"r 1 -> 1", "f32[4,3]", "r 1 -> 1", NULL},
      {"... k -> b0", "f32[4,3]", "b0 k -> b0", NULL},
      {"r k -> r", "f32[4]", NULL,
       "leaf: sharding rule 'r k -> r': term 1 has more axes than its operand or result, of rank 1"},
      {"k r -> r", "f32[4,3]", NULL,
       "leaf: factor r of the sharding rule stands for axes of sizes 3 and 4; they must be equal"},
      {NULL, "f32[4,3]", NULL, "leaf: the custom operation has no sharding rule"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vf_error error = {0};
    vf_context *c = vf_context_create(NULL, &error);
    vf_op_description d = {
        .size = sizeof d, .name = "leaf", .operands = 1, .results = 1, .shape = first_type};
    d.function = (void (*)(void))first_type; /* never called */
    d.signature = "void(in0, out0)";
    d.sharding = cases[i].given;
    d.partial = VF_PARTIAL_ALWAYS;
    d.flops = 5;
    assert_int_equal(vf_register_op(c, &d, &error), VF_OK);
    char text[128];
    snprintf(text, sizeof text, "graph @g(%%x: %s) {\n%%y = leaf %%x\nreturn %%y\n}\n", cases[i].operands);
    vf_graph *g = vf_graph_parse(c, text, strlen(text), "t", NULL, &error);
    if (!g) fail_msg("%s", error.message);
    ir_ref node = 1;
    while (ir_op_of(&g->ir, node) != IR_OP_CUSTOM) node++;
    int64_t flops;
    assert_true(op_defers(&g->ir, node, &(bool){true})); /* as the registration says */
    assert_true(ir_is_const(&g->ir, op_flops(&g->ir, node), &flops) && flops == 5 * 4);
    op_sharding rule;
    bool made = op_sharding_of(&g->ir, node, &rule);
    assert_int_equal(made, cases[i].rule != NULL);
    if (!made) assert_string_equal(g->error.text, cases[i].message);
    ir_text out;
    ir_text_init(&out, &ir_mem_libc);
    if (made) {
      op_sharding_print(&rule, &out);
      assert_string_equal(ir_text_get(&out), cases[i].rule);
      op_sharding_free(&rule);
    }
    ir_text_free(&out);
    vf_graph_destroy(g), vf_context_destroy(c);
  }
}

/* The strings of the specification. An axis that is concatenated has a factor there, which is never split
 * here; axes that grow are named differently. Positions of a scatter are never split: of equal ones the last
 * counts.
 *
 * spec: R1 R2 R4 R5 R6 R7 R8 R20 R21 R22 R23 R26 R27 R28 R29 R32 R33 */
static void test_strings(void **state) {
  static const char *const cases[][2] = {
      {"add f32[2,3] f32[2,3]", "d0 d1, d0 d1 -> d0 d1"},
      {"unsqueeze f32[2,3] axis=0", "d0 d1 -> new_dim d0 d1"},
      {"unsqueeze f32[2,3] axis=1", "d0 d1 -> d0 new_dim d1"},
      {"unsqueeze f32[2,3] axis=2", "d0 d1 -> d0 d1 new_dim"},
      {"unsqueeze f32[2,3] axis=-1", "d0 d1 -> d0 d1 new_dim"},
      {"squeeze f32[2,1,3] axis=1", "d0 d1 d2 -> d0 d2"},
      {"swap_axes f32[2,3,4] axis1=0 axis2=2", "d0 d1 d2 -> d2 d1 d0"},
      {"moveaxis f32[2,3,4] source=0 destination=2", "d0 d1 d2 -> d1 d2 d0"},
      {"broadcast_to f32[2,1] shape=[2,3]", "d0 bcast_1 -> d0 d1"},
      {"broadcast_to f32[1,3] shape=[2,3]", "bcast_0 d1 -> d0 d1"},
      {"reshape f32[2,4,32] shape=[8,32]", "d0 d1 d2 -> (d0 d1) d2"},
      {"reshape f32[8,32] shape=[2,4,32]", "(d0 d1) d2 -> d0 d1 d2"},
      {"reshape f32[2,3,4] shape=[24]", "d0 d1 d2 -> (d0 d1 d2)"},
      {"reshape f32[24] shape=[2,3,4]", "(d0 d1 d2) -> d0 d1 d2"},
      {"reshape f32[6,4] shape=[4,6]", "1 1 -> 1 1"},
      {"concat f32[2,3] f32[2,3] axis=0", "1 d1, 1 d1 -> 1 d1"},
      {"gather f32[2,3,4] i64[5,6] axis=1", "d0 d1 d2, i0 i1 -> d0 i0 i1 d2"},
      {"sum f32[2,3,4] axes=[1]", "d0 d1 d2 -> d0 d2"},
      {"sum f32[2,3,4] axes=[1] keepdims=true", "d0 d1 d2 -> d0 1 d2"},
      {"matmul f32[2,4,8] f32[2,8,3]", "b0 m k, b0 k n -> b0 m n"},
      {"matmul f32[2,4,32,64] f32[2,4,64,128]", "b0 b1 m k, b0 b1 k n -> b0 b1 m n"},
      {"where bool[2,3] f32[2,3] f32[2,3]", "d0 d1, d0 d1, d0 d1 -> d0 d1"},
      {"scatter_add f32[2,3,4] i64[5] f32[2,5,4] axis=1", "d0 d1 d2, i0, d0 i0 d2 -> d0 d1 d2"},
      {"scatter f32[2,3,4] i64[5] f32[2,5,4] axis=1", "d0 d1 d2, 1, d0 1 d2 -> d0 d1 d2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorder *r = record_begin();
    ir_ref y = record_line(r, cases[i][0]);
    ir_text text;
    if (!y) fail_msg("%s", r->error.text);
    ir_text_init(&text, &r->mem);
    print_rule(&r->g, y, &text);
    assert_string_equal(ir_text_get(&text), cases[i][1]);
    ir_text_free(&text);
  }
}

UNIT_TESTS(test_local_sizes, test_strings, test_ones, test_whole_axes, test_reshapes, test_gather,
           test_reductions, test_random, test_axis_to_batch, test_gradients, test_custom_rules)
