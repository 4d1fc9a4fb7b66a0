/* The time that a new process takes for the first result of a graph, without its kernels: by step, and the
 * sum. With a warm cache nothing is compiled (VIEWFOLD_COMPILE=0 makes sure).
 *
 *   build/bench/first_result FILE.vf [THREADS [PROCESSES]]
 *
 * Starts itself PROCESSES times (21) and prints the median of each step in milliseconds:
 *   start     from fork to main
 *   context   a context of the library
 *   program   the text read, its program found in the cache
 *   first     the first run, less the fastest of those after it: memory touched for the first time, threads
 * Inputs are made, and results touched, between the steps, as they are the caller's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/compile.h"
#include "frontend/text/reader.h"
#include "passes/ops/ops.h"
#include "test/lib/median.h"

enum { PHASES = 5, MOST = 999, RUNS = 20, MOST_PORTS = 64 };
static const char *const names[PHASES] = {"start", "context", "program", "first", "kernels"};

static void must(ir_status status, const ir_error *error) {
  if (status == IR_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(1);
}

static void *buffer(const rt_port *port, int64_t elements, bool fill) {
  size_t bytes = (size_t)elements * ir_dtypes[port->dtype].bytes;
  void *made = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (!made) exit(1);
  memset(made, fill, bytes);
  return made;
}

static void make_buffers(const rt_program *p, void **in, void **out) {
  ir_error error = {0};
  for (int kind = 0; kind < 2; kind++) {
    size_t count = kind ? rt_program_output_count(p) : rt_program_input_count(p);
    for (size_t i = 0; i < count && i < MOST_PORTS; i++) {
      rt_port port = kind ? rt_program_output(p, i) : rt_program_input(p, i);
      int64_t dims[IR_MAX_RANK], elements = 1;
      must(kind ? rt_program_output_shape(p, i, NULL, dims, &error)
                : rt_program_input_shape(p, i, NULL, dims, &error),
           &error);
      for (uint32_t a = 0; a < port.rank; a++) elements *= dims[a];
      (kind ? out : in)[i] = buffer(&port, elements, kind == 0);
    }
  }
}

static rt_program *load(rt_context *c, const char *path) {
  static char text[1 << 20];
  ir_error error = {0};
  ir_graph g;
  ir_module m = {.mem = &ir_mem_libc};
  FILE *f = fopen(path, "rb");
  if (!f) exit(2);
  size_t size = fread(text, 1, sizeof text, f);
  fclose(f);
  must(ir_graph_init(&g, &ir_mem_libc, &error), &error);
  g.error = &error;
  must(fe_parse_graphs(&g, path, text, size, &m), &error);
  const ir_parsed_graph *block = &m.graphs[m.count - 1];
  ir_ref results[MOST_PORTS], inputs[MOST_PORTS];
  for (size_t i = 0; i < block->result_count; i++) results[i] = op_default_dtype(&g, block->results[i].ref);
  for (size_t i = 0; i < block->param_count; i++) inputs[i] = block->params[i].ref;
  fe_request request = {.graph = &g,
                        .results = ir_tuple(&g, results, (uint32_t)block->result_count),
                        .inputs = inputs,
                        .input_count = block->param_count,
                        .name = block->name};
  rt_program *p;
  must(fe_compile(c, &request, &p, &error), &error);
  return p;
}

/* The measured process: prints the times of its steps as a line of nanoseconds. */
static int child(const char *path, int threads, int64_t forked) {
  int64_t at[4] = {ir_now_ns()}, best = INT64_MAX;
  ir_error error = {0};
  rt_options options = {.threads = threads};
  rt_context *c;
  must(rt_context_create(&ir_mem_libc, &options, &c, &error), &error);
  at[1] = ir_now_ns();
  rt_program *p = load(c, path);
  at[2] = ir_now_ns();
  void *in[MOST_PORTS], *out[MOST_PORTS];
  make_buffers(p, in, out);
  int64_t before = ir_now_ns();
  must(rt_program_run(p, in, out, NULL, &error), &error);
  at[3] = ir_now_ns() - before;
  for (int k = 0; k < RUNS; k++) {
    before = ir_now_ns();
    must(rt_program_run(p, in, out, NULL, &error), &error);
    int64_t ns = ir_now_ns() - before;
    if (ns < best) best = ns;
  }
  printf("%lld %lld %lld %lld %lld\n", (long long)(at[0] - forked), (long long)(at[1] - at[0]),
         (long long)(at[2] - at[1]), (long long)(at[3] - best), (long long)best);
  return 0;
}

static bool measure(char **argv, const char *threads, double ms[PHASES]) {
  char command[4200], line[200];
  snprintf(command, sizeof command, "exec '%s' --child '%s' %s %lld", argv[0], argv[1], threads,
           (long long)ir_now_ns());
  FILE *f = popen(command, "r");
  long long ns[PHASES];
  bool good = f && fgets(line, sizeof line, f) &&
              sscanf(line, "%lld %lld %lld %lld %lld", &ns[0], &ns[1], &ns[2], &ns[3], &ns[4]) == PHASES;
  for (int i = 0; good && i < PHASES; i++) ms[i] = (double)ns[i] * 1e-6;
  return f && pclose(f) == 0 && good;
}

int main(int argc, char **argv) {
  static double all[PHASES + 1][MOST];
  if (argc == 5 && strcmp(argv[1], "--child") == 0) return child(argv[2], atoi(argv[3]), atoll(argv[4]));
  if (argc < 2) return 2;
  const char *threads = argc > 2 ? argv[2] : "1";
  int processes = argc > 3 ? atoi(argv[3]) : 21;
  for (int k = -1; k < processes && k < MOST; k++) { /* the first process fills the cache */
    double ms[PHASES];
    if (!measure(argv, threads, ms)) return 1;
    for (int i = 0; k >= 0 && i < PHASES; i++) all[i][k] = ms[i];
    if (k >= 0) all[PHASES][k] = ms[0] + ms[1] + ms[2] + ms[3];
    if (k < 0) setenv("VIEWFOLD_COMPILE", "0", 1);
  }
  for (int i = 0; i <= PHASES; i++) {
    median(all[i], (size_t)processes);
    printf("%s%s %.2f", i ? ", " : "", i < PHASES ? names[i] : "all but kernels", all[i][processes / 2]);
  }
  printf(" ms\n");
  return 0;
}
