/* Operations along one axis in its order, where that axis is divided.
 *
 * Cumulative ones are done on each part, and combined with what the totals of the parts before it give; those
 * of a reversed array from the other end, on the parts of the array, so that nothing is reversed among
 * devices. Of argmax and argmin, each part gives a value and its index, and the first of the best values is
 * taken, each device deciding for a chunk of the rows. Of what is sorted, a few of the first elements are
 * among as many of each part, which are sorted again; for more of them another axis is divided instead. */
#include "impl.h"
#include "passes/ops/ops.h"

#include <string.h>

bool shard_is_cumulative(ir_op op) {
  return ir_ops[op].cls == IR_CLASS_ORDERED && op != IR_OP_SORT && op != IR_OP_ARGSORT;
}
static bool is_sorting(ir_op op) { return op == IR_OP_SORT || op == IR_OP_ARGSORT; }
static bool is_searching(ir_op op) { return op == IR_OP_ARGMAX || op == IR_OP_ARGMIN; }

static ir_op combined_by(ir_op op) {
  switch ((int)op) {
  case IR_OP_CUMPROD: return IR_OP_MUL;
  case IR_OP_CUMMAX:
  case IR_OP_ARGMAX: return IR_OP_MAX;
  case IR_OP_CUMMIN:
  case IR_OP_ARGMIN: return IR_OP_MIN;
  default: return IR_OP_ADD;
  }
}

/* Does no place of the spec have these axes? */
static bool are_free(const ir_spec *spec, const ir_subaxis *axes, uint32_t count) {
  uint32_t total = spec->ends[IR_PLACES - 1];
  bool free = true;
  for (uint32_t i = 0; i < total; i++)
    for (uint32_t k = 0; k < count; k++) free &= !ir_subaxes_overlap(spec->axes[i], axes[k]);
  return free;
}

/* Another dimension for the axes: one that they divide evenly, if there is one. */
static int other_dimension(shard_state *s, ir_ref x, const ir_spec *spec, uint32_t axis,
                           const ir_subaxis *axes, uint32_t more) {
  for (uint32_t d = 0; d < spec->rank; d++) {
    shard_axes all;
    const ir_subaxis *own = ir_spec_axes(spec, d, &all.count);
    memcpy(all.axes, own, all.count * sizeof *own);
    for (uint32_t i = 0; i < more; i++) all.axes[all.count++] = axes[i];
    if (d != axis && !op_is_one(s->g, ir_dim(s->g, x, d)) &&
        shard_divides(s, ir_dim(s->g, x, d), all.axes, all.count))
      return (int)d;
  }
  return -1;
}

/* Are only so few of the first elements read that those of all parts are fewer than what a part would receive
 * if another axis were divided? */
static bool reads_few(shard_state *s, ir_ref node, const ir_spec *spec, uint32_t axis) {
  int64_t count = s->ends[node], size, parts = ir_spec_parts(spec, axis);
  uint32_t along;
  const ir_subaxis *axes = ir_spec_axes(spec, axis, &along);
  return count > 0 && is_sorting(ir_op_of(s->g, node)) && !ir_is_weighted(axes, along) &&
         ir_is_const(s->g, ir_dim(s->g, node, axis), &size) && size % parts == 0 &&
         count * parts * parts < size;
}

void shard_note_ends(shard_state *s, ir_ref reader) {
  const ir_node *n = ir_get(s->g, reader);
  for (uint32_t i = 0; i < n->nsrc; i++) {
    ir_ref x = n->src[i];
    int64_t end = -1;
    if (!is_sorting(ir_op_of(s->g, x)) || s->ends[x] < 0) continue;
    uint32_t axis = (uint32_t)ir_arg_int(ir_get(s->g, x));
    if (n->op != IR_OP_SHRINK || !ir_is_const(s->g, n->src[2 + 2 * axis], &end)) end = -1;
    if (end < 0 || end > s->ends[x]) s->ends[x] = end;
  }
}

