/* Attention over so many keys that scheduling computes them in blocks, compiled, against the reference
 * evaluator, for several machines and numbers of threads.
 *
 *   prop_blocks --seed S --count N
 *   prop_blocks --case SEED         one case again, by the seed in its report
 *   prop_blocks --show SEED         its graph as text, not compiled
 *
 * A case is attention as someone may write it: the operation, softmax and two products, or exponentials of
 * differences from the maximum, divided before or after the second product; grouped heads, a bias, a mask, a
 * causal mask, factors between weights and values, keys along the last axis or the one before; the maximum,
 * the sums or their logarithms as further results. Scores may grow along the keys, so that each block has a
 * new maximum; whole blocks and whole rows may be masked; some elements are NaN and infinite. Results must be
 * close to what the evaluator has, NaN where it has NaN, and have the same bits on all machines. The plan
 * must have a kernel that iterates over blocks of keys, unless the weights themselves are a result, the
 * target has work-items, or its local memory is small. After the cases, the memory for intermediates must
 * have grown linearly with the length of a sequence, not quadratically, under the same condition. */
#include "passes/ops/compose/compose.h"
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "passes/patterns/online_softmax.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { CONTEXTS = 3, RUNS = 2, MOST_RANK = 5 };

static const case_machine machines[CONTEXTS] = {
    {1, NULL}, {2, "vector_bytes=16 registers=16 l1=8192 l2=32768 l3=65536"}, {3, NULL}};
static long elements, blocks;

