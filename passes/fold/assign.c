/* Folding writes: the target of a write is a tensor of positions, of which views are folded as those of any
 * other tensor. What is left is the index of the store, and where it is valid. Where a write reads what it
 * replaces, its loops have an order (order.c). */
#include "fold.h"

#include "passes/fold/order.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/ops/ops.h"

typedef struct position {
  ir_ref index, valid;
} position;

/* A position that the kernel computes or loads. */
static position runtime_position(folder *f, ir_ref value, ir_ref elements, ir_ref valid) {
  ir_graph *g = f->g;
  ir_ref named = ir_binary(g, IR_OP_GE, value, ir_int(g, IR_I64, 0));
  ir_ref some = pass_and(g, valid, pass_compare(g, IR_OP_GT, elements, ir_index(g, 0)));
  position p = {.valid = pass_and(g, some, named)};
  p.index = ir_make(g, IR_OP_BOUND, IR_INDEX, ir_pack_arg(0, IR_GATHER_CLIP),
                    (ir_ref[]){value, elements, p.valid}, 3);
  return p;
}

/* The index that the folded position stands for. Padding makes it a choice of a number below 0. */
static position read_position(folder *f, ir_ref value, ir_ref elements) {
  ir_graph *g = f->g;
  position p = {.valid = ir_bool(g, true)};
  int64_t number;
  while (ir_op_of(g, value) == IR_OP_WHERE && ir_is_const(g, ir_src(g, value, 2), &number) && number < 0) {
    p.valid = pass_and(g, p.valid, ir_src(g, value, 0));
    value = ir_src(g, value, 1);
  }
  if (ir_is_const(g, value, &number))
    return number < 0 ? (position){ir_index(g, 0), ir_bool(g, false)}
                      : (position){ir_index(g, number), p.valid};
  if (ir_op_of(g, value) != IR_OP_CAST || ir_dtype_of(g, ir_src(g, value, 0)) != IR_INDEX)
    return runtime_position(f, value, elements, p.valid);
  p.index = ir_src(g, value, 0);
  return p;
}

/* Ranges over the axes of the target, of which axis `first` has the first one. */
static pass_point ordered_point(folder *f, ir_ref at, uint32_t first) {
  pass_point p = {.rank = ir_rank(f->g, at)};
  f->next_range = 0;
  if (first < p.rank) p.at[first] = fold_range(f, ir_dim(f->g, at, first));
  for (uint32_t i = 0; i < p.rank; i++)
    if (i != first) p.at[i] = fold_range(f, ir_dim(f->g, at, i));
  return p;
}

/* How the target may name elements several times. */
typedef enum target_kind {
  ONCE,     /* it does not */
  BY_AXES,  /* only for points that differ along some axes, those of the index tensor of its last gather */
  BY_LOADS, /* only for points that differ in an index that a BOUND in the position is loaded at */
  ANYWHERE
} target_kind;

typedef struct repeats {
  target_kind kind;
  uint32_t axes; /* BY_AXES: a set */
} repeats;

/* The axes of a gather's result along which its index tensor varies, which take the place of one axis. */
static uint32_t axes_of_indices(const ir_graph *g, const ir_node *n) {
  uint32_t first = (uint32_t)ir_arg_int(n), taken = ir_rank(g, n->src[1]) - (uint32_t)ir_arg_small(n);
  return ((1u << taken) - 1) << first;
}

/* A gather takes elements several times. If it is the last of the target's views, and the only one, so do its
 * points only that differ along the axes of the indices. Otherwise, where indices lie in memory, each of
 * their coordinates is in the index of a load, which no simplification removes as long as the axis has
 * several elements, or of the condition that they are elements and no padding; points of the target that
 * agree in all of those differ in the others, which count distinct elements. */
static repeats repeats_of(const folder *f, ir_ref target) {
  ir_graph *g = f->g;
  repeats r = {ONCE, 0};
  for (ir_ref at = target; ir_op_of(g, at) != IR_OP_IOTA; at = ir_src(g, at, 0)) {
    const ir_node *n = ir_get(g, at);
    if (n->op == IR_OP_GATHER && op_gathers_once(g, at)) continue;
    if (n->op == IR_OP_GATHER && at == target && !op_target_repeats(g, n->src[0]))
      return (repeats){BY_AXES, axes_of_indices(g, n)};
    if (n->op == IR_OP_GATHER) {
      ir_ref indices = n->src[1];
      bool stored = indices < f->slots->count && f->slots->slot_of[indices];
      bool several = ir_bounds_of(g, ir_dim(g, n->src[0], (uint32_t)ir_arg_int(n))).hi > 1;
      if (!stored || !several) return (repeats){ANYWHERE, 0};
      r.kind = BY_LOADS;
    } else if (ir_ops[n->op].cls != IR_CLASS_VIEW || n->nsrc == 0) {
      return (repeats){ANYWHERE, 0};
    }
  }
  return r;
}

