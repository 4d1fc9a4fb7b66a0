/* Symbolic sizes against the same sizes as numbers.
 *
 *   prop_sizes --seed S --count N
 *
 * Each case is a random chain of views (pads by elements and gathers among them) over an input whose sizes,
 * and the views' attributes, are expressions of two variables. It is compiled once, into one kernel (before a
 * sum perhaps two), and run for every value of the variables; each result is compared with the evaluator's of
 * the same text with the numbers written in. The generator works out every size at every value, so it knows
 * which views are possible throughout: one that is not must be refused with a message that names the missing
 * fact, and where the message proposes a declaration, the same text with that declaration must get further.
 */
#include "test/lib/random_graph.h"
#include "frontend/viewfold.h"
#include "test/lib/cases.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 4, POINTS = 40, SIZE_TEXT = 240, CHAIN_TEXT = 6000, ELEMENTS = 3000, LONGEST = 7 };
enum { N = '\1', M = '\2' }; /* stand for the variables in a text */

typedef struct size {
  char text[SIZE_TEXT];
  int64_t at[POINTS]; /* by point; a point is a choice of both variables */
} size;

typedef struct variable {
  int64_t lo, hi, div;
} variable;

typedef struct chain {
  variable n, m;
  int points;
  int64_t n_at[POINTS], m_at[POINTS];
  size base[RANK], dims[RANK];
  int base_rank, rank, steps;
  bool possible;                   /* at every point */
  char text[CHAIN_TEXT], last[80]; /* last: the operation that makes the result */
  size_t used;
  uint64_t state;
} chain;

static int pick(chain *c, int lo, int hi) { return (int)random_between(&c->state, lo, hi); }

/* --------------------------------------------------------------------------------------------------
 * sizes */

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static size number(const chain *c, int64_t value) {
  size s;
  snprintf(s.text, sizeof s.text, "%" PRId64, value);
  for (int i = 0; i < c->points; i++) s.at[i] = value;
  return s;
}

static size combine(chain *c, const size *a, const char *op, const size *b) {
  size s;
  if (snprintf(s.text, sizeof s.text, "(%s%s%s)", a->text, op, b->text) >= (int)sizeof s.text)
    c->possible = false, c->steps = LONGEST + 1; /* the size's text is too long: stop this chain */
  for (int i = 0; i < c->points; i++) {
    int64_t x = a->at[i], y = b->at[i];
    s.at[i] = *op == '+' ? x + y : *op == '-' ? x - y : *op == '*' ? x * y : y == 0 ? 0 : floor_of(x, y);
  }
  return s;
}

static bool is_number(const size *s) { return strspn(s->text, "0123456789") == strlen(s->text); }

static size some_size(chain *c) {
  size s = number(c, pick(c, 1, 4));
  int roll = pick(c, 0, 9);
  if (roll >= 4) {
    bool second = roll >= 8;
    snprintf(s.text, sizeof s.text, "%c", second ? M : N);
    memcpy(s.at, second ? c->m_at : c->n_at, sizeof s.at);
  }
  if (roll == 6 || roll == 9) {
    size k = number(c, pick(c, 2, 3));
    s = combine(c, &s, pick(c, 0, 1) ? "*" : "+", &k);
  }
  return s;
}

static bool at_most(const chain *c, const size *a, const size *b) {
  for (int i = 0; i < c->points; i++) {
    if (a->at[i] > b->at[i]) return false;
  }
  return true;
}

/* ----------------------------------------------------------------------------------------------------
 * views */

