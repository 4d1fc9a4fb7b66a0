/* Moves near those of a nest: what a search by measuring tries next.
 *
 * The digits of a nest are taken apart into the outer ones, in their order, and for each axis the copies and
 * lanes inside these. One of the parts is changed, and the digits put together again; what cannot be made is
 * left out. Two axes' copies, a register tile, change together. */
#include "loops.h"

#include <string.h>

typedef struct form {
  loop_digit outer[MAX_DIGITS]; /* the last one of each axis goes in steps of copies * lanes */
  uint32_t outer_count;
  int64_t copies[MAX_NEST], lanes[MAX_NEST];
  int64_t beside[MAX_NEST]; /* of the copies */
} form;

typedef struct offer {
  loop_nest *n; /* a copy, whose digits are put together */
  form now;
  uint32_t nest;
} offer;

static const int64_t heights[] = {1, 2, 3, 4, 6, 8, 12, 16}, factors[] = {2, 4, 8, 16, 32, 64};
enum {
  HEIGHTS = sizeof heights / sizeof *heights,
  FACTORS = sizeof factors / sizeof *factors,
  BLOCK_FACTORS = 3 /* of factors, for blocks of threads */
};

static int64_t most(const offer *o, uint32_t axis) {
  return ir_bounds_of(o->n->g, o->n->axes[axis].extent).hi;
}

/* The step of the digit of that axis around digit d; 1 where there is none. */
static int64_t around(const loop_nest *n, uint32_t d) {
  for (uint32_t i = d; i-- > 0;)
    if (n->digits[i].axis == n->digits[d].axis) return n->digits[i].step;
  return 1;
}

static void take_apart(const loop_nest *n, form *out) {
  out->outer_count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++) out->copies[a] = out->lanes[a] = out->beside[a] = 1;
  for (uint32_t d = 0; d < n->digit_count; d++) {
    const loop_digit *digit = &n->digits[d];
    if (digit->binding == IR_UNROLL) out->copies[digit->axis] *= around(n, d) / digit->step;
    else if (digit->binding == IR_VECTOR)
      out->lanes[digit->axis] = around(n, d) / digit->step, out->beside[digit->axis] = digit->step;
    else out->outer[out->outer_count++] = *digit;
  }
}

/* Steps of the outer digits as multiples of one another, from the inside; those that say nothing go. */
static void put_outer(loop_nest *n, const form *f) {
  int64_t step[MAX_NEST], fitted[MAX_DIGITS];
  bool inside[MAX_NEST] = {false};
  for (uint32_t a = 0; a < n->axis_count; a++) step[a] = f->copies[a] * f->lanes[a];
  for (uint32_t d = f->outer_count; d-- > 0;) {
    uint32_t a = f->outer[d].axis;
    int64_t steps = f->outer[d].step / step[a];
    fitted[d] = !inside[a] ? step[a] : steps > 1 ? steps * step[a] : 0;
    if (fitted[d]) step[a] = fitted[d];
    inside[a] = true;
  }
  for (uint32_t d = 0; d < f->outer_count; d++)
    if (fitted[d])
      n->digits[n->digit_count++] = (loop_digit){f->outer[d].axis, fitted[d], f->outer[d].binding};
}

/* Only the outermost digits of axes are blocks, and only those before all others. */
static void unbind_inner_blocks(loop_nest *n) {
  bool seen[MAX_NEST] = {false}, front = true;
  for (uint32_t d = 0; d < n->digit_count; d++) {
    loop_digit *digit = &n->digits[d];
    front = front && digit->binding == IR_THREAD && !seen[digit->axis];
    if (!front && digit->binding == IR_THREAD) digit->binding = IR_SERIAL;
    seen[digit->axis] = true;
  }
}

static int64_t beside(const form *f, uint32_t a) {
  return f->lanes[a] > 1 && f->copies[a] % f->beside[a] == 0 ? f->beside[a] : 1;
}

