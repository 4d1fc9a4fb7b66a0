/* Axes of a view whose position varies, as gathers: a checked position, and, of an interval, the elements at
 * fixed distances from it.
 *
 * The check is a gather of the positions that there are, at an index that is one of them or says why there is
 * none. It is a scalar of the graph, so that it is computed before a write stores anything (passes/fuse), and
 * the gathers that use it clip, which changes nothing. It gathers along axis `number of the descriptor`, from
 * which a message about a run knows which one failed. */
#include "descriptor.h"

#include "impl.h"

/* Reasons are this far apart, and so are numbers given as they are from all of them. */
#define REASON_SPAN ((int64_t)1 << 59)
_Static_assert((OP_INDEX_REASONS + 1) * 2 * (REASON_SPAN / 2) > 0, "all reasons are in the range of i64");

/* reason r, number k, which is limited to half a span: (2r + 2) spans + k */
static int64_t base_of(op_index_reason reason) { return (2 * (int64_t)reason + 2) * REASON_SPAN; }

op_index_reason op_index_why(int64_t index, int64_t *number) {
  *number = index;
  for (int r = 0; r < OP_INDEX_REASONS; r++) {
    int64_t from = base_of((op_index_reason)r);
    if (index < from - REASON_SPAN / 2 || index > from + REASON_SPAN / 2) continue;
    *number = index - from;
    return (op_index_reason)r;
  }
  return OP_INDEX_OUTSIDE;
}

static ir_ref number(ir_graph *g, int64_t value) { return ir_int(g, IR_I64, value); }

static ir_ref clamp(ir_graph *g, ir_ref x, ir_ref low, ir_ref high) {
  return op_binary(g, IR_OP_MIN, op_binary(g, IR_OP_MAX, x, low), high);
}

static ir_ref limited(ir_graph *g, ir_ref x, int64_t most) {
  return clamp(g, x, number(g, -most), number(g, most));
}

static ir_ref failure(ir_graph *g, op_index_reason reason, ir_ref x) {
  int64_t known;
  if (x && ir_is_const(g, x, &known) && known == 0) return number(g, base_of(reason));
  return op_add(g, limited(g, x, REASON_SPAN / 2), number(g, base_of(reason)));
}

static ir_ref both(ir_graph *g, ir_ref a, ir_ref b) { return op_binary(g, IR_OP_AND, a, b); }

static ir_ref size_value(ir_graph *g, ir_ref size) { return op_size_value(g, IR_I64, size); }

/* Position `index` of `count` ones, checked for descriptor `at`. */
static ir_ref checked(ir_graph *g, ir_ref index, ir_ref count, uint32_t at) {
  ir_ref sizes[IR_MAX_RANK];
  uint32_t axis = at < IR_MAX_RANK ? at : IR_MAX_RANK - 1;
  for (uint32_t i = 0; i < axis; i++) sizes[i] = ir_index(g, 1);
  sizes[axis] = count;
  ir_ref positions = index ? op_iota(g, IR_I64, sizes, axis + 1, axis) : 0;
  ir_ref made = positions ? op_gather(g, positions, index, axis, IR_GATHER_CHECK) : 0;
  return made ? op_reshape_known(g, made, NULL, 0) : 0;
}

/* Where the kind varies, it must be the declared one. */
static ir_ref require_kind(ir_graph *g, const op_descriptor *d, int kind, ir_ref index) {
  op_index_number code;
  if (!index || !op_index_element(g, d->value, 0, &code)) return 0;
  if (code.known) return index;
  ir_ref same = op_binary(g, IR_OP_EQ, code.node, number(g, kind));
  return op_where(g, same, index, failure(g, OP_INDEX_OTHER_KIND, code.node));
}