void shard_choose_ordered(shard_state *s, ir_ref node, const ir_spec *operand, const ir_spec *wanted,
                          shard_choice *choice) {
  ir_op op = ir_op_of(s->g, node);
  bool cumulative = shard_is_cumulative(op);
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(s->g, node)), count;
  if (!cumulative && !is_searching(op) && ir_ops[op].cls != IR_CLASS_ORDERED) return;
  const ir_spec *of = cumulative && wanted && ir_spec_count(wanted, axis) ? wanted : operand;
  const ir_subaxis *axes = ir_spec_axes(of, axis, &count);
  int to = (int)axis;
  if (!count || !are_free(&choice->operands[0], axes, count) || !are_free(&choice->result, axes, count))
    return;
  bool few = reads_few(s, node, of, axis);
  if (!cumulative && !is_searching(op) && !few)
    to = other_dimension(s, node, &choice->operands[0], axis, axes, count);
  for (uint32_t i = 0; i < count && to >= 0; i++) {
    ir_spec_push(&choice->operands[0], (uint32_t)to, axes[i]);
    if (!is_searching(op) && !few) ir_spec_push(&choice->result, (uint32_t)to, axes[i]);
  }
}

/* x with one element more along the axis, which changes nothing. */
static ir_ref extended(shard_state *s, ir_ref x, uint32_t axis, ir_op by, bool in_front) {
  ir_graph *g = s->g;
  ir_ref pads[2 * IR_MAX_RANK], zero = ir_index(g, 0);
  for (uint32_t d = 0; d < 2 * ir_rank(g, x); d++) pads[d] = zero;
  pads[2 * axis + !in_front] = ir_index(g, 1);
  ir_dtype t = ir_dtype_of(g, x);
  return op_pad_known(g, x, pads, op_const(g, t, shard_neutral(by, t)));
}

/* The combination of all elements along the axis, which stays, of size 1; of none, what changes nothing. */
static ir_ref total_of(shard_state *s, ir_ref x, uint32_t axis, ir_op by) {
  ir_graph *g = s->g;
  bool some = by == IR_OP_ADD || by == IR_OP_MUL || ir_bounds_of(g, ir_dim(g, x, axis)).lo >= 1;
  ir_ref at = ir_index(g, axis);
  return op_reduce(g, shard_reduction(by), some ? x : extended(s, x, axis, by, true), &at, 1, true);
}

/* What the totals of the parts before the device's own one give, or of those behind it. */
static ir_ref of_others(shard_state *s, ir_ref node, ir_ref total, const ir_spec *spec, bool behind,
                        ir_ref *made) {
  ir_graph *g = s->g;
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(g, node)), count;
  const ir_subaxis *axes = ir_spec_axes(spec, axis, &count);
  ir_ref shape[IR_MAX_RANK], start[IR_MAX_RANK], at[IR_MAX_RANK];
  shard_pending pending;
  shard_sort_pending(spec, spec, &pending);
  ir_ref position = total ? shard_position(s, axes, count) : 0;
  if (!position || !shard_local_start(s, op_dims(g, node), spec, at)) return 0;
  for (uint32_t d = 0; d < spec->rank; d++) shape[d] = ir_dim(g, total, d), start[d] = at[d];
  at[axis] = shape[axis] = position, start[axis] = ir_index(g, 0);
  if (behind) {
    start[axis] = pass_add_int(g, position, 1);
    shape[axis] = pass_sub(g, ir_index(g, ir_spec_parts(spec, axis)), start[axis]);
  }
  ir_ref others = shard_bring(s, total, &pending, spec->rank, shape, start, at, "exchange", made);
  if (!others || !shard_note_exchange(s, spec, spec, *made)) return 0;
  return total_of(s, others, axis, combined_by(ir_op_of(g, node)));
}

ir_ref shard_cumulative(shard_state *s, ir_ref node, ir_ref x, const ir_spec *spec) {
  ir_graph *g = s->g;
  ir_op op = ir_op_of(g, node), by = combined_by(op);
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(g, node));
  ir_dtype t = ir_dtype_of(g, node);
  ir_ref made;
  x = op_cast(g, x, shard_wide(t));
  ir_ref own = op_cumulative(g, op, x, axis, false, false), total = own ? total_of(s, x, axis, by) : 0;
  ir_ref before = of_others(s, node, total, spec, false, &made);
  ir_ref all = before ? op_cast(g, op_binary(g, by, before, own), t) : 0;
  if (!all || ir_spec_count(spec, IR_PLACE_PENDING)) return all;
  return shard_note_sum(s, node, all, by, spec) ? all : 0;
}

