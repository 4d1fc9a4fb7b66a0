/* Contractions, compiled, against the reference evaluator, for several numbers of threads and machines.
 *
 *   prop_contract --seed S --count N
 *   prop_contract --case SEED         one case again, by the seed in its report
 *
 * A case multiplies two operands and sums: a product of matrices with or without a batch, a sum of products
 * written out over broadcast views, a convolution. Operands are views (permuted, strided, reversed, sliced,
 * padded, expanded) of inputs or of elementwise results; elementwise operations may follow the sum. Most
 * operands are large enough to be packed; sizes are close to those of tiles. Results must have the same bits
 * for 1, 2 and 4 threads and on machines with narrow vectors, few registers, small caches or work-items, and
 * be
 *
 *   exact     equal to the evaluator's bit for bit: elements are small multiples of a power of two
 *   bounded   floats of any size: no farther from the sum in f64 than k u times the sum of magnitudes, k the
 *             number of terms, u half an ulp of the accumulator */
#include "passes/ops/compose/compose.h"
#include "passes/passes.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 6, RESULTS = 3, INPUTS = 3, RANK = 6 };
enum {
  PAIRING = 3,
  ENOUGH = 100
}; /* the machine that has dot2 on every device; after so many cases some must have used dot2 */
static const case_machine machines[CONTEXTS] = {
    {1, NULL},
    {2, NULL},
    {4, NULL},
    {1, "vector_bytes=16 registers=16 l1=8192 l2=32768 dot2=1 dot4=0"},
    {2, "vector_bytes=16 lanes=64 local=32768"},
    {1, "vector_bytes=16 lanes=16 local=4096"}};

static double work;
static long in_pairs; /* contractions that multiply pairs of narrow integers (dot2) */

typedef struct problem {
  trial t;
  ir_dtype dtype;
  bool bounded, small; /* bounded: the results after the first are the sum in f64 and the sum of magnitudes */
  int64_t terms;
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }
static bool one_in(problem *p, int64_t n) { return pick(p, 1, n) == 1; }

static void say(problem *p, const char *word, const int64_t *size, uint32_t rank) {
  size_t at = strlen(p->t.what), room = sizeof p->t.what;
  at += (size_t)snprintf(p->t.what + at, room - at, " %s", word);
  for (uint32_t i = 0; i < rank && at < room; i++)
    at += (size_t)snprintf(p->t.what + at, room - at, "%s%" PRId64, i ? "," : "[", size[i]);
  if (rank && at < room) snprintf(p->t.what + at, room - at, "]");
}

static int64_t edge(problem *p, int64_t most) {
  static const int64_t edges[] = {1,  2,  3,  5,  6,   7,   12,  16,  17,  31,
                                  63, 64, 65, 96, 100, 127, 128, 129, 192, 257};
  int64_t size = one_in(p, 3) ? pick(p, 1, most) : edges[pick(p, 0, 19)];
  return size > most ? most : size;
}

/* A view whose last axis is stored in blocks that lie far apart, and begins inside one of them. */
static ir_ref in_blocks(problem *p, const int64_t *size, uint32_t rank) {
  enum { BLOCK = 32, FROM = 8 };
  ir_graph *g = &p->t.g;
  int64_t blocks = (size[rank - 1] + FROM + BLOCK - 1) / BLOCK;
  ir_ref dims[RANK + 1] = {ir_index(g, blocks)}, order[RANK + 1], bounds[2 * RANK];
  for (uint32_t i = 0; i + 1 < rank; i++) {
    dims[i + 1] = ir_index(g, size[i]), order[i] = ir_index(g, i + 1);
    bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = ir_index(g, size[i]);
  }
  dims[rank] = ir_index(g, BLOCK), order[rank - 1] = ir_index(g, 0), order[rank] = ir_index(g, rank);
  ir_ref x = trial_input(&p->t, p->dtype, dims, rank + 1);
  x = op_permute(g, x, order, rank + 1);
  for (uint32_t i = 0; i + 1 < rank; i++) dims[i] = dims[i + 1];
  dims[rank - 1] = ir_index(g, blocks * BLOCK);
  x = op_reshape(g, x, dims, rank);
  bounds[2 * rank - 2] = ir_index(g, FROM), bounds[2 * rank - 1] = ir_index(g, FROM + size[rank - 1]);
  say(p, "in blocks", size, rank);
  return op_shrink(g, x, bounds, rank);
}

