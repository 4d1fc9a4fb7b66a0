/* Programs of devices: the worked numbers of the specification, and what stays pending where. */
#include "frontend/text/reader.h"
#include "ir/mesh/sharding.h"
#include "passes/autodiff/derive.h"
#include "passes/ops/ops.h"
#include "passes/shard/shard.h"
#include "test/lib/on_mesh.h"
#include "test/lib/unit.h"

enum { MOST = 16 };

typedef struct row {
  const char *text; /* of a graph on the mesh @m [x=2] */
  double data[2][MOST], want[MOST];
  int elements, exchanges;
} row;

static ir_error error;

static ir_graph *read_graph(const char *text, ir_module *module) {
  ir_graph *g = calloc(1, sizeof *g);
  char all[1000];
  snprintf(all, sizeof all, "mesh @m [x=2]\n%s", text);
  ir_error_clear(&error);
  ir_graph_init(g, &ir_mem_libc, &error);
  if (fe_parse_graphs(g, "t", all, strlen(all), module) != IR_OK) fail_msg("%s", error.text);
  return g;
}
static void free_graph(ir_graph *g, ir_module *module) {
  ir_module_free(module);
  ir_graph_free(g);
  free(g);
}

static void check_row(const row *r) {
  ir_module module;
  ir_graph *g = read_graph(r->text, &module);
  const ir_parsed_graph *b = &module.graphs[0];
  float in[2][MOST];
  ir_binding_input bound[2];
  ir_eval_result out;
  for (size_t i = 0; i < b->param_count; i++) {
    for (int k = 0; k < MOST; k++) in[i][k] = (float)r->data[i][k];
    bound[i] = (ir_binding_input){b->params[i].ref, in[i]};
  }
  on_mesh c = {.g = g, .inputs = bound, .input_count = b->param_count};
  if (!on_mesh_check(&c, b->root)) fail_msg("%s\n%s", r->text, c.what);
  assert_int_equal(c.exchanges, r->exchanges);
  assert_int_equal(c.parts, 2);
  assert_int_equal(ir_eval(g, ir_get(g, b->root)->src, 1, bound, b->param_count, NULL, 0, &out, &error),
                   IR_OK);
  assert_int_equal(out.count, r->elements);
  for (int i = 0; i < r->elements; i++) {
    ir_value v = ir_value_load((char *)out.data + (size_t)i * ir_dtypes[out.dtype].bytes, out.dtype);
    assert_true((ir_is_float(out.dtype) ? v.f : (double)v.i) == r->want[i]);
  }
  ir_eval_free(g, &out, 1);
  free_graph(g, &module);
}

/* Each is one exchange of the summands; where the sum may wait, it is made once, at the end.
 *
 * spec: PS1 PS2 PS3 PS4 PS5 PS7 */
