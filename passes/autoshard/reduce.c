/* Variables that go without larger tables. One with a single strategy adds to the costs of the others; of
 * one that has to do with one other, the least is a cost of that; with two others, a table of these. What is
 * made is kept by what it is made of, so that equal layers are reduced once. */
#include "problem.h"

#include <string.h>

enum { MOST_WORK = 1 << 28 }; /* because so many sums of one table are compared in a quarter of a second */

typedef struct edge {
  uint32_t a, b, table; /* a < b; the entry of its table, with a as rows */
  bool gone;
} edge;

typedef struct reducing {
  const ir_mem *mem;
  choice_store *store;
  uint32_t *sizes, *cost; /* by variable: strategies, and the entry of their costs */
  uint32_t **of;          /* by variable: its edges */
  size_t *of_count, *of_cap, count;
  edge *edges;
  size_t edge_count, edge_cap;
  uint8_t *gone;
  double *rows; /* room for two tables with the variable as rows */
  size_t room;
  choice_reduced *out;
} reducing;

static double *value_of(const reducing *s, uint32_t entry) { return s->store->items[entry].value; }

static uint32_t other_of(const edge *e, uint32_t v) { return e->a == v ? e->b : e->a; }

/* ---- the beginning: costs and tables of what is alive */

static uint32_t take_costs(reducing *s, const choice_problem *p, const choice_alive *alive, uint32_t v) {
  const uint32_t *of = alive->of[v], count = alive->count[v];
  bool fresh, good = choice_word(s->store, 'c');
  for (uint32_t i = 0; i < count && good; i++) good = choice_words_of(s->store, &p->cost[v][of[i]], 1);
  uint32_t entry = good ? choice_make(s->store, count * sizeof(double), &fresh) : UINT32_MAX;
  for (uint32_t i = 0; entry != UINT32_MAX && fresh && i < count; i++)
    value_of(s, entry)[i] = p->cost[v][of[i]];
  return entry;
}

static uint32_t take_list(reducing *s, const choice_alive *alive, uint32_t v) {
  bool fresh, good = choice_word(s->store, 'l');
  for (uint32_t i = 0; i < alive->count[v] && good; i++) good = choice_word(s->store, alive->of[v][i]);
  return good ? choice_make(s->store, 0, &fresh) : UINT32_MAX;
}

static uint32_t take_table(reducing *s, const choice_problem *p, const choice_alive *alive,
                           const choice_pair *pair, uint32_t a, uint32_t b) {
  uint32_t rows = take_list(s, alive, a), columns = take_list(s, alive, b), n = alive->count[b];
  bool fresh, good = rows != UINT32_MAX && columns != UINT32_MAX && choice_word(s->store, 't') &&
                     choice_word(s->store, (uintptr_t)pair->cost) && choice_word(s->store, pair->a == a) &&
                     choice_word(s->store, rows) && choice_word(s->store, columns) &&
                     choice_word(s->store, p->counts[pair->b]);
  size_t bytes = (size_t)alive->count[a] * n * sizeof(double);
  uint32_t entry = good ? choice_make(s->store, bytes, &fresh) : UINT32_MAX;
  if (entry == UINT32_MAX || !fresh) return entry;
  double *cost = value_of(s, entry);
  for (uint32_t i = 0; i < alive->count[a]; i++)
    for (uint32_t k = 0; k < n; k++)
      cost[(size_t)i * n + k] = choice_pair_cost(p, pair, a, alive->of[a][i], alive->of[b][k]);
  return entry;
}

static edge *find_edge(reducing *s, uint32_t a, uint32_t b) {
  uint32_t v = s->of_count[a] < s->of_count[b] ? a : b, w = v == a ? b : a;
  for (size_t i = 0; i < s->of_count[v]; i++) {
    edge *e = &s->edges[s->of[v][i]];
    if (!e->gone && other_of(e, v) == w) return e;
  }
  return NULL;
}

/* The table is added to that of the two variables, a < b. False: no memory. */
static bool add_table(reducing *s, uint32_t a, uint32_t b, uint32_t table) {
  edge *e = find_edge(s, a, b);
  if (!e) {
    if (!IR_RESERVE(s->mem, s->edges, s->edge_cap, s->edge_count + 1) ||
        !IR_RESERVE(s->mem, s->of[a], s->of_cap[a], s->of_count[a] + 1) ||
        !IR_RESERVE(s->mem, s->of[b], s->of_cap[b], s->of_count[b] + 1))
      return false;
    s->edges[s->edge_count] = (edge){a, b, table, false};
    s->of[a][s->of_count[a]++] = s->of[b][s->of_count[b]++] = (uint32_t)s->edge_count++;
    return true;
  }
  bool fresh;
  size_t entries = (size_t)s->sizes[a] * s->sizes[b];
  if (!choice_word(s->store, '+') || !choice_word(s->store, e->table) || !choice_word(s->store, table))
    return false;
  uint32_t sum = choice_make(s->store, entries * sizeof(double), &fresh);
  if (sum == UINT32_MAX) return false;
  for (size_t i = 0; i < entries && fresh; i++)
    value_of(s, sum)[i] = value_of(s, e->table)[i] + value_of(s, table)[i];
  e->table = sum;
  return true;
}

