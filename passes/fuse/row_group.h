/* Slabs: kernels that walk the same outer positions, as one kernel (row_group.c). Inside scheduling. */
#ifndef VIEWFOLD_PASSES_FUSE_ROW_GROUP_H
#define VIEWFOLD_PASSES_FUSE_ROW_GROUP_H

#include "passes/patterns/online_softmax.h"
#include "passes/view/axis_map.h"
#include "stored.h"

enum { SLAB_MOST = 24, SLAB_COPIES = 8, SLAB_NO_GROUP = -1 };
enum { SLAB_NEAR = 32 << 10 }; /* bytes: the first cache of most machines */

/* What a kernel reads that lies in memory, and by which of the kernel's own axes. */
typedef struct slab_read {
  ir_ref node;
  slab_axes axes;
  int64_t elements; /* of the node that are read, at most */
} slab_read;

/* One of what the function does, in order: a value that a kernel computes, or a call. */
typedef struct slab_item {
  ir_ref node;
  uint32_t first_read, read_count;
  bool joins;   /* may share a loop with others */
  bool result;  /* of the function */
  bool reduces; /* some reduction is fused into it */
  ir_apart apart;
  bool contracts; /* a sum of products is: it is computed in tiles of several rows */
  ir_ref product; /* that sum, where there is one; and by axis of it: that of the item */
  slab_axes product_axes;
  uint32_t readers; /* of its value, results too */
} slab_item;

typedef struct slab_member {
  ir_ref value;
  bool local;               /* others of the slab read it */
  bool stored;              /* and others than those do */
  bool turned, copied;      /* as in ir_slab_value */
  int8_t axis[IR_MAX_RANK]; /* by loop of the slab */
  ir_slab_role role;
  int8_t keys; /* as in ir_slab_value */
} slab_member;

/* A sum that can be rescaled, and the item that it is fused into. */
typedef struct slab_sum {
  pass_rescaled rescaled;
  uint32_t item;
} slab_sum;

typedef struct slab_group {
  slab_member members[SLAB_MOST]; /* in order of their nodes */
  uint32_t count;
  int8_t loops;             /* that were axes of the first member */
  bool shared[IR_MAX_RANK]; /* by loop: all members have it */
  ir_ref extent[IR_MAX_RANK];
  uint32_t last;   /* item of the last member */
  uint32_t before; /* first item that needs a member and is none: the slab runs before it; UINT32_MAX: none */
  int32_t beside;  /* another group that runs before that item; SLAB_NO_GROUP: none */
  int64_t rows;    /* positions of the innermost loop that one round takes together */
  int64_t bytes;   /* of one round; 0 in a group of one, and where contractions are computed in tiles */
  int64_t block; /* keys that are taken together; 0: the slab is none of those that go over keys in blocks */
  ir_ref copies[SLAB_COPIES]; /* of what members compute: items that nobody needs then */
  uint32_t copy_count;
} slab_group;

typedef struct slab_plan {
  scheduler *s;
  slab_item *items;
  uint32_t count;
  size_t item_cap;
  slab_read *reads;
  size_t read_count, read_cap;
  slab_group *groups;
  size_t group_count, group_cap;
  slab_sum *sums;
  size_t sum_count, sum_cap;
  int32_t *before;   /* by item: the first group that runs right before it; SLAB_NO_GROUP */
  int32_t *group_of; /* by item; SLAB_NO_GROUP */
  uint32_t *item_of; /* by node: item + 1 */
  uint8_t *outside;  /* by item: results and calls take it */
  uint8_t *waits;    /* by item: scheduling has left it for when something reads it */
} slab_plan;

/* Reads s->live after schedule_uses. False when memory is short; free it all the same. */
bool slab_find(slab_plan *p, scheduler *s);
void slab_free(slab_plan *p);
/* Why the node has a kernel of its own. */
ir_apart slab_apart(const slab_plan *p, ir_ref node);
/* Is the value kept in locals alone? */
bool slab_is_local(const slab_plan *p, ir_ref value);
/* May the value, one that is computed alone, be left until something reads it? Then it waits. */
bool slab_may_wait(const slab_plan *p, ir_ref value);
/* The next value that waits and that the node is computed from, which waits no more; 0: none. */
ir_ref slab_next_waiting(const slab_plan *p, ir_ref node);
/* The slab that a node of the function is computed in; NULL: none. */
const slab_group *slab_of(const slab_plan *p, ir_ref node);
/* The next one of the slabs that run right before the node, after `last` (NULL: the first); NULL: no more. */
const slab_group *slab_before(const slab_plan *p, ir_ref node, const slab_group *last);
/* Does the slab run when it is this member's turn? */
bool slab_ends_at(const slab_plan *p, const slab_group *group, ir_ref member);

/* cache_fit.c: does the group as it is fit, and in how many rows at a time? */
bool slab_fits(const slab_plan *p, slab_group *group);
/* Bytes that the locals of a slab may take together, whatever else its kernel keeps in locals. */
int64_t slab_room(const ir_target *target);
/* Can a kernel be given all that the group reads and may store? */
bool slab_passes(const slab_plan *p, const slab_group *group);
/* Elements and bytes of the whole tensor, at most; a huge number where that is not known. */
int64_t slab_elements(ir_graph *g, ir_ref tensor);
int64_t slab_bytes(const scheduler *s, ir_ref tensor);
int64_t slab_read_bytes(const scheduler *s, const slab_read *read);
/* shared_values.c: values that several members would compute again, and that cost much, become members. */
bool slab_stage(slab_plan *p, slab_group *group);

/* transposed_product.c: products of the group read weights as they lie, from rows that lie side by side,
 * where that saves copying more than it costs. */
bool slab_turn(slab_plan *p, slab_group *group);

/* key_blocks.c: the group that computes sum number `sum` of the plan, and all others that go with it, in
 * blocks of keys. False where there is none; then nothing is changed. */
bool slab_blocks(slab_plan *p, size_t sum, slab_group *group);

/* Does it lie in memory as far as fusion goes? */
bool slab_in_memory(const scheduler *s, ir_ref r);
/* The item that computes the node; SLAB_NO_ITEM: none does. */
enum { SLAB_NO_ITEM = -1 };
int64_t slab_item_of(const slab_plan *p, ir_ref node);
/* The member of that value; -1: none. */
int64_t slab_member_of(const slab_group *group, ir_ref value);
/* The axis of an array that each shared loop walks, -1: none, given by axis of it that of the member. Has
 * each one? */
bool slab_walked(const slab_group *group, const slab_member *member, const slab_axes *axes, int8_t *out);
/* Adds a member, in order of the nodes; false where there is no room. */
bool slab_insert(slab_group *group, const slab_member *member);

/* items.c: the items of the function, in order of their nodes, and who takes them. False when memory is
 * short. */
bool slab_find_items(slab_plan *p);
/* Is it a copy in panels? Slabs must be the same on all machines, and panels are as wide as a machine wants
 * them. */
bool slab_is_panels(const ir_graph *g, ir_ref r);
/* The nodes that are fused into the value, the value first, descending; 0: very many, or memory is short. */
size_t slab_fused(scheduler *s, ir_ref value, ir_ref *out, size_t room);

#endif
