/* For each view operation, the point of the operand that a point of the result reads. */
#include "index_map.h"

#include "passes/index/index.h"

const pass_arith pass_canonical = {
    pass_add, pass_mul, pass_div, pass_mod, pass_mod_given_quotient, pass_compare, pass_and_deferred};

typedef struct view_step {
  ir_graph *g;
  const pass_arith *a;
  ir_ref view, operand;
  const ir_ref *attrs; /* sources after the operand */
  int64_t axis;
} view_step;

typedef ir_ref (*view_rule)(const view_step *s, pass_point *p);

static ir_ref add_const(const view_step *s, ir_ref a, int64_t b) {
  return s->a->add(s->g, a, ir_index(s->g, b));
}
static ir_ref negate_index(const view_step *s, ir_ref a) { return s->a->mul(s->g, a, ir_index(s->g, -1)); }
static bool is_one(const view_step *s, ir_ref size) {
  int64_t value;
  return ir_is_const(s->g, size, &value) && value == 1;
}

static ir_ref permute(const view_step *s, pass_point *p) {
  pass_point from = *p;
  for (uint32_t i = 0; i < p->rank; i++) p->at[ir_get(s->g, s->attrs[i])->arg] = from.at[i];
  return ir_bool(s->g, true);
}

static ir_ref expand(const view_step *s, pass_point *p) {
  for (uint32_t i = 0; i < p->rank; i++)
    if (is_one(s, ir_dim(s->g, s->operand, i))) p->at[i] = ir_index(s->g, 0);
  return ir_bool(s->g, true);
}

static ir_ref unsqueeze(const view_step *s, pass_point *p) {
  p->rank--;
  for (uint32_t i = (uint32_t)s->axis; i < p->rank; i++) p->at[i] = p->at[i + 1];
  return ir_bool(s->g, true);
}

static void insert_axis(const view_step *s, pass_point *p, ir_ref value) {
  for (uint32_t i = p->rank++; i > (uint32_t)s->axis; i--) p->at[i] = p->at[i - 1];
  p->at[s->axis] = value;
}

static ir_ref squeeze(const view_step *s, pass_point *p) {
  insert_axis(s, p, ir_index(s->g, 0));
  return ir_bool(s->g, true);
}

static ir_ref point(const view_step *s, pass_point *p) {
  insert_axis(s, p, s->attrs[0]);
  return ir_bool(s->g, true);
}

static ir_ref shrink(const view_step *s, pass_point *p) {
  for (uint32_t i = 0; i < p->rank; i++) p->at[i] = s->a->add(s->g, p->at[i], s->attrs[2 * i]);
  return ir_bool(s->g, true);
}

static ir_ref reversed(const view_step *s, uint32_t axis, ir_ref distance) {
  ir_ref last = add_const(s, ir_dim(s->g, s->operand, axis), -1);
  return s->a->add(s->g, last, negate_index(s, distance));
}

static ir_ref stride(const view_step *s, pass_point *p) {
  for (uint32_t i = 0; i < p->rank; i++) {
    int64_t step = ir_get(s->g, s->attrs[i])->arg;
    ir_ref distance = s->a->mul(s->g, p->at[i], ir_index(s->g, step < 0 ? -step : step));
    p->at[i] = step < 0 ? reversed(s, i, distance) : distance;
  }
  return ir_bool(s->g, true);
}

static ir_ref flip(const view_step *s, pass_point *p) {
  uint32_t count = ir_get(s->g, s->view)->nsrc - 1;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t axis = (uint32_t)ir_get(s->g, s->attrs[i])->arg;
    p->at[axis] = reversed(s, axis, p->at[axis]);
  }
  return ir_bool(s->g, true);
}

/* A size as a divisor. Where it may be 0 nothing is read, so any divisor >= 1 serves. */
static ir_ref divisor(ir_graph *g, ir_ref size) {
  return ir_bounds_of(g, size).lo >= 1 ? size : pass_max(g, size, ir_index(g, 1));
}

/* Indices outside [0, n) are mapped back inside: edge clamps, wrap has period n, reflect has period p =
 * 2*(n-1) and is even about 0 and n-1. Pads of less than n need no remainder: below 0, -x <= n-1 < p-x; from
 * 0 on, -x <= x <= p. An axis of one element, of period 0, gives 0 by any divisor. */
static ir_ref pad_remap(const view_step *s, ir_ref x, uint32_t axis, int mode) {
  ir_graph *g = s->g;
  ir_ref n = ir_dim(g, s->operand, axis), low = s->attrs[1 + 2 * axis], high = s->attrs[2 + 2 * axis];
  if (mode == IR_PAD_WRAP) return s->a->mod(g, x, divisor(g, n));
  ir_ref last = add_const(s, n, -1), zero = ir_index(g, 0);
  if (mode == IR_PAD_EDGE) return pass_max(g, pass_min(g, x, last), zero);
  ir_ref period = s->a->add(g, last, last), mirrored;
  bool near = pass_proves(g, IR_OP_LE, low, last) && pass_proves(g, IR_OP_LE, high, last);
  if (!near) x = s->a->mod(g, x, divisor(g, period));
  mirrored = s->a->add(g, period, negate_index(s, x));
  return pass_min(g, near ? pass_max(g, x, negate_index(s, x)) : x, mirrored);
}

