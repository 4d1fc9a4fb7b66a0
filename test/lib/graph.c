#include "test/lib/graph.h"

#include "test/lib/unit.h"

static void end(void *of) {
  test_graph *t = of;
  ir_graph_free(&t->g);
  free(t);
}

test_graph *test_graph_begin(void) {
  test_graph *t = calloc(1, sizeof *t);
  assert_non_null(t);
  assert_int_equal(ir_graph_init(&t->g, &ir_mem_libc, &t->error), IR_OK);
  return unit_keep(t, end);
}
