/* Stores of sub-domains, each over ranges of its own. */
#include "gpu.h"

ir_ref loop_separate_stores(ir_graph *g, ir_ref effect) {
  loop_stores stores;
  ir_ref local;
  if (!loop_read_stores(g, effect, &stores)) return 0;
  if (stores.count < 2) return effect;
  for (uint32_t i = 0; i < stores.count; i++)
    if (loop_is_update(g, stores.store[i]) || affine_find_range(g, stores.store[i], IR_OP_LOCAL, &local, 1))
      return effect;
  return loop_separate(g, &stores) ? loop_sequence(g, stores.store, stores.count) : 0;
}
