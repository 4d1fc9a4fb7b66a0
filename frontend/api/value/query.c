/* Questions about values. */
#include "frontend/api/api.h"
#include "ir/print/print.h"

static const ir_graph *graph_of(vf_value v) {
  bool good = fe_is(v.graph, FE_GRAPH) && v.epoch == v.graph->epoch && v.id > 0 && v.id < v.graph->ir.count;
  return good ? &v.graph->ir : NULL;
}

bool vf_ok(vf_value v) { return graph_of(v) != NULL; }

vf_dtype vf_value_dtype(vf_value v) {
  const ir_graph *g = graph_of(v);
  if (!g) return VF_NONE;
  const ir_node *n = ir_get(g, v.id);
  if (!n->weak) return (vf_dtype)n->dtype;
  if (ir_is_float((ir_dtype)n->dtype)) return VF_F32;
  if (n->dtype == IR_U64) return VF_U64;
  return n->arg >= INT32_MIN && n->arg <= INT32_MAX ? VF_I32 : VF_I64;
}

int vf_value_rank(vf_value v) {
  const ir_graph *g = graph_of(v);
  return g ? (int)ir_rank(g, v.id) : -1;
}

int64_t vf_value_size(vf_value v, int axis) {
  int rank = vf_value_rank(v);
  int64_t size;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return -1;
  return ir_is_const(&v.graph->ir, ir_dim(&v.graph->ir, v.id, (uint32_t)axis), &size) ? size : -1;
}

int vf_value_shape(vf_value v, int64_t *shape) {
  int rank = vf_value_rank(v);
  for (int i = 0; i < rank && shape; i++) shape[i] = vf_value_size(v, i);
  return rank;
}

char *vf_value_text(vf_value v) {
  if (!fe_is(v.graph, FE_GRAPH)) return NULL;
  const ir_graph *g = graph_of(v);
  ir_error *noted = v.graph->ir.error, error = {0};
  ir_text text;
  ir_text_init(&text, v.graph->ir.mem);
  v.graph->ir.error = &error; /* a text that cannot be made is no failure of the graph */
  if (!g) ir_text_str(&text, "error");
  else if (ir_shape(g, v.id)) ir_print_line(g, v.id, v.id, &text);
  else ir_print_expr(g, v.id, &text);
  v.graph->ir.error = noted;
  return fe_text_out(v.graph->context, &text, &error);
}
