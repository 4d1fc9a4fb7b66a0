/* Slices, pads and triangles. */
#include <math.h>

#include "frontend/onnx/fold.h"

/* A bound of a slice, as Python has it, from 0 to size: a number, or an expression of sizes. */
static ir_ref bound(onnx_node *n, ir_ref given, ir_ref size, int64_t low) {
  ir_ref zero = ir_index(n->g, low), top = low < 0 ? pass_add_int(n->g, size, -1) : size;
  if (pass_proves(n->g, IR_OP_LT, given, ir_index(n->g, 0))) {
    int64_t number;
    /* numbers far below stand for the beginning: their sum with a size need not fit */
    if (ir_is_const(n->g, given, &number) && number < -((int64_t)1 << 40)) return zero;
    given = pass_add(n->g, given, size);
  } else if (!pass_proves(n->g, IR_OP_GE, given, ir_index(n->g, 0))) {
    onnx_lacks(
        n,
        "a bound that depends on symbolic sizes may be negative or not; takes one whose sign the bounds of "
        "these sizes decide (vf_import_options.sizes)");
    return 0;
  }
  int64_t most;
  if (ir_is_const(n->g, size, &most)) onnx_note_limit(n->m, given, most);
  return pass_max(n->g, zero, pass_min(n->g, given, top));
}

static ir_ref slice_axis(onnx_node *n, ir_ref x, int axis, ir_ref start, ir_ref end, int64_t step) {
  ir_graph *g = n->g;
  ir_ref size = ir_dim(g, x, (uint32_t)axis), steps[IR_MAX_RANK];
  bool back = step < 0;
  ir_ref first = bound(n, start, size, back ? -1 : 0), last = bound(n, end, size, back ? -1 : 0);
  if (!first || !last) return 0;
  /* Reversed: element first, first - 1, ..., last + 1 of x is the range [last + 1, first + 1), flipped. */
  ir_ref begin = back ? pass_add_int(g, last, 1) : first, stop = back ? pass_add_int(g, first, 1) : last;
  stop = pass_max(g, begin, stop);
  x = onnx_cut(n, x, axis, begin, stop);
  if (step == 1 || !x) return x;
  int rank = onnx_rank(n, x);
  for (int i = 0; i < rank; i++) steps[i] = ir_index(g, i == axis ? step : 1);
  return op_stride(g, x, steps, (size_t)rank);
}

static bool slice(onnx_node *n) {
  const ir_ref *starts, *ends;
  const int64_t *axes, *steps;
  ir_ref x = onnx_in(n, 0);
  int count, others, axis;
  if (!x || !onnx_list(n, "starts", 1, &starts, &count) || !onnx_list(n, "ends", 2, &ends, &others))
    return false;
  if (others != count)
    return onnx_refuse(n, "%d starts and %d ends; takes an end for each start", count, others);
  if (!onnx_numbers(n, "axes", 3, &axes, &others)) return false;
  if (axes && others != count)
    return onnx_refuse(n, "%d starts and %d axes; takes an axis for each start", count, others);
  if (!onnx_numbers(n, "steps", 4, &steps, &others)) return false;
  if (steps && others != count)
    return onnx_refuse(n, "%d starts and %d steps; takes a step for each start", count, others);
  for (int i = 0; i < count && x; i++) {
    if (!onnx_wrap(n, axes ? axes[i] : i, onnx_rank(n, x), &axis)) return false;
    if (steps && steps[i] == 0) return onnx_refuse(n, "a step of 0");
    x = slice_axis(n, x, axis, starts[i], ends[i], steps ? steps[i] : 1);
  }
  return onnx_put(n, 0, x);
}

/* pads */

static ir_ref pad_value(onnx_node *n, ir_ref x) {
  ir_dtype dtype = ir_dtype_of(n->g, x);
  if (!onnx_has(n, 2)) return onnx_number(n, dtype, onnx_real(n, "value", 0));
  const onnx_known *k = onnx_known_in(n, 2);
  if (!k || k->count != 1) return 0;
  ir_value value = {.f = k->elements[0].real};
  if (!ir_is_float(k->dtype) && !onnx_known_int(n->m, k, 0, &value.i)) return 0;
  return op_const(n->g, dtype, value);
}

/* Pads by a value that is data: chosen where a mask of the elements is not set. */
static ir_ref pad_by_data(onnx_node *n, ir_ref x, const ir_ref *pads, int rank) {
  ir_ref dims[IR_MAX_RANK], value = onnx_in(n, 2);
  onnx_dims(n, x, dims);
  ir_ref set = op_full(n->g, ir_bool(n->g, true), dims, (size_t)rank);
  if (value && onnx_rank(n, value)) value = onnx_reshape(n, value, NULL, 0);
  return op_where(n->g, op_pad(n->g, set, pads, (size_t)rank, 0, IR_PAD_CONSTANT),
                  op_pad(n->g, x, pads, (size_t)rank, 0, IR_PAD_CONSTANT), value);
}

