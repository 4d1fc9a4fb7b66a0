/* Products of f16 or bf16 on targets with matrix instructions: the tile of a group. The work-items of a
 * sub-group form rows of four: each has rows of the tile as far apart as there are such rows, and pairs of
 * neighbouring columns, so that of every 16 rows and 8 columns each work-item has the four sums that the
 * instruction gives it (codegen/opencl/matrix.c).
 *
 * The instruction may truncate each addend where an f32 as large as the largest addend ends: an error of up
 * to 2u of that one for each term, and 2u of each sum. So the sum of a K block begins with zero, and is added
 * to the sum of the K blocks before it, rounded to nearest: of k terms, in K blocks of s of them, the error
 * is below (2.25 s + k/s) u of the sum of absolute products, and within k u of it where k is at least
 * MATRIX_MIN_TERMS and s at most MATRIX_TERMS. */
#include "gpu.h"

#include "passes/index/index.h"
#include "passes/patterns/contraction.h"

enum {
  ROW_ITEMS = IR_MATRIX_ITEMS / IR_MATRIX_COLUMN_ITEMS,
  PAIR = 2, /* neighbouring columns, and rows eight apart, whose sums a work-item has from one instruction */
  LINE_PAD = 8 /* elements of f16 between lines: 16 bytes, the unit in which locals are read */
};

ir_ref loop_narrow(const ir_graph *g, ir_ref value) {
  if (ir_op_of(g, value) != IR_OP_CAST || ir_dtype_of(g, value) != IR_F32) return 0;
  ir_ref from = ir_src(g, value, 0);
  ir_dtype t = ir_dtype_of(g, from);
  return t == IR_F16 || t == IR_BF16 ? from : 0;
}

bool loop_suits_matrix(const loop_nest *n, ir_ref reduce) {
  const ir_node *r = ir_get(n->g, reduce), *term = ir_get(n->g, r->src[0]);
  int64_t terms = 1, size;
  if (!n->target->matrix || n->target->together != IR_MATRIX_ITEMS || !n->target->has_fma ||
      r->dtype != IR_F32 || !pass_is_product(n->g, r->src[0]))
    return false;
  ir_ref a = loop_narrow(n->g, term->src[0]), b = loop_narrow(n->g, term->src[1]);
  for (uint32_t i = 1; i < r->nsrc; i++) {
    if (!ir_is_const(n->g, ir_src(n->g, r->src[i], 0), &size) || size < 1 || size > LOOP_MAX_WORK)
      return false;
    terms = terms * size < LOOP_MAX_WORK ? terms * size : LOOP_MAX_WORK;
  }
  return a && b && ir_dtype_of(n->g, a) == ir_dtype_of(n->g, b) && terms >= MATRIX_MIN_TERMS;
}

bool loop_is_matrix_tile(const loop_nest *n, const loop_axis *row, const loop_axis *column) {
  return column == &n->axes[n->lane_axis] && column->lanes == IR_MATRIX_COLUMN_ITEMS &&
         row->lanes % ROW_ITEMS == 0 && row->unroll % PAIR == 0 && column->unroll % PAIR == 0;
}

/* Is the tile whole everywhere: is there no remainder along the axis? */
static bool is_whole(const loop_nest *n, const loop_axis *a, int64_t tile) {
  int64_t size;
  return ir_is_const(n->g, a->extent, &size) && size >= tile && (a->overlaps || size % tile == 0);
}

/* Lines are padded against bank conflicts: eight rows, of any eight terms or of one after the other, are in
 * different banks 16 bytes at a time, or two by two where lines of a tile eight wide are read. */
int64_t loop_matrix_pitch(int64_t width, bool transposed) {
  return (transposed ? width : MATRIX_TERMS) + LINE_PAD;
}

int64_t loop_matrix_elements(int64_t width, bool transposed) {
  return (transposed ? MATRIX_TERMS : width) * loop_matrix_pitch(width, transposed);
}

/* Is there room for the locals of a tile, whichever sides are transposed? */
static bool has_room(const loop_nest *n, int64_t rows, int64_t columns) {
  const int64_t width[] = {rows, columns};
  int64_t elements = 0;
  for (int i = 0; i < 2; i++) {
    int64_t plain = loop_matrix_elements(width[i], false), transposed = loop_matrix_elements(width[i], true);
    elements += plain > transposed ? plain : transposed;
  }
  return elements * ir_dtypes[IR_BF16].bytes <= n->target->local_bytes - n->locals->bytes;
}

/* Is a result little more than its sum? Beside many sums a work-item's registers have no room for other
 * values of each result, nor for computing them. */
