/* Lanes that are the work-items of a group, and what each group does.
 *
 *   elementwise   a block of one axis: work-items along the axis that is side by side in memory on most
 *                 traffic, and copies for each, a group's width apart, so that neighbours always read and
 *                 write what is side by side. An axis shorter than a group is made one with those around it,
 *                 and the positions along each are divided out of the work-item's number
 *   reductions    of neighbours in memory: a group for each result, work-items along the terms; else, and of
 *                 few terms, work-items along the results
 *   products      a tile of rows and columns: work-items along both, copies along both for each
 *
 * All that is not within a group is an axis of groups, of which there are to be enough for all units; no
 * more than one group's worth is given to a group as long as there are not. */
#include "gpu.h"

enum {
  MAX_FOUND = 512,
  GROUP = 256, /* work-items that hide the time of memory */
  NARROW = 32, /* work-items that run together on most devices */
  ENOUGH_GROUPS = 512,
  MOST_COPIES = 8,
  SIDE_COPIES = 8,   /* of a product's rows and columns: sums in registers */
  BESIDE = 4,        /* of these side by side */
  MOST_THREADS = 8,  /* axes of groups */
  WASTE = 8,         /* one part in so many of the work-items may have nothing to do */
  FEW_TERMS = NARROW /* that one work-item adds up */
};

int loop_group_size(const loop_nest *n) {
  int most = n->items ? n->items : GROUP;
  return n->target->lanes < most ? n->target->lanes : most;
}

/* Two areas of a value of 8 bytes for each, and a flag (codegen/opencl/group.c). */
int64_t loop_exchange_bytes(const ir_target *target) {
  enum { EACH = 16, FLAG = 8 };
  return target->lanes ? EACH * (int64_t)(target->lanes < GROUP ? target->lanes : GROUP) + FLAG : 0;
}

static int64_t most(const loop_nest *n, const loop_axis *a) { return ir_bounds_of(n->g, a->extent).hi; }

static bool takes_lanes(loop_nest *n, uint32_t axis) {
  return !loop_bounds_another(n, axis) && !loop_is_ordered(n, axis);
}

static int64_t saturated(int64_t a, int64_t b) { return b > 0 && a > LOOP_MUCH / b ? LOOP_MUCH : a * b; }

/* Groups along all other axes. */
static int64_t groups_beside(const loop_nest *n, const loop_axis *axis) {
  int64_t groups = 1;
  for (const loop_axis *a = n->axes; a < n->axes + n->axis_count; a++)
    if (a != axis) groups = saturated(groups, most(n, a));
  return groups;
}

static bool is_outermost(const loop_nest *n) { return n->bound_count == 0; }

static bool is_local(const ir_graph *g, ir_ref access) {
  return ir_op_of(g, ir_src(g, access, 0)) == IR_OP_LOCAL;
}

/* How well neighbouring work-items along the axis suit an access: side by side well, spread badly. Of locals
 * it matters less. */
static int access_score(loop_nest *n, ir_ref access, ir_ref range, int weight) {
  int64_t stride;
  bool known = loop_stride(n->g, ir_src(n->g, access, 1), range, &stride);
  if (is_local(n->g, access)) weight = 1;
  if (known && stride == 0) return ir_op_of(n->g, access) == IR_OP_LOAD;
  return known && (stride == 1 || stride == -1) ? weight : -weight;
}

/* The axis along which most of what is read and written lies side by side; of equal ones that of the writes.
 */
static uint32_t along_memory(loop_nest *n) {
  enum { WRITTEN = 5, READ = 4 };
  ir_ref loads[MAX_FOUND];
  uint32_t best = n->axis_count,
           count = loop_find(n->g, ir_src(n->g, n->store, 2), IR_OP_LOAD, loads, MAX_FOUND);
  int score = 0;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    if (!takes_lanes(n, a) || most(n, &n->axes[a]) < 2) continue;
    int here = access_score(n, n->store, n->axes[a].range, WRITTEN);
    for (uint32_t i = 0; i < count; i++) here += access_score(n, loads[i], n->axes[a].range, READ);
    if (best == n->axis_count || here >= score) best = a, score = here;
  }
  return best;
}

