/* The same bits for every description of a machine, every number of threads and whatever was measured.
 *
 *   prop_machines --seed S --count N
 *   prop_machines --case SEED         one case again, by the seed in its report
 *   prop_machines --show SEED         its graph as text, not compiled
 *
 * A case is a random graph of sums, products, softmaxes, norms, running sums, windows and views of f32, f64
 * or f16, of sizes around those where loops change, on data whose sums round differently in every order. It
 * is compiled for the machines of the table and run on each. The first one is the processor as it is; no
 * evaluator is asked, since other tests compare with that. The test prints how many cases had
 * non-temporal accesses for a small cache and none for a large one: what is measured had a part in their
 * code. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/ops/compose/compose.h"
#include "test/lib/trial.h"

#define NARROW "vector_bytes=16 registers=16 "
#define AVX2   "vector_bytes=32 registers=16 "

enum { LARGE_CACHE = 2, SMALL_CACHE = 3 }; /* of the table */
enum { MACHINES = 13, STEPS = 8, MOST_ELEMENTS = 1 << 18 };
static const case_machine machines[MACHINES] = {
    {1, NULL},
    {1, "l3=2097152"},
    {2, "l3=536870912"},
    {1, "l3=4096"},
    {3, "l3=4096 read_past=1"},
    {1, "l3=536870912 read_past=1"},
    {2, "l1=16384 l2=131072 l3=1048576"},
    {1, "l1=131072 l2=16777216 l3=67108864"},
    {1, AVX2 "l1=32768 l2=262144 l3=4194304"},
    {4, AVX2 "masks=0 l3=4096 read_past=1"},
    {64, AVX2 "l2=1048576 l3=536870912"},
    {2, NARROW "masks=0 l1=8192 l2=32768 l3=65536"},
    {1, NARROW "dot2=0 l3=33554432"},
};

typedef struct problem {
  trial t;
  ir_dtype dtype;
} problem;

static long compared, streaming;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static int64_t dim_of(problem *p, ir_ref x, uint32_t axis) {
  int64_t size = 1;
  ir_is_const(&p->t.g, ir_dim(&p->t.g, x, axis), &size);
  return size;
}

/* Sizes on both sides of vectors, tiles, blocks and chunks. */
static int64_t some_size(problem *p, int64_t most) {
  static const int64_t edges[] = {1,   3,   4,   7,   8,   15,   16,   17,   24,   31,
                                  33,  48,  63,  64,  65,  80,   96,   100,  127,  129,
                                  192, 255, 256, 300, 512, 1000, 1024, 2048, 4100, 9000};
  int64_t size = edges[pick(p, 0, sizeof edges / sizeof *edges - 1)];
  return size > most ? most < 1 ? 1 : most : size;
}

static ir_ref input(problem *p, int64_t rows, int64_t columns) {
  ir_ref shape[] = {ir_index(&p->t.g, rows), ir_index(&p->t.g, columns)};
  return p->t.input_count == TRIAL_INPUTS ? 0 : trial_input(&p->t, p->dtype, shape, 2);
}

static ir_ref reduced(problem *p, ir_ref x) {
  static const ir_op ops[] = {IR_OP_SUM, IR_OP_SUM, IR_OP_MEAN, IR_OP_REDUCE_MAX, IR_OP_PROD};
  ir_ref axis = ir_index(&p->t.g, pick(p, 0, 1));
  ir_ref y = op_reduce(&p->t.g, ops[pick(p, 0, 4)], x, &axis, 1, true);
  return pick(p, 0, 2) ? op_binary(&p->t.g, IR_OP_SUB, x, y) : y;
}

static ir_ref padded(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  ir_ref pads[4], bounds[4];
  for (int i = 0; i < 4; i++) pads[i] = ir_index(g, pick(p, 0, 2));
  ir_ref y = op_pad(g, x, pads, 2, op_literal_float(g, 0), IR_PAD_CONSTANT);
  for (uint32_t a = 0; y && a < 2; a++)
    bounds[2 * a] = ir_index(g, 0), bounds[2 * a + 1] = ir_index(g, dim_of(p, x, a));
  y = op_shrink(g, y, bounds, 2);
  return pick(p, 0, 1) ? op_binary(g, IR_OP_ADD, x, y) : y;
}

