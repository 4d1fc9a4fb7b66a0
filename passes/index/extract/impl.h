/* Private interface of extraction: the problem as linear forms over numbered atoms.
 *
 * Atom 0 is the number one, so that a form is a plain vector of coefficients. The other atoms are numbered so
 * that the operands of an atom have smaller numbers: leaves, quotients by constants, and operations that are
 * taken as they are (min, max, products, choices). Each quotient has a few alternative forms. One alternative
 * per quotient (a plan) determines the sums to be computed; their common subexpressions are then found, and
 * the plan is priced. */
#ifndef VIEWFOLD_PASSES_INDEX_EXTRACT_IMPL_H
#define VIEWFOLD_PASSES_INDEX_EXTRACT_IMPL_H

#include "extract.h"
#include "ir/arith.h"

/* Beyond these limits the input stays as it is, or an alternative is not considered. In brackets: what the
 * tests need, which print thousands of index expressions. */
enum {
  EXTRACT_ITEMS = 128, /* nodes [18] */
  EXTRACT_SLOTS = 512, /* of the table from node to item: a quarter of it is used at most */
  EXTRACT_ATOMS = 32,  /* numbered operands of sums [8] */
  EXTRACT_TEMPS = 16,  /* common subexpressions of sums [1] */
  EXTRACT_WIDTH = EXTRACT_ATOMS + EXTRACT_TEMPS,
  EXTRACT_FORMS = 224,       /* linear forms: of quotients, of their alternatives and of needs [17] */
  EXTRACT_QUOTIENTS = 12,    /* quotients by constants [1] */
  EXTRACT_ALTERNATIVES = 16, /* of one quotient [8] */
  EXTRACT_NEEDS = 32,        /* sums that are roots or operands of what is no sum [4] */
  EXTRACT_SUMS = 60,         /* sums to be computed: those of needs, quotients and temporaries [6] */
  EXTRACT_VALUES = 4,     /* values of a quotient that becomes a choice: three comparisons and selections, of
                             about the operations that a division takes */
  EXTRACT_TRIALS = 64,    /* plans that are priced [14]: further combinations are not tried */
  EXTRACT_ITERATIONS = 6, /* searches, each from the cheaper form that the one before has found [2] */
};

typedef struct extract_form {
  int64_t c[EXTRACT_ATOMS];
} extract_form;

typedef enum extract_how { EXTRACT_QUOTIENT, EXTRACT_REMAINDER, EXTRACT_CHOICE } extract_how;

/* q = sign*u + extra, where u = floor(of / by). The atom computes QUOTIENT: u; REMAINDER: of - by*u; CHOICE:
 * scale*u, selected by comparing `of` with thresholds. */
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
  ir_ref node, made; /* made: its new node, for bools and operations taken as they are */
  int16_t form;      /* of an index node; of left - right for a comparison; -1: none */
  int16_t atom;      /* the atom that the node is; -1: none */
  uint8_t level;     /* quotients on the deepest path below it */
  uint8_t atoms;     /* its value needs only atoms below this number */
  int64_t by;        /* divisor of a quotient, otherwise INT64_MAX */
} extract_item;

typedef struct extract_atom {
  int16_t item, quotient; /* the item or the quotient that it is; the other is -1 */
  int64_t lo, hi;         /* INT64_MIN, INT64_MAX: unknown */
} extract_atom;

/* A form that every plan computes: a root, an operand of an operation taken as it is, or a form compared with
 * 0. */
typedef struct extract_need {
  int16_t form;
  uint8_t compare; /* IR_OP_LT, GE, EQ, NE, or 0 */
} extract_need;

typedef struct extraction {
  ir_graph *g;
  const pass_extract_costs *costs;
  uint32_t items, atoms, forms, quotients, needs;
  int cost; /* cost of the expressions as written */
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
  /* It is only compared with constants: its own constant is 0, its sign and scale are free. */
  bool compared;
  uint8_t users;
} extract_sum;

/* A use of a sum: form = scale * sum + rest. */
typedef struct extract_use {
  int16_t sum; /* -1: not live */
  int64_t scale, rest;
} extract_use;

/* One alternative for each quotient, and what follows from it. */
typedef struct extract_plan {
  uint8_t alternative[EXTRACT_QUOTIENTS];
  uint32_t sums, temps;
  int cost;
  extract_use need[EXTRACT_NEEDS], quotient[EXTRACT_QUOTIENTS];
  int64_t offset[EXTRACT_QUOTIENTS]; /* constant added to each value of a choice */
  uint8_t rank[EXTRACT_TEMPS];       /* the last atom that a temporary needs */
  extract_sum sum[EXTRACT_SUMS];     /* the sums of temporaries come after all others */
} extract_plan;

/* read.c: false where the roots exceed the limits */
bool extract_read(extraction *x, const ir_ref *roots, uint32_t count);
bool extract_collect(extraction *x, const ir_ref *roots, uint32_t count); /* the items only */
extract_item *extract_find(extraction *x, ir_ref node);                   /* NULL: a constant */
int extract_need_of(const extraction *x, int form, int compare);
/* form.c */
int extract_form_new(extraction *x); /* zero; -1: no room */
/* to += scale * from. False on overflow: *to is then unspecified. */
bool extract_form_add(const extraction *x, int64_t *to, const int64_t *from, int64_t scale);
/* Are all coefficients equal? */
bool extract_form_equal(const extraction *x, const int64_t *a, const int64_t *b);
/* The interval of a form's values; false where it is not finite. */
bool extract_form_range(const extraction *x, const int64_t *of, int64_t *lo, int64_t *hi);
/* alternatives.c */
/* Lists at most EXTRACT_ALTERNATIVES ways to compute each quotient, first the one as written. */
void extract_find_alternatives(extraction *x);
/* choice.c: the sums that the plan's alternatives need; false where the alternatives are incompatible, or
 * cost more than the limit */
bool extract_plan_make(const extraction *x, extract_plan *p, int limit);
bool extract_need_splits(const extraction *x, const extract_plan *p, uint32_t need);
bool extract_choice_splits(const extraction *x, const extract_plan *p, uint32_t quotient);
/* cse.c: makes temporaries for common subexpressions of the sums; sets cost */
void extract_share(const extraction *x, extract_plan *p);
int extract_cost_mul(const pass_extract_costs *costs, int64_t by);
int extract_cost_div(const pass_extract_costs *costs, int64_t by, bool remainder);
int extract_cost_alternative(const pass_extract_costs *costs, const extract_alternative *alternative);
/* emit.c: replaces the roots by the nodes of a plan; false when memory is short */
bool extract_emit(extraction *x, const extract_plan *p, ir_ref *roots, uint32_t count);

#endif
