/* Neighbours of a nest's schedule: the moves that a search by measuring tries next.
 *
 * The levels of a nest are read into a form: the outer levels in their order, and for each axis the unroll
 * factor and the lanes inside these. One component is changed, and levels are built from the form; a form of
 * which no nest can be made is left out. The unroll factors of two axes, a register tile, change together. */
#include "loops.h"

#include <string.h>

typedef struct form {
  loop_level outer[MAX_LEVELS]; /* the last one of each axis has the step unroll * lanes */
  uint32_t outer_count;
  int64_t unroll[MAX_NEST], lanes[MAX_NEST];
  int64_t contiguous_elements[MAX_NEST]; /* contiguous width of unrolled elements */
} form;

typedef struct neighbourhood {
  loop_nest *n; /* a copy, whose levels are rebuilt */
  form now;
  uint32_t nest;
} neighbourhood;

/* Candidates: unroll factors (heights), powers of two and those of register tiles (3, 6, 12); `factors` by
 * which levels grow. Each adds a measurement for each axis, so that there are few. */
static const int64_t heights[] = {1, 2, 3, 4, 6, 8, 12, 16}, factors[] = {2, 4, 8, 16, 32, 64};
enum {
  HEIGHTS = sizeof heights / sizeof *heights,
  FACTORS = sizeof factors / sizeof *factors,
  /* how many of the factors, up to 8, for thread blocks: larger steps are taken one by one */
  BLOCK_FACTORS = 3
};

static int64_t most_elements(const neighbourhood *o, uint32_t axis) {
  return ir_bounds_of(o->n->g, o->n->axes[axis].extent).hi;
}

/* The step of the level of the same axis next around level d; 1 where there is none. */
static int64_t around(const loop_nest *n, uint32_t d) {
  for (uint32_t i = d; i-- > 0;)
    if (n->levels[i].axis == n->levels[d].axis) return n->levels[i].step;
  return 1;
}

static void read_form(const loop_nest *n, form *out) {
  out->outer_count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++)
    out->unroll[a] = out->lanes[a] = out->contiguous_elements[a] = 1;
  for (uint32_t d = 0; d < n->level_count; d++) {
    const loop_level *level = &n->levels[d];
    if (level->binding == IR_UNROLL) out->unroll[level->axis] *= around(n, d) / level->step;
    else if (level->binding == IR_VECTOR)
      out->lanes[level->axis] = around(n, d) / level->step,
      out->contiguous_elements[level->axis] = level->step;
    else out->outer[out->outer_count++] = *level;
  }
}

/* Builds the outer levels, with steps that are multiples of one another from the inside; a level of no more
 * than one step is dropped. */
static void put_outer(loop_nest *n, const form *f) {
  int64_t step[MAX_NEST], fitted[MAX_LEVELS];
  bool inside[MAX_NEST] = {false};
  for (uint32_t a = 0; a < n->axis_count; a++) step[a] = f->unroll[a] * f->lanes[a];
  for (uint32_t d = f->outer_count; d-- > 0;) {
    uint32_t a = f->outer[d].axis;
    int64_t steps = f->outer[d].step / step[a];
    fitted[d] = !inside[a] ? step[a] : steps > 1 ? steps * step[a] : 0;
    if (fitted[d]) step[a] = fitted[d];
    inside[a] = true;
  }
  for (uint32_t d = 0; d < f->outer_count; d++)
    if (fitted[d])
      n->levels[n->level_count++] = (loop_level){f->outer[d].axis, fitted[d], f->outer[d].binding};
}

/* Only the outermost level of an axis may be bound to threads, and only before all other levels. */
static void unbind_inner_blocks(loop_nest *n) {
  bool seen[MAX_NEST] = {false}, front = true;
  for (uint32_t d = 0; d < n->level_count; d++) {
    loop_level *level = &n->levels[d];
    front = front && level->binding == IR_THREAD && !seen[level->axis];
    if (!front && level->binding == IR_THREAD) level->binding = IR_SERIAL;
    seen[level->axis] = true;
  }
}

static int64_t contiguous_of(const form *f, uint32_t a) {
  return f->lanes[a] > 1 && f->unroll[a] % f->contiguous_elements[a] == 0 ? f->contiguous_elements[a] : 1;
}