static void put(const offer *o, const form *f) {
  loop_nest *n = o->n;
  n->digit_count = 0;
  if (f->outer_count + 3 * n->axis_count > MAX_DIGITS) return;
  put_outer(n, f);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (f->copies[a] > beside(f, a))
      n->digits[n->digit_count++] = (loop_digit){a, beside(f, a) * f->lanes[a], IR_UNROLL};
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (f->lanes[a] > 1) n->digits[n->digit_count++] = (loop_digit){a, beside(f, a), IR_VECTOR};
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (beside(f, a) > 1) n->digits[n->digit_count++] = (loop_digit){a, 1, IR_UNROLL};
  unbind_inner_blocks(n);
  if (!loop_moves_unsound(n)) loop_moves_tell(n, n->shaping->offered, o->nest);
}

/* copies and lanes */

static bool takes_lanes(const offer *o, uint32_t axis) {
  return !loop_bounds_another(o->n, axis) && !loop_is_ordered(o->n, axis);
}

/* Is there room in the registers, twice over, and in the axes? */
static bool fits(const offer *o, const form *f) {
  int64_t copies = 1;
  for (uint32_t a = 0; a < o->n->axis_count; a++) {
    copies *= f->copies[a];
    if (f->copies[a] * f->lanes[a] > 1 && f->copies[a] * f->lanes[a] > most(o, a)) return false;
    if (copies > o->n->target->registers) return false;
  }
  return true;
}

static void put_fitting(const offer *o, const form *f) {
  if (fits(o, f)) put(o, f);
}

static void offer_copies(const offer *o) {
  for (uint32_t a = 0; a < o->n->axis_count; a++)
    for (uint32_t h = 0; h < HEIGHTS && takes_lanes(o, a); h++) {
      form f = o->now;
      f.copies[a] = heights[h];
      if (f.copies[a] != o->now.copies[a]) put_fitting(o, &f);
    }
}

static uint32_t lane_axis(const offer *o) {
  uint32_t a = 0;
  while (a < o->n->axis_count && o->now.lanes[a] == 1) a++;
  return a;
}

static void offer_tiles(const offer *o) {
  uint32_t columns = lane_axis(o);
  if (columns == o->n->axis_count) return;
  for (uint32_t rows = 0; rows < o->n->axis_count; rows++)
    for (uint32_t h = 1; h < HEIGHTS && rows != columns && takes_lanes(o, rows); h++)
      for (uint32_t w = 0; w < HEIGHTS; w++) {
        form f = o->now;
        f.copies[rows] = heights[h], f.copies[columns] = heights[w];
        if (f.copies[rows] != o->now.copies[rows] && f.copies[columns] != o->now.copies[columns])
          put_fitting(o, &f);
      }
}

/* More or fewer of a work-item's copies side by side. */
static void offer_beside(const offer *o) {
  enum { MOST_BESIDE = 4 };
  for (uint32_t a = 0; a < o->n->axis_count && o->n->target->lanes; a++)
    for (int64_t many = 1; many <= MOST_BESIDE; many *= 2) {
      form f = o->now;
      f.beside[a] = many;
      if (many != o->now.beside[a] && beside(&f, a) == many) put(o, &f);
    }
}

/* Wider and narrower vectors; lanes along another axis, with one copy there or as many as there were. */
static void offer_lanes(const offer *o) {
  uint32_t from = lane_axis(o);
  int64_t lanes = from < o->n->axis_count ? o->now.lanes[from] : 0;
  if (o->n->lanes_in_reduction || lanes == 0) return;
  for (int wider = 0; wider < 2; wider++) {
    form f = o->now;
    f.lanes[from] = wider ? 2 * lanes : lanes / 2;
    put_fitting(o, &f);
  }
  for (uint32_t to = 0; to < o->n->axis_count; to++)
    for (int keep = 0; keep < 2 && to != from && takes_lanes(o, to); keep++) {
      form f = o->now;
      f.lanes[from] = 1, f.lanes[to] = lanes;
      while (f.lanes[to] > 1 && f.lanes[to] > most(o, to)) f.lanes[to] /= 2;
      f.copies[to] = 1, f.copies[from] = keep ? o->now.copies[to] : 1;
      put_fitting(o, &f);
    }
}

/* outer digits */

