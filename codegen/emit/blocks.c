/* For each iteration of the threads' loop the interval is computed that the indices of its stores lie in, by
 * interval arithmetic over the inner loops. Iterations are then grouped by a digit of their number: the
 * blocks are known where the groups store one after the other. */
#include "codegen/emit/blocks.h"

#include "codegen/emit/iterations.h"

/* Beyond it no blocks are known, and what the kernel stores is sent when all of it is there. */
enum { MOST_STORES = 16 }; /* because 745 kernels have 11 at most: with 8, those of 9 to 11 are sent whole */

typedef struct finder {
  cg_iterations of;
  ir_ref indices[MOST_STORES];
  uint32_t index_count;
  cg_interval *stored; /* by iteration */
} finder;

static bool find_stored(finder *f) {
  for (int64_t t = 0; t < f->of.count; t++) {
    if (!cg_iterations_evaluate(&f->of, t)) return false;
    f->stored[t] = f->of.value[f->indices[0]];
    for (uint32_t i = 1; i < f->index_count; i++)
      f->stored[t] = cg_hull(f->stored[t], f->of.value[f->indices[i]]);
  }
  return true;
}

static cg_interval stored_by(const finder *f, int64_t divisor, int64_t period, int64_t value) {
  return cg_hull_of_digit(&f->of, f->stored, divisor, period, value);
}

/* Do the iterations with the values of this digit store blocks, in turn? */
static bool are_blocks(const finder *f, int64_t divisor, int64_t period, cg_blocks *out) {
  int64_t values = period / divisor, first = 0;
  if (period % divisor || values < 2 || period > f->of.count) return false;
  while (first < values && stored_by(f, divisor, period, first).lo != 0) first++;
  if (first == values) return false;
  int64_t elements = stored_by(f, divisor, period, (first + 1) % values).lo;
  if (elements < 1) return false;
  for (int64_t b = 0; b < values; b++) {
    cg_interval own = stored_by(f, divisor, period, (first + b) % values);
    if (own.lo < b * elements || (b + 1 < values && own.hi >= (b + 1) * elements)) return false;
  }
  *out = (cg_blocks){(uint32_t)elements, (uint32_t)divisor, (uint32_t)period, (uint32_t)first};
  return true;
}

/* Tries each digit, and takes the one with most blocks. */
static void choose(const finder *f, cg_blocks *out) {
  const cg_iterations *it = &f->of;
  for (uint32_t d = 0; d < it->divisor_count; d++)
    for (uint32_t p = 0; p < it->divisor_count; p++) {
      cg_blocks b;
      if (are_blocks(f, it->divisors[d], it->divisors[p], &b) && cg_block_count(b) > cg_block_count(*out))
        *out = b;
    }
}

/* Does the node write p0? */
static bool writes_first(const ir_graph *g, const ir_node *n) {
  if (n->op != IR_OP_STORE && n->op != IR_OP_UPDATE) return false;
  const ir_node *buffer = ir_get(g, n->src[0]);
  return buffer->op == IR_OP_PARAM && ir_arg_int(buffer) == 0;
}

/* False: memory is short, or nothing is known; the error says which. */
static bool find_indices(finder *f, ir_ref kernel, ir_error *error) {
  cg_iterations *it = &f->of;
  bool good = ir_reachable(it->g, &kernel, 1, &it->nodes, &it->node_count, &it->node_cap) == IR_OK;
  if (!good) ir_fail(error, IR_ERR_MEMORY, "out of memory analysing a kernel");
  for (size_t i = 0; i < it->node_count && good; i++) {
    const ir_node *n = ir_get(it->g, it->nodes[i]);
    if (!writes_first(it->g, n)) continue;
    good = n->op == IR_OP_STORE && f->index_count < MOST_STORES;
    if (good) f->indices[f->index_count++] = n->src[1];
  }
  return good && f->index_count && cg_iterations_look(it, f->indices, f->index_count, error);
}

ir_status cg_blocks_find(ir_graph *g, ir_ref kernel, cg_blocks *out, ir_error *error) {
  finder f = {0};
  ir_error own = {0};
  *out = (cg_blocks){0};
  if (!cg_iterations_begin(&f.of, g, kernel)) return IR_OK;
  size_t stored = (size_t)f.of.count * sizeof *f.stored;
  if (find_indices(&f, kernel, &own)) {
    f.stored = ir_alloc(g->mem, stored);
    if (!f.stored) ir_fail(&own, IR_ERR_MEMORY, "out of memory analysing a kernel");
    else if (find_stored(&f)) choose(&f, out);
    ir_free(g->mem, f.stored, stored);
  }
  cg_iterations_free(&f.of);
  return own.status ? ir_fail(error, own.status, "%s", own.text) : IR_OK;
}