static bool begin(reducing *s, const choice_problem *p, const choice_alive *alive) {
  for (uint32_t v = 0; v < p->count; v++) {
    s->sizes[v] = alive->count[v];
    if ((s->cost[v] = take_costs(s, p, alive, v)) == UINT32_MAX) return false;
  }
  for (size_t i = 0; i < p->pair_count; i++) {
    const choice_pair *pair = &p->pairs[i];
    uint32_t a = pair->a < pair->b ? pair->a : pair->b, b = pair->a < pair->b ? pair->b : pair->a;
    uint32_t table = take_table(s, p, alive, pair, a, b);
    if (table == UINT32_MAX || !add_table(s, a, b, table)) return false;
  }
  return true;
}

/* ---- what goes */

/* Drops edges that are gone from the list of v. */
static size_t tidy(reducing *s, uint32_t v) {
  size_t kept = 0;
  for (size_t i = 0; i < s->of_count[v]; i++)
    if (!s->edges[s->of[v][i]].gone) s->of[v][kept++] = s->of[v][i];
  return s->of_count[v] = kept;
}

/* The table of the edge with v as rows. */
static void copy_rows(const reducing *s, const edge *e, uint32_t v, double *out) {
  const double *table = value_of(s, e->table);
  uint32_t rows = s->sizes[v], columns = s->sizes[other_of(e, v)];
  if (e->a == v) memcpy(out, table, (size_t)rows * columns * sizeof *out);
  for (uint32_t i = 0; e->a != v && i < rows; i++)
    for (uint32_t k = 0; k < columns; k++) out[(size_t)i * columns + k] = table[(size_t)k * rows + i];
}

static bool has_room(reducing *s, size_t entries) { return IR_RESERVE(s->mem, s->rows, s->room, entries); }

static double least_of(double x) { return x < CHOICE_NEVER ? x : CHOICE_NEVER; }

/* Costs of the other variable: the least over v of what v costs and of their table. */
static bool into_one(reducing *s, uint32_t v, edge *e) {
  uint32_t w = other_of(e, v), columns = s->sizes[w];
  bool fresh, good = choice_word(s->store, '1') && choice_word(s->store, s->cost[v]) &&
                     choice_word(s->store, s->cost[w]) && choice_word(s->store, e->table) &&
                     choice_word(s->store, e->a == v) && has_room(s, (size_t)s->sizes[v] * columns);
  uint32_t entry = good ? choice_make(s->store, columns * sizeof(double), &fresh) : UINT32_MAX;
  if (entry == UINT32_MAX) return false;
  double *out = value_of(s, entry), *own = value_of(s, s->cost[v]), *theirs = value_of(s, s->cost[w]);
  if (fresh) copy_rows(s, e, v, s->rows);
  for (uint32_t k = 0; k < columns && fresh; k++) {
    double least = CHOICE_NEVER;
    for (uint32_t i = 0; i < s->sizes[v]; i++) {
      double sum = own[i] + s->rows[(size_t)i * columns + k];
      if (sum < least) least = sum;
    }
    out[k] = least_of(theirs[k] + least);
  }
  s->cost[w] = entry;
  e->gone = true;
  return true;
}

/* out[j][k]: the least over the rows of a row's cost, a[i][j] and b[i][k]. */
static void least_sums(double *out, const double *cost, const double *a, const double *b, uint32_t rows,
                       uint32_t first, uint32_t second) {
  for (size_t i = 0; i < (size_t)first * second; i++) out[i] = CHOICE_NEVER;
  for (uint32_t i = 0; i < rows; i++, b += second)
    for (uint32_t j = 0; j < first; j++) {
      double *to = out + (size_t)j * second, one = cost[i] + a[(size_t)i * first + j];
      if (one >= CHOICE_NEVER) continue;
      for (uint32_t k = 0; k < second; k++) to[k] = one + b[k] < to[k] ? one + b[k] : to[k];
    }
}

