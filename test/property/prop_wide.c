/* Views of more than 2^32 elements, compiled and run.
 *
 *   prop_wide --seed S --count N
 *
 * Each case expands a small array to axes around 2^31 and 2^32, takes it through random views, pads by
 * elements and flips among them, and reads a window of it at random places and at the ends. No such array is
 * ever stored: each element of the window is traced back to the small array by plain 64-bit arithmetic, one
 * view after the other. A second result holds the indices along one axis, as i64. */
#include "frontend/viewfold.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 5, STEPS = 8, WINDOW = 24, ELEMENTS = 4096 };
#define MOST (INT64_C(1) << 58) /* elements */

typedef enum kind { EXPAND, PERMUTE, MERGE, SPLIT, FLIP, STRIDE, SHRINK, PAD, KINDS } kind;

typedef struct shape {
  int rank;
  int64_t size[RANK];
} shape;

typedef struct step {
  kind kind;
  int axis;
  int64_t a[2 * RANK]; /* sizes, order, steps, bounds, pads */
  vf_pad_mode mode;
  shape from, to;
} step;

typedef struct wide {
  uint64_t state;
  shape base;
  step steps[STEPS + RANK + 1];
  int count;
} wide;

static int64_t pick(wide *w, int64_t lo, int64_t hi) { return random_between(&w->state, lo, hi); }

static bool too_large(const shape *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++)
    if (__builtin_mul_overflow(count, s->size[i], &count) || count > MOST) return true;
  return false;
}

static int64_t large(wide *w) {
  static const int64_t sizes[] = {65536,      46341,      2147483647, 2147483648,
                                  2147483649, 3000000000, 4294967296, 8589934597};
  int64_t size = sizes[pick(w, 0, 7)];
  return pick(w, 0, 3) ? size : size + pick(w, -9, 9);
}

/* A divisor of the size, found by chance; 1 if none is found. */
static int64_t divisor(wide *w, int64_t size) {
  int64_t found = 1;
  for (int tries = 0; tries < 8; tries++) {
    int64_t by = pick(w, 2, 40);
    if (size % (found * by) == 0) found *= by;
  }
  return found;
}

static bool propose(wide *w, step *s) {
  shape *to = &s->to;
  int64_t size = s->from.size[s->axis];
  switch (s->kind) {
  case EXPAND:
    if (size != 1) return false;
    to->size[s->axis] = large(w);
    memcpy(s->a, to->size, sizeof to->size);
    return true;
  case PERMUTE:
    for (int i = 0; i < to->rank; i++) s->a[i] = i;
    for (int i = to->rank; i-- > 1;) {
      int64_t other = pick(w, 0, i), swap = s->a[i];
      s->a[i] = s->a[other], s->a[other] = swap;
    }
    for (int i = 0; i < to->rank; i++) to->size[i] = s->from.size[s->a[i]];
    return true;
  case MERGE:
    if (s->axis + 1 >= to->rank) return false;
    to->size[s->axis] *= to->size[s->axis + 1];
    for (int i = s->axis + 1; i + 1 < to->rank; i++) to->size[i] = to->size[i + 1];
    to->rank--;
    return true;
  case SPLIT:
    if (to->rank == RANK) return false;
    for (int i = to->rank++; i > s->axis + 1; i--) to->size[i] = to->size[i - 1];
    to->size[s->axis + 1] = divisor(w, size);
    to->size[s->axis] = size / to->size[s->axis + 1];
    return true;
  case FLIP: return true;
  case STRIDE:
    for (int i = 0; i < to->rank; i++) {
      int64_t by = i == s->axis ? pick(w, 2, size > 1000 ? 1000 : 3) : 1;
      s->a[i] = pick(w, 0, 1) ? by : -by;
      to->size[i] = (to->size[i] + by - 1) / by;
    }
    return true;
  case SHRINK:
    for (int i = 0; i < to->rank; i++) {
      int64_t cut = i == s->axis && size > 1 ? pick(w, 0, size / 2) : 0;
      s->a[2 * i] = cut, s->a[2 * i + 1] = to->size[i];
      to->size[i] -= cut;
    }
    return true;
  case PAD:
    s->mode = (vf_pad_mode)pick(w, VF_PAD_EDGE, VF_PAD_WRAP);
    for (int i = 0; i < to->rank; i++) {
      s->a[2 * i] = i == s->axis ? pick(w, 0, 9) : 0, s->a[2 * i + 1] = i == s->axis ? pick(w, 0, 20) : 0;
      to->size[i] += s->a[2 * i] + s->a[2 * i + 1];
    }
    return true;
  case KINDS: break;
  }
  return false;
}

