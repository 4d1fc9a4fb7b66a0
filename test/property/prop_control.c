/* Control flow against the same without it.
 *
 *   prop_control --seed S --count N
 *   prop_control --case SEED         one case again, by the seed in its report
 *
 * Each case records one random function twice: called by scan, cond, while_loop or checkpoint, with functions
 * nested inside it; and written out, with rounds unrolled and both branches computed and chosen from. In f64,
 * by the reference evaluator, they agree: values, gradients, forward derivatives, and gradients of the
 * gradients. The text of the first reads back as itself, verifies, and now and then the compiled program
 * gives what the evaluator gives. */
#include "frontend/api.h"
#include "ir/ir.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 3, MOST_LENGTH = 5, VALUES = 16, INPUTS = 7, OUTPUTS = 24, DEPTH = 2, ELEMENTS = 32 };
enum { XS, MORE, STATE, NUMBER, WEIGHT, PREDICATE, TRIPS };
enum { SCAN, COND, WHILE, CHECKPOINT, KINDS };

static const struct {
  const char *name;
  vf_dtype dtype;
  int rank;
} inputs[INPUTS] = {{"xs", VF_F64, 2},     {"more", VF_F64, 2},   {"state", VF_F64, 1},
                    {"number", VF_F64, 0}, {"weight", VF_F64, 1}, {"predicate", VF_F64, 0},
                    {"trips", VF_I32, 0}};

/* What a function is made of; the same however often, and in whichever form, it is recorded. */
typedef struct recipe {
  uint64_t seed;
  bool plain; /* without control flow */
  int depth, arguments, results;
  bool vectors[2]; /* results: vectors, or numbers */
  const vf_value *outside;
  int outside_count;
} recipe;

typedef struct pool {
  uint64_t state;
  const recipe *of;
  vf_value values[VALUES];
  int count;
  vf_graph *graph;
} pool;

static vf_value pick(pool *p) { return p->values[random_between(&p->state, 0, p->count - 1)]; }
static void keep(pool *p, vf_value x) { p->values[p->count < VALUES ? p->count++ : VALUES - 1] = x; }

static vf_value vector(vf_value x) { return vf_value_rank(x) == 1 ? x : vf_expand(x, VF_LIST(WIDTH)); }
static vf_value scalar(vf_value x) { return vf_value_rank(x) == 0 ? x : vf_sum(x, 0, NULL, false); }
static vf_value small(pool *p, vf_value x) { return vf_tanh(vf_mul(x, vf_number(p->graph, 0.5))); }

static void follow(void *user, const vf_value *arguments, vf_value *results);

static recipe inner(pool *p, int arguments, int results, const vf_value *outside) {
  return (recipe){.seed = random_next(&p->state),
                  .plain = p->of->plain,
                  .depth = p->of->depth + 1,
                  .arguments = arguments,
                  .results = results,
                  .vectors = {random_next(&p->state) & 1, random_next(&p->state) & 1},
                  .outside = outside,
                  .outside_count = 1};
}

typedef struct choice {
  recipe then, otherwise;
} choice;
static void follow_then(void *user, const vf_value *arguments, vf_value *results) {
  follow(&((choice *)user)->then, arguments, results);
}
static void follow_otherwise(void *user, const vf_value *arguments, vf_value *results) {
  follow(&((choice *)user)->otherwise, arguments, results);
}

static vf_value choose(pool *p) {
  vf_value taken = pick(p), other = pick(p), left, right, result;
  vf_value predicate = vf_lt(scalar(pick(p)), vf_number(p->graph, 0.2));
  recipe r = inner(p, 1, 1, &other);
  choice c = {r, r};
  c.otherwise.seed++;
  if (!p->of->plain) {
    vf_cond(predicate, 1, &taken, follow_then, follow_otherwise, &c, 1, &result);
    return result;
  }
  follow(&c.then, &taken, &left);
  follow(&c.otherwise, &taken, &right);
  return vf_where(predicate, left, right);
}