/* Negative pads cut. */
static ir_ref padded(onnx_node *n, ir_ref x, const ir_ref *before, const ir_ref *after, int mode) {
  ir_ref pads[2 * IR_MAX_RANK], cut[2 * IR_MAX_RANK], dims[IR_MAX_RANK], zero = ir_index(n->g, 0);
  int rank = onnx_dims(n, x, dims);
  for (int i = 0; i < rank; i++) {
    pads[2 * i] = pass_max(n->g, before[i], zero);
    pads[2 * i + 1] = pass_max(n->g, after[i], zero);
    cut[2 * i] = pass_sub(n->g, zero, pass_min(n->g, before[i], zero));
    cut[2 * i + 1] = pass_add(n->g, dims[i], pass_min(n->g, after[i], zero));
  }
  x = op_shrink(n->g, x, cut, (size_t)rank);
  if (!x || mode != IR_PAD_CONSTANT) return x ? op_pad(n->g, x, pads, (size_t)rank, 0, mode) : 0;
  ir_ref value = pad_value(n, x);
  if (n->m->error->status) return 0;
  return value ? op_pad(n->g, x, pads, (size_t)rank, value, mode) : pad_by_data(n, x, pads, rank);
}

static bool pad(onnx_node *n) {
  static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
  const ir_ref *pads;
  const int64_t *axes;
  ir_ref before[IR_MAX_RANK], after[IR_MAX_RANK], x = onnx_in(n, 0);
  int count, axis_count, mode = 0, axis;
  const char *name = onnx_attribute_of(n, "paddings") ? "paddings" : "pads";
  if (!x || !onnx_list(n, name, 1, &pads, &count) || !onnx_numbers(n, "axes", 3, &axes, &axis_count))
    return false;
  while (mode < 4 && !onnx_text_is(n, "mode", modes[mode], "constant")) mode++;
  if (mode == 4)
    return onnx_lacks(n, "the mode '%.*s'; takes constant, edge, reflect, wrap",
                      WIRE_TEXT(onnx_text(n, "mode")));
  int rank = onnx_rank(n, x), named = axes ? axis_count : rank;
  if (count != 2 * named) return onnx_refuse(n, "%d pads for %d axes; takes two of each", count, named);
  for (int i = 0; i < rank; i++) before[i] = after[i] = ir_index(n->g, 0);
  for (int i = 0; i < named; i++) {
    if (!onnx_wrap(n, axes ? axes[i] : i, rank, &axis)) return false;
    before[axis] = pads[i];
    after[axis] = pads[i + named];
  }
  return onnx_put(n, 0, padded(n, x, before, after, mode));
}

/* Cut or padded to a size, equally at both ends, the odd one at the end. */
static bool center_crop_pad(onnx_node *n) {
  const int64_t *axes, *sizes;
  ir_ref before[IR_MAX_RANK], after[IR_MAX_RANK], x = onnx_in(n, 0);
  int64_t dims[IR_MAX_RANK];
  int count, axis_count, axis;
  if (!x || !onnx_numbers(n, "the sizes", 1, &sizes, &count) ||
      !onnx_numbers(n, "axes", -1, &axes, &axis_count))
    return false;
  if (!onnx_fixed_dims(n, x, dims)) return false;
  int rank = onnx_rank(n, x);
  if (count != (axes ? axis_count : rank))
    return onnx_refuse(n, "%d sizes for %d axes; takes one for each", count, axes ? axis_count : rank);
  for (int i = 0; i < rank; i++) before[i] = after[i] = ir_index(n->g, 0);
  for (int i = 0; i < count; i++) {
    if (!onnx_wrap(n, axes ? axes[i] : i, rank, &axis)) return false;
    int64_t more = sizes[i] - dims[axis], low = more >= 0 ? more / 2 : -(-more / 2);
    before[axis] = ir_index(n->g, low);
    after[axis] = ir_index(n->g, more - low);
  }
  return onnx_put(n, 0, padded(n, x, before, after, IR_PAD_CONSTANT));
}

static bool triangle(onnx_node *n) {
  int64_t diagonal = 0;
  ir_ref x = onnx_in(n, 0);
  if (onnx_has(n, 1) && !onnx_scalar(n, 1, "the diagonal", &diagonal)) return false;
  return onnx_put(n, 0, onnx_int(n, "upper", 1) ? op_triu(n->g, x, diagonal) : op_tril(n->g, x, diagonal));
}

const onnx_operator onnx_slicing[] = {{"Slice", slice, onnx_fold_slice, 0, 1, 5},
                                      {"Pad", pad, NULL, 0, 1, 4},
                                      {"CenterCropPad", center_crop_pad, NULL, 0, 2, 2},
                                      {"Trilu", triangle, NULL, 0, 1, 2},
                                      {0}};
