/* The folder passes/propagate. Specs of all values, from those of some.
 *
 *   in      a graph, its mesh, and specs of some of its values
 *   out     a spec of each value that open dimensions may have, so that little moves
 *   holds   dimensions that are closed stay as given; the time depends on operations and on axes of the mesh,
 *           not on the number of devices */

/* Propagation of specs: collect, resolve, update, to a fixed point, forwards and backwards.
 *
 * Each operation has factors (passes/ops/sharding), and so has a chain of views, by the axis below that its
 * index follows. A step of an operation collects what divides each of its factors, in operands first, then
 * in results; resolves it to one list of axes for each; and updates dimensions that are open and have a
 * beginning of that list. So dimensions only gain axes, and each change costs the steps of those operations
 * alone that have the value.
 *
 * What is stronger is propagated first: smaller priorities before larger ones; operations that pass axes on
 * before contractions, reductions and those that move data anyway; the first before later ones.
 * Of axes that contradict each other at equal priority those win whose loss would move more bytes, then
 * those of the earlier operand; each such choice is a note.
 *
 * Inputs that have no spec are open, as are all other values without one. */
#ifndef VIEWFOLD_PASSES_PROPAGATE_PROPAGATE_H
#define VIEWFOLD_PASSES_PROPAGATE_PROPAGATE_H

#include "ir/mesh/sharding.h"

/* Axes of a factor that lost against others. */
typedef struct propagate_note {
  ir_ref node; /* the operation */
  char factor[16], winner[16];
  uint16_t priority;
  ir_ref loser;       /* the value that is divided otherwise before the operation */
  ir_subaxis axes[2]; /* the first that the winner and the loser want */
  double bytes;       /* that move because of it */
} propagate_note;

typedef struct propagate_notes {
  propagate_note *notes;
  size_t count, cap;
} propagate_notes;

/* Two values of one shape that are to be divided alike. */
typedef struct propagate_pair {
  ir_ref a, b;
} propagate_pair;

/* Gives specs to values that are reachable from the root and open: ir_set_spec. notes: from g->mem; free with
 * propagate_notes_free. False after failing. */
bool pass_propagate(ir_graph *g, ir_ref root, const propagate_pair *alike, size_t alike_count,
                    propagate_notes *notes);
void propagate_notes_free(const ir_graph *g, propagate_notes *notes);

#endif
