#include "test/lib/view_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int model_elements(const model_shape *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++)
    if (s->size[i] == 0) return 0;
  for (int i = 0; i < s->rank; i++)
    if ((count *= s->size[i]) > MODEL_ELEMENTS) return MODEL_ELEMENTS + 1;
  return (int)count;
}

static void insert(model_shape *s, int axis, int size) {
  for (int i = s->rank++; i > axis; i--) s->size[i] = s->size[i - 1];
  s->size[axis] = size;
}

static void erase(model_shape *s, int axis) {
  s->rank--;
  for (int i = axis; i < s->rank; i++) s->size[i] = s->size[i + 1];
}

static bool pad_possible(int size, int lo, int hi, int mode) {
  if (lo == 0 && hi == 0) return true;
  if (mode == MODEL_REFLECT) return lo < size && hi < size;
  return mode == MODEL_CONSTANT || size > 0;
}

static bool inside(int index, int size) { return index >= -size && index < size; }

bool model_shape_after(const model_shape *from, const model_step *s, model_shape *to) {
  int axis = s->a[0];
  *to = *from;
  switch ((model_kind)s->kind) {
  case MODEL_PERMUTE:
    for (int i = 0; i < to->rank; i++) {
      if (s->a[i] >= from->rank) return false;
      to->size[i] = from->size[s->a[i]];
      for (int k = 0; k < i; k++)
        if (s->a[k] == s->a[i]) return false;
    }
    return true;
  case MODEL_RESHAPE:
    to->rank = s->n;
    for (int i = 0; i < s->n; i++) to->size[i] = s->a[i];
    return model_elements(from) == model_elements(to);
  case MODEL_MERGE:
    if (axis + 1 >= from->rank) return false;
    to->size[axis] *= to->size[axis + 1];
    erase(to, axis + 1);
    return true;
  case MODEL_SPLIT:
    if (axis >= from->rank || from->rank == MODEL_RANK || s->b[0] < 1 || from->size[axis] % s->b[0])
      return false;
    to->size[axis] /= s->b[0];
    insert(to, axis + 1, s->b[0]);
    return true;
  case MODEL_EXPAND:
    for (int i = 0; i < to->rank; i++) {
      if (from->size[i] != 1 && from->size[i] != s->a[i]) return false;
      to->size[i] = s->a[i];
    }
    return true;
  case MODEL_SHRINK:
    for (int i = 0; i < to->rank; i++)
      if ((to->size[i] -= s->a[i] + s->b[i]) < 0) return false;
    return true;
  case MODEL_PAD:
    for (int i = 0; i < to->rank; i++) {
      if (!pad_possible(from->size[i], s->a[i], s->b[i], s->mode)) return false;
      to->size[i] += s->a[i] + s->b[i];
    }
    return true;
  case MODEL_FLIP:
    for (int i = 0; i < s->n; i++)
      if (s->a[i] >= from->rank) return false;
    return true;
  case MODEL_STRIDE:
    for (int i = 0; i < to->rank; i++) {
      int step = s->a[i] < 0 ? -s->a[i] : s->a[i];
      if (step == 0) return false;
      to->size[i] = (to->size[i] + step - 1) / step;
    }
    return true;
  case MODEL_UNSQUEEZE:
    if (axis > from->rank || from->rank == MODEL_RANK) return false;
    insert(to, axis, 1);
    return true;
  case MODEL_SQUEEZE:
  case MODEL_POINT:
    if (axis >= from->rank ||
        (s->kind == MODEL_SQUEEZE ? from->size[axis] != 1 : !inside(s->b[0], from->size[axis])))
      return false;
    erase(to, axis);
    return true;
  case MODEL_GATHER:
    if (axis >= from->rank) return false;
    for (int i = 0; i < s->n; i++)
      if (!inside(s->b[i], from->size[axis])) return false;
    to->size[axis] = s->n;
    return true;
  case MODEL_KINDS: break;
  }
  return false;
}

void model_base(const model_shape *shape, model_array *out) {
  out->shape = *shape;
  out->count = model_elements(shape);
  for (int i = 0; i < out->count; i++) out->at[i] = i;
}

