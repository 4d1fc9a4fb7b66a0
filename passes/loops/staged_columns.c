/* Columns of a product that are staged: copied to a local by each iteration of a loop over steps of columns,
 * for all tiles of rows inside of it.
 *
 * Columns whose number is known are packed by a kernel before (passes/pack/pack.c), in panels as wide as
 * tiles. Of a variable number there are no panels, and each tile of rows would read short pieces of rows of
 * columns, pages apart, again. An iteration copies them instead, [terms, columns of a step], to memory that
 * stays in the L2 cache; columns that fill no whole step are read where they are. */
#include "loops.h"

#include "passes/index/index.h"
#include "passes/patterns/identity.h"

/* Is the axis down to one step, or one element, at this place? */
static bool is_down_to(const loop_place *p, uint32_t axis, int64_t elements) {
  int64_t left;
  return p->left[axis] && ir_is_const(p->n->g, p->left[axis], &left) && left == elements;
}

bool loop_stages_here(const loop_place *p, uint32_t first) {
  loop_nest *n = p->n;
  if (!n->staged || first == n->level_count || p->lane_count || n->levels[first].binding != IR_SERIAL)
    return false;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    const loop_axis *axis = &n->axes[a];
    int64_t elements = a == n->staged_axis ? (int64_t)axis->unroll * axis->lanes : 1;
    if (affine_depends(n->g, n->staged, axis->range) && !is_down_to(p, a, elements)) return false;
  }
  return n->locals->count < IR_MAX_LOCALS && n->bound_count + 2 * n->axis_count < IR_MAX_RANK;
}

/* The ranges of loops around the place that the nest's `bound` lacks. */
static uint32_t ranges_around(const loop_place *p, ir_ref out[MAX_FOUND_RANGES]) {
  const loop_nest *n = p->n;
  uint32_t count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    ir_ref found[MAX_FOUND_RANGES];
    uint32_t all =
        p->left[a] ? affine_find_range(n->g, p->start[a], IR_OP_RANGE, found, MAX_FOUND_RANGES) : 0;
    for (uint32_t i = 0; i < all; i++) {
      bool known = false;
      for (uint32_t k = 0; k < n->bound_count; k++) known |= n->bound[k] == found[i];
      for (uint32_t k = 0; k < count; k++) known |= out[k] == found[i];
      if (!known && count < MAX_FOUND_RANGES) out[count++] = found[i];
    }
  }
  return count;
}

/* The index in the local of a column of the step, at these indices of the sum's ranges. */
static ir_ref local_index(const loop_nest *n, ir_ref reduce, const ir_ref *terms, ir_ref column,
                          int64_t width) {
  ir_graph *g = n->g;
  const ir_node *r = ir_get(g, reduce);
  ir_ref term = ir_index(g, 0);
  for (uint32_t i = 1; i < r->nsrc; i++)
    term = pass_add(g, pass_mul(g, term, ir_src(g, r->src[i], 0)), terms[i - 1]);
  return pass_add(g, pass_mul_int(g, term, width), column);
}

/* The store of the staged load to the local, for all terms and columns of the step. */
static ir_ref copy_to_local(loop_place *p, ir_ref reduce, ir_ref local, int64_t width) {
  loop_nest *n = p->n;
  ir_graph *g = n->g;
  uint32_t count = 0, terms = ir_get(g, reduce)->nsrc - 1;
  ir_ref from[2 * MAX_NEST], to[2 * MAX_NEST];
  for (; count < terms; count++) {
    from[count] = ir_src(g, reduce, 1 + count);
    to[count] = loop_fresh_range(n, ir_src(g, from[count], 0));
  }
  ir_ref column = loop_fresh_range(n, ir_index(g, width));
  for (uint32_t a = 0; a < n->axis_count; a++) {
    if (!p->left[a]) continue;
    from[count] = n->axes[a].range;
    to[count++] = a == n->staged_axis ? pass_add(g, p->start[a], column) : p->start[a];
  }
  const ir_node *l = ir_get(g, n->staged);
  ir_ref ahead = ir_make(g, IR_OP_LOAD, (ir_dtype)l->dtype, ir_pack_arg(width, IR_NO_STREAM), l->src, 4);
  ir_ref value = ahead ? pass_substitute(g, ahead, from, to, count) : 0,
         index = local_index(n, reduce, to, column, width);
  return value && index ? ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){local, index, value}, 3) : 0;
}