/* A view of shape `size` of a new input. */
static ir_ref operand(problem *p, const int64_t *size, uint32_t rank) {
  ir_graph *g = &p->t.g;
  ir_ref dims[RANK], back[RANK], bounds[2 * RANK], steps[RANK], x;
  int64_t whole[RANK], axes[RANK];
  int kind = (int)pick(p, 0, 7);
  if (kind == 7) return in_blocks(p, size, rank);
  for (uint32_t i = 0; i < rank; i++) axes[i] = i, whole[i] = size[i], steps[i] = ir_index(g, 1);
  for (uint32_t i = rank; i-- > 1 && kind == 1;) {
    int64_t k = pick(p, 0, i), swap = axes[i];
    axes[i] = axes[k], axes[k] = swap;
  }
  uint32_t at = (uint32_t)pick(p, 0, rank - 1);
  if (kind == 2) whole[at] = 2 * size[at], steps[at] = ir_index(g, one_in(p, 2) ? -2 : 2);
  if (kind == 3) whole[at] += 3;
  if (kind == 4 && size[at] > 2) whole[at] -= 2;
  if (kind == 5) whole[at] = 1;
  for (uint32_t i = 0; i < rank; i++) {
    back[axes[i]] = ir_index(g, i);
    dims[i] = ir_index(g, whole[axes[i]]);
  }
  x = trial_input(&p->t, p->dtype, dims, rank);
  if (kind == 1) x = op_permute(g, x, back, rank);
  if (kind == 2) x = op_stride(g, x, steps, rank);
  for (uint32_t i = 0; i < rank; i++) {
    bool here = i == at;
    int64_t from = here && kind == 3 ? pick(p, 0, 3) : 0;
    bounds[2 * i] = ir_index(g, from), bounds[2 * i + 1] = ir_index(g, from + size[i]);
  }
  if (kind == 3) x = op_shrink(g, x, bounds, rank);
  for (uint32_t i = 0; i < 2 * rank; i++) bounds[i] = ir_index(g, i / 2 == at ? 1 : 0);
  if (kind == 4 && size[at] > 2) x = op_pad(g, x, bounds, rank, 0, IR_PAD_CONSTANT);
  for (uint32_t i = 0; i < rank; i++) dims[i] = ir_index(g, size[i]);
  if (kind == 5) x = op_expand(g, x, dims, rank);
  if (one_in(p, 4) && ir_dtypes[p->dtype].kind != IR_KIND_UNSIGNED) x = op_unary(g, IR_OP_NEG, x);
  static const char *const kinds[] = {"plain",  "permuted", "strided", "sliced",
                                      "padded", "expanded", "plain"};
  say(p, kinds[kind], size, rank);
  return x;
}

/* Three times: as it is, in f64, and of magnitudes in f64. */
typedef struct pair {
  ir_ref a[RESULTS], b[RESULTS];
} pair;

static pair in_all_forms(problem *p, ir_ref a, ir_ref b) {
  ir_graph *g = &p->t.g;
  pair q = {{a}, {b}};
  if (!p->bounded) return q;
  q.a[1] = op_cast(g, a, IR_F64), q.b[1] = op_cast(g, b, IR_F64);
  q.a[2] = op_unary(g, IR_OP_ABS, q.a[1]), q.b[2] = op_unary(g, IR_OP_ABS, q.b[1]);
  return q;
}

