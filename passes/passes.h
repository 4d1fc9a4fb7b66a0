/* The compiler between recording and code generation: graph -> plan of kernels. pipeline.c is its table of
 * contents. */
#ifndef VIEWFOLD_PASSES_PASSES_H
#define VIEWFOLD_PASSES_PASSES_H

#include "ir/plan.h"
#include "ir/target.h"
#include "ir/timer.h"

/* Called after each pass with what it left: root is a TUPLE of tensors for passes over the graph (kernel -1),
 * otherwise the kernel of the step of that number. */
typedef void (*pass_observer)(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel);

/* Moves from outside in place of those of the cost model, and news of those that were taken, nest by nest (as
 * text: passes/loops/moves.c). Kernels are counted by kernel steps, nests within a kernel in the order of shaping.
 * Each function may be NULL. */
typedef struct pass_shaping {
  void *user;
  void (*enter)(void *user, uint32_t kernel, const ir_graph *g, ir_ref effect); /* what is to be shaped */
  const char *(*given)(void *user, uint32_t kernel, uint32_t nest);             /* NULL: none are given */
  void (*taken)(void *user, uint32_t kernel, uint32_t nest, const char *moves);
  void (*offered)(void *user, uint32_t kernel, uint32_t nest,
                  const char *moves); /* in place of those taken: each of what passes/loops/neighbours.c finds near */
  void (*refused)(void *user, uint32_t kernel,
                  ir_error *error); /* there are no such loops, or the verifier refuses them: says so */
  uint32_t kernel;                  /* the one at hand */
} pass_shaping;

typedef struct pass_options {
  const ir_target *target;
  const ir_ref *inputs; /* leaves that get the first slots, in this order, used or not */
  size_t input_count;
  pass_observer observer; /* may be NULL */
  void *user;
  bool verify;           /* run the verifier after every pass */
  pass_shaping *shaping; /* or NULL */
  const ir_timer *timer; /* may be NULL */
} pass_options;

typedef struct pass_info {
  const char *name, *needs, *establishes;
} pass_info;
extern const pass_info pass_table[];
extern const size_t pass_count;

/* Compile the results (a TUPLE of tensors) down to a plan whose kernel steps hold KERNEL nodes of g. */
ir_status pass_pipeline(ir_graph *g, ir_ref results, const pass_options *options, ir_plan *plan,
                        ir_error *error);

/* passes/batch/physicalize.c: batch axes become ordinary leading axes. Replaces each root (a TUPLE of tensors, or a leaf)
 * by what it is then; a graph without batches stays as it is. False after failing. */
bool pass_physicalize(ir_graph *g, ir_ref *roots, size_t n);
/* Has the operation a rule of its own for that? Otherwise its operands and attributes gain the axes in front.
 */
bool pass_batches_by_rule(ir_op op);
/* What an INPUT or BUFFER is then: the leaf of the same name, or serial number, without a batch. */
ir_ref pass_physical_leaf(ir_graph *g, ir_ref leaf);

/* passes/lower/scan_fusion.c: scans that go through the same rounds become one. Returns the new TUPLE of results; 0 after
 * failing. */
ir_ref pass_unite(ir_graph *g, ir_ref results);

/* passes/lower/lower.c: composite tensor operations become primitive ones, inside functions as well. Returns the new TUPLE
 * of results. */
ir_ref pass_lower(ir_graph *g, ir_ref results, const ir_target *target);

/* passes/pack/pack.c: operands of contractions copied into the order in which their tiles read them, where that pays.
 * Returns the new TUPLE of results; 0 after failing. */
ir_ref pass_pack(ir_graph *g, ir_ref results, const ir_target *target);

/* passes/batch_stream/batch_stream.c: large products of which one element of a batch is needed at a time become scans over the batch.
 * Returns the new TUPLE of results; 0 after failing. */
ir_ref pass_parts(ir_graph *g, ir_ref results, const ir_target *target);

/* passes/fuse/stored.c: choose which values live in memory; one kernel step for each computed one, kernel field = its
 * tensor node, and steps for the nodes that call functions. `apart`: by node up to the results, 1 for those
 * that no slab may compute; NULL: there are none. */
ir_status pass_schedule(ir_graph *g, ir_ref results, const ir_target *target, const ir_ref *inputs,
                        size_t input_count, const uint8_t *apart, ir_plan *plan, ir_error *error);

/* Which slot holds a tensor node: a table by node id, entries slot+1, 0 for values that are not in memory. */
typedef struct pass_slots {
  const uint32_t *slot_of;
  size_t count;
  uint32_t *params; /* out: slots in order of the kernel's PARAMs; room for every slot */
  uint32_t param_count;
  bool refused; /* out: of a slab it cannot be shown that it reads what its own round computes */
} pass_slots;