static void tell_neighbour(const neighbourhood *o, const form *f) {
  loop_nest *n = o->n;
  n->level_count = 0;
  if (f->outer_count + 3 * n->axis_count > MAX_LEVELS) return;
  put_outer(n, f);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (f->unroll[a] > contiguous_of(f, a))
      n->levels[n->level_count++] = (loop_level){a, contiguous_of(f, a) * f->lanes[a], IR_UNROLL};
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (f->lanes[a] > 1) n->levels[n->level_count++] = (loop_level){a, contiguous_of(f, a), IR_VECTOR};
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (contiguous_of(f, a) > 1) n->levels[n->level_count++] = (loop_level){a, 1, IR_UNROLL};
  unbind_inner_blocks(n);
  if (!loop_moves_unsound(n)) loop_moves_tell(n, n->shaping->neighbour, o->nest);
}

/* unroll factors and lanes */

static bool may_vectorize(const neighbourhood *o, uint32_t axis) {
  return !loop_bounds_another(o->n, axis) && !loop_is_ordered(o->n, axis);
}

/* Do the unrolled values fit in the registers, and the steps in their axes? */
static bool fits_registers(const neighbourhood *o, const form *f) {
  int64_t unroll = 1;
  for (uint32_t a = 0; a < o->n->axis_count; a++) {
    unroll *= f->unroll[a];
    if (f->unroll[a] * f->lanes[a] > 1 && f->unroll[a] * f->lanes[a] > most_elements(o, a)) return false;
    if (unroll > o->n->target->registers) return false;
  }
  return true;
}

static void tell_if_fits(const neighbourhood *o, const form *f) {
  if (fits_registers(o, f)) tell_neighbour(o, f);
}

static void vary_unroll(const neighbourhood *o) {
  for (uint32_t a = 0; a < o->n->axis_count; a++)
    for (uint32_t h = 0; h < HEIGHTS && may_vectorize(o, a); h++) {
      form f = o->now;
      f.unroll[a] = heights[h];
      if (f.unroll[a] != o->now.unroll[a]) tell_if_fits(o, &f);
    }
}

static uint32_t lane_axis(const neighbourhood *o) {
  uint32_t a = 0;
  while (a < o->n->axis_count && o->now.lanes[a] == 1) a++;
  return a;
}

static void vary_tiles(const neighbourhood *o) {
  uint32_t columns = lane_axis(o);
  if (columns == o->n->axis_count) return;
  for (uint32_t rows = 0; rows < o->n->axis_count; rows++)
    for (uint32_t h = 1; h < HEIGHTS && rows != columns && may_vectorize(o, rows); h++)
      for (uint32_t w = 0; w < HEIGHTS; w++) {
        form f = o->now;
        f.unroll[rows] = heights[h], f.unroll[columns] = heights[w];
        if (f.unroll[rows] != o->now.unroll[rows] && f.unroll[columns] != o->now.unroll[columns])
          tell_if_fits(o, &f);
      }
}

/* Other contiguous widths of a lane's elements. */
static void vary_contiguous(const neighbourhood *o) {
  for (uint32_t a = 0; a < o->n->axis_count; a++)
    for (int64_t many = 1; many <= o->n->strategy->moves.max_contiguous; many *= 2) {
      form f = o->now;
      f.contiguous_elements[a] = many;
      if (many != o->now.contiguous_elements[a] && contiguous_of(&f, a) == many) tell_neighbour(o, &f);
    }
}

/* Wider and narrower vectors; lanes along another axis, which is then not unrolled, while the axis that had
 * lanes takes over its unroll factor or none. */
static void vary_lanes(const neighbourhood *o) {
  uint32_t from = lane_axis(o);
  int64_t lanes = from < o->n->axis_count ? o->now.lanes[from] : 0;
  if (o->n->lanes_in_reduction || lanes == 0) return;
  for (int wider = 0; wider < 2; wider++) {
    form f = o->now;
    f.lanes[from] = wider ? 2 * lanes : lanes / 2;
    tell_if_fits(o, &f);
  }
  for (uint32_t to = 0; to < o->n->axis_count; to++)
    for (int keep = 0; keep < 2 && to != from && may_vectorize(o, to); keep++) {
      form f = o->now;
      f.lanes[from] = 1, f.lanes[to] = lanes;
      while (f.lanes[to] > 1 && f.lanes[to] > most_elements(o, to)) f.lanes[to] /= 2;
      f.unroll[to] = 1, f.unroll[from] = keep ? o->now.unroll[to] : 1;
      tell_if_fits(o, &f);
    }
}