/* Sizes of rows, columns and terms whose product is limited. */
static void choose_sizes(problem *p, int64_t *m, int64_t *n, int64_t *k) {
  int64_t most = p->small ? 40 : 260;
  *m = edge(p, most), *n = edge(p, most), *k = edge(p, most);
  while (*m * *n * *k > 3 << 20) *m = (*m + 1) / 2, *k = (*k + 1) / 2;
  while (!p->small && *m * *n * *k < 1 << 20 && *k < 1000) *k = *k * 2 + 1;
  while (*m * *n * *k > 6 << 20) *n = (*n + 1) / 2;
  p->terms = *k, work += (double)*m * (double)*n * (double)*k;
}

static void matrices(problem *p, bool written_out) {
  ir_graph *g = &p->t.g;
  int64_t m, n, k, batch = one_in(p, 3) ? pick(p, 2, 5) : 1;
  choose_sizes(p, &m, &n, &k);
  if (batch > 1 && !p->small) k = (k + batch - 1) / batch, p->terms = k;
  bool own = batch > 1 && one_in(p, 2);
  say(p, written_out ? "sum of products," : "matmul", NULL, 0);
  int64_t left[] = {batch, m, k}, right[] = {own ? batch : 1, k, n};
  uint32_t skip = batch == 1;
  ir_ref a = operand(p, left + skip, 3 - skip), b = operand(p, right + skip, 3 - skip);
  pair q = in_all_forms(p, a, b);
  for (int i = 0; i < RESULTS && q.a[i]; i++) {
    if (!written_out) {
      p->t.result[i] = op_matmul(g, q.a[i], q.b[i]);
      continue;
    }
    ir_ref x = op_unsqueeze(g, q.a[i], -2), y = op_unsqueeze(g, op_swap_axes(g, q.b[i], -1, -2), -3);
    ir_ref axis = ir_index(g, 3 - skip);
    p->t.result[i] = op_reduce(g, IR_OP_SUM, op_binary(g, IR_OP_MUL, x, y), &axis, 1, false);
  }
}

static void convolution(problem *p) {
  ir_graph *g = &p->t.g;
  int64_t groups = one_in(p, 4) ? pick(p, 2, 4) : 1, in = pick(p, 1, p->small ? 4 : 12), out = pick(p, 1, 20);
  if (!p->small && one_in(p, 2)) out = 16 * pick(p, 1, 3);
  bool apart = one_in(p, 4); /* depthwise: one input channel and one output channel in each group */
  if (apart) groups = pick(p, 12, 24), in = out = 1;
  bool point = !apart && !p->small && one_in(p, 3); /* 1 x 1 of many channels, whose positions may be apart */
  if (point) groups = 1, in = pick(p, 24, 48), out = pick(p, 128, 160);
  int64_t taps[2], size[2];
  op_window w[2];
  p->terms = in;
  for (int i = 0; i < 2; i++) {
    taps[i] = point ? 1 : pick(p, 1, 4);
    w[i] = (op_window){taps[i], pick(p, 1, 2), one_in(p, 4) ? 2 : 1, pick(p, 0, 2), pick(p, 0, 2), 0};
    size[i] = w[i].dilation * taps[i] + (point                ? pick(p, 8, 24)
                                         : apart && !p->small ? pick(p, 60, 80)
                                                              : edge(p, p->small ? 8 : 40));
    p->terms *= taps[i];
  }
  say(p, "conv", NULL, 0);
  int64_t image[] = {pick(p, 1, 3), in * groups, size[0], size[1]},
          weight[] = {out * groups, in, taps[0], taps[1]};
  bool line = one_in(p, 5); /* one spatial axis instead of two */
  if (line) p->terms = in * taps[0];
  ir_ref a = operand(p, image, line ? 3 : 4), b = operand(p, weight, line ? 3 : 4);
  pair q = in_all_forms(p, a, b);
  for (int i = 0; i < RESULTS && q.a[i]; i++)
    p->t.result[i] = op_conv(g, (ir_ref[]){q.a[i], q.b[i]}, 2, w, line ? 1 : 2, groups);
  work += (double)(image[0] * out * groups * size[0] * (line ? 1 : size[1]) * p->terms);
}