/* A scan over the elements of a vector. */
static vf_value over_elements(pool *p) {
  vf_value xs = vector(pick(p)), state = pick(p), other = pick(p), ys[WIDTH];
  bool reverse = random_next(&p->state) & 1;
  recipe r = inner(p, 2, 2, &other);
  r.vectors[0] = vf_value_rank(state) == 1;
  if (!p->of->plain) {
    vf_scan(follow, &r, 1, &state, 1, &xs, 1, -1, reverse, &state, ys);
  } else {
    for (int k = 0; k < WIDTH; k++) {
      int at = reverse ? WIDTH - 1 - k : k;
      vf_value arguments[2] = {state, vf_point(xs, at, 0)}, results[2];
      follow(&r, arguments, results);
      state = results[0];
      ys[at] = results[1];
    }
    ys[0] = vf_stack(ys, WIDTH, 0);
  }
  return vf_add(state, vf_sum(ys[0], 1, (const int64_t[]){0}, false));
}

static vf_value operation(pool *p) {
  vf_value a = pick(p), b = pick(p);
  switch (random_between(&p->state, 0, p->of->depth < DEPTH ? 9 : 6)) {
  case 0: return vf_add(a, b);
  case 1: return vf_mul(a, small(p, b));
  case 2: return vf_sub(a, b);
  case 3: return vf_tanh(a);
  case 4: return vf_where(vf_lt(scalar(a), vf_number(p->graph, 0.1)), a, b);
  case 5: return small(p, scalar(a));
  case 6: return vf_value_rank(a) ? vf_flip(a, 1, (const int64_t[]){0}) : vf_mul(a, a);
  case 7:
  case 8: return choose(p);
  default: return over_elements(p);
  }
}

static void follow(void *user, const vf_value *arguments, vf_value *results) {
  const recipe *r = user;
  pool p = {.state = r->seed, .of = r, .graph = arguments[0].graph};
  for (int i = 0; i < r->arguments; i++) keep(&p, arguments[i]);
  for (int i = 0; i < r->outside_count; i++) keep(&p, r->outside[i]);
  for (int i = (int)random_between(&p.state, 1, 4); i > 0; i--) keep(&p, operation(&p));
  for (int i = 0; i < r->results; i++) {
    vf_value x = random_next(&p.state) % 4 ? p.values[p.count - 1 - (i < p.count ? i : 0)] : pick(&p);
    results[i] = small(&p, r->vectors[i] ? vector(x) : scalar(x));
  }
}

/* a state of a counter, a vector and a number */
typedef struct rounds {
  recipe r;
  vf_value trips;
} rounds;
static void follow_rounds(void *user, const vf_value *arguments, vf_value *results) {
  follow(&((rounds *)user)->r, arguments + 1, results + 1);
  results[0] = vf_add(arguments[0], vf_integer(arguments[0].graph, 1));
}
static void more_rounds(void *user, const vf_value *arguments, vf_value *results) {
  results[0] = vf_lt(arguments[0], ((rounds *)user)->trips);
}

typedef struct test {
  uint64_t seed;
  int kind, length, trips, bound, second;
  bool reverse, forward;
  double data[INPUTS][ELEMENTS];
  int32_t trips_data;
} test;

static int record_scan(const test *t, recipe r, const vf_value *in, vf_value *out) {
  vf_value xs[2] = {in[XS], in[MORE]}, state = in[STATE], ys[MOST_LENGTH];
  r.arguments = 3;
  r.vectors[0] = true;
  if (!r.plain) {
    vf_scan(follow, &r, 1, &state, 2, xs, 1, -1, t->reverse, &out[0], &out[1]);
    return 2;
  }
  for (int k = 0; k < t->length; k++) {
    int at = t->reverse ? t->length - 1 - k : k;
    vf_value arguments[3] = {state, vf_point(xs[0], at, 0), vf_point(xs[1], at, 0)}, results[2];
    follow(&r, arguments, results);
    state = results[0];
    ys[at] = results[1];
  }
  out[0] = state;
  out[1] = vf_stack(ys, t->length, 0);
  return 2;
}

