/* What the files of passes/reshard share. */
#ifndef VIEWFOLD_PASSES_RESHARD_IMPL_H
#define VIEWFOLD_PASSES_RESHARD_IMPL_H

#include "ir/mesh/link.h"
#include "reshard.h"

enum {
  RESHARD_DIGITS = IR_SUBAXES,
  RESHARD_COUNTED = 1 << 16 /* devices whose bytes are added one by one: milliseconds */
};

/* Dimension d has the digits order[ends[d - 1] .. ends[d]), the major first. Bytes behind are 0: layouts are
 * equal if their bytes are. */
typedef struct reshard_layout {
  uint32_t pending; /* digits, as bits */
  uint8_t ends[IR_MAX_RANK];
  uint8_t order[RESHARD_DIGITS];
} reshard_layout;

/* A redistribution in digits. Digits that divide a dimension evenly and first in both specs are gone: the
 * sizes are those of one of the parts. */
typedef struct reshard_problem {
  const ir_mem *mem;
  uint32_t rank, digit_count;
  int64_t shape[IR_MAX_RANK];
  uint64_t item, limit, devices, work;
  uint64_t apart; /* so many arrays of that shape, each on some of the devices, do not depend on each other */
  pass_reshard_mode mode;
  bool at_once;
  ir_subaxis digits[RESHARD_DIGITS];
  ir_link links[IR_MESH_AXES]; /* of messages along one axis, in picoseconds */
  ir_link least;               /* in all, of the axes of the digits */
  bool uniform;                /* all digits are of axes of the same latency and bandwidth */
  const ir_mesh *mesh;
  bool weighted;        /* some digits are axes of weights, by which nothing divides evenly */
  bool prime;           /* all others have prime sizes */
  bool even;            /* all have one size, and all together divide each dimension: every hop is even */
  bool ordered;         /* the primes of each sub-axis are equal: there is no other order of its digits */
  uint32_t passed_over; /* dimensions that no digit is put to, as bits: see digits.c */
  reshard_layout from, to;
  const pass_reshard_cost *below; /* ways that cost as much are of no use; NULL: all are */
  ir_spec prefix; /* the digits that are gone, of each dimension; and what else both specs have in common */
} reshard_problem;

/* layout.c */
uint32_t reshard_first(const reshard_layout *layout, uint32_t dim);   /* the place of its first digit */
uint32_t reshard_used(const reshard_layout *layout, uint32_t rank);   /* digits that divide, as bits */
bool reshard_equal(const reshard_layout *a, const reshard_layout *b); /* the same in all */
/* Puts a digit, which no dimension has, at the minor end of the dimension. */
void reshard_append(reshard_layout *layout, uint32_t rank, uint32_t dim, uint32_t digit);
/* Removes the last `count` digits of the dimension. */
void reshard_cut(reshard_layout *layout, uint32_t rank, uint32_t dim, uint32_t count);

/* clock.c: when the last message of a hop has passed the link of a device. Messages of one latency follow one
 * another, so their times are added up, by the axis whose latency it is. */
typedef struct reshard_clock {
  const reshard_problem *p;
  double passes[IR_MESH_AXES]; /* of the link, picoseconds; 0: no message */
} reshard_clock;
/* So many messages, each of so many bytes, along axes of the mesh, as bits, of which there is one. */
void reshard_clock_add(reshard_clock *c, uint32_t axes, uint64_t messages, uint64_t bytes);
double reshard_clock_end(const reshard_clock *c);
/* The least that so many messages take, of so many bytes together; all that they take where axes are equal.
 */
double reshard_least_time(const reshard_problem *p, uint64_t messages, uint64_t bytes);

