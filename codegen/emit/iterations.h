/* In which intervals the indices of a kernel lie in each iteration of the loop bound to threads. */
#ifndef VIEWFOLD_CODEGEN_EMIT_ITERATIONS_H
#define VIEWFOLD_CODEGEN_EMIT_ITERATIONS_H

#include "ir/ir.h"

typedef struct cg_interval {
  int64_t lo, hi; /* both belong to it */
} cg_interval;

/* Iterations are grouped by a digit of their number: (i % period) / divisor. The divisors in indices say
 * which digits there may be. */
enum { CG_MOST_DIVISORS = 8 }; /* because 4 are the most that were measured, and 64 pairs are tried of 8 */
typedef struct cg_iterations {
  ir_graph *g;
  ir_ref threads; /* the range; 0: there is none, or its extent is not known */
  int64_t count;
  ir_ref *nodes; /* that the indices consist of and that vary with the iteration, sources first */
  size_t node_count, node_cap;
  cg_interval *value; /* by ref, of an iteration */
  bool *varies;       /* by ref */
  int64_t divisors[CG_MOST_DIVISORS];
  uint32_t divisor_count;
} cg_iterations;

/* False: the kernel has no such loop, or one whose extent is not known or below 2. */
bool cg_iterations_begin(cg_iterations *it, ir_graph *graph, ir_ref kernel);
/* Looks at indices; false: nothing is known of them, or, with an error, memory is short. */
bool cg_iterations_look(cg_iterations *it, const ir_ref *indices, uint32_t count, ir_error *error);
/* Sets it->value of all nodes of the indices in an iteration; false: some are too large. */
bool cg_iterations_evaluate(cg_iterations *it, int64_t iteration);
void cg_iterations_add_divisor(cg_iterations *it, int64_t divisor);
void cg_iterations_free(cg_iterations *it);

/* The interval that both lie in. */
static inline cg_interval cg_hull(cg_interval a, cg_interval b) {
  return (cg_interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}
/* The hull of by_iteration[i] for all i whose digit has the value. */
cg_interval cg_hull_of_digit(const cg_iterations *it, const cg_interval *by_iteration, int64_t divisor,
                             int64_t period, int64_t value);

#endif
