/* One step from a division of a value to another: a view where the device has what it needs, else one
 * EXCHANGE.
 *
 * Summands of a pending reduction are boxes of an array with an axis more in front, which counts the devices
 * along the pending axes in the order of the mesh. An exchange brings all summands of the part that a device
 * needs, and a reduction of that axis joins them, in the order of the mesh on every device. */
#include "impl.h"
#include "ir/resource.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool among(ir_subaxis x, const ir_subaxis *list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (ir_subaxes_equal(x, list[i])) return true;
  return false;
}

void shard_sort_pending(const ir_spec *from, const ir_spec *to, shard_pending *out) {
  ir_spec a, b;
  uint32_t n, m;
  *out = (shard_pending){.by = (ir_op)from->joined_by};
  if (!ir_spec_to_primes(from, &a) || !ir_spec_to_primes(to, &b)) a = *from, b = *to;
  const ir_subaxis *x = ir_spec_axes(&a, IR_PLACE_PENDING, &n), *y = ir_spec_axes(&b, IR_PLACE_PENDING, &m);
  bool same = from->joined_by == to->joined_by;
  for (uint32_t i = 0; i < n; i++) {
    shard_axes *of = same && among(x[i], y, m) ? &out->kept : &out->joined;
    of->axes[of->count++] = x[i];
  }
  for (uint32_t i = 0; i < m; i++)
    if (!same || !among(y[i], x, n)) out->begun.axes[out->begun.count++] = y[i];
}

/* Does each device have its new part already, in dimension d? */
static bool is_view(shard_state *s, const ir_ref *dims, const ir_spec *from, const ir_spec *to, uint32_t d) {
  if (!shard_is_prefix(from, to, d)) return false;
  uint32_t have, count;
  const ir_subaxis *old = ir_spec_axes(from, d, &have), *axes = ir_spec_axes(to, d, &count);
  return have == count || !have || ir_is_weighted(old, have) || shard_divides(s, dims[d], axes, count);
}

/* The part of a constant as a constant of its own, of the size of the largest part: 0 where x is none, or
 * that is not fixed. */
static ir_ref constant_part(shard_state *s, ir_ref x, const ir_spec *from, const ir_spec *to) {
  ir_graph *g = s->g;
  shard_program *p = s->program;
  ir_ref size[IR_MAX_RANK];
  int64_t whole;
  if (!s->divides_constants || ir_op_of(g, x) != IR_OP_RESOURCE || !ir_spec_is_whole(from)) return 0;
  for (uint32_t d = 0; d < to->rank; d++) {
    if (!ir_is_const(g, ir_dim(g, x, d), &whole)) return 0;
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(to, d, &count);
    ir_shares shares = ir_shares_of(s->mesh, axes, count);
    size[d] = ir_index(g, ir_most_of(&shares, whole));
  }
  for (size_t i = 0; i < p->constant_count; i++)
    if (p->constants[i].global == x && ir_spec_same_parts(&p->constants[i].spec, to))
      return p->constants[i].local;
  int64_t name = ir_resource_name(g, "part", NULL);
  ir_ref local =
      name < 0 ? 0 : op_make(g, IR_OP_RESOURCE, ir_dtype_of(g, x), size, to->rank, name, size, to->rank);
  if (!local || !IR_RESERVE(p->mem, p->constants, p->constant_cap, p->constant_count + 1)) return 0;
  p->constants[p->constant_count++] = (shard_constant){local, x, *to};
  return local;
}

/* The new part of x as a window of the old one. */
static ir_ref window(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to) {
  ir_graph *g = s->g;
  ir_ref old[IR_MAX_RANK], begin[IR_MAX_RANK], size[IR_MAX_RANK], bounds[2 * IR_MAX_RANK];
  if (!shard_local_start(s, dims, from, old) || !shard_local_start(s, dims, to, begin) ||
      !shard_local_shape(s, dims, to, size))
    return 0;
  ir_ref part = constant_part(s, x, from, to);
  bool fills = part != 0;
  for (uint32_t d = 0; d < to->rank && part; d++) {
    bounds[2 * d] = ir_index(g, 0), bounds[2 * d + 1] = size[d];
    fills &= ir_dim(g, part, d) == size[d];
  }
  if (part) return fills ? part : op_shrink_known(g, part, bounds);
  for (uint32_t d = 0; d < to->rank; d++) {
    bool same = ir_spec_count(from, d) == ir_spec_count(to, d);
    bounds[2 * d] = same ? ir_index(g, 0) : pass_sub(g, begin[d], old[d]);
    bounds[2 * d + 1] = pass_add(g, bounds[2 * d], size[d]);
    if (!bounds[2 * d + 1]) return 0;
  }
  return op_shrink_known(g, x, bounds);
}

