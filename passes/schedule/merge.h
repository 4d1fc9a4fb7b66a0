/* What handing memory on from value to value is decided from (in_place.c, merge.c). */
#ifndef VIEWFOLD_PASSES_SCHEDULE_MERGE_H
#define VIEWFOLD_PASSES_SCHEDULE_MERGE_H

#include "passes/schedule/in_place.h"

/* What is known of a slot. */
typedef struct usage {
  uint32_t first, last; /* the first and the last step that uses it; what a copy reads is no use */
  uint32_t is;          /* the slot that it has become, or itself */
  uint32_t copy;        /* 1 + the number of the last copy that reads it; 0: none */
} usage;

enum { SCHEDULE_NO_SLOT = UINT32_MAX /* no slot has this number */ };

/* Step `at` hands the contents of slot `from` on to slot `to`: a copy, which the next step updates; a loop,
 * of which they are the initial value and the result of what it carries; a condition, each of whose functions
 * hands them on, or computes `to` of nothing that it needs later. */
typedef struct copied {
  uint32_t at, end; /* the last step that belongs to it: the update, or the last one of its functions */
  uint32_t from;    /* SCHEDULE_NO_SLOT: a condition that hands nothing on */
  uint32_t to;
  uint32_t place; /* of a loop: of the carried value among its slots */
  ir_step_kind kind;
  bool kept; /* the update reads what it replaces */
} copied;

/* One use of a slot. */
typedef struct slot_use {
  uint32_t step, slot;
  bool writes;
} slot_use;

/* Step `step`, behind a copy, needs `value` of the value that was copied; 0: it does not depend on the
 * update. */
typedef struct late_read {
  uint32_t step;
  size_t copy;
  ir_ref value;
} late_read;

struct in_place {
  ir_graph *g;
  ir_plan *plan;
  usage *slots;
  copied *copies;
  size_t count, cap;
  uint32_t met;              /* steps whose handing on is listed */
  bool any_loop, conditions; /* has the plan any? */
  uint32_t *seen;            /* by node: step that has met it, + 1 */
  size_t nodes;
  ir_ref *stack;
  size_t stack_cap;
  const pass_reference *references;
  size_t reference_count;
  bool loops;     /* may carried values of loops be changed in place? */
  slot_use *uses; /* what copies read as well; in the order of steps once all are known */
  size_t use_count, use_cap;
  late_read *late; /* of kernels that cannot be put before the update */
  size_t late_count, late_cap;
};

/* The slots of a loop step (ir/plan.h): a predicate, or none; five of each carried value, of which it sets
 * the second and the third anew in each iteration; pairs, of which it sets the second. */
enum { SCHEDULE_CARRY = 5 /* slots of each carried value: ir/plan.h */ };
enum { CARRY_INIT, CARRY_THIS, CARRY_NEXT, CARRY_RESULT, CARRY_SPARE };
uint32_t schedule_first_carry(const ir_step *s);

/* The last step of the functions of step k, or k. */
uint32_t schedule_end_of(const ir_plan *p, uint32_t k);
/* The innermost loop around step k, or UINT32_MAX. */
uint32_t schedule_loop_around(const ir_plan *p, uint32_t k);
/* The slot that this one has become. */
uint32_t schedule_become(const in_place *f, uint32_t slot);
/* The first use of a step, in the order of steps; all of them sorted. */
size_t schedule_uses_of(const in_place *f, uint32_t step);

/* merge.c. Lists what the loops and conditions before step k hand on, that are not listed yet. False when
 * memory is short, after failing. */
bool schedule_list_control(in_place *f, uint32_t k);
/* Could the two slots be one, if nothing used `from` later, and the update read nothing that it replaces?
 * Finds `from` of a condition; `strict`: there, no update reads what it replaces. */
bool schedule_fits(in_place *f, copied *c, bool strict);
/* Is it a copy in a function of a condition, of a value of outside, which the function reads behind it?
 * *last: the last step that does. */
bool schedule_last_use(const in_place *f, const copied *c, uint32_t *last);
/* Does nothing use `from` behind it? */
bool schedule_is_free(const in_place *f, const copied *c);
/* The place of the carried value, among the slots of the loop around the copy, whose value in an iteration
 * is `from`, and whose next value is in slot `to`; UINT32_MAX: there is none. */
uint32_t schedule_find_carry(const in_place *f, const copied *c, uint32_t to);
/* Of a condition that fits: the next copy inside, from number i of the list on, that hands on the same; the
 * length of the list: there is none. */
size_t schedule_next_inside(const in_place *f, const copied *c, size_t i);

#endif