static void put(chain *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(chain *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(c->text + c->used, sizeof c->text - c->used, format, args);
  va_end(args);
  c->used += (size_t)length;
  if (c->used >= sizeof c->text) c->used = sizeof c->text - 1;
}

static void put_shape(chain *c) {
  put(c, "shape=[");
  for (int i = 0; i < c->rank; i++) put(c, "%s%s", i ? "," : "", c->dims[i].text);
  put(c, "]");
}

static void open_step(chain *c, const char *name) {
  put(c, "  %%v%d = %s %%v%d ", c->steps + 1, name, c->steps);
}

static void permute(chain *c) {
  int order[RANK];
  size old[RANK];
  memcpy(old, c->dims, sizeof old);
  for (int i = 0; i < c->rank; i++) order[i] = i;
  for (int i = c->rank; i-- > 1;) {
    int other = pick(c, 0, i), swap = order[i];
    order[i] = order[other], order[other] = swap;
  }
  open_step(c, "permute");
  put(c, "order=[");
  for (int i = 0; i < c->rank; i++) put(c, "%s%d", i ? "," : "", order[i]), c->dims[i] = old[order[i]];
  put(c, "]");
}

static void merge(chain *c, int axis) {
  c->dims[axis] = combine(c, &c->dims[axis], "*", &c->dims[axis + 1]);
  for (int i = axis + 1; i + 1 < c->rank; i++) c->dims[i] = c->dims[i + 1];
  c->rank--;
  open_step(c, "reshape");
  put_shape(c);
}

static int64_t elements(const chain *c, int point) {
  int64_t count = 1;
  for (int i = 0; i < c->rank; i++) count *= c->dims[i].at[point];
  return count;
}

static void split(chain *c, int axis) {
  size by = pick(c, 0, 2) ? number(c, pick(c, 1, 4)) : some_size(c);
  int64_t before[POINTS];
  for (int i = 0; i < c->points; i++) before[i] = elements(c, i);
  for (int i = c->rank++; i > axis + 1; i--) c->dims[i] = c->dims[i - 1];
  c->dims[axis] = combine(c, &c->dims[axis], "//", &by);
  c->dims[axis + 1] = by;
  for (int i = 0; i < c->points; i++) c->possible &= by.at[i] > 0 && elements(c, i) == before[i];
  open_step(c, "reshape");
  put_shape(c);
}

static void grow(chain *c) {
  for (int i = c->rank++; i > 0; i--) c->dims[i] = c->dims[i - 1];
  c->dims[0] = number(c, 1);
  open_step(c, "reshape");
  put_shape(c);
  put(c, "\n");
  c->steps++;
  c->dims[0] = some_size(c);
  open_step(c, "expand");
  put_shape(c);
}

static void shrink(chain *c) {
  open_step(c, "shrink");
  put(c, "bounds=[");
  for (int i = 0; i < c->rank; i++) {
    size *d = &c->dims[i], begin = number(c, pick(c, 0, 2)), two = number(c, 2),
         less = number(c, pick(c, 0, 1));
    if (pick(c, 0, 4) == 0) begin = combine(c, d, "//", &two);
    size end = pick(c, 0, 5) ? combine(c, d, "-", &less) : some_size(c);
    if (pick(c, 0, 2)) begin = number(c, 0), end = *d;
    c->possible &= at_most(c, &begin, &end) && at_most(c, &end, d);
    put(c, "%s[%s,%s]", i ? "," : "", begin.text, end.text);
    *d = combine(c, &end, "-", &begin);
  }
  put(c, "]");
}

static void pad(chain *c) {
  static const char *const modes[] = {"constant value=7", "constant value=-2", "edge", "reflect", "wrap"};
  int mode = pick(c, 0, 4);
  open_step(c, "pad");
  put(c, "pads=[");
  for (int i = 0; i < c->rank; i++) {
    size low = number(c, pick(c, 0, 1) ? 0 : pick(c, 0, 3)),
         high = number(c, pick(c, 0, 1) ? 0 : pick(c, 0, 5));
    if (pick(c, 0, 5) == 0) high = some_size(c);
    for (int k = 0; k < c->points && mode > 1 &&
                    !(is_number(&low) && low.at[0] == 0 && is_number(&high) && high.at[0] == 0);
         k++)
      c->possible &= c->dims[i].at[k] > 0;
    put(c, "%s[%s,%s]", i ? "," : "", low.text, high.text);
    size both = combine(c, &low, "+", &high);
    c->dims[i] = combine(c, &c->dims[i], "+", &both);
  }
  put(c, "] mode=%s", modes[mode]);
}

static void stride(chain *c) {
  open_step(c, "stride");
  put(c, "steps=[");
  for (int i = 0; i < c->rank; i++) {
    int step = pick(c, 0, 1) ? 1 : pick(c, 2, 3);
    size by = number(c, step), less = number(c, step - 1), up = combine(c, &c->dims[i], "+", &less);
    put(c, "%s%d", i ? "," : "", pick(c, 0, 2) ? step : -step);
    if (step > 1) c->dims[i] = combine(c, &up, "//", &by);
  }
  put(c, "]");
}

static void flip(chain *c) {
  open_step(c, "flip");
  put(c, "axes=[%d]", pick(c, 0, c->rank - 1));
}

static void gather(chain *c, int axis) {
  int count = pick(c, 1, 4);
  put(c, "  %%i%d = data shape=[%d] dtype=i64 values=[", c->steps, count);
  for (int i = 0; i < count; i++) {
    int at = pick(c, 0, 1);
    put(c, "%s%d", i ? "," : "", at);
    for (int k = 0; k < c->points; k++) /* gather checks indices at run time: keep them in range */
      if (at >= c->dims[axis].at[k]) c->steps = LONGEST + 1;
  }
  put(c, "]\n  %%v%d = gather %%v%d, %%i%d axis=%d", c->steps + 1, c->steps, c->steps, axis);
  c->dims[axis] = number(c, count);
}

static void step(chain *c) {
  int kind = pick(c, 0, 10), axis = c->rank ? pick(c, 0, c->rank - 1) : 0;
  if (c->rank == 0) grow(c);
  else if (kind < 2 && axis + 1 < c->rank) merge(c, axis);
  else if (kind < 4 && c->rank < RANK) split(c, axis);
  else if (kind == 4 && c->rank < RANK) grow(c);
  else if (kind < 6) shrink(c);
  else if (kind < 8) pad(c);
  else if (kind == 8) stride(c);
  else if (kind == 9) flip(c);
  else if (pick(c, 0, 1)) gather(c, axis);
  else permute(c);
  put(c, "\n");
  c->steps++;
}

static variable some_variable(chain *c, int most) {
  int div = pick(c, 0, 1) ? 1 : pick(c, 2, 4), lo = pick(c, 0, 4);
  return (variable){lo, lo + pick(c, div, div + most), div};
}

static bool fits(const chain *c) {
  for (int k = 0; k < c->points; k++) {
    int64_t count = 1;
    for (int i = 0; i < c->rank; i++)
      if ((count *= c->dims[i].at[k]) > ELEMENTS || c->dims[i].at[k] < 0) return !c->possible;
  }
  return true;
}

static void last_operation(chain *c) {
  int axis = c->rank ? pick(c, 0, c->rank - 1) : 0, kind = c->rank ? pick(c, 0, 4) : 0;
  int v = c->steps;
  if (kind == 1) snprintf(c->last, sizeof c->last, "sum %%v%d axes=[%d]", v, axis);
  else if (kind == 2) snprintf(c->last, sizeof c->last, "concat %%v%d, %%v%d axis=%d", v, v, axis);
  else if (kind == 3) snprintf(c->last, sizeof c->last, "stack %%v%d, %%v%d axis=%d", v, v, axis);
  else snprintf(c->last, sizeof c->last, "mul %%v%d, 3", v);
}

/* False when the drawn chain is of no use. */
static bool draw(chain *c, uint64_t seed) {
  *c = (chain){.state = seed, .possible = true};
  c->n = some_variable(c, 6), c->m = some_variable(c, 2);
  for (int64_t n = 0; n <= c->n.hi; n += c->n.div)
    for (int64_t m = 0; m <= c->m.hi; m += c->m.div) {
      if (n < c->n.lo || m < c->m.lo || c->points == POINTS) continue;
      c->n_at[c->points] = n, c->m_at[c->points++] = m;
    }
  c->rank = c->base_rank = pick(c, 1, 3);
  for (int i = 0; i < c->rank; i++) c->base[i] = c->dims[i] = some_size(c);
  if (!c->points || !fits(c)) return false;
  int wanted = pick(c, 1, LONGEST - 2);
  while (c->steps < wanted && c->possible) {
    chain before = *c;
    step(c);
    if (c->steps > LONGEST || !fits(c)) *c = before, c->state = random_next(&c->state), wanted--;
  }
  last_operation(c);
  return c->steps > 0;
}

/* Writes the graph's text: point < 0 with the variables declared, else with the numbers of that point. */
static void render(const chain *c, int point, char out[2 * CHAIN_TEXT]) {
  size_t used = 0;
  char shape[RANK * SIZE_TEXT] = "", numbers[2][24], whole[CHAIN_TEXT + RANK * SIZE_TEXT + 400];
  for (int i = 0; i < c->base_rank; i++) {
    if (i) strcat(shape, ",");
    strcat(shape, c->base[i].text);
  }
  if (point < 0)
    snprintf(whole, sizeof whole,
             "graph @g(n=%" PRId64 "..%" PRId64 ":%" PRId64 ", m=%" PRId64 "..%" PRId64 ":%" PRId64
             ", %%v0: i32[%s]) {\n%s  %%r = %s\n  return %%r\n}\n",
             c->n.lo, c->n.hi, c->n.div, c->m.lo, c->m.hi, c->m.div, shape, c->text, c->last);
  else
    snprintf(whole, sizeof whole, "graph @g(%%v0: i32[%s]) {\n%s  %%r = %s\n  return %%r\n}\n", shape,
             c->text, c->last);
  for (int i = 0; i < 2; i++) {
    snprintf(numbers[i], sizeof numbers[i], "%" PRId64, point < 0 ? 0 : i ? c->m_at[point] : c->n_at[point]);
    if (point < 0) snprintf(numbers[i], sizeof numbers[i], i ? "m" : "n");
  }
  for (const char *s = whole; *s && used + 30 < 2 * CHAIN_TEXT; s++) {
    if (*s == N || *s == M) used += (size_t)snprintf(out + used, 30, "%s", numbers[*s == M]);
    else out[used++] = *s;
  }
  out[used] = '\0';
}

/* -----------------------------------------------------------------------------------------------
 * checks */

typedef struct tester {
  vf_context *context;
  char why[3000];
  long runs, refused, undecided, remedied;
} tester;

static bool fail(tester *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(tester *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(t->why, sizeof t->why, format, args);
  va_end(args);
  return false;
}

static vf_graph *parse(tester *t, const chain *c, int point, vf_error *error) {
  static char text[2 * CHAIN_TEXT];
  render(c, point, text);
  return vf_graph_parse(t->context, text, strlen(text), "g", NULL, error);
}

/* Declares the variables as the message proposes; false where it proposes nothing. */
static bool declared(const char *message, chain *c) {
  const char *at = strstr(message, "; declare ");
  char name;
  variable v = {.div = 1};
  if (!at || sscanf(at, "; declare %c=%" SCNd64 "..%" SCNd64 ":%" SCNd64, &name, &v.lo, &v.hi, &v.div) < 3)
    return false;
  *(name == 'n' ? &c->n : &c->m) = v;
  return true;
}

static bool refused_well(tester *t, const chain *c, const char *message) {
  chain narrower = *c;
  t->refused++;
  t->undecided += c->possible;
  if (!declared(message, &narrower)) return true;
  vf_error error;
  vf_graph *g = parse(t, &narrower, -1, &error);
  t->remedied += g != NULL;
  bool better = g || strcmp(error.message, message) != 0;
  vf_graph_destroy(g);
  return better || fail(t, "the declaration that is offered changes nothing: %s", message);
}

static bool run_at(tester *t, const chain *c, const vf_program *p, int point) {
  static int32_t input[4 * ELEMENTS], want[2 * ELEMENTS + 1], got[2 * ELEMENTS + 1];
  vf_error error;
  vf_graph *plain = parse(t, c, point, &error);
  if (!plain) return fail(t, "with numbers: %s", error.message);
  int64_t variables[2], shape[16], count = 1, sizes[16];
  for (int i = 0; i < vf_variable_count(p); i++)
    variables[i] = vf_variable_name(p, i)[0] == 'n' ? c->n_at[point] : c->m_at[point];
  vf_value r = vf_graph_find(plain, "r");
  int rank = vf_value_shape(r, shape);
  for (int i = 0; i < rank; i++) count *= shape[i];
  for (int i = 0; i < 4 * ELEMENTS; i++) input[i] = i + 1;
  memset(got, 0xa5, sizeof got);
  const void *in[] = {input};
  bool good = count <= 2 * ELEMENTS || fail(t, "too many elements");
  if (good && vf_evaluate(plain, in, (void *[]){want}, NULL, &error) != VF_OK)
    good = fail(t, "evaluating: %s", error.message);
  if (good && vf_port_shape(p, VF_OUTPUT, 0, variables, sizes, &error) != VF_OK)
    good = fail(t, "sizes: %s", error.message);
  for (int i = 0; i < rank && good; i++)
    if (sizes[i] != shape[i])
      good = fail(t, "axis %d has size %" PRId64 ", not %" PRId64, i, sizes[i], shape[i]);
  if (good && vf_program_run(p, in, (void *[]){got}, variables, &error) != VF_OK)
    good = fail(t, "running: %s", error.message);
  for (int64_t i = 0; i < count && good; i++)
    if (want[i] != got[i])
      good = fail(t, "n=%" PRId64 " m=%" PRId64 ": element %" PRId64 " is %d, not %d", c->n_at[point],
                  c->m_at[point], i, got[i], want[i]);
  if (good && got[count] != (int32_t)0xa5a5a5a5) good = fail(t, "written past the end");
  t->runs++;
  vf_graph_destroy(plain);
  return good;
}

static bool check(tester *t, const chain *c) {
  vf_error error;
  vf_graph *g = parse(t, c, -1, &error);
  if (!g)
    return strstr(error.message, "; needs ") || !c->possible ? refused_well(t, c, error.message)
                                                             : fail(t, "no fact is named: %s", error.message);
  bool good = c->possible || fail(t, "accepted, though it is not possible for every size");
  vf_program *p = good ? vf_compile(g, &error) : NULL;
  vf_stats stats = {.size = sizeof stats};
  if (good && !p) good = fail(t, "compiling: %s", error.message);
  /* what is read several times, by what makes the result and by a pad that repeats what is gathered, may be
   * stored before, where that is predicted to take less time */
  bool reads_again = strncmp(c->last, "mul", 3) != 0, gathers = strstr(c->text, " = gather ");
  uint32_t most = 1 + reads_again + gathers;
  if (good && (!vf_program_stats(p, &stats) || stats.launches < 1 || stats.launches > most))
    good = fail(t, "%u kernels for one chain of views", stats.launches);
  for (int i = 0; i < c->points && good; i++) good = run_at(t, c, p, i);
  vf_program_destroy(p), vf_graph_destroy(g);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 300);
  uint64_t seed = given.seed;
  long count = given.count, failed = 0;
  static tester t;
  vf_options options = {.size = sizeof options, .flags = VF_NO_DISK, .threads = 1};
  vf_error error;
  t.context = vf_context_create(&options, &error);
  if (!t.context) return fprintf(stderr, "%s\n", error.message), 1;
  for (long k = 0; k < count && failed < 3; k++) {
    static chain c;
    static char text[2 * CHAIN_TEXT];
    uint64_t state = seed * 0x9e3779b97f4a7c15u + (uint64_t)k;
    while (!draw(&c, random_next(&state))) {}
    if (check(&t, &c)) continue;
    render(&c, -1, text);
    printf("case %ld: %s\n%s", k, t.why, text);
    failed++;
  }
  vf_context_destroy(t.context);
  printf("prop_sizes: %ld chains, %ld runs, %ld refused (%ld possible at every size; %ld accepted once "
         "declared as offered), %ld failed, seed %" PRIu64 "\n",
         count, t.runs, t.refused, t.undecided, t.remedied, failed, seed);
  return failed != 0;
}