ir_op shard_reduction(ir_op by) {
  static const struct {
    ir_op by, reduce;
  } rows[] = {{IR_OP_ADD, IR_OP_SUM},        {IR_OP_MUL, IR_OP_PROD}, {IR_OP_MAX, IR_OP_REDUCE_MAX},
              {IR_OP_MIN, IR_OP_REDUCE_MIN}, {IR_OP_OR, IR_OP_ANY},   {IR_OP_AND, IR_OP_ALL},
              {IR_OP_WHERE, IR_OP_SUM}};
  size_t i = 0;
  while (rows[i].by != by) i++;
  return rows[i].reduce;
}

/* Integers of the bits of a dtype, as selected elements are joined: all but one are zeros, so that their sum
 * has every bit of that one, the sign of a zero and the payload of a NaN too. */
static ir_dtype joined_as(ir_op by, ir_dtype t) {
  static const ir_dtype of_bytes[] = {[2] = IR_U16, [4] = IR_U32, [8] = IR_U64};
  return by == IR_OP_WHERE && ir_is_float(t) ? of_bytes[ir_dtypes[t].bytes] : t;
}

ir_ref shard_join(ir_graph *g, ir_op by, ir_ref x, uint32_t axis) {
  if (!x) return 0;
  ir_ref at = ir_index(g, axis);
  ir_dtype t = ir_dtype_of(g, x), as = joined_as(by, t);
  if (as != t) x = op_bitcast(g, x, as);
  ir_ref y = x ? op_reduce(g, shard_reduction(by), x, &at, 1, false) : 0;
  y = y ? op_cast(g, y, as) : 0;
  return y && as != t ? op_bitcast(g, y, t) : y;
}

/* The number of an exchange that the next note asks for: equal ones, `plain`, have one. SIZE_MAX after
 * failing. */
static size_t number_of(shard_state *s, ir_ref plain) {
  shard_program *p = s->program;
  for (size_t i = 0; i < p->exchange_count && plain; i++)
    if (p->exchanges[i].plain == plain) return i;
  if (!IR_RESERVE(p->mem, p->exchanges, p->exchange_cap, p->exchange_count + 1))
    return ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory"), SIZE_MAX;
  p->exchanges[p->exchange_count] = (shard_exchange_note){plain, p->note_count};
  return p->exchange_count++;
}

ir_ref shard_exchange(shard_state *s, ir_ref x, const ir_ref *shape, const ir_ref *start, const ir_ref *at,
                      size_t n, const char *kind) {
  char numbered[64];
  ir_ref plain = s->numbers ? 0 : op_exchange(s->g, x, shape, start, at, n, kind, strlen(kind));
  if (!s->numbers && (!s->tells || !plain)) return plain;
  size_t number = number_of(s, plain);
  if (number == SIZE_MAX) return 0;
  snprintf(numbered, sizeof numbered, "%.40s%c%zu", kind, s->numbers ? '#' : '@', number);
  return op_exchange(s->g, x, shape, start, at, n, numbered, strlen(numbered));
}

