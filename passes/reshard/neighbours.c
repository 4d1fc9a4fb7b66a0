/* Which layouts one step reaches.
 *
 * With few digits: all of them. With more, each collective: slice and reduce_scatter of one digit (of
 * several, one after the other cost no more), all_gather and all_to_all of the last digits of a dimension,
 * all_reduce of one digit and of all; and the layout that is wanted. */
#include "impl.h"

enum { FEW_DIGITS = 3 }; /* 106 layouts of an array of rank 3 without sums */

typedef struct emitting {
  const reshard_problem *p;
  const reshard_layout *from;
  reshard_emit *emit;
  void *user;
} emitting;

/* The layout, and if it divides as `from` does, by flat chunks as well. */
static bool give(const emitting *e, const reshard_layout *to) {
  if (reshard_equal(e->from, to)) return true;
  if (e->p->at_once && to->pending && to->pending != e->from->pending) return true;
  reshard_layout same = *e->from;
  same.pending = to->pending;
  return e->emit(e->user, to, false) && (!reshard_equal(&same, to) || e->emit(e->user, to, true));
}

/* Each layout in which the digits in `left` are somewhere, too. */
static bool give_all(const emitting *e, const reshard_layout *partial, uint32_t left) {
  if (!left) return give(e, partial);
  uint32_t digit = 0;
  while (!(left >> digit & 1)) digit++;
  left &= left - 1;
  if (!give_all(e, partial, left)) return false;
  reshard_layout next = *partial;
  next.pending |= e->from->pending & 1u << digit;
  if (next.pending != partial->pending && !give_all(e, &next, left)) return false;
  for (uint32_t d = 0; d < e->p->rank; d++)
    for (uint32_t at = reshard_first(partial, d); at <= partial->ends[d] && !(e->p->passed_over >> d & 1);
         at++) {
      next = *partial;
      reshard_append(&next, e->p->rank, d, digit);
      for (uint32_t i = partial->ends[d]; i > at; i--) next.order[i] = next.order[i - 1];
      next.order[at] = (uint8_t)digit;
      if (!give_all(e, &next, left)) return false;
    }
  return true;
}

/* A digit that divides nothing, or is pending, at the end of a dimension: slice, reduce_scatter. */
static bool give_appended(const emitting *e, uint32_t used) {
  for (uint32_t k = 0; k < e->p->digit_count; k++)
    for (uint32_t d = 0; d < e->p->rank && !(used >> k & 1); d++) {
      if (e->p->passed_over >> d & 1) continue;
      reshard_layout next = *e->from;
      next.pending &= ~(1u << k);
      reshard_append(&next, e->p->rank, d, k);
      if (!give(e, &next)) return false;
    }
  return true;
}

/* The last digits of a dimension, dropped or put at the end of another one: all_gather, all_to_all. */
static bool give_moved(const emitting *e) {
  const reshard_layout *from = e->from;
  for (uint32_t d = 0; d < e->p->rank; d++)
    for (uint32_t n = 1; n <= from->ends[d] - reshard_first(from, d); n++) {
      reshard_layout cut = *from;
      reshard_cut(&cut, e->p->rank, d, n);
      if (!give(e, &cut)) return false;
      for (uint32_t other = 0; other < e->p->rank; other++) {
        if (other == d || e->p->passed_over >> other & 1) continue;
        reshard_layout next = cut;
        for (uint32_t i = from->ends[d] - n; i < from->ends[d]; i++)
          reshard_append(&next, e->p->rank, other, from->order[i]);
        if (!give(e, &next)) return false;
      }
    }
  return true;
}

static bool give_reduced(const emitting *e) {
  uint32_t pending = e->from->pending & ~e->p->to.pending;
  for (uint32_t k = 0; k <= e->p->digit_count && pending; k++) {
    uint32_t some = k == e->p->digit_count ? pending : pending & 1u << k;
    reshard_layout next = *e->from;
    next.pending &= ~some;
    if (some && !give(e, &next)) return false;
  }
  for (uint32_t d = 0; d < e->p->rank && pending && e->p->at_once; d++) {
    if (e->p->passed_over >> d & 1) continue;
    reshard_layout next = *e->from;
    next.pending = 0;
    for (uint32_t k = 0; k < e->p->digit_count; k++)
      if (pending >> k & 1) reshard_append(&next, e->p->rank, d, k);
    if (!give(e, &next)) return false;
  }
  return true;
}

bool reshard_neighbours(const reshard_problem *p, const reshard_layout *from, reshard_emit *emit,
                        void *user) {
  emitting e = {p, from, emit, user};
  if (p->digit_count <= FEW_DIGITS) {
    reshard_layout none = {.pending = 0};
    return give_all(&e, &none, (1u << p->digit_count) - 1);
  }
  return give(&e, &p->to) && give_appended(&e, reshard_used(from, p->rank)) && give_moved(&e) &&
         give_reduced(&e);
}
