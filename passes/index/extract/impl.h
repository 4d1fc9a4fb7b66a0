/* Inside extraction: the problem as linear forms over numbered atoms.
 *
 * Atom 0 is the number one, so that a form is a plain vector of coefficients. The others are numbered so that
 * whatever an atom is computed from has smaller numbers: leaves, quotients by constants, and operations that
 * are taken as they are (min, max, products, choices). Each quotient has a few ways of being written. One way
 * for each quotient gives the sums that must be computed; what these share is then found, and the whole is
 * priced. */
#ifndef VIEWFOLD_PASSES_INDEX_EXTRACT_IMPL_H
#define VIEWFOLD_PASSES_INDEX_EXTRACT_IMPL_H

#include "extract.h"
#include "ir/arith.h"

/* Beyond these limits the input is left as it is, or a way of writing it is left out. */
enum {
  EXTRACT_ITEMS = 128, /* nodes */
  EXTRACT_SLOTS = 512, /* of the table from node to item */
  EXTRACT_ATOMS = 32,
  EXTRACT_TEMPS = 16, /* shared parts of sums */
  EXTRACT_WIDTH = EXTRACT_ATOMS + EXTRACT_TEMPS,
  EXTRACT_FORMS = 224,
  EXTRACT_QUOTIENTS = 12,
  EXTRACT_ALTERNATIVES = 16, /* of writing one quotient */
  EXTRACT_NEEDS = 32,
  EXTRACT_SUMS = 60,   /* to be computed */
  EXTRACT_VALUES = 4,  /* of a quotient that becomes a choice */
  EXTRACT_TRIALS = 64, /* combinations of ways that are priced */
  EXTRACT_ITERATIONS = 6,
};

typedef struct extract_form {
  int64_t c[EXTRACT_ATOMS];
} extract_form;

typedef enum extract_how { EXTRACT_QUOTIENT, EXTRACT_REMAINDER, EXTRACT_CHOICE } extract_how;

/* q = sign*u + extra, where u is the floor of `of` / by, and the atom stands for
 * QUOTIENT u;  REMAINDER of - by*u;  CHOICE by thresholds, q = atom / scale */
typedef struct extract_alternative {
  uint8_t how;
  int8_t sign;
  int16_t of, extra; /* forms; extra -1: 0 */
  int64_t by, scale;
  int64_t lo, hi; /* of u, for CHOICE */
} extract_alternative;

typedef struct extract_quotient {
  uint8_t atom, alternatives;
  int16_t of, given; /* floor(of/by), in lowest terms; given: its numerator as it was written, or -1 */
  int64_t by;
  extract_alternative alternative[EXTRACT_ALTERNATIVES];
} extract_quotient;

typedef struct extract_item {
  ir_ref node, made; /* made: what it has become, for bools and operations taken as they are */
  int16_t form;      /* of an index node; for a comparison left - right; -1: none */
  int16_t atom;      /* that the node is, or -1 */
  uint8_t level;     /* quotients on the way down */
  uint8_t atoms;     /* atoms that its value may need: those below this number */
  int64_t by;        /* of a quotient, otherwise INT64_MAX */
} extract_item;

typedef struct extract_atom {
  int16_t item, quotient; /* what it is: one of the two, the other -1 */
  int64_t lo, hi;         /* INT64_MIN, INT64_MAX: unknown */
} extract_atom;

/* A form that is computed whatever the ways: a root, an operand, or a comparison of it with 0. */
typedef struct extract_need {
  int16_t form;
  uint8_t compare; /* IR_OP_LT, GE, EQ, NE, or 0 */
} extract_need;

typedef struct extraction {
  ir_graph *g;
  const pass_extract_costs *costs;
  uint32_t items, atoms, forms, quotients, needs;
  int cost; /* as it was written */
  uint8_t slot[EXTRACT_SLOTS];
  extract_item item[EXTRACT_ITEMS];
  extract_atom atom[EXTRACT_ATOMS];
  extract_quotient quotient[EXTRACT_QUOTIENTS];
  extract_form form[EXTRACT_FORMS];
  extract_need need[EXTRACT_NEEDS];
} extraction;

/* One sum to be computed, over atoms and temporaries. */
typedef struct extract_sum {
  int64_t c[EXTRACT_WIDTH];
  bool compared; /* only ever against constants: its own constant is 0, its sign and scale are free */
  uint8_t users;
} extract_sum;

/* Who uses a sum: form = scale * sum + rest. */
typedef struct extract_use {
  int16_t sum; /* -1: not live */
  int64_t scale, rest;
} extract_use;

/* One way of writing everything. */
typedef struct extract_plan {
  uint8_t alternative[EXTRACT_QUOTIENTS];
  uint32_t sums, temps;
  int cost;
  extract_use need[EXTRACT_NEEDS], quotient[EXTRACT_QUOTIENTS];
  int64_t offset[EXTRACT_QUOTIENTS]; /* added to each value of a choice */
  uint8_t rank[EXTRACT_TEMPS];       /* the largest atom that a temporary needs */
  extract_sum sum[EXTRACT_SUMS];     /* those of temporaries after all others */
} extract_plan;

/* read.c: false when the roots are beyond the limits */
bool extract_read(extraction *x, const ir_ref *roots, uint32_t count);
bool extract_collect(extraction *x, const ir_ref *roots, uint32_t count); /* its items only */
extract_item *extract_find(extraction *x, ir_ref node);                   /* NULL: a constant */
int extract_need_of(const extraction *x, int form, int compare);
/* form.c */
int extract_form_new(extraction *x); /* zero; -1: no room */
bool extract_form_add(const extraction *x, int64_t *to, const int64_t *from, int64_t scale);
bool extract_form_equal(const extraction *x, const int64_t *a, const int64_t *b);
/* The values that a form can take; false when they are not known. */
bool extract_form_range(const extraction *x, const int64_t *of, int64_t *lo, int64_t *hi);
/* alternatives.c */
void extract_find_alternatives(extraction *x);
/* choice.c: the sums that its ways need; false when the ways do not go together, or cost more than the
 * limit */
bool extract_plan_make(const extraction *x, extract_plan *p, int limit);
bool extract_need_splits(const extraction *x, const extract_plan *p, uint32_t need);
bool extract_choice_splits(const extraction *x, const extract_plan *p, uint32_t quotient);
/* cse.c: find what sums share; sets cost */
void extract_share(const extraction *x, extract_plan *p);
int extract_cost_mul(const pass_extract_costs *costs, int64_t by);
int extract_cost_div(const pass_extract_costs *costs, int64_t by, bool remainder);
int extract_cost_alternative(const pass_extract_costs *costs, const extract_alternative *alternative);
/* emit.c: the nodes of a plan, in place of the roots; false when memory is short */
bool extract_emit(extraction *x, const extract_plan *p, ir_ref *roots, uint32_t count);

#endif