/* A table of the two others, e leads to the first of them. */
static bool into_two(reducing *s, uint32_t v, edge *e, edge *f) {
  uint32_t a = other_of(e, v), b = other_of(f, v);
  size_t rows = s->sizes[v], first = s->sizes[a], second = s->sizes[b];
  bool fresh, good = choice_word(s->store, '2') && choice_word(s->store, s->cost[v]) &&
                     choice_word(s->store, e->table) && choice_word(s->store, e->a == v) &&
                     choice_word(s->store, f->table) && choice_word(s->store, f->a == v) &&
                     has_room(s, rows * (first + second));
  uint32_t entry = good ? choice_make(s->store, first * second * sizeof(double), &fresh) : UINT32_MAX;
  if (entry == UINT32_MAX) return false;
  e->gone = f->gone = true;
  if (fresh) {
    copy_rows(s, e, v, s->rows);
    copy_rows(s, f, v, s->rows + rows * first);
    least_sums(value_of(s, entry), value_of(s, s->cost[v]), s->rows, s->rows + rows * first, s->sizes[v],
               s->sizes[a], s->sizes[b]);
  }
  return add_table(s, a, b, entry);
}

static bool may_go(reducing *s, uint32_t v) {
  size_t count = tidy(s, v), rows = s->sizes[v];
  if (count < 2 || rows == 1) return true;
  if (count > 2) return false;
  uint32_t a = other_of(&s->edges[s->of[v][0]], v), b = other_of(&s->edges[s->of[v][1]], v);
  size_t first = s->sizes[a], second = s->sizes[b];
  if (rows * first * second > MOST_WORK) return false;
  return find_edge(s, a, b) || first * second <= rows * (first + second);
}

static void note_step(reducing *s, choice_step *step, const edge *e, uint32_t v) {
  step->others[step->count] = other_of(e, v);
  step->table[step->count] = value_of(s, e->table);
  step->rows[step->count++] = e->a == v;
}

static bool take_out(reducing *s, uint32_t v) {
  choice_reduced *r = s->out;
  size_t count = s->of_count[v];
  if (!IR_RESERVE(s->mem, r->steps, r->step_cap, r->step_count + 1)) return false;
  choice_step *step = &r->steps[r->step_count++];
  *step = (choice_step){.variable = v, .cost = value_of(s, s->cost[v])};
  s->gone[v] = 1;
  if (s->sizes[v] == 1 || !count) { /* its least is a constant; nobody has to know what it is */
    double least = step->cost[0];
    for (uint32_t i = 1; i < s->sizes[v]; i++) least = step->cost[i] < least ? step->cost[i] : least;
    r->constant += least;
    for (size_t i = 0; i < count; i++) {
      edge *e = &s->edges[s->of[v][i]];
      bool fresh;
      if (!choice_word(s->store, '0') || !choice_word(s->store, 1)) return false;
      uint32_t nothing = choice_make(s->store, sizeof(double), &fresh);
      if (nothing == UINT32_MAX) return false;
      *value_of(s, nothing) = 0;
      s->cost[v] = nothing;
      if (!into_one(s, v, e)) return false;
    }
    return true;
  }
  edge *e = &s->edges[s->of[v][0]], *f = count == 2 ? &s->edges[s->of[v][1]] : NULL;
  if (f && other_of(f, v) < other_of(e, v)) {
    edge *first = f;
    f = e, e = first;
  }
  note_step(s, step, e, v);
  if (f) note_step(s, step, f, v);
  return f ? into_two(s, v, e, f) : into_one(s, v, e);
}

/* ---- the end */

static bool write_problem(reducing *s) {
  choice_reduced *r = s->out;
  choice_problem *q = &r->problem;
  uint32_t *number = ir_alloc(s->mem, s->count * sizeof *number);
  for (size_t v = 0; v < s->count; v++) q->count += !s->gone[v];
  for (size_t i = 0; i < s->edge_count; i++) r->pair_cap += !s->edges[i].gone;
  uint32_t *counts = ir_alloc(s->mem, q->count * sizeof *counts);
  const double **cost = ir_alloc(s->mem, q->count * sizeof *cost);
  choice_pair *pairs = ir_alloc(s->mem, r->pair_cap * sizeof *pairs);
  r->of = ir_alloc(s->mem, q->count * sizeof *r->of);
  q->counts = counts, q->cost = cost, q->pairs = pairs;
  bool good = number && counts && cost && pairs && r->of;
  size_t n = 0;
  for (uint32_t v = 0; v < s->count && good; v++) {
    if (s->gone[v]) continue;
    number[v] = (uint32_t)n, r->of[n] = v;
    counts[n] = s->sizes[v], cost[n++] = value_of(s, s->cost[v]);
  }
  for (size_t i = 0; i < s->edge_count && good; i++) {
    const edge *e = &s->edges[i];
    if (!e->gone) pairs[q->pair_count++] = (choice_pair){number[e->a], number[e->b], value_of(s, e->table)};
  }
  ir_free(s->mem, number, s->count * sizeof *number);
  return good;
}

