/* Operators whose indices are data. */
#include <string.h>

#include "frontend/onnx/fold.h"

static bool gather(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), at = onnx_in(n, 1);
  int axis = x ? onnx_axis(n, "axis", 0, onnx_rank(n, x)) : -1;
  return axis >= 0 && onnx_put(n, 0, op_gather(n->g, x, at, axis, IR_GATHER_CHECK));
}

/* Indices that count from the end where negative, from the beginning, as i64. */
static ir_ref nonnegative(onnx_node *n, ir_ref at, ir_ref size) {
  at = onnx_like(n, at, IR_I64);
  ir_ref whole = onnx_size_tensor(n, size, IR_I64);
  return op_where(n->g, onnx_with(n, IR_OP_LT, at, 0), op_binary(n->g, IR_OP_ADD, at, whole), at);
}

/* i64 indices along an axis, of the shape of `like`. */
static ir_ref along(onnx_node *n, ir_ref like, int axis) {
  ir_ref dims[IR_MAX_RANK];
  if (!like) return 0;
  int rank = onnx_dims(n, like, dims);
  return op_iota(n->g, IR_I64, dims, (size_t)rank, axis);
}

static ir_ref flat(onnx_node *n, ir_ref x) {
  ir_ref all = ir_index(n->g, -1);
  return onnx_reshape(n, x, &all, 1);
}

static ir_ref times_size(onnx_node *n, ir_ref x, ir_ref size) {
  return op_binary(n->g, IR_OP_MUL, x, onnx_size_tensor(n, size, IR_I64));
}

/* Row-major indices in the data of the elements that indices along the axis refer to. */
static ir_ref element_places(onnx_node *n, ir_ref x, ir_ref at, int axis) {
  ir_ref dims[IR_MAX_RANK];
  int rank = onnx_dims(n, x, dims);
  ir_ref places = times_size(n, nonnegative(n, at, dims[axis]), onnx_product(n, dims, axis + 1, rank));
  for (int k = 0; k < rank; k++)
    if (k != axis)
      places = op_binary(n->g, IR_OP_ADD, places,
                         times_size(n, along(n, at, k), onnx_product(n, dims, k + 1, rank)));
  return places;
}

static bool same_but(onnx_node *n, ir_ref x, ir_ref at, int axis) {
  for (int k = 0; k < onnx_rank(n, x); k++)
    if (k != axis && ir_dim(n->g, x, (uint32_t)k) != ir_dim(n->g, at, (uint32_t)k)) return false;
  return true;
}

static bool equal_ranks(onnx_node *n, ir_ref x, ir_ref at) {
  return x && at &&
         (onnx_rank(n, x) == onnx_rank(n, at) ||
          onnx_refuse(n, "indices of %d axes; the data has %d; takes as many", onnx_rank(n, at),
                      onnx_rank(n, x)));
}

static bool gather_elements(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), at = onnx_in(n, 1);
  int axis = equal_ranks(n, x, at) ? onnx_axis(n, "axis", 0, onnx_rank(n, x)) : -1;
  if (axis < 0) return false;
  if (same_but(n, x, at, axis)) return onnx_put(n, 0, op_take_along_axis(n->g, x, at, axis, IR_GATHER_CHECK));
  ir_ref places = element_places(n, x, at, axis);
  return places && onnx_put(n, 0, op_gather(n->g, flat(n, x), places, 0, IR_GATHER_CHECK));
}

/* Indices along the last axis of `at` address axes of the data behind the batch axes: the data with those
 * axes merged into one, and the merged index of each. */
static bool flat_places(onnx_node *n, int batch, ir_ref *data, ir_ref *places) {
  ir_ref x = onnx_in(n, 0), at = onnx_in(n, 1), dims[IR_MAX_RANK], picked[IR_MAX_RANK], shape[IR_MAX_RANK];
  int64_t depth;
  if (!x || !at) return false;
  int rank = onnx_dims(n, x, dims), index_rank = onnx_dims(n, at, picked);
  if (index_rank < 1 || !ir_is_const(n->g, picked[index_rank - 1], &depth) || depth < 0 || batch < 0 ||
      batch + depth > rank || batch >= index_rank)
    return onnx_refuse(n,
                       "indices of %d axes for data of %d, of which %d are the batch; takes more axes than "
                       "the batch, the last of as many elements as axes of the data are indexed",
                       index_rank, rank, batch);
  int lead = batch + (int)depth;
  ir_ref sum = onnx_zeros(n, IR_I64, picked, index_rank - 1);
  for (int k = 0; k < lead && sum; k++) {
    ir_ref stride = onnx_product(n, dims, k + 1, lead);
    ir_ref index = k < batch ? op_iota(n->g, IR_I64, picked, (size_t)index_rank - 1, k)
                             : nonnegative(n, op_point(n->g, at, ir_index(n->g, k - batch), -1), dims[k]);
    sum = op_binary(n->g, IR_OP_ADD, sum, times_size(n, index, stride));
  }
  shape[0] = onnx_product(n, dims, 0, lead);
  for (int k = lead; k < rank; k++) shape[k - lead + 1] = dims[k];
  *places = sum;
  *data = onnx_reshape(n, x, shape, rank - lead + 1);
  return *data && sum;
}