ir_ref shard_bring(shard_state *s, ir_ref x, const shard_pending *p, uint32_t n, ir_ref *shape, ir_ref *start,
                   ir_ref *at, const char *kind, ir_ref *made) {
  ir_graph *g = s->g;
  const shard_axes *leads[2] = {&p->kept, &p->joined}; /* the latter in front */
  for (int i = 0; i < 2 && x; i++) {
    if (!leads[i]->count) continue;
    int64_t pieces = 1;
    for (uint32_t k = 0; k < leads[i]->count; k++) pieces *= leads[i]->axes[k].size;
    if (n == IR_MAX_RANK)
      return op_refuse(
          g,
          "shard: the summands of %s, which is a pending reduction, take one axis more, and a tensor "
          "has at most %d; reduce a value of fewer axes",
          OP_TYPE(x), IR_MAX_RANK);
    memmove(at + 1, at, n * sizeof *at), memmove(start + 1, start, n * sizeof *start);
    memmove(shape + 1, shape, n * sizeof *shape);
    at[0] = shard_position(s, leads[i]->axes, leads[i]->count);
    start[0] = leads[i] == &p->joined ? ir_index(g, 0) : at[0];
    shape[0] = ir_index(g, leads[i] == &p->joined ? pieces : 1);
    x = op_unsqueeze(g, x, 0), n++;
  }
  ir_ref y = *made = x ? shard_exchange(s, x, shape, start, at, n, kind) : 0;
  if (p->joined.count) y = shard_join(g, p->by, y, 0);
  if (p->kept.count && y) y = op_squeeze(g, y, &(ir_ref){ir_index(g, 0)}, 1);
  return y;
}

static ir_ref exchange(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                       const shard_pending *p, const char *kind, ir_ref *made) {
  ir_ref shape[IR_MAX_RANK], start[IR_MAX_RANK], at[IR_MAX_RANK];
  if (!shard_local_start(s, dims, from, at) || !shard_local_start(s, dims, to, start) ||
      !shard_local_shape(s, dims, to, shape))
    return 0;
  return shard_bring(s, x, p, to->rank, shape, start, at, kind, made);
}

/* What leaves the other operand of the reduction as it is. */
ir_value shard_neutral(ir_op by, ir_dtype t) {
  ir_value v = {0};
  int bits = 8 * ir_dtypes[t].bytes;
  bool is_signed = ir_dtypes[t].kind == IR_KIND_SIGNED, most = by == IR_OP_MIN;
  if (by == IR_OP_AND) v.i = 1;
  if (by == IR_OP_MUL) return ir_is_float(t) ? (ir_value){.f = 1} : (ir_value){.i = 1};
  if (by != IR_OP_MAX && by != IR_OP_MIN) return ir_is_float(t) ? (ir_value){.f = 0} : v;
  if (ir_is_float(t)) return (ir_value){.f = most ? INFINITY : -INFINITY};
  if (t == IR_BOOL) return (ir_value){.i = most};
  if (!is_signed) return (ir_value){.i = !most ? 0 : bits == 64 ? -1 : (int64_t)(((uint64_t)1 << bits) - 1)};
  int64_t largest = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
  return (ir_value){.i = most ? largest : -largest - 1};
}

ir_ref shard_scalar(shard_state *s, ir_ref e) {
  ir_ref scalar = ir_tuple(s->g, NULL, 0);
  return e && scalar ? ir_make_tensor(s->g, IR_OP_CAST, IR_I64, scalar, 0, &e, 1) : 0;
}

ir_ref shard_begin_pending(shard_state *s, ir_ref x, const shard_axes *axes, ir_op by) {
  ir_graph *g = s->g;
  ir_ref position = shard_scalar(s, shard_position(s, axes->axes, axes->count));
  ir_ref none = position ? op_const(g, ir_dtype_of(g, x), shard_neutral(by, ir_dtype_of(g, x))) : 0;
  ir_ref first = none ? op_binary(g, IR_OP_EQ, position, op_literal_int(g, 0)) : 0;
  return first ? op_where(g, first, x, none) : 0;
}

ir_ref shard_step(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                  const char *kind, ir_ref *made) {
  shard_pending p;
  *made = 0;
  if (ir_spec_same_parts(from, to)) return x;
  shard_sort_pending(from, to, &p);
  bool view = p.joined.count == 0;
  for (uint32_t d = 0; d < to->rank && view; d++) view = is_view(s, dims, from, to, d);
  x = view ? window(s, x, dims, from, to) : exchange(s, x, dims, from, to, &p, kind, made);
  return x && p.begun.count ? shard_begin_pending(s, x, &p.begun, (ir_op)to->joined_by) : x;
}
