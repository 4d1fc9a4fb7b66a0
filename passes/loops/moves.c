/* The levels of a nest as moves, and back.
 *
 *   split a0 64             splits the innermost level of the axis: steps of 64 elements, and a level inside
 *   tile a0 6 a1 64         split a0 6, split a1 64, and both outer levels before both inner ones
 *   reorder a1.0 a0.0       these levels in this order, where the first of them stood
 *   thread a1.0             bindings; only the outermost levels are thread blocks
 *   unroll a0.1
 *   vector a1.2
 *
 * Axes are named from the outermost inwards, a0, a1, ...; the levels of an axis that is split are a0.0, a0.1,
 * ... Moves are separated by semicolons and begin from one serial level for each axis. */
#include "loops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const binding_words[] = {
    [IR_SERIAL] = "serial", [IR_UNROLL] = "unroll", [IR_VECTOR] = "vector", [IR_THREAD] = "thread"};
enum { BINDINGS = sizeof binding_words / sizeof *binding_words };

/* printing */

static uint32_t levels_of(const loop_nest *n, uint32_t axis) {
  uint32_t count = 0;
  for (uint32_t d = 0; d < n->level_count; d++) count += n->levels[d].axis == axis;
  return count;
}

/* The place of level d among those of its axis, from the outermost. */
static uint32_t place_in_axis(const loop_nest *n, uint32_t d) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < d; i++) place += n->levels[i].axis == n->levels[d].axis;
  return place;
}

static void put_level(const loop_nest *n, uint32_t d, ir_text *out) {
  uint32_t axis = n->levels[d].axis;
  if (levels_of(n, axis) == 1) ir_textf(out, " a%u", axis);
  else ir_textf(out, " a%u.%u", axis, place_in_axis(n, d));
}

static void put_word(ir_text *out, size_t start, const char *word) {
  ir_textf(out, "%s%s", out->len > start ? "; " : "", word);
}

static bool is_in_order(const loop_nest *n) {
  for (uint32_t d = 1; d < n->level_count; d++)
    if (n->levels[d].axis < n->levels[d - 1].axis) return false;
  return true;
}

void loop_moves_print(const loop_nest *n, ir_text *out) {
  size_t start = out->len;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    uint32_t left = levels_of(n, a);
    for (uint32_t d = 0; d < n->level_count && left > 1; d++) {
      if (n->levels[d].axis != a) continue;
      put_word(out, start, "split");
      ir_textf(out, " a%u %lld", a, (long long)n->levels[d].step);
      left--;
    }
  }
  if (!is_in_order(n)) {
    put_word(out, start, "reorder");
    for (uint32_t d = 0; d < n->level_count; d++) put_level(n, d, out);
  }
  for (int b = 0; b < BINDINGS; b++) {
    bool named = b == IR_SERIAL;
    for (uint32_t d = 0; d < n->level_count; d++) {
      if (n->levels[d].binding != b || b == IR_SERIAL) continue;
      if (!named) put_word(out, start, binding_words[b]);
      named = true;
      put_level(n, d, out);
    }
  }
}

void loop_moves_tell(const loop_nest *n,
                     void (*tell)(void *user, uint32_t kernel, uint32_t nest, const char *moves),
                     uint32_t nest) {
  ir_text text;
  ir_text_init(&text, n->g->mem);
  loop_moves_print(n, &text);
  if (!text.failed) tell(n->shaping->user, n->shaping->kernel, nest, ir_text_get(&text));
  ir_text_free(&text);
}

/* reading */

/* Bytes of a move that an error message repeats: more than any move that the cost model makes, and with the
 * rest of the message less than an error holds. */
enum { MAX_SHOWN_BYTES = 300 };

typedef struct reader {
  loop_nest *n;
  uint32_t nest;
  const char *at;
} reader;

/* NULL, or why a move is refused. */
typedef const char *refusal;

