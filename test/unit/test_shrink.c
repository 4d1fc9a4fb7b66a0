/* `viewfold check` makes a graph small that shows a fault: here faults are operations, as if the compiler
 * took each for another. */
#include "frontend/cli/check/shrink.h"
#include "frontend/text/reader.h"
#include "ir/print/print.h"
#include "test/lib/unit.h"

typedef struct fault {
  ir_graph *g;
  ir_op op, of; /* shown where `op` is computed directly from `of`; of 0: from anything */
  int asked;
} fault;

static bool shows(void *user, const check_graph *graph) {
  fault *f = user;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool found = false;
  f->asked++;
  assert_int_equal(ir_reachable(f->g, &graph->result, 1, &live, &count, &cap), IR_OK);
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(f->g, live[i]);
    found |= n->op == f->op && (!f->of || ir_op_of(f->g, n->src[0]) == f->of);
    bool known = n->op != IR_OP_INPUT;
    for (size_t k = 0; k < graph->count; k++) known |= graph->params[k].ref == live[i];
    assert_true(known); /* no input is missing */
  }
  ir_free(f->g->mem, live, cap * sizeof *live);
  return found;
}

static const char text[] = "graph @g(%a: f32[4,6], %b: f32[6,3]) {\n"
                           "  %c = matmul %a, %b\n"
                           "  %d = tanh %c\n"
                           "  %e = permute %d order=[1,0]\n"
                           "  %f = exp %e\n"
                           "  %s = sum %f axes=[1]\n"
                           "  %y = sqrt %s\n"
                           "  return %y\n"
                           "}\n";

static void shrinks_to(ir_op op, ir_op of, const char *want) {
  ir_graph g;
  ir_error error = {0};
  ir_module module = {0};
  ir_text out;
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  assert_int_equal(fe_parse_graphs(&g, "test", text, strlen(text), &module), IR_OK);
  ir_parsed_graph block = module.graphs[0];
  check_graph graph = {.result = block.results[0].ref};
  assert_true(IR_RESERVE(g.mem, graph.params, graph.cap, block.param_count));
  memcpy(graph.params, block.params, block.param_count * sizeof *graph.params);
  graph.count = block.param_count;
  fault f = {&g, op, of, 0};
  assert_true(check_shrink(&g, &graph, shows, &f));
  ir_named result = {.name = "y", .length = 1, .ref = graph.result};
  block.params = graph.params, block.param_count = graph.count;
  block.results = &result, block.result_count = 1;
  ir_text_init(&out, &ir_mem_libc);
  ir_print_parsed(&g, &block, &out);
  assert_string_equal(ir_text_get(&out), want);
  ir_text_free(&out);
  ir_free(g.mem, graph.params, graph.cap * sizeof *graph.params);
  ir_module_free(&module);
  ir_graph_free(&g);
}

static void one_operation(void **state) {
  shrinks_to(IR_OP_EXP, 0, "graph @g(%c2: f32[3,4]) {\n  %y = exp %c2 : f32[3,4]\n  return %y\n}\n");
}

static void two_that_belong_together(void **state) {
  shrinks_to(IR_OP_EXP, IR_OP_PERMUTE,
             "graph @g(%c2: f32[4,3]) {\n"
             "  %0 = permute %c2 order=[1,0] : f32[3,4]\n"
             "  %y = exp %0 : f32[3,4]\n"
             "  return %y\n"
             "}\n");
}

static void parameters_stay_where_nothing_can_go(void **state) {
  shrinks_to(IR_OP_MATMUL, 0,
             "graph @g(%a: f32[4,6], %b: f32[6,3]) {\n  %y = matmul %a, %b : f32[4,3]\n  return %y\n}\n");
}

UNIT_TESTS(one_operation, two_that_belong_together, parameters_stay_where_nothing_can_go)
