/* Compares the results of a workload with its oracle, row by row on several threads. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/bench/bench.h"
#include "frontend/cli/bench/oracle.h"

typedef struct comparison {
  const bench_oracle *oracle;
  const bench_given *given;
  const float *results;
  size_t length; /* of a row */
  atomic_size_t next;
  atomic_flag busy;
  double apart, largest;
} comparison;

static const bench_oracle *find_oracle(const char *id) {
  const bench_oracle *const tables[] = {bench_view_oracles, bench_math_oracles, bench_product_oracles};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const bench_oracle *o = tables[t]; o->id; o++)
      if (strcmp(o->id, id) == 0) return o;
  return NULL;
}

/* The larger one; infinity for a NaN. */
static double worse(double a, double b) { return isnan(b) ? INFINITY : b > a ? b : a; }

static void compare_rows(void *user, int number, int count) {
  comparison *c = user;
  double *row = malloc(c->length * sizeof *row), apart = row ? 0 : INFINITY, largest = 0;
  (void)number, (void)count;
  for (size_t r; row && (r = atomic_fetch_add(&c->next, 1)) < c->oracle->rows;) {
    c->oracle->row(c->given, r, c->length, row);
    for (size_t j = 0; j < c->length; j++) {
      apart = worse(apart, fabs((double)c->results[r * c->length + j] - row[j]));
      largest = worse(largest, fabs(row[j]));
    }
  }
  while (atomic_flag_test_and_set(&c->busy)) {}
  c->apart = worse(c->apart, apart);
  c->largest = worse(c->largest, largest);
  atomic_flag_clear(&c->busy);
  free(row);
}

double bench_error(const bench_workload *w, const bench_inputs *inputs, const float *results, size_t count,
                   int threads) {
  comparison c = {.oracle = find_oracle(w->id), .results = results, .busy = ATOMIC_FLAG_INIT};
  bench_given *given = calloc(inputs->count + 1, sizeof *given);
  if (!given || !c.oracle || !count || count % c.oracle->rows) {
    free(given);
    return INFINITY;
  }
  for (size_t i = 0; i < inputs->count; i++)
    given[i] = (bench_given){inputs->list[i].a.data, inputs->list[i].a.shape};
  c.given = given;
  c.length = count / c.oracle->rows;
  bench_team(threads, compare_rows, &c);
  free(given);
  return c.apart == 0 ? 0 : isinf(c.apart) ? INFINITY : c.apart / c.largest;
}
