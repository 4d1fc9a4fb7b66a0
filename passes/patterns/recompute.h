/* Which values a kernel may compute once although several of its values use them. */
#ifndef VIEWFOLD_PASSES_PATTERNS_RECOMPUTE_H
#define VIEWFOLD_PASSES_PATTERNS_RECOMPUTE_H

#include "ir/ir.h"

/* The place of a node is the value whose elements need it, one by one: an elementwise operation needs its
 * operands where it is needed itself, so they have its place; what is stored, a view and a reduction are
 * places of their own. A value that is used in several places is computed again for each, and so is what is
 * fused into it. */
typedef struct pass_sharing {
  ir_graph *g;
  ir_ref *place;       /* by node: where its users so far need it; 0 without users */
  uint8_t *recomputed; /* by node: is it computed again? */
  uint32_t *seen;      /* by node: the walk that met it last */
  uint8_t *within;     /* by node: its uses by what that walk met, saturating */
  uint32_t walk;
  size_t nodes;
} pass_sharing;

/* False when memory is short; free it all the same. */
bool pass_sharing_init(pass_sharing *s, ir_graph *g, size_t nodes);
void pass_sharing_free(pass_sharing *s);
/* For the nodes of another function, as if nothing had been taken in of them. */
void pass_sharing_begin(pass_sharing *s, const ir_ref *nodes, size_t count);
/* Take in how r uses its operands; every user of r was taken in before. */
void pass_sharing_use(pass_sharing *s, ir_ref r, bool stored, bool elementwise);

#endif