/* The digit of that place before the one of the other place; bindings belong to places. */
static bool move(form *f, uint32_t from, uint32_t to) {
  loop_digit moved = f->outer[from];
  int bindings[MAX_DIGITS];
  for (uint32_t d = 0; d < f->outer_count; d++) {
    bindings[d] = f->outer[d].binding;
    if (d != from && f->outer[d].axis == moved.axis && (d < from) != (d < to + (to > from))) return false;
  }
  for (uint32_t d = from; d > to; d--) f->outer[d] = f->outer[d - 1];
  for (uint32_t d = from; d < to; d++) f->outer[d] = f->outer[d + 1];
  f->outer[to] = moved;
  for (uint32_t d = 0; d < f->outer_count; d++) f->outer[d].binding = bindings[d];
  return true;
}

static void offer_orders(const offer *o) {
  uint32_t count = o->now.outer_count;
  for (uint32_t from = 0; from < count; from++)
    for (uint32_t to = 0; to < count; to++) {
      form f = o->now;
      bool said = to == from + 1; /* by moving that one */
      if (from != to && !said && move(&f, from, to)) put(o, &f);
    }
}

static void insert(form *f, uint32_t at, loop_digit digit) {
  memmove(f->outer + at + 1, f->outer + at, (f->outer_count++ - at) * sizeof digit);
  f->outer[at] = digit;
}

static void leave_out(form *f, uint32_t at) {
  memmove(f->outer + at, f->outer + at + 1, (--f->outer_count - at) * sizeof *f->outer);
}

static uint32_t blocks(const form *f) {
  uint32_t count = 0;
  while (count < f->outer_count && f->outer[count].binding == IR_THREAD) count++;
  return count;
}

/* Is it the last outer digit of its axis? */
static bool is_last(const form *f, uint32_t at) {
  for (uint32_t d = at + 1; d < f->outer_count; d++)
    if (f->outer[d].axis == f->outer[at].axis) return false;
  return true;
}

/* Tiles for the caches: so many steps of an axis inside the steps of all others; or no tile. */
static void offer_cache_tiles(const offer *o) {
  for (uint32_t d = 0; d < o->now.outer_count; d++) {
    form without = o->now;
    if (!is_last(&o->now, d)) {
      leave_out(&without, d);
      put(o, &without);
      continue;
    }
    for (uint32_t k = 0; k < FACTORS; k++) {
      loop_digit tile = {o->now.outer[d].axis, factors[k] * o->now.outer[d].step, IR_SERIAL};
      form f = o->now;
      if (tile.step >= most(o, tile.axis) || f.outer_count + 1 == MAX_DIGITS) break;
      insert(&f, blocks(&f), tile);
      put(o, &f);
    }
  }
}

/* Blocks for threads: larger and smaller ones; one digit more or fewer. */
static void offer_blocks(const offer *o) {
  uint32_t count = blocks(&o->now);
  for (int more = 0; more < 2; more++) {
    uint32_t at = more ? count : count - 1;
    form f = o->now;
    if (at >= f.outer_count) continue;
    f.outer[at].binding = more ? IR_THREAD : IR_SERIAL;
    if (takes_lanes(o, f.outer[at].axis)) put(o, &f);
  }
  for (uint32_t k = 0; k < BLOCK_FACTORS && count > 0; k++)
    for (int larger = 0; larger < 2; larger++) {
      form f = o->now;
      loop_digit *last = &f.outer[count - 1];
      bool single = is_last(&f, count - 1);
      if ((!larger && single) || f.outer_count + 1 == MAX_DIGITS) continue;
      loop_digit block = {last->axis, larger ? last->step * factors[k] : last->step / factors[k], IR_THREAD};
      if (block.step < 1 || block.step >= most(o, block.axis)) continue;
      if (single) last->binding = IR_SERIAL, insert(&f, count - 1, block);
      else *last = block;
      put(o, &f);
    }
}

void loop_offer(const loop_nest *n, uint32_t nest, bool threads) {
  loop_nest copy = *n;
  offer o = {.n = &copy, .nest = nest};
  take_apart(n, &o.now);
  offer_copies(&o);
  offer_tiles(&o);
  offer_lanes(&o);
  offer_beside(&o);
  offer_orders(&o);
  offer_cache_tiles(&o);
  if (threads) offer_blocks(&o);
}