/* hop.c, evenly.c */
/* An exchange from one layout to another; pending digits of `to` are pending in `from`. */
void reshard_hop(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                 pass_reshard_cost *out);
/* The same, but for the time, which is at most that of the hop, and the same where axes are equal. */
void reshard_hop_at_least(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          pass_reshard_cost *out);
/* The devices, and messages, that finding the cost of the hop looks at. */
uint64_t reshard_hop_work(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          const pass_reshard_cost *cost);
/* The same where sizes divide, in closed form. False: they do not. */
bool reshard_hop_evenly(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                        pass_reshard_cost *out);
/* An all_reduce in two rounds, of flat chunks. `to` divides as `from` does. */
void reshard_flat(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                  pass_reshard_cost *out);
/* What one device receives by a hop, bytes. coordinates: of each digit. */
uint64_t reshard_received(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          bool flat, const uint32_t *coordinates);
/* Bytes of the part of a device. */
uint64_t reshard_part(const reshard_problem *p, const reshard_layout *layout, const uint32_t *coordinates);
/* Calls back for each combination of coordinates of the digits in `digits`; others stay 0. */
typedef void reshard_visit(void *user, const uint32_t *coordinates);
void reshard_each_device(const reshard_problem *p, uint32_t digits, reshard_visit *visit, void *user);

/* bound.c: what is still to come, at least: bound(a) <= hop(a, b) + bound(b). Time too; no memory. */
void reshard_bound(const reshard_problem *p, const reshard_layout *from, pass_reshard_cost *out);

/* neighbours.c: calls back for each layout that one step reaches. False as soon as the callback is. */
typedef bool reshard_emit(void *user, const reshard_layout *to, bool flat);
bool reshard_neighbours(const reshard_problem *p, const reshard_layout *from, reshard_emit *emit, void *user);

/* search.c: the cheapest way; path[0] is `from`. */
typedef struct reshard_path {
  reshard_layout at[PASS_RESHARD_STEPS + 1];
  bool flat[PASS_RESHARD_STEPS + 1]; /* of the step that leads there */
  uint32_t count;                    /* of layouts; 0: none keeps the limit */
  bool exact;
} reshard_path;
ir_status reshard_search(const reshard_problem *p, reshard_path *out, ir_error *error);
/* What a way costs: the least is compared first. */
typedef struct reshard_rank {
  uint64_t cost, total; /* in the problem's mode; bytes of all devices */
  uint64_t effort;      /* of ways of equal cost, the least: steps, then sub-axes in the layouts */
} reshard_rank;
reshard_rank reshard_rank_of(const reshard_problem *p, const pass_reshard_cost *cost, uint64_t effort);
int reshard_compare(const reshard_rank *a, const reshard_rank *b);           /* negative where a is less */
uint64_t reshard_effort(const reshard_problem *p, const reshard_layout *to); /* of a step that leads there */
void reshard_add(pass_reshard_cost *sum, const pass_reshard_cost *cost);
void reshard_path_cost(const reshard_problem *p, const reshard_path *path, uint32_t step,
                       pass_reshard_cost *cost);
/* Joins neighbouring steps where one costs no more than both; makes slices before sums steps of their own. */
void reshard_tidy(const reshard_problem *p, reshard_path *path);

/* per_device.c */
/* Bytes that one device receives at most in all steps: no device need receive most in each of them. Of more
 * than RESHARD_COUNTED devices that differ, the sum of what each step brings at most. */
uint64_t reshard_path_received(const reshard_problem *p, const reshard_path *path);
/* In bytes and with few devices: replaces the way by one of which a device receives less in all, if any. */
ir_status reshard_even_out(const reshard_problem *p, reshard_path *path, ir_error *error);

/* heap.c: the least first */
typedef struct reshard_queued {
  reshard_rank rank;
  uint32_t node;
} reshard_queued;
typedef struct reshard_heap {
  reshard_queued *items;
  size_t count, cap;
} reshard_heap;
bool reshard_heap_push(const ir_mem *mem, reshard_heap *heap, reshard_rank rank, uint32_t node);
uint32_t reshard_heap_pop(reshard_heap *heap);

/* kind.c: what a step is called; *moved: the digits that take part. Layouts that `from` and `to` differ in.
 */
pass_reshard_kind reshard_kind(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                               const pass_reshard_cost *cost, uint32_t *moved);

/* digits.c */
/* small_first: sub-axes are divided into digits the smaller primes first. False after failing. */
bool reshard_problem_make(const ir_mem *mem, const pass_reshard_ask *ask, bool small_first,
                          reshard_problem *p, ir_error *error);
void reshard_spec_of(const reshard_problem *p, const reshard_layout *layout, ir_spec *out);

#endif
