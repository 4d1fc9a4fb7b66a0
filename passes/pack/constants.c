/* Values that are computed from constants alone, and read by kernels that depend on more: each is stored, as
 * a kernel of its own, which runs once (runtime/program/hoist.c). One that only views make of a constant is
 * read as it is; one that is larger than the constants below it, as weights that are kept in fewer bits, is
 * computed where it is read. */
#include "pack.h"

#include "passes/patterns/constant_values.h"

#include <string.h>

/* Is it computed, and not in memory yet? */
static bool is_computed(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_LEAF:
  case IR_CLASS_VIEW: return false;
  default: return n->op != IR_OP_STORED;
  }
}

/* The bytes of a tensor of constant shape; INT64_MAX: not known. */
static int64_t bytes_of(ir_graph *g, ir_ref tensor) {
  int64_t elements = pack_elements(g, tensor), bytes = ir_dtypes[ir_dtype_of(g, tensor)].bytes;
  return elements > INT64_MAX / bytes ? INT64_MAX : elements * bytes;
}

typedef struct storer {
  ir_graph *g;
  pass_constant_values constants;
  const ir_ref *live;
  size_t count;
  ir_ref *map;   /* by node: what has become of it */
  uint8_t *ends; /* by node: what is done with a value of constants alone that others read */
} storer;
enum { COMPUTED_WHERE_READ = PACK_STORED + 1 }; /* it is larger than the constants below it */

/* Marks the values of constants alone that others read, through views or not. */
static void mark_ends(storer *s) {
  ir_graph *g = s->g;
  for (size_t i = 0; i < s->count; i++) {
    ir_ref node = s->live[i];
    const ir_node *n = ir_get(g, node);
    if (pass_is_constant_value(&s->constants, g, node) && n->op != IR_OP_TUPLE) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      ir_ref from = n->src[k];
      if (!ir_shape(g, from)) continue;
      while (ir_ops[ir_op_of(g, from)].cls == IR_CLASS_VIEW) from = ir_src(g, from, 0);
      if (s->ends[from] || !is_computed(g, from) || !pass_is_constant_value(&s->constants, g, from)) continue;
      bool larger = bytes_of(g, from) > pass_constant_bytes(&s->constants, g, from);
      s->ends[from] = larger ? COMPUTED_WHERE_READ : PACK_STORED;
    }
  }
}

ir_ref pass_store_constants(ir_graph *g, ir_ref results, const ir_target *target) {
  storer s = {.g = g};
  ir_ref *live = NULL, root = 0;
  size_t cap = 0, nodes = (size_t)results + 1;
  if (!target->hoists || !pass_has_constants(g, results)) return results;
  s.map = ir_alloc(g->mem, nodes * sizeof *s.map);
  s.ends = ir_alloc(g->mem, nodes);
  if (s.map && s.ends && ir_reachable_inside(g, &results, 1, &live, &s.count, &cap) == IR_OK) {
    s.live = live;
    memset(s.ends, 0, nodes);
    bool good = pass_constant_values_in_loops(&s.constants, g, live, s.count);
    if (good) mark_ends(&s);
    if (good && pack_store_values(g, live, s.count, s.ends, s.map)) root = s.map[results];
  }
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory storing what depends on constants alone");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, s.map, s.map ? nodes * sizeof *s.map : 0);
  ir_free(g->mem, s.ends, s.ends ? nodes : 0);
  pass_constant_values_free(&s.constants, g);
  return root;
}
