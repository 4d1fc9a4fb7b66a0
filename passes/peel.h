/* Inside peeling: one piece of a kernel's iteration space, and how an axis of it is cut (cut.c). */
#ifndef VIEWFOLD_PASSES_PEEL_H
#define VIEWFOLD_PASSES_PEEL_H

#include "loops.h"

enum { CUT_SEGMENTS = 5 };

/* A store over ranges, outermost first; those before `level` are settled, and nothing about them is left to
 * decide. The size of an axis may depend on the axes outside it. */
typedef struct peel_piece {
  ir_ref store;
  uint32_t level, axis_count;
  uint32_t slanted_left; /* cuts and runs, from here on, whose positions may depend on other axes */
  bool boxes;            /* only comparisons of its axis with numbers count */
  bool again;            /* seen before: what inner axes left to outer ones has had its turn */
  ir_ref axes[MAX_NEST];
} peel_piece;

/* An axis in segments that follow one another: segment i begins at start[i], the first at 0, and ends where
 * the next begins. Starts may lie outside the axis and are clamped to it; they ascend. On segment i the node
 * has value[i]. */
typedef struct peel_cut {
  ir_ref node; /* 0: none */
  uint32_t count;
  ir_ref start[CUT_SEGMENTS], value[CUT_SEGMENTS]; /* value 0: undecided here */
} peel_cut;

/* A comparison, or a quotient that takes few values, that the piece's axis at its level decides, or decides
 * nearly everywhere. */
bool peel_find_cut(ir_graph *g, const peel_piece *p, peel_cut *out);
bool peel_is_slanted(ir_graph *g, const peel_cut *cut); /* do positions depend on other axes? */

/* A quotient node = (coefficient*axis + rest)//divisor of many values, rest free of the axis. */
typedef struct peel_quotient {
  ir_ref node, rest;
  int64_t coefficient, divisor;
} peel_quotient;
bool peel_find_quotient(ir_graph *g, const peel_piece *p, peel_quotient *out);
/* The first position of the axis at which the quotient, counted along the axis, has reached `value`. */
ir_ref peel_quotient_start(ir_graph *g, const peel_quotient *q, ir_ref value);

#endif
