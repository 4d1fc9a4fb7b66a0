/* `viewfold bench MODEL.onnx`: how long a model, or a file of one graph, takes to be read, compiled and run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/bench/bench.h"
#include "frontend/cli/buffers.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/bench/settings.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"

/* A repetition has as many runs as fit in MEASURED_NS, half a second, which evens out what else the machine
 * does; at least LEAST_RUNS, so that there is a median, and at most MOST_RUNS, whose times are kept. */
enum { MOST_RUNS = 1 << 14, LEAST_RUNS = 3, MEASURED_NS = 500000000 };
/* Inputs are made up as long as they take no more memory than that. */
static const size_t most_bytes = (size_t)1 << 32;

static const char help_text[] =
    "Usage: viewfold bench MODEL.onnx [--size NAME=VALUE]... [--in NAME=VALUE]... [--threads N] [--device "
    "DEVICE] [--target SETTINGS]\n"
    "\n"
    "Prints how long the model takes: to read it, to compile it (0 from the cache), the first run, and the "
    "median and "
    "the\n"
    "least of the runs of half a second after it. Inputs without a value have one made up.\n";

typedef struct model_bench {
  const char *word, *threads, *device, *target;
  cli_pairs in, sizes;
  cli_graph s;
  cli_binding inputs;
  cli_buffers buffers;
  rt_context *context;
  rt_program *program;
  int64_t read_ns, compile_ns, first_ns;
} model_bench;

static int fail(model_bench *b) { return cli_failure("bench", &b->s.error); }

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool run_once(model_bench *b, int64_t *ns) {
  int64_t start = ir_now_ns();
  rt_program_run(b->program, b->buffers.in, b->buffers.out, b->inputs.values, &b->s.error);
  *ns = ir_now_ns() - start;
  return b->s.error.status == IR_OK;
}

static int measure(model_bench *b) {
  int64_t *times = calloc(MOST_RUNS, sizeof *times), start;
  size_t count = 0;
  rt_cost cost;
  if (!times) ir_fail(&b->s.error, IR_ERR_MEMORY, "out of memory");
  else if (run_once(b, &b->first_ns))
    for (start = ir_now_ns(); count < MOST_RUNS && (count < LEAST_RUNS || ir_now_ns() - start < MEASURED_NS);
         count++)
      if (!run_once(b, &times[count])) break;
  if (!b->s.error.status) rt_program_cost(b->program, b->inputs.values, &cost, &b->s.error);
  if (!b->s.error.status) {
    qsort(times, count, sizeof *times, ascending);
    printf("%s: read %.1f ms, compile %.1f ms, first run %.3f ms, run %.3f ms, least %.3f ms; %.3f GFLOP, "
           "%.1f MB\n",
           b->word, (double)b->read_ns * 1e-6, (double)b->compile_ns * 1e-6, (double)b->first_ns * 1e-6,
           (double)times[count / 2] * 1e-6, (double)times[0] * 1e-6, (double)cost.flops * 1e-9,
           (double)cost.bytes * 1e-6);
  }
  free(times);
  return b->s.error.status ? fail(b) : CLI_OK;
}

static int bench(model_bench *b) {
  rt_options options;
  char why[CLI_WHY] = "";
  int64_t start = ir_now_ns();
  int status = cli_graph_open(&b->s, "bench", b->word, false, &b->in);
  b->read_ns = ir_now_ns() - start;
  if (!status) status = cli_context_options("bench", b->threads, b->device, &options);
  const ir_parsed_graph *block = status ? NULL : cli_graph_pick(&b->s, b->word, NULL);
  ir_ref results = block ? cli_graph_results(&b->s, block) : 0;
  if (!results) return status ? status : CLI_BAD_INPUT;
  status = cli_bind_seeded(&b->s, block, results, &b->in, &b->sizes, most_bytes, &b->inputs, why);
  if (!status && *why) status = cli_usage("bench", "cannot make up inputs: %s", why);
  if (status) return status;
  options.target = b->target;
  if (bench_settings_ready(&options, &b->s.error) != IR_OK) return fail(b);
  fe_request request = cli_request(&b->s, block, results, &b->inputs);
  start = ir_now_ns();
  cli_work_show();
  bool good = rt_context_create(&ir_mem_libc, &options, &b->context, &b->s.error) == IR_OK &&
              (!b->target || rt_context_runs_here(b->context, &b->s.error) == IR_OK) &&
              fe_compile(b->context, &request, &b->program, &b->s.error) == IR_OK;
  cli_work_hide();
  if (!good) return fail(b);
  b->compile_ns = rt_program_stats(b->program).compiled ? ir_now_ns() - start : 0;
  if (cli_buffers_open(&b->buffers, b->program, block, &b->inputs, &b->s.error) != IR_OK) return fail(b);
  return measure(b);
}

bool bench_is_of_model(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (argv[i][0] != '-' && cli_is_model(argv[i])) return true;
  return false;
}

int bench_model(int argc, char **argv) {
  model_bench b = {0};
  b.s.module.mem = b.s.g.mem = &ir_mem_libc;
  const cli_option options[] = {{"--in", "NAME=VALUE", cli_pairs_add, &b.in},
                                {"--size", "NAME=VALUE", cli_pairs_add, &b.sizes},
                                {"--threads", "a number", cli_last, &b.threads},
                                {"--device", "a device", cli_last, &b.device},
                                {"--target", "settings", cli_last, &b.target}};
  int status = cli_read_word(help_text, options, sizeof options / sizeof *options, &b.word,
                             "one model at a time, found '%s' as well", argc, argv);
  if (status == CLI_END) status = bench(&b);
  cli_buffers_close(&b.buffers);
  rt_program_release(b.program);
  rt_context_destroy(b.context);
  cli_binding_free(&b.inputs);
  cli_graph_close(&b.s);
  cli_pairs_free(&b.in);
  cli_pairs_free(&b.sizes);
  return status;
}
