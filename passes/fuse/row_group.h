/* Fused row groups (row_group.c): kernels whose outer loops run over the same indices become one kernel,
 * which computes a few rows of each value at a time. Internal to scheduling.
 *
 *   shared loop   a loop that every member has: it walks one axis of each member's value
 *   iteration     a step of the shared loops: one index of each, but `rows` consecutive ones of the innermost
 *   row           what is computed, or read, at one index of every shared loop */
#ifndef VIEWFOLD_PASSES_FUSE_ROW_GROUP_H
#define VIEWFOLD_PASSES_FUSE_ROW_GROUP_H

#include "passes/passes.h"
#include "passes/patterns/online_softmax.h"
#include "passes/view/axis_map.h"
#include "stored.h"

enum {
  /* of one group [7 in the workloads]: a further value gets a kernel, or a group, of its own */
  FUSE_MAX_MEMBERS = 24,
  /* copies that a group with key blocks makes needless [0 in the workloads]: of more, no group */
  FUSE_MAX_COPIES = 8,
  FUSE_NO_GROUP = -1, /* in place of a group's number */
  /* bytes of an iteration that a further member must not push out of the L1 cache: 32 KiB on AMD's processors
   * and most of Intel's. The same on all machines, as it decides what is computed together */
  FUSE_L1_BYTES = 32 << 10
};

/* A value in memory that a kernel reads. axes: by axis of the node, the axis of the kernel's value that walks
 * it. */
typedef struct fuse_read {
  ir_ref node;
  view_axes axes;
  int64_t elements; /* that are read, at most */
} fuse_read;

/* One thing that the function does, in order: a value that a kernel computes, or a call. */
typedef struct fuse_item {
  ir_ref node;
  uint32_t first_read, read_count;
  bool joins;   /* may be a member of a group */
  bool result;  /* a result of the function */
  bool reduces; /* a reduction is fused into it */
  ir_not_fused not_fused;
  bool contracts; /* a sum of products is fused into it, to be computed in tiles of several rows */
  ir_ref product; /* the only such sum, or 0; product_axes: by axis of it, that of the item */
  view_axes product_axes;
  uint32_t readers; /* reads of its value, one more for each result that it is */
} fuse_item;

typedef struct fuse_member {
  ir_ref value;
  bool local;               /* other members read it, from a local */
  bool stored;              /* stored in memory: not only members read it */
  bool transposed, copied;  /* as in ir_fused_value */
  int8_t axis[IR_MAX_RANK]; /* by loop: the axis of the value that it walks; -1: not shared */
  ir_fused_role role;
  int8_t keys; /* as in ir_fused_value */
} fuse_member;

/* A sum that can be rescaled (passes/patterns/online_softmax.h), and the item that it is fused into. */
typedef struct fuse_sum {
  pass_rescaled rescaled;
  uint32_t item;
} fuse_sum;

typedef struct fuse_group {
  fuse_member members[FUSE_MAX_MEMBERS]; /* ascending by node */
  uint32_t count;
  int8_t loops;             /* how many: axes of the first member, or of the weight; not all are shared */
  bool shared[IR_MAX_RANK]; /* by loop: every member has it */
  ir_ref extent[IR_MAX_RANK];
  uint32_t last;      /* item of the last member */
  uint32_t before;    /* first item outside that needs a member: the group runs before it; UINT32_MAX: none */
  int32_t next_group; /* another group that runs before that item; FUSE_NO_GROUP: none */
  int64_t rows;       /* indices of the innermost shared loop in one iteration, or the most */
  int64_t elements;   /* as of ir_row_group */
  int64_t bytes;      /* of one iteration; 0 in a group of one, and where contractions run in tiles */
  int64_t block;      /* keys in a block; 0: the group does not compute keys in blocks (key_blocks.c) */
  ir_ref copies[FUSE_MAX_COPIES]; /* STORED copies that no one reads once the group reads what they copy */
  uint32_t copy_count;
} fuse_group;

typedef struct fuse_plan {
  scheduler *s;
  fuse_item *items;
  uint32_t count;
  size_t item_cap;
  fuse_read *reads;
  size_t read_count, read_cap;
  fuse_group *groups;
  size_t group_count, group_cap;
  fuse_sum *sums;
  size_t sum_count, sum_cap;
  int32_t *before;       /* by item: the first group that runs right before it; FUSE_NO_GROUP: none */
  int32_t *group_of;     /* by item: its group, or FUSE_NO_GROUP */
  uint32_t *item_of;     /* by node: item + 1 */
  uint8_t *read_outside; /* by item: it is a result, or something outside its group reads it */
  uint8_t *deferred;     /* by item: its kernel waits until something reads the value */
} fuse_plan;

