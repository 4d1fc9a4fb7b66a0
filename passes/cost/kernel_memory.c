/* The lines of caches that a kernel moves.
 *
 * Of each access, from its innermost loop outwards: the bytes of lines that it touches within each loop, from
 * its steps along that loop. Of each loop: what all accesses touch in one iteration. Lines that an iteration
 * touches again after another are still in a cache that holds what one iteration touches; otherwise they come
 * from the next level as often as they are touched. */
#include <math.h>

#include "passes/cost/kernel_walk.h"

enum {
  /* streams of lines that prefetchers follow at a time. Measured on Sapphire Rapids: copies of 64 rows of 256
   * bytes at a time take as long as those of one row, of 256 rows twice as long */
  STREAMS = 64,
  NOTICED_LINES = 4, /* in sequence, after which prefetchers are ahead */
  WAYS = 12, /* lines of an L1 cache that differ by multiples of a page (Golden Cove and Zen 5; others 8) */
  /* pages whose addresses a processor holds translated (Golden Cove and Zen 4: 2048 and 3072, shared with
   * code): where more are touched in turn, each is looked up again */
  TRANSLATED_PAGES = 1024
};

/* ns to look up a page: the tables are in caches, or, for constants that nothing has read for long, as far
 * away as these. Measured on Sapphire Rapids, in a virtual machine: copies of matrices with 2048 rows, and
 * products of one row with weights in a file. */
enum {
  WALK_NS = 15,        /* tables in the L2 cache */
  COLD_WALK_NS = 50,   /* in the last cache */
  MEMORY_WALK_NS = 100 /* beyond what that takes: in memory */
};

/* Levels of segments whose gaps are told apart, so that these can be filled: rows, channels, images and
 * blocks of a tile. Gaps beyond them stay. */
enum { MAX_GAPS = 4 };

/* What an access touches: segments of `span` contiguous bytes each. `run`: so many of them are touched one
 * after another, which prefetchers notice. */
typedef struct footprint {
  double segments, span, run;
  double gap[MAX_GAPS],
      gaps[MAX_GAPS]; /* segments begin at these distances, so many of them; innermost first */
  int levels;
  double pages;    /* that are touched in turn, one for each run */
  double distance; /* from one run to the next */
  bool jumps;      /* the run has ended */
  bool returns;    /* to a page that was touched before */
  bool aliased; /* the gap is such that all runs fall into the same sets of a cache, more than it has ways */
} footprint;

static void extend(footprint *f, double trips, double stride_bytes) {
  double stride = fabs(stride_bytes);
  if (trips <= 1 || stride == 0) return;
  if (stride <= f->span + IR_CACHE_LINE_BYTES) f->span += stride * (trips - 1);
  else f->segments *= trips;
  if (f->segments > 1 && stride > f->span + IR_CACHE_LINE_BYTES && f->levels < MAX_GAPS) {
    int inner = f->levels - 1; /* what covers a page or more covers all sets */
    double covers = inner < 0 ? f->span : f->gap[inner] * f->gaps[inner];
    f->gap[f->levels] = stride, f->gaps[f->levels++] = trips;
    f->aliased |= fmod(stride, IR_PAGE_BYTES) == 0 && trips > WAYS && covers < IR_PAGE_BYTES;
  }
  while (f->levels && f->span + IR_CACHE_LINE_BYTES >= f->gap[0]) { /* the gaps are filled */
    f->span += f->gap[0] * (f->gaps[0] - 1);
    f->segments /= f->gaps[0];
    f->levels--;
    for (int i = 0; i < f->levels; i++) f->gap[i] = f->gap[i + 1], f->gaps[i] = f->gaps[i + 1];
  }
  f->returns |= stride < IR_PAGE_BYTES && f->pages > 1;
  if (stride >= IR_PAGE_BYTES && !f->returns) f->pages *= trips;
  if (!f->jumps && f->segments > STREAMS) f->jumps = true, f->distance = f->gap[0];
  if (!f->jumps) f->run = f->span;
}