static bool is_wasteful(const loop_nest *n, const loop_axis *a, int64_t lanes) {
  int64_t size = most(n, a), filled = (size + lanes - 1) / lanes * lanes;
  return filled - size > filled / WASTE;
}

/* An axis that fills no group is made one with the axis outside. Returns where it is then. */
static uint32_t joined(loop_nest *n, uint32_t axis, int64_t lanes) {
  while (axis > 0 && most(n, &n->axes[axis]) < lanes * WASTE && is_wasteful(n, &n->axes[axis], lanes)) {
    loop_nest before = *n;
    if (!takes_lanes(n, axis - 1) || !loop_merge_pair(n, axis - 1)) {
      *n = before;
      break;
    }
    axis--;
  }
  for (uint32_t a = 0; a < n->axis_count; a++) n->order[a] = a;
  return axis;
}

/* A power of two of work-items, no more than needed for all of the axis. */
static void set_lanes(loop_nest *n, loop_axis *a, int64_t lanes) {
  while (lanes > 1 && lanes / 2 >= most(n, a)) lanes /= 2;
  a->lanes = (int)lanes;
}

static void choose_elements(loop_nest *n) {
  enum { MANY = 16 }; /* steps of which one more is little */
  int64_t size = loop_group_size(n);
  uint32_t axis = along_memory(n);
  if (axis == n->axis_count) return;
  n->along = axis = joined(n, axis, size);
  loop_axis *a = &n->axes[axis];
  set_lanes(n, a, size);
  int bytes = ir_dtypes[ir_dtype_of(n->g, ir_src(n->g, n->store, 2))].bytes, copies = 1;
  int64_t groups = groups_beside(n, a), blocks = most(n, a) / a->lanes;
  while (copies < MOST_COPIES && 2 * copies * bytes <= n->target->vector_bytes && 2 * copies <= blocks &&
         (blocks % (2 * copies) == 0 || blocks > MANY * copies) &&
         (!is_outermost(n) || saturated(groups, blocks / (2 * copies)) >= ENOUGH_GROUPS))
    copies *= 2;
  bool few = blocks > 0 && most(n, a) == blocks * a->lanes && blocks <= MOST_COPIES &&
             blocks * bytes <= n->target->vector_bytes && !is_outermost(n);
  a->unroll = few ? (int)blocks : copies; /* all of them, inside a group's round */
  bool repeatable = ir_op_of(n->g, n->store) == IR_OP_STORE && loop_is_repeatable(n);
  for (uint32_t i = 0; i < n->axis_count; i++) n->axes[i].overlaps = repeatable;
}

/* Results that lie side by side, a work-item for each; where there are few, in more and smaller groups. */
static void choose_results(loop_nest *n) {
  int64_t size = loop_group_size(n);
  uint32_t axis = along_memory(n);
  if (axis == n->axis_count) return;
  n->along = axis = joined(n, axis, size);
  loop_axis *a = &n->axes[axis];
  int64_t groups = groups_beside(n, a);
  while (is_outermost(n) && size > NARROW && saturated(groups, most(n, a) / size) < ENOUGH_GROUPS) size /= 2;
  set_lanes(n, a, size);
  a->overlaps = loop_is_repeatable(n);
}

/* products */

/* The tile of a group: along each side so many work-items, and copies for each of them. */
typedef struct group_tile {
  int64_t rows, columns; /* of the whole result */
  int row_items, column_items, row_copies, column_copies;
} group_tile;

static int64_t tiles(int64_t size, int64_t step) { return (size + step - 1) / step; }

static int64_t groups_of(const group_tile *t) {
  return saturated(tiles(t->rows, t->row_items * t->row_copies),
                   tiles(t->columns, t->column_items * t->column_copies));
}

/* Is a side of so many work-items and copies twice as long as what it covers? */
static bool is_long(int64_t size, int items, int copies) { return items * copies / 2 >= size; }

/* As near a square as work-items make it, with as many copies along both sides as registers hold sums; a side
 * that is longer than the result gives its work-items to the other one, then the copies go. Smaller while
 * there are few groups. */
