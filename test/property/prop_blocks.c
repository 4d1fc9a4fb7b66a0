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
 * target has work-items, or its local memory is small. Before the cases, the memory for intermediates must
 * grow linearly with the length of a sequence, not quadratically, under the same condition. */
#include "frontend/api/compile.h"
#include "ir/eval/eval.h"
#include "passes/ops/compose/compose.h"
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "passes/patterns/online_softmax.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 3, INPUTS = 6, RESULTS = 5, RUNS = 2, MOST_RANK = 5 };

static const case_machine machines[CONTEXTS] = {
    {1, NULL}, {2, "vector_bytes=16 registers=16 l1=8192 l2=32768 l3=65536"}, {3, NULL}};
static rt_context *contexts[CONTEXTS];
static const ir_target *described; /* this machine */
static bool shows;
static long elements, blocks;

typedef struct problem {
  uint64_t state;
  ir_graph g;
  ir_error error;
  ir_dtype dtype;
  int64_t queries, keys;
  ir_ref input[INPUTS], result[RESULTS];
  uint32_t input_count, result_count;
  ir_ref bias, mask;     /* inputs, or 0 */
  bool special, growing; /* NaN and infinities among the data; scores grow along the keys */
  bool keeps_weights;    /* a result is the matrix of weights */
  char what[4000];
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return random_between(&p->state, lo, hi); }

static ir_ref add_input(problem *p, ir_dtype dtype, const int64_t *sizes, uint32_t rank) {
  char name[2] = {(char)('a' + (int)p->input_count), 0};
  ir_ref shape[MOST_RANK];
  for (uint32_t a = 0; a < rank; a++) shape[a] = ir_index(&p->g, sizes[a]);
  return p->input[p->input_count++] = op_input(&p->g, name, 1, dtype, shape, rank);
}

static void add_result(problem *p, ir_ref x) { p->result[p->result_count++] = x; }

/* More keys than a fused row group takes without blocks; around multiples of the block size and others. */
static int64_t some_keys(problem *p) {
  int64_t least = p->dtype == IR_F64 ? 1025 : 2049;
  static const int64_t edges[] = {0, 1, 62, 63, 64, 191, 254, 255, 256, 400, 511, 512, 800, 1023, 1279};
  return least + edges[pick(p, 0, 14)];
}

static ir_ref masked(problem *p, ir_ref scores, bool causal) {
  ir_graph *g = &p->g;
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
  ir_graph *g = &p->g;
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

static void record(problem *p) {
  ir_graph *g = &p->g;
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
}

static void describe(problem *p) {
  ir_text text;
  ir_text_init(&text, p->g.mem);
  ir_print_graph(&p->g, "blocks", ir_tuple(&p->g, p->result, p->result_count), &text);
  snprintf(p->what, sizeof p->what, "%s", ir_text_get(&text));
  ir_text_free(&text);
}

static size_t count_of(problem *p, ir_ref tensor) {
  size_t count = 1;
  for (uint32_t a = 0; a < ir_rank(&p->g, tensor); a++) {
    int64_t size = 0;
    ir_is_const(&p->g, ir_dim(&p->g, tensor, a), &size);
    count *= (size_t)size;
  }
  return count;
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

static unsigned char *data_of(problem *p, ir_ref input) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, 1e30};
  ir_dtype t = ir_dtype_of(&p->g, input);
  size_t size = ir_dtypes[t].bytes, count = count_of(p, input);
  unsigned char *data = calloc(count + 1, size);
  for (size_t i = 0; i < count; i++) {
    ir_value v = {.f = (double)pick(p, -1000, 1000) / 500};
    if (t == IR_BOOL) v.i = mask_bit(p, i);
    if (input == p->bias && p->growing) v.f += (double)(i % (size_t)p->keys) / 40;
    if (input == p->bias && !p->growing && pick(p, 0, 9) == 0) v.f = -INFINITY;
    ir_value_store(data + i * size, t, v);
  }
  for (int64_t k = p->special && ir_is_float(t) ? pick(p, 0, 2) : 0; k > 0 && count; k--)
    ir_value_store(data + (size_t)pick(p, 0, (int64_t)count - 1) * size, t,
                   (ir_value){.f = specials[pick(p, 0, 3)]});
  return data;
}