/* Segments lie anywhere in lines, apart from those that are longer. */
static double bytes_of(const kernel_access *a, const footprint *f) {
  double lines = f->span <= IR_CACHE_LINE_BYTES ? 1 : f->span / IR_CACHE_LINE_BYTES;
  return fmin(f->segments * lines * IR_CACHE_LINE_BYTES, fmax(a->size, IR_CACHE_LINE_BYTES));
}

/* Extends by the steps along a loop. A loop whose quotients are steps too is several loops, one for each
 * digit of its index, the lowest first. */
static void extend_along(const kernel_access *a, bool lane, uint32_t loop, double trips, footprint *f) {
  double from = 1;
  while (from < trips) {
    double stride = 0, to = trips;
    for (uint32_t i = 0; i < a->step_count; i++) {
      const kernel_step *s = &a->steps[i];
      if (s->lane != lane || s->loop != loop) continue;
      if (s->by <= from) stride += s->stride * from / s->by;
      else if (s->by < to) to = s->by;
    }
    extend(f, to / from, stride * a->element);
    from = to;
  }
}

static footprint footprint_of_one(const kernel_walk *w, const kernel_access *a) {
  footprint f = {.segments = 1, .span = a->element, .run = a->element, .pages = 1};
  for (int vector = 1; vector >= 0; vector--) /* vector lanes first, which are contiguous in most cases */
    for (uint32_t l = 0; l < w->lane_count; l++)
      if (w->lanes[l].vector == vector) extend_along(a, true, l + 1, w->lanes[l].extent, &f);
  for (uint32_t l = 0; l < w->lane_count; l++)
    if (a->random && a->random_lanes >> l & 1)
      f.segments *= w->lanes[l].extent, f.jumps = true, f.distance = IR_PAGE_BYTES;
  return f;
}

/* With the accesses that it stands for, which lie next to it or overlap with it: within an iteration or from
 * one to the next. */
static footprint footprint_of_lanes(const kernel_walk *w, const kernel_access *a) {
  footprint f = footprint_of_one(w, a);
  f.span += fmin(a->more, (a->high - a->low) * a->element) + a->spread;
  f.run = f.jumps ? f.run : f.span;
  return f;
}

static bool has_step(const kernel_access *a, const kernel_step *step) {
  for (uint32_t i = 0; i < a->step_count; i++)
    if (!a->steps[i].lane && a->steps[i].loop == step->loop && a->steps[i].by == step->by &&
        a->steps[i].stride == step->stride)
      return true;
  return false;
}

static bool moves_alike(const kernel_access *a, const kernel_access *b) {
  uint32_t running[2] = {0, 0};
  for (uint32_t i = 0; i < a->step_count; i++) running[0] += !a->steps[i].lane;
  for (uint32_t i = 0; i < b->step_count; i++) running[1] += !b->steps[i].lane;
  bool alike = a->home == b->home && a->random == b->random && running[0] == running[1];
  for (uint32_t i = 0; i < a->step_count && alike; i++) alike = a->steps[i].lane || has_step(b, &a->steps[i]);
  return alike;
}

void kernel_join_access(const kernel_walk *w, kernel_access *a) {
  /* accesses of the buffer that are compared, so that time is linear: a window of 3 x 3 has nine */
  enum { LOOKED_AT = 16 };
  int looked = 0;
  for (uint32_t next = a->next; next && looked < LOOKED_AT; looked++) {
    kernel_access *b = &w->accesses[next - 1];
    next = b->next;
    if (b->joined || b->written != a->written || !moves_alike(a, b)) continue;
    b->more += footprint_of_one(w, a).span;
    b->low = fmin(a->low, b->low), b->high = fmax(a->high, b->high);
    a->joined = true;
    return;
  }
}