typedef struct problem {
  trial t;
  ir_dtype dtype;
  int64_t queries, keys;
  ir_ref bias, mask;     /* inputs, or 0 */
  bool special, growing; /* NaN and infinities among the data; scores grow along the keys */
  bool keeps_weights;    /* a result is the matrix of weights */
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static ir_ref add_input(problem *p, ir_dtype dtype, const int64_t *sizes, uint32_t rank) {
  ir_ref shape[MOST_RANK];
  for (uint32_t a = 0; a < rank; a++) shape[a] = ir_index(&p->t.g, sizes[a]);
  return trial_input(&p->t, dtype, shape, rank);
}

static void add_result(problem *p, ir_ref x) { p->t.result[p->t.result_count++] = x; }

/* More keys than a fused row group takes without blocks; around multiples of the block size and others. */
static int64_t some_keys(problem *p) {
  int64_t least = p->dtype == IR_F64 ? 1025 : 2049;
  static const int64_t edges[] = {0, 1, 62, 63, 64, 191, 254, 255, 256, 400, 511, 512, 800, 1023, 1279};
  return least + edges[pick(p, 0, 14)];
}

static ir_ref masked(problem *p, ir_ref scores, bool causal) {
  ir_graph *g = &p->t.g;
  ir_ref none = ir_float(g, p->dtype, -INFINITY);
  if (p->bias) scores = op_binary(g, IR_OP_ADD, scores, p->bias);
  if (p->mask) scores = op_where(g, p->mask, scores, none);
  if (!causal) return scores;
  ir_ref shape[] = {ir_index(g, p->queries), ir_index(g, p->keys)};
  ir_ref query = op_iota(g, IR_I64, shape, 2, 0), key = op_iota(g, IR_I64, shape, 2, 1);
  ir_ref seen = op_binary(g, IR_OP_ADD, query, op_literal_int(g, pick(p, 0, 1) ? 0 : pick(p, 1, p->keys)));
  return op_where(g, op_binary(g, IR_OP_LE, key, seen), scores, none);
}

/* Weights are exp(scores - s), their sums l; `axis` is the axis of the keys. */
static void record_by_hand(problem *p, ir_ref q, ir_ref k, ir_ref v, bool causal) {
  ir_graph *g = &p->t.g;
  int64_t transposed = pick(p, 0, 4) == 0, at = transposed ? -2 : -1;
  ir_ref axis = ir_index(g, at), scores = op_matmul(g, q, op_swap_axes(g, k, -1, -2));
  if (pick(p, 0, 1)) scores = op_binary(g, IR_OP_MUL, scores, ir_float(g, p->dtype, 0.3));
  scores = masked(p, scores, causal);
  if (transposed) scores = op_swap_axes(g, scores, -1, -2);
  ir_ref m = op_reduce(g, IR_OP_REDUCE_MAX, scores, &axis, 1, true), s = m;
  if (pick(p, 0, 1))
    s = op_where(g, op_binary(g, IR_OP_EQ, m, ir_float(g, p->dtype, -INFINITY)), ir_float(g, p->dtype, 0), m);
  ir_ref e = op_unary(g, IR_OP_EXP, op_binary(g, IR_OP_SUB, scores, s));
  ir_ref l = op_reduce(g, IR_OP_SUM, e, &axis, 1, true), w = e;
  bool before = pick(p, 0, 1);
  if (before) w = op_binary(g, IR_OP_DIV, w, l);
  if (pick(p, 0, 3) == 0)
    w = op_binary(g, IR_OP_MUL, w,
                  add_input(p, p->dtype, (int64_t[]){transposed ? p->keys : 1, transposed ? 1 : p->keys}, 2));
  ir_ref y = op_matmul(g, transposed ? op_swap_axes(g, w, -1, -2) : w, v);
  ir_ref over = transposed ? op_swap_axes(g, l, -1, -2) : l;
  add_result(p, before ? y : op_binary(g, IR_OP_DIV, y, over));
  if (pick(p, 0, 3) == 0) add_result(p, op_binary(g, IR_OP_ADD, op_unary(g, IR_OP_LOG, l), m));
  if (pick(p, 0, 5) == 0) add_result(p, l);
  if (pick(p, 0, 5) == 0) add_result(p, m);
  if ((p->keeps_weights = pick(p, 0, 7) == 0)) add_result(p, w);
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  ir_graph *g = &t->g;
  p->dtype = pick(p, 0, 2) ? IR_F32 : IR_F64;
  p->keys = some_keys(p);
  p->queries = pick(p, 16, 80);
  int64_t width = pick(p, 1, 24), columns = pick(p, 0, 1) ? width : pick(p, 1, 70), heads = pick(p, 1, 2),
          group = pick(p, 0, 2) ? 1 : 2;
  bool causal = pick(p, 0, 1);
  if (pick(p, 0, 2) == 0)
    p->queries = p->keys / pick(p, 4, 12); /* a causal mask then leaves out many blocks */
  p->special = pick(p, 0, 3) == 0, p->growing = pick(p, 0, 2) == 0;
  ir_ref q = add_input(p, p->dtype, (int64_t[]){heads, group, p->queries, width}, 4),
         k = add_input(p, p->dtype, (int64_t[]){heads, 1, p->keys, width}, 4),
         v = add_input(p, p->dtype, (int64_t[]){heads, 1, p->keys, columns}, 4);
  int64_t sizes[] = {pick(p, 0, 2) ? p->queries : 1, p->keys};
  if (pick(p, 0, 2) == 0) p->mask = add_input(p, IR_BOOL, sizes, 2);
  else if (p->growing || pick(p, 0, 2) == 0) p->bias = add_input(p, p->dtype, sizes, 2);
  if (pick(p, 0, 2) == 0) { /* computed here, so that results may reuse its buffer */
    ir_ref w = add_input(p, p->dtype, (int64_t[]){width, width}, 2);
    q = op_binary(g, IR_OP_MUL, op_matmul(g, q, w), ir_float(g, p->dtype, 0.1));
  }
  ir_ref x[] = {q, k, v, p->mask ? p->mask : p->bias};
  if (pick(p, 0, 2) == 0) {
    add_result(p, op_attention(g, x, 3 + (x[3] != 0), 0, causal));
  } else if (pick(p, 0, 2) == 0) {
    ir_ref scores = masked(p, op_matmul(g, q, op_swap_axes(g, k, -1, -2)), causal);
    add_result(p, op_matmul(g, op_softmax(g, scores, -1), v));
  } else {
    record_by_hand(p, q, k, v, causal);
  }
  return t->error.status == IR_OK;
}

/* Element i of a mask: row by row some keys are kept, none of the first ones, or none at all. */
static int64_t mask_bit(problem *p, size_t i) {
  uint64_t row = i / (size_t)p->keys * 0x9e3779b97f4a7c15u, key = i % (size_t)p->keys;
  switch (row >> 61) {
  case 0: return 0;
  case 1:
  case 2: return key >= 300;
  case 3: return key < 700;
  default: return pick(p, 0, 4) > 0;
  }
}

static ir_value element(trial *t, ir_dtype dtype) {
  return (ir_value){.f = (double)trial_pick(t, -1000, 1000) / 500};
}

static void change(trial *t, const trial_data *data) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, 1e30};
  problem *p = (problem *)t;
  size_t size = ir_dtypes[data->dtype].bytes;
  for (size_t i = 0; i < data->count && (data->input == p->mask || data->input == p->bias); i++) {
    unsigned char *at = data->elements + i * size;
    ir_value v = ir_value_load(at, data->dtype);
    if (data->input == p->mask) v.i = mask_bit(p, i);
    else if (p->growing) v.f += (double)(i % (size_t)p->keys) / 40;
    else if (pick(p, 0, 9) == 0) v.f = -INFINITY;
    ir_value_store(at, data->dtype, v);
  }
  if (p->special && ir_is_float(data->dtype)) trial_sprinkle(t, data, specials, 4);
}

