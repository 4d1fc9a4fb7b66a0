/* Types with batch axes: their meaning, their alignment, the views that make them, and what is refused. */
#include "frontend/text/reader.h"
#include "test/lib/api.h"
#include "passes/batch/batch.h"
#include "test/lib/record.h"
#include "test/lib/graph.h"
#include "test/lib/unit.h"

enum { MOST = 512 };
static vf_error error;

/* Inputs x and y count from 0 and from 100. Results of the evaluator and of the compiled program must equal
 * `want`. */
static void check_result(const char *text, const float *want, int count) {
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, text);
  float in[2][MOST], out[MOST] = {0};
  for (int i = 0; i < MOST; i++) in[0][i] = (float)i, in[1][i] = (float)(100 + i);
  const void *inputs[] = {in[0], in[1]};
  for (int compiled = 0; compiled < 2; compiled++) {
    if (compiled) api_run(api_compile(g), inputs, (void *[]){out}, NULL);
    else api_evaluate(g, inputs, (void *[]){out}, NULL);
    for (int i = 0; i < count; i++)
      if (out[i] != want[i])
        fail_msg("%s\n%s, element %d: %g, expected %g", text, compiled ? "compiled" : "evaluated", i, out[i],
                 want[i]);
  }
}

/* The type of %y in `graph @f(PARAMS) { BODY return %y }`, or the message with which it is refused. */
static void check_type(const char *params, const char *body, const char *type, const char *message) {
  char text[1024];
  vf_context *c = api_context();
  snprintf(text, sizeof text, "graph @f(%s) {\n%s\nreturn %%y\n}\n", params, body);
  if (message) {
    vf_graph *g = vf_graph_parse(c, text, strlen(text), "f", NULL, &error);
    if (g || !strstr(error.message, message))
      fail_msg("%s: `%s`, expected `%s`", body, g ? "accepted" : error.message, message);
  } else {
    vf_graph *g = api_parse(c, text);
    char *line = vf_value_text(vf_graph_find(g, "y"));
    const char *colon = strrchr(line, ':');
    if (!colon || strcmp(colon + 2, type) != 0) fail_msg("%s: %s, expected %s", body, line, type);
    vf_text_free(c, line);
    api_check_text(c, g);
  }
}

typedef struct type_case {
  const char *params, *body, *type, *message;
} type_case;
static void check_type_case(const type_case *k) { check_type(k->params, k->body, k->type, k->message); }

