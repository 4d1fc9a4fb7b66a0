/* Which values are computed only once although several values use them, and which are recomputed. */
#ifndef VIEWFOLD_PASSES_PATTERNS_RECOMPUTE_H
#define VIEWFOLD_PASSES_PATTERNS_RECOMPUTE_H

#include "ir/ir.h"

/* The place of a node is the value at whose points its elements are needed. An elementwise operation needs
 * its operands at its own points, so they have its place; stored values, views and reductions are places of
 * their own. A value that is needed in several places is recomputed in each, and so is what is fused into it.
 */
typedef struct pass_sharing {
  ir_graph *g;
  ir_ref *place;       /* by node: the place of its users so far; 0 without users */
  uint8_t *recomputed; /* by node: is it recomputed? */
  uint32_t *seen;      /* by node: the last walk that reached it; a new walk begins with walk++ */
  uint8_t *within;     /* by node: its uses by nodes of that walk, saturating */
  uint32_t walk;
  size_t nodes;
} pass_sharing;

/* False when memory is short; pass_sharing_free it all the same. */
bool pass_sharing_init(pass_sharing *s, ir_graph *g, size_t nodes);
void pass_sharing_free(pass_sharing *s);
/* Starts another function: forgets the uses of these nodes. */
void pass_sharing_begin(pass_sharing *s, const ir_ref *nodes, size_t count);
/* Records how r uses its operands. Every user of r must have been recorded before. */
void pass_sharing_use(pass_sharing *s, ir_ref r, bool stored, bool elementwise);

#endif
