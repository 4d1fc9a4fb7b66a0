/* The folder passes/alternatives. What is fused, compared with the same in two kernels.
 *
 *   in      a plan, and a function that makes the loops of one of its kernels
 *   out     the plan, with a step more for each value that is better stored
 *   holds   a sum of floats is added up in the same order in either form; a plan has more kernels only where
 *           these are predicted to take less time */

/* Scheduling decides by the graph which values live in memory. It cannot see what loops come of that: lanes
 * that one access prevents, masks and divisions in the innermost loop, an operand that is gathered again and
 * again. This pass looks at the loops. Where a kernel is predicted to take much longer than what it computes
 * has to, values inside of it are stored for trial. */
#ifndef VIEWFOLD_PASSES_ALTERNATIVES_ALTERNATIVES_H
#define VIEWFOLD_PASSES_ALTERNATIVES_ALTERNATIVES_H

#include "ir/plan.h"
#include "ir/target.h"
#include "passes/passes.h"

enum {
  ALTERNATIVES_FUSED = 768, /* nodes fused into one kernel: of more, nothing is compared (as fuse/stored.c) */
  ALTERNATIVES_TRIED = 3,   /* values that are stored for trial at a time, each of which takes two kernels */
  ALTERNATIVES_SUMS = 16, /* sums of a kernel that differ in extents or order: with more, it stays as it is */
  ALTERNATIVES_STORED = 4, /* values that are stored in place of one kernel of the schedule */
  /* values of a fused row group that get kernels of their own: of more, it stays one */
  ALTERNATIVES_APART = 8
};

/* A node that is fused into a kernel. */
typedef struct alternatives_node {
  ir_ref node;
  ir_ref base;   /* what is below it and views that mask nothing; the node itself: it is none */
  ir_ref points; /* the value at whose points the last user found evaluates it */
  bool root;     /* the kernel computes it for itself: its value, or one of a row group */
  bool local;    /* of these: it is in no memory */
  bool leaf;     /* it is in memory */
  bool computed; /* not by views alone */
  bool reduces;  /* a reduction is fused into it */
  bool after;    /* it needs another value that the kernel computes for itself, and that it cannot do again */
  bool of_local; /* it needs one that it can: it is local, and elementwise */
  bool kept;     /* the kernel needs it still when a value is stored that is being tried */
  double elements;    /* of the tensor */
  double evaluations; /* of elements, in the whole kernel */
  double below;       /* operations of one element, with all that is fused into it */
  double accesses;    /* loads among them */
  double irregular;   /* of the views among them: operations that an access costs more */
  double above;       /* of the views above it: what each access below costs more */
  double promise;     /* operations that it saves to store it, as far as the graph tells */
  bool tried;         /* it may be stored, and promises something */
} alternatives_node;

typedef struct alternatives_fused {
  alternatives_node *nodes; /* users first; room for ALTERNATIVES_FUSED */
  uint32_t count;
  double least_ns; /* of the kernel: each value computed once, in all lanes, and each byte moved once */
} alternatives_fused;

/* The orders of the sums of floats in a kernel. */
typedef struct alternatives_order {
  pass_sum_order sums[ALTERNATIVES_SUMS];
  uint32_t count;
  bool failed; /* there are more */
} alternatives_order;

/* A kernel in place of one of the plan, or of a part of it. */
typedef struct alternatives_piece {
  ir_step step;   /* as the plan has it */
  ir_step shaped; /* with its loops */
  double ns;      /* predicted; below 0: not known, or not yet */
  alternatives_order order;
} alternatives_piece;

typedef struct pass_alternatives {
  ir_graph *g;
  ir_plan *plan;
  const ir_target *target;
  uint32_t *slot_of; /* by node: slot + 1 of what is in memory at the step being looked at */
  /* Makes the loops of a kernel step, whose kernel is a tensor, and reports them to `shaping` alone; for
   * `number`, a step of the plan. On failure false, and a message only where memory is short. */
  bool (*lower)(void *user, ir_step *step, size_t number, pass_shaping *shaping);
  void *user;
  bool keeps;        /* steps keep the loops that are made here; otherwise they are left to be made again */
  bool always;       /* any alternative is taken that keeps the order of additions */
  size_t nodes;      /* those below are in slot_of */
  uint32_t reserved; /* slots behind those of the plan that are taken for trial */
  uint32_t *mark;    /* by node: its place in fused.nodes + 1; 0 between uses */
  alternatives_fused fused;
  struct alternatives_insertion {
    size_t before; /* the number of a step */
    ir_step step;
  } * inserted; /* in order */
  size_t inserted_count, inserted_cap;
} pass_alternatives;

