/* Reductions that leave out terms: those past the end of a remainder in lanes, and those that a mask replaces
 * by the identity. */
#include "reduce.h"

#include "passes/index/index.h"
#include "passes/patterns/identity.h"

/* Does what is done for each term find out where another load reads, or check an index? Such a load is not
 * masked. Rows that are gathered do so once for all terms. */
static bool loads_indices(ir_graph *g, ir_ref load, ir_ref last) {
  ir_ref inner[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(g, load, IR_OP_LOAD, inner, LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count; i++)
    if (inner[i] != load && affine_depends(g, inner[i], last)) return true;
  return count == LOOP_MAX_LOADS;
}

bool reduce_can_mask(const reduction *r, ir_ref last) {
  ir_graph *g = r->n->g;
  ir_ref found[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(g, r->body, IR_OP_BOUND, found, LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count; i++)
    if (affine_depends(g, found[i], last)) return false;
  if (count == LOOP_MAX_LOADS) return false;
  count = affine_find_range(g, r->body, IR_OP_LOAD, found, LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count && count < LOOP_MAX_LOADS; i++)
    if (affine_depends(g, found[i], last) && loads_indices(g, found[i], last)) return false;
  return count < LOOP_MAX_LOADS;
}

ir_ref reduce_only_inside(const reduction *r, ir_ref body, ir_ref at) {
  ir_graph *g = r->n->g;
  ir_ref loads[LOOP_MAX_LOADS], masked[LOOP_MAX_LOADS],
      inside = pass_compare(g, IR_OP_LT, at, r->inside.count);
  uint32_t count = body && inside ? affine_find_range(g, body, IR_OP_LOAD, loads, LOOP_MAX_LOADS) : 0,
           used = 0;
  if (!inside || !body || ir_is_true(g, inside)) return body;
  ir_ref other = r->index ? pass_identity(g, r->sought, ir_dtype_of(g, body)) : r->identity;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *load = ir_get(g, loads[i]);
    if (!affine_depends(g, load->src[1], r->inside.lane)) continue;
    ir_ref valid = pass_and(g, load->src[2], inside);
    bool whole = loads[i] == body && ir_is_true(g, load->src[2]);
    ir_ref src[] = {load->src[0], load->src[1], valid, whole ? other : load->src[3]};
    ir_ref made = ir_make(g, IR_OP_LOAD, (ir_dtype)load->dtype, 0, src, 4);
    if (whole || !made) return made;
    loads[used] = loads[i], masked[used++] = made;
  }
  return pass_where(g, inside, pass_substitute(g, body, loads, masked, used), other);
}

ir_ref loop_masked_value(ir_graph *g, ir_ref value, ir_ref inside, ir_ref other) {
  ir_ref loads[LOOP_MAX_LOADS], masked[LOOP_MAX_LOADS];
  if (!inside || !value || ir_is_true(g, inside)) return value;
  uint32_t count = affine_find_range(g, value, IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *load = ir_get(g, loads[i]);
    ir_ref src[] = {load->src[0], load->src[1], pass_and(g, load->src[2], inside), load->src[3]};
    masked[i] = ir_make(g, IR_OP_LOAD, (ir_dtype)load->dtype, load->arg, src, 4);
  }
  return pass_where(g, inside, pass_substitute(g, value, loads, masked, count), other);
}

/* If `condition` says range < E for the last range, with E independent of all reduced ranges and all lanes:
 * E; otherwise 0. */
static ir_ref upper_face(const reduction *r, ir_ref condition, const ir_ref *ranges, uint32_t count) {
  ir_graph *g = r->n->g;
  const ir_node *n = ir_get(g, condition);
  ir_ref range = ranges[count - 1], e = 0, zero = ir_index(g, 0);
  int64_t stride;
  if (ir_ops[n->op].cls != IR_CLASS_COMPARE || ir_dtype_of(g, n->src[0]) != IR_INDEX) return 0;
  if (n->op == IR_OP_LT || n->op == IR_OP_LE) e = pass_sub(g, n->src[1], n->src[0]);
  if (n->op == IR_OP_GT || n->op == IR_OP_GE) e = pass_sub(g, n->src[0], n->src[1]);
  if (!e || !affine_stride(g, e, range, &stride) || stride != -1) return 0;
  if (n->op == IR_OP_LE || n->op == IR_OP_GE) e = pass_add_int(g, e, 1);
  e = pass_substitute(g, e, &range, &zero, 1);
  for (uint32_t i = 0; e && i < count; i++)
    if (affine_depends(g, e, ranges[i])) return 0;
  for (uint32_t i = 0; e && i < r->n->lane_count; i++)
    if (affine_depends(g, e, r->n->lanes[i])) return 0;
  return e;
}

void reduce_end_at_mask(reduction *r, ir_ref *ranges, uint32_t count) {
  ir_graph *g = r->n->g;
  const ir_node *n = ir_get(g, r->body);
  ir_ref inside = n->op == IR_OP_WHERE && n->src[2] == r->identity  ? n->src[0]
                  : n->op == IR_OP_LOAD && n->src[3] == r->identity ? n->src[2]
                                                                    : 0;
  if (!inside) return;
  const ir_node *all = ir_get(g, inside);
  bool several = all->op == IR_OP_AND;
  for (uint32_t i = 0; i < (several ? all->nsrc : 1); i++) {
    ir_ref condition = several ? all->src[i] : inside, range = ranges[count - 1];
    ir_ref end = upper_face(r, condition, ranges, count);
    if (!end) continue;
    end = pass_max(g, pass_min(g, ir_src(g, range, 0), end), ir_index(g, 0));
    ir_ref to[] = {loop_fresh_range(r->n, end), ir_bool(g, true)};
    r->body = pass_substitute(g, pass_substitute(g, r->body, &condition, &to[1], 1), &range, to, 1);
    if (r->index) r->index = pass_substitute(g, r->index, &range, to, 1);
    ranges[count - 1] = to[0];
    return;
  }
}
