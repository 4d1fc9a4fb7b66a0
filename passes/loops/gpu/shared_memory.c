/* Shared-memory staging: what groups of work-items read through their locals.
 *
 * A store whose loads are scattered along its contiguous axis, but contiguous along another axis (a
 * transpose), reads or writes single elements, whichever of the two axes the work-items run along. So it
 * becomes two stores that share a loop over tiles of both axes: the first copies a tile to a local, along the
 * axis of contiguous loads; the second stores it along the other axis. Rows of the tile are padded by one
 * element, so that neighbours along either axis are in different banks of the local. */
#include "gpu.h"

#include "passes/index/index.h"

enum {
  TILE_ELEMENTS = 32, /* along each side: those of a line of 128 bytes of f32, for work-items in lockstep */
  MIN_ELEMENTS = 8,   /* along each side: those of a sector of 32 bytes, the least that is read at once */
  MAX_STAGED = 4,     /* loads of a store that are staged [1 in the workloads]; others are read as they are */
  ROW_PAD = 1         /* element between rows of a tile */
};

typedef struct staging {
  loop_nest n;
  uint32_t write_axis, read_axis; /* the axes of contiguous stores and of contiguous loads */
  int64_t width[2];               /* of a tile, along these axes */
  ir_ref load[MAX_STAGED];
  uint32_t count;
  ir_ref iteration, start[MAX_NEST]; /* the loop over tiles; by axis, where a tile begins */
} staging;

static bool is_unit_stride(int64_t stride) { return stride == 1 || stride == -1; }

/* The innermost axis, of a constant size worth a tile, along which the access is contiguous; axis_count:
 * there is none. */
static uint32_t contiguous_axis(loop_nest *n, ir_ref index) {
  int64_t stride, size;
  for (uint32_t a = n->axis_count; a-- > 0;)
    if (ir_is_const(n->g, n->axes[a].extent, &size) && size >= MIN_ELEMENTS &&
        affine_stride(n->g, index, n->axes[a].range, &stride) && is_unit_stride(stride))
      return a;
  return n->axis_count;
}

