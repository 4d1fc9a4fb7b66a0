/* Sampling at places that are data: GridSample and AffineGrid, and what regions.c builds on. */
#include "frontend/onnx/operators/sampling.h"

#include "frontend/onnx/operators/windows.h"

static ir_ref bin(onnx_node *n, ir_op op, ir_ref a, ir_ref b) { return op_binary(n->g, op, a, b); }
static ir_ref un(onnx_node *n, ir_op op, ir_ref a) { return op_unary(n->g, op, a); }

ir_ref onnx_real_size(onnx_node *n, ir_ref size, ir_dtype dtype) {
  return onnx_like(n, onnx_size_tensor(n, size, IR_I64), dtype);
}

onnx_source onnx_source_of(onnx_node *n, ir_ref x, int axes, ir_ref image) {
  onnx_source s = {.image = image, .axes = axes};
  ir_ref dims[IR_MAX_RANK];
  if (!x) return s;
  int rank = onnx_dims(n, x, dims);
  for (int i = 0; i < axes; i++) s.sizes[i] = dims[rank - axes + i];
  ir_ref flat[2] = {dims[1], ir_index(n->g, -1)};
  s.x = onnx_reshape(n, op_swap_axes(n->g, x, 0, 1), flat, 2);
  ir_dtype dtype = ir_dtype_of(n->g, x);
  s.inner = dtype == IR_F16 || dtype == IR_BF16 ? IR_F32 : dtype;
  return s;
}

static ir_ref either(onnx_node *n, ir_op op, ir_ref a, ir_ref b) {
  return a && b ? bin(n, op, a, b) : a ? a : b;
}

/* One summand: the element that tap which[i] of each axis i names, times their weights. */
static ir_ref tapped(onnx_node *n, const onnx_source *s, const onnx_taps *taps, const int *which) {
  ir_ref all = onnx_product(n, s->sizes, 0, s->axes), inside = 0, weight = 0;
  ir_ref place = bin(n, IR_OP_MUL, s->image, onnx_size_tensor(n, all, IR_I64));
  for (int i = 0; i < s->axes; i++) {
    const onnx_taps *t = &taps[i];
    ir_ref stride = onnx_size_tensor(n, onnx_product(n, s->sizes, i + 1, s->axes), IR_I64);
    place = bin(n, IR_OP_ADD, place, bin(n, IR_OP_MUL, onnx_like(n, t->at[which[i]], IR_I64), stride));
    inside = either(n, IR_OP_AND, inside, t->inside[which[i]]);
    weight = either(n, IR_OP_MUL, weight, t->weight[which[i]]);
  }
  if (inside) place = op_where(n->g, inside, place, onnx_size_tensor(n, ir_dim(n->g, s->x, 1), IR_I64));
  ir_ref value = op_gather(n->g, s->x, place, 1, IR_GATHER_FILL);
  return weight ? bin(n, IR_OP_MUL, onnx_like(n, value, s->inner), onnx_like(n, weight, s->inner)) : value;
}

ir_ref onnx_sampled(onnx_node *n, const onnx_source *s, const onnx_taps *taps, ir_op join) {
  int which[IR_MAX_RANK] = {0}, axis = 0;
  ir_ref sum = 0;
  if (!s->x || n->m->error->status) return 0;
  do {
    sum = either(n, join, sum, tapped(n, s, taps, which));
    for (axis = s->axes - 1; axis >= 0 && ++which[axis] == taps[axis].count; axis--) which[axis] = 0;
  } while (axis >= 0 && sum);
  return onnx_like(n, sum, ir_dtype_of(n->g, s->x));
}

/* places of a grid */

enum { ZEROS, BORDER, REFLECTION };
typedef struct grid_rule {
  int padding, taps; /* taps 1: nearest, 2: linear, 4: cubic */
  bool corners;      /* -1 and 1 are the centres of the outermost elements, not their edges */
} grid_rule;

static ir_ref clamped(onnx_node *n, ir_ref x, ir_ref size) {
  return bin(n, IR_OP_MIN, onnx_with(n, IR_OP_MAX, x, 0), onnx_with(n, IR_OP_SUB, size, 1));
}

/* Reflected at the borders until it is between them: with d = |x - low| mod 2 span, low + min(d, 2 span - d).
 * One element with centres at both borders is the only one. */
