/* Checkpoints: values that a derivative recomputes. */
#include "passes/ops/build/control.h"
#include "passes/ops/check.h"

ir_ref op_checkpoint(ir_graph *g, const ir_ref *x, size_t n, uint32_t carries, ir_ref body) {
  ir_ref all = op_scan(g, x, n, (ir_scan_state){.carries = carries}, body, ir_index(g, 1)), made = 0;
  uint32_t count = all ? ir_get(g, all)->nsrc : 0;
  ir_ref *results = all ? ir_alloc(g->mem, count * sizeof *results) : NULL;
  if (!results) return 0;
  bool good = true;
  for (uint32_t i = 0; i < count && good; i++) {
    results[i] = ir_src(g, all, i);
    if (i >= carries) good = (results[i] = op_point(g, results[i], ir_index(g, 0), 0)) != 0;
  }
  if (good) made = ir_tuple(g, results, count);
  ir_free(g->mem, results, count * sizeof *results);
  return made;
}
