/* Batches whose elements can be computed one at a time (batch streaming), compiled, against the reference
 * evaluator, for several machines and numbers of threads.
 *
 *   prop_batch_stream --seed S --count N
 *   prop_batch_stream --case SEED         one case again, by the seed in its report
 *   prop_batch_stream --show SEED         its graph as text, not compiled
 *
 * A case is one to three layers, each with a matrix product that is larger than what is computed from it. The
 * product multiplies rows of a batch, after a norm or the addition of a row, by weights; its result is split
 * into heads, which are combined by attention, by products over the rows, by weighted sums of rows or by
 * windows along the rows. A second product and the sum with the layer's input may follow. The machines here
 * stream products of a few bytes, and one of them none. Results must be close to what the evaluator has
 * (integers equal), and have the same bits on all machines that stream the same batches.
 *
 * In half of the cases something prevents streaming: the product is a result too, or a result is computed
 * from it; the batch lies along another axis, is flipped, merged with the rows, padded, concatenated or
 * summed; or it has too few elements, too many, or a symbolic number of them. Results must be right in these
 * cases too. Where nothing prevents streaming, some layer must have become a scan over the batch; where the
 * batch has too few or too many elements, or a symbolic size, none may have. */
#include "passes/ops/build/control.h"
#include "passes/ops/compose/compose.h"
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "test/lib/trial.h"

#include <math.h>
#include <stdio.h>

enum { CONTEXTS = 5, RUNS = 2, MOST_LAYERS = 3, CASES = 20 };

static const case_machine machines[CONTEXTS] = {
    {1, "parts=1024"},
    {2, "parts=0"},
    {2, "parts=1024"},
    {1, "parts=1024 vector_bytes=16 registers=16 l1=8192 l2=32768 l3=65536"},
    {2, "parts=1024 vector_bytes=16 lanes=16 local=4096"}};
static long elements, scans, certain;

/* What prevents streaming of the batch. */
typedef enum hindrance {
  NOTHING,
  IS_RESULT,       /* the product is a result */
  IS_READ,         /* a result is computed from the product */
  SUMMED,          /* a result is the product's sum over the batch */
  SECOND_AXIS,     /* the batch is the second axis of the product's left operand */
  MERGED,          /* the product's rows are those of all batch elements, one after the other */
  FLIPPED,         /* the product is flipped along the batch */
  FLIPPED_OPERAND, /* an operand flipped along the batch is added to the product */
  PADDED,          /* the product is padded along the batch, and the padding removed again */
  HALVES_SWAPPED,  /* the halves of the batch are exchanged */
  FEW,             /* the batch has two or three elements */
  MANY,            /* the batch has more elements than are streamed */
  VARIABLE,        /* the batch's size is a variable */
  HINDRANCES
} hindrance;

typedef enum combination { ATTENTION, GRAM, WEIGHED, WINDOWS, COMBINATIONS } combination;

typedef struct problem {
  trial t;
  ir_dtype dtype;
  hindrance hindrance;
  int64_t size; /* of the batch; of a variable size, the largest */
  ir_ref batch, rows, width;
  int64_t row_count, heads, each; /* width = heads * each */
  bool certain;                   /* some layer must be streamed */
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static ir_ref number(problem *p, int64_t value) { return ir_index(&p->t.g, value); }

static void add_result(problem *p, ir_ref x) { p->t.result[p->t.result_count++] = x; }

static bool is_float(const problem *p) { return ir_is_float(p->dtype); }

static ir_ref literal(problem *p, double value) {
  return is_float(p) ? ir_float(&p->t.g, p->dtype, value) : ir_int(&p->t.g, p->dtype, (int64_t)value);
}

static ir_ref permuted(problem *p, ir_ref x, const int *order, uint32_t rank) {
  ir_ref axes[IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) axes[i] = number(p, order[i]);
  return op_permute(&p->t.g, x, axes, rank);
}

#define PERMUTED(p, x, ...) permuted(p, x, (int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int))

static ir_ref slice_of(problem *p, ir_ref x, uint32_t axis, ir_ref from, ir_ref to) {
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t a = 0; a < ir_rank(&p->t.g, x); a++) {
    bounds[2 * a] = a == axis ? from : number(p, 0);
    bounds[2 * a + 1] = a == axis ? to : ir_dim(&p->t.g, x, a);
  }
  return op_shrink(&p->t.g, x, bounds, ir_rank(&p->t.g, x));
}