static bool is_close(const problem *p, const unsigned char *want, const unsigned char *got, ir_dtype t) {
  double a = ir_value_load(want, t).f, b = ir_value_load(got, t).f;
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  return fabs(a - b) <= (p->dtype == IR_F64 ? 1e-12 : 1e-4) * (1 + fabs(a));
}

/* Are the bits the same? NaNs are equal whatever their bits. */
static bool is_same(const ir_eval_result *like, const unsigned char *a, const unsigned char *b) {
  size_t size = ir_dtypes[like->dtype].bytes;
  bool same = true;
  for (size_t i = 0; i < like->bytes && same; i += size)
    same = memcmp(a + i, b + i, size) == 0 ||
           (isnan(ir_value_load(a + i, like->dtype).f) && isnan(ir_value_load(b + i, like->dtype).f));
  return same;
}

static void compare(problem *p, uint32_t number, const ir_eval_result *want,
                    unsigned char *const got[CONTEXTS], char *wrong, size_t room) {
  size_t size = ir_dtypes[want->dtype].bytes;
  for (int k = 1; k < CONTEXTS && !*wrong; k++)
    if (!is_same(want, got[0], got[k])) cases_tell_bits(&machines[k], wrong, room);
  for (int64_t i = 0; i < want->count && !*wrong; i++) {
    const unsigned char *w = (const unsigned char *)want->data + (size_t)i * size;
    if (is_close(p, w, got[0] + (size_t)i * size, want->dtype)) continue;
    snprintf(wrong, room, "result %" PRIu32 ": element %" PRId64 " of %" PRId64 " is %.9g, expected %.9g",
             number, i, want->count, ir_value_load(got[0] + (size_t)i * size, want->dtype).f,
             ir_value_load(w, want->dtype).f);
  }
  elements += want->count;
}

static void run_once(problem *p, rt_program *const programs[CONTEXTS], char *wrong, size_t room) {
  ir_error error = {0};
  ir_eval_result want[RESULTS] = {{0}};
  ir_binding_input bound[INPUTS];
  void *inputs[INPUTS];
  unsigned char *out[RESULTS][CONTEXTS] = {{NULL}};
  for (uint32_t k = 0; k < p->input_count; k++)
    bound[k] = (ir_binding_input){p->input[k], inputs[k] = data_of(p, p->input[k])};
  ir_status status = ir_eval(&p->g, p->result, p->result_count, bound, p->input_count, NULL, 0, want, &error);
  for (int c = 0; c < CONTEXTS && status == IR_OK; c++) {
    void *outputs[RESULTS];
    for (uint32_t k = 0; k < p->result_count; k++) outputs[k] = out[k][c] = calloc(1, want[k].bytes + 1);
    status = rt_program_run(programs[c], inputs, outputs, NULL, &error);
  }
  if (status != IR_OK) snprintf(wrong, room, "%.150s", error.text);
  for (uint32_t k = 0; k < p->result_count && status == IR_OK; k++)
    compare(p, k, &want[k], out[k], wrong, room);
  ir_eval_free(&p->g, want, p->result_count);
  for (uint32_t k = 0; k < p->input_count; k++) free(inputs[k]);
  for (uint32_t k = 0; k < p->result_count; k++)
    for (int c = 0; c < CONTEXTS; c++) free(out[k][c]);
}

/* Does the target have vector lanes, and local memory for the blocks of some rows? */
static bool has_blocks(void) {
  enum { ROOM = 1 << 20 };
  return !described->group_items && (!described->local_bytes || described->local_bytes >= ROOM);
}

static void check_plan(problem *p, char *wrong, size_t room) {
  ir_plan plan;
  ir_error error = {0};
  pass_options options = {
      .target = described, .inputs = p->input, .input_count = p->input_count, .verify = true};
  ir_ref results = ir_tuple(&p->g, p->result, p->result_count);
  if (pass_pipeline(&p->g, results, &options, &plan, &error) != IR_OK) {
    snprintf(wrong, room, "%.150s", error.text);
    return;
  }
  bool any = false;
  for (size_t i = 0; i < plan.step_count; i++) any |= plan.steps[i].row_group.block > 0;
  if (!any && !p->keeps_weights && has_blocks()) snprintf(wrong, room, "no kernel goes over blocks of keys");
  blocks += any;
  ir_plan_free(&plan);
}