bool choice_reduce(const choice_problem *p, choice_store *store, const choice_alive *alive,
                   choice_reduced *out) {
  reducing s = {.mem = p->mem, .store = store, .count = p->count, .out = out};
  *out = (choice_reduced){.problem = {.mem = p->mem}, .variables = p->count};
  s.sizes = ir_alloc(s.mem, s.count * sizeof *s.sizes);
  s.cost = ir_alloc(s.mem, s.count * sizeof *s.cost);
  s.of = ir_alloc(s.mem, s.count * sizeof *s.of);
  s.of_count = ir_alloc(s.mem, s.count * sizeof *s.of_count);
  s.of_cap = ir_alloc(s.mem, s.count * sizeof *s.of_cap);
  s.gone = ir_alloc(s.mem, s.count);
  bool lists = s.of && s.of_count && s.of_cap, good = s.sizes && s.cost && s.gone && lists, more = good;
  if (lists) {
    memset(s.of, 0, s.count * sizeof *s.of);
    memset(s.of_count, 0, s.count * sizeof *s.of_count);
    memset(s.of_cap, 0, s.count * sizeof *s.of_cap);
  }
  if (good) memset(s.gone, 0, s.count);
  good = good && begin(&s, p, alive);
  while (more && good) {
    more = false;
    for (uint32_t v = 0; v < s.count && good; v++) {
      if (s.gone[v] || !may_go(&s, v)) continue;
      good = take_out(&s, v);
      more = true;
    }
  }
  good = good && write_problem(&s);
  for (size_t v = 0; v < s.count && lists; v++) ir_free(s.mem, s.of[v], s.of_cap[v] * sizeof *s.of[v]);
  ir_free(s.mem, s.sizes, s.count * sizeof *s.sizes);
  ir_free(s.mem, s.cost, s.count * sizeof *s.cost);
  ir_free(s.mem, s.of, s.count * sizeof *s.of);
  ir_free(s.mem, s.of_count, s.count * sizeof *s.of_count);
  ir_free(s.mem, s.of_cap, s.count * sizeof *s.of_cap);
  ir_free(s.mem, s.gone, s.count);
  ir_free(s.mem, s.edges, s.edge_cap * sizeof *s.edges);
  ir_free(s.mem, s.rows, s.room * sizeof *s.rows);
  return good;
}

static uint32_t least_step(const choice_step *step, const uint32_t *sizes, const uint32_t *chosen) {
  uint32_t best = 0, rows = sizes[step->variable];
  double least = 0;
  for (uint32_t i = 0; i < rows; i++) {
    double sum = step->cost[i];
    for (uint32_t k = 0; k < step->count; k++) {
      uint32_t other = step->others[k];
      sum += step->rows[k] ? step->table[k][(size_t)i * sizes[other] + chosen[other]]
                           : step->table[k][(size_t)chosen[other] * rows + i];
    }
    if (i == 0 || sum < least - 1e-12 * least) best = i, least = sum; /* of equal ones the first */
  }
  return best;
}

void choice_expand(const choice_reduced *r, const choice_alive *alive, const uint32_t *chosen,
                   uint32_t *out) {
  for (size_t v = 0; v < r->variables; v++) out[v] = 0;
  for (size_t n = 0; n < r->problem.count; n++) out[r->of[n]] = chosen[n];
  for (size_t i = r->step_count; i-- > 0;)
    out[r->steps[i].variable] = least_step(&r->steps[i], alive->count, out);
  for (size_t v = 0; v < r->variables; v++) out[v] = alive->of[v][out[v]];
}

void choice_reduced_free(choice_reduced *r) {
  const ir_mem *mem = r->problem.mem;
  if (!mem) return;
  ir_free(mem, (void *)r->problem.counts, r->problem.count * sizeof *r->problem.counts);
  ir_free(mem, (void *)r->problem.cost, r->problem.count * sizeof *r->problem.cost);
  ir_free(mem, (void *)r->problem.pairs, r->pair_cap * sizeof *r->problem.pairs);
  ir_free(mem, r->of, r->problem.count * sizeof *r->of);
  ir_free(mem, r->steps, r->step_cap * sizeof *r->steps);
}