static ir_ref reshaped(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  int64_t rows = dim_of(p, x, 0), columns = dim_of(p, x, 1),
          by = columns % 4 == 0   ? 4
               : columns % 3 == 0 ? 3
                                  : 1;
  ir_ref shape[] = {ir_index(g, rows * by), ir_index(g, columns / by)};
  return op_reshape(g, x, shape, 2);
}

static ir_ref step(problem *p, ir_ref x) {
  static const ir_op unary[] = {IR_OP_TANH, IR_OP_SIGMOID, IR_OP_ABS, IR_OP_SIN};
  ir_graph *g = &p->t.g;
  int64_t rows = dim_of(p, x, 0), columns = dim_of(p, x, 1);
  switch (pick(p, 0, 11)) {
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
  default: {
    int64_t width = some_size(p, (1 << 24) / (rows * columns));
    return op_matmul(
        g, x, pick(p, 0, 1) ? input(p, columns, width) : op_swap_axes(g, input(p, width, columns), 0, 1));
  }
  }
}

static bool record(trial *t) {
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F32, IR_F32, IR_F64, IR_F16};
  problem *p = (problem *)t;
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

/* Does the plan for the machine have non-temporal accesses? Each plan adds nodes to the graph; before the
 * first one there are none of these. */
static bool is_streaming(trial *t, int machine) {
  ir_plan plan;
  bool found = false;
  uint32_t before = t->g.count;
  if (!trial_plan(t, machine, &plan)) return false;
  for (ir_ref ref = before; ref < t->g.count; ref++) {
    const ir_node *n = ir_get(&t->g, ref);
    found |= (n->op == IR_OP_STORE && ir_arg_mode(n)) || (n->op == IR_OP_LOAD && n->arg && ir_arg_mode(n));
  }
  ir_plan_free(&plan);
  return found;
}

static void fill(problem *p, ir_ref tensor, size_t count, unsigned char *to) {
  ir_dtype dtype = ir_dtype_of(&p->t.g, tensor);
  for (size_t i = 0; i < count; i++) {
    double value = (double)pick(p, -(1 << 24), 1 << 24) / (1 << 24); /* sums of such numbers are rounded */
    ir_value_store(to + i * ir_dtypes[dtype].bytes, dtype, (ir_value){.f = value});
  }
}

static void run(trial *t) {
  problem *p = (problem *)t;
  void *inputs[TRIAL_INPUTS], *outputs[MACHINES][TRIAL_RESULTS] = {{NULL}};
  size_t bytes[TRIAL_RESULTS];
  for (uint32_t i = 0; i < t->input_count; i++) {
    size_t count = trial_elements(t, t->input[i], 0);
    inputs[i] = calloc(count + 1, 8);
    fill(p, t->input[i], count, inputs[i]);
  }
  for (uint32_t i = 0; i < t->result_count; i++)
    bytes[i] = trial_elements(t, t->result[i], 0) * ir_dtypes[ir_dtype_of(&t->g, t->result[i])].bytes;
  for (int k = 0; k < MACHINES && !*t->wrong; k++) {
    for (uint32_t i = 0; i < t->result_count; i++) outputs[k][i] = calloc(bytes[i] + 1, 1);
    trial_run_on(t, k, inputs, outputs[k]);
    for (uint32_t i = 0; i < t->result_count && !*t->wrong; compared += (long)bytes[i++])
      if (memcmp(outputs[0][i], outputs[k][i], bytes[i]) != 0)
        cases_tell_bits(&machines[k], t->wrong, sizeof t->wrong);
  }
  for (uint32_t i = 0; i < t->input_count; i++) free(inputs[i]);
  for (int k = 0; k < MACHINES; k++)
    for (uint32_t i = 0; i < t->result_count; i++) free(outputs[k][i]);
  streaming += !*t->wrong && !is_streaming(t, LARGE_CACHE) && is_streaming(t, SMALL_CACHE);
}

static void report(const cases *c) {
  printf(
      "%ld graphs on %d machines, %ld bytes of results compared, %ld graphs stored past a small cache only",
      c->done, MACHINES, compared, streaming);
}

static bool enough(const cases *c) { return c->repeat || c->done < 20 || streaming >= c->done / 4; }

TRIAL_MAIN("machines", 40, machines, MACHINES, sizeof(problem), record, run, report, enough)
