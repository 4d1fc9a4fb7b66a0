/* Hops where sizes divide: in closed form, whatever the number of devices.
 *
 * The part of a dimension that a device has begins at the number whose digits are its coordinates. Old and
 * new digits are compared from the major one. While a pair of digits at the same place have the same size, a
 * device finds its new part in its old one only if its two coordinates are equal. What old digits are left
 * say from how many parts the new one is gathered; what new digits are left divide the old part. */
#include "impl.h"

typedef struct evenly {
  uint64_t before, after, kept; /* bytes of the parts, and of what is in both where all pairs are equal */
  uint64_t equal;               /* of so many devices, one has equal coordinates in all pairs */
  bool paired;                  /* is there a pair of different digits? */
  uint32_t gathered;            /* digits along which a device receives from all others */
  uint32_t axes;                /* of digits in pairs */
} evenly;

/* Joins the sets of two digits; false: they were one. */
static bool join(uint8_t *set, uint32_t count, uint32_t a, uint32_t b) {
  uint8_t from = set[a], to = set[b];
  for (uint32_t i = 0; i < count; i++)
    if (set[i] == from) set[i] = to;
  return from != to;
}

static bool compare(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                    evenly *e) {
  uint8_t set[RESHARD_DIGITS];
  for (uint32_t i = 0; i < p->digit_count; i++) set[i] = (uint8_t)i;
  *e = (evenly){.before = p->item, .after = p->item, .kept = p->item, .equal = 1};
  for (uint32_t d = 0; d < p->rank; d++) {
    const uint8_t *a = from->order + reshard_first(from, d), *b = to->order + reshard_first(to, d);
    const uint8_t *a_end = from->order + from->ends[d], *b_end = to->order + to->ends[d];
    uint64_t old_parts = 1, new_parts = 1, size = (uint64_t)p->shape[d];
    for (const uint8_t *k = a; k < a_end && p->weighted; k++)
      if (p->digits[*k].weighted) return false;
    for (const uint8_t *k = b; k < b_end && p->weighted; k++)
      if (p->digits[*k].weighted) return false;
    for (; a < a_end && b < b_end; a++, b++) {
      uint32_t k = (uint32_t)p->digits[*a].size;
      if (*a != *b) {
        if (k != (uint32_t)p->digits[*b].size) return false;
        e->paired = true;
        e->axes |= 1u << p->digits[*a].axis;
        if (join(set, p->digit_count, *a, *b)) e->equal *= k;
      }
      old_parts *= k, new_parts *= k;
    }
    for (; a < a_end; a++) old_parts *= (uint64_t)p->digits[*a].size, e->gathered |= 1u << *a;
    for (; b < b_end; b++) new_parts *= (uint64_t)p->digits[*b].size;
    if (size % old_parts || size % new_parts) return false;
    e->before *= size / old_parts, e->after *= size / new_parts;
    e->kept *= size / (old_parts > new_parts ? old_parts : new_parts);
  }
  return true;
}

/* The time of the device that has no equal pair, and receives along `gathered`. A message differs along the
 * axes of the pairs and along a set of the others, for each of which it is counted. */
static uint64_t time_of(const reshard_problem *p, const evenly *e, uint64_t bytes) {
  uint64_t others[IR_MESH_AXES]; /* coordinates of gathered digits along an axis */
  uint32_t list[IR_MESH_AXES], n = 0;
  reshard_clock clock = {.p = p};
  for (uint32_t a = 0; a < IR_MESH_AXES; a++) others[a] = 1;
  for (uint32_t k = 0; k < p->digit_count; k++)
    if (e->gathered >> k & 1) others[p->digits[k].axis] *= (uint64_t)p->digits[k].size;
  for (uint32_t a = 0; a < IR_MESH_AXES; a++)
    if (others[a] > 1) list[n++] = a;
  for (uint32_t some = 0; some < 1u << n; some++) {
    uint32_t axes = e->axes;
    uint64_t messages = 1;
    for (uint32_t i = 0; i < n; i++)
      if (some >> i & 1) axes |= 1u << list[i], messages *= others[list[i]] - 1;
    if (axes) reshard_clock_add(&clock, axes, messages, bytes);
  }
  return (uint64_t)reshard_clock_end(&clock);
}

bool reshard_hop_evenly(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                        pass_reshard_cost *out) {
  evenly e;
  if (!compare(p, from, to, &e)) return false;
  uint32_t reduced = from->pending & ~to->pending;
  uint64_t summands = 1, parts = 1;
  for (uint32_t k = 0; k < p->digit_count; k++) {
    if (e.gathered >> k & 1) parts *= (uint64_t)p->digits[k].size;
    if (reduced >> k & 1) summands *= (uint64_t)p->digits[k].size;
  }
  e.gathered |= reduced;
  bool nothing = e.after == 0 || (!e.paired && summands * parts == 1);
  uint64_t stack = reduced ? summands * e.after : 0;
  out->recv = nothing ? 0 : summands * e.after - (e.paired ? 0 : e.kept);
  out->total = nothing ? 0 : p->devices * summands * e.after - p->devices / e.equal * e.kept;
  out->messages = nothing ? 0 : summands * parts - (e.paired ? 0 : 1);
  out->time = nothing ? 0 : time_of(p, &e, e.after / parts);
  out->peak = reduced ? stack + (e.before > e.after ? e.before : e.after) : e.before + e.after;
  return true;
}