/* spec: V1 V2 V3 V4 V7.batch V11.batch */
static void test_types(void **state) {
  static const type_case cases[] = {
      /* V1: batch axes lead; the shape is the rest */
      {"%x: f32[7,5,10,5]", "%y = rebatch %x batch_dims=2", "f32[7,5|10,5]", NULL},
      {"%x: f32[7,5|10,5]", "%y = rebatch %x batch_dims=0", "f32[7,5,10,5]", NULL},
      {"%x: f32[7,5|10,5]", "%y = rebatch %x batch_dims=4", "f32[7,5,10,5|]", NULL},
      {"%x: f32[7,5|10,5]", "%y = rebatch %x batch_dims=5", NULL,
       "rebatch: batch_dims=5 is out of range; x has shape f32[7,5|10,5], 4 physical axes; takes 0..4"},
      {"%x: f32[7,5|10,5]", "%y = rebatch %x batch_dims=-1", NULL, "takes 0..4"},
      {"n=1..9, %x: f32[n,(n+1)|2]", "%y = neg %x", "f32[n,(n+1)|2]", NULL},
      /* V2: as many batch axes as the operand that has most */
      {"%x: f32[3], %a: f32[7,5|3]", "%y = add %x, %a", "f32[7,5|3]", NULL},
      {"%x: f32[5|3], %a: f32[7,5|1]", "%y = where true, %a, %x", "f32[7,5|3]", NULL},
      {"%x: f32[5|3], %a: f32[3]", "%y = concat %a, %x", "f32[5|6]", NULL},
      {"%x: f32[5|3], %a: f32[3]", "%y = stack %a, %x axis=1", "f32[5|3,2]", NULL},
      {"%x: f32[5|2,3], %a: f32[4,5|3,6]", "%y = matmul %x, %a", "f32[4,5|2,6]", NULL},
      {"%x: f32[5|7,3], %i: i32[4]", "%y = gather %x, %i axis=1", "f32[5|7,4]", NULL},
      {"%x: f32[7,3], %i: i32[5|4]", "%y = gather %x, %i axis=1", "f32[5|7,4]", NULL},
      {"%x: f32[5|3]", "%y = add %x, 1.0", "f32[5|3]", NULL},
      {"%x: f32[5|3]", "%y = softmax %x axis=0", "f32[5|3]", NULL},
      /* V3, V4: axes and sizes are logical */
      {"%x: f32[7,5|10,3]", "%y = sum %x axes=[0]", "f32[7,5|3]", NULL},
      {"%x: f32[7,5|10,3]", "%y = sum %x axes=[-1]", "f32[7,5|10]", NULL},
      {"%x: f32[7|10,3]", "%y = sum %x axes=[0,-1]", "f32[7|]", NULL},
      {"%x: f32[7,5|10,3]", "%y = permute %x order=[1,0]", "f32[7,5|3,10]", NULL},
      {"%x: f32[7,5|10,3]", "%y = reshape %x shape=[-1]", "f32[7,5|30]", NULL},
      {"%x: f32[7,5|10]", "%y = broadcast_to %x shape=[2,10]", "f32[7,5|2,10]", NULL},
      {"%x: f32[7,5|10,1]", "%y = squeeze %x", "f32[7,5|10]", NULL},
      {"%x: f32[1|10,1]", "%y = squeeze %x", "f32[1|10]", NULL},
      {"%x: f32[7,5|10,3]", "%y = pad %x pads=[[1,0],[0,2]]", "f32[7,5|11,5]", NULL},
      {"%x: f32[7,5|10,3]", "%y = stride %x steps=[2,-1]", "f32[7,5|5,3]", NULL},
      {"%x: f32[7,5|10,3]", "%y = point %x index=-1 axis=1", "f32[7,5|10]", NULL},
      {"%x: f32[7,5|10,3]", "%y = argmax %x axis=0", "i64[7,5|3]", NULL},
      /* V7, V8: checked against the logical rank */
      {"%x: f32[7,5|10,3]", "%y = sum %x axes=[-3]", NULL, "the axis must lie in -2..1"},
      {"%x: f32[7,5|10,3]", "%y = swap_axes %x axis1=0 axis2=2", NULL, "the axis must lie in -2..1"},
      {"%x: f32[7,5|10,3]", "%y = unsqueeze %x axis=-4", NULL, "the axis must lie in -3..2"},
      {"%x: f32[10,5]", "%y = squeeze %x axis=0", NULL, "only an axis of size 1 can be removed"},
      {"%x: f32[1,5]", "%y = squeeze %x axis=0", "f32[5]", NULL},
      {"%x: f32[7|10,5]", "%y = squeeze %x axis=0", NULL, "only an axis of size 1 can be removed"},
  };
  CHECK_ALL(check_type_case, cases);
}

/* spec: B11.U V20.batch */
static void test_alignment(void **state) {
  static const type_case cases[] = {
      {"%x: f32[5|3], %a: f32[3]", "%y = mul %x, %a", "f32[5|3]", NULL},
      {"%x: f32[5|3], %a: f32[1|3]", "%y = mul %x, %a", "f32[5|3]", NULL},
      {"%x: f32[4,1|3], %a: f32[5|3]", "%y = mul %x, %a", "f32[4,5|3]", NULL},
      {"n=1..4, %x: f32[4,n|3], %a: f32[n|3]", "%y = mul %x, %a", "f32[4,n|3]", NULL},
      {"%x: f32[5|3], %a: f32[4|3]", "%y = add %x, %a", NULL,
       "add: batches of f32[5|3] and f32[4|3] do not align: size 5 meets 4; batch axes align at the end (the "
       "innermost vmap comes first), and their sizes must be equal or 1"},
      {"%x: f32[5,4|3], %a: f32[5|3]", "%y = where true, %x, %a", NULL,
       "where: batches of f32[5,4|3] and f32[5|3]"},
      {"%x: f32[5|3], %a: f32[4|3]", "%y = concat %x, %a", NULL, "concat: batches of"},
      {"%x: f32[5|2,3], %a: f32[4|3,2]", "%y = matmul %x, %a", NULL, "matmul: batches of"},
      {"%x: f32[5|3], %i: i32[4|3]", "%y = gather %x, %i", NULL, "gather: batches of"},
      {"n=1..4, %x: f32[n|3], %a: f32[4|3]", "%y = add %x, %a", NULL, "needs n == 4"},
      {"%x: f32[2,2,2,2,2,2,2,2|2,2,2,2,2,2,2,2]", "%y = unsqueeze %x", NULL, "at most 16 axes"},
      {"%x: f32[4194304|2097152], %a: f32[2097152,1|1]", "%y = add %x, %a", NULL, "less than 2^63"},
  };
  CHECK_ALL(check_type_case, cases);
}