static fe_request request_of(problem *p) {
  return (fe_request){.graph = &p->g,
                      .results = ir_tuple(&p->g, p->result, p->result_count),
                      .inputs = p->input,
                      .input_count = p->input_count,
                      .name = "blocks"};
}

static void run(problem *p, char *wrong, size_t room) {
  rt_program *programs[CONTEXTS] = {NULL};
  ir_error error = {0};
  fe_request request = request_of(p);
  for (int c = 0; c < CONTEXTS && !*wrong; c++)
    if (fe_compile(contexts[c], &request, &programs[c], &error) != IR_OK)
      snprintf(wrong, room, "%.150s", error.text);
  for (int k = 0; k < RUNS && !*wrong; k++) run_once(p, programs, wrong, room);
  for (int c = 0; c < CONTEXTS; c++)
    if (programs[c]) rt_program_release(programs[c]);
}

static bool check_case(uint64_t seed) {
  problem p = {.state = seed};
  char wrong[200] = "";
  ir_graph_init(&p.g, &ir_mem_libc, &p.error);
  record(&p);
  if (shows) {
    describe(&p);
    printf("%s", p.what);
    ir_graph_free(&p.g);
    return true;
  }
  if (p.error.status) snprintf(wrong, sizeof wrong, "%.150s", p.error.text);
  else run(&p, wrong, sizeof wrong);
  if (!*wrong) check_plan(&p, wrong, sizeof wrong);
  if (*wrong) describe(&p);
  if (*wrong) fprintf(stderr, "%s%s\n(prop_blocks --case %" PRIu64 ")\n", p.what, wrong, seed);
  ir_graph_free(&p.g);
  return !*wrong;
}

/* Bytes of intermediates of an attention over `length` queries and keys; -1: it does not compile. */
static int64_t bytes_of(int64_t length, bool causal) {
  problem p = {.dtype = IR_F32};
  ir_graph_init(&p.g, &ir_mem_libc, &p.error);
  ir_ref x[3];
  rt_program *program = NULL;
  rt_cost cost = {.temp_bytes = -1};
  for (int i = 0; i < 3; i++) x[i] = add_input(&p, IR_F32, (int64_t[]){2, length, 32}, 3);
  add_result(&p, op_attention(&p.g, x, 3, 0, causal));
  fe_request request = request_of(&p);
  if (fe_compile(contexts[0], &request, &program, &p.error) == IR_OK)
    rt_program_cost(program, NULL, &cost, &p.error);
  if (program) rt_program_release(program);
  ir_graph_free(&p.g);
  return cost.temp_bytes;
}

static bool check_memory(void) {
  bool good = true;
  for (int causal = 0; causal < 2; causal++) {
    int64_t some = bytes_of(4096, causal), twice = bytes_of(8192, causal), row = 2 * 32 * 4;
    if (some >= 0 && twice >= 0 && some <= 4 * 4096 * row && twice <= 4 * 8192 * row) continue;
    fprintf(stderr,
            "attention over 4096 and 8192 keys%s: %" PRId64 " and %" PRId64 " bytes of intermediates\n",
            causal ? ", causal" : "", some, twice);
    good = false;
  }
  return good;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 20);
  ir_error error = {0};
  shows = c.show;
  if (!cases_open(machines, CONTEXTS, contexts)) return 1;
  described = rt_context_target(contexts[0], &error);
  bool linear = shows || !has_blocks() || check_memory();
  cases_run(&c, check_case);
  cases_close(contexts, CONTEXTS);
  printf("prop_blocks: %ld graphs, %ld in blocks of keys, %ld elements, %ld failed, seed %" PRIu64 "\n",
         c.done, blocks, elements, c.failed, c.seed);
  return c.failed != 0 || !linear;
}
