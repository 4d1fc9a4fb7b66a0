/* Known values whose elements move: lists of sizes that are cut, joined and indexed. */
#include <math.h>
#include <string.h>

#include "frontend/onnx/fold.h"

/* k with another shape of as many elements. */
static bool put_shaped(onnx_node *n, const onnx_known *k, int rank, const int64_t *shape, bool *done) {
  onnx_known *made = onnx_known_make(n->m, k->dtype, rank, shape);
  if (!made) return false;
  if (made->count != k->count) return true; /* the builder says why not */
  memcpy(made->elements, k->elements, k->count * sizeof *k->elements);
  return *done = onnx_put_known(n, 0, made);
}

static bool reshaped(onnx_node *n, const onnx_known *k, bool *done) {
  const int64_t *wanted;
  int64_t shape[IR_MAX_RANK], left = (int64_t)k->count;
  int rank, inferred = -1;
  if (!onnx_numbers(n, "shape", 1, &wanted, &rank)) return false;
  if (!wanted || rank > IR_MAX_RANK) return true;
  for (int i = 0; i < rank; i++) {
    shape[i] = wanted[i] == 0 && i < k->rank && !onnx_int(n, "allowzero", 0) ? k->shape[i] : wanted[i];
    if (shape[i] == -1) inferred = i;
    else if (shape[i] > 0) left /= shape[i];
    else return true;
  }
  if (inferred >= 0) shape[inferred] = left;
  return put_shaped(n, k, rank, shape, done);
}

bool onnx_fold_reshape(onnx_node *n, bool *done) {
  const int64_t *axes;
  int64_t shape[IR_MAX_RANK];
  int count, rank = 0, used = 0;
  if (!onnx_foldable(n, 0, n->input_count)) return true;
  const onnx_known *k = onnx_known_in(n, 0);
  if (wire_is(n->proto->op, "Reshape")) return reshaped(n, k, done);
  if (!onnx_numbers(n, "axes", 1, &axes, &count)) return false;
  uint32_t set = 0;
  bool insert = wire_is(n->proto->op, "Unsqueeze");
  int all = k->rank + (insert ? count : 0);
  if (all > IR_MAX_RANK) return true;
  for (int i = 0; i < count; i++) {
    int axis;
    if (!onnx_wrap(n, axes[i], all, &axis)) return false;
    set |= 1u << axis;
  }
  for (int i = 0; i < all; i++) {
    bool named = axes ? (set >> i & 1) != 0 : k->shape[i] == 1;
    if (insert) {
      if (!named && used == k->rank) return true; /* an axis twice */
      shape[rank++] = named ? 1 : k->shape[used++];
    } else if (!named) shape[rank++] = k->shape[i];
  }
  return put_shaped(n, k, rank, shape, done);
}

bool onnx_fold_concat(onnx_node *n, bool *done) {
  if (!onnx_foldable(n, 0, n->input_count)) return true;
  int64_t total = 0;
  const onnx_known *first = onnx_known_in(n, 0);
  for (int i = 0; i < n->input_count; i++) {
    const onnx_known *k = onnx_known_in(n, i);
    if (!k || k->rank != 1 || k->dtype != first->dtype) return true;
    total += k->shape[0];
  }
  if (total > ONNX_FOLD_MOST) return true;
  onnx_known *made = onnx_known_make(n->m, first->dtype, 1, &total);
  if (!made) return false;
  size_t used = 0;
  for (int i = 0; i < n->input_count; i++) {
    const onnx_known *k = onnx_known_in(n, i);
    memcpy(made->elements + used, k->elements, k->count * sizeof *k->elements);
    used += k->count;
  }
  return *done = onnx_put_known(n, 0, made);
}

