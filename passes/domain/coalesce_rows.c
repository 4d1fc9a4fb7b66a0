/* Row coalescing: rows that masks have split into chunks become one contiguous loop. Where a window is moved
 * by a column, each row of the output is a column of fill and the others of a copy, or the other way round:
 * chunks so short that their vectors begin anywhere. If rows follow one another in memory both where they are
 * read and where they are written, then
 *
 *   for y in 0..Y { fill row y, columns [0, c);  copy row y, columns [c, R) }
 *
 * visits t = y*R + x without gaps in both, and is
 *
 *   for t in 0..Y*R { store [base+t] = (t % R >= c) ? load [from+t] : fill }
 *
 * whose vectors begin where cache lines do. Which vector lanes hold columns of the fill repeats after lcm(R,
 * lanes) elements: unrolled that far (passes/loops/cpu/unroll.c) the masks are constants. This needs masked
 * loads (ir_target.has_masks), and a short period. */
#include "domain.h"

#include "ir/arith.h"
#include "passes/index/index.h"
#include "passes/loops/loops.h"

enum {
  MAX_CHUNKS = 3, /* of a row: fill, copy, fill; rows of more stay as they are */
  /* loads of a chunk's value [1 in the workloads] from which on rows stay as they are: each takes a mask */
  TOO_MANY_LOADS = 5
};

/* A chunk of each row: columns [column, column + width), relative to where the first store begins. */
typedef struct row_chunk {
  ir_ref store, range; /* along the row; 0: the chunk is one column wide */
  ir_ref begin;        /* index of row 0's first column */
  int64_t column, width;
} row_chunk;

typedef struct rows {
  ir_graph *g;
  row_chunk row_chunks[MAX_CHUNKS]; /* ascending by column */
  uint32_t count, shared;           /* shared: outer axes that all chunks have, the last of which is `y` */
  ir_ref y;
  int64_t height, row; /* rows; elements of a row */
} rows;

/* *begin: the index where both ranges are 0. False unless it moves by r->row along y and, where x is not 0,
 * by one along x. */
static bool read_place(const rows *r, ir_ref index, ir_ref x, ir_ref *begin) {
  ir_ref from[] = {r->y, x}, to[] = {ir_index(r->g, 0), ir_index(r->g, 0)};
  int64_t down, along = 1;
  if (!affine_stride(r->g, index, r->y, &down) || down != r->row) return false;
  if (x && (!affine_stride(r->g, index, x, &along) || along != 1)) return false;
  *begin = pass_substitute(r->g, index, from, to, x ? 2 : 1);
  return *begin != 0;
}

/* Adds the store as a chunk, where it is one; its axes are the shared ones and at most one more. */
static bool add_chunk(rows *r, ir_ref store) {
  ir_graph *g = r->g;
  const ir_node *n = ir_get(g, store);
  loop_nest nest = {.g = g, .store = store};
  row_chunk *p = &r->row_chunks[r->count];
  int64_t row;
  if (r->count == MAX_CHUNKS || n->op != IR_OP_STORE || !loop_find_axes(&nest)) return false;
  if (!r->count) { /* a chunk of one column has no range */
    bool thin =
        nest.axis_count && affine_stride(g, n->src[1], nest.axes[nest.axis_count - 1].range, &row) && row > 1;
    r->shared = nest.axis_count - !thin;
    if (nest.axis_count < 1u + !thin) return false;
    r->y = nest.axes[r->shared - 1].range;
    if (!affine_stride(g, n->src[1], r->y, &r->row) || r->row < 2 ||
        !ir_is_const(g, ir_src(g, r->y, 0), &r->height))
      return false;
  }
  if (nest.axis_count < r->shared || nest.axis_count > r->shared + 1 ||
      nest.axes[r->shared - 1].range != r->y)
    return false;
  const ir_node *first = r->count ? ir_get(g, r->row_chunks[0].store) : n;
  *p = (row_chunk){.store = store, .width = 1};
  if (nest.axis_count > r->shared) {
    p->range = nest.axes[r->shared].range;
    if (!ir_is_const(g, ir_src(g, p->range, 0), &p->width)) return false;
  }
  if (n->src[0] != first->src[0] || n->arg != first->arg || !read_place(r, n->src[1], p->range, &p->begin) ||
      !ir_is_const(g, pass_sub(g, p->begin, r->row_chunks[0].begin), &p->column))
    return false;
  r->count++;
  return true;
}

/* Sorts chunks by column; true where they cover a whole row, each column once. */
static bool fill_rows(rows *r) {
  for (uint32_t i = 1; i < r->count; i++)
    for (uint32_t k = i; k > 0 && r->row_chunks[k].column < r->row_chunks[k - 1].column; k--) {
      row_chunk swap = r->row_chunks[k];
      r->row_chunks[k] = r->row_chunks[k - 1], r->row_chunks[k - 1] = swap;
    }
  int64_t at = r->row_chunks[0].column;
  for (uint32_t i = 0; i < r->count; at += r->row_chunks[i++].width)
    if (r->row_chunks[i].column != at) return false;
  return r->count > 1 && at - r->row_chunks[0].column == r->row;
}

/* Does the node depend on the row, or on the column? */
static bool depends_on_point(const rows *r, const row_chunk *p, ir_ref node) {
  return affine_depends(r->g, node, r->y) || (p->range && affine_depends(r->g, node, p->range));
}

