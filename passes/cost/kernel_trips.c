/* How often a loop runs whose extent depends on the loops around it: the last block of a row is shorter, and
 * of the parts of a kernel each runs in some iterations of an outer loop alone. In the middle of these loops
 * either may be wrong by any factor; what counts is the mean. */
#include <math.h>

#include "passes/cost/kernel_walk.h"

enum { SAMPLES = 16 };    /* because the mean of blocks in rows of 13 is within 4 % of the true one then */
enum { MOST_NODES = 48 }; /* because extents of blocks in blocks have 30; others are taken in the middle */

typedef struct extent {
  ir_ref nodes[MOST_NODES]; /* those that vary; operands first, as they were made before */
  uint32_t count;
} extent;

static bool has(const extent *e, ir_ref ref) {
  for (uint32_t i = 0; i < e->count; i++)
    if (e->nodes[i] == ref) return true;
  return false;
}

static void sort(extent *e) {
  for (uint32_t i = 1; i < e->count; i++)
    for (uint32_t k = i; k && e->nodes[k] < e->nodes[k - 1]; k--) {
      ir_ref lower = e->nodes[k];
      e->nodes[k] = e->nodes[k - 1], e->nodes[k - 1] = lower;
    }
}

/* The nodes of the extent. False where they are too many, or depend on what is no loop around it. */
static bool find_nodes(const kernel_walk *w, ir_ref root, extent *e) {
  e->nodes[0] = root, e->count = 1;
  for (uint32_t at = 0; at < e->count; at++) {
    const ir_node *n = ir_get(w->g, e->nodes[at]);
    if (n->op == IR_OP_RANGE && (w->nodes[e->nodes[at]].is_lane || !w->nodes[e->nodes[at]].loop))
      return false;
    if (n->op == IR_OP_LOAD || n->op == IR_OP_CARRY) return false;
    for (uint32_t i = 0; i < n->nsrc && n->op != IR_OP_RANGE; i++) {
      if (!w->nodes[n->src[i]].varies || has(e, n->src[i])) continue;
      if (e->count == MOST_NODES) return false;
      e->nodes[e->count++] = n->src[i];
    }
  }
  sort(e);
  return true;
}

static bool is_range(const kernel_walk *w, ir_ref ref) { return ir_op_of(w->g, ref) == IR_OP_RANGE; }

static double trips_of(const kernel_walk *w, ir_ref range) { return w->loops[w->nodes[range].loop].trips; }

/* All iterations of a single short loop, else SAMPLES. */
static uint32_t sample_count(const kernel_walk *w, const extent *e) {
  uint32_t ranges = 0;
  double trips = 0;
  for (uint32_t i = 0; i < e->count; i++)
    if (is_range(w, e->nodes[i])) ranges++, trips = trips_of(w, e->nodes[i]);
  return ranges == 1 && trips >= 1 && trips <= SAMPLES ? (uint32_t)trips : SAMPLES;
}

/* The value of a range in a sample. Ranges take different orders, so that two are not alike. */
static double sampled(double trips, uint32_t number, uint32_t sample, uint32_t samples) {
  uint32_t at = (2 * number + 1) * sample % samples; /* of 16 samples, with an odd factor, each once */
  return floor((at + 0.5) / samples * trips);
}

static double exact_value(const kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  double x = w->nodes[n->src[0]].value, y = n->nsrc > 1 ? w->nodes[n->src[1]].value : 0;
  if (n->op == IR_OP_MOD && y > 0) return x - y * floor(x / y);
  if (n->op == IR_OP_WHERE) return x != 0 ? y : w->nodes[n->src[2]].value;
  return kernel_index_value(w, ref);
}

double kernel_mean_trips(kernel_walk *w, ir_ref root) {
  extent e;
  double sum = 0;
  if (!w->nodes[root].varies || !find_nodes(w, root, &e)) return fmax(w->nodes[root].value, 0);
  uint32_t samples = sample_count(w, &e);
  for (uint32_t sample = 0; sample < samples; sample++) {
    for (uint32_t i = 0, ranges = 0; i < e.count; i++) {
      ir_ref ref = e.nodes[i];
      w->nodes[ref].value =
          is_range(w, ref) ? sampled(trips_of(w, ref), ranges++, sample, samples) : exact_value(w, ref);
    }
    sum += fmax(w->nodes[root].value, 0);
  }
  for (uint32_t i = 0; i < e.count; i++) w->nodes[e.nodes[i]].value = kernel_index_value(w, e.nodes[i]);
  return sum / samples;
}
