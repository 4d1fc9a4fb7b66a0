/* Kernels whose loops are made once for all that are equal: a plan is what it is where each is made alone,
 * as it is where an observer looks on. */
#include "frontend/text/reader.h"
#include "passes/passes.h"
#include "runtime/cache/kernel_key.h"
#include "test/lib/unit.h"

#include <stdio.h>
#include <string.h>

enum { LAYERS = 5, TEXT = 4000 };

static const ir_target machine = {.triple = "x86_64-unknown-linux-gnu",
                                  .features = "+avx2,+fma",
                                  .vector_bytes = 32,
                                  .registers = 16,
                                  .has_fma = true,
                                  .l1_bytes = 32768,
                                  .l2_bytes = 1048576};

/* Layers of the same operations; some read the bias of another. */
static void write_layers(char *text) {
  char *at = text;
  at += sprintf(at, "graph @g(%%x0: f32[48,64]");
  for (int i = 0; i < LAYERS; i++) at += sprintf(at, ", %%w%d: f32[64,64], %%b%d: f32[64]", i, i);
  at += sprintf(at, ") {\n");
  for (int i = 0; i < LAYERS; i++) {
    at += sprintf(at, "  %%m%d = matmul %%x%d, %%w%d\n", i, i, i);
    at += sprintf(at, "  %%s%d = add %%m%d, %%b%d\n", i, i, i % 3);
    at += sprintf(at, "  %%n%d = softmax %%s%d axis=1\n", i, i);
    at += sprintf(at, "  %%t%d = permute %%n%d order=[1,0]\n", i, i);
    at += sprintf(at, "  %%k%d = stored %%t%d\n", i, i);
    at += sprintf(at, "  %%r%d = permute %%k%d order=[1,0]\n", i, i);
    at += sprintf(at, "  %%x%d = add %%r%d, %%x%d\n", i + 1, i, i);
  }
  sprintf(at, "  return %%x%d\n}\n", LAYERS);
}

static void nothing(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel) {
  (void)user, (void)pass, (void)g, (void)root, (void)kernel;
}

typedef struct compiled {
  ir_graph g;
  ir_plan plan;
} compiled;

static void compile(const char *text, pass_observer observer, compiled *out) {
  ir_error error = {0};
  ir_module module = {.mem = &ir_mem_libc};
  assert_int_equal(ir_graph_init(&out->g, &ir_mem_libc, &error), IR_OK);
  out->g.error = &error;
  if (fe_parse_graphs(&out->g, "<layers>", text, strlen(text), &module)) fail_msg("%s", error.text);
  ir_ref results = ir_tuple(&out->g, &module.graphs[0].results[0].ref, 1);
  pass_options options = {.target = &machine, .verify = true, .observer = observer};
  if (pass_pipeline(&out->g, results, &options, &out->plan, &error)) fail_msg("%s", error.text);
  ir_module_free(&module);
}

static void release(compiled *c) {
  ir_plan_free(&c->plan);
  ir_graph_free(&c->g);
}

/* Nodes of different graphs are equal if they have the same bytes. */
static void compare(const compiled *a, ir_ref x, const compiled *b, ir_ref y) {
  ir_error error = {0};
  rt_kernel_key p, q;
  assert_int_equal(x == 0, y == 0);
  if (!x) return;
  assert_int_equal(rt_effect_key_make(&ir_mem_libc, &a->g, x, &p, &error), IR_OK);
  assert_int_equal(rt_effect_key_make(&ir_mem_libc, &b->g, y, &q, &error), IR_OK);
  assert_int_equal(p.size, q.size);
  assert_memory_equal(p.bytes, q.bytes, p.size);
  rt_kernel_key_free(&ir_mem_libc, &p);
  rt_kernel_key_free(&ir_mem_libc, &q);
}

/* Returns how often a kernel has the loops of one before it. */
static uint32_t compare_plans(const char *text) {
  compiled once, alone;
  uint32_t repeated = 0;
  compile(text, NULL, &once);
  compile(text, nothing, &alone);
  assert_int_equal(once.plan.step_count, alone.plan.step_count);
  for (size_t i = 0; i < once.plan.step_count; i++) {
    const ir_step *p = &once.plan.steps[i], *q = &alone.plan.steps[i];
    assert_int_equal(p->kind, q->kind);
    if (p->kind != IR_STEP_KERNEL) continue;
    assert_int_equal(p->slot_count, q->slot_count);
    for (uint32_t k = 0; k < p->slot_count; k++) assert_int_equal(p->slots[k], q->slots[k]);
    compare(&once, p->kernel, &alone, q->kernel);
    compare(&once, p->count, &alone, q->count);
    compare(&once, p->work, &alone, q->work);
    compare(&once, p->flops, &alone, q->flops);
    compare(&once, p->magnitude, &alone, q->magnitude);
    for (size_t before = 0; before < i; before++) repeated += once.plan.steps[before].kernel == p->kernel;
  }
  release(&once), release(&alone);
  return repeated;
}

static void test_same_plan(void **state) {
  (void)state;
  char text[TEXT];
  write_layers(text);
  assert_true(compare_plans(text) >= LAYERS - 1); /* or nothing was made once */
}

/* Loops of the indices as they were folded divide, and those of what is printed divide less. */
static void test_divided(void **state) {
  (void)state;
  compare_plans("graph @g(%x: f32[1,5,3]) {\n"
                "  %a = permute %x order=[2,1,0]\n"
                "  %b = pad %a pads=[[2,1],[0,0],[2,0]]\n"
                "  %c = permute %b order=[1,2,0]\n"
                "  %d = reshape %c shape=[9,10]\n"
                "  %e = pad %d pads=[[0,1],[2,0]]\n"
                "  %y = reshape %e shape=[1,15,8]\n"
                "  return %y\n}\n");
}

UNIT_TESTS(test_same_plan, test_divided)
