/* Common subexpressions of sums. While two terms, up to a common factor, occur together so that computing
 * them once is cheaper, they become a temporary: a+2b in both a+2b+c and 3a+6b; a+b in 5a+5b, where a common
 * factor is factored out. (Two-term common subexpressions of linear forms: Hosangadi, Fallah, Kastner,
 * 2006.) */
#include "impl.h"

#include <string.h>

/* Capacities of a search for what sums share; what has no room is computed where it is used. In brackets:
 * what the tests need. */
enum {
  PATTERNS = 96,   /* pairs of terms in several sums [7] */
  PRODUCTS = 160,  /* multiples of atoms in all sums [4] */
  TERMS = 24,      /* of one sum [3] */
  OCCURRENCES = 12 /* of one pattern [2] */
};

/* p*i + q*j, and the sums that contain it times a factor; at most OCCURRENCES are counted */
typedef struct pattern {
  uint8_t i, j, count, sum[OCCURRENCES];
  int64_t p, q, factor[OCCURRENCES];
} pattern;

typedef struct product {
  uint8_t atom, users;
  int64_t by; /* at least 2 */
} product;

typedef struct sharing {
  const extraction *x;
  extract_plan *p;
  uint32_t patterns, products, width;
  pattern pattern[PATTERNS];
  product product[PRODUCTS];
  uint8_t pairs[EXTRACT_WIDTH][EXTRACT_WIDTH];            /* number of sums that have both atoms */
  uint8_t terms[EXTRACT_SUMS], term[EXTRACT_SUMS][TERMS]; /* the atoms of each sum; 0 first: the constant */
} sharing;

static bool power2(int64_t by) { return by > 0 && (by & (by - 1)) == 0; }
int extract_cost_mul(const pass_extract_costs *costs, int64_t by) {
  if (by == 0 || by == 1) return 0;
  if (by == -1) return costs->mul;
  return power2(by < 0 ? -by : by) ? costs->power2_mul : costs->mul;
}
int extract_cost_div(const pass_extract_costs *costs, int64_t by, bool remainder) {
  return power2(by) ? costs->power2_div : remainder ? costs->mod : costs->div;
}

int extract_cost_alternative(const pass_extract_costs *costs, const extract_alternative *alternative) {
  if (alternative->how == EXTRACT_CHOICE)
    return (int)(alternative->hi - alternative->lo) * (costs->compare + costs->choice);
  return extract_cost_div(costs, alternative->by, alternative->how == EXTRACT_REMAINDER);
}

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

static product *find_product(sharing *s, uint32_t atom, int64_t by) {
  for (uint32_t i = 0; i < s->products; i++)
    if (s->product[i].atom == atom && s->product[i].by == by) return &s->product[i];
  return NULL;
}

/* The terms of a sum, and the products among them. */
static void list_terms(sharing *s, uint32_t k) {
  const extract_sum *sum = &s->p->sum[k];
  s->terms[k] = 0;
  for (uint32_t i = 0; i < s->width && s->terms[k] < TERMS; i++) {
    int64_t c = sum->c[i];
    if (c == 0) continue;
    s->term[k][s->terms[k]++] = (uint8_t)i;
    if (i == 0 || c == 1 || c == -1) continue;
    product *known = find_product(s, i, magnitude(c));
    if (known) known->users++;
    else if (s->products < PRODUCTS) s->product[s->products++] = (product){(uint8_t)i, 1, magnitude(c)};
  }
}

/* The two terms of a sum as a pattern and the factor in front of it. */
static int64_t normal(int64_t a, int64_t b, int64_t *p, int64_t *q) {
  int64_t g = a == 1 || a == -1 || b == 1 || b == -1 ? 1 : ir_gcd(a, b);
  if (a < 0) g = -g;
  *p = a / g;
  *q = b / g;
  return g;
}

static void note_pattern(sharing *s, uint32_t sum, uint8_t i, uint8_t j, int64_t a, int64_t b) {
  int64_t p, q, factor = normal(a, b, &p, &q);
  uint32_t k = 0;
  while (k < s->patterns &&
         (s->pattern[k].i != i || s->pattern[k].j != j || s->pattern[k].p != p || s->pattern[k].q != q))
    k++;
  if (k == PATTERNS) return;
  pattern *t = &s->pattern[k];
  if (k == s->patterns) {
    s->patterns++;
    t->i = i, t->j = j, t->p = p, t->q = q, t->count = 0;
  }
  if (t->count == OCCURRENCES) return;
  t->sum[t->count] = (uint8_t)sum;
  t->factor[t->count++] = factor;
}

/* Lists pairs of terms that occur in several sums, or that have a common factor. */
static void list_patterns(sharing *s) {
  s->patterns = 0;
  for (uint32_t i = 0; i < s->width; i++) memset(s->pairs[i], 0, s->width);
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t k = 0; k < s->p->sums; k++)
      for (uint32_t a = 0; a + 1 < s->terms[k]; a++)
        for (uint32_t b = a + 1; b < s->terms[k]; b++) {
          uint8_t i = s->term[k][a], j = s->term[k][b];
          int64_t x = s->p->sum[k].c[i], y = s->p->sum[k].c[j];
          if (pass == 0) s->pairs[i][j] += s->pairs[i][j] < UINT8_MAX;
          else if (s->pairs[i][j] > 1 || (i && magnitude(x) == magnitude(y) && magnitude(x) > 1))
            note_pattern(s, k, i, j, x, y);
        }
}

/* Does the sum contain the pattern, and with which factor? 0: no */
static int64_t factor_in(const extract_sum *sum, const pattern *t) {
  int64_t a = sum->c[t->i], b = sum->c[t->j], p, q;
  if (a == 0 || b == 0) return 0;
  if (t->p != 0 && a % t->p != 0) return 0;
  int64_t g = normal(a, b, &p, &q);
  return p == t->p && q == t->q ? g : 0;
}

