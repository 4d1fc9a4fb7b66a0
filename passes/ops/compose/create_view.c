/* A view by index descriptors: NumPy's x[1, None, 0:3:2, :] as arrays of integers, which may be computed.
 *
 * What is known when recorded becomes one shrink, one stride and one flip over all axes, then points and new
 * axes, as if the view had been written with these. What varies is dynamic_view.c. */
#include "descriptor.h"

#include "impl.h"

typedef struct parsed {
  int kind;
  int axis;          /* of x; of a new axis the next one */
  bool dynamic;      /* it has numbers that vary, which matter */
  ir_ref begin, end; /* what is taken of the axis where all is known: every `step`-th of [begin, end) */
  int64_t step;      /* below 0: from the last one down */
} parsed;

static const char *const kind_names[OP_INDEX_KINDS] = {"point", "interval", "all", "new axis"};

/* Lengths of the arrays, by kind: the usual one, and another one. */
static const uint8_t lengths[OP_INDEX_KINDS][2] = {{5, 5}, {7, 7}, {4, 4}, {5, 4}};

enum {
  KIND = 0, /* the place of the kind in a descriptor */
  START = 3 /* that of the position of a point, and of start, end, stride and flag of an interval */
};

static bool has_layout(ir_graph *g, uint32_t i, const op_descriptor *d, int64_t *length) {
  if (ir_dtype_of(g, d->value) == IR_I64 && ir_rank(g, d->value) == 1 &&
      ir_is_const(g, ir_dim(g, d->value, 0), length) && *length > 0)
    return true;
  op_refuse(g,
            "create_view: descriptor %u has shape %s; a descriptor is an i64 array of one axis, such as "
            "index_interval makes",
            i, OP_TYPE(d->value));
  return false;
}

static bool read_kind(ir_graph *g, uint32_t i, const op_descriptor *d, int *kind) {
  int64_t length;
  op_index_number code;
  if (!has_layout(g, i, d, &length) || !op_index_element(g, d->value, KIND, &code)) return false;
  if (code.known && (code.value < 0 || code.value >= OP_INDEX_KINDS)) {
    op_refuse(
        g,
        "create_view: descriptor %u has the kind %lld; kinds are 0 (point), 1 (interval), 2 (all) and 3 "
        "(new axis)",
        i, (long long)code.value);
    return false;
  }
  if (!code.known && d->kind == OP_INDEX_READ) {
    op_refuse(
        g,
        "create_view: the kind of descriptor %u, of shape %s, is not known when recorded; numbers of a "
        "descriptor may vary, its kind may not: declare it (kinds=[1] in text graphs, vf_index_given in C)",
        i, OP_TYPE(d->value));
    return false;
  }
  if (code.known && d->kind != OP_INDEX_READ && d->kind != code.value) {
    op_refuse(g, "create_view: descriptor %u is declared as %s, but has the kind %lld (%s)", i,
              kind_names[d->kind], (long long)code.value, kind_names[code.value]);
    return false;
  }
  *kind = code.known ? (int)code.value : d->kind;
  if (length == lengths[*kind][0] || length == lengths[*kind][1]) return true;
  op_refuse(g, "create_view: descriptor %u (%s) has %lld numbers; takes %d%s", i, kind_names[*kind],
            (long long)length, lengths[*kind][0], lengths[*kind][0] == lengths[*kind][1] ? "" : ", or 4");
  return false;
}

/* A position, counted from the end where it is negative. */
static ir_ref from_start(ir_graph *g, int64_t position, ir_ref size) {
  return position < 0 ? pass_add_int(g, size, position) : ir_index(g, position);
}

