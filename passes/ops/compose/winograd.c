/* Convolutions of 3 elements along each axis by Winograd's minimal filtering.
 *
 * The m results at m neighbouring places are F(m, 3) = A^T [(G w) * (B^T d)], with d the m + 2 elements that
 * they need and w the weight: m + 2 multiplications in place of 3 m. Along several axes the transforms nest.
 * With channels, the multiplications are (m + 2)^axes products of matrices, [tiles, channels] by [channels,
 * results].
 *
 *   S. Winograd, Arithmetic Complexity of Computations, SIAM 1980
 *   A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks, CVPR 2016 (the matrices)
 *
 * Sums of transformed elements round in other places than the sum over the window: results are right relative
 * to the largest of the tile, not each to its own terms. So they are for graphs that say precision=relaxed.
 */
#include "conv.h"

enum {
  TAPS = 3,       /* elements of the window, along each axis */
  MOST_AXES = 2,  /* of space */
  MOST_SIZE = 4,  /* m + 2 */
  MOST_PARTS = 16 /* MOST_SIZE^MOST_AXES */
};

/* What else a tile costs, in multiply-adds. Which form is taken changes the bits of the result, so it follows
 * from the shapes alone, and these are numbers of one machine, not of the machine at hand. */
enum { MOVED = 47 }; /* because an element and its transform take 0.83 ns, at 57 G/s (Zen 4, 64 x 56 x 56) */
enum { STREAMED = 23 }; /* because an element of a weight takes 0.4 ns from memory (10 GB/s, one thread) */
/* The part of the time that has to be saved. A weight that is no constant is transformed in each run, and the
 * form is the same for both: 512 channels on 7 x 7 take 2.1 ms in both forms with constants, and 1.6 to 1.8
 * times as long as the sum over the window without (Zen 4). */
static const double LEAST_SAVED = 0.05;

/* F(m, 3); rows of the matrices. */
typedef struct filtering {
  int results, size; /* m, m + 2 */
  double data[MOST_SIZE][MOST_SIZE], weight[MOST_SIZE][MOST_SIZE], result[MOST_SIZE][MOST_SIZE];
} filtering;

/* of the points 0, 1, -1 and infinity: only halves and ones, so its error is a few times that of the sum */
static const filtering TWO = {
    .results = 2,
    .size = 4,
    .data = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
    .weight = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    .result = {{1, 1, 1, 0}, {0, 1, -1, -1}},
};

/* One of the three matrices. */
typedef struct matrix {
  int rows, columns;
  const double *at; /* MOST_SIZE numbers a row */
} matrix;

static size_t power(int base, size_t axes) {
  size_t all = 1;
  for (size_t i = 0; i < axes; i++) all *= (size_t)base;
  return all;
}

/* M along every axis of columns^axes tensors x: element `row` of the rows^axes results, row-major. Its terms
 * are added one after the other, and no sum of some of them is shared with other results: so each transform
 * is one kernel that keeps nothing but its results, for a few additions more. */
static ir_ref transformed(ir_graph *g, const matrix *m, const ir_ref *x, size_t axes, size_t row) {
  ir_ref sum = 0;
  for (size_t column = 0; column < power(m->columns, axes); column++) {
    double f = 1;
    size_t r = row, c = column;
    for (size_t i = 0; i < axes; i++, r /= (size_t)m->rows, c /= (size_t)m->columns)
      f *= m->at[r % (size_t)m->rows * MOST_SIZE + c % (size_t)m->columns];
    if (f == 0 || !x[column]) continue;
    bool same = f == 1 || (f == -1 && sum);
    ir_ref term = same ? x[column] : op_mul(g, x[column], ir_float(g, ir_dtype_of(g, x[column]), f));
    sum = !sum ? term : f == -1 ? op_sub(g, sum, term) : op_add(g, sum, term);
  }
  return sum;
}

/* All of them, stacked along the axis `to`, where the elements of x lie along its last axes. */
static ir_ref transform_last(ir_graph *g, const matrix *m, ir_ref x, size_t axes, int64_t to) {
  ir_ref points[MOST_PARTS], made[MOST_PARTS];
  size_t columns = power(m->columns, axes), rows = power(m->rows, axes);
  uint32_t rank = x ? ir_rank(g, x) : 0;
  for (size_t i = 0; i < columns; i++) {
    ir_ref at = x;
    size_t k = i;
    for (size_t a = 0; a < axes && at; a++, k /= (size_t)m->columns)
      at = op_point(g, at, ir_index(g, (int64_t)(k % (size_t)m->columns)), (int64_t)(rank - 1 - a));
    points[i] = at;
  }
  for (size_t i = 0; i < rows; i++) made[i] = transformed(g, m, points, axes, i);
  return op_stack(g, made, rows, to);
}

static int64_t known(ir_graph *g, ir_ref size) {
  int64_t n = 0;
  return ir_is_const(g, size, &n) ? n : 0;
}