static ir_ref padded(problem *p, ir_ref x, uint32_t axis, int64_t before, int64_t after) {
  ir_ref pads[2 * IR_MAX_RANK];
  for (uint32_t a = 0; a < ir_rank(&p->t.g, x); a++) {
    pads[2 * a] = number(p, a == axis ? before : 0);
    pads[2 * a + 1] = number(p, a == axis ? after : 0);
  }
  return op_pad(&p->t.g, x, pads, ir_rank(&p->t.g, x), 0, IR_PAD_CONSTANT);
}

static ir_ref sum_over(problem *p, ir_ref x, int64_t axis, bool keepdims) {
  ir_ref at = number(p, axis);
  return op_reduce(&p->t.g, IR_OP_SUM, x, &at, 1, keepdims);
}

/* a layer */

static ir_ref prepared(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  switch (pick(p, 0, 4)) {
  case 0: return is_float(p) ? op_layer_norm(g, &x, 1, -1, 1e-3) : op_unary(g, IR_OP_NEG, x);
  case 1: return op_binary(g, IR_OP_ADD, x, trial_input(&p->t, p->dtype, (ir_ref[]){p->width}, 1));
  case 2:
    return op_binary(g, IR_OP_SUB, x, sum_over(p, op_binary(g, IR_OP_MUL, x, literal(p, 0.1)), 1, true));
  default: return x;
  }
}

/* [batch, rows, width] times a weight matrix of `columns` columns */
static ir_ref product(problem *p, ir_ref x, ir_ref columns) {
  ir_graph *g = &p->t.g;
  bool transposed = pick(p, 0, 1);
  ir_ref shape[] = {transposed ? columns : p->width, transposed ? p->width : columns},
         w = trial_input(&p->t, p->dtype, shape, 2), y;
  if (transposed) w = op_swap_axes(g, w, 0, 1);
  if (p->hindrance == MERGED) {
    ir_ref flat[] = {number(p, p->size * p->row_count), p->width}, back[] = {p->batch, p->rows, columns};
    y = op_reshape(g, op_matmul(g, op_reshape(g, x, flat, 2), w), back, 3);
  } else {
    y = op_matmul(g, x, w);
  }
  if (is_float(p)) y = op_binary(g, IR_OP_MUL, y, literal(p, 0.2));
  if (pick(p, 0, 1)) y = op_binary(g, IR_OP_ADD, y, trial_input(&p->t, p->dtype, &columns, 1));
  if (pick(p, 0, 3) == 0) y = op_unary(g, IR_OP_RELU, y);
  return y;
}

static ir_ref with_hindrance(problem *p, ir_ref v) {
  ir_graph *g = &p->t.g;
  ir_ref zero = number(p, 0), half = number(p, p->size / 2);
  switch ((int)p->hindrance) {
  case IS_RESULT: add_result(p, v); return v;
  case IS_READ: add_result(p, sum_over(p, v, pick(p, 1, 2), false)); return v;
  case SUMMED: add_result(p, sum_over(p, v, 0, false)); return v;
  case FLIPPED: return op_flip(g, v, &zero, 1);
  case FLIPPED_OPERAND: {
    ir_ref dims[] = {p->batch, p->rows, ir_dim(g, v, 2)};
    return op_binary(g, IR_OP_ADD, v, op_flip(g, trial_input(&p->t, p->dtype, dims, 3), &zero, 1));
  }
  case PADDED: return slice_of(p, padded(p, v, 0, 1, 2), 0, zero, p->batch);
  case HALVES_SWAPPED: {
    ir_ref halves[] = {slice_of(p, v, 0, half, p->batch), slice_of(p, v, 0, zero, half)};
    return op_concat(g, halves, 2, 0);
  }
  default: return v;
  }
}

/* Slice `at` of the last axis of [batch, rows, slices * width], as [batch, heads, rows, each]. */
static ir_ref head_slice(problem *p, ir_ref v, int64_t slices, int64_t at) {
  ir_graph *g = &p->t.g;
  ir_ref shape[] = {p->batch, p->rows, number(p, slices), number(p, p->heads), number(p, p->each)};
  ir_ref all = op_reshape(g, v, shape, 5);
  return PERMUTED(p, op_point(g, all, number(p, at), 2), 0, 2, 1, 3);
}