static bool set_point(ir_graph *g, ir_ref x, uint32_t i, int64_t position, parsed *out) {
  ir_ref size = ir_dim(g, x, (uint32_t)out->axis), zero = ir_index(g, 0), at = from_start(g, position, size);
  if (!at) return false;
  const char *fact = !op_decided(g, IR_OP_GE, at, zero)   ? OP_FACT(IR_OP_GE, at, zero)
                     : !op_decided(g, IR_OP_LT, at, size) ? OP_FACT(IR_OP_GT, size, at)
                                                          : NULL;
  out->begin = at, out->end = pass_add_int(g, at, 1), out->step = 1;
  if (fact)
    op_refuse(g,
              "create_view: descriptor %u: point %lld is out of range of axis %d; x has shape %s; takes -%s "
              "<= position < %s%s",
              i, (long long)position, out->axis, OP_TYPE(x), OP_EXPR(size), OP_EXPR(size), fact);
  return !fact && out->end;
}

/* Distances are far below overflow, and as far out of range as before. */
static int64_t limited(int64_t number) {
  const int64_t most = (int64_t)1 << 60;
  return number > most ? most : number < -most ? -most : number;
}

typedef struct interval {
  int64_t start, end, stride;
  bool inclusive;
} interval;

static bool refuse_interval(ir_graph *g, ir_ref x, uint32_t i, const parsed *p, const interval *v,
                            ir_ref length, const char *fact) {
  op_refuse(
      g,
      "create_view: descriptor %u: interval %lld to %lld%s by %lld names %s elements, of which some are "
      "out of range of axis %d; x has shape %s; positions are -%s to %s%s",
      i, (long long)v->start, (long long)v->end, v->inclusive ? " inclusive" : "", (long long)v->stride,
      OP_EXPR(length), p->axis, OP_TYPE(x), OP_EXPR(ir_dim(g, x, (uint32_t)p->axis)),
      OP_EXPR(pass_add_int(g, ir_dim(g, x, (uint32_t)p->axis), -1)), fact);
  return false;
}

/* L = max(0, ceil((stop - start) / stride)) elements, of which the first and the last lie in the axis. */
static bool set_interval(ir_graph *g, ir_ref x, uint32_t i, const interval *v, parsed *out) {
  int64_t step = limited(v->stride), wide = step < 0 ? -step : step;
  ir_ref size = ir_dim(g, x, (uint32_t)out->axis), zero = ir_index(g, 0);
  if (step == 0) {
    op_refuse(g, "create_view: descriptor %u: the stride of an interval is 0; takes a step other than 0", i);
    return false;
  }
  ir_ref start = from_start(g, limited(v->start), size), end = from_start(g, limited(v->end), size);
  ir_ref way = step < 0 ? pass_sub(g, start, end) : pass_sub(g, end, start);
  if (way && v->inclusive) way = pass_add_int(g, way, 1);
  ir_ref length = way ? pass_max(g, zero, pass_ceil_div(g, way, ir_index(g, wide))) : 0;
  if (!length) return false;
  out->step = step;
  if (length == zero) {
    out->begin = out->end = zero, out->step = 1;
    return true;
  }
  ir_ref span = pass_max(g, zero, pass_add_int(g, pass_mul_int(g, pass_add_int(g, length, -1), wide), 1));
  out->begin = step > 0 || !span ? start : pass_add_int(g, pass_sub(g, start, span), 1);
  out->end = span ? pass_add(g, out->begin, span) : 0;
  if (!out->begin || !out->end) return false;
  const char *fact = !op_decided(g, IR_OP_GE, out->begin, zero) ? OP_FACT(IR_OP_GE, out->begin, zero)
                     : !op_decided(g, IR_OP_LE, out->end, size) ? OP_FACT(IR_OP_GE, size, out->end)
                                                                : NULL;
  return !fact || refuse_interval(g, x, i, out, v, length, fact);
}

/* What a descriptor takes of the axis. False after failing. */
static bool read_numbers(ir_graph *g, ir_ref x, uint32_t i, const op_descriptor *d, parsed *out) {
  op_index_number code, n[4];
  int count = out->kind == OP_INDEX_POINT ? 1 : 4;
  if (!op_index_element(g, d->value, KIND, &code)) return false;
  out->dynamic = !code.known;
  for (int k = 0; k < count; k++) {
    if (!op_index_element(g, d->value, (uint32_t)(START + k), &n[k])) return false;
    out->dynamic |= !n[k].known;
  }
  if (out->dynamic) return true;
  if (out->kind == OP_INDEX_POINT) return set_point(g, x, i, n[0].value, out);
  interval v = {n[0].value, n[1].value, n[2].value, n[3].value > 0};
  return set_interval(g, x, i, &v, out);
}