enum { MOST_GATHERS = 8 /* of one target, twice where it is padded as well [4 in the tests] */ };

/* The bounded indices in the position, also those that only tell whether it is an element: of an axis of one
 * element and padding the index is 0. At most MOST_GATHERS. */
static uint32_t find_bounds(ir_graph *g, const position *to, ir_ref *bounds) {
  uint32_t count = affine_find_range(g, to->index, IR_OP_BOUND, bounds, MOST_GATHERS);
  return count + affine_find_range(g, to->valid, IR_OP_BOUND, bounds + count, MOST_GATHERS - count);
}

/* May two updates that differ along the axis, of which p has a range, write one element? Of more than
 * MOST_GATHERS, all may. */
static bool may_collide(ir_graph *g, repeats r, const position *to, const pass_point *p, uint32_t axis) {
  ir_ref bounds[MOST_GATHERS];
  if (ir_op_of(g, p->at[axis]) != IR_OP_RANGE || r.kind == ONCE) return false;
  if (r.kind == BY_AXES) return r.axes >> axis & 1;
  uint32_t count = r.kind == BY_LOADS ? find_bounds(g, to, bounds) : 0;
  bool collides = r.kind == ANYWHERE || count == MOST_GATHERS;
  for (uint32_t i = 0; i < count && !collides; i++) collides = affine_depends(g, bounds[i], p->at[axis]);
  return collides;
}

/* Are the checked indices of gathers in the position in their ranges? A store elsewhere would change elements
 * that no index names: the check ends the run, but a reference keeps what is stored. Of more than
 * MOST_GATHERS, the bounded index serves. */
static ir_ref are_in_range(folder *f, const position *to) {
  ir_graph *g = f->g;
  ir_ref bounds[MOST_GATHERS], valid = ir_bool(g, true);
  uint32_t count = find_bounds(g, to, bounds);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, bounds[i]);
    if (ir_arg_mode(n) == IR_GATHER_CHECK) valid = pass_and(g, valid, fold_in_axis(f, n->src[0], n->src[1]));
  }
  return valid;
}

static position fold_position(folder *f, ir_ref at, ir_ref param, const pass_point *p) {
  ir_graph *g = f->g;
  ir_ref named = fold_at(f, at, p);
  position to = named ? read_position(f, named, ir_src(g, param, 0)) : (position){0};
  if (!named || !(to.valid = pass_finalize_clauses(g, to.valid))) return (position){0};
  to.index = ir_is_false(g, to.valid) ? ir_index(g, 0) : pass_simplify_given(g, to.index, to.valid);
  to.valid = pass_and(g, to.valid, are_in_range(f, &to));
  return to;
}

/* The first axis along which updates go to different elements, so that threads can share them: updates are in
 * the order of the ranges. The rank where there is none, and where any order will do. */
static uint32_t shared_axis(ir_graph *g, repeats r, const position *to, const pass_point *p) {
  uint32_t axis = 0;
  while (axis < p->rank && (ir_op_of(g, p->at[axis]) != IR_OP_RANGE || may_collide(g, r, to, p, axis)))
    axis++;
  return axis;
}

static ir_ref from_last(ir_graph *g, ir_ref extent, ir_ref range) {
  return pass_sub(g, pass_sub(g, extent, ir_index(g, 1)), range);
}

/* What a write does at p, where its target names no element twice. It stores the value, or the sum of the
 * value and what is there; where some of the target is nowhere, or updates have the order of `over`, it
 * updates. *to: the position. */
static ir_ref effect_at(folder *f, ir_ref node, ir_ref param, const pass_point *p, const ir_ref *over,
                        uint32_t over_count, position *to) {
  ir_graph *g = f->g;
  ir_ref src[4 + IR_MAX_RANK];
  bool adds = ir_arg_mode(ir_get(g, node)) == IR_WRITE_ADD;
  *to = fold_position(f, ir_src(g, node, 1), param, p);
  ir_ref value = to->index ? fold_at(f, ir_src(g, node, 2), p) : 0;
  if (!value) return 0;
  src[0] = param, src[1] = to->index, src[2] = to->valid, src[3] = value;
  for (uint32_t i = 0; i < over_count; i++) src[4 + i] = over[i];
  if (over_count || !ir_is_true(g, to->valid))
    return ir_make(g, IR_OP_UPDATE, IR_NONE, adds ? IR_OP_ADD : 0, src, 4 + over_count);
  if (adds) {
    ir_ref zero = fold_zero(f, ir_dtype_of(g, param));
    ir_ref old[] = {param, to->index, to->valid, zero};
    value = ir_binary(g, IR_OP_ADD, ir_make(g, IR_OP_LOAD, ir_dtype_of(g, param), 0, old, 4), value);
  }
  return ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){param, to->index, value}, 3);
}

