/* vmap of control flow = the stack of what each element of the batch gives.
 *
 *   prop_vmap_control --seed S --count N
 *   prop_vmap_control --case SEED      one case again, by the seed in its report
 *
 * Each case maps a random function with control flow in it (test/lib/random_control.h) along one or two axes,
 * in random places, or none where an input is not mapped: predicates, trip counts, states, slices and the
 * values that functions capture may vary from element to element or not. The mapped function records
 * derivatives: reverse, forward, and of each other. Each element must be what the same function gives for
 * that element's data when it is written out, without control flow and without a batch. Gradients of the
 * whole by the whole inputs, recorded outside, are those of the elements, summed over the axes that an input
 * does not have. The graph is evaluated, and now and then compiled; its text parses back to the same text. */
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

enum { LEVELS = 2, MOST_SIZE = 3, MOST = MOST_SIZE * MOST_SIZE, RESULTS = OUTPUTS + WRT };

typedef struct batch_case {
  control_case c;
  int levels, size[LEVELS];
  int axis[LEVELS][INPUTS]; /* by level, the outermost first: the mapped axis of the input that vmap gets at
                               that level; or VF_NOT_MAPPED */
  double data[INPUTS][ELEMENTS * MOST];
  int32_t trips[MOST];
} batch_case;

/* recording */

typedef struct mapping {
  const batch_case *t;
  int level, count;
} mapping;

static void record_level(void *user, const vf_value *in, vf_value *out) {
  mapping m = *(const mapping *)user;
  const batch_case *t = m.t;
  if (m.level == t->levels) {
    control_record(&t->c, false, in, out);
    return;
  }
  vf_map map = {sizeof map, INPUTS, m.count, t->axis[m.level], NULL, t->size[m.level], NULL};
  m.level++;
  vf_vmap(in[0].graph, &map, record_level, &m, in, out);
}

static int input_shape(const batch_case *t, int i, int64_t *shape) {
  int rank = control_inputs[i].rank, n = 0;
  if (rank == 2) shape[n++] = t->c.length;
  if (rank >= 1) shape[n++] = WIDTH;
  for (int level = t->levels; level-- > 0;) {
    int at = t->axis[level][i];
    if (at == VF_NOT_MAPPED) continue;
    memmove(shape + at + 1, shape + at, (size_t)(n - at) * sizeof *shape);
    shape[at] = t->size[level];
    n++;
  }
  return n;
}

/* The results, and the gradients of the losses. */
static void add_outputs(vf_graph *g, int count, vf_value *in, vf_value *out) {
  vf_grad(vf_sum(vf_tanh(out[1]), VF_ALL, false), WRT, in, out + count);
  for (int i = 0; i < count + WRT; i++) {
    char name[16];
    snprintf(name, sizeof name, "o%d", i);
    vf_output(g, name, out[i]);
  }
}

static vf_graph *record(vf_context *context, const batch_case *t) {
  vf_graph *g = vf_graph_create(context, "case", NULL);
  vf_value in[INPUTS], out[RESULTS];
  int count = control_record_count(&t->c);
  for (int i = 0; i < INPUTS; i++) {
    int64_t shape[16];
    int rank = input_shape(t, i, shape);
    in[i] = vf_input(g, control_inputs[i].name, control_inputs[i].dtype, rank, shape);
  }
  mapping m = {t, 0, count};
  record_level(&m, in, out);
  /* out[1] determines the loss of each element; the gradients of the whole are those of the sum of losses */
  add_outputs(g, count, in, out);
  return g;
}

/* Records the function for one element, without control flow. */
static vf_graph *record_plain(vf_context *context, const batch_case *t, int trips) {
  vf_graph *g = vf_graph_create(context, "plain", NULL);
  vf_value in[INPUTS], out[RESULTS];
  int64_t shape[2] = {t->c.length, WIDTH}, row[1] = {WIDTH};
  control_case c = t->c;
  c.trips = trips;
  for (int i = 0; i < INPUTS; i++) {
    const control_input *x = &control_inputs[i];
    in[i] = vf_input(g, x->name, x->dtype, x->rank, x->rank == 2 ? shape : row);
  }
  int count = control_record(&c, true, in, out);
  add_outputs(g, count, in, out);
  return g;
}

/* data */

static int64_t product(const int64_t *shape, int rank) {
  int64_t all = 1;
  for (int i = 0; i < rank; i++) all *= shape[i];
  return all;
}