/* Each view with its numbers. spec: B1 B1.U B2 B2.U B3 B4 B5 B6 B7 B8 B9 */
static void test_views(void **state) {
  static const type_case cases[] = {
      {"%x: f32[4,8]", "%y = unsqueeze_physical %x axis=-1", "f32[4,8,1]", NULL},
      {"%x: f32[4|8]", "%y = unsqueeze_physical %x axis=0", "f32[1|4,8]", NULL},
      {"%x: f32[4|8]", "%y = unsqueeze_physical %x axis=3", NULL,
       "unsqueeze_physical: axis 3 is out of range; x has shape f32[4,8]; the axis must lie in -3..2"},
      {"%x: f32[4,1,8]", "%y = squeeze_physical %x axis=1", "f32[4,8]", NULL},
      {"%x: f32[1|4,8]", "%y = squeeze_physical %x axis=0", "f32[4|8]", NULL},
      {"%x: f32[4|1,8]", "%y = squeeze_physical %x axis=0", NULL, "axis 0 has size 4"},
      {"%x: f32[4|8]", "%y = squeeze_physical %x axis=-3", NULL, "the axis must lie in -2..1"},
      {"%x: f32[1|]", "%y = squeeze_physical %x axis=0", NULL, "only batch axes"},
      {"%x: f32[4,1]", "%y = broadcast_to_physical %x shape=[4,8]", "f32[4,8]", NULL},
      {"%x: f32[8]", "%y = broadcast_to_physical %x shape=[4,8]", "f32[4,8]", NULL},
      {"%x: f32[2|8]", "%y = broadcast_to_physical %x shape=[2,4,8]", "f32[2|4,8]", NULL},
      {"%x: f32[2|8]", "%y = broadcast_to_physical %x shape=[3,4,8]", NULL, "asks for 3 at axis 0"},
      {"%x: f32[2|8]", "%y = broadcast_to_physical %x shape=[8]", NULL, "never lowers the rank"},
      {"%x: f32[3,4]", "%y = incr_batch_dims %x", "f32[3|4]", NULL},
      {"%x: f32[3|]", "%y = incr_batch_dims %x", NULL,
       "incr_batch_dims: x has shape f32[3|], which has no axis to become a batch axis; takes a logical rank "
       "of at "
       "least 1"},
      {"%x: f32[3|4]", "%y = decr_batch_dims %x", "f32[3,4]", NULL},
      {"%x: f32[3]", "%y = decr_batch_dims %x", NULL,
       "decr_batch_dims: cannot decrement batch_dims below 0; x has shape f32[3]"},
      {"%x: f32[5|2,3,4]", "%y = move_axis_to_batch_dims %x axis=1", "f32[3,5|2,4]", NULL},
      {"%x: f32[5|2,3,4]", "%y = move_axis_to_batch_dims %x axis=-1", "f32[4,5|2,3]", NULL},
      {"%x: f32[5|2,3,4]", "%y = move_axis_to_batch_dims %x axis=3", NULL,
       "move_axis_to_batch_dims: axis 3 is out of"},
      {"%x: f32[3,5|2,4]", "%y = move_axis_from_batch_dims %x batch_axis=0 logical_destination=1",
       "f32[5|2,3,4]", NULL},
      {"%x: f32[3,5|2,4]", "%y = move_axis_from_batch_dims %x batch_axis=-1 logical_destination=-1",
       "f32[3|2,4,5]", NULL},
      {"%x: f32[2]", "%y = move_axis_from_batch_dims %x", NULL,
       "move_axis_from_batch_dims: no batch dims to move from"},
      {"%x: f32[3|2]", "%y = move_axis_from_batch_dims %x batch_axis=1", NULL, "the axis must lie in -1..0"},
      {"%x: f32[3|2]", "%y = move_axis_from_batch_dims %x logical_destination=2", NULL,
       "the axis must lie in -2..1"},
      {"%x: f32[5|2,3,4]", "%y = moveaxis_physical %x source=0 destination=-1", "f32[2|3,4,5]", NULL},
      {"%x: f32[3]", "%y = broadcast_batch_dims %x batch_shape=[2]", "f32[2|3]", NULL},
      {"%x: f32[2|3]", "%y = broadcast_batch_dims %x batch_shape=[4,2]", "f32[4,2|3]", NULL},
      {"%x: f32[2|3]", "%y = broadcast_batch_dims %x batch_shape=[3]", NULL, "asks for 3 where x"},
      {"%x: f32[2|3]", "%y = broadcast_batch_dims %x batch_shape=[]", NULL, "takes 1..15"},
      {"%x: f32[3,4]", "%y = batch %x axis=1 level=3", "f32[4,1,1|3]", NULL},
      {"%x: f32[2|3]", "%y = batch %x level=1", NULL, "level 1 is out of range"},
      {"%x: f32[4,1,2|3]", "%y = unbatch %x axis=1 level=3 size=4", "f32[2|3,4]", NULL},
      {"%x: f32[4,1|3]", "%y = unbatch %x axis=1 level=2 size=4", "f32[3,4]", NULL},
      {"%x: f32[2|3]", "%y = unbatch %x level=2 size=4", "f32[2|4,3]", NULL},
      {"%x: f32[4|3]", "%y = unbatch %x level=1 size=5", NULL, "sizes must be equal or 1"},
  };
  CHECK_ALL(check_type_case, cases);
}