static int freed_product_cost(sharing *s, uint32_t atom, int64_t by, uint32_t times) {
  if (atom == 0 || by == 1) return 0;
  const product *known = find_product(s, atom, by);
  return known && known->users == times ? extract_cost_mul(s->x->costs, by) : 0;
}

/* Cost saved by making the pattern a temporary. */
static int gain_of(sharing *s, const pattern *t) {
  const pass_extract_costs *costs = s->x->costs;
  int64_t factor[OCCURRENCES];
  uint32_t times[OCCURRENCES], factors = 0;
  int gain = (t->count - 1) * costs->add;
  for (uint32_t k = 0; k < t->count; k++) {
    int64_t g = t->factor[k];
    if (g == -1 && s->terms[t->sum[k]] == 2 && !s->p->sum[t->sum[k]].compared)
      gain -= costs->mul; /* the sum becomes -1 times the temporary */
    uint32_t i = 0;
    while (i < factors && factor[i] != magnitude(g)) i++;
    if (i == factors) factor[factors] = magnitude(g), times[factors++] = 0;
    times[i]++;
  }
  bool have_p = t->i == 0 || t->p == 1, have_q = t->q == 1 || t->q == -1;
  for (uint32_t i = 0; i < factors; i++) {
    int64_t p = factor[i] * t->p, q = factor[i] * magnitude(t->q);
    if (factor[i] != 1) gain -= extract_cost_mul(costs, factor[i]);
    gain += freed_product_cost(s, t->i, p, times[i]) + freed_product_cost(s, t->j, q, times[i]);
  }
  const product *kept = have_p ? NULL : find_product(s, t->i, t->p);
  if (!have_p && (!kept || kept->users <= t->count)) gain -= extract_cost_mul(costs, t->p);
  kept = have_q ? NULL : find_product(s, t->j, magnitude(t->q));
  if (!have_q && (!kept || kept->users <= t->count)) gain -= extract_cost_mul(costs, magnitude(t->q));
  return gain;
}

static uint32_t rank_of(const sharing *s, uint32_t atom) {
  return atom < s->x->atoms ? atom : s->p->rank[atom - s->x->atoms];
}

static void make_temp(sharing *s, const pattern *t) {
  extract_plan *p = s->p;
  uint32_t atom = s->x->atoms + p->temps, i = rank_of(s, t->i), j = rank_of(s, t->j);
  for (uint32_t k = 0; k < p->sums; k++) {
    int64_t g = factor_in(&p->sum[k], t);
    if (g == 0) continue;
    p->sum[k].c[t->i] = p->sum[k].c[t->j] = 0;
    p->sum[k].c[atom] = g;
  }
  p->rank[p->temps++] = (uint8_t)(i > j ? i : j);
  extract_sum *made = &p->sum[p->sums++];
  memset(made, 0, sizeof *made);
  made->c[t->i] = t->p;
  made->c[t->j] = t->q;
  made->users = 2;
}

/* Extra cost of a sum that has no positive term. It starts with a term times its negative coefficient,
 * preferably a term that is multiplied anyway; that is free unless the coefficient is -1 or the positive
 * product is needed too. */
static int cost_of_sign(sharing *s, uint32_t k) {
  const extract_sum *sum = &s->p->sum[k];
  uint32_t first = 0;
  if (sum->compared || sum->c[0] > 0) return 0;
  for (uint32_t i = 0; i < s->terms[k]; i++) {
    uint32_t atom = s->term[k][i];
    if (atom == 0) continue;
    if (sum->c[atom] > 0) return 0;
    if (!first || (sum->c[first] == -1 && sum->c[atom] != -1)) first = atom;
  }
  if (!first) return 0;
  const product *shared = find_product(s, first, magnitude(sum->c[first]));
  return sum->c[first] == -1 || (shared && shared->users > 1) ? extract_cost_mul(s->x->costs, sum->c[first])
                                                              : 0;
}

static int total(sharing *s) {
  const pass_extract_costs *costs = s->x->costs;
  int cost = 0;
  for (uint32_t k = 0; k < s->p->sums; k++)
    cost += (s->terms[k] > 1 ? s->terms[k] - 1 : 0) * costs->add + cost_of_sign(s, k);
  for (uint32_t i = 0; i < s->products; i++) cost += extract_cost_mul(costs, s->product[i].by);
  for (uint32_t i = 0; i < s->x->needs; i++)
    if (extract_need_splits(s->x, s->p, i)) cost -= costs->add;
  for (uint32_t i = 0; i < s->x->quotients; i++) {
    const extract_alternative *alternative = &s->x->quotient[i].alternative[s->p->alternative[i]];
    if (s->p->quotient[i].sum < 0) continue;
    if (extract_choice_splits(s->x, s->p, i)) cost -= costs->add;
    cost += extract_cost_alternative(costs, alternative);
  }
  return cost;
}

void extract_share(const extraction *x, extract_plan *p) {
  sharing s;
  s.x = x;
  s.p = p;
  for (;;) {
    s.products = 0;
    s.width = x->atoms + p->temps;
    for (uint32_t k = 0; k < p->sums; k++) list_terms(&s, k);
    if (p->temps == EXTRACT_TEMPS || p->sums == EXTRACT_SUMS) break;
    list_patterns(&s);
    const pattern *best = NULL;
    int most = 0;
    for (uint32_t i = 0; i < s.patterns; i++) {
      int gain = gain_of(&s, &s.pattern[i]);
      if (gain > most) most = gain, best = &s.pattern[i];
    }
    if (!best) break;
    make_temp(&s, best);
  }
  p->cost = total(&s);
}