/* Ranges over the axes of the target, at p->at so far, in the order that is given. *loops: those of ordered
 * axes. Returns how many these are. */
static uint32_t point_in_order(folder *f, ir_ref at, const fold_order *order, pass_point *p, ir_ref *loops) {
  ir_graph *g = f->g;
  uint32_t ordered = 0;
  f->next_range = 0;
  for (uint32_t i = 0; i < p->rank; i++) {
    uint32_t axis = order->axes[i];
    ir_ref extent = ir_dim(g, at, axis), range = fold_range(f, extent);
    if (order->ordered[axis]) loops[ordered++] = range;
    p->at[axis] = order->backwards[axis] ? from_last(g, extent, range) : range;
  }
  return ordered;
}

/* Reverses the axes along which the target goes backwards, so that the index of the store grows with each
 * range. False where there are none. */
static bool point_forwards(folder *f, ir_ref at, ir_ref index, pass_point *p) {
  ir_graph *g = f->g;
  bool reversed = false;
  for (uint32_t i = 0; i < p->rank; i++) {
    int64_t stride;
    if (ir_op_of(g, p->at[i]) != IR_OP_RANGE || !affine_stride(g, index, p->at[i], &stride) || stride >= 0)
      continue;
    p->at[i] = from_last(g, ir_dim(g, at, i), p->at[i]);
    reversed = true;
  }
  return reversed;
}

/* A write whose target names no element twice. Where it reads elements that it replaces, its loops get an
 * order in which it reads each of them before, if there is one. */
static ir_ref assign_once(folder *f, ir_ref node, ir_ref param, pass_point p) {
  ir_graph *g = f->g;
  ir_ref loads[FOLD_MOST_LOADS], loops[IR_MAX_RANK], at = ir_src(g, node, 1);
  position to;
  ir_ref effect = effect_at(f, node, param, &p, NULL, 0, &to);
  uint32_t count = effect && f->slots->serial ? fold_loads_replaced(g, effect, loads) : 0, ordered = 0;
  fold_order order;
  if (!effect) return 0;
  if (count && count <= FOLD_MOST_LOADS && fold_find_order(g, effect, loads, count, p.at, p.rank, &order) &&
      order.any)
    ordered = point_in_order(f, at, &order, &p, loops);
  else if (!point_forwards(f, at, to.index, &p)) return effect;
  fold_discard_answers(f);
  return effect_at(f, node, param, &p, loops, ordered, &to);
}

/* A write whose target may name elements several times: what goes to one element is in row-major order. */
static ir_ref assign_in_order(folder *f, ir_ref node, ir_ref param, repeats r, pass_point p, position to) {
  ir_graph *g = f->g;
  ir_ref at = ir_src(g, node, 1), src[4 + IR_MAX_RANK];
  bool adds = ir_arg_mode(ir_get(g, node)) == IR_WRITE_ADD;
  uint32_t first = shared_axis(g, r, &to, &p), count = 4;
  if (first > 0 && first < p.rank) {
    fold_discard_answers(f);
    p = ordered_point(f, at, first);
    to = fold_position(f, at, param, &p);
  }
  ir_ref value = to.index ? fold_at(f, ir_src(g, node, 2), &p) : 0;
  if (!value) return 0;
  src[0] = param, src[1] = to.index, src[2] = to.valid, src[3] = value;
  for (uint32_t i = 0; i < p.rank; i++)
    if (may_collide(g, r, &to, &p, i)) src[count++] = p.at[i];
  return ir_make(g, IR_OP_UPDATE, IR_NONE, adds ? IR_OP_ADD : 0, src, count);
}

ir_ref fold_assign(folder *f, ir_ref node, ir_ref param) {
  ir_ref at = ir_src(f->g, node, 1);
  pass_point p = fold_output_point(f, at);
  repeats r = repeats_of(f, at);
  if (r.kind == ONCE) return assign_once(f, node, param, p);
  position to = fold_position(f, at, param, &p);
  return to.index ? assign_in_order(f, node, param, r, p, to) : 0;
}
