/* What a collective asks for: the spec of its operand, with some axes of the mesh at another place. */
#include "impl.h"

#include <string.h>

/* The axes that are named, or those that stand where the collective takes all. */
static bool axes_to_move(shard_state *s, ir_ref node, const ir_spec *from, ir_spec *out) {
  const ir_node *n = ir_get(s->g, node);
  if (!ir_shard_spec(s->g, node, out)) return false;
  if (out->rank == 1) return true;
  bool pending = n->op == IR_OP_ALL_REDUCE || n->op == IR_OP_REDUCE_SCATTER;
  uint32_t count, place = pending ? IR_PLACE_PENDING : (uint32_t)ir_get(s->g, n->src[n->nsrc - 1])->arg;
  const ir_subaxis *axes = ir_spec_axes(from, place, &count);
  ir_spec_init(out, 1);
  for (uint32_t i = 0; i < count; i++) ir_spec_push(out, 0, axes[i]);
  return true;
}

/* The dimension that gets them; -1: none does. */
static int target_of(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  bool divides = n->op == IR_OP_REDUCE_SCATTER || n->op == IR_OP_ALL_TO_ALL;
  return divides ? (int)ir_get(g, n->src[1])->arg : -1;
}

static bool among(ir_subaxis x, const ir_subaxis *list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (ir_subaxes_equal(x, list[i])) return true;
  return false;
}

bool shard_collective_spec(shard_state *s, ir_ref node, const ir_spec *from, ir_spec *out) {
  ir_spec moved, have, go, made;
  if (!axes_to_move(s, node, from, &moved) || !ir_spec_to_primes(from, &have) ||
      !ir_spec_to_primes(&moved, &go))
    return ir_fail(s->g->error, IR_ERR_MEMORY, "%s: out of memory", ir_ops[ir_op_of(s->g, node)].text) ==
           IR_OK;
  uint32_t taken, count;
  const ir_subaxis *take = ir_spec_axes(&go, 0, &taken);
  ir_spec_init(&made, from->rank);
  memcpy(made.open, from->open, sizeof made.open);
  memcpy(made.priority, from->priority, sizeof made.priority);
  made.joined_by = from->joined_by;
  int target = target_of(s->g, node);
  for (uint32_t place = 0; place < IR_PLACES; place++) {
    const ir_subaxis *axes = ir_spec_axes(&have, place, &count);
    for (uint32_t i = 0; i < count; i++)
      if (!among(axes[i], take, taken)) ir_spec_push(&made, place, axes[i]);
    for (uint32_t i = 0; (int)place == target && i < taken; i++) ir_spec_push(&made, place, take[i]);
  }
  if (!ir_spec_count(&made, IR_PLACE_PENDING)) made.joined_by = IR_OP_ADD;
  ir_error why = {0};
  ir_spec_canonical(&made, out);
  return ir_spec_check(s->mesh, out, &why) ||
         op_refuse(s->g, "%s: %s", ir_ops[ir_op_of(s->g, node)].text, why.text) != 0;
}