static bool is_bare(const loop_nest *n, ir_ref reduce, const loop_axis *row, const loop_axis *column) {
  enum {
    MAX_OPERATIONS = 4, /* on each result: a factor, a bias, an activation and a conversion */
    MAX_LEFT = 32 /* operands still to be visited: where there are more, the result is taken to be more */
  };
  ir_ref todo[MAX_LEFT] = {ir_src(n->g, n->store, 2)};
  uint32_t left = 1, operations = 0;
  while (left) {
    ir_ref ref = todo[--left];
    const ir_node *e = ir_get(n->g, ref);
    if (ref == reduce || !affine_depends(n->g, ref, row->range) || !affine_depends(n->g, ref, column->range))
      continue;
    if (e->op == IR_OP_LOAD || ++operations > MAX_OPERATIONS || left + ir_operand_count(e) > MAX_LEFT)
      return false;
    for (uint32_t i = 0; i < ir_operand_count(e); i++) todo[left++] = e->src[i];
  }
  return true;
}

/* Is the number of terms a multiple of that of a K block? */
static bool has_whole_k_blocks(const loop_nest *n, ir_ref reduce) {
  const ir_node *r = ir_get(n->g, reduce);
  int64_t terms = 1, size;
  for (uint32_t i = 1; i < r->nsrc; i++)
    if (ir_is_const(n->g, ir_src(n->g, r->src[i], 0), &size)) terms = terms * size % MATRIX_TERMS;
  return terms == 0;
}

bool loop_choose_matrix(loop_nest *n, ir_ref reduce, loop_axis *row, loop_axis *column, int64_t batch) {
  enum {
    ROW_UNROLL = 4,         /* rows of a work-item */
    MAX_COLUMN_UNROLL = 32, /* its columns where it holds little else: 128 sums, half of its 255 registers */
    COLUMN_UNROLL = 16,     /* its columns otherwise: 64 sums, beside what the results are computed from */
    MIN_COLUMN_UNROLL = 8   /* columns below which rows are halved first: 32 sums */
  };
  /* groups of the whole product: a compute unit has registers for one or two of them, not for four */
  enum { MIN_GROUPS = IR_BUSY_GROUPS / 2 };
  int64_t rows = ir_bounds_of(n->g, row->extent).hi, columns = ir_bounds_of(n->g, column->extent).hi;
  int items = loop_group_size(n), row_unroll = ROW_UNROLL, column_unroll = COLUMN_UNROLL;
  if (items < IR_MATRIX_ITEMS || !loop_suits_matrix(n, reduce)) return false;
  if (is_bare(n, reduce, row, column) && has_whole_k_blocks(n, reduce)) column_unroll = MAX_COLUMN_UNROLL;
  int row_items = items / IR_MATRIX_COLUMN_ITEMS;
  while (row_items > ROW_ITEMS && rows < row_items * row_unroll)
    if (row_unroll > PAIR) row_unroll /= 2;
    else row_items /= 2;
  if (rows < row_items * row_unroll) row_unroll = PAIR;
  while (column_unroll > PAIR && columns < IR_MATRIX_COLUMN_ITEMS * column_unroll) column_unroll /= 2;
  for (;;) { /* smaller while there are few groups, or there is no room */
    int64_t height = (int64_t)row_items * row_unroll, width = (int64_t)IR_MATRIX_COLUMN_ITEMS * column_unroll;
    bool room = has_room(n, height, width);
    if (rows * columns / (height * width) >= MIN_GROUPS / batch && room) break;
    if (column_unroll > MIN_COLUMN_UNROLL) column_unroll /= 2;
    else if (row_unroll > PAIR) row_unroll /= 2;
    else if (room) break;
    else return false;
  }
  bool overlaps = loop_is_repeatable(n);
  row->overlaps = column->overlaps = overlaps;
  if (!is_whole(n, row, (int64_t)row_items * row_unroll) ||
      !is_whole(n, column, (int64_t)IR_MATRIX_COLUMN_ITEMS * column_unroll))
    return false;
  row->lanes = row_items, row->unroll = row_unroll;
  column->lanes = IR_MATRIX_COLUMN_ITEMS, column->unroll = column_unroll;
  column->contiguous_elements = PAIR;
  return true;
}

/* Contiguous elements in memory are staged one unit at a time, in order of work-items. Where lines are the
 * terms of rows, 20 words apart in the local, neighbours stage rows that are four apart: so the stores of
 * work-items that run in lockstep go to different banks. */
ir_ref loop_matrix_unit(ir_graph *g, ir_ref copy, ir_ref item, int items, int64_t units, bool terms,
                        ir_ref *line) {
  enum { ROWS = 8, APART = 4 }; /* lines, of 32 terms, in an order in which ROWS of them alternate by APART */
  ir_ref number = pass_add(g, pass_mul_int(g, copy, items), item);
  ir_ref at = *line = pass_div_int(g, number, units);
  if (terms && items / units % ROWS == 0)
    *line = pass_add(g, pass_mul_int(g, pass_mod_int(g, at, 2), APART),
                     pass_add(g, pass_mod_int(g, pass_div_int(g, at, 2), APART),
                              pass_mul_int(g, pass_div_int(g, at, ROWS), ROWS)));
  return pass_mod_int(g, number, units);
}
