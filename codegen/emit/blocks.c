/* For each iteration of the threads' loop the interval is computed that the indices of its stores lie in, by
 * interval arithmetic over the inner loops. Iterations are then grouped by a digit of their number, of which
 * the divisors in the indices say which there may be: the blocks are known where the groups store one after
 * the other. */
#include "codegen/emit/blocks.h"

#include "ir/regions.h"

#include <string.h>

/* Limits. Beyond one of them no blocks are known, and what the kernel stores is sent when all of it is there.
 * Measured: 745 kernels of the workloads and of seven models (MiniLM, ViT, ResNet-18, MobileNetV2, GoogLeNet,
 * U-Net, LSTM). */
enum { MOST_EVALUATED = 1 << 16 }; /* because nodes take 3 ns each: 0.2 ms [6 of them have more] */
enum { MOST_STORES = 16 };         /* because 11 are the most that were measured */
enum { MOST_DIVISORS = 8 }; /* because 4 are the most that were measured, and 64 pairs are tried of 8 */

typedef struct interval {
  int64_t lo, hi;
} interval;

typedef struct finder {
  ir_graph *g;
  ir_ref threads; /* the range */
  int64_t iterations;
  ir_ref indices[MOST_STORES];
  uint32_t index_count;
  ir_ref *nodes; /* that the indices consist of, sources first */
  size_t count, cap;
  interval *value;  /* by ref, of an iteration */
  interval *stored; /* by iteration */
  int64_t divisors[MOST_DIVISORS];
  uint32_t divisor_count;
} finder;

/* intervals */

static interval hull(int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t lo = a < b ? a : b, lo2 = c < d ? c : d, hi = a > b ? a : b, hi2 = c > d ? c : d;
  return (interval){lo < lo2 ? lo : lo2, hi > hi2 ? hi : hi2};
}

static int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); } /* of b > 0, rounded down */

/* The value of an operation; false: nothing is known but its bounds. Sizes are below 2^31 (is_small), so that
 * nothing overflows. */