ir_ref op_index_dynamic_point(const op_index_view *v, uint32_t at, uint32_t axis) {
  ir_graph *g = v->g;
  const op_descriptor *d = &v->descriptors[at];
  op_index_number position;
  if (!op_index_element(g, d->value, 3, &position)) return 0;
  ir_ref index = require_kind(g, d, OP_INDEX_POINT, position.node);
  ir_ref size = ir_dim(g, v->made, axis), one = ir_index(g, 1);
  if (!op_decided(g, IR_OP_GE, size, one))
    return op_refuse(
        g,
        "create_view: descriptor %u: a point of axis %u, which has %s elements; x has shape %s; takes "
        "an axis with 1 element or more%s",
        at, axis, OP_EXPR(size), OP_TYPE(v->x), OP_FACT(IR_OP_GE, size, one));
  ir_ref place = checked(g, index, size, at);
  return place ? op_gather(g, v->made, place, axis, IR_GATHER_CLIP) : 0;
}

/* An interval of which some numbers vary. */
typedef struct interval {
  ir_graph *g;
  uint32_t at, axis;
  const op_descriptor *d;
  op_index_number start, end, stride, inclusive;
  ir_ref size, length; /* index expressions: of the axis; of the interval */
  bool counted;        /* the length was read off the numbers */
  ir_ref total;        /* the size as a value */
} interval;

static bool read_interval(const op_index_view *v, uint32_t at, uint32_t axis, interval *i) {
  ir_graph *g = v->g;
  const op_descriptor *d = &v->descriptors[at];
  *i = (interval){.g = g, .at = at, .axis = axis, .d = d, .length = d->length};
  i->size = ir_dim(g, v->made, axis);
  i->total = size_value(g, i->size);
  return i->total && op_index_element(g, d->value, 3, &i->start) &&
         op_index_element(g, d->value, 4, &i->end) && op_index_element(g, d->value, 5, &i->stride) &&
         op_index_element(g, d->value, 6, &i->inclusive);
}

/* The number of elements where both ends are a known distance apart and count from the same end, which the
 * run checks; 0: it is not known, or after failing. */
static ir_ref count_elements(const interval *i) {
  int64_t way;
  if (i->start.known || i->end.known || i->start.base != i->end.base || !i->stride.known ||
      !i->inclusive.known || i->stride.value == 0 || i->stride.value == INT64_MIN ||
      !ir_sub_ok(i->end.offset, i->start.offset, &way) || way == INT64_MIN)
    return 0;
  int64_t wide = i->stride.value < 0 ? -i->stride.value : i->stride.value;
  if (i->stride.value < 0) way = -way;
  if (i->inclusive.value > 0 && !ir_add_ok(way, 1, &way)) return 0;
  return ir_index(i->g, way <= 0 ? 0 : (way - 1) / wide + 1);
}

/* x from the end where it is negative. */
static ir_ref from_start(const interval *i, ir_ref x) {
  return op_where(i->g, op_binary(i->g, IR_OP_LT, x, number(i->g, 0)), op_add(i->g, x, i->total), x);
}

/* Has the interval that many elements? */
static ir_ref has_length(const interval *i, ir_ref *have) {
  ir_graph *g = i->g;
  ir_ref zero = number(g, 0);
  if (i->counted) { /* which then have one sign */
    return op_binary(g, IR_OP_EQ, op_binary(g, IR_OP_LT, i->start.node, zero),
                     op_binary(g, IR_OP_LT, i->end.node, zero));
  }
  ir_ref start = limited(g, from_start(i, i->start.node), REASON_SPAN),
         end = limited(g, from_start(i, i->end.node), REASON_SPAN),
         step = limited(g, i->stride.node, REASON_SPAN), way = op_sub(g, end, start);
  ir_ref down = op_binary(g, IR_OP_LT, step, zero);
  way = op_where(g, down, op_unary(g, IR_OP_NEG, way), way);
  way = op_where(g, op_binary(g, IR_OP_GT, i->inclusive.node, zero), op_add(g, way, number(g, 1)), way);
  ir_ref steps = op_binary(g, IR_OP_FLOORDIV, op_unary(g, IR_OP_NEG, way), op_unary(g, IR_OP_ABS, step));
  *have = steps ? op_binary(g, IR_OP_MAX, zero, op_unary(g, IR_OP_NEG, steps)) : 0;
  if (*have && ir_op_of(g, i->length) == IR_OP_VAR && !ir_batch(g, *have))
    *have = op_found(g, *have, i->length);
  return op_binary(g, IR_OP_EQ, *have, size_value(g, i->length));
}