/* Which elements are where: each view is a permutation, given by the indices in memory. spec: B3 B6 B7 B9 */
static void test_elements(void **state) {
  check_result("graph @f(%x: f32[3,5|2,4]) {\n"
               "%a = move_axis_from_batch_dims %x batch_axis=0 logical_destination=1\n"
               "%b = move_axis_to_batch_dims %a axis=1\n%c = sub %b, %x\n%d = rebatch %c batch_dims=0\n"
               "%y = sum %d\nreturn %y\n}\n",
               (const float[]){0}, 1);
  check_result("graph @f(%x: f32[2|2,3]) {\n%y = move_axis_to_batch_dims %x axis=1\nreturn %y\n}\n",
               (const float[]){0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}, 12);
  check_result("graph @f(%x: f32[2,3|2]) {\n"
               "%y = move_axis_from_batch_dims %x batch_axis=1 logical_destination=1\nreturn %y\n}\n",
               (const float[]){0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}, 12);
  check_result("graph @f(%x: f32[2|2]) {\n%y = broadcast_batch_dims %x batch_shape=[2,2]\nreturn %y\n}\n",
               (const float[]){0, 1, 2, 3, 0, 1, 2, 3}, 8);
  check_result("graph @f(%x: f32[2|2]) {\n%y = broadcast_to_physical %x shape=[2,2,2]\nreturn %y\n}\n",
               (const float[]){0, 1, 0, 1, 2, 3, 2, 3}, 8);
  check_result(
      "graph @f(%x: f32[2|2]) {\n%a = batch %x level=2\n%b = add %a, %x\n%y = unbatch %b level=2 size=2\n"
      "return %y\n}\n",
      /* for outer i, new axis k, and element j: x[i,k] + x[i,j] */
      (const float[]){0, 1, 1, 2, 4, 5, 5, 6}, 8);
}

/* spec: B11 V20.batch V22.batch */
static void test_operations(void **state) {
  /* B11: f32[2|3] and f32[3]; the batch of 2 gets the same y */
  check_result("graph @f(%x: f32[2|3], %y: f32[3]) {\n%z = add %x, %y\nreturn %z\n}\n",
               (const float[]){100, 102, 104, 103, 105, 107}, 6);
  check_result("graph @f(%x: f32[3], %y: f32[2|3]) {\n%z = concat %x, %y\nreturn %z\n}\n",
               (const float[]){0, 1, 2, 100, 101, 102, 0, 1, 2, 103, 104, 105}, 12);
  /* rows of x by the matrix y of each batch element */
  check_result("graph @f(%x: f32[1,2], %y: f32[2|2,1]) {\n%z = matmul %x, %y\nreturn %z\n}\n",
               (const float[]){101, 103}, 2);
  check_result("graph @f(%x: f32[2|3]) {\n%i = data shape=[2] dtype=i32 values=[2,0]\n%z = gather %x, "
               "%i\nreturn %z\n}\n",
               (const float[]){2, 0, 5, 3}, 4);
  check_result("graph @f(%x: f32[2|2,3]) {\n%z = sum %x axes=[0]\nreturn %z\n}\n",
               (const float[]){3, 5, 7, 15, 17, 19}, 6);
  check_result("graph @f(%x: f32[2|2,2]) {\n%a = flip %x axes=[0]\n%z = pad %a pads=[[0,0],[1,0]] "
               "value=9\nreturn %z\n}\n",
               (const float[]){9, 2, 3, 9, 0, 1, 9, 6, 7, 9, 4, 5}, 12);
  /* indices that differ within the batch */
  check_result("graph @f(%x: f32[3,2]) {\n%i = data shape=[2,2] dtype=i32 values=[2,0,1,1]\n"
               "%b = rebatch %i batch_dims=1\n%z = gather %x, %b\nreturn %z\n}\n",
               (const float[]){4, 5, 0, 1, 2, 3, 2, 3}, 8);
}

