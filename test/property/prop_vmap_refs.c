/* vmap of a function that writes references = the function on the part of each element, one after the other.
 *
 *   prop_vmap_refs --seed S --count N
 *   prop_vmap_refs --case SEED      one case again, by the seed in its report
 *
 * The positions of a reference are mapped along one or two axes, in random places, with numbers that are
 * mapped or not. The function reads and writes views of the part that it gets: shrunk, flipped, strided,
 * permuted, single rows, views of views; it writes numbers and what other views read, of before its writes
 * and after them. Written out, it is called with the part of each element. Both leave the same in the
 * reference, and the stack of the results is the same, evaluated and compiled. */
#include "frontend/viewfold.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  AXES = 4,
  MOST_SIZE = 3,
  MOST = 81 /* MOST_SIZE to the power of AXES */,
  LEVELS = 2,
  STEPS = 4,
  VIEWS = 3
};

typedef struct ref_case {
  uint64_t choices;                               /* what the function does */
  int rank, levels, axis[LEVELS], u_axis[LEVELS]; /* by level; VF_NOT_MAPPED for u */
  int64_t size[AXES];
  int32_t array[MOST], u[MOST_SIZE * MOST_SIZE];
} ref_case;

typedef struct recording {
  const ref_case *t;
  vf_ref a;
  int level; /* that is recorded */
} recording;

static int64_t pick(uint64_t *state, int64_t lo, int64_t hi) { return random_between(state, lo, hi); }

/* One random view of x. */
static vf_value view_once(uint64_t *state, vf_value x) {
  int64_t shape[AXES];
  int rank = vf_value_shape(x, shape);
  if (rank <= 0) return x;
  int axis = (int)pick(state, 0, rank - 1);
  switch (pick(state, 0, 4)) {
  case 0: return vf_point(x, pick(state, 0, shape[axis] - 1), axis);
  case 1: return vf_flip(x, 1, &(int64_t){axis});
  case 2: {
    int64_t order[AXES];
    for (int i = 0; i < rank; i++) order[i] = (i + axis) % rank;
    return vf_permute(x, rank, order);
  }
  case 3: {
    int64_t steps[AXES];
    for (int i = 0; i < rank; i++) steps[i] = i == axis ? 2 : 1;
    return vf_stride(x, rank, steps);
  }
  default: {
    int64_t bounds[2 * AXES];
    for (int i = 0; i < rank; i++) bounds[2 * i] = 0, bounds[2 * i + 1] = shape[i];
    bounds[2 * axis] = pick(state, 0, shape[axis] - 1);
    return vf_shrink(x, 2 * rank, bounds);
  }
  }
}

static vf_ref random_view(uint64_t *state, vf_ref mine) {
  for (int64_t n = pick(state, 0, VIEWS); n > 0; n--) mine = vf_ref_view(mine, view_once(state, mine.target));
  return mine;
}

/* What each element does with its part, and with its number u. */
static vf_value change_part(const ref_case *t, vf_ref mine, vf_value u) {
  static const vf_write_op ops[] = {VF_WRITE_SET, VF_WRITE_ADD, VF_WRITE_SUB,
                                    VF_WRITE_MUL, VF_WRITE_MIN, VF_WRITE_MAX};
  uint64_t state = t->choices;
  vf_value seen = u;
  for (int64_t steps = pick(&state, 1, STEPS); steps > 0; steps--) {
    vf_ref to = random_view(&state, mine), from = random_view(&state, mine);
    vf_value value = pick(&state, 0, 2) ? u : vf_sum(vf_ref_get(from), VF_ALL, false);
    if (pick(&state, 0, 3) == 0) value = vf_ref_get(vf_ref_view(to, vf_flip(to.target, 0, NULL)));
    vf_value old = vf_ref_get(from);
    vf_ref_update(to, value, ops[pick(&state, 0, 5)]);
    seen = vf_add(seen, vf_sum(pick(&state, 0, 1) ? old : vf_ref_get(from), VF_ALL, false));
  }
  return seen;
}

static void record_level(void *user, const vf_value *x, vf_value *y) { /* x: positions, u */
  recording r = *(recording *)user;
  const ref_case *t = r.t;
  if (r.level == t->levels) {
    y[0] = change_part(t, vf_ref_view(r.a, x[0]), x[1]);
    return;
  }
  int axes[] = {t->axis[r.level], t->u_axis[r.level]};
  vf_map map = {sizeof map, 2, 1, axes, NULL, -1, NULL};
  r.level++;
  vf_vmap(x[0].graph, &map, record_level, &r, x, y);
}

/* The same for each element, the last level's fastest. Returns the results, appended to the list. */
static void write_out(recording *r, int level, vf_value target, vf_value u, vf_value *list, int *count) {
  const ref_case *t = r->t;
  if (level == t->levels) {
    list[(*count)++] = change_part(t, vf_ref_view(r->a, target), u);
    return;
  }
  int64_t shape[AXES];
  vf_value_shape(target, shape);
  for (int64_t i = 0; i < shape[t->axis[level]]; i++)
    write_out(r, level + 1, vf_point(target, i, t->axis[level]),
              t->u_axis[level] == VF_NOT_MAPPED ? u : vf_point(u, i, t->u_axis[level]), list, count);
}