/* The index of the check: `place` where `inside` holds, and all else is as declared. */
static ir_ref check_all(const interval *i, ir_ref inside, ir_ref place) {
  ir_graph *g = i->g;
  ir_ref have = 0, fits = has_length(i, &have);
  if (!have) inside = both(g, inside, fits);
  ir_ref index = op_where(g, inside, place, failure(g, OP_INDEX_OUTSIDE, i->start.node));
  if (have) index = op_where(g, fits, index, failure(g, OP_INDEX_OTHER_LENGTH, have));
  if (!i->stride.known)
    index = op_where(g, op_binary(g, IR_OP_NE, i->stride.node, number(g, 0)), index,
                     failure(g, OP_INDEX_NO_STRIDE, number(g, 0)));
  return require_kind(g, i->d, OP_INDEX_INTERVAL, index);
}

/* Of an interval without elements no position matters: any is inside, and taken for the nearest that there
 * is. */
static void allow_empty(const interval *i, ir_ref *inside, ir_ref *place, ir_ref last) {
  ir_graph *g = i->g;
  ir_ref zero = number(g, 0);
  if (op_decided(g, IR_OP_GE, i->length, ir_index(g, 1))) return;
  *inside = op_binary(g, IR_OP_OR, *inside, op_binary(g, IR_OP_EQ, size_value(g, i->length), zero));
  *place = clamp(g, *place, zero, last);
}

/* The number of steps from the first element to the last, as a value: -1 where there is none. */
static ir_ref steps_of(const interval *i) {
  bool some = op_decided(i->g, IR_OP_GE, i->length, ir_index(i->g, 1));
  if (some) return size_value(i->g, pass_add_int(i->g, i->length, -1));
  return op_sub(i->g, size_value(i->g, i->length), number(i->g, 1));
}

/* start + k * step, for each k below the length, of the lowest element `start`. */
static ir_ref each_position(const interval *i, ir_ref start, ir_ref step) {
  ir_graph *g = i->g;
  int64_t apart;
  ir_ref counted = op_iota(g, IR_I64, &i->length, 1, 0);
  bool one = ir_is_const(g, step, &apart) && apart == 1;
  return op_add(g, start, one ? counted : op_mul(g, counted, step));
}

/* The stride is known: the lowest position is one of so many that the others follow within the axis. */
static ir_ref positions_by_known(const interval *i, const op_index_view *v) {
  ir_graph *g = i->g;
  int64_t step = i->stride.value, wide = step < 0 ? -step : step;
  ir_ref span = pass_mul_int(g, pass_add_int(g, i->length, -1), wide),
         places = span ? pass_sub(g, i->size, span) : 0;
  if (!places) return 0;
  if (!op_decided(g, IR_OP_GE, places, ir_index(g, 1)))
    return op_refuse(g,
                     "create_view: descriptor %u: an interval of %s elements with stride %lld does not fit "
                     "axis %u; x has shape %s%s",
                     i->at, OP_EXPR(i->length), (long long)step, i->axis, OP_TYPE(v->x),
                     OP_FACT(IR_OP_GE, places, ir_index(g, 1)));
  ir_ref last = pass_add_int(g, places, -1), first = from_start(i, i->start.node), place = first;
  if (step < 0) place = op_sub(g, first, op_mul(g, steps_of(i), number(g, wide)));
  ir_ref inside = both(g, op_binary(g, IR_OP_GE, place, number(g, 0)),
                       op_binary(g, IR_OP_LE, place, size_value(g, last)));
  allow_empty(i, &inside, &place, size_value(g, last));
  ir_ref start = checked(g, check_all(i, inside, place), places, i->at);
  return start ? each_position(i, start, number(g, wide)) : 0;
}

