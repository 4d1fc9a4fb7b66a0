/* `viewfold bench`: options, peers, and the run over all workloads. */
#define _GNU_SOURCE
#include "frontend/cli/bench/bench.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/bench/settings.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"

static const char help_text[] =
    "Usage: viewfold bench [--json] [--threads N] [OPTIONS] [ID ...]\n"
    "       viewfold bench --serve [--threads N]\n"
    "       viewfold bench --once ID DIR [--threads N]\n"
    "       viewfold bench MODEL.onnx [--size NAME=VALUE]... [--threads N]\n"
    "\n"
    "Measures workloads, all of them or those named, on inputs of its own, and checks all results against "
    "float64. Prints\n"
    "the median and the least time, bytes and operations per second, the share of what the machine can do "
    "(by bytes or\n"
    "by operations, measured as well), the largest error relative to the largest result, and the times of "
    "other programs.\n"
    "\n"
    "  $ viewfold bench --threads 1 V1 R4 M1_512\n"
    "\n"
    "  --json                 a line of JSON for each workload instead of the table\n"
    "  --threads N            how many threads may be used. With one, everything runs on one processor\n"
    "  --device DEVICE        as for `viewfold run`\n"
    "  --target SETTINGS      as for `viewfold run`\n"
    "  --rounds N             how many repetitions each program has (5), each of 40 ms or one run\n"
    "  --worker NAME=COMMAND  another program to measure, alternating with viewfold; it answers requests as "
    "--serve\n"
    "                         does; {threads} in the command is replaced. May be given several times\n"
    "  --history FILE         append the results, and say what became slower than it was on this machine\n"
    "  --commit NAME          what was measured, for the history\n"
    "  --picture FILE.svg     draw the shares of the limit, and the times beside the best other program\n"
    "  --list                 print the workloads instead\n"
    "\n"
    "  --serve        be measured by another program: requests on standard input, one a line, answers on "
    "standard output\n"
    "                   setup ID DIR   `ok MS`, the time to record, compile and first run; or `skip WHY`\n"
    "                   run N          `ms T1 ... TN`, one time for each run\n"
    "                   dump PATH      `ok`; writes the results of a fresh run, one after the other, as "
    "float32\n"
    "                   drop, quit     `ok`\n"
    "                 DIR holds inputs in0.bin, in1.bin, ..., raw, little-endian; their types in meta.json, "
    "a list of\n"
    "                 {\"shape\":[2,3],\"dtype\":\"float32\"}; the graph as graph.vf, else ID names a "
    "workload\n"
    "  --once ID DIR  run one such workload once, and exit: how long a process takes to start\n"
    "  --no-cache     keep nothing on disk, and find nothing there: everything is compiled\n"
    "\n"
    "Environment: as for `viewfold run`.\n"
    "\n"
    "Exit status: 0; 1 when results are wrong; 2 when there is no such workload, or its inputs are wrong; 3 "
    "when one\n"
    "cannot be compiled.\n";

enum {
  JSON,
  SERVE,
  ONCE,
  LIST,
  NO_CACHE,
  THREADS,
  DEVICE,
  TARGET,
  ROUNDS,
  WORKER,
  HISTORY,
  COMMIT,
  PICTURE,
  OPTIONS
};
static const struct {
  const char *name, *value; /* as in cli_option */
  bool measures;            /* is about measuring workloads */
} known[OPTIONS] = {{"--json", NULL, true},          {"--serve", NULL, false},
                    {"--once", NULL, false},         {"--list", NULL, true},
                    {"--no-cache", NULL, false},     {"--threads", "a number", false},
                    {"--device", "a device", false}, {"--target", "settings", false},
                    {"--rounds", "a number", true},  {"--worker", "NAME=COMMAND", true},
                    {"--history", "a file", true},   {"--commit", "a name", true},
                    {"--picture", "FILE.svg", true}};
enum { MOST_ROUNDS = 1000, DEFAULT_ROUNDS = 5 };

typedef struct bench {
  const char *given[OPTIONS]; /* "" where an option takes no value */
  const char **words, *workers[BENCH_PEERS];
  int word_count, worker_count;
  bench_plan plan;
  bench_history history;
  bench_result *results;
  size_t result_count;
} bench;

/* contexts and processors */

