/* Which loop each node of a kernel belongs to.
 *
 * A node is evaluated in the body of the innermost loop whose range or carried value it depends on; effects
 * stay where they are written. Loops are named by their LOOP node; 0 is the kernel's own body. Any graph is
 * accepted; the first use of a value outside the loop that the value belongs to is reported. Nothing
 * recurses. */
#ifndef VIEWFOLD_IR_REGIONS_H
#define VIEWFOLD_IR_REGIONS_H

#include "ir/ir.h"

typedef struct ir_regions {
  const ir_mem *mem;
  size_t limit;    /* size of the three tables below, which are indexed by ref and set for 0 and the nodes in
                      `order` */
  ir_ref *region;  /* the loop in whose body the node is evaluated */
  ir_ref *loop_of; /* of a RANGE: the loop that binds it, or 0 */
  ir_ref *shared;  /* of a RANGE: a second loop that binds it, or 0 */
  ir_ref *order;   /* every node reachable from the root, sources first, in the order in which the root needs
                      them */
  size_t count, cap;
  ir_ref escape_user, escape; /* the first node that uses a value outside its loop, and the value; 0: none */
} ir_regions;

/* Fills *out, whose old contents do not count, with memory of graph->mem. Fails, in the graph's error too,
 * only where memory is short; *out is then all zero. Values used outside their loop are no failure: see
 * `escape`. */
ir_status ir_regions_find(const ir_graph *graph, ir_ref root, ir_regions *out);
/* Frees the tables and clears *regions, which may be all zero. */
void ir_regions_free(ir_regions *regions);

/* Is it a LOOP of a range and either one effect, or pairs of initial and next values that an effect may
 * follow? */
bool ir_is_loop(const ir_graph *graph, ir_ref ref);
/* k for a loop with k carried values; 0 for a loop that runs for its effect */
uint32_t ir_loop_carries(const ir_graph *graph, ir_ref loop);
/* The effect that each iteration has before its next values are computed; without carried values, the whole
 * body; 0: none */
ir_ref ir_loop_effect(const ir_graph *graph, ir_ref loop);
/* The LOOP over threads of a KERNEL: its outermost one, but for serial loops that run nothing else, whose
 * iterations come one after the other for each thread by itself. 0: none. */
ir_ref ir_thread_loop(const ir_graph *graph, ir_ref kernel);
/* The loop whose body the node belongs to. */
static inline ir_ref ir_region_of(const ir_regions *regions, ir_ref ref) { return regions->region[ref]; }

#endif