/* The index in the whole input of element `number` of one batch element, whose batch indices are `at`. */
static int64_t place_of(const batch_case *t, int i, const int *at, int64_t number) {
  int64_t shape[16], where[16], own[2] = {t->c.length, WIDTH}, offset = 0;
  int rank = input_shape(t, i, shape), n = control_inputs[i].rank;
  if (n == 1) own[0] = WIDTH;
  for (int k = n; k-- > 0;) where[k] = number % own[k], number /= own[k];
  for (int level = t->levels; level-- > 0;) {
    int axis = t->axis[level][i];
    if (axis == VF_NOT_MAPPED) continue;
    memmove(where + axis + 1, where + axis, (size_t)(n - axis) * sizeof *where);
    where[axis] = at[level];
    n++;
  }
  for (int k = 0; k < rank; k++) offset = offset * shape[k] + where[k];
  return offset;
}

static int64_t count_of(const batch_case *t, int i) {
  int64_t own[2] = {t->c.length, WIDTH};
  return control_inputs[i].rank == 2 ? own[0] * own[1] : control_inputs[i].rank == 1 ? WIDTH : 1;
}

static bool report(const batch_case *t, const char *what, const char *why) {
  printf("%s, length %d, bound %d%s, second %d, batch of %d: %s: %s\nagain: prop_vmap_control --case %" PRIu64
         "\n",
         control_kinds[t->c.kind], t->c.length, t->c.bound, t->c.reverse ? ", reverse" : "", t->c.second,
         t->size[0] * t->size[1], what, why, t->c.seed);
  return false;
}

static int64_t output_count(vf_graph *g, size_t output) {
  int64_t shape[16];
  vf_value x = {g, g->outputs[output].ref, g->epoch};
  return product(shape, vf_value_shape(x, shape));
}

/* Allocates buffers for all outputs in one block, which the caller frees. */
static double *buffers_of(vf_graph *g, void **out) {
  size_t all = 0;
  for (size_t i = 0; i < g->output_count; i++) all += (size_t)output_count(g, i) + 1;
  double *room = calloc(all, sizeof *room);
  for (size_t i = 0, at = 0; i < g->output_count; i++)
    out[i] = room + at, at += (size_t)output_count(g, i) + 1;
  return room;
}

