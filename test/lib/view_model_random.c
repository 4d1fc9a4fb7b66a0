/* Random chains, and smaller variants of a chain. */
#include <string.h>

#include "test/lib/random_graph.h"
#include "test/lib/view_model.h"

enum { LARGEST = 600 };

static int pick(uint64_t *state, int lo, int hi) { return (int)random_between(state, lo, hi); }

/* Sizes are small, with more ones than a uniform distribution would give, and a few zeros. */
static int small_size(uint64_t *state) {
  int roll = pick(state, 0, 15);
  return roll == 0 ? 0 : roll < 4 ? 1 : pick(state, 2, 6);
}

/* Factors of count, in random order, including 1. */
static int factors(uint64_t *state, int count, int *out) {
  int n = pick(state, count == 1 ? 0 : 1, MODEL_RANK - 1);
  for (int i = 0; i < n; i++) {
    int f = 1;
    for (int tries = 0; tries < 4 && count > 1; tries++) {
      int candidate = pick(state, 2, count < 12 ? count : 12);
      if (count % candidate == 0) f = candidate;
    }
    if (i == n - 1) f = count;
    if (f > 120) return -1;
    out[i] = f;
    count /= f;
  }
  for (int i = n; i-- > 1;) {
    int other = pick(state, 0, i);
    int swap = out[i];
    out[i] = out[other], out[other] = swap;
  }
  return n;
}

static model_step propose(uint64_t *state, const model_shape *shape, const model_shape *least, bool varies) {
  model_step s = {.kind = pick(state, 0, MODEL_KINDS - 1)};
  int rank = shape->rank, count = model_elements(shape);
  s.a[0] = pick(state, 0, rank ? rank - 1 : 0);
  int size = rank ? least->size[s.a[0]] : 0;
  switch ((model_kind)s.kind) {
  case MODEL_PERMUTE:
    for (int i = 0; i < rank; i++) s.a[i] = i;
    for (int i = rank; i-- > 1;) {
      int other = pick(state, 0, i);
      int swap = s.a[i];
      s.a[i] = s.a[other], s.a[other] = swap;
    }
    break;
  case MODEL_RESHAPE:
    s.n = factors(state, count ? count : pick(state, 1, 12), s.a);
    if (varies || s.n < 0) s.kind = MODEL_UNSQUEEZE;
    else if (count == 0 && s.n > 0) s.a[pick(state, 0, s.n - 1)] = 0;
    break;
  case MODEL_SPLIT: s.b[0] = pick(state, 1, 6); break;
  case MODEL_EXPAND:
    for (int i = 0; i < rank; i++) s.a[i] = (shape->size[i] == 1 ? small_size(state) : shape->size[i]);
    break;
  case MODEL_SHRINK:
    for (int i = 0; i < rank; i++) {
      s.a[i] = pick(state, 0, least->size[i] < 3 ? least->size[i] : 3);
      s.b[i] = pick(state, 0, least->size[i] - s.a[i] < 2 ? least->size[i] - s.a[i] : 2);
    }
    break;
  case MODEL_PAD:
    s.mode = (pick(state, 0, 1) ? MODEL_CONSTANT : pick(state, MODEL_EDGE, MODEL_WRAP));
    for (int i = 0; i < rank; i++) {
      int most =
          s.mode != MODEL_CONSTANT && pick(state, 0, 3) == 0 ? 9 : 3; /* sometimes several times around */
      s.a[i] = (most > 0 && pick(state, 0, 1) ? pick(state, 0, most) : 0);
      s.b[i] = (most > 0 && pick(state, 0, 1) ? pick(state, 0, most) : 0);
    }
    break;
  case MODEL_FLIP:
    for (int i = 0; i < rank; i++)
      if (pick(state, 0, 1)) s.a[s.n++] = i;
    break;
  case MODEL_STRIDE:
    for (int i = 0; i < rank; i++)
      s.a[i] = ((pick(state, 0, 1) ? 1 : pick(state, 2, 4)) * (pick(state, 0, 2) ? 1 : -1));
    break;
  case MODEL_UNSQUEEZE: s.a[0] = pick(state, 0, rank); break;
  case MODEL_POINT: s.b[0] = (size ? pick(state, varies ? 0 : -size, size - 1) : 0); break;
  case MODEL_GATHER:
    s.n = pick(state, 0, 5);
    for (int i = 0; i < s.n; i++) s.b[i] = (size ? pick(state, varies ? 0 : -size, size - 1) : 0);
    break;
  default: break;
  }
  if (s.kind == MODEL_UNSQUEEZE) s.a[0] = pick(state, 0, rank);
  return s;
}