/* The stride varies, or the run finds the length: first and last position are checked. */
static ir_ref positions_by_stride(const interval *i) {
  ir_graph *g = i->g;
  ir_ref zero = number(g, 0), total = i->total, first = from_start(i, i->start.node);
  /* a longer step leaves the axis as well */
  ir_ref wide = op_binary(
      g, IR_OP_MAX,
      op_binary(g, IR_OP_MIN, op_unary(g, IR_OP_ABS, limited(g, i->stride.node, REASON_SPAN)), total),
      number(g, 1)); /* what passes/ops/build/positions.c knows not to be 0 */
  ir_ref step = op_where(g, op_binary(g, IR_OP_LT, i->stride.node, zero), op_unary(g, IR_OP_NEG, wide), wide);
  ir_ref steps = steps_of(i);
  ir_ref last = op_add(g, first, op_mul(g, step, steps)), place = first;
  ir_ref inside = both(g, op_binary(g, IR_OP_GE, first, zero), op_binary(g, IR_OP_LT, first, total));
  inside = both(g, inside, both(g, op_binary(g, IR_OP_GE, last, zero), op_binary(g, IR_OP_LT, last, total)));
  ir_ref one = ir_index(g, 1),
         places = op_decided(g, IR_OP_GE, i->size, one) ? i->size : pass_max(g, i->size, one);
  allow_empty(i, &inside, &place, size_value(g, pass_add_int(g, places, -1)));
  ir_ref start = checked(g, check_all(i, inside, place), places, i->at);
  return start ? each_position(i, start, step) : 0;
}

/* Is it known from the bounds of a length that the run finds that so many elements fit the axis? Other
 * lengths have to. */
static bool may_fit(const interval *i) {
  ir_graph *g = i->g;
  if (ir_op_of(g, i->length) != IR_OP_VAR) return true;
  int64_t wide = i->stride.value < 0 ? -i->stride.value : i->stride.value;
  ir_ref span = pass_mul_int(g, pass_add_int(g, i->length, -1), wide);
  return span && op_decided(g, IR_OP_GE, pass_sub(g, i->size, span), ir_index(g, 1));
}

ir_ref op_index_dynamic_interval(const op_index_view *v, uint32_t at, uint32_t axis) {
  interval i;
  ir_graph *g = v->g;
  if (!read_interval(v, at, axis, &i)) return 0;
  if (i.stride.known && (i.stride.value == 0 || i.stride.value == INT64_MIN))
    return op_refuse(
        g, "create_view: descriptor %u: the stride of an interval is %lld; takes a step other than 0", at,
        (long long)i.stride.value);
  if (!i.length) i.length = count_elements(&i), i.counted = i.length != 0;
  if (!i.length)
    return op_refuse(
        g,
        "create_view: the number of elements of descriptor %u, an interval whose numbers vary, is not known "
        "when recorded; take start and end a known distance apart, or declare its length (lengths=[4] in "
        "text graphs, vf_index_given in C)",
        at);
  if (i.length == ir_index(g, 0)) {
    ir_ref bounds[2 * IR_MAX_RANK];
    for (uint32_t k = 0; k < ir_rank(g, v->made); k++)
      bounds[2 * k] = ir_index(g, 0), bounds[2 * k + 1] = k == axis ? ir_index(g, 0) : ir_dim(g, v->made, k);
    return op_shrink_known(g, v->made, bounds);
  }
  bool known = i.stride.known && may_fit(&i);
  ir_ref positions = known ? positions_by_known(&i, v) : positions_by_stride(&i);
  ir_ref made = positions ? op_gather(g, v->made, positions, axis, IR_GATHER_CLIP) : 0,
         flipped = ir_index(g, axis);
  return made && known && i.stride.value < 0 ? op_flip(g, made, &flipped, 1) : made;
}
