/* Rows that masks have cut, made one run again. Where a window is moved by a column, each row of the output
 * is a column of fill and the others of a copy, or the other way round: pieces so short that their vectors
 * begin anywhere. If rows follow one another in memory where they are read as where they are written, then
 *
 *   for y in 0..Y { fill row y, columns [0, c);  copy row y, columns [c, R) }
 *
 * walks one run t = y*R + x in both, and is
 *
 *   for t in 0..Y*R { store [base+t] = (t % R >= c) ? load [from+t] : fill }
 *
 * whose vectors begin where lines do. Which of their lanes are columns of the fill repeats after
 * lcm(R, lanes) elements: with as many copies side by side (passes/loops/unroll.c) these masks are constants.
 * It takes loads under masks (ir_target.has_masks) and that the repetition is short. */
#include "domain.h"

#include "ir/arith.h"
#include "passes/index/index.h"
#include "passes/loops/loops.h"

enum { MOST_PARTS = 3, MOST_LOADS = 5 };

/* A part of each row: columns [column, column + width), relative to where the first store begins. */
typedef struct part {
  ir_ref store, range; /* along the row; 0 where it is one column wide */
  ir_ref begin;        /* index of row 0's first column */
  int64_t column, width;
} part;

typedef struct rows {
  ir_graph *g;
  part parts[MOST_PARTS]; /* by their columns */
  uint32_t count, shared; /* axes shared, the last of which is `y` */
  ir_ref y;
  int64_t height, row; /* of how many elements */
} rows;

/* Index where both ranges are at 0, if it moves by `row` along y, and by one along x. */
static bool read_place(const rows *r, ir_ref index, ir_ref x, ir_ref *begin) {
  ir_ref from[] = {r->y, x}, to[] = {ir_index(r->g, 0), ir_index(r->g, 0)};
  int64_t down, along = 1;
  if (!loop_stride(r->g, index, r->y, &down) || down != r->row) return false;
  if (x && (!loop_stride(r->g, index, x, &along) || along != 1)) return false;
  *begin = pass_substitute(r->g, index, from, to, x ? 2 : 1);
  return *begin != 0;
}

/* Takes the store as a part, where it is one; its axes are the shared ones and at most one more. */
static bool take_part(rows *r, ir_ref store) {
  ir_graph *g = r->g;
  const ir_node *n = ir_get(g, store);
  loop_nest nest = {.g = g, .store = store};
  part *p = &r->parts[r->count];
  int64_t row;
  if (r->count == MOST_PARTS || n->op != IR_OP_STORE || !loop_find_axes(&nest)) return false;
  if (!r->count) { /* a part of one column has no range */
    bool thin =
        nest.axis_count && loop_stride(g, n->src[1], nest.axes[nest.axis_count - 1].range, &row) && row > 1;
    r->shared = nest.axis_count - !thin;
    if (nest.axis_count < 1u + !thin) return false;
    r->y = nest.axes[r->shared - 1].range;
    if (!loop_stride(g, n->src[1], r->y, &r->row) || r->row < 2 ||
        !ir_is_const(g, ir_src(g, r->y, 0), &r->height))
      return false;
  }
  if (nest.axis_count < r->shared || nest.axis_count > r->shared + 1 ||
      nest.axes[r->shared - 1].range != r->y)
    return false;
  const ir_node *first = r->count ? ir_get(g, r->parts[0].store) : n;
  *p = (part){.store = store, .width = 1};
  if (nest.axis_count > r->shared) {
    p->range = nest.axes[r->shared].range;
    if (!ir_is_const(g, ir_src(g, p->range, 0), &p->width)) return false;
  }
  if (n->src[0] != first->src[0] || n->arg != first->arg || !read_place(r, n->src[1], p->range, &p->begin) ||
      !ir_is_const(g, pass_sub(g, p->begin, r->parts[0].begin), &p->column))
    return false;
  r->count++;
  return true;
}

/* By their columns; true where these are those of a whole row, each once. */
static bool fill_rows(rows *r) {
  for (uint32_t i = 1; i < r->count; i++)
    for (uint32_t k = i; k > 0 && r->parts[k].column < r->parts[k - 1].column; k--) {
      part swap = r->parts[k];
      r->parts[k] = r->parts[k - 1], r->parts[k - 1] = swap;
    }
  int64_t at = r->parts[0].column;
  for (uint32_t i = 0; i < r->count; at += r->parts[i++].width)
    if (r->parts[i].column != at) return false;
  return r->count > 1 && at - r->parts[0].column == r->row;
}

/* Does it depend on the row, or on where in the row? */
static bool moves(const rows *r, const part *p, ir_ref node) {
  return loop_depends(r->g, node, r->y) || (p->range && loop_depends(r->g, node, p->range));
}

static bool has_mask(const ir_graph *g, ir_ref load) {
  int bytes = ir_dtypes[ir_dtype_of(g, load)].bytes;
  return bytes == 4 || bytes == 8;
}

