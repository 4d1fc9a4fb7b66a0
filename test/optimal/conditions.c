/* The cheapest condition with given values: a cover of the lanes where it does not hold by what its clauses
 * exclude. Of each form only those comparisons matter that hold wherever the condition does, and as seldom as
 * possible elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "search.h"

enum { CLAUSES = 1 << 14, SLOTS = 4 * CLAUSES, KEPT = 1000, STEPS = 20000, NESTED = 8, DIVISION = 5 };

typedef struct clause {
  int cost;
  search_clause is;
  uint64_t excludes[WORDS];
} clause;

typedef struct cover {
  const search_lanes *s;
  int slot[SLOTS]; /* of clauses, by what they exclude; 0: free */
  int words, count, limit, most, steps, chosen, best_count, best_cost;
  bool finished;
  uint64_t holds[WORDS], fails[WORDS]; /* lanes to care about where the target holds, and where it does not */
  clause *clause;
  int choice[16], best[16];
} cover;

static void list_clause(cover *v, int cost, const search_clause *is, const int32_t *value) {
  clause *c = &v->clause[v->count];
  bool some = false;
  if (cost > v->most) return;
  if (v->count == CLAUSES) {
    v->finished = false;
    return;
  }
  memset(c->excludes, 0, (size_t)v->words * sizeof *c->excludes);
  for (int w = 0; w < v->words; w++)
    for (uint64_t left = v->fails[w]; left; left &= left - 1) {
      int lane = w * 64 + __builtin_ctzll(left), x = value[lane];
      bool holds = is->test == SEARCH_GE   ? x >= is->lo
                   : is->test == SEARCH_LT ? x < is->hi
                   : is->test == SEARCH_EQ ? x == is->lo
                   : is->test == SEARCH_NE ? x != is->lo
                                           : x >= is->lo && x < is->hi;
      if (!holds) c->excludes[w] |= left & -left, some = true;
    }
  if (!some) return;
  uint64_t hash = 0;
  for (int w = 0; w < v->words; w++)
    hash = (hash ^ c->excludes[w]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
  int *slot = &v->slot[hash % SLOTS];
  while (*slot &&
         memcmp(v->clause[*slot - 1].excludes, c->excludes, (size_t)v->words * sizeof *c->excludes) != 0)
    slot = slot + 1 == v->slot + SLOTS ? v->slot : slot + 1;
  if (*slot) {
    clause *known = &v->clause[*slot - 1];
    if (cost < known->cost) known->cost = cost, known->is = *is;
    return;
  }
  *slot = v->count + 1;
  c->cost = cost;
  c->is = *is;
  v->count++;
}

/* The comparisons of one value with constants. */
static void list_value(cover *v, int cost, search_clause is, const int32_t *value, bool unequal) {
  int lo = INT32_MAX, hi = INT32_MIN;
  for (int w = 0; w < v->words; w++)
    for (uint64_t left = v->holds[w]; left; left &= left - 1) {
      int x = value[w * 64 + __builtin_ctzll(left)];
      if (x < lo) lo = x;
      if (x > hi) hi = x;
    }
  is.lo = lo, is.hi = hi + 1;
  is.test = SEARCH_GE, list_clause(v, cost + 1, &is, value);
  is.test = SEARCH_LT, list_clause(v, cost + 1, &is, value);
  is.test = lo == hi ? SEARCH_EQ : SEARCH_BETWEEN;
  list_clause(v, cost + (lo == hi ? 1 : 3), &is, value);
  is.test = SEARCH_NE;
  for (is.lo = lo + 1; unequal && is.lo < hi && hi - lo < 64; is.lo++) {
    bool occurs = false;
    for (int w = 0; w < v->words && !occurs; w++)
      for (uint64_t left = v->holds[w]; left && !occurs; left &= left - 1)
        occurs = value[w * 64 + __builtin_ctzll(left)] == is.lo;
    if (!occurs) list_clause(v, cost + 1, &is, value);
  }
}

static void list_quotients(cover *v, const search_form *f, int cost, const int32_t *base) {
  const search_lanes *s = v->s;
  static int32_t value[LANES];
  for (int c = 0; c < s->constants; c++) {
    int by = s->constant[c];
    if (by < 2 || cost + DIVISION + 1 > v->most) continue;
    bool adds = cost + DIVISION + 2 <= v->most;
    for (int added = 0; added < (adds ? by : 1); added++)
      for (int how = SEARCH_DIV; how <= SEARCH_MOD; how++) {
        for (int k = 0; k < s->count; k++) {
          int r = ((base[k] + added) % by + by) % by;
          value[k] = how == SEARCH_MOD ? r : (base[k] + added - r) / by;
        }
        search_clause is = {.how = how, .by = by, .of = *f, .free = -1};
        is.of.c[s->axes] = added;
        list_value(v, cost + DIVISION + (added != 0), is, value, false);
      }
  }
}

/* All forms up to sign, without a constant. */
static void list_forms(cover *v) {
  const search_lanes *s = v->s;
  static int32_t value[LANES];
  int choices = 2 * s->constants + 1, digit[AXES] = {0};
  for (;;) {
    int i = 0, terms = 0, products = 0, first = 0;
    while (i < s->axes && ++digit[i] == choices) digit[i++] = 0;
    if (i == s->axes) return;
    search_form f = {{0}};
    for (int a = 0; a < s->axes; a++) {
      int d = digit[a];
      f.c[a] = d == 0 ? 0 : d % 2 ? s->constant[d / 2] : -s->constant[d / 2 - 1];
      if (f.c[a] && !first) first = f.c[a];
      terms += f.c[a] != 0, products += abs(f.c[a]) > 1;
    }
    if (first <= 0 || terms + products / 2 > v->most + 1) continue;
    int gcd = 0;
    for (int a = 0; a < s->axes; a++)
      for (int x = abs(f.c[a]), y = gcd;;) {
        if (y == 0) {
          gcd = x;
          break;
        }
        int r = x % y;
        x = y, y = r;
      }
    int cost = search_cost(&f, s->axes);
    if (gcd != 1 || cost + 1 > v->most) continue;
    memset(value, 0, (size_t)s->count * sizeof *value);
    for (int a = 0; a < s->axes; a++)
      for (int k = 0; k < s->count && f.c[a]; k++) value[k] += f.c[a] * s->at[a * s->count + k];
    search_clause is = {.how = SEARCH_LINEAR, .of = f, .free = -1};
    list_value(v, cost, is, value, cost <= 2);
    list_quotients(v, &f, cost, value);
  }
}

static int by_cost(const void *a, const void *b) {
  const clause *x = a, *y = b;
  if (x->cost != y->cost) return x->cost - y->cost;
  return memcmp(x->excludes, y->excludes, sizeof x->excludes);
}

static bool within(const uint64_t *a, const uint64_t *b, int words) {
  for (int w = 0; w < words; w++)
    if (a[w] & ~b[w]) return false;
  return true;
}

/* Drops clauses that a cheaper one makes needless. */
static void reduce(cover *v) {
  int kept = 0;
  for (int i = 0; i < v->count; i++)
    for (int w = v->words; w < WORDS; w++) v->clause[i].excludes[w] = 0;
  qsort(v->clause, (size_t)v->count, sizeof *v->clause, by_cost);
  for (int i = 0; i < v->count; i++) {
    bool needless = false;
    for (int k = 0; k < kept && !needless; k++)
      needless = within(v->clause[i].excludes, v->clause[k].excludes, v->words);
    if (needless) continue;
    if (kept == KEPT) {
      v->finished = false;
      break;
    }
    v->clause[kept++] = v->clause[i];
  }
  v->count = kept;
}

static void visit(cover *v, const uint64_t *left, int cost) {
  uint64_t rest[WORDS];
  int lane = -1, fewest = INT32_MAX;
  if (v->steps++ > STEPS) {
    v->finished = false;
    return;
  }
  for (int w = 0; w < v->words; w++) {
    if (!left[w]) continue;
    int bit = __builtin_ctzll(left[w]), count = 0;
    for (int i = 0; i < v->count; i++) count += v->clause[i].excludes[w] >> bit & 1;
    if (count < fewest) fewest = count, lane = w * 64 + bit;
  }
  if (lane < 0) {
    v->best_cost = cost, v->best_count = v->chosen, v->limit = cost - 1;
    memcpy(v->best, v->choice, sizeof v->best);
    return;
  }
  for (int i = 0; i < v->count && v->chosen < 16; i++) {
    const clause *c = &v->clause[i];
    int total = cost + c->cost + (v->chosen > 0);
    if (total > v->limit) return;
    if (!(c->excludes[lane / 64] >> lane % 64 & 1)) continue;
    for (int w = 0; w < v->words; w++) rest[w] = left[w] & ~c->excludes[w];
    v->choice[v->chosen++] = i;
    visit(v, rest, total);
    v->chosen--;
  }
}

/* Lists the clauses for a conjunction on the lanes to care about. */
static void list_all(cover *v, const int32_t *free, int free_count) {
  v->count = 0;
  v->finished = true;
  memset(v->slot, 0, sizeof v->slot);
  for (int i = 0; i < free_count; i++)
    list_value(v, 0, (search_clause){.how = SEARCH_FREE, .free = i}, free + (size_t)i * (size_t)v->s->count,
               true);
  list_forms(v);
  reduce(v);
}

static bool any(const uint64_t *lanes, int words) {
  for (int w = 0; w < words; w++)
    if (lanes[w]) return true;
  return false;
}

static void solve(cover *v) {
  v->steps = v->chosen = v->best_count = 0;
  v->limit = v->most;
  visit(v, v->fails, 0);
}

static void begin(cover *v, const search_lanes *s, bool either, const uint64_t *care) {
  v->s = s, v->words = (s->count + 63) / 64;
  memset(v->holds, 0, sizeof v->holds), memset(v->fails, 0, sizeof v->fails);
  for (int k = 0; k < s->count; k++) {
    uint64_t bit = (uint64_t)1 << k % 64;
    if (care && !(care[k / 64] & bit)) continue;
    ((s->target[k] != 0) != either ? v->holds : v->fails)[k / 64] |= bit;
  }
}

static void take(const cover *v, bool either, const clause *outer, search_condition *out) {
  int cost = v->best_cost + (outer ? outer->cost + 1 : 0);
  if (!v->best_count || (out->clauses && cost >= out->cost) || v->best_count + 1 > 16) return;
  out->clauses = 0;
  for (int i = 0; i < v->best_count; i++) out->clause[out->clauses++] = v->clause[v->best[i]].is;
  if (outer) out->clause[out->clauses++] = outer->is;
  out->either = either, out->nested = outer != NULL, out->cost = cost;
}

void search_conditions(const search_lanes *s, const int32_t *free_values, int32_t free_count, int32_t most,
                       search_condition *out) {
  cover *v = malloc(sizeof *v), *in = malloc(sizeof *in);
  v->clause = malloc(CLAUSES * sizeof *v->clause), in->clause = malloc(CLAUSES * sizeof *in->clause);
  memset(out, 0, sizeof *out);
  out->finished = 1;
  for (int either = 0; either < 2; either++) {
    begin(v, s, either, NULL);
    v->most = most;
    list_all(v, free_values, free_count);
    solve(v);
    out->finished &= v->finished;
    take(v, either, NULL, out);
    /* one clause outside, the other connective of at least two inside */
    int outside = v->count, tried = 0;
    for (int i = 0; i < outside; i++) {
      int room = (out->clauses ? out->cost - 1 : most) - v->clause[i].cost - 1;
      uint64_t care[WORDS];
      if (room < 3) break;
      if (tried++ == NESTED) {
        out->finished = 0;
        break;
      }
      for (int w = 0; w < WORDS; w++) care[w] = ~v->clause[i].excludes[w];
      begin(in, s, !either, care);
      in->most = room;
      if (!any(in->holds, in->words) || !any(in->fails, in->words)) continue;
      list_all(in, free_values, free_count);
      solve(in);
      out->finished &= in->finished;
      take(in, !either, &v->clause[i], out);
    }
  }
  free(v->clause), free(in->clause), free(v), free(in);
}
