#include "test/lib/sum_graph.h"

#include <stdlib.h>

#include "passes/ops/compose/compose.h"

enum { STEPS = 8, MOST_ELEMENTS = 1 << 18 };

static int64_t pick(sum_graph *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static int64_t dim_of(sum_graph *p, ir_ref x, uint32_t axis) {
  int64_t size = 1;
  ir_is_const(&p->t.g, ir_dim(&p->t.g, x, axis), &size);
  return size;
}

/* Sizes on both sides of vectors, tiles, blocks and chunks. */
static int64_t some_size(sum_graph *p, int64_t most) {
  static const int64_t edges[] = {1,   3,   4,   7,   8,   15,   16,   17,   24,   31,
                                  33,  48,  63,  64,  65,  80,   96,   100,  127,  129,
                                  192, 255, 256, 300, 512, 1000, 1024, 2048, 4100, 9000};
  int64_t size = edges[pick(p, 0, sizeof edges / sizeof *edges - 1)];
  return size > most ? most < 1 ? 1 : most : size;
}

static ir_ref input(sum_graph *p, int64_t rows, int64_t columns) {
  ir_ref shape[] = {ir_index(&p->t.g, rows), ir_index(&p->t.g, columns)};
  return p->t.input_count == TRIAL_INPUTS ? 0 : trial_input(&p->t, p->dtype, shape, 2);
}

static ir_ref reduced(sum_graph *p, ir_ref x) {
  static const ir_op ops[] = {IR_OP_SUM, IR_OP_SUM, IR_OP_MEAN, IR_OP_REDUCE_MAX, IR_OP_PROD};
  ir_ref axis = ir_index(&p->t.g, pick(p, 0, 1));
  ir_ref y = op_reduce(&p->t.g, ops[pick(p, 0, 4)], x, &axis, 1, true);
  return pick(p, 0, 2) ? op_binary(&p->t.g, IR_OP_SUB, x, y) : y;
}

static ir_ref padded(sum_graph *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  ir_ref pads[4], bounds[4];
  for (int i = 0; i < 4; i++) pads[i] = ir_index(g, pick(p, 0, 2));
  ir_ref y = op_pad(g, x, pads, 2, op_literal_float(g, 0), IR_PAD_CONSTANT);
  for (uint32_t a = 0; y && a < 2; a++)
    bounds[2 * a] = ir_index(g, 0), bounds[2 * a + 1] = ir_index(g, dim_of(p, x, a));
  y = op_shrink(g, y, bounds, 2);
  return pick(p, 0, 1) ? op_binary(g, IR_OP_ADD, x, y) : y;
}

static ir_ref reshaped(sum_graph *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  int64_t rows = dim_of(p, x, 0), columns = dim_of(p, x, 1),
          by = columns % 4 == 0   ? 4
               : columns % 3 == 0 ? 3
                                  : 1;
  ir_ref shape[] = {ir_index(g, rows * by), ir_index(g, columns / by)};
  return op_reshape(g, x, shape, 2);
}

/* Rows in another order, some of them several times, or behind those of another tensor. */
static ir_ref moved(sum_graph *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  int64_t rows = dim_of(p, x, 0);
  ir_ref axis = ir_index(g, pick(p, 0, 1)), count = ir_index(g, pick(p, 1, 2) * rows);
  if (p->t.input_count == TRIAL_INPUTS) return 0;
  switch (pick(p, 0, 2)) {
  case 0: return op_flip(g, x, &axis, 1);
  case 1: return op_gather(g, x, trial_input(&p->t, IR_I32, &count, 1), 0, IR_GATHER_CLIP);
  default: return op_concat(g, (ir_ref[]){input(p, some_size(p, 33), dim_of(p, x, 1)), x}, 2, 0);
  }
}

static ir_ref step(sum_graph *p, ir_ref x) {
  static const ir_op unary[] = {IR_OP_TANH, IR_OP_SIGMOID, IR_OP_ABS, IR_OP_SIN};
  ir_graph *g = &p->t.g;
  int64_t rows = dim_of(p, x, 0), columns = dim_of(p, x, 1);
  switch (pick(p, 0, 13)) {
  case 0: return op_unary(g, unary[pick(p, 0, 3)], x);
  case 1: return op_binary(g, IR_OP_MUL, x, input(p, pick(p, 0, 1) ? rows : 1, columns));
  case 2: return op_swap_axes(g, x, 0, 1);
  case 3: return op_softmax(g, x, pick(p, 0, 1));
  case 4: return op_layer_norm(g, &x, 1, pick(p, 0, 1), 1e-5);
  case 5: return op_cumulative(g, IR_OP_CUMSUM, x, pick(p, 0, 1), false, pick(p, 0, 1));
  case 6: return padded(p, x);
  case 7: return reshaped(p, x);
  case 8:
  case 9: return reduced(p, x);
  case 10:
  case 11: return moved(p, x);
  default: {
    int64_t width = some_size(p, (1 << 24) / (rows * columns));
    return op_matmul(
        g, x, pick(p, 0, 1) ? input(p, columns, width) : op_swap_axes(g, input(p, width, columns), 0, 1));
  }
  }
}

bool sum_graph_record(trial *t) {
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F32, IR_F32, IR_F64, IR_F16};
  sum_graph *p = (sum_graph *)t;
  p->dtype = dtypes[pick(p, 0, 5)];
  int64_t rows = some_size(p, 9000);
  ir_ref x = input(p, rows, some_size(p, MOST_ELEMENTS / rows));
  for (int64_t i = pick(p, 1, STEPS); i > 0 && x; i--) {
    ir_ref y = step(p, x);
    if (y && dim_of(p, y, 0) * dim_of(p, y, 1) <= MOST_ELEMENTS) x = y;
    if (t->error.status) return false;
  }
  t->result[t->result_count++] = x;
  if (pick(p, 0, 1)) t->result[t->result_count++] = reduced(p, x);
  return t->result[t->result_count - 1] != 0;
}

static void fill(sum_graph *p, ir_ref tensor, size_t count, unsigned char *to) {
  ir_dtype dtype = ir_dtype_of(&p->t.g, tensor);
  for (size_t i = 0; i < count; i++) {
    int64_t number = pick(p, -(1 << 24), 1 << 24);
    ir_value value = {.f = (double)number / (1 << 24)}; /* sums of such numbers are rounded */
    if (!ir_is_float(dtype)) value.i = number % 100;    /* an index, or past the ends */
    ir_value_store(to + i * ir_dtypes[dtype].bytes, dtype, value);
  }
}

bool sum_graph_inputs(trial *t, void *inputs[TRIAL_INPUTS]) {
  bool good = true;
  for (uint32_t i = 0; i < t->input_count; i++) {
    size_t count = trial_elements(t, t->input[i], 0);
    if ((inputs[i] = calloc(count + 1, 8)) != NULL) fill((sum_graph *)t, t->input[i], count, inputs[i]);
    good &= inputs[i] != NULL;
  }
  return good;
}

size_t sum_graph_bytes(const trial *t, uint32_t result) {
  return trial_elements(t, t->result[result], 0) * ir_dtypes[ir_dtype_of(&t->g, t->result[result])].bytes;
}