/* The part's value at position t of the run, where that is inside the part; 0 where it is not made of values
 * that are the same for all rows, and of loads that walk the run. */
static ir_ref value_at(const rows *r, const part *p, ir_ref t, ir_ref inside) {
  ir_graph *g = r->g;
  ir_ref value = ir_src(g, p->store, 2), loads[MOST_LOADS], now[MOST_LOADS];
  uint32_t count = loop_find(g, value, IR_OP_LOAD, loads, MOST_LOADS);
  if (count == MOST_LOADS) return 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node load = *ir_get(g, loads[i]);
    ir_ref begin;
    now[i] = loads[i];
    if (!moves(r, p, loads[i])) continue;
    if (!ir_is_true(g, load.src[2]) || !has_mask(g, loads[i]) ||
        !read_place(r, load.src[1], p->range, &begin))
      return 0;
    ir_ref index = pass_add(g, begin, pass_add_int(g, t, r->parts[0].column - p->column));
    ir_ref src[] = {load.src[0], index, inside, load.src[3]};
    now[i] = ir_make(g, IR_OP_LOAD, (ir_dtype)load.dtype, load.arg, src, 4);
  }
  value = pass_substitute(g, value, loads, now, count);
  return value && !moves(r, p, value) ? value : 0;
}

/* `value` inside, else `other`: of one load that is the one where the other is a constant. */
static ir_ref chosen(ir_graph *g, ir_ref inside, ir_ref value, ir_ref other) {
  const ir_node *n = ir_get(g, value);
  if (n->op != IR_OP_LOAD || n->src[2] != inside || ir_op_of(g, other) != IR_OP_CONST)
    return pass_where(g, inside, value, other);
  ir_ref src[] = {n->src[0], n->src[1], inside, other};
  return ir_make(g, IR_OP_LOAD, (ir_dtype)n->dtype, n->arg, src, 4);
}

/* One store of all rows; 0 where there is none. */
static ir_ref woven(const rows *r, int64_t next_range) {
  ir_graph *g = r->g;
  const ir_node store = *ir_get(g, r->parts[0].store);
  ir_ref size = ir_index(g, r->height * r->row), all = 0;
  ir_ref t = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(next_range, 0), &size, 1);
  ir_ref column = pass_mod_int(g, t, r->row), index = pass_add(g, r->parts[0].begin, t);
  if (!column || !index) return 0;
  for (uint32_t i = 0; i < r->count; i++) {
    const part *p = &r->parts[i];
    int64_t first = p->column - r->parts[0].column;
    ir_ref after = pass_compare(g, IR_OP_GE, column, ir_index(g, first));
    ir_ref before = pass_compare(g, IR_OP_LT, column, ir_index(g, first + p->width));
    ir_ref value = after && before ? value_at(r, p, t, pass_and(g, after, before)) : 0;
    if (!value) return 0;
    bool fill = ir_op_of(g, value) == IR_OP_CONST;
    if (!all) all = value;
    else if (fill) all = chosen(g, pass_not(g, after), all, value);
    else all = chosen(g, after, value, all);
  }
  ir_ref src[] = {store.src[0], index, all};
  return all ? ir_make(g, IR_OP_STORE, IR_NONE, store.arg, src, 3) : 0;
}

/* Is the run longer than what its masks repeat after, and that short? */
static bool repeats_soon(const rows *r, const ir_target *target) {
  int64_t lanes =
      target->vector_bytes / ir_dtypes[ir_dtype_of(r->g, ir_src(r->g, r->parts[0].store, 2))].bytes;
  int64_t copies = r->row / ir_gcd(r->row, lanes), length;
  return copies <= LOOP_MOST_REPEATED && ir_mul_ok(r->height, r->row, &length) && length >= copies * lanes;
}

ir_ref pass_weave(ir_graph *g, ir_ref effect, const ir_target *target) {
  loop_stores stores;
  ir_ref made[MAX_STORES];
  uint32_t used = 0;
  bool changed = false;
  if (!target->has_masks || ir_op_of(g, effect) != IR_OP_SEQ) return effect;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  for (uint32_t i = 0, end; i < stores.count; i = end) {
    rows r = {.g = g};
    bool taken = take_part(&r, stores.store[i]);
    for (end = i + 1; taken && end < stores.count && loop_depends(g, stores.store[end], r.y); end++)
      taken = take_part(&r, stores.store[end]);
    ir_ref run = taken && fill_rows(&r) && repeats_soon(&r, target) ? woven(&r, stores.next_range) : 0;
    if (g->error->status != IR_OK) return 0;
    if (!run) end = i + 1;
    made[used++] = run ? run : stores.store[i];
    stores.next_range += run != 0;
    changed |= run != 0;
  }
  return changed ? loop_sequence(g, made, used) : effect;
}