/* Finds the loads that are scattered along write_axis and contiguous along read_axis. */
static void find_loads(staging *s) {
  loop_nest *n = &s->n;
  ir_ref loads[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(n->g, ir_src(n->g, n->store, 2), IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  int64_t stride;
  s->read_axis = n->axis_count;
  for (uint32_t i = 0; i < count && s->count < MAX_STAGED; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    uint32_t unit_axis = contiguous_axis(n, index);
    if (unit_axis == n->axis_count || unit_axis == s->write_axis ||
        !affine_stride(n->g, index, n->axes[s->write_axis].range, &stride) || stride == 0 ||
        is_unit_stride(stride))
      continue;
    if (s->read_axis == n->axis_count) s->read_axis = unit_axis;
    if (s->read_axis == unit_axis) s->load[s->count++] = loads[i];
  }
}

static bool is_box(loop_nest *n) {
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (loop_bounds_another(n, a)) return false;
  return true;
}

static int64_t local_size(const staging *s) { return s->width[0] * (s->width[1] + ROW_PAD); }

/* False where there is nothing to stage, or no room for it. */
static bool plan_tiles(staging *s) {
  loop_nest *n = &s->n;
  ir_ref found;
  int64_t size = 0, bytes = 0;
  if (ir_op_of(n->g, n->store) != IR_OP_STORE || affine_find_range(n->g, n->store, IR_OP_REDUCE, &found, 1) ||
      !is_box(n))
    return false;
  s->write_axis = contiguous_axis(n, ir_src(n->g, n->store, 1));
  if (s->write_axis == n->axis_count) return false;
  find_loads(s);
  if (!s->count) return false;
  for (int i = 0; i < 2; i++) {
    ir_is_const(n->g, n->axes[i ? s->read_axis : s->write_axis].extent, &size);
    s->width[i] = size < TILE_ELEMENTS ? size : TILE_ELEMENTS;
    if (size % s->width[i] != 0 && !loop_is_repeatable(n)) return false;
  }
  for (uint32_t i = 0; i < s->count; i++)
    bytes += local_size(s) * ir_dtypes[ir_dtype_of(n->g, s->load[i])].bytes;
  return !n->target->local_bytes || bytes <= n->target->local_bytes;
}

/* The number of tiles along an axis; the extent of an axis without tiles. */
static ir_ref tiles_of_axis(const staging *s, uint32_t axis) {
  ir_ref extent = s->n.axes[axis].extent;
  if (axis != s->write_axis && axis != s->read_axis) return extent;
  return pass_ceil_div(s->n.g, extent, ir_index(s->n.g, s->width[axis == s->read_axis]));
}

/* An iteration for each tile. The last tile of an axis begins further back, so that it ends with the axis. */
static bool start_iterations(staging *s) {
  ir_graph *g = s->n.g;
  ir_ref total = ir_index(g, 1);
  for (uint32_t a = 0; a < s->n.axis_count; a++)
    total = pass_mul(g, total, pass_max(g, tiles_of_axis(s, a), ir_index(g, 1)));
  for (uint32_t a = 0; a < s->n.axis_count; a++) /* no tiles of an empty axis */
    if (ir_bounds_of(g, s->n.axes[a].extent).lo < 1)
      total = pass_mul(g, total, pass_min(g, s->n.axes[a].extent, ir_index(g, 1)));
  s->iteration = loop_fresh_range(&s->n, total);
  ir_ref left = s->iteration;
  for (uint32_t a = s->n.axis_count; a-- > 0;) {
    ir_ref steps = pass_max(g, tiles_of_axis(s, a), ir_index(g, 1));
    ir_ref at = a ? pass_mod(g, left, steps) : left;
    if (a) left = pass_div(g, left, steps);
    int64_t size = 0, width = s->width[a == s->read_axis];
    if (a == s->write_axis || a == s->read_axis) {
      ir_is_const(g, s->n.axes[a].extent, &size);
      at = pass_min(g, pass_mul_int(g, at, width), ir_index(g, size - width));
    }
    s->start[a] = at;
  }
  return s->iteration != 0;
}

/* root inside a tile, over fresh ranges, of which that along the axis `inner` is the innermost. *at: the
 * index in locals; loads: the staged loads inside the tile. */
static ir_ref in_tile(staging *s, ir_ref root, uint32_t inner, ir_ref *at, ir_ref *loads) {
  ir_graph *g = s->n.g;
  ir_ref from[MAX_NEST], to[MAX_NEST], tile_range[2];
  uint32_t outer = inner == s->write_axis ? s->read_axis : s->write_axis;
  tile_range[outer == s->read_axis] = loop_fresh_range(&s->n, ir_index(g, s->width[outer == s->read_axis]));
  tile_range[inner == s->read_axis] = loop_fresh_range(&s->n, ir_index(g, s->width[inner == s->read_axis]));
  for (uint32_t a = 0; a < s->n.axis_count; a++) {
    from[a] = s->n.axes[a].range, to[a] = s->start[a];
    if (a == s->write_axis || a == s->read_axis) to[a] = pass_add(g, to[a], tile_range[a == s->read_axis]);
  }
  *at = pass_add(g, pass_mul_int(g, tile_range[0], s->width[1] + ROW_PAD), tile_range[1]);
  for (uint32_t i = 0; i < s->count; i++)
    loads[i] = pass_substitute(g, s->load[i], from, to, s->n.axis_count);
  return pass_substitute(g, root, from, to, s->n.axis_count);
}

static ir_ref local_of(const staging *s, uint32_t i) {
  ir_graph *g = s->n.g;
  return ir_make(g, IR_OP_LOCAL, ir_dtype_of(g, s->load[i]), ir_pack_arg(i, 0),
                 (ir_ref[]){ir_index(g, local_size(s)), s->iteration}, 2);
}

/* Stores what a load reads in its local. */
static ir_ref stage_load(staging *s, uint32_t i) {
  ir_ref at, loads[MAX_STAGED], value = in_tile(s, s->load[i], s->read_axis, &at, loads);
  if (!value || !at) return 0;
  return ir_make(s->n.g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){local_of(s, i), at, value}, 3);
}

static ir_ref write_tile(staging *s) {
  ir_graph *g = s->n.g;
  ir_ref at, loads[MAX_STAGED], staged[MAX_STAGED], store = in_tile(s, s->n.store, s->write_axis, &at, loads);
  for (uint32_t i = 0; i < s->count && store; i++) {
    ir_dtype t = ir_dtype_of(g, s->load[i]);
    ir_ref zero = ir_is_float(t) ? ir_float(g, t, 0) : t == IR_BOOL ? ir_bool(g, false) : ir_int(g, t, 0);
    staged[i] = ir_make(g, IR_OP_LOAD, t, 0, (ir_ref[]){local_of(s, i), at, ir_bool(g, true), zero}, 4);
    if (!loads[i] || !staged[i]) return 0;
  }
  return store ? pass_substitute(g, store, loads, staged, s->count) : 0;
}

ir_ref loop_stage_tiles(ir_graph *g, ir_ref effect, const ir_target *target) {
  loop_stores stores;
  if (!loop_list_stores(g, effect, &stores)) return 0;
  if (stores.count != 1) return effect;
  staging s = {.n = {.g = g, .target = target, .strategy = &pass_on_gpu, .store = stores.store[0]}};
  if (!loop_find_axes(&s.n)) return 0;
  loop_merge_axes(&s.n, false);
  if (!plan_tiles(&s)) return effect;
  if (!start_iterations(&s)) return 0;
  for (uint32_t i = 0; i <= s.count; i++)
    if (!(stores.store[i] = i < s.count ? stage_load(&s, i) : write_tile(&s))) return 0;
  return loop_sequence(g, stores.store, s.count + 1);
}