static void append_step(wide *w, const step *s) { w->steps[w->count++] = *s; }

/* Selects a few elements along the axis: strided across all of it, or adjacent. */
static void window(wide *w, shape now, int axis) {
  int64_t size = now.size[axis], most = pick(w, 2, WINDOW);
  if (size <= most) return;
  step s = {.kind = pick(w, 0, 1) ? STRIDE : SHRINK, .axis = axis, .from = now, .to = now};
  int64_t by = (size + most - 1) / most, begin = pick(w, 0, 2) ? pick(w, 0, size - most) : size - most;
  for (int i = 0; i < now.rank; i++)
    if (s.kind == STRIDE) s.a[i] = i == axis ? (pick(w, 0, 1) ? by : -by) : 1;
    else s.a[2 * i] = i == axis ? begin : 0, s.a[2 * i + 1] = i == axis ? begin + most : now.size[i];
  s.to.size[axis] = s.kind == STRIDE ? (size + by - 1) / by : most;
  append_step(w, &s);
}

static void draw(wide *w, uint64_t seed) {
  *w = (wide){.state = seed};
  w->base.rank = (int)pick(w, 2, 4);
  for (int i = 0; i < w->base.rank; i++) w->base.size[i] = pick(w, 0, 1) ? 1 : pick(w, 2, 5);
  w->base.size[pick(w, 0, w->base.rank - 1)] = 1;
  shape now = w->base;
  int wanted = (int)pick(w, 2, STEPS);
  for (int tries = 0; tries < 40 && w->count < wanted; tries++) {
    step s = {.kind = w->count ? (kind)pick(w, 0, KINDS - 1) : EXPAND, .from = now, .to = now};
    s.axis = (int)pick(w, 0, now.rank - 1);
    if (!propose(w, &s) || too_large(&s.to)) continue;
    append_step(w, &s);
    now = s.to;
  }
  for (int i = 0; i < now.rank; i++) {
    window(w, now, i);
    if (w->count) now = w->steps[w->count - 1].to;
  }
}

/* the arithmetic of each view */

static int64_t pad_source(int64_t x, int64_t n, vf_pad_mode mode) {
  while (x < 0 || x >= n) {
    if (mode == VF_PAD_EDGE) x = x < 0 ? 0 : n - 1;
    else if (mode == VF_PAD_WRAP) x += x < 0 ? n : -n;
    else x = n == 1 ? 0 : x < 0 ? -x : 2 * (n - 1) - x;
  }
  return x;
}

static void back(const step *s, int64_t *at) {
  int64_t was[RANK + 1];
  int k = s->axis;
  memcpy(was, at, RANK * sizeof *was);
  switch (s->kind) {
  case EXPAND: at[k] = 0; break;
  case PERMUTE:
    for (int i = 0; i < s->from.rank; i++) at[s->a[i]] = was[i];
    break;
  case MERGE:
    for (int i = s->from.rank - 1; i > k + 1; i--) at[i] = was[i - 1];
    at[k] = was[k] / s->from.size[k + 1], at[k + 1] = was[k] % s->from.size[k + 1];
    break;
  case SPLIT:
    at[k] = was[k] * s->to.size[k + 1] + was[k + 1];
    for (int i = k + 1; i < s->from.rank; i++) at[i] = was[i + 1];
    break;
  case FLIP: at[k] = s->from.size[k] - 1 - was[k]; break;
  case STRIDE:
    for (int i = 0; i < s->from.rank; i++)
      at[i] = s->a[i] > 0 ? was[i] * s->a[i] : s->from.size[i] - 1 + was[i] * s->a[i];
    break;
  case SHRINK:
    for (int i = 0; i < s->from.rank; i++) at[i] = was[i] + s->a[2 * i];
    break;
  case PAD:
    for (int i = 0; i < s->from.rank; i++) at[i] = pad_source(was[i] - s->a[2 * i], s->from.size[i], s->mode);
    break;
  case KINDS: break;
  }
}

