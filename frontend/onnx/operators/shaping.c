/* Operators that give elements another shape, or make tensors of a shape. */
#include <math.h>
#include <string.h>

#include "frontend/onnx/fold.h"
#include "frontend/onnx/narrow.h"

static bool reshape(onnx_node *n) {
  const ir_ref *wanted;
  ir_ref shape[IR_MAX_RANK], x = onnx_in(n, 0);
  int rank;
  int64_t number;
  if (!x || !onnx_list(n, "shape", 1, &wanted, &rank)) return false;
  if (rank > IR_MAX_RANK) return onnx_lacks(n, "%d axes; takes at most %d", rank, IR_MAX_RANK);
  bool zeros = onnx_int(n, "allowzero", 0) != 0;
  for (int i = 0; i < rank; i++) {
    shape[i] = wanted[i];
    if (zeros || !ir_is_const(n->g, wanted[i], &number) || number != 0) continue;
    if (i >= onnx_rank(n, x))
      return onnx_refuse(
          n, "axis %d of the shape is 0, which stands for the input's size there; the input has %d axes", i,
          onnx_rank(n, x));
    shape[i] = ir_dim(n->g, x, (uint32_t)i);
  }
  return onnx_put(n, 0, onnx_reshape(n, x, shape, rank));
}

static bool flatten(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), dims[IR_MAX_RANK];
  if (!x) return false;
  int rank = onnx_dims(n, x, dims);
  int64_t axis = onnx_int(n, "axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank)
    return onnx_refuse(n, "axis %lld; the input has %d axes; takes %d to %d", (long long)axis, rank, -rank,
                       rank);
  ir_ref shape[2] = {onnx_product(n, dims, 0, (int)axis), onnx_product(n, dims, (int)axis, rank)};
  return onnx_put(n, 0, onnx_reshape(n, x, shape, 2));
}

static bool squeeze(onnx_node *n) {
  const int64_t *axes;
  ir_ref x = onnx_in(n, 0), list[IR_MAX_RANK];
  int count;
  if (!x || !onnx_numbers(n, "axes", 1, &axes, &count)) return false;
  if (!axes) return onnx_put(n, 0, op_squeeze(n->g, x, NULL, 0));
  if (count > IR_MAX_RANK) return onnx_refuse(n, "%d axes", count);
  for (int i = 0; i < count; i++) list[i] = ir_index(n->g, axes[i]);
  return onnx_put(n, 0, count ? op_squeeze(n->g, x, list, (size_t)count) : x);
}

static bool unsqueeze(onnx_node *n) {
  const int64_t *axes;
  ir_ref x = onnx_in(n, 0);
  int count, axis;
  if (!x || !onnx_numbers(n, "axes", 1, &axes, &count)) return false;
  int rank = onnx_rank(n, x) + count;
  uint32_t set = 0;
  if (rank > IR_MAX_RANK) return onnx_lacks(n, "%d axes; takes at most %d", rank, IR_MAX_RANK);
  for (int i = 0; i < count; i++) {
    if (!onnx_wrap(n, axes[i], rank, &axis)) return false;
    if (set >> axis & 1) return onnx_refuse(n, "axis %d is given twice", axis);
    set |= 1u << axis;
  }
  for (int i = 0; i < rank && x; i++)
    if (set >> i & 1) x = op_unsqueeze(n->g, x, i);
  return onnx_put(n, 0, x);
}

static bool transpose(onnx_node *n) {
  const int64_t *order;
  ir_ref list[IR_MAX_RANK], x = onnx_in(n, 0);
  int count;
  if (!x || !onnx_numbers(n, "perm", -1, &order, &count)) return false;
  int rank = onnx_rank(n, x);
  if (order && count != rank)
    return onnx_refuse(n, "perm has %d entries; the input has %d axes; takes each axis once", count, rank);
  for (int i = 0; i < rank; i++) list[i] = ir_index(n->g, order ? order[i] : rank - 1 - i);
  return onnx_put(n, 0, op_permute(n->g, x, list, (size_t)rank));
}

/* The size to which two broadcast. */
static ir_ref wider(onnx_node *n, ir_ref a, ir_ref b) {
  int64_t one;
  if (a == b || (ir_is_const(n->g, b, &one) && one == 1)) return a;
  return b;
}

static bool expand(onnx_node *n) {
  const ir_ref *wanted;
  ir_ref shape[IR_MAX_RANK], dims[IR_MAX_RANK], x = onnx_in(n, 0);
  int count;
  if (!x || !onnx_list(n, "shape", 1, &wanted, &count)) return false;
  int rank = onnx_dims(n, x, dims), all = rank > count ? rank : count;
  if (all > IR_MAX_RANK) return onnx_lacks(n, "%d axes; takes at most %d", all, IR_MAX_RANK);
  for (int i = 0; i < all; i++) {
    int own = i - (all - rank), given = i - (all - count);
    shape[i] = own < 0 ? wanted[given] : given < 0 ? dims[own] : wider(n, dims[own], wanted[given]);
  }
  return onnx_put(n, 0, op_expand(n->g, x, shape, (size_t)all));
}

