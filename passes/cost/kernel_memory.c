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

/* Is it the same memory as that of an access before it? Accesses of different constants overlap, those of one
 * iteration in others. */
static bool is_repeated(const kernel_walk *w, size_t number) {
  enum { LOOKED_AT = 8 };
  const kernel_access *a = &w->accesses[number];
  int looked = 0;
  for (uint32_t next = a->next; next && looked < LOOKED_AT; looked++) {
    const kernel_access *b = &w->accesses[next - 1];
    bool same = a->step_count == b->step_count && a->home == b->home && !a->random && !b->random;
    for (uint32_t i = 0; i < a->step_count && same; i++)
      same = a->steps[i].loop == b->steps[i].loop && a->steps[i].lane == b->steps[i].lane &&
             a->steps[i].stride == b->steps[i].stride;
    if (same) return true;
    next = b->next;
  }
  return false;
}

static double entries_of(const kernel_loop *l) { return l->entries * fmax(l->trips, 0); }

/* Adds what the access touches in one iteration of each loop around it. */
static void touch(kernel_walk *w, const kernel_access *a) {
  footprint f = footprint_of_lanes(w, a);
  for (uint32_t loop = a->home;; loop = w->loops[loop].outer) {
    w->loops[loop].touched += bytes_of(a, &f);
    if (!loop) return;
    leave_loop(w, a, loop, &f);
  }
}

/* Bytes of lines that come from beyond a cache of `size` bytes in one run of the kernel. */
static double moved_past(const kernel_walk *w, const kernel_access *a, double size) {
  footprint f = footprint_of_lanes(w, a);
  double moved = bytes_of(a, &f);
  for (uint32_t loop = a->home; loop; loop = w->loops[loop].outer) {
    leave_loop(w, a, loop, &f);
    moved = w->loops[loop].touched <= size ? fmin(bytes_of(a, &f), moved * fmax(w->loops[loop].trips, 1))
                                           : moved * fmax(w->loops[loop].trips, 0);
  }
  return w->loops[0].touched + w->request->between <= size ? 0 : moved;
}

bool kernel_memory_time(kernel_walk *w, const pass_rates *rates, pass_kernel_time *time) {
  const ir_target *t = w->target;
  double sizes[] = {[PASS_LEVEL_L2] = (double)t->l1_bytes,
                    [PASS_LEVEL_L3] = (double)t->l2_bytes,
                    [PASS_LEVEL_MEMORY] = (double)t->l3_bytes};
  for (size_t i = 0; i < w->access_count; i++)
    if (!is_repeated(w, i)) touch(w, &w->accesses[i]);
  for (size_t i = 0; i < w->access_count; i++) {
    const kernel_access *a = &w->accesses[i];
    if (is_repeated(w, i) || entries_of(&w->loops[a->home]) <= 0) continue;
    double past[PASS_LEVELS + 1] = {0};
    for (int level = 0; level < PASS_LEVELS; level++) past[level] = moved_past(w, a, sizes[level]);
    for (int level = 0; level < PASS_LEVELS; level++) {
      double bytes = fmax(past[level] - past[level + 1], 0);
      const double *rate = a->written ? rates->write : rates->read;
      time->bytes += bytes;
      time->memory_ns += bytes / rate[level];
    }
  }
  return true;
}
