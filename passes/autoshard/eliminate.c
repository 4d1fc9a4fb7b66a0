/* Elimination of variables: all tables that have a variable are added up, and the least over its strategies
 * is a table of the variables that it had to do with. Backwards, each variable takes its least, since those
 * that its tables have are known then. The variable whose sum is smallest goes first; the order is found
 * before anything is computed, and where a sum would be too large, nothing is. */
#include "problem.h"

#include <string.h>

enum {
  MOST_SCOPE = 32, /* never met, because a table has 2^22 entries at most: 22 variables */
  TABLES = 8       /* times the numbers of the largest table: 256 MB of all together */
};

typedef struct table {
  uint32_t count, *vars; /* ascending */
  double *cost;          /* the last variable varies fastest */
  size_t entries;
  bool gone; /* added up */
} table;

/* A variable that is eliminated: its tables are used[first .. first + count). */
typedef struct step {
  uint32_t var;
  size_t first, count;
} step;

typedef struct elimination {
  const ir_mem *mem;
  const uint32_t *sizes; /* strategies that are alive */
  bool counting;         /* scopes of tables alone, to find an order */
  table *tables;
  size_t table_count, table_cap;
  uint32_t **of; /* by variable: the tables that have it */
  size_t *of_count, *of_cap, count;
  step *steps;
  size_t step_count, *used, used_count, used_cap;
  double *weight; /* by variable: numbers in its sum */
  uint8_t *known; /* is the weight up to date? */
} elimination;

static bool attach(elimination *s, uint32_t v, size_t number) {
  size_t kept = 0;
  for (size_t i = 0; i < s->of_count[v]; i++)
    if (!s->tables[s->of[v][i]].gone) s->of[v][kept++] = s->of[v][i];
  s->of_count[v] = kept;
  if (!IR_RESERVE(s->mem, s->of[v], s->of_cap[v], kept + 1)) return false;
  s->of[v][s->of_count[v]++] = (uint32_t)number;
  return true;
}

/* A table of these variables, not filled; of no variables there is one number. */
static table *add_table(elimination *s, const uint32_t *vars, uint32_t count) {
  if (!IR_RESERVE(s->mem, s->tables, s->table_cap, s->table_count + 1)) return NULL;
  table *t = &s->tables[s->table_count];
  *t = (table){.count = count, .entries = 1};
  for (uint32_t i = 0; i < count; i++) t->entries *= s->sizes[vars[i]];
  t->vars = ir_alloc(s->mem, count * sizeof *t->vars);
  if (s->counting) t->entries = 0;
  t->cost = ir_alloc(s->mem, t->entries * sizeof *t->cost);
  s->table_count++;
  if (!t->vars || !t->cost) return NULL;
  memcpy(t->vars, vars, count * sizeof *vars);
  for (uint32_t i = 0; i < count; i++)
    if (!attach(s, vars[i], s->table_count - 1)) return NULL;
  return t;
}

/* ---- sums */

typedef struct scope {
  uint32_t count, vars[MOST_SCOPE];
} scope;

/* Adds the variables of a table. False: they are too many. */
static bool join(scope *all, const table *t) {
  scope out = {0};
  uint32_t i = 0, k = 0;
  while (i < all->count || k < t->count) {
    if (out.count == MOST_SCOPE) return false;
    bool both = i < all->count && k < t->count && all->vars[i] == t->vars[k];
    bool ours = both || k == t->count || (i < all->count && all->vars[i] < t->vars[k]);
    out.vars[out.count++] = ours ? all->vars[i] : t->vars[k];
    i += ours, k += both || !ours;
  }
  *all = out;
  return true;
}

static double size_of(const elimination *s, const scope *all) {
  double size = 1;
  for (uint32_t i = 0; i < all->count; i++) size *= s->sizes[all->vars[i]];
  return size;
}

static double weight_of(elimination *s, uint32_t v) {
  scope all = {.count = 1, .vars = {v}};
  if (s->known[v]) return s->weight[v];
  bool fits = true;
  for (size_t i = 0; i < s->of_count[v] && fits; i++)
    if (!s->tables[s->of[v][i]].gone) fits = join(&all, &s->tables[s->of[v][i]]);
  s->known[v] = 1;
  return s->weight[v] = fits ? size_of(s, &all) : 1e300;
}

/* How far apart the entries of a table are along each variable of a scope. */
static void strides_of(const elimination *s, const table *t, const scope *all, size_t *strides) {
  size_t stride = 1;
  memset(strides, 0, all->count * sizeof *strides);
  for (uint32_t k = t->count; k-- > 0;) {
    for (uint32_t i = 0; i < all->count; i++)
      if (all->vars[i] == t->vars[k]) strides[i] = stride;
    stride *= s->sizes[t->vars[k]];
  }
}

