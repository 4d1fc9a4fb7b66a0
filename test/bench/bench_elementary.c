/* The cost of elementary functions where memory does not matter: 64 Ki elements, which stay in the L2 cache,
 * on one thread. Without arguments every function; prints nanoseconds per element. */
#include "ir/timer.h"
#include "frontend/viewfold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 16, ITERATIONS = 300 };

typedef struct function {
  const char *name, *attributes;
  double lo, hi; /* of the arguments */
} function;

static const function functions[] = {
    {"exp", NULL, -80, 80},     {"exp2", NULL, -100, 100},  {"log", NULL, 0, 100},
    {"log2", NULL, 0, 100},     {"sin", NULL, -100, 100},   {"cos", NULL, -100, 100},
    {"tan", NULL, -100, 100},   {"tanh", NULL, -4, 4},      {"erf", NULL, -4, 4},
    {"sigmoid", NULL, -20, 20}, {"gelu", NULL, -4, 4},      {"gelu", "approximate=\"tanh\"", -4, 4},
    {"rsqrt", NULL, 0, 100},    {"expm1", NULL, -2, 2},     {"log1p", NULL, -1, 10},
    {"erfinv", NULL, -1, 1},    {"asin", NULL, -1, 1},      {"acos", NULL, -1, 1},
    {"atan", NULL, -4, 4},      {"sinh", NULL, -40, 40},    {"cosh", NULL, -40, 40},
    {"asinh", NULL, -40, 40},   {"acosh", NULL, 1, 40},     {"atanh", NULL, -1, 1},
    {"pow", NULL, 0, 4},        {"mod", NULL, -1000, 1000}, {"floordiv", NULL, -1000, 1000},
};

static double now(void) { return (double)ir_now_ns() * 1e-9; }

static double element(double lo, double hi) { return lo + (hi - lo) * ((double)rand() / RAND_MAX); }

/* Seconds of the fastest repetition; negative after a failure. */
static double measure(vf_context *context, const function *f, vf_dtype dtype) {
  static double x[N], out[N];
  vf_error error = {0};
  for (size_t i = 0; i < N; i++) {
    if (dtype == VF_F64) x[i] = element(f->lo, f->hi);
    else ((float *)x)[i] = (float)element(f->lo, f->hi);
  }
  vf_graph *graph = vf_graph_create(context, f->name, &error);
  vf_value in[2] = {vf_input(graph, "x", dtype, VF_LIST(N)), vf_number(graph, 1.7)};
  bool two = !strcmp(f->name, "pow") || !strcmp(f->name, "mod") || !strcmp(f->name, "floordiv");
  vf_output(graph, "y", vf_apply(graph, f->name, in, two ? 2 : 1, f->attributes));
  vf_program *program = vf_compile(graph, &error);
  double best = -1;
  for (int i = 0; i < ITERATIONS && program; i++) {
    double from = now();
    if (vf_program_run(program, (const void *[]){x}, (void *[]){out}, NULL, &error) != VF_OK) break;
    double took = now() - from;
    if (best < 0 || took < best) best = took;
  }
  if (error.status) fprintf(stderr, "%s: %s\n", f->name, error.message);
  vf_program_destroy(program), vf_graph_destroy(graph);
  return best;
}

int main(int argc, char **argv) {
  vf_context *context = vf_context_create(&(vf_options){.size = sizeof(vf_options), .threads = 1}, NULL);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    const function *f = &functions[i];
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++) wanted |= !strcmp(argv[k], f->name);
    if (!wanted) continue;
    printf("%-8s %-20s f32 %7.3f ns", f->name, f->attributes ? f->attributes : "",
           measure(context, f, VF_F32) / N * 1e9);
    printf("   f64 %7.3f ns\n", measure(context, f, VF_F64) / N * 1e9);
  }
  vf_context_destroy(context);
  return 0;
}