/* outer levels */

/* Moves outer level `from` to place `to`; bindings belong to places. False where levels of one axis would
 * pass one another. */
static bool move_level(form *f, uint32_t from, uint32_t to) {
  loop_level moved = f->outer[from];
  int bindings[MAX_LEVELS];
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

static void vary_orders(const neighbourhood *o) {
  uint32_t count = o->now.outer_count;
  for (uint32_t from = 0; from < count; from++)
    for (uint32_t to = 0; to < count; to++) {
      form f = o->now;
      bool redundant = to == from + 1; /* the move of `to` to `from` does the same */
      if (from != to && !redundant && move_level(&f, from, to)) tell_neighbour(o, &f);
    }
}

static void insert_level(form *f, uint32_t at, loop_level level) {
  memmove(f->outer + at + 1, f->outer + at, (f->outer_count++ - at) * sizeof level);
  f->outer[at] = level;
}

static void leave_out(form *f, uint32_t at) {
  memmove(f->outer + at, f->outer + at + 1, (--f->outer_count - at) * sizeof *f->outer);
}

static uint32_t blocks(const form *f) {
  uint32_t count = 0;
  while (count < f->outer_count && f->outer[count].binding == IR_THREAD) count++;
  return count;
}

/* Is it the last outer level of its axis? */
static bool is_last(const form *f, uint32_t at) {
  for (uint32_t d = at + 1; d < f->outer_count; d++)
    if (f->outer[d].axis == f->outer[at].axis) return false;
  return true;
}

/* Cache tiles: several steps of an axis inside the steps of all other axes; or one tile fewer. */
static void vary_cache_tiles(const neighbourhood *o) {
  for (uint32_t d = 0; d < o->now.outer_count; d++) {
    form without = o->now;
    if (!is_last(&o->now, d)) {
      leave_out(&without, d);
      tell_neighbour(o, &without);
      continue;
    }
    for (uint32_t k = 0; k < FACTORS; k++) {
      loop_level tile = {o->now.outer[d].axis, factors[k] * o->now.outer[d].step, IR_SERIAL};
      form f = o->now;
      if (tile.step >= most_elements(o, tile.axis) || f.outer_count + 1 == MAX_LEVELS) break;
      insert_level(&f, blocks(&f), tile);
      tell_neighbour(o, &f);
    }
  }
}

/* Thread blocks: larger and smaller ones; one thread level more or fewer. */
static void vary_blocks(const neighbourhood *o) {
  uint32_t count = blocks(&o->now);
  for (int more = 0; more < 2; more++) {
    uint32_t at = more ? count : count - 1;
    form f = o->now;
    if (at >= f.outer_count) continue;
    f.outer[at].binding = more ? IR_THREAD : IR_SERIAL;
    if (may_vectorize(o, f.outer[at].axis)) tell_neighbour(o, &f);
  }
  for (uint32_t k = 0; k < BLOCK_FACTORS && count > 0; k++)
    for (int larger = 0; larger < 2; larger++) {
      form f = o->now;
      loop_level *last = &f.outer[count - 1];
      bool single = is_last(&f, count - 1);
      if ((!larger && single) || f.outer_count + 1 == MAX_LEVELS) continue;
      loop_level block = {last->axis, larger ? last->step * factors[k] : last->step / factors[k], IR_THREAD};
      if (block.step < 1 || block.step >= most_elements(o, block.axis)) continue;
      if (single) last->binding = IR_SERIAL, insert_level(&f, count - 1, block);
      else *last = block;
      tell_neighbour(o, &f);
    }
}

void loop_neighbours(const loop_nest *n, uint32_t nest, bool threads) {
  loop_nest copy = *n;
  neighbourhood o = {.n = &copy, .nest = nest};
  read_form(n, &o.now);
  vary_unroll(&o);
  vary_tiles(&o);
  vary_lanes(&o);
  vary_contiguous(&o);
  vary_orders(&o);
  vary_cache_tiles(&o);
  if (threads) vary_blocks(&o);
}
