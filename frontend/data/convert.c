/* Conversions as operations of the graph, and back. */
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "passes/ops/compose/compose.h"

/* Operations are recorded with the call's error in place of the graph's. */
typedef struct recording {
  vf_graph *graph;
  ir_error *noted;
} recording;

static recording begin(fe_data_call *c, vf_graph *graph) {
  recording r = {graph, graph->ir.error};
  graph->ir.error = &c->error;
  return r;
}

static vf_value end(const recording *r, ir_ref made) {
  r->graph->ir.error = r->noted;
  if (made && r->graph->ir.batches_cap) fe_graph_note_batch(r->graph, made);
  return (vf_value){r->graph, made, r->graph->epoch};
}

static int place_of(const char *axes, char letter) { return (int)(strchr(axes, letter) - axes); }

/* The axes with b first, where the first one was: the order of features. */
static void b_first(const char *from, char to[FE_AXES_MAX]) {
  memcpy(to, from, strlen(from) + 1);
  to[place_of(from, 'b')] = to[0];
  to[0] = 'b';
}

static ir_ref permuted(ir_graph *g, ir_ref x, const char *from, const char *to) {
  ir_ref order[IR_MAX_RANK];
  size_t rank = strlen(to);
  for (size_t i = 0; i < rank; i++) order[i] = ir_index(g, place_of(from, to[i]));
  return op_permute(g, x, order, rank);
}

static ir_ref flattened(ir_graph *g, ir_ref x, const char *from) {
  char order[FE_AXES_MAX];
  b_first(from, order);
  x = permuted(g, x, from, order);
  ir_ref sizes[2] = {ir_dim(g, x, 0), ir_index(g, 1)};
  for (uint32_t i = 1; i < ir_rank(g, x); i++) sizes[1] = pass_mul(g, sizes[1], ir_dim(g, x, i));
  return op_reshape(g, x, sizes, 2);
}

/* The axis that FIRST and GROW are about. */
static int64_t single_axis(const fe_conversion *how) {
  const char *axes = how->kind == FE_GROW ? how->to : how->from;
  return strchr(axes, 't') ? place_of(axes, 't') : place_of(axes, 'f');
}

/* 1 where an example has the class, else 0. An id outside of 1 to the number is out of range in the run. */
static ir_ref one_hot(ir_graph *g, ir_ref ids, const char *from, int count) {
  bool several = strlen(from) > 1;
  ir_ref x = permuted(g, ids, from, several ? "bt" : "b");
  ir_ref one = op_const(g, IR_I64, (ir_value){.i = 1}), all = op_const(g, IR_I64, (ir_value){.i = count});
  ir_ref at = op_binary(g, IR_OP_SUB, op_cast(g, x, IR_I64), one);
  ir_ref below = op_binary(g, IR_OP_SUB, at, all); /* of an id of 0 or less: no index from the end */
  ir_ref zero = op_const(g, IR_I64, (ir_value){.i = 0});
  at = op_where(g, op_binary(g, IR_OP_GE, at, zero), at, below);
  ir_ref size = ir_index(g, count), sizes[] = {size, size};
  ir_ref rows = op_gather(g, op_eye(g, IR_F32, sizes, 2, 0), at, 0, IR_GATHER_CHECK);
  ir_ref t = ir_index(g, 1);
  return several ? op_reduce(g, IR_OP_REDUCE_MAX, rows, &t, 1, false) : rows;
}

vf_value fe_data_convert(fe_data_call *c, const fe_conversion *how, vf_value x) {
  recording r = begin(c, x.graph);
  ir_graph *g = &x.graph->ir;
  ir_ref made = x.id;
  switch (how->kind) {
  case FE_SAME: break;
  case FE_PERMUTE: made = permuted(g, x.id, how->from, how->to); break;
  case FE_FLATTEN: made = flattened(g, x.id, how->from); break;
  case FE_FIRST: made = op_point(g, x.id, ir_index(g, 0), single_axis(how)); break;
  case FE_GROW: made = op_unsqueeze(g, x.id, single_axis(how)); break;
  case FE_ONE_HOT: made = one_hot(g, x.id, how->from, c->view->class_count); break;
  }
  return end(&r, made);
}

static ir_ref unflattened(ir_graph *g, const fe_conversion *how, ir_ref array, ir_ref x) {
  char order[FE_AXES_MAX];
  ir_ref sizes[IR_MAX_RANK];
  b_first(how->from, order);
  for (size_t i = 0; order[i]; i++) sizes[i] = ir_dim(g, array, (uint32_t)place_of(how->from, order[i]));
  return permuted(g, op_reshape(g, x, sizes, strlen(order)), order, how->from);
}

/* x as the first element of its axis, and zeros behind it. */
static ir_ref padded(ir_graph *g, const fe_conversion *how, ir_ref array, ir_ref x) {
  ir_ref pads[2 * IR_MAX_RANK], zero = ir_index(g, 0);
  int64_t axis = single_axis(how);
  uint32_t rank = ir_rank(g, array);
  for (uint32_t i = 0; i < 2 * rank; i++) pads[i] = zero;
  pads[2 * axis + 1] = pass_add_int(g, ir_dim(g, array, (uint32_t)axis), -1);
  return op_pad(g, op_unsqueeze(g, x, axis), pads, rank, 0, IR_PAD_CONSTANT);
}

vf_value fe_data_lead_back(fe_data_call *c, const fe_conversion *how, vf_value array, vf_value x) {
  recording r = begin(c, x.graph);
  ir_graph *g = &x.graph->ir;
  ir_ref made = x.id;
  switch (how->kind) {
  case FE_SAME: break;
  case FE_PERMUTE: made = permuted(g, x.id, how->to, how->from); break;
  case FE_FLATTEN: made = unflattened(g, how, array.id, x.id); break;
  case FE_FIRST: made = padded(g, how, array.id, x.id); break;
  case FE_GROW: made = op_point(g, x.id, ir_index(g, 0), single_axis(how)); break;
  case FE_ONE_HOT:
    made = 0;
    ir_fail(g->error, IR_ERR_INTERNAL, "data: classes have no gradient"); /* refused when it is put */
    break;
  }
  return end(&r, made);
}

vf_value fe_data_cast(fe_data_call *c, vf_value x, vf_dtype dtype) {
  if (!x.id || dtype == VF_NONE || vf_value_dtype(x) == dtype) return x;
  recording r = begin(c, x.graph);
  return end(&r, op_cast(&x.graph->ir, x.id, (ir_dtype)dtype));
}

vf_value fe_data_sum(fe_data_call *c, vf_value a, vf_value b) {
  recording r = begin(c, a.graph);
  return end(&r, op_binary(&a.graph->ir, IR_OP_ADD, a.id, b.id));
}

vf_value fe_data_take(fe_data_call *c, vf_value x, vf_value indices, int64_t axis) {
  recording r = begin(c, x.graph);
  return end(&r, op_gather(&x.graph->ir, x.id, indices.id, axis, IR_GATHER_CHECK));
}

vf_value fe_data_window(fe_data_call *c, vf_value x, int64_t axis, int64_t start, int64_t stop) {
  recording r = begin(c, x.graph);
  ir_graph *g = &x.graph->ir;
  ir_ref bounds[2 * IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x.id);
  for (uint32_t i = 0; i < rank; i++) {
    bounds[2 * i] = ir_index(g, i == axis ? start : 0);
    bounds[2 * i + 1] = i == axis ? ir_index(g, stop) : ir_dim(g, x.id, i);
  }
  return end(&r, op_shrink(g, x.id, bounds, rank));
}