static bool concat(onnx_node *n) {
  ir_ref *all = wire_alloc(&n->m->arena, ((size_t)n->input_count + 1) * sizeof *all);
  if (!all) return false;
  for (int i = 0; i < n->input_count; i++)
    if (!(all[i] = onnx_in(n, i))) return false;
  return onnx_put(n, 0, op_concat(n->g, all, (size_t)n->input_count, onnx_int(n, "axis", 1)));
}

/* Given sizes, or equal ones of which the last may be smaller. */
static bool split(onnx_node *n) {
  const ir_ref *sizes;
  ir_ref x = onnx_in(n, 0), at = ir_index(n->g, 0);
  int count, parts = n->output_count;
  if (!x || !onnx_list(n, "split", 1, &sizes, &count)) return false;
  int axis = onnx_axis(n, "axis", 0, onnx_rank(n, x));
  if (axis < 0) return false;
  if (sizes && count != parts) return onnx_refuse(n, "%d sizes for %d outputs", count, parts);
  ir_ref whole = ir_dim(n->g, x, (uint32_t)axis);
  ir_ref each = pass_ceil_div(n->g, whole, ir_index(n->g, parts ? parts : 1));
  ir_ref sum = at;
  for (int i = 0; sizes && i < parts; i++) sum = pass_add(n->g, sum, sizes[i]);
  int64_t total, size;
  if (sizes && ir_is_const(n->g, sum, &total) && ir_is_const(n->g, whole, &size) && total != size)
    return onnx_refuse(n, "the sizes add up to %lld, and axis %d has %lld; both must be equal",
                       (long long)total, axis, (long long)size);
  for (int i = 0; i < parts; i++) {
    ir_ref end = pass_add(n->g, at, sizes ? sizes[i] : each);
    if (!sizes) end = pass_min(n->g, end, whole);
    if (onnx_wants(n, i) && !onnx_put(n, i, onnx_cut(n, x, axis, at, end))) return false;
    at = end;
  }
  if (sizes && at != whole && pass_proves(n->g, IR_OP_NE, at, whole))
    return onnx_refuse(n, "the sizes do not add up to that of axis %d; takes sizes that do", axis);
  return true;
}

/* As a new axis of the repeats before each axis. */
static bool tile(onnx_node *n) {
  const ir_ref *repeats;
  ir_ref x = onnx_in(n, 0), dims[IR_MAX_RANK];
  int count;
  if (!x || !onnx_list(n, "repeats", 1, &repeats, &count)) return false;
  int rank = onnx_dims(n, x, dims);
  if (count != rank)
    return onnx_refuse(n, "%d repeats; the input has %d axes; takes one for each", count, rank);
  for (int i = 0; i < rank && x; i++) {
    int64_t times;
    if (ir_is_const(n->g, repeats[i], &times) && times == 1) continue;
    ir_ref shape[IR_MAX_RANK + 1];
    if (rank == IR_MAX_RANK) return onnx_lacks(n, "an input of %d axes; takes at most %d", rank, rank - 1);
    for (int k = 0; k <= rank; k++) shape[k] = k == i ? repeats[i] : dims[k - (k > i)];
    x = op_expand(n->g, op_unsqueeze(n->g, x, i), shape, (size_t)rank + 1);
    dims[i] = pass_mul(n->g, repeats[i], dims[i]);
    x = onnx_reshape(n, x, dims, rank);
  }
  return onnx_put(n, 0, x);
}

/* sizes */

static int shape_of_input(onnx_node *n, ir_ref dims[IR_MAX_RANK]) {
  onnx_value *v = onnx_has(n, 0) ? n->inputs[0] : NULL;
  const onnx_known *k = v && !v->ref ? v->known : NULL;
  for (int i = 0; k && i < k->rank && i < IR_MAX_RANK; i++) dims[i] = ir_index(n->g, k->shape[i]);
  if (k) return k->rank;
  ir_ref x = onnx_in(n, 0);
  return x ? onnx_dims(n, x, dims) : -1;
}

static bool shape_of(onnx_node *n) {
  ir_ref dims[IR_MAX_RANK];
  int rank = shape_of_input(n, dims);
  if (rank < 0) return false;
  int64_t first = onnx_int(n, "start", 0), end = onnx_int(n, "end", rank);
  first = first < -rank ? 0 : first < 0 ? first + rank : first > rank ? rank : first;
  end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
  int64_t count = end > first ? end - first : 0;
  onnx_known *k = onnx_known_make(n->m, IR_I64, 1, &count);
  for (int64_t i = 0; k && i < count; i++) k->elements[i].size = dims[first + i];
  return onnx_put_known(n, 0, k);
}