static bool refuse_move(reader *r, const char *move, size_t length, const char *why) {
  ir_fail(r->n->g->error, IR_ERR_INVALID,
          "kernel %u nest %u: `%.*s`: %s; moves are split AXIS STEP, tile AXIS STEP AXIS STEP, reorder "
          "LEVEL..., thread, unroll and vector LEVEL..., of axes a0 to a%u",
          r->n->shaping->kernel, r->nest, length < MAX_SHOWN_BYTES ? (int)length : MAX_SHOWN_BYTES, move, why,
          r->n->axis_count ? r->n->axis_count - 1 : 0);
  return false;
}

static void skip_blanks(reader *r) {
  while (*r->at == ' ' || *r->at == '\t') r->at++;
}

static bool read_number(reader *r, int64_t *out) {
  char *end;
  skip_blanks(r);
  if (*r->at < '0' || *r->at > '9') return false;
  errno = 0;
  *out = strtoll(r->at, &end, 10);
  r->at = end;
  return errno == 0;
}

static bool read_axis(reader *r, uint32_t *axis) {
  int64_t number;
  skip_blanks(r);
  if (*r->at != 'a') return false;
  r->at++;
  if (!read_number(r, &number) || number >= r->n->axis_count) return false;
  *axis = (uint32_t)number;
  return true;
}

/* Number of level `place` of the axis; level_count when there is none. */
static uint32_t find_level(const loop_nest *n, uint32_t axis, int64_t place) {
  for (uint32_t d = 0; d < n->level_count; d++)
    if (n->levels[d].axis == axis && place-- == 0) return d;
  return n->level_count;
}

static bool read_level(reader *r, uint32_t *level) {
  uint32_t axis;
  int64_t place = 0;
  if (!read_axis(r, &axis)) return false;
  if (*r->at == '.') {
    r->at++;
    if (!read_number(r, &place)) return false;
  } else if (levels_of(r->n, axis) > 1) {
    return false;
  }
  *level = find_level(r->n, axis, place);
  return *level < r->n->level_count;
}

/* The innermost level of the axis, of step 1, gets a level of `step` elements around it. */
static refusal split_axis(loop_nest *n, uint32_t axis, int64_t step) {
  uint32_t count = levels_of(n, axis), last = find_level(n, axis, count - 1);
  if (n->level_count == MAX_LEVELS) return "the nest has as many levels as there can be";
  if (step < 2 || step > LOOP_MAX_STEP) return "a step must be a number from 2 to 2147483647";
  if (n->levels[last].binding != IR_SERIAL) return "an axis must be split before its levels are bound";
  if (count > 1) {
    int64_t around = n->levels[find_level(n, axis, count - 2)].step;
    if (step >= around || around % step != 0)
      return "the steps of an axis must decrease from the outer level to the inner, each a multiple of the "
             "next";
  }
  memmove(n->levels + last + 1, n->levels + last, (n->level_count++ - last) * sizeof *n->levels);
  n->levels[last].step = step;
  return NULL;
}

static refusal read_split(reader *r, uint32_t *axis) {
  int64_t step;
  if (!read_axis(r, axis)) return "there is no such axis";
  return read_number(r, &step) ? split_axis(r->n, *axis, step)
                               : "a step must be a number from 2 to 2147483647";
}

/* Puts the wanted levels one after another, in this order, where the first of them stood. */
static bool reorder(loop_nest *n, const uint32_t *wanted, uint32_t count) {
  loop_level now[MAX_LEVELS];
  bool chosen[MAX_LEVELS] = {false};
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (chosen[wanted[i]]) return false;
    chosen[wanted[i]] = true;
  }
  for (uint32_t d = 0, placed = 0; d < n->level_count; d++) {
    for (uint32_t i = 0; i < count && chosen[d] && !placed; i++) now[used++] = n->levels[wanted[i]];
    placed |= chosen[d];
    if (!chosen[d]) now[used++] = n->levels[d];
  }
  memcpy(n->levels, now, used * sizeof *now);
  for (uint32_t d = 0; d < n->level_count; d++) /* an axis's levels stay in order */
    for (uint32_t i = 0; i < d; i++)
      if (n->levels[i].axis == n->levels[d].axis && n->levels[i].step <= n->levels[d].step) return false;
  return true;
}

