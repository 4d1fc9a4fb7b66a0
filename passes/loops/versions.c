/* Loop versioning: a copy in which a variable is the distance between elements has loops for each value.
 *
 * Elements at a small distance that is known are picked from whole vectors, and interleaved to whole vectors;
 * at any other each is moved by itself. So where the variable has a few small values, as the columns of a
 * narrow part do, each gets loops in which it is a number, under the condition that the variable has that
 * value. Nothing is computed in a copy: the elements are the same. */
#include "loops.h"

#include "passes/index/index.h"

/* The variable that is the distance between the elements of two neighbouring indices of the range, in the
 * index of an access; 0: that is none of a few small values. */
static ir_ref small_distance(ir_graph *g, ir_ref index, ir_ref range) {
  int64_t known;
  if (!affine_depends(g, index, range) || affine_stride(g, index, range, &known)) return 0;
  ir_ref apart = loop_distance_along(g, index, range);
  if (!apart || ir_op_of(g, apart) != IR_OP_VAR) return 0;
  ir_bounds b = ir_bounds_of(g, apart);
  return b.lo >= 1 && b.lo < b.hi && b.hi <= IR_MAX_PICKED_STEP ? apart : 0;
}

/* The variable of a copy that has versions; 0: it has none. */
static ir_ref variable_of(ir_graph *g, ir_ref store) {
  const ir_node *s = ir_get(g, store);
  ir_ref value = s->op == IR_OP_STORE ? s->src[2] : 0, found = 0, ranges[MAX_NEST];
  if (value && ir_op_of(g, value) == IR_OP_CAST) value = ir_src(g, value, 0);
  if (!value || ir_op_of(g, value) != IR_OP_LOAD || ir_op_of(g, ir_src(g, value, 0)) != IR_OP_PARAM ||
      ir_op_of(g, s->src[0]) != IR_OP_PARAM)
    return 0;
  uint32_t count = affine_find_range(g, store, IR_OP_RANGE, ranges, MAX_NEST);
  for (uint32_t i = 0; i < count && count < MAX_NEST && !found; i++) {
    found = small_distance(g, s->src[1], ranges[i]);
    if (!found) found = small_distance(g, ir_src(g, value, 1), ranges[i]);
  }
  return found;
}

bool loop_versions(ir_graph *g, const pass_strategy *strategy, loop_stores *stores, ir_ref *when) {
  if (stores->count != 1 || !strategy->masks_stores) return true;
  ir_ref store = stores->store[0], variable = variable_of(g, store);
  if (!variable) return true;
  ir_ref from[MAX_FOUND_RANGES] = {variable}, to[MAX_FOUND_RANGES];
  uint32_t count = 1 + affine_find_range(g, store, IR_OP_PARAM, from + 1, MAX_FOUND_RANGES - 1);
  for (uint32_t i = 1; i < count; i++) to[i] = from[i]; /* arrays keep their sizes */
  ir_bounds b = ir_bounds_of(g, variable);
  for (int64_t v = b.lo; v <= b.hi; v++) {
    to[0] = ir_index(g, v);
    when[v - b.lo] = pass_compare(g, IR_OP_EQ, variable, to[0]);
    stores->store[v - b.lo] = pass_substitute(g, store, from, to, count);
    if (!stores->store[v - b.lo] || !when[v - b.lo]) return false;
  }
  stores->count = (uint32_t)(b.hi - b.lo + 1);
  return true;
}
