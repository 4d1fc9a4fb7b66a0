/* `viewfold bench`: which of its ways to measure. */
#include "frontend/cli_bench.h"

#include "frontend/cli.h"
#include "frontend/cli_graph.h"
#include "frontend/cli_options.h"

static const char help_text[] =
    "Usage: viewfold bench --serve [--threads N]\n"
    "       viewfold bench --once ID DIR [--threads N]\n"
    "\n"
    "Measures workloads.\n"
    "\n"
    "  --serve        be measured by a harness, beside other programs: requests on standard input, one a "
    "line,\n"
    "                 answers on standard output\n"
    "                   setup ID DIR   `ok MS`, the time to record, compile and first run; or `skip WHY`\n"
    "                   run N          `ms T1 ... TN`, one time for each run\n"
    "                   dump PATH      `ok`; writes the results of a fresh run, one after the other, as "
    "float32\n"
    "                   drop, quit     `ok`\n"
    "                 DIR holds inputs in0.bin, in1.bin, ..., raw, little-endian; their types in meta.json, "
    "a list\n"
    "                 of {\"shape\":[2,3],\"dtype\":\"float32\"}; the graph as graph.vf, else ID names a "
    "workload\n"
    "  --once ID DIR  run one such workload once, and exit: how long a process takes to start\n"
    "  --no-cache     keep nothing on disk, and find nothing there: every workload is compiled\n"
    "  --threads N    how many threads may be used\n"
    "\n"
    "Environment: as for `viewfold run`.\n"
    "\n"
    "Exit status: 0; 2 when a workload or its inputs are wrong; 3 when it cannot be compiled.\n";

enum { SERVE, ONCE, NO_CACHE, THREADS, OPTIONS };

typedef struct bench {
  bool given[OPTIONS];
  const char *threads;
  const char *words[2];
  int word_count;
} bench;

static int open_context(const bench *b, vf_context **out) {
  rt_options options;
  vf_error failure = {0};
  ir_error error = {0};
  int status = cli_device("bench", NULL);
  if (!status) status = cli_context_options("bench", b->threads, &options);
  if (status) return status;
  vf_options wanted = {
      .size = sizeof wanted, .threads = options.threads, .flags = b->given[NO_CACHE] ? VF_NO_DISK : 0};
  *out = vf_context_create(&wanted, &failure);
  if (*out) return CLI_OK;
  bench_fail(&error, &failure);
  return cli_failure("bench", &error);
}

static int run(const bench *b) {
  vf_context *context;
  int status = open_context(b, &context);
  if (status) return status;
  status =
      b->given[SERVE] ? bench_serve(context, stdin, stdout) : bench_once(context, b->words[0], b->words[1]);
  vf_context_destroy(context);
  return status;
}

static int check(const bench *b) {
  if (b->given[SERVE] && b->given[ONCE]) return cli_usage("bench", "--serve and --once exclude each other");
  if (b->given[SERVE] && b->word_count)
    return cli_usage("bench", "--serve is told workloads by requests; found '%s'", b->words[0]);
  if (b->given[ONCE] && b->word_count != 2)
    return cli_usage("bench", "--once takes the id of a workload and a folder; found %d argument%s",
                     b->word_count, b->word_count == 1 ? "" : "s");
  if (!b->given[SERVE] && !b->given[ONCE]) return cli_usage("bench", "expected --serve or --once");
  return CLI_OK;
}

int cli_bench(int argc, char **argv) {
  static const cli_option options[OPTIONS] = {
      {"--serve", NULL}, {"--once", NULL}, {"--no-cache", NULL}, {"--threads", "a number"}};
  cli_args args = {.argc = argc, .at = 1, .argv = argv, .options = options, .count = OPTIONS};
  bench b = {0};
  for (int next; (next = cli_next(&args)) != CLI_END;) {
    switch (next) {
    case CLI_WRONG: return CLI_BAD_INPUT;
    case CLI_HELP: fputs(help_text, stdout); return CLI_OK;
    case CLI_WORD:
      if (b.word_count == 2) return cli_usage("bench", "unexpected argument '%s'", args.value);
      b.words[b.word_count++] = args.value;
      break;
    case THREADS: b.threads = args.value; break;
    default: b.given[next] = true; break;
    }
  }
  int status = check(&b);
  return status ? status : run(&b);
}