static refusal read_tile(reader *r) {
  uint32_t a, b;
  refusal why = read_split(r, &a);
  if (!why) why = read_split(r, &b);
  if (why) return why;
  uint32_t inner_a = find_level(r->n, a, levels_of(r->n, a) - 1), outer_b = inner_a + 1;
  bool next_to = a != b && outer_b + 1 < r->n->level_count && r->n->levels[outer_b].axis == b;
  return next_to && reorder(r->n, (uint32_t[]){outer_b, inner_a}, 2)
             ? NULL
             : "a tile splits two different axes whose levels are neighbours";
}

static uint32_t read_levels(reader *r, uint32_t *out) {
  uint32_t count = 0;
  for (;;) {
    skip_blanks(r);
    if (*r->at != 'a' || count == MAX_LEVELS) return count;
    if (!read_level(r, &out[count++])) return 0;
  }
}

/* An extent is known only inside the loops of the axes that it depends on. */
static bool knows_sizes(loop_nest *n) {
  for (uint32_t d = 1; d < n->level_count; d++)
    for (uint32_t i = 0; i < d; i++)
      if (affine_depends(n->g, n->axes[n->levels[i].axis].extent, n->axes[n->levels[d].axis].range))
        return false;
  return true;
}

/* Has each lane contiguous elements: an unrolled level of step 1 inside this one? */
static bool has_unrolled_inside(const loop_nest *n, uint32_t d) {
  const loop_level *level = &n->levels[d];
  uint32_t next = find_level(n, level->axis, place_in_axis(n, d) + 1);
  return n->strategy->moves.max_contiguous && level->binding == IR_VECTOR && next < n->level_count &&
         n->levels[next].binding == IR_UNROLL && n->levels[next].step == 1;
}

/* Thread blocks are the outermost levels; an axis whose updates are ordered, or that other extents depend on,
 * is not divided; lanes and unrolled levels need an extent that they fill. */
const char *loop_moves_unsound(loop_nest *n) {
  const pass_strategy *s = n->strategy;
  int64_t together = 1;
  uint32_t vector_levels = 0;
  if (!knows_sizes(n)) return "the extent of an axis depends on an axis whose loop is inside it";
  for (uint32_t d = 0; d < n->level_count; d++) {
    const loop_level *level = &n->levels[d];
    uint32_t place = place_in_axis(n, d);
    int64_t around = place ? n->levels[find_level(n, level->axis, place - 1)].step : 0;
    bool vector = level->binding == IR_VECTOR, lanes = level->binding == IR_UNROLL || vector;
    if (level->binding == IR_THREAD && ((d && n->levels[d - 1].binding != IR_THREAD) || place))
      return "thread levels must be the outermost levels of their axes, outside all other levels";
    bool reads_first = vector && d + 1 == n->level_count && loop_replaces_in_order(n, level->axis);
    if (level->binding != IR_SERIAL && loop_is_ordered(n, level->axis) && !reads_first)
      return "updates along this axis may write the same element, so it must stay serial";
    if (level->binding == IR_THREAD && !loop_may_thread(n, level->axis))
      return "the extent of this axis depends on data or on another axis, but thread blocks are counted "
             "before the kernel runs";
    if ((lanes || levels_of(n, level->axis) > 1) && loop_bounds_another(n, level->axis))
      return "the extent of another axis depends on this one, so it must stay one serial level";
    if (lanes && n->shares) return "the nests inside this one have unroll and vector levels of their own";
    if (lanes && (around == 0 || around / level->step > (vector ? s->moves.max_lanes : LOOP_MAX_LANES)))
      return "an unroll or vector level needs an outer level of the same axis, of at most 64 times its step";
    if (vector) together *= around / level->step;
    if (together > s->moves.max_lanes_together(n->target))
      return "these are more work-items than a group of the target has";
    if (vector && ((level->step != 1 && !has_unrolled_inside(n, d)) || (around & (around - 1))))
      return "a vector level is the innermost level of its axis, of a power of two elements; inside "
             "work-items there may be an unroll level";
    for (uint32_t i = 0; i < d && loop_is_ordered(n, level->axis); i++)
      if (n->levels[i].axis > level->axis && loop_is_ordered(n, n->levels[i].axis))
        return "updates along these axes may write the same element, so the axes must stay in order";
    if (vector && vector_levels >= s->moves.max_vector_levels) return "only one level may be a vector level";
    if (vector && vector_levels + n->lanes_in_reduction >= s->moves.max_vector_levels)
      return "vector lanes already run along the terms of a reduction, whose order must not change";
    vector_levels += vector;
  }
  return NULL;
}

