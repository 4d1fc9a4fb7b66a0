/* Messages name the call that failed: its number, its operands, and the file and line of it. */
#undef VF_NO_PLACES
#include "frontend/viewfold.h"
#include "frontend/api/api.h"

#include "test/lib/api.h"
#include "test/lib/unit.h"

_Static_assert(sizeof(fe_statement) == 4, "a statement is kept in 4 bytes");

/* The message ends with " (call CALL, at this file:LINE)"; line 0: " (call CALL)". */
static void ends_with(const vf_graph *graph, const char *call, int line) {
  char wanted[300];
  if (line) snprintf(wanted, sizeof wanted, " (call %s, at %s:%d)", call, __FILE__, line);
  else snprintf(wanted, sizeof wanted, " (call %s)", call);
  const char *message = vf_graph_message(graph);
  size_t length = strlen(message), tail = strlen(wanted);
  assert_string_equal(length < tail ? message : message + length - tail, wanted);
}

static void test_operands(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3)), w = vf_input(g, "w", VF_F32, VF_LIST(4, 5));
  assert_false(vf_ok(vf_matmul(x, w)));
  ends_with(g, "3: matmul %x, %w", __LINE__ - 1);
  vf_graph_clear_error(g);

  vf_value scores = vf_name(vf_relu(x), "scores");
  vf_value plain = vf_relu(w);
  int line = __LINE__ - 1;
  char call[200];
  assert_false(vf_ok(vf_add(scores, plain)));
  snprintf(call, sizeof call, "6: add %%scores, f32[4,5] of %s:%d", __FILE__, line);
  ends_with(g, call, line + 3);
  vf_graph_clear_error(g);
  vf_where(x, vf_number(g, 0.5), x);
  ends_with(g, "8: where %x, 0.5, %x", __LINE__ - 1);
}

/* Where calls nest, the one that failed is named, and later ones are not. */
static void test_nested(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3)), list[2] = {x, x};
  vf_value made = vf_add(vf_permute(x, VF_LIST(0, 0)), x);
  assert_false(vf_ok(made));
  ends_with(g, "2: permute %x", __LINE__ - 2);
  char before[1024];
  snprintf(before, sizeof before, "%s", vf_graph_message(g));
  vf_relu(made);
  api_check_reason(vf_graph_message(g), before);

  vf_graph_clear_error(g);
  assert_false(vf_ok((vf_concat)(list, 2, 5)));
  vf_relu(x); /* a place of its own, which is none of the failure's */
  ends_with(g, "5: concat %x, %x", 0);
}

/* How many statements the value is of. */
static size_t count_statements(const vf_graph *g, vf_value x) {
  ir_cause_items items = {0};
  assert_true(ir_cause_list(g->ir.causes, ir_cause_of(&g->ir, x.id), &items));
  size_t count = items.count;
  ir_cause_items_free(g->ir.mem, &items);
  return count;
}

/* The statement of a value, without the folder of this file: "%y = relu %x (test_places.c:12)". */
static void check_statement(vf_graph *g, vf_value x, const char *words, int line) {
  char wanted[200];
  ir_text text;
  ir_text_init(&text, g->ir.mem);
  fe_put_statement(&g->statements, &g->ir, fe_statements_of(&g->ir, x.id), &text);
  snprintf(wanted, sizeof wanted, "%s (%.150s:%d)", words, __FILE__, line);
  assert_string_equal(ir_text_get(&text), wanted);
  ir_text_free(&text);
}

/* What one line records again and again is noted once; its names are kept, and so are other lines. */
static void test_loops(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3)), y = x, z = x;
  uint32_t before = g->ir.causes->statements;
  int line = __LINE__ + 1;
  for (int i = 0; i < 100; i++) y = vf_relu(x);
  assert_int_equal(g->ir.causes->statements, before + 1);
  assert_int_equal(count_statements(g, y), 1);
  check_statement(g, y, "relu %x", line);
  for (int i = 0; i < 3; i++) z = vf_name(vf_neg(x), i < 2 ? "one" : "two");
  assert_int_equal(count_statements(g, z), 2);
  assert_string_equal(fe_statements_name_of(&g->statements, &g->ir, z.id), "two");
  check_statement(g, z, "%one = neg %x", __LINE__ - 3);
  vf_relu(x);
  assert_int_equal(count_statements(g, y), 2);
  check_statement(g, y, "relu %x", __LINE__ - 2);
}

