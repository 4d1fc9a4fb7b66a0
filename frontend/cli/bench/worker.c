/* A worker that a harness measures beside other programs, by requests of one line:
 *
 *   setup ID DIR   `ok FIRST_MS`, or `skip WHY`
 *   run N          `ms T1 ... TN`
 *   dump PATH      `ok`: the results of a fresh run
 *   drop, quit     `ok` */
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/bench/bench.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/graph.h"

enum { MOST_RUNS = 10000000 };

typedef struct server {
  vf_context *context;
  FILE *answers;
  bench_case c; /* without a program: nothing is set up */
  ir_error error;
} server;

/* In one line, whatever the reason says. */
static void skip(server *s) {
  fputs("skip ", s->answers);
  for (const char *at = s->error.text; *at; at++) putc(*at == '\n' ? ' ' : *at, s->answers);
  putc('\n', s->answers);
}

static bool is_ready(server *s) {
  if (!s->c.program) ir_fail(&s->error, IR_ERR_INVALID, "nothing is set up; `setup ID DIR` comes first");
  return s->c.program != NULL;
}

static void answer_setup(server *s, char *rest) {
  size_t length = strcspn(rest, " ");
  char *folder = rest + length + strspn(rest + length, " ");
  bench_case_close(&s->c);
  if (!length || !*folder) {
    ir_fail(&s->error, IR_ERR_INVALID, "setup takes the id of a workload and a folder");
    return;
  }
  rest[length] = '\0';
  if (bench_case_open_folder(&s->c, s->context, rest, folder, false, &s->error) == IR_OK)
    fprintf(s->answers, "ok %.4f\n", (double)s->c.first_ns * 1e-6);
}

static void answer_run(server *s, char *rest) {
  char *end;
  long count = strtol(rest, &end, 10);
  if (!*rest || *end || count < 0 || count > MOST_RUNS) {
    ir_fail(&s->error, IR_ERR_INVALID, "run takes a number from 0 to %d", MOST_RUNS);
    return;
  }
  double *times = is_ready(s) ? malloc(((size_t)count + 1) * sizeof *times) : NULL;
  if (!times) ir_fail(&s->error, IR_ERR_MEMORY, "out of memory for the times of %ld runs", count);
  for (long i = 0; i < count && !s->error.status; i++) {
    int64_t before = bench_now();
    bench_case_run(&s->c, &s->error);
    times[i] = (double)(bench_now() - before) * 1e-6;
  }
  if (!s->error.status) {
    fputs("ms", s->answers);
    for (long i = 0; i < count; i++) fprintf(s->answers, " %.6f", times[i]);
    putc('\n', s->answers);
  }
  free(times);
}

static void answer_dump(server *s, char *rest) {
  if (!*rest) ir_fail(&s->error, IR_ERR_INVALID, "dump takes the name of a file");
  else if (is_ready(s) && bench_case_run(&s->c, &s->error) == IR_OK &&
           bench_case_dump(&s->c, rest, &s->error) == IR_OK)
    fputs("ok\n", s->answers);
}

static void answer_drop(server *s, char *rest) {
  (void)rest;
  bench_case_close(&s->c);
  fputs("ok\n", s->answers);
}

static const struct {
  const char *name;
  void (*answer)(server *s, char *rest);
} requests_known[] = {{"setup", answer_setup},
                      {"run", answer_run},
                      {"dump", answer_dump},
                      {"drop", answer_drop},
                      {"quit", answer_drop}};
enum { REQUESTS = sizeof requests_known / sizeof *requests_known };

/* False after `quit`. */
static bool answer(server *s, char *line) {
  size_t length = strcspn(line, " "), i = 0;
  char *rest = line + length + strspn(line + length, " ");
  ir_error_clear(&s->error);
  while (i < REQUESTS &&
         (strlen(requests_known[i].name) != length || memcmp(requests_known[i].name, line, length) != 0))
    i++;
  if (i < REQUESTS) requests_known[i].answer(s, rest);
  else
    ir_fail(&s->error, IR_ERR_INVALID, "unknown request '%.40s'; expected setup, run, dump, drop or quit",
            line);
  if (s->error.status) skip(s);
  fflush(s->answers);
  return i >= REQUESTS || strcmp(requests_known[i].name, "quit") != 0;
}

int bench_serve(vf_context *context, FILE *requests, FILE *answers) {
  server s = {.context = context, .answers = answers};
  char *line = NULL;
  size_t room = 0;
  bool more = true;
  for (ssize_t length; more && (length = getline(&line, &room, requests)) >= 0;) {
    while (length && strchr(" \r\n", line[length - 1])) line[--length] = '\0';
    if (length) more = answer(&s, line);
  }
  free(line);
  bench_case_close(&s.c);
  return CLI_OK;
}

int bench_once(vf_context *context, const char *id, const char *folder) {
  ir_error error = {0};
  bench_case c;
  if (bench_case_open_folder(&c, context, id, folder, true, &error) != IR_OK)
    return cli_failure("bench", &error);
  printf("{\"workload\":\"%s\",\"first_ms\":%.4f,\"ms\":%.4f}\n", id, (double)c.first_ns * 1e-6,
         (double)c.run_ns * 1e-6);
  bench_case_close(&c);
  return CLI_OK;
}