static bool read_move(reader *r, size_t length) {
  const char *move = r->at;
  uint32_t levels[MAX_LEVELS], axis;
  size_t word = strcspn(move, " \t;\n");
  if (word == 0) return refuse_move(r, move, length, "a move is missing");
  r->at += word;
  if (word == 5 && !strncmp(move, "split", word)) {
    refusal why = read_split(r, &axis);
    return !why || refuse_move(r, move, length, why);
  }
  if (word == 4 && !strncmp(move, "tile", word)) {
    refusal why = read_tile(r);
    return !why || refuse_move(r, move, length, why);
  }
  uint32_t count = read_levels(r, levels);
  if (!count) return refuse_move(r, move, length, "there is no such level");
  if (word == 7 && !strncmp(move, "reorder", word))
    return reorder(r->n, levels, count) ||
           refuse_move(r, move, length, "the levels of an axis must stay in order");
  for (int b = 0; b < BINDINGS; b++) {
    if (word != strlen(binding_words[b]) || strncmp(move, binding_words[b], word) != 0) continue;
    for (uint32_t i = 0; i < count; i++) r->n->levels[levels[i]].binding = b;
    return true;
  }
  return refuse_move(r, move, length, "there is no such move");
}

/* Sets lanes, unroll and contiguous_elements of the axes from the levels. */
static void set_lanes_from_levels(loop_nest *n) {
  for (uint32_t a = 0; a < n->axis_count; a++)
    n->axes[a].lanes = n->axes[a].unroll = 1, n->axes[a].contiguous_elements = 0;
  for (uint32_t d = 0; d < n->level_count; d++) {
    const loop_level *level = &n->levels[d];
    uint32_t place = place_in_axis(n, d);
    int64_t around = place ? n->levels[find_level(n, level->axis, place - 1)].step : level->step;
    if (level->binding == IR_VECTOR) {
      n->axes[level->axis].lanes = (int)(around / level->step);
      n->axes[level->axis].contiguous_elements = level->step > 1 ? (int)level->step : 0;
    }
    if (level->binding == IR_UNROLL) n->axes[level->axis].unroll *= (int)(around / level->step);
  }
}

bool loop_moves_apply(loop_nest *n, uint32_t nest, const char *text) {
  reader r = {n, nest, text};
  n->level_count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++) n->levels[n->level_count++] = (loop_level){a, 1, IR_SERIAL};
  for (;;) {
    skip_blanks(&r);
    if (*r.at == ';') r.at++;
    else if (*r.at == '\0') break;
    skip_blanks(&r);
    const char *move = r.at;
    size_t length = strcspn(move, ";");
    if (length == 0) continue;
    if (!read_move(&r, length)) return false;
    skip_blanks(&r);
    if (*r.at && *r.at != ';') return refuse_move(&r, move, length, "unexpected text follows the move");
  }
  const char *why = loop_moves_unsound(n);
  if (why) return refuse_move(&r, text, strlen(text), why);
  set_lanes_from_levels(n);
  return true;
}
