/* The automatic choice against all assignments: random graphs of up to six products on two axes of two
 * devices, some in loops, of which every combination of strategies is looked at. How a value is stored
 * depends on its operations alone, so the best way for it follows once these are chosen.
 *
 *   prop_autoshard --seed S --count N     cases, drawn at random
 *   prop_autoshard --case SEED            one again, by the seed in its report */
#include "frontend/text/reader.h"
#include "passes/autoshard/impl.h"
#include "test/lib/cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PRODUCTS = 6, MOST_VALUES = 16, VARIABLES = 64, GRAPH_TEXT = 8000 };
static const double most_assignments = 3e6;

static long checked, skipped, products, loops;
static bool show;

static uint64_t state;
static uint32_t draw(uint32_t n) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

/* ---- graphs */

/* The loop of a layer: f32[rows,width] is carried, and multiplied by the weight in each round. */
static size_t put_body(char *text, size_t room, uint32_t number, int64_t rows, int64_t width) {
  return (size_t)snprintf(text, room,
                          "graph @b%u(%%h: f32[%" PRId64 ",%" PRId64 "], %%w: f32[%" PRId64 ",%" PRId64
                          "]) {\n"
                          "%%m = matmul %%h, %%w\n%%r = relu %%m\nreturn %%r\n}\n",
                          number, rows, width, width, width);
}

static void put_graph(char *text, size_t room) {
  char bodies[2000] = "", inside[4000];
  size_t bodies_end = 0;
  char *whole = text;
  static const char *const specs[] = {"", "", "", " @m[x,-]", " @m[-,y]", " @m[-,-]", " @m[x?,?]"};
  static const int64_t sizes[] = {2, 3, 8, 16, 64};
  int64_t rows[MOST_VALUES], columns[MOST_VALUES];
  uint32_t inputs = 2 + draw(3), values = 0, count = 1 + draw(MOST_PRODUCTS);
  size_t at = (size_t)snprintf(text, room, "mesh @m [x=2,y=2] latency=[1e-%u,1e-%u] bandwidth=[1e%u,1e%u]\n",
                               5 + draw(4), 5 + draw(4), 8 + draw(3), 8 + draw(3));
  size_t head = at;
  text = inside, room = sizeof inside, at = 0;
  at += (size_t)snprintf(text + at, room - at, "graph @g(");
  for (uint32_t i = 0; i < inputs; i++, values++) {
    rows[i] = sizes[draw(5)], columns[i] = i ? rows[draw(i)] : sizes[draw(5)];
    at += (size_t)snprintf(text + at, room - at, "%s%%v%u: f32[%" PRId64 ",%" PRId64 "]%s", i ? ", " : "", i,
                           rows[i], columns[i], specs[draw(7)]);
  }
  at += (size_t)snprintf(text + at, room - at, ") {\n");
  for (uint32_t tries = 0; count && tries < 200 && values < MOST_VALUES; tries++) {
    uint32_t a = draw(values), b = draw(values), kind = draw(6);
    if (kind < 3 && columns[a] == rows[b]) {
      at += (size_t)snprintf(text + at, room - at, "%%v%u = matmul %%v%u, %%v%u\n", values, a, b);
      rows[values] = rows[a], columns[values] = columns[b], count--, products++;
    } else if (kind == 3 && rows[a] == rows[b] && columns[a] == columns[b] && a >= inputs) {
      at += (size_t)snprintf(text + at, room - at, "%%v%u = add %%v%u, %%v%u\n", values, a, b);
      rows[values] = rows[a], columns[values] = columns[a];
    } else if (kind == 4 && a >= inputs) {
      at += (size_t)snprintf(text + at, room - at, "%%v%u = relu %%v%u\n", values, a);
      rows[values] = rows[a], columns[values] = columns[a];
    } else if (kind == 5 && rows[b] == columns[a] && columns[b] == columns[a]) {
      bodies_end += put_body(bodies + bodies_end, sizeof bodies - bodies_end, values, rows[a], columns[a]);
      at += (size_t)snprintf(text + at, room - at,
                             "%%v%u = scan %%v%u, %%v%u do=@b%u length=3 carries=1 sliced=0\n", values, a, b,
                             values);
      rows[values] = rows[a], columns[values] = columns[a], count--, products++, loops++;
    } else {
      continue;
    }
    values++;
  }
  if (values == inputs) at += (size_t)snprintf(text + at, room - at, "%%v%u = relu %%v0\n", values++);
  snprintf(text + at, room - at, "return %%v%u\n}\n", values - 1);
  snprintf(whole + head, GRAPH_TEXT - head, "%s%s", bodies, inside);
}

/* ---- all assignments */

typedef struct search {
  const choice_problem *p;
  uint32_t order[VARIABLES], count, chosen[VARIABLES]; /* the operations */
  uint32_t ready[VARIABLES][VARIABLES],
      ready_count[VARIABLES]; /* values all of whose operations are chosen */
  double least;
} search;

