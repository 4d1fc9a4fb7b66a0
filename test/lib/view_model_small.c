/* Random chains of the seven movement operations on small bases, so dense that many have equal maps. This
 * generator must not change: rates measured with it are compared over time. */
#include <string.h>

#include "test/lib/random_graph.h"
#include "test/lib/view_model.h"

enum { LARGEST = 256, WIDEST_RANK = 4, TRIES = 100 };

static int pick(uint64_t *state, int lo, int hi) { return (int)random_between(state, lo, hi); }

static void permute(uint64_t *state, int rank, model_step *s) {
  for (int i = 0; i < rank; i++) s->a[i] = i;
  for (int i = rank; i-- > 1;) {
    int other = pick(state, 0, i);
    int swap = s->a[i];
    s->a[i] = s->a[other], s->a[other] = swap;
  }
}

/* `count` as a product of 1 to WIDEST_RANK sizes in random order */
static void reshape(uint64_t *state, int count, model_step *s) {
  s->n = pick(state, 1, WIDEST_RANK);
  for (int i = 0; i < s->n; i++) {
    int factors[LARGEST], n = 0;
    for (int f = 1; f <= count; f++)
      if (count % f == 0) factors[n++] = f;
    s->a[i] = (i == s->n - 1 ? count : factors[pick(state, 0, n - 1)]);
    count /= i == s->n - 1 ? 1 : s->a[i];
  }
  int to = pick(state, 0, s->n - 1);
  int swap = s->a[s->n - 1];
  s->a[s->n - 1] = s->a[to], s->a[to] = swap;
}

static model_step propose(uint64_t *state, const model_shape *shape) {
  static const int kinds[] = {MODEL_PERMUTE, MODEL_RESHAPE, MODEL_RESHAPE, MODEL_EXPAND,
                              MODEL_PAD,     MODEL_SHRINK,  MODEL_FLIP,    MODEL_STRIDE};
  model_step s = {.kind = kinds[pick(state, 0, 7)]};
  int rank = shape->rank;
  if (s.kind == MODEL_PERMUTE) permute(state, rank, &s);
  if (s.kind == MODEL_RESHAPE) reshape(state, model_elements(shape), &s);
  for (int i = 0; i < rank; i++) {
    bool some = pick(state, 0, 1);
    int size = shape->size[i];
    switch ((model_kind)s.kind) {
    case MODEL_EXPAND: s.a[i] = (size == 1 && some ? pick(state, 2, 4) : size); break;
    case MODEL_PAD: s.a[i] = (some ? pick(state, 0, 2) : 0), s.b[i] = (some ? pick(state, 0, 2) : 0); break;
    case MODEL_SHRINK:
      s.a[i] = (some ? pick(state, 0, size - 1) : 0);
      s.b[i] = (some ? pick(state, 0, size - 1 - s.a[i]) : 0);
      break;
    case MODEL_FLIP:
      if (some) s.a[s.n++] = i;
      break;
    case MODEL_STRIDE: s.a[i] = (some ? pick(state, 1, 3) * (pick(state, 0, 3) ? 1 : -1) : 1); break;
    default: break;
    }
  }
  return s;
}

/* Is the step an identity? */
static bool idle(const model_shape *from, const model_step *s, const model_shape *to) {
  bool same = from->rank == to->rank && memcmp(from->size, to->size, sizeof(int) * (size_t)to->rank) == 0;
  if (s->kind == MODEL_FLIP) return s->n == 0;
  for (int i = 0; i < from->rank; i++) {
    if (s->kind == MODEL_PERMUTE && s->a[i] != i) return false;
    if (s->kind == MODEL_STRIDE && s->a[i] != 1) return false;
  }
  return same || s->kind == MODEL_PERMUTE || s->kind == MODEL_STRIDE;
}

void model_random_small(uint64_t *state, int longest, model_chain *c) {
  *c = (model_chain){.base.rank = pick(state, 1, 3), .divisor = 1};
  for (int i = 0; i < c->base.rank; i++) c->base.size[i] = pick(state, 1, 6);
  model_shape shape = c->base;
  int wanted = pick(state, 2, longest);
  for (int tries = 0; c->count < wanted && tries < TRIES; tries++) {
    model_step s = propose(state, &shape);
    model_shape next;
    if (!model_shape_after(&shape, &s, &next) || idle(&shape, &s, &next)) continue;
    if (model_elements(&next) == 0 || model_elements(&next) > LARGEST) continue;
    bool narrow = true;
    for (int i = 0; i < next.rank; i++) narrow &= next.size[i] <= INT8_MAX;
    if (!narrow) continue;
    c->steps[c->count++] = s;
    shape = next;
  }
}
