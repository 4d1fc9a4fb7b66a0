/* Internal to peeling: one sub-domain of a kernel's iteration space, and where an axis of it is split
 * (breakpoints.c). */
#ifndef VIEWFOLD_PASSES_DOMAIN_PEEL_H
#define VIEWFOLD_PASSES_DOMAIN_PEEL_H

#include "passes/loops/loops.h"

enum {
  PEEL_INTERVALS = 5, /* of one axis: four breakpoints, two for each of two masks; of more, conditions stay */
  /* sub-domains of one kernel: borders on both sides of three axes make 27. Code grows with each; beyond them
   * conditions stay, and quotients become unaligned runs */
  USUAL_DOMAINS = 48,
  MAX_DOMAINS = 72 /* of a join of many arrays, each of which takes one: USUAL_DOMAINS and 24 more loads */
};

/* A sub-domain: a store over ranges, outermost first. Nothing is left to decide about the axes before
 * `level`. The size of an axis may depend on the axes outside it. */
typedef struct peel_domain {
  ir_ref store;
  uint32_t level, axis_count;
  uint32_t slanted_left; /* how many more splits may be at indices that depend on other axes */
  bool boxes;            /* split only at comparisons of one axis with a constant */
  bool revisit;          /* second visit: no third one follows */
  ir_ref axes[MAX_NEST];
} peel_domain;

/* An axis split into intervals: interval i begins at start[i], the first at 0, and ends where the next one
 * begins. Starts ascend; they may lie outside the axis and are then clamped to it. On interval i the node has
 * value[i]. */
typedef struct peel_breakpoints {
  ir_ref node; /* 0: none */
  uint32_t count;
  ir_ref start[PEEL_INTERVALS], value[PEEL_INTERVALS]; /* value 0: not decided there */
} peel_breakpoints;

/* Breakpoints of a comparison, a quotient of few values or an extremum of two indices that the axis at the
 * sub-domain's level decides, or decides nearly everywhere. False: there is none. */
bool peel_find_breakpoints(ir_graph *g, const peel_domain *p, peel_breakpoints *out);
/* Breakpoints of the only comparison, where it depends on the axis and on terms of a reduction: it holds for
 * all terms, for none, or is left to be tested. */
bool peel_find_end(ir_graph *g, const peel_domain *p, peel_breakpoints *out);
/* Every index of the axis as an interval, if these are few and something undecided depends on the axis. */
bool peel_find_points(ir_graph *g, const peel_domain *p, peel_breakpoints *out);
bool peel_is_extremum(const ir_graph *g, ir_ref node); /* a minimum or maximum of two indices? */
/* Does the start of an interval depend on another axis? */
bool peel_is_slanted(ir_graph *g, const peel_breakpoints *breakpoints);

/* A quotient of many values: node = (coefficient*axis + rest)//divisor, where rest does not depend on the
 * axis. */
typedef struct peel_quotient {
  ir_ref node, offset;
  int64_t coefficient, divisor;
} peel_quotient;
bool peel_find_quotient(ir_graph *g, const peel_domain *p, peel_quotient *out);
/* The first index of the axis at which the quotient, walking along the axis, reaches `value`. */
ir_ref peel_quotient_start(ir_graph *g, const peel_quotient *q, ir_ref value);

/* Bounds of an attempt: the number of sub-domains and, on the way to each, of splits at indices that depend
 * on other axes. */
typedef struct peel_budget {
  uint32_t domains, slanted;
  bool boxes;        /* split only at comparisons of one axis with a constant */
  bool revisit;      /* conditions of outer axes that inner splits have left are decided in a second visit */
  bool split_points; /* an axis of few indices is split into single ones where something undecided depends on
                        it */
} peel_budget;

typedef struct peeler {
  ir_graph *g;
  peel_budget bounds;
  ir_ref done[MAX_DOMAINS];
  uint32_t done_count;
  peel_domain to_revisit[MAX_DOMAINS]; /* to be revisited after all others, in loops of their own */
  uint32_t revisit_count;
  peel_domain pending[MAX_DOMAINS]; /* a stack; the next sub-domain in order is on top */
  uint32_t pending_count;
  int64_t next_range;
  size_t largest;  /* most nodes of all sub-domains together */
  uint64_t budget; /* the value of g->budget_spent that ends the attempt */
  bool joins;      /* many arrays */
  bool gave_up;    /* over a bound, or a sub-domain would be stored without points: the attempt is given up */
} peeler;

/* subdomain.c: changes of a sub-domain; false, or 0, on failure. */
ir_ref peel_fresh(peeler *s, ir_ref extent); /* a new range; the constant 0 where the extent is 1 */
/* Replaces the axis at the sub-domain's level by `axes`; `position` is its index in terms of these. Constants
 * among them are no axes. */
bool peel_replace_axis(peeler *s, peel_domain *p, ir_ref position, const ir_ref *axes, uint32_t count);
/* Replaces loads that are valid nowhere by their fill values. */
bool peel_drop_loads(peeler *s, peel_domain *p);
bool peel_has_room(const peeler *s, const peel_domain *p); /* for the intervals of one more split */
/* Pushes the sub-domains that this one is split into. peel_split_quotient: *taken is false where it changes
 * nothing. */
bool peel_split_at(peeler *s, peel_domain *p, const peel_breakpoints *breakpoints);
bool peel_split_quotient(peeler *s, peel_domain *p, const peel_quotient *q, bool *taken);

#endif
