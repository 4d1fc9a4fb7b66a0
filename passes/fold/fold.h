/* The folder passes/fold. Folding.
 *
 *   in      a step of the plan: the tensor values of one kernel
 *   out     STOREs whose values are scalar expressions over ranges
 *   holds   every view has become index arithmetic; a load reads only where its mask holds */

/* Internal to folding: kernels of one value (fold.c, indirect.c) and fused row groups (fused.c, key_blocks.c,
 * causal_end.c). */
#ifndef VIEWFOLD_PASSES_FOLD_FOLD_H
#define VIEWFOLD_PASSES_FOLD_FOLD_H

#include "ir/plan.h"
#include "passes/view/index_map.h"

/* The slots of tensor nodes: a table by node, entries slot + 1, 0 for values that are not in memory. */
typedef struct pass_slots {
  const uint32_t *slot_of;
  size_t count;
  uint32_t *params; /* out: slots in the order of the kernel's PARAMs; room for every slot */
  uint32_t param_count;
  bool serial;  /* may the loops of a write have an order, so that it reads before it replaces? */
  bool refused; /* out: a row group may read a local where its iteration has not computed it */
} pass_slots;

/* fold.c: the effect of a kernel that computes one tensor value: STORE(param 0, index, value) over a range
 * for each axis, with reductions as REDUCE nodes and no views. Param 0 is the target slot. A target that is
 * not the value's own slot gets a copy. A write into its own slot, which holds its first operand by then,
 * becomes a STORE or UPDATE(param 0, index, valid, value, ranges). 0 after failing. */
ir_ref pass_fold(ir_graph *g, ir_ref value, uint32_t target, pass_slots *slots);
/* fused.c: the same for the values of a fused row group: one STORE after the other. The first range, over the
 * iterations of the group, is common to all. Values that later ones read lie in LOCALs. 0 after failing, and,
 * without a message, where slots->refused. */
ir_ref pass_fold_row_group(ir_graph *g, const ir_row_group *row_group, pass_slots *slots);
/* overwritten.c: does a write, as far as it reads its first operand, read only elements that it
 * replaces by what it computes of them, or does not replace? Then it may change the memory of that operand.
 * slot_of: the table of `slots`, which is the same afterwards. False after failing, too. */
bool fold_only_overwritten(ir_graph *g, ir_ref write, uint32_t target, pass_slots *slots, uint32_t *slot_of);
/* Drops parameters that nothing under root reads, and renumbers the others; 0 when memory is short. */
ir_ref pass_drop_params(ir_graph *g, ir_ref root, pass_slots *slots);
/* The access that a chain of views makes to its leaf: index and validity over ranges ridx0.. of the chain's
 * axes. False on failure. */
bool pass_fold_chain(ir_graph *g, ir_ref chain, ir_ref *index, ir_ref *valid);

/* The range over the iterations of a fused row group, given its effect; 0 for the effect of another kernel.
 */
ir_ref pass_row_group_range(ir_graph *g, ir_ref effect);
/* The ranges for each index of which LOCALs are filled anew: the one over iterations and, if there is one,
 * the one over blocks of keys. Returns how many. */
enum { PASS_ROW_GROUP_RANGES = 2 }; /* these two */
uint32_t pass_row_group_ranges(ir_graph *g, ir_ref effect, ir_ref ranges[PASS_ROW_GROUP_RANGES]);
/* Have all iterations over `size` rows the same number of rows, if the last one may overlap the one before?
 */
bool pass_row_group_is_even(ir_graph *g, ir_ref size, int64_t rows);

/* causal_end.c: the effect of a fused row group without the keys that no row of an iteration looks at. The
 * effect as it is where there are none or this is not proven, and where keys come in blocks; 0 on failure. */
ir_ref pass_row_group_mask(ir_graph *g, ir_ref effect);

struct fold_row_group;

/* One demand in progress (fold.c). It is resumed when all the demands that it waits for have answers. */
typedef struct fold_frame {
  ir_ref key;       /* TUPLE(node, valid, index...) */
  uint32_t awaited; /* demands that it waits for, at folder.keys[first_key...] */
  size_t first_key;
  int state;
  ir_ref ranges[IR_MAX_RANK]; /* over the reduced axes of a reduction */
  uint32_t range_count;
} fold_frame;

/* An entry of a hash table by ref. */
typedef struct fold_answer {
  ir_ref key, value; /* key 0: empty */
} fold_answer;

typedef struct folder {
  ir_graph *g;
  pass_slots *slots;
  const struct fold_row_group *row_group; /* NULL: the kernel computes one value */
  ir_ref output;                 /* the value that the kernel computes: not to be read from its slot */
  ir_ref leaf_index, leaf_valid; /* of the last access, for chains */
  fold_answer *answers; /* a hash table: clearing one of the graph's size would cost each kernel as much */
  size_t answer_count, answer_cap; /* cap: a power of two; at most half of the entries are in use */
  fold_frame *stack;
  size_t depth, stack_cap;
  ir_ref *keys; /* what all frames on the stack wait for */
  size_t key_count, key_cap;
  int64_t next_range;
  bool failed;
} folder;

/* The scalar value of a node at a point; 0 on failure. */
ir_ref fold_at(folder *f, ir_ref node, const pass_point *p);
/* Is the value read from its slot? */
bool fold_in_memory(const folder *f, ir_ref node);
/* The PARAM for a slot, of the node's dtype and size; a new one where the kernel has none yet. */
ir_ref fold_param(folder *f, ir_ref node, uint32_t slot);
/* A new range; the constant 0 where the extent is 1. */
ir_ref fold_range(folder *f, ir_ref extent);
/* Ranges ridx0.. over the axes of the node, which are the first of the kernel. */
pass_point fold_output_point(folder *f, ir_ref node);
/* sum_axes.c: the value, or a reshape of it over whose axes the kernel runs; 0 on failure. */
ir_ref fold_over_sum_axes(folder *f, ir_ref value);
void fold_discard_answers(folder *f); /* discards all answers */
void folder_free(folder *f);

/* Called for the demand on top of the stack. fold_ask: waits for the value of a node at a point, needed where
 * `valid` holds. fold_reply: the value asked for as number i, once all have answers. */
void fold_ask(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p);
ir_ref fold_reply(const folder *f, const fold_frame *fr, uint32_t i);
ir_ref fold_zero(folder *f, ir_dtype dtype);
/* `value` where `inside` holds, else `fill`. */
ir_ref fold_filled(folder *f, ir_ref inside, ir_ref value, ir_ref fill);

/* indirect.c: the value of a gather; 0 where it has to wait, or after failing. */
ir_ref fold_gather(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p);
/* Is an integer read at run time an index of the axis? Negative ones count from its end. */
ir_ref fold_in_axis(folder *f, ir_ref index, ir_ref size);

/* assign.c: the effect of a write: a STORE where the target names each element once and has no padding, or
 * else an UPDATE. The buffer holds the first operand by then. */
ir_ref fold_assign(folder *f, ir_ref node, ir_ref param);

/* fused.c: the load of a value that an earlier effect of the row group has put into its local; 0: there is
 * none, or on failure. */
ir_ref fold_local(folder *f, ir_ref node, ir_ref valid, const pass_point *p);

#endif