/* The local of the staged load: one of each iteration of the loops around the place, those that the nest's
 * `bound` has and those around. */
static ir_ref local_of(loop_place *p, ir_ref reduce, const ir_ref *around, uint32_t count, int64_t width) {
  loop_nest *n = p->n;
  ir_graph *g = n->g;
  const ir_node *r = ir_get(g, reduce);
  ir_ref sources[2 * MAX_FOUND_RANGES + 1];
  uint32_t used = 1;
  int64_t size = width;
  for (uint32_t i = 1; i < r->nsrc; i++) size *= ir_bounds_of(g, ir_src(g, r->src[i], 0)).hi;
  sources[0] = ir_index(g, size);
  for (uint32_t i = 0; i < n->bound_count; i++) sources[used++] = n->bound[i];
  for (uint32_t i = 0; i < count; i++) sources[used++] = around[i];
  ir_dtype t = ir_dtype_of(g, n->staged);
  n->locals->bytes += size * ir_dtypes[t].bytes;
  return ir_make(g, IR_OP_LOCAL, t, ir_pack_arg(n->locals->count++, IR_LOCAL_ONCE), sources, used);
}

/* The levels from `first` on, with what the local holds in place of the staged load. */
static ir_ref place_reading(loop_place *p, uint32_t first, ir_ref reduce, ir_ref local, int64_t width) {
  loop_nest *n = p->n;
  ir_graph *g = n->g;
  const ir_node *r = ir_get(g, reduce);
  ir_ref column = pass_sub(g, n->axes[n->staged_axis].range, p->start[n->staged_axis]);
  ir_ref index = column ? local_index(n, reduce, r->src + 1, column, width) : 0;
  ir_dtype t = ir_dtype_of(g, n->staged);
  if (!index) return 0;
  ir_ref src[] = {local, index, ir_bool(g, true), pass_identity(g, IR_OP_ADD, t)};
  ir_ref read = ir_make(g, IR_OP_LOAD, t, 0, src, 4), store = n->store, staged = n->staged;
  n->store = read ? pass_substitute(g, store, &staged, &read, 1) : 0, n->staged = 0;
  ir_ref effect = n->store ? loop_place_from(p, first) : 0;
  n->store = store, n->staged = staged;
  return effect;
}

ir_ref loop_place_staged(loop_place *p, uint32_t first) {
  loop_nest *n = p->n;
  ir_graph *g = n->g;
  const loop_axis *axis = &n->axes[n->staged_axis];
  ir_ref reduce, around[MAX_FOUND_RANGES], staged = n->staged, one = ir_index(g, 1), none = ir_index(g, 0);
  if (affine_find_range(g, n->store, IR_OP_REDUCE, &reduce, 1) != 1) return 0;
  ir_ref once = loop_fresh_range(n, pass_where(g, n->staged_when, one, none));
  int64_t width = (int64_t)axis->unroll * axis->lanes;
  uint32_t count = ranges_around(p, around);
  bool always = ir_is_true(g, n->staged_when);
  if (!always && count < MAX_FOUND_RANGES) around[count++] = once;
  ir_ref local = local_of(p, reduce, around, count, width);
  ir_ref copy = local ? copy_to_local(p, reduce, local, width) : 0;
  ir_ref effects[2] = {copy ? loop_inside_group(n, copy, around, count, 0) : 0};
  effects[1] = effects[0] ? place_reading(p, first, reduce, local, width) : 0;
  if (!effects[1]) return 0;
  effects[0] = loop_sequence(g, effects, 2);
  if (always) return effects[0];
  effects[0] = loop_wrap(g, once, IR_SERIAL, effects[0]);
  n->staged = 0;
  effects[1] = loop_place_from(p, first);
  n->staged = staged;
  ir_ref otherwise = loop_fresh_range(n, pass_where(g, n->staged_when, none, one));
  if (!effects[1] || !otherwise) return 0;
  effects[1] = loop_wrap(g, otherwise, IR_SERIAL, effects[1]);
  return loop_sequence(g, effects, 2);
}