/* Adds the table to the sum, whose last variable of the scope varies fastest. */
static void add_to(const elimination *s, double *sum, size_t entries, const table *t, const scope *all) {
  size_t strides[MOST_SCOPE], at[MOST_SCOPE] = {0}, from = 0;
  uint32_t last = all->count - 1;
  size_t row = s->sizes[all->vars[last]];
  strides_of(s, t, all, strides);
  for (size_t i = 0; i < entries; i += row) {
    for (size_t k = 0; k < row; k++) sum[i + k] += t->cost[from + k * strides[last]];
    for (uint32_t d = last; d-- > 0;) {
      from += strides[d];
      if (++at[d] < s->sizes[all->vars[d]]) break;
      from -= strides[d] * at[d];
      at[d] = 0;
    }
  }
}

/* The least over v of the sum of its tables, used[first ..]. */
static bool take_least(elimination *s, uint32_t v, size_t first, double size) {
  scope others = {0}, all;
  for (size_t i = first; i < s->used_count; i++) join(&others, &s->tables[s->used[i]]);
  uint32_t n = 0;
  for (uint32_t i = 0; i < others.count; i++)
    if (others.vars[i] != v) others.vars[n++] = others.vars[i];
  others.count = n;
  if (!n) return true;
  all = others;
  all.vars[all.count++] = v; /* the fastest */
  table *t = add_table(s, others.vars, others.count);
  if (!t || s->counting) return t != NULL;
  size_t entries = (size_t)size, own = s->sizes[v];
  double *sum = ir_alloc(s->mem, entries * sizeof *sum);
  if (!sum) return false;
  memset(sum, 0, entries * sizeof *sum);
  for (size_t i = first; i < s->used_count; i++) add_to(s, sum, entries, &s->tables[s->used[i]], &all);
  for (size_t i = 0; i < entries; i += own) {
    double least = sum[i];
    for (size_t k = 1; k < own; k++)
      if (sum[i + k] < least) least = sum[i + k];
    t->cost[i / own] = least < CHOICE_NEVER ? least : CHOICE_NEVER;
  }
  ir_free(s->mem, sum, entries * sizeof *sum);
  return true;
}

/* ---- the steps */

static bool eliminate(elimination *s, uint32_t v, double size) {
  size_t first = s->used_count;
  if (!IR_RESERVE(s->mem, s->used, s->used_cap, first + s->of_count[v])) return false;
  for (size_t i = 0; i < s->of_count[v]; i++) {
    table *t = &s->tables[s->of[v][i]];
    if (t->gone) continue;
    s->used[s->used_count++] = s->of[v][i];
    t->gone = true;
    for (uint32_t k = 0; k < t->count; k++) s->known[t->vars[k]] = 0;
  }
  s->steps[s->step_count++] = (step){v, first, s->used_count - first};
  return take_least(s, v, first, size);
}

/* In the order of the sizes of sums; *fits: they keep the limit. Without a limit, in the order given. */
static bool run(elimination *s, uint32_t *order, double limit, bool *fits) {
  uint8_t *done = ir_alloc(s->mem, s->count);
  double total = 0;
  bool good = done != NULL;
  if (good) memset(done, 0, s->count);
  for (size_t i = 0; i < s->count && good && *fits; i++) {
    uint32_t best = 0;
    double least = -1;
    for (uint32_t v = 0; v < s->count && s->counting; v++)
      if (!done[v] && (least < 0 || weight_of(s, v) < least)) best = v, least = weight_of(s, v);
    if (s->counting) order[i] = best;
    else least = weight_of(s, best = order[i]);
    total += least;
    *fits = !s->counting || (least <= limit && total <= TABLES * limit);
    done[best] = 1;
    good = !*fits || eliminate(s, best, least);
  }
  ir_free(s->mem, done, s->count);
  return good;
}

/* Where the variables of a table are chosen, but for v: the sum for each strategy of v. */
static void add_row(const elimination *s, const table *t, uint32_t v, const uint32_t *chosen, double *sum) {
  size_t at = 0, stride = 1, own = 0;
  for (uint32_t k = t->count; k-- > 0;) {
    if (t->vars[k] == v) own = stride;
    else at += stride * chosen[t->vars[k]];
    stride *= s->sizes[t->vars[k]];
  }
  for (uint32_t i = 0; i < s->sizes[v]; i++) sum[i] += t->cost[at + i * own];
}