static void test_pending(void **state) {
  (void)state;
  static const row rows[] = {
      /* what does not commute with sums: 1, not 2; 13, not 23; 1, not 0; B not doubled */
      {"graph @g(%a: f32[2] @m[x]) {\n%p = sum %a\n%y = relu %p\nreturn %y\n}", {{-1, 2}}, {1}, 1, 1},
      {"graph @g(%a: f32[2] @m[x]) {\n%p = sum %a\n%y = add %p, 10.0\nreturn %y\n}", {{1, 2}}, {13}, 1, 1},
      {"graph @g(%a: f32[2] @m[x]) {\n%p = sum %a\n%y = cast %p dtype=i32\nreturn %y\n}",
       {{.625, .625}},
       {1},
       1,
       1},
      {"graph @g(%a: f32[2,1] @m[x,-], %b: f32[1]) {\n%p = sum %a axes=[0]\n%y = concat %p, %b "
       "axis=0\nreturn %y\n}",
       {{1, 2}, {5}},
       {3, 5},
       2,
       1},
      /* what does: one exchange for both sums, and for the sum of a product */
      {"graph @g(%a: f32[2] @m[x], %b: f32[2] @m[x]) {\n%p = sum %a\n%q = sum %b\n%y = add %p, %q\nreturn "
       "%y\n}",
       {{1, 2}, {3, 4}},
       {10},
       1,
       1},
      {"graph @g(%a: f32[2] @m[x], %b: f32[]) {\n%p = sum %a\n%q = mul %p, %b\n%y = neg %q\nreturn %y\n}",
       {{1, 2}, {3}},
       {-9},
       1,
       1},
      {"graph @g(%a: f32[2,2] @m[x,-]) {\n%p = sum %a axes=[0]\n%q = pad %p pads=[[1,0]]\n%y = sum "
       "%q\nreturn %y\n}",
       {{1, 2, 3, 4}},
       {10},
       1,
       1},
      {"graph @g(%a: f32[2,1] @m[x,-]) {\n%p = sum %a axes=[0]\n%y = pad %p pads=[[1,0]] value=7\nreturn "
       "%y\n}",
       {{1, 2}},
       {7, 3},
       2,
       1},
      /* A = 0..7 [2,4] along x, B = 0..7 [4,2] */
      {"graph @g(%a: f32[2,4] @m[-,x], %b: f32[4,2]) {\n%y = matmul %a, %b\nreturn %y\n}",
       {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}},
       {28, 34, 76, 98},
       4,
       1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

/* Sizes, windows and fills that were recorded for the whole are those of the part; what is never split is
 * gathered, once. spec: V6 F8.shard C1 */
static void test_parts(void **state) {
  (void)state;
  static const row rows[] = {
      {"graph @g(%a: f32[2,2] @m[x,-]) {\n%y = reshape %a shape=[2,1,2] : f32[2,1,2] @m[x,-,-]\nreturn %y\n}",
       {{1, 2, 3, 4}},
       {1, 2, 3, 4},
       4,
       0},
      {"graph @g(%a: f32[4,3] @m[x,-]) {\n%y = shrink %a bounds=[[0,4],[1,2]]\nreturn %y\n}",
       {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
       {1, 4, 7, 10},
       4,
       0},
      {"graph @g(%a: f32[]) {\n%y = expand %a shape=[3] : f32[3] @m[x]\nreturn %y\n}",
       {{2}},
       {2, 2, 2},
       3,
       0},
      {"graph @g(%a: f32[3] @m[x]) {\n%y = flip %a axes=[0]\nreturn %y\n}", {{1, 2, 3}}, {3, 2, 1}, 3, 1},
      {"graph @g(%a: f32[3] @m[x]) {\n%b = cumsum %a axis=0\n%y = shard %b to=[x]\nreturn %y\n}",
       {{1, 2, 3}},
       {1, 3, 6},
       3,
       1},
      {"graph @g(%a: f32[2,2] @m[x,-]) {\n%y = shard %a to=[-,x]\nreturn %y\n}",
       {{1, 2, 3, 4}},
       {1, 2, 3, 4},
       4,
       1},
      {"graph @g(%a: f32[4]) {\n%y = shard %a to=[x]\nreturn %y\n}", {{1, 2, 3, 4}}, {1, 2, 3, 4}, 4, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

/* Gradients are divided as their inputs: that of w is a sum over the batch, which is divided along x, and w
 * is divided along the same axis. spec: AD3 AD4.shard */
static void test_gradients(void **state) {
  (void)state;
  ir_module module;
  ir_graph *g = read_graph("graph @g(%a: f32[4,2] @m[x,-], %w: f32[2,3] @m[-,x]) {\n%y = matmul %a, %w\n"
                           "%s = sum %y\nreturn %s\n}",
                           &module);
  const ir_parsed_graph *b = &module.graphs[0];
  ir_ref inputs[2] = {b->params[0].ref, b->params[1].ref}, d[2];
  float data[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {1, -1, 2, 0, 1, 3}};
  ir_binding_input bound[2] = {{inputs[0], data[0]}, {inputs[1], data[1]}};
  pass_derivative of = {
      .who = "test", .outputs = &b->results[0].ref, .output_count = 1, .inputs = inputs, .input_count = 2};
  if (!pass_vjp(g, &of, NULL, d)) fail_msg("%s", error.text);
  for (int i = 0; i < 2; i++) {
    ir_spec spec;
    assert_true(ir_shard_spec(g, d[i], &spec));
    assert_true(ir_spec_equal(&spec, ir_spec_of(g, inputs[i])));
  }
  on_mesh c = {.g = g, .inputs = bound, .input_count = 2};
  if (!on_mesh_check(&c, ir_tuple(g, d, 2))) fail_msg("%s", c.what);
  assert_int_equal(c.parts, 4);
  free_graph(g, &module);
}

/* The program of a graph without a mesh, and one whose constraint has other axes, are refused. */
static void test_refusals(void **state) {
  (void)state;
  ir_module module;
  ir_graph *g = read_graph("graph @g(%a: f32[4] @m[x]) {\n%y = neg %a\nreturn %y\n}", &module);
  shard_program p;
  ir_sharding_forget(g);
  assert_false(pass_shard(g, &(shard_request){.root = module.graphs[0].root, .device = SHARD_ALL}, &p));
  assert_string_equal(error.text, "shard: the graph has no mesh");
  shard_program_free(&p);
  free_graph(g, &module);
}

UNIT_TESTS(test_pending, test_parts, test_gradients, test_refusals)
