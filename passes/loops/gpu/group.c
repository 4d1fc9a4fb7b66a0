/* Lanes that are the work-items of a group, and what each group does.
 *
 *   elementwise   a block of one axis: work-items along the axis along which most accesses are contiguous,
 *                 with unrolled elements a group's width apart, so that neighbours access adjacent elements.
 *                 An axis shorter than a group is collapsed with those around it, and the index along each
 *                 of them is divided out of the work-item's number
 *   reductions    of contiguous terms: a group for each result, work-items along the terms; else, and of
 *                 few terms, work-items along the results
 *   products      a tile of rows and columns: work-items along both, unrolled along both
 *
 * All that is not within a group is an axis of groups. There should be enough groups for all compute units;
 * as long as there are not, the work-items of a group get no more elements. */
#include "gpu.h"

enum {
  GROUP_ITEMS = 256, /* work-items of a group: most devices allow as many, and eight groups of them fill a
                        compute unit's 2048 */
  /* elements of a work-item: 16 bytes of f16, the widest access; of bytes only half of it is taken */
  MAX_UNROLL = 8,
  /* axes of groups, each with a box of blocks for its remainder: 2^8 are MAX_BOXES of loops.c */
  MAX_GROUP_AXES = 8,
  IDLE_SHARE = 8,               /* at most one work-item in so many may have nothing to do */
  ROW_TERMS = IR_LOCKSTEP_ITEMS /* terms of a result from which on work-items run along them: one for each */
};

int loop_group_size(const loop_nest *n) {
  int most = n->items ? n->items : GROUP_ITEMS;
  return n->target->group_items < most ? n->target->group_items : most;
}

/* The areas, and a flag (codegen/opencl/group.c). */
int64_t loop_exchange_bytes(const ir_target *target) {
  enum {
    EACH_BYTES = IR_EXCHANGE_AREAS * IR_EXCHANGE_BYTES,
    FLAG_BYTES = 8 /* an int, aligned as the areas are */
  };
  int items = target->group_items < GROUP_ITEMS ? target->group_items : GROUP_ITEMS;
  return EACH_BYTES * (int64_t)items + FLAG_BYTES;
}

static int64_t most_elements(const loop_nest *n, const loop_axis *a) {
  return ir_bounds_of(n->g, a->extent).hi;
}

static bool may_map_items(loop_nest *n, uint32_t axis) {
  return !loop_bounds_another(n, axis) && !loop_is_ordered(n, axis);
}

/* The number of groups if each iteration of all other axes has its own. */
static int64_t groups_of_other_axes(const loop_nest *n, const loop_axis *axis) {
  int64_t groups = 1;
  for (const loop_axis *a = n->axes; a < n->axes + n->axis_count; a++)
    if (a != axis) groups = loop_saturated(groups, most_elements(n, a));
  return groups;
}

static bool is_outermost(const loop_nest *n) { return n->bound_count == 0; }

static bool is_local(const ir_graph *g, ir_ref access) {
  return ir_op_of(g, ir_src(g, access, 0)) == IR_OP_LOCAL;
}

/* How well neighbouring work-items along the axis suit an access: contiguous well, scattered badly. For
 * locals it matters less. */
static int access_score(loop_nest *n, ir_ref access, ir_ref range, int weight) {
  int64_t stride;
  bool known = affine_stride(n->g, ir_src(n->g, access, 1), range, &stride);
  if (is_local(n->g, access)) weight = 1;
  if (known && stride == 0) return ir_op_of(n->g, access) == IR_OP_LOAD;
  return known && (stride == 1 || stride == -1) ? weight : -weight;
}

/* The axis along which most accesses are contiguous; the store weighs more than a load. */
static uint32_t contiguous_axis(loop_nest *n) {
  enum {
    WRITTEN = 5, /* weight of the store: it decides between as many accesses of each kind */
    READ = 4     /* weight of a load */
  };
  ir_ref loads[LOOP_MAX_NODES];
  uint32_t best = n->axis_count,
           count = affine_find_range(n->g, ir_src(n->g, n->store, 2), IR_OP_LOAD, loads, LOOP_MAX_NODES);
  int score = 0;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    if (!may_map_items(n, a) || most_elements(n, &n->axes[a]) < 2) continue;
    int here = access_score(n, n->store, n->axes[a].range, WRITTEN);
    for (uint32_t i = 0; i < count; i++) here += access_score(n, loads[i], n->axes[a].range, READ);
    if (best == n->axis_count || here >= score) best = a, score = here;
  }
  return best;
}

static bool is_wasteful(const loop_nest *n, const loop_axis *a, int64_t lanes) {
  int64_t size = most_elements(n, a), filled = (size + lanes - 1) / lanes * lanes;
  return filled - size > filled / IDLE_SHARE;
}

/* Collapses an axis that fills no group with the axes outside it. Returns the resulting axis. */
static uint32_t collapse_axes(loop_nest *n, uint32_t axis, int64_t lanes) {
  while (axis > 0 && most_elements(n, &n->axes[axis]) < lanes * IDLE_SHARE &&
         is_wasteful(n, &n->axes[axis], lanes)) {
    loop_nest before = *n;
    if (!may_map_items(n, axis - 1) || !loop_merge_pair(n, axis - 1)) {
      *n = before;
      break;
    }
    axis--;
  }
  for (uint32_t a = 0; a < n->axis_count; a++) n->order[a] = a;
  return axis;
}