static bool gather_nd(onnx_node *n) {
  ir_ref data, places;
  return flat_places(n, (int)onnx_int(n, "batch_dims", 0), &data, &places) &&
         onnx_put(n, 0, op_gather(n->g, data, places, 0, IR_GATHER_CHECK));
}

/* scatters */

typedef struct scattering {
  ir_op op;     /* SCATTER, SCATTER_ADD; otherwise: */
  ir_op reduce; /* of the updates of an element */
  ir_op join;   /* of that with the element */
} scattering;

static bool read_reduction(onnx_node *n, scattering *out) {
  static const struct {
    const char *name;
    scattering how;
  } kinds[] = {{"none", {.op = IR_OP_SCATTER}},
               {"add", {.op = IR_OP_SCATTER_ADD}},
               {"mul", {.reduce = IR_OP_PROD, .join = IR_OP_MUL}},
               {"max", {.reduce = IR_OP_REDUCE_MAX, .join = IR_OP_MAX}},
               {"min", {.reduce = IR_OP_REDUCE_MIN, .join = IR_OP_MIN}}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (onnx_text_is(n, "reduction", kinds[i].name, "none")) {
      *out = kinds[i].how;
      return true;
    }
  return onnx_refuse(n, "the reduction '%.*s'; takes none, add, mul, max and min",
                     WIRE_TEXT(onnx_text(n, "reduction")));
}

/* x, moved by `step` along the axis towards greater indices, or smaller ones where it is negative; `fill`
 * where nothing comes from. Of `count` elements. */
static ir_ref moved(onnx_node *n, ir_ref x, int axis, int64_t count, int64_t step, ir_ref fill) {
  ir_ref bounds[2 * IR_MAX_RANK], pads[2 * IR_MAX_RANK], dims[IR_MAX_RANK];
  int rank = onnx_dims(n, x, dims);
  for (int i = 0; i < 2 * rank; i++) {
    pads[i] = ir_index(n->g, 0);
    bounds[i] = i % 2 ? dims[i / 2] : pads[i];
  }
  bounds[2 * axis] = ir_index(n->g, step < 0 ? -step : 0);
  bounds[2 * axis + 1] = ir_index(n->g, step < 0 ? count : count - step);
  pads[2 * axis + (step < 0)] = ir_index(n->g, step < 0 ? -step : step);
  return op_pad(n->g, op_shrink(n->g, x, bounds, (size_t)rank), pads, (size_t)rank, fill, IR_PAD_CONSTANT);
}

/* Is `at` one line along the axis, repeated? *line: that, of one axis; otherwise `at`. */
static bool is_line(onnx_node *n, ir_ref at, int axis, ir_ref *line) {
  ir_ref below = ir_op_of(n->g, at) == IR_OP_EXPAND ? ir_src(n->g, at, 0) : at, dims[IR_MAX_RANK];
  int rank = onnx_dims(n, below, dims);
  bool is = rank == onnx_rank(n, at) && dims[axis] == ir_dim(n->g, at, (uint32_t)axis);
  for (int i = 0; i < rank; i++) is = is && (i == axis || dims[i] == ir_index(n->g, 1));
  *line = is ? flat(n, below) : at;
  return is;
}

/* The elements of x at the indices, each of which a whole slice of x has, or each line its own. */
static ir_ref taken(onnx_node *n, ir_ref x, ir_ref at, int axis, bool slices) {
  return slices ? op_gather(n->g, x, at, axis, IR_GATHER_CLIP)
                : op_take_along_axis(n->g, x, at, axis, IR_GATHER_CLIP);
}

/* Extrema of the `count` updates along the axis, of which those of one element are neighbours once they are
 * sorted by index. After k steps an update is the extremum of itself and up to 2^k - 1 of the same index
 * before it, and after all of them the last one of each index is that of all. Work in proportion to the
 * logarithm of the count; extrema are exact, so that the order changes nothing. Indices out of range are
 * skipped. */
static ir_ref scattered_extrema(onnx_node *n, const scattering *s, ir_ref x, ir_ref at, ir_ref updates,
                                int axis, int64_t count) {
  ir_graph *g = n->g;
  ir_ref size = ir_dim(g, x, (uint32_t)axis), zero = onnx_number(n, ir_dtype_of(g, updates), 0),
         none = ir_int(g, IR_I64, -1), nowhere = onnx_size_tensor(n, size, IR_I64);
  bool slices = is_line(n, at, axis, &at);
  int own = slices ? 0 : axis; /* the axis of the indices */
  at = nonnegative(n, at, size);
  at = op_where(g, onnx_with(n, IR_OP_LT, at, 0), nowhere, at); /* which would count from the end once more */
  ir_ref order = op_sort(g, IR_OP_ARGSORT, at, own, false), all = taken(n, updates, order, axis, slices);
  at = taken(n, at, order, own, slices);
  for (int64_t step = 1; step < count && all && at; step *= 2) {
    ir_ref same = op_binary(g, IR_OP_EQ, at, moved(n, at, own, count, step, none)),
           joined = op_binary(g, s->join, all, moved(n, all, axis, count, step, zero));
    if (slices) same = onnx_along(n, same, axis, onnx_rank(n, x));
    all = op_where(g, same, joined, all);
  }
  ir_ref last = op_binary(g, IR_OP_NE, at, moved(n, at, own, count, -1, none)),
         place = op_where(g, last, at, nowhere); /* out of range: skipped */
  all = op_binary(g, s->join, taken(n, x, at, axis, slices), all);
  return slices ? op_scatter(g, IR_OP_SCATTER, x, place, all, axis, IR_GATHER_FILL, 0)
                : op_scatter_along_axis(g, IR_OP_SCATTER, x, place, all, axis, IR_GATHER_FILL);
}

/* Is it less work to sort the updates than to compare each with the index of each element? */
static bool pays_to_sort(onnx_node *n, ir_ref x, ir_ref at, int axis, int64_t *count) {
  enum {
    SORTED = 32, /* comparisons with elements that sorting an update takes as long as, about */
    STEP = 4     /* the same of combining it once */
  };
  int64_t elements, work = SORTED;
  if (!ir_is_const(n->g, ir_dim(n->g, at, (uint32_t)axis), count) ||
      !ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)axis), &elements) || *count < 2)
    return false;
  for (int64_t step = 1; step < *count; step *= 2) work += STEP;
  return elements > work;
}

