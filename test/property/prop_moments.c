/* Means and variances over many elements, compiled, against sums in long double, for several machines.
 *
 *   prop_moments --seed S --count N
 *   prop_moments --case SEED        one case again, by the seed in its report
 *
 * A case is the mean and the variance of a tensor of up to four axes over some of them; most have enough
 * terms to be summed block by block. Results must have the same bits on all machines, and with u = 2^-24 be
 *
 *   mean        no farther from the mean in long double than 129 u times the mean of magnitudes
 *   variance    no farther from the mean of squares of x - m than 129 u times that, m being the mean that
 *               came out (128 for a sum, and the division)
 *
 * Elements lie far from 0, or some blocks far from others, or one element far from all; squares may overflow,
 * and some may be NaN or infinite. */
#include "passes/ops/compose/compose.h"
#include "passes/ops/ops.h"
#include "test/lib/trial.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 4, RESULTS = 3, MAX_AXES = 4, MOST = 1 << 20 };
static const long double BOUND = 129 * 0x1p-24L;

static const case_machine machines[CONTEXTS] = {{1, NULL},
                                                {2, NULL},
                                                {1, "vector_bytes=16 registers=16 l1=8192 l2=32768 l3=65536"},
                                                {2, "vector_bytes=32 registers=16 l1=32768 l2=262144"}};
static long elements, blocks;

