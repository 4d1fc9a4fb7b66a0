/* `viewfold tune`: searches for better moves for the loops of a graph's kernels, by measuring. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/bench/settings.h"
#include "frontend/cli/options.h"
#include "frontend/cli/tune/tune.h"
#include "ir/timer.h"
#include "runtime/cpu/target.h"

static const char help_text[] =
    "Usage: viewfold tune FILE.vf [OPTIONS]\n"
    "       viewfold tune --list\n"
    "       viewfold tune --forget [FILE.vf]\n"
    "\n"
    "Searches, kernel by kernel, for loops that are faster than those of the cost model: other vector lanes, "
    "unroll factors,\n"
    "tiles, orders and blocks for threads, as `viewfold dump --stage=loops` prints them. Each is measured in "
    "runs of the\n"
    "whole graph, alternating with the best so far, and has to win by 3 %, twice. Results are the same, bit "
    "by bit; loops\n"
    "that would give others are rejected. What is found is kept beside the compiled kernels, and from then "
    "on used for these\n"
    "kernels in every graph.\n"
    "\n"
    "  $ viewfold tune blur.vf --seconds 5 -o blur.loops\n"
    "  $ viewfold run blur.vf --in x=x.npy --schedule blur.loops   # the same moves, wherever they were not "
    "found\n"
    "\n"
    "Options:\n"
    "  --seconds S         stop after so long; 10 when not given\n"
    "  --in NAME=VALUE     a parameter's value, as for `viewfold run`; others are made up\n"
    "  --size NAME=VALUE   the value of a size variable that no input tells\n"
    "  --graph NAME        which graph, if the file holds several\n"
    "  --threads N         how many threads may be used\n"
    "  --device DEVICE     as for `viewfold run`\n"
    "  -o FILE             write the moves that won as a schedule\n"
    "  --dry-run           keep nothing\n"
    "  --list              print all that is kept\n"
    "  --forget            keep it no longer: of the kernels of FILE.vf, or everything\n"
    "\n"
    "Interrupted, it ends the search, keeps and writes what was found, and exits with 128 and the signal's "
    "number.\n"
    "\n"
    "Exit status: 0; 2 when the graph or the inputs are wrong or what was found cannot be kept; 3 when the "
    "graph cannot be\n"
    "compiled.\n";

#define MOST_BYTES   ((size_t)8 << 30)
#define SECONDS_MOST 86400.
#define LEAST_SHARE  0.25 /* least time for a kernel, as a fraction of an equal share */

typedef struct tuner {
  const char *word, *name, *threads, *device, *out, *dry, *list, *forget;
  double seconds;
  cli_pairs in, sizes;
  cli_graph s;
  const ir_parsed_graph *block;
  ir_ref results;
  cli_binding inputs;
  rt_context *cached_context; /* the context with a cache on disk */
  ir_text measured;           /* settings of its target that were measured */
  tune t;
  rt_program *first; /* the program with the cost model's moves */
} tuner;

static int fail_tune(tuner *r) { return cli_failure("tune", &r->s.error); }

/* the graph */

static int open_graph(tuner *r) {
  int status = cli_graph_open(&r->s, "tune", r->word, false, &r->in);
  if (status) return status;
  r->block = cli_graph_pick(&r->s, r->word, r->name);
  if (!r->block || !(r->results = cli_graph_results(&r->s, r->block))) return CLI_BAD_INPUT;
  char why[CLI_WHY] = "";
  status = cli_bind_seeded(&r->s, r->block, r->results, &r->in, &r->sizes, r->forget ? 0 : MOST_BYTES,
                           &r->inputs, why);
  if (!status && *why && !r->forget) status = cli_usage("tune", "cannot make up inputs: %s", why);
  return status;
}

static int compile_graph(tuner *r) {
  r->t.request = cli_request(&r->s, r->block, r->results, &r->inputs);
  r->t.request.observer = fe_watch_observer(&r->s.watch);
  r->t.vars = r->inputs.values;
  ir_status status = tune_compile(&r->t, &r->first, &r->s.error);
  cli_work_hide();
  return status ? fail_tune(r) : CLI_OK;
}

/* searching */

static int by_time(const void *a, const void *b) {
  const tune_kernel *x = *(tune_kernel *const *)a, *y = *(tune_kernel *const *)b;
  return (x->model_ns < y->model_ns) - (x->model_ns > y->model_ns);
}