static bool decode(elimination *s, uint32_t *chosen) {
  uint32_t most = 1;
  for (size_t v = 0; v < s->count; v++) most = s->sizes[v] > most ? s->sizes[v] : most;
  double *sum = ir_alloc(s->mem, most * sizeof *sum);
  for (size_t i = s->step_count; i-- > 0 && sum;) {
    const step *at = &s->steps[i];
    uint32_t best = 0;
    memset(sum, 0, most * sizeof *sum);
    for (size_t k = 0; k < at->count; k++)
      add_row(s, &s->tables[s->used[at->first + k]], at->var, chosen, sum);
    for (uint32_t k = 1; k < s->sizes[at->var]; k++) /* of equal ones, but for rounding, the first */
      if (sum[k] < sum[best] - 1e-12 * sum[best]) best = k;
    chosen[at->var] = best;
  }
  ir_free(s->mem, sum, most * sizeof *sum);
  return sum != NULL;
}

/* ---- beginning and end */

static bool begin(elimination *s, const choice_problem *p) {
  for (uint32_t v = 0; v < p->count; v++) {
    table *t = add_table(s, &v, 1);
    if (!t) return false;
    if (t->entries) memcpy(t->cost, p->cost[v], t->entries * sizeof *t->cost);
  }
  for (size_t e = 0; e < p->pair_count; e++) {
    const choice_pair *pair = &p->pairs[e];
    bool swapped = pair->a > pair->b;
    uint32_t vars[2] = {swapped ? pair->b : pair->a, swapped ? pair->a : pair->b};
    table *t = add_table(s, vars, 2);
    if (!t) return false;
    for (size_t i = 0, at = 0; i < s->sizes[vars[0]] && !s->counting; i++)
      for (uint32_t k = 0; k < s->sizes[vars[1]]; k++)
        t->cost[at++] = choice_pair_cost(p, pair, vars[0], (uint32_t)i, k);
  }
  return true;
}

static void end(elimination *s) {
  const ir_mem *mem = s->mem;
  for (size_t i = 0; i < s->table_count; i++) {
    ir_free(mem, s->tables[i].vars, s->tables[i].count * sizeof *s->tables[i].vars);
    ir_free(mem, s->tables[i].cost, s->tables[i].entries * sizeof *s->tables[i].cost);
  }
  for (size_t v = 0; v < s->count && s->table_count; v++)
    ir_free(mem, s->of[v], s->of_cap[v] * sizeof *s->of[v]);
  ir_free(mem, s->tables, s->table_cap * sizeof *s->tables);
  ir_free(mem, s->of, s->count * sizeof *s->of);
  ir_free(mem, s->of_count, s->count * sizeof *s->of_count);
  ir_free(mem, s->of_cap, s->count * sizeof *s->of_cap);
  ir_free(mem, s->steps, s->count * sizeof *s->steps);
  ir_free(mem, s->used, s->used_cap * sizeof *s->used);
  ir_free(mem, s->weight, s->count * sizeof *s->weight);
  ir_free(mem, s->known, s->count);
}

/* With the order, or to find it. */
static bool run_all(const choice_problem *p, bool counting, double limit, uint32_t *order, uint32_t *chosen,
                    bool *fits) {
  elimination s = {.mem = p->mem, .sizes = p->counts, .counting = counting, .count = p->count};
  s.of = ir_alloc(p->mem, p->count * sizeof *s.of);
  s.of_count = ir_alloc(p->mem, p->count * sizeof *s.of_count);
  s.of_cap = ir_alloc(p->mem, p->count * sizeof *s.of_cap);
  s.steps = ir_alloc(p->mem, p->count * sizeof *s.steps);
  s.weight = ir_alloc(p->mem, p->count * sizeof *s.weight);
  s.known = ir_alloc(p->mem, p->count);
  bool good = s.of && s.of_count && s.of_cap && s.steps && s.weight && s.known;
  if (good) {
    memset(s.of, 0, p->count * sizeof *s.of);
    memset(s.of_count, 0, p->count * sizeof *s.of_count);
    memset(s.of_cap, 0, p->count * sizeof *s.of_cap);
    memset(s.known, 0, p->count);
  }
  good = good && begin(&s, p) && run(&s, order, limit, fits);
  good = good && (counting || decode(&s, chosen));
  end(&s);
  return good;
}

bool choice_eliminate(const choice_problem *p, size_t entries, uint32_t *chosen, bool *fits) {
  uint32_t *order = ir_alloc(p->mem, p->count * sizeof *order);
  *fits = true;
  bool good = order && run_all(p, true, (double)entries, order, chosen, fits);
  if (good && *fits) good = run_all(p, false, 0, order, chosen, fits);
  ir_free(p->mem, order, p->count * sizeof *order);
  return good;
}