static vf_graph *record(vf_context *context, const ref_case *t, bool mapped) {
  vf_graph *g = vf_graph_create(context, mapped ? "mapped" : "parts", NULL);
  recording r = {t, vf_ref_input(g, "a", VF_I32, t->rank, t->size), 0};
  int64_t shape[LEVELS], whole[AXES];
  int rank = 0;
  vf_value_shape(r.a.target, whole);
  for (int level = 0; level < t->levels; level++)
    if (t->u_axis[level] != VF_NOT_MAPPED) {
      int64_t left[AXES];
      int n = 0, skipped = level && t->axis[1] >= t->axis[0];
      memcpy(left, whole, sizeof left);
      n = t->axis[level] + skipped; /* the axis of level 1 counts those that level 0 leaves */
      shape[rank++] = left[n];
    }
  vf_value u = vf_input(g, "u", VF_I32, rank, shape), list[MOST], y;
  int count = 0;
  if (mapped) {
    record_level(&r, (const vf_value[]){r.a.target, u}, &y);
    y = vf_reshape(y, 1, (int64_t[]){-1});
  } else {
    write_out(&r, 0, r.a.target, u, list, &count);
    y = vf_stack(list, count, 0);
  }
  vf_output(g, "y", y);
  return g;
}

static bool report(uint64_t seed, const char *what, const char *why) {
  fprintf(stderr, "case %" PRIu64 ": %s: %s\n", seed, what, why);
  return false;
}

static bool run(vf_graph *g, const ref_case *t, bool compiled, int32_t *array, int32_t *y, uint64_t seed) {
  vf_error error;
  memcpy(array, t->array, sizeof t->array);
  const void *in[] = {array, t->u};
  void *out[] = {y};
  if (!compiled)
    return vf_evaluate(g, in, out, NULL, &error) == VF_OK || report(seed, "evaluating", error.message);
  vf_program *p = vf_compile(g, &error);
  if (!p) return report(seed, "compiling", error.message);
  bool good = vf_program_run(p, in, out, NULL, &error) == VF_OK || report(seed, "running", error.message);
  vf_program_destroy(p);
  return good;
}

static ref_case make_case(uint64_t seed) {
  uint64_t state = seed;
  ref_case t = {.rank = (int)pick(&state, 1, AXES)};
  for (int i = 0; i < t.rank; i++) t.size[i] = pick(&state, 1, MOST_SIZE);
  t.levels = (int)pick(&state, 1, t.rank < LEVELS ? t.rank : LEVELS);
  for (int level = 0; level < t.levels; level++) {
    t.axis[level] = (int)pick(&state, 0, t.rank - 1 - level);
    t.u_axis[level] = pick(&state, 0, 2) ? 0 : VF_NOT_MAPPED;
  }
  for (int i = 0; i < MOST; i++) t.array[i] = (int32_t)pick(&state, -9, 9);
  for (int i = 0; i < MOST_SIZE * MOST_SIZE; i++) t.u[i] = (int32_t)pick(&state, -9, 9);
  t.choices = random_next(&state);
  return t;
}

static bool run_case(vf_context *c, uint64_t seed, bool compile) {
  ref_case t = make_case(seed);
  int32_t want[MOST], have[MOST], y[2][MOST] = {0};
  vf_graph *parts = record(c, &t, false), *mapped = record(c, &t, true);
  bool good = (!vf_graph_status(parts) || report(seed, "recording parts", vf_graph_message(parts))) &&
              (!vf_graph_status(mapped) || report(seed, "recording", vf_graph_message(mapped))) &&
              run(parts, &t, false, want, y[0], seed);
  for (int compiled = 0; compiled <= compile && good; compiled++)
    good = run(mapped, &t, compiled, have, y[1], seed) &&
           (memcmp(have, want, sizeof want) == 0 ||
            report(seed, compiled ? "compiled" : "evaluated", "other elements")) &&
           (memcmp(y[0], y[1], sizeof *y) == 0 ||
            report(seed, compiled ? "compiled" : "evaluated", "other results"));
  vf_graph_destroy(mapped), vf_graph_destroy(parts);
  return good;
}

enum { COMPILED_EACH = 8 };
static vf_context *context;
static cases given;
static bool check_case(uint64_t seed) {
  return run_case(context, seed, given.repeat || given.done % COMPILED_EACH == 0);
}

int main(int argc, char **argv) {
  given = cases_read(argc, argv, 300);
  if (!(context = vf_context_create(NULL, NULL))) return 1;
  cases_run(&given, check_case);
  vf_context_destroy(context);
  printf("prop_vmap_refs: %ld functions that write a reference in a batch and part by part, %ld failed (seed "
         "%" PRIu64 ")\n",
         given.done, given.failed, given.seed);
  return given.failed != 0;
}
