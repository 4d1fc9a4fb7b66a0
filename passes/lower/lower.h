/* The folder passes/lower. Lowering.
 *
 *   in      a graph of all operations
 *   out     one of primitive operations; later, for kernels, elementary functions written out
 *   holds   later passes see no composite operations, no sorting and no cumulative operations; long
 *           reductions are in two steps */

/* The passes of this folder, and operations whose primitive form has a file of its own. There x is the
 * operand, already lowered. */
#ifndef VIEWFOLD_PASSES_LOWER_LOWER_H
#define VIEWFOLD_PASSES_LOWER_LOWER_H

#include "ir/cause.h"
#include "passes/passes.h"
#include "passes/strategy.h"

/* known_sizes.c: variables of one value become numbers, in results and inputs, inside functions as well;
 * there are no batches. Replaces the roots; false on failure. */
bool pass_has_known_sizes(ir_graph *g);
bool pass_known_sizes(ir_graph *g, ir_ref *roots, size_t n);

/* scan_fusion.c: scans with the same operands, state and trip count become one. Returns the new TUPLE of
 * results; 0 on failure. */
ir_ref pass_fuse_scans(ir_graph *g, ir_ref results);

/* lower.c: composite tensor operations become primitive ones, inside functions as well. sorts: the target's
 * (ir/target.h). Returns the new TUPLE of results; 0 on failure. */
ir_ref pass_lower(ir_graph *g, ir_ref results, const pass_strategy *strategy, bool sorts);

/* reduction_order.c: reductions of transposed views in the order of memory, with what they leave permuted.
 * Returns the new TUPLE of results; 0 on failure. */
ir_ref pass_order_reductions(ir_graph *g, ir_ref results);

/* result_order.c: products with the views of their results before them, where these move the innermost axis.
 * Returns the new TUPLE of results; 0 on failure. */
ir_ref pass_order_results(ir_graph *g, ir_ref results);

/* integer_sums.c: sums of products of dequantized bytes, in integers. Returns the new TUPLE of results; 0 on
 * failure. */
ir_ref pass_integer_sums(ir_graph *g, ir_ref results);

/* split_reduction.c: long reductions in two steps, but for sums of products that are computed in tiles.
 * Returns the new TUPLE of results; 0 on failure. */
ir_ref pass_split_reductions(ir_graph *g, ir_ref results, const pass_strategy *strategy);

/* elementary.c: elementary functions become the operations that define them. */
ir_ref pass_elementary(ir_graph *g, ir_ref store);

ir_ref pass_lower_cumulative(ir_graph *g, ir_ref node, ir_ref x); /* CUMSUM CUMPROD CUMMAX CUMMIN */
ir_ref pass_lower_sort(ir_graph *g, ir_ref node, ir_ref x);       /* SORT ARGSORT */
/* sort.c: the first elements that a SHRINK takes of a SORT, gathered by indices that are sorted instead; and
 * the first one alone of a SORT or an ARGSORT, by argmax or argmin. 0: it takes others, or too many, or
 * fails. x: the operand of either, lowered. */
ir_ref pass_lower_first_sorted(ir_graph *g, ir_ref shrink, ir_ref x);

/* scatter.c: SCATTER and SCATTER_ADD as an ASSIGN, and an ASSIGN of f16 and bf16 that adds in f32. `at`: its
 * indices, or its target; all operands are lowered. */
ir_ref pass_lower_scatter(ir_graph *g, ir_ref node, ir_ref x, ir_ref at, ir_ref updates);

/* known_gather.c: a GATHER of x, whose indices are literals in steps, as a view. 0: they are others, or it
 * fails. */
ir_ref pass_lower_known_gather(ir_graph *g, ir_ref gather, ir_ref x);

/* scan_slices.c: a SCAN whose operands are lowered, without slices of those that are the same in each
 * iteration; 0 on failure. */
ir_ref pass_lower_scan(ir_graph *g, ir_ref scan);

/* reduce_before_repeating.c: a maximum or minimum over several axes whose operand views repeat: over one axis
 * before they do, stored, then over the others. The node itself where this gains little; 0 on failure. */
ir_ref lower_reduce_before_repeating(ir_graph *g, ir_ref one);

/* split_reduction.c: place[i]: the place of axis i of x in memory order, 0 for the outermost, as far as
 * permutations tell. */
void lower_places(const ir_graph *g, ir_ref x, uint32_t *place);
/* Does the view have another innermost axis, of those of more than one element, than memory? */
bool lower_transposes(ir_graph *g, ir_ref view);

/* reduction_order.c: is the reduction a sum of products of two operands, which tiles compute in an order of
 * their own? Squares are products of a value with itself: they have no tiles, and go in the order of memory.
 */
bool lower_is_contraction(ir_graph *g, ir_ref reduce);
/* The same: elements have the axes of one permutation, `view`; does another one bring them back in the order
 * of its operand? */
bool lower_brings_back(ir_graph *g, ir_ref permute, ir_ref view);

/* materialize.c: sets stored[r] for those of the live nodes, all of them below `nodes`, of which a copy is
 * worth its pass over memory. rows_bytes: what rows that are processed together may take. False when memory
 * is short. */
bool pass_find_copies(ir_graph *g, const ir_ref *live, size_t count, size_t nodes, int64_t rows_bytes,
                      bool *stored);

/* centred_sums.c: sums of x over a set of axes, and of the squares of its deviations `off` from a mean */
/* Variances of one graph that are computed by blocks [1 in the workloads]; further ones take two passes. */
enum { LOWER_CENTRED = 64 };
typedef struct lower_centred {
  ir_ref x, off, mean;
  uint32_t axes;
  int64_t elements; /* of a block */
  bool wanted;      /* x or off has other uses */
} lower_centred;

typedef struct lower_centreds {
  lower_centred found[LOWER_CENTRED];
  uint32_t count;
} lower_centreds;

/* Finds those among the live nodes that are better computed block by block. */
void pass_find_centred(ir_graph *g, const ir_ref *live, size_t count, lower_centreds *out);
/* If `old` is one of these sums or means: *terms is what remains to be summed over the set of axes *outer; 0
 * on failure. map: by old node, the new one. False if `old` is none of them. */
bool pass_lower_centred(ir_graph *g, const lower_centreds *all, ir_ref old, const ir_ref *map, ir_ref *terms,
                        uint32_t *outer);

#endif