/* alternatives.c */
/* Sets up the tables; false when memory is short, pass_alternatives_free it all the same. */
bool pass_alternatives_begin(pass_alternatives *a);
/* Compares the kernel step with its alternatives, and notes what is to be inserted. False on failure. */
bool pass_alternatives_compare(pass_alternatives *a, size_t number);
/* Inserts what was noted. False when memory is short. */
bool pass_alternatives_insert(pass_alternatives *a);
void pass_alternatives_free(pass_alternatives *a);

/* A copy of the step, which has one stored value more where `also` is not NULL. */
bool alternatives_copy_step(pass_alternatives *a, const ir_step *from, const ir_stored *also, ir_step *to);
/* The step that computes one value of those of `from`; own: it is in memory for it alone. */
bool alternatives_step_of(pass_alternatives *a, const ir_step *from, ir_stored value, bool own, ir_step *to);
/* Sets or clears slot_of for what is in memory for the step alone. */
void alternatives_show_own(pass_alternatives *a, const ir_step *step, bool stored);
/* Makes the loops of p->step. False where no loops can be made of it. */
bool alternatives_shape(pass_alternatives *a, size_t number, alternatives_piece *p);
/* Sets p->ns where the loops are made and it is not known yet; false where it cannot be predicted. */
bool alternatives_time(pass_alternatives *a, alternatives_piece *p);
/* What the piece, whose time is known, is predicted to take, or two kernels in its place where these gain. */
double alternatives_least_of(pass_alternatives *a, size_t number, alternatives_piece *p);
void alternatives_free_piece(pass_alternatives *a, alternatives_piece *p);
/* Lists what is fused into the piece; false where nothing is to be compared. */
bool alternatives_list(pass_alternatives *a, const alternatives_piece *fused);
/* Is the piece, which was listed, predicted to take so long that alternatives are looked at? */
bool alternatives_is_far(pass_alternatives *a, alternatives_piece *fused);
/* Are kernels that take so long better by a margin? */
bool alternatives_gain(const pass_alternatives *a, const alternatives_piece *fused, double ns);
bool alternatives_add_slot(pass_alternatives *a, ir_ref value); /* false when memory is short */

/* apart.c: where pieces[0] is a fused row group that takes long, and its values take less time in kernels of
 * their own, pieces are these, the last one first, and *count their number. False when memory is short. */
bool alternatives_apart(pass_alternatives *a, size_t number, alternatives_piece *pieces, uint32_t *count);

/* candidates.c */
/* Lists what is fused into the step; false where nothing is to be compared. */
bool alternatives_find_fused(pass_alternatives *a, const ir_step *step);
/* The values that promise most, best first; returns how many. *promise: they promise something; none does
 * otherwise. */
/* What the two kernels are predicted to take at the least with the value, one of those listed, in memory: its
 * bytes are moved beyond the L2 cache. 0: it is not as large. */
double alternatives_least_stored(const pass_alternatives *a, ir_ref value);
uint32_t alternatives_candidates(pass_alternatives *a, ir_ref *values, uint32_t room, bool *promise);

/* reader.c */
/* The step, which is the one that was listed, with the value in memory: without those values of a row group
 * that this one alone was computed from. False when memory is short. */
bool alternatives_reader_of(pass_alternatives *a, const ir_step *from, const ir_stored *value, ir_step *to);

/* order.c */
/* Adds what is reported of a sum. */
void alternatives_order_add(alternatives_order *o, pass_sum_order sum);
/* Has each sum of the alternative the order that it has in the kernel in whose place it is? */
bool alternatives_order_keeps(const alternatives_order *fused, const alternatives_order *alternative);

#endif