static ir_ref reflected(onnx_node *n, const grid_rule *r, ir_ref x, ir_ref size) {
  double low = r->corners ? 0 : -0.5;
  ir_ref span = r->corners ? onnx_with(n, IR_OP_SUB, size, 1) : size, turn = onnx_with(n, IR_OP_MUL, span, 2);
  ir_ref d = bin(n, IR_OP_MOD, un(n, IR_OP_ABS, onnx_with(n, IR_OP_SUB, x, low)), turn);
  ir_ref back = onnx_with(n, IR_OP_ADD, bin(n, IR_OP_MIN, d, bin(n, IR_OP_SUB, turn, d)), low);
  return op_where(n->g, onnx_with(n, IR_OP_GT, span, 0), back, onnx_full(n, x, 0));
}

/* Tap number i, `at` of which is a whole number that may lie outside. */
static void add_tap(onnx_node *n, const grid_rule *r, onnx_taps *t, ir_ref at, ir_ref size) {
  int i = t->count++;
  if (r->padding == ZEROS) {
    ir_ref below = bin(n, IR_OP_LT, at, size);
    t->inside[i] = bin(n, IR_OP_AND, onnx_with(n, IR_OP_GE, at, 0), below);
  }
  t->at[i] = clamped(n, r->padding == REFLECTION ? reflected(n, r, at, size) : at, size);
}

static onnx_taps taps_of(onnx_node *n, const grid_rule *r, ir_ref place, ir_ref size) {
  onnx_taps t = {0};
  if (r->taps == 1) place = un(n, IR_OP_ROUND, place);
  if (r->padding == REFLECTION) place = reflected(n, r, place, size);
  if (r->taps == 1) {
    add_tap(n, r, &t, place, size);
    return t;
  }
  ir_ref first = un(n, IR_OP_FLOOR, place);
  for (int i = 0; i < r->taps; i++) {
    ir_ref at = onnx_with(n, IR_OP_ADD, first, i - (r->taps == 4));
    ir_ref away = un(n, IR_OP_ABS, bin(n, IR_OP_SUB, place, at));
    t.weight[i] = r->taps == 4 ? onnx_cubic(n, away, -0.75)
                               : bin(n, IR_OP_SUB, onnx_number(n, ir_dtype_of(n->g, place), 1), away);
    add_tap(n, r, &t, at, size);
  }
  return t;
}

onnx_taps onnx_linear_taps(onnx_node *n, ir_ref place, ir_ref size) {
  return taps_of(n, &(grid_rule){.padding = ZEROS, .taps = 2}, place, size);
}

static bool read_rule(onnx_node *n, int axes, bool is_float, grid_rule *r) {
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  static const struct {
    const char *name;
    int taps;
  } modes[] = {{"nearest", 1}, {"linear", 2}, {"bilinear", 2}, {"cubic", 4}, {"bicubic", 4}};
  *r = (grid_rule){.padding = -1, .corners = onnx_int(n, "align_corners", 0) != 0};
  for (int i = 0; i < 3; i++)
    if (onnx_text_is(n, "padding_mode", paddings[i], "zeros")) r->padding = i;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (onnx_text_is(n, "mode", modes[i].name, "linear")) r->taps = modes[i].taps;
  if (!r->taps)
    return onnx_refuse(n, "the mode '%.*s'; takes nearest, linear and cubic",
                       WIRE_TEXT(onnx_text(n, "mode")));
  if (r->padding < 0)
    return onnx_refuse(n, "the padding_mode '%.*s'; takes zeros, border and reflection",
                       WIRE_TEXT(onnx_text(n, "padding_mode")));
  if (r->taps == 4 && axes != 2) return onnx_lacks(n, "cubic sampling of %d axes; takes 2", axes);
  return r->taps == 1 || is_float || onnx_lacks(n, "sampling between integers; takes the mode nearest");
}