static bool is_close(const trial *t, const ir_eval_result *want, uint32_t result, int64_t i,
                     const void *got) {
  const ir_eval_result *w = &want[result];
  double a = ir_value_load((char *)w->data + (size_t)i * ir_dtypes[w->dtype].bytes, w->dtype).f,
         b = ir_value_load(got, w->dtype).f;
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  return fabs(a - b) <= (w->dtype == IR_F64 ? 1e-12 : 1e-4) * (1 + fabs(a));
}

/* Does the target have vector lanes, and local memory for the blocks of some rows? */
static bool has_blocks(void) {
  enum { ROOM = 1 << 20 };
  const ir_target *target = trial_target(0);
  return !target->group_items && (!target->local_bytes || target->local_bytes >= ROOM);
}

static void check_plan(problem *p) {
  ir_plan plan;
  if (!trial_plan(&p->t, 0, &plan)) return;
  bool any = false;
  for (size_t i = 0; i < plan.step_count; i++) any |= plan.steps[i].row_group.block > 0;
  if (!any && !p->keeps_weights && has_blocks())
    snprintf(p->t.wrong, sizeof p->t.wrong, "no kernel goes over blocks of keys");
  blocks += any;
  ir_plan_free(&plan);
}

static void run(trial *t) {
  elements += trial_evaluate(t, &(trial_check){RUNS, element, change, is_close});
  if (!*t->wrong) check_plan((problem *)t);
}

/* Bytes of intermediates of an attention over `length` queries and keys; -1: it does not compile. */
static int64_t bytes_of(int64_t length, bool causal) {
  problem p = {.dtype = IR_F32};
  ir_graph_init(&p.t.g, &ir_mem_libc, &p.t.error);
  ir_ref x[3];
  rt_cost cost = {.temp_bytes = -1};
  for (int i = 0; i < 3; i++) x[i] = add_input(&p, IR_F32, (int64_t[]){2, length, 32}, 3);
  add_result(&p, op_attention(&p.t.g, x, 3, 0, causal));
  rt_program *program = trial_compile(&p.t, 0);
  if (program) rt_program_cost(program, NULL, &cost, &p.t.error), rt_program_release(program);
  ir_graph_free(&p.t.g);
  return cost.temp_bytes;
}

static bool check_memory(const cases *c) {
  bool good = true;
  for (int causal = 0; causal < 2 && has_blocks(); causal++) {
    int64_t some = bytes_of(4096, causal), twice = bytes_of(8192, causal), row = 2 * 32 * 4;
    if (some >= 0 && twice >= 0 && some <= 4 * 4096 * row && twice <= 4 * 8192 * row) continue;
    fprintf(stderr,
            "attention over 4096 and 8192 keys%s: %" PRId64 " and %" PRId64 " bytes of intermediates\n",
            causal ? ", causal" : "", some, twice);
    good = false;
  }
  return good;
}

static void tell(const cases *c) {
  printf("%ld graphs, %ld in blocks of keys, %ld elements", c->done, blocks, elements);
}

TRIAL_MAIN("blocks", 20, machines, CONTEXTS, sizeof(problem), record, run, tell, check_memory)