typedef struct problem {
  trial t;
  int64_t size[MAX_AXES];
  uint32_t rank, set; /* set: the reduced axes */
  bool wanted;        /* the third result: the greatest deviation, another reader of x */
  size_t count, results;
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

/* Sizes of the axes. The last one is reduced, and perhaps others; each result has 2^14 to 2^18 terms, or
 * fewer. */
static void choose_sizes(problem *p) {
  static const int64_t good[] = {2,  3,  4,  7,   8,   14,  16,  28,   32,  49,
                                 56, 60, 64, 100, 112, 128, 256, 1000, 1024};
  int64_t terms = 1, all = 1, most = pick(p, 0, 5) ? 1 << pick(p, 14, 18) : 1 << 12;
  p->rank = (uint32_t)pick(p, 1, MAX_AXES);
  p->set = (uint32_t)pick(p, 0, (1 << p->rank) - 1) | 1u << (p->rank - 1);
  uint32_t first = 0;
  while (!(p->set >> first & 1)) first++;
  for (uint32_t a = p->rank; a-- > 0;) {
    bool gone = p->set >> a & 1;
    int64_t room = gone ? most / terms : MOST / all / (most / terms);
    int64_t s = gone && a == first ? room + pick(p, 0, 1) * pick(p, 0, 9)
                : pick(p, 0, 3)    ? good[pick(p, 0, 18)]
                                   : pick(p, 1, 200);
    if (s > room) s = room;
    p->size[a] = s < 1 ? 1 : s;
    all *= p->size[a];
    if (gone) terms *= p->size[a];
  }
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  ir_graph *g = &p->t.g;
  ir_ref dims[MAX_AXES], axes[MAX_AXES];
  uint32_t count = 0;
  choose_sizes(p);
  p->count = p->results = 1;
  for (uint32_t a = 0; a < p->rank; a++) {
    dims[a] = ir_index(g, p->size[a]);
    p->count *= (size_t)p->size[a];
    if (p->set >> a & 1) axes[count++] = ir_index(g, a);
    else p->results *= (size_t)p->size[a];
  }
  p->wanted = pick(p, 0, 3) == 0;
  p->t.input_count = 1, p->t.result_count = p->wanted ? 3 : 2;
  p->t.input[0] = op_input(g, "x", 1, IR_F32, dims, p->rank);
  p->t.result[0] = op_reduce(g, IR_OP_MEAN, p->t.input[0], axes, count, false);
  p->t.result[1] = op_var(g, p->t.input[0], axes, count, false, 0);
  ir_ref off =
      op_binary(g, IR_OP_SUB, p->t.input[0], op_reduce(g, IR_OP_MEAN, p->t.input[0], axes, count, true));
  p->t.result[2] = op_reduce(g, IR_OP_REDUCE_MAX, off, axes, count, false);
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_type(g, p->t.input[0], &text);
  snprintf(p->t.what, sizeof p->t.what, "moments of %s over the set %u%s", ir_text_get(&text), p->set,
           p->wanted ? ", and the greatest deviation" : "");
  ir_text_free(&text);
  return p->t.result[0] && p->t.result[1] && p->t.result[2];
}

/* data */

static float around(problem *p, double centre, double width) {
  return (float)(centre + width * ((double)pick(p, -(1 << 20), 1 << 20) / (1 << 20)));
}

static void fill(problem *p, float *x) {
  static const double specials[] = {INFINITY, -INFINITY, NAN, 1e30, -3e19, 3e38};
  double centre = pick(p, 0, 1) ? 0 : ldexp((double)pick(p, -1000, 1000), (int)pick(p, -5, 10));
  bool overflows = pick(p, 0, 7) == 0;
  double width = ldexp(1, overflows ? (int)pick(p, 60, 70) : (int)pick(p, -4, 4));
  if (overflows && pick(p, 0, 1)) centre = ldexp(centre, (int)pick(p, 60, 75));
  size_t run = p->count;
  if (pick(p, 0, 2) == 0) run = (size_t)pick(p, 100, 5000); /* elements that share one centre */
  double here = centre;
  for (size_t i = 0; i < p->count; i++) {
    if (run < p->count && i % run == 0) here = centre + (double)around(p, 0, 100 * width);
    x[i] = around(p, here, width);
  }
  if (pick(p, 0, 3) == 0) x[0] = (float)(centre + width * 1e6);
  if (pick(p, 0, 9) == 0)
    for (int64_t k = pick(p, 1, 3); k-- > 0;)
      x[pick(p, 0, (int64_t)p->count - 1)] = (float)specials[pick(p, 0, 5)];
}

/* the expected results */

typedef struct sums {
  long double sum, magnitude, squares;
} sums;

/* The index of the result that element i contributes to. */
static size_t result_of(const problem *p, size_t i) {
  size_t at = 0, step = 1;
  for (uint32_t a = p->rank; a-- > 0;) {
    if (!(p->set >> a & 1)) at += i % (size_t)p->size[a] * step, step *= (size_t)p->size[a];
    i /= (size_t)p->size[a];
  }
  return at;
}

static bool is_near(double got, long double want, long double scale) {
  if (isnan(want) || isinf(want)) return isnan(want) ? isnan(got) : (long double)got == want;
  return fabsl(got - want) <= BOUND * scale + 0x1p-149L;
}

/* A sum of squares beyond the greatest float, or close to it, may be infinite. */
static bool is_right_variance(float got, long double squares, long double n) {
  if (squares > FLT_MAX) squares = squares > FLT_MAX * 1.001L ? INFINITY : isinf(got) ? INFINITY : squares;
  return is_near(got, squares / n, squares / n);
}

static const char *wrong_result(const problem *p, const float *x, const float *mean, const float *variance) {
  sums *all = calloc(p->results, sizeof *all);
  long double n = (long double)(p->count / p->results);
  const char *wrong = NULL;
  for (size_t i = 0; i < p->count; i++) {
    size_t r = result_of(p, i);
    long double off = (long double)x[i] - mean[r];
    all[r].sum += x[i], all[r].magnitude += fabsl(x[i]), all[r].squares += off * off;
  }
  for (size_t r = 0; r < p->results && !wrong; r++) {
    bool large = all[r].magnitude > FLT_MAX && !isinf(all[r].magnitude); /* partial sums may overflow */
    if (large) continue;
    if (!is_near(mean[r], all[r].sum / n, all[r].magnitude / n)) wrong = "a mean is wrong";
    else if (!is_right_variance(variance[r], all[r].squares, n)) wrong = "a variance is wrong";
  }
  free(all);
  return wrong;
}

/* trial */

static void run(trial *t) {
  problem *p = (problem *)t;
  float *x = malloc(p->count * sizeof *x), *out[CONTEXTS] = {NULL};
  size_t n = p->results;
  fill(p, x);
  for (int k = 0; k < CONTEXTS && !*t->wrong; k++) {
    out[k] = calloc(RESULTS * n, sizeof *out[k]);
    trial_run_on(t, k, (void *[]){x}, (void *[]){out[k], out[k] + n, out[k] + 2 * n});
  }
  for (int k = 1; k < CONTEXTS && !*t->wrong; k++)
    if (memcmp(out[0], out[k], RESULTS * n * sizeof **out))
      cases_tell_bits(&machines[k], t->wrong, sizeof t->wrong);
  const char *what = *t->wrong ? NULL : wrong_result(p, x, out[0], out[0] + n);
  if (what) snprintf(t->wrong, sizeof t->wrong, "%s", what);
  elements += (long)p->count;
  blocks += p->count / n >= 1 << 14;
  for (int k = 0; k < CONTEXTS; k++) free(out[k]);
  free(x);
}

static void tell(const cases *c) {
  printf("%ld cases, %ld with many elements for each result, %ld elements", c->done, blocks, elements);
}

TRIAL_MAIN("moments", 60, machines, CONTEXTS, sizeof(problem), record, run, tell, NULL)