/* Indices and data that both differ within the batch share its axes. */
static void test_indirect(void **state) {
  check_result("graph @f(%x: f32[2|3]) {\n%i = data shape=[2,2] dtype=i32 values=[2,0,1,-2]\n"
               "%b = rebatch %i batch_dims=1\n%z = gather %x, %b\nreturn %z\n}\n",
               (const float[]){2, 0, 4, 4}, 4);
  check_result(
      "graph @f(%x: f32[2|3]) {\n%i = data shape=[2,1] dtype=i32 values=[1,0]\n"
      "%b = rebatch %i batch_dims=1\n%u = full shape=[1] value=9.0\n%z = scatter %x, %b, %u\nreturn %z\n}\n",
      (const float[]){0, 9, 2, 9, 4, 5}, 6);
  check_result("graph @f(%x: f32[3], %y: f32[2|2]) {\n%i = data shape=[2] dtype=i32 values=[1,1]\n"
               "%z = scatter_add %x, %i, %y\nreturn %z\n}\n",
               (const float[]){0, 202, 2, 0, 206, 2}, 6);
}

/* Attributes stay logical in the graph, and are adapted when it is compiled. spec: V5 */
static void test_physical_text(void **state) {
  test_graph *t = test_graph_begin();
  ir_graph *g = &t->g;
  ir_module module;
  ir_text text;
  const char *source = "graph @f(%x: f32[5|2,3]) {\n%y = sum %x axes=[0]\nreturn %y\n}\n";
  assert_int_equal(fe_parse_graphs(g, "f", source, strlen(source), &module), IR_OK);
  ir_ref root = module.graphs[0].root;
  assert_int_equal(ir_verify(g, root, IR_LEVEL_TENSOR, &t->error), IR_OK);
  assert_true(pass_physicalize(g, &root, 1));
  assert_int_equal(ir_verify(g, root, IR_LEVEL_TENSOR, &t->error), IR_OK);
  ir_text_init(&text, &ir_mem_libc);
  ir_print_graph(g, "f", root, &text);
  assert_string_equal(ir_text_get(&text), "graph @f(%x: f32[5,2,3]) {\n  %0 = sum %x axes=[1] : f32[5,3]\n"
                                          "  return %0\n}\n");
  ir_text_free(&text);
  ir_module_free(&module);
}

/* Graphs without a batch are unchanged, node for node. */
static void test_nothing_to_do(void **state) {
  ir_graph *g = &test_graph_begin()->g;
  ir_module module;
  const char *source = "graph @f(%x: f32[5,3,3]) {\n%a = sum %x axes=[0]\n%y = matmul %a, %a\nreturn %y\n}\n";
  assert_int_equal(fe_parse_graphs(g, "f", source, strlen(source), &module), IR_OK);
  ir_ref root = module.graphs[0].root, before = root;
  uint32_t count = g->count;
  assert_true(pass_physicalize(g, &root, 1));
  assert_int_equal(root, before);
  assert_int_equal(g->count, count);
  assert_int_equal(g->batches_cap, 0);
  ir_module_free(&module);
}