static ir_ref attended(problem *p, ir_ref v) {
  ir_graph *g = &p->t.g;
  ir_ref x[3];
  for (int i = 0; i < 3; i++) x[i] = head_slice(p, v, 3, i);
  ir_ref y = is_float(p) ? op_attention(g, x, 3, 0, pick(p, 0, 1))
                         : op_matmul(g, op_matmul(g, x[0], op_swap_axes(g, x[1], -1, -2)), x[2]);
  ir_ref shape[] = {p->batch, p->rows, p->width};
  return op_reshape(g, PERMUTED(p, y, 0, 2, 1, 3), shape, 3);
}

/* Combines the three slices of v as `how` says. The result has the shape of the layer's input, so that layers
 * can follow one another. */
static ir_ref combined(problem *p, ir_ref v, combination how) {
  ir_graph *g = &p->t.g;
  ir_ref shape[] = {p->batch, p->rows, p->width}, x[3], y;
  if (how == ATTENTION) return attended(p, v);
  for (int i = 0; i < 3; i++) x[i] = op_swap_axes(g, op_swap_axes(g, head_slice(p, v, 3, i), 1, 2), 2, 3);
  for (int i = 0; i < 3; i++) x[i] = op_reshape(g, x[i], shape, 3); /* each * heads */
  switch (how) {
  case GRAM: /* [width, rows] [rows, width], then a row of the column sums */
    y = op_matmul(g, op_swap_axes(g, x[0], 1, 2), op_binary(g, IR_OP_MUL, x[1], x[2]));
    y = sum_over(p, op_binary(g, IR_OP_MUL, y, literal(p, 0.1)), 1, true);
    break;
  case WEIGHED:
    y = is_float(p) ? op_softmax(g, x[0], 1) : op_binary(g, IR_OP_MAX, x[0], literal(p, 0));
    y = op_binary(g, IR_OP_MAX, sum_over(p, op_binary(g, IR_OP_MUL, y, x[1]), 1, true),
                  sum_over(p, op_binary(g, IR_OP_MUL, y, x[2]), 1, true));
    break;
  default: { /* each row with the one two rows before it */
    ir_ref before = slice_of(p, padded(p, x[0], 1, 2, 0), 1, number(p, 0), p->rows);
    y = op_binary(g, IR_OP_ADD, op_binary(g, IR_OP_MAX, before, x[1]), x[2]);
  }
  }
  return op_expand(g, y, shape, 3);
}

static ir_ref layer(problem *p, ir_ref x, combination how) {
  ir_graph *g = &p->t.g;
  ir_ref rows = prepared(p, x), columns = number(p, 3 * p->heads * p->each);
  ir_ref y = combined(p, with_hindrance(p, product(p, rows, columns)), how);
  if (pick(p, 0, 1)) y = product(p, y, p->width);
  if (pick(p, 0, 1)) y = op_binary(g, IR_OP_ADD, x, y);
  return !is_float(p) || pick(p, 0, 1) ? y : op_layer_norm(g, &y, 1, -1, 1e-3);
}

/* The input of the first layer. With SECOND_AXIS the batch is the second axis of the stored input. */
static ir_ref first_rows(problem *p) {
  ir_ref shape[] = {p->batch, p->rows, p->width}, second[] = {p->rows, p->batch, p->width};
  if (p->hindrance == SECOND_AXIS)
    return op_swap_axes(&p->t.g, trial_input(&p->t, p->dtype, second, 3), 0, 1);
  return trial_input(&p->t, p->dtype, shape, 3);
}