static vf_value record(vf_value x, const step *s) {
  int rank = s->from.rank;
  int64_t axis = s->axis;
  switch (s->kind) {
  case EXPAND: return vf_expand(x, rank, s->a);
  case PERMUTE: return vf_permute(x, rank, s->a);
  case MERGE:
  case SPLIT: return vf_reshape(x, s->to.rank, s->to.size);
  case FLIP: return vf_flip(x, 1, &axis);
  case STRIDE: return vf_stride(x, rank, s->a);
  case SHRINK: return vf_shrink(x, 2 * rank, s->a);
  case PAD: return vf_pad_with(x, 2 * rank, s->a, s->mode, (vf_value){0});
  case KINDS: break;
  }
  return (vf_value){0};
}

/* The element of the small array that element `number` comes from, and its index along the expanded axis
 * after the first view. */
static void expected(const wide *w, const shape *out, int64_t number, int64_t *element, int64_t *place) {
  int64_t at[RANK + 1] = {0};
  for (int i = out->rank; i-- > 0; number /= out->size[i]) at[i] = number % out->size[i];
  for (int k = w->count; k-- > 0;) {
    if (k == 0) *place = at[w->steps[0].axis];
    back(&w->steps[k], at);
  }
  *element = 0;
  for (int i = 0; i < w->base.rank; i++) *element = *element * w->base.size[i] + at[i];
}

static bool same(const wide *w, const int32_t *elements, const int64_t *places, char *why, size_t room) {
  const shape *out = &w->steps[w->count - 1].to;
  int64_t count = 1, element, place = 0;
  for (int i = 0; i < out->rank; i++) count *= out->size[i];
  for (int64_t i = 0; i < count; i++) {
    expected(w, out, i, &element, &place);
    if (elements[i] == element + 100 && places[i] == place) continue;
    snprintf(why, room, "element %" PRId64 ": read %d, placed %" PRId64 "; expected %" PRId64 ", %" PRId64, i,
             elements[i] - 100, places[i], element, place);
    return false;
  }
  return true;
}

static bool check(vf_context *context, const wide *w, char *why, size_t room) {
  static int32_t input[5 * 5 * 5 * 5], elements[ELEMENTS * WINDOW];
  static int64_t places[ELEMENTS * WINDOW];
  const shape *out = &w->steps[w->count - 1].to;
  int64_t count = 1;
  for (int i = 0; i < out->rank; i++) count *= out->size[i];
  if (count > ELEMENTS * WINDOW) return true;
  vf_error error;
  vf_graph *g = vf_graph_create(context, "wide", &error);
  vf_value x = vf_input(g, "x", VF_I32, w->base.rank, w->base.size);
  vf_value i = vf_iota(g, VF_I64, w->base.rank, w->steps[0].to.size, w->steps[0].axis);
  for (int k = 0; k < w->count; k++) {
    x = record(x, &w->steps[k]);
    if (k) i = record(i, &w->steps[k]);
  }
  vf_output(g, "elements", x), vf_output(g, "places", i);
  vf_program *p = vf_compile(g, &error);
  for (int k = 0; k < 625; k++) input[k] = k + 100;
  bool good =
      p && vf_program_run(p, (const void *[]){input}, (void *[]){elements, places}, NULL, &error) == VF_OK;
  if (good) good = same(w, elements, places, why, room);
  else snprintf(why, room, "%s", error.message);
  if (!good) {
    char *text = vf_graph_text(g, NULL);
    if (text) printf("%s", text);
    vf_text_free(context, text);
  }
  vf_program_destroy(p), vf_graph_destroy(g);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 300);
  uint64_t seed = given.seed;
  long count = given.count, failed = 0, far = 0;
  vf_options options = {.size = sizeof options, .flags = VF_NO_DISK, .threads = 1};
  vf_error error;
  vf_context *context = vf_context_create(&options, &error);
  if (!context) return fprintf(stderr, "%s\n", error.message), 1;
  for (long k = 0; k < count && failed < 3; k++) {
    static wide w;
    char why[1200];
    uint64_t state = seed * 0x9e3779b97f4a7c15u + (uint64_t)k;
    do draw(&w, random_next(&state));
    while (!w.count);
    int64_t most = 1;
    for (int i = 0; i < w.steps[0].to.rank; i++) most *= w.steps[0].to.size[i];
    far += most > INT32_MAX;
    if (check(context, &w, why, sizeof why)) continue;
    printf("case %ld: %s\n", k, why);
    failed++;
  }
  vf_context_destroy(context);
  printf("prop_wide: %ld chains, %ld over more than 2^31 elements, %ld failed, seed %" PRIu64 "\n", count,
         far, failed, seed);
  return failed != 0;
}