/* Elements of a list; of more axes the first one is indexed. */
bool onnx_fold_gather(onnx_node *n, bool *done) {
  if (!onnx_foldable(n, 0, 2)) return true;
  const onnx_known *x = onnx_known_in(n, 0), *at = onnx_known_in(n, 1);
  if (x->rank != 1 || onnx_axis(n, "axis", 0, 1) != 0) return true;
  onnx_known *made = onnx_known_make(n->m, x->dtype, at->rank, at->shape);
  if (!made) return false;
  for (size_t i = 0; i < at->count; i++) {
    int64_t index;
    if (!onnx_known_int(n->m, at, i, &index)) return true;
    if (index < 0) index += (int64_t)x->count;
    if (index < 0 || index >= (int64_t)x->count)
      return onnx_refuse(n, "index %lld; the list of sizes has %zu elements; takes indices of these",
                         (long long)index, x->count);
    made->elements[i] = x->elements[index];
  }
  return *done = onnx_put_known(n, 0, made);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

typedef struct cut {
  int64_t begin, step, count;
} cut;

/* As Python's slices. False where it is not to be folded. */
static bool cut_axis(int64_t size, int64_t start, int64_t stop, int64_t step, cut *out) {
  if (step == 0 || step < -size - 1 || step > size + 1) return false;
  int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  int64_t begin = clamp(start < 0 ? start + size : start, low, high);
  int64_t end = stop < -size ? -1 : stop < 0 ? stop + size : stop;
  end = clamp(end, low, high);
  int64_t count = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
  *out = (cut){begin, step, count < 0 ? 0 : count};
  return true;
}

/* Are all elements of the inputs from 1 on numbers? */
static bool numeric_from(onnx_node *n, int first) {
  for (int i = first; i < n->input_count; i++)
    for (size_t j = 0; onnx_has(n, i) && j < onnx_known_in(n, i)->count; j++)
      if (!ir_is_const(n->g, onnx_known_in(n, i)->elements[j].size, NULL)) return false;
  return true;
}

/* Element of k at each index of `made`, row-major. */
static void copy_cuts(const onnx_known *k, const cut *cuts, onnx_known *made) {
  for (size_t at = 0; at < made->count; at++) {
    size_t left = at;
    int64_t offset = 0, stride = 1;
    for (int i = k->rank - 1; i >= 0; i--) {
      int64_t index = (int64_t)(left % (size_t)made->shape[i]);
      left /= (size_t)made->shape[i];
      offset += (cuts[i].begin + index * cuts[i].step) * stride;
      stride *= k->shape[i];
    }
    made->elements[at] = k->elements[offset];
  }
}

bool onnx_fold_slice(onnx_node *n, bool *done) {
  if (!onnx_foldable(n, 0, n->input_count) || !numeric_from(n, 1)) return true;
  const onnx_known *k = onnx_known_in(n, 0);
  const int64_t *starts, *ends, *axes, *steps;
  int64_t shape[IR_MAX_RANK];
  cut cuts[IR_MAX_RANK];
  int count, other, axis;
  if (!onnx_numbers(n, "starts", 1, &starts, &count) || !onnx_numbers(n, "ends", 2, &ends, &other))
    return false;
  if (!starts || !ends || other != count) return true;
  if (!onnx_numbers(n, "axes", 3, &axes, &other)) return false;
  if (axes && other != count) return true;
  if (!onnx_numbers(n, "steps", 4, &steps, &other)) return false;
  if (steps && other != count) return true;
  for (int i = 0; i < k->rank; i++) cuts[i] = (cut){0, 1, k->shape[i]};
  for (int i = 0; i < count; i++) {
    if (!onnx_wrap(n, axes ? axes[i] : i, k->rank, &axis)) return false;
    if (!cut_axis(k->shape[axis], starts[i], ends[i], steps ? steps[i] : 1, &cuts[axis])) return true;
  }
  for (int i = 0; i < k->rank; i++) shape[i] = cuts[i].count;
  onnx_known *made = onnx_known_make(n->m, k->dtype, k->rank, shape);
  if (!made) return false;
  copy_cuts(k, cuts, made);
  return *done = onnx_put_known(n, 0, made);
}

bool onnx_fold_split(onnx_node *n, bool *done) {
  if (!onnx_foldable(n, 0, n->input_count)) return true;
  const onnx_known *k = onnx_known_in(n, 0);
  const int64_t *sizes;
  int count;
  if (k->rank != 1 || !onnx_numbers(n, "split", 1, &sizes, &count)) return n->m->error->status == IR_OK;
  int64_t at = 0, parts = n->output_count, each = parts ? (k->shape[0] + parts - 1) / parts : 0;
  if (sizes && count != parts) return true;
  for (int i = 0; i < parts; i++) {
    int64_t size = sizes ? sizes[i] : each < k->shape[0] - at ? each : k->shape[0] - at;
    if (size < 0 || size > k->shape[0] - at) return true;
    onnx_known *made = onnx_known_make(n->m, k->dtype, 1, &size);
    if (!made) return false;
    memcpy(made->elements, k->elements + at, (size_t)size * sizeof *made->elements);
    onnx_put_known(n, i, made);
    at += size;
  }
  return *done = true;
}

bool onnx_fold_transpose(onnx_node *n, bool *done) {
  const onnx_known *k = onnx_foldable(n, 0, 1) ? onnx_known_in(n, 0) : NULL;
  const int64_t *order;
  int count;
  if (!k || k->rank != 2) return true;
  if (!onnx_numbers(n, "perm", -1, &order, &count)) return false;
  if (order && (count != 2 || order[0] != 1 || order[1] != 0)) return true;
  onnx_known *made = onnx_known_make(n->m, k->dtype, 2, (const int64_t[]){k->shape[1], k->shape[0]});
  if (!made) return false;
  for (int64_t i = 0; i < k->shape[0]; i++)
    for (int64_t j = 0; j < k->shape[1]; j++)
      made->elements[j * k->shape[0] + i] = k->elements[i * k->shape[1] + j];
  return *done = onnx_put_known(n, 0, made);
}

/* Of one element. */
static bool fill(onnx_node *n, ir_dtype dtype, onnx_element value, const int64_t *shape, int rank,
                 bool *done) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++)
    if (shape[i] < 0 || (count *= shape[i]) > ONNX_FOLD_MOST) return true;
  onnx_known *made = onnx_known_make(n->m, dtype, rank, shape);
  if (!made) return false;
  for (size_t i = 0; i < made->count; i++) made->elements[i] = value;
  return *done = onnx_put_known(n, 0, made);
}

