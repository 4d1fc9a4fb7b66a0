#include "test/lib/view_model.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int model_elements(const model_shape *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++)
    if (s->size[i] == 0) return 0;
  for (int i = 0; i < s->rank; i++)
    if ((count *= s->size[i]) > INT_MAX) return INT_MAX;
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

/* The index in an axis that a padded index x reads; -1: padding. */
static int unpadded(int x, int size, int mode) {
  if (x >= 0 && x < size) return x;
  switch (mode) {
  case MODEL_EDGE: return x < 0 ? 0 : size - 1;
  case MODEL_WRAP:
    while (x < 0) x += size;
    while (x >= size) x -= size;
    return x;
  case MODEL_REFLECT:
    if (size == 1) return 0;
    while (x < 0 || x >= size) x = x < 0 ? -x : 2 * (size - 1) - x;
    return x;
  default: return -1;
  }
}

static int from_end(int index, int size) { return index < 0 ? index + size : index; }

/* A step maps each axis on its own: returns the index in the operand's axis *other that index x of the
 * result's axis reads. *other is -1 if the result's axis has no counterpart; the result is -1 for padding. */
static int along(const model_shape *from, const model_step *s, int axis, int x, int *other) {
  int size = from->size[axis];
  *other = axis;
  switch ((model_kind)s->kind) {
  case MODEL_PERMUTE: *other = s->a[axis]; return x;
  case MODEL_EXPAND: return size == 1 ? 0 : x;
  case MODEL_SHRINK: return x + s->a[axis];
  case MODEL_PAD: return unpadded(x - s->a[axis], size, s->mode);
  case MODEL_STRIDE: return s->a[axis] > 0 ? x * s->a[axis] : size - 1 + x * s->a[axis];
  case MODEL_FLIP:
    for (int i = 0; i < s->n; i++)
      if (s->a[i] == axis) return size - 1 - x;
    return x;
  case MODEL_UNSQUEEZE: *other = axis == s->a[0] ? -1 : axis - (axis > s->a[0]); return x;
  case MODEL_SQUEEZE:
  case MODEL_POINT: *other = axis + (axis >= s->a[0]); return x;
  case MODEL_GATHER: return axis == s->a[0] ? from_end(s->b[x], size) : x;
  default: return x;
  }
}

static void next_row(const model_shape *s, int *at) {
  for (int i = s->rank - 1; i-- > 0; at[i] = 0)
    if (++at[i] < s->size[i]) return;
}

void model_compose(const model_shape *from, const model_step *s, const model_shape *to, const int *at,
                   int *out) {
  int count = model_elements(to), stride[MODEL_RANK + 1], *part[MODEL_RANK + 1], row[MODEL_RANK + 1] = {0};
  if (s->kind == MODEL_RESHAPE || s->kind == MODEL_MERGE || s->kind == MODEL_SPLIT) {
    memcpy(out, at, (size_t)count * sizeof *out);
    return;
  }
  int step = 1, wide = 1, near[256];
  for (int i = from->rank; i-- > 0; step *= from->size[i]) stride[i] = step;
  for (int i = 0; i < to->rank; i++) wide += to->size[i];
  int *parts = wide <= 256 ? near : malloc((size_t)wide * sizeof *parts), *end = parts;
  if (!parts) exit(77);
  for (int i = 0; i < to->rank; i++) { /* offset that each index of an axis adds; -1: padding */
    part[i] = end;
    for (int x = 0; x < to->size[i]; x++) {
      int other, y = along(from, s, i, x, &other);
      *end++ = y < 0 ? -1 : other < 0 ? 0 : y * stride[other];
    }
  }
  int first = s->kind == MODEL_POINT ? from_end(s->b[0], from->size[s->a[0]]) * stride[s->a[0]] : 0;
  int width = to->rank ? to->size[to->rank - 1] : 1, one[] = {0};
  const int *last = to->rank ? part[to->rank - 1] : one;
  for (int k = 0; k < count; next_row(to, row)) {
    int sum = first;
    for (int i = 0; i + 1 < to->rank && sum >= 0; i++) sum = part[i][row[i]] < 0 ? -1 : sum + part[i][row[i]];
    for (int x = 0; x < width; x++, k++) out[k] = sum < 0 || last[x] < 0 ? -1 : at[sum + last[x]];
  }
  if (parts != near) free(parts);
}

bool model_apply(const model_array *from, const model_step *step, model_array *to) {
  if (!model_shape_after(&from->shape, step, &to->shape)) return false;
  to->count = model_elements(&to->shape);
  if (to->count > MODEL_ELEMENTS) return false;
  model_compose(&from->shape, step, &to->shape, from->at, to->at);
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

void model_resized(const model_chain *chain, int n, model_chain *out) {
  *out = *chain;
  for (int i = 0; i < chain->base.rank; i++)
    if (chain->varies >> i & 1) out->base.size[i] = n;
  model_shape old = chain->base, now = out->base, next;
  for (int k = 0; k < chain->count; k++) { /* an axis that does not grow keeps its size */
    model_step *s = &out->steps[k];
    for (int i = 0; s->kind == MODEL_EXPAND && i < now.rank; i++)
      if (s->a[i] == old.size[i]) s->a[i] = (int8_t)now.size[i];
    if (model_shape_after(&old, &chain->steps[k], &next)) old = next;
    if (model_shape_after(&now, s, &next)) now = next;
  }
}