static int record_while(const test *t, recipe r, const vf_value *in, vf_value *out) {
  vf_value state[3] = {vf_integer(in[0].graph, 0), in[STATE], in[NUMBER]};
  rounds all = {r, in[TRIPS]};
  all.r.arguments = 2;
  all.r.vectors[0] = true, all.r.vectors[1] = false;
  if (!r.plain) {
    vf_while_loop(more_rounds, follow_rounds, &all, 3, state, t->bound, out);
  } else {
    for (int k = 0; k < t->trips && k < t->bound; k++) {
      vf_value next[3];
      follow_rounds(&all, state, next);
      memcpy(state, next, sizeof next);
    }
    memcpy(out, state, sizeof state);
  }
  out[0] = out[1], out[1] = out[2];
  return 2;
}

static int record_cond(const test *t, recipe r, const vf_value *in, vf_value *out) {
  vf_value predicate = vf_lt(in[PREDICATE], vf_number(in[0].graph, 0)), left[2], right[2];
  choice c = {r, r};
  c.then.arguments = c.otherwise.arguments = 2;
  c.otherwise.seed++;
  if (!r.plain) {
    vf_cond(predicate, 2, in + STATE, follow_then, follow_otherwise, &c, 2, out);
    return 2;
  }
  follow(&c.then, in + STATE, left);
  follow(&c.otherwise, in + STATE, right);
  for (int i = 0; i < 2; i++) out[i] = vf_where(predicate, left[i], right[i]);
  return 2;
}

static int record_values(const test *t, bool plain, const vf_value *in, vf_value *out) {
  recipe r = {.seed = t->seed * 31 + 7,
              .plain = plain,
              .results = 2,
              .arguments = 2,
              .vectors = {t->seed & 1, t->seed & 2},
              .outside = &in[WEIGHT],
              .outside_count = 1};
  switch (t->kind) {
  case SCAN: return record_scan(t, r, in, out);
  case WHILE: return record_while(t, r, in, out);
  case COND: return record_cond(t, r, in, out);
  default:
    if (r.plain) follow(&r, in + STATE, out);
    else vf_checkpoint(follow, &r, 2, in + STATE, 2, out);
    return 2;
  }
}

/* sum of x_i times numbers that depend on i alone */
static vf_value weighed(const vf_value *x, int count) {
  vf_value sum = vf_number(x[0].graph, 0);
  for (int i = 0; i < count; i++)
    sum = vf_add(sum,
                 vf_mul(scalar(vf_value_rank(x[i]) == 2 ? vf_sum(vf_mul(x[i], x[i]), 0, NULL, false) : x[i]),
                        vf_number(x[0].graph, 0.7 + 0.4 * i)));
  return sum;
}

/* All that is compared, as outputs o0, o1, ... */
static vf_graph *record(vf_context *context, const test *t, bool plain) {
  enum { WRT = 5 };
  vf_graph *g = vf_graph_create(context, "case", NULL);
  vf_value in[INPUTS], out[OUTPUTS];
  int64_t shape[2] = {t->length, WIDTH}, row[1] = {WIDTH};
  for (int i = 0; i < INPUTS; i++)
    in[i] = vf_input(g, inputs[i].name, inputs[i].dtype, inputs[i].rank, inputs[i].rank == 2 ? shape : row);
  int count = record_values(t, plain, in, out);
  vf_value loss = weighed(out, count), gradients[WRT], second[WRT], tangents[WRT];
  for (int i = 0; i < WRT; i++) tangents[i] = vf_mul(in[i], vf_number(g, 0.3 + i));
  vf_grad(loss, WRT, in, gradients);
  memcpy(out + count, gradients, sizeof gradients);
  count += WRT;
  vf_jvp(1, &loss, WRT, in, tangents, out + count++);
  if (t->second) {
    vf_value again = weighed(gradients, WRT);
    if (t->second == 1) vf_grad(again, WRT, in, second);
    else vf_jvp(1, &again, WRT, in, tangents, second);
    for (int i = 0; i < (t->second == 1 ? WRT : 1); i++) out[count++] = second[i];
  }
  for (int i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "o%d", i);
    vf_output(g, name, out[i]);
  }
  return g;
}