static bool numeric(onnx_node *n, int input) {
  const onnx_known *k = onnx_known_in(n, input);
  int64_t number;
  for (size_t i = 0; k && i < k->count; i++)
    if (!onnx_known_int(n->m, k, i, &number)) return false;
  return k != NULL;
}

bool onnx_fold_expand(onnx_node *n, bool *done) {
  const int64_t *shape;
  int rank;
  if (!onnx_foldable(n, 0, 2) || !numeric(n, 1)) return true;
  const onnx_known *k = onnx_known_in(n, 0);
  if (k->count != 1 || !onnx_numbers(n, "shape", 1, &shape, &rank)) return n->m->error->status == IR_OK;
  if (rank < k->rank || rank > IR_MAX_RANK) return true;
  return fill(n, k->dtype, k->elements[0], shape, rank, done);
}

bool onnx_fold_constant_of_shape(onnx_node *n, bool *done) {
  const onnx_attribute *a = onnx_attribute_of(n, "value");
  const int64_t *shape;
  int rank;
  onnx_element value = {.real = 0};
  ir_dtype dtype = IR_F32;
  if (!onnx_foldable(n, 0, 1) || !numeric(n, 0)) return true;
  if (a) {
    onnx_tensor t;
    if (!onnx_tensor_read(n->m, a->tensor, &t)) return false;
    const onnx_known *k = onnx_tensor_known(n->m, &t);
    if (!k || k->count != 1) return n->m->error->status == IR_OK;
    value = k->elements[0];
    dtype = k->dtype;
  }
  if (dtype != IR_I64 && dtype != IR_I32 && dtype != IR_BOOL && !ir_is_float(dtype)) return true;
  if (!onnx_numbers(n, "", 0, &shape, &rank)) return false;
  return rank > IR_MAX_RANK || fill(n, dtype, value, shape, rank, done);
}

bool onnx_fold_range(onnx_node *n, bool *done) {
  int64_t start, stop, step;
  if (!onnx_foldable(n, 0, 3)) return true;
  const onnx_known *k = onnx_known_in(n, 0);
  if (ir_is_float(k->dtype) || !numeric(n, 0) || !numeric(n, 1) || !numeric(n, 2)) return true;
  if (!onnx_scalar(n, 0, "the start", &start) || !onnx_scalar(n, 1, "the limit", &stop) ||
      !onnx_scalar(n, 2, "the step", &step))
    return false;
  if (step == 0) return onnx_refuse(n, "the step is 0; takes another number");
  double real = ceil(((double)stop - (double)start) / (double)step);
  int64_t count = real < 0 ? 0 : real > ONNX_FOLD_MOST ? ONNX_FOLD_MOST + 1 : (int64_t)real;
  if (count > ONNX_FOLD_MOST) return true;
  onnx_known *made = onnx_known_make(n->m, k->dtype, 1, &count);
  for (int64_t i = 0; made && i < count; i++)
    if (!(made->elements[i].size = ir_index(n->g, start + i * step))) return false;
  return made && (*done = onnx_put_known(n, 0, made));
}

static bool is_set(const onnx_node *n, const onnx_known *k, size_t i) {
  int64_t number;
  if (ir_is_float(k->dtype)) return k->elements[i].real != 0;
  return onnx_known_int(n->m, k, i, &number) && number != 0;
}

/* The indices along each axis of the elements that are not 0. */
bool onnx_fold_nonzero(onnx_node *n, bool *done) {
  const onnx_known *k = n->inputs[0] ? onnx_value_known(n->m, n->inputs[0]) : NULL;
  int64_t shape[2] = {k ? k->rank : 0, 0}, number;
  if (!k) return true;
  for (size_t i = 0; i < k->count; i++) {
    if (!ir_is_float(k->dtype) && !onnx_known_int(n->m, k, i, &number)) return true;
    shape[1] += is_set(n, k, i);
  }
  onnx_known *made = onnx_known_make(n->m, IR_I64, 2, shape);
  size_t used = 0;
  for (size_t i = 0; made && i < k->count; i++) {
    if (!is_set(n, k, i)) continue;
    size_t left = i, count = (size_t)shape[1];
    for (int axis = k->rank - 1; axis >= 0; axis--) {
      size_t size = (size_t)k->shape[axis], at = (size_t)axis * count + used;
      if (!(made->elements[at].size = ir_index(n->g, (int64_t)(left % size)))) return false;
      left /= size;
    }
    used++;
  }
  return made && (*done = onnx_put_known(n, 0, made));
}
