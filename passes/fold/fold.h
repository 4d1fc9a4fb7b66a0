/* Inside folding: the folder, for kernels of one value (fold.c, indirect.c) and of several
 * (fused.c). */
#ifndef VIEWFOLD_PASSES_FOLD_FOLD_H
#define VIEWFOLD_PASSES_FOLD_FOLD_H

#include "passes/passes.h"
#include "passes/view/index_map.h"

struct fold_slab;

/* One demand in progress. Its sub-demands' answers are at answers[first_answer...] once they are all in. */
typedef struct fold_frame {
  ir_ref key;       /* TUPLE(node, valid, position...) */
  uint32_t awaited; /* sub-demands asked for, in frame_keys[first_key...] */
  size_t first_key;
  int stage;
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
  const struct fold_slab *slab;    /* NULL: the kernel computes one value */
  ir_ref output;                   /* the kernel's own value: computed here, though it has a slot */
  ir_ref leaf_index, leaf_valid;   /* the last access made, for chains */
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
ir_ref fold_at(folder *f, ir_ref node, const pass_position *p);
/* The parameter for a slot, of the node's type. */
ir_ref fold_param(folder *f, ir_ref node, uint32_t slot);
/* The next range; position 0 where there is but one. */
ir_ref fold_range(folder *f, ir_ref extent);
void fold_forget(folder *f); /* all answers so far */
void folder_free(folder *f);

/* Inside the demand on top of the stack: asks for the value of a node at a position, needed where `valid`
 * holds; the answer to what it asked for as number i, once all are in. */
void fold_ask(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_position *p);
ir_ref fold_reply(const folder *f, const fold_frame *fr, uint32_t i);
ir_ref fold_zero(folder *f, ir_dtype dtype);
/* A value that exists only where `inside` holds, fill elsewhere. */
ir_ref fold_filled(folder *f, ir_ref inside, ir_ref value, ir_ref fill);

/* indirect.c: a gather's demand, answered, or 0 after asking for what is missing; */
ir_ref fold_gather(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_position *p);
/* the UPDATE of a scatter, whose buffer holds its first operand by now. */
ir_ref fold_scatter(folder *f, ir_ref node, ir_ref param);

/* fused.c: the element of a value that an earlier effect of the slab has put into its local; 0: the node
 * is none, or on failure. */
ir_ref fold_local(folder *f, ir_ref node, ir_ref valid, const pass_position *p);

#endif
