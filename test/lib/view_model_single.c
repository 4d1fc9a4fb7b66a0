/* Maps that a single view can represent, and chains on more elements. */

#include "test/lib/view_model.h"

/* The bounding box of all valid elements; false if there are none. */
static bool box_of(const model_shape *s, const int *at, int count, model_view *v) {
  int x[MODEL_RANK] = {0};
  bool some = false;
  for (int k = 0; k < count; k++) {
    for (int i = 0; i < s->rank && at[k] >= 0; i++) {
      if (!some || x[i] < v->begin[i]) v->begin[i] = x[i];
      if (!some || x[i] >= v->end[i]) v->end[i] = x[i] + 1;
    }
    some |= at[k] >= 0;
    for (int i = s->rank; i-- > 0; x[i] = 0)
      if (++x[i] < s->size[i]) break;
  }
  return some;
}

bool model_single(const model_shape *s, const int *at, model_view *v) {
  int count = model_elements(s), first = 0, step = 1, x[MODEL_RANK] = {0};
  *v = (model_view){0};
  if (!box_of(s, at, count, v)) return true;
  for (int i = s->rank; i-- > 0; step *= s->size[i]) first += v->begin[i] * step;
  if (at[first] < 0) return false;
  v->offset = at[first];
  step = 1;
  for (int i = s->rank; i-- > 0; step *= s->size[i])
    if (v->end[i] - v->begin[i] > 1) v->stride[i] = at[first + step] - at[first];
  for (int i = 0; i < s->rank; i++) v->offset -= v->begin[i] * v->stride[i];
  for (int k = 0; k < count; k++) {
    bool inside = true;
    int64_t place = v->offset;
    for (int i = 0; i < s->rank; i++) {
      inside &= x[i] >= v->begin[i] && x[i] < v->end[i];
      place += x[i] * v->stride[i];
    }
    if (at[k] != (inside ? place : -1) || (inside && place < 0)) return false;
    for (int i = s->rank; i-- > 0; x[i] = 0)
      if (++x[i] < s->size[i]) break;
  }
  return true;
}

static void insert(int *list, int count, int place, int value) {
  for (int i = count; i > place; i--) list[i] = list[i - 1];
  list[place] = value;
}

/* The step on operands with one more axis, of this size, at `place` (0 or the rank), which the step does not
 * change. */
static void with_new_axis(const model_shape *from, int place, int size, model_step *s) {
  bool front = place == 0;
  switch ((model_kind)s->kind) {
  case MODEL_PERMUTE:
    for (int i = 0; i < from->rank; i++) s->a[i] += front;
    insert(s->a, from->rank, place, place);
    break;
  case MODEL_FLIP:
    for (int i = 0; i < s->n; i++) s->a[i] += front;
    break;
  case MODEL_RESHAPE:
    insert(s->a, s->n, front ? 0 : s->n, size);
    s->n++;
    break;
  case MODEL_EXPAND: insert(s->a, from->rank, place, size); break;
  case MODEL_STRIDE: insert(s->a, from->rank, place, 1); break;
  default: insert(s->a, from->rank, place, 0), insert(s->b, from->rank, place, 0); break;
  }
}

static int elements_behind(const int *size, int rank, int axis) {
  int count = 1;
  while (++axis < rank) count *= size[axis];
  return count;
}

/* The step if the axis is `factor` times as long; *axis becomes the axis of the result that is longer. */
static bool longer(const model_shape *from, int *axis, int factor, model_step *s) {
  int old = *axis, found = -1;
  switch ((model_kind)s->kind) {
  case MODEL_PERMUTE:
    for (int i = 0; i < from->rank; i++)
      if (s->a[i] == old) *axis = i;
    return true;
  case MODEL_FLIP: return true;
  case MODEL_RESHAPE:
    for (int i = 0; i < s->n; i++)
      if (elements_behind(s->a, s->n, i) == elements_behind(from->size, from->rank, old))
        if (found < 0 || s->a[i] > 1) found = i;
    if (found >= 0) s->a[found] *= factor;
    *axis = found;
    return found >= 0;
  case MODEL_EXPAND: return s->a[old] == from->size[old] && (s->a[old] *= factor, true);
  case MODEL_STRIDE: return from->size[old] % s->a[old] == 0;
  default: s->a[old] *= factor, s->b[old] *= factor; return true;
  }
}

bool model_scale(const model_chain *c, int place, int factor, model_chain *out) {
  model_shape from = c->base, to, large;
  int axis = place - 2;
  *out = *c;
  if (place >= 2 && axis >= c->base.rank) return false;
  if (place >= 2) out->base.size[axis] *= factor;
  else insert(out->base.size, out->base.rank++, place ? c->base.rank : 0, factor);
  large = out->base;
  for (int i = 0; i < c->count; i++, from = to) {
    model_step *s = &out->steps[i];
    if (from.rank == MODEL_RANK || !model_shape_after(&from, &c->steps[i], &to) || to.rank == MODEL_RANK)
      return false;
    if (place < 2) with_new_axis(&from, place ? from.rank : 0, factor, s);
    else if (!longer(&from, &axis, factor, s)) return false;
    if (!model_shape_after(&large, s, &large)) return false;
  }
  return true;
}