/* A call, by `cond`, of one of two functions of x. */
static ir_ref called(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  ir_ref number = trial_input(&p->t, p->dtype, NULL, 0), func[2];
  ir_ref either = op_binary(g, IR_OP_GT, number, op_literal_int(g, 0));
  for (int i = 0; i < 2; i++) {
    ir_ref param = ir_leaf(g, IR_OP_BUFFER, ir_dtype_of(g, x), 0, ir_shape(g, x), g->next_serial++),
           result = op_unary(g, i ? IR_OP_ABS : IR_OP_NEG, param);
    func[i] = ir_func(g, &result, 1, &param, 1);
  }
  ir_ref made = op_cond(g, either, &x, 1, func[0], func[1]);
  return made ? ir_src(g, made, 0) : 0;
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F64, IR_I32};
  static const int64_t few[] = {2, 3}, usual[] = {4, 5, 6, 8, 12};
  p->dtype = dtypes[pick(p, 0, 3)];
  p->hindrance = pick(p, 0, 1) ? NOTHING : (hindrance)pick(p, 1, HINDRANCES - 1);
  bool large = pick(p, 0, 3) == 0; /* large enough for operands to be packed */
  p->size = p->hindrance == FEW    ? few[pick(p, 0, 1)]
            : p->hindrance == MANY ? 65
                                   : usual[pick(p, 0, large ? 2 : 4)];
  p->row_count = p->hindrance == MANY ? pick(p, 8, 12) : large ? pick(p, 40, 72) : pick(p, 12, 33);
  p->heads = pick(p, 1, 3), p->each = large ? pick(p, 12, 24) : pick(p, 8, 14);
  p->batch = number(p, p->size);
  if (p->hindrance == VARIABLE) p->batch = p->t.var = ir_var(&p->t.g, "n", 1, pick(p, 0, 4), p->size, 1);
  p->rows = number(p, p->row_count), p->width = number(p, p->heads * p->each);
  uint32_t layers = large ? 1 : (uint32_t)pick(p, 1, MOST_LAYERS);
  ir_ref x = first_rows(p);
  for (uint32_t i = 0; i < layers; i++) {
    combination how = (combination)pick(p, 0, COMBINATIONS - 1);
    int64_t bytes = p->size * p->row_count * 3 * p->heads * p->each * ir_dtypes[p->dtype].bytes,
            work = p->row_count * 3 * p->heads * p->each * p->heads * p->each;
    p->certain |= p->hindrance == NOTHING && how == ATTENTION && bytes >= 1024 && work >= 8 * 1024;
    x = layer(p, x, how);
    if (x && pick(p, 0, 4) == 0) x = called(p, x);
    if (!x) return false;
  }
  add_result(p, x);
  return !t->error.status;
}

static ir_value element(trial *t, ir_dtype dtype) {
  ir_value v = {.i = trial_pick(t, -1000, 1000)};
  if (ir_is_float(dtype)) v.f = (double)v.i / 500;
  return v;
}

static bool is_right(const trial *t, const ir_eval_result *want, uint32_t result, int64_t i,
                     const void *got) {
  ir_dtype dtype = want[result].dtype;
  const void *at = (const unsigned char *)want[result].data + (size_t)i * ir_dtypes[dtype].bytes;
  if (!ir_is_float(dtype)) return trial_same(at, got, dtype);
  double a = ir_value_load(at, dtype).f, b = ir_value_load(got, dtype).f;
  return fabs(a - b) <= (dtype == IR_F64 ? 1e-9 : 1e-3) * (1 + fabs(a));
}

/* Counts the scans over the batch in the first machine's plan, and checks that they are there or absent as
 * expected. */
static void check_plan(trial *t) {
  const problem *p = (const problem *)t;
  ir_plan plan;
  if (!trial_plan(t, 0, &plan)) return;
  uint32_t made = 0;
  bool never = p->hindrance == FEW || p->hindrance == MANY || p->hindrance == VARIABLE;
  for (size_t i = 0; i < plan.step_count; i++) made += plan.steps[i].kind == IR_STEP_SCAN;
  if (!trial_target(0)->group_items && p->certain && !made)
    snprintf(t->wrong, sizeof t->wrong, "no layer is streamed");
  if (never && made) snprintf(t->wrong, sizeof t->wrong, "a layer is streamed that may not be");
  scans += made, certain += p->certain;
  ir_plan_free(&plan);
}

static void run(trial *t) {
  elements += (long)trial_evaluate(t, &(trial_check){RUNS, element, NULL, is_right});
  if (!*t->wrong) check_plan(t);
}

static void tell(const cases *c) {
  printf("%ld graphs, %ld scans over a batch, in %ld asked for, %ld elements", c->done, scans, certain,
         elements);
}

static bool enough(const cases *c) {
  bool none = !c->repeat && c->done >= CASES && !certain;
  if (none) fprintf(stderr, "in none of the cases was there anything to stream\n");
  return !none;
}

TRIAL_MAIN("batch_stream", 60, machines, CONTEXTS, sizeof(problem), record, run, tell, enough)