/* Two batches of one shape are two programs: the key contains the batch. spec: H2.U */
static void test_keys(void **state) {
  vf_context *c = api_context();
  for (int n = 2; n <= 3; n++) {
    vf_graph *g = api_graph(c, "key");
    vf_value x = vf_input_batched(g, "x", VF_F32, VF_LIST(n), VF_LIST(2));
    vf_output(g, "y", vf_sum(x, VF_ALL, false));
    vf_program *p = api_compile(g);
    float in[6] = {1, 2, 3, 4, 5, 6}, out[4] = {0};
    api_run(p, (const void *[]){in}, (void *[]){out}, NULL);
    for (int i = 0; i < n; i++) assert_true(out[i] == in[2 * i] + in[2 * i + 1]);
    assert_true(out[n] == 0);
    assert_int_equal(vf_port_rank(p, VF_INPUT, 0), 2);
    int64_t shape[2];
    assert_int_equal(vf_port_shape(p, VF_INPUT, 0, NULL, shape, &error), VF_OK);
    assert_true(shape[0] == n && shape[1] == 2);
  }
}

/* The views of a batched value are those of the array, the batch axes first. */
static void test_view_of(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "f");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3, 4));
  vf_value y = vf_flip(vf_move_axis_to_batch_dims(x, 1), VF_LIST(-1)); /* [3|2,4] */
  int64_t shape[16], strides[16], offset;
  assert_int_equal(vf_view_get(vf_view_of(y), 0, shape, strides, &offset, NULL), 3);
  assert_true(shape[0] == 3 && shape[1] == 2 && shape[2] == 4);
  assert_true(strides[0] == 4 && strides[1] == 12 && strides[2] == -1 && offset == 3);
}

static void test_questions(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "f");
  vf_value x = vf_input_batched(g, "x", VF_F32, VF_LIST(7, 5), VF_LIST(10, 3));
  int64_t sizes[2];
  assert_int_equal(vf_value_rank(x), 2);
  assert_int_equal(vf_value_size(x, 0), 10);
  assert_int_equal(vf_value_batch_dims(x), 2);
  assert_int_equal(vf_value_batch(x, sizes), 2);
  assert_true(sizes[0] == 7 && sizes[1] == 5);
  assert_int_equal(vf_value_batch_dims((vf_value){0}), -1);
  assert_int_equal(vf_value_batch(vf_sum(x, VF_ALL, false), NULL), 2);
}

/* Tensors of the session keep their batch axes when they are realised, and when the session moves to a new
 * graph. */
static void test_session(void **state) {
  vf_context *c = api_context();
  const float data[] = {1, 2, 3, 4, 5, 6};
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(2, 3), data, &error);
  vf_tensor *b = vf_tensor_keep(
      vf_mul(vf_incr_batch_dims(vf_tensor_value(t)), vf_number(vf_session(c, NULL), 2)), &error);
  assert_non_null(b);
  assert_int_equal(vf_tensor_bytes(b), sizeof data);
  const float *elements = vf_tensor_data(b, &error);
  if (!elements) fail_msg("%s", error.message);
  for (int i = 0; i < 6; i++) assert_true(elements[i] == 2 * data[i]);
  assert_int_equal(vf_session_collect(c, &error), VF_OK);
  assert_int_equal(vf_value_batch_dims(vf_tensor_value(b)), 1);
  assert_int_equal(vf_tensor_rank(b), 1);
  vf_tensor *s = vf_tensor_keep(vf_sum(vf_tensor_value(b), VF_ALL, false), &error);
  elements = vf_tensor_data(s, &error);
  if (!elements) fail_msg("%s", error.message);
  assert_true(elements[0] == 12 && elements[1] == 30);
  vf_tensor_release(t), vf_tensor_release(b), vf_tensor_release(s);
}

static bool makes_physical(recorder *r, const char *unused) {
  ir_graph *g = &r->g;
  ir_ref two = ir_index(g, 2), three = ir_index(g, 3);
  ir_ref x = op_input_batched(g, "x", 1, IR_F32, &two, 1, &three, 1);
  ir_ref y = op_batch(g, x, 0, 3), z = op_binary(g, IR_OP_ADD, x, y);
  ir_ref root = ir_tuple(g, (ir_ref[]){op_unbatch(g, z, three, 0, 3), op_rebatch(g, z, 1)}, 2);
  bool good = root && pass_physicalize(g, &root, 1);
  if (!good) assert_int_equal(r->error.status, IR_ERR_MEMORY);
  return good;
}

/* Any allocation may fail: the graph is then refused with a memory error, or its text is the same. */
static void test_short_memory(void **state) {
  record_short_of_memory(makes_physical, (const char *const[]){"batches"}, 1, true);
}

UNIT_TESTS(test_types, test_alignment, test_views, test_elements, test_operations, test_indirect,
           test_physical_text, test_nothing_to_do, test_keys, test_questions, test_view_of, test_session,
           test_short_memory)