/* Along the axis, where indices and updates have the same shape. Products, and extrema of few elements, are
 * taken over all updates, those of other elements replaced by what changes nothing: work in proportion to
 * both numbers. Indices out of range are skipped there. */
static ir_ref scattered(onnx_node *n, const scattering *s, ir_ref x, ir_ref at, ir_ref updates, int axis) {
  ir_ref dims[IR_MAX_RANK];
  if (!x || !at || !updates) return 0;
  if (s->op) return op_scatter_along_axis(n->g, s->op, x, at, updates, axis, IR_GATHER_CHECK);
  int64_t count;
  if (s->reduce != IR_OP_PROD && pays_to_sort(n, x, at, axis, &count))
    return scattered_extrema(n, s, x, at, updates, axis, count);
  int rank = onnx_dims(n, x, dims), behind = axis + 1;
  if (rank == IR_MAX_RANK) return (ir_ref)onnx_lacks(n, "%d axes; takes at most %d", rank, IR_MAX_RANK - 1);
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? dims[i] : ir_index(n->g, 1);
  ir_ref place = op_unsqueeze(n->g, op_iota(n->g, IR_I64, dims, (size_t)rank, axis), behind);
  ir_ref meant = op_binary(
      n->g, IR_OP_EQ, op_unsqueeze(n->g, nonnegative(n, at, ir_dim(n->g, x, (uint32_t)axis)), axis), place);
  ir_ref neutral =
      s->reduce == IR_OP_PROD ? onnx_number(n, ir_dtype_of(n->g, x), 1) : op_unsqueeze(n->g, x, behind);
  ir_ref each = op_where(n->g, meant, op_unsqueeze(n->g, updates, axis), neutral);
  ir_ref all = onnx_like(n, onnx_reduce(n, s->reduce, each, &behind, 1, false), ir_dtype_of(n->g, x));
  return op_binary(n->g, s->join, x, all);
}

