/* The kernels that a dump says run once are those that a program bound to its constants does not launch:
 * what the report finds in a plan, and the runtime in its file, are the same. */
#include "frontend/api/api.h"
#include "frontend/report/dump.h"
#include "frontend/viewfold.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { INNER = 256, OUTER = 1024, ROWS = 64 }; /* a column of weights lies in more pages than a TLB has */
static float weights[INNER * OUTER];

typedef vf_value (*recorder)(vf_graph *g, vf_value x, vf_value w);

static vf_value product(vf_graph *g, vf_value x, vf_value w) {
  (void)g;
  return vf_matmul(x, w);
}
/* Computed from w alone, with two stored steps. */
static vf_value of_changed(vf_graph *g, vf_value x, vf_value w) {
  vf_value half = vf_stored(vf_mul(w, vf_number(g, 0.5)));
  return vf_matmul(x, vf_stored(vf_abs(half)));
}
/* Larger than the constant: not worth the memory. */
static vf_value repeated(vf_graph *g, vf_value x, vf_value w) {
  const int64_t wide[] = {8, INNER, OUTER}, axes[] = {0};
  (void)g;
  return vf_matmul(x, vf_sum(vf_stored(vf_expand(vf_unsqueeze(w, 0), 3, wide)), 1, axes, false));
}
static vf_value of_input(vf_graph *g, vf_value x, vf_value w) {
  return vf_matmul(vf_stored(vf_mul(x, vf_number(g, 2))), w);
}
/* A result is the caller's memory, whatever it is computed from. */
static vf_value result_alone(vf_graph *g, vf_value x, vf_value w) {
  (void)x;
  return vf_mul(w, vf_number(g, 3));
}

static unsigned occurrences(const char *text, const char *part) {
  unsigned count = 0;
  for (; (text = strstr(text, part)); text++) count++;
  return count;
}

/* How many of the kernels run once. */
static unsigned compare(recorder record, bool varies) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "once");
  const int64_t shape[] = {INNER, OUTER};
  vf_value rows = varies ? vf_variable(g, "n", 1, 512, 1) : vf_integer(g, ROWS);
  vf_value sizes[] = {rows, vf_integer(g, INNER)}, x = vf_input_sized(g, "x", VF_F32, 2, sizes);
  vf_value w = vf_constant_borrow(g, VF_F32, 2, shape, weights, NULL, NULL);
  vf_output(g, "y", record(g, x, w));
  vf_program *p = api_compile(g);
  vf_stats stats = {.size = sizeof stats};
  assert_true(vf_program_stats(p, &stats));
  ir_error failure = {0};
  ir_named param = g->inputs[0], result = g->outputs[0];
  ir_parsed_graph block = {.kind = IR_BLOCK_GRAPH,
                           .name = "once",
                           .name_length = 4,
                           .root = ir_tuple(&g->ir, &result.ref, 1),
                           .params = &param,
                           .param_count = 1,
                           .results = &result,
                           .result_count = 1};
  const fe_dump_options options = {.stage = FE_STAGE_KERNELS,
                                   .target = rt_context_target(c->runtime, &failure)};
  ir_text out;
  ir_text_init(&out, &ir_mem_libc);
  if (fe_dump(&g->ir, &block, &options, &out, &failure)) fail_msg("%s", failure.text);
  unsigned kernels = occurrences(ir_text_get(&out), "\nkernel "),
           once = occurrences(ir_text_get(&out), "\n  once ");
  if (kernels - once != stats.launches)
    fail_msg("%u kernels, %u of them once, %u launches:\n%s", kernels, once, stats.launches,
             ir_text_get(&out));
  ir_text_free(&out);
  return once;
}

static void test_as_launched(void **state) {
  (void)state;
  for (int i = 0; i < INNER * OUTER; i++) weights[i] = (float)(i % 7 - 3);
  for (int varies = 0; varies < 2; varies++) {
    assert_int_equal(compare(product, varies), 1);
    compare(of_changed, varies);
    compare(repeated, varies);
    compare(of_input, varies);
    assert_int_equal(compare(result_alone, varies), 0);
  }
}

UNIT_TESTS(test_as_launched)
