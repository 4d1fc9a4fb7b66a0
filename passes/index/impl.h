/* Private interface of the index algebra: linear forms, the builders that the public ones and the compiled
 * rules share, and the facts that a validity implies. Included by the files of passes/index and the generated
 * rules only. */
#ifndef VIEWFOLD_PASSES_INDEX_IMPL_H
#define VIEWFOLD_PASSES_INDEX_IMPL_H

#include "index.h"
#include "ir/arith.h"
#include "ir/ir.h"

/* Limits that bound the work for any input: beyond them nodes stay as written, which is always correct. In
 * brackets: what the workloads (frontend/workloads) need. */
enum {
  PASS_TERMS = 32,   /* of one sum [8]: two for each of IR_MAX_RANK axes, as after splitting each */
  PASS_FACTORS = 8,  /* of one product [2]: sizes of that many axes in a flat index */
  PASS_CLAUSES = 32, /* of one conjunction [5]: both ends of each of IR_MAX_RANK axes */
  PASS_FACTS = 24,   /* that one validity implies [5]: of those of more clauses the first */
  PASS_ROWS = 12, /* relations in one system [12]: work grows with their square; further ones are left out */
  PASS_COLUMNS = 40, /* atoms in one system [7]: those of PASS_TERMS, and of the relations between them */
  PASS_DIGITS = PASS_COLUMNS, /* of one linear form */
  /* levels of operands that facts are carried through [2]: each multiplies the work */
  PASS_OPERAND_DEPTH = 2,
  PASS_DEPTH = 16,  /* nesting of builder calls [6]: rules that keep making terms for one another end there */
  PASS_STEPS = 2000 /* builder calls that one public call may cause [738] */
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
  bool never;   /* the facts contradict each other: the validity is never true */
  ir_ref given; /* the validity as a node, for the observer; 0 where it has no node and no observer asks */
  pass_fact fact[PASS_FACTS];
} pass_facts;

typedef struct pass_build {
  ir_graph *g;
  const pass_facts *facts;              /* NULL: only the bounds of the nodes themselves */
  bool deferred;                        /* conjunctions only collect clauses: pass_finalize_clauses follows */
  uint32_t depth, steps, operand_depth; /* operand_depth: levels that facts are carried through now */
} pass_build;

/* Budget of a pass in steps of reasoning, each a look at a few coefficients: a fixed amount plus an amount
 * per node of the graph, so that long chains of simple views are folded completely. */
enum {
  PASS_BUDGET = 6 * 1000 * 1000, /* steps of one pass: three times the 1.8 million of the workloads */
  PASS_BUDGET_PER_NODE = 20,     /* steps for each node, so that those of a long chain get a look each */
  PASS_STEP_COST = 64, /* steps of one builder call: looks at the coefficients of two sums of PASS_TERMS */
  /* builder calls instead of PASS_STEPS: the call itself, and none that it causes */
  PASS_EXHAUSTED_STEPS = 1,
  PASS_EXHAUSTED_TERMS = 4 /* terms of sums that are still simplified: a flat index of few axes */
};
static inline bool pass_budget_exhausted(const ir_graph *g) {
  return g->budget_spent > (g->budget ? g->budget : PASS_BUDGET);
}

/* The state of a new call from outside: no facts, none of its PASS_STEPS used. Nothing has to be freed. */
static inline pass_build pass_begin(ir_graph *g) { return (pass_build){.g = g}; }
/* False where the budget is exhausted: the caller then makes the plain node. Each true answer is undone by
 * pass_leave. */
static inline bool pass_enter(pass_build *b) {
  uint32_t steps = pass_budget_exhausted(b->g) ? PASS_EXHAUSTED_STEPS : PASS_STEPS;
  if (b->depth >= PASS_DEPTH || b->steps >= steps) return false;
  b->depth++;
  b->steps++;
  b->g->budget_spent += PASS_STEP_COST;
  return true;
}
static inline void pass_leave(pass_build *b) { b->depth--; }
/* May op(src) be rewritten as result? False where the result may overflow machine integers although the
 * sources do not, and where the graph's observer refuses. rule: its name, for the observer. */
bool pass_allowed(pass_build *b, const char *rule, ir_op op, const ir_ref *src, uint32_t nsrc, ir_ref result);