/* Elementwise operations and views after an exact sum. */
static void follow(problem *p) {
  ir_graph *g = &p->t.g;
  ir_dtype t = ir_dtype_of(g, p->t.result[0]);
  uint32_t rank = ir_rank(g, p->t.result[0]);
  int64_t last = 1;
  ir_is_const(g, ir_dim(g, p->t.result[0], rank - 1), &last);
  if (one_in(p, 2) && p->t.input_count < INPUTS && t == p->dtype) {
    int64_t size[] = {last};
    p->t.result[0] = op_binary(g, IR_OP_ADD, p->t.result[0], operand(p, size, 1));
  }
  if (one_in(p, 2)) p->t.result[0] = op_unary(g, IR_OP_RELU, p->t.result[0]);
  if (one_in(p, 4)) p->t.result[0] = op_swap_axes(g, p->t.result[0], -1, 0);
  if (one_in(p, 6)) p->t.result[0] = op_cast(g, p->t.result[0], IR_F64);
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F32, IR_F32, IR_F64, IR_F16, IR_BF16, IR_I8,
                                    IR_I8,  IR_U8,  IR_I16, IR_I16, IR_I32, IR_I64, IR_U16};
  p->bounded = one_in(p, 3);
  p->small = one_in(p, 3);
  p->dtype = p->bounded ? IR_F32 : dtypes[pick(p, 0, 14)];
  bool narrow = ir_dtypes[p->dtype].bytes <= 2 && !ir_is_float(p->dtype); /* large products use dot2 */
  if (narrow) p->small = false;
  p->t.g.relaxed = p->dtype == IR_BF16 && one_in(p, 2); /* pairs, of elements that are not subnormal */
  snprintf(p->t.what, sizeof p->t.what, "%s %s:", p->bounded ? "bounded" : "exact", ir_dtypes[p->dtype].name);
  int kind = (int)pick(p, 0, narrow ? 3 : 4);
  if (kind <= 2) matrices(p, kind == 2);
  else convolution(p);
  if (p->t.result[0] && !p->bounded) follow(p);
  p->t.result_count = 1, p->t.exact_count = p->bounded ? 2 : 0;
  if (p->bounded) t->bound = trial_sum_bound(p->terms);
  return p->t.result[0] && (!p->bounded || p->t.result[2]);
}

static double some_float(problem *p) {
  if (p->bounded) return ldexp((double)pick(p, -(1 << 24), 1 << 24), (int)pick(p, -30, -20));
  return ldexp((double)pick(p, -4, 4), p->dtype == IR_F16 || p->dtype == IR_BF16 ? -2 : 3);
}

static ir_value element(trial *t, ir_dtype dtype) {
  ir_value v = {.i = (int64_t)random_next(&t->state)};
  if (ir_is_float(dtype)) v.f = some_float((problem *)t);
  return v;
}

/* Does the code for the machine that has dot2 use it? */
static bool has_pairs(trial *t) {
  ir_plan plan;
  if (!trial_plan(t, PAIRING, &plan)) return false;
  bool any = false;
  for (ir_ref i = 1; i < t->g.count && !any; i++) any = ir_op_of(&t->g, i) == IR_OP_DOT2;
  ir_plan_free(&plan);
  return any;
}

static void run(trial *t) {
  trial_evaluate(t, &(trial_check){1, element, NULL, NULL});
  if (!*t->wrong) in_pairs += has_pairs(t);
}

static void tell(const cases *c) {
  printf("%ld contractions, %ld in pairs, %.0f million products", c->done, in_pairs, work / 1e6);
}

static bool enough(const cases *c) {
  const ir_target *pairing = trial_target(PAIRING);
  bool expects = pairing && pairing->has_dot2 && !pairing->group_items && c->done >= ENOUGH;
  return !expects || in_pairs;
}

TRIAL_MAIN("contract", 60, machines, CONTEXTS, sizeof(problem), record, run, tell, enough)
