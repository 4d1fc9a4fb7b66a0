/* Kernels and their cache keys.
 *
 *   prop_key --seed S --count N
 *
 * Each case compiles a random graph down to kernels. Two kernels have the same key exactly when they are the
 * same node, and compiling the same text again, in a graph of its own, gives the same keys in the same order:
 * so that a second process, or another shard, finds the code that the first one stored.
 *
 * spec: H1 H3 H5.shard */
#include "frontend/text/reader.h"
#include "passes/passes.h"
#include "runtime/cache/kernel_key.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 64 };

static const ir_target machine = {.triple = "x86_64-unknown-linux-gnu",
                                  .features = "+avx2,+fma",
                                  .vector_bytes = 32,
                                  .registers = 16,
                                  .has_fma = true};

typedef struct compiled {
  ir_plan plan;
  ir_ref kernels[MOST_KERNELS]; /* of the steps that launch one: a sort along a symbolic axis has loop steps
                                   as well */
  rt_kernel_key keys[MOST_KERNELS];
  size_t count;
} compiled;

static bool compile(ir_graph *g, ir_ref results, compiled *out) {
  ir_error error = {0};
  pass_options options = {.target = &machine};
  *out = (compiled){0};
  if (pass_pipeline(g, results, &options, &out->plan, &error) != IR_OK)
    return fprintf(stderr, "%s\n", error.text), false;
  for (size_t i = 0; i < out->plan.step_count && out->count < MOST_KERNELS; i++) {
    const ir_step *step = &out->plan.steps[i];
    if (step->kind != IR_STEP_KERNEL) continue;
    out->kernels[out->count] = step->kernel;
    if (rt_kernel_key_make(&ir_mem_libc, g, step->kernel, &out->keys[out->count], &error) != IR_OK)
      return fprintf(stderr, "%s\n", error.text), false;
    out->count++;
  }
  return true;
}

static void release(compiled *c) {
  for (size_t i = 0; i < c->count; i++) rt_kernel_key_free(&ir_mem_libc, &c->keys[i]);
  ir_plan_free(&c->plan);
}

static bool same_key(const rt_kernel_key *a, const rt_kernel_key *b) {
  return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Parse the text and compile it in a graph of its own. */
static bool compile_text(const ir_text *text, ir_graph *g, ir_error *error, compiled *out) {
  ir_module module = {0};
  bool good = ir_graph_init(g, &ir_mem_libc, error) == IR_OK &&
              ir_parse_module(g, &fe_builder, "case", ir_text_get(text), text->len, &module) == IR_OK &&
              compile(g, module.graphs[0].root, out);
  ir_module_free(&module);
  return good;
}

static const char *check(const ir_text *text, long *kernels) {
  ir_graph first_graph, second_graph;
  ir_error first_error = {0}, second_error = {0};
  compiled first = {0}, second = {0};
  const char *wrong = NULL;
  if (!compile_text(text, &first_graph, &first_error, &first) ||
      !compile_text(text, &second_graph, &second_error, &second))
    wrong = "it does not compile";
  for (size_t i = 0; i < first.count && !wrong; i++) {
    if (i >= second.count || !same_key(&first.keys[i], &second.keys[i]))
      wrong = "compiled again, a kernel has another key";
    for (size_t k = 0; k < i && !wrong; k++) {
      bool same_node = first.kernels[i] == first.kernels[k];
      if (same_node != same_key(&first.keys[i], &first.keys[k]))
        wrong = same_node ? "one kernel has two keys" : "two kernels have one key";
    }
  }
  *kernels += (long)first.count;
  release(&first), release(&second);
  ir_graph_free(&first_graph), ir_graph_free(&second_graph);
  return wrong;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 200);
  uint64_t seed = given.seed;
  long count = given.count, failed = 0, kernels = 0, done = 0;
  for (; done < count && failed < 5; done++) {
    uint64_t state = seed + (uint64_t)done * 0x10001;
    random_graph r;
    random_graph_make(&r, random_next(&state), 6);
    ir_ref roots[] = {r.values[r.value_count - 1].ref, r.values[r.value_count / 2].ref};
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_print_graph(&r.g, "case", ir_tuple(&r.g, roots, 2), &text);
    const char *wrong = check(&text, &kernels);
    if (wrong) failed++, fprintf(stderr, "%s:\n%s", wrong, ir_text_get(&text));
    ir_text_free(&text);
    ir_graph_free(&r.g);
  }
  printf("prop_key: %ld graphs, %ld kernels, %ld failed, seed %" PRIu64 "\n", done, kernels, failed, seed);
  return failed != 0;
}