/* linear_form.c: linear forms */
void pass_linear_read(const ir_graph *g, ir_ref ref, pass_linear *out); /* at worst one atom */
void pass_linear_const(pass_linear *out, int64_t value);
bool pass_linear_add(const ir_graph *g, pass_linear *to, const pass_linear *from,
                     int64_t scale); /* to += scale*from; false: too big */
bool pass_linear_term(const ir_graph *g, pass_linear *to, ir_ref atom, int64_t coef); /* to += coef*atom */
bool pass_linear_scale(pass_linear *to, int64_t scale);
int64_t pass_linear_coef(const pass_linear *in, ir_ref atom); /* 0 when absent */
bool pass_linear_same(const pass_linear *a, const pass_linear *c);
void pass_linear_drop(pass_linear *from, uint32_t index);
/* gcd of the coefficients without the constant; 0 for a constant form */
int64_t pass_linear_content(const pass_linear *in);
int pass_linear_sign(const pass_linear *in);                  /* of the first coefficient */
ir_ref pass_linear_plain(ir_graph *g, const pass_linear *in); /* its node, without simplification */
ir_ref pass_linear_node(pass_build *b, pass_linear *in);      /* its canonical node; *in is overwritten */

/* May a sum whose operands have at most `before` terms be expanded into one linear form? While the budget
 * lasts, always; after that only if it is short or no longer than `before`, so that long sums stay single
 * atoms. */
bool pass_linear_worthwhile(const ir_graph *g, const pass_linear *sum, uint32_t before);

/* linear_system.c: a linear form together with relations between its atoms */
typedef struct pass_row {
  int64_t coef[PASS_COLUMNS]; /* of the row's form, by column */
  uint32_t used;              /* number of columns with nonzero coefficients, which are listed in at */
  uint8_t at[PASS_COLUMNS];
  pass_interval in; /* interval of the form's values */
  ir_ref quotient;  /* quotient whose remainder the form is; 0: the row is a fact */
  int pivot; /* column that the row eliminates from a form whose coefficient there is a multiple of the row's;
                -1: none */
  int64_t multiplier;
} pass_row;
typedef struct pass_system {
  uint32_t atoms, rows;
  ir_ref atom[PASS_COLUMNS];
  pass_interval in[PASS_COLUMNS];
  int64_t form[PASS_COLUMNS], constant;
  pass_row row[PASS_ROWS];
  uint32_t work;             /* steps left for probing */
  uint32_t order[PASS_ROWS]; /* elimination order: no row reintroduces the pivot of an earlier one */
} pass_system;

/* A row form or an atom, with the interval of its values; independent of the other digits where sizes
 * nest. */
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

int pass_column_of(const pass_system *s, ir_ref atom); /* -1: no column */
/* Makes columns for the form's atoms and, while there is room, for the atoms of their quotients' numerators,
 * and rows for the quotients. False: no room for the form's own atoms. */
bool pass_system_of(pass_build *b, const pass_linear *in, pass_system *out);
/* Proves that the form has no value in [lo, hi], by bounds propagation and probing; slower than
 * pass_linear_bounds, but uses that values are integers. */
bool pass_linear_never(pass_build *b, const pass_linear *in, int64_t lo, int64_t hi);
/* Adds to the facts the interval of each atom that follows from the facts and the quotient relations by
 * bounds propagation; if try_ends is set, also by probing the ends of the intervals. */
void pass_facts_propagate(pass_build *b, pass_facts *facts, bool try_ends);

bool pass_digits_of(pass_build *b, const pass_linear *in, pass_digits *out); /* false: too big */
/* constant + sum of weight[i] * digit i, as a form; false: too big */
bool pass_digits_sum(const ir_graph *g, const pass_digits *of, const int64_t *weight, int64_t constant,
                     pass_linear *out);

/* affine_quotients.c: replaces quotients whose sum is affine by the affine form; true when some were
 * replaced */
bool pass_linear_affine(pass_build *b, pass_linear *in);