static bool size_of(onnx_node *n) {
  ir_ref dims[IR_MAX_RANK];
  int rank = shape_of_input(n, dims);
  onnx_known *k = rank < 0 ? NULL : onnx_known_make(n->m, IR_I64, 0, NULL);
  if (k) k->elements[0].size = onnx_product(n, dims, 0, rank);
  return onnx_put_known(n, 0, k);
}

/* constants */

static bool constant_tensor(onnx_node *n, wire_bytes bytes) {
  onnx_tensor *t = wire_alloc(&n->m->arena, sizeof *t);
  if (!t || !onnx_tensor_read(n->m, bytes, t)) return false;
  bool narrow = onnx_narrow_of(t->dtype) != NULL;
  if (onnx_dtype(t->dtype) == IR_NONE && !narrow)
    return onnx_lacks(n, "a constant of dtype %s", onnx_dtype_name(t->dtype));
  if (onnx_wants(n, 0)) n->outputs[0]->tensor = t, n->outputs[0]->narrow = narrow ? t->dtype : 0;
  return true;
}

static bool constant(onnx_node *n) {
  const onnx_attribute *a = n->attribute_count ? &n->attributes[0] : NULL;
  for (int i = 0; i < n->attribute_count; i++)
    if (n->attributes[i].name.size) a = &n->attributes[i];
  if (!a) return onnx_refuse(n, "it has no value");
  if (wire_is(a->name, "value")) return constant_tensor(n, a->tensor);
  bool ints = wire_is(a->name, "value_ints"), floats = wire_is(a->name, "value_floats");
  if (!ints && !floats && !wire_is(a->name, "value_int") && !wire_is(a->name, "value_float"))
    return onnx_lacks(
        n, "a constant given as %.*s; takes value, value_int, value_ints, value_float, value_floats",
        WIRE_TEXT(a->name));
  bool whole = ints || wire_is(a->name, "value_int");
  int64_t count = ints ? (int64_t)a->ints.count : floats ? (int64_t)a->floats.count : 1;
  onnx_known *k = onnx_known_make(n->m, whole ? IR_I64 : IR_F32, ints || floats, &count);
  for (int64_t i = 0; k && i < count; i++) {
    if (!whole) k->elements[i].real = (double)(floats ? ((const float *)a->floats.items)[i] : a->f);
    else if (!(k->elements[i].size = ir_index(n->g, ints ? ((const int64_t *)a->ints.items)[i] : a->i)))
      return false;
  }
  return onnx_put_known(n, 0, k);
}

static bool constant_of_shape(onnx_node *n) {
  const onnx_attribute *a = onnx_attribute_of(n, "value");
  const ir_ref *shape;
  int rank;
  ir_ref value = onnx_number(n, IR_F32, 0);
  if (!onnx_list(n, "the shape", 0, &shape, &rank)) return false;
  if (rank > IR_MAX_RANK) return onnx_lacks(n, "%d axes; takes at most %d", rank, IR_MAX_RANK);
  if (a) {
    onnx_tensor t;
    const onnx_known *k = onnx_tensor_read(n->m, a->tensor, &t) ? onnx_tensor_known(n->m, &t) : NULL;
    if (!k || k->count != 1)
      return onnx_refuse(n, "the attribute value is no tensor of one element; takes one");
    ir_value element = {.f = k->elements[0].real};
    if (!ir_is_float(k->dtype)) onnx_known_int(n->m, k, 0, &element.i);
    value = op_const(n->g, k->dtype, element);
  }
  return onnx_put(n, 0, op_full(n->g, value, shape, (size_t)rank));
}

static bool eye_like(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), dims[IR_MAX_RANK];
  if (!x) return false;
  ir_dtype dtype = onnx_attribute_of(n, "dtype") ? onnx_dtype(onnx_int(n, "dtype", 0)) : ir_dtype_of(n->g, x);
  int rank = onnx_dims(n, x, dims);
  return onnx_put(n, 0, op_eye(n->g, dtype, dims, (size_t)rank, onnx_int(n, "k", 0)));
}