static bool combine(ir_op op, interval a, interval b, interval *out) {
  switch (op) {
  case IR_OP_ADD: *out = (interval){a.lo + b.lo, a.hi + b.hi}; return true;
  case IR_OP_MUL: *out = hull(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi); return true;
  case IR_OP_MIN: *out = (interval){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi}; return true;
  case IR_OP_MAX: *out = (interval){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; return true;
  case IR_OP_FLOORDIV:
    if (b.lo != b.hi || b.lo < 1) return false;
    *out = (interval){quotient(a.lo, b.lo), quotient(a.hi, b.lo)};
    return true;
  case IR_OP_MOD:
    if (b.lo != b.hi || b.lo < 1 || quotient(a.lo, b.lo) != quotient(a.hi, b.lo)) return false;
    *out = (interval){a.lo - quotient(a.lo, b.lo) * b.lo, a.hi - quotient(a.lo, b.lo) * b.lo};
    return true;
  default: return false;
  }
}

static bool is_small(interval v) { return v.lo > -INT32_MAX && v.hi < INT32_MAX; }

/* Of a node in this iteration; false: it is too large to be looked at. */
static bool evaluate(finder *f, ir_ref ref, int64_t iteration) {
  const ir_node *n = ir_get(f->g, ref);
  interval *out = &f->value[ref];
  int64_t number;
  if (ir_is_const(f->g, ref, &number)) {
    *out = (interval){number, number};
  } else if (ref == f->threads) {
    *out = (interval){iteration, iteration};
  } else if (n->op == IR_OP_RANGE) {
    int64_t most = f->value[n->src[0]].hi;
    *out = (interval){0, most > 0 ? most - 1 : 0};
  } else {
    bool known = n->nsrc >= 2;
    interval all = known ? f->value[n->src[0]] : (interval){0, 0};
    for (uint32_t i = 1; i < n->nsrc && known; i++)
      known = combine(n->op, all, f->value[n->src[i]], &all) && is_small(all);
    ir_bounds b = ir_bounds_of(f->g, ref);
    *out = known ? all : (interval){b.lo, b.hi};
  }
  return is_small(*out);
}

/* what is stored when */

static bool find_stored(finder *f) {
  for (int64_t t = 0; t < f->iterations; t++) {
    for (size_t i = 0; i < f->count; i++)
      if (!evaluate(f, f->nodes[i], t)) return false;
    f->stored[t] = f->value[f->indices[0]];
    for (uint32_t i = 1; i < f->index_count; i++) {
      interval v = f->value[f->indices[i]];
      f->stored[t] = hull(f->stored[t].lo, f->stored[t].hi, v.lo, v.hi);
    }
  }
  return true;
}

/* What the iterations store whose digit is `value`. */
static interval stored_by(const finder *f, int64_t divisor, int64_t period, int64_t value) {
  interval all = f->stored[value * divisor];
  for (int64_t from = value * divisor; from < f->iterations; from += period)
    for (int64_t t = from; t < from + divisor && t < f->iterations; t++)
      all = hull(all.lo, all.hi, f->stored[t].lo, f->stored[t].hi);
  return all;
}

/* Do the iterations with the values of this digit store blocks, in turn? */
static bool are_blocks(const finder *f, int64_t divisor, int64_t period, cg_blocks *out) {
  int64_t values = period / divisor, first = 0;
  if (period % divisor || values < 2 || period > f->iterations) return false;
  while (first < values && stored_by(f, divisor, period, first).lo != 0) first++;
  if (first == values) return false;
  int64_t elements = stored_by(f, divisor, period, (first + 1) % values).lo;
  if (elements < 1) return false;
  for (int64_t b = 0; b < values; b++) {
    interval own = stored_by(f, divisor, period, (first + b) % values);
    if (own.lo < b * elements || (b + 1 < values && own.hi >= (b + 1) * elements)) return false;
  }
  *out = (cg_blocks){(uint32_t)elements, (uint32_t)divisor, (uint32_t)period, (uint32_t)first};
  return true;
}

/* Tries each digit, and takes the one with most blocks. */
static void choose(const finder *f, cg_blocks *out) {
  for (uint32_t d = 0; d < f->divisor_count; d++)
    for (uint32_t p = 0; p < f->divisor_count; p++) {
      cg_blocks b;
      if (are_blocks(f, f->divisors[d], f->divisors[p], &b) && cg_block_count(b) > cg_block_count(*out))
        *out = b;
    }
}

/* the kernel */

/* Does the node write p0? */
static bool writes_first(const ir_graph *g, const ir_node *n) {
  if (n->op != IR_OP_STORE && n->op != IR_OP_UPDATE) return false;
  const ir_node *buffer = ir_get(g, n->src[0]);
  return buffer->op == IR_OP_PARAM && ir_arg_int(buffer) == 0;
}

static void add_divisor(finder *f, int64_t divisor) {
  for (uint32_t i = 0; i < f->divisor_count; i++)
    if (f->divisors[i] == divisor) return;
  if (f->divisor_count < MOST_DIVISORS && divisor > 0) f->divisors[f->divisor_count++] = divisor;
}

/* False: memory is short, or nothing is known; the error says which. */
static bool find_indices(finder *f, ir_ref kernel, ir_error *error) {
  bool good = ir_reachable(f->g, &kernel, 1, &f->nodes, &f->count, &f->cap) == IR_OK;
  if (!good) ir_fail(error, IR_ERR_MEMORY, "out of memory analysing a kernel");
  for (size_t i = 0; i < f->count && good; i++) {
    const ir_node *n = ir_get(f->g, f->nodes[i]);
    if (!writes_first(f->g, n)) continue;
    good = n->op == IR_OP_STORE && f->index_count < MOST_STORES;
    if (good) f->indices[f->index_count++] = n->src[1];
  }
  if (!good || !f->index_count) return false;
  f->count = 0;
  if (ir_reachable(f->g, f->indices, f->index_count, &f->nodes, &f->count, &f->cap) != IR_OK) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory analysing a kernel");
    return false;
  }
  add_divisor(f, 1), add_divisor(f, f->iterations);
  for (size_t i = 0; i < f->count; i++) {
    const ir_node *n = ir_get(f->g, f->nodes[i]);
    int64_t divisor;
    if ((n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) && ir_is_const(f->g, n->src[1], &divisor))
      add_divisor(f, divisor);
  }
  return (int64_t)f->count <= MOST_EVALUATED / f->iterations;
}

ir_status cg_blocks_find(ir_graph *g, ir_ref kernel, cg_blocks *out, ir_error *error) {
  ir_ref loop = ir_thread_loop(g, kernel);
  finder f = {.g = g, .threads = loop ? ir_src(g, loop, 0) : 0};
  ir_error own = {0};
  *out = (cg_blocks){0};
  if (!f.threads || !ir_is_const(g, ir_src(g, f.threads, 0), &f.iterations) || f.iterations < 2) return IR_OK;
  size_t values = g->count * sizeof *f.value, stored = (size_t)f.iterations * sizeof *f.stored;
  if (find_indices(&f, kernel, &own)) {
    f.value = ir_alloc(g->mem, values);
    f.stored = ir_alloc(g->mem, stored);
    if (!f.value || !f.stored) ir_fail(&own, IR_ERR_MEMORY, "out of memory analysing a kernel");
    else if (find_stored(&f)) choose(&f, out);
  }
  ir_free(g->mem, f.value, values);
  ir_free(g->mem, f.stored, stored);
  ir_free(g->mem, f.nodes, f.cap * sizeof *f.nodes);
  return own.status ? ir_fail(error, own.status, "%s", own.text) : IR_OK;
}
