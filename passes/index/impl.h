/* Inside the index algebra: linear forms, the builders that the public ones and the compiled rules share, and
 * the facts that a validity adds. Included by the files of passes/index and the generated rules only.
 */
#ifndef VIEWFOLD_PASSES_INDEX_IMPL_H
#define VIEWFOLD_PASSES_INDEX_IMPL_H

#include "index.h"
#include "ir/arith.h"
#include "ir/ir.h"

/* Limits that keep any input's work bounded: beyond them nodes stay as they were written, which is always
 * correct. */
enum {
  PASS_TERMS = 32,            /* of one sum */
  PASS_FACTORS = 8,           /* of one product */
  PASS_CLAUSES = 32,          /* of one conjunction */
  PASS_FACTS = 24,            /* that one validity contributes */
  PASS_ROWS = 12,             /* relations that one question looks at */
  PASS_COLUMNS = 40,          /* atoms that they may speak of */
  PASS_DIGITS = PASS_COLUMNS, /* that one form falls into */
  PASS_LOOKS = 2,             /* levels of operands that facts are carried through */
  PASS_DEPTH = 16,            /* of builders calling builders */
  PASS_STEPS = 2000           /* builder calls that one public call may cause */
};

typedef struct pass_term {
  ir_ref atom;
  int64_t coef;
} pass_term;

/* constant + sum of coef * atom; atoms in the order of ir_compare and distinct, coefficients not 0 */
typedef struct pass_linear {
  int64_t constant;
  uint32_t count;
  pass_term term[PASS_TERMS];
} pass_linear;

typedef struct pass_interval {
  int64_t lo, hi; /* INT64_MIN, INT64_MAX: unknown */
} pass_interval;

/* lo <= node <= hi wherever the validity holds; node is a linear expression without a constant */
typedef struct pass_fact {
  ir_ref node;
  pass_interval in;
} pass_fact;
typedef struct pass_facts {
  uint32_t count;
  bool never;   /* they contradict each other: no lane is valid */
  ir_ref given; /* the validity itself, for observers; 0 when nobody watches and it is no node */
  pass_fact fact[PASS_FACTS];
} pass_facts;

typedef struct pass_build {
  ir_graph *g;
  const pass_facts *facts;      /* or NULL: only what the nodes themselves say */
  bool unsettled;               /* conjunctions only collect: they will be settled as a whole */
  uint32_t depth, steps, looks; /* looks: levels of operands that facts are being carried through */
} pass_build;

/* Steps of reasoning, each a look at a few coefficients, that a pass may take: a start, and more for a longer
 * graph, so that long chains of easy views are folded to the end. */
enum {
  PASS_EFFORT = 6 * 1000 * 1000,
  PASS_EFFORT_PER_NODE = 20,
  PASS_STEP_EFFORT = 64, /* of one builder call */
  PASS_TIRED_STEPS = 1,  /* instead of PASS_STEPS */
  PASS_TIRED_TERMS = 4   /* of one sum of two */
};
static inline bool pass_tired(const ir_graph *g) {
  return g->effort > (g->effort_most ? g->effort_most : PASS_EFFORT);
}

static inline pass_build pass_begin(ir_graph *g) { return (pass_build){.g = g}; }
/* False when the budget is spent: make the plain node instead. Each true answer is undone by pass_leave. */
static inline bool pass_enter(pass_build *b) {
  uint32_t steps = pass_tired(b->g) ? PASS_TIRED_STEPS : PASS_STEPS;
  if (b->depth >= PASS_DEPTH || b->steps >= steps) return false;
  b->depth++;
  b->steps++;
  b->g->effort += PASS_STEP_EFFORT;
  return true;
}
static inline void pass_leave(pass_build *b) { b->depth--; }
bool pass_allowed(pass_build *b, const char *rule, ir_op op, const ir_ref *src, uint32_t nsrc, ir_ref result);

/* linear_form.c: linear forms */
void pass_linear_read(const ir_graph *g, ir_ref ref,
                      pass_linear *out); /* always succeeds: an atom in the worst case */
void pass_linear_const(pass_linear *out, int64_t value);
bool pass_linear_add(const ir_graph *g, pass_linear *to, const pass_linear *from,
                     int64_t scale); /* to += scale*from; false: too big */