/* -1 to 1 along each axis, the last one first, as indices of elements. */
static bool grid_sample(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), grid = onnx_in(n, 1), dims[IR_MAX_RANK];
  onnx_taps taps[IR_MAX_RANK];
  grid_rule r;
  if (!x || !grid) return false;
  int axes = onnx_rank(n, x) - 2;
  int64_t width;
  if (axes < 1 || onnx_dims(n, grid, dims) != axes + 2 || !ir_is_const(n->g, dims[axes + 1], &width) ||
      width != axes)
    return onnx_refuse(n, "takes an input of 3 axes or more, and a grid of as many, whose last has a number "
                          "for each axis behind the second");
  if (!read_rule(n, axes, ir_is_float(ir_dtype_of(n->g, x)), &r)) return false;
  ir_dtype dtype = ir_dtype_of(n->g, grid) == IR_F64 ? IR_F64 : IR_F32;
  grid = onnx_like(n, grid, dtype);
  onnx_source s = onnx_source_of(n, x, axes, op_iota(n->g, IR_I64, dims, (size_t)axes + 1, 0));
  for (int i = 0; i < axes; i++) {
    ir_ref size = onnx_real_size(n, s.sizes[i], dtype);
    ir_ref place = onnx_with(n, IR_OP_ADD, op_point(n->g, grid, ir_index(n->g, axes - 1 - i), -1), 1);
    if (r.corners)
      place = bin(n, IR_OP_MUL, onnx_with(n, IR_OP_DIV, place, 2), onnx_with(n, IR_OP_SUB, size, 1));
    else place = onnx_with(n, IR_OP_DIV, onnx_with(n, IR_OP_SUB, bin(n, IR_OP_MUL, place, size), 1), 2);
    taps[i] = taps_of(n, &r, place, size);
  }
  return onnx_put(n, 0, op_swap_axes(n->g, onnx_sampled(n, &s, taps, IR_OP_ADD), 0, 1));
}

/* Centres of elements along an axis, from -1 to 1, broadcast to the shape; f64. One element is at 0. */
static ir_ref centres(onnx_node *n, const ir_ref *shape, int rank, int axis, bool corners) {
  ir_ref size = onnx_real_size(n, shape[axis], IR_F64), i = op_iota(n->g, IR_F64, shape, (size_t)rank, axis);
  ir_ref doubled = onnx_with(n, IR_OP_MUL, i, 2);
  if (!corners)
    return onnx_with(n, IR_OP_SUB, bin(n, IR_OP_DIV, onnx_with(n, IR_OP_ADD, doubled, 1), size), 1);
  ir_ref last = onnx_with(n, IR_OP_SUB, size, 1);
  ir_ref at = onnx_with(n, IR_OP_SUB, bin(n, IR_OP_DIV, doubled, last), 1);
  return op_where(n->g, onnx_with(n, IR_OP_GT, last, 0), at, onnx_full(n, i, 0));
}

static bool affine_grid(onnx_node *n) {
  const ir_ref *sizes;
  ir_ref theta = onnx_in(n, 0), parts[IR_MAX_RANK], shape[IR_MAX_RANK + 1];
  int count;
  if (!theta || !onnx_list(n, "the size", 1, &sizes, &count)) return false;
  int axes = count - 2;
  if (axes < 2 || axes > 3 || onnx_rank(n, theta) != 3)
    return onnx_refuse(n, "takes 4 or 5 sizes, and theta of 3 axes");
  for (int i = 0; i < axes; i++)
    parts[i] = centres(n, sizes + 2, axes, axes - 1 - i, onnx_int(n, "align_corners", 0) != 0);
  parts[axes] = onnx_full(n, parts[0], 1);
  ir_ref flat[2] = {onnx_product(n, sizes, 2, count), ir_index(n->g, axes + 1)};
  ir_ref points = onnx_reshape(n, op_stack(n->g, parts, (size_t)axes + 1, -1), flat, 2);
  points = onnx_like(n, points, ir_dtype_of(n->g, theta));
  ir_ref y = op_matmul(n->g, points, op_swap_axes(n->g, theta, 1, 2));
  shape[0] = ir_dim(n->g, theta, 0);
  for (int i = 0; i < axes; i++) shape[i + 1] = sizes[i + 2];
  shape[axes + 1] = ir_index(n->g, axes);
  return onnx_put(n, 0, onnx_reshape(n, onnx_like(n, y, ir_dtype_of(n->g, theta)), shape, axes + 2));
}

const onnx_operator onnx_sampling[] = {
    {"GridSample", grid_sample, NULL, 0, 2, 2}, {"AffineGrid", affine_grid, NULL, 0, 2, 2}, {0}};