/* Of floats: from the numbers; of integers the limit may be a size. */
static bool range(onnx_node *n) {
  const onnx_known *start = onnx_need(n, 0, "the start"), *stop = onnx_need(n, 1, "the limit");
  const onnx_known *step = onnx_need(n, 2, "the step");
  int64_t from, by;
  if (!start || !stop || !step) return false;
  if (start->count != 1 || stop->count != 1 || step->count != 1)
    return onnx_refuse(n, "the start, the limit or the step has several elements; takes one number each");
  if (ir_is_float(start->dtype))
    return onnx_put(n, 0,
                    op_arange_real(n->g, start->dtype, start->elements[0].real, stop->elements[0].real,
                                   step->elements[0].real));
  if (!onnx_scalar(n, 2, "the step", &by)) return false;
  if (onnx_known_int(n->m, start, 0, &from))
    return onnx_put(n, 0, op_arange(n->g, start->dtype, from, stop->elements[0].size, by));
  if (by != 1)
    return onnx_lacks(n, "the start depends on a symbolic size, and the step is %lld; takes a step of 1 then",
                      (long long)by);
  ir_ref first = start->elements[0].size, count = pass_sub(n->g, stop->elements[0].size, first);
  ir_ref x = op_iota(n->g, start->dtype, &count, 1, 0);
  return onnx_put(n, 0, op_binary(n->g, IR_OP_ADD, x, onnx_size_tensor(n, first, start->dtype)));
}

static bool depth_to_space(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), d[IR_MAX_RANK], shape[6], order[6];
  int64_t b = onnx_int(n, "blocksize", 1);
  if (!x || onnx_dims(n, x, d) != 4)
    return x && onnx_refuse(n, "an input of %d axes; takes 4", onnx_rank(n, x));
  if (b < 1 || b > 1 << 20) return onnx_refuse(n, "a block of %lld", (long long)b);
  ir_ref block = ir_index(n->g, b), few = pass_div_int(n->g, d[1], b * b);
  bool dcr = onnx_text_is(n, "mode", "DCR", "DCR");
  const int axes[2][6] = {{0, 1, 4, 2, 5, 3}, {0, 3, 4, 1, 5, 2}};
  ir_ref mixed[6] = {d[0], dcr ? block : few, block, dcr ? few : block, d[2], d[3]};
  memcpy(shape, mixed, sizeof shape);
  for (int i = 0; i < 6; i++) order[i] = ir_index(n->g, axes[dcr][i]);
  x = op_permute(n->g, onnx_reshape(n, x, shape, 6), order, 6);
  ir_ref out[4] = {d[0], few, pass_mul_int(n->g, d[2], b), pass_mul_int(n->g, d[3], b)};
  return onnx_put(n, 0, onnx_reshape(n, x, out, 4));
}

static bool space_to_depth(onnx_node *n) {
  static const int axes[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
  ir_ref x = onnx_in(n, 0), d[IR_MAX_RANK], order[6];
  int64_t b = onnx_int(n, "blocksize", 1);
  if (!x || onnx_dims(n, x, d) != 4)
    return x && onnx_refuse(n, "an input of %d axes; takes 4", onnx_rank(n, x));
  if (b < 1 || b > 1 << 20) return onnx_refuse(n, "a block of %lld", (long long)b);
  ir_ref block = ir_index(n->g, b), rows = pass_div_int(n->g, d[2], b), columns = pass_div_int(n->g, d[3], b);
  ir_ref shape[6] = {d[0], d[1], rows, block, columns, block};
  bool crd = onnx_text_is(n, "mode", "CRD", "DCR");
  for (int i = 0; i < 6; i++) order[i] = ir_index(n->g, axes[crd][i]);
  x = op_permute(n->g, onnx_reshape(n, x, shape, 6), order, 6);
  ir_ref out[4] = {d[0], pass_mul_int(n->g, d[1], b * b), rows, columns};
  return onnx_put(n, 0, onnx_reshape(n, x, out, 4));
}

/* clang-format off */
const onnx_operator onnx_shaping[] = {
    {"Reshape", reshape, onnx_fold_reshape, 0, 1, 2}, {"Flatten", flatten, NULL, 0, 1, 1},
    {"Squeeze", squeeze, onnx_fold_reshape, 0, 1, 2}, {"Unsqueeze", unsqueeze, onnx_fold_reshape, 0, 1, 2},
    {"Transpose", transpose, onnx_fold_transpose, 0, 1, 1}, {"Expand", expand, onnx_fold_expand, 0, 2, 2},
    {"Concat", concat, onnx_fold_concat, 0, 1, 255}, {"Split", split, onnx_fold_split, 0, 1, 2},
    {"Tile", tile, NULL, 0, 2, 2}, {"Shape", shape_of, NULL, 0, 1, 1}, {"Size", size_of, NULL, 0, 1, 1},
    {"Constant", constant, NULL, 0, 0, 0},
    {"ConstantOfShape", constant_of_shape, onnx_fold_constant_of_shape, 0, 1, 1},
    {"EyeLike", eye_like, NULL, 0, 1, 1}, {"Range", range, onnx_fold_range, 0, 3, 3},
    {"DepthToSpace", depth_to_space, NULL, 0, 1, 1}, {"SpaceToDepth", space_to_depth, NULL, 0, 1, 1}, {0}};
/* clang-format on */