static ir_ref pad(const view_step *s, pass_point *p) {
  int mode = ir_arg_mode(ir_get(s->g, s->view));
  ir_ref valid = ir_bool(s->g, true);
  for (uint32_t i = 0; i < p->rank; i++) {
    ir_ref low = s->attrs[1 + 2 * i], high = s->attrs[2 + 2 * i], size = ir_dim(s->g, s->operand, i);
    int64_t lo, hi;
    bool none_below = ir_is_const(s->g, low, &lo) && lo == 0,
         none_above = ir_is_const(s->g, high, &hi) && hi == 0;
    if (none_below && none_above) continue;
    ir_ref x = p->at[i] = s->a->add(s->g, p->at[i], negate_index(s, low));
    if (mode != IR_PAD_CONSTANT) {
      p->at[i] = pad_remap(s, x, i, mode);
      continue;
    }
    if (!none_below) valid = s->a->both(s->g, valid, s->a->compare(s->g, IR_OP_GE, x, ir_index(s->g, 0)));
    if (!none_above) valid = s->a->both(s->g, valid, s->a->compare(s->g, IR_OP_LT, x, size));
  }
  return valid;
}

ir_ref pass_flatten(ir_graph *g, const pass_arith *a, ir_ref shape, const pass_point *p) {
  const ir_ref *dims = ir_get(g, shape)->src;
  ir_ref flat = ir_index(g, 0), stride = ir_index(g, 1);
  for (uint32_t i = p->rank;
       i-- > 0;) { /* right to left, each new term in front, as a reader would write it */
    flat = a->add(g, a->mul(g, p->at[i], stride), flat);
    stride = a->mul(g, stride, dims[i]);
  }
  return flat;
}

/* Axes of a shape that are not of size 1, in order. */
static uint32_t long_axes(const view_step *s, ir_ref shape, uint32_t *axes) {
  const ir_node *n = ir_get(s->g, shape);
  uint32_t count = 0;
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (!is_one(s, n->src[i])) axes[count++] = i;
  return count;
}

/* The mixed-radix digits of a flat index in these axes' sizes, without % on the first axis. */
static void split_flat(const view_step *s, ir_ref flat, const ir_ref *dims, const uint32_t *axes,
                       uint32_t count, pass_point *p) {
  ir_graph *g = s->g;
  ir_ref unit = ir_index(g, 1), quotient = flat, next;
  for (uint32_t k = count; k-- > 1; quotient = next) {
    ir_ref size = divisor(g, dims[axes[k]]);
    unit = pass_mul(g, unit, size); /* where its bounds do not show it to be >= 1, divide step by step */
    bool whole = ir_bounds_of(g, unit).lo >= 1, fixed = ir_is_const(g, size, NULL);
    next = whole ? s->a->div(g, flat, unit) : s->a->div(g, quotient, size);
    p->at[axes[k]] =
        s->a->digit && fixed ? s->a->digit(g, quotient, size, next) : s->a->mod(g, quotient, size);
  }
  p->at[axes[0]] = quotient;
}

/* Reshape, group by group: the shortest groups of adjacent result axes and operand axes with equal products,
 * from the right. Inside a group the index is flattened and split again, (flat // stride) % size, without %
 * on the group's first axis. */
static ir_ref reshape(const view_step *s, pass_point *p) {
  ir_graph *g = s->g;
  pass_point from = *p;
  ir_ref from_shape = ir_shape(g, s->view), to_shape = ir_shape(g, s->operand);
  const ir_ref *from_dims = ir_get(g, from_shape)->src, *to_dims = ir_get(g, to_shape)->src;
  uint32_t from_axes[IR_MAX_RANK], to_axes[IR_MAX_RANK];
  uint32_t i = long_axes(s, from_shape, from_axes), j = long_axes(s, to_shape, to_axes);
  p->rank = ir_get(g, to_shape)->nsrc;
  for (uint32_t k = 0; k < p->rank; k++) p->at[k] = ir_index(g, 0);
  while (i > 0 && j > 0) {
    uint32_t end = j;
    ir_ref flat = from.at[from_axes[--i]], have = from_dims[from_axes[i]], want = to_dims[to_axes[--j]];
    while (have != want && (i > 0 || j > 0)) {
      if (j > 0 && (i == 0 || pass_proves(g, IR_OP_LT, want, have))) {
        want = pass_mul(g, want, to_dims[to_axes[--j]]);
      } else {
        i--;
        flat = s->a->add(g, s->a->mul(g, from.at[from_axes[i]], have), flat);
        have = pass_mul(g, have, from_dims[from_axes[i]]);
      }
    }
    split_flat(s, flat, to_dims, to_axes + j, end - j, p);
  }
  return ir_bool(g, true);
}

static const view_rule view_rules[IR_OP_COUNT] = {
    [IR_OP_PERMUTE] = permute, [IR_OP_EXPAND] = expand,
    [IR_OP_RESHAPE] = reshape, [IR_OP_UNSQUEEZE] = unsqueeze,
    [IR_OP_SQUEEZE] = squeeze, [IR_OP_SHRINK] = shrink,
    [IR_OP_STRIDE] = stride,   [IR_OP_FLIP] = flip,
    [IR_OP_POINT] = point,     [IR_OP_PAD] = pad,
};

ir_ref pass_view_index(ir_graph *g, const pass_arith *arith, ir_ref view, pass_point *p) {
  const ir_node *n = ir_get(g, view);
  view_step step = {g, arith, view, n->src[0], n->src + 1, ir_arg_int(n)};
  ir_ref valid = view_rules[n->op] ? view_rules[n->op](&step, p) : 0;
  for (uint32_t i = 0; i < p->rank; i++)
    if (!p->at[i]) valid = 0;
  return valid;
}
