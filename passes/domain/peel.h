/* Inside peeling: one piece of a kernel's iteration space, and how an axis of it is cut (breakpoints.c). */
#ifndef VIEWFOLD_PASSES_DOMAIN_PEEL_H
#define VIEWFOLD_PASSES_DOMAIN_PEEL_H

#include "passes/loops/loops.h"

enum { PEEL_INTERVALS = 5, MAX_DOMAINS = 48 };

/* A store over ranges, outermost first; those before `level` are settled, and nothing about them is left to
 * decide. The size of an axis may depend on the axes outside it. */
typedef struct peel_domain {
  ir_ref store;
  uint32_t level, axis_count;
  uint32_t slanted_left; /* cuts and runs, from here on, whose positions may depend on other axes */
  bool boxes;            /* only comparisons of its axis with numbers count */
  bool revisit;          /* seen before: what inner axes left to outer ones has had its turn */
  ir_ref axes[MAX_NEST];
} peel_domain;

/* An axis in segments that follow one another: segment i begins at start[i], the first at 0, and ends where
 * the next begins. Starts may lie outside the axis and are clamped to it; they ascend. On segment i the node
 * has value[i]. */
typedef struct peel_breakpoints {
  ir_ref node; /* 0: none */
  uint32_t count;
  ir_ref start[PEEL_INTERVALS], value[PEEL_INTERVALS]; /* value 0: undecided here */
} peel_breakpoints;

/* A comparison, or a quotient that takes few values, that the piece's axis at its level decides, or decides
 * nearly everywhere. */
bool peel_find_breakpoints(ir_graph *g, const peel_domain *p, peel_breakpoints *out);
/* The positions of the axis, one by one, if these are few and something undecided depends on it. */
bool peel_find_points(ir_graph *g, const peel_domain *p, peel_breakpoints *out);
bool peel_is_slanted(ir_graph *g,
                     const peel_breakpoints *breakpoints); /* do positions depend on other axes? */

/* A quotient node = (coefficient*axis + rest)//divisor of many values, rest free of the axis. */
typedef struct peel_quotient {
  ir_ref node, rest;
  int64_t coefficient, divisor;
} peel_quotient;
bool peel_find_quotient(ir_graph *g, const peel_domain *p, peel_quotient *out);
/* The first position of the axis at which the quotient, counted along the axis, has reached `value`. */
ir_ref peel_quotient_start(ir_graph *g, const peel_quotient *q, ir_ref value);

/* How far peeling goes. */
typedef struct peel_budget {
  uint32_t domains, slanted;
  bool boxes;   /* cut only where a comparison of one axis with a number says */
  bool revisit; /* what cuts further in leave of outer axes is cut, too */
  bool apart;   /* an axis of few positions is taken apart where quotients or conditions know it */
} peel_budget;

typedef struct peeler {
  ir_graph *g;
  peel_budget most;
  ir_ref done[MAX_DOMAINS];
  uint32_t done_count;
  peel_domain late[MAX_DOMAINS]; /* to be seen again, after all others: nobody shares their loops */
  uint32_t late_count;
  peel_domain pending[MAX_DOMAINS]; /* a stack; the next piece in order on top */
  uint32_t pending_count;
  int64_t next_range;
  size_t largest;  /* nodes of all pieces together */
  uint64_t budget; /* of the graph's, where this ends */
  bool unfit;      /* too large or too dear, or a piece would be stored too often: another effort has to do */
} peeler;

/* subdomain.c: what is done to a piece; false, or 0, on failure. */
ir_ref peel_fresh(peeler *s, ir_ref extent); /* the next range; a constant where there is one position */
/* The axis at the piece's level walks `axes` instead, at `position` in terms of these; constants are no axes.
 */
bool peel_replace_axis(peeler *s, peel_domain *p, ir_ref position, const ir_ref *axes, uint32_t count);
bool peel_drop_loads(peeler *s, peel_domain *p); /* loads that are valid nowhere are what they are then */
bool peel_has_room(const peeler *s, const peel_domain *p); /* for the segments of one more cut */
/* The pieces that take this one's place go on the stack. */
bool peel_split_at(peeler *s, peel_domain *p, const peel_breakpoints *breakpoints);
bool peel_split_quotient(peeler *s, peel_domain *p, const peel_quotient *q, bool *taken);

#endif