/* Finds the items and groups of the function. Needs s->live and the flags that schedule_uses sets. False when
 * memory is short; fuse_free it all the same. */
bool fuse_find(fuse_plan *p, scheduler *s);
void fuse_free(fuse_plan *p);
/* Why the node is in no group with what it reads. */
ir_not_fused fuse_reason_not_fused(const fuse_plan *p, ir_ref node);
/* Is the value in locals of a group only, or not computed at all? */
bool fuse_is_local(const fuse_plan *p, ir_ref value);
/* May the kernel of the value, which is in no group, wait until something reads the value? If so the value is
 * marked as deferred. */
bool fuse_may_defer(const fuse_plan *p, ir_ref value);
/* A deferred value that the node may read, now no longer deferred; 0: none is left. */
ir_ref fuse_next_deferred(const fuse_plan *p, ir_ref node);
/* The group that computes the node; NULL: none. */
const fuse_group *fuse_group_of(const fuse_plan *p, ir_ref node);
/* The groups that run right before the node, one per call: the one after `last` (NULL: the first); NULL: no
 * more. */
const fuse_group *fuse_group_before(const fuse_plan *p, ir_ref node, const fuse_group *last);
/* Does the group run where this member stands in the list? True of its last member, unless something outside
 * needs the group earlier. */
bool fuse_ends_at(const fuse_plan *p, const fuse_group *group, ir_ref member);

/* Has the group no reductions, and passes on elementary functions only, to values of the same shape at the
 * same indices? */
bool fuse_is_chain(const fuse_plan *p, const fuse_group *group);

/* cache_fit.c: chooses the rows of an iteration; false where the group does not fit. */
bool fuse_choose_rows(const fuse_plan *p, fuse_group *group);
/* Bytes that the locals of a group may take together, without those that its kernel needs for exchanges
 * between lanes. */
int64_t fuse_local_room(const scheduler *s);
/* Do all arrays that the group reads and may store fit in the arguments of a kernel? */
bool fuse_fits_arguments(const fuse_plan *p, const fuse_group *group);
/* Elements and bytes of the whole tensor, at most; 2^40 where that is not known. */
int64_t fuse_elements(ir_graph *g, ir_ref tensor);
int64_t fuse_bytes(const scheduler *s, ir_ref tensor);
int64_t fuse_read_bytes(const scheduler *s, const fuse_read *read);
/* shared_values.c: costly values that several members would recompute become members. False when memory is
 * short. */
bool fuse_materialize(fuse_plan *p, fuse_group *group);

/* transposed_product.c: products of the group read weights in place, without packing, and rows from
 * transposed locals, where that copies fewer elements. False when memory is short. */
bool fuse_transpose(fuse_plan *p, fuse_group *group);

/* key_blocks.c: the group that computes sum number `sum` of the plan, and all sums with the same maximum, in
 * blocks of keys. False where there is none: then nothing is changed. */
bool fuse_key_blocks(fuse_plan *p, size_t sum, fuse_group *group);

/* Is the node in memory, as far as fusion knows: a leaf, or stored? */
bool fuse_in_memory(const scheduler *s, ir_ref r);
/* The item that computes the node; FUSE_NO_ITEM: none does. */
enum { FUSE_NO_ITEM = -1 }; /* in place of an item's number */
int64_t fuse_item_of(const fuse_plan *p, ir_ref node);
/* The number of the member that computes the value; -1: none. */
int64_t fuse_member_of(const fuse_group *group, ir_ref value);
/* out[l]: the axis of an array that shared loop l walks, -1: none. axes: by axis of the array, the axis of
 * the member's value that walks it. True if every shared loop walks one. */
bool fuse_loop_axes(const fuse_group *group, const fuse_member *member, const view_axes *axes, int8_t *out);
/* Adds a member, keeping the order by node; false where there is no room. */
bool fuse_insert(fuse_group *group, const fuse_member *member);

/* items.c: the items of the function, ascending by node, with their reads and readers. False when memory is
 * short. */
bool fuse_find_items(fuse_plan *p);
/* Is the node a copy in panels (passes/pack/pack.c)? Their width depends on the target, and groups must be
 * the same on all targets: so such a copy is never a member. */
bool fuse_is_panels(const ir_graph *g, ir_ref r);
/* The nodes fused into the value and the values in memory that they read: the value first, descending. 0:
 * more than `room`. */
size_t fuse_nodes_of(scheduler *s, ir_ref value, ir_ref *out, size_t room);

#endif
