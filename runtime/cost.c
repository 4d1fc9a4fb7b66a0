/* Operations per loop, times the passes of the loop. */
#include "runtime/cost.h"

#include <string.h>

#include "ir/regions.h"

static uint32_t weight(const ir_node *n) {
  if (!ir_is_float((ir_dtype)n->dtype)) return 0;
  switch ((int)n->op) {
  case IR_OP_FMA: return 2;
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
  case IR_OP_DIV:
  case IR_OP_FLOORDIV:
  case IR_OP_MOD:
  case IR_OP_SQRT:
  case IR_OP_MIN:
  case IR_OP_MAX: return 1;
  default: return 0;
  }
}

/* Number of the value "passes of this loop in all": its extent times those of the loops around it. */
static bool passes_of(rt_value_list *list, const ir_graph *g, ir_ref loop, uint32_t *number_of,
                      uint32_t around, uint32_t *out) {
  ir_ref extent = ir_src(g, ir_src(g, loop, 0), 0);
  if (rt_values_append(list, g, &extent, 1, number_of, NULL)) return false;
  uint32_t zero = rt_value_number(list, 0),
           inside = rt_value_add(list, IR_OP_MAX, number_of[extent] - 1, zero, 0);
  *out = rt_value_add(list, IR_OP_MUL, inside, around, 0);
  return true;
}

/* Loops from the outside in: a loop stands after its range and before nothing that we need, so repeat until
 * all loops whose surroundings are known are done; nests are shallow. */
static bool count_passes(rt_value_list *list, const ir_graph *g, const ir_regions *r, uint32_t *number_of,
                         uint32_t *passes) {
  for (bool more = true, missing = true; more && missing;) {
    more = missing = false;
    for (size_t i = r->count; i-- > 0;) {
      ir_ref loop = r->order[i];
      if (!ir_is_loop(g, loop) || passes[loop]) continue;
      uint32_t around = passes[r->region[loop]], made;
      missing |= !around;
      if (!around) continue;
      if (!passes_of(list, g, loop, number_of, around - 1, &made)) return false;
      passes[loop] = made + 1;
      more = true;
    }
  }
  return true;
}

uint32_t rt_flops(rt_value_list *list, const ir_graph *g, ir_ref kernel, uint32_t *number_of) {
  ir_regions r;
  uint32_t zero = rt_value_number(list, 0), total = zero;
  bool found = ir_regions_find(g, kernel, &r) == IR_OK;
  size_t size = r.limit * sizeof(uint32_t);
  uint32_t *passes =
      found ? ir_alloc(list->mem, size) : NULL; /* by loop: number + 1; 0 stands for the kernel's body */
  uint32_t *weights = found ? ir_alloc(list->mem, size) : NULL; /* by loop: of the operations right in it */
  if (passes && weights) {
    for (size_t i = 0; i < r.count; i++) passes[r.order[i]] = weights[r.order[i]] = 0;
    weights[0] = 0;
    passes[0] = rt_value_number(list, 1) + 1;
    for (size_t i = 0; i < r.count; i++) {
      const ir_node *n = ir_get(g, r.order[i]);
      weights[r.region[r.order[i]]] += weight(n);
      if (n->op == IR_OP_RANGE) number_of[r.order[i]] = zero + 1;
    }
    if (count_passes(list, g, &r, number_of, passes))
      for (size_t i = 0; i <= r.count; i++) {
        ir_ref loop = i < r.count ? r.order[i] : 0;
        if (!weights[loop] || !passes[loop]) continue;
        uint32_t each = rt_value_number(list, weights[loop]);
        total =
            rt_value_add(list, IR_OP_ADD, total, rt_value_add(list, IR_OP_MUL, each, passes[loop] - 1, 0), 0);
      }
  }
  if (passes) ir_free(list->mem, passes, size);
  if (weights) ir_free(list->mem, weights, size);
  if (found) ir_regions_free(&r);
  return total;
}