static group_tile choose_group_tile(const loop_nest *n, int64_t rows, int64_t columns, int64_t batch) {
  enum { FEWEST = 2 };
  int items = loop_group_size(n);
  group_tile t = {rows, columns, 1, items, SIDE_COPIES, SIDE_COPIES};
  while (t.column_items > t.row_items) t.column_items /= 2, t.row_items *= 2;
  if (t.column_items < t.row_items) t.column_items *= 2, t.row_items /= 2; /* rows are read by all */
  while (t.row_items > 1 && is_long(rows, t.row_items, t.row_copies)) {
    if (t.row_copies > FEWEST) t.row_copies /= 2;
    else t.row_items /= 2, t.column_items *= 2;
  }
  while (t.column_items > 1 && is_long(columns, t.column_items, t.column_copies)) {
    if (t.column_copies > 1) t.column_copies /= 2;
    else t.column_items /= 2;
  }
  while (saturated(batch, groups_of(&t)) < ENOUGH_GROUPS / 2 &&
         (t.row_copies > FEWEST || t.column_copies > FEWEST))
    if (t.row_copies > t.column_copies) t.row_copies /= 2;
    else t.column_copies /= 2;
  return t;
}

/* Copies side by side are read together from a local. They need a tile that is whole everywhere. */
static int copies_beside(const loop_nest *n, const loop_axis *a) {
  int64_t size, tile = (int64_t)a->lanes * a->unroll;
  bool whole = ir_is_const(n->g, a->extent, &size) && size >= tile && (a->overlaps || size % tile == 0);
  return whole && a->lanes > 1 && a->unroll % BESIDE == 0 ? BESIDE : 0;
}

static bool choose_product(loop_nest *n, ir_ref reduce) {
  enum { SHORT = 8 };
  uint32_t along = along_memory(n);
  if (along == n->axis_count || !loop_multiplies(n->g, reduce)) return false;
  loop_axis *column = &n->axes[along], *row = loop_row_axis(n, column, reduce);
  if (!row || !takes_lanes(n, (uint32_t)(row - n->axes)) || most(n, row) < SHORT || most(n, column) < SHORT)
    return false;
  int64_t batch = 1;
  for (const loop_axis *a = n->axes; a < n->axes + n->axis_count; a++)
    if (a != row && a != column) batch = saturated(batch, most(n, a));
  n->along = along;
  if (loop_choose_matrix(n, reduce, row, column, batch)) return true;
  group_tile t = choose_group_tile(n, most(n, row), most(n, column), batch);
  column->lanes = t.column_items, column->unroll = t.column_copies;
  row->lanes = t.row_items, row->unroll = t.row_copies;
  column->overlaps = row->overlaps = loop_is_repeatable(n);
  column->beside = copies_beside(n, column), row->beside = copies_beside(n, row);
  return true;
}

/* Do the terms lie side by side, and are they many? */
static bool runs_along_terms(loop_nest *n, ir_ref reduce, uint32_t results) {
  const ir_node *r = ir_get(n->g, reduce);
  ir_ref last = r->src[r->nsrc - 1];
  int64_t terms = ir_bounds_of(n->g, ir_src(n->g, last, 0)).hi;
  if (results == n->axis_count) return true;
  int along = loop_lane_score(n, r->src[0], last, 1),
      across = loop_lane_score(n, r->src[0], n->axes[results].range, 1);
  return along > across && terms >= FEW_TERMS;
}

void loop_choose_group(loop_nest *n) {
  ir_ref reduces[MAX_FOUND];
  uint32_t count = loop_find(n->g, n->store, IR_OP_REDUCE, reduces, MAX_FOUND);
  if (!count) {
    choose_elements(n);
    return;
  }
  if (count == 1 && choose_product(n, reduces[0])) return;
  uint32_t results = along_memory(n);
  for (uint32_t k = 0; k < count; k++) n->lanes_in_reduction |= runs_along_terms(n, reduces[k], results);
  if (!n->lanes_in_reduction) choose_results(n);
}

void loop_bind_groups(loop_nest *n) {
  for (uint32_t d = 0; d < n->digit_count && d < n->axis_count && d < MOST_THREADS; d++) {
    if (n->digits[d].binding != IR_SERIAL || !loop_takes_threads(n, n->digits[d].axis)) return;
    if (d > 0 && n->has_locals) return; /* rounds are the outermost axis */
    n->digits[d].binding = IR_THREAD;
  }
}
