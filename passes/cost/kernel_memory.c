/* The lines of caches that a kernel moves.
 *
 * Of each access, from its innermost loop outwards: the bytes of lines that it touches within each loop, from
 * its steps along that loop. Of each loop: what all accesses touch in one iteration. Lines that an iteration
 * touches again after another are still in a cache that holds what one iteration touches; otherwise they come
 * from the next level as often as they are touched. */
#include <math.h>

#include "passes/cost/kernel_walk.h"

/* What an access touches: segments of `span` contiguous bytes each. */
typedef struct footprint {
  double segments, span;
} footprint;

static void extend(footprint *f, double trips, double stride_bytes) {
  double stride = fabs(stride_bytes);
  if (trips <= 1 || stride == 0) return;
  if (stride <= f->span + IR_CACHE_LINE_BYTES) f->span += stride * (trips - 1);
  else f->segments *= trips;
}

/* Segments lie anywhere in lines, apart from those that are longer. */
static double bytes_of(const kernel_access *a, const footprint *f) {
  double lines = f->span <= IR_CACHE_LINE_BYTES ? 1 : f->span / IR_CACHE_LINE_BYTES;
  return fmin(f->segments * lines * IR_CACHE_LINE_BYTES, fmax(a->size, IR_CACHE_LINE_BYTES));
}

static footprint footprint_of_lanes(const kernel_walk *w, const kernel_access *a) {
  footprint f = {1, a->element};
  for (int vector = 1; vector >= 0; vector--) /* vector lanes first, which are contiguous in most cases */
    for (uint32_t i = 0; i < a->step_count; i++) {
      const kernel_lane *lane = a->steps[i].lane ? &w->lanes[a->steps[i].loop - 1] : NULL;
      if (lane && lane->vector == vector) extend(&f, lane->extent, a->steps[i].stride * a->element);
    }
  for (uint32_t l = 0; l < w->lane_count; l++)
    if (a->random_lanes >> l & 1) f.segments *= w->lanes[l].extent;
  return f;
}

static void leave_loop(const kernel_walk *w, const kernel_access *a, uint32_t loop, footprint *f) {
  if (a->random && a->random_home && loop <= a->random_home) {
    f->segments *= fmax(w->loops[loop].trips, 1);
    return;
  }
  for (uint32_t i = 0; i < a->step_count; i++)
    if (!a->steps[i].lane && a->steps[i].loop == loop)
      extend(f, w->loops[loop].trips, a->steps[i].stride * a->element);
}

static bool has_step(const kernel_access *a, const kernel_step *step) {
  for (uint32_t i = 0; i < a->step_count; i++)
    if (!a->steps[i].lane && a->steps[i].loop == step->loop && a->steps[i].stride == step->stride) return true;
  return false;
}

/* Does it touch the same lines as an access before it? Their indices differ by a constant or along lanes: at a
 * distance, what one touches in an iteration the other touches in a later one. */
static bool is_repeated(const kernel_walk *w, const kernel_access *a) {
  enum { LOOKED_AT = 8 };
  int looked = 0;
  for (const kernel_access *b = a; b->next && looked < LOOKED_AT; looked++) {
    b = &w->accesses[b->next - 1];
    bool same = a->home == b->home && a->random == b->random;
    uint32_t running[2] = {0, 0};
    for (uint32_t i = 0; i < a->step_count; i++) running[0] += !a->steps[i].lane;
    for (uint32_t i = 0; i < b->step_count; i++) running[1] += !b->steps[i].lane;
    same &= running[0] == running[1];
    for (uint32_t i = 0; i < a->step_count && same; i++) same = a->steps[i].lane || has_step(b, &a->steps[i]);
    if (same) return true;
  }
  return false;
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

/* Bytes of lines that come from beyond a cache in one run of the kernel, those that come once and those that
 * come again. */
typedef struct moved_lines {
  double first, again;
} moved_lines;

static moved_lines moved_past(const kernel_walk *w, const kernel_access *a, double size) {
  footprint f = footprint_of_lanes(w, a);
  double moved = bytes_of(a, &f);
  for (uint32_t loop = a->home; loop; loop = w->loops[loop].outer) {
    double trips = fmax(w->loops[loop].trips, 0);
    leave_loop(w, a, loop, &f);
    moved *= trips;
    if (w->loops[loop].touched <= size) moved = fmin(bytes_of(a, &f), moved);
  }
  moved_lines lines = {.first = fmin(moved, bytes_of(a, &f))};
  lines.again = moved - lines.first;
  if (w->loops[0].touched + w->request->between <= size) lines.first = 0;
  return lines;
}

/* Of all accesses of one buffer, given the last, that write or do not; by level, past the one before. */
static void move_buffer(const kernel_walk *w, const kernel_access *last, bool written, double *past) {
  double size = fmax(last->size, IR_CACHE_LINE_BYTES);
  const double sizes[] = {(double)w->target->l1_bytes, (double)w->target->l2_bytes,
                          (double)w->target->l3_bytes};
  for (int level = 0; level < PASS_LEVELS; level++) {
    moved_lines all = {0, 0};
    for (const kernel_access *a = last;; a = &w->accesses[a->next - 1]) {
      if (a->written == written && !is_repeated(w, a)) {
        moved_lines one = moved_past(w, a, sizes[level]);
        all.first += one.first, all.again += one.again;
      }
      if (!a->next) break;
    }
    past[level] = fmin(all.first, size) + all.again;
  }
}

void kernel_memory_time(kernel_walk *w, const pass_rates *rates, pass_kernel_time *time) {
  for (size_t i = 0; i < w->access_count; i++)
    if (!is_repeated(w, &w->accesses[i])) touch(w, &w->accesses[i]);
  for (size_t i = 0; i < w->access_count; i++) {
    const kernel_access *a = &w->accesses[i];
    if (w->nodes[a->buffer].loop != i + 1) continue; /* of a buffer's accesses the last one stands for all */
    for (int written = 0; written < 2; written++) {
      double past[PASS_LEVELS + 1] = {0};
      const double *rate = written ? rates->write : rates->read;
      move_buffer(w, a, written, past);
      for (int level = 0; level < PASS_LEVELS; level++) {
        double bytes = fmax(past[level] - past[level + 1], 0);
        time->bytes += bytes;
        time->memory_ns += bytes / rate[level];
        if (level == PASS_LEVEL_L2) time->near_ns += bytes / rate[level];
      }
    }
  }
}
