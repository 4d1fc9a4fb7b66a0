/* Reductions, compiled, against the reference evaluator, for several numbers of threads.
 *
 *   prop_reduce --seed S --count N
 *   prop_reduce --case SEED         one case again, by the seed in its report
 *
 * A case is one reduction of a view of a tensor of up to three axes. Every third one has enough elements to
 * be reduced in two steps, through chunks; sizes are close to multiples of the numbers of vector lanes,
 * accumulators and chunks. Results must have the same bits for 1, 2 and 4 threads, and be
 *
 *   exact     equal to the evaluator's bit for bit, NaNs as a class: elements have few different or special
 *             values, so that extrema have ties, and floats to be added or multiplied give the same in any
 *             order
 *   bounded   sums and means of floats of any size: no farther from the sum in f64 than 128 u times the sum
 *             of magnitudes */
#include "passes/ops/ops.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double BOUND = 128 * 0x1p-24;

static long elements;

typedef struct problem {
  trial t;
  ir_op op;
  bool wide;    /* integers of all sizes */
  bool bounded; /* the results after the first are the sum in f64 and the sum of magnitudes */
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static int64_t some_size(problem *p) {
  static const int64_t edges[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 129, 1000};
  return pick(p, 0, 2) ? edges[pick(p, 0, 17)] : pick(p, 1, 300);
}

/* An axis long enough to be reduced in chunks: a multiple of every chunk size, or of none. */
static int64_t long_size(problem *p, int64_t others) {
  int64_t least = (1 << 18) / others;
  switch (pick(p, 0, 3)) {
  case 0: return (least + 1023) / 1024 * 1024 + 1024;
  case 1: return least + pick(p, -2, 40);
  case 2: return least + pick(p, 0, least / 4);
  default: return least * 2 + 1 + pick(p, 0, 2);
  }
}

/* Sizes with not too many elements, then perhaps one long axis among short ones. */
static void choose_sizes(problem *p, uint32_t rank, int64_t *size) {
  uint32_t longest = (uint32_t)pick(p, 0, rank - 1);
  bool parts = pick(p, 0, 2) == 0;
  int64_t all = 1, others = 1;
  for (uint32_t k = 0; k < rank; k++) {
    size[k] = some_size(p);
    while (all * size[k] > (parts ? 1 << 11 : 1 << 16)) size[k] = (size[k] + 1) / 2;
    all *= size[k];
  }
  for (uint32_t k = 0; k < rank; k++) others *= k == longest ? 1 : size[k];
  if (parts) size[longest] = long_size(p, others);
}

static ir_ref viewed(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  uint32_t rank = ir_rank(g, x);
  ir_ref order[3];
  for (uint32_t k = 0; k < rank; k++) order[k] = ir_index(g, rank - 1 - k);
  if (pick(p, 0, 2) == 0) x = op_permute(g, x, order, rank);
  ir_dtype t = ir_dtype_of(g, x);
  if (pick(p, 0, 3) == 0 && t != IR_BOOL && ir_dtypes[t].kind != IR_KIND_UNSIGNED)
    x = op_unary(g, IR_OP_NEG, x);
  return x;
}

static bool gives_index(ir_op op) { return op == IR_OP_ARGMAX || op == IR_OP_ARGMIN; }

static bool record(trial *t) {
  problem *p = (problem *)t;
  static const ir_dtype dtypes[] = {IR_BOOL, IR_I8,  IR_U8,  IR_I16,  IR_U16, IR_I32, IR_U32,
                                    IR_I64,  IR_U64, IR_F16, IR_BF16, IR_F32, IR_F64, IR_F32};
  static const ir_op ops[] = {IR_OP_SUM,    IR_OP_PROD,   IR_OP_REDUCE_MAX, IR_OP_REDUCE_MIN,
                              IR_OP_ANY,    IR_OP_ALL,    IR_OP_SUM,        IR_OP_ARGMAX,
                              IR_OP_ARGMIN, IR_OP_ARGMAX, IR_OP_MEAN,       IR_OP_SUM};
  ir_graph *g = &p->t.g;
  p->op = ops[pick(p, 0, 11)];
  p->bounded = (p->op == IR_OP_SUM || p->op == IR_OP_MEAN) && pick(p, 0, 1);
  ir_dtype dtype = p->bounded ? IR_F32 : dtypes[pick(p, 0, 13)];
  if (p->op == IR_OP_MEAN) p->bounded = true, dtype = IR_F32;
  uint32_t rank = (uint32_t)pick(p, 1, 3);
  int64_t size[3];
  choose_sizes(p, rank, size);
  ir_ref dims[3], axes[3];
  for (uint32_t k = 0; k < rank; k++) dims[k] = ir_index(g, size[k]);
  p->t.input_count = p->t.result_count = 1, p->t.exact_count = p->bounded ? 2 : 0;
  p->t.input[0] = op_input(g, "x", 1, dtype, dims, rank);
  ir_ref x = viewed(p, p->t.input[0]);
  uint32_t count = 0, set = (uint32_t)pick(p, 1, (1 << rank) - 1);
  int64_t axis = pick(p, 0, rank - 1);
  for (uint32_t k = 0; k < rank; k++)
    if (set >> k & 1) axes[count++] = ir_index(g, k);
  bool keepdims = pick(p, 0, 1);
  p->t.result[0] = gives_index(p->op) ? op_argreduce(g, p->op, x, pick(p, 0, 3) ? &axis : NULL, keepdims)
                                      : op_reduce(g, p->op, x, axes, count, keepdims);
  if (p->bounded) {
    ir_ref wide = op_cast(g, x, IR_F64);
    p->t.result[1] = op_reduce(g, p->op, wide, axes, count, keepdims);
    p->t.result[2] = op_reduce(g, p->op, op_unary(g, IR_OP_ABS, wide), axes, count, keepdims);
  }
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_type(g, x, &text);
  snprintf(p->t.what, sizeof p->t.what, "%s of %s%s, %s %u%s", ir_ops[p->op].text, ir_text_get(&text),
           x == p->t.input[0] ? "" : ", a view", gives_index(p->op) ? "axis" : "axes of the set",
           gives_index(p->op) ? (uint32_t)axis : set, p->bounded ? ", bounded" : "");
  ir_text_free(&text);
  p->wide = pick(p, 0, 1), p->t.bound = p->bounded ? BOUND : 0;
  return p->t.result[0] != 0;
}

static double some_float(problem *p) {
  if (p->bounded) return ldexp((double)pick(p, -(1 << 24), 1 << 24), (int)pick(p, -40, 10));
  if (p->op == IR_OP_SUM) return (double)pick(p, -4, 4);
  if (p->op == IR_OP_PROD) return (double)(1 - 2 * pick(p, 0, 1));
  return (double)pick(p, -9, 9) / 8;
}

/* Puts special floats among the elements of extrema: a single special value everywhere, a few here and there,
 * or none. */
static void sprinkle(trial *given, const trial_data *data) {
  problem *p = (problem *)given;
  ir_dtype t = data->dtype;
  static const double specials[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1e-40, 65504, -1e19};
  size_t size = ir_dtypes[t].bytes;
  if (!ir_is_float(t) || p->bounded || p->op == IR_OP_SUM || p->op == IR_OP_PROD) return;
  double all = specials[pick(p, 0, 8)];
  bool equal_elements = pick(p, 0, 3) == 0;
  for (size_t i = 0; i < data->count && equal_elements; i++)
    ir_value_store(data->elements + i * size, t, (ir_value){.f = all});
  for (int64_t k = pick(p, 0, 6); k-- > 0 && data->count;)
    ir_value_store(data->elements + (size_t)pick(p, 0, (int64_t)data->count - 1) * size, t,
                   (ir_value){.f = specials[pick(p, 0, 8)]});
}

static ir_value element(trial *t, ir_dtype dtype) {
  problem *p = (problem *)t;
  ir_value v = {.i = dtype == IR_BOOL ? pick(p, 0, 99) == 0 : pick(p, -5, 5)};
  if (ir_is_float(dtype)) v.f = some_float(p);
  else if (dtype != IR_BOOL && p->wide) v.i = (int64_t)random_next(&t->state) >> pick(p, 0, 63);
  elements++;
  return v;
}

static void run(trial *t) { trial_evaluate(t, &(trial_check){1, element, sprinkle, NULL}); }

static void tell(const cases *c) { printf("%ld reductions, %ld elements", c->done, elements); }

TRIAL_MAIN("reduce", 60, case_machines, CASE_MACHINES, sizeof(problem), record, run, tell, NULL)
