/* The tile of a product: the rows and columns of a group, which of them are whose work-item's, and the terms
 * that are staged at a time.
 *
 * By multiply-adds, the tile is as near a square as work-items make it. By matrix instructions, the
 * work-items of a sub-group form rows of four: each has rows of the tile as far apart as there are such rows,
 * and pairs of neighbouring columns, so that of every 16 rows and 8 columns each work-item has the four sums
 * that the instruction gives it (codegen/opencl/matrix.c). */
#include "gpu.h"

enum {
  SIDE_UNROLL = 8, /* rows, and columns, of a work-item's product: 64 sums leave half of 128 registers, and
                      each element that is read from a local serves eight sums */
  CONTIGUOUS = 4,  /* contiguous width of these: a vector load of 16 bytes of f32 */
  ROW_ITEMS = IR_MATRIX_ITEMS / IR_MATRIX_COLUMN_ITEMS,
  PAIR = 2, /* neighbouring columns, and rows eight apart, whose sums a work-item has from one instruction */
  /* terms of a K block: of both operands of a tile of 128 x 128 f32 they fill 32 KiB, which every device has
   */
  MAX_K_TERMS = 32,
  K_TERMS = 16, /* of a K block where no divisor of all terms lies between the two others */
  MAX_AHEAD = 4 /* elements of each operand that a work-item holds in registers until they are stored: 72
                   beside 64 sums, which leaves most of 128 registers to them */
};

/* Is the tile whole everywhere: is there no remainder along the axis? */
static bool is_whole(const loop_nest *n, const loop_axis *a, int64_t tile) {
  int64_t size;
  return ir_is_const(n->g, a->extent, &size) && size >= tile && (a->overlaps || size % tile == 0);
}

/* by multiply-adds */

/* The tile of a group: along each side the work-items, and the unroll factor of each. */
typedef struct group_tile {
  int64_t rows, columns; /* of the whole result */
  int row_items, column_items, row_unroll, column_unroll;
} group_tile;

static int64_t tiles(int64_t size, int64_t step) { return (size + step - 1) / step; }

static int64_t groups_of(const group_tile *t) {
  return loop_saturated(tiles(t->rows, t->row_items * t->row_unroll),
                        tiles(t->columns, t->column_items * t->column_unroll));
}

/* Is a side of so many work-items and unrolled values twice as long as the axis? */
static bool is_long(int64_t size, int items, int unroll) { return items * unroll / 2 >= size; }

/* As near a square as work-items make it, unrolled along both sides as far as registers hold sums. A side
 * that is longer than the result is halved: first its unroll factor, then its work-items, those of rows going
 * to the columns. Smaller unroll factors while there are few groups. */
static group_tile choose_group_tile(const loop_nest *n, int64_t rows, int64_t columns, int64_t batch) {
  /* of rows: an element of a column serves two sums, where it otherwise serves one */
  enum { MIN_UNROLL = 2 };
  int items = loop_group_size(n);
  group_tile t = {rows, columns, 1, items, SIDE_UNROLL, SIDE_UNROLL};
  while (t.column_items > t.row_items) t.column_items /= 2, t.row_items *= 2;
  if (t.column_items < t.row_items) t.column_items *= 2, t.row_items /= 2; /* wide rather than high */
  while (t.row_items > 1 && is_long(rows, t.row_items, t.row_unroll)) {
    if (t.row_unroll > MIN_UNROLL) t.row_unroll /= 2;
    else t.row_items /= 2, t.column_items *= 2;
  }
  while (t.column_items > 1 && is_long(columns, t.column_items, t.column_unroll)) {
    if (t.column_unroll > 1) t.column_unroll /= 2;
    else t.column_items /= 2;
  }
  while (loop_saturated(batch, groups_of(&t)) < IR_BUSY_GROUPS / 2 &&
         (t.row_unroll > MIN_UNROLL || t.column_unroll > MIN_UNROLL))
    if (t.row_unroll > t.column_unroll) t.row_unroll /= 2;
    else t.column_unroll /= 2;
  return t;
}

/* The contiguous width of unrolled elements, which are read together from a local; 0 where some tile of the
 * axis is not whole. */
static int contiguous_unroll(const loop_nest *n, const loop_axis *a) {
  bool whole = is_whole(n, a, (int64_t)a->lanes * a->unroll);
  return whole && a->lanes > 1 && a->unroll % CONTIGUOUS == 0 ? CONTIGUOUS : 0;
}

/* by matrix instructions */

bool loop_is_matrix_tile(const loop_nest *n, const loop_axis *row, const loop_axis *column) {
  return column == &n->axes[n->lane_axis] && column->lanes == IR_MATRIX_COLUMN_ITEMS &&
         row->lanes % ROW_ITEMS == 0 && row->unroll % PAIR == 0 && column->unroll % PAIR == 0;
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

static bool choose_matrix(loop_nest *n, ir_ref reduce, loop_axis *row, loop_axis *column, int64_t batch) {
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

void loop_choose_product_tile(loop_nest *n, ir_ref reduce, loop_axis *row, loop_axis *column, int64_t batch) {
  if (choose_matrix(n, reduce, row, column, batch)) return;
  group_tile t =
      choose_group_tile(n, ir_bounds_of(n->g, row->extent).hi, ir_bounds_of(n->g, column->extent).hi, batch);
  column->lanes = t.column_items, column->unroll = t.column_unroll;
  row->lanes = t.row_items, row->unroll = t.row_unroll;
  column->overlaps = row->overlaps = loop_is_repeatable(n);
  column->contiguous_elements = contiguous_unroll(n, column),
  row->contiguous_elements = contiguous_unroll(n, row);
}

/* K blocks */

/* Is there room for two K blocks of so many terms, does each work-item copy few elements of a block, and are
 * there several blocks? */
static bool fits_ahead(const loop_k_room *r, int64_t terms) {
  bool few = true;
  for (int i = 0; i < 2; i++) few &= r->width[i] * terms <= (int64_t)MAX_AHEAD * r->items;
  return few && 2 * terms * r->bytes_each <= r->bytes && r->all > terms;
}

/* Terms of a K block for double buffering, a divisor of all terms if possible; 0: none fits. */
static int64_t k_block_ahead(const loop_k_room *r) {
  int64_t most = 0;
  for (int64_t terms = MAX_K_TERMS; terms >= LOOP_MIN_K_TERMS; terms -= LOOP_MIN_K_TERMS) {
    if (!fits_ahead(r, terms)) continue;
    if (r->all % terms == 0) return terms;
    if (!most) most = terms;
  }
  return most;
}

int64_t loop_choose_k_block(const loop_k_room *r, bool *ahead) {
  int64_t most = k_block_ahead(r);
  if ((*ahead = most > 0)) return most;
  most = MAX_K_TERMS;
  while (most >= LOOP_MIN_K_TERMS && most * r->bytes_each > r->bytes / 2) most--;
  if (most > r->all) most = r->all;
  for (int64_t terms = most; terms >= LOOP_MIN_K_TERMS; terms--)
    if (r->all % terms == 0 && (terms % LOOP_MIN_K_TERMS == 0 || terms == r->all)) return terms;
  return most < K_TERMS ? most : K_TERMS;
}
