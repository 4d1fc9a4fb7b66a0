/* The trip count of nested ranges.
 *
 * Where extents depend on the index of another range, as the number of keys of a causal row does, they are
 * summed over that index: sum over r of extent(a, r) * extent(b, r) * ... for all ranges a, b, ... that
 * depend on r alone. */
#include "cost.h"

#include "passes/index/affine.h"

#include "ir/eval/eval.h"
#include "passes/index/index.h"

/* Indices of a range that are summed over: 16 Ki evaluations take less than a millisecond. Of a longer range,
 * and of one whose size is not known, the largest extents are taken, and the count is an upper bound. */
enum { MAX_SUMMED = 1 << 14 };

typedef struct nested {
  ir_graph *g;
  const ir_ref *ranges;
  ir_ref on[COST_MAX_RANGES]; /* the range that the extent depends on; 0: none. The range itself: it depends
                            on several, or on one not given */
  uint32_t count;
} nested;

static bool is_given(const nested *n, ir_ref range) {
  for (uint32_t i = 0; i < n->count; i++)
    if (n->ranges[i] == range) return true;
  return false;
}

static void find_dependent(nested *n) {
  for (uint32_t i = 0; i < n->count; i++) {
    ir_ref on[2];
    uint32_t found = affine_find_range(n->g, ir_src(n->g, n->ranges[i], 0), IR_OP_RANGE, on, 2);
    n->on[i] = !found ? 0 : found == 1 && is_given(n, on[0]) ? on[0] : n->ranges[i];
  }
}

static bool sum_over(const nested *n, const ir_index_program *program, int64_t *at, int64_t number,
                     int64_t extent, uint32_t factors, int64_t *sum) {
  ir_error ignored = {0};
  int64_t values[COST_MAX_RANGES];
  *sum = 0;
  for (at[number] = 0; at[number] < extent; at[number]++) {
    int64_t product = 1;
    if (ir_index_run(program, at, (size_t)number + 1, values, &ignored) != IR_OK) return false;
    for (uint32_t i = 0; i < factors; i++) {
      if (values[i] < 0) values[i] = 0;
      if (values[i] && product > INT64_MAX / values[i]) return false;
      product *= values[i];
    }
    if (*sum > INT64_MAX - product) return false;
    *sum += product;
  }
  return n->count > 0;
}

/* The trip count of range number `outer` with all ranges that depend on it. False where `outer` depends on
 * another range, is no constant, exceeds MAX_SUMMED, or an extent cannot be evaluated in 64 bits. */
static bool trip_count_within(const nested *n, uint32_t outer, int64_t *sum) {
  ir_ref extents[COST_MAX_RANGES], range = n->ranges[outer];
  uint32_t factors = 0;
  int64_t extent, number = ir_arg_int(ir_get(n->g, range));
  if (n->on[outer] || !ir_is_const(n->g, ir_src(n->g, range, 0), &extent) || extent > MAX_SUMMED)
    return false;
  for (uint32_t i = 0; i < n->count; i++)
    if (n->on[i] == range) extents[factors++] = ir_src(n->g, n->ranges[i], 0);
  size_t bytes = ((size_t)number + 1) * sizeof(int64_t);
  int64_t *at = factors ? ir_alloc(n->g->mem, bytes) : NULL;
  ir_index_program program = {0};
  ir_error ignored = {0}; /* overflow: counts as too many */
  bool done = false;
  if (at) {
    for (int64_t i = 0; i < number; i++) at[i] = 0;
    done = ir_index_compile(n->g, extents, factors, NULL, 0, &program, &ignored) == IR_OK &&
           sum_over(n, &program, at, number, extent, factors, sum);
    ir_index_free(&program);
  }
  if ((factors && !at) || ignored.status == IR_ERR_MEMORY)
    ir_fail(n->g->error, IR_ERR_MEMORY, "out of memory computing a trip count");
  ir_free(n->g->mem, at, at ? bytes : 0);
  return done;
}

ir_ref pass_trip_count(ir_graph *g, const ir_ref *ranges, uint32_t count) {
  nested n = {.g = g, .ranges = ranges, .count = count < COST_MAX_RANGES ? count : COST_MAX_RANGES};
  ir_ref product = ir_index(g, 1);
  int64_t sum;
  find_dependent(&n);
  for (uint32_t i = 0; i < n.count; i++) {
    if (n.on[i] && n.on[i] != ranges[i]) continue; /* counted with the range that it depends on */
    if (trip_count_within(&n, i, &sum)) {
      product = pass_mul(g, product, ir_index(g, sum));
      continue;
    }
    product = pass_mul(g, product, affine_most_extent(g, ranges[i]));
    for (uint32_t k = 0; k < n.count; k++)
      if (n.on[k] == ranges[i] && k != i) product = pass_mul(g, product, affine_most_extent(g, ranges[k]));
  }
  return product;
}