bool shard_is_backwards(shard_state *s, ir_ref node) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  if (!shard_is_cumulative((ir_op)n->op)) return false;
  ir_ref flipped = n->src[0];
  int64_t axis = ir_arg_int(n);
  if (ir_op_of(g, flipped) != IR_OP_FLIP || !shard_is_deferred(s, flipped)) return false;
  ir_spec spec = shard_spec_of(s, ir_src(g, flipped, 0));
  bool along = false;
  for (uint32_t i = 1; i < ir_get(g, flipped)->nsrc; i++) along |= ir_src(g, flipped, i) == ir_index(g, axis);
  return along && ir_spec_count(&spec, (uint32_t)axis) && !ir_spec_count(&spec, IR_PLACE_PENDING);
}

bool shard_backwards(shard_state *s, ir_ref node) {
  ir_graph *g = s->g;
  ir_op op = ir_op_of(g, node), by = combined_by(op);
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(g, node));
  ir_ref array = ir_src(g, ir_src(g, node, 0), 0), x = shard_part_of(s, array), made;
  ir_spec spec = shard_spec_of(s, array);
  ir_dtype t = ir_dtype_of(g, node);
  x = x ? op_cast(g, x, shard_wide(t)) : 0;
  ir_ref own = x ? op_cumulative(g, op, x, axis, false, true) : 0, total = own ? total_of(s, x, axis, by) : 0;
  ir_ref behind = of_others(s, node, total, &spec, true, &made);
  ir_ref all = behind ? op_cast(g, op_binary(g, by, behind, own), t) : 0;
  if (!all || !shard_note_move(s, node, -1, SHARD_TOTALS, &spec, &spec, made)) return false;
  if (!IR_RESERVE(g->mem, s->backwards, s->backwards_cap, s->backwards_count + 1))
    return ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory") == IR_OK;
  bool rounds = ir_is_float(t) && (by == IR_OP_ADD || by == IR_OP_MUL);
  s->backwards[s->backwards_count++] = (shard_reversed){node, all, spec, rounds ? by : IR_OP_MAX};
  return true;
}

const shard_reversed *shard_reversed_of(const shard_state *s, ir_ref node) {
  for (size_t i = s->backwards_count; i-- > 0;)
    if (s->backwards[i].node == node) return shard_is_deferred(s, node) ? &s->backwards[i] : NULL;
  return NULL;
}

ir_ref shard_search(shard_state *s, ir_ref node, ir_ref x, const ir_spec *spec) {
  ir_graph *g = s->g;
  ir_op op = ir_op_of(g, node), by = combined_by(op);
  int64_t axis = ir_arg_int(ir_get(g, node)), one = 1;
  shard_axes joined = {0};
  ir_spec rows = *spec;
  const ir_subaxis *axes = ir_spec_axes(spec, (uint32_t)axis, &joined.count);
  memcpy(joined.axes, axes, joined.count * sizeof *axes);
  ir_spec_clear(&rows, (uint32_t)axis);
  ir_ref start = shard_start(s, ir_dim(g, ir_src(g, node, 0), (uint32_t)axis), joined.axes, joined.count);
  if (!start) return 0;
  if (ir_bounds_of(g, ir_dim(g, x, (uint32_t)axis)).lo < 1) x = extended(s, x, (uint32_t)axis, by, false);
  ir_ref best = x ? total_of(s, x, (uint32_t)axis, by) : 0;
  ir_ref index =
      best ? op_binary(g, IR_OP_ADD, op_argreduce(g, op, x, &axis, true), shard_scalar(s, start)) : 0;
  shard_flat flat;
  ir_ref made, pair[2] = {best, index};
  if (!index || !shard_flat_begin(s, &rows, op_dims(g, best), &joined, &flat)) return 0;
  for (int i = 0; i < 2; i++) {
    pair[i] = shard_flat_pieces(s, &flat, pair[i], "exchange", &made);
    if (!pair[i] || !shard_note_exchange(s, spec, &rows, made)) return 0;
  }
  ir_ref first = op_argreduce(g, op, pair[0], &one, false), by_row = op_swap_axes(g, pair[1], 1, 2);
  ir_ref chosen = first && by_row ? op_gather_batched(g, by_row, first, 2, IR_GATHER_CLIP, 2) : 0;
  ir_ref all = chosen ? shard_flat_gather(s, &flat, chosen, "all_gather", &made) : 0;
  if (!all || !shard_note_exchange(s, spec, &rows, made)) return 0;
  ir_ref dims[IR_MAX_RANK];
  uint32_t rank = 0;
  bool kept = ir_arg_mode(ir_get(g, node));
  for (uint32_t d = 0; d < spec->rank; d++)
    if (d != axis || kept) dims[rank++] = ir_dim(g, best, d);
  return op_reshape_known(g, all, dims, rank);
}

