#include "test/lib/flow.h"

#include "passes/passes.h"
#include "test/lib/unit.h"

void flow_init(flow *f) {
  memset(f, 0, sizeof *f);
  assert_int_equal(ir_graph_init(&f->g, &ir_mem_libc, &f->error), IR_OK);
}

void flow_end(flow *f) {
  ir_plan_free(&f->plan);
  ir_graph_free(&f->g);
}

static void end(void *f) {
  flow_end(f);
  free(f);
}

flow *flow_begin(void) {
  flow *f = malloc(sizeof *f);
  assert_non_null(f);
  flow_init(f);
  return unit_keep(f, end);
}

ir_ref flow_shape(flow *f, int rank, ...) {
  ir_ref dims[IR_MAX_RANK];
  va_list list;
  va_start(list, rank);
  for (int i = 0; i < rank; i++) dims[i] = ir_index(&f->g, va_arg(list, int64_t));
  va_end(list);
  return ir_tuple(&f->g, dims, (uint32_t)rank);
}

static ir_ref leaf(flow *f, ir_op op, ir_dtype dtype, ir_ref shape, int64_t arg) {
  const ir_node *dims = ir_get(&f->g, shape);
  return ir_make_tensor(&f->g, op, dtype, shape, arg, dims->src, dims->nsrc);
}

ir_ref flow_input(flow *f, const char *name, ir_dtype dtype, ir_ref shape) {
  return f->inputs[f->input_count++] = leaf(f, IR_OP_INPUT, dtype, shape, ir_name(&f->g, name, strlen(name)));
}

ir_ref flow_param(flow *f, ir_dtype dtype, ir_ref shape) {
  return leaf(f, IR_OP_BUFFER, dtype, shape, f->g.next_serial++);
}

ir_ref flow_number(flow *f, double value) { return ir_float(&f->g, IR_F32, value); }

ir_ref flow_expand(flow *f, ir_ref scalar, ir_ref shape) {
  ir_ref src[IR_MAX_RANK + 1] = {scalar}, ones[IR_MAX_RANK];
  const ir_node *dims = ir_get(&f->g, shape);
  ir_dtype dtype = ir_dtype_of(&f->g, scalar);
  for (uint32_t i = 0; i < dims->nsrc; i++) src[i + 1] = ones[i] = ir_index(&f->g, 1);
  src[0] =
      ir_make_tensor(&f->g, IR_OP_RESHAPE, dtype, ir_tuple(&f->g, ones, dims->nsrc), 0, src, dims->nsrc + 1);
  memcpy(src + 1, dims->src, dims->nsrc * sizeof *src);
  return ir_make_tensor(&f->g, IR_OP_EXPAND, dtype, shape, 0, src, dims->nsrc + 1);
}

static ir_ref control(flow *f, ir_op op, int64_t arg, const ir_ref *operands, size_t count,
                      const ir_ref *more, size_t more_count) {
  ir_ref src[32];
  memcpy(src, operands, count * sizeof *src);
  memcpy(src + count, more, more_count * sizeof *src);
  return ir_make(&f->g, op, IR_NONE, arg, src, (uint32_t)(count + more_count));
}

ir_ref flow_cond(flow *f, ir_ref then, ir_ref other, const ir_ref *operands, size_t count) {
  return control(f, IR_OP_COND, 0, operands, count, FLOW_LIST(then, other));
}

ir_ref flow_while(flow *f, ir_ref condition, ir_ref body, int64_t bound, uint32_t carries,
                  const ir_ref *operands, size_t count) {
  return control(f, IR_OP_WHILE, ir_pack_arg(carries, 0), operands, count,
                 FLOW_LIST(condition, body, ir_index(&f->g, bound)));
}

ir_ref flow_scan(flow *f, ir_ref body, ir_ref length, ir_scan_state state, const ir_ref *operands,
                 size_t count) {
  return control(f, IR_OP_SCAN, ir_pack_scan(state), operands, count, FLOW_LIST(body, length));
}

ir_ref flow_result(flow *f, ir_ref node, uint32_t number) {
  bool stacked;
  ir_ref like = ir_result_like(&f->g, node, number, &stacked), dims[IR_MAX_RANK] = {0};
  const ir_node *n = ir_get(&f->g, node), *part = ir_get(&f->g, ir_shape(&f->g, like));
  if (stacked) dims[0] = n->src[ir_operand_count(n) + 1];
  for (uint32_t i = 0; i < part->nsrc; i++) dims[i + stacked] = part->src[i];
  return ir_result(&f->g, node, number, ir_dtype_of(&f->g, like),
                   ir_tuple(&f->g, dims, part->nsrc + stacked));
}

ir_status flow_try(flow *f, rt_context *c, const char *key, const ir_ref *results, size_t count,
                   rt_program **out, ir_error *error) {
  ir_plan_free(&f->plan);
  const ir_target *target = rt_context_target(c, error);
  ir_ref tuple = ir_tuple(&f->g, results, (uint32_t)count);
  pass_options options = {
      .target = target, .inputs = f->inputs, .input_count = f->input_count, .verify = true};
  *out = NULL;
  if (!target) return ir_fail(error, IR_ERR_MEMORY, "no target");
  ir_status status = pass_pipeline(&f->g, tuple, &options, &f->plan, error);
  if (status || error->status) return error->status;
  return rt_program_build(c, "flow", &f->g, &f->plan, key, key ? strlen(key) : 0, out, error);
}

rt_program *flow_compile(flow *f, rt_context *c, const char *key, const ir_ref *results, size_t count) {
  rt_program *p;
  f->error = (ir_error){0};
  f->g.error = &f->error;
  if (flow_try(f, c, key, results, count, &p, &f->error)) fail_msg("%s", f->error.text);
  return p_keep(p);
}