/* Measure the median time of each kernel with the cost model's moves. */
static int measure_model(tuner *r) {
  enum { RUNS = 7 };
  for (uint32_t k = 0; k < r->t.count; k++) {
    int64_t ns[RUNS];
    r->t.searched_kernel = k;
    for (int i = 0; i < RUNS; i++)
      if (tune_time(&r->t, r->first, &ns[i], &r->s.error) != IR_OK) return fail_tune(r);
    for (int i = 1; i < RUNS; i++) /* sorted */
      for (int j = i; j > 0 && ns[j] < ns[j - 1]; j--) {
        int64_t swap = ns[j];
        ns[j] = ns[j - 1], ns[j - 1] = swap;
      }
    r->t.kernels[k].model_ns = r->t.kernels[k].best_ns = ns[RUNS / 2];
  }
  return CLI_OK;
}

/* Search the kernels, the slowest first. Of the time that is left, each gets the share that it has of the
 * kernels' time, and at least LEAST_SHARE of an equal share. */
static int search_all(tuner *r) {
  tune *t = &r->t;
  tune_kernel **order = calloc(t->count + 1, sizeof *order);
  double left = 0;
  int status = order ? CLI_OK : CLI_DEVICE;
  for (size_t i = 0; i < t->count && order; i++) {
    order[i] = &t->kernels[i];
    left += (double)t->kernels[i].model_ns;
  }
  if (order) qsort(order, t->count, sizeof *order, by_time);
  t->begin_ns = ir_now_ns();
  t->end_ns = t->begin_ns + (int64_t)(r->seconds * 1e9);
  cli_progress_open(&t->progress);
  for (size_t i = 0; i < t->count && !status && !tune_stopped(); i++) {
    int64_t now = ir_now_ns();
    double own = (double)order[i]->model_ns, share = left > 0 ? own / left : 0;
    share = fmax(share, LEAST_SHARE / (double)(t->count - i));
    left -= own;
    if (own == 0) continue; /* did not run */
    if (tune_search(t, (uint32_t)(order[i] - t->kernels), now + (int64_t)(share * (double)(t->end_ns - now)),
                    &r->s.error) != IR_OK)
      status = fail_tune(r);
  }
  cli_progress_close(&t->progress);
  free(order);
  return status;
}

/* reports */

static void print_report(const tuner *r) {
  for (size_t step = 0; step < r->t.steps; step++) {
    const tune_kernel *k = &r->t.kernels[r->t.kernel_of[step]];
    size_t first = 0;
    while (r->t.kernel_of[first] != r->t.kernel_of[step]) first++;
    printf("kernel %zu: ", step);
    if (first < step) printf("as kernel %zu\n", first);
    else if (k->model_ns == 0) printf("not run\n");
    else if (!k->searched) printf("%.3f ms, not searched\n", (double)k->model_ns * 1e-6);
    else if (!k->best.count)
      printf("%.3f ms, nothing better among %u tried\n", (double)k->model_ns * 1e-6, k->tried);
    else {
      printf("%.3f ms, was %.3f ms, %u tried\n", (double)k->best_ns * 1e-6, (double)k->model_ns * 1e-6,
             k->tried);
      for (size_t i = 0; i < k->best.count; i++)
        printf("  nest %u: %s\n", k->best.items[i].nest, k->best.items[i].text);
    }
  }
}

static int write_schedule(tuner *r) {
  fe_atomic_file file;
  ir_text text;
  if (!r->out) return CLI_OK;
  ir_text_init(&text, &ir_mem_libc);
  for (size_t step = 0; step < r->t.steps; step++) {
    const tune_list *best = &r->t.kernels[r->t.kernel_of[step]].best;
    for (size_t i = 0; i < best->count; i++)
      ir_textf(&text, "kernel %zu nest %u: %s\n", step, best->items[i].nest, best->items[i].text);
  }
  if (text.failed) ir_fail(&r->s.error, IR_ERR_MEMORY, "out of memory");
  if (!r->s.error.status && fe_atomic_open(&file, r->out, &r->s.error) == IR_OK &&
      fe_atomic_write(&file, ir_text_get(&text), text.len, &r->s.error) == IR_OK)
    fe_atomic_commit(&file, &r->s.error);
  ir_text_free(&text);
  return r->s.error.status ? fail_tune(r) : CLI_OK;
}

/* Report, keep and write what was found, also after a search that a signal ended. */
static int finish_tuning(tuner *r) {
  ir_error error = {0};
  print_report(r);
  if (!r->dry && !tune_keep(&r->t, r->cached_context))
    ir_fail(&error, IR_ERR_IO, "what was found could not be kept: the cache cannot be written");
  int unkept = error.status ? cli_failure("tune", &error) : CLI_OK, unwritten = write_schedule(r),
      status = unkept ? unkept : unwritten;
  if (status || !tune_stopped()) return status;
  fprintf(stderr, "viewfold tune: stopped by signal %d; what was found before is %s\n", tune_stopped(),
          r->dry ? "printed" : "kept");
  return CLI_SIGNAL + tune_stopped();
}

