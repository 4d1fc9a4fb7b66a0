/* Random functions with control flow. A recipe describes a function; recording it with or without control
 * flow gives the same values. */
#include "test/lib/random_control.h"

#include <string.h>

#include "test/lib/random_graph.h"

enum { VALUES = 16, DEPTH = 2 };

const control_input control_inputs[INPUTS] = {
    {"xs", VF_F64, 2},     {"more", VF_F64, 2},      {"state", VF_F64, 1}, {"number", VF_F64, 0},
    {"weight", VF_F64, 1}, {"predicate", VF_F64, 0}, {"trips", VF_I32, 0}};
const char *const control_kinds[KINDS] = {"scan", "cond", "while_loop", "checkpoint"};

/* The description of a function. It is the same each time, and in either form, that the function is
 * recorded. */
typedef struct recipe {
  uint64_t seed;
  bool plain; /* recorded without control flow */
  int depth, arguments, results;
  bool vectors[2]; /* is each result a vector, or a number? */
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

/* A function applied to each element of a vector. */
static vf_value each_element(pool *p) {
  vf_value xs = vector(pick(p)), other = pick(p), ys[WIDTH];
  recipe r = inner(p, 1, 1, &other);
  vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
  if (!p->of->plain) vf_vmap(p->graph, &map, follow, &r, &xs, ys);
  for (int k = 0; k < WIDTH && p->of->plain; k++) {
    vf_value x = vf_point(xs, k, 0);
    follow(&r, &x, &ys[k]);
  }
  if (p->of->plain) ys[0] = vf_stack(ys, WIDTH, 0);
  return vf_value_rank(ys[0]) == 2 ? vf_sum(ys[0], 1, (const int64_t[]){0}, false) : ys[0];
}

/* The derivative of a function with respect to a value. Other values that the function uses may depend on
 * this one in the plain form only, so they must not contribute. */
static vf_value slope(pool *p) {
  vf_value x = pick(p), other = vf_stop_gradient(pick(p)), y, d;
  recipe r = inner(p, 1, 1, &other);
  follow(&r, &x, &y);
  vf_grad(scalar(y), 1, &x, &d);
  return small(p, d);
}

static vf_value operation(pool *p) {
  vf_value a = pick(p), b = pick(p);
  switch (random_between(&p->state, 0, p->of->depth < DEPTH ? 11 : 6)) {
  case 0: return vf_add(a, b);
  case 1: return vf_mul(a, small(p, b));
  case 2: return vf_sub(a, b);
  case 3: return vf_tanh(a);
  case 4: return vf_where(vf_lt(scalar(a), vf_number(p->graph, 0.1)), a, b);
  case 5: return small(p, scalar(a));
  case 6: return vf_value_rank(a) ? vf_flip(a, 1, (const int64_t[]){0}) : vf_mul(a, a);
  case 7:
  case 8: return choose(p);
  case 9: return each_element(p);
  case 10: return slope(p);
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

/* the state is a counter, a vector and a number */
typedef struct iterations {
  recipe r;
  vf_value trips;
} iterations;
static void follow_iterations(void *user, const vf_value *arguments, vf_value *results) {
  follow(&((iterations *)user)->r, arguments + 1, results + 1);
  results[0] = vf_add(arguments[0], vf_integer(arguments[0].graph, 1));
}
static void more_iterations(void *user, const vf_value *arguments, vf_value *results) {
  results[0] = vf_lt(arguments[0], ((iterations *)user)->trips);
}

static int record_scan(const control_case *t, recipe r, const vf_value *in, vf_value *out) {
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

static int record_while(const control_case *t, recipe r, const vf_value *in, vf_value *out) {
  vf_value state[3] = {vf_integer(in[0].graph, 0), in[STATE], in[NUMBER]};
  iterations all = {r, in[TRIPS]};
  all.r.arguments = 2;
  all.r.vectors[0] = true, all.r.vectors[1] = false;
  if (!r.plain) {
    vf_while_loop(more_iterations, follow_iterations, &all, 3, state, t->bound, out);
  } else {
    for (int k = 0; k < t->trips && k < t->bound; k++) {
      vf_value next[3];
      follow_iterations(&all, state, next);
      memcpy(state, next, sizeof next);
    }
    memcpy(out, state, sizeof state);
  }
  out[0] = out[1], out[1] = out[2];
  return 2;
}

static int record_cond(const control_case *t, recipe r, const vf_value *in, vf_value *out) {
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

static int record_values(const control_case *t, bool plain, const vf_value *in, vf_value *out) {
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

/* the weighted sum of all elements (squares of elements, if of rank 2) of x[i]; weights depend on i alone */
static vf_value weighed(const vf_value *x, int count) {
  vf_value sum = vf_number(x[0].graph, 0);
  for (int i = 0; i < count; i++)
    sum = vf_add(sum,
                 vf_mul(scalar(vf_value_rank(x[i]) == 2 ? vf_sum(vf_mul(x[i], x[i]), 0, NULL, false) : x[i]),
                        vf_number(x[0].graph, 0.7 + 0.4 * i)));
  return sum;
}

int control_record(const control_case *t, bool plain, const vf_value *in, vf_value *out) {
  vf_graph *g = in[0].graph;
  vf_value gradients[WRT], second[WRT], tangents[WRT];
  int count = record_values(t, plain, in, out);
  vf_value loss = weighed(out, count);
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
  return count;
}

int control_record_count(const control_case *t) { return 3 + WRT + (t->second == 1 ? WRT : t->second != 0); }

bool control_is_refused(const vf_graph *g) {
  return vf_graph_status(g) && strstr(vf_graph_message(g), "through another vmap, which has ended");
}

control_case control_case_make(uint64_t seed, uint64_t *state) {
  control_case t = {.seed = seed};
  *state = seed;
  t.kind = (int)(random_next(state) % KINDS);
  t.length = (int)random_between(state, 1, MOST_LENGTH);
  t.bound = (int)random_between(state, 1, 4);
  t.trips = (int)random_between(state, 0, 6);
  t.second = (int)(random_next(state) % 3);
  t.reverse = random_next(state) & 1;
  return t;
}