static bool parse(ir_graph *g, ir_ref x, const op_descriptor *d, size_t n, parsed *out) {
  uint32_t axis = 0, rank = ir_rank(g, x), taken = 0;
  for (size_t i = 0; i < n; i++) {
    if (!read_kind(g, (uint32_t)i, &d[i], &out[i].kind)) return false;
    taken += out[i].kind != OP_INDEX_NEW_AXIS;
  }
  if (taken > rank) {
    op_refuse(g, "create_view: %u descriptors take an axis each; x has shape %s, with %u", taken, OP_TYPE(x),
              rank);
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    out[i].axis = (int)axis;
    if (out[i].kind <= OP_INDEX_INTERVAL && !read_numbers(g, x, (uint32_t)i, &d[i], &out[i])) return false;
    axis += out[i].kind != OP_INDEX_NEW_AXIS;
  }
  return true;
}

/* One shrink, one stride and one flip for all that is known of all axes. */
static ir_ref take_known(ir_graph *g, ir_ref x, const parsed *p, size_t n) {
  ir_ref bounds[2 * IR_MAX_RANK], steps[IR_MAX_RANK], flips[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x), flipped = 0;
  for (uint32_t i = 0; i < rank; i++)
    bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = ir_dim(g, x, i), steps[i] = ir_index(g, 1);
  for (size_t i = 0; i < n; i++) {
    if (p[i].kind != OP_INDEX_INTERVAL || p[i].dynamic) continue;
    int axis = p[i].axis;
    bounds[2 * axis] = p[i].begin, bounds[2 * axis + 1] = p[i].end;
    steps[axis] = ir_index(g, p[i].step < 0 ? -p[i].step : p[i].step);
    if (p[i].step < 0) flips[flipped++] = ir_index(g, axis);
  }
  /* the first of every `step` elements: the last one taken ends the interval, so a flip begins at it */
  ir_ref made = op_shrink_known(g, x, bounds);
  made = made ? op_stride(g, made, steps, rank) : 0;
  return made && flipped ? op_flip(g, made, flips, flipped) : made;
}

ir_ref op_create_view(ir_graph *g, ir_ref x, const op_descriptor *descriptors, size_t n) {
  parsed p[OP_INDEX_MOST] = {0};
  if (!op_compose_begin(g, "create_view", &x, 1)) return 0;
  if (n > OP_INDEX_MOST)
    return op_refuse(g, "create_view: %zu descriptors given; takes at most %d", n, OP_INDEX_MOST);
  for (size_t i = 0; i < n; i++)
    if (!descriptors[i].value) return 0;
  if (!parse(g, x, descriptors, n, p)) return op_compose_end(g, "create_view", 0);
  op_index_view v = {g, x, take_known(g, x, p, n), descriptors};
  uint32_t at = 0;
  for (size_t i = n; i-- > 0 && v.made;) { /* from the last axis, so that dropped ones move none ahead */
    uint32_t axis = (uint32_t)p[i].axis;
    if (p[i].kind == OP_INDEX_INTERVAL && p[i].dynamic)
      v.made = op_index_dynamic_interval(&v, (uint32_t)i, axis);
    else if (p[i].kind == OP_INDEX_POINT)
      v.made = p[i].dynamic ? op_index_dynamic_point(&v, (uint32_t)i, axis)
                            : op_point(g, v.made, p[i].begin, axis);
  }
  for (size_t i = 0; i < n && v.made; i++) {
    if (p[i].kind == OP_INDEX_NEW_AXIS) v.made = op_unsqueeze(g, v.made, at);
    at += p[i].kind != OP_INDEX_POINT;
  }
  return op_compose_end(g, "create_view", v.made);
}
