/* The scan that computes a region one batch element at a time. In its function, values with a batch axis have
 * size 1 along it, so that every operation is the one that it was. */
#include "batch_stream.h"

typedef struct maker {
  ir_graph *g;
  const batch_stream_node *nodes;
  size_t count;
  ir_ref made[BATCH_STREAM_NODES]; /* by node of the region: its value in an iteration */
  ir_ref operand[BATCH_STREAM_NODES + 2],
      param[BATCH_STREAM_NODES]; /* of the scan: operands and parameters, sliced ones first */
  uint32_t sliced, operands;
} maker;

static ir_ref mapped(const maker *m, ir_ref node) {
  size_t low = 0, high = m->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (m->nodes[middle].node == node) return m->made[middle];
    if (m->nodes[middle].node < node) low = middle + 1;
    else high = middle;
  }
  return 0;
}

/* The shape of a node with size 1 along the axis. */
static ir_ref shape_of(const maker *m, ir_ref node, int8_t axis) {
  const ir_node *shape = ir_get(m->g, ir_shape(m->g, node));
  ir_ref dims[IR_MAX_RANK];
  for (uint32_t i = 0; i < shape->nsrc; i++) dims[i] = (int)i == axis ? ir_index(m->g, 1) : shape->src[i];
  return ir_tuple(m->g, dims, shape->nsrc);
}

/* x with a first axis of size 1 added (UNSQUEEZE) or dropped (SQUEEZE). Not a RESHAPE, which scheduling
 * counts as work. */
static ir_ref first_axis(const maker *m, ir_op op, ir_ref x, ir_ref shape) {
  return x && shape ? ir_make_tensor(m->g, op, ir_dtype_of(m->g, x), shape, ir_pack_arg(0, 0), &x, 1) : 0;
}

static ir_ref slice_shape(const maker *m, ir_ref node) {
  const ir_node *shape = ir_get(m->g, ir_shape(m->g, node));
  return ir_tuple(m->g, shape->src + 1, shape->nsrc - 1);
}

static bool make_params(maker *m, const ir_ref *map, bool sliced) {
  ir_graph *g = m->g;
  for (size_t i = 0; i < m->count; i++) {
    const batch_stream_node *n = &m->nodes[i];
    if (!n->given || (n->axis == 0) != sliced) continue;
    ir_ref shape = sliced ? slice_shape(m, n->node) : ir_shape(g, n->node),
           param = shape ? ir_leaf(g, IR_OP_BUFFER, ir_dtype_of(g, n->node), 0, shape, g->next_serial++) : 0;
    m->made[i] = sliced ? first_axis(m, IR_OP_UNSQUEEZE, param, shape_of(m, n->node, 0)) : param;
    if (!m->made[i]) return false;
    m->operand[m->operands] = map[n->node];
    m->param[m->operands++] = param;
  }
  if (sliced) m->sliced = m->operands;
  return true;
}

/* Sets the sources of a view for size 1 along the axis. */
static void set_unit_axis(const maker *m, ir_op op, int8_t axis, ir_ref *src) {
  if (op == IR_OP_RESHAPE || op == IR_OP_EXPAND) src[1 + axis] = ir_index(m->g, 1);
  if (op == IR_OP_SHRINK) src[2 + 2 * axis] = ir_index(m->g, 1); /* after 0: all indices were kept */
}

static ir_ref node_in_iteration(const maker *m, const batch_stream_node *n) {
  ir_graph *g = m->g;
  const ir_node *was = ir_get(g, n->node);
  ir_ref few[2 * IR_MAX_RANK + 2], *src = few, made = 0, shape;
  if (was->nsrc > sizeof few / sizeof *few && !(src = ir_alloc(g->mem, was->nsrc * sizeof *src))) return 0;
  for (uint32_t k = 0; k < was->nsrc; k++)
    src[k] = k < ir_operand_count(was) ? mapped(m, was->src[k]) : was->src[k];
  ir_cause before = ir_cause_enter(g, n->node);
  if (n->axis < 0) {
    made = ir_remake(g, n->node, src, was->nsrc);
  } else if ((shape = shape_of(m, n->node, n->axis))) {
    set_unit_axis(m, (ir_op)was->op, n->axis, src);
    made = ir_make_tensor(g, (ir_op)was->op, (ir_dtype)was->dtype, shape, was->arg, src, was->nsrc);
  }
  ir_cause_leave(g, before, n->node, made);
  if (src != few) ir_free(g->mem, src, was->nsrc * sizeof *src);
  return made;
}

/* The result of an iteration. It is stored in any case, without the STORED that the end may be. */
static ir_ref result_slice(const maker *m, ir_ref end) {
  ir_ref value = ir_op_of(m->g, end) == IR_OP_STORED ? ir_src(m->g, end, 0) : end;
  return first_axis(m, IR_OP_SQUEEZE, mapped(m, value), slice_shape(m, end));
}

ir_ref batch_stream_make(ir_graph *g, const batch_stream_region *region, const batch_stream_node *nodes,
                         const ir_ref *map) {
  maker m = {.g = g, .nodes = nodes + region->first, .count = region->size};
  if (!make_params(&m, map, true) || !make_params(&m, map, false)) return 0;
  for (size_t i = 0; i < m.count; i++)
    if (!m.nodes[i].given && !(m.made[i] = node_in_iteration(&m, &m.nodes[i]))) return 0;
  ir_ref slice = result_slice(&m, region->end),
         function = slice ? ir_func(g, &slice, 1, m.param, m.operands) : 0;
  if (!function) return 0;
  m.operand[m.operands] = function;
  m.operand[m.operands + 1] = ir_index(g, region->count);
  ir_ref scan = ir_make(g, IR_OP_SCAN, IR_NONE, ir_pack_scan((ir_scan_state){.sliced = m.sliced}), m.operand,
                        m.operands + 2);
  return scan ? ir_result(g, scan, 0, ir_dtype_of(g, region->end), ir_shape(g, region->end)) : 0;
}