static bool scatter_elements(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), at = onnx_in(n, 1), updates = onnx_in(n, 2), dims[IR_MAX_RANK];
  scattering s;
  int axis = equal_ranks(n, x, at) ? onnx_axis(n, "axis", 0, onnx_rank(n, x)) : -1;
  if (axis < 0 || !updates || !read_reduction(n, &s)) return false;
  if (same_but(n, x, at, axis)) return onnx_put(n, 0, scattered(n, &s, x, at, updates, axis));
  ir_ref places = element_places(n, x, at, axis);
  int rank = onnx_dims(n, x, dims);
  ir_ref made = scattered(n, &s, flat(n, x), flat(n, places), flat(n, updates), 0);
  return onnx_put(n, 0, onnx_reshape(n, made, dims, rank));
}

static bool scatter_nd(onnx_node *n) {
  ir_ref data, places, dims[IR_MAX_RANK], shape[IR_MAX_RANK], x = onnx_in(n, 0), updates = onnx_in(n, 2),
                                                              made;
  scattering s;
  if (!updates || !read_reduction(n, &s) || !flat_places(n, 0, &data, &places)) return false;
  int rank = onnx_dims(n, x, dims), data_rank = onnx_dims(n, data, shape);
  if (s.op) made = op_scatter(n->g, s.op, data, places, updates, 0, IR_GATHER_CHECK, 0);
  else { /* rows of the updates, each with its place */ ir_ref column[IR_MAX_RANK];
    shape[0] = ir_index(n->g, -1);
    for (int i = 0; i < data_rank; i++) column[i] = ir_index(n->g, i ? 1 : -1);
    updates = onnx_reshape(n, updates, shape, data_rank);
    made = scattered(n, &s, data, onnx_reshape(n, places, column, data_rank), updates, 0);
  }
  return onnx_put(n, 0, onnx_reshape(n, made, dims, rank));
}

/* The update is written from write_indices on along an axis, for each element of the batch. */
static bool tensor_scatter(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), update = onnx_in(n, 1), at = onnx_optional(n, 2);
  int axis = x ? onnx_axis(n, "axis", -2, onnx_rank(n, x)) : -1;
  if (axis < 0 || !update) return false;
  ir_ref places = along(n, update, axis);
  if (at)
    places = op_binary(n->g, IR_OP_ADD, places, onnx_along(n, onnx_like(n, at, IR_I64), 0, onnx_rank(n, x)));
  if (onnx_text_is(n, "mode", "circular", "linear"))
    places = op_binary(n->g, IR_OP_MOD, places, onnx_size_tensor(n, ir_dim(n->g, x, (uint32_t)axis), IR_I64));
  return onnx_put(n, 0, op_scatter_along_axis(n->g, IR_OP_SCATTER, x, places, update, axis, IR_GATHER_CHECK));
}

/* others */

static bool one_hot(onnx_node *n) {
  const onnx_known *k = onnx_need(n, 1, "the depth");
  ir_ref at = onnx_in(n, 0), values = onnx_in(n, 2), shape[IR_MAX_RANK + 1];
  if (!k || !at || !values) return false;
  if (k->count != 1) return onnx_refuse(n, "the depth has %zu elements; takes one", k->count);
  ir_ref depth = ir_is_float(k->dtype) ? ir_index(n->g, (int64_t)k->elements[0].real) : k->elements[0].size;
  int rank = onnx_rank(n, at) + 1;
  int axis = rank <= IR_MAX_RANK ? onnx_axis(n, "axis", -1, rank) : -1;
  if (axis < 0) return onnx_refuse(n, "the result has %d axes; takes at most %d", rank, IR_MAX_RANK);
  for (int i = 0; i < rank; i++) shape[i] = i == axis ? depth : ir_dim(n->g, at, (uint32_t)(i - (i > axis)));
  /* before operator set 11 a negative index has no place */
  at = n->opset < 11 ? onnx_like(n, at, IR_I64) : nonnegative(n, at, depth);
  ir_ref indices = op_unsqueeze(n->g, at, axis);
  ir_ref hot = op_binary(n->g, IR_OP_EQ, op_iota(n->g, IR_I64, shape, (size_t)rank, axis), indices);
  ir_ref off = op_point(n->g, values, ir_index(n->g, 0), 0),
         on = op_point(n->g, values, ir_index(n->g, 1), 0);
  return onnx_put(n, 0, op_where(n->g, hot, on, off));
}