static int open_context(bench *b) {
  rt_options options;
  vf_error failure = {0};
  ir_error error = {0};
  int status = cli_context_options("bench", b->given[THREADS], b->given[DEVICE], &options);
  if (status) return status;
  vf_options wanted = {.size = sizeof wanted,
                       .threads = options.threads,
                       .device = options.device,
                       .flags = b->given[NO_CACHE] ? VF_NO_DISK : 0};
  options.target = b->given[TARGET];
  options.no_disk = b->given[NO_CACHE] != NULL;
  b->plan.threads = options.threads;
  if (b->given[ONCE] || bench_settings_ready(&options, &error) == IR_OK) {
    b->plan.context = fe_context_create(&wanted, options.target, cli_work(), &failure);
    if (!b->plan.context) bench_fail(&error, &failure);
    else if (options.target) rt_context_runs_here(b->plan.context->runtime, &error);
  }
  return error.status ? cli_failure("bench", &error) : CLI_OK;
}

/* With one thread, pin the process to one processor; peers inherit that. */
static void choose_processors(bench_plan *plan) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  if (!plan->threads) plan->threads = CPU_COUNT(&all);
  int last = CPU_SETSIZE - 1;
  while (last > 0 && !CPU_ISSET(last, &all)) last--;
  CPU_ZERO(&all);
  CPU_SET(last, &all);
  if (plan->threads == 1) sched_setaffinity(0, sizeof all, &all);
}

/* peers */

static void set_threads(int threads) {
  static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
                                      "MKL_NUM_THREADS", "HL_NUM_THREADS"};
  char number[16];
  snprintf(number, sizeof number, "%d", threads);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], number, 1);
  setenv("OMP_WAIT_POLICY", "passive", 0); /* idle threads must not spin */
}

static void start_peers(bench *b) {
  bench_plan *plan = &b->plan;
  if (b->worker_count) set_threads(plan->threads);
  for (int i = 0; i < b->worker_count; i++) {
    bench_peer *peer = &plan->peers[plan->peer_count];
    bool good = bench_peer_start(peer, b->workers[i], plan->threads);
    if (good && bench_peer_ask(peer, "drop\n")) {
      plan->peer_count++;
      continue;
    }
    fprintf(stderr, "viewfold bench: worker %s does not answer, and is left out\n", peer->name);
    bench_peer_stop(peer);
  }
}

/* the run over all workloads */

/* Other load on the machine lowers a measurement, so the limits are the highest that were ever measured. */
static int find_limits(bench *b) {
  ir_error error = {0};
  fe_roofline seen;
  if (!bench_limits_measure(&b->plan.threads, 1, &seen))
    ir_fail(&error, IR_ERR_MEMORY, "out of memory measuring the machine");
  else if (fe_roofline_raise(&b->history.limits, &seen))
    bench_history_put_limits(&b->history, b->given[COMMIT], &error);
  b->plan.limits = b->history.limits;
  return error.status ? cli_failure("bench", &error) : CLI_OK;
}

static int measure_one(bench *b, const bench_workload *w) {
  ir_error error = {0};
  bench_result *r = &b->results[b->result_count];
  if (bench_measure(&b->plan, w, r, &error) != IR_OK) return cli_failure("bench", &error);
  b->result_count++;
  (b->given[JSON] ? bench_json_row : bench_table_row)(&b->plan, r);
  if (!bench_passes(r)) return CLI_CHECK_FAILED;
  return bench_history_put(&b->history, r, b->given[COMMIT], &error) == IR_OK ? CLI_OK
                                                                              : cli_failure("bench", &error);
}

static int measure_all(bench *b) {
  int status = CLI_OK;
  size_t count = b->word_count ? (size_t)b->word_count : bench_workload_count();
  b->results = calloc(count, sizeof *b->results);
  if (!b->results) return CLI_DEVICE;
  if (!b->given[JSON]) bench_table_head(&b->plan);
  for (size_t i = 0; i < count && !cli_interrupted(); i++) {
    int one = measure_one(b, b->word_count ? bench_workload_find(b->words[i]) : bench_workload_at(i));
    if (one > status) status = one;
  }
  return status;
}

static int measure_workloads(bench *b) {
  ir_error error = {0};
  choose_processors(&b->plan);
  signal(SIGPIPE, SIG_IGN); /* a write to a peer that has exited fails instead */
  if (bench_history_open(&b->history, b->given[HISTORY], b->plan.threads, &error) != IR_OK)
    return cli_failure("bench", &error);
  int status = find_limits(b);
  if (status) return status;
  start_peers(b);
  status = measure_all(b);
  for (int i = 0; i < b->plan.peer_count; i++) bench_peer_stop(&b->plan.peers[i]);
  if (cli_interrupted()) {
    ir_cancelled(&error);
    return cli_failure("bench", &error);
  }
  if (!b->given[JSON]) bench_table_foot(&b->plan, &b->history, b->results, b->result_count);
  bench_report_slower(&b->history, b->results, b->result_count, b->given[JSON] ? stderr : stdout);
  if (b->given[PICTURE] &&
      bench_picture(&b->plan, &b->history, b->results, b->result_count, b->given[PICTURE], &error) != IR_OK)
    return cli_failure("bench", &error);
  return status;
}