static bool near(double a, double b) {
  if (!isfinite(b)) return true; /* inf - inf and 0 * inf, in another order */
  return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* Compares the results of one batch element, and adds its gradients to the sums that the outside gradients
 * must equal. */
static bool check_element(vf_context *context, const batch_case *t, const int *at, void *const *whole,
                          double *sums[WRT], double *sizes[WRT]) {
  double data[INPUTS][ELEMENTS];
  int32_t trips = t->trips[place_of(t, TRIPS, at, 0)];
  const void *in[INPUTS];
  void *out[RESULTS];
  vf_error error;
  vf_graph *g = record_plain(context, t, trips);
  for (int i = 0; i < INPUTS; i++) {
    for (int64_t k = 0; k < count_of(t, i) && i != TRIPS; k++) data[i][k] = t->data[i][place_of(t, i, at, k)];
    in[i] = i == TRIPS ? (const void *)&trips : data[i];
  }
  if (vf_graph_status(g)) return report(t, "recording an element", vf_graph_message(g));
  double *room = buffers_of(g, out);
  bool good = vf_evaluate(g, in, out, NULL, &error) == VF_OK || report(t, "an element", error.message);
  int number = t->levels == 2 ? at[0] * t->size[1] + at[1] : at[0], count = control_record_count(&t->c);
  for (int i = 0; i < count && good; i++) {
    int64_t each = output_count(g, (size_t)i);
    for (int64_t k = 0; k < each && good; k++) {
      double got = ((double *)whole[i])[number * each + k], want = ((double *)out[i])[k];
      char why[128];
      snprintf(why, sizeof why, "output %d, element %d, %" PRId64 ": %.17g, expected %.17g", i, number, k,
               got, want);
      good = near(got, want) || report(t, "batch and element", why);
    }
  }
  for (int i = 0; i < WRT && good; i++)
    for (int64_t k = 0; k < count_of(t, i); k++) {
      double part = ((double *)out[count + i])[k];
      sums[i][place_of(t, i, at, k)] += part;
      sizes[i][place_of(t, i, at, k)] += fabs(part);
    }
  free(room);
  vf_graph_destroy(g);
  return good;
}

static bool check_values(vf_context *context, const batch_case *t, vf_graph *g, void *const *whole) {
  double *sums[WRT], *sizes[WRT];
  bool good = true;
  for (int i = 0; i < WRT; i++)
    sums[i] = calloc(ELEMENTS * MOST, sizeof *sums[i]), sizes[i] = calloc(ELEMENTS * MOST, sizeof *sizes[i]);
  for (int a = 0; a < t->size[0] && good; a++)
    for (int b = 0; b < t->size[1] && good; b++)
      good = check_element(context, t, (const int[]){a, b}, whole, sums, sizes);
  int count = control_record_count(&t->c);
  for (int i = 0; i < WRT && good; i++)
    for (int64_t k = 0; k < output_count(g, (size_t)(count + i)) && good; k++) {
      double got = ((double *)whole[count + i])[k], want = sums[i][k];
      char why[128];
      snprintf(why, sizeof why, "by input %d, %" PRId64 ": %.17g, expected %.17g", i, k, got, want);
      good = !isfinite(want) || fabs(got - want) <= 1e-9 * (1 + sizes[i][k]) ||
             report(t, "gradients outside", why);
    }
  for (int i = 0; i < WRT; i++) free(sums[i]), free(sizes[i]);
  return good;
}

/* checks of the whole graph */

static bool check_text(const batch_case *t, vf_context *c, vf_graph *g) {
  char wrong[1000];
  char *text = getenv("SHOW") ? vf_graph_text(g, NULL) : NULL;
  if (text) printf("%s", text);
  vf_text_free(c, text);
  vf_graph *read = reads_back_as(c, g, wrong, sizeof wrong);
  vf_graph_destroy(read);
  return read || report(t, "text", wrong);
}

static bool check_compiled(vf_context *c, const batch_case *t, vf_graph *g, const void *const *in,
                           void *const *out) {
  vf_error error;
  vf_program *program = vf_compile(g, &error);
  if (!program) return report(t, "compiling", error.message);
  bool good = vf_program_run(program, in, out, NULL, &error) == VF_OK || report(t, "running", error.message);
  vf_program_destroy(program);
  return good && (check_values(c, t, g, out) || report(t, "compiled", "as above"));
}

static batch_case make_case(uint64_t seed) {
  uint64_t state;
  batch_case t = {.c = control_case_make(seed, &state), .size = {1, 1}};
  t.levels = (int)random_between(&state, 1, LEVELS);
  for (int level = 0; level < t.levels; level++)
    t.size[level] = random_between(&state, 0, 19) == 0 ? 0 : (int)random_between(&state, 1, MOST_SIZE);
  for (int i = 0; i < INPUTS; i++) {
    int rank = control_inputs[i].rank;
    for (int level = t.levels; level-- > 0;) {
      bool mapped = random_between(&state, 0, 9) < 6;
      t.axis[level][i] = mapped ? (int)random_between(&state, 0, rank) : VF_NOT_MAPPED;
      rank += mapped;
    }
    for (int k = 0; k < ELEMENTS * MOST; k++) t.data[i][k] = (double)random_between(&state, -999, 999) / 700;
  }
  for (int k = 0; k < MOST; k++) t.trips[k] = (int32_t)random_between(&state, 0, 5);
  return t;
}

static bool run_case(vf_context *c, uint64_t seed, bool compile) {
  static batch_case t;
  t = make_case(seed);
  vf_error error;
  const void *in[INPUTS];
  void *out[RESULTS];
  for (int i = 0; i < INPUTS; i++) in[i] = i == TRIPS ? (const void *)t.trips : t.data[i];
  vf_graph *g = record(c, &t);
  bool good = !vf_graph_status(g) || report(&t, "recording", vf_graph_message(g));
  double *room = good ? buffers_of(g, out) : NULL;
  good = good && check_text(&t, c, g);
  good = good && (vf_evaluate(g, in, out, NULL, &error) == VF_OK || report(&t, "evaluating", error.message));
  good = good && check_values(c, &t, g, out) && (!compile || check_compiled(c, &t, g, in, out));
  free(room);
  vf_graph_destroy(g);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 300);
  uint64_t seed = given.seed, count = (uint64_t)given.count;
  vf_context *c = vf_context_create(NULL, NULL);
  if (given.repeat) {
    bool good = run_case(c, given.seed, true);
    vf_context_destroy(c);
    return !good;
  }
  enum { COMPILED_EACH = 8 };
  uint64_t state = seed, programs = 0;
  bool good = true;
  for (uint64_t i = 0; i < count && good; i++) {
    programs += i % COMPILED_EACH == 0;
    good = run_case(c, random_next(&state) >> 16, i % COMPILED_EACH == 0);
  }
  vf_context_destroy(c);
  if (!good) return 1;
  printf("prop_vmap_control: %" PRIu64
         " functions in batches and element by element, with derivatives, agree, %" PRIu64
         " of them compiled (seed %" PRIu64 ")\n",
         count, programs, seed);
  return 0;
}