/* Reads and writes of references: operands are told from the nodes, and nothing is kept beside them. */
static void test_references(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value u = vf_input(g, "u", VF_F32, VF_LIST(3));
  vf_ref r = vf_ref_input(g, "r", VF_F32, VF_LIST(2, 3));
  size_t given = g->statements.given_count;
  for (int i = 0; i < 100; i++) {
    vf_ref row = vf_ref_view(r, vf_point(r.target, i % 2, 0));
    vf_value read = vf_ref_get(row);
    if (!i) check_statement(g, read, "ref_get %r", __LINE__ - 1);
    vf_ref_update(row, vf_add(read, u), VF_WRITE_ADD);
  }
  assert_int_equal(g->statements.given_count, given);
  assert_true(g->ir.causes->statements < 320); /* 3 for each turn, and the positions of 2 rows */
  vf_ref_set(vf_ref_view(r, vf_name(vf_point(r.target, 1, 0), "at")), u);
  check_statement(g, (vf_value){g, g->references[0].ref, 0}, "ref_set %at, %u axis=0", __LINE__ - 1);
}

static int inside;
static void body(void *user, const vf_value *x, vf_value *y) { y[0] = vf_stack(x, 1, 9), inside = __LINE__; }

static void test_functions(void **state) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_name(vf_relu(vf_input(g, "x", VF_F32, VF_LIST(2, 3))), "h"), y[2];
  vf_map map = {.size = sizeof map, .arguments = 1, .results = 1, .axis_size = -1};
  assert_false(vf_vmap(g, &map, body, NULL, &x, y));
  ends_with(g, "5: stack f32[2|3]", inside);
  vf_graph_clear_error(g);

  assert_int_equal(vf_split(x, 2, 1, y), -1);
  ends_with(g, "6: split %h", __LINE__ - 1);
  vf_graph_clear_error(g);
  vf_grad(x, 1, &x, y);
  ends_with(g, "7: grad %h, %h", __LINE__ - 1);
  vf_graph_clear_error(g);
  vf_scan(body, NULL, 0, NULL, 1, &x, 1, -3, false, NULL, y);
  ends_with(g, "8: scan %h", __LINE__ - 1);
  vf_graph_clear_error(g);
  int results = vf_apply_all(g, "split", &x, 1, "parts=2 axis=1", 2, y);
  assert_int_equal(results, -1);
  ends_with(g, "9: split %h", __LINE__ - 2);
}

/* Names and places are of values, and end with the values that a session leaves behind. */
static void test_session(void **state) {
  vf_context *c = api_context();
  float elements[6] = {0};
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(2, 3), elements, NULL);
  vf_value x = vf_name(vf_relu(vf_tensor_value(t)), "h");
  vf_permute(x, VF_LIST(0, 0));
  vf_graph *g = x.graph;
  ends_with(g, "2: permute %h", __LINE__ - 2);
  vf_graph_clear_error(g);
  assert_int_equal(vf_session_collect(c, NULL), VF_OK);
  vf_permute(vf_tensor_value(t), VF_LIST(0, 0));
  ends_with(g, "3: permute f32[2,3]", __LINE__ - 1);
  vf_tensor_release(t);
}

static void test_no_values(void **state) {
  assert_false(vf_ok(vf_at((vf_value){0}, __FILE__, 1)));
  assert_false(vf_ok(vf_name((vf_value){0}, "x")));
  assert_false(vf_ok(vf_add((vf_value){0}, (vf_value){0})));
  vf_call_place(NULL, __FILE__, 1);
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2));
  assert_true(vf_ok(vf_name(vf_at(x, NULL, 1), NULL)));
  vf_input(g, "x", VF_F32, VF_LIST(2));
  ends_with(g, "2: input", __LINE__ - 1);
}

UNIT_TESTS(test_operands, test_nested, test_loops, test_references, test_functions, test_session,
           test_no_values)