static bool is_around(const kernel_walk *w, uint32_t loop, uint32_t inner) {
  while (inner && inner != loop) inner = w->loops[inner].outer;
  return inner == loop && loop;
}

/* Is it another place in each iteration of the loop, of which nothing is known? */
static bool is_anywhere(const kernel_walk *w, const kernel_access *a, uint32_t loop) {
  return a->random && is_around(w, loop, a->random_home);
}

static void leave_loop(const kernel_walk *w, const kernel_access *a, uint32_t loop, footprint *f) {
  if (is_anywhere(w, a, loop)) {
    f->segments *= fmax(w->loops[loop].trips, 1);
    f->jumps = true, f->distance = IR_PAGE_BYTES;
    f->pages = fmin(f->segments, a->size / IR_PAGE_BYTES);
    return;
  }
  extend_along(a, false, loop, w->loops[loop].trips, f);
}

/* Adds what the access touches in one iteration of each loop around it. */
static void touch(kernel_walk *w, const kernel_access *a) {
  footprint f = footprint_of_lanes(w, a);
  for (uint32_t loop = a->home;; loop = w->loops[loop].outer) {
    w->loops[loop].touched += bytes_of(a, &f);
    if (!loop) return;
    leave_loop(w, a, loop, &f);
  }
}

/* The share of what is touched again that comes from beyond a level's cache, where so many bytes are touched
 * in between. */
static double lost_share(const kernel_walk *w, double touched, int level) {
  const double sizes[] = {(double)w->target->l1_bytes, (double)w->target->l2_bytes};
  return level == PASS_LEVEL_MEMORY ? kernel_lost_from_last(w->rates, touched)
                                    : kernel_lost_share(touched, sizes[level]);
}

/* Bytes of lines that come from beyond a cache in one run of the kernel: those that come once, those that
 * come again, and jumps, which no prefetch foresees, but one that the loop makes. */
typedef struct moved_lines {
  double first, again, jumps; /* bytes, bytes, lines */
  double walks, cold_pages;   /* runs that begin in pages to be looked up; pages that are cold */
  double exposed;             /* 1: in runs that are too short for prefetches */
} moved_lines;

static pass_param_state state_of(const kernel_walk *w, const kernel_access *a) {
  const ir_node *n = ir_get(w->g, a->buffer);
  int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : -1;
  bool known = slot >= 0 && (size_t)slot < w->request->param_count;
  return known ? w->request->params[slot] : (pass_param_state){0};
}

static moved_lines moved_past(const kernel_walk *w, const kernel_access *a, int level) {
  footprint f = footprint_of_lanes(w, a);
  double moved = bytes_of(a, &f);
  for (uint32_t loop = a->home; loop; loop = w->loops[loop].outer) {
    double trips = fmax(w->loops[loop].trips, 0), touched = w->loops[loop].touched;
    leave_loop(w, a, loop, &f);
    if (w->rates->lines && is_anywhere(w, a, loop))
      touched = fmax(touched, bytes_of(a, &f)); /* not the same in each iteration */
    double lost = lost_share(w, touched, level);
    moved *= trips;
    moved = lost * moved + (1 - lost) * fmin(bytes_of(a, &f), moved);
  }
  moved_lines lines = {.first = fmin(moved, bytes_of(a, &f))};
  lines.again = moved - lines.first;
  pass_param_state state = state_of(w, a);
  lines.first *= lost_share(w, w->loops[0].touched + state.between, level);
  if (state.constant && state.between > 2.0 * TRANSLATED_PAGES * IR_PAGE_BYTES)
    lines.cold_pages = lines.first / IR_PAGE_BYTES;
  double run = fmax(f.run, IR_CACHE_LINE_BYTES);
  double runs = (lines.first + lines.again) / run;
  if (f.jumps && run < IR_PAGE_BYTES && !a->fetched) lines.exposed = 1;
  if (a->fetched) return lines;
  if (f.aliased && run < IR_PAGE_BYTES) lines.jumps = (lines.first + lines.again) / IR_CACHE_LINE_BYTES;
  else if (a->random && w->rates->lines && lines.exposed > 0)
    lines.jumps = runs; /* whose lines are all asked for at once */
  else if (lines.exposed > 0 && fmod(f.distance, IR_PAGE_BYTES) == 0)
    lines.jumps = runs * fmin(run / IR_CACHE_LINE_BYTES, NOTICED_LINES);
  if (lines.exposed > 0 && f.pages > TRANSLATED_PAGES && !(a->random && w->rates->lines)) lines.walks = runs;
  return lines;
}

