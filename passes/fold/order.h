/* The order of loops in which a write may read what it replaces (order.c). Internal to folding. */
#ifndef VIEWFOLD_PASSES_FOLD_ORDER_H
#define VIEWFOLD_PASSES_FOLD_ORDER_H

#include "ir/ir.h"

/* Axes of a write, outermost first. ordered: the loop over the axis goes step by step, from its end if
 * `backwards`. */
typedef struct fold_order {
  uint32_t axes[IR_MAX_RANK];
  bool ordered[IR_MAX_RANK], backwards[IR_MAX_RANK]; /* by axis */
  bool any;                                          /* is there an ordered axis? */
} fold_order;

enum { FOLD_MOST_LOADS = 16 /* of what a write replaces [3 in the tests]: of more, it is stored first */ };

/* How many loads the effect, a STORE or an UPDATE, makes from the buffer it changes, other than of the
 * element that it is about to replace, and other than of those that it never replaces. In loads[], which has
 * room for FOLD_MOST_LOADS; a greater number if there are more, or after failing. (overwritten.c) */
uint32_t fold_loads_replaced(ir_graph *g, ir_ref effect, ir_ref *loads);
/* An order of the loops over the ranges at[0..rank), by axis (a constant where the axis has one element), in
 * which each of these loads comes before the store that replaces its element. False where there is none, or
 * it is not found. */
bool fold_find_order(ir_graph *g, ir_ref effect, const ir_ref *loads, uint32_t count, const ir_ref *at,
                     uint32_t rank, fold_order *out);
/* Is each of these loads before the store that replaces its element, in the order of the effect's ranges? */
bool fold_is_in_order(ir_graph *g, ir_ref effect, const ir_ref *loads, uint32_t count);

#endif