static bool has_mask(const ir_graph *g, ir_ref load) {
  int bytes = ir_dtypes[ir_dtype_of(g, load)].bytes;
  return bytes == 4 || bytes == 8;
}

/* The chunk's value at index t of the contiguous loop, where `inside` holds; 0 unless it consists of values
 * that are the same for all rows and of loads that are contiguous across rows. */
static ir_ref value_at(const rows *r, const row_chunk *p, ir_ref t, ir_ref inside) {
  ir_graph *g = r->g;
  ir_ref value = ir_src(g, p->store, 2), loads[TOO_MANY_LOADS], now[TOO_MANY_LOADS];
  uint32_t count = affine_find_range(g, value, IR_OP_LOAD, loads, TOO_MANY_LOADS);
  if (count == TOO_MANY_LOADS) return 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node load = *ir_get(g, loads[i]);
    ir_ref begin;
    now[i] = loads[i];
    if (!depends_on_point(r, p, loads[i])) continue;
    if (!ir_is_true(g, load.src[2]) || !has_mask(g, loads[i]) ||
        !read_place(r, load.src[1], p->range, &begin))
      return 0;
    ir_ref index = pass_add(g, begin, pass_add_int(g, t, r->row_chunks[0].column - p->column));
    ir_ref src[] = {load.src[0], index, inside, load.src[3]};
    now[i] = ir_make(g, IR_OP_LOAD, (ir_dtype)load.dtype, load.arg, src, 4);
  }
  value = pass_substitute(g, value, loads, now, count);
  return value && !depends_on_point(r, p, value) ? value : 0;
}

/* `value` where inside holds, else `other`; a load whose fill value is `other` where that is a constant. */
static ir_ref select_value(ir_graph *g, ir_ref inside, ir_ref value, ir_ref other) {
  const ir_node *n = ir_get(g, value);
  if (n->op != IR_OP_LOAD || n->src[2] != inside || ir_op_of(g, other) != IR_OP_CONST)
    return pass_where(g, inside, value, other);
  ir_ref src[] = {n->src[0], n->src[1], inside, other};
  return ir_make(g, IR_OP_LOAD, (ir_dtype)n->dtype, n->arg, src, 4);
}

/* One store for all rows; 0 where there is none. */
static ir_ref coalesced(const rows *r, int64_t next_range) {
  ir_graph *g = r->g;
  const ir_node store = *ir_get(g, r->row_chunks[0].store);
  ir_ref size = ir_index(g, r->height * r->row), all = 0;
  ir_ref t = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(next_range, 0), &size, 1);
  ir_ref column = pass_mod_int(g, t, r->row), index = pass_add(g, r->row_chunks[0].begin, t);
  if (!column || !index) return 0;
  for (uint32_t i = 0; i < r->count; i++) {
    const row_chunk *p = &r->row_chunks[i];
    int64_t first = p->column - r->row_chunks[0].column;
    ir_ref after = pass_compare(g, IR_OP_GE, column, ir_index(g, first));
    ir_ref before = pass_compare(g, IR_OP_LT, column, ir_index(g, first + p->width));
    ir_ref value = after && before ? value_at(r, p, t, pass_and(g, after, before)) : 0;
    if (!value) return 0;
    bool fill = ir_op_of(g, value) == IR_OP_CONST;
    if (!all) all = value;
    else if (fill) all = select_value(g, pass_not(g, after), all, value);
    else all = select_value(g, after, value, all);
  }
  ir_ref src[] = {store.src[0], index, all};
  return all ? ir_make(g, IR_OP_STORE, IR_NONE, store.arg, src, 3) : 0;
}

/* Is the period after which the masks repeat short, and no longer than the loop? */
static bool repeats_soon(const rows *r, const ir_target *target) {
  int64_t lanes =
      target->vector_bytes / ir_dtypes[ir_dtype_of(r->g, ir_src(r->g, r->row_chunks[0].store, 2))].bytes;
  int64_t period_vectors = r->row / ir_gcd(r->row, lanes), length;
  return period_vectors <= LOOP_MAX_REPEATED && ir_mul_ok(r->height, r->row, &length) &&
         length >= period_vectors * lanes;
}

ir_ref pass_coalesce_rows(ir_graph *g, ir_ref effect, const ir_target *target) {
  loop_stores stores;
  ir_ref made[MAX_STORES];
  uint32_t used = 0;
  bool changed = false;
  if (!target->has_masks || ir_op_of(g, effect) != IR_OP_SEQ) return effect;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  for (uint32_t i = 0, end; i < stores.count; i = end) {
    rows r = {.g = g};
    bool taken = add_chunk(&r, stores.store[i]);
    for (end = i + 1; taken && end < stores.count && affine_depends(g, stores.store[end], r.y); end++)
      taken = add_chunk(&r, stores.store[end]);
    ir_ref coalesced_store =
        taken && fill_rows(&r) && repeats_soon(&r, target) ? coalesced(&r, stores.next_range) : 0;
    if (g->error->status != IR_OK) return 0;
    if (!coalesced_store) end = i + 1;
    made[used++] = coalesced_store ? coalesced_store : stores.store[i];
    stores.next_range += coalesced_store != 0;
    changed |= coalesced_store != 0;
  }
  return changed ? loop_sequence(g, made, used) : effect;
}