bool op_conv_is_winograd(ir_graph *g, const op_convolution *c) {
  const filtering *f = &TWO;
  double channels = (double)known(g, ir_dim(g, c->weight, 1)),
         results = (double)known(g, ir_dim(g, c->weight, 0));
  double images = (double)known(g, ir_dim(g, c->x, 0)), places = images > 0 ? images : 1, tiles = places;
  double window = 1, parts = 1;
  if (c->dtype == IR_BF16 && g->relaxed)
    return false; /* its products go in pairs (passes/pack/bf16_pairs.c) */
  if (!ir_is_float(c->dtype) || c->groups != 1 || c->axes > MOST_AXES) return false;
  for (size_t i = 0; i < c->axes; i++) {
    const op_window *w = &c->w[i];
    int64_t size = known(g, ir_dim(g, c->x, (uint32_t)(2 + i)));
    int64_t along = size + w->before + w->after - (TAPS - 1);
    if (w->extent != TAPS || w->stride != 1 || w->dilation != 1 || !size || along < 1) return false;
    places *= (double)along, tiles *= (double)((along + f->results - 1) / f->results);
    window *= TAPS, parts *= f->size;
  }
  double direct = window * (places + STREAMED) * channels * results;
  double filtered = parts * (tiles + STREAMED) * channels * results + MOVED * places * (channels + results);
  return filtered < direct * (1 - LEAST_SAVED);
}

/* x [batch, channels, places...] with what surrounds it, and with zeros up to a whole number of tiles, in
 * memory with its channels last: 16 sums of its elements would test each of them, 16 times. */
static ir_ref surrounded(ir_graph *g, const op_convolution *c, const int64_t *more) {
  ir_ref pads[2 * IR_MAX_RANK], zero = ir_index(g, 0);
  size_t rank = 2 + c->axes;
  for (size_t i = 0; i < rank; i++) pads[2 * i] = pads[2 * i + 1] = zero;
  for (size_t i = 0; i < c->axes; i++)
    pads[4 + 2 * i] = ir_index(g, c->w[i].before), pads[5 + 2 * i] = ir_index(g, c->w[i].after + more[i]);
  ir_ref last = op_move_axis(g, op_pad(g, c->x, pads, rank, 0, IR_PAD_CONSTANT), 1, -1);
  return op_move_axis(g, op_unary(g, IR_OP_STORED, last), -1, 1);
}

ir_ref op_conv_winograd(ir_graph *g, const op_convolution *c) {
  const filtering *f = &TWO;
  const matrix data_matrix = {f->size, f->size, f->data[0]}, weight_matrix = {f->size, TAPS, f->weight[0]},
               result_matrix = {f->results, f->size, f->result[0]};
  size_t m = c->axes;
  op_window w[MOST_AXES] = {{0}};
  ir_ref order[IR_MAX_RANK], dims[IR_MAX_RANK], bounds[2 * IR_MAX_RANK];
  int64_t places[MOST_AXES], more[MOST_AXES];
  for (size_t i = 0; i < m; i++) {
    places[i] = known(g, ir_dim(g, c->x, (uint32_t)(2 + i))) + c->w[i].before + c->w[i].after - (TAPS - 1);
    more[i] = (f->results - places[i] % f->results) % f->results;
    w[i] = (op_window){.extent = f->size, .stride = f->results, .dilation = 1};
  }
  ir_ref x =
      op_windows(g, c->who, surrounded(g, c, more), w, m, 0); /* [batch, channels, tiles..., indices...] */
  ir_ref data = transform_last(g, &data_matrix, op_move_axis(g, x, 1, (int64_t)(1 + m)), m, 0);
  ir_ref weight = op_swap_axes(g, transform_last(g, &weight_matrix, c->weight, m, 0), 1, 2);
  if (!data || !weight) return 0;
  uint32_t rank = ir_rank(g, data);
  ir_ref rows = ir_index(g, 1);
  for (uint32_t i = 1; i + 1 < rank; i++) rows = pass_mul(g, rows, ir_dim(g, data, i));
  dims[0] = ir_dim(g, data, 0), dims[1] = rows, dims[2] = ir_dim(g, data, rank - 1);
  ir_ref y = op_matmul(g, op_reshape(g, data, dims, 3), weight);
  for (uint32_t i = 1; i + 1 < rank; i++) dims[i - 1] = ir_dim(g, data, i);
  dims[rank - 2] = ir_dim(g, c->weight, 0);
  for (size_t i = 0; i < m; i++) dims[rank - 1 + i] = ir_index(g, f->size);
  y = op_reshape(g, op_move_axis(g, y, 0, -1), dims, rank - 1 + m);
  y = transform_last(g, &result_matrix, y, m, 0); /* [m^axes, batch, tiles..., results] */
  if (!y) return 0;
  size_t n = 0;
  for (size_t i = 0; i < m; i++) dims[n++] = ir_index(g, f->results);
  for (uint32_t i = 1; i < rank; i++) dims[n++] = ir_dim(g, y, i);
  y = op_reshape(g, y, dims, n);
  /* [batch, tile, m, tile, m..., results], of which a tile and its m are one axis */
  order[0] = ir_index(g, (int64_t)m), order[1 + 2 * m] = ir_index(g, (int64_t)(2 * m + 1));
  for (size_t i = 0; i < m; i++)
    order[1 + 2 * i] = ir_index(g, (int64_t)(m + 1 + i)), order[2 + 2 * i] = ir_index(g, (int64_t)i);
  y = op_permute(g, y, order, n);
  if (!y) return 0;
  dims[0] = ir_dim(g, y, 0), dims[1 + m] = ir_dim(g, y, (uint32_t)(1 + 2 * m));
  for (size_t i = 0; i < m; i++)
    dims[1 + i] = pass_mul_int(g, ir_dim(g, y, (uint32_t)(1 + 2 * i)), f->results);
  y = op_move_axis(g, op_reshape(g, y, dims, 2 + m), -1, 1);
  if (!y) return 0;
  for (uint32_t i = 0; i < 2 + m; i++)
    bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = i < 2 ? ir_dim(g, y, i) : ir_index(g, places[i - 2]);
  return op_shrink(g, y, bounds, 2 + m);
}