bool pass_linear_term(const ir_graph *g, pass_linear *to, ir_ref atom, int64_t coef); /* to += coef*atom */
bool pass_linear_scale(pass_linear *to, int64_t scale);
int64_t pass_linear_coef(const pass_linear *in, ir_ref atom); /* 0 when absent */
bool pass_linear_same(const pass_linear *a, const pass_linear *c);
void pass_linear_drop(pass_linear *from, uint32_t index);
int64_t
pass_linear_content(const pass_linear *in);  /* gcd of the coefficients, constant apart; 0 when constant */
int pass_linear_sign(const pass_linear *in); /* of the first coefficient */
ir_ref pass_linear_plain(ir_graph *g, const pass_linear *in); /* its node, as it stands */
ir_ref pass_linear_node(pass_build *b, pass_linear *in);      /* its canonical node; in is used up */

/* Is the sum of sums that have `before` terms at most to be one? When the effort is spent sums grow no more:
 * what is already long stays one term of what is made of it. */
bool pass_linear_worthwhile(const ir_graph *g, const pass_linear *sum, uint32_t before);

/* linear_system.c: a linear form beside what relates its atoms */
typedef struct pass_row {
  int64_t coef[PASS_COLUMNS]; /* the row's form, by column */
  uint32_t used;              /* columns that are not 0, in at */
  uint8_t at[PASS_COLUMNS];
  pass_interval in; /* where it lies */
  ir_ref quotient;  /* whose remainder it is; 0: a fact */
  int pivot;        /* column that it takes out, where divisible; -1: none */
  int64_t multiplier;
} pass_row;
typedef struct pass_system {
  uint32_t atoms, rows;
  ir_ref atom[PASS_COLUMNS];
  pass_interval in[PASS_COLUMNS];
  int64_t form[PASS_COLUMNS], constant;
  pass_row row[PASS_ROWS];
  uint32_t work;             /* steps that trying may still take */
  uint32_t order[PASS_ROWS]; /* no row brings back the pivot of an earlier one */
} pass_system;

/* A row or an atom with its interval, independent of the other digits where sizes nest. */
typedef struct pass_digit {
  int64_t coef;
  pass_interval in;
  int row, column; /* one of them is -1 */
} pass_digit;
typedef struct pass_digits {
  int64_t constant; /* form = constant + sum of coef * digit */
  uint32_t count;
  pass_digit digit[PASS_DIGITS];
  pass_system system;
} pass_digits;

int pass_column_of(const pass_system *s, ir_ref atom); /* -1: it has none */
/* Columns for the form's atoms and, while there is room, all that their quotients are made of. */
bool pass_system_of(pass_build *b, const pass_linear *in, pass_system *out);
/* Shown that the form does not lie in [lo, hi], by trying; slower than bounds, and knows whole numbers. */
bool pass_linear_never(pass_build *b, const pass_linear *in, int64_t lo, int64_t hi);
/* What the facts and the relations of their atoms say of each atom, added to the facts; with what trying the
 * ends of their intervals shows, if asked for. */
void pass_facts_propagate(pass_build *b, pass_facts *facts, bool try_ends);

bool pass_digits_of(pass_build *b, const pass_linear *in, pass_digits *out); /* false: too big */
/* constant + sum of weight[i] * digit i, as a form; false: too big */
bool pass_digits_sum(const ir_graph *g, const pass_digits *of, const int64_t *weight, int64_t constant,
                     pass_linear *out);

/* affine_quotients.c: quotients that are affine together go; true when some did */
bool pass_linear_affine(pass_build *b, pass_linear *in);

/* budget_fallback.c: what takes no effort */
/* result = x + scale*y, and lies where these say */
void pass_tired_bounds(ir_graph *g, ir_ref result, ir_ref x, ir_ref y, int64_t scale);
ir_ref pass_tired_div(pass_build *b, ir_ref x, ir_ref y, int64_t d); /* d >= 1 is y */
ir_ref pass_tired_mod(pass_build *b, ir_ref x, ir_ref y, int64_t d);
ir_ref pass_tired_compare(pass_build *b, ir_op op, ir_ref x, ir_ref y); /* 0: it takes more */