/* passes/fold/fold.c: the tensor value with one range per axis, views gone: STORE(param 0, index, value), with reductions
 * as REDUCE nodes. Param 0 is the target slot; where that is not the value's own, the value is stored as it
 * is. Of a scatter, into its own slot: UPDATE(param 0, index, valid, value, ranges), on top of its first
 * operand. */
ir_ref pass_fold(ir_graph *g, ir_ref value, uint32_t target, pass_slots *slots);
/* passes/fold/fused.c: the same for the values of a slab: one STORE after the other, over ranges of which the first
 * one, over the rounds of the slab, is that of all. What later ones read lies in LOCALs. 0 after failing,
 * and, without a message, where slots->refused. */
ir_ref pass_fold_slab(ir_graph *g, const ir_slab *slab, pass_slots *slots);
/* Parameters that nothing under root reads any more go, and the others move up; 0 when memory is short. */
ir_ref pass_drop_params(ir_graph *g, ir_ref root, pass_slots *slots);
/* The access that a chain of views makes into its leaf: index and validity over ranges ridx0.. of the chain's
 * axes. */
bool pass_fold_chain(ir_graph *g, ir_ref chain, ir_ref *index, ir_ref *valid);

/* passes/lower/elementary.c: elementary functions become the operations that define them. */
ir_ref pass_elementary(ir_graph *g, ir_ref store);

/* The range over the rounds of a slab, given its effect; 0 for the effect of another kernel. */
ir_ref pass_slab_range(ir_graph *g, ir_ref effect);
/* All ranges for whose positions locals are kept apart: that one, and the one over blocks of keys if there is
 * one. Returns how many. */
enum { PASS_SLAB_RANGES = 2 };
uint32_t pass_slab_ranges(ir_graph *g, ir_ref effect, ir_ref ranges[PASS_SLAB_RANGES]);
/* Have all rounds over so many positions the same number of rows, the last one doing some again? */
bool pass_slab_is_even(ir_graph *g, ir_ref size, int64_t rows);

/* passes/fold/causal_end.c: a slab without what lies beyond the last position that its rows look at. */
ir_ref pass_slab_mask(ir_graph *g, ir_ref effect);

/* passes/cost/work.c: bytes moved plus scalar operations of a whole kernel, as an index expression. */
ir_ref pass_work(ir_graph *g, ir_ref store);
/* passes/cost/flops.c: operations on floats (+ - * / % sqrt min max; a fused multiply-add is two) of a whole kernel, each
 * once for every position of the ranges that it depends on. */
ir_ref pass_flops(ir_graph *g, ir_ref effect);
int64_t pass_flops_of(const ir_node *node); /* of one node, once */
/* passes/cost/trip_count.c: how many positions nested ranges have together. An extent that depends on another of them is
 * added up over its positions where these are few enough numbers; otherwise it counts as the most that it can
 * be. */
ir_ref pass_positions(ir_graph *g, const ir_ref *ranges, uint32_t count);

/* passes/domain/peel.c: the store in pieces, a SEQ of STOREs, cut where comparisons of one axis with a number say. */
ir_ref pass_crop(ir_graph *g, ir_ref store);

/* passes/domain/refine.c: each store over other axes, chosen so that indices and masks divide as little as they can. */
ir_ref pass_refine(ir_graph *g, ir_ref effect);

/* passes/domain/peel.c: each store in pieces, so that inside each no mask is left to test and no quotient to compute.
 * Pieces that share their outer ranges share those loops. */
ir_ref pass_peel(ir_graph *g, ir_ref effect);
/* passes/domain/coalesce_rows.c: short rows that lie in pieces become runs again, with loads under masks. */
ir_ref pass_weave(ir_graph *g, ir_ref effect, const ir_target *target);

/* passes/loops/reduce.c: what ADD, MUL, MAX, MIN, AND or OR leaves as it is, in the dtype. */
ir_ref pass_identity(ir_graph *g, ir_op op, ir_dtype t);

/* passes/loops/loops.c: STORE, or a SEQ of them, becomes KERNEL with an explicit loop order. shaping may be NULL. */
ir_ref pass_loops(ir_graph *g, ir_ref store, const ir_target *target, const pass_shaping *shaping);

/* passes/loops/index_width.c: an expression of the KERNEL's variables that has a value, evaluated with overflow noticed,
 * only where all of its index arithmetic fits in 64 bits; a number where bounds show that it does. 0 after
 * failing: for want of memory, or where it fits for no values of the variables. */
ir_ref pass_index_magnitude(ir_graph *g, ir_ref kernel);

#endif