static void unflatten(const model_shape *s, int position, int *at) {
  for (int i = s->rank; i-- > 0; position /= s->size[i]) at[i] = position % s->size[i];
}

static int flatten(const model_shape *s, const int *at) {
  int position = 0;
  for (int i = 0; i < s->rank; i++) position = position * s->size[i] + at[i];
  return position;
}

/* Where a padded position lies in an axis: walking on from the edge. -1: nowhere. */
static int unpadded(int x, int size, int mode) {
  if (x >= 0 && x < size) return x;
  switch (mode) {
  case MODEL_EDGE: return x < 0 ? 0 : size - 1;
  case MODEL_WRAP:
    while (x < 0) x += size;
    while (x >= size) x -= size;
    return x;
  case MODEL_REFLECT:
    while (x < 0 || x >= size) x = x < 0 ? -x : 2 * (size - 1) - x;
    return x;
  default: return -1;
  }
}

static void remove_at(int *at, int axis, int rank) {
  for (int i = axis; i + 1 < rank; i++) at[i] = at[i + 1];
}

static void insert_at(int *at, int axis, int rank, int value) {
  for (int i = rank; i > axis; i--) at[i] = at[i - 1];
  at[axis] = value;
}

int model_source(const model_shape *from, const model_step *s, const model_shape *to, int position) {
  int at[MODEL_RANK + 1] = {0}, out[MODEL_RANK + 1] = {0}, axis = s->a[0];
  unflatten(to, position, at);
  memcpy(out, at, sizeof out);
  switch ((model_kind)s->kind) {
  case MODEL_RESHAPE:
  case MODEL_MERGE:
  case MODEL_SPLIT: return position;
  case MODEL_PERMUTE:
    for (int i = 0; i < to->rank; i++) out[s->a[i]] = at[i];
    break;
  case MODEL_EXPAND:
    for (int i = 0; i < to->rank; i++)
      if (from->size[i] == 1) out[i] = 0;
    break;
  case MODEL_SHRINK:
    for (int i = 0; i < to->rank; i++) out[i] += s->a[i];
    break;
  case MODEL_PAD:
    for (int i = 0; i < to->rank; i++)
      if ((out[i] = unpadded(out[i] - s->a[i], from->size[i], s->mode)) < 0) return -1;
    break;
  case MODEL_FLIP:
    for (int i = 0; i < s->n; i++) out[s->a[i]] = from->size[s->a[i]] - 1 - at[s->a[i]];
    break;
  case MODEL_STRIDE:
    for (int i = 0; i < to->rank; i++)
      out[i] = s->a[i] > 0 ? at[i] * s->a[i] : from->size[i] - 1 + at[i] * s->a[i];
    break;
  case MODEL_UNSQUEEZE: remove_at(out, axis, to->rank); break;
  case MODEL_SQUEEZE: insert_at(out, axis, to->rank, 0); break;
  case MODEL_POINT: insert_at(out, axis, to->rank, s->b[0] < 0 ? s->b[0] + from->size[axis] : s->b[0]); break;
  case MODEL_GATHER:
    out[axis] = s->b[at[axis]];
    if (out[axis] < 0) out[axis] += from->size[axis];
    break;
  case MODEL_KINDS: break;
  }
  return flatten(from, out);
}

bool model_apply(const model_array *from, const model_step *step, model_array *to) {
  if (!model_shape_after(&from->shape, step, &to->shape)) return false;
  to->count = model_elements(&to->shape);
  if (to->count > MODEL_ELEMENTS) return false;
  for (int i = 0; i < to->count; i++) {
    int source = model_source(&from->shape, step, &to->shape, i);
    to->at[i] = source < 0 ? -1 : from->at[source];
  }
  return true;
}

bool model_run(const model_chain *chain, model_array *out) {
  static model_array spare;
  if (model_elements(&chain->base) > MODEL_ELEMENTS) return false;
  model_base(&chain->base, out);
  for (int i = 0; i < chain->count; i++) {
    spare.shape = out->shape;
    spare.count = out->count;
    memcpy(spare.at, out->at, (size_t)out->count * sizeof *out->at);
    if (!model_apply(&spare, &chain->steps[i], out)) return false;
  }
  return true;
}