static bool top(onnx_node *n) {
  int64_t k = onnx_int(n, "k", 0);
  ir_ref x = onnx_in(n, 0);
  if (n->opset >= 10 && !onnx_scalar(n, 1, "k", &k)) return false;
  int axis = x ? onnx_axis(n, "axis", -1, onnx_rank(n, x)) : -1;
  return axis >= 0 && onnx_put_all(n, op_topk(n->g, x, k, axis, onnx_int(n, "largest", 1) != 0));
}

/* The mask must be known: the size of the result depends on it. */
static bool compress(onnx_node *n) {
  const onnx_known *mask = onnx_need(n, 1, "the condition");
  ir_ref x = onnx_in(n, 0);
  int64_t count = 0, set;
  if (!mask || !x) return false;
  for (size_t i = 0; i < mask->count; i++) count += onnx_known_int(n->m, mask, i, &set) && set;
  onnx_known *keep = onnx_known_make(n->m, IR_I64, 1, &count);
  size_t used = 0;
  for (size_t i = 0; keep && i < mask->count; i++)
    if (onnx_known_int(n->m, mask, i, &set) && set) keep->elements[used++].size = ir_index(n->g, (int64_t)i);
  ir_ref at = keep ? onnx_known_ref(n->m, keep) : 0;
  if (!onnx_attribute_of(n, "axis"))
    return at && onnx_put(n, 0, op_gather(n->g, flat(n, x), at, 0, IR_GATHER_CHECK));
  int axis = onnx_axis(n, "axis", 0, onnx_rank(n, x));
  return at && axis >= 0 && onnx_put(n, 0, op_gather(n->g, x, at, axis, IR_GATHER_CHECK));
}

/* The size of the result depends on the elements. */
static bool nonzero(onnx_node *n) {
  bool done = false;
  return onnx_need(n, 0, "the input") && onnx_fold_nonzero(n, &done) &&
         (done || onnx_lacks(n, "the elements depend on symbolic sizes; takes numbers"));
}

/* The first elements of each row reversed; an input says how many. */
static bool reverse_sequence(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), lengths = onnx_in(n, 1);
  if (!x || !lengths) return false;
  int rank = onnx_rank(n, x), time = onnx_axis(n, "time_axis", 0, rank),
      across = onnx_axis(n, "batch_axis", 1, rank);
  if (time < 0 || across < 0) return false;
  ir_ref at = along(n, x, time), last = onnx_along(n, onnx_like(n, lengths, IR_I64), across, rank);
  ir_ref back = op_binary(n->g, IR_OP_SUB, onnx_with(n, IR_OP_SUB, last, 1), at);
  ir_ref taken = op_where(n->g, op_binary(n->g, IR_OP_LT, at, last), back, at);
  return onnx_put(n, 0, op_take_along_axis(n->g, x, taken, time, IR_GATHER_CHECK));
}

static bool running(onnx_node *n) {
  int64_t axis;
  ir_ref x = onnx_in(n, 0);
  if (!x || !onnx_scalar(n, 1, "the axis", &axis)) return false;
  ir_ref made = op_cumulative(n->g, (ir_op)n->row->argument, x, axis, onnx_int(n, "exclusive", 0) != 0,
                              onnx_int(n, "reverse", 0) != 0);
  return onnx_put(n, 0, onnx_like(n, made, ir_dtype_of(n->g, x)));
}

/* clang-format off */
const onnx_operator onnx_indexing[] = {
    {"Gather", gather, onnx_fold_gather, 0, 2, 2}, {"GatherElements", gather_elements, NULL, 0, 2, 2},
    {"GatherND", gather_nd, NULL, 0, 2, 2}, {"Scatter", scatter_elements, NULL, 0, 3, 3},
    {"ScatterElements", scatter_elements, NULL, 0, 3, 3}, {"ScatterND", scatter_nd, NULL, 0, 3, 3},
    {"TensorScatter", tensor_scatter, NULL, 0, 2, 3},
    {"OneHot", one_hot, NULL, 0, 3, 3}, {"TopK", top, NULL, 0, 1, 2}, {"Compress", compress, NULL, 0, 2, 2},
    {"NonZero", nonzero, onnx_fold_nonzero, 0, 1, 1},
    {"ReverseSequence", reverse_sequence, NULL, 0, 2, 2}, {"CumSum", running, NULL, IR_OP_CUMSUM, 2, 2},
    {"CumProd", running, NULL, IR_OP_CUMPROD, 2, 2}, {0}};
/* clang-format on */
