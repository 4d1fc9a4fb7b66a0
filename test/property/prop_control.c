/* Control flow against the same computation without it.
 *
 *   prop_control --seed S --count N
 *   prop_control --case SEED         one case again, by the seed in its report
 *
 * Each case records one random function twice: called by scan, cond, while_loop or checkpoint, with functions
 * nested inside it; and written out, with loops unrolled, and with both branches computed and one selected.
 * In f64, by the reference evaluator, they agree: values, gradients, forward derivatives, and gradients of
 * the gradients. The text of the first form parses back to the same text and verifies. For some cases the
 * compiled program must give what the evaluator gives.
 *
 * spec: F13.U F14.U F15.U */
#include "frontend/api/api.h"
#include "ir/ir.h"
#include "test/lib/reads_back.h"
#include "test/lib/cases.h"
#include "test/lib/random_control.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test {
  control_case c;
  double data[INPUTS][ELEMENTS];
  int32_t trips_data;
} test;

/* Records all values to compare, as outputs o0, o1, ... */
static vf_graph *record(vf_context *context, const test *t, bool plain) {
  vf_graph *g = vf_graph_create(context, "case", NULL);
  vf_value in[INPUTS], out[OUTPUTS];
  int64_t shape[2] = {t->c.length, WIDTH}, row[1] = {WIDTH};
  for (int i = 0; i < INPUTS; i++) {
    const control_input *x = &control_inputs[i];
    in[i] = vf_input(g, x->name, x->dtype, x->rank, x->rank == 2 ? shape : row);
  }
  int count = control_record(&t->c, plain, in, out);
  for (int i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "o%d", i);
    vf_output(g, name, out[i]);
  }
  return g;
}

static bool report(const test *t, const char *what, const char *why) {
  printf("%s, length %d, trips %d of %d%s, second %d: %s: %s\nagain: prop_control --case %" PRIu64 "\n",
         control_kinds[t->c.kind], t->c.length, t->c.trips, t->c.bound, t->c.reverse ? ", reverse" : "",
         t->c.second, what, why, t->c.seed);
  return false;
}

static size_t elements(vf_graph *g, size_t output) {
  int64_t shape[16];
  size_t all = 1;
  vf_value x = {g, g->outputs[output].ref, g->epoch};
  int rank = vf_value_shape(x, shape);
  for (int i = 0; i < rank; i++) all *= (size_t)shape[i];
  return all;
}

static void data_of(const test *t, const void **in) {
  for (int i = 0; i < INPUTS; i++) in[i] = i == TRIPS ? (const void *)&t->trips_data : t->data[i];
}

static bool evaluate(const test *t, vf_graph *g, double (*values)[ELEMENTS]) {
  vf_error error;
  const void *in[INPUTS];
  void *out[OUTPUTS];
  data_of(t, in);
  for (int i = 0; i < OUTPUTS; i++) out[i] = values[i];
  if (vf_graph_status(g)) return report(t, "recording", vf_graph_message(g));
  return vf_evaluate(g, in, out, NULL, &error) == VF_OK || report(t, "evaluating", error.message);
}

static bool near(double a, double b, double most) {
  return isnan(a) ? isnan(b) : a == b || fabs(a - b) <= most * (1 + fabs(b));
}

static bool compare(const test *t, const char *what, vf_graph *g, double (*a)[ELEMENTS],
                    double (*b)[ELEMENTS], double most) {
  for (size_t i = 0; i < g->output_count; i++)
    for (size_t k = 0; k < elements(g, i); k++)
      if (!near(a[i][k], b[i][k], most)) {
        char why[128];
        snprintf(why, sizeof why, "output %zu, element %zu: %.17g and %.17g", i, k, a[i][k], b[i][k]);
        return report(t, what, why);
      }
  return true;
}

/* The text parses back to a graph that has the same text and the same values. */
static bool check_text(const test *t, vf_context *c, vf_graph *g, double (*values)[ELEMENTS]) {
  double again[OUTPUTS][ELEMENTS];
  char wrong[1000];
  vf_graph *read = reads_back_as(c, g, wrong, sizeof wrong);
  if (!read) return report(t, "text", wrong);
  bool good = evaluate(t, read, again) && compare(t, "read back", g, again, values, 0);
  vf_graph_destroy(read);
  return good;
}

static bool check_compiled(const test *t, vf_graph *g, double (*values)[ELEMENTS]) {
  vf_error error;
  double out[OUTPUTS][ELEMENTS];
  void *buffers[OUTPUTS];
  const void *in[INPUTS];
  data_of(t, in);
  for (int i = 0; i < OUTPUTS; i++) buffers[i] = out[i];
  vf_program *program = vf_compile(g, &error);
  if (!program) return report(t, "compiling", error.message);
  bool good =
      vf_program_run(program, in, buffers, NULL, &error) == VF_OK || report(t, "running", error.message);
  vf_program_destroy(program);
  return good && compare(t, "compiled and evaluated", g, out, values, 1e-9);
}

static bool run_case(vf_context *c, uint64_t seed, bool compile, uint64_t *refused) {
  uint64_t state;
  test t = {.c = control_case_make(seed, &state)};
  double called[OUTPUTS][ELEMENTS], plain[OUTPUTS][ELEMENTS];
  t.trips_data = t.c.trips;
  for (int i = 0; i < INPUTS; i++)
    for (int k = 0; k < ELEMENTS; k++) t.data[i][k] = (double)random_between(&state, -999, 999) / 700;
  vf_graph *g = record(c, &t, false), *h = record(c, &t, true);
  bool skipped = control_is_refused(g) || control_is_refused(h);
  bool good = skipped || (evaluate(&t, g, called) && evaluate(&t, h, plain) &&
                          compare(&t, "called and written out", g, called, plain, 1e-9) &&
                          check_text(&t, c, g, called) && (!compile || check_compiled(&t, g, called)));
  *refused += skipped;
  vf_graph_destroy(g), vf_graph_destroy(h);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 1000);
  uint64_t seed = given.seed, count = (uint64_t)given.count, refused = 0;
  vf_context *c = vf_context_create(NULL, NULL);
  if (given.repeat) {
    bool good = run_case(c, given.seed, true, &refused);
    vf_context_destroy(c);
    return !good;
  }
  enum { COMPILED_EACH = 16 };
  uint64_t state = seed;
  bool good = true;
  for (uint64_t i = 0; i < count && good; i++)
    good = run_case(c, random_next(&state) >> 16, i % COMPILED_EACH == 0, &refused);
  vf_context_destroy(c);
  if (!good) return 1;
  printf("prop_control: %" PRIu64 " functions called and written out, with derivatives, agree, %" PRIu64
         " refused (seed %" PRIu64 ")\n",
         count, refused, seed);
  if (refused > 2 + count / 100) return printf("prop_control: too many are refused\n"), 1;
  return 0;
}