/* Can the library prove that the sizes that vary can be split so? What divides n divides the size as long as
 * nothing has been added to it. */
static bool provable(const model_chain *c, const model_step *s) {
  if (s->kind != MODEL_SPLIT || !c->varies) return true;
  for (int i = 0; i < c->count; i++)
    if (c->steps[i].kind != MODEL_PERMUTE && c->steps[i].kind != MODEL_FLIP &&
        c->steps[i].kind != MODEL_UNSQUEEZE)
      return false;
  return c->divisor % s->b[0] == 0;
}

void model_random(uint64_t *state, model_chain *c) {
  *c = (model_chain){.base.rank = pick(state, 0, 4)};
  bool symbolic = pick(state, 0, 3) == 0;
  c->divisor = pick(state, 0, 1) ? 1 : pick(state, 2, 4);
  c->lo = c->divisor * pick(state, 1, 2);
  c->hi = c->lo + pick(state, 0, 9);
  int n = c->lo + c->divisor * pick(state, 0, (c->hi - c->lo) / c->divisor);
  model_shape shape, least;
  for (int i = 0; i < c->base.rank; i++) {
    c->base.size[i] = small_size(state);
    if (symbolic && pick(state, 0, 1)) c->varies |= 1u << i;
  }
  least = c->base;
  for (int i = 0; i < c->base.rank; i++)
    if (c->varies >> i & 1) c->base.size[i] = n, least.size[i] = c->lo;
  shape = c->base;
  int wanted = pick(state, 1, MODEL_STEPS);
  for (int tries = 0; c->count < wanted && tries < 60; tries++) {
    model_step s = propose(state, &shape, &least, c->varies != 0);
    model_shape next, next_least;
    if (!model_shape_after(&shape, &s, &next)) continue;
    if (s.kind == MODEL_EXPAND) {
      model_step again = s;
      for (int i = 0; i < shape.rank; i++)
        if (shape.size[i] != 1) again.a[i] = least.size[i];
      if (!model_shape_after(&least, &again, &next_least)) continue;
    } else if (!model_shape_after(&least, &s, &next_least)) {
      continue;
    }
    if (!provable(c, &s) || model_elements(&next) > LARGEST) continue;
    bool narrow = true;
    for (int i = 0; i < next.rank; i++) narrow &= next.size[i] <= 120;
    if (!narrow) continue;
    c->steps[c->count++] = s;
    shape = next, least = next_least;
  }
}

bool model_smaller(const model_chain *c, int number, model_chain *out) {
  *out = *c;
  if (number < c->count) { /* without one step */
    memmove(&out->steps[number], &out->steps[number + 1],
            (size_t)(c->count - number - 1) * sizeof *out->steps);
    out->count--;
    return true;
  }
  number -= c->count;
  if (number == 0) { /* without the variable */
    out->varies = 0;
    return true;
  }
  if (--number < c->base.rank) { /* one element fewer on an axis */
    out->base.size[number] -= out->base.size[number] > 0 && !(c->varies >> number & 1);
    return true;
  }
  number -= c->base.rank;
  if (number >= c->count * 2 * MODEL_RANK) return false;
  model_step *s = &out->steps[number / (2 * MODEL_RANK)]; /* one parameter closer to zero */
  int at = number % (2 * MODEL_RANK);
  int *value = at < MODEL_RANK ? &s->a[at] : &s->b[at - MODEL_RANK];
  *value = (*value - (*value > 0) + (*value < 0));
  return true;
}