/* arguments */

static int list_workloads(void) {
  for (size_t i = 0; i < bench_workload_count(); i++)
    printf("%-10s %s\n", bench_workload_at(i)->id, bench_workload_at(i)->what);
  return CLI_OK;
}

static int check_words(const bench *b) {
  ir_error error = {0};
  if (b->given[SERVE] && b->word_count)
    return cli_usage("bench", "--serve is told workloads by requests; found '%s'", b->words[0]);
  if (b->given[ONCE] && b->word_count != 2)
    return cli_usage("bench", "--once takes the id of a workload and a folder; found %d argument%s",
                     b->word_count, b->word_count == 1 ? "" : "s");
  for (int i = 0; i < b->word_count && !b->given[ONCE]; i++)
    if (!bench_workload_find(b->words[i])) {
      bench_workload_unknown(b->words[i], &error);
      return cli_usage("bench", "%s", error.text);
    }
  return CLI_OK;
}

/* --serve and --once measure nothing themselves, so they exclude the options of measuring. */
static int check_options(bench *b) {
  if (b->given[SERVE] && b->given[ONCE]) return cli_usage("bench", "--serve and --once exclude each other");
  for (int i = 0; i < OPTIONS && (b->given[SERVE] || b->given[ONCE]); i++)
    if (known[i].measures && b->given[i])
      return cli_usage("bench", "%s and %s exclude each other", b->given[SERVE] ? "--serve" : "--once",
                       known[i].name);
  char *end = NULL;
  long rounds = b->given[ROUNDS] ? strtol(b->given[ROUNDS], &end, 10) : DEFAULT_ROUNDS;
  if (rounds < 1 || rounds > MOST_ROUNDS || (end && *end))
    return cli_usage("bench", "--rounds takes a number from 1 to %d, found '%s'", MOST_ROUNDS,
                     b->given[ROUNDS]);
  b->plan.rounds = (int)rounds;
  if (!b->given[COMMIT]) b->given[COMMIT] = "";
  return check_words(b);
}

static int add_worker(void *to, const char *command, const char *option, const char *text) {
  bench *b = to;
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1] || equals - text >= BENCH_NAME)
    return cli_usage(command, "%s takes NAME=COMMAND with a name of at most %d letters, found '%s'", option,
                     BENCH_NAME - 1, text);
  if (b->worker_count == BENCH_PEERS) return cli_usage(command, "%s: at most %d", option, BENCH_PEERS);
  b->workers[b->worker_count++] = b->given[WORKER] = text;
  return CLI_OK;
}

/* CLI_END when everything was read; otherwise the exit status. */
static int read_options(bench *b, int argc, char **argv) {
  cli_option options[OPTIONS];
  for (int i = 0; i < OPTIONS; i++)
    options[i] = (cli_option){known[i].name, known[i].value, cli_last, &b->given[i]};
  options[WORKER].give = add_worker, options[WORKER].to = b;
  const cli_syntax syntax = {help_text, NULL, options, OPTIONS, b->words, (size_t)argc, NULL};
  int status = cli_read(&syntax, argc, argv);
  while (b->words[b->word_count]) b->word_count++;
  if (status != CLI_END) return status;
  status = check_options(b);
  return status ? status : CLI_END;
}

static int run_bench(bench *b) {
  if (b->given[LIST]) return list_workloads();
  int status = open_context(b);
  if (status) return status;
  if (b->given[SERVE]) return bench_serve(b->plan.context, stdin, stdout);
  return b->given[ONCE] ? bench_once(b->plan.context, b->words[0], b->words[1]) : measure_workloads(b);
}

int cli_bench(int argc, char **argv) {
  if (bench_is_of_model(argc, argv)) return bench_model(argc, argv);
  bench b = {.words = calloc((size_t)argc + 1, sizeof *b.words)};
  int status = b.words ? read_options(&b, argc, argv) : CLI_DEVICE;
  if (status == CLI_END) status = run_bench(&b);
  bench_history_close(&b.history);
  vf_context_destroy(b.plan.context);
  free(b.results);
  free(b.words);
  return status;
}