/* budget_fallback.c: simplifications that are cheap enough once the budget is exhausted */
/* Tightens the bounds of result = x + scale*y by those of x and y. */
void pass_cheap_bounds(ir_graph *g, ir_ref result, ir_ref x, ir_ref y, int64_t scale);
ir_ref pass_cheap_div(pass_build *b, ir_ref x, ir_ref y, int64_t d); /* y is the constant d >= 1 */
ir_ref pass_cheap_mod(pass_build *b, ir_ref x, ir_ref y, int64_t d);
ir_ref pass_cheap_compare(pass_build *b, ir_op op, ir_ref x, ir_ref y); /* 0: not decided cheaply */

/* threshold.c */
/* Rewrites in < c with smaller coefficients; true when one was lowered. */
bool pass_saturate(pass_build *b, pass_linear *in, int64_t *c);
/* For the numerator N in `in`, of a single digit, whose quotient N//d rises in one step or in equal steps:
 * sets *divisor, *first and the smallest `in` with N//d = *first + in // *divisor. False: no such form. */
bool pass_threshold_of(pass_build *b, pass_linear *in, int64_t d, int64_t *divisor, int64_t *first);

/* multiply.c */
/* The factors of a product, sorted, at most PASS_FACTORS; returns their number, 0: too many. Any other atom
 * is its only factor. */
uint32_t pass_factors(const ir_graph *g, ir_ref atom, ir_ref *out);
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
/* The negated comparison; 0: there is none, or the node is no comparison. */
ir_ref pass_make_opposite(pass_build *b, ir_ref comparison);
ir_ref pass_make_not(pass_build *b, ir_ref x);
ir_ref pass_make_where(pass_build *b, ir_ref condition, ir_ref x, ir_ref y);
ir_ref pass_make_node(pass_build *b, ir_ref node, const ir_ref *src, uint32_t nsrc);

/* inequality.c: bounds of values under the facts */
ir_bounds pass_bounds(pass_build *b, ir_ref ref);
pass_interval pass_linear_bounds(pass_build *b, const pass_linear *in); /* linear_system.c */
/* Proves in <= -1; extents may be symbolic. */
bool pass_linear_below(pass_build *b, const pass_linear *in);
bool pass_linear_at_least(pass_build *b, const pass_linear *in);     /* proves in >= 0 */
bool pass_polynomial_at_least(pass_build *b, const pass_linear *in); /* proves in >= 0; polynomial.c */
bool pass_polynomial_zero(pass_build *b, const pass_linear *in);     /* proves in == 0; polynomial.c */
void pass_facts_read(pass_build *b, ir_ref valid, pass_facts *out);
void pass_facts_clause(pass_build *b, ir_ref clause, pass_facts *out); /* adds the fact of one clause */
void pass_facts_add(pass_build *b, pass_facts *to, ir_ref node, int64_t lo, int64_t hi);
/* Moves the ends of an interval inwards to the nearest values that are of->rem modulo of->div. */
void pass_round_ends(const ir_bounds *of, int64_t *lo, int64_t *hi);
/* Substitutes values that the facts fix: a pinned atom by its value; a pinned sum is solved for its last
 * atom. */
void pass_linear_substitute_facts(pass_build *b, pass_linear *in);
/* x modulo d; false where the congruence of x does not decide it */
bool pass_residue(pass_build *b, ir_ref x, int64_t d, int64_t *residue);

/* enumerate.c: proves x <= y, or x < y, by evaluating both for all values of their variables, if these are
 * few */
bool pass_never_above(ir_graph *g, ir_ref x, ir_ref y, bool strictly);

/* exact_quotient.c: combines term t and others into one multiple of an exact quotient; true when something
 * changed */
bool pass_combine_exact_quotients(pass_build *b, pass_linear *in, uint32_t t);
/* atom = a*x/d exactly, without a remainder; false: it is no such quotient */
bool pass_exact_quotient(pass_build *b, ir_ref atom, ir_ref *x, int64_t *a, int64_t *d);
/* x = by/over * y where both are exact quotients of one expression; by/over is positive and in lowest
 * terms */
bool pass_exact_ratio(pass_build *b, ir_ref x, ir_ref y, int64_t *by, int64_t *over);

/* sum.c: one step of combining quotients, remainders and digits; true when something changed */
bool pass_recombine(pass_build *b, pass_linear *in);

/* the compiled rules: the rewritten expression, 0 where no rule applies */
ir_ref pass_index_rules(pass_build *b, ir_op op, const ir_ref *src, uint32_t nsrc);

#endif