static int tune_graph(tuner *r) {
  bool same;
  int status = compile_graph(r);
  if (status) return status;
  if (cli_buffers_open(&r->t.buffers, r->first, r->block, &r->inputs, &r->s.error) != IR_OK ||
      tune_check(&r->t, r->first, &same, &r->s.error) != IR_OK)
    return fail_tune(r);
  status = measure_model(r);
  if (!status) tune_read_kept(&r->t, r->cached_context);
  tune_stop_on_signals();
  if (!status) status = search_all(r);
  return status ? status : finish_tuning(r);
}

/* the command */

static int cache_failure(tuner *r) {
  ir_fail(&r->s.error, IR_ERR_IO, "the cache cannot be read");
  return fail_tune(r);
}

static int run_command(tuner *r) {
  rt_options options;
  int status = cli_context_options("tune", r->threads, r->device, &options);
  if (status) return status;
  if (!r->list && !r->forget && bench_settings_ready(&options, &r->s.error) != IR_OK) return fail_tune(r);
  if (rt_context_create(&ir_mem_libc, &options, &r->cached_context, &r->s.error) != IR_OK)
    return fail_tune(r);
  if (r->list || (r->forget && !r->word))
    return (r->list ? tune_print_kept(r->cached_context) : tune_forget_all(r->cached_context))
               ? CLI_OK
               : cache_failure(r);
  options.no_disk = true;
  if (rt_context_measured(r->cached_context)) {
    rt_target_measured_text(rt_context_target(r->cached_context, NULL), &r->measured);
    options.target = ir_text_get(&r->measured);
  }
  cli_work_show();
  if (rt_context_create(&ir_mem_libc, &options, &r->t.context, &r->s.error) != IR_OK) return fail_tune(r);
  status = open_graph(r);
  if (status) return status;
  if (!r->forget) return tune_graph(r);
  status = compile_graph(r);
  if (!status) tune_forget(&r->t, r->cached_context);
  return status;
}

static void close_all(tuner *r) {
  rt_program_release(r->first);
  tune_free(&r->t);
  rt_context_destroy(r->t.context);
  rt_context_destroy(r->cached_context);
  ir_text_free(&r->measured);
  cli_binding_free(&r->inputs);
  cli_graph_close(&r->s);
  cli_pairs_free(&r->in);
  cli_pairs_free(&r->sizes);
}

static int read_seconds(tuner *r, const char *text) {
  char *end = "";
  r->seconds = text ? strtod(text, &end) : 10;
  if (!*end && r->seconds > 0 && r->seconds <= SECONDS_MOST) return CLI_OK;
  return cli_usage("tune", "--seconds takes a number up to %.0f, found '%s'", SECONDS_MOST, text);
}

/* CLI_END when there is something to do; otherwise the exit status. */
static int read_options(tuner *r, int argc, char **argv) {
  const char *seconds = NULL;
  const cli_option options[] = {
      {"--in", "NAME=VALUE", cli_pairs_add, &r->in},  {"--size", "NAME=VALUE", cli_pairs_add, &r->sizes},
      {"--graph", "a name", cli_last, &r->name},      {"--threads", "a number", cli_last, &r->threads},
      {"--seconds", "a number", cli_last, &seconds},  {"-o", "a file", cli_last, &r->out},
      {"--device", "a device", cli_last, &r->device}, {"--dry-run", NULL, cli_last, &r->dry},
      {"--list", NULL, cli_last, &r->list},           {"--forget", NULL, cli_last, &r->forget}};
  int status = cli_read_word(help_text, options, sizeof options / sizeof *options, &r->word,
                             "one graph at a time, found '%s' as well", argc, argv);
  if (status != CLI_END) return status;
  status = read_seconds(r, seconds);
  if (status) return status;
  if (r->list && (r->word || r->forget)) return cli_usage("tune", "--list takes no file and no --forget");
  return r->word || r->list || r->forget
             ? CLI_END
             : cli_usage("tune", "no file given; for example: viewfold tune blur.vf");
}

int cli_tune(int argc, char **argv) {
  tuner r = {.seconds = 0};
  r.s.module.mem = r.s.g.mem = &ir_mem_libc;
  ir_text_init(&r.measured, &ir_mem_libc);
  int status = read_options(&r, argc, argv);
  if (status == CLI_END) status = run_command(&r);
  close_all(&r);
  return status;
}
