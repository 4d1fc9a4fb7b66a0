/* Values that a derivative computes again. */
#include "passes/ops/build/control.h"
#include "passes/ops/check.h"

ir_ref op_checkpoint(ir_graph *g, const ir_ref *x, size_t n, ir_ref body) {
  ir_ref all = op_scan(g, x, n, (ir_scan_state){0}, body, ir_index(g, 1)), made = 0;
  uint32_t count = all ? ir_get(g, all)->nsrc : 0;
  ir_ref *results = all ? ir_alloc(g->mem, count * sizeof *results) : NULL;
  if (!results) return 0;
  bool good = true;
  for (uint32_t i = 0; i < count && good; i++)
    good = (results[i] = op_point(g, ir_src(g, all, i), ir_index(g, 0), 0)) != 0;
  if (good) made = ir_tuple(g, results, count);
  ir_free(g->mem, results, count * sizeof *results);
  return made;
}
