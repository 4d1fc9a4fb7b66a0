/* Which loop each node of a kernel belongs to.
 *
 * A node is evaluated in the body of the innermost loop whose range or carried value it depends on; effects
 * stay where they are written. Loops are named by their LOOP node; 0 is the kernel's own body. Nothing
 * recursive; any graph is accepted, and the first use of a value outside the loop that it belongs to is
 * reported. */
#ifndef VIEWFOLD_IR_REGIONS_H
#define VIEWFOLD_IR_REGIONS_H

#include "ir/ir.h"

typedef struct ir_regions {
  const ir_mem *mem;
  size_t limit;    /* of the three tables below, by ref: for the nodes in order, and 0 */
  ir_ref *region;  /* the loop in whose body the node is evaluated */
  ir_ref *loop_of; /* of a RANGE: the loop that binds it, or 0 */
  ir_ref *shared;  /* of a RANGE: a second loop that binds it, or 0 */
  ir_ref *order;   /* every node under the root, sources first, in the order in which the root needs them */
  size_t count, cap;
  ir_ref escape_user, escape; /* the first node that uses a value outside its loop, and the value; 0: none */
} ir_regions;

ir_status ir_regions_find(const ir_graph *graph, ir_ref root, ir_regions *out);
void ir_regions_free(ir_regions *regions);

/* A LOOP with a range and either one effect or pairs of initial and next values, behind which there may be an
 * effect. */
bool ir_is_loop(const ir_graph *graph, ir_ref ref);
/* k for a loop of k carried values; 0 for a loop run for its effect */
uint32_t ir_loop_carries(const ir_graph *graph, ir_ref loop);
/* What each round does before its next values are computed, or, without such, all that it does; 0: nothing */
ir_ref ir_loop_effect(const ir_graph *graph, ir_ref loop);
/* The loop that the loop stands in. */
static inline ir_ref ir_region_of(const ir_regions *regions, ir_ref ref) { return regions->region[ref]; }

#endif
