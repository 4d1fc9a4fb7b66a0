/* The cost of compiling without any cache, LLVM being loaded: each graph of the given text files is compiled
 * many times in one process, in a context that keeps nothing, and the fastest time of each step is printed.
 *
 *   build/bench/bench_compile [-v] [-n REPETITIONS] [-t THREADS] FILE.vf...
 *
 * -v: the steps of one compilation
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/api/compile.h"
#include "frontend/report/times.h"
#include "frontend/text/reader.h"
#include "passes/ops/ops.h"
#include "runtime/context.h"

typedef struct result {
  int64_t whole, passes; /* ns; passes: without code generation */
  uint32_t kernels;
} result;

static void must(ir_status status, const ir_error *error) {
  if (status == IR_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(1);
}

static char *slurp(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text = malloc(1 << 20);
  if (!f || !text) exit(2);
  *size = fread(text, 1, 1 << 20, f);
  fclose(f);
  return text;
}

static ir_ref *inputs_of(const ir_parsed_graph *block) {
  ir_ref *inputs = calloc(block->param_count + 1, sizeof *inputs);
  for (size_t i = 0; i < block->param_count; i++) inputs[i] = block->params[i].ref;
  return inputs;
}

static result compile_once(rt_context *c, const char *path, const char *text, size_t size, fe_times *times) {
  ir_error error = {0};
  ir_graph g;
  ir_module m = {.mem = &ir_mem_libc};
  must(ir_graph_init(&g, &ir_mem_libc, &error), &error);
  int64_t start = ir_now_ns(), lap = start;
  g.error = &error;
  must(fe_parse_graphs(&g, path, text, size, &m), &error);
  if (times) ir_timer_lap(&times->timer, &lap, "read", -1, NULL);
  const ir_parsed_graph *block = &m.graphs[m.count - 1];
  ir_ref *results = calloc(block->result_count + 1, sizeof *results), *inputs = inputs_of(block);
  for (size_t i = 0; i < block->result_count; i++) results[i] = op_default_dtype(&g, block->results[i].ref);
  fe_request request = {.graph = &g,
                        .results = ir_tuple(&g, results, (uint32_t)block->result_count),
                        .inputs = inputs,
                        .input_count = block->param_count,
                        .name = block->name};
  rt_program *p;
  must(fe_compile(c, &request, &p, &error), &error);
  rt_stats stats = rt_program_stats(p);
  result r = {.whole = ir_now_ns() - start, .kernels = stats.kernels};
  r.passes = r.whole - stats.compile_ns;
  rt_program_release(p);
  free(results);
  free(inputs);
  ir_module_free(&m);
  ir_graph_free(&g);
  return r;
}

static void compile_file(const char *path, int iterations, int threads, bool verbose) {
  ir_error error = {0};
  size_t size;
  char *text = slurp(path, &size);
  fe_times times;
  if (!fe_times_init(&times, &ir_mem_libc)) exit(2);
  rt_options options = {.threads = threads, .no_disk = true};
  result best = {.whole = INT64_MAX, .passes = INT64_MAX};
  rt_context *c = NULL;
  must(rt_context_create(&ir_mem_libc, &options, &c, &error), &error);
  if (!rt_context_target(c, &error)) exit(1);
  for (int k = 0; k <= iterations; k++) { /* the first compilation loads LLVM */
    if (verbose && k == iterations) c->options.timer = &times.timer;
    result r = compile_once(c, path, text, size, c->options.timer ? &times : NULL);
    rt_memo_free(&c->programs);
    rt_memo_free(&c->kernels);
    if (k == 0) continue;
    if (r.whole < best.whole) best.whole = r.whole;
    if (r.passes < best.passes) best.passes = r.passes;
    best.kernels = r.kernels;
  }
  const char *name = strrchr(path, '/');
  printf("%-16s %3u kernels  %9.3f ms, of it passes %9.3f ms\n", name ? name + 1 : path, best.kernels,
         (double)best.whole * 1e-6, (double)best.passes * 1e-6);
  if (verbose) {
    ir_text out;
    ir_text_init(&out, &ir_mem_libc);
    fe_times_print(&times, &out);
    fputs(ir_text_get(&out), stdout);
    ir_text_free(&out);
  }
  rt_context_destroy(c);
  fe_times_free(&times);
  free(text);
}

int main(int argc, char **argv) {
  int iterations = 10, threads = 1;
  bool verbose = false;
  for (int option; (option = getopt(argc, argv, "vn:t:")) != -1;) {
    if (option == 'v') verbose = true;
    else if (option == 'n') iterations = atoi(optarg);
    else if (option == 't') threads = atoi(optarg);
    else return 2;
  }
  for (int i = optind; i < argc; i++) compile_file(argv[i], iterations, threads, verbose);
  return 0;
}
