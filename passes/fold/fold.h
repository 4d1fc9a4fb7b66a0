/* The folder passes/fold. Folding.
 *
 *   in      a step of the plan: the tensor values of one kernel
 *   out     STOREs whose values are scalar expressions over ranges
 *   holds   every view has become index arithmetic; a load reads only where its mask holds */

/* Inside folding: the folder, for kernels of one value (fold.c, indirect.c) and of several
 * (fused.c). */
#ifndef VIEWFOLD_PASSES_FOLD_FOLD_H
#define VIEWFOLD_PASSES_FOLD_FOLD_H

#include "ir/plan.h"
#include "passes/view/index_map.h"

/* Which slot holds a tensor node: a table by node id, entries slot+1, 0 for values that are not in memory. */
typedef struct pass_slots {
  const uint32_t *slot_of;
  size_t count;
  uint32_t *params; /* out: slots in order of the kernel's PARAMs; room for every slot */
  uint32_t param_count;
  bool refused; /* out: of a slab it cannot be shown that it reads what its own round computes */
} pass_slots;

/* fold.c: the tensor value with one range per axis, views gone: STORE(param 0, index, value), with reductions
 * as REDUCE nodes. Param 0 is the target slot; where that is not the value's own, the value is stored as it
 * is. Of a scatter, into its own slot: UPDATE(param 0, index, valid, value, ranges), on top of its first
 * operand. */
ir_ref pass_fold(ir_graph *g, ir_ref value, uint32_t target, pass_slots *slots);
/* fused.c: the same for the values of a slab: one STORE after the other, over ranges of which the first
 * one, over the rounds of the slab, is that of all. What later ones read lies in LOCALs. 0 after failing,
 * and, without a message, where slots->refused. */
ir_ref pass_fold_row_group(ir_graph *g, const ir_row_group *row_group, pass_slots *slots);
/* Parameters that nothing under root reads any more go, and the others move up; 0 when memory is short. */
ir_ref pass_drop_params(ir_graph *g, ir_ref root, pass_slots *slots);
/* The access that a chain of views makes into its leaf: index and validity over ranges ridx0.. of the chain's
 * axes. */
bool pass_fold_chain(ir_graph *g, ir_ref chain, ir_ref *index, ir_ref *valid);

/* The range over the rounds of a slab, given its effect; 0 for the effect of another kernel. */
ir_ref pass_row_group_range(ir_graph *g, ir_ref effect);
/* All ranges for whose positions locals are kept apart: that one, and the one over blocks of keys if there is
 * one. Returns how many. */
enum { PASS_ROW_GROUP_RANGES = 2 };
uint32_t pass_row_group_ranges(ir_graph *g, ir_ref effect, ir_ref ranges[PASS_ROW_GROUP_RANGES]);
/* Have all rounds over so many positions the same number of rows, the last one doing some again? */
bool pass_row_group_is_even(ir_graph *g, ir_ref size, int64_t rows);

/* causal_end.c: a slab without what lies beyond the last position that its rows look at. */
ir_ref pass_row_group_mask(ir_graph *g, ir_ref effect);

struct fold_row_group;

/* One demand in progress. Its sub-demands' answers are at answers[first_answer...] once they are all in. */
typedef struct fold_frame {
  ir_ref key;       /* TUPLE(node, valid, position...) */
  uint32_t awaited; /* sub-demands asked for, in frame_keys[first_key...] */
  size_t first_key;
  int state;
  ir_ref ranges[IR_MAX_RANK]; /* of a reduction */
  uint32_t range_count;
} fold_frame;

/* A place of a hash table by ref. */
typedef struct fold_answer {
  ir_ref key, value; /* key 0: empty */
} fold_answer;

typedef struct folder {
  ir_graph *g;
  pass_slots *slots;
  const struct fold_row_group *row_group; /* NULL: the kernel computes one value */
  ir_ref output;                          /* the kernel's own value: computed here, though it has a slot */
  ir_ref leaf_index, leaf_valid;          /* the last access made, for chains */
  fold_answer *answers;            /* as a table of the graph's size would be as much work for each kernel */
  size_t answer_count, answer_cap; /* a power of two, at most half of them taken */
  fold_frame *stack;
  size_t depth, stack_cap;
  ir_ref *keys; /* sub-demands of all frames on the stack */
  size_t key_count, key_cap;
  int64_t next_range;
  bool failed;
} folder;

/* The value of a node at a position; 0 on failure. */
ir_ref fold_at(folder *f, ir_ref node, const pass_point *p);
/* The parameter for a slot, of the node's type. */
ir_ref fold_param(folder *f, ir_ref node, uint32_t slot);
/* The next range; position 0 where there is but one. */
ir_ref fold_range(folder *f, ir_ref extent);
void fold_forget(folder *f); /* all answers so far */
void folder_free(folder *f);

/* Inside the demand on top of the stack: asks for the value of a node at a position, needed where `valid`
 * holds; the answer to what it asked for as number i, once all are in. */
void fold_ask(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p);
ir_ref fold_reply(const folder *f, const fold_frame *fr, uint32_t i);
ir_ref fold_zero(folder *f, ir_dtype dtype);
/* A value that exists only where `inside` holds, fill elsewhere. */
ir_ref fold_filled(folder *f, ir_ref inside, ir_ref value, ir_ref fill);

/* indirect.c: a gather's demand, answered, or 0 after asking for what is missing; */
ir_ref fold_gather(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p);
/* the UPDATE of a scatter, whose buffer holds its first operand by now. */
ir_ref fold_scatter(folder *f, ir_ref node, ir_ref param);

/* fused.c: the element of a value that an earlier effect of the slab has put into its local; 0: the node
 * is none, or on failure. */
ir_ref fold_local(folder *f, ir_ref node, ir_ref valid, const pass_point *p);

#endif