/* Of all accesses of one buffer, given the last, that write or do not; by level, past the one before. */
static void move_buffer(const kernel_walk *w, const kernel_access *last, bool written, moved_lines *past) {
  double size = fmax(last->size, IR_CACHE_LINE_BYTES);
  for (int level = 0; level < PASS_LEVELS; level++) {
    moved_lines all = {0};
    for (const kernel_access *a = last;; a = &w->accesses[a->next - 1]) {
      if (a->written == written && !a->joined) {
        moved_lines one = moved_past(w, a, level);
        all.first += one.first, all.again += one.again, all.jumps += one.jumps, all.walks += one.walks;
        all.cold_pages += one.cold_pages, all.exposed = fmax(all.exposed, one.exposed);
      }
      if (!a->next) break;
    }
    all.first = fmin(all.first, size);
    past[level] = all;
  }
}

/* Is what the kernel writes there the memory of a parameter that it reads first? */
static bool is_in_place(const kernel_walk *w, const kernel_access *a) {
  if (!w->request->param_count) return false;
  for (size_t i = 0; i < w->access_count; i++) {
    const kernel_access *b = &w->accesses[i];
    if (state_of(w, b).dies && b->buffer != a->buffer && !b->written && b->size == a->size && !b->random &&
        moves_alike(a, b))
      return true;
  }
  return false;
}

static void add_buffer(const kernel_walk *w, const kernel_access *last, bool written,
                       pass_kernel_time *time) {
  const pass_rates *rates = w->rates;
  moved_lines past[PASS_LEVELS + 1] = {{0}};
  const double *rate = written ? rates->write : rates->read;
  move_buffer(w, last, written, past);
  double share = written && is_in_place(w, last) ? 0.5 : 1; /* lines need not be read first */
  double waits = written ? 0.5 : 1;                         /* stores wait in a queue */
  time->jumps_ns += waits * past[PASS_LEVEL_L3].walks * WALK_NS +
                    past[PASS_LEVEL_L3].cold_pages * COLD_WALK_NS +
                    past[PASS_LEVEL_MEMORY].cold_pages * MEMORY_WALK_NS;
  for (int level = 0; level < PASS_LEVELS; level++) {
    const moved_lines *here = &past[level], *further = &past[level + 1];
    double bytes = share * fmax(here->first + here->again - further->first - further->again, 0),
           jumps = fmax(here->jumps - further->jumps, 0), ns = bytes / rate[level];
    time->bytes += bytes;
    time->memory_ns += ns;
    time->jumps_ns += waits * jumps * rates->jump_ns[level];
    if (level == PASS_LEVEL_L2) time->near_ns += ns;
    else time->exposed_ns += here->exposed * ns;
  }
}

void kernel_memory_time(kernel_walk *w, pass_kernel_time *time) {
  for (size_t i = 0; i < w->access_count; i++)
    if (!w->accesses[i].joined && !(w->accesses[i].written && is_in_place(w, &w->accesses[i])))
      touch(w, &w->accesses[i]);
  for (size_t i = 0; i < w->access_count; i++) {
    const kernel_access *a = &w->accesses[i];
    if (w->nodes[a->buffer].loop != i + 1) continue; /* of a buffer's accesses the last one stands for all */
    add_buffer(w, a, false, time);
    add_buffer(w, a, true, time);
  }
}