/* Sets a power of two of work-items, no more than all of the axis needs. */
static void set_items(loop_nest *n, loop_axis *a, int64_t lanes) {
  while (lanes > 1 && lanes / 2 >= most_elements(n, a)) lanes /= 2;
  a->lanes = (int)lanes;
}

static void choose_elements(loop_nest *n) {
  enum { MANY_STEPS = 16 }; /* of so many steps, one more for the remainder is 6 % at most */
  int64_t size = loop_group_size(n);
  uint32_t axis = contiguous_axis(n);
  if (axis == n->axis_count) return;
  n->lane_axis = axis = collapse_axes(n, axis, size);
  loop_axis *a = &n->axes[axis];
  set_items(n, a, size);
  int bytes = ir_dtypes[ir_dtype_of(n->g, ir_src(n->g, n->store, 2))].bytes, unroll = 1;
  int64_t groups = groups_of_other_axes(n, a), blocks = most_elements(n, a) / a->lanes;
  while (unroll < MAX_UNROLL && 2 * unroll * bytes <= n->target->vector_bytes && 2 * unroll <= blocks &&
         (blocks % (2 * unroll) == 0 || blocks > MANY_STEPS * unroll) &&
         (!is_outermost(n) || loop_saturated(groups, blocks / (2 * unroll)) >= IR_BUSY_GROUPS))
    unroll *= 2;
  bool few = blocks > 0 && most_elements(n, a) == blocks * a->lanes && blocks <= MAX_UNROLL &&
             blocks * bytes <= n->target->vector_bytes && !is_outermost(n);
  a->unroll = few ? (int)blocks : unroll; /* all of them, inside an iteration of a group */
  bool repeatable = ir_op_of(n->g, n->store) == IR_OP_STORE && loop_is_repeatable(n);
  for (uint32_t i = 0; i < n->axis_count; i++) n->axes[i].overlaps = repeatable;
}

/* Contiguous results, a work-item for each; where there are few, in more and smaller groups. */
static void choose_results(loop_nest *n) {
  int64_t size = loop_group_size(n);
  uint32_t axis = contiguous_axis(n);
  if (axis == n->axis_count) return;
  n->lane_axis = axis = collapse_axes(n, axis, size);
  loop_axis *a = &n->axes[axis];
  int64_t groups = groups_of_other_axes(n, a);
  while (is_outermost(n) && size > IR_LOCKSTEP_ITEMS &&
         loop_saturated(groups, most_elements(n, a) / size) < IR_BUSY_GROUPS)
    size /= 2;
  set_items(n, a, size);
  a->overlaps = loop_is_repeatable(n);
}

static bool choose_product(loop_nest *n, ir_ref reduce) {
  enum { MIN_SIDE = 8 }; /* rows, and columns, of a product in tiles: those of one work-item */
  uint32_t column_axis = contiguous_axis(n);
  if (column_axis == n->axis_count || !loop_multiplies(n->g, reduce)) return false;
  loop_axis *column = &n->axes[column_axis], *row = loop_row_axis(n, column, reduce);
  if (!row || !may_map_items(n, (uint32_t)(row - n->axes)) || most_elements(n, row) < MIN_SIDE ||
      most_elements(n, column) < MIN_SIDE)
    return false;
  int64_t batch = 1;
  for (const loop_axis *a = n->axes; a < n->axes + n->axis_count; a++)
    if (a != row && a != column) batch = loop_saturated(batch, most_elements(n, a));
  n->lane_axis = column_axis;
  loop_choose_product_tile(n, reduce, row, column, batch);
  return true;
}

/* Are the terms contiguous, rather than the results, and are they many? */
static bool has_contiguous_terms(loop_nest *n, ir_ref reduce, uint32_t results) {
  const ir_node *r = ir_get(n->g, reduce);
  ir_ref last = r->src[r->nsrc - 1];
  int64_t terms = ir_bounds_of(n->g, ir_src(n->g, last, 0)).hi;
  if (results == n->axis_count) return true;
  int term_score = loop_lane_score(n, r->src[0], last, 1),
      across = loop_lane_score(n, r->src[0], n->axes[results].range, 1);
  return term_score > across && terms >= ROW_TERMS;
}

void loop_choose_group(loop_nest *n) {
  ir_ref reduces[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(n->g, n->store, IR_OP_REDUCE, reduces, LOOP_MAX_NODES);
  if (!count) {
    choose_elements(n);
    return;
  }
  if (count == 1 && choose_product(n, reduces[0])) return;
  uint32_t results = contiguous_axis(n);
  for (uint32_t k = 0; k < count; k++) n->lanes_in_reduction |= has_contiguous_terms(n, reduces[k], results);
  if (!n->lanes_in_reduction) choose_results(n);
}

void loop_bind_groups(loop_nest *n, int64_t inside) {
  (void)inside;
  for (uint32_t d = 0; d < n->level_count && d < n->axis_count && d < MAX_GROUP_AXES; d++) {
    if (n->levels[d].binding != IR_SERIAL || !loop_may_thread(n, n->levels[d].axis)) return;
    if (d > 0 && n->has_locals) return; /* the iterations of a group are the outermost axis */
    n->levels[d].binding = IR_THREAD;
  }
}