/* The first elements of x along the axis. */
static ir_ref first_of(ir_graph *g, ir_ref x, uint32_t axis, int64_t count) {
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t d = 0; d < ir_rank(g, x); d++)
    bounds[2 * d] = ir_index(g, 0), bounds[2 * d + 1] = d == axis ? ir_index(g, count) : ir_dim(g, x, d);
  return op_shrink_known(g, x, bounds);
}

/* x of all parts along the axis, one after the other. */
static ir_ref all_parts(shard_state *s, ir_ref node, ir_ref x, const ir_spec *spec, uint32_t axis) {
  ir_graph *g = s->g;
  ir_ref shape[IR_MAX_RANK], start[IR_MAX_RANK], at[IR_MAX_RANK], made;
  shard_pending pending;
  ir_spec to = *spec;
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, axis, &count);
  ir_spec_clear(&to, axis);
  shard_sort_pending(spec, &to, &pending);
  ir_ref position = x ? shard_position(s, axes, count) : 0;
  if (!position || !shard_local_start(s, op_dims(g, node), spec, at)) return 0;
  for (uint32_t d = 0; d < spec->rank; d++) shape[d] = ir_dim(g, x, d), start[d] = at[d];
  at[axis] = ir_binary(g, IR_OP_MUL, position, shape[axis]);
  shape[axis] = ir_binary(g, IR_OP_MUL, shape[axis], ir_index(g, ir_spec_parts(spec, axis)));
  start[axis] = ir_index(g, 0);
  ir_ref all = shard_bring(s, x, &pending, spec->rank, shape, start, at, "all_gather", &made);
  return all && shard_note_exchange(s, spec, &to, made) ? all : 0;
}

ir_ref shard_sort_first(shard_state *s, ir_ref node, ir_ref x, const ir_spec *spec) {
  ir_graph *g = s->g;
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(g, node)), parts;
  bool down = ir_arg_mode(ir_get(g, node)) != 0, indices = ir_op_of(g, node) == IR_OP_ARGSORT;
  int64_t count = s->ends[node];
  const ir_subaxis *axes = ir_spec_axes(spec, axis, &parts);
  ir_ref best = op_sort(g, IR_OP_SORT, x, axis, down);
  ir_ref all = best ? all_parts(s, node, first_of(g, best, axis, count), spec, axis) : 0, made = 0;
  if (all) made = op_sort(g, (ir_op)ir_op_of(g, node), all, axis, down);
  made = made ? first_of(g, made, axis, count) : 0;
  if (made && indices) { /* of the candidates: which elements these were */
    ir_ref start = shard_start(s, ir_dim(g, node, axis), axes, parts),
           own = op_sort(g, IR_OP_ARGSORT, x, axis, down);
    own = own && start ? op_binary(g, IR_OP_ADD, first_of(g, own, axis, count), shard_scalar(s, start)) : 0;
    own = own ? all_parts(s, node, own, spec, axis) : 0;
    uint32_t last = spec->rank - 1;
    own = own ? op_move_axis(g, own, axis, last) : 0, made = op_move_axis(g, made, axis, last);
    made = own && made ? op_gather_batched(g, own, made, last, IR_GATHER_CLIP, last) : 0;
    made = made ? op_move_axis(g, made, last, axis) : 0;
  }
  ir_ref pads[2 * IR_MAX_RANK];
  int64_t whole = count;
  ir_is_const(g, ir_dim(g, node, axis), &whole);
  for (uint32_t d = 0; d < 2 * spec->rank; d++) pads[d] = ir_index(g, 0);
  pads[2 * axis + 1] = ir_index(g, whole - count); /* nobody reads them */
  if (!made) return 0;
  ir_dtype t = ir_dtype_of(g, made);
  return op_pad_known(g, made, pads, op_const(g, t, shard_neutral(IR_OP_ADD, t)));
}