static bool report(const test *t, const char *what, const char *why) {
  static const char *const names[] = {"scan", "cond", "while_loop", "checkpoint"};
  printf("%s, length %d, trips %d of %d%s, second %d: %s: %s\nagain: prop_control --case %" PRIu64 "\n",
         names[t->kind], t->length, t->trips, t->bound, t->reverse ? ", reverse" : "", t->second, what, why,
         t->seed);
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

/* The text reads back as a graph of the same text, of the same values. */
static bool check_text(const test *t, vf_context *c, vf_graph *g, double (*values)[ELEMENTS]) {
  vf_error error;
  double again[OUTPUTS][ELEMENTS];
  ir_error broken = {0};
  ir_ref refs[OUTPUTS];
  for (size_t i = 0; i < g->output_count; i++) refs[i] = g->outputs[i].ref;
  ir_ref root = ir_tuple(&g->ir, refs, (uint32_t)g->output_count);
  if (ir_verify(&g->ir, root, IR_LEVEL_TENSOR, &broken) != IR_OK) return report(t, "verifying", broken.text);
  char *text = vf_graph_text(g, &error);
  vf_graph *read = text ? vf_graph_parse(c, text, strlen(text), "text", NULL, &error) : NULL;
  char *other = read ? vf_graph_text(read, &error) : NULL;
  bool good = other ? strcmp(text, other) == 0 || report(t, "text", "reads back as another")
                    : report(t, "text", error.message);
  good = good && evaluate(t, read, again) && compare(t, "read back", g, again, values, 0);
  vf_text_free(c, text), vf_text_free(c, other);
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

static bool run_case(vf_context *c, uint64_t seed, bool compile) {
  uint64_t state = seed;
  test t = {.seed = seed};
  double called[OUTPUTS][ELEMENTS], plain[OUTPUTS][ELEMENTS];
  t.kind = (int)(random_next(&state) % KINDS);
  t.length = (int)random_between(&state, 1, MOST_LENGTH);
  t.bound = (int)random_between(&state, 1, 4);
  t.trips = (int)random_between(&state, 0, 6);
  t.trips_data = t.trips;
  t.second = (int)(random_next(&state) % 3);
  t.reverse = random_next(&state) & 1;
  for (int i = 0; i < INPUTS; i++)
    for (int k = 0; k < ELEMENTS; k++) t.data[i][k] = (double)random_between(&state, -999, 999) / 700;
  vf_graph *g = record(c, &t, false), *h = record(c, &t, true);
  bool good = evaluate(&t, g, called) && evaluate(&t, h, plain) &&
              compare(&t, "called and written out", g, called, plain, 1e-9) && check_text(&t, c, g, called) &&
              (!compile || check_compiled(&t, g, called));
  vf_graph_destroy(g), vf_graph_destroy(h);
  return good;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 1000, one = 0;
  bool single = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    uint64_t value = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--seed") == 0) seed = value;
    if (strcmp(argv[i], "--count") == 0) count = value;
    if (strcmp(argv[i], "--case") == 0) one = value, single = true;
  }
  vf_context *c = vf_context_create(NULL, NULL);
  if (single) {
    bool good = run_case(c, one, true);
    vf_context_destroy(c);
    return !good;
  }
  enum { COMPILED_EACH = 16 };
  uint64_t state = seed;
  bool good = true;
  for (uint64_t i = 0; i < count && good; i++)
    good = run_case(c, random_next(&state) >> 16, i % COMPILED_EACH == 0);
  vf_context_destroy(c);
  if (!good) return 1;
  printf("prop_control: %" PRIu64 " functions called and written out, with derivatives, agree (seed %" PRIu64
         ")\n",
         count, seed);
  return 0;
}
