/* Stores without reductions: which copies stand side by side, and where the lanes begin. */
#include "loops.h"

enum { MAX_FOUND = 512, MOST_ALTERNATING = 4 };

static bool takes_steps(loop_nest *n, const loop_axis *a) {
  uint32_t axis = (uint32_t)(a - n->axes);
  return !loop_bounds_another(n, axis) && !loop_is_ordered(n, axis);
}

/* Does the size depend on the loops outside? */
static bool varies(loop_nest *n, const loop_axis *a) {
  ir_ref range;
  return loop_find(n->g, a->extent, IR_OP_RANGE, &range, 1) > 0;
}

static bool is_store(const loop_nest *n) { return ir_op_of(n->g, n->store) == IR_OP_STORE; }

/* Do all loads have neighbours side by side along the axis, or one element for all? */
static bool reads_along(loop_nest *n, const loop_axis *a) {
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, n->store, IR_OP_LOAD, loads, MAX_FOUND);
  bool along = count > 0;
  for (uint32_t i = 0; i < count && along; i++) {
    int64_t stride;
    along = loop_stride(n->g, ir_src(n->g, loads[i], 1), a->range, &stride) && stride >= -1 && stride <= 1;
  }
  return along;
}

loop_axis *loop_alternating(loop_nest *n, loop_axis *last, int lanes) {
  int64_t count, step;
  ir_ref index = ir_src(n->g, n->store, 1);
  if (!is_store(n) || !ir_is_const(n->g, last->extent, &count) || count < 2 || count > MOST_ALTERNATING ||
      reads_along(n, last))
    return NULL;
  for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
    if (!loop_stride(n->g, index, a->range, &step) || step != count || !takes_steps(n, a) ||
        ir_bounds_of(n->g, a->extent).hi < lanes || !reads_along(n, a))
      continue;
    last->unroll = (int)count;
    return a;
  }
  return NULL;
}

/* Lanes that gather along one axis what lies side by side along another (a transpose): with copies along that
 * other axis whole vectors are read, and turned in registers. Tiles follow one another first along rows that
 * are read, TILES of them, which uses neighbouring lines together, then along rows that are written. */
static bool choose_tile(loop_nest *n, const loop_axis *vector) {
  enum { TILES = 4 };
  int copies = n->target->registers / 2;
  if (copies > vector->lanes) copies = vector->lanes;
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, n->store, IR_OP_LOAD, loads, MAX_FOUND);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    int64_t stride;
    if (loop_stride(n->g, index, vector->range, &stride) && stride >= -1 && stride <= 1) continue;
    for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
      if (a == vector || varies(n, a) || !takes_steps(n, a) || !loop_stride(n->g, index, a->range, &stride) ||
          (stride != 1 && stride != -1))
        continue;
      int64_t most = ir_bounds_of(n->g, a->extent).hi;
      if (most >= copies) a->unroll = copies;
      else if (ir_is_const(n->g, a->extent, &most)) a->unroll = (int)most;
      if (most >= TILES * copies) a->block = TILES * copies;
      return true;
    }
  }
  return false;
}

/* Rows that are read backwards: several vectors at a time, which reads each group of lines together; memory
 * fetches ahead forwards. Half again as fast, where rows read forwards lose. */
static void choose_backward(loop_nest *n, loop_axis *vector) {
  enum { TOGETHER = 8 };
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, n->store, IR_OP_LOAD, loads, MAX_FOUND), streams = 0;
  bool backward = false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t stride;
    if (!loop_stride(n->g, ir_src(n->g, loads[i], 1), vector->range, &stride)) return;
    backward |= stride == -1;
    streams += stride != 0;
  }
  if (!backward) return;
  int copies = streams < TOGETHER ? TOGETHER / (int)streams : 1;
  if (ir_bounds_of(n->g, vector->extent).hi >= 4 * copies * vector->lanes) vector->unroll = copies;
}

/* Stores that go past the caches want whole vectors at multiples of their size: elements of the axis before
 * the first of these, where positions of all other axes begin at one distance from a multiple. */
static int head_of(loop_nest *n, const loop_axis *vector) {
  const ir_node *store = ir_get(n->g, n->store), *index = ir_get(n->g, store->src[1]);
  const ir_ref *terms = index->op == IR_OP_ADD ? index->src : &store->src[1];
  uint32_t count = index->op == IR_OP_ADD ? index->nsrc : 1;
  int64_t at = 0, value;
  if (!ir_arg_mode(store)) return 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *t = ir_get(n->g, terms[i]);
    if (terms[i] == vector->range) continue;
    if (ir_is_const(n->g, terms[i], &value)) at += value % vector->lanes;
    else if (t->op != IR_OP_MUL || t->nsrc != 2 || !ir_is_const(n->g, t->src[1], &value) ||
             value % vector->lanes != 0)
      return 0;
  }
  at = (at % vector->lanes + vector->lanes) % vector->lanes;
  return at ? vector->lanes - (int)at : 0;
}

void loop_choose_copies(loop_nest *n, loop_axis *vector) {
  if (!is_store(n)) return;
  vector->head = head_of(n, vector);
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (n->axes[a].unroll > 1) return; /* chosen already */
  if (!choose_tile(n, vector)) choose_backward(n, vector);
}