/* What a value costs at least, where its operations are chosen. */
static double stored(const search *s, uint32_t v) {
  const choice_problem *p = s->p;
  double least = 1e300;
  for (uint32_t i = 0; i < p->counts[v]; i++) {
    double sum = p->cost[v][i];
    for (size_t e = 0; e < p->pair_count; e++) {
      const choice_pair *pair = &p->pairs[e];
      if (pair->a == v) sum += pair->cost[(size_t)i * p->counts[pair->b] + s->chosen[pair->b]];
      if (pair->b == v) sum += pair->cost[(size_t)s->chosen[pair->a] * p->counts[pair->b] + i];
    }
    if (sum < least) least = sum;
  }
  return least;
}

static bool is_operation(const search *s, uint32_t v, uint32_t known) {
  for (uint32_t i = 0; i < known; i++)
    if (s->order[i] == v) return true;
  return false;
}

static void look_at_all(search *s, uint32_t at, double sum) {
  const choice_problem *p = s->p;
  if (sum >= s->least) return; /* all costs are at least 0 */
  if (at == s->count) {
    s->least = sum;
    return;
  }
  uint32_t v = s->order[at];
  for (uint32_t i = 0; i < p->counts[v]; i++) {
    double more = p->cost[v][i];
    s->chosen[v] = i;
    for (size_t e = 0; e < p->pair_count; e++) {
      const choice_pair *pair = &p->pairs[e];
      uint32_t other = pair->a == v ? pair->b : pair->b == v ? pair->a : UINT32_MAX;
      if (other == UINT32_MAX || !is_operation(s, other, at)) continue;
      more += pair->cost[(size_t)s->chosen[pair->a] * p->counts[pair->b] + s->chosen[pair->b]];
    }
    for (uint32_t k = 0; k < s->ready_count[at]; k++) more += stored(s, s->ready[at][k]);
    look_at_all(s, at + 1, sum + more);
  }
}

/* The operations in order, and after which of them each value has all of its own. False: too many. */
static bool prepare(search *s, const auto_model *m) {
  double all = 1;
  if (m->variable_count > VARIABLES) return false;
  for (uint32_t v = 0; v < m->variable_count; v++)
    if (!m->variables[v].stored) s->order[s->count++] = v, all *= m->variables[v].count;
  for (uint32_t v = 0; v < m->variable_count; v++) {
    uint32_t last = 0;
    if (!m->variables[v].stored) continue;
    for (size_t e = 0; e < m->pair_count; e++) {
      const choice_pair *pair = &m->pairs[e];
      uint32_t other = pair->a == v ? pair->b : pair->b == v ? pair->a : UINT32_MAX;
      for (uint32_t i = 0; i < s->count; i++)
        if (s->order[i] == other && i > last) last = i;
    }
    s->ready[last][s->ready_count[last]++] = v;
  }
  return all <= most_assignments;
}

static bool compare(auto_model *m, const char *text, uint64_t seed) {
  choice_problem p;
  search s = {.p = &p, .least = 1e300};
  uint32_t chosen[VARIABLES];
  choice_result result;
  bool good = auto_problem_make(m, &p);
  if (good && !prepare(&s, m)) {
    skipped++;
  } else if (good) {
    look_at_all(&s, 0, 0);
    good = choice_solve(&p, AUTOSHARD_ENTRIES, chosen, &result) && result.exact &&
           result.cost <= s.least * (1 + 1e-9) && result.cost >= s.least * (1 - 1e-9) &&
           result.bound <= result.cost * (1 + 1e-9) && result.bound >= result.cost * (1 - 1e-9);
    choice_result rough; /* in small tables: a bound, and something that is possible */
    good = good && choice_solve(&p, 64, chosen, &rough) && rough.bound <= s.least * (1 + 1e-9) &&
           rough.cost >= s.least * (1 - 1e-9);
    checked++;
    if (!good || show)
      fprintf(stderr,
              "%s\nfound %.12g, bound %.12g; rough %.12g, bound %.12g; of all %.12g (prop_autoshard "
              "--case %" PRIu64 ")\n",
              text, result.cost, result.bound, rough.cost, rough.bound, s.least, seed);
  }
  auto_problem_free(m, &p);
  return good;
}

static bool one_case(uint64_t seed) {
  char text[GRAPH_TEXT];
  ir_graph g;
  ir_module module;
  ir_error error = {0};
  auto_model m;
  state = seed;
  put_graph(text, sizeof text);
  ir_graph_init(&g, &ir_mem_libc, &error);
  bool good = fe_parse_graphs(&g, "t", text, strlen(text), &module) == IR_OK;
  if (!good) {
    fprintf(stderr, "%s\n%s\n", text, error.text);
  } else {
    autoshard_request request = {.root = module.graphs[module.count - 1].root, .rates = {1e9, 1e9}};
    good = auto_model_make(&m, &g, &request) && compare(&m, text, seed);
    auto_model_free(&m);
  }
  ir_module_free(&module);
  ir_graph_free(&g);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 40);
  show = given.show;
  cases_run(&given, one_case);
  printf("prop_autoshard: %ld graphs, %ld products, %ld of them in loops, %ld of too many assignments, %ld "
         "failed, seed %" PRIu64 "\n",
         checked, products, loops, skipped, given.failed, given.seed);
  return given.failed != 0 || (given.count >= 40 && checked * 4 < given.count);
}
