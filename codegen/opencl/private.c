/* Locals of which every work-item only reads what it has stored itself: these become private variables of the
 * work-items, and need no barriers.
 *
 *   one element   stored without lanes: every work-item has computed the value anyway, and keeps it
 *   several       lane i accesses only elements i + k*group; that is element k of its variable
 *
 * The work-items beyond the last lane of a shorter vector keep what that lane would. What they read later
 * they store nowhere; but it could be an index that is checked, so only locals of floats become private. */
#include "codegen/opencl/opencl.h"

/* Does the access keep to elements of its own work-item? */
static bool keeps_to_item(const tx_emitter *e, ir_ref access) {
  const ir_node *n = ir_get(e->g, access);
  int64_t size = 1;
  ir_is_const(e->g, ir_src(e->g, n->src[0], 0), &size);
  if (n->op == IR_OP_UPDATE) return false;
  if (size == 1) return e->nest->width[n->op == IR_OP_STORE ? access : n->src[1]] == 1;
  cg_access how = cg_access_of(e->nest, n->src[1]);
  uint32_t width = e->nest->width[n->src[1]];
  return how.affine && how.stride == 1 && (width == oc_of(e)->group || width == size % oc_of(e)->group) &&
         e->nest->width[access] == width && (!how.base || cg_is_multiple(e->g, how.base, 0, oc_of(e)->group));
}

void oc_find_private(tx_emitter *e, const ir_ref *live, size_t count) {
  uint64_t locals = 0, shared = 0;
  for (size_t i = 0; i < count && oc_are_items(e) && oc_of(e)->group > 1; i++) {
    const ir_node *n = ir_get(e->g, live[i]);
    if (n->op == IR_OP_LOCAL && ir_is_float((ir_dtype)n->dtype)) locals |= (uint64_t)1 << ir_arg_int(n);
    bool accesses = n->op == IR_OP_LOAD || n->op == IR_OP_STORE || n->op == IR_OP_UPDATE;
    int64_t local = accesses ? cg_local_of(e->g, live[i]) : -1;
    if (local >= 0 && !keeps_to_item(e, live[i])) shared |= (uint64_t)1 << local;
  }
  oc_of(e)->private_locals = locals & ~shared;
}

int64_t oc_private_size(const tx_emitter *e, int64_t size) {
  return (size + oc_of(e)->group - 1) / oc_of(e)->group;
}

bool oc_is_private(const tx_emitter *e, ir_ref buffer) {
  const ir_node *n = ir_get(e->g, buffer);
  return n->op == IR_OP_LOCAL && oc_of(e)->private_locals >> ir_arg_int(n) & 1;
}

/* index / group size, where every term of the index is a multiple of that size. */
static tx_value per_item(tx_emitter *e, ir_ref index) {
  const ir_node *n = ir_get(e->g, index);
  int64_t value = 0;
  if (ir_is_const(e->g, index, &value)) return tx_index_literal(e, value / oc_of(e)->group);
  if (n->op == IR_OP_ADD) return tx_sum(e, per_item(e, n->src[0]), per_item(e, n->src[1]));
  ir_is_const(e->g, n->src[1], &value);
  return tx_product(e, tx_at(e, n->src[0]), tx_index_literal(e, value / oc_of(e)->group));
}

tx_value oc_private_index(tx_emitter *e, ir_ref index) {
  if (e->nest->width[index] == 1) return tx_index_literal(e, 0);
  cg_access how = cg_access_of(e->nest, index);
  return how.base ? per_item(e, how.base) : tx_index_literal(e, 0);
}