/* threshold.c */
bool pass_saturate(pass_build *b, pass_linear *in, int64_t *c); /* in < c; true when a weight came down */
/* Where N//d, N of one digit, climbs in even steps, or in one: N//d = *first + in//(*divisor), the least such
 * in. */
bool pass_threshold_of(pass_build *b, pass_linear *in, int64_t d, int64_t *divisor, int64_t *first);

/* multiply.c */
uint32_t pass_factors(const ir_graph *g, ir_ref atom,
                      ir_ref *out); /* in order, at most PASS_FACTORS; 0: too many */
ir_ref pass_product(ir_graph *g, const ir_ref *factors, uint32_t count);

/* canonical builders under a budget and facts */
ir_ref pass_make_add(pass_build *b, ir_ref x, ir_ref y);
ir_ref pass_make_sub(pass_build *b, ir_ref x, ir_ref y);
ir_ref pass_make_mul(pass_build *b, ir_ref x, ir_ref y);
ir_ref pass_make_div(pass_build *b, ir_ref x, ir_ref y);
ir_ref pass_make_mod(pass_build *b, ir_ref x, ir_ref y);
ir_ref pass_make_minmax(pass_build *b, ir_op op, ir_ref x, ir_ref y);
ir_ref pass_make_compare(pass_build *b, ir_op op, ir_ref x, ir_ref y);
ir_ref pass_make_junction(pass_build *b, ir_op op, const ir_ref *clauses, uint32_t count); /* AND or OR */
ir_ref pass_make_opposite(pass_build *b, ir_ref comparison); /* 0: none, or no comparison */
ir_ref pass_make_not(pass_build *b, ir_ref x);
ir_ref pass_make_where(pass_build *b, ir_ref condition, ir_ref x, ir_ref y);
ir_ref pass_make_node(pass_build *b, ir_ref node, const ir_ref *src, uint32_t nsrc);

/* inequality.c: what is known of values, facts included */
ir_bounds pass_bounds(pass_build *b, ir_ref ref);
pass_interval pass_linear_bounds(pass_build *b, const pass_linear *in); /* linear_system.c; facts included */
bool pass_linear_below(pass_build *b, const pass_linear *in); /* proves in <= -1, symbolic extents included */
bool pass_linear_at_least(pass_build *b, const pass_linear *in);     /* proves in >= 0 */
bool pass_polynomial_at_least(pass_build *b, const pass_linear *in); /* in >= 0, of products of sizes */
bool pass_polynomial_zero(pass_build *b, const pass_linear *in);     /* in == 0, likewise */
void pass_facts_read(pass_build *b, ir_ref valid, pass_facts *out);
void pass_facts_clause(pass_build *b, ir_ref clause, pass_facts *out); /* one clause more */
void pass_facts_add(pass_build *b, pass_facts *to, ir_ref node, int64_t lo, int64_t hi);
/* The ends of an interval of values that are of->rem modulo of->div, moved inwards to such values. */
void pass_round_ends(const ir_bounds *of, int64_t *lo, int64_t *hi);
/* in with what the facts fix put in: pinned atoms, and pinned sums by their newest atom */
void pass_linear_given(pass_build *b, pass_linear *in);
/* the value of x modulo d where its congruence decides it */
bool pass_residue(pass_build *b, ir_ref x, int64_t d, int64_t *residue);

/* enumerate.c: x <= y, or x < y, for each of the few values of their variables */
bool pass_never_above(ir_graph *g, ir_ref x, ir_ref y, bool strictly);

/* exact_quotient.c: term t and others as one multiple of an exact quotient; true when something changed */
bool pass_whole(pass_build *b, pass_linear *in, uint32_t t);
/* A quotient that is a*x/d, without a remainder. */
bool pass_whole_part(pass_build *b, ir_ref atom, ir_ref *x, int64_t *a, int64_t *d);
/* x = by/over * y, of exact quotients of one thing, in lowest terms and positive */
bool pass_whole_ratio(pass_build *b, ir_ref x, ir_ref y, int64_t *by, int64_t *over);

/* sum.c: recombination of quotients, remainders and digits; true when something changed */
bool pass_recombine(pass_build *b, pass_linear *in);

/* the compiled rules: the rewritten expression, or 0 when none applies */
ir_ref pass_index_rules(pass_build *b, ir_op op, const ir_ref *src, uint32_t nsrc);

#endif
